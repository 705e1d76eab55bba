"""Accuracy of a metric against the number of references it may read (V15 section 7, figure 3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.accuracy import (
    NO_PAIRS,
    consensus_winners,
    kinds_of,
    metric_winners,
    wilson_interval,
)
from evaluation.statistics.errors import BadOption, BadShape
from evaluation.statistics.resampling import CONFIDENCE, Seed, check_confidence, generator_of
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats, floats_of, one_per_row, positive


@dataclass(frozen=True, slots=True)
class ReferenceCurve:
    """Accuracy of a metric on the pairs of one kind, for K numbers of references: arrays are (K,).

    `value` is the mean accuracy over `draws` random subsets of references, on the `n` pairs with a
    consensus; a metric's tie counts as wrong, and as half in `value_ties_half`. Two intervals: low and high
    for other pairs (Wilson's, of the mean number of right pairs: averaging over draws can only narrow it),
    draws_low and draws_high for other references (percentiles of the draws' accuracies, whose standard
    deviation is `deviation`; nan for one draw). nan without a pair that has a consensus: `reason`.
    """

    kind: str
    references: NDArray[np.int64]
    value: Floats
    low: Floats
    high: Floats
    draws_low: Floats
    draws_high: Floats
    deviation: Floats
    value_ties_half: Floats
    draws: NDArray[np.int64]
    n: int
    no_consensus: int
    pairs: int
    confidence: float
    reason: str
    signature: str = ""


@signed("accuracy-by-references", data=("kinds",))
def accuracy_by_references(
    scores: Mapping[int, tuple[ArrayLike, ArrayLike]],
    winners: ArrayLike,
    kinds: Iterable[Any] | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> dict[str, ReferenceCurve]:
    """Accuracy by number of references, for each pair kind and for all pairs ("all").

    `scores` maps a number of references to the scores of the first and of the second candidates, each
    (D, P): D random subsets of that many references, P pairs ((P,) for one subset). `winners` and `kinds`
    are those of `pair_accuracy`. Raises BadShape, BadValue, BadOption.
    """
    check_confidence(confidence)
    consensus = consensus_winners(winners)
    if not isinstance(scores, Mapping):
        raise BadShape(
            f"scores is of type {type(scores).__name__}, expected a mapping of numbers of references"
        )
    if not scores:
        raise BadShape("scores is empty, expected one number of references or more")
    for number in scores:
        positive(number, "a number of references")
    numbers = sorted(scores)
    named = [_winners(number, scores[number], len(consensus)) for number in numbers]
    return {
        kind: _curve(kind, numbers, [table[:, here] for table in named], consensus[here], confidence)
        for kind, here in kinds_of(kinds, len(consensus)).items()
    }


def random_subsets(available: int, size: int, draws: int, *, seed: Seed = 0) -> NDArray[np.int64]:
    """(D, size) places of `size` of `available` references, drawn without replacement, in ascending order.

    There is one draw where all are taken. Raises BadOption.
    """
    positive(available, "available")
    positive(size, "size")
    positive(draws, "draws")
    if size > available:
        raise BadOption(f"size is {size}, expected at most the {available} references there are")
    if size == available:
        return np.arange(size, dtype=np.int64)[np.newaxis]
    generator, _ = generator_of(seed)
    keys = generator.random((draws, available))
    return np.sort(np.argpartition(keys, size - 1, axis=1)[:, :size], axis=1).astype(np.int64)


def _winners(number: int, scores: tuple[ArrayLike, ArrayLike], pairs: int) -> NDArray[np.int64]:
    """(D, P) whom the metric names."""
    sides = one_per_row(scores, f"scores[{number}]")
    if len(sides) != 2:
        raise BadShape(f"scores[{number}] has {len(sides)} sides, expected those of both candidates")
    tables = [np.atleast_2d(floats_of(side, f"scores[{number}]")) for side in sides]
    for table in tables:
        if table.ndim != 2 or table.shape[1] != pairs or table.shape != tables[0].shape or not len(table):
            raise BadShape(
                f"scores[{number}] has shape {table.shape}, expected draws and {pairs} pairs on both sides"
            )
    first, second = tables
    return metric_winners(first.ravel(), second.ravel()).reshape(first.shape)


def _curve(
    kind: str, numbers: list[int], named: list[NDArray[np.int64]], consensus: Floats, confidence: float
) -> ReferenceCurve:
    decided = consensus != 0
    n = int(decided.sum())
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    rows = []
    for table in named:
        if not n:
            rows.append([math.nan] * 7)
            continue
        accuracies = (table[:, decided] == consensus[decided]).mean(axis=1)
        half = float((table[:, decided] == 0).mean()) / 2
        value = float(accuracies.mean())
        low, high = wilson_interval(value * n, n, confidence)
        several = len(accuracies) > 1
        spread = [*np.quantile(accuracies, ends), accuracies.std(ddof=1)] if several else [math.nan] * 3
        rows.append([value, low, high, *spread, value + half])
    value, low, high, draws_low, draws_high, deviation, ties_half = np.array(rows, dtype=np.float64).T
    return ReferenceCurve(
        kind=kind,
        references=np.array(numbers, dtype=np.int64),
        value=value,
        low=low,
        high=high,
        draws_low=draws_low,
        draws_high=draws_high,
        deviation=deviation,
        value_ties_half=ties_half,
        draws=np.array([len(table) for table in named], dtype=np.int64),
        n=n,
        no_consensus=len(consensus) - n,
        pairs=len(consensus),
        confidence=float(confidence),
        reason="" if n else NO_PAIRS,
    )
