"""P-values of several tests, adjusted (Holm 1979; Benjamini, Hochberg 1995) or combined by Stouffer's method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # its submodules load at first use; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import float_vector, one_of, refuse_values

CORRECTIONS = ("holm", "benjamini-hochberg", "benjamini-yekutieli", "none")


@dataclass(frozen=True, slots=True)
class AdjustedPValues(Result):
    """P-values of several tests, adjusted for their number.

    values: (N,) adjusted p-values. method: one of CORRECTIONS. tests: number of p-values that are defined. undefined:
    number of p-values that are nan.
    """

    values: Floats
    method: str
    tests: int
    undefined: int


@signed("adjusted-p")
def adjusted_p_values(p_values: ArrayLike, method: str = "holm") -> AdjustedPValues:
    """Return the adjusted p-values of (N,) tests. nan stays nan and does not count among the m tests.

    With p_(1) <= ... <= p_(m), "holm" gives max over j <= i of (m - j + 1) p_(j), "benjamini-hochberg" min over
    j >= i of m p_(j) / j, and "benjamini-yekutieli" the same times 1 + 1/2 + ... + 1/m.
    """
    one_of(method, CORRECTIONS, "method")
    p = float_vector(p_values, "p_values")
    refuse_values(p, (p < 0) | (p > 1), "p_values", "between 0 and 1")
    defined_positions = np.flatnonzero(~np.isnan(p))
    m = len(defined_positions)
    values = p.copy()
    if method == "holm":
        order = defined_positions[np.argsort(p[defined_positions], kind="stable")]
        values[order] = np.minimum(np.maximum.accumulate(np.arange(m, 0, -1) * p[order]), 1)
    elif method == "benjamini-hochberg":
        values[defined_positions] = scipy.stats.false_discovery_control(p[defined_positions])
    elif method == "benjamini-yekutieli" and m:
        values[defined_positions] = scipy.stats.false_discovery_control(p[defined_positions], method="by")
    return AdjustedPValues(values, method, m, len(p) - m)


def holm(p_values: ArrayLike) -> Floats:
    return adjusted_p_values(p_values, "holm").values


def stouffer_wilcoxon(
    differences: Sequence[ArrayLike], alternative: Literal["two-sided", "greater"] = "two-sided"
) -> float:
    """Combine the p of Wilcoxon's signed-rank tests in several domains by Stouffer's method.

    `differences` has the (N,) differences of paired scores in each domain. Return nan if there are no domains. As at
    WMT24 (Kocmi et al. 2024), z is the normal quantile of 1 - p. A domain without a difference has p = 1.
    """
    p = []
    for values in differences:
        domain_differences = float_vector(values, "differences")
        if np.any(domain_differences):
            p.append(float(scipy.stats.wilcoxon(domain_differences, alternative=alternative).pvalue))
        elif len(domain_differences):
            p.append(1.0)
    z = np.asarray(scipy.stats.norm.isf(p))
    return float(scipy.stats.norm.sf(z.sum() / math.sqrt(len(p)))) if p else math.nan


def significance_stars(p: float) -> str:
    """Return one star if p <= 0.1, two if p <= 0.05, and three if p <= 0.01 (Hodosh et al. 2013, Table 1)."""
    return "*" * sum(p <= bound for bound in (0.1, 0.05, 0.01))
