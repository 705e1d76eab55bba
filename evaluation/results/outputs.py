"""Compare systems by people's mean scores of their outputs, on the items that have outputs of both systems.

Items are clustered by document. If raters are known, variances include the effect of leaving out each of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from evaluation.data.judgment_sets.records import Decision, JudgmentTable
from evaluation.data.ranked_lists import Proposals
from evaluation.results.standings import MEAN, Standings, contrasts_where_compared, figures_of, rater_count_of
from quorum.numeric.arrays import Flags, Floats, Ints, pairs_of_equal, places_in, starts_of
from quorum.statistics.correlation import means_without_raters
from quorum.statistics.crossed import (
    CONFIDENCE,
    ITEM,
    NO_SPREAD,
    Clusters,
    Contrast,
    RaterDeletions,
    Spread,
    renumber_codes,
    share_interval,
)
from quorum.statistics.inputs import ROUNDING
from quorum.statistics.sorting import order_of


def map_distinct_values(values: Floats, transform: Callable[[float], float]) -> Floats:
    """Return the transformed values. `transform` is called once for each distinct value, but not for nan."""
    numbers, distinct_index = np.unique(values, return_inverse=True)
    results: Floats = np.array(
        [value if math.isnan(value) else transform(value) for value in numbers.tolist()], dtype=np.float64
    )
    return results[distinct_index]


@dataclass(frozen=True, slots=True)
class RowsBySystem:
    """Rows grouped by system.

    Attributes:
        order: (N,) positions of the rows, by system and then ascending.
        starts: (K + 1,) position in ``order`` at which each system's rows start.
    """

    order: Ints
    starts: Ints

    @classmethod
    def from_codes(cls, system: Ints, system_count: int) -> RowsBySystem:
        return cls(order_of(system), starts_of(np.bincount(system, minlength=system_count)))

    def rows_of(self, systems: Iterable[int]) -> Ints:
        """Return the positions of the rows of these systems (codes), ascending."""
        return np.sort(
            np.concatenate([self.order[self.starts[code] : self.starts[code + 1]] for code in systems])
        )


@dataclass(frozen=True)  # without slots, which cached properties exclude
class Outputs:
    """R outputs of K systems with scores. An item may have several outputs of a system.

    Attributes:
        names: names of the systems.
        item, system: (R,) codes.
        cluster: (I,) code of each item's document, or of the item itself.
        score: (R,) scores.
        deletions: the outputs' scores without each rater; None if raters are unknown.
        scale_ends: the lowest and the highest possible score.
        proposal: (R,) positions of the outputs in `Proposals`, entries of systems' ranked lists; empty without lists.
    """

    names: Sequence[str]
    item: Ints
    system: Ints
    cluster: Ints
    score: Floats
    deletions: RaterDeletions | None
    scale_ends: tuple[float, float] = (-math.inf, math.inf)
    proposal: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def standings(self, measure: str) -> Standings:
        figures = self.figures(measure)
        strength = np.array([figures[name]["value"] for name in self.names])
        return Standings(
            measure=measure,
            names=self.names,
            figures=figures,
            strength=strength,
            contrast=contrasts_where_compared(strength, self.compare),
            items=len(np.unique(self.item)),
            raters=rater_count_of(self.deletions),
        )

    def figures(self, measure: str) -> dict[str, dict[str, Any]]:
        """Return each system's mean with its interval, limited to the scale.

        If scores do not vary, the interval allows for unseen clusters. At most a share u of them could lie at an end
        of the scale, where u is the upper limit of a share with 0 observations (Clopper and Pearson). Each limit is
        the mean moved by u towards that end.
        """
        figures = {}
        for code, name in enumerate(self.names):
            mean, spread, cluster_count = self.contrast({code: 1.0})
            half_width = spread.half_width(CONFIDENCE)
            if measure != MEAN:  # a share, such as YES
                low, high = share_interval(mean, spread, cluster_count, CONFIDENCE)
            elif half_width == 0:
                _, unseen_share = share_interval(0.0, spread, cluster_count, CONFIDENCE)
                low, high = (mean + unseen_share * (end - mean) for end in self.scale_ends)
                if not math.isfinite(high - low):  # the scale has no ends
                    low = high = math.nan
            else:
                lowest, highest = self.scale_ends
                low, high = max(mean - half_width, lowest), min(mean + half_width, highest)
            figures[name] = figures_of(mean, low, high, len(self._rows.rows_of([code])))
        return figures

    def compare(self, first: int, second: int) -> Contrast:
        """Compare the means of two systems on the items that have outputs of both.

        If the difference is the same on all items, its variance is 0. Then the share of items on which the first is
        better, which is 1 or 0, is tested against a half.
        """
        difference, spread, cluster_count = self.contrast({first: 1.0, second: -1.0})
        if spread.variance == 0:
            # The share of items, 1 or 0, minus a half, and the variance of a share of a half.
            difference = math.copysign(0.5, difference) if difference else 0.0
            spread = replace(spread, variance=0.25 / cluster_count)
        return Contrast(difference, spread)

    def map_scores(self, transform: Callable[[float], float]) -> Outputs:
        deletions = self.deletions
        if deletions is not None:
            deletions = replace(deletions, value=map_distinct_values(deletions.value, transform))
        return replace(self, score=map_distinct_values(self.score, transform), deletions=deletions)

    def subset(self, is_included: Flags) -> Outputs:
        """Return the outputs for which `is_included` (R,) is true, without their positions in `Proposals`."""
        systems, system = np.unique(self.system[is_included], return_inverse=True)
        items, item = np.unique(self.item[is_included], return_inverse=True)
        return Outputs(
            names=[self.names[code] for code in systems.tolist()],
            item=item,
            system=system,
            cluster=self.cluster[items],
            score=self.score[is_included],
            deletions=None if self.deletions is None else self.deletions.of_rows(is_included, "output"),
            scale_ends=self.scale_ends,
        )

    def contrast(self, signs: Mapping[int, float]) -> tuple[float, Spread, int]:
        """Return the sum of signs times means of systems, its spread, and the number of clusters.

        `signs` are by system code: 1 and -1 give the difference of two systems. Only items with outputs of all these
        systems count. The variance is 0 if differences are only rounding errors.
        """
        item_count = len(self.cluster)
        sign = np.array([signs.get(code, 0.0) for code in range(len(self.names))])
        rows = self._rows.rows_of(signs)
        item, system = self.item[rows], self.system[rows]
        has_all_systems: Flags = np.all(
            [np.bincount(item[system == code], minlength=item_count) > 0 for code in signs], axis=0
        )
        n = int(has_all_systems.sum())
        if not n:
            return math.nan, NO_SPREAD, 0
        is_compared = has_all_systems[item]
        rows, item, system = rows[is_compared], item[is_compared], system[is_compared]
        score = self.score[rows]
        output_counts, score_sums = np.bincount(system), np.bincount(system, score)
        means = np.divide(score_sums, output_counts, out=np.zeros(len(score_sums)), where=output_counts > 0)
        weight = sign[system] / output_counts[system]
        mean = float(means @ sign[: len(means)])  # `bincount` ends at the largest code
        # An item's influence on the contrast: the weighted sum of its outputs' deviations from their system's mean.
        deviations = weight * (score - means[system])
        influence: Floats = np.bincount(item, deviations, minlength=item_count).astype(np.float64)
        clusters = Clusters.from_columns({ITEM: self.cluster[has_all_systems]}, n)
        spread = clusters.spread(influence[has_all_systems])
        if self.deletions is not None:
            deletions = self.deletions.at(self._deletion_rows.rows_of(signs))
            spread = self._add_rater_variance(spread, clusters, deletions, rows, weight, influence)
        if spread.variance <= (ROUNDING * self._largest_score) ** 2:
            spread = spread.with_variance(0.0)
        return mean, spread, clusters.cluster_count

    @cached_property
    def _rows(self) -> RowsBySystem:
        return RowsBySystem.from_codes(self.system, len(self.names))

    @cached_property
    def _deletion_rows(self) -> RowsBySystem:
        assert self.deletions is not None
        return RowsBySystem.from_codes(self.system[self.deletions.row], len(self.names))

    @cached_property
    def _largest_score(self) -> float:
        return float(np.abs(self.score).max())

    def _add_rater_variance(
        self,
        spread: Spread,
        clusters: Clusters,
        deletions: RaterDeletions,
        rows: Ints,
        weight: Floats,
        influence: Floats,
    ) -> Spread:
        """Return the spread with the variance of raters added. It stays as it is if there is only one rater.

        Args:
            deletions: the scores without each rater, of the compared systems.
            rows: (C,) positions of the contrast's outputs.
            weight: (C,) weights of these outputs in the contrast.
            influence: (I,) influences of the items.
        """
        # Leave out deletions from outputs whose items are not compared.
        position = places_in(rows, deletions.row)
        deletions, position = deletions.at(np.flatnonzero(position >= 0)), position[position >= 0]
        rater_count = deletions.rater_count
        score_decreases = self.score[deletions.row] - deletions.value
        # Sum the decreases over the outputs of each pair of item and rater. A pair is written as one number.
        item_and_rater, group = np.unique(
            self.item[deletions.row] * np.int64(rater_count) + deletions.rater, return_inverse=True
        )
        item, rater = np.divmod(item_and_rater, rater_count)
        decreases: Floats = np.bincount(
            group, np.nan_to_num(score_decreases) * weight[position], minlength=len(item)
        ).astype(np.float64)
        # Without its only rater, an output has no score (nan). Then its item does not count, and its influence is lost.
        is_lost = np.bincount(group, np.isnan(score_decreases), minlength=len(item)) > 0
        decreases[is_lost] = influence[item[is_lost]]
        value = np.where(is_lost, math.nan, decreases)  # `widen` uses only its nan
        item_deletions = RaterDeletions(item, renumber_codes(rater), value, deletions.has_means)
        widened_spread, _clusters = item_deletions.widen(spread, clusters, lambda: decreases)
        return widened_spread


def outputs_of_answers(
    proposals: Proposals,
    table: JudgmentTable,
    decisions: Mapping[int, Decision],
    *,
    anonymous: bool,
    scale_ends: tuple[float, float] = (-math.inf, math.inf),
    answers: Floats | None = None,
) -> Outputs | None:
    """Return systems' captions with the mean of people's answers as scores, or None without answers.

    Args:
        anonymous: whether raters are unknown.
        scale_ends: the lowest and the highest possible answer.
        answers: (N,) other values of the judgments to use, nan for none; decisions are then ignored.
    """
    units = proposals.units
    output, unit = proposals.scored_entries()  # pairs of an entry and a unit whose answers score it
    # Only lists of captions for an image, not of images for a caption.
    lists_captions = ~proposals.is_search[output]
    output, unit = output[lists_captions], unit[lists_captions]
    unit_of_vote = places_in(units.pk, table.unit)
    value = table.value if answers is None else answers
    is_included = table.is_counted & ~np.isnan(value) & (unit_of_vote >= 0)
    voted_units = unit_of_vote[is_included]
    sums = np.bincount(voted_units, value[is_included], minlength=len(units.pk))
    counts = np.bincount(voted_units, minlength=len(units.pk))
    # The decision on an adjudicated unit takes the place of all its answers. It counts as often as they did, or once
    # if there were none.
    if answers is None:
        decided_units = places_in(units.pk, np.array(list(decisions), dtype=np.int64))
        for index, decision in zip(decided_units.tolist(), decisions.values(), strict=True):
            counts[index] = max(1, counts[index])
            sums[index] = decision.value * counts[index]
        is_included &= ~np.isin(table.unit, list(decisions))  # a decision stays if a rater is left out
    # From the sums and counts of units to those of outputs, which several units may judge.
    output_sums = np.bincount(output, sums[unit], minlength=len(proposals))
    output_counts = np.bincount(output, counts[unit], minlength=len(proposals))
    rows = np.flatnonzero(output_counts)
    if not len(rows):
        return None
    systems, system = np.unique(proposals.system[rows], return_inverse=True)
    deletions = None
    # Each vote on a unit counts for each output that the unit scores; `pair` is a position in `output` and `unit`.
    vote, pair = pairs_of_equal(unit_of_vote[is_included], unit)
    if len(pair) and not anonymous:
        row = places_in(rows, output[pair])
        deletions = means_without_raters(
            row, table.worker[is_included][vote], value[is_included][vote], len(rows)
        )
    items, item = np.unique(proposals.image[rows], return_inverse=True)
    return Outputs(
        names=[str(proposals.systems[code]) for code in systems.tolist()],
        item=item,
        system=system,
        cluster=proposals.document[items],
        score=output_sums[rows] / output_counts[rows],
        deletions=deletions,
        scale_ends=scale_ends,
        proposal=rows,
    )
