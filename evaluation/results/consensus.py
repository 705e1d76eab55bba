"""Consensus of units and pairs, and what they are clustered by, from arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.data.judgment_sets.records import (
    NO_PAIR,
    Decision,
    JudgmentTable,
    PairRow,
    UnitRow,
    Units,
    hash_with,
    hash_with_winners,
)
from judgments.kinds import Consensus, Kind
from judgments.kinds.base import ConsensusColumns
from quorum.numeric.arrays import Flags, Floats, Ints, pairs_of_equal, places_in
from quorum.statistics.aggregation import pair_winners
from quorum.statistics.aggregation.votes import majority_of_others
from quorum.statistics.correlation import means_without_raters
from quorum.statistics.crossed import FEWEST, ITEM, NAIVE, RATER, RaterDeletions
from quorum.statistics.inputs import encode

if TYPE_CHECKING:
    from judgments.models import Study

OUTCOME = ("n", "value", "share", "margin", "tie")  # of a unit's consensus, as files have them
SIDES = (1, 2)
SIDE_LABELS = {
    1: gettext_lazy("first"),
    2: gettext_lazy("second"),
    0: gettext_lazy("no difference"),
    3: gettext_lazy("neither"),
}
# How intervals and tests take rows, the default first.
CLUSTERED = ("item-and-rater", NAIVE)
EMPTY_CONSENSUS = Consensus(n=0, value=None, share=None, margin=None, tie=False, votes={})


@dataclass(frozen=True, slots=True)
class PairConsensus:
    """A pair's winner: 1, 2, or None; ``published`` if it has no judgments.

    ``wins``, ``losses`` and ``ties`` count judged units from the first candidate's side.
    """

    value: int | None
    wins: int
    losses: int
    ties: int
    tie: bool
    published: bool


@dataclass(frozen=True, slots=True)
class StudyConsensus:
    """The consensus of a study, without control items.

    Attributes:
        units, pairs: in order.
        of_unit: unit row id -> consensus, if judged.
        of_pair: pair row id -> winner.
        decisions: unit row id -> adjudicated decision, also in ``of_unit``.
    """

    units: Units
    pairs: list[PairRow]
    of_unit: Mapping[int, Consensus]
    of_pair: Mapping[int, PairConsensus]
    decisions: Mapping[int, Decision]
    data_hash: str

    @property
    def judged(self) -> int:
        columns, single = columns_and_others(self.of_unit)
        in_columns = 0 if columns is None else len(columns.unit)
        return in_columns + sum(outcome.n > 0 for outcome in single.values())

    def adjudicated_pairs(self) -> set[int]:
        pairs = self.units.pair[np.isin(self.units.pk, list(self.decisions))]
        return set(pairs.tolist()) - {NO_PAIR}


def columns_and_others(
    consensus: Mapping[int, Consensus],
) -> tuple[ConsensusColumns | None, Mapping[int, Consensus]]:
    """Return the columns, if any, and the other units."""
    return (consensus, consensus.single) if isinstance(consensus, ConsensusColumns) else (None, consensus)


def values_at(consensus: Mapping[int, Consensus], units: Ints) -> tuple[Floats, Flags]:
    """Return (U,) consensus values, nan on a tie, and whether there is a consensus."""
    values, has_consensus = np.full(len(units), np.nan), np.zeros(len(units), dtype=np.bool_)
    columns, single = columns_and_others(consensus)
    if columns is not None:
        index = places_in(columns.unit, units)
        has_consensus = index >= 0
        values[has_consensus] = columns.value[index[has_consensus]]
    index = places_in(units, np.fromiter(single, dtype=np.int64, count=len(single)))
    # None becomes nan.
    single_values = np.array([outcome.value for outcome in single.values()], dtype=np.float64)
    values[index[index >= 0]], has_consensus[index[index >= 0]] = single_values[index >= 0], True
    return values, has_consensus


# takes (K,) groups and (K,) positions of their units, and the number of groups G; returns (G,) values, nan if missing
GroupValues = Callable[[Ints, Ints, int], Floats]


def first_of_groups(values: Floats, group: Ints, unit: Ints, groups: int) -> Floats:
    """Return the first of (U,) values of units, as ``GroupValues``."""
    known = ~np.isnan(values[unit])
    members, first = np.unique(group[known], return_index=True)
    taken = np.full(groups, np.nan)
    taken[members] = values[unit[known][first]]
    return taken


def consensus_of_groups(
    kind: Kind,
    table: JudgmentTable,
    consensus: StudyConsensus,
    units: Ints,
    group: Ints,
    unit: Ints,
    groups: int,
) -> Floats:
    """Return the consensus of all judgments of a group, as ``GroupValues``; of an only unit, its own.

    A decision stands for all judgments of its unit.
    """
    of_units, values = values_at(consensus.of_unit, units)[0], np.full(groups, np.nan)
    alone = np.bincount(group, minlength=groups)[group] == 1
    values[group[alone]] = of_units[unit[alone]]
    if alone.all():
        return values
    answer = table.value.copy()
    for pk, decision in consensus.decisions.items():
        answer[table.unit == pk] = np.nan if decision.value is None else decision.value
    rated = table.counted & ~np.isnan(answer)
    vote, row = pairs_of_equal(places_in(units, table.unit[rated]), unit[~alone])
    several = group[~alone][row]
    together = kind.aggregation.consensus(several, answer[rated][vote])
    members = np.unique(several)
    values[members] = values_at(together, members)[0]
    return values


def unit_consensus(kind: Kind, table: JudgmentTable) -> Mapping[int, Consensus]:
    counted = table.counted
    if not counted.any():
        return {}
    if kind.is_open:
        return kind.aggregation.consensus(table.unit[counted].tolist(), table.answers_of(counted))
    return kind.aggregation.consensus(table.unit[counted], table.value[counted])


def with_decisions(
    consensus: Mapping[int, Consensus], decisions: Mapping[int, Decision]
) -> Mapping[int, Consensus]:
    """Replace the values of adjudicated units, not their counts."""
    decided = {
        unit: replace(consensus.get(unit, EMPTY_CONSENSUS), value=decision.value, tie=False)
        for unit, decision in decisions.items()
    }
    if isinstance(consensus, ConsensusColumns):
        return consensus.with_single(decided)
    return {**consensus, **decided}


def pair_consensus(
    units: Sequence[UnitRow],
    pairs: Sequence[PairRow],
    of_unit: Mapping[int, Consensus],
    triplet_ties: str = "set-aside",
) -> dict[int, PairConsensus]:
    """Return pair row id -> winner: the candidate that wins most of the pair's triplets (V15 §3).

    A tied triplet decides nothing, unless ``triplet_ties`` is "count" (``pair_winners``); equal wins are a
    tie. A pair without judged units has its published winner, or none.
    """
    units = Units.of(units)
    values, judged = values_at(of_unit, units.pk)
    judged &= units.pair != NO_PAIR
    winners: dict[int, PairConsensus] = {}
    if judged.any():
        outcomes = np.nan_to_num(values[judged]).astype(np.int64)
        outcomes[~np.isin(outcomes, SIDES)] = 0
        result = pair_winners(units.pair[judged], outcomes, triplet_ties=triplet_ties)
        rows = zip(
            result.pairs.tolist(), result.winner.tolist(), result.wins.tolist(), result.losses.tolist(),
            result.ties.tolist(), strict=True,
        )  # fmt: skip
        for pair, winner, wins, losses, ties in rows:
            winners[pair] = PairConsensus(winner or None, wins, losses, ties, tie=not winner, published=False)
    for row in pairs:
        if row.pk not in winners:
            known = row.published_winner
            winners[row.pk] = PairConsensus(known, 0, 0, 0, tie=False, published=known is not None)
    return winners


def consensus_of(study: Study, table: JudgmentTable, judged: Units | None = None) -> StudyConsensus:
    # Imported late: files are compared without a database.
    from evaluation.data.judgment_sets import loaders
    from judgments.studies.studies import kind_of

    units, pairs = judged or loaders.unit_rows(study), loaders.pair_rows(study)
    decisions = loaders.decisions_of(study)
    of_unit = with_decisions(unit_consensus(kind_of(study), table), decisions)
    winners = {pair.key: pair.published_winner for pair in pairs if pair.published_winner is not None}
    data_hash = hash_with_winners(table.data_hash, winners)
    if decisions:
        data_hash = hash_with(
            data_hash, {unit.key: decisions[unit.pk].value for unit in units if unit.pk in decisions}
        )
    return StudyConsensus(units, pairs, of_unit, pair_consensus(units, pairs, of_unit), decisions, data_hash)


ITEMS_AND_PEOPLE, THESE_PEOPLE = "items and people", "these people"


def scope_of(raters: int | None) -> str:
    """Return for whom intervals and tests hold: from two known raters on for other people, too."""
    return ITEMS_AND_PEOPLE if (raters or 0) >= FEWEST else THESE_PEOPLE


def scope_sentence(result: Mapping[str, Any]) -> str:
    """Say that intervals and tests hold for these people alone; "" where they hold for others.

    Results of earlier versions state the number of raters alone.
    """
    if result.get("scope", scope_of(result.get("raters"))) == ITEMS_AND_PEOPLE:
        return ""
    return _("Intervals and tests are for other items, and for these people alone.")


def rater_deletions(
    unit: Ints, worker: Ints, side: Floats, leads: Floats, pair: Ints, pair_leads: Floats, decided: Flags
) -> RaterDeletions:
    """Return who would win each of P pairs without each worker who judged it, as `pair_consensus` decides.

    Args:
        unit, worker, side: (N,) judgments; units have codes from 0.
        leads: (U,) the winner of each unit: 1 the first, -1 the second, 0 none.
        pair: (U,) codes of the units' pairs; -1 for none.
        pair_leads: (P,) how many more units the first won.
        decided: (U,) whether somebody decided the unit, whatever people answered.
    """
    others = majority_of_others(unit, side)
    change = np.where(decided[unit], 0.0, leads[unit] - ((others == 1) * 1.0 - (others == 2)))
    # The votes of a pair's only unit decide the pair themselves.
    vote = (side == 1) * 1.0 - (side == 2)
    balance = np.bincount(unit, weights=vote, minlength=len(leads))
    paired, pair_leads = np.flatnonzero(pair >= 0), pair_leads.copy()
    only = paired[np.bincount(pair[paired], minlength=len(pair_leads))[pair[paired]] == 1]
    only = only[~decided[only] & (np.sign(balance[only]) == leads[only])]
    pair_leads[pair[only]] = balance[only]
    alone = np.zeros(len(leads), dtype=np.bool_)
    alone[only] = True
    part = np.where(alone[unit], vote, change)
    here = pair[unit] >= 0
    _, rater = encode(worker[here], "workers")
    return RaterDeletions.of_leads(pair[unit[here]], rater, part[here], pair_leads)


def clusters_of_captions(
    table: JudgmentTable,
    units: Ints,
    images: Sequence[Any] | Ints,
    *,
    ratings: Sequence[Sequence[tuple[int, float]]],
    decided: Collection[int],
    anonymous: bool,
) -> dict[str, Any]:
    """Return what (N,) captions are clustered by: their images and, if known, people.

    Args:
        units: (N,) row ids of the captions' units; empty if several units judge a caption.
        ratings: of each caption then, as workers with what they said.
        decided: row ids of units that somebody decided, whatever people answered.
    """
    if anonymous:
        return {ITEM: images}
    if len(units):
        row, worker, value = places_in(units, table.unit), table.worker, table.value
        rated = table.counted & ~np.isnan(value) & (row >= 0) & ~np.isin(table.unit, list(decided))
        row, worker, value = row[rated], worker[rated], value[rated]
    else:
        flat = [(index, *rating) for index, rows in enumerate(ratings) for rating in rows]
        columns = np.array(flat, dtype=np.float64).reshape(-1, 3).T
        row, worker, value = columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2]
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
    """Return what (P,) candidate pairs, by row id, are clustered by: their images and, if known, people."""
    if anonymous:
        return {ITEM: images}
    units, counted = consensus.units, table.counted
    values, _ = values_at(consensus.of_unit, units.pk)
    won = [consensus.of_pair[pk] for pk in pairs.tolist()]
    deletions = rater_deletions(
        places_in(units.pk, table.unit[counted]),
        table.worker[counted],
        table.value[counted],
        (values == 1) * 1.0 - (values == 2),
        places_in(pairs, units.pair),
        np.array([outcome.wins - outcome.losses for outcome in won], dtype=np.float64),
        np.isin(units.pk, list(consensus.decisions)),
    )
    return {ITEM: images, RATER: deletions} if len(deletions.row) else {ITEM: images}
