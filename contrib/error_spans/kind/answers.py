"""Answers that mark errors: their keys, the order of their spans, and the similarity of two answers.

An answer is ``{"spans": [{"start": 3, "end": 8, "severity": "minor", "category": "grammar"}], "score": 80}``, where
categories and the score are optional. Offsets count Unicode code points from 0; ``end`` is exclusive. If a span says
that a part of the source is missing from the text, ``start`` and ``end`` are None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from common.texts import word_bounds

Span = Mapping[str, Any]
SEVERITIES = ("minor", "major", "critical")  # from the least severe on
SEVERITY_KEYS = dict(zip(SEVERITIES, "mjk", strict=True))  # the key of the keyboard for each severity
SEVERITY_WORDS = {"minor": _("Minor"), "major": _("Major"), "critical": _("Critical")}
SCORE_TOLERANCE = 15  # points by which two equivalent scores of one text may differ, as on a slider
MIN_F1 = 0.5  # F1 from which two answers without scores count as equivalent
START, END, SEVERITY, CATEGORY = "start", "end", "severity", "category"


def sort_spans(spans: Iterable[Span]) -> list[dict[str, Any]]:
    """Return the spans sorted by position, without repetitions, and with missing parts last.

    Equal missing parts are all kept, since each is an error (MQM).
    """

    def sort_key(span: Span) -> tuple[Any, ...]:
        is_missing = span[START] is None
        bounds = (0, 0) if is_missing else (span[START], span[END])
        return is_missing, *bounds, SEVERITIES.index(span[SEVERITY]), span.get(CATEGORY, "")

    sorted_spans = sorted(map(dict, spans), key=sort_key)
    return [
        span
        for number, span in enumerate(sorted_spans)
        if number == 0 or span[START] is None or span != sorted_spans[number - 1]
    ]


def spans_with_offsets(spans: Iterable[Span]) -> list[Span]:
    return [span for span in spans if span[START] is not None]


def spans_of_words(
    text: str, marks: Mapping[int, tuple[str, ...]], keys: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the spans of marked words. Adjacent words with the same mark are one span.

    Args:
        marks: the mark of each marked word by the index of the word, such as ``{3: ("minor", "grammar")}``.
        keys: the keys of the values of a mark, such as ``("severity", "category")``.
    """
    tokens = word_bounds(text)
    spans: list[dict[str, Any]] = []
    previous_word: tuple[int, tuple[str, ...]] | None = None
    for word in sorted(marks):
        start, end = tokens[word]
        if previous_word == (word - 1, marks[word]):
            spans[-1][END] = end
        else:
            spans.append({START: start, END: end, **dict(zip(keys, marks[word], strict=True))})
        previous_word = word, marks[word]
    return spans


def marked_characters(spans: Iterable[Span]) -> set[int]:
    return {position for span in spans_with_offsets(spans) for position in range(span[START], span[END])}


def character_f1(first_spans: Iterable[Span], second_spans: Iterable[Span]) -> float:
    """Return the F1 of the marked characters; 1 if neither answer marks any."""
    first, second = marked_characters(first_spans), marked_characters(second_spans)
    return 2 * len(first & second) / (len(first) + len(second)) if first or second else 1.0
