"""Marked spans as answers: options, checks, words to choose from, weights and consensus.

Offsets count Unicode code points from 0; ``end`` is exclusive. A missing part has ``start`` and ``end`` null.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeGuard

import numpy as np
from django.utils.translation import gettext

from judgments.kinds.base import Consensus

Span = Mapping[str, Any]
SEVERITIES = ("minor", "major", "critical")  # the least first
MOST_SPANS = 200
MOST_CATEGORIES, LONGEST_NAME = 60, 80
START, END, SEVERITY, CATEGORY = "start", "end", "severity", "category"
# letters of scripts that put no blanks between words stand for themselves
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
    r"|[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)


@dataclass(frozen=True, slots=True)
class Mqm:
    """MQM's types of errors and their weights."""

    labels: Mapping[str, str]
    weights: Mapping[str, float]
    of_category: Mapping[str, Mapping[str, float]]

    def with_weights(self, weights: Mapping[str, Mapping[str, float]]) -> Mqm:
        """Return them with a study's own weights: category, or "" for all others -> severity -> weight."""
        by_category = dict(weights)
        usual = {**self.weights, **by_category.pop("", {})}
        categories = {name: {**self.of_category.get(name, {}), **row} for name, row in by_category.items()}
        return replace(self, weights=usual, of_category={**self.of_category, **categories})

    def weight(self, span: Span) -> float:
        weights = self.of_category.get(span.get(CATEGORY, ""), {})
        return weights.get(span[SEVERITY], self.weights[span[SEVERITY]])

    def score(self, spans: Iterable[Span]) -> float:
        """Return minus the weights of the errors, as WMT does."""
        return 0.0 - sum(map(self.weight, spans))


def _read() -> Mqm:
    document = tomllib.loads(Path(__file__).with_name("mqm.toml").read_text(encoding="utf-8"))
    return Mqm(
        labels={category["name"]: category["label"] for category in document["category"]},
        weights=document["weights"],
        of_category={
            category["name"]: category["weights"]
            for category in document["category"]
            if "weights" in category
        },
    )


MQM: Final = _read()


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked of a worker: the part of the design that answers depend on.

    Attributes:
        categories: names with labels; empty if errors have no category.
        score: whether a score from 0 to 100 follows.
        missing: whether missing parts can be marked.
        weights: as in `Mqm.with_weights`.
    """

    severities: tuple[str, ...] = SEVERITIES[:2]
    categories: tuple[tuple[str, str], ...] = ()
    score: bool = True
    missing: bool = True
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def as_text(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def of_text(cls, text: str) -> Options:
        if not text:
            return cls()
        values = json.loads(text)
        return cls(
            severities=tuple(values["severities"]),
            categories=tuple((name, label) for name, label in values["categories"]),
            score=values["score"],
            missing=values["missing"],
            weights=values.get("weights", {}),
        )

    def with_marks(self, marks: Sequence[Span]) -> Options:
        """Return the options that allow a file's marks too; those before them all had categories, or none had."""
        categories = dict(self.categories)
        if categories or not self.severities:
            categories |= {name: name for span in marks if _is_name(name := span.get(CATEGORY))}
        if len(categories) > MOST_CATEGORIES:
            raise ValueError(f"the file names more; expected at most {MOST_CATEGORIES} categories")
        severities = SEVERITIES if marks else self.severities
        return replace(self, severities=severities, categories=tuple(categories.items()))

    def clean_answer(self, answer: Any, *, length: int) -> dict[str, Any]:
        """Return an answer in its stored form: spans by place, then missing parts.

        Raises:
            ValueError: it is invalid; the message ends with what was expected.
        """
        keys = {"spans", "score"} if self.score else {"spans"}
        if (
            not isinstance(answer, Mapping)
            or not isinstance(answer.get("spans"), list)
            or not set(answer) <= keys
        ):
            wanted = '{"spans": [...], "score": 0 to 100}' if self.score else '{"spans": [...]}'
            raise ValueError(gettext("expected %(wanted)s") % {"wanted": wanted})
        if len(answer["spans"]) > MOST_SPANS:
            raise ValueError(gettext("expected at most %(most)d spans") % {"most": MOST_SPANS})
        spans = in_order(self._checked_span(span, length) for span in answer["spans"])
        if not self.score:
            return {"spans": spans}
        score = answer.get("score")
        if score is None:
            raise ValueError(gettext("the score is missing; expected a whole number from 0 to 100"))
        if type(score) is not int or not 0 <= score <= 100:
            raise ValueError(gettext("expected %(wanted)s") % {"wanted": "a whole number from 0 to 100"})
        return {"spans": spans, "score": score}

    def _checked_span(self, span: Any, length: int) -> dict[str, Any]:
        keys = {START, END, SEVERITY, CATEGORY} if self.categories else {START, END, SEVERITY}
        if not isinstance(span, Mapping) or set(span) != keys:
            raise ValueError(
                gettext("a span has other keys; expected %(keys)s") % {"keys": ", ".join(sorted(keys))}
            )
        start, end = span[START], span[END]
        placed = type(start) is int and type(end) is int and 0 <= start < end <= length
        absent = start is None and end is None and self.missing
        if not placed and not absent:
            raise ValueError(
                gettext("a span from %(start)s to %(end)s is none; expected 0 to %(length)d")
                % {"start": start, "end": end, "length": length}
            )
        for key, allowed in ((SEVERITY, self.severities), (CATEGORY, tuple(dict(self.categories)))):
            if key in keys and span[key] not in allowed:
                raise ValueError(
                    gettext("the %(key)s of a span is %(value)s; expected %(allowed)s")
                    % {"key": key, "value": str(span[key])[:80], "allowed": ", ".join(allowed)}
                )
        return {key: span[key] for key in (START, END, SEVERITY, CATEGORY) if key in keys}


