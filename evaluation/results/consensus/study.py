"""Compute the consensus of a study's units and pairs.

Judgments come as arrays. The consensus of many units is kept as columns, because an object for each would take too much
memory; a unit's own object is made when it is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext_lazy

from evaluation.data.judgment_sets.data_hash import hash_with_data, hash_with_winners
from evaluation.data.judgment_sets.records import NO_PAIR, Decision, JudgmentTable, PairRow, UnitRow, Units
from judgments.kinds import Consensus, Kind
from judgments.kinds.consensus import ConsensusColumns
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.statistics.aggregation import pair_winners

if TYPE_CHECKING:
    from judgments.models import Study


CONSENSUS_FIELDS = ("n", "value", "share", "margin", "tie")  # columns of a unit's consensus in files
SIDES = (1, 2)
# Labels of choices between two texts, by their codes in ``quorum.statistics.aggregation.pair_answers``.
SIDE_LABELS = {
    1: gettext_lazy("first"),
    2: gettext_lazy("second"),
    0: gettext_lazy("no difference"),
    3: gettext_lazy("neither"),
}

EMPTY_CONSENSUS = Consensus(n=0, value=None, share=None, margin=None, tie=False, votes={})


@dataclass(frozen=True, slots=True)
class PairConsensus:
    """The consensus on a pair.

    Attributes:
        value: the winner: 1, 2, or None.
        wins, losses, ties: numbers of judged units that the first candidate won, lost or tied.
        tie: whether the pair was judged and has no winner.
        published: whether the winner was published without judgments.
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
        units, pairs: all units and pairs.
        of_unit: consensus of the judged and of the adjudicated units, by row id.
        of_pair: consensus of pairs, by row id.
        decisions: adjudications by unit row id. Their values are also in ``of_unit``.
        data_hash: hash of the judgments, published winners and decisions.
    """

    units: Units
    pairs: list[PairRow]
    of_unit: Mapping[int, Consensus]
    of_pair: Mapping[int, PairConsensus]
    decisions: Mapping[int, Decision]
    data_hash: str

    @property
    def judged_count(self) -> int:
        columns, other_outcomes = columns_and_others(self.of_unit)
        count_in_columns = 0 if columns is None else len(columns.unit)
        return count_in_columns + sum(outcome.n > 0 for outcome in other_outcomes.values())

    def adjudicated_pairs(self) -> set[int]:
        pairs = self.units.pair[np.isin(self.units.pk, list(self.decisions))]
        return set(pairs.tolist()) - {NO_PAIR}


def columns_and_others(
    consensus: Mapping[int, Consensus],
) -> tuple[ConsensusColumns | None, Mapping[int, Consensus]]:
    """Return the two parts of a consensus: the columns, or None if there are none, and the objects by unit.

    Units that were adjudicated are only among the objects, even if there are columns.
    """
    return (consensus, consensus.overrides) if isinstance(consensus, ConsensusColumns) else (None, consensus)


def values_at(consensus: Mapping[int, Consensus], units: Ints) -> tuple[Floats, Flags]:
    """Return the (U,) consensus values of units, nan for ties and without one, and (U,) flags of units with one."""
    values, has_consensus = np.full(len(units), np.nan), np.zeros(len(units), dtype=np.bool_)
    columns, other_outcomes = columns_and_others(consensus)
    if columns is not None:
        index = places_in(columns.unit, units)
        has_consensus = index >= 0
        values[has_consensus] = columns.value[index[has_consensus]]
    index = places_in(units, np.fromiter(other_outcomes, dtype=np.int64, count=len(other_outcomes)))
    is_requested = index >= 0
    # An array of floats turns None into nan.
    other_values = np.array([outcome.value for outcome in other_outcomes.values()], dtype=np.float64)
    values[index[is_requested]] = other_values[is_requested]
    has_consensus[index[is_requested]] = True
    return values, has_consensus


def unit_consensus(kind: Kind, table: JudgmentTable) -> Mapping[int, Consensus]:
    is_counted = table.is_counted
    if not is_counted.any():
        return {}
    if kind.is_open:
        return kind.aggregation.consensus(table.unit[is_counted].tolist(), table.answers_of(is_counted))
    return kind.aggregation.consensus(table.unit[is_counted], table.value[is_counted])


def with_decisions(
    consensus: Mapping[int, Consensus], decisions: Mapping[int, Decision]
) -> Mapping[int, Consensus]:
    """Return the consensus, in which decisions replace the values of adjudicated units. Counts of votes are kept."""
    decided_outcomes = {
        unit: replace(consensus.get(unit, EMPTY_CONSENSUS), value=decision.value, tie=False)
        for unit, decision in decisions.items()
    }
    if isinstance(consensus, ConsensusColumns):
        return consensus.with_overrides(decided_outcomes)
    return {**consensus, **decided_outcomes}


def pair_consensus(
    units: Sequence[UnitRow],
    pairs: Sequence[PairRow],
    of_unit: Mapping[int, Consensus],
    triplet_ties: str = "set-aside",
) -> dict[int, PairConsensus]:
    """Return the consensus of pairs by row id.

    The winner is the candidate that wins more of the triplets (Vedantam et al. 2015, §3).
    A tied triplet does not count, unless ``triplet_ties`` is "count" (see ``pair_winners``). If both candidates win
    equally many triplets, there is no winner. A pair without judged units has its published winner, or none.
    """
    units = Units.from_rows(units)
    values, has_value = values_at(of_unit, units.pk)
    has_value &= units.pair != NO_PAIR
    consensus_by_pair: dict[int, PairConsensus] = {}
    if has_value.any():
        # A tie (nan), "no difference" and "neither" are no win.
        outcomes = np.nan_to_num(values[has_value]).astype(np.int64)
        outcomes[~np.isin(outcomes, SIDES)] = 0
        result = pair_winners(units.pair[has_value], outcomes, triplet_ties=triplet_ties)
        rows = zip(
            result.pairs.tolist(), result.winner.tolist(), result.wins.tolist(), result.losses.tolist(),
            result.ties.tolist(), strict=True,
        )  # fmt: skip
        for pair, winner, wins, losses, ties in rows:
            consensus_by_pair[pair] = PairConsensus(
                winner or None, wins, losses, ties, tie=not winner, published=False
            )
    for row in pairs:
        if row.pk not in consensus_by_pair:
            value = row.published_winner
            consensus_by_pair[row.pk] = PairConsensus(value, 0, 0, 0, tie=False, published=value is not None)
    return consensus_by_pair


def consensus_of(study: Study, table: JudgmentTable, judged_units: Units | None = None) -> StudyConsensus:
    """Return the consensus of a study from its judgments.

    ``judged_units`` are all units that are not control items. They are loaded if not given.
    """
    # Import late, so that files can be compared without a database.
    from evaluation.data.judgment_sets import loaders
    from judgments.studies.designs import kind_of

    units, pairs = judged_units or loaders.judged_units_of(study), loaders.pair_rows(study)
    decisions = loaders.decisions_of(study)
    of_unit = with_decisions(unit_consensus(kind_of(study), table), decisions)
    published_winners = {
        pair.key: pair.published_winner for pair in pairs if pair.published_winner is not None
    }
    data_hash = hash_with_winners(table.data_hash, published_winners)
    if decisions:
        data_hash = hash_with_data(
            data_hash, {unit.key: decisions[unit.pk].value for unit in units if unit.pk in decisions}
        )
    return StudyConsensus(units, pairs, of_unit, pair_consensus(units, pairs, of_unit), decisions, data_hash)
