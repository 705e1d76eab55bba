"""Accuracy of a metric by the number of references to which it compares candidates (Vedantam et al. 2015, fig. 3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.inference import Clustering, Inference, Result, signed
from quorum.statistics.inputs import BadOption, BadShape, check_positive_int, floats_of, list_of_values
from quorum.statistics.meta.accuracy import NO_CONSENSUS, PeoplesWinners, kinds_of, metric_winners
from quorum.statistics.resampling import Seed, generator_of
from quorum.statistics.significance import wilson_interval


@dataclass(frozen=True, slots=True)
class ReferenceCurve(Result):
    """Accuracy of a metric on the pairs of one kind, for each of (K,) numbers of references.

    references: the numbers of references, ascending. draws: the number of random subsets of that many references.
    value: mean accuracy over the subsets. low, high: interval of the mean accuracy over pairs: by clusters, else
    Wilson's. draws_low, draws_high: percentiles of the accuracy over subsets. deviation: its standard deviation over
    subsets. value_ties_half, n, no_consensus, pairs: as in `AccuracyResult`.
    """

    kind: str
    references: Ints
    value: Floats
    low: Floats
    high: Floats
    draws_low: Floats
    draws_high: Floats
    deviation: Floats
    value_ties_half: Floats
    draws: Ints
    n: int
    no_consensus: int
    pairs: int
    confidence: float


@signed("accuracy-by-references", data=("kinds",))  # signatures leave out what is named in `data`
def accuracy_by_references(
    scores: Mapping[int, tuple[ArrayLike, ArrayLike]],
    winners: ArrayLike,
    kinds: Iterable[Any] | None = None,
    **options: Unpack[Clustering],
) -> dict[str, ReferenceCurve]:
    """Return the accuracy by number of references, for each pair kind, and for all pairs as "all".

    `scores` maps a number of references to two (D, P) arrays: the scores of the first and of the second candidates with
    D `random_subsets` of that many references. `winners` and `kinds` are as in `pair_accuracy`.
    """
    people = PeoplesWinners.from_winners(winners, **options)
    if not isinstance(scores, Mapping):
        raise BadShape(
            f"scores is of type {type(scores).__name__}, expected a mapping of numbers of references"
        )
    if not scores:
        raise BadShape("scores is empty, expected one number of references or more")
    for number in scores:
        check_positive_int(number, "a number of references")
    numbers = sorted(scores)
    winners_by_size = [_predicted_winners(number, scores[number], len(people.winners)) for number in numbers]
    return {
        kind: _curve(kind, numbers, winners_by_size, people, pairs)
        for kind, pairs in kinds_of(kinds, len(people.winners)).items()
    }


def random_subsets(available: int, size: int, draws: int, *, seed: Seed = 0) -> Ints:
    """Return (D, size) positions of randomly drawn references, ascending. If `size` is `available`, D is 1.

    Raise BadOption if `size` is larger than `available`.
    """
    check_positive_int(available, "available")
    check_positive_int(size, "size")
    check_positive_int(draws, "draws")
    if size > available:
        raise BadOption(f"size is {size}, expected at most the {available} references there are")
    if size == available:
        return np.arange(size, dtype=np.int64)[np.newaxis]
    generator, _ = generator_of(seed)
    # The references with the smallest random keys are a random subset.
    keys = generator.random((draws, available))
    return np.sort(np.argpartition(keys, size - 1, axis=1)[:, :size], axis=1).astype(np.int64)


def _predicted_winners(number: int, scores: tuple[ArrayLike, ArrayLike], pair_count: int) -> Ints:
    """Return the (D, P) winners that a metric names with D subsets of `number` references."""
    scores_by_side = list_of_values(scores, f"scores[{number}]")
    if len(scores_by_side) != 2:
        raise BadShape(f"scores[{number}] has {len(scores_by_side)} sides, expected those of both candidates")
    tables = [np.atleast_2d(floats_of(side_scores, f"scores[{number}]")) for side_scores in scores_by_side]
    for table in tables:
        if table.ndim != 2 or table.shape != (len(tables[0]), pair_count) or not len(table):
            raise BadShape(
                f"scores[{number}] has shape {table.shape}, expected draws and {pair_count} pairs on both sides"
            )
    first, second = tables
    return metric_winners(first.ravel(), second.ravel()).reshape(first.shape)


def _curve(
    kind: str, numbers: list[int], winners_by_size: list[Ints], people: PeoplesWinners, pairs: Flags
) -> ReferenceCurve:
    """Return the accuracies on the pairs of one kind, for which `pairs` (P,) is true.

    winners_by_size: for each number of references, the metric's (D, P) winners with D subsets.
    """
    has_consensus = pairs & (people.winners != 0)
    n = int(has_consensus.sum())
    inference = Inference(reason="" if n else NO_CONSENSUS)
    confidence = people.confidence
    levels = [(1 - confidence) / 2, (1 + confidence) / 2]
    points = []
    for predicted_winners in winners_by_size:
        if not n:
            points.append([math.nan] * 7)
            continue
        accuracies = (predicted_winners[:, has_consensus] == people.winners[has_consensus]).mean(axis=1)
        half_tie_share = float((predicted_winners[:, has_consensus] == 0).mean()) / 2
        value = float(accuracies.mean())
        if people.has_clusters:
            # The reason, note and clusters are the same for all numbers of references, since the pairs are the same.
            inference = people.share(partial(_mean_credit, predicted_winners), pairs)
            low, high = inference.low, inference.high
        else:
            low, high = wilson_interval(value * n, n, confidence)
        draws_low = draws_high = deviation = math.nan
        if len(accuracies) > 1:
            draws_low, draws_high = np.quantile(accuracies, levels)
            deviation = accuracies.std(ddof=1)
        points.append([value, low, high, draws_low, draws_high, deviation, value + half_tie_share])
    value, low, high, draws_low, draws_high, deviation, ties_half = np.array(points, dtype=np.float64).T
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
        draws=np.array([len(predicted_winners) for predicted_winners in winners_by_size], dtype=np.int64),
        n=n,
        no_consensus=int(pairs.sum()) - n,
        pairs=int(pairs.sum()),
        confidence=confidence,
        reason=inference.reason,
        note=inference.note,
        clusters=inference.clusters,
    )


def _mean_credit(predicted_winners: Ints, pairs: Ints, winners: Floats) -> Floats:
    """Return the share of subsets with which the metric names the winner of each of the pairs at these positions.

    predicted_winners: the metric's (D, P) winners with D subsets of references.
    """
    credits: Floats = (predicted_winners[:, pairs] == winners).mean(axis=0)
    return credits
