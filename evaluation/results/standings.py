"""Compare systems by people's answers about their outputs.

`Outputs` are compared by their mean scores, and pairs by the share of comparisons won and Bradley and Terry's model.
Both give `Standings`: the systems' values, and the contrast of any two of them with its variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from common.amounts import json_float
from evaluation.data.judgment_sets.records import Decision, JudgmentTable
from evaluation.data.ranked_lists import Proposals
from evaluation.presentation.content import Table, estimate_of
from evaluation.presentation.rendering import table
from evaluation.results.consensus.clusters import clusters_of_pairs, scope_of
from evaluation.results.consensus.study import StudyConsensus
from judgments.kinds import RelevanceScale
from quorum.numeric.arrays import Flags, Floats, Ints, pairs_of_equal, places_in, starts_of
from quorum.statistics.aggregation import bradley_terry_of_comparisons
from quorum.statistics.correlation import means_without_raters
from quorum.statistics.crossed import (
    CONFIDENCE,
    ITEM,
    NAIVE,
    NO_CONTRAST,
    NO_SPREAD,
    ClusterColumns,
    Clusters,
    Contrast,
    RaterDeletions,
    Spread,
    renumber_codes,
    share_interval,
)
from quorum.statistics.inputs import ROUNDING
from quorum.statistics.meta import PeoplesWinners, compare_with_best
from quorum.statistics.significance import BestResult
from quorum.statistics.sorting import order_of

# Measures of systems: comparisons won, times named the best, shares of yes, means, and texts that describe their item.
WON, BEST, YES, MEAN, DESCRIBES = "won", "best", "yes", "mean", "describes"
F1, OOT = "f1", "oot"  # measures of boxes and keywords that systems name


# A function of the positions of two systems, which returns the contrast of the first minus the second.
Contrasts = Callable[[int, int], Contrast]


@dataclass(frozen=True, slots=True)
class Standings:
    """A comparison of K systems by people's answers.

    Attributes:
        measure: what the values are, such as WON.
        names: names of the systems.
        figures: value, interval and n by system.
        strength: (K,) values by which systems are ordered.
        contrast: a function that returns the contrast of two systems.
        items, raters: numbers of items and of raters; None if raters are unknown.
    """

    measure: str
    names: Sequence[str]
    figures: Mapping[str, Mapping[str, Any]]
    strength: Floats
    contrast: Contrasts
    items: int
    raters: int | None

    @property
    def scope(self) -> str:
        return scope_of(self.raters)

    def compare(self) -> BestResult:
        """Compare the best system with every other one by t tests, with Holm's correction."""
        return compare_with_best(
            self.strength, self.names, lambda first, second: self.contrast(first, second).p
        )


def figures_of(value: float, low: float, high: float, n: int) -> dict[str, Any]:
    return {"value": json_float(value), "low": json_float(low), "high": json_float(high), "n": n}


def contrasts_of_fit(strength: Floats, covariance: Floats, freedom: Floats) -> Contrasts:
    """Return the contrasts of a fitted model.

    Args:
        strength: (K,) fitted strengths.
        covariance: (K, K) covariances of the strengths.
        freedom: (K,) degrees of freedom of t; empty if they are infinite.
    """

    def contrast(first: int, second: int) -> Contrast:
        indices = np.ix_([first, second], [first, second])
        variance = float(np.array([1.0, -1.0]) @ covariance[indices] @ np.array([1.0, -1.0]))
        df = float(freedom[[first, second]].min()) if len(freedom) else math.inf
        if not variance > 0:
            return NO_CONTRAST
        return Contrast(float(strength[first] - strength[second]), Spread(variance, df))

    return contrast


def contrasts_where_compared(strength: Floats, contrast: Contrasts) -> Contrasts:
    """Return the contrasts of systems on the items that both have.

    If a contrast's sign contradicts the (K,) `strength`, which is over all items, its difference is set to 0.
    """

    def contrast_on_common_items(first: int, second: int) -> Contrast:
        difference = contrast(first, second)
        agrees = difference.t * (strength[first] - strength[second]) > 0
        return difference if agrees or math.isnan(difference.t) else replace(difference, difference=0.0)

    return contrast_on_common_items


