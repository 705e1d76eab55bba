"""p-values of several tests at once (Holm 1979; Benjamini and Hochberg 1995)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evaluation.statistics.errors import BadValue
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats, float_vector, one_of

CORRECTIONS = ("holm", "benjamini-hochberg", "none")


@dataclass(frozen=True, slots=True)
class AdjustedPValues:
    """(N,) adjusted p-values, in the order given; `tests` of them are defined, the others stay nan."""

    values: Floats
    method: str
    tests: int
    undefined: int
    signature: str = ""


@signed("adjusted-p")
def adjusted_p_values(p_values: ArrayLike, method: str = "holm") -> AdjustedPValues:
    """p-values of (N,) tests, adjusted for being that many. Raises BadShape, BadValue, BadOption.

    With p_(1) <= ... <= p_(m): "holm" gives max over j <= i of (m - j + 1) p_(j), which bounds the chance
    of any false discovery; "benjamini-hochberg" gives min over j >= i of m p_(j) / j, which bounds the
    expected share of false discoveries; "none" leaves them. None exceeds 1. A nan is a test that has no
    p: it stays nan and does not count in m.
    """
    one_of(method, CORRECTIONS, "method")
    given = float_vector(p_values, "p_values")
    outside = np.flatnonzero((given < 0) | (given > 1))
    if outside.size:
        raise BadValue(f"p_values[{outside[0]}] is {given[outside[0]]:g}, expected between 0 and 1")
    defined = np.flatnonzero(~np.isnan(given))
    m = len(defined)
    order = defined[np.argsort(given[defined], kind="stable")]
    ranks = np.arange(1, m + 1)
    values = given.copy()
    if method == "holm":
        values[order] = np.minimum(np.maximum.accumulate((m + 1 - ranks) * given[order]), 1)
    elif method == "benjamini-hochberg":
        steps = m / ranks * given[order]
        values[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1)
    return AdjustedPValues(values, method, m, len(given) - m)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values, (N,); see `adjusted_p_values`. Raises BadShape, BadValue."""
    return adjusted_p_values(p_values, "holm").values


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's adjusted p-values, (N,); see `adjusted_p_values`. Raises BadShape, BadValue."""
    return adjusted_p_values(p_values, "benjamini-hochberg").values


def stars(p: float) -> str:
    """One star at p <= 0.1, two at 0.05, three at 0.01 (H13 Table 1); none for nan."""
    return "*" * sum(p <= bound for bound in (0.1, 0.05, 0.01))
