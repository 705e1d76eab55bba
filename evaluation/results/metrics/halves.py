"""Compare metrics and people on the same half of each pair's votes.

The winner of one half of the votes is the target. A metric and the other half of the people both predict it, so that
neither has an advantage. Votes are not split once: ``Halves`` has the chances of each outcome over all splits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
class HalvesWithoutRater:
    """The halves of each pair's votes if one rater is left out.

    Attributes:
        deletions: (V,) pairs and raters, one for each rater of each pair, with the number of the other votes.
        halves: (V,) halves of the other votes.
    """

    deletions: RaterDeletions
    halves: Halves


def halves_of_pairs(
    table: JudgmentTable, units: Sequence[UnitRow], pairs: Ints, *, anonymous: bool
) -> tuple[Halves, HalvesWithoutRater | None]:
    """Return the halves of (P,) pairs, given by row id, and the halves without each rater.

    The halves without each rater are None if raters are anonymous. The votes on a pair are split into halves. If pairs
    have several units (triplets), the units are split, and each counts as one vote by its majority.
    """
    units, is_counted = Units.from_rows(units), table.is_counted
    unit = places_in(units.pk, table.unit[is_counted])
    # -1: the judgment's unit belongs to none of these pairs.
    pair = np.where(unit >= 0, places_in(pairs, units.pair[unit]), -1)
    is_in_pair = pair >= 0
    unit, pair = unit[is_in_pair], pair[is_in_pair]
    worker, side = table.worker[is_counted][is_in_pair], table.value[is_counted][is_in_pair]
    vote = (side == 1) * 1 - (side == 2)
    is_of_a_pair = units.pair != NO_PAIR
    # The numbers of units of each pair. The first count, which is left out, is of units of other pairs.
    unit_counts = np.bincount(places_in(pairs, units.pair[is_of_a_pair]) + 1, minlength=1)[1:]
    if unit_counts.max(initial=0) > 1:
        split = _split_units(unit, vote, places_in(pairs, units.pair))
    else:
        split = _SplitVotes(pair, _sides_of(vote), _sides_of(vote))
    votes_by_side = np.zeros((len(pairs), len(SIDES)), dtype=np.int64)
    np.add.at(votes_by_side, split.pair, split.votes)
    halves = halves_of_votes(*votes_by_side.T)
    if anonymous or not len(pair):
        return halves, None
    _, rater = encode(worker, "workers")
    # A cell is a pair with a rater, and `first` has the position of one of its judgments.
    first, cell = answers_by_cell(pair, rater)
    remaining_votes = votes_by_side[pair[first]]
    np.subtract.at(remaining_votes, cell, split.decrease)
    deletions = RaterDeletions(pair[first], rater[first], remaining_votes.sum(axis=1).astype(np.float64))
    return halves, HalvesWithoutRater(deletions, halves_of_votes(*remaining_votes.T))


class _SplitVotes(NamedTuple):
    """The M votes that are split into halves: those of people, or of units by their majority.

    Attributes:
        pair: (M,) pairs.
        votes: (M, 3) indicators of the voted side (``_sides_of``).
        decrease: (N, 3) votes that each side loses if a judgment is left out, for each of the N judgments.
    """

    pair: Ints
    votes: Ints
    decrease: Ints


def _split_units(unit: Ints, vote: Ints, pair_of_unit: Ints) -> _SplitVotes:
    """Return the votes of units, given (N,) units and votes of people, and the pair of each unit.

    Without a person's vote, a unit votes as its other votes; without its only vote, it has no vote.
    """
    vote_counts, balance = np.bincount(unit), np.bincount(unit, weights=vote)
    judged_units = np.flatnonzero(vote_counts)
    votes = _sides_of(np.sign(balance[judged_units]))
    winner = _sides_of(np.sign(balance[unit]))
    winner_without = _sides_of(np.sign(balance[unit] - vote))
    decrease = winner - np.where(vote_counts[unit, np.newaxis] > 1, winner_without, 0)
    return _SplitVotes(pair_of_unit[judged_units], votes, decrease)


def _sides_of(votes: Ints | Floats) -> Ints:
    """Return (N, 3) indicators of votes for the first, for the second, and for neither."""
    return np.asarray(votes[:, np.newaxis] == np.array(SIDES), dtype=np.int64)


def compare_on_same_halves(
    halves: Halves,
    halves_without_rater: HalvesWithoutRater | None,
    scores: Mapping[str, Floats],
    flags_by_kind: Mapping[str, Flags],
    images: Sequence[Any] | Ints | None,
) -> dict[str, Any]:
    """Return how often the winner of a half of the votes is named, by pair kind; {} if no pair has two votes.

    For each kind, there are the shares of ``people`` (the other half), of answers that always name the candidate that
    most people prefer (``ceiling``), and of ``metrics`` by name.

    Args:
        scores: by metric, (P, 2) scores of the candidates.
        flags_by_kind: by pair kind, (P,) flags of its pairs.
        images: (P,) images of the pairs; if None, pairs are regarded as independent.
    """
    can_be_decided = halves.decided_chances > 0
    images = np.arange(len(can_be_decided)) if images is None else np.array(images, dtype=object)
    measure = _SharesOfHalves(halves, halves_without_rater, {ITEM: images})
    winners_by_metric = {
        name: metric_winners(pair_scores[:, 0], pair_scores[:, 1]) for name, pair_scores in scores.items()
    }
    figures: dict[str, Any] = {}
    for kind, is_of_kind in flags_by_kind.items():
        is_included = can_be_decided & is_of_kind
        if is_included.any():
            figures[kind] = {
                "people": measure.share(halves.agree, is_included),
                "ceiling": measure.share(halves.ceiling_contributions(is_included), is_included),
                "metrics": {
                    name: measure.share(halves.chances_of(winners), is_included, winners)
                    for name, winners in winners_by_metric.items()
                },
            }
    return figures


@dataclass(frozen=True, slots=True)
class _SharesOfHalves:
    """Computes shares of decided halves whose winner is named, with intervals.

    Attributes:
        halves: halves of the votes on (P,) pairs.
        halves_without_rater: the halves without each rater; None if raters are anonymous.
        clusters: clusters of the pairs, as columns.
    """

    halves: Halves
    halves_without_rater: HalvesWithoutRater | None
    clusters: Mapping[str, Any]

    def share(self, chances: Floats, is_included: Flags, winners: Ints | None = None) -> dict[str, Any]:
        """Return the share over the included pairs as JSON.

        Args:
            chances: (P,) chances that a half is decided, and that its winner is named.
            winners: (P,) winners that a metric names. If they are given, the interval covers other raters, too. How
                often two halves agree depends on the number of votes, so leaving out a vote does not show the rater's
                influence on ``people`` and ``ceiling``.
        """
        decided_chances = self.halves.decided_chances
        decided_sum = float(decided_chances[is_included].sum())
        share = float(chances[is_included].sum()) / decided_sum

        def widen(spread: Spread, clusters: Clusters) -> tuple[Spread, Clusters]:
            """Add the variance by raters. `share_of_rows` calls this with the spread over pairs."""
            if winners is None or self.halves_without_rater is None:
                return spread, clusters
            deletions, reduced_halves = self.halves_without_rater.deletions, self.halves_without_rater.halves
            pair = deletions.row
            # The excess of agreement over the share, with all votes and without the rater's; 0 if no votes are left.
            excess = chances - share * decided_chances
            reduced_excess = np.nan_to_num(
                reduced_halves.chances_of(winners[pair]) - share * reduced_halves.decided_chances
            )
            decreases = (excess[pair] - reduced_excess)[is_included[pair]] / decided_sum
            return deletions.subset(is_included).widen(spread, clusters, lambda: decreases)

        shares = np.divide(chances, decided_chances, out=np.zeros(len(chances)), where=decided_chances > 0)
        interval = share_of_rows(
            shares, self.clusters, CONFIDENCE, keep=is_included, weights=decided_chances, widen=widen
        )
        return {"value": share, **as_json(interval, "low", "high"), "n": int(is_included.sum())}