def divide_variances(contrasts: Contrasts, direct: Contrasts) -> Contrasts:
    """Return the contrasts, with each variance divided among items and raters as in the `direct` contrasts."""

    def divided_contrast(first: int, second: int) -> Contrast:
        contrast, spread = contrasts(first, second), direct(first, second).spread
        if not spread.variance > 0:
            return contrast
        return replace(
            contrast, spread=replace(spread.with_variance(contrast.spread.variance), df=contrast.spread.df)
        )

    return divided_contrast


def map_distinct_values(values: Floats, transform: Callable[[float], float]) -> Floats:
    """Return the transformed values. `transform` is called once for each distinct value, but not for nan."""
    distinct, distinct_index = np.unique(values, return_inverse=True)
    results: Floats = np.array(
        [value if math.isnan(value) else transform(value) for value in distinct.tolist()], dtype=np.float64
    )
    return results[distinct_index]


def rater_count_of(deletions: RaterDeletions | None) -> int | None:
    """Return the number of raters, or None if they are unknown."""
    return None if deletions is None else deletions.rater_count


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
        """Return the positions of the rows of these systems, ascending."""
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
        proposal: (R,) positions of the outputs in `Proposals`; empty if outputs are not from ranked lists.
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
            mean, spread, clusters = self.contrast({code: 1.0})
            half_width = spread.half_width(CONFIDENCE)
            bounds = max(mean - half_width, self.scale_ends[0]), min(mean + half_width, self.scale_ends[1])
            if half_width == 0:
                unseen_share = share_interval(0.0, spread, clusters, CONFIDENCE)[1]
                low, high = (mean + unseen_share * (end - mean) for end in self.scale_ends)
                bounds = (low, high) if math.isfinite(high - low) else (math.nan, math.nan)
            if measure != MEAN:
                bounds = share_interval(mean, spread, clusters, CONFIDENCE)
            figures[name] = figures_of(mean, *bounds, len(self._rows.rows_of([code])))
        return figures

    def compare(self, first: int, second: int) -> Contrast:
        """Compare the means of two systems on the items that have outputs of both.

        If the difference is the same on all items, its variance is 0. Then the share of items on which the first is
        better, which is 1 or 0, is tested against a half.
        """
        mean, spread, clusters = self.contrast({first: 1.0, second: -1.0})
        if spread.variance == 0:
            mean = math.copysign(0.5, mean) if mean else 0.0
            spread = replace(spread, variance=0.25 / clusters)  # of a share of a half
        return Contrast(mean, spread)

    def map_scores(self, transform: Callable[[float], float]) -> Outputs:
        """Return the outputs with transformed scores, also in ``deletions``."""
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
        mean = float(means @ sign[: len(means)])
        centred = weight * (score - means[system])
        influence: Floats = np.bincount(item, centred, minlength=item_count).astype(np.float64)
        items = Clusters.from_columns({ITEM: self.cluster[has_all_systems]}, n)
        spread = items.spread(influence[has_all_systems])
        if self.deletions is not None:
            deletions = self.deletions.at(self._deletion_rows.rows_of(signs))
            spread = self._add_rater_variance(spread, items, deletions, rows, weight, influence)
        if spread.variance <= (ROUNDING * self._largest_score) ** 2:
            spread = spread.with_variance(0.0)
        return mean, spread, items.cluster_count

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
        items: Clusters,
        deletions: RaterDeletions,
        rows: Ints,
        weight: Floats,
        influence: Floats,
    ) -> Spread:
        """Return the spread with the variance of raters added.

        Args:
            items: the clusters of the items.
            deletions: the scores without each rater, of the compared systems.
            rows: (C,) positions of the contrast's outputs.
            weight: (C,) weights of these outputs in the contrast.
            influence: (I,) influences of the items.
        """
        position = places_in(rows, deletions.row)
        deletions, position = deletions.at(np.flatnonzero(position >= 0)), position[position >= 0]
        rater_count = deletions.rater_count
        change_of_score = self.score[deletions.row] - deletions.value
        # Sum the changes of the outputs of an item without a rater.
        item_and_rater, group = np.unique(
            self.item[deletions.row] * np.int64(rater_count) + deletions.rater, return_inverse=True
        )
        item, rater = item_and_rater // rater_count, item_and_rater % rater_count
        changes: Floats = np.bincount(
            group, np.nan_to_num(change_of_score) * weight[position], minlength=len(item)
        ).astype(np.float64)
        # Without its only rater, an output has no score, and its item does not count.
        is_lost = np.bincount(group, np.isnan(change_of_score), minlength=len(item)) > 0
        changes[is_lost] = influence[item[is_lost]]
        value = np.where(is_lost, math.nan, changes)
        item_deletions = RaterDeletions(item, renumber_codes(rater), value, deletions.has_means)
        return item_deletions.widen(spread, items, lambda: changes)[0]


