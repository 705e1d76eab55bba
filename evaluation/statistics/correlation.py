"""Correlations between metrics, people and rankings of systems (PROTOCOLS 5), with bootstrap intervals.

Pearson's r, Spearman's rho and Kendall's tau-b and tau-c. Values and p are scipy's; the intervals
resample the observations.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # its parts load when they are first used; scipy.stats alone takes half a second
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.errors import BadValue
from evaluation.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Seed,
    bootstrap,
    check_confidence,
    generator_of,
    percentile_interval,
)
from evaluation.statistics.tables import Floats, encode, finite_vector, float_vector, one_of, same_length

COEFFICIENTS = ("pearson", "spearman", "kendall-tau-b", "kendall-tau-c")

# Kendall's resamples count agreeing pairs against up to this many levels of the coarser variable.
_LEVELS = 64

TOO_FEW = "there are fewer than two observations"
CONSTANT = "{} has the same value throughout"


@dataclass(frozen=True, slots=True)
class CorrelationResult:
    """A coefficient, its percentile bootstrap interval over observations, and its two-sided p.

    `left_out` observations lacked a value. nan where undefined, with the `reason`. `seed` is None where
    a running random stream was handed in.
    """

    coefficient: str
    value: float
    low: float
    high: float
    p: float
    n: int
    left_out: int
    confidence: float
    resamples: int
    undefined_resamples: int
    seed: int | None
    reason: str


def correlation(
    first: ArrayLike,
    second: ArrayLike,
    coefficient: str,
    *,
    missing: str = "refuse",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
) -> CorrelationResult:
    """A coefficient of COEFFICIENTS between two (N,) vectors.

    nan is a missing value: `missing` refuses it or leaves the observation out ("leave-out").
    `resamples` 0 gives no interval. Raises BadShape, BadValue, BadOption.
    """
    one_of(coefficient, COEFFICIENTS, "coefficient")
    check_confidence(confidence)
    x, y, left_out = _prepare(first, second, missing)
    generator, reported = generator_of(seed)
    value = p = low = high = math.nan
    undefined = 0
    reason = _undefined(x, y)
    if not reason:
        value, p = _point(x, y, coefficient)
        if resamples:
            statistic, frequency, width = _resampled(x, y, coefficient)
            draws = bootstrap(statistic, frequency, resamples=resamples, generator=generator, width=width)
            low, high, undefined = percentile_interval(draws, confidence)
    return CorrelationResult(
        coefficient=coefficient,
        value=value,
        low=low,
        high=high,
        p=p,
        n=len(x),
        left_out=left_out,
        confidence=float(confidence),
        resamples=resamples,
        undefined_resamples=undefined,
        seed=reported,
        reason=reason,
    )


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    """Pearson's r of two (N,) vectors; nan where undefined."""
    return correlation(first, second, "pearson", resamples=0).value


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rho of two (N,) vectors, ties by mid-ranks; nan where undefined."""
    return correlation(first, second, "spearman", resamples=0).value


def kendall_tau_b(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's tau-b of two (N,) vectors; nan where undefined."""
    return correlation(first, second, "kendall-tau-b", resamples=0).value


def kendall_tau_c(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's (Stuart's) tau-c of two (N,) vectors; nan where undefined."""
    return correlation(first, second, "kendall-tau-c", resamples=0).value


def _prepare(first: ArrayLike, second: ArrayLike, missing: str) -> tuple[Floats, Floats, int]:
    one_of(missing, ("refuse", "leave-out"), "missing")
    if missing == "refuse":
        x, y = finite_vector(first, "first"), finite_vector(second, "second")
        same_length(first=x, second=y)
        return x, y, 0
    x, y = float_vector(first, "first"), float_vector(second, "second")
    same_length(first=x, second=y)
    given = ~(np.isnan(x) | np.isnan(y))
    if np.isinf(x[given]).any() or np.isinf(y[given]).any():
        raise BadValue("an observation is infinite, expected finite numbers, or nan for a missing one")
    return x[given], y[given], int((~given).sum())


def _undefined(x: Floats, y: Floats) -> str:
    if len(x) < 2:
        return TOO_FEW
    if np.all(x == x[0]):
        return CONSTANT.format("the first variable")
    if np.all(y == y[0]):
        return CONSTANT.format("the second variable")
    return ""


def _point(x: Floats, y: Floats, coefficient: str) -> tuple[float, float]:
    if coefficient.startswith("kendall"):
        tau = scipy.stats.kendalltau(x, y, variant=_variant(coefficient))
        return float(tau.statistic), float(tau.pvalue)
    if coefficient == "spearman" and len(x) > 2:
        rho = scipy.stats.spearmanr(x, y)
        return float(rho.statistic), float(rho.pvalue)
    # Two observations always lie on a line, whether by value or by rank; p is 1 then.
    r = scipy.stats.pearsonr(_scaled(x, x.mean()), _scaled(y, y.mean()))
    return float(r.statistic), float(r.pvalue)


def _variant(coefficient: str) -> Literal["b", "c"]:
    return "b" if coefficient == "kendall-tau-b" else "c"


def _scaled(x: Floats, mean: float) -> Floats:
    """Shifted by the mean and scaled to at most 1: Pearson's r ignores both, rounding does not."""
    centred = x - mean
    return centred / np.abs(centred).max()


