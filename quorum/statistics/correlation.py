"""Whether columns of scores rise together: Pearson, Spearman and Kendall, with intervals and tests.

Spearman's rho is Pearson's r of mid-ranks; Kendall's tau: see `taus`. Coefficients of many groups at once take rows
whose groups are adjacent: group g holds starts[g] to starts[g + 1]; one with fewer than two rows, or with a constant
variable, has nan.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import permutations
from typing import Any, Unpack

import numpy as np
import scipy  # its parts load when they are first used; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints, ratio
from quorum.numeric.packing import declare
from quorum.statistics.crossed import (
    NO_DELETIONS,
    NO_SPREAD,
    Clusters,
    RaterDeletions,
    Spread,
    answers_by_cell,
    coefficient_interval,
    positions_and_raters,
)
from quorum.statistics.inference import Clustering, Inference, Options, Sampling, signed
from quorum.statistics.inputs import (
    ROUNDING,
    BadValue,
    encode,
    finite_vector,
    gappy_vector,
    one_of,
    same_length,
    score_vector,
)

COEFFICIENTS = ("pearson", "spearman", "kendall-tau-b", "kendall-tau-c")


def group_coefficients(
    x: Floats, y: Floats, starts: Ints, coefficient: str, weights: Floats | None = None
) -> Floats:
    """Return (G,) coefficients, one of COEFFICIENTS, between (N,) vectors, each row once or `weights` (N,) times."""
    weights = np.ones(len(x)) if weights is None else weights
    if coefficient == "pearson":
        return pearson_groups(x, y, starts, weights)
    if coefficient == "spearman":
        groups = owners(starts)
        ranks = [mid_ranks(group_levels(values, groups)[0], weights) for values in (x, y)]
        return pearson_groups(ranks[0], ranks[1], starts, weights)
    rows, columns, levels, order = kendall_codes(x, y, starts)
    return taus(kendall_groups(rows, columns, weights[order], starts, levels), coefficient)


def owners(starts: Ints) -> Ints:
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def kendall_codes(x: Floats, y: Floats, starts: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return (N,) rows, ascending within each group, (N,) columns from 0 on in each, (G,) levels, and the order."""
    groups = owners(starts)
    rows, _, order = sorted_levels(x, groups)
    columns, bounds = group_levels(y, groups)
    if len(starts) > 2:
        columns -= bounds[groups]
    return rows, columns[order], np.diff(bounds), order


def pearson_groups(x: Floats, y: Floats, starts: Ints, weights: Floats) -> Floats:
    """Return (G,) Pearson correlations, scaled within each group against overflow."""
    sizes = np.diff(starts)
    first = starts[:-1]
    centred = []
    constant = sizes < 2
    for values in (x, y):
        largest, smallest = np.maximum.reduceat(values, first), np.minimum.reduceat(values, first)
        constant = constant | (largest == smallest)
        means = np.add.reduceat(values * weights, first) / np.add.reduceat(weights, first)
        spread = np.where(largest > smallest, np.maximum(largest - means, means - smallest), 1.0)
        centred.append((values - np.repeat(means, sizes)) / np.repeat(spread, sizes))
    x, y = centred
    squares = np.add.reduceat(weights * x * x, first) * np.add.reduceat(weights * y * y, first)
    return np.clip(ratio(np.add.reduceat(weights * x * y, first), np.sqrt(squares), where=~constant), -1, 1)


def group_levels(values: Floats, groups: Ints) -> tuple[Ints, Ints]:
    """Return (N,) codes of distinct values, ascending group by group, and (G + 1,) their bounds; `groups` ascend."""
    ordered, bounds, order = sorted_levels(values, groups)
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = ordered
    return codes, bounds


