"""The rows of a study's consensus, in batches of units and of pairs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from operator import attrgetter
from typing import Any

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

OUTCOME_FIELDS = ("study_id", "source", "n", "value", "answer", "share", "margin", "tie", "votes")
ADJUDICATED, JUDGMENTS = Consensus.Source.ADJUDICATED.value, Consensus.Source.JUDGMENTS.value
ROWS_PER_BATCH = 5_000

Outcome = tuple[Any, ...]  # values of OUTCOME_FIELDS


@dataclass(frozen=True, slots=True)
class OutcomeBatch:
    """Rows of the consensus of some units or pairs. Many units have the same outcome.

    Attributes:
        field: "unit_id" or "pair_id".
        pks: row ids of the units or pairs, ascending; those not in ``judged`` have no consensus.
        judged: (M,) row ids of the units or pairs that have a consensus, ascending.
        number: (M,) indices in ``outcomes`` of the rows of ``judged``.
        outcomes: distinct outcomes, as values of OUTCOME_FIELDS.
    """

    field: str
    pks: Ints
    judged: Ints
    number: Ints
    outcomes: list[Outcome]

    def rows(self) -> list[tuple[Any, ...]]:
        """Return rows with the values of the field and of OUTCOME_FIELDS."""
        pairs = zip(self.judged.tolist(), self.number.tolist(), strict=True)
        return [(pk, *self.outcomes[number]) for pk, number in pairs]


def unit_batches(
    study: Study,
    consensus: StudyConsensus,
    figures: KindResults,
    before: Mapping[int, bytes],
    digests: dict[int, bytes],
) -> Iterator[OutcomeBatch]:
    """Yield batches of units.

    If the consensus of a whole batch is in columns, store the digest of the batch in ``digests``, under its first unit.
    Skip the batch if ``before`` has the same digest.
    """
    columns, single = columns_and_others(consensus.of_unit)
    pks = np.sort(consensus.units.pk)
    positions = np.full(len(pks), -1) if columns is None else places_in(columns.unit, pks)
    rows_differ = np.isin(pks, list(single)) | bool(figures.units)  # rows that columns do not represent
    for start in range(0, len(pks), ROWS_PER_BATCH):
        part = slice(start, start + ROWS_PER_BATCH)
        if columns is not None and not rows_differ[part].any():
            first = int(pks[start])
            digests[first] = columns.digest(pks[part], positions[part])
            if before.get(first) == digests[first]:
                continue
        in_columns = positions[part] >= 0
        judged_units, number = pks[part][in_columns], np.empty(0, dtype=np.int64)
        outcomes: list[Outcome] = []
        if columns is not None:
            number, outcomes = _outcomes_in_columns(study, columns, positions[part][in_columns], figures)
        if other_units := [pk for pk in pks[part][~in_columns].tolist() if pk in single]:
            judged_units = np.append(judged_units, other_units)
            number = np.append(number, len(outcomes) + np.arange(len(other_units)))
            outcomes += [_outcome(study, pk, single[pk], consensus, figures) for pk in other_units]
            order = np.argsort(judged_units)
            judged_units, number = judged_units[order], number[order]
        yield OutcomeBatch("unit_id", pks[part], judged_units, number, outcomes)


def _outcomes_in_columns(
    study: Study, columns: ConsensusColumns, places: Ints, figures: KindResults
) -> tuple[Ints, list[Outcome]]:
    """Return the distinct outcomes of units, and the (M,) index of each unit's outcome.

    ``places`` are the (M,) indices of the units in ``columns``.
    """
    if figures.units:  # each unit has its own answer
        number, examples = np.arange(len(places)), places
        answers = [_as_text(figures.units.get(pk)) for pk in columns.unit[places].tolist()]
    else:
        number, examples = columns.number_outcomes(places)
        answers = [None] * len(examples)
    n, value, *other_cells, votes = columns.cells(examples)
    # The shortest column ends the outcomes, because repeated cells are infinite.
    common = repeat(study.pk), repeat(JUDGMENTS)
    return number, list(zip(*common, n, value, answers, *other_cells, votes, strict=False))


def _outcome(
    study: Study, unit: int, outcome: UnitConsensus, consensus: StudyConsensus, figures: KindResults
) -> Outcome:
    source = ADJUDICATED if unit in consensus.decisions else JUDGMENTS
    answer = _as_text(figures.units.get(unit) if outcome.answer is None else outcome.answer)
    shares = outcome.share, outcome.margin, outcome.tie, json.dumps(outcome.votes)
    return study.pk, source, outcome.n, outcome.value, answer, *shares


def _as_text(answer: Any) -> str | None:
    return None if answer is None else json.dumps(answer, cls=NanAsNullEncoder)


def pair_batches(study: Study, consensus: StudyConsensus) -> Iterator[OutcomeBatch]:
    """Yield batches of pairs. Pairs with a winner or votes have a row."""
    adjudicated = consensus.adjudicated_pairs()
    for pairs in batched(sorted(consensus.pairs, key=attrgetter("pk")), ROWS_PER_BATCH):
        index: dict[tuple[PairConsensus, bool], int] = {}
        judged_pairs: list[int] = []
        number: list[int] = []
        for pair in pairs:
            outcome = consensus.of_pair[pair.pk]
            if outcome.wins or outcome.losses or outcome.ties or outcome.published:
                judged_pairs.append(pair.pk)
                number.append(index.setdefault((outcome, pair.pk in adjudicated), len(index)))
        yield OutcomeBatch(
            "pair_id",
            np.array([pair.pk for pair in pairs], dtype=np.int64),
            np.array(judged_pairs, dtype=np.int64),
            np.array(number, dtype=np.int64),
            [_pair_outcome(study, *key) for key in index],
        )


def _pair_outcome(study: Study, outcome: PairConsensus, is_adjudicated: bool) -> Outcome:
    source = ADJUDICATED if is_adjudicated else JUDGMENTS
    if outcome.published:
        source = Consensus.Source.PUBLISHED.value
    wins, losses, ties = outcome.wins, outcome.losses, outcome.ties
    n = wins + losses + ties
    shares = (max(wins, losses) / n, abs(wins - losses) / n) if n else (None, None)
    votes = json.dumps({"wins": wins, "losses": losses, "ties": ties}) if n else "{}"
    return study.pk, source, n, outcome.value, None, *shares, outcome.tie, votes