def _is_name(name: Any) -> TypeGuard[str]:
    return (
        isinstance(name, str)
        and 0 < len(name) <= LONGEST_NAME
        and name == name.strip()
        and name.isprintable()
    )


def in_order(spans: Iterable[Span]) -> list[dict[str, Any]]:
    """Return the spans by place, missing parts last; equal missing parts are several errors (MQM)."""

    def sort_key(span: Span) -> tuple[Any, ...]:
        absent = span[START] is None
        at = (0, 0) if absent else (span[START], span[END])
        return absent, *at, SEVERITIES.index(span[SEVERITY]), span.get(CATEGORY, "")

    ordered = sorted(map(dict, spans), key=sort_key)
    return [
        span
        for number, span in enumerate(ordered)
        if number == 0 or span[START] is None or span != ordered[number - 1]
    ]


def placed(spans: Iterable[Span]) -> list[Span]:
    return [span for span in spans if span[START] is not None]


def words_of(text: str) -> list[tuple[int, int]]:
    """Return the runs between blanks, or each letter in scripts without blanks."""
    return [match.span() for match in _WORD.finditer(text)]


def joined_words(
    text: str, marks: Mapping[int, tuple[str, ...]], keys: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the spans of marked words; join neighbours with the same marks."""
    tokens = words_of(text)
    spans: list[dict[str, Any]] = []
    before: tuple[int, tuple[str, ...]] | None = None
    for word in sorted(marks):
        start, end = tokens[word]
        if before == (word - 1, marks[word]):
            spans[-1][END] = end
        else:
            spans.append({START: start, END: end, **dict(zip(keys, marks[word], strict=True))})
        before = word, marks[word]
    return spans


def characters(spans: Iterable[Span]) -> set[int]:
    return {at for span in placed(spans) for at in range(span[START], span[END])}


def f1(first_spans: Iterable[Span], second_spans: Iterable[Span]) -> float:
    """Return the F1 by characters; 1 if neither marks any."""
    first, second = characters(first_spans), characters(second_spans)
    return 2 * len(first & second) / (len(first) + len(second)) if first or second else 1.0


def value_of(answer: Mapping[str, Any], mqm: Mqm = MQM) -> float:
    """Return an answer's score, else MQM's of its spans."""
    return float(answer["score"]) if "score" in answer else mqm.score(answer["spans"])


def together(answers: Sequence[Mapping[str, Any]], mqm: Mqm = MQM) -> Consensus:
    """Return the mean score, and the characters that more than half of the answers mark.

    Adjacent characters form one span while the leading severity and category stay the same; of equally frequent
    severities the least counts. Something is missing if more than half say so.
    """
    n = len(answers)
    marks: dict[int, list[tuple[str, str]]] = {}
    for answer in answers:
        strongest: dict[int, tuple[str, str]] = {}
        for span in placed(answer["spans"]):
            for at in range(span[START], span[END]):  # where spans overlap, the worst of them
                mark_of_span = span[SEVERITY], span.get(CATEGORY, "")
                if at not in strongest or SEVERITIES.index(mark_of_span[0]) > SEVERITIES.index(
                    strongest[at][0]
                ):
                    strongest[at] = mark_of_span
        for at, mark in strongest.items():
            marks.setdefault(at, []).append(mark)
    spans: list[dict[str, Any]] = []
    for at in sorted(at for at, marks_there in marks.items() if 2 * len(marks_there) > n):
        leading = _leading(marks[at])
        if spans and spans[-1] == {**spans[-1], END: at, **leading}:
            spans[-1][END] = at + 1
        else:
            spans.append({START: at, END: at + 1, **leading})
    lacking = [
        [(span[SEVERITY], span.get(CATEGORY, "")) for span in answer["spans"] if span[START] is None]
        for answer in answers
    ]
    if 2 * sum(map(bool, lacking)) > n:
        spans.append(
            {
                START: None,
                END: None,
                **_leading([mark for marks_of_answer in lacking for mark in marks_of_answer]),
            }
        )
    value = float(np.mean([value_of(answer, mqm) for answer in answers]))
    votes = Counter(span[SEVERITY] for answer in answers for span in answer["spans"])
    answer = {"spans": spans, **({"score": value} if "score" in answers[0] else {})}
    return Consensus(n=n, value=value, votes=dict(sorted(votes.items())), answer=answer)


def _leading(marks: Sequence[tuple[str, str]]) -> dict[str, str]:
    severities = Counter(severity for severity, _ in marks)
    categories = Counter(category for _, category in marks if category)
    severity = min(severities, key=lambda name: (-severities[name], SEVERITIES.index(name)))
    category = min(categories, key=lambda name: (-categories[name], name), default="")
    return {SEVERITY: severity, **({CATEGORY: category} if category else {})}
