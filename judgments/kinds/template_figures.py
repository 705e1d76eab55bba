"""What the answers to a template's form say, question by question: votes or numbers, and how far people agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.statistics.agreement import AgreementResult, alpha_of_judgments, alpha_of_parts
from judgments.hit_templates import Question
from judgments.kinds.base import Judged

if TYPE_CHECKING:
    from judgments.kinds.template import HITTemplate

RESAMPLES = 1000
MOST_VALUES = 50  # that are listed with their votes
MOST_TEXTS = 20


def question_figures(
    questions: Sequence[Question], kind: HITTemplate, judged: Sequence[Judged], *, seed: int
) -> list[dict[str, Any]]:
    """One entry for each question that people answer, in the order of the form.

    Keys: ``name``, ``label``, ``shape``, ``answered`` (judgments with an answer); ``votes`` (value -> how often) of
    closed questions; ``mean``, ``median``, ``deviation`` (n - 1), ``low``, ``high`` of numbers; ``texts`` (the first
    ones) and ``different`` of texts; ``alpha`` (value, low, high, level, n, reason) of all but texts.
    """
    return [_figure(question, kind, judged, seed=seed) for question in questions if question.shape != "fixed"]


def _figure(question: Question, kind: HITTemplate, judged: Sequence[Judged], *, seed: int) -> dict[str, Any]:
    own = [(one, one.given[question.name]) for one in judged if question.name in one.given]
    values = [value for _, value in own]
    found: dict[str, Any] = {
        "name": question.name,
        "label": question.label,
        "shape": question.shape,
        "answered": len(own),
    }
    if question.shape == "text":
        distinct = list(dict.fromkeys(values))
        return found | {"texts": distinct[:MOST_TEXTS], "different": len(distinct)}
    if question.shape == "number":
        numbers = np.array(values, dtype=np.float64)
        columns = [one.unit.pk for one, _ in own], [one.worker for one, _ in own], values
        alpha = alpha_of_judgments(*columns, "interval", resamples=RESAMPLES, seed=seed) if own else None
        return found | {
            "mean": float(numbers.mean()) if own else None,
            "median": float(np.median(numbers)) if own else None,
            "deviation": float(numbers.std(ddof=1)) if len(own) > 1 else None,
            "low": float(numbers.min()) if own else None,
            "high": float(numbers.max()) if own else None,
            "alpha": _alpha(alpha),
        }
    counts = Counter(_flat(values))
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    parts = [
        (one.unit.pk, part, one.worker, code)
        for one in judged
        for part, code in kind.codes(one.unit, one.given).items()
        if part.partition("\t")[0] == question.name
    ]
    agreed = None
    if parts:
        units, names, workers, codes = zip(*parts, strict=True)
        agreed = alpha_of_parts(units, names, workers, codes, "nominal", resamples=RESAMPLES, seed=seed)
    return found | {
        "votes": dict(ordered[:MOST_VALUES]),
        "different": len(ordered),
        "alpha": _alpha(agreed),
    }


def _flat(values: Iterable[Any]) -> list[str]:
    return [one for value in values for one in (value if isinstance(value, list) else [value])]


def _alpha(found: AgreementResult | None) -> dict[str, Any]:
    """Alpha with its interval; None for what is undefined, and why."""
    if found is None:
        return {
            "value": None,
            "low": None,
            "high": None,
            "level": "",
            "n": 0,
            "reason": "Nobody answered it.",
        }
    value, low, high = (None if one != one else float(one) for one in (found.value, found.low, found.high))
    return {
        "value": value,
        "low": low,
        "high": high,
        "level": found.level,
        "n": found.pairable,
        "reason": found.reason,
    }