def standings_of_pairs(
    table: JudgmentTable,
    consensus: StudyConsensus,
    systems: Mapping[str, tuple[str, str]],
    items: Mapping[int, Hashable],
    documents: Mapping[Any, Hashable],
    *,
    anonymous: bool,
    clustered: bool = True,
) -> Standings | None:
    """Compare systems by the pairs that they won. Return None if no pair is of two systems.

    Args:
        systems: systems of both texts, by pair key.
        items: items by pair row id.
        documents: the first item of each item's document; items without other items in their document are left out.
        anonymous: whether raters are unknown.
        clustered: whether pairs are clustered; if false, they are regarded as independent, as in older releases.
    """
    rows = []
    for pair in consensus.pairs:
        pair_systems, outcome = systems[pair.key], consensus.of_pair[pair.pk]
        if pair_systems[0] != pair_systems[1] and (outcome.value is not None or outcome.tie):
            rows.append((pair.pk, *pair_systems, outcome.value or 0, items[pair.pk]))
    if not rows:
        return None
    pair_ids, first_names, second_names, winners, pair_items = (
        list(column) for column in zip(*rows, strict=True)
    )
    clusters: ClusterColumns = NAIVE
    if clustered:
        clusters = clusters_of_pairs(
            table,
            consensus,
            np.array(pair_ids, dtype=np.int64),
            [documents.get(item, item) for item in pair_items],
            anonymous=anonymous,
        )
    names = sorted({*first_names, *second_names})
    code_by_name = {name: code for code, name in enumerate(names)}
    first, second = (
        np.array([code_by_name[name] for name in column]) for column in (first_names, second_names)
    )
    people = PeoplesWinners.from_winners(winners, clusters=clusters)
    figures = {}
    for code, name in enumerate(names):
        sides = np.select([first == code, second == code], [1, 2])
        interval = people.share(partial(credit_of_side, sides), sides > 0, undecided=True)
        credits = credit_of_side(sides, np.flatnonzero(sides), people.winners[sides > 0])
        figures[name] = figures_of(float(credits.mean()), interval.low, interval.high, len(credits))
    fit = bradley_terry_of_comparisons(first, second, winners, tie_model="davidson", clusters=clusters)

    def compare(system: int, other: int) -> Contrast:
        sides = np.select(
            [(first == system) & (second == other), (first == other) & (second == system)], [1, 2]
        )
        if not sides.any():
            return NO_CONTRAST
        share, spread = people.spread_if_even(partial(credit_of_side, sides), sides > 0)
        return Contrast(share - 0.5, spread)

    strength = fit.log_strength
    contrasts = divide_variances(contrasts_of_fit(strength, fit.covariance, fit.freedom), compare)
    # Two systems are compared by their share of comparisons, and so are all if the model could not be fitted.
    if len(names) == 2 or fit.reason:
        strength = np.array([figures[name]["value"] for name in names])
        contrasts = contrasts_where_compared(strength, compare)
    return Standings(
        measure=WON,
        names=names,
        figures=figures,
        strength=strength,
        contrast=contrasts,
        items=len(set(pair_items)),
        raters=rater_count_of(people.deletions),
    )


