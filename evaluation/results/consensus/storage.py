"""Store a study's consensus as rows. Only rows that changed are written.

With no stored rows, all are inserted in a few large statements, each distinct outcome once (`_store_first`). Otherwise
each batch is compared with its stored rows (`_store_changes`). Large studies also keep a digest of each batch;
`unit_batches` skips a batch whose digest is unchanged. Digests are ignored if rows were added or deleted since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

import numpy as np

from common.rows.batches import batched
from common.rows.loads import indexes_built_after, large_cache
from common.rows.reading import plain_rows
from common.rows.writing import insert_repeated, insert_rows
from evaluation.data.judgment_sets import blocks
from evaluation.models import Consensus
from evaluation.results.consensus.outcomes import (
    BatchDigests,
    Outcome,
    OutcomeBatch,
    pair_batches,
    unit_batches,
)
from evaluation.results.consensus.study import StudyConsensus
from judgments.kinds import KindResults
from judgments.models import Study

JSON_FIELDS = ("answer", "votes")  # fields whose values in an ``Outcome`` are JSON text already
MAX_CACHED_TEXTS = 5_000
BATCHES_IN_STATEMENT = 20  # batches that one INSERT statement stores
# Number of units from which on digests of batches are stored. The rows of fewer units are compared within a second.
DIGESTED_FROM = 100_000


def store_consensus(study: Study, consensus: StudyConsensus, figures: KindResults) -> None:
    """Update the stored rows of a study's consensus, in the transaction of the caller."""
    stored_rows = Consensus.objects.filter(study=study)
    stored_count, has_digests = stored_rows.count(), len(consensus.units) >= DIGESTED_FROM
    digests = BatchDigests(blocks.read_digests(study, stored_count) if has_digests else {})
    # Batches are made while they are stored. Therefore ``digests.computed`` is complete only after the last one.
    batches = chain(unit_batches(study, consensus, figures, digests), pair_batches(study, consensus))
    with large_cache():
        if stored_count:
            for batch in batches:
                _store_changes(study, batch)
        else:
            with indexes_built_after(Consensus, rows=len(consensus.units)):
                _store_first(batches)
    if has_digests:
        blocks.store_digests(study, digests.computed, stored_rows.count())
    elif stored_count >= DIGESTED_FROM:
        blocks.delete_digests(study)


def _store_first(batches: Iterable[OutcomeBatch]) -> None:
    """Store the rows of a study without stored rows, for which statements of many batches take less time."""
    for id_field, field_batches in groupby(batches, key=attrgetter("id_field")):
        for statement_batches in batched(field_batches, BATCHES_IN_STATEMENT):
            index_by_outcome: dict[Outcome, int] = {}
            outcome_indices = []
            for batch in statement_batches:
                positions_in_statement = [
                    index_by_outcome.setdefault(outcome, len(index_by_outcome)) for outcome in batch.outcomes
                ]
                outcome_indices.append(np.array(positions_in_statement, dtype=np.int64)[batch.outcome_index])
            insert_repeated(
                Consensus,
                id_field,
                np.concatenate([batch.judged_ids for batch in statement_batches]),  # with a consensus
                Outcome._fields,
                list(index_by_outcome),
                np.concatenate(outcome_indices),
                ready=JSON_FIELDS,
            )


def _store_changes(study: Study, batch: OutcomeBatch) -> None:
    """Write the new and changed rows of a batch, and delete those of its units (``ids``) that lost their consensus."""
    names, rows = (batch.id_field, *Outcome._fields), batch.rows()
    # Also find rows of units or pairs that lost their consensus. Do not filter by study: SQLite would read all of it.
    stored_rows = Consensus.objects.filter(
        **{f"{batch.id_field}__gte": int(batch.ids[0]), f"{batch.id_field}__lte": int(batch.ids[-1])}
    )
    stored_rows = stored_rows.order_by(batch.id_field)
    if list(plain_rows(stored_rows.values_list(*names))) == rows:
        return
    stored_by_id = {
        row_id: (pk, (row_id, study_id, *cells))
        for pk, row_id, study_id, *cells in plain_rows(stored_rows.values_list("pk", *names))
        if study_id == study.pk
    }
    new_rows, changed_rows = [], []
    for row in rows:
        pk, stored_row = stored_by_id.pop(row[0], (None, None))
        if stored_row is None:
            new_rows.append(row)
        elif stored_row != row and _comparison_key(stored_row) != _comparison_key(row):
            changed_rows.append((pk, *row))
    # Changed rows are deleted, and inserted again under their primary keys.
    outdated_ids = [pk for pk, *_ in (*stored_by_id.values(), *changed_rows)]
    if outdated_ids:
        Consensus.objects.filter(pk__in=outdated_ids).delete()
    insert_rows(Consensus, ("id", *names), changed_rows, ready=JSON_FIELDS)
    insert_rows(Consensus, names, new_rows, ready=JSON_FIELDS)


def _comparison_key(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the row with its JSON texts in a form in which equal values are equal texts."""
    *cells, answer, share, margin, tie, votes = row  # ends with the last fields of `Outcome`
    return *cells, _sort_names(answer), share, margin, tie, _sort_names(votes)


@lru_cache(MAX_CACHED_TEXTS)
def _sort_names(text: str | None) -> str | None:
    """Return JSON with sorted keys, because PostgreSQL stores keys in another order."""
    return None if text is None else json.dumps(json.loads(text), sort_keys=True)
