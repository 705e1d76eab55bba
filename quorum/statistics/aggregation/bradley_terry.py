"""Bradley-Terry: strengths of items from how often they beat each other, with Wald intervals.

Bradley, Terry 1952: i beats j with probability s_i / (s_i + s_j). Ties are half a win each way, or have a
parameter nu (Davidson 1970, eq. 2.4); an advantage of the item shown first multiplies its strength (after Davidson,
Beaver 1977). With log-strengths theta and d = (theta_i - theta_j + order) / 2 the chances that the first wins, the
second wins, or they tie are exp(d), exp(-d) and nu over their sum. The likelihood is concave in theta, log(nu), order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.aggregation.pair_winners import outcomes_of
from quorum.statistics.crossed import (
    CONFIDENCE,
    FEWEST,
    NAIVE,
    NO_DELETIONS,
    ClusterColumns,
    Clusters,
    RaterDeletions,
    check_confidence,
    cluster_columns,
    columns_and_deletions,
    quantile_of,
)
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    LARGEST_TABLE,
    BadShape,
    BadValue,
    encode,
    encode_both,
    floats_of,
    from_zero,
    one_of,
    one_per_row,
    positive,
    same_length,
)

# Part of the log-likelihood that is rounding.
_ROUNDING = 1e-12
# A step moves no parameter farther: beyond, chances are so near 0 and 1 that the next step would find no slope.
_FARTHEST = 4.0
# Part of a sum of squares that is rounding.
_NONE_LEFT = 1e-9
# A direction in which the likelihood rises for ever rises by one at least, but for the solver's tolerance.
_RISES = 1e-6
TIE_MODELS = ("half", "davidson")
NO_GAMES = "there are fewer than two items"
UNBOUNDED = (
    "the items fall into {} groups between which all comparisons went one way or there are none ({}), "
    "so the best-fitting strengths are infinite; a prior above zero makes them finite"
)
RISING = (
    "the likelihood rises for ever as strengths and {} grow together, so the best-fitting ones are infinite; "
    "a prior above zero makes them finite"
)
CONFOUNDED = (
    "no items were shown in both orders, directly or by way of others, so the order effect cannot be told from "
    "their strengths"
)
NO_TIES = "no comparison was tied, so nu is zero and has no interval"

# How many groups, and items of a group, a reason names.
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """(K, K) counts of comparisons by outcome, with the row's item shown first."""

    first: Floats
    second: Floats
    tied: Floats


@dataclass(frozen=True, slots=True)
class StrengthParameters:
    """theta: (K,) with mean zero. log_nu: -inf without ties. order: 0 without an order effect."""

    theta: Floats
    log_nu: float
    order: float

    @classmethod
    def of(cls, values: Floats) -> StrengthParameters:
        return cls(values[:-2], float(values[-2]), float(values[-1]))


@dataclass(frozen=True, slots=True)
class Fit:
    """The maximum at (P,) parameters, of which the first are the (K,) strengths theta with mean zero.

    covariance: of the free parameters. information: about them.
    """

    theta: Floats
    parameters: Floats
    covariance: Floats
    information: Floats
    log_likelihood: float
    iterations: int
    converged: bool
    gradient: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStrengths(Result):
    """Strengths of K items, nan where `reason` says why.

    log_strength: (K,) with mean 0; standard_error, low, high, covariance (K, K) are on that scale. freedom: (K,)
    degrees of freedom of t. order: (K,) positions from strongest to weakest.
    """

    items: NDArray[Any]
    log_strength: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    covariance: Floats
    freedom: Floats
    order: Ints
    log_likelihood: float
    confidence: float
    iterations: int
    converged: bool
    gradient: float

    @classmethod
    def of(
        cls,
        items: NDArray[Any],
        fit: Fit | None,
        confidence: float,
        freedom: Floats,
        reason: str,
        clusters: Clusters | None,
    ) -> ItemStrengths:
        """Return what a fit says of its items, with intervals of t of (K,) `freedom`; nan without a fit."""
        count = len(items)
        order = np.empty(0, dtype=np.int64)
        if fit is None:
            nothing, table = np.full(count, math.nan), np.full((count, count), math.nan)
            fit = Fit(nothing, nothing, table, table, math.nan, 0, False, math.nan)
        else:
            order = np.argsort(-fit.theta, kind="stable")
        covariance = fit.covariance[:count, :count]
        error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        half = error * [quantile_of(confidence, df) for df in freedom[:count]]
        strengths = ItemStrengths(
            items=items,
            log_strength=fit.theta,
            standard_error=error,
            low=fit.theta - half,
            high=fit.theta + half,
            covariance=covariance,
            freedom=freedom[:count],
            order=order,
            log_likelihood=fit.log_likelihood,
            confidence=float(confidence),
            iterations=fit.iterations,
            converged=fit.converged,
            gradient=fit.gradient,
            reason=reason,
        )
        if clusters is None:
            return strengths
        return replace(
            strengths, reason=reason or clusters.reason, note=clusters.note, clusters=clusters.counts
        )


