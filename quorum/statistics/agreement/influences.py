"""The influence of each judgment, which is the derivative of the coefficient by the judgment's weight.

The sum of the influences of a unit's or a rater's judgments is the contribution of the unit or rater to the
coefficient. Intervals over items and raters are computed from these sums. Judgments with the same answer have the same
influence if their units have the same pattern of answers, so influences are computed once for each pattern.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.agreement.patterns import PatternedRatings, UnitPatterns
from quorum.statistics.agreement.positions import distance_kind, positions_at
from quorum.statistics.crossed import Clusters, coefficient_interval, share_interval


@dataclass(frozen=True, slots=True)
class Influences:
    """Influences of judgments on a coefficient.

    values: (N,) influences of the judgments that count. is_counted: (M,) whether each of all M judgments counts.
    items, raters: (N,) codes, or None if the data do not name them. judges: mean number of judgments of a unit.
    chance_of_difference: probability that two random judgments differ. is_share: whether the coefficient is a mean of
    values from 0 to 1.
    """

    values: Floats
    is_counted: Flags
    items: Ints | None
    raters: Ints | None
    judges: float
    chance_of_difference: float = 1.0
    is_share: bool = False

    def interval(self, value: float, clusters: Clusters, confidence: float) -> tuple[float, float]:
        spread = clusters.spread(self.values)
        if self.is_share:
            return share_interval(value, spread, clusters.cluster_count, confidence)
        return coefficient_interval(
            value,
            spread,
            clusters.cluster_count,
            confidence,
            judges=self.judges,
            chance_of_difference=self.chance_of_difference,
        )


@dataclass(frozen=True, slots=True)
class PatternInfluences:
    """Influences of judgments by the pattern of their unit and by their answer.

    values: (C,) influences of a judgment, one for each cell of `UnitPatterns.counts`. is_counted: (P,) whether the
    judgments of units with the pattern count. The other fields are as in `Influences`.
    """

    values: Floats
    is_counted: Flags
    judges: float
    chance_of_difference: float = 1.0
    is_share: bool = False

    def of_judgments(self, patterned_ratings: PatternedRatings) -> Influences:
        ratings, values = patterned_ratings.ratings, patterned_ratings.judgment_values(self.values)
        if self.is_counted.all():
            is_counted = np.ones(len(values), dtype=np.bool_)
            items, raters = ratings.unit, ratings.rater
        else:
            is_counted = self.is_counted[patterned_ratings.unit_pattern][ratings.unit]
            values, items, raters = values[is_counted], ratings.unit[is_counted], ratings.rater[is_counted]
        return Influences(
            values,
            is_counted,
            items,
            raters,
            judges=self.judges,
            chance_of_difference=self.chance_of_difference,
            is_share=self.is_share,
        )


@dataclass(frozen=True, slots=True)
class _ComparedCells:
    """The C cells of P patterns, of which those with two judgments or more are compared.

    is_compared: (P,) whether the pattern is compared. pattern, code: (C,) row and column of each cell. weight: (C,)
    number of judgments in all units with the pattern. distances: (C,) sum of the distances of the cell's value from the
    judgments of the unit. sizes: (P,) number of judgments. disagreement: (P,) sum of the distances over ordered pairs.
    frequency: (P,) number of units. Weights and frequencies of patterns that are not compared are 0.
    """

    is_compared: Flags
    pattern: Ints
    code: Ints
    weight: Floats
    distances: Floats
    sizes: Floats
    disagreement: Floats
    frequency: Floats

    @classmethod
    def from_patterns(cls, patterns: UnitPatterns, kind: int, positions: Floats) -> _ComparedCells:
        from quorum.statistics.kernels.agreement import fill_value_sums

        (pattern, code), starts = patterns.cells(), patterns.counts.indptr.astype(np.int64)
        amounts, sizes = patterns.counts.data, patterns.sizes()
        is_compared = sizes >= 2
        frequency = np.where(is_compared, patterns.frequency, 0).astype(np.float64)
        distances = np.empty(len(code))
        fill_value_sums(starts, code, amounts, kind, positions, distances)
        disagreement = np.bincount(pattern, weights=amounts * distances, minlength=len(sizes)).astype(
            np.float64
        )
        return cls(
            is_compared=is_compared,
            pattern=pattern,
            code=code,
            weight=amounts * frequency[pattern],
            distances=distances,
            sizes=sizes,
            disagreement=disagreement,
            frequency=frequency,
        )

    def influences(self, values: Floats) -> PatternInfluences:
        """Return influences, whose sum over all compared judgments is zero, from (C,) values, which are changed."""
        values -= values @ self.weight / self.weight.sum()
        if not self.is_compared.all():
            values[~self.is_compared[self.pattern]] = 0.0
        judges = float(self.sizes @ self.frequency / self.frequency.sum())
        return PatternInfluences(values, self.is_compared, judges)


def alpha_influences(patterns: UnitPatterns, level: str) -> PatternInfluences | None:
    """Return the influences on alpha = 1 - (n - 1) O / E, or None if alpha is undefined.

    n is the number of judgments of units with two judgments or more, and E the sum of the distances over all ordered
    pairs of these judgments. O is the sum over the units of P / (m - 1), where a unit has m judgments, and P is the
    sum of the distances over their ordered pairs.

    A judgment changes O by 2 D / (m - 1) - P / (m (m - 1)), where D is the sum of its distances from the unit's
    other m - 1 judgments. The factor m / (m - 1), which corrects for pairs of a judgment with itself, is held constant.
    At the ordinal level, a judgment also changes the ranks of higher values.
    """
    from quorum.statistics.kernels.distances import fill_value_distances

    kind = distance_kind(level)
    label_count = len(patterns.labels)
    totals = np.asarray(np.where(patterns.sizes() >= 2, patterns.frequency, 0) @ patterns.counts)
    positions = np.cumsum(totals) - totals / 2 if level == "ordinal" else positions_at(level, patterns.labels)
    if np.count_nonzero(totals) < 2:
        return None
    cells = _ComparedCells.from_patterns(patterns, kind, positions)
    n, other_judges = totals.sum(), np.maximum(cells.sizes - 1, 1)
    observed = float(cells.disagreement / other_judges @ cells.frequency)
    distance_sums = np.empty(label_count)
    fill_value_distances(kind, positions, totals, distance_sums)
    expected = float(totals @ distance_sums)
    if not expected > 0:
        return None
    # The effect of one more judgment of a value on O through the ranks (ordinal level only), and on E.
    rank_effects, expected_effects = np.zeros(label_count), 2 * distance_sums
    if level == "ordinal":
        rank_effects = _rank_effects(_observed_slopes(cells, positions))
        mean = float(totals @ positions) / n
        # E is 2 n times the sum of squared deviations of the ranks, so these are its derivatives by the ranks.
        expected_effects += _rank_effects(4 * n * totals * (positions - mean))
    # The effect on alpha, by the derivative of the quotient: what the cell, its pattern and its label contribute. The
    # last term is there because n grows by one.
    slope = (1 - n) / expected
    effects = cells.distances * (2 * slope / other_judges)[cells.pattern]
    effects -= (slope * cells.disagreement / cells.sizes / other_judges)[cells.pattern]
    label_effects = slope * (rank_effects - observed / expected * expected_effects) - observed / expected
    effects += label_effects[cells.code]
    chance = float(totals @ (n - totals)) / (n * (n - 1))
    return replace(cells.influences(effects), chance_of_difference=chance)


def _observed_slopes(cells: _ComparedCells, positions: Floats) -> Floats:
    """Return the (V,) derivatives of O, as in `alpha_influences`, by the mid-rank of each of V values."""
    cell_positions, sizes, pattern = positions[cells.code], cells.sizes, cells.pattern
    sums = np.bincount(pattern, weights=cells.weight * cell_positions, minlength=len(sizes))
    means = sums / np.maximum(cells.frequency, 1) / sizes
    cell_slopes = 4 * sizes[pattern] * (cell_positions - means[pattern]) / np.maximum(sizes - 1, 1)[pattern]
    slopes = np.bincount(cells.code, weights=cells.weight * cell_slopes, minlength=len(positions))
    return slopes.astype(np.float64)


def _rank_effects(slopes: Floats) -> Floats:
    """Return the (V,) effects that one more judgment of each of V values has through the mid-ranks.

    The mid-rank of the value rises by 1/2, and the mid-ranks of higher values rise by 1. slopes: (V,) derivatives
    by the mid-ranks.
    """
    slopes_above = np.cumsum(slopes[::-1])[::-1]
    return np.asarray(slopes_above - slopes / 2, dtype=np.float64)


def percent_influences(
    patterns: UnitPatterns, kind: int, positions: Floats, max_distance: float
) -> PatternInfluences | None:
    """Return the influences on percent agreement, or None if no unit counts.

    Percent agreement is the mean over units of 1 - P / (m (m - 1) `max_distance`), where a unit has m judgments, and P
    is the sum of the distances over their ordered pairs.
    """
    cells = _ComparedCells.from_patterns(patterns, kind, positions)
    units, sizes = cells.frequency.sum(), cells.sizes
    if not units:
        return None
    pairs = np.maximum(sizes * (sizes - 1), 1)
    share = 1 - cells.disagreement / pairs / max_distance
    # Divide the deviation of a unit from the mean among its judgments. A judgment also changes P by 2 D, as in
    # `alpha_influences`, and m (m - 1) by the share 2 / m, as (m - 1) / m is held constant.
    unit_effects = (share - share @ cells.frequency / units) / (units * sizes)
    unit_effects += 2 / max_distance / units * (cells.disagreement / (sizes * pairs))
    effects = cells.distances * (-2 / max_distance / units / pairs)[cells.pattern]
    effects += unit_effects[cells.pattern]
    return replace(cells.influences(effects), is_share=True)