_Statistic = Callable[[Floats], Floats]


def _resampled(x: Floats, y: Floats, coefficient: str) -> tuple[_Statistic, NDArray[np.int64], int]:
    """The coefficient as a function of how often each distinct observation was drawn."""
    x_levels, x_codes = encode(x, "first")
    y_levels, y_codes = encode(y, "second")
    keys, frequency = np.unique(x_codes * len(y_levels) + y_codes, return_counts=True)
    rows, columns = np.divmod(keys, len(y_levels))
    frequency = frequency.astype(np.int64)
    if coefficient == "pearson":
        left, right = _scaled(x_levels, x.mean())[rows], _scaled(y_levels, y.mean())[columns]
        return lambda weights: _weighted_pearson(weights, left, right), frequency, len(keys)
    if coefficient == "spearman":
        return (
            lambda weights: _row_by_row(weights, lambda row: _weighted_spearman(row, rows, columns)),
            frequency,
            len(keys),
        )
    if min(len(x_levels), len(y_levels)) <= _LEVELS:
        if len(x_levels) < len(y_levels):
            rows, columns = columns, rows
        kendall = _KendallCounts(rows, columns, coefficient)
        return lambda weights: _row_by_row(weights, kendall), frequency, len(keys)
    variant = _variant(coefficient)

    def resample(row: Floats) -> float:
        drawn = np.repeat(np.arange(len(keys)), row.astype(np.int64))
        return float(scipy.stats.kendalltau(rows[drawn], columns[drawn], variant=variant).statistic)

    return lambda weights: _row_by_row(weights, resample), frequency, len(keys)


def _row_by_row(weights: Floats, statistic: Callable[[Floats], float]) -> Floats:
    return np.array([statistic(row) for row in weights], dtype=np.float64)


def _weighted_pearson(weights: Floats, x: Floats, y: Floats) -> Floats:
    n = weights.sum(axis=1)
    sum_x, sum_y = weights @ x, weights @ y
    squares_x, squares_y = weights @ x**2, weights @ y**2
    spread_x = n * squares_x - sum_x**2
    spread_y = n * squares_y - sum_y**2
    shared = n * (weights @ (x * y)) - sum_x * sum_y
    # What is left of equal values after rounding is no variation.
    varied = (spread_x > 1e-12 * n * squares_x) & (spread_y > 1e-12 * n * squares_y)
    result = np.full(len(weights), np.nan)
    np.divide(shared, np.sqrt(np.where(varied, spread_x * spread_y, 1.0)), out=result, where=varied)
    return np.clip(result, -1, 1)


def _weighted_spearman(weights: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> float:
    ranks = []
    for codes in (rows, columns):
        totals = np.bincount(codes, weights=weights)
        ranks.append((np.cumsum(totals) - totals / 2 - weights.sum() / 2)[codes])
    x, y = ranks
    spread = float(weights @ x**2) * float(weights @ y**2)
    return float(weights @ (x * y)) / math.sqrt(spread) if spread > 0 else math.nan


class _KendallCounts:
    """Tau from counts: agreeing minus disagreeing pairs, summed along the finer variable.

    `fine` and `coarse` are (P,) codes of the distinct observations, sorted by neither in particular.
    """

    def __init__(self, fine: NDArray[np.int64], coarse: NDArray[np.int64], coefficient: str) -> None:
        self._levels = int(coarse.max()) + 1
        self._groups = int(fine.max()) + 1
        self._cells = fine * self._levels + coarse
        self._stuart = coefficient == "kendall-tau-c"

    def __call__(self, weights: Floats) -> float:
        size = self._groups * self._levels
        table = np.bincount(self._cells, weights=weights, minlength=size).reshape(self._groups, self._levels)
        groups, levels = table.sum(axis=1), table.sum(axis=0)
        n = weights.sum()
        earlier = np.cumsum(table, axis=0) - table
        below = np.cumsum(earlier, axis=1) - earlier
        above = earlier.sum(axis=1, keepdims=True) - below - earlier
        balance = float((table * (below - above)).sum())
        if self._stuart:
            smaller = min(int((groups > 0).sum()), int((levels > 0).sum()))
            return 2 * balance * smaller / (n**2 * (smaller - 1)) if smaller > 1 else math.nan
        untied = float((n**2 - (groups**2).sum()) * (n**2 - (levels**2).sum()))
        return 2 * balance / math.sqrt(untied) if untied > 0 else math.nan