def shares_of(log_strength: Floats) -> Floats:
    """Return the (K,) strengths with sum 1."""
    strength = np.exp(log_strength - log_strength.max(initial=-math.inf))
    return np.asarray(strength / strength.sum(), dtype=np.float64)


def log_chances(parameters: StrengthParameters) -> tuple[Floats, Floats, Floats]:
    difference = parameters.theta[:, np.newaxis] - parameters.theta[np.newaxis, :] + parameters.order
    if parameters.log_nu == -math.inf:
        return (
            scipy.special.log_expit(difference),
            scipy.special.log_expit(-difference),
            np.full_like(difference, -math.inf),
        )
    half = difference / 2
    first = -np.logaddexp(0, np.logaddexp(-difference, parameters.log_nu - half))
    second = -np.logaddexp(0, np.logaddexp(difference, parameters.log_nu + half))
    return first, second, parameters.log_nu - np.logaddexp(np.logaddexp(half, -half), parameters.log_nu)


def connected_groups(tables: OutcomeCounts) -> tuple[int, Ints]:
    """Return the number and (K,) codes of strongly connected groups: an edge is a win, two a tie (Ford 1957)."""
    from scipy.sparse.csgraph import connected_components  # 9 MiB, which web servers do without

    beats = (tables.first + tables.second.T + tables.tied + tables.tied.T) > 0
    count, groups = connected_components(beats, directed=True, connection="strong")
    return int(count), groups.astype(np.int64)


def order_is_strength(tables: OutcomeCounts) -> bool:
    """Return whether connected items have strengths with theta_i - theta_j = 1 for all i shown before j."""
    shown = (tables.first + tables.second + tables.tied) > 0
    pairs = shown.astype(np.float64)
    met = pairs + pairs.T
    balance = pairs.sum(axis=1) - pairs.sum(axis=0)
    theta = np.linalg.solve(np.diag(met.sum(axis=1)) - met + 1 / len(met), balance)
    return bool(pairs.sum() - balance @ theta < _NONE_LEFT * pairs.sum())


