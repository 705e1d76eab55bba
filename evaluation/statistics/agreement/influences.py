"""How much each judgment moves a coefficient: what intervals by item and by rater are made of.

An influence is the derivative of the coefficient by the judgment's weight, of judgments weighted as in
`coefficient`. Over a unit they add up to the unit's part in the coefficient, over a rater to the rater's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.arrays import Flags, Floats, Ints, starts_of
from evaluation.statistics.agreement.ratings import Ratings, positions_at


@dataclass(frozen=True, slots=True)
class Influences:
    """values (N,) of the judgments that count; `counts` (M,) says which of all do.

    items, raters: (N,) codes, raters None where they are two. judges: judgments a unit. shift: what truth is
    expected to lie above the coefficient where other items (first) and other raters as well (second) are asked.
    """

    values: Floats
    counts: Flags
    items: Ints | None
    raters: Ints | None
    judges: float
    shift: tuple[float, float] = (0.0, 0.0)


def in_order(codes: Ints) -> Ints:
    """Return the rows by ascending code; few codes are sorted by their digits, in a fraction of the time."""
    few = codes.astype(np.uint16) if codes.max(initial=0) < 1 << 16 else codes
    return np.argsort(few, kind="stable").astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True)
class Compared:
    """(N,) judgments of units judged twice or more, unit by unit.

    order: their rows among all. unit, rater, code: (N,). apart: (N,) summed distances from the unit's others. sizes,
    disagreement: (U,) judgments of a unit, and its summed distances over ordered pairs.
    """

    order: Ints
    unit: Ints
    rater: Ints
    code: Ints
    apart: Floats
    sizes: Floats
    disagreement: Floats

    @classmethod
    def of(cls, ratings: Ratings, kind: int, positions: Floats) -> Compared:
        from evaluation.statistics.agreement.kernels import judgment_distances

        several = np.bincount(ratings.unit, minlength=len(ratings.units)) >= 2
        order = in_order(ratings.unit)
        order = order[several[ratings.unit[order]]]
        place = np.cumsum(several) - 1
        unit, code = place[ratings.unit[order]], ratings.code[order]
        sizes = np.bincount(unit, minlength=int(several.sum()))
        apart = np.empty(len(code))
        judgment_distances(starts_of(sizes), code, kind, positions, apart)
        disagreement = np.bincount(unit, weights=apart, minlength=len(sizes))
        return cls(order, unit, ratings.rater[order], code, apart, sizes.astype(np.float64), disagreement)

    def influences(self, values: Floats, rows: int, shift: tuple[float, float] = (0.0, 0.0)) -> Influences:
        counts = np.zeros(rows, dtype=np.bool_)
        counts[self.order] = True
        back = np.empty(rows, dtype=np.int64)
        back[self.order] = np.arange(len(self.order))
        back = back[counts]
        return Influences(
            values[back], counts, self.unit[back], self.rater[back], float(self.sizes.mean()), shift
        )


def alpha_influences(ratings: Ratings, level: str) -> Influences | None:
    """Return the influences on alpha = 1 - (n - 1) O / E, None where it is undefined.

    A judgment changes O by 2 D / (m - 1) - P / (m (m - 1)), where its distances from the unit's other judgments sum
    to D, and all of the unit's to P. At the ordinal level it also moves the ranks of the values above it.
    """
    from evaluation.statistics.agreement import kernels

    kind = {"nominal": kernels.DIFFERENT, "ratio": kernels.RATIO}.get(level, kernels.SQUARED)
    several = np.bincount(ratings.unit, minlength=len(ratings.units)) >= 2
    values = len(ratings.labels)
    totals = np.bincount(ratings.code[several[ratings.unit]], minlength=values).astype(np.float64)
    positions = np.cumsum(totals) - totals / 2 if level == "ordinal" else positions_at(level, ratings.labels)
    if np.count_nonzero(totals) < 2:
        return None
    found = Compared.of(ratings, kind, positions)
    n, less = totals.sum(), found.sizes - 1
    observed = float((found.disagreement / less).sum())
    from_all = np.empty(values)
    kernels.value_distances(kind, positions, totals, from_all)
    expected = float(totals @ from_all)
    if not expected > 0:
        return None
    of_observed = (2 * found.apart - (found.disagreement / found.sizes)[found.unit]) / less[found.unit]
    of_expected = 2 * from_all
    if level == "ordinal":
        of_observed += _of_ranks(_observed_slopes(found, positions))[found.code]
        mean = float(totals @ positions) / n
        of_expected += _of_ranks(4 * n * totals * (positions - mean))
    rows = (-observed - (n - 1) * of_observed) / expected
    rows += (n - 1) * observed / expected**2 * of_expected[found.code]
    shift = _shift(found, kind, positions, expected, observed)
    return found.influences(rows - rows.mean(), len(ratings.unit), shift)


def _observed_slopes(found: Compared, positions: Floats) -> Floats:
    """Return (V,) derivatives of O by the values' positions, of squared distances."""
    at = positions[found.code]
    sums = np.bincount(found.unit, weights=at)
    moves = 4 * (found.sizes[found.unit] * at - sums[found.unit]) / (found.sizes - 1)[found.unit]
    return np.bincount(found.code, weights=moves, minlength=len(positions)).astype(np.float64)


def _of_ranks(slopes: Floats) -> Floats:
    """Return (V,) what one more judgment of a value changes by moving mid-ranks: half its own, all above."""
    above = np.cumsum(slopes[::-1])[::-1]
    return np.asarray(above - slopes / 2, dtype=np.float64)


def _shift(
    found: Compared, kind: int, positions: Floats, expected: float, observed: float
) -> tuple[float, float]:
    """Return the shifts of `Influences`.

    E counts pairs of one unit and of one rater, which agree more often than strangers: few units and raters make
    alpha too low.
    """
    from evaluation.statistics.agreement.kernels import judgment_distances

    n = float(len(found.code))
    order = in_order(found.rater)
    by_rater = np.bincount(found.rater)
    own = np.empty(len(order))
    judgment_distances(starts_of(by_rater), found.code[order], kind, positions, own)
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
    rows = of_unit[found.unit] - 2 / longest / len(share) * (
        found.apart / pairs[found.unit] - within[found.unit]
    )
    return found.influences(rows - rows.mean(), len(ratings.unit))
