"""Compare systems by people's answers about their outputs.

`outputs.Outputs` are compared by their mean scores, pairs by the share of comparisons won and Bradley-Terry's model.
Both give `Standings`: the systems' values, and the contrast of any two of them with its variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from common.amounts import json_float
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.presentation.content import Cell, Table, estimate_of
from evaluation.presentation.rendering import table
from evaluation.results.consensus.clusters import clusters_of_pairs, scope_of
from evaluation.results.consensus.study import StudyConsensus
from judgments.kinds import RelevanceScale
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation import bradley_terry_of_comparisons
from quorum.statistics.crossed import (
    NAIVE,
    NO_CONTRAST,
    ClusterColumns,
    Contrast,
    RaterDeletions,
    Spread,
)
from quorum.statistics.meta import PeoplesWinners, compare_with_best
from quorum.statistics.significance import BestResult

# Measures of systems: comparisons won, times named the best, shares of yes, means, and texts that describe their item.
WON, BEST, YES, MEAN, DESCRIBES = "won", "best", "yes", "mean", "describes"
PEOPLE = "people"  # name of the "system" that stands for captions by people
F1, OOT = "f1", "oot"  # measures of boxes and keywords ("out of ten" guesses) that systems name


# A function of the positions of two systems, which returns the contrast of the first minus the second.
Contrasts = Callable[[int, int], Contrast]


@dataclass(frozen=True, slots=True)
class Standings:
    """A comparison of K systems by people's answers.

    Attributes:
        measure: name of the measure of the values, such as WON.
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

        def p_of_contrast(first: int, second: int) -> float:
            return self.contrast(first, second).p

        return compare_with_best(self.strength, self.names, p_of_contrast)


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
        if not variance > 0:  # also if it is nan
            return NO_CONTRAST
        return Contrast(float(strength[first] - strength[second]), Spread(variance, df))

    return contrast


def contrasts_where_compared(strength: Floats, contrast: Contrasts) -> Contrasts:
    """Return the contrasts of systems on the items that both have.

    If a contrast's sign contradicts the (K,) `strength`, which is over all items, its difference is set to 0, so that
    no test finds a system better than one that is ordered before it.
    """

    def contrast_on_common_items(first: int, second: int) -> Contrast:
        difference = contrast(first, second)
        agrees = difference.t * (strength[first] - strength[second]) > 0
        return difference if agrees or math.isnan(difference.t) else replace(difference, difference=0.0)

    return contrast_on_common_items


def divide_variances(contrasts: Contrasts, direct_contrasts: Contrasts) -> Contrasts:
    """Return the contrasts, with each variance divided among items and raters as in `direct_contrasts`.

    `larger_study` predicts from these parts how many more items or raters are needed.
    """

    def divided_contrast(first: int, second: int) -> Contrast:
        contrast, spread = contrasts(first, second), direct_contrasts(first, second).spread
        if not spread.variance > 0:
            return contrast
        return replace(
            contrast, spread=replace(spread.with_variance(contrast.spread.variance), df=contrast.spread.df)
        )

    return divided_contrast


def rater_count_of(deletions: RaterDeletions | None) -> int | None:
    return None if deletions is None else deletions.rater_count


class SystemComparison(NamedTuple):
    """A judged pair of captions of two systems. The winner is 1, 2, or 0 for a tie."""

    pair_id: int
    first_system: str
    second_system: str
    winner: int


def comparisons_of_systems(
    consensus: StudyConsensus, systems: Mapping[str, tuple[str, str]]
) -> list[SystemComparison]:
    """Return the judged pairs of two systems. ``systems`` has the systems of both captions by pair key."""
    comparisons = []
    for pair in consensus.pairs:
        first_system, second_system = systems[pair.key]
        outcome = consensus.of_pair[pair.pk]
        if first_system != second_system and (outcome.value is not None or outcome.tie):
            comparisons.append(SystemComparison(pair.pk, first_system, second_system, outcome.value or 0))
    return comparisons


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
    comparisons = comparisons_of_systems(consensus, systems)
    if not comparisons:
        return None
    pair_ids, first_names, second_names, winners = map(list, zip(*comparisons, strict=True))
    pair_items = [items[pair_id] for pair_id in pair_ids]
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
    first = np.array([code_by_name[name] for name in first_names])
    second = np.array([code_by_name[name] for name in second_names])
    people = PeoplesWinners.from_winners(winners, clusters=clusters)
    figures = {}
    for code, name in enumerate(names):
        # The side of the system in each pair; 0 if the pair does not have it.
        sides = np.select([first == code, second == code], [1, 2])
        credit = credit_of_sides(sides)
        interval = people.share(credit, sides > 0, include_undecided=True)  # a tie counts half
        credits = credit(np.flatnonzero(sides), people.winners[sides > 0])
        figures[name] = figures_of(float(credits.mean()), interval.low, interval.high, len(credits))
    fit = bradley_terry_of_comparisons(first, second, winners, tie_model="davidson", clusters=clusters)

    def compare(system: int, opponent: int) -> Contrast:
        sides = np.select(
            [(first == system) & (second == opponent), (first == opponent) & (second == system)], [1, 2]
        )
        if not sides.any():
            return NO_CONTRAST
        # A score test of the share against a half.
        share, spread = people.spread_if_even(credit_of_sides(sides), sides > 0)
        return Contrast(share - 0.5, spread)

    strength = fit.log_strength
    contrasts = divide_variances(contrasts_of_fit(strength, fit.covariance, fit.freedom), compare)
    # Systems are compared by the share of comparisons won if they are two, or if the model could not be fitted.
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


def credit_of_sides(sides: Ints) -> Callable[[Ints, Floats], Floats]:
    """Return a function that computes a system's credits: 1 for a win, 0.5 for a tie, 0 for a loss.

    `sides` has the side of the system in each of all pairs. The function takes the positions of some pairs, and their
    winners.
    """

    def credit(pairs: Ints, winners: Floats) -> Floats:
        return np.where(winners == 0, 0.5, winners == sides[pairs])

    return credit


def measure_of(relevance: RelevanceScale) -> str:
    """Return the name of the measure "mean of answers": MEAN, or YES if it is a share of yes."""
    return MEAN if relevance.is_mean else YES


def comparison_tables(
    verdicts: Mapping[str, Mapping[str, Any]],
    estimates: Mapping[str, Mapping[str, Mapping[str, Any]]],
    *,
    headings: tuple[str, str],
    column: tuple[str, str],
) -> list[Table]:
    """Return the table of comparisons of the best with the others, or [] if there are none.

    Args:
        verdicts: verdicts by group, such as the pair kind; "compared" has p-values against the best by name.
        estimates: estimates by group and name.
        headings: headings of the columns of group and name; "" omits the group column.
        column: heading and format of the column of estimates.
    """
    rows: list[tuple[Cell, ...]] = []
    for group, verdict in verdicts.items():
        p_values = verdict.get("compared")
        if not p_values:
            continue
        for name in (*verdict["leaders"], *verdict["rest"]):
            cells = (name, estimate_of(estimates[group][name]), p_values.get(name))
            rows.append((group, *cells) if headings[0] else cells)
    if not rows:
        return []
    columns = [*((heading, "text") for heading in headings if heading), column, ("p, Holm", "p")]
    return [table("compared", rows, columns, scope=next(iter(verdicts.values()))["scope"])]