def has_no_maximum(tables: OutcomeCounts, ties: bool, order: bool) -> bool:
    """Return whether the likelihood of connected items rises for ever because of ties or the order effect.

    It does in a direction in which one observed outcome gets likelier beside the others of its pair, and none less
    likely.
    """
    won = (tables.first + tables.second.T) > 0
    both = (tables.first > 0) & (tables.second > 0)
    # Wins both ways hold a pair in place, and with it the ties; in both orders, the order effect too.
    bounded = (both & both.T).any() if order else (won & won.T).any()
    if bounded or not (ties or order):
        return False
    from scipy.optimize import linprog  # takes a while to load and is hardly ever needed

    items = len(tables.first)
    rows, columns, gains = [], [], []
    count = 0
    # An outcome seen against another one of its pair: the change of theta, and of 2 log(nu).
    for seen, signs in (
        (tables.first, ((2, 0), (1, -1))),
        (tables.second, ((-2, 0), (-1, -1))),
        (tables.tied, ((-1, 1), (1, 1))),
    ):
        shown, beside = np.nonzero(seen)
        for step, tie in signs:
            if tie and not ties:
                continue
            column = np.arange(count, count + len(shown))
            count += len(shown)
            rows += [column] * 4
            columns += [shown, beside, np.full_like(shown, items), np.full_like(shown, items + 1)]
            gains += [np.full(len(shown), gain) for gain in (step, -step, tie, step * order)]
    shape = (count, items + 2)
    gain = scipy.sparse.coo_array(
        (np.concatenate(gains).astype(np.float64), (np.concatenate(rows), np.concatenate(columns))), shape
    )
    # The stubs do not know that sparse tables are welcome.
    solution = linprog(  # type: ignore[call-overload]
        -gain.sum(axis=0), A_ub=-gain, b_ub=np.zeros(count), bounds=(-1, 1)
    )
    return bool(-solution.fun > _RISES)


class TrialFit(NamedTuple):
    """(P,) parameters with strengths of mean zero, their log-likelihood, and the chances of the outcomes."""

    parameters: Floats
    log_likelihood: float
    chances: Any


def maximise(
    evaluate: Callable[[Floats], TrialFit],
    derivatives: Callable[[TrialFit], tuple[Floats, Floats]],
    start: Floats,
    free: Flags,
    items: int,
    limits: tuple[int, float],
) -> Fit:
    """Find the maximum, which must exist, by Newton's method with halved, bounded steps.

    `derivatives` are the slope and the information at a candidate; of (P,) parameters those that are `free` move.
    `limits`: of iterations, and the tolerance. The covariance is the inverse of the `constrained` information.
    """
    max_iterations, tolerance = limits
    at = evaluate(start)
    converged, iterations = False, 0
    slope, information = _of_free(derivatives(at), free)
    while not converged and iterations < max_iterations:
        iterations += 1
        step = np.zeros(len(start))
        step[free] = np.linalg.solve(constrained(information, items), slope)
        size = min(1.0, _FARTHEST / max(float(np.abs(step).max()), _ROUNDING))
        candidate = evaluate(at.parameters + size * step)
        # Halve the step until the likelihood falls by no more than rounding.
        least = at.log_likelihood - _ROUNDING * abs(at.log_likelihood)
        while not candidate.log_likelihood >= least and size >= _ROUNDING:
            size /= 2
            candidate = evaluate(at.parameters + size * step)
        # The root of slope times step is at least any parameter's step in units of its standard error.
        away = math.sqrt(max(float(slope @ step[free]), 0.0))
        converged = bool(min(float(np.abs(step).max()), away) <= tolerance)
        at = candidate
        slope, information = _of_free(derivatives(at), free)
    covariance: Floats = np.linalg.inv(constrained(information, items)).astype(np.float64, copy=False)
    theta, gradient = at.parameters[:items], float(np.abs(slope).max())
    value = at.log_likelihood
    return Fit(theta, at.parameters, covariance, information, value, iterations, converged, gradient)


def remove_fixed_level(fit: Fit) -> Fit:
    """Remove from a fit's covariance the constant matrix that fixed the level of the strengths."""
    items = len(fit.theta)
    covariance = fit.covariance.copy()
    covariance[:items, :items] -= 1 / (float(fit.information[:items, :items].max()) * items)
    return replace(fit, covariance=covariance)


def _of_free(derivatives: tuple[Floats, Floats], free: Flags) -> tuple[Floats, Floats]:
    slope, information = derivatives
    return slope[free], information[np.ix_(free, free)]


def constrained(information: Floats, items: int) -> Floats:
    """Fix the free direction: a constant added to all strengths, which the first `items` parameters are."""
    constrained = information.copy()
    constrained[:items, :items] += constrained[:items, :items].max() / items
    return constrained


