"""Bradley-Terry: strengths of items from how often each beat each other, with intervals.

Bradley, Terry 1952: i beats j with probability s_i / (s_i + s_j). Maximum likelihood by Newton's
method on the log-strengths, which is exact in a few steps however lopsided the table; intervals from
the inverse of the information matrix (Wald).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit, ndtri

from evaluation.statistics.errors import BadOption, BadShape, BadValue
from evaluation.statistics.resampling import CONFIDENCE, check_confidence
from evaluation.statistics.tables import Floats, encode, positive, same_length

NO_GAMES = "there are fewer than two items"
UNBOUNDED = (
    "the items fall into {} groups between which all comparisons went one way or there are none, "
    "so the best-fitting strengths are infinite; a prior above zero makes them finite"
)


@dataclass(frozen=True, slots=True)
class BradleyTerryResult:
    """Strengths of K items, and how they were found.

    strength: (K,) summing to 1. log_strength: (K,) with mean 0, and standard_error, low, high on that
    scale. covariance: (K, K) of the log-strengths, for differences. order: (K,) positions from strongest
    to weakest. All nan, with the `reason`, where no finite strengths fit best. `gradient` is the
    largest remaining derivative of the log-likelihood.
    """

    strength: Floats
    log_strength: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    covariance: Floats
    order: NDArray[np.int64]
    log_likelihood: float
    confidence: float
    prior: float
    iterations: int
    converged: bool
    gradient: float
    reason: str

    def probability(self, first: int, second: int) -> tuple[float, float, float]:
        """That `first` beats `second`, with the low and high end of its interval."""
        difference = self.log_strength[first] - self.log_strength[second]
        variance = (
            self.covariance[first, first]
            + self.covariance[second, second]
            - 2 * self.covariance[first, second]
        )
        half = _quantile(self.confidence) * math.sqrt(max(variance, 0.0))
        low, middle, high = (float(expit(difference + step)) for step in (-half, 0.0, half))
        return middle, low, high


def bradley_terry(
    wins: ArrayLike,
    *,
    ties: ArrayLike | None = None,
    prior: float = 0.0,
    confidence: float = CONFIDENCE,
    max_iterations: int = 200,
    tolerance: float = 1e-7,
) -> BradleyTerryResult:
    """Fit strengths to a (K, K) table: wins[i, j] = how often i beat j.

    `ties` (K, K, symmetric) count half a win each way. `prior` adds that many wins each way to every
    pair of items. The diagonal must be zero. Converged when the last step moved no log-strength by more
    than `tolerance`; Newton's error is then about its square. Raises BadShape, BadValue, BadOption.
    """
    check_confidence(confidence)
    positive(max_iterations, "max_iterations")
    if not (math.isfinite(prior) and prior >= 0):
        raise BadOption(f"prior is {prior}, expected a number from zero on")
    table = _square(wins, "wins")
    if ties is not None:
        drawn = _square(ties, "ties")
        if drawn.shape != table.shape:
            raise BadShape(f"ties is {drawn.shape} and wins {table.shape}, expected the same shape")
        if not np.array_equal(drawn, drawn.T):
            raise BadValue("ties is not symmetric, expected ties[i, j] = ties[j, i]")
        table = table + drawn / 2
    items = len(table)
    if prior:
        table = table + prior * (1 - np.eye(items))
    reason = _no_maximum(table)
    if reason:
        return _undefined(items, confidence, prior, reason)
    theta, iterations, converged, gradient = _newton(table, max_iterations, tolerance)
    covariance = _covariance(table, theta)
    error = np.sqrt(np.diag(covariance))
    half = _quantile(confidence) * error
    strength = np.exp(theta - theta.max())
    return BradleyTerryResult(
        strength=strength / strength.sum(),
        log_strength=theta,
        standard_error=error,
        low=theta - half,
        high=theta + half,
        covariance=covariance,
        order=np.argsort(-theta, kind="stable"),
        log_likelihood=_log_likelihood(table, theta),
        confidence=float(confidence),
        prior=float(prior),
        iterations=iterations,
        converged=converged,
        gradient=gradient,
        reason="",
    )


def wins_table(winners: Iterable[Any], losers: Iterable[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """(K,) items ascending and the (K, K) table of wins from one comparison a row."""
    first = winners if isinstance(winners, np.ndarray) else list(winners)
    second = losers if isinstance(losers, np.ndarray) else list(losers)
    games = same_length(winners=first, losers=second)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        items, codes = encode(np.concatenate([first, second]), "winners and losers")
    else:
        items, codes = encode([*first, *second], "winners and losers")
    table = np.bincount(codes[:games] * len(items) + codes[games:], minlength=len(items) ** 2)
    return items, table.reshape(len(items), len(items))


def _square(counts: ArrayLike, name: str) -> Floats:
    try:
        table = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadValue(f"{name} holds something that is no number, expected counts from zero on") from error
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise BadShape(f"{name} is of shape {table.shape}, expected a square table of items by items")
    if table.size and not (np.isfinite(table).all() and table.min() >= 0):
        raise BadValue(f"{name} holds a negative or infinite number, expected counts from zero on")
    if np.diag(table).any():
        where = int(np.flatnonzero(np.diag(table))[0])
        raise BadValue(f"{name}[{where}, {where}] is above zero, expected no item to meet itself")
    return table


def _no_maximum(table: Floats) -> str:
    """Why there are no finite strengths; empty where there are (Ford 1957: wins lead everywhere)."""
    if len(table) < 2:
        return NO_GAMES
    groups, _ = connected_components(
        csr_array((table > 0).astype(np.int64)), directed=True, connection="strong"
    )
    return "" if groups == 1 else UNBOUNDED.format(groups)


def _newton(table: Floats, max_iterations: int, tolerance: float) -> tuple[Floats, int, bool, float]:
    # The log-likelihood is concave; half steps keep Newton from overshooting on lopsided tables.
    games = table + table.T
    # Half the log-odds of winning at all is exact for two items.
    theta = np.log(table.sum(axis=1) / table.sum(axis=0)) / 2
    theta -= theta.mean()
    value = _log_likelihood(table, theta)
    converged = False
    iteration = 0
    while not converged and iteration < max_iterations:
        iteration += 1
        information = _information(games, theta)
        # Adding a constant to all log-strengths changes nothing; a constant matrix fixes that direction.
        step = np.linalg.solve(information + information.max() / len(table), _slope(table, theta))
        size = 1.0
        while size > 1e-10:
            candidate = theta + size * step
            gained = _log_likelihood(table, candidate)
            if gained >= value - 1e-12 * abs(value):
                break
            size /= 2
        theta, value = candidate - candidate.mean(), gained
        converged = bool(np.abs(step).max() <= tolerance)
    return theta, iteration, converged, float(np.abs(_slope(table, theta)).max())


def _slope(table: Floats, theta: Floats) -> Floats:
    """Derivatives of the log-likelihood: wins that were not expected, less losses that were not."""
    unexpected: Floats = table * expit(theta[np.newaxis, :] - theta[:, np.newaxis])
    return unexpected.sum(axis=1) - unexpected.sum(axis=0)


def _information(games: Floats, theta: Floats) -> Floats:
    difference = theta[:, np.newaxis] - theta[np.newaxis, :]
    spread = np.asarray(games * expit(difference) * expit(-difference), dtype=np.float64)
    information: Floats = -spread
    information[np.diag_indices_from(information)] += spread.sum(axis=1)
    return information


def _covariance(table: Floats, theta: Floats) -> Floats:
    information = _information(table + table.T, theta)
    shift = information.max()
    items = len(table)
    return np.asarray(np.linalg.inv(information + shift / items) - 1 / (shift * items), dtype=np.float64)


def _log_likelihood(table: Floats, theta: Floats) -> float:
    return float((table * log_expit(theta[:, np.newaxis] - theta[np.newaxis, :])).sum())


def _quantile(confidence: float) -> float:
    return float(ndtri(0.5 + confidence / 2))


def _undefined(items: int, confidence: float, prior: float, reason: str) -> BradleyTerryResult:
    nothing = np.full(items, math.nan)
    return BradleyTerryResult(
        strength=nothing,
        log_strength=nothing,
        standard_error=nothing,
        low=nothing,
        high=nothing,
        covariance=np.full((items, items), math.nan),
        order=np.empty(0, dtype=np.int64),
        log_likelihood=math.nan,
        confidence=float(confidence),
        prior=float(prior),
        iterations=0,
        converged=False,
        gradient=math.nan,
        reason=reason,
    )
