"""The influence of each judgment, which is the derivative of the coefficient by the judgment's weight.

The sum of the influences of a unit's or a rater's judgments is the contribution of the unit or rater to the
coefficient. Intervals over items and raters are computed from these sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quorum.numeric.arrays import Flags, Floats, Ints, parts_of, starts_of
from quorum.statistics.agreement.positions import distance_at, positions_at
from quorum.statistics.agreement.ratings import Ratings
from quorum.statistics.crossed import Clusters, coefficient_interval, share_interval


@dataclass(frozen=True, slots=True)
class Influences:
    """Influences of judgments on a coefficient.

    values: (N,) influences of the judgments that count. counts: (M,) flags that say which of all M judgments count.
    items, raters: (N,) codes, or None if the data do not name them. judges: mean number of judgments of a unit.
    chance_of_difference: probability that two random judgments differ. share: whether the coefficient is a mean of
    values from 0 to 1.
    """

    values: Floats
    counts: Flags
    items: Ints | None
    raters: Ints | None
    judges: float
    chance_of_difference: float = 1.0
    share: bool = False

    def interval(self, value: float, clusters: Clusters, confidence: float) -> tuple[float, float]:
        """Return the interval of the coefficient for rows with these clusters."""
        spread = clusters.spread(self.values)
        if self.share:
            return share_interval(value, spread, clusters.number, confidence)
        return coefficient_interval(
            value,
            spread,
            clusters.number,
            confidence,
            judges=self.judges,
            chance_of_difference=self.chance_of_difference,
        )


@dataclass(frozen=True, slots=True)
class _ComparedJudgments:
    """The N judgments of units with two judgments or more, among M judgments in all.

    counts: (M,) flags that are true for these judgments. unit, rater, code: (N,). apart: (N,) sum of the distances
    from the other judgments of the unit. sizes: (U,) number of judgments. disagreement: (U,) sum of the distances
    over ordered pairs.
    """

    counts: Flags
    unit: Ints
    rater: Ints
    code: Ints
    apart: Floats
    sizes: Floats
    disagreement: Floats

    @classmethod
    def from_ratings(cls, ratings: Ratings, kind: int, positions: Floats) -> _ComparedJudgments:
        several = np.bincount(ratings.unit, minlength=len(ratings.units)) >= 2
        counts = several[ratings.unit]
        compared = ratings if several.all() else ratings.subset(counts)
        apart = distances_within(compared.unit, compared.code, kind, positions)
        sizes = np.bincount(compared.unit).astype(np.float64)
        disagreement = np.bincount(compared.unit, weights=apart).astype(np.float64)
        return cls(counts, compared.unit, compared.rater, compared.code, apart, sizes, disagreement)

    def influences(self, values: Floats) -> Influences:
        values -= values.mean()
        return Influences(values, self.counts, self.unit, self.rater, float(self.sizes.mean()))


def distances_within(groups: Ints, codes: Ints, kind: int, positions: Floats) -> Floats:
    from quorum.statistics.kernels.agreement import fill_judgment_distances, group_rows

    groups = np.ascontiguousarray(groups)  # kernels are compiled once for each layout
    starts, apart = starts_of(np.bincount(groups)), np.empty(len(codes))
    fill_judgment_distances(starts, group_rows(groups, starts), codes, kind, positions, apart)
    return apart


def alpha_influences(ratings: Ratings, level: str) -> Influences | None:
    """Return the influences on alpha = 1 - (n - 1) O / E, or None if alpha is undefined.

    A judgment changes O by 2 D / (m - 1) - P / (m (m - 1)), where D is the sum of its distances from the unit's
    other m - 1 judgments, and P the sum of distances over all ordered pairs of the unit. At the ordinal level, a
    judgment also changes the ranks of higher values.
    """
    from quorum.statistics.kernels.distances import fill_value_distances

    kind = distance_at(level)
    values = len(ratings.labels)
    totals = np.bincount(ratings.code[ratings.has_judgments(2)], minlength=values).astype(np.float64)
    positions = np.cumsum(totals) - totals / 2 if level == "ordinal" else positions_at(level, ratings.labels)
    if np.count_nonzero(totals) < 2:
        return None
    compared = _ComparedJudgments.from_ratings(ratings, kind, positions)
    # alpha = 1 - (n - 1) O / E
    n, less = totals.sum(), compared.sizes - 1
    observed = float((compared.disagreement / less).sum())
    from_all = np.empty(values)
    fill_value_distances(kind, positions, totals, from_all)
    expected = float(totals @ from_all)
    if not expected > 0:
        return None
    # The effect of one more judgment of a value on O through the ranks (ordinal level only), and on E.
    of_ranks, of_expected = np.zeros(values), 2 * from_all
    if level == "ordinal":
        of_ranks = _rank_effects(_observed_slopes(compared, positions))
        mean = float(totals @ positions) / n
        of_expected += _rank_effects(4 * n * totals * (positions - mean))
    of_unit = compared.disagreement / compared.sizes
    of_value = (n - 1) * observed / expected**2 * of_expected - observed / expected
    rows = compared.apart
    for part in parts_of(len(rows)):
        unit, code = compared.unit[part], compared.code[part]
        # The effect of a judgment on O, then on alpha by the derivative of the quotient.
        of_observed = (2 * rows[part] - of_unit[unit]) / less[unit] + of_ranks[code]
        rows[part] = of_observed * ((1 - n) / expected) + of_value[code]
    chance = float(totals @ (n - totals)) / (n * (n - 1))
    return replace(compared.influences(rows), chance_of_difference=chance)


def _observed_slopes(compared: _ComparedJudgments, positions: Floats) -> Floats:
    at = positions[compared.code]
    sums = np.bincount(compared.unit, weights=at)
    moves = (
        4 * (compared.sizes[compared.unit] * at - sums[compared.unit]) / (compared.sizes - 1)[compared.unit]
    )
    return np.bincount(compared.code, weights=moves, minlength=len(positions)).astype(np.float64)


def _rank_effects(slopes: Floats) -> Floats:
    """Return the (V,) effects that one more judgment of each value has through the mid-ranks.

    The mid-rank of the value rises by 1/2, and the mid-ranks of higher values rise by 1. slopes: (V,) derivatives
    by the mid-ranks.
    """
    above = np.cumsum(slopes[::-1])[::-1]
    return np.asarray(above - slopes / 2, dtype=np.float64)


def percent_influences(ratings: Ratings, kind: int, positions: Floats, longest: float) -> Influences | None:
    """Return the influences on percent agreement, or None if no unit counts.

    Percent agreement is the mean of 1 - P / (m (m - 1) longest), with P and m as in `alpha_influences`.
    """
    compared = _ComparedJudgments.from_ratings(ratings, kind, positions)
    if not len(compared.sizes):
        return None
    pairs = compared.sizes * (compared.sizes - 1)
    share = 1 - compared.disagreement / pairs / longest
    of_unit = share
    of_unit -= share.mean()
    of_unit /= len(share) * compared.sizes
    of_unit += 2 / longest / len(share) * (compared.disagreement / (compared.sizes * pairs))
    rows = compared.apart
    for part in parts_of(len(rows)):
        unit = compared.unit[part]
        rows[part] = rows[part] / pairs[unit] * (-2 / longest / len(share)) + of_unit[unit]
    return replace(compared.influences(rows), share=True)