def fit(tables: OutcomeCounts, ties: bool, order: bool, limits: tuple[int, float]) -> Fit:
    items = len(tables.first)
    # Among equals, nu / 2 is the odds of a tie.
    log_nu = math.log(2 * tables.tied.sum() / (tables.first + tables.second).sum()) if ties else -math.inf

    def evaluate(parameters: Floats) -> TrialFit:
        centred = parameters.copy()
        centred[:items] -= centred[:items].mean()
        chances = log_chances(StrengthParameters.of(centred))
        return TrialFit(centred, _log_likelihood(tables, chances), chances)

    maximum = maximise(
        evaluate,
        lambda candidate: _derivatives(tables, candidate.chances),
        np.r_[np.zeros(items), log_nu, 0.0],
        np.r_[np.ones(items, dtype=bool), ties, order],
        items,
        limits,
    )
    return remove_fixed_level(maximum)


def _log_likelihood(tables: OutcomeCounts, chances: tuple[Floats, Floats, Floats]) -> float:
    first, second, tie = chances
    total = float((tables.first * first + tables.second * second).sum())
    return total + float((tables.tied * tie).sum()) if tables.tied.any() else total


def _derivatives(tables: OutcomeCounts, chances: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats]:
    # No nearly equal numbers are subtracted, so that one win in a million million counts.
    first, second, tie = (np.exp(chance) for chance in chances)
    comparisons = tables.first + tables.second + tables.tied
    decided = first + second
    by_pair = (
        tables.first * (2 * second + tie) - tables.second * (2 * first + tie) - tables.tied * (first - second)
    ) / 2
    spread = comparisons * (decided * tie + 4 * first * second) / 4
    pull = -comparisons * (first - second) * tie / 2
    items = len(comparisons)
    slope = np.empty(items + 2)
    slope[:items] = by_pair.sum(axis=1) - by_pair.sum(axis=0)
    slope[items] = (tables.tied * decided).sum() - ((tables.first + tables.second) * tie).sum()
    slope[items + 1] = by_pair.sum()
    information = np.empty((items + 2, items + 2))
    information[:items, :items] = -(spread + spread.T)
    information[np.arange(items), np.arange(items)] += spread.sum(axis=1) + spread.sum(axis=0)
    information[:items, items] = pull.sum(axis=1) - pull.sum(axis=0)
    information[:items, items + 1] = spread.sum(axis=1) - spread.sum(axis=0)
    information[items, items] = (comparisons * decided * tie).sum()
    information[items, items + 1] = pull.sum()
    information[items + 1, items + 1] = spread.sum()
    information[items:, :items] = information[:items, items:].T
    information[items + 1, items] = information[items, items + 1]
    return slope, information


@dataclass(frozen=True, slots=True, kw_only=True)
class BradleyTerryResult(ItemStrengths):
    """Strengths by comparisons; `freedom` is empty without clusters.

    strength: (K,) with sum 1. groups: (K,) sets in which chains of wins or ties lead from each item to each; strengths
    need a single one. nu: 0 without ties, nan for "half". order_effect: log of the factor for being shown first.
    """

    strength: Floats
    prior: float
    groups: Ints
    comparisons: float
    tie_model: str
    nu: float
    nu_low: float
    nu_high: float
    order_effect: float
    order_effect_low: float
    order_effect_high: float

    def probability(self, first: int, second: int) -> tuple[float, float, float]:
        """Return the chance that position `first` in `items` beats `second` if one wins, and its interval."""
        self._check_places(first, second)
        difference = self.log_strength[first] - self.log_strength[second]
        variance = (
            self.covariance[first, first]
            + self.covariance[second, second]
            - 2 * self.covariance[first, second]
        )
        df = float(self.freedom[[first, second]].min()) if len(self.freedom) else math.inf
        half = quantile_of(self.confidence, df) * math.sqrt(max(variance, 0.0))
        low, middle, high = (float(scipy.special.expit(difference + step)) for step in (-half, 0.0, half))
        return middle, low, high

    def _check_places(self, *places: int) -> None:
        last = len(self.items) - 1
        for position in places:
            if not isinstance(position, int | np.integer) or not 0 <= position <= last:
                raise BadValue(f"the item is {position!r}, expected its position in items, 0 to {last}")


