"""Rankings of items: Borda's count, tournaments, Luce's choices and best-worst scaling.

Borda (H13 section 4.1.3): of N items the one ranked r = 0..N-1 gets N - r points; ties of the sums are ordered by
the median rank. Tournament (V15 section 7.3): with w_ij wins of i over j in n_ij comparisons, a system's fraction is
sum_j w_ij / sum_j n_ij.

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
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints, ratio, starts_of
from quorum.statistics.aggregation.bradley_terry import (
    NO_GAMES,
    UNBOUNDED,
    Candidate,
    Fit,
    Strengths,
    Tables,
    encode_comparisons,
    group_names,
    groups_of,
    maximise,
    released,
    shares_of,
)
from quorum.statistics.correlation import group_coefficients
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    ClusteredInterval,
    Clusters,
    check_confidence,
    column_codes,
    columns_of,
    share_of_rows,
)
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    LARGEST_TABLE,
    BadShape,
    BadValue,
    encode,
    first_repeated,
    from_zero,
    one_of,
    one_per_row,
    positive,
    same_length,
)
from quorum.statistics.resampling import RESAMPLES, Seed, bootstrap, generator_of, percentile_interval

TIE_RULES = ("half", "no-win", "set-aside")
NOTHING_DECIDED = "{} has no comparison that counts"
TOO_FEW = "there are fewer than two {}, which give no interval"


@dataclass(frozen=True, slots=True)
class BordaResult(Result):
    """The joint ranking of (N,) items.

    order: positions in `items`, best first. median, rank: from 0; items equal in points and median share the smallest
    rank, and are `tied`.
    """

    items: NDArray[Any]
    points: Ints
    median: Floats
    order: Ints
    rank: Ints
    tied: Flags
    rankings: int

    def ranking(self) -> list[Any]:
        names = self.items.tolist()
        return [names[position] for position in self.order.tolist()]


@signed("borda", input="lists")
def borda_count(rankings: Iterable[Sequence[Any]]) -> BordaResult:
    """Join rankings: sequences of all N items from best to worst."""
    lists = [
        one_per_row(ranking, f"ranking {number}")
        for number, ranking in enumerate(one_per_row(rankings, "rankings"))
    ]
    if not lists:
        raise BadShape("there are no rankings, expected one or more")
    names, codes = encode([item for ranking in lists for item in ranking], "rankings")
    lengths = np.array([len(ranking) for ranking in lists])
    row = np.repeat(np.arange(len(lists)), lengths)
    twice = first_repeated(row, codes)
    if twice is not None:
        number, item = twice
        raise BadValue(f"ranking {number} has {names.tolist()[item]!r} twice, expected every item once")
    short = np.flatnonzero(lengths != len(names))
    if short.size:
        raise BadShape(
            f"ranking {short[0]} has {lengths[short[0]]} items of {len(names)}, expected all of them"
        )
    if not len(names):
        raise BadShape("the rankings are empty, expected one item or more")
    ranks = np.empty((len(lists), len(names)), dtype=np.int64)
    ranks[row, codes] = np.tile(np.arange(len(names)), len(lists))
    return _join(names, ranks)


def _join(names: NDArray[Any], ranks: Ints) -> BordaResult:
    rankings, items = ranks.shape
    points = (items - ranks).sum(axis=0)
    median = np.median(ranks, axis=0)
    order = np.lexsort((np.arange(items), median, -points))
    new = np.ones(items, dtype=bool)
    new[1:] = (np.diff(points[order]) != 0) | (np.diff(median[order]) != 0)
    first = np.maximum.accumulate(np.where(new, np.arange(items), 0))
    rank = np.empty(items, dtype=np.int64)
    rank[order] = first
    tied = np.bincount(rank, minlength=items)[rank] > 1
    return BordaResult(names, points, median, order, rank, tied, rankings)


@dataclass(frozen=True, slots=True)
class TournamentResult:
    """Fractions of comparisons won by (K,) systems, with an interval over `resampled` rows or clusters.

    table: (K, K) fraction of comparisons with the column's system that the row's won. compared: (K, K) comparisons.
    order: (K,) positions from the largest fraction, nan last.
    """

    systems: NDArray[Any]
    fraction: Floats
    low: Floats
    high: Floats
    wins: Ints
    losses: Ints
    tied: Ints
    table: Floats
    compared: Ints
    order: Ints
    ties: str
    comparisons: int
    clusters: int
    resampled: str
    confidence: float
    resamples: int
    seed: int | None
    undefined_resamples: Ints
    reason: str
    signature: str = ""


@signed("tournament", data=("clusters",))
def tournament(
    first: Iterable[Any],
    second: Iterable[Any],
    winners: ArrayLike,
    *,
    ties: str = "half",
    clusters: ClusterColumns | Iterable[Any] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
) -> TournamentResult:
    """Return fractions of wins of (N,) systems.

    A tie is "half" a win each, "no-win" (but a comparison, as V15 count a metric's tie), or "set-aside". `clusters` as
    one (N,) column, such as images, are resampled whole. `resamples=0` gives no intervals.
    """
    one_of(ties, TIE_RULES, "ties")
    check_confidence(confidence)
    systems, first_item, second_item, outcome, cells = encode_comparisons(first, second, winners)
    comparisons = _Comparisons(first_item, second_item, outcome, ties)
    count, rows = len(systems), len(outcome)
    drawn, won, lost = cells
    wins, tied = won + lost.T, drawn + drawn.T
    credits, met = _counted(wins, tied, ties)
    fraction = ratio(credits.sum(axis=1), met.sum(axis=1))
    missing = [str(systems.tolist()[position]) for position in np.flatnonzero(np.isnan(fraction))]
    reason = NOTHING_DECIDED.format(", ".join(missing)) if missing else ""

    # What is resampled: rows, one column of clusters, or nothing where several columns give the intervals.
    resampled, units = "rows", rows
    if isinstance(clusters, str) and clusters == NAIVE:
        clusters = None
    if isinstance(clusters, Mapping):
        resampled, resamples = "+".join(clusters), 0
        units = min((len(set(one_per_row(column, name))) for name, column in clusters.items()), default=0)
    elif clusters is not None:
        names, cluster = encode(clusters, "clusters")
        same_length(first=first_item, clusters=cluster)
        resampled, units = "clusters", len(names)
    generator, reported = generator_of(seed)
    low, high = np.full(count, math.nan), np.full(count, math.nan)
    undefined = np.zeros(count, dtype=np.int64)
    if isinstance(clusters, Mapping):
        for position in range(count):
            interval = comparisons.interval(position, clusters, confidence)
            low[position], high[position] = interval.low, interval.high
            if interval.clusters.reason and not reason:
                reason = interval.clusters.reason
    elif units < 2:
        reason = "; ".join(filter(None, (reason, TOO_FEW.format(resampled))))
    elif resamples:
        positive(resamples, "resamples")
        if clusters is None:
            draws = _redrawn_rows(wins, tied, ties, resamples, generator)
        else:
            draws = comparisons.redrawn(cluster, count, resamples, generator)
        undefined = np.isnan(draws).sum(axis=0)
        for position in range(count):
            low[position], high[position], _ = percentile_interval(draws[:, position], confidence)
    return TournamentResult(
        systems=systems,
        fraction=fraction,
        low=low,
        high=high,
        wins=wins.sum(axis=1),
        losses=wins.sum(axis=0),
        tied=tied.sum(axis=1),
        table=ratio(credits, met),
        compared=wins + wins.T + tied,
        order=np.argsort(-fraction, kind="stable"),
        ties=ties,
        comparisons=rows,
        clusters=units,
        resampled=resampled,
        confidence=float(confidence),
        resamples=resamples,
        seed=reported,
        undefined_resamples=undefined,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class _Comparisons:
    """(N,) comparisons of two systems with outcomes 1, 2 or 0; `ties` is one of TIE_RULES."""

    first: Ints
    second: Ints
    outcome: Ints
    ties: str

    def interval(
        self, system: int, clusters: Mapping[str, Iterable[Any]], confidence: float
    ) -> ClusteredInterval:
        """Return the interval of a system's fraction by clusters."""
        keep = (self.first == system) | (self.second == system)
        if self.ties == "set-aside":
            keep &= self.outcome != 0
        winner = np.where(self.outcome == 1, self.first, self.second)
        won = np.where(self.outcome == 0, 0.5 if self.ties == "half" else 0.0, winner == system)
        return share_of_rows(won, clusters, confidence, keep=keep)

    def redrawn(self, cluster: Ints, systems: int, resamples: int, generator: np.random.Generator) -> Floats:
        """Return (resamples, systems) fractions after drawing whole clusters."""
        clusters = int(cluster.max()) + 1
        half = 0.5 if self.ties == "half" else 0.0
        tied = self.outcome == 0
        counts = np.where(tied & (self.ties == "set-aside"), 0.0, 1.0)
        of_first = np.where(self.outcome == 1, 1.0, np.where(tied, half, 0.0))
        of_second = np.where(self.outcome == 2, 1.0, np.where(tied, half, 0.0))
        # What each cluster adds to the systems' wins, and to their comparisons.
        values = np.concatenate([of_first, of_second, counts, counts])
        columns = np.concatenate([self.first, self.second, systems + self.first, systems + self.second])
        scores = scipy.sparse.csr_array(
            scipy.sparse.coo_array((values, (np.tile(cluster, 4), columns)), (clusters, 2 * systems))
        )

        def fractions(weights: Floats) -> Floats:
            sums = weights @ scores
            return ratio(sums[:, :systems], sums[:, systems:])

        frequency = np.ones(clusters, dtype=np.int64)
        return bootstrap(fractions, frequency, resamples=resamples, generator=generator, width=2 * systems)


def _counted(wins: Ints, tied: Ints, ties: str) -> tuple[NDArray[Any], Ints]:
    met = wins + wins.T
    if ties == "set-aside":
        return wins, met
    return (wins + tied / 2 if ties == "half" else wins), met + tied


def _redrawn_rows(
    wins: Ints,
    tied: Ints,
    ties: str,
    resamples: int,
    generator: np.random.Generator,
) -> Floats:
    counts = np.stack([wins.sum(axis=1), wins.sum(axis=0), tied.sum(axis=1)], axis=1)
    comparisons = int(counts.sum()) // 2
    draws = np.empty((resamples, len(counts)))
    for system, outcomes in enumerate(counts):
        shares = np.append(outcomes, comparisons - outcomes.sum()) / comparisons
        won, lost, drawn, _ = generator.multinomial(comparisons, shares, size=resamples).T
        credits = won + drawn / 2 if ties == "half" else won
        draws[:, system] = ratio(credits, won + lost if ties == "set-aside" else won + lost + drawn)
    return draws


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
