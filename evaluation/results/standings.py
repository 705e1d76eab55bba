"""Compare systems by people's answers about their outputs: means, differences, and their variances."""

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
    """Return the contrasts of (K,) fitted strengths.

    covariance: (K, K). freedom: (K,) degrees of freedom of t; empty if they are infinite.
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
    """Return contrasts on the items of both systems.

    If a contrast's sign contradicts `strength`, its difference is set to 0.
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


def map_distinct_values(values: Floats, into: Callable[[float], float]) -> Floats:
    """Return the values mapped by `into`, which is called once for each distinct value. nan stays nan."""
    distinct, number = np.unique(values, return_inverse=True)
    results: Floats = np.array(
        [value if math.isnan(value) else into(value) for value in distinct.tolist()], dtype=np.float64
    )
    return results[number]


def raters_of(deletions: RaterDeletions | None) -> int | None:
    return None if deletions is None else deletions.rater_count


@dataclass(frozen=True, slots=True)
class RowsBySystem:
    """Rows grouped by system.

    order: (N,) positions of the rows, by system and then ascending. starts: (K + 1,) start of each system's rows.
    """

    order: Ints
    starts: Ints

    @classmethod
    def from_codes(cls, system: Ints, systems: int) -> RowsBySystem:
        return cls(order_of(system), starts_of(np.bincount(system, minlength=systems)))

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
        deletions: scores without each rater; None if raters are unknown.
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
        contrasts = contrasts_where_compared(strength, self.compare)
        items, raters = len(np.unique(self.item)), raters_of(self.deletions)
        return Standings(measure, self.names, figures, strength, contrasts, items, raters)

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

    def map_scores(self, into: Callable[[float], float]) -> Outputs:
        """Return the outputs with mapped scores. Scores without each rater are mapped too."""
        deletions = self.deletions
        if deletions is not None:
            deletions = replace(deletions, value=map_distinct_values(deletions.value, into))
        return replace(self, score=map_distinct_values(self.score, into), deletions=deletions)

    def subset(self, rows: Flags) -> Outputs:
        """Return the outputs marked by `rows` (R,), without their positions in `Proposals`."""
        systems, system = np.unique(self.system[rows], return_inverse=True)
        items, item = np.unique(self.item[rows], return_inverse=True)
        return Outputs(
            names=[self.names[code] for code in systems.tolist()],
            item=item,
            system=system,
            cluster=self.cluster[items],
            score=self.score[rows],
            deletions=None if self.deletions is None else self.deletions.of_rows(rows, "output"),
            scale_ends=self.scale_ends,
        )

    def contrast(self, signs: Mapping[int, float]) -> tuple[float, Spread, int]:
        """Return the sum of signs times means of systems, its spread, and the number of clusters.

        `signs` are by system code. Only items with outputs of all these systems count. The variance is 0 if
        differences are only rounding errors.
        """
        size, sign = len(self.cluster), np.array([signs.get(code, 0.0) for code in range(len(self.names))])
        rows = self._rows.rows_of(signs)
        item, system = self.item[rows], self.system[rows]
        has_all_systems: Flags = np.all(
            [np.bincount(item[system == code], minlength=size) > 0 for code in signs], axis=0
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
        influence: Floats = np.bincount(item, centred, minlength=size).astype(np.float64)
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

        deletions: those of the compared systems. rows: (C,) positions of the contrast's outputs. weight: (C,) their
        weights. influence: (I,) of the items.
        """
        place = places_in(rows, deletions.row)
        deletions, place = deletions.at(np.flatnonzero(place >= 0)), place[place >= 0]
        raters = deletions.rater_count
        change_of_score = self.score[deletions.row] - deletions.value
        # Sum the changes of the outputs of an item without a rater.
        key, group = np.unique(
            self.item[deletions.row] * np.int64(raters) + deletions.rater, return_inverse=True
        )
        changes: Floats = np.bincount(
            group, np.nan_to_num(change_of_score) * weight[place], minlength=len(key)
        ).astype(np.float64)
        # Without its only rater, an output has no score, and its item does not count.
        is_lost = np.bincount(group, np.isnan(change_of_score), minlength=len(key)) > 0
        changes[is_lost] = influence[key[is_lost] // raters]
        value = np.where(is_lost, math.nan, changes)
        item_deletions = RaterDeletions(
            key // raters, renumber_codes(key % raters), value, deletions.has_means
        )
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
        clustered: whether pairs are clustered; if false, they are regarded as independent, as in older releases.
    """
    rows = []
    for pair in consensus.pairs:
        pair_systems, outcome = systems[pair.key], consensus.of_pair[pair.pk]
        if pair_systems[0] != pair_systems[1] and (outcome.value is not None or outcome.tie):
            rows.append((pair.pk, *pair_systems, outcome.value or 0, items[pair.pk]))
    if not rows:
        return None
    pks, first_names, second_names, winners, pair_items = (list(column) for column in zip(*rows, strict=True))
    clusters: ClusterColumns = NAIVE
    if clustered:
        clusters = clusters_of_pairs(
            table,
            consensus,
            np.array(pks, dtype=np.int64),
            [documents.get(item, item) for item in pair_items],
            anonymous=anonymous,
        )
    names = sorted({*first_names, *second_names})
    code_of = {name: code for code, name in enumerate(names)}
    first, second = (np.array([code_of[name] for name in column]) for column in (first_names, second_names))
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
    if len(names) == 2 or fit.reason:
        strength = np.array([figures[name]["value"] for name in names])
        contrasts = contrasts_where_compared(strength, compare)
    items_compared, raters = len(set(pair_items)), raters_of(people.deletions)
    return Standings(WON, names, figures, strength, contrasts, items_compared, raters)


def credit_of_side(sides: Ints, pairs: Ints, winners: Floats) -> Floats:
    """Return a system's credits in `pairs`: 1 for a win, 0.5 for a tie, 0 for a loss.

    `sides` (P,) has the side of the system in each pair.
    """
    return np.where(winners == 0, 0.5, winners == sides[pairs])


def measure_of(relevance: RelevanceScale) -> str:
    """Return the measure that the mean of answers is: a mean (MEAN), or a share of yes (YES)."""
    return MEAN if relevance.is_mean else YES


def outputs_of_answers(
    proposals: Proposals,
    table: JudgmentTable,
    decisions: Mapping[int, Decision],
    *,
    anonymous: bool,
    ends: tuple[float, float] = (-math.inf, math.inf),
    answers: Floats | None = None,
) -> Outputs | None:
    """Return systems' captions with the mean of people's answers as scores, or None without answers.

    Args:
        ends: the lowest and the highest possible answer.
        answers: (N,) other values of the judgments to use, nan for none; decisions are then ignored.
    """
    units = proposals.units
    output, unit = proposals.credits()
    in_annotation = ~proposals.is_search[output]
    output, unit = output[in_annotation], unit[in_annotation]
    unit_of_vote = places_in(units.pk, table.unit)
    value = table.value if answers is None else answers
    keep = table.is_counted & ~np.isnan(value) & (unit_of_vote >= 0)
    sums, counts = (
        np.bincount(unit_of_vote[keep], weights, minlength=len(units.pk)) for weights in (value[keep], None)
    )
    # The decision on an adjudicated unit takes the place of all its answers.
    if answers is None:
        decided_units = places_in(units.pk, np.array(list(decisions), dtype=np.int64))
        for index, decision in zip(decided_units.tolist(), decisions.values(), strict=True):
            counts[index] = 0 if decision.value is None else max(1, counts[index])
            sums[index] = 0 if decision.value is None else decision.value * counts[index]
        keep &= ~np.isin(table.unit, list(decisions))
    sums, counts = (np.bincount(output, values[unit], minlength=len(proposals)) for values in (sums, counts))
    rows = np.flatnonzero(counts)
    if not len(rows):
        return None
    vote, credit = pairs_of_equal(unit_of_vote[keep], unit)
    systems, system = np.unique(proposals.system[rows], return_inverse=True)
    deletions = None
    if len(credit) and not anonymous:
        row = places_in(rows, output[credit])
        deletions = means_without_raters(row, table.worker[keep][vote], value[keep][vote], len(rows))
    items, item = np.unique(proposals.image[rows], return_inverse=True)
    return Outputs(
        names=[str(proposals.systems[code]) for code in systems.tolist()],
        item=item,
        system=system,
        cluster=proposals.document[items],
        score=sums[rows] / counts[rows],
        deletions=deletions,
        scale_ends=ends,
        proposal=rows,
    )


def compared_table(
    groups: Mapping[str, Mapping[str, Any]],
    cells: Mapping[str, Mapping[str, Mapping[str, Any]]],
    *,
    heads: tuple[str, str],
    value: tuple[str, str],
) -> list[Table]:
    """Return the table of comparisons of the best with the others, or [] if there are none.

    Args:
        groups: verdicts by group.
        cells: estimates by group and name.
        heads: headings of the columns of group and name; "" omits the group column.
        value: heading and format of the column of estimates.
    """
    rows = [
        (*((group,) if heads[0] else ()), name, estimate_of(cells[group][name]), compared.get(name))
        for group, verdict in groups.items()
        if (compared := verdict.get("compared"))
        for name in (*verdict["leaders"], *verdict["rest"])
    ]
    columns = [*((head, "text") for head in heads if head), value, ("p, Holm", "p")]
    return [table("compared", rows, columns, scope=next(iter(groups.values()))["scope"])] if rows else []