@signed("bradley-terry", data=("ties", "items"), input="table")
def bradley_terry(
    wins: ArrayLike,
    *,
    ties: ArrayLike | None = None,
    items: Sequence[Any] | None = None,
    tie_model: str = "half",
    prior: float = 0.0,
    confidence: float = CONFIDENCE,
    max_iterations: int = 200,
    tolerance: float = 1e-7,
) -> BradleyTerryResult:
    """Fit strengths to a (K, K) table: wins[i, j] = how often i beat j; `ties` is symmetric.

    `tie_model` is "half" or "davidson". `prior` adds that many wins each way to every pair. Converged if the last step
    moved no parameter by more than `tolerance`, or than that part of its standard error.
    """
    table = _square(wins, "wins")
    drawn = np.zeros_like(table)
    if ties is not None:
        drawn = _square(ties, "ties")
        if drawn.shape != table.shape:
            raise BadShape(f"ties is {drawn.shape} and wins {table.shape}, expected the same shape")
        if not np.array_equal(drawn, drawn.T):
            raise BadValue("ties is not symmetric, expected ties[i, j] = ties[j, i]")
    names = np.arange(len(table))
    if items is not None:
        item_names = one_per_row(items, "items")
        encode(item_names, "items")  # refuses a missing name
        names = np.empty(len(item_names), dtype=object)
        names[:] = item_names
        same_length(wins=table, items=names)
    # Who was shown first is not known, and without an order effect it does not matter.
    tables = OutcomeCounts(table, np.zeros_like(table), np.triu(drawn))
    settings = _Settings(tie_model, False, prior, confidence, max_iterations, tolerance)
    return _fitted(tables, names, settings)


@signed("bradley-terry", input="rows")
def bradley_terry_of_comparisons(
    first: Iterable[Any],
    second: Iterable[Any],
    winners: ArrayLike,
    *,
    tie_model: str = "half",
    order_effect: bool = False,
    prior: float = 0.0,
    confidence: float = CONFIDENCE,
    max_iterations: int = 200,
    tolerance: float = 1e-7,
    clusters: ClusterColumns = NAIVE,
) -> BradleyTerryResult:
    """Fit strengths to (N,) items and winners; options as in `bradley_terry`.

    With `order_effect` the `first` column was shown first, and its advantage is fitted. With `clusters` covariance and
    intervals are the sandwich's (Liang, Zeger 1986), with t's quantiles. Where rows are winners by votes,
    `RaterDeletions` in `clusters` add the raters' part, to first order.
    """
    names, first_item, second_item, outcome, counts = encode_comparisons(first, second, winners)
    tied, won, lost = counts.astype(np.float64)
    settings = _Settings(tie_model, order_effect, prior, confidence, max_iterations, tolerance)
    plain, deletions = columns_and_deletions(clusters)
    columns, n, rows = cluster_columns(plain), len(first_item), None
    if deletions is not None:
        deletions.check(n, "comparison")
        columns = columns or {"comparison": range(n)}
    if columns:
        rows = _Rows(first_item, second_item, outcome, Clusters.of(columns, n), deletions)
    return _fitted(OutcomeCounts(won, lost, tied), names, settings, rows)


