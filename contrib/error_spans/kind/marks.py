"""Functions of marked errors for other features.

They give weights to errors, compare two answers, move marks if a text's outer blanks are removed, and ask a language
model to mark errors.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from typing import Any

from common.incoming.json_documents import load_json
from common.texts import one_text
from contrib.error_spans.kind.answers import CATEGORY, END, SEVERITY, START, Span, character_f1
from contrib.error_spans.kind.mqm import MqmScheme
from contrib.error_spans.kind.options import SpanOptions
from judgments.kinds.base import ErrorMarks

WEIGHT = "weight"


class SpanMarks(ErrorMarks):
    """The functions for the marks of a study."""

    def __init__(self, options: SpanOptions, mqm: MqmScheme) -> None:
        self.options, self.mqm = options, mqm

    def weighted_errors(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{**span, WEIGHT: self.mqm.weight(span)} for span in answer["spans"]]

    def similarity(self, first: Mapping[str, Any], second: Mapping[str, Any]) -> float:
        return character_f1(first["spans"], second["spans"])

    def shift(self, answer: Mapping[str, Any], *, written: str, stored: str) -> dict[str, Any]:
        return {**answer, "spans": [_moved_span(span, written, stored) for span in answer["spans"]]}

    def instructions(self) -> str:
        """Return how a language model replies: with JSON in which errors are quoted instead of located by offsets."""
        options = self.options
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

    def read_reply(self, reply: str, *, text: str) -> dict[str, Any]:
        """Return a reply's unchecked answer, with quotes as offsets. Any exception means that the reply has none."""
        # Models often put JSON into a code block of Markdown.
        content = load_json(reply.removeprefix("```json").removeprefix("```").removesuffix("```"))
        spans, search_starts = [], Counter[str]()
        for error in content.pop("errors"):
            quote = error.pop("text")
            start = end = None
            if quote is not None:  # if a quote is repeated, it is the next occurrence in the text
                start = text.index(quote, search_starts[quote])
                end = search_starts[quote] = start + len(quote)
            spans.append({START: start, END: end, **error})
        return {"spans": spans, **content}


def _moved_span(span: Span, written_text: str, stored_text: str) -> dict[str, Any]:
    """Convert a span's offsets in the written text to those in the stored text, which may lack the outer blanks.

    A span of removed blanks is moved to the nearest character of the stored text that is no outer blank.
    """
    if span[START] is None or span[END] is None:
        return dict(span)
    start, end = (move_offset(span[name], written_text, stored_text) for name in (START, END))
    start = min(start, len(stored_text.rstrip()) - 1)
    return {**span, START: start, END: max(end, start + 1)}


def move_offset(offset: int, text: str, other_text: str) -> int:
    """Return the offset in ``other_text`` that corresponds to one in ``text``. Both are forms of the same text."""
    normal_offset = _normal_offset(text, offset)
    # Offsets in the normal form never fall as those in `other_text` rise. So binary search finds the last offset in
    # `other_text` whose offset in the normal form is not greater, and normalises few beginnings of `other_text`.
    other_offsets = range(len(other_text.rstrip()) + 1)
    position = bisect_right(other_offsets, normal_offset, key=lambda index: _normal_offset(other_text, index))
    return max(0, position - 1)


def _normal_offset(text: str, offset: int) -> int:
    """Return the offset in the normal form of a text that corresponds to an offset in the text."""
    return len(one_text(f"{text[:offset]}|")) - 1  # the bar keeps the blanks before it
