"""Write the prompts that ask a model about units, and parse its replies."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image, ImageOps

from common.texts import text_or_placeholder
from evaluation.errors import EvaluationError
from judgments.datasets.picture_checks import FORMATS, PictureProblem, prepare_decoding
from judgments.datasets.picture_metadata import strip_metadata
from judgments.design.numbers import number_text, plain_number
from judgments.design.study_design import StudyDesign
from judgments.kinds import Kind
from judgments.kinds.base import ENDS
from judgments.models import Item, Unit
from quorum.statistics.aggregation.pair_answers import FIRST, MUCH, NEITHER, NO_DIFFERENCE, SECOND, SURE

MAX_SIDE_PIXELS = 1024  # of the longer side of a picture that is sent
# Larger JPEG pictures are decoded at a reduced size, which changes the bytes that are sent.
MAX_JPEG_PIXELS = 24_000_000
# Tokens of a picture whose longer side has MAX_SIDE_PIXELS, at most. The most expensive model that was found takes
# 25,501, for tiles of 512 pixels.
PICTURE_TOKENS = 30_000
MESSAGE_TOKENS = 64  # tokens that a chat adds to the tokens of its texts
# People's pages call the two candidates B and C, too. A is the reference of a triplet.
SIDE_WORDS = {FIRST: "B", SECOND: "C", NO_DIFFERENCE: "no difference", NEITHER: "neither"}
# By confidence, which is 0 if it is not asked.
CONFIDENCE_WORDS = ("", ", a guess", ", fairly sure", ", certain")
MAX_REPLY_TOKENS = 16
MAX_MARKS_TOKENS = 1_000  # of a reply that marks errors
CALL_OPTIONS = ("temperature", "max_tokens")  # settings in the body of a call, in addition to the model


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """The messages of a request to a chat model.

    Attributes:
        messages: the messages in OpenAI's format, such as ``{"role": "user", "content": "B: A dog."}``.
        max_prompt_tokens: an upper bound of the number of tokens, by which the possible cost is computed.
    """

    messages: tuple[Mapping[str, Any], ...]
    max_prompt_tokens: int

    def digest(self, settings: Mapping[str, Any]) -> str:
        """Return the SHA-256 hash of the messages and the settings of the call, by which equal requests are found."""
        text = json.dumps([self.messages, dict(settings)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def is_for_judges(kind: Kind) -> bool:
    """Return whether judges can give answers of this kind: choices, grades, points, the best of a list, or marks."""
    return kind.compares_pairs or kind.judges_one_caption or kind.names_best


def check_kind(kind: Kind) -> None:
    """Raise EvaluationError if a judge cannot answer units of this kind as people do."""
    if not is_for_judges(kind):
        raise EvaluationError(
            "Judges answer studies whose answers are choices, grades, points, the best of several or marked errors; "
            f"those of kind {kind.name!r} are not."
        )


def has_orders(kind: Kind) -> bool:
    """Return whether units show several texts, of which a judge chooses one.

    Judges are then asked about each unit twice, with the texts in both orders.
    """
    return kind.two_sided or kind.names_best


def order_of(kind: Kind, unit: Unit, *, swapped: bool) -> Any:
    """Return the order in which the texts of a unit are shown, as ``present_unit`` of a kind takes it.

    For two texts, this is whether they are swapped; for a list, the index of each text; for a single text, None.

    Args:
        swapped: whether the order is the reverse of the unit's own.
    """
    if not kind.names_best:
        return swapped if kind.two_sided else None
    indices = list(range(len(unit.content["options"])))
    return indices[::-1] if swapped else indices


def instructions_of(kind: Kind, design: StudyDesign) -> str:
    """Return the design's question and the allowed replies."""
    if kind.marks is not None:
        reply_rule = kind.marks.instructions()
    elif kind.names_best:
        worst_rule = ", a blank and the number of the worst" if design.answers.worst else ""
        reply_rule = f"Reply with the number of the best text{worst_rule}, and nothing else."
    elif kind.choices:
        labels = {choice.value: choice.label for choice in kind.choices}
        replies = [
            reply if kind.two_sided or reply == labels[value] else f"{reply} ({labels[value]})"
            for reply, value in allowed_replies(kind).items()
        ]
        separator = "; " if kind.confidences else ", "  # replies with a confidence contain a comma
        reply_rule = f"Reply with one of these and nothing else: {separator.join(replies)}."
    else:
        scale = kind.scale
        assert scale is not None  # the only kind with values but without choices is a slider
        labels_of_ends = design.labels or (tuple(design.scale.labels.values()) if design.scale else ())
        ends = [
            f"{number_text(value)} means: {label}"
            for value, label in zip(kind.labelled_values, labels_of_ends, strict=False)  # labels are optional
        ]
        number = f"number from {number_text(scale.low)} to {number_text(scale.high)}"
        number = f"whole {number}" if scale.step == 1 else f"{number} in steps of {number_text(scale.step)}"
        reply_rule = ". ".join([f"Reply with a {number} and nothing else", *ends]) + "."
    return f"{design.question}\n\n{reply_rule}"


