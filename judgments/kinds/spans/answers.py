"""Marked spans as answers: options, checks, words to choose from, weights and consensus.

Offsets count Unicode code points from 0; ``end`` is exclusive. A missing part has ``start`` and ``end`` null.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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

    def weight(self, span: Span) -> float:
        own = self.of_category.get(span.get(CATEGORY, ""), {})
        return own.get(span[SEVERITY], self.weights[span[SEVERITY]])

    def score(self, spans: Iterable[Span]) -> float:
        """Return minus the weights of the errors, as WMT does."""
        return 0.0 - sum(map(self.weight, spans))


def _read() -> Mqm:
    found = tomllib.loads(Path(__file__).with_name("mqm.toml").read_text(encoding="utf-8"))
    return Mqm(
        labels={one["name"]: one["label"] for one in found["category"]},
        weights=found["weights"],
        of_category={one["name"]: one["weights"] for one in found["category"] if "weights" in one},
    )


MQM: Final = _read()


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked of a worker: the part of the design that answers depend on.

    Attributes:
        categories: names with labels; empty if errors have no category.
        score: whether a score from 0 to 100 follows.
        missing: whether missing parts can be marked.
    """

    severities: tuple[str, ...] = SEVERITIES[:2]
    categories: tuple[tuple[str, str], ...] = ()
    score: bool = True
    missing: bool = True

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
        )

    def with_marks(self, marks: Sequence[Span]) -> Options:
        """Return the options that allow a file's marks too; those before them all had categories, or none had."""
        categories = dict(self.categories)
        if categories or not self.severities:
            categories |= {name: name for one in marks if _is_name(name := one.get(CATEGORY))}
        if len(categories) > MOST_CATEGORIES:
            raise ValueError(f"the file names more; expected at most {MOST_CATEGORIES} categories")
        severities = SEVERITIES if marks else self.severities
        return replace(self, severities=severities, categories=tuple(categories.items()))

    def clean_answer(self, given: Any, *, length: int) -> dict[str, Any]:
        """Return an answer in its stored form: spans by place, then missing parts.

        Raises:
            ValueError: it is invalid; the message ends with what was expected.
        """
        keys = {"spans", "score"} if self.score else {"spans"}
        if (
            not isinstance(given, Mapping)
            or not isinstance(given.get("spans"), list)
            or not set(given) <= keys
        ):
            wanted = '{"spans": [...], "score": 0 to 100}' if self.score else '{"spans": [...]}'
            raise ValueError(gettext("expected %(wanted)s") % {"wanted": wanted})
        if len(given["spans"]) > MOST_SPANS:
            raise ValueError(gettext("expected at most %(most)d spans") % {"most": MOST_SPANS})
        spans = in_order(self._checked_span(one, length) for one in given["spans"])
        if not self.score:
            return {"spans": spans}
        score = given.get("score")
        if type(score) is not int or not 0 <= score <= 100:
            raise ValueError(gettext("the score is missing; expected a whole number from 0 to 100"))
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

    def place(span: Span) -> tuple[Any, ...]:
        absent = span[START] is None
        at = (0, 0) if absent else (span[START], span[END])
        return absent, *at, SEVERITIES.index(span[SEVERITY]), span.get(CATEGORY, "")

    ordered = sorted(map(dict, spans), key=place)
    return [
        one
        for number, one in enumerate(ordered)
        if number == 0 or one[START] is None or one != ordered[number - 1]
    ]


def placed(spans: Iterable[Span]) -> list[Span]:
    return [span for span in spans if span[START] is not None]


def words_of(text: str) -> list[tuple[int, int]]:
    """Return the runs between blanks, or each letter in scripts without blanks."""
    return [found.span() for found in _WORD.finditer(text)]


def joined_words(
    text: str, marks: Mapping[int, tuple[str, ...]], keys: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the spans of marked words; join neighbours with the same marks."""
    words = words_of(text)
    found: list[dict[str, Any]] = []
    before: tuple[int, tuple[str, ...]] | None = None
    for word in sorted(marks):
        start, end = words[word]
        if before == (word - 1, marks[word]):
            found[-1][END] = end
        else:
            found.append({START: start, END: end, **dict(zip(keys, marks[word], strict=True))})
        before = word, marks[word]
    return found


def characters(spans: Iterable[Span]) -> set[int]:
    return {at for span in placed(spans) for at in range(span[START], span[END])}


def f1(one: Iterable[Span], other: Iterable[Span]) -> float:
    """Return the F1 by characters; 1 if neither marks any."""
    first, second = characters(one), characters(other)
    return 2 * len(first & second) / (len(first) + len(second)) if first or second else 1.0


def value_of(answer: Mapping[str, Any]) -> float:
    """Return an answer's score, else MQM's of its spans."""
    return float(answer["score"]) if "score" in answer else MQM.score(answer["spans"])


def together(answers: Sequence[Mapping[str, Any]]) -> Consensus:
    """Return the mean score, and the characters that more than half of the answers mark.

    Adjacent characters form one span while the leading severity and category stay the same; of equally frequent
    severities the least counts. Something is missing if more than half say so.
    """
    n = len(answers)
    marks: dict[int, list[tuple[str, str]]] = {}
    for answer in answers:
        own: dict[int, tuple[str, str]] = {}
        for span in placed(answer["spans"]):
            for at in range(span[START], span[END]):  # where spans overlap, the worst of them
                kept = span[SEVERITY], span.get(CATEGORY, "")
                if at not in own or SEVERITIES.index(kept[0]) > SEVERITIES.index(own[at][0]):
                    own[at] = kept
        for at, mark in own.items():
            marks.setdefault(at, []).append(mark)
    spans: list[dict[str, Any]] = []
    for at in sorted(at for at, given in marks.items() if 2 * len(given) > n):
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
        spans.append({START: None, END: None, **_leading([mark for own in lacking for mark in own])})
    value = float(np.mean([value_of(answer) for answer in answers]))
    votes = Counter(span[SEVERITY] for answer in answers for span in answer["spans"])
    answer = {"spans": spans, **({"score": value} if "score" in answers[0] else {})}
    return Consensus(n=n, value=value, votes=dict(sorted(votes.items())), answer=answer)


def _leading(marks: Sequence[tuple[str, str]]) -> dict[str, str]:
    severities = Counter(severity for severity, _ in marks)
    categories = Counter(category for _, category in marks if category)
    severity = min(severities, key=lambda one: (-severities[one], SEVERITIES.index(one)))
    category = min(categories, key=lambda one: (-categories[one], one), default="")
    return {SEVERITY: severity, **({CATEGORY: category} if category else {})}
