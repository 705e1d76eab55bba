"""Bootstrap over raters, and over units and raters at once.

Drawing raters with replacement draws some of them twice, and a rater agrees with their own copy perfectly:
counted as agreement, copies would lift every resample above the figure it is to surround (Snijders and
Borgatti 1999 meet the same with the vertices of a network; McCullagh 2000 shows that no resampling of rows
and columns is exact). Here **a rater is never compared with their own copy**. With w_r the times rater r
was drawn, a unit's answers count w_r each, and its pairs w_r w_s for two different raters r and s alone:

    sum_{r != s} w_r w_s d(v_r, v_s) / (m^2 - q),  m = sum w_r,  q = sum w_r^2,

which is the usual mean over pairs, m^2 - q = m (m - 1), where nobody was drawn twice. A unit left with one
rater (m^2 = q) drops out like one judged once. Drawing units as well, each on its own, is the pigeonhole
bootstrap (Owen 2007, *Annals of Applied Statistics* 1), whose interval is rather too wide than too narrow.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from evaluation.statistics.ratings import Ratings, positions_at
from evaluation.statistics.resampling import CELLS, pattern_weights
from evaluation.statistics.tables import Floats, positive

# A unit's answers, rater by rater, are digits of one number as long as they fit in so many bits.
_BITS = 62

# A figure where each rater (R,) and each unit (U,) counts a number of times.
OfRaters = Callable[[Floats, Floats], float]


def bootstrap_raters(
    statistic: Callable[[Ratings], OfRaters],
    ratings: Ratings,
    *,
    over: str,
    resamples: int,
    generator: np.random.Generator,
) -> Floats:
    """(resamples,) of the statistic of the ratings, over "raters" or "both".

    Units that all raters answered alike are computed once, and so is each way to draw the raters.
    """
    positive(resamples, "resamples")
    merged, frequency = _merged(ratings)
    value_of = statistic(merged)
    raters = len(ratings.raters)
    draws = np.empty(resamples)
    chunk = max(1, CELLS // raters)
    units = pattern_weights(frequency, resamples, generator) if over == "both" else None
    times = (row for rows in units for row in rows) if units is not None else None
    for start in range(0, resamples, chunk):
        stop = min(start + chunk, resamples)
        drawn = generator.multinomial(raters, np.full(raters, 1 / raters), size=stop - start)
        if times is None:
            ways, which = np.unique(drawn, axis=0, return_inverse=True)
            once = frequency.astype(np.float64)
            draws[start:stop] = np.array([value_of(way.astype(np.float64), once) for way in ways])[which]
        else:
            for place, way in enumerate(drawn, start):
                draws[place] = value_of(way.astype(np.float64), next(times))
    return draws


def _merged(ratings: Ratings) -> tuple[Ratings, NDArray[np.int64]]:
    """One unit of each group that every rater answered alike, and how many there are of each.

    Where raters or answers are too many for that to happen, the ratings as they are.
    """
    base, raters, units = len(ratings.labels) + 1, len(ratings.raters), len(ratings.units)
    if raters * math.log2(base) > _BITS:
        return ratings, np.ones(units, dtype=np.int64)
    keys = np.zeros(units, dtype=np.int64)
    np.add.at(keys, ratings.unit, (ratings.code + 1) * np.int64(base) ** ratings.rater)
    _, chosen, frequency = np.unique(keys, return_index=True, return_counts=True)
    place = np.full(units, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    kept = place[ratings.unit] >= 0
    return (
        Ratings(
            ratings.units[chosen],
            ratings.raters,
            ratings.labels,
            place[ratings.unit[kept]],
            ratings.rater[kept],
            ratings.code[kept],
        ),
        frequency,
    )


class WeightedUnits:
    """What the units say where each rater counts a number of times, without pairs of copies."""

    def __init__(self, ratings: Ratings) -> None:
        self._starts, self._raters, self._codes = ratings.by_unit()
        shape = (len(ratings.units), len(ratings.raters))
        self._judged = csr_array((np.ones(len(self._raters)), self._raters, self._starts), shape=shape)
        self._values = len(ratings.labels)

    def pairs(self, weights: Floats) -> tuple[Floats, Floats]:
        """(U,) sizes m and (U,) weighted pairs of different raters, m^2 - q."""
        sizes = np.asarray(self._judged @ weights)
        return sizes, sizes**2 - np.asarray(self._judged @ weights**2)

    def totals(self, weights: Floats, unit_weights: Floats) -> Floats:
        """(V,) how often each value stands in the units, each unit counting `unit_weights` times."""
        from evaluation.statistics.agreement_kernels import value_sums

        sums = np.zeros(self._values)
        value_sums(self._starts, self._codes, weights[self._raters], unit_weights, sums)
        return sums

    def disagreement(self, weights: Floats, kind: int, positions: Floats) -> Floats:
        """(U,) sums of w_r w_s d over the ordered pairs of each unit's answers."""
        from evaluation.statistics.agreement_kernels import unit_disagreement

        apart, sizes, most = np.empty((3, self._judged.shape[0]))
        amounts = weights[self._raters]
        unit_disagreement(self._starts, self._codes, amounts, kind, positions, apart, sizes, most)
        return apart


class RaterAlpha:
    """Krippendorff's alpha where each rater and each unit counts a number of times; nan where undefined.

    With everyone counting once it is alpha itself; see the top of this module for pairs of copies.
    """

    def __init__(self, ratings: Ratings, level: str) -> None:
        from evaluation.statistics.agreement_kernels import DIFFERENT, RATIO, SQUARED, all_distances

        self._units = WeightedUnits(ratings)
        self._level = level
        self._kind = {"nominal": DIFFERENT, "ratio": RATIO}.get(level, SQUARED)
        self._positions = positions_at(level, ratings.labels)
        self._between = all_distances

    def __call__(self, weights: Floats, unit_weights: Floats) -> float:
        sizes, pairs = self._units.pairs(weights)
        counting = np.where(pairs > 0, unit_weights, 0.0)
        totals = self._units.totals(weights, counting)
        n = float(totals.sum())
        if np.count_nonzero(totals) < 2:
            return math.nan
        positions = np.cumsum(totals) - totals / 2 if self._level == "ordinal" else self._positions
        apart = self._units.disagreement(weights, self._kind, positions)
        share = np.zeros(len(pairs))
        np.divide(sizes, pairs, out=share, where=pairs > 0)
        observed = float((counting * share) @ apart)
        expected = self._between(self._kind, positions, totals)
        return 1 - (n - 1) * observed / expected if expected > 0 else math.nan
