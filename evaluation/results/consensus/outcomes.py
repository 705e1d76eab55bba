"""Make the rows of a study's consensus, in batches of units and of pairs, which ``storage.py`` stores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from common.files import NanAsNullEncoder
from common.rows.batches import batched
from evaluation.models import Consensus
from evaluation.results.consensus.study import PairConsensus, StudyConsensus, columns_and_others
from judgments.kinds import Consensus as UnitConsensus
from judgments.kinds import KindResults
from judgments.kinds.consensus import ConsensusColumns
from judgments.models import Study
from quorum.numeric.arrays import Ints, places_in

ADJUDICATED, JUDGMENTS = Consensus.Source.ADJUDICATED.value, Consensus.Source.JUDGMENTS.value
ROWS_PER_BATCH = 5_000


class Outcome(NamedTuple):
    """The fields of a row of the model ``Consensus``, except its unit and pair. Many rows have equal fields."""

    study_id: int
    source: str
    n: int
    value: float | None
    answer: str | None  # JSON text
    share: float | None
    margin: float | None
    tie: bool
    votes: str  # JSON text


@dataclass(frozen=True, slots=True)
class OutcomeBatch:
    """Rows of the consensus of some units or pairs. Many units have the same outcome, which is listed once.

    Attributes:
        id_field: field of the row ids: "unit_id" or "pair_id".
        ids: row ids of the units or pairs, ascending.
        judged_ids: (M,) row ids of those that were judged or have a published winner, ascending. Others get no row.
        outcome_index: (M,) index in ``outcomes`` for each of ``judged_ids``.
        outcomes: distinct outcomes.
    """

    id_field: str
    ids: Ints
    judged_ids: Ints
    outcome_index: Ints
    outcomes: list[Outcome]

    def rows(self) -> list[tuple[Any, ...]]:
        """Return rows with the row id and the fields of the outcome."""
        indexed_ids = zip(self.judged_ids.tolist(), self.outcome_index.tolist(), strict=True)
        return [(row_id, *self.outcomes[index]) for row_id, index in indexed_ids]


@dataclass(frozen=True, slots=True)
class BatchDigests:
    """Digests of batches of units, by the row id of the first unit. They show which batches are stored already.

    Attributes:
        stored: digests of the stored consensus.
        computed: digests of the consensus that was computed now.
    """

    stored: Mapping[int, bytes]
    computed: dict[int, bytes] = field(default_factory=dict)

    def add(self, first_unit: int, digest: bytes) -> bool:
        """Add a computed digest. Return whether the batch is stored with the same digest."""
        self.computed[first_unit] = digest
        return self.stored.get(first_unit) == digest


def unit_batches(
    study: Study, consensus: StudyConsensus, figures: KindResults, digests: BatchDigests
) -> Iterator[OutcomeBatch]:
    """Yield the batches of units, except those that ``digests`` show to be stored already. Add their digests.

    The consensus of most units is in arrays, the columns; that of others, such as adjudicated units, is in objects. A
    batch has a digest only if the columns, which the digest covers, have the whole consensus of all its units.
    """
    columns, other_outcomes = columns_and_others(consensus.of_unit)
    units = np.sort(consensus.units.pk)
    column_index = np.full(len(units), -1) if columns is None else places_in(columns.unit, units)
    needs_more_than_columns = np.isin(units, list(other_outcomes)) | bool(figures.units)  # answers by unit
    for start in range(0, len(units), ROWS_PER_BATCH):
        batch = slice(start, start + ROWS_PER_BATCH)
        if columns is not None and not needs_more_than_columns[batch].any():
            digest = columns.digest(units[batch], column_index[batch])
            if digests.add(int(units[start]), digest):
                continue
        yield _unit_batch(study, consensus, figures, units[batch], column_index[batch])


def _unit_batch(
    study: Study, consensus: StudyConsensus, figures: KindResults, units: Ints, column_index: Ints
) -> OutcomeBatch:
    """Return the batch of ``units``. ``column_index`` has their indices in the columns, -1 if they are not there."""
    columns, other_outcomes = columns_and_others(consensus.of_unit)
    is_in_columns = column_index >= 0
    judged_units, outcome_index = units[is_in_columns], np.empty(0, dtype=np.int64)
    outcomes: list[Outcome] = []
    if columns is not None:
        outcome_index, outcomes = _outcomes_in_columns(study, columns, column_index[is_in_columns], figures)
    if other_units := [pk for pk in units[~is_in_columns].tolist() if pk in other_outcomes]:
        judged_units = np.append(judged_units, other_units)
        outcome_index = np.append(outcome_index, len(outcomes) + np.arange(len(other_units)))
        outcomes += [_unit_outcome(study, pk, other_outcomes[pk], consensus, figures) for pk in other_units]
        order = np.argsort(judged_units)
        judged_units, outcome_index = judged_units[order], outcome_index[order]
    return OutcomeBatch("unit_id", units, judged_units, outcome_index, outcomes)


def _outcomes_in_columns(
    study: Study, columns: ConsensusColumns, column_index: Ints, figures: KindResults
) -> tuple[Ints, list[Outcome]]:
    """Return the (M,) index of each unit's outcome, and the distinct outcomes.

    ``column_index`` has the (M,) indices of the units in ``columns``.
    """
    if figures.units:  # each unit has an answer of its own, which is not in the columns
        outcome_index, examples = np.arange(len(column_index)), column_index
        answers = [_as_json_text(figures.units.get(pk)) for pk in columns.unit[column_index].tolist()]
    else:  # `examples` has, for each distinct outcome, the index of one of its units
        outcome_index, examples = columns.number_outcomes(column_index)
        answers = [None] * len(examples)
    n, value, share, margin, tie, votes = columns.cells(examples)
    # Not strict, because the share and the margin are an endless repetition of None if the kind has none.
    cells = zip(n, value, answers, share, margin, tie, votes, strict=False)
    return outcome_index, [Outcome(study.pk, JUDGMENTS, *row) for row in cells]


def _unit_outcome(
    study: Study, unit: int, outcome: UnitConsensus, consensus: StudyConsensus, figures: KindResults
) -> Outcome:
    return Outcome(
        study_id=study.pk,
        source=ADJUDICATED if unit in consensus.decisions else JUDGMENTS,
        n=outcome.n,
        value=outcome.value,
        answer=_as_json_text(figures.units.get(unit) if outcome.answer is None else outcome.answer),
        share=outcome.share,
        margin=outcome.margin,
        tie=outcome.tie,
        votes=json.dumps(outcome.votes),
    )


def _as_json_text(answer: Any) -> str | None:
    return None if answer is None else json.dumps(answer, cls=NanAsNullEncoder)


def pair_batches(study: Study, consensus: StudyConsensus) -> Iterator[OutcomeBatch]:
    """Yield the batches of pairs. Pairs that were judged, or have a published winner, have a row."""
    adjudicated_ids = consensus.adjudicated_pairs()
    for pairs in batched(sorted(consensus.pairs, key=attrgetter("pk")), ROWS_PER_BATCH):
        index_by_outcome: dict[tuple[PairConsensus, bool], int] = {}
        judged_pairs: list[int] = []
        outcome_index: list[int] = []
        for pair in pairs:
            pair_result = consensus.of_pair[pair.pk]
            if pair_result.wins or pair_result.losses or pair_result.ties or pair_result.published:
                judged_pairs.append(pair.pk)
                key = pair_result, pair.pk in adjudicated_ids
                outcome_index.append(index_by_outcome.setdefault(key, len(index_by_outcome)))
        yield OutcomeBatch(
            "pair_id",
            np.array([pair.pk for pair in pairs], dtype=np.int64),
            np.array(judged_pairs, dtype=np.int64),
            np.array(outcome_index, dtype=np.int64),
            [_pair_outcome(study, *key) for key in index_by_outcome],
        )


def _pair_outcome(study: Study, consensus: PairConsensus, is_adjudicated: bool) -> Outcome:
    source = ADJUDICATED if is_adjudicated else JUDGMENTS
    if consensus.published:
        source = Consensus.Source.PUBLISHED.value
    wins, losses, ties = consensus.wins, consensus.losses, consensus.ties
    n = wins + losses + ties
    return Outcome(
        study_id=study.pk,
        source=source,
        n=n,
        value=consensus.value,
        answer=None,
        share=max(wins, losses) / n if n else None,
        margin=abs(wins - losses) / n if n else None,
        tie=consensus.tie,
        votes=json.dumps({"wins": wins, "losses": losses, "ties": ties}) if n else "{}",
    )