@dataclass(frozen=True, slots=True)
class _Rows:
    first: Ints
    second: Ints
    outcome: Ints
    clusters: Clusters
    deletions: RaterDeletions | None

    def covariance(self, fit: Fit, settings: _Settings) -> tuple[Floats, Floats, Clusters]:
        """Return the (P, P) covariance, its (P,) degrees of freedom, and the clusters with the raters."""
        covariance, freedom = self.clusters.covariance(self.scores(fit, settings), fit.covariance)
        left = self.deletions or NO_DELETIONS
        if left.raters >= FEWEST and not self.clusters.reason:
            tied, first, second = (
                self.subset(left.row, np.full(len(left.row), winner)).scores(fit, settings)
                for winner in (0, 1, 2)
            )
            gains = [scipy.sparse.diags_array(gain) for gain in left.value.T]
            changes = (gains[0] @ (first - tied) + gains[1] @ (second - tied)) @ fit.covariance
            covariance, freedom = left.covariance(covariance, freedom, changes)
        return covariance, freedom, left.count(self.clusters)

    def subset(self, rows: Ints, outcome: Ints) -> _Rows:
        return replace(self, first=self.first[rows], second=self.second[rows], outcome=outcome)

    def scores(self, fit: Fit, settings: _Settings) -> scipy.sparse.csr_array:
        """Return the (N, P) slopes of the log-likelihood of each row."""
        items, n = len(fit.theta), len(self.first)
        peak = StrengthParameters.of(fit.parameters)
        chances = [np.exp(chance)[self.first, self.second] for chance in log_chances(peak)]
        won, lost, tied = ((self.outcome == outcome).astype(np.float64) for outcome in (1, 2, 0))
        if settings.tie_model == "half":
            won, lost, tied = won + tied / 2, lost + tied / 2, np.zeros(n)
        first, second, tie = chances
        slope = (won * (2 * second + tie) - lost * (2 * first + tie) - tied * (first - second)) / 2
        parts = [(self.first, slope), (self.second, -slope)]
        free = items
        if peak.log_nu > -math.inf:
            parts.append((np.full(n, free), tied * (first + second) - (won + lost) * tie))
            free += 1
        if settings.order_effect:
            parts.append((np.full(n, free), slope))
            free += 1
        row = np.tile(np.arange(n), len(parts))
        column, value = (np.concatenate(both) for both in zip(*parts, strict=True))
        return scipy.sparse.csr_array((value, (row, column)), shape=(n, free))


