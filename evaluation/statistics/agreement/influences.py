"""The influence of each judgment on a coefficient, of which intervals by item and by rater are made.

It is the derivative of the coefficient by the judgment's weight, of judgments weighted as in `coefficient`. Over a
unit or a rater, influences add up to its part in the coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.arrays import Flags, Floats, Ints, starts_of
from evaluation.statistics.agreement.ratings import Ratings, distance_at, positions_at


@dataclass(frozen=True, slots=True)
class Influences:
    """values (N,) of the judgments that count; `counts` (M,) marks these among all.

    items, raters: (N,) codes, raters None where they are two. judges: judgments a unit. shift: how far the truth is
    expected above the coefficient for other items, and for other raters as well.
    """

    values: Floats
    counts: Flags
    items: Ints | None
    raters: Ints | None
    judges: float
    shift: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Compared:
    """The judgments of units judged twice or more.

    counts: (M,) which of all judgments these are. unit, rater, code: (N,). apart: (N,) summed distances from the unit's
    others. sizes, disagreement: (U,) judgments, and summed distances over ordered pairs.
    """

    counts: Flags
    unit: Ints
    rater: Ints
    code: Ints
    apart: Floats
    sizes: Floats
    disagreement: Floats

    @classmethod
    def of(cls, ratings: Ratings, kind: int, positions: Floats) -> Compared:
        several = np.bincount(ratings.unit, minlength=len(ratings.units)) >= 2
        counts = several[ratings.unit]
        found = ratings if several.all() else ratings.kept(counts)
        apart = distances_within(found.unit, found.code, kind, positions)
        sizes = np.bincount(found.unit).astype(np.float64)
        disagreement = np.bincount(found.unit, weights=apart).astype(np.float64)
        return cls(counts, found.unit, found.rater, found.code, apart, sizes, disagreement)

    def influences(self, values: Floats, shift: tuple[float, float] = (0.0, 0.0)) -> Influences:
        values -= values.mean()
        return Influences(values, self.counts, self.unit, self.rater, float(self.sizes.mean()), shift)


def distances_within(groups: Ints, codes: Ints, kind: int, positions: Floats) -> Floats:
    from evaluation.statistics.agreement.kernels import group_rows, judgment_distances

    groups = np.ascontiguousarray(groups)  # kernels are compiled once for each layout
    starts, apart = starts_of(np.bincount(groups)), np.empty(len(codes))
    judgment_distances(starts, group_rows(groups, starts), codes, kind, positions, apart)
    return apart


def alpha_influences(ratings: Ratings, level: str) -> Influences | None:
    """Return the influences on alpha = 1 - (n - 1) O / E, None where it is undefined.

    A judgment changes O by 2 D / (m - 1) - P / (m (m - 1)), with its distances D from the unit's other judgments, and
    all of the unit's distances P. At the ordinal level it also moves the ranks of the values above it.
    """
    from evaluation.statistics.agreement.kernels import value_distances

    kind = distance_at(level)
    values = len(ratings.labels)
    totals = np.bincount(ratings.code[ratings.answered(2)], minlength=values).astype(np.float64)
    positions = np.cumsum(totals) - totals / 2 if level == "ordinal" else positions_at(level, ratings.labels)
    if np.count_nonzero(totals) < 2:
        return None
    found = Compared.of(ratings, kind, positions)
    n, less = totals.sum(), found.sizes - 1
    observed = float((found.disagreement / less).sum())
    from_all = np.empty(values)
    value_distances(kind, positions, totals, from_all)
    expected = float(totals @ from_all)
    if not expected > 0:
        return None
    rows = 2 * found.apart
    rows -= (found.disagreement / found.sizes)[found.unit]
    rows /= less[found.unit]
    of_expected = 2 * from_all
    if level == "ordinal":
        rows += _of_ranks(_observed_slopes(found, positions))[found.code]
        mean = float(totals @ positions) / n
        of_expected += _of_ranks(4 * n * totals * (positions - mean))
    rows *= (1 - n) / expected
    rows += ((n - 1) * observed / expected**2 * of_expected - observed / expected)[found.code]
    return found.influences(rows, _shift(found, kind, positions, expected, observed))


def _observed_slopes(found: Compared, positions: Floats) -> Floats:
    at = positions[found.code]
    sums = np.bincount(found.unit, weights=at)
    moves = 4 * (found.sizes[found.unit] * at - sums[found.unit]) / (found.sizes - 1)[found.unit]
    return np.bincount(found.code, weights=moves, minlength=len(positions)).astype(np.float64)


def _of_ranks(slopes: Floats) -> Floats:
    """Return (V,) effects of one more judgment of a value on mid-ranks: half its own, all above."""
    above = np.cumsum(slopes[::-1])[::-1]
    return np.asarray(above - slopes / 2, dtype=np.float64)


def _shift(
    found: Compared, kind: int, positions: Floats, expected: float, observed: float
) -> tuple[float, float]:
    """Return the shifts of `Influences`.

    E counts pairs of one unit and of one rater, which agree more often: few units and raters make alpha too low.
    """
    n = float(len(found.code))
    by_rater = np.bincount(found.rater)
    own = distances_within(found.rater, found.code, kind, positions)
    value = 1 - (n - 1) * observed / expected
    between = expected - float(found.disagreement.sum())
    pairs = n**2 - float((found.sizes**2).sum())
    shifts = []
    for distances, number in (
        (between, pairs),
        (between - float(own.sum()), pairs - float((by_rater.astype(np.float64) ** 2).sum()) + n),
    ):
        known = number > 0 and distances > 0
        shifts.append(1 - observed / n * number / distances - value if known else 0.0)
    return shifts[0], shifts[1]


def percent_influences(ratings: Ratings, kind: int, positions: Floats, longest: float) -> Influences | None:
    """Return the influences on percent agreement, the mean over units of 1 - P / (m (m - 1) longest)."""
    found = Compared.of(ratings, kind, positions)
    if not len(found.sizes):
        return None
    pairs = found.sizes * (found.sizes - 1)
    share = 1 - found.disagreement / pairs / longest
    each = len(share) * found.sizes
    of_unit = (share - share.mean()) / each
    within = found.disagreement / (found.sizes * pairs)
    rows = found.apart / pairs[found.unit]
    rows *= -2 / longest / len(share)
    rows += (of_unit + 2 / longest / len(share) * within)[found.unit]
    return found.influences(rows)
