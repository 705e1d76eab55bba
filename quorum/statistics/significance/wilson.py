"""Wilson's interval of a share (Wilson 1927)."""

from __future__ import annotations

import math

import scipy  # its submodules load at first use; scipy.stats alone takes half a second

from quorum.statistics.crossed import CONFIDENCE, check_confidence
from quorum.statistics.inputs import BadOption, is_real


def wilson_interval(successes: float, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return Wilson's score interval of p = `successes` / n (Wilson 1927). `successes` need not be a whole number.

    (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), where z is the quantile of `confidence`.
    """
    check_confidence(confidence)
    if not (is_real(successes) and is_real(n) and 0 <= successes <= n < math.inf):
        raise BadOption(f"{successes!r} successes of {n!r}, expected between 0 and all")
    if n == 0:
        return math.nan, math.nan
    z = float(scipy.special.ndtri(0.5 + confidence / 2))
    share = successes / n
    scale = 1 + z**2 / n
    centre = (share + z**2 / (2 * n)) / scale
    half_width = z / scale * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At the ends, the formula gives 0 and 1 only up to rounding errors.
    low = 0.0 if successes == 0 else centre - half_width
    high = 1.0 if successes == n else centre + half_width
    return low, high
