"""Compare metrics and people on the same half of each pair's votes.

The winner of one half of the votes is the target. A metric and the other half of the people both predict it, so that
neither has an advantage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from common.amounts import as_json
from evaluation.data.judgment_sets.records import NO_PAIR, JudgmentTable, UnitRow, Units
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.statistics.crossed import (
    CONFIDENCE,
    ITEM,
    Clusters,
    RaterDeletions,
    Spread,
    answers_by_cell,
    share_of_rows,
)
from quorum.statistics.inputs import encode
from quorum.statistics.meta import Halves, halves_of_votes, metric_winners

SIDES = (1, -1, 0)  # a vote for the first, for the second, for neither


@dataclass(frozen=True, slots=True)
class HalvesWithoutRaters:
    """The halves of each pair's votes if one rater is left out.

    Attributes:
        deletions: (V,) pairs and raters, one for each rater of each pair, with the number of the other votes.
        halves: (V,) halves of the other votes.
    """

    deletions: RaterDeletions
    halves: Halves


def halves_of_pairs(
    table: JudgmentTable, units: Sequence[UnitRow], pairs: Ints, *, anonymous: bool
) -> tuple[Halves, HalvesWithoutRaters | None]:
    """Return the halves of (P,) pairs, given by row id, and the halves without each rater.

    The halves without each rater are None if raters are anonymous. The votes on a pair are split into halves. If pairs
    have several units (triplets), the units are split, and each counts as one vote by its majority.
    """
    units, is_counted = Units.from_rows(units), table.is_counted
    unit = places_in(units.pk, table.unit[is_counted])
    pair = np.where(unit >= 0, places_in(pairs, units.pair[unit]), -1)
    is_in_pair = pair >= 0
    unit, pair = unit[is_in_pair], pair[is_in_pair]
    worker, side = table.worker[is_counted][is_in_pair], table.value[is_counted][is_in_pair]
    vote = (side == 1) * 1 - (side == 2)
    # What is split: here the votes, of which each without its rater is one less.
    split_votes, pair_of_split = _sides_of(vote), pair
    decrease = split_votes
    is_known = units.pair != NO_PAIR
    # The numbers of units of each pair. The first count, which is left out, is of units of other pairs.
    unit_counts = np.bincount(places_in(pairs, units.pair[is_known]) + 1, minlength=1)[1:]
    if unit_counts.max(initial=0) > 1:
        # Split units. Without a vote, a unit has the winner of its other votes; without its only vote, it is missing.
        vote_counts, balance = np.bincount(unit), np.bincount(unit, weights=vote)
        judged_units = np.flatnonzero(vote_counts)
        split_votes = _sides_of(np.sign(balance[judged_units]))
        pair_of_split = places_in(pairs, units.pair[judged_units])
        winner_without = _sides_of(np.sign(balance[unit] - vote))
        decrease = _sides_of(np.sign(balance[unit]))
        decrease = decrease - np.where(vote_counts[unit, np.newaxis] > 1, winner_without, 0)
    votes_by_side = np.zeros((len(pairs), len(SIDES)), dtype=np.int64)
    np.add.at(votes_by_side, pair_of_split, split_votes)
    halves = halves_of_votes(*votes_by_side.T)
    if anonymous or not len(pair):
        return halves, None
    _, rater = encode(worker, "workers")
    first, cell = answers_by_cell(pair, rater)
    votes_left = votes_by_side[pair[first]]
    np.subtract.at(votes_left, cell, decrease)
    deletions = RaterDeletions(pair[first], rater[first], votes_left.sum(axis=1).astype(np.float64))
    return halves, HalvesWithoutRaters(deletions, halves_of_votes(*votes_left.T))


def _sides_of(votes: Ints | Floats) -> Ints:
    """Return (N, 3) indicators of votes for the first, for the second, and for neither."""
    return np.asarray(votes[:, np.newaxis] == np.array(SIDES), dtype=np.int64)


def compare_on_same_halves(
    halves: Halves,
    without_raters: HalvesWithoutRaters | None,
    scores: Mapping[str, Floats],
    kinds: Mapping[str, Any],
    images: Sequence[Any] | Ints | None,
) -> dict[str, Any]:
    """Return ``people``, ``ceiling`` and ``metrics`` by name, for each pair kind; {} if no pair has two votes.

    Args:
        scores: by metric, (P, 2) scores of the candidates.
        kinds: by pair kind, (P,) flags of its pairs.
        images: (P,) images of the pairs; if None, pairs are regarded as independent.
    """
    is_known = halves.decided_chances > 0
    columns = {ITEM: np.arange(len(is_known)) if images is None else np.array(images, dtype=object)}
    winners_by_metric = {
        name: metric_winners(pair_scores[:, 0], pair_scores[:, 1]) for name, pair_scores in scores.items()
    }

    def share_with_interval(
        chances: Floats, is_included: Flags, winners: Ints | None = None
    ) -> dict[str, Any]:
        """Return the share of decided halves, from the (P,) chances of agreement. ``winners`` are a metric's."""
        decided_sum = float(halves.decided_chances[is_included].sum())
        share = float(chances[is_included].sum()) / decided_sum

        def widen(spread: Spread, clusters: Clusters) -> tuple[Spread, Clusters]:
            # How often halves agree depends on the number of votes, so leaving out a vote does not show the rater's
            # influence.
            if winners is None or without_raters is None:
                return spread, clusters
            pair, halves_left = without_raters.deletions.row, without_raters.halves
            # The excess of agreement over the share, with all votes and without the rater's.
            excess = chances - share * halves.decided_chances
            excess_left = np.nan_to_num(
                halves_left.chances_of(winners[pair]) - share * halves_left.decided_chances
            )
            return without_raters.deletions.subset(is_included).widen(
                spread, clusters, lambda: (excess[pair] - excess_left)[is_included[pair]] / decided_sum
            )

        shares = np.divide(chances, halves.decided_chances, out=np.zeros(len(chances)), where=is_known)
        interval = share_of_rows(
            shares, columns, CONFIDENCE, keep=is_included, weights=halves.decided_chances, widen=widen
        )
        return {"value": share, **as_json(interval, "low", "high"), "n": int(is_included.sum())}

    def shares_of_kind(is_included: Flags) -> dict[str, Any]:
        return {
            "people": share_with_interval(halves.agree, is_included),
            "ceiling": share_with_interval(halves.ceiling(is_included), is_included),
            "metrics": {
                name: share_with_interval(halves.chances_of(winners), is_included, winners)
                for name, winners in winners_by_metric.items()
            },
        }

    return {
        kind: shares_of_kind(is_known & is_of_kind)
        for kind, is_of_kind in kinds.items()
        if (is_known & is_of_kind).any()
    }
