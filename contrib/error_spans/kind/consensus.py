"""The consensus of answers that mark errors: the mean score, and the marks of the majority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from contrib.error_spans.kind.answers import CATEGORY, END, SEVERITIES, SEVERITY, START, spans_with_place
from contrib.error_spans.kind.mqm import MQM, MqmScheme, score_of
from judgments.kinds.base import OpenAggregation
from judgments.kinds.consensus import Consensus


class MajorityOfCharacters(OpenAggregation):
    """The consensus rule of marked errors. Agreement on units is measured on the scores.

    The agreement on marks is in ``kind/agreement.py``.
    """

    rule = "majority-of-characters"
    tie_rule = "unmarked"
    level = "interval"

    def __init__(self, mqm: MqmScheme = MQM) -> None:
        self.mqm = mqm

    def combine(self, answers: list[dict[str, Any]]) -> Consensus:
        return merge_answers_of_unit(answers, self.mqm)

    def codes(self, unit: Any, answer: Any) -> dict[str, float]:
        return {"": score_of(answer, self.mqm)}


def merge_answers_of_unit(answers: Sequence[Mapping[str, Any]], mqm: MqmScheme = MQM) -> Consensus:
    """Return the mean score, and the characters that more than half of the answers mark.

    Adjacent characters form one span while the most frequent severity and category stay the same. If severities are
    equally frequent, the least severe one is taken. A missing part is included if more than half of the answers
    mark one.
    """
    answer_count = len(answers)
    marks_by_offset: dict[int, list[tuple[str, str]]] = {}
    for answer in answers:
        strongest_marks: dict[int, tuple[str, str]] = {}
        for span in spans_with_place(answer["spans"]):
            mark = span[SEVERITY], span.get(CATEGORY, "")
            for offset in range(span[START], span[END]):  # where spans overlap, the most severe one counts
                strongest_marks[offset] = max(strongest_marks.get(offset, mark), mark, key=_severity_rank)
        for offset, mark in strongest_marks.items():
            marks_by_offset.setdefault(offset, []).append(mark)
    spans: list[dict[str, Any]] = []
    for offset, marks in sorted(marks_by_offset.items()):
        if 2 * len(marks) <= answer_count:
            continue
        frequent_mark = _most_frequent_mark(marks)
        # extend the last span if it ends here and has the same mark
        if spans and spans[-1] == {**spans[-1], END: offset, **frequent_mark}:
            spans[-1][END] = offset + 1
        else:
            spans.append({START: offset, END: offset + 1, **frequent_mark})
    missing_marks = [
        [(span[SEVERITY], span.get(CATEGORY, "")) for span in answer["spans"] if span[START] is None]
        for answer in answers
    ]
    if 2 * sum(map(bool, missing_marks)) > answer_count:
        spans.append({START: None, END: None, **_most_frequent_mark(list(chain(*missing_marks)))})
    value = float(np.mean([score_of(answer, mqm) for answer in answers]))
    votes = Counter(span[SEVERITY] for answer in answers for span in answer["spans"])
    answer = {"spans": spans, **({"score": value} if "score" in answers[0] else {})}
    return Consensus(n=answer_count, value=value, votes=dict(sorted(votes.items())), answer=answer)


def _severity_rank(mark: tuple[str, str]) -> int:
    return SEVERITIES.index(mark[0])


def _most_frequent_mark(marks: Sequence[tuple[str, str]]) -> dict[str, str]:
    severities = Counter(severity for severity, _ in marks)
    categories = Counter(category for _, category in marks if category)
    severity = min(severities, key=lambda name: (-severities[name], SEVERITIES.index(name)))
    category = min(categories, key=lambda name: (-categories[name], name), default="")
    return {SEVERITY: severity, **({CATEGORY: category} if category else {})}
