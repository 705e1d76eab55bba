"""Choices among several: strengths of items of which one was named the best, and best-worst scaling.

Luce's choice model (1959): item i of a list S is chosen with probability s_i / sum_S s_j; with lists of two it is
Bradley-Terry's model, and a ranking is a row of choices from what is left (Plackett 1975). The log-likelihood is
concave in theta = log s; Newton's method finds the maximum to which Hunter's (2004) MM steps climb. An option that
several items share, such as a text that two systems gave, counts for each of m items as 1 / m: m items of weight 1 / m
in the list's sum, and 1 / m of a choice each.

Best-worst scaling: columns are (N,) lists of shown items, and the best and the worst of each list. The score is the
share of showings as best minus that as worst, from -1 to 1 (Louviere, Flynn, Marley 2015; counting of Orme 2009).
Split-half reliability: Kiritchenko, Mohammad 2016 and 2017.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import NDArray

from evaluation.numeric.arrays import Flags, Floats, Ints, ratio, starts_of
from evaluation.statistics.aggregation.bradley_terry import (
    NO_GAMES,
    UNBOUNDED,
    Candidate,
    Fit,
    Strengths,
    Tables,
    group_names,
    groups_of,
    maximise,
    released,
    shares_of,
)
from evaluation.statistics.correlation import group_coefficients
from evaluation.statistics.inference import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    Clusters,
    Result,
    Seed,
    check_confidence,
    column_codes,
    columns_of,
    generator_of,
    share_of_rows,
    signed,
)
from evaluation.statistics.inputs import (
    LARGEST_TABLE,
    BadShape,
    BadValue,
    encode,
    from_zero,
    one_per_row,
    positive,
    same_length,
)

SPLITS = 100
NO_HALVES = "no two items have answers in both halves, with scores that differ"


@dataclass(frozen=True, slots=True)
class BestWorstResult(Result):
    """(K,) items, counts and scores (best - worst) / shown; low and high are nan without clusters."""

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
    """Mean and deviation, over `splits` splits, of the correlation between scores of two random halves of the answers.

    There is no Spearman-Brown correction. `items`: mean number of items with answers in both halves. `undefined` splits
    have no coefficient.
    """

    pearson: float
    pearson_deviation: float
    spearman: float
    spearman_deviation: float
    items: float
    answers: int
    splits: int
    undefined: int


@dataclass(frozen=True, slots=True)
class _Answers:
    names: NDArray[Any]
    answer: Ints
    item: Ints
    point: Ints
    count: int


@signed("best-worst-scores")
def best_worst_scores(
    shown: Iterable[Sequence[Any]],
    best: Iterable[Any],
    worst: Iterable[Any],
    *,
    clusters: ClusterColumns = NAIVE,
) -> BestWorstResult:
    """Return the items' scores; with `clusters` (one entry an answer) also their 95 % intervals.

    An interval is that of the mean of the item's showings.
    """
    columns = columns_of(clusters)
    rows = _read(shown, best, worst)
    size = len(rows.names)
    times = np.bincount(rows.item, minlength=size)
    won = np.bincount(rows.item[rows.point > 0], minlength=size)
    lost = np.bincount(rows.item[rows.point < 0], minlength=size)
    low, high = np.full(size, math.nan), np.full(size, math.nan)
    reasons: dict[str, None] = {}
    counts: Mapping[str, int] = {}
    if columns:
        coded = {
            name: column_codes(values, name, rows.count, "an answer")[rows.answer]
            for name, values in columns.items()
        }
        counts = {name: len(np.unique(codes)) for name, codes in coded.items()}
        points = (1 + rows.point.astype(np.float64)) / 2  # from 0 to 1
        order, bounds = np.argsort(rows.item, kind="stable"), starts_of(times)
        for item in range(size):
            here = order[bounds[item] : bounds[item + 1]]
            columns_here = {name: codes[here] for name, codes in coded.items()}
            interval = share_of_rows(points[here], columns_here, CONFIDENCE)
            low[item], high[item] = 2 * interval.low - 1, 2 * interval.high - 1
            reasons |= {interval.clusters.reason: None} if interval.clusters.reason else {}
    return BestWorstResult(
        items=rows.names,
        shown=times,
        best=won,
        worst=lost,
        score=(won - lost) / times,
        answers=rows.count,
        low=low,
        high=high,
        reason="; ".join(reasons),
        clusters=counts,
    )


def implied_comparisons(
    shown: Iterable[Sequence[Any]], best: Iterable[Any], worst: Iterable[Any]
) -> tuple[list[Any], list[Any]]:
    """Return winners and losers, for Bradley-Terry: the best beats all others, and all others beat the worst."""
    rows = _read(shown, best, worst)
    winners: list[Any] = []
    losers: list[Any] = []
    names = rows.names.tolist()
    bounds = np.searchsorted(rows.answer, np.arange(rows.count + 1))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        items, points = rows.item[start:end].tolist(), rows.point[start:end].tolist()
        top, bottom = items[points.index(1)], items[points.index(-1)]
        for item in items:
            if item != top:
                winners.append(names[top])
                losers.append(names[item])
            if item not in (top, bottom):
                winners.append(names[item])
                losers.append(names[bottom])
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
    """Correlate scores from two random halves of the answers; those to each list of `tuples` (N,) are split evenly."""
    positive(splits, "splits")
    generator, reported = generator_of(seed)
    rows = _read(shown, best, worst)
    _, groups = encode(tuples, "tuples")
    if len(groups) != rows.count:
        raise BadShape(f"tuples has {len(groups)} entries and shown {rows.count}, expected equally many")
    correlations = np.full((splits, 2), math.nan)
    compared = np.zeros(splits)
    for split in range(splits):
        scores = _half_scores(rows, _halves(groups, generator))
        both = ~np.isnan(scores).any(axis=1)
        compared[split] = both.sum()
        if compared[split] >= 2:
            first, second = scores[both].T.copy()
            bounds = np.array([0, len(first)])
            correlations[split] = [
                group_coefficients(first, second, bounds, name)[0] for name in ("pearson", "spearman")
            ]
    defined = correlations[~np.isnan(correlations).any(axis=1)]
    nothing = not len(defined)
    means = np.full(2, math.nan) if nothing else defined.mean(axis=0)
    deviations = np.full(2, math.nan) if len(defined) < 2 else defined.std(axis=0, ddof=1)
    return SplitHalfResult(
        pearson=float(means[0]),
        pearson_deviation=float(deviations[0]),
        spearman=float(means[1]),
        spearman_deviation=float(deviations[1]),
        items=float(compared.mean()),
        answers=rows.count,
        splits=splits,
        undefined=splits - len(defined),
        seed=reported,
        reason=NO_HALVES if nothing else "",
    )


def _halves(groups: Ints, generator: np.random.Generator) -> Flags:
    count = len(groups)
    order = np.lexsort((generator.random(count), groups))
    sizes = np.bincount(groups)
    rank_in_tuple = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    begins = generator.integers(2, size=len(sizes))
    half = np.empty(count, dtype=bool)
    half[order] = (rank_in_tuple + begins[groups[order]]) % 2 == 1
    return half


def _half_scores(rows: _Answers, half: Flags) -> Floats:
    """Return (K, 2) scores of the items in both halves; nan where not shown."""
    size = len(rows.names)
    cells = rows.item * 2 + half[rows.answer]
    times = np.bincount(cells, minlength=2 * size)
    points = np.bincount(cells, weights=rows.point, minlength=2 * size)
    return ratio(points, times).reshape(size, 2)


def _read(shown: Iterable[Sequence[Any]], best: Iterable[Any], worst: Iterable[Any]) -> _Answers:
    lists = [one_per_row(row, f"shown[{number}]") for number, row in enumerate(one_per_row(shown, "shown"))]
    top, bottom = one_per_row(best, "best"), one_per_row(worst, "worst")
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
    return _Answers(
        names=names,
        answer=np.repeat(np.arange(len(lists)), [len(row) for row in lists]).astype(np.int64),
        item=items,
        point=np.array(points, dtype=np.int64),
        count=len(lists),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LuceResult(Strengths):
    """Strengths by choices.

    strength: (K,) with sum 1, the chance to be the best of all items. shown, best: (K,) how often an item was shown,
    and was the best. choices: number of lists.
    """

    strength: Floats
    shown: Ints
    best: Ints
    choices: int
    prior: float


@signed("luce-choice", data=("owners",))
def luce_choice(
    shown: Iterable[Sequence[Any]],
    best: Iterable[Any],
    *,
    owners: Mapping[Any, Sequence[Any]] | None = None,
    prior: float = 0.0,
    confidence: float = CONFIDENCE,
    max_iterations: int = 200,
    tolerance: float = 1e-7,
    clusters: ClusterColumns = NAIVE,
) -> LuceResult:
    """Fit strengths to (N,) lists of options, and the option of each that was named the best.

    `owners`: the items that share an option; without it, options are items. `prior` adds that many wins each way to
    every pair of items. `clusters` are columns of one entry a list, as in `bradley_terry_of_comparisons`; covariance
    and intervals are then the sandwich's.

    Raises:
        BadValue, BadShape, BadOption: a list of fewer than two different options, a best one that it does not hold, an
            option without owners, or a wrong setting.
    """
    check_confidence(confidence)
    positive(max_iterations, "max_iterations")
    from_zero(prior, "prior")
    from_zero(tolerance, "tolerance")
    rows = _Rows.of(shown, best, owners)
    columns = columns_of(clusters)
    grouped = Clusters.of(columns, rows.count) if columns else None
    reason = rows.no_maximum_reason(prior)
    fit = None if reason else _fit(rows, prior, (max_iterations, tolerance))
    freedom = np.full(len(rows.items), math.inf)
    if fit is not None and grouped is not None:
        chances, _ = _chances(rows, fit.theta)
        scores = scipy.sparse.csr_array(rows.wins - chances)
        covariance, freedom = grouped.covariance(scores, fit.covariance)
        fit = replace(fit, covariance=covariance)
    strengths = Strengths.of(rows.items, fit, confidence, freedom, reason, grouped)
    return LuceResult(
        strength=shares_of(strengths.log_strength),
        shown=rows.shown,
        best=rows.best,
        choices=rows.count,
        prior=float(prior),
        **strengths.shared(),
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """N lists over K items.

    weights, wins: (N, K) each list's shares of items, and shares of its choice. shown, best: (K,) counts.
    """

    items: NDArray[Any]
    weights: scipy.sparse.csr_array
    wins: scipy.sparse.csr_array
    shown: Ints
    best: Ints

    @property
    def count(self) -> int:
        return int(self.weights.shape[0])

    @classmethod
    def of(
        cls, shown: Iterable[Sequence[Any]], best: Iterable[Any], owners: Mapping[Any, Sequence[Any]] | None
    ) -> _Rows:
        lists = [
            one_per_row(row, f"shown[{number}]") for number, row in enumerate(one_per_row(shown, "shown"))
        ]
        chosen = one_per_row(best, "best")
        same_length(shown=lists, best=chosen)
        for number, row in enumerate(lists):
            if len(row) < 2 or len(set(row)) != len(row):
                raise BadValue(f"shown[{number}] is {row!r}, expected two or more different options")
            if chosen[number] not in row:
                raise BadValue(f"best[{number}] is {chosen[number]!r}, expected one of {row!r}")
        options, option = encode([option_name for row in lists for option_name in row], "shown")
        members = [_owners_of(option_name, owners) for option_name in options.tolist()]
        items, member = encode([item for group in members for item in group], "owners")
        if len(items) ** 2 > LARGEST_TABLE:
            raise BadValue(f"there are {len(items):,} items, expected {math.isqrt(LARGEST_TABLE):,} at most")
        sizes = np.array([len(group) for group in members], dtype=np.int64)
        # of each option, its items with equal shares
        shares = scipy.sparse.csr_array(
            (np.repeat(1 / np.maximum(sizes, 1), sizes), member, starts_of(sizes)),
            shape=(len(options), len(items)),
        )
        bounds = starts_of([len(row) for row in lists])
        ones = np.ones(len(option))
        lists_of_options = scipy.sparse.csr_array((ones, option, bounds), shape=(len(lists), len(options)))
        # the place of the best option in its list
        at = bounds[:-1] + np.array(
            [row.index(option_name) for row, option_name in zip(lists, chosen, strict=True)], dtype=np.int64
        )
        picked = scipy.sparse.csr_array(
            (np.ones(len(lists)), option[at], np.arange(len(lists) + 1)), shape=(len(lists), len(options))
        )
        weights, wins = (scipy.sparse.csr_array(table @ shares) for table in (lists_of_options, picked))
        return cls(items, weights, wins, _times(weights), _times(wins))

    def no_maximum_reason(self, prior: float) -> str:
        """Return why no finite strengths fit best: from each item, wins must lead to each (Hunter 2004, section 2)."""
        count = len(self.items)
        if count < 2:
            return NO_GAMES
        if prior > 0:
            return ""
        beat = np.asarray((self.wins.sign().T @ self.weights.sign()).toarray(), dtype=np.float64)
        np.fill_diagonal(beat, 0)
        nothing = np.zeros_like(beat)
        parts, groups = groups_of(Tables(beat, nothing, nothing))
        return UNBOUNDED.format(parts, group_names(groups, self.items)) if parts > 1 else ""


def _owners_of(option: Any, owners: Mapping[Any, Sequence[Any]] | None) -> list[Any]:
    if owners is None:
        return [option]
    members = list(dict.fromkeys(owners.get(option, ())))
    if not members:
        raise BadValue(f"owners names no item of {option!r}, expected one or more")
    return members


def _times(table: scipy.sparse.csr_array) -> Ints:
    return np.bincount(table.indices, minlength=table.shape[1]).astype(np.int64)


def _chances(rows: _Rows, theta: Floats) -> tuple[scipy.sparse.csr_array, Floats]:
    """Return (N, K) chances of the items of each list, and (N,) logarithms of the lists' sums.

    The largest strength of all stands in for each list's own; strengths of a fit lie well within a float's range.
    """
    top = float(theta.max())
    scaled = rows.weights.multiply(np.exp(theta - top)[np.newaxis, :]).tocsr()
    sums = np.maximum(np.asarray(scaled.sum(axis=1)).ravel(), np.finfo(np.float64).tiny)
    chances = scipy.sparse.csr_array(scaled.multiply((1 / sums)[:, np.newaxis]))
    return chances, np.log(sums) + top


def _log_likelihood(rows: _Rows, theta: Floats, sums: Floats, prior: float) -> float:
    log_likelihood = float((rows.wins @ theta).sum() - sums.sum())
    if prior:
        difference = theta[:, np.newaxis] - theta
        log_likelihood += prior * float(
            scipy.special.log_expit(difference).sum() - len(theta) * math.log(0.5)
        )
    return log_likelihood


def _derivatives(
    theta: Floats, chances: scipy.sparse.csr_array, won: Floats, prior: float
) -> tuple[Floats, Floats]:
    """Return (K,) slope and (K, K) information."""
    expected = np.asarray(chances.sum(axis=0)).ravel()
    slope = won - expected
    information = np.diag(expected) - (chances.T @ chances).toarray()
    if prior:
        first = scipy.special.expit(theta[:, np.newaxis] - theta)
        slope = slope + prior * (1 - 2 * first).sum(axis=1)
        spread = 2 * prior * first * (1 - first)
        np.fill_diagonal(spread, 0)
        information = information + np.diag(spread.sum(axis=1)) - spread
    return slope, np.asarray(information, dtype=np.float64)


def _fit(rows: _Rows, prior: float, limits: tuple[int, float]) -> Fit:
    items = len(rows.items)
    won = np.asarray(rows.wins.sum(axis=0), dtype=np.float64).ravel()

    def evaluate(theta: Floats) -> Candidate:
        theta = theta - theta.mean()
        chances, sums = _chances(rows, theta)
        return Candidate(theta, _log_likelihood(rows, theta, sums, prior), chances)

    def derivatives(candidate: Candidate) -> tuple[Floats, Floats]:
        return _derivatives(candidate.parameters, candidate.chances, won, prior)

    free = np.ones(items, dtype=np.bool_)
    return released(maximise(evaluate, derivatives, np.zeros(items), free, items, limits))