def credit_of_side(sides: Ints, pairs: Ints, winners: Floats) -> Floats:
    """Return a system's credits in `pairs`: 1 for a win, 0.5 for a tie, 0 for a loss.

    `sides` has the side of the system in each of all pairs, and `winners` the winners of `pairs`.
    """
    return np.where(winners == 0, 0.5, winners == sides[pairs])


def measure_of(relevance: RelevanceScale) -> str:
    """Return the name of the measure "mean of answers": MEAN, or YES if it is a share of yes."""
    return MEAN if relevance.is_mean else YES


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
    output, unit = proposals.scored_entries()
    in_annotation = ~proposals.is_search[output]
    output, unit = output[in_annotation], unit[in_annotation]
    unit_of_vote = places_in(units.pk, table.unit)
    value = table.value if answers is None else answers
    is_included = table.is_counted & ~np.isnan(value) & (unit_of_vote >= 0)
    sums, counts = (
        np.bincount(unit_of_vote[is_included], weights, minlength=len(units.pk))
        for weights in (value[is_included], None)
    )
    # The decision on an adjudicated unit takes the place of all its answers.
    if answers is None:
        decided_units = places_in(units.pk, np.array(list(decisions), dtype=np.int64))
        for index, decision in zip(decided_units.tolist(), decisions.values(), strict=True):
            counts[index] = 0 if decision.value is None else max(1, counts[index])
            sums[index] = 0 if decision.value is None else decision.value * counts[index]
        is_included &= ~np.isin(table.unit, list(decisions))
    # From the sums and counts of units to those of outputs, which several units may judge.
    sums, counts = (np.bincount(output, values[unit], minlength=len(proposals)) for values in (sums, counts))
    rows = np.flatnonzero(counts)
    if not len(rows):
        return None
    vote, credit = pairs_of_equal(unit_of_vote[is_included], unit)
    systems, system = np.unique(proposals.system[rows], return_inverse=True)
    deletions = None
    if len(credit) and not anonymous:
        row = places_in(rows, output[credit])
        deletions = means_without_raters(
            row, table.worker[is_included][vote], value[is_included][vote], len(rows)
        )
    items, item = np.unique(proposals.image[rows], return_inverse=True)
    return Outputs(
        names=[str(proposals.systems[code]) for code in systems.tolist()],
        item=item,
        system=system,
        cluster=proposals.document[items],
        score=sums[rows] / counts[rows],
        deletions=deletions,
        scale_ends=scale_ends,
        proposal=rows,
    )


def comparison_tables(
    verdicts: Mapping[str, Mapping[str, Any]],
    estimates: Mapping[str, Mapping[str, Mapping[str, Any]]],
    *,
    headings: tuple[str, str],
    column: tuple[str, str],
) -> list[Table]:
    """Return the table of comparisons of the best with the others, or [] if there are none.

    Args:
        verdicts: verdicts by group, such as the pair kind.
        estimates: estimates by group and name.
        headings: headings of the columns of group and name; "" omits the group column.
        column: heading and format of the column of estimates.
    """
    rows = [
        (*((group,) if headings[0] else ()), name, estimate_of(estimates[group][name]), p_values.get(name))
        for group, verdict in verdicts.items()
        if (p_values := verdict.get("compared"))
        for name in (*verdict["leaders"], *verdict["rest"])
    ]
    columns = [*((heading, "text") for heading in headings if heading), column, ("p, Holm", "p")]
    return [table("compared", rows, columns, scope=next(iter(verdicts.values()))["scope"])] if rows else []
