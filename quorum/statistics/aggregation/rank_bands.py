"""Simultaneous confidence bands of ranks, from the strengths of items and their covariance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import CONFIDENCE, check_confidence
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import BadShape, check_positive_int, floats_of
from quorum.statistics.resampling import Seed, generator_of

# Numbers drawn at once, which limits memory to about 16 MB.
_DRAWN_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class RankBands(Result):
    """The (K,) best and worst ranks of items, from 1 on.

    With the given confidence, the true ranks of all items lie between them. critical: see `rank_bands`.
    """

    best: Ints
    worst: Ints
    critical: float
    confidence: float
    draws: int


@signed("rank-bands", data=("freedom",))  # signatures leave out what is named in `data`
def rank_bands(
    strengths: ArrayLike,
    covariance: ArrayLike,
    *,
    freedom: Sequence[float] | None = None,
    confidence: float = CONFIDENCE,
    draws: int = 10_000,
    seed: Seed = 0,
) -> RankBands:
    """Return the ranks that (K,) strengths with (K, K) covariance allow (Mogstad et al. 2024, *Inference for Ranks*).

    An item certainly ranks below another item if the other's strength is larger by more than the critical value times
    the standard error of the difference. The critical value is the same for all pairs: the quantile, at the given
    confidence, of the largest |t| of all pairs. It is simulated from the multivariate t distribution with the lowest of
    the (K,) degrees of `freedom`, or from the normal distribution if there are none.
    """
    confidence = check_confidence(confidence)
    check_positive_int(draws, "draws")
    generator, reported_seed = generator_of(seed)
    log_strength = floats_of(strengths, "strengths", "something that is no number")
    table = floats_of(covariance, "covariance", "something that is no number")
    items = len(log_strength)
    if table.shape != (items, items):
        raise BadShape(f"covariance is of shape {table.shape}, expected {items} rows and columns")
    if items < 2 or not (np.isfinite(log_strength).all() and np.isfinite(table).all()):
        no_ranks = np.zeros(items, dtype=np.int64)
        reason = "there are no strengths with intervals"
        return RankBands(no_ranks, no_ranks, math.nan, confidence, draws, seed=reported_seed, reason=reason)
    first, second = np.triu_indices(items, 1)
    variance = table[first, first] + table[second, second] - 2 * table[first, second]
    standard_error = np.sqrt(np.maximum(variance, 0.0))
    min_freedom = math.inf if freedom is None else min(freedom)
    largest_t = _largest_t_values(table, standard_error, min_freedom, draws, generator)
    critical = float(np.quantile(largest_t, confidence))
    # Count the items that certainly rank above, and below, each item.
    difference = log_strength[first] - log_strength[second]
    is_distinct = np.abs(difference) > critical * standard_error
    higher_items, lower_items = np.where(difference > 0, (first, second), (second, first))[:, is_distinct]
    losses, wins = np.bincount(lower_items, minlength=items), np.bincount(higher_items, minlength=items)
    return RankBands(1 + losses, items - wins, critical, confidence, draws, seed=reported_seed)


def _largest_t_values(
    covariance: Floats, standard_error: Floats, freedom: float, draws: int, generator: np.random.Generator
) -> Floats:
    """Draw strengths with mean 0 and this (K, K) covariance, and return the (draws,) largest |t| of all pairs.

    standard_error: the standard errors of the differences of all pairs, in the order of `np.triu_indices`. freedom: the
    degrees of freedom of t; infinite for the normal distribution.
    """
    items = len(covariance)
    first, second = np.triu_indices(items, 1)
    # A matrix whose product with its transpose is the covariance turns independent numbers into correlated ones.
    eigenvalues, eigenvectors = np.linalg.eigh(covariance)
    covariance_root = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    has_error = standard_error > 0  # other pairs have no t
    largest_t = np.empty(draws)
    batch_size = max(1, _DRAWN_CELLS // max(1, len(first)))
    for start in range(0, draws, batch_size):
        size = min(batch_size, draws - start)
        strengths = generator.standard_normal((size, items)) @ covariance_root.T
        if freedom < math.inf:
            strengths /= np.sqrt(generator.chisquare(freedom, size) / freedom)[:, np.newaxis]
        t = np.abs(strengths[:, first] - strengths[:, second])[:, has_error] / standard_error[has_error]
        largest_t[start : start + size] = t.max(axis=1, initial=0.0)
    return largest_t
