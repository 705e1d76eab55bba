"""McNemar's test (1947) of two systems with binary outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy  # its submodules load at first use; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats
from quorum.statistics.crossed import NAIVE, ClusterColumns, Clusters, cluster_columns
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import BadValue, finite_vector, refuse_values, same_length

NO_DISCORDANT = "the two outcomes never differ"


@dataclass(frozen=True, slots=True)
class McNemarResult(Result):
    """The result of McNemar's test of two systems.

    first_only, second_only: numbers of discordant pairs, in which only one of the two is right. exact_p: by the
    binomial distribution. statistic, p: chi-square with continuity correction. clustered_p: p by t of the share of
    `first_only` among discordant pairs; if the share has no variance, by the numbers of clusters in which either system
    is right more often; nan without clusters.
    """

    first_only: int
    second_only: int
    exact_p: float
    statistic: float
    p: float
    clustered_p: float = math.nan

    @property
    def best_p(self) -> float:
        """The p by clusters if there are any, else the exact p."""
        return self.exact_p if math.isnan(self.clustered_p) else self.clustered_p


@signed("mcnemar", input="outcomes")
def mcnemar_test(first: ArrayLike, second: ArrayLike, *, clusters: ClusterColumns = NAIVE) -> McNemarResult:
    """Return McNemar's test (see `mcnemar_counts`) of two (N,) vectors of outcomes 0 or 1."""
    first_right, second_right = _outcomes(first, "first"), _outcomes(second, "second")
    same_length(first=first_right, second=second_right)
    columns = cluster_columns(clusters)
    result = mcnemar_counts(
        int(((first_right == 1) & (second_right == 0)).sum()),
        int(((first_right == 0) & (second_right == 1)).sum()),
    )
    if not columns:
        return result
    is_discordant = first_right != second_right
    pair_clusters = Clusters.from_columns(columns, len(first_right), is_discordant)
    p = _discordant_p(first_right[is_discordant], pair_clusters) if is_discordant.any() else 1.0
    # If each discordant pair is a cluster of its own, the exact p is valid.
    if pair_clusters.has_single_rows(int(is_discordant.sum())):
        p = result.exact_p
    return replace(result, clusters=pair_clusters.counts, clustered_p=p, note=pair_clusters.note)


def _discordant_p(first_is_right: Floats, clusters: Clusters) -> float:
    """Return the clustered p from (D,) flags of the discordant pairs in which the first is right."""
    share = float(first_is_right.mean())
    spread = clusters.spread((first_is_right - share) / len(first_is_right))
    if spread.variance > 0:
        return spread.p(share - 0.5)
    # Without variance, test whether as many clusters favour the first as the second. Of two columns of clusters, the
    # first counts. Without a usable column, all pairs are one cluster.
    codes = clusters.codes[0] if clusters.codes else np.zeros(len(first_is_right), dtype=np.int64)
    signs = np.sign(np.bincount(codes, weights=2 * first_is_right - 1))
    # `binomtest` needs one trial at least. If no cluster favours either, 0 of 1 has p = 1.
    first_lead_count, lead_count = int((signs > 0).sum()), int((signs != 0).sum())
    return float(scipy.stats.binomtest(first_lead_count, max(lead_count, 1), 0.5).pvalue)


@signed("mcnemar", input="counts")
def mcnemar_counts(first_only: int, second_only: int) -> McNemarResult:
    """Return McNemar's test from the counts b and c of discordant pairs.

    The exact p is that of min(b, c) of b + c at 1/2. Chi-square is (|b - c| - 1)^2 / (b + c).
    """
    for name, count in (("first_only", first_only), ("second_only", second_only)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count < 2**53:
            raise BadValue(f"{name} is {count!r}, expected a whole number from zero on, 2^53 at most")
    b, c = int(first_only), int(second_only)
    n = b + c
    if not n:
        return McNemarResult(0, 0, 1.0, math.nan, math.nan, reason=NO_DISCORDANT)
    exact_p = float(scipy.stats.binomtest(min(b, c), n, 0.5).pvalue)
    # As in other programs, the corrected difference is |b - c| - 1 even if b = c.
    chi_square = (abs(b - c) - 1) ** 2 / n
    return McNemarResult(b, c, exact_p, chi_square, float(scipy.special.chdtrc(1, chi_square)))


def _outcomes(values: ArrayLike, name: str) -> Floats:
    """Return (N,) outcomes. Raise BadValue if one is neither 0 nor 1."""
    vector = finite_vector(values, name)
    refuse_values(vector, (vector != 0) & (vector != 1), name, "0 or 1")
    return vector