def sorted_levels(values: Floats, groups: Ints) -> tuple[Ints, Ints, Ints]:
    several = groups[-1] > 0
    order = np.lexsort((values, groups)) if several else np.argsort(values)
    ordered = values[order]
    new = np.ones(len(values), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    if several:  # which lie in the same places, whatever their order
        new[1:] |= groups[1:] != groups[:-1]
    codes = np.cumsum(new) - 1
    if several:
        bounds = np.searchsorted(groups[new], np.arange(groups[-1] + 2)).astype(np.int64)
    else:
        bounds = np.array([0, codes[-1] + 1])
    return codes, bounds, order


def mid_ranks(codes: Ints, weights: Floats | None = None) -> Floats:
    """Return (N,) mid-ranks over all groups, which differ from those within by a constant a group."""
    counts = np.bincount(codes, weights)
    return (np.cumsum(counts) - (counts - 1) / 2)[codes]


def kendall_groups(rows: Ints, columns: Ints, weights: Floats, starts: Ints, levels: Ints) -> Floats:
    from quorum.statistics.kernels.concordance import kendall_sums

    # Contiguous arrays, as the kernel is compiled once for each layout.
    return kendall_sums(rows, np.ascontiguousarray(columns), np.ascontiguousarray(weights), starts, levels)


def taus(sums: Floats, coefficient: str) -> Floats:
    """Return (G,) tau-b or tau-c of (G, 6) `kendall_sums`.

    With S = concordant - discordant pairs of n observations and m the smaller number of different values:
    tau-b = S / sqrt((n0 - n1)(n0 - n2)), n0 = n (n - 1) / 2, n1 and n2 the pairs tied in each variable
    (Kendall 1945); tau-c = 2 S m / (n^2 (m - 1)) (Stuart 1953). With weights w_i each pair of observations counts
    w_i w_j in S, n0, n1 and n2, and n is the sum of the weights, as with as many equal observations that make no pairs.
    """
    balance, n, row_squares, column_squares, rows, columns = sums.T
    smaller = np.minimum(rows, columns)
    defined = smaller > 1
    if coefficient == "kendall-tau-b":
        # Two roots, since the product of two counts of pairs can outgrow a double's whole numbers.
        scale = np.sqrt(n**2 - row_squares) * np.sqrt(n**2 - column_squares)
        numerator = 2 * balance
    else:
        scale = n**2 * (smaller - 1)
        numerator = 2 * balance * smaller
    return np.clip(ratio(numerator, scale, where=defined), -1, 1)


@declare
class Patterns:
    """The distinct pairs of values of two (N,) vectors, to be reweighted without sorting them again.

    rows, columns: (P,) codes, ascending; `columns` has fewer levels. frequency: (P,) observations. pattern: (N,).
    """

    def __init__(self, x: Floats, y: Floats, coefficient: str) -> None:
        x_levels, x_codes = encode(x, "first")
        y_levels, y_codes = encode(y, "second")
        if len(x_levels) < len(y_levels):  # every coefficient is symmetric, and few columns are faster
            x_levels, x_codes, y_levels, y_codes = y_levels, y_codes, x_levels, x_codes
        keys, pattern, frequency = np.unique(
            x_codes * len(y_levels) + y_codes, return_inverse=True, return_counts=True
        )
        self.rows, self.columns = np.divmod(keys, len(y_levels))
        self.pattern: Ints = pattern.astype(np.int64, copy=False)
        self.frequency: Ints = frequency.astype(np.int64, copy=False)
        self._coefficient = coefficient
        self._ends = np.array([0, len(keys)])
        self._levels = np.array([len(y_levels)])
        self._x, self._y = _scaled(x_levels, x)[self.rows], _scaled(y_levels, y)[self.columns]

    def __call__(self, weights: Floats) -> Floats:
        if self._coefficient == "pearson":
            return _weighted_pearson(weights, self._x, self._y)
        if self._coefficient == "spearman":
            return np.array([self._spearman(row) for row in weights], dtype=np.float64)
        sums = [self.kendall(row) for row in weights]
        return taus(np.concatenate(sums), self._coefficient)

    def kendall(self, weights: Floats) -> Floats:
        return kendall_groups(self.rows, self.columns, weights, self._ends, self._levels)

    def _spearman(self, weights: Floats) -> float:
        ranks = []
        for codes in (self.rows, self.columns):
            totals = np.bincount(codes, weights=weights)
            ranks.append((np.cumsum(totals) - totals / 2 - weights.sum() / 2)[codes])
        x, y = ranks
        spread = float(weights @ x**2) * float(weights @ y**2)
        return float(weights @ (x * y)) / math.sqrt(spread) if spread > 0 else math.nan


def _scaled(levels: Floats, values: Floats) -> Floats:
    centred = levels - values.mean()
    return np.asarray(centred / np.abs(centred).max(), dtype=np.float64)


def _weighted_pearson(weights: Floats, x: Floats, y: Floats) -> Floats:
    n = weights.sum(axis=1)
    sum_x, sum_y = weights @ x, weights @ y
    squares_x, squares_y = weights @ x**2, weights @ y**2
    spread_x = n * squares_x - sum_x**2
    spread_y = n * squares_y - sum_y**2
    shared = n * (weights @ (x * y)) - sum_x * sum_y
    # What is left of equal values after rounding is no variation.
    varied = (spread_x > 1e-12 * n * squares_x) & (spread_y > 1e-12 * n * squares_y)
    scale = np.sqrt(np.where(varied, spread_x * spread_y, 1.0))
    return np.clip(ratio(shared, scale, where=varied), -1, 1)


def correlation_influences(
    x: Floats,
    y: Floats,
    coefficient: str,
    value: float,
    points: tuple[Floats, Floats] | None = None,
    weights: Floats | None = None,
) -> Floats:
    """Return (N,) influences of observations on their coefficient, then those that (V,) further `points` would have.

    With `weights` (N,) they are those of one unit of weight.
    """
    rows = len(x)
    mass = weights = np.ones(rows) if weights is None else weights
    n = float(mass.sum())
    if points is not None:
        x, y = np.concatenate([x, points[0]]), np.concatenate([y, points[1]])
        weights = np.concatenate([weights, np.zeros(len(points[0]))])
    if coefficient == "pearson":
        x, y = (_standardised(_within(column), mass) for column in (x, y))
        return np.asarray((x * y - value * (x**2 + y**2) / 2) / n, dtype=np.float64)
    x_codes, y_codes = (np.unique(column, return_inverse=True)[1] for column in (x, y))
    if coefficient == "spearman":
        # Of mean zero, as the ranks go from 1 to n.
        first, second = ((mid_ranks(codes, weights) - 0.5) / n - 0.5 for codes in (x_codes, y_codes))
        varied = [
            _of_ranks(ranks, codes, ranks, weights) for ranks, codes in ((first, x_codes), (second, y_codes))
        ]
        spread = [float(mass @ ranks[:rows] ** 2) / n for ranks in (first, second)]
        moved = _moved(x_codes, second, weights) + _moved(y_codes, first, weights)
        influences = (first * second + moved / n) / np.sqrt(spread[0] * spread[1])
        influences -= value * (varied[0] / spread[0] + varied[1] / spread[1]) / 2
        return np.asarray((influences - np.average(influences[:rows], weights=mass)) / n, dtype=np.float64)
    from quorum.statistics.kernels.concordance import balances

    sizes = [np.bincount(codes, weights) for codes in (x_codes, y_codes)]
    order = np.argsort(x_codes, kind="stable")
    balance = np.empty(len(x))
    balance[order] = balances(x_codes[order], y_codes[order], weights[order], len(sizes[1]))
    untied = [n**2 - float(np.square(size).sum()) for size in sizes]
    if coefficient == "kendall-tau-b":
        influences = 2 * balance / np.sqrt(untied[0] * untied[1])
        for codes, size, pairs in zip((x_codes, y_codes), sizes, untied, strict=True):
            influences -= value * (n - size[codes]) / pairs
    else:
        smaller = min(np.count_nonzero(size) for size in sizes)
        influences = 2 * balance * smaller / (n**2 * (smaller - 1))
    return np.asarray(influences - np.average(influences[:rows], weights=mass), dtype=np.float64)


def _standardised(values: Floats, weights: Floats) -> Floats:
    """Return values by mean and deviation of the first ones, which have weights."""
    weighted = values[: len(weights)]
    mean = np.average(weighted, weights=weights)
    return np.asarray(
        (values - mean) / np.sqrt(np.average((weighted - mean) ** 2, weights=weights)), dtype=np.float64
    )


def changes_without_raters(
    x: Floats, y: Floats, coefficient: str, value: float, left: RaterDeletions, weights: Floats
) -> Floats:
    """Return (V,) how much of the coefficient with people's means `y` is lost where a rater leaves a mean."""
    gone = np.isnan(left.value)
    means = np.where(gone, y[left.row], left.value)
    influences = correlation_influences(x, y, coefficient, value, (x[left.row], means), weights)
    changes = influences[left.row] - np.where(gone, 0.0, influences[len(x) :])
    return np.asarray(weights[left.row] * changes, dtype=np.float64)


def pearson_without(x: Floats, y: Floats, owner: Ints, weights: Floats) -> Floats:
    x, y = ((column - column.mean()) / column.std() for column in (_within(x), _within(y)))
    columns = (np.ones(len(x)), x, y, x * x, y * y, x * y)
    n, sum_x, sum_y, square_x, square_y, both = (
        column.sum() - np.bincount(owner, weights=column) for column in (weights * each for each in columns)
    )
    spread = (n * square_x - sum_x**2) * (n * square_y - sum_y**2)
    return ratio(n * both - sum_x * sum_y, np.sqrt(np.maximum(spread, 0)), where=spread > 1e-9)


def _within(values: Floats) -> Floats:
    return np.asarray(values / np.abs(values).max(), dtype=np.float64)


def _of_ranks(ranks: Floats, codes: Ints, others: Floats, weights: Floats) -> Floats:
    return np.asarray(ranks * others + 2 * _moved(codes, others, weights) / weights.sum(), dtype=np.float64)


def _moved(codes: Ints, others: Floats, weights: Floats) -> Floats:
    """Return (N,) sums of `others` over the observations whose mid-rank one more equal observation lifts."""
    sums = np.bincount(codes, weights=others * weights)
    above = np.cumsum(sums[::-1])[::-1] - sums / 2
    return np.asarray(above[codes], dtype=np.float64)


_ENUMERATED = 9  # observations: 9! orders take a third of a second, once
TOO_FEW = "there are fewer than two observations"
CONSTANT = "{} has the same value throughout"


ALIKE = "both metrics order the observations alike, so that their difference does not vary"


@dataclass(frozen=True, slots=True)
class CorrelationResult(Inference):
    """A coefficient, its interval over observations, and its two-sided p."""

    coefficient: str
    value: float
    p: float
    n: int
    left_out: int


@signed("correlation", data=("weights",))
def correlation(
    first: ArrayLike,
    second: ArrayLike,
    coefficient: str = "pearson",
    *,
    missing: str = "refuse",
    weights: ArrayLike | None = None,
    **options: Unpack[Sampling],
) -> CorrelationResult:
    """Return one of COEFFICIENTS between two (N,) vectors; `resamples` 0 gives no interval.

    p of Pearson and Spearman: density (1 - r^2)^(n/2 - 2) (Student 1908), but of Spearman without ties for n <= 9
    exact, by all orders; of Kendall: exact without ties for n <= 33, else normal with the variance for ties of Kendall
    (1970). With `clusters`, p is of them too; they may hold `means_without_raters` of the second vector. With `weights`
    (N,), how many observations each stands for (see `taus`), nothing is resampled: interval and p are of clusters,
    or of single observations.
    """
    chosen, deletions = Options.with_raters(**options)
    one_of(coefficient, COEFFICIENTS, "coefficient")
    (x, y), complete = observations(missing, first=first, second=second)
    x, y = x[complete], y[complete]
    mass = observation_weights(weights, complete)
    left = (deletions or NO_DELETIONS).of_rows(complete, "observation")
    value = p = math.nan
    inference = chosen.undefined(_undefined(x, y))
    if not inference.reason:
        value = float(group_coefficients(x, y, np.array([0, len(x)]), coefficient, mass)[0])
        if coefficient.startswith("kendall"):
            p = float(scipy.stats.kendalltau(x, y).pvalue) if weights is None else math.nan
        else:
            p, few = _linear_p(value, len(x)), coefficient == "spearman" and len(x) <= _ENUMERATED
            if few and len(np.unique(x)) == len(np.unique(y)) == len(x):
                p = float((np.abs(_rhos_of_orders(len(x))) >= abs(value) - ROUNDING).mean())
        if chosen.columns or deletions is not None or weights is not None:
            grouped = chosen.clusters_of("observation", complete).weighted(mass)
            spread = _spread(x, y, coefficient, value, grouped, mass)
            changes = partial(changes_without_raters, x, y, coefficient, value, left, mass)
            spread, grouped = left.widen(spread, grouped, changes)
            p = spread.p(value)
            inference = chosen.clustered(
                grouped, coefficient_interval(value, spread, grouped.number, chosen.confidence)
            )
        elif chosen.resamples:
            patterns = Patterns(x, y, coefficient)
            inference = chosen.resampled(patterns, patterns.frequency, len(patterns.frequency))
    left_out = int((~complete).sum())
    return CorrelationResult(coefficient, value, p, len(x), left_out, **inference.shared())


def observation_weights(weights: ArrayLike | None, complete: Flags) -> Floats:
    """Return the weights of the complete observations: 1 if there are none."""
    if weights is None:
        return np.ones(int(complete.sum()))
    vector = finite_vector(weights, "weights")
    same_length(weights=vector, observations=complete)
    if not (vector > 0).all():
        raise BadValue(f"the smallest of the weights is {vector.min():g}, expected positive ones")
    return vector[complete]


def _spread(
    x: Floats, y: Floats, coefficient: str, value: float, clusters: Clusters, weights: Floats
) -> Spread:
    """Return the variance of a coefficient; that of r is a jackknife's, as single clusters can carry it."""
    if coefficient != "pearson" or clusters.reason:
        return clusters.spread(weights * correlation_influences(x, y, coefficient, value, None, weights))
    without = (pearson_without(x, y, codes, weights) for codes in clusters.codes)
    return clusters.spread_of([float(np.nansum(np.square(value - others))) for others in without])


@dataclass(frozen=True, slots=True)
class CorrelationDifference(Inference):
    """Two metrics' coefficients with people, and their difference with its interval and two-sided p of t."""

    coefficient: str
    first: float
    second: float
    difference: float
    p: float
    n: int
    spread: Spread


@signed("correlation-difference", data=("weights",))
def correlation_difference(
    first: ArrayLike,
    second: ArrayLike,
    people: ArrayLike,
    coefficient: str = "kendall-tau-b",
    *,
    missing: str = "refuse",
    weights: ArrayLike | None = None,
    **options: Unpack[Clustering],
) -> CorrelationDifference:
    """Return how much better (N,) scores of a first metric correlate with people's (N,) than those of a second.

    Its variance is that of the difference of influences: the metrics may be correlated. `clusters` and `weights` as in
    `correlation`.
    """
    chosen, deletions = Options.with_raters(resamples=0, **options)
    chosen = replace(chosen, seed=None)
    one_of(coefficient, COEFFICIENTS, "coefficient")
    columns, complete = observations(missing, first=first, second=second, people=people)
    first_scores, second_scores, human = (column[complete] for column in columns)
    n, mass, ends = len(human), observation_weights(weights, complete), np.array([0, int(complete.sum())])
    left = (deletions or NO_DELETIONS).of_rows(complete, "observation")
    reasons = (_undefined(first_scores, human), _undefined(second_scores, human))
    values = [
        math.nan if why else float(group_coefficients(scores, human, ends, coefficient, mass)[0])
        for scores, why in zip((first_scores, second_scores), reasons, strict=True)
    ]
    difference, spread = values[0] - values[1], NO_SPREAD
    inference = chosen.undefined(reasons[0] or reasons[1].replace("first", "second metric's"))
    if not inference.reason:
        metrics = tuple(zip((first_scores, second_scores), values, strict=True))
        influences = [
            mass * correlation_influences(scores, human, coefficient, value, None, mass)
            for scores, value in metrics
        ]
        grouped = chosen.clusters_of("observation", complete).weighted(mass)
        spread = grouped.spread(influences[0] - influences[1])

        def changes() -> Floats:
            first_changes, second_changes = (
                changes_without_raters(scores, human, coefficient, value, left, mass)
                for scores, value in metrics
            )
            return first_changes - second_changes

        spread, grouped = left.widen(spread, grouped, changes)
        half = spread.half(chosen.confidence)
        inference = chosen.clustered(grouped, (difference - half, difference + half))
        if not inference.reason and math.isnan(spread.p(difference)):
            inference = replace(inference, reason=ALIKE)
    return CorrelationDifference(
        coefficient, values[0], values[1], difference, spread.p(difference), n, spread, **inference.shared()
    )


def means_without_raters(
    rows: ArrayLike, raters: Iterable[Any], ratings: ArrayLike, number: int
) -> RaterDeletions:
    """Return the means of `number` rows if one of their raters had not rated them.

    rows: (V,) positions of rows from 0 on. raters, ratings: (V,). A rater may rate a row several times. Pass the result
    as the raters of `clusters`.
    """
    rating = finite_vector(ratings, "ratings")
    position, rater = positions_and_raters("rows", rows, raters, number)
    same_length(rows=position, ratings=rating)
    first, cell = answers_by_cell(position, rater)
    row, rated = position[first], np.bincount(cell, minlength=len(first))
    left = np.bincount(position, rating)[row] - np.bincount(cell, rating, minlength=len(first))
    return RaterDeletions(row, rater[first], ratio(left, np.bincount(position)[row] - rated), means=True)


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    return correlation(first, second, "pearson", resamples=0).value


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    return correlation(first, second, "spearman", resamples=0).value


def kendall_tau_b(first: ArrayLike, second: ArrayLike) -> float:
    return correlation(first, second, "kendall-tau-b", resamples=0).value


def observations(missing: str, **columns: ArrayLike) -> tuple[list[Floats], Flags]:
    """Return (N,) columns by name, and which rows have them all; nan raises BadValue unless `missing` leaves it out."""
    one_of(missing, ("refuse", "leave-out"), "missing")
    read = score_vector if missing == "refuse" else gappy_vector
    vectors = {name: read(values, name) for name, values in columns.items()}
    same_length(**vectors)
    complete: Flags = ~np.any([np.isnan(vector) for vector in vectors.values()], axis=0)
    return list(vectors.values()), complete


def _undefined(x: Floats, y: Floats) -> str:
    if len(x) < 2:
        return TOO_FEW
    if np.all(x == x[0]):
        return CONSTANT.format("the first variable")
    if np.all(y == y[0]):
        return CONSTANT.format("the second variable")
    return ""


def _linear_p(r: float, n: int) -> float:
    # Two observations always lie on a line, whether by value or by rank.
    return float(2 * scipy.special.betainc(n / 2 - 1, n / 2 - 1, (1 - abs(r)) / 2)) if n > 2 else 1.0


@cache
def _rhos_of_orders(n: int) -> Floats:
    """Return (n!,) rho of each order of n ranks with their own."""
    ranks = np.arange(n) - (n - 1) / 2
    return np.array(list(permutations(ranks))) @ ranks / (ranks @ ranks)
