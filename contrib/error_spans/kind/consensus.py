"""The consensus of answers that mark errors: the mean score, and the marks of the majority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from contrib.error_spans.kind.answers import (
    CATEGORY,
    END,
    SEVERITIES,
    SEVERITY,
    START,
    Span,
    spans_with_offsets,
)
from contrib.error_spans.kind.mqm import MQM, MqmScheme, score_of
from judgments.kinds.base import OpenAggregation
from judgments.kinds.consensus import Consensus


class MajorityOfCharacters(OpenAggregation):
    """The consensus rule of marked errors.

    ``codes`` are the scores, whose agreement is measured. The agreement on marks is in ``kind/agreement.py``.
    """

    rule = "majority-of-characters"
    tie_rule = "unmarked"
    level = "interval"

    def __init__(self, mqm: MqmScheme = MQM) -> None:
        self.mqm = mqm

    def combine(self, answers: list[dict[str, Any]]) -> Consensus:
        return merge_answers_of_unit(answers, self.mqm)

    def codes(self, unit: Any, answer: Any) -> dict[str, float]:
        return {"": score_of(answer, self.mqm)}  # "" is the name of an answer's only part


def merge_answers_of_unit(answers: Sequence[Mapping[str, Any]], mqm: MqmScheme = MQM) -> Consensus:
    """Return the consensus of the answers to a unit.

    Its value is the mean of scores that people gave (its answer then has it too) or that marks make. Its spans, and one
    without offsets for missing text, are what more than half of the answers mark.
    """
    missing_marks = [
        [_mark_of(span) for span in answer["spans"] if span[START] is None] for answer in answers
    ]
    spans = _majority_spans(answers)
    if 2 * sum(map(bool, missing_marks)) > len(answers):
        spans.append({START: None, END: None, **_most_frequent_mark(list(chain(*missing_marks)))})
    value = float(np.mean([score_of(answer, mqm) for answer in answers]))
    votes = Counter(span[SEVERITY] for answer in answers for span in answer["spans"])
    merged_answer = {"spans": spans, **({"score": value} if "score" in answers[0] else {})}
    return Consensus(n=len(answers), value=value, votes=dict(sorted(votes.items())), answer=merged_answer)


class _Mark(NamedTuple):
    """The severity and the category of a span; the category is "" if there is none."""

    severity: str
    category: str


def _mark_of(span: Span) -> _Mark:
    return _Mark(span[SEVERITY], span.get(CATEGORY, ""))


def _majority_spans(answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the spans of the characters that more than half of the answers mark.

    Adjacent characters form one span if their most frequent severities and categories are the same.
    """
    marks_by_offset: dict[int, list[_Mark]] = {}
    for answer in answers:
        for offset, mark in _marks_of_characters(answer).items():
            marks_by_offset.setdefault(offset, []).append(mark)
    spans: list[dict[str, Any]] = []
    for offset, marks in sorted(marks_by_offset.items()):
        if 2 * len(marks) <= len(answers):
            continue
        frequent_mark = _most_frequent_mark(marks)
        if spans and _continues(spans[-1], offset, frequent_mark):
            spans[-1][END] = offset + 1
        else:
            spans.append({START: offset, END: offset + 1, **frequent_mark})
    return spans


def _continues(span: Mapping[str, Any], offset: int, mark: Mapping[str, str]) -> bool:
    """Return whether a character with this mark extends the span. A mark without a category fits any category."""
    has_same_mark = all(span.get(name) == value for name, value in mark.items())
    return span[END] == offset and has_same_mark


def _marks_of_characters(answer: Mapping[str, Any]) -> dict[int, _Mark]:
    """Return the mark of each marked character, by its offset. Where spans overlap, the most severe mark counts."""
    marks: dict[int, _Mark] = {}
    for span in spans_with_offsets(answer["spans"]):
        mark = _mark_of(span)
        for offset in range(span[START], span[END]):
            marks[offset] = max(marks.get(offset, mark), mark, key=_severity_rank)
    return marks


def _severity_rank(mark: _Mark) -> int:
    return SEVERITIES.index(mark.severity)


def _most_frequent_mark(marks: Sequence[_Mark]) -> dict[str, str]:
    """Return the most frequent severity and category. Of equally frequent severities, the least severe one counts."""
    severities = Counter(mark.severity for mark in marks)
    categories = Counter(mark.category for mark in marks if mark.category)
    severity = min(severities, key=lambda name: (-severities[name], SEVERITIES.index(name)))
    category = min(categories, key=lambda name: (-categories[name], name), default="")
    return {SEVERITY: severity, **({CATEGORY: category} if category else {})}
