"""Bradley-Terry: strengths of items from how often they beat each other.

Bradley, Terry 1952: i beats j with probability s_i / (s_i + s_j). Ties are half a win each way, or have a
parameter (Davidson 1970, eq. 2.4): i and j tie with probability nu sqrt(s_i s_j) over s_i + s_j + nu sqrt(s_i
s_j). The advantage of what is shown first can be fitted as well (after Davidson, Beaver 1977). Maximum
likelihood by Newton's method; Wald intervals from the inverse of the information matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtri

from evaluation.arrays import Floats, Ints
from evaluation.statistics.aggregation.bradley_terry_fit import (
    Fit,
    Tables,
    fit,
    groups_of,
    order_is_strength,
    rises_for_ever,
)
from evaluation.statistics.aggregation.voting import outcomes_of
from evaluation.statistics.errors import BadOption, BadShape, BadValue
from evaluation.statistics.inputs import (
    LARGEST_TABLE,
    encode,
    floats_of,
    is_real,
    one_of,
    one_per_row,
    positive,
    same_length,
)
from evaluation.statistics.resampling import CONFIDENCE, check_confidence
from evaluation.statistics.results import signed

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
class BradleyTerryResult:
    """Strengths of K items, nan if no finite ones fit best.

    strength: (K,) with sum 1. log_strength: (K,) with mean 0; standard_error, low, high are on that scale.
    covariance: (K, K) of log_strength. order: (K,) positions from strongest to weakest. groups: (K,) the
    items' groups, within which wins or ties lead from each item to each; strengths need a single group. nu:
    Davidson's tie parameter (0 without ties, nan for "half"). order_effect: log of the factor for being shown
    first. `gradient`: largest remaining derivative of the log-likelihood. `note`: why an interval is nan.
    """

    strength: Floats
    log_strength: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    covariance: Floats
    order: Ints
    log_likelihood: float
    confidence: float
    prior: float
    iterations: int
    converged: bool
    gradient: float
    reason: str
    items: NDArray[Any]
    groups: Ints
    comparisons: float
    tie_model: str
    nu: float
    nu_low: float
    nu_high: float
    order_effect: float
    order_effect_low: float
    order_effect_high: float
    note: str
    signature: str = ""

    def probability(self, first: int, second: int) -> tuple[float, float, float]:
        """Return the chance that `first` beats `second` if one wins, and its interval.

        Arguments are positions in `items`; neither is shown first.
        """
        self._check_places(first, second)
        difference = self.log_strength[first] - self.log_strength[second]
        variance = (
            self.covariance[first, first]
            + self.covariance[second, second]
            - 2 * self.covariance[first, second]
        )
        half = _quantile(self.confidence) * math.sqrt(max(variance, 0.0))
        low, middle, high = (float(expit(difference + step)) for step in (-half, 0.0, half))
        return middle, low, high

    def tie_probability(self, first: int, second: int) -> float:
        """Return the chance of a tie (Davidson 1970) of two positions in `items`, neither shown first."""
        self._check_places(first, second)
        difference = self.log_strength[first] - self.log_strength[second]
        return float(self.nu / (2 * np.cosh(difference / 2) + self.nu))

    def _check_places(self, *places: int) -> None:
        last = len(self.items) - 1
        for place in places:
            if not isinstance(place, int | np.integer) or not 0 <= place <= last:
                raise BadValue(f"the item is {place!r}, expected its position in items, 0 to {last}")


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
    """Fit strengths to a (K, K) table: wins[i, j] = how often i beat j, with zero diagonal.

    `ties` (K, K, symmetric) follow `tie_model`, "half" or "davidson". `items` names the rows. `prior` adds
    that many wins each way to every pair. Converged if the last step moved no parameter by more than
    `tolerance`, or than that part of its standard error.
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
        given = one_per_row(items, "items")
        names = np.empty(len(given), dtype=object)
        names[:] = given
        same_length(wins=table, items=names)
    # Who was shown first is not known, and without an order effect it does not matter.
    tables = Tables(table, np.zeros_like(table), np.triu(drawn))
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
) -> BradleyTerryResult:
    """Fit strengths to (N,) items and (N,) winners: 1 (first), 2 (second) or 0 (a tie).

    With `order_effect` the `first` column was shown first, and its advantage is fitted. Other options:
    `bradley_terry`.
    """
    names, tables = _ordered_tables(first, second, winners)
    settings = _Settings(tie_model, order_effect, prior, confidence, max_iterations, tolerance)
    return _fitted(tables, names, settings)


def wins_table(winners: Iterable[Any], losers: Iterable[Any]) -> tuple[NDArray[Any], Ints]:
    """Return (K,) items, ascending, and the (K, K) table of wins of (N,) winners and losers."""
    items, first, second = _encode_both(winners, losers, "winners", "losers")
    table = np.bincount(first * len(items) + second, minlength=len(items) ** 2)
    return items, table.reshape(len(items), len(items))


def encode_comparisons(
    first: Iterable[Any], second: Iterable[Any], winners: ArrayLike
) -> tuple[NDArray[Any], Ints, Ints, Ints, Ints]:
    """Return (K,) items, ascending, (N,) codes of both items, outcomes 1, 2 or 0, and (3, K, K) counts by outcome."""
    from evaluation.statistics.aggregation.kernels import tally

    items, one, two = _encode_both(first, second, "first", "second")
    outcome = outcomes_of(winners)
    same_length(first=one, winners=outcome)
    counts = np.zeros((3, len(items), len(items)), dtype=np.int64)
    itself = tally(one, two, outcome, counts)
    if itself >= 0:
        name = items.tolist()[one[itself]]
        raise BadValue(f"row {itself} sets {name!r} against itself, expected two different items")
    return items, one, two, outcome, counts


