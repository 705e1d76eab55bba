"""Best-worst scaling: scores of items from the best and the worst items of lists.

All functions take three (N,) columns with one answer in each row: the list of items that was shown, its best item, and
its worst item. An item's score, from -1 to 1, is the number of times it was the best, minus the number of times it was
the worst, divided by the number of times it was shown (Louviere, Flynn, Marley 2015; counting of Orme 2009). Split-half
reliability is from Kiritchenko, Mohammad 2016 and 2017.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Flags, Floats, Ints, ratio, starts_of
from quorum.statistics.correlation import group_coefficients
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    cluster_columns,
    column_codes,
    share_of_rows,
)
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    BadShape,
    BadValue,
    check_positive_int,
    encode,
    list_of_values,
    same_length,
)
from quorum.statistics.resampling import Seed, generator_of

SPLITS = 100
TOO_FEW_HALVED_ITEMS = "too few items have answers in both halves and different scores"


@dataclass(frozen=True, slots=True)
class BestWorstResult(Result):
    """Counts and scores of (K,) items.

    shown, best, worst: how often an item was shown, was the best, and was the worst. score: (best - worst) / shown.
    answers: number of lists. low, high: the score's interval, nan without clusters.
    """

    items: NDArray[Any]
    shown: Ints
    best: Ints
    worst: Ints
    score: Floats
    answers: int
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class SplitHalfResult(Result):
    """Correlation of items' scores between two halves of the answers, over random splits into halves.

    pearson, spearman: the means over the splits, without the Spearman-Brown correction; pearson_deviation,
    spearman_deviation: the standard deviations. items: mean number of items with answers in both halves. answers:
    number of all answers. splits: number of splits. undefined: number of these without a coefficient.
    """

    pearson: float
    pearson_deviation: float
    spearman: float
    spearman_deviation: float
    items: float
    answers: int
    splits: int
    undefined: int


@signed("best-worst-scores")
def best_worst_scores(
    shown: Iterable[Sequence[Any]],
    best: Iterable[Any],
    worst: Iterable[Any],
    *,
    clusters: ClusterColumns = NAIVE,
) -> BestWorstResult:
    """Return the items' scores, with 95 % intervals if `clusters` has columns, with one entry for each answer.

    A score is the mean of the item's points (1, 0 or -1) over the lists that show it. The interval is that of this
    mean.
    """
    columns = cluster_columns(clusters)
    rows = _read_answers(shown, best, worst)
    item_count = len(rows.names)
    shown_counts = np.bincount(rows.item, minlength=item_count)
    best_counts = np.bincount(rows.item[rows.point > 0], minlength=item_count)
    worst_counts = np.bincount(rows.item[rows.point < 0], minlength=item_count)
    low, high = np.full(item_count, math.nan), np.full(item_count, math.nan)
    reasons: list[str] = []
    counts: Mapping[str, int] = {}
    if columns:
        column_codes_by_name = {
            name: column_codes(values, name, rows.count, "an answer")[rows.answer]
            for name, values in columns.items()
        }
        counts = {name: len(np.unique(codes)) for name, codes in column_codes_by_name.items()}
        points = (1 + rows.point.astype(np.float64)) / 2  # from 0 to 1, as shares are
        order, bounds = np.argsort(rows.item, kind="stable"), starts_of(shown_counts)
        for item in range(item_count):
            item_rows = order[bounds[item] : bounds[item + 1]]
            item_columns = {name: codes[item_rows] for name, codes in column_codes_by_name.items()}
            interval = share_of_rows(points[item_rows], item_columns, CONFIDENCE)
            low[item], high[item] = 2 * interval.low - 1, 2 * interval.high - 1
            if interval.clusters.reason and interval.clusters.reason not in reasons:
                reasons.append(interval.clusters.reason)
    return BestWorstResult(
        items=rows.names,
        shown=shown_counts,
        best=best_counts,
        worst=worst_counts,
        score=(best_counts - worst_counts) / shown_counts,
        answers=rows.count,
        low=low,
        high=high,
        reason="; ".join(reasons),
        clusters=counts,
    )


def implied_comparisons(
    shown: Iterable[Sequence[Any]], best: Iterable[Any], worst: Iterable[Any]
) -> tuple[list[Any], list[Any]]:
    """Return the (M,) winners and losers of the comparisons that the answers imply, for Bradley-Terry.

    The best item of a list beats all others, and all others beat the worst.
    """
    rows = _read_answers(shown, best, worst)
    winners: list[Any] = []
    losers: list[Any] = []
    names = rows.names.tolist()
    bounds = np.searchsorted(rows.answer, np.arange(rows.count + 1))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        items, points = rows.item[start:end].tolist(), rows.point[start:end].tolist()
        best_item, worst_item = items[points.index(1)], items[points.index(-1)]
        for item in items:
            if item != best_item:
                winners.append(names[best_item])
                losers.append(names[item])
            if item not in (best_item, worst_item):
                winners.append(names[item])
                losers.append(names[worst_item])
    return winners, losers


@signed("best-worst-split-half")
def split_half_reliability(
    tuples: Iterable[Any],
    shown: Iterable[Sequence[Any]],
    best: Iterable[Any],
    worst: Iterable[Any],
    *,
    splits: int = SPLITS,
    seed: Seed = 0,
) -> SplitHalfResult:
    """Correlate the scores from two random halves of the answers.

    `tuples` (N,) names the list of each answer. The answers to one list are divided evenly between the halves.
    """
    check_positive_int(splits, "splits")
    generator, reported_seed = generator_of(seed)
    rows = _read_answers(shown, best, worst)
    _, groups = encode(tuples, "tuples")
    if len(groups) != rows.count:
        raise BadShape(f"tuples has {len(groups)} entries and shown {rows.count}, expected equally many")
    correlations = np.full((splits, 2), math.nan)
    item_counts = np.zeros(splits)
    for split in range(splits):
        scores = _half_scores(rows, _draw_halves(groups, generator))
        has_both = ~np.isnan(scores).any(axis=1)
        item_counts[split] = has_both.sum()
        if item_counts[split] >= 2:
            first, second = scores[has_both].T.copy()
            bounds = np.array([0, len(first)])  # a single group, of all items
            correlations[split] = [
                group_coefficients(first, second, bounds, name)[0] for name in ("pearson", "spearman")
            ]
    defined_rows = correlations[~np.isnan(correlations).any(axis=1)]
    is_undefined = not len(defined_rows)
    means = np.full(2, math.nan) if is_undefined else defined_rows.mean(axis=0)
    deviations = np.full(2, math.nan) if len(defined_rows) < 2 else defined_rows.std(axis=0, ddof=1)
    return SplitHalfResult(
        pearson=float(means[0]),
        pearson_deviation=float(deviations[0]),
        spearman=float(means[1]),
        spearman_deviation=float(deviations[1]),
        items=float(item_counts.mean()),
        answers=rows.count,
        splits=splits,
        undefined=splits - len(defined_rows),
        seed=reported_seed,
        reason=TOO_FEW_HALVED_ITEMS if is_undefined else "",
    )


@dataclass(frozen=True, slots=True)
class _ListAnswers:
    """The answers as a table of M rows, with a row for each item of each list.

    names: (K,) items, ascending. answer: (M,) number of the row's answer. item: (M,) position of its item in `names`.
    point: (M,) 1 if the item is the best of the list, -1 if it is the worst, else 0. count: number of answers.
    """

    names: NDArray[Any]
    answer: Ints
    item: Ints
    point: Ints
    count: int


def _read_answers(shown: Iterable[Sequence[Any]], best: Iterable[Any], worst: Iterable[Any]) -> _ListAnswers:
    """Return the answers. Raise BadValue if a list repeats an item, or lacks its best or its worst item."""
    lists = [
        list_of_values(row, f"shown[{number}]") for number, row in enumerate(list_of_values(shown, "shown"))
    ]
    top, bottom = list_of_values(best, "best"), list_of_values(worst, "worst")
    same_length(shown=lists, best=top, worst=bottom)
    points: list[int] = []
    for number, row in enumerate(lists):
        if len(row) < 2 or len(set(row)) != len(row):
            raise BadValue(f"shown[{number}] is {row!r}, expected two or more different items")
        if top[number] not in row or bottom[number] not in row or top[number] == bottom[number]:
            raise BadValue(
                f"answer {number} says {top[number]!r} is the best and {bottom[number]!r} the worst, "
                f"expected two different ones of {row!r}"
            )
        points += [int(item == top[number]) - int(item == bottom[number]) for item in row]
    names, items = encode([item for row in lists for item in row], "shown")
    return _ListAnswers(
        names=names,
        answer=np.repeat(np.arange(len(lists)), [len(row) for row in lists]).astype(np.int64),
        item=items,
        point=np.array(points, dtype=np.int64),
        count=len(lists),
    )


def _draw_halves(groups: Ints, generator: np.random.Generator) -> Flags:
    """Return (N,) flags of the answers in the second half, from the (N,) groups that are divided evenly.

    The answers of a group are put in a random order, and then belong to the halves in turn, beginning with a random
    half.
    """
    count = len(groups)
    order = np.lexsort((generator.random(count), groups))
    sizes = np.bincount(groups)
    rank_in_group = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first_halves = generator.integers(2, size=len(sizes))
    half = np.empty(count, dtype=bool)
    half[order] = (rank_in_group + first_halves[groups[order]]) % 2 == 1
    return half


def _half_scores(rows: _ListAnswers, half: Flags) -> Floats:
    """Return the (K, 2) scores of the items in both halves; nan if an item is not shown in a half."""
    size = len(rows.names)
    cells = rows.item * 2 + half[rows.answer]
    times = np.bincount(cells, minlength=2 * size)
    points = np.bincount(cells, weights=rows.point, minlength=2 * size)
    return ratio(points, times).reshape(size, 2)
