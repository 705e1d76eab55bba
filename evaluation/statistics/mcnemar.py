"""McNemar's test of two systems' outcomes on the same items (McNemar 1947; H13 section 4.2.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from evaluation.statistics.errors import BadValue
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats, finite_vector, same_length

NO_DISCORDANT = "the two outcomes never differ"


@dataclass(frozen=True, slots=True)
class McNemarResult:
    """McNemar's test of two paired binary outcomes.

    first_only and second_only: the discordant pairs. `exact_p` is the two-sided binomial p (1 without
    discordant pairs); `statistic` and `p` are chi-square with continuity correction, `plain_statistic`
    and `plain_p` without (nan without discordant pairs, with the `reason`).
    """

    first_only: int
    second_only: int
    exact_p: float
    statistic: float
    p: float
    plain_statistic: float
    plain_p: float
    reason: str
    signature: str = ""


@signed("mcnemar", input="outcomes")
def mcnemar_test(first: ArrayLike, second: ArrayLike) -> McNemarResult:
    """McNemar's test on two (N,) vectors of outcomes, 0 or 1 (or booleans), of the same N items.

    `mcnemar_counts` has the formulas. Raises BadShape, BadValue.
    """
    one, two = _outcomes(first, "first"), _outcomes(second, "second")
    same_length(first=one, second=two)
    return mcnemar_counts(int(((one == 1) & (two == 0)).sum()), int(((one == 0) & (two == 1)).sum()))


@signed("mcnemar", input="counts")
def mcnemar_counts(first_only: int, second_only: int) -> McNemarResult:
    """McNemar's test from the two counts b and c of discordant pairs. Raises BadValue.

    Exact: the binomial test of min(b, c) of b + c at 1/2. Chi-square with one degree of freedom:
    (|b - c| - 1)^2 / (b + c), and without the correction (b - c)^2 / (b + c).
    """
    for name, count in (("first_only", first_only), ("second_only", second_only)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count < 2**53:
            raise BadValue(f"{name} is {count!r}, expected a whole number from zero on, 2^53 at most")
    b, c = int(first_only), int(second_only)
    n = b + c
    if not n:
        return McNemarResult(0, 0, 1.0, math.nan, math.nan, math.nan, math.nan, NO_DISCORDANT)
    exact = float(scipy.stats.binomtest(min(b, c), n, 0.5).pvalue)
    # As in the tables' programs: the corrected difference is |b - c| - 1 even where b = c.
    corrected = (abs(b - c) - 1) ** 2 / n
    plain = (b - c) ** 2 / n
    tail = scipy.stats.chi2(1).sf
    return McNemarResult(b, c, exact, corrected, float(tail(corrected)), plain, float(tail(plain)), "")


def _outcomes(values: ArrayLike, name: str) -> Floats:
    vector = finite_vector(values, name)
    wrong = np.flatnonzero((vector != 0) & (vector != 1))
    if wrong.size:
        raise BadValue(f"{name}[{wrong[0]}] is {vector[wrong[0]]:g}, expected 0 or 1")
    return vector
