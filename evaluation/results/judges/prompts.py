"""Word a model's question about a unit, and read its reply. No network, no database."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError

from common.incoming import load_json
from evaluation.errors import EvaluationError
from evaluation.statistics.aggregation.votes_and_means import (
    FIRST,
    MUCH,
    NEITHER,
    NO_DIFFERENCE,
    SECOND,
    SURE,
)
from judgments.datasets.pictures import without_metadata
from judgments.design.study_design import StudyDesign
from judgments.kinds import Kind
from judgments.kinds.best_worst import ENDS
from judgments.kinds.spans.answers import CATEGORY, END, SEVERITY, START, Options
from judgments.models import Item, Unit

WIDEST = 1024  # pixels of a picture's longer side
# Of one picture of that size; the dearest tariff found counts 25,501 (a small model with tiles of 512 pixels).
PICTURE_TOKENS = 30_000
MESSAGE_TOKENS = 64  # what a chat adds to the words themselves


@dataclass(frozen=True, slots=True)
class Question:
    """Chat messages; `most_tokens` bounds their cost, since no token is shorter than a byte."""

    messages: tuple[Mapping[str, Any], ...]
    most_tokens: int

    def digest(self, settings: Mapping[str, Any]) -> str:
        text = json.dumps([self.messages, dict(settings)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


OF_SIDE = {FIRST: "B", SECOND: "C", NO_DIFFERENCE: "no difference", NEITHER: "neither"}
OF_CONFIDENCE = ("", ", a guess", ", fairly sure", ", certain")


def is_for_judges(kind: Kind) -> bool:
    """Return whether answers are choices, grades, points, the best of a list, or marked errors."""
    return kind.compares_pairs or kind.judges_one_caption or kind.names_best


def check_kind(kind: Kind) -> None:
    """Raise EvaluationError if a judge could not answer as people do."""
    if not is_for_judges(kind):
        raise EvaluationError(
            "Judges answer studies whose answers are choices, grades, points, the best of several or marked errors; "
            f"those of kind {kind.name!r} are not."
        )


def has_orders(kind: Kind) -> bool:
    """Return whether texts stand beside each other, so that they are shown in both orders."""
    return kind.two_sided or kind.names_best


def order_of(kind: Kind, unit: Unit, *, swapped: bool) -> Any:
    """Return what the kind's ``Sides`` takes for the unit's own order, or the reverse."""
    if not kind.names_best:
        return swapped if kind.two_sided else None
    order = list(range(len(unit.content["options"])))
    return order[::-1] if swapped else order


def instructions_of(kind: Kind, design: StudyDesign) -> str:
    """Return the design's question and the allowed replies."""
    if kind.marks_text:
        allowed = _instructions_of_marks(Options.of_text(kind.setting(design)))
    elif kind.names_best:
        worst = ", a blank and the number of the worst" if design.answers.worst else ""
        allowed = f"Reply with the number of the best text{worst}, and nothing else."
    elif kind.choices:
        labels = {choice.value: choice.label for choice in kind.choices}
        named = [
            token if kind.two_sided or token == labels[value] else f"{token} ({labels[value]})"
            for token, value in reply_tokens(kind).items()
        ]
        allowed = (
            f"Reply with one of these and nothing else: {('; ' if kind.confidences else ', ').join(named)}."
        )
    else:
        low, high = kind.values[0], kind.values[-1]
        ends = [f"{value} means: {label}" for value, label in zip(kind.labelled, design.labels, strict=False)]
        allowed = ". ".join([f"Reply with a whole number from {low} to {high} and nothing else", *ends]) + "."
    return f"{design.question}\n\n{allowed}"


def _instructions_of_marks(options: Options) -> str:
    error = {"text": "the words that are wrong", SEVERITY: " or ".join(options.severities)}
    names = [name for name, _ in options.categories]
    error |= {CATEGORY: "a category"} if names else {}
    reply = {"errors": [error], **({"score": 70} if options.score else {})}
    sentences = [
        f"Reply with one JSON object like {json.dumps(reply)} and nothing else; errors is [] where there is none"
    ]
    sentences += ["text repeats the words as they stand there"]
    sentences += ["it is null where something is missing"] if options.missing else []
    sentences += [f"category is one of {', '.join(names)}"] if names else []
    sentences += ["score is a whole number from 0 to 100, the best"] if options.score else []
    return ". ".join(sentences) + "."


def reply_tokens(kind: Kind) -> dict[str, int]:
    """Return what a reply may be, and the answer that it stands for."""
    if not kind.two_sided:
        return {str(choice.value): choice.value for choice in kind.choices}
    strength = any(value % SURE >= MUCH for value in kind.values)
    tokens = {}
    for value in kind.values:
        token = OF_SIDE[value % MUCH]
        if strength and value % MUCH in (FIRST, SECOND):
            token += " by far" if value % SURE >= MUCH else " slightly"
        tokens[token + OF_CONFIDENCE[value // SURE]] = value
    return tokens


def question_of(prompt: str, shown: Mapping[str, Any], *, source: str = "", picture: str = "") -> Question:
    """Ask about ``shown`` as a worker sees it; ``picture`` is an address or data."""
    lines = [f"Source text: {source}"] if source else []
    if before := shown.get("document", {}).get("before"):
        lines.append(f"Text before: {before}")
    lines += [f"{number}: {option['text']}" for number, option in enumerate(shown.get("options", ()), 1)]
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


def read_reply(kind: Kind, reply: str, *, swapped: bool, unit: Any = None) -> Any:
    """Return the answer in the unit's order; None unless it is exactly one allowed answer."""
    text = reply.strip()
    answer: Any
    try:
        if kind.marks_text:
            answer = _read_marks(text, unit.first.text)
        elif kind.names_best:
            numbers = [_read_integer(number) for number in text.removesuffix(".").split()]
            answer = dict(zip(ENDS[: len(numbers)], numbers, strict=True))
        elif kind.choices:
            answer = {token.upper(): value for token, value in reply_tokens(kind).items()}[
                text.removesuffix(".").upper()
            ]
        else:
            answer = _read_integer(text.removesuffix("."))
        clean = kind.clean_answer(answer, unit=unit, design=None)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return kind.sides.to_canonical(clean, side=order_of(kind, unit, swapped=swapped))


def _read_integer(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise ValueError
    return int(text)


def _read_marks(reply: str, text: str) -> dict[str, Any]:
    """Return spans of the quoted words; the same words again are their next occurrence."""
    content = load_json(reply.removeprefix("```json").removeprefix("```").removesuffix("```"))
    spans, after = [], Counter[str]()
    for error in content.pop("errors"):
        quote = error.pop("text")
        start = end = None
        if quote is not None:
            start = text.index(quote, after[quote])
            end = after[quote] = start + len(quote)
        spans.append({START: start, END: end, **error})
    return {"spans": spans, **content}
