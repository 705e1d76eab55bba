"""The clusters of rows in intervals and tests, and the population to which intervals and tests generalise.

Rows (captions or pairs) are clustered by image. If participants are known, the clusters also have the effect of leaving
out each participant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.results.consensus.study import StudyConsensus, values_at
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.statistics.aggregation.votes import majority_of_others
from quorum.statistics.correlation import means_without_raters
from quorum.statistics.crossed import ITEM, MIN_CLUSTERS, NAIVE, RATER, RaterDeletions
from quorum.statistics.inputs import encode

# The ways in which intervals and tests cluster rows. The first is the default.
CLUSTER_OPTIONS = ("item-and-rater", NAIVE)

ITEMS_AND_PEOPLE, THESE_PEOPLE = "items and people", "these people"


def scope_of(raters: int | None) -> str:
    """Return the population to which intervals and tests generalise.

    From MIN_CLUSTERS known raters on, the population includes other people.
    """
    return ITEMS_AND_PEOPLE if (raters or 0) >= MIN_CLUSTERS else THESE_PEOPLE


def scope_sentence(result: Mapping[str, Any]) -> str:
    """Return a sentence that intervals and tests hold only for these people, or "" if they generalise to other people.

    Results of earlier versions have only the number of raters.
    """
    if result.get("scope", scope_of(result.get("raters"))) == ITEMS_AND_PEOPLE:
        return ""
    return _("Intervals and tests generalise to other items, but not to other participants.")


def rater_deletions(
    *,
    unit: Ints,
    worker: Ints,
    side: Floats,
    unit_leads: Floats,
    pair: Ints,
    pair_leads: Floats,
    is_adjudicated: Flags,
) -> RaterDeletions:
    """Return the effect of leaving out each worker on the winners of P pairs, which `pair_consensus` defines.

    Args:
        unit, worker, side: (N,) judgments: codes of units from 0, row ids of workers, and the sides that they chose.
        unit_leads: (U,) winners of units: 1 the first, -1 the second, 0 none.
        pair: (U,) codes of the units' pairs; -1 for none.
        pair_leads: (P,) number of units that the first won minus the number that the second won.
        is_adjudicated: (U,) whether the unit was adjudicated, so that votes do not matter.
    """
    majority = majority_of_others(unit, side)
    # What the judgment adds: the winner of its unit (1, -1 or 0) minus the winner by the unit's other judgments.
    change = np.where(is_adjudicated[unit], 0.0, unit_leads[unit] - ((majority == 1) * 1.0 - (majority == 2)))
    # If a pair has a single unit, whose votes decide it, its lead is that of the votes, not that of units. Then
    # `RaterDeletions.of_leads` leaves out several votes at once, since one vote rarely changes a clear majority.
    vote = (side == 1) * 1.0 - (side == 2)
    balance = np.bincount(unit, weights=vote, minlength=len(unit_leads))  # lead of votes, by unit
    units, pair_leads = np.flatnonzero(pair >= 0), pair_leads.copy()
    unit_counts = np.bincount(pair[units], minlength=len(pair_leads))  # by pair
    single_units = units[unit_counts[pair[units]] == 1]
    # Votes do not decide a unit that was adjudicated, or whose consensus is not the simple majority.
    is_by_votes = np.sign(balance[single_units]) == unit_leads[single_units]
    single_units = single_units[~is_adjudicated[single_units] & is_by_votes]
    pair_leads[pair[single_units]] = balance[single_units]
    is_single = np.zeros(len(unit_leads), dtype=np.bool_)
    is_single[single_units] = True
    change_of_lead = np.where(is_single[unit], vote, change)
    is_in_pair = pair[unit] >= 0
    _, rater = encode(worker[is_in_pair], "workers")
    return RaterDeletions.of_leads(pair[unit[is_in_pair]], rater, change_of_lead[is_in_pair], pair_leads)


def clusters_of_captions(
    table: JudgmentTable,
    units: Ints,
    images: Sequence[Any] | Ints,
    *,
    ratings: Sequence[Sequence[tuple[int, float]]],
    adjudicated_units: Collection[int],
    anonymous: bool,
) -> dict[str, Any]:
    """Return the clusters of (N,) captions: their images and, if known, people.

    Args:
        units: (N,) row ids of the captions' units; empty if several units judge a caption.
        ratings: (worker, rating) pairs of each caption, for the case that several units judge a caption.
        adjudicated_units: row ids of adjudicated units, whose votes do not matter.
        anonymous: whether participants are unknown.
    """
    if anonymous:
        return {ITEM: images}
    if len(units):
        row, worker, value = places_in(units, table.unit), table.worker, table.value
        is_included = (
            table.is_counted & ~np.isnan(value) & (row >= 0) & ~np.isin(table.unit, list(adjudicated_units))
        )
        row, worker, value = row[is_included], worker[is_included], value[is_included]
    else:
        rating_rows: list[tuple[int, int, float]] = []  # index of the caption, worker, rating
        for index, caption_ratings in enumerate(ratings):
            rating_rows += [(index, rater, rating) for rater, rating in caption_ratings]
        row_column, worker_column, value = np.array(rating_rows, dtype=np.float64).reshape(-1, 3).T
        row, worker = row_column.astype(np.int64), worker_column.astype(np.int64)
    deletions = means_without_raters(row, worker, value, len(images))
    return {ITEM: images, RATER: deletions} if len(deletions.row) else {ITEM: images}


def clusters_of_pairs(
    table: JudgmentTable,
    consensus: StudyConsensus,
    pairs: Ints,
    images: Sequence[Any] | Ints,
    *,
    anonymous: bool,
) -> dict[str, Any]:
    """Return the clusters of (P,) candidate pairs, given by row id: their images and, if known, people."""
    if anonymous:
        return {ITEM: images}
    units, is_counted = consensus.units, table.is_counted
    values, _ = values_at(consensus.of_unit, units.pk)
    outcomes = [consensus.of_pair[pk] for pk in pairs.tolist()]
    deletions = rater_deletions(
        unit=places_in(units.pk, table.unit[is_counted]),
        worker=table.worker[is_counted],
        side=table.value[is_counted],
        unit_leads=(values == 1) * 1.0 - (values == 2),
        pair=places_in(pairs, units.pair),
        pair_leads=np.array([outcome.wins - outcome.losses for outcome in outcomes], dtype=np.float64),
        is_adjudicated=np.isin(units.pk, list(consensus.decisions)),
    )
    return {ITEM: images, RATER: deletions} if len(deletions.row) else {ITEM: images}