def encode_comparisons(
    first: Iterable[Any], second: Iterable[Any], winners: ArrayLike
) -> tuple[NDArray[Any], Ints, Ints, Ints, Ints]:
    """Return (K,) items, (N,) codes of both, (N,) outcomes 1, 2 or 0, and (3, K, K) counts by outcome."""
    from quorum.statistics.kernels.comparisons import tally_comparisons

    items, first_item, second_item = encode_both(first, second, "first", "second")
    if 3 * len(items) ** 2 > LARGEST_TABLE:
        most = math.isqrt(LARGEST_TABLE // 3)
        raise BadValue(f"first and second hold {len(items):,} different items, expected {most:,} at most")
    outcome = outcomes_of(winners)
    same_length(first=first_item, winners=outcome)
    counts = np.zeros((3, len(items), len(items)), dtype=np.int64)
    itself = tally_comparisons(first_item, second_item, outcome, counts)
    if itself >= 0:
        name = items.tolist()[first_item[itself]]
        raise BadValue(f"row {itself} sets {name!r} against itself, expected two different items")
    return items, first_item, second_item, outcome, counts


def _square(counts: ArrayLike, name: str) -> Floats:
    table = floats_of(counts, name, "something that is no number, expected counts from zero on")
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise BadShape(f"{name} is of shape {table.shape}, expected a square table of items by items")
    if table.size and not (np.isfinite(table).all() and table.min() >= 0):
        raise BadValue(f"{name} holds a negative or infinite number, expected counts from zero on")
    if np.diag(table).any():
        where = int(np.flatnonzero(np.diag(table))[0])
        raise BadValue(f"{name}[{where}, {where}] is above zero, expected no item to meet itself")
    return table


@dataclass(frozen=True, slots=True)
class _Settings:
    tie_model: str
    order_effect: bool
    prior: float
    confidence: float
    max_iterations: int
    tolerance: float

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        positive(self.max_iterations, "max_iterations")
        one_of(self.tie_model, TIE_MODELS, "tie_model")
        from_zero(self.prior, "prior")
        from_zero(self.tolerance, "tolerance")


def _fitted(
    tables: OutcomeCounts, items: NDArray[Any], settings: _Settings, rows: _Rows | None = None
) -> BradleyTerryResult:
    comparisons = float((tables.first + tables.second + tables.tied).sum())
    # The part of the wins each way that goes to each order of showing.
    added = settings.prior / 2 * (1 - np.eye(len(items)))
    tables = OutcomeCounts(tables.first + added, tables.second + added, tables.tied)
    if settings.tie_model == "half":
        half = tables.tied / 2
        tables = OutcomeCounts(tables.first + half, tables.second + half, np.zeros_like(half))
    ties = bool(tables.tied.any())
    count, groups = connected_groups(tables)
    reason = ""
    if len(items) < 2:
        reason = NO_GAMES
    elif count > 1:
        reason = UNBOUNDED.format(count, group_names(groups, items))
    elif settings.order_effect and order_is_strength(tables):
        reason = CONFOUNDED
    elif has_no_maximum(tables, ties, settings.order_effect):
        grown = (("ties", ties), ("the order effect", settings.order_effect))
        free = [name for name, is_free in grown if is_free]
        reason = RISING.format(" and ".join(free))
    tied_fit = None
    if not reason:
        limits = settings.max_iterations, settings.tolerance
        tied_fit = fit(tables, ties, settings.order_effect, limits)
    freedom = np.full(len(items) + 2, math.inf)
    clusters = rows.clusters if rows is not None else None
    if tied_fit is not None and rows is not None:
        covariance, freedom, clusters = rows.covariance(tied_fit, settings)
        tied_fit = replace(tied_fit, covariance=covariance)
    strengths = ItemStrengths.of(items, tied_fit, settings.confidence, freedom, reason, clusters)
    return _result(tied_fit, strengths, groups, comparisons, settings, freedom)


def group_names(groups: Ints, items: NDArray[Any]) -> str:
    names = items.tolist()
    members: dict[int, list[str]] = {}
    for position, group in enumerate(groups.tolist()):
        members.setdefault(group, []).append(str(names[position]))
    return "; ".join(_shortened([", ".join(_shortened(group)) for group in members.values()]))


def _shortened(names: list[str]) -> list[str]:
    if len(names) <= _MOST_NAMED:
        return names
    return [*names[:_MOST_NAMED], f"and {len(names) - _MOST_NAMED} more"]


def _result(
    fit: Fit | None,
    strengths: ItemStrengths,
    groups: Ints,
    comparisons: float,
    settings: _Settings,
    freedom: Floats,
) -> BradleyTerryResult:
    count = len(strengths.items)
    tie = shown_first = (math.nan, math.nan, math.nan)
    if fit is not None:
        peak = StrengthParameters.of(fit.parameters)
        if peak.log_nu > -math.inf:
            error = quantile_of(settings.confidence, freedom[count]) * math.sqrt(fit.covariance[count, count])
            low, high = peak.log_nu - error, peak.log_nu + error
            # A tie in a million million comparisons has an interval without end.
            tie = (math.exp(peak.log_nu), math.exp(low), math.exp(high) if high < 700 else math.inf)
        elif settings.tie_model == "davidson":
            tie = (0.0, math.nan, math.nan)
        if settings.order_effect:
            error = quantile_of(settings.confidence, freedom[len(fit.covariance) - 1]) * math.sqrt(
                fit.covariance[-1, -1]
            )
            shown_first = (peak.order, peak.order - error, peak.order + error)
    note = "; ".join(filter(None, (NO_TIES if tie[0] == 0 else "", strengths.note)))
    known = strengths.freedom if strengths.clusters else np.empty(0)
    return BradleyTerryResult(
        strength=shares_of(strengths.log_strength),
        prior=float(settings.prior),
        groups=groups,
        comparisons=comparisons,
        tie_model=settings.tie_model,
        nu=tie[0],
        nu_low=tie[1],
        nu_high=tie[2],
        order_effect=shown_first[0],
        order_effect_low=shown_first[1],
        order_effect_high=shown_first[2],
        **{**strengths.shared(), "note": note, "freedom": known},
    )