def _ordered_tables(
    first: Iterable[Any], second: Iterable[Any], winners: ArrayLike
) -> tuple[NDArray[Any], Tables]:
    items, _, _, _, counts = encode_comparisons(first, second, winners)
    tied, won, lost = counts.astype(np.float64)
    return items, Tables(won, lost, tied)


def _encode_both(
    first: Iterable[Any], second: Iterable[Any], name: str, other: str
) -> tuple[NDArray[Any], Ints, Ints]:
    """Number the names of both columns together."""
    names, one = encode(first, name)
    others, two = encode(second, other)
    same_length(**{name: one, other: two})
    if names.dtype == others.dtype and names.dtype.kind != "O":
        items, places = encode(np.concatenate([names, others]), name)
    else:
        items, places = encode([*names.tolist(), *others.tolist()], name)
    if 3 * len(items) ** 2 > LARGEST_TABLE:
        most = math.isqrt(LARGEST_TABLE // 3)
        raise BadValue(f"{name} and {other} hold {len(items):,} different items, expected {most:,} at most")
    return items, places[: len(names)][one], places[len(names) :][two]


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
        if not (is_real(self.prior) and 0 <= self.prior < math.inf):
            raise BadOption(f"prior is {self.prior!r}, expected a number from zero on")
        if not (is_real(self.tolerance) and self.tolerance >= 0):
            raise BadOption(f"tolerance is {self.tolerance!r}, expected a number from zero on")


def _fitted(tables: Tables, items: NDArray[Any], settings: _Settings) -> BradleyTerryResult:
    comparisons = float((tables.first + tables.second + tables.tied).sum())
    # The part of the wins each way that goes to each order of showing.
    added = settings.prior / 2 * (1 - np.eye(len(items)))
    tables = Tables(tables.first + added, tables.second + added, tables.tied)
    if settings.tie_model == "half":
        half = tables.tied / 2
        tables = Tables(tables.first + half, tables.second + half, np.zeros_like(half))
    ties = bool(tables.tied.any())
    count, groups = groups_of(tables)
    reason = ""
    if len(items) < 2:
        reason = NO_GAMES
    elif count > 1:
        reason = UNBOUNDED.format(count, _group_names(groups, items))
    elif settings.order_effect and order_is_strength(tables):
        reason = CONFOUNDED
    elif rises_for_ever(tables, ties, settings.order_effect):
        grown = (("ties", ties), ("the order effect", settings.order_effect))
        free = [name for name, is_free in grown if is_free]
        reason = RISING.format(" and ".join(free))
    found = None
    if not reason:
        found = fit(tables, ties, settings.order_effect, settings.max_iterations, settings.tolerance)
    return _result(found, items, groups, comparisons, settings, reason)


def _group_names(groups: Ints, items: NDArray[Any]) -> str:
    """Return the members of the groups, in the items' order: "a, b; c; and 3 more"."""
    names = items.tolist()
    members: dict[int, list[str]] = {}
    for place, group in enumerate(groups.tolist()):
        members.setdefault(group, []).append(str(names[place]))
    return "; ".join(_shortened([", ".join(_shortened(group)) for group in members.values()]))


def _shortened(words: list[str]) -> list[str]:
    if len(words) <= _MOST_NAMED:
        return words
    return [*words[:_MOST_NAMED], f"and {len(words) - _MOST_NAMED} more"]


def _result(
    found: Fit | None,
    items: NDArray[Any],
    groups: Ints,
    comparisons: float,
    settings: _Settings,
    reason: str,
) -> BradleyTerryResult:
    confidence = settings.confidence
    count = len(items)
    theta = np.full(count, math.nan)
    covariance = np.full((count, count), math.nan)
    tie = shown_first = (math.nan, math.nan, math.nan)
    order = np.empty(0, dtype=np.int64)
    if found is not None:
        theta = found.peak.theta
        covariance = found.covariance[:count, :count]
        order = np.argsort(-theta, kind="stable")
        half = _quantile(confidence)
        if found.peak.log_nu > -math.inf:
            error = half * math.sqrt(found.covariance[count, count])
            low, high = found.peak.log_nu - error, found.peak.log_nu + error
            # A tie in a million million comparisons has an interval without end.
            tie = (math.exp(found.peak.log_nu), math.exp(low), math.exp(high) if high < 700 else math.inf)
        elif settings.tie_model == "davidson":
            tie = (0.0, math.nan, math.nan)
        if settings.order_effect:
            error = half * math.sqrt(found.covariance[-1, -1])
            shown_first = (found.peak.order, found.peak.order - error, found.peak.order + error)
    strength = np.exp(theta - theta.max(initial=-math.inf))
    error_of = np.sqrt(np.diag(covariance))
    return BradleyTerryResult(
        strength=strength / strength.sum(),
        log_strength=theta,
        standard_error=error_of,
        low=theta - _quantile(confidence) * error_of,
        high=theta + _quantile(confidence) * error_of,
        covariance=covariance,
        order=order,
        log_likelihood=math.nan if found is None else found.log_likelihood,
        confidence=float(confidence),
        prior=float(settings.prior),
        iterations=0 if found is None else found.iterations,
        converged=found is not None and found.converged,
        gradient=math.nan if found is None else found.gradient,
        reason=reason,
        items=items,
        groups=groups,
        comparisons=comparisons,
        tie_model=settings.tie_model,
        nu=tie[0],
        nu_low=tie[1],
        nu_high=tie[2],
        order_effect=shown_first[0],
        order_effect_low=shown_first[1],
        order_effect_high=shown_first[2],
        note=NO_TIES if tie[0] == 0 else "",
    )


def _quantile(confidence: float) -> float:
    return float(ndtri(0.5 + confidence / 2))
