"""Bootstrap intervals of a statistic of one sample (Efron 1979; BCa: Efron 1987)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy  # its submodules load at first use; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats
from quorum.statistics.crossed import CONFIDENCE
from quorum.statistics.inference import Inference, Options, signed
from quorum.statistics.inputs import ROUNDING, BadOption, BadShape, check_positive_int, one_of, score_vector
from quorum.statistics.resampling import CELLS, Seed, bootstrap

METHODS = ("percentile", "basic", "bca")

# Number of resamples. It is large, because a bootstrap of single values is cheap and its tails need many.
_RESAMPLES = 10_000

# If each distinct value occurs at least this often on average, drawing a count for each is faster.
_MIN_REPETITIONS = 8
TOO_FEW_VALUES = "there are fewer than two values"
ONE_SIDED_RESAMPLES = "all resamples are on the same side of the value, so BCa cannot correct the bias"

# A function of (B, N) values that returns (B,) statistics of the rows.
RowStatistic = Callable[[Floats], Floats]

_ROW_STATISTICS: dict[str, RowStatistic] = {
    "mean": lambda rows: rows.mean(axis=1),
    "median": lambda rows: np.asarray(np.median(rows, axis=1), dtype=np.float64),
}


@dataclass(frozen=True, slots=True)
class BootstrapResult(Inference):
    """A statistic of (N,) values, with its bootstrap interval and standard error. `method` is one of METHODS."""

    statistic: str
    value: float
    standard_error: float
    n: int
    method: str


@signed("bootstrap")
def bootstrap_interval(
    values: ArrayLike,
    statistic: str | RowStatistic = "mean",
    *,
    method: str = "percentile",
    confidence: float = CONFIDENCE,
    resamples: int = _RESAMPLES,
    seed: Seed = 0,
) -> BootstrapResult:
    """Return the interval of a statistic of (N,) values.

    Args:
        statistic: "mean", "median", or a function of (B, N) values that returns (B,).
        method: "percentile"; "basic", which is 2 t - t*_high to 2 t - t*_low, with the statistic t and the percentiles
            t* of resamples; or "bca", whose percentiles are those at the levels Phi(z0 + (z0 + z) / (1 - a (z0 + z))),
            with the bias z0, the acceleration a, and the normal quantiles z of the usual levels (Efron, Tibshirani
            1993, eq. 14.10 and 14.15).
    """
    one_of(method, METHODS, "method")
    options = Options.from_sampling(confidence=confidence, resamples=resamples, seed=seed)
    check_positive_int(resamples, "resamples")
    sample = score_vector(values, "values")
    name, function = row_statistic(statistic)
    n = len(sample)
    value = low = high = standard_error = math.nan
    reason = "" if n > 1 else TOO_FEW_VALUES
    if n:
        value = float(function(sample[np.newaxis])[0])
    if n > 1:
        draws = _draws(sample, name, function, resamples, options.generator)
        tail = (1 - confidence) / 2
        levels = np.array([tail, 1 - tail])
        if method == "bca":
            levels = _corrected_levels(draws, value, _leave_one_out_values(sample, name, function), levels)
            reason = ONE_SIDED_RESAMPLES if np.isnan(levels).any() else ""
        if not reason:
            low, high = (float(limit) for limit in np.quantile(draws, levels))
        if method == "basic":
            low, high = 2 * value - high, 2 * value - low
        standard_error = float(draws.std(ddof=1)) if resamples > 1 else math.nan
    inference = replace(options.undefined_inference(reason), low=low, high=high)
    return BootstrapResult(name, value, standard_error, n, method, **inference.fields_by_name())


def _draws(
    sample: Floats, name: str, function: RowStatistic, resamples: int, generator: np.random.Generator
) -> Floats:
    """Return the (resamples,) statistics of resamples. There are faster ways for Quorum's mean and median."""
    n = len(sample)
    if name == "mean":
        return _mean_draws(sample, resamples, generator)
    if name == "median":
        return _median_draws(np.sort(sample), resamples, generator)
    chunk_size = max(1, CELLS // n)
    chunks = []
    for start in range(0, resamples, chunk_size):
        rows = generator.integers(0, n, size=(min(chunk_size, resamples - start), n))
        chunks.append(np.asarray(function(sample[rows]), dtype=np.float64))
    return np.concatenate(chunks)


def _mean_draws(sample: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    """Return the (resamples,) means of resamples, faster than by resampling rows."""
    n = len(sample)
    distinct_values, frequency = np.unique(sample, return_counts=True)
    if (
        len(distinct_values) * _MIN_REPETITIONS <= n
    ):  # few distinct values, such as grades: draw how often each occurs
        return bootstrap(
            lambda weights: np.asarray(weights @ distinct_values / n, dtype=np.float64),
            frequency.astype(np.int64),
            resamples=resamples,
            generator=generator,
        )
    from quorum.statistics.kernels.randomisation import drawn_sums

    chunk_size = max(1, CELLS // n)
    chunks = []
    for start in range(0, resamples, chunk_size):
        size = (min(chunk_size, resamples - start), n)
        chunks.append(drawn_sums(sample, generator.integers(0, n, size=size, dtype=np.uint32)) / n)
    return np.concatenate(chunks)


def _median_draws(sorted_values: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    """Return the (resamples,) medians of resamples of (N,) `sorted_values`, without resampling.

    A uniform number u stands for the value at position floor(u N) of the ordered values. So the k-th smallest value of
    a resample is given by the k-th smallest of N uniform numbers, whose distribution is Beta(k, N + 1 - k).
    """
    n = len(sorted_values)
    middle_rank = (n + 1) // 2
    lower_uniform = generator.beta(middle_rank, n + 1 - middle_rank, resamples)
    upper_uniform = lower_uniform
    if n % 2 == 0:
        # The next draw is the smallest of the N - k draws above the k-th.
        upper_uniform = lower_uniform + (1 - lower_uniform) * generator.beta(1, n - middle_rank, resamples)
    positions = np.minimum((np.stack([lower_uniform, upper_uniform]) * n).astype(np.int64), n - 1)
    return np.asarray(sorted_values[positions].mean(axis=0), dtype=np.float64)


def _leave_one_out_values(sample: Floats, name: str, function: RowStatistic) -> Floats:
    """Return the (N,) statistics of the sample without each value, in any order."""
    n = len(sample)
    if name == "mean":
        return np.asarray((sample.sum() - sample) / (n - 1), dtype=np.float64)
    if name == "median":
        sorted_values, half = np.sort(sample), n // 2
        if n % 2 == 0:
            # Without a value of the lower half, the median is the lowest of the upper half, and conversely.
            return np.repeat([sorted_values[half], sorted_values[half - 1]], half)
        # Without a value below the middle, the middle one, or a value above it, take the mean of the two in the middle.
        low, middle, high = sorted_values[half - 1 : half + 2]
        return np.repeat([(middle + high) / 2, (low + high) / 2, (low + middle) / 2], [half, 1, half])
    values_without_one = np.empty(n)
    chunk_size = max(1, CELLS // n)
    for start in range(0, n, chunk_size):
        rows = np.arange(start, min(start + chunk_size, n))
        rows_without_one = np.broadcast_to(sample, (len(rows), n))[np.arange(n) != rows[:, np.newaxis]]
        values_without_one[rows] = function(rows_without_one.reshape(len(rows), n - 1))
    return values_without_one


def _corrected_levels(draws: Floats, value: float, values_without_one: Floats, levels: Floats) -> Floats:
    """Return the levels of the quantiles that BCa uses instead of the (2,) `levels`, or nan if they are undefined.

    value: the statistic of the sample. values_without_one: `_leave_one_out_values`.
    """
    rounding = ROUNDING * max(abs(value), float(np.abs(draws).max()))
    # Resamples equal to the value, up to rounding errors, count half.
    share_below = ((draws < value - rounding).mean() + (draws <= value + rounding).mean()) / 2
    if not 0 < share_below < 1:
        return np.full(2, np.nan)
    bias = scipy.special.ndtri(share_below)
    deviations = values_without_one.mean() - values_without_one
    # Scale, so that no power overflows. If the values do not vary, the acceleration is zero.
    largest_deviation = float(np.abs(deviations).max())
    deviations = deviations / largest_deviation if largest_deviation > rounding else np.zeros(1)
    squares = float((deviations**2).sum())
    acceleration = float((deviations**3).sum()) / (6 * squares**1.5) if squares else 0.0
    shifted_quantiles = bias + scipy.special.ndtri(levels)
    denominator = 1 - acceleration * shifted_quantiles
    # If the denominator is not positive, the corrected level is 0 or 1.
    corrected_quantiles = np.copysign(np.inf, shifted_quantiles)
    np.divide(shifted_quantiles, denominator, out=corrected_quantiles, where=denominator > 0)
    return np.asarray(scipy.special.ndtr(bias + corrected_quantiles), dtype=np.float64)


def row_statistic(statistic: str | RowStatistic) -> tuple[str, RowStatistic]:
    """Return the statistic's name and its function, which raises BadShape unless it returns a number for each row.

    Raise BadOption if `statistic` is neither "mean", "median" nor a function.
    """
    if isinstance(statistic, str):
        return statistic, _ROW_STATISTICS[one_of(statistic, tuple(_ROW_STATISTICS), "statistic")]
    if not callable(statistic):
        raise BadOption(f"statistic is {statistic!r}, expected mean, median or a function of rows")
    name = getattr(statistic, "__name__", "a function")
    if name in ("mean", "median"):
        name = f"{name} as given"  # the shortcuts of resampling are for Quorum's own mean and median

    def checked_statistic(rows: Floats) -> Floats:
        values = np.asarray(statistic(rows), dtype=np.float64)
        if values.shape != rows.shape[:1]:
            raise BadShape(
                f"statistic {name} gives the shape {values.shape} for {rows.shape[0]} rows of {rows.shape[1]}, "
                f"expected one number a row (numpy's functions take axis=1)"
            )
        return values

    return name, checked_statistic
