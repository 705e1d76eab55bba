"""Word a model's question about a unit, and read its reply. No network, no database."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError

from evaluation.errors import EvaluationError
from judgments.datasets.pictures import without_metadata
from judgments.design.study_design import StudyDesign
from judgments.kinds import Kind
from judgments.models import Item

WIDEST = 1024  # pixels of a picture's longer side
# Of one picture of that size; the dearest tariff found counts 25,501 (a small model with tiles of 512 pixels).
PICTURE_TOKENS = 30_000
MESSAGE_TOKENS = 64  # what a chat adds to the words themselves

CANDIDATES = ("b", "c")


@dataclass(frozen=True, slots=True)
class Question:
    """Chat messages; `most_tokens` bounds their cost, since no token is shorter than a byte."""

    messages: tuple[Mapping[str, Any], ...]
    most_tokens: int

    def digest(self, settings: Mapping[str, Any]) -> str:
        text = json.dumps([self.messages, dict(settings)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


SIDES = (1, 2)  # the answers to pairs that a judge can give


def is_for_judges(kind: Kind) -> bool:
    """Return whether answers are numbers, and for two candidates always a side."""
    if kind.compares_pairs:
        return tuple(kind.values) == SIDES
    return kind.judges_one_caption and bool(kind.values)


def check_kind(kind: Kind) -> None:
    """Raise EvaluationError if a judge could not answer as people do."""
    if is_for_judges(kind):
        return
    if kind.compares_pairs:
        raise EvaluationError(
            "Judges answer pairs by one side or the other; expected a study whose [answers] have no no_difference, "
            "neither, strength or confidence."
        )
    raise EvaluationError(
        f"Judges answer studies whose answers are choices, grades or points; those of kind {kind.name!r} are not."
    )


def instructions_of(kind: Kind, design: StudyDesign) -> str:
    """Return the design's question and the allowed replies."""
    if kind.choices:
        named = [
            token if choice.letter or token == choice.label else f"{token} ({choice.label})"
            for token, choice in zip(reply_tokens(kind), kind.choices, strict=True)
        ]
        allowed = f"Reply with one of these and nothing else: {', '.join(named)}."
    else:
        low, high = kind.values[0], kind.values[-1]
        ends = [f"{value} means: {label}" for value, label in zip(kind.labelled, design.labels, strict=False)]
        allowed = ". ".join([f"Reply with a whole number from {low} to {high} and nothing else", *ends]) + "."
    return f"{design.question}\n\n{allowed}"


def reply_tokens(kind: Kind) -> list[str]:
    if kind.two_sided:
        return [letter.upper() for letter in CANDIDATES]
    return [str(choice.value) for choice in kind.choices]


def question_of(prompt: str, shown: Mapping[str, Any], *, source: str = "", picture: str = "") -> Question:
    """Ask about ``shown`` as a worker sees it; ``picture`` is an address or data."""
    lines = [f"Source text: {source}"] if source else []
    lines += [
        f"{name.upper() if len(name) == 1 else name.capitalize()}: {part['text']}"
        for name, part in shown.items()
        if isinstance(part, Mapping) and "text" in part
    ]
    text = "\n".join(lines)
    content: Any = text
    if picture:
        content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": picture}}]
    most = len((prompt + text).encode()) + MESSAGE_TOKENS + (PICTURE_TOKENS if picture else 0)
    return Question(({"role": "system", "content": prompt}, {"role": "user", "content": content}), most)


def picture_of(item: Item) -> str:
    """Return an image's picture, upright and without metadata, as a data address, or its own address, or ""."""
    if not item.picture:
        return item.url
    try:
        with item.picture.open("rb") as file:
            served = BytesIO(without_metadata(file.read()))  # what people see
        with Image.open(served) as image:
            small = ImageOps.exif_transpose(image).convert("RGB")
            small.thumbnail((WIDEST, WIDEST))
    except (OSError, UnidentifiedImageError) as error:
        raise EvaluationError(f"The picture of image {item.name!r} cannot be read: {error}.") from None
    written = BytesIO()
    small.save(written, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{b64encode(written.getvalue()).decode()}"


def read_reply(kind: Kind, reply: str, *, swapped: bool) -> int | None:
    """Return the answer in the unit's order; None unless it is exactly one allowed answer."""
    answer = reply.strip().removesuffix(".").upper()
    if kind.choices:
        tokens: Sequence[str] = [token.upper() for token in reply_tokens(kind)]
        if answer not in tokens:
            return None
        value = kind.choices[tokens.index(answer)].value
    else:
        if not re.fullmatch(r"[0-9]{1,6}", answer) or int(answer) not in kind.values:
            return None
        value = int(answer)
    return int(kind.sides.to_canonical(value, side=swapped)) if kind.two_sided else value