def allowed_replies(kind: Kind) -> dict[str, float]:
    """Return the allowed replies of a kind with choices, and the answer that each stands for: ``{"B": 1, "C": 2}``."""
    if not kind.two_sided:
        return {choice.code: choice.value for choice in kind.choices}
    # The answer to a pair is a number of three digits: the confidence, the strength and the side (pair_answers.py of
    # the library).
    parts = [(int(value) // SURE, int(value) % SURE >= MUCH, int(value) % MUCH) for value in kind.values]
    asks_strength = any(is_much for _, is_much, _ in parts)
    replies: dict[str, float] = {}
    for value, (confidence, is_much, side) in zip(kind.values, parts, strict=True):
        reply = SIDE_WORDS[side]
        if asks_strength and side in (FIRST, SECOND):
            reply += " by far" if is_much else " slightly"
        replies[reply + CONFIDENCE_WORDS[confidence]] = int(value)
    return replies


def prompt_for_unit(
    prompt: str, presented_unit: Mapping[str, Any], *, source: str = "", picture: str = ""
) -> ChatPrompt:
    """Return the prompt about a unit.

    Args:
        prompt: the instructions, which come first.
        presented_unit: the unit as a worker sees it, from `present_unit` of its kind.
        source: the source text; "" if it is not shown.
        picture: the address of the picture, or a data URL; "" if none is shown.
    """
    lines = [f"Source text: {source}"] if source else []
    if text_before := presented_unit.get("document", {}).get("before"):
        lines.append(f"Text before: {text_before}")
    lines += [
        f"{number}: {text_or_placeholder(option['text'])}"
        for number, option in enumerate(presented_unit.get("options", ()), 1)
    ]
    # "b" and "c", the texts of a pair, become B and C; "caption" becomes Caption
    lines += [
        f"{name.upper() if len(name) == 1 else name.capitalize()}: {text_or_placeholder(part['text'])}"
        for name, part in presented_unit.items()
        if isinstance(part, Mapping) and "text" in part
    ]
    text = "\n".join(lines)
    content: Any = text
    if picture:
        content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": picture}}]
    # An upper bound of the number of tokens, since no token is shorter than a byte.
    byte_count = len((prompt + text).encode())
    return ChatPrompt(
        messages=({"role": "system", "content": prompt}, {"role": "user", "content": content}),
        max_prompt_tokens=byte_count + MESSAGE_TOKENS + (PICTURE_TOKENS if picture else 0),
    )


def picture_url_of(item: Item) -> str:
    """Return an image's picture as a data URL, upright and without metadata.

    If the picture is not stored here, return its external address, or "". Raise EvaluationError if it cannot be read.
    """
    if not item.picture:
        return item.url
    try:
        with item.picture.open("rb") as file:
            served_file = BytesIO(strip_metadata(file.read()))  # the picture that people see
        with Image.open(served_file, formats=list(FORMATS)) as image:
            is_large = image.width * image.height > MAX_JPEG_PIXELS
            prepare_decoding(image, (MAX_SIDE_PIXELS, MAX_SIDE_PIXELS) if is_large else image.size)
            small_picture = ImageOps.exif_transpose(image).convert("RGB")
            small_picture.thumbnail((MAX_SIDE_PIXELS, MAX_SIDE_PIXELS))
    except (OSError, ValueError, Image.DecompressionBombError, PictureProblem) as error:
        raise EvaluationError(f"The picture of image {item.name!r} cannot be read: {error}.") from None
    jpeg_file = BytesIO()
    small_picture.save(jpeg_file, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{b64encode(jpeg_file.getvalue()).decode()}"


def read_reply(kind: Kind, reply: str, *, swapped: bool, unit: Any = None) -> Any:
    """Return the answer that a reply gives, for the unit's own order of texts; None if it is no allowed answer.

    The reply must be an answer and nothing else. Outer blanks do not matter. Nor do case and a final full stop, except
    for marked errors, which are JSON that may stand in a code fence.

    Args:
        swapped: whether the prompt showed the texts in the reverse order.
        unit: the unit, which is needed for lists of texts and for marked errors.
    """
    text = reply.strip()
    answer: Any
    try:
        if kind.marks is not None:
            answer = kind.marks.read_reply(text, text=unit.first.text)
        elif kind.names_best:
            numbers = [_read_integer(number) for number in text.removesuffix(".").split()]
            # {"best": 2} or {"best": 2, "worst": 1}; more numbers than these two raise an error
            answer = dict(zip(ENDS[: len(numbers)], numbers, strict=True))
        elif kind.choices:
            answers = {allowed_reply.upper(): value for allowed_reply, value in allowed_replies(kind).items()}
            answer = answers[text.removesuffix(".").upper()]
        else:
            answer = plain_number(_read_decimal(text.removesuffix(".")))
        clean_answer = kind.clean_answer(answer, unit=unit, design=None)  # ``kind`` was made for the design
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return kind.sides.to_canonical(clean_answer, side=order_of(kind, unit, swapped=swapped))


def _read_integer(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise ValueError
    return int(text)


def _read_decimal(text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,7}(\.[0-9]{1,6})?", text):
        raise ValueError
    return float(text)
