"""Williams' test: does one metric correlate better with people than another, on the same observations?

Williams 1959, T2 of Steiger 1980; for metrics against people Graham and Baldwin 2014.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from evaluation.statistics.correlation import pearson
from evaluation.statistics.errors import BadValue
from evaluation.statistics.score_vectors import score_vector
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import is_real, same_length

# A correlation matrix may miss being one by the rounding of correlations that were printed or computed.
_ROUNDING = 1e-9

TOO_FEW = "there are fewer than four observations"
CONSTANT = "{} scores have the same value throughout"
SAME = "one metric is the other on another scale, so that nothing tells them apart"


@dataclass(frozen=True, slots=True)
class WilliamsResult:
    """Williams' t of the difference between two correlations that share a variable.

    `first` and `second` are the metrics' correlations with people, `between` the one between the metrics.
    `p` is two-sided; `p_first_higher` and `p_second_higher` are one-sided. nan with a `reason` where
    there is no t.
    """

    first: float
    second: float
    between: float
    n: int
    t: float
    degrees_of_freedom: int
    p: float
    p_first_higher: float
    p_second_higher: float
    reason: str
    signature: str = ""


@signed("williams", input="scores")
def williams_test(first: ArrayLike, second: ArrayLike, people: ArrayLike) -> WilliamsResult:
    """Williams' test of the Pearson correlations of two metrics' (N,) scores with people's (N,) scores.

    Raises BadShape, BadValue.
    """
    columns = {"first": first, "second": second, "people": people}
    vectors = {name: score_vector(values, name) for name, values in columns.items()}
    n = same_length(**vectors)
    constant = [name for name, vector in vectors.items() if n and np.all(vector == vector[0])]
    if n < 4 or constant:
        reason = TOO_FEW if n < 4 else CONSTANT.format(f"the {constant[0]}".replace("the people", "people's"))
        return _undefined(math.nan, math.nan, math.nan, n, reason)
    one, two, human = vectors.values()
    return williams_correlations(pearson(one, human), pearson(two, human), pearson(one, two), n)


@signed("williams", input="correlations")
def williams_correlations(first: float, second: float, between: float, n: int) -> WilliamsResult:
    """Williams' test from r13 = `first`, r23 = `second`, r12 = `between` and the `n` observations.

    t = (r13 - r23) sqrt((n - 1)(1 + r12)) / sqrt(2 K (n - 1) / (n - 3) + (r13 + r23)^2 / 4 (1 - r12)^3),
    K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23, with n - 3 degrees of freedom. Raises BadValue where no
    data could have the three correlations.
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise BadValue(f"n is {n!r}, expected a whole number from zero on")
    for name, r in (("first", first), ("second", second), ("between", between)):
        if not (is_real(r) and -1 - _ROUNDING <= r <= 1 + _ROUNDING):
            raise BadValue(f"{name} is {r!r}, expected a correlation between -1 and 1")
    r13, r23, r12 = (min(1.0, max(-1.0, float(r))) for r in (first, second, between))
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if determinant < -_ROUNDING:
        raise BadValue(
            f"correlations {r13:g}, {r23:g} and {r12:g} cannot occur together, expected those of one data set"
        )
    if n < 4:
        return _undefined(r13, r23, r12, int(n), TOO_FEW)
    if 1 - abs(r12) < _ROUNDING:
        return _undefined(r13, r23, r12, int(n), SAME)
    spread = 2 * max(determinant, 0.0) * (n - 1) / (n - 3) + (r13 + r23) ** 2 / 4 * (1 - r12) ** 3
    gap = (r13 - r23) * math.sqrt((n - 1) * (1 + r12))
    # Both metrics determine people's scores together: the gap has no error, and t no bound.
    t = gap / math.sqrt(spread) if spread > 0 else math.copysign(math.inf, gap)
    above, below = (float(tail) for tail in scipy.special.stdtr(n - 3, [-t, t]))
    return WilliamsResult(
        r13, r23, r12, int(n), t, int(n) - 3, min(1.0, 2 * min(above, below)), above, below, ""
    )


def _undefined(first: float, second: float, between: float, n: int, reason: str) -> WilliamsResult:
    nan = math.nan
    return WilliamsResult(first, second, between, n, nan, n - 3, nan, nan, nan, reason)
