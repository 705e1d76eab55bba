"""What keywords and links say beyond consensus and alpha. Pure; answers in, plain figures out."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

from evaluation.metrics.content import content_upper_bound
from evaluation.statistics.significance import bootstrap_interval

RESAMPLES = 1000
NO_TWO = "No unit has two judgments, so nobody can be held against anybody."


def f1(first: Collection[str], second: Collection[str]) -> float:
    """2 |A & B| / (|A| + |B|): F1 of one set against the other, whichever is held for right; 1 for two empty ones."""
    sizes = len(first) + len(second)
    return 2 * len(set(first) & set(second)) / sizes if sizes else 1.0


def pairwise_f1(answers: Mapping[int, Sequence[Collection[str]]], *, seed: int) -> dict[str, Any]:
    """How much two people's keywords overlap: mean F1 over every two answers of a unit, then over units, with a
    bootstrap interval over units.

    Args:
        answers: unit -> the keywords of each worker.
    """
    means = []
    pairs = 0
    for given in answers.values():
        values = [f1(one, other) for one, other in combinations(given, 2)]
        pairs += len(values)
        if values:
            means.append(sum(values) / len(values))
    found = bootstrap_interval(means, resamples=RESAMPLES, seed=seed)
    return {
        "value": _or_none(found.value),
        "low": _or_none(found.low),
        "high": _or_none(found.high),
        "n": len(means),
        "pairs_of_answers": pairs,
        "confidence": found.confidence,
        "resamples": RESAMPLES,
        "seed": seed,
        "reason": "" if means else NO_TWO,
    }


def content_figures(named: Mapping[str, Sequence[Collection[int]]]) -> dict[str, Any]:
    """How well people select content: every description's boxes against those of its image's others (WG15 §5), and how
    many boxes a description names on average (WG15: 2.89).

    Args:
        named: image -> the numbers of the boxes that each of its descriptions names.
    """
    bound = content_upper_bound(list(named.values()))
    descriptions = [boxes for of_image in named.values() for boxes in of_image]
    return {
        "upper_bound": {
            name: {
                "value": _or_none(figure.mean),
                "deviation": _or_none(figure.sd),
                "n": bound.images - figure.undefined,
            }
            for name, figure in (("precision", bound.precision), ("recall", bound.recall), ("f1", bound.f1))
        },
        "boxes_named": sum(map(len, descriptions)) / len(descriptions) if descriptions else None,
        "descriptions": len(descriptions),
        "images": bound.images,
        "reason": bound.reason,
        "signature": str(bound.signature),
    }


def _or_none(value: float) -> float | None:
    """For JSON, which has no nan."""
    return None if math.isnan(value) else value
