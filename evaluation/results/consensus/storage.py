"""Store a study's consensus as rows. Only rows that changed are written."""

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
    OUTCOME_FIELDS,
    Outcome,
    OutcomeBatch,
    pair_batches,
    unit_batches,
)
from evaluation.results.consensus.study import StudyConsensus
from judgments.kinds import KindResults
from judgments.models import Study

JSON_FIELDS = ("answer", "votes")  # fields whose values are JSON text already
MAX_CACHED_TEXTS = 5_000
BATCHES_IN_STATEMENT = 20  # batches that one INSERT statement stores
# Number of units from which on digests of batches are stored. The rows of fewer units are compared within a second.
DIGESTED_FROM = 100_000


def store_consensus(study: Study, consensus: StudyConsensus, figures: KindResults) -> None:
    """Update the stored rows of a study's consensus, in the transaction of the caller."""
    stored = Consensus.objects.filter(study=study)
    rows_before, digested = stored.count(), len(consensus.units) >= DIGESTED_FROM
    old_digests = blocks.read_digests(study, rows=rows_before) if digested else {}
    digests: dict[int, bytes] = {}
    batches = chain(
        unit_batches(study, consensus, figures, old_digests, digests), pair_batches(study, consensus)
    )
    with large_cache():
        if rows_before:
            for batch in batches:
                _store_changes(study, batch)
        else:
            with indexes_built_after(Consensus, rows=len(consensus.units)):
                _store_first(batches)
    if digested:
        blocks.store_digests(study, digests, rows=stored.count())
    elif rows_before >= DIGESTED_FROM:
        blocks.forget_digests(study)


def _store_first(batches: Iterable[OutcomeBatch]) -> None:
    """Store the rows of a study without stored rows, for which statements of many batches take less time."""
    for field, field_batches in groupby(batches, key=attrgetter("field")):
        for statement_batches in batched(field_batches, BATCHES_IN_STATEMENT):
            index: dict[Outcome, int] = {}
            numbers = []
            for batch in statement_batches:
                number = [index.setdefault(outcome, len(index)) for outcome in batch.outcomes]
                numbers.append(np.array(number, dtype=np.int64)[batch.number])
            row_ids = np.concatenate([batch.judged for batch in statement_batches])
            insert_repeated(
                Consensus,
                field,
                row_ids,
                OUTCOME_FIELDS,
                list(index),
                np.concatenate(numbers),
                ready=JSON_FIELDS,
            )


def _store_changes(study: Study, batch: OutcomeBatch) -> None:
    """Store the rows of a batch. Write only what changed."""
    field, names, rows = batch.field, (batch.field, *OUTCOME_FIELDS), batch.rows()
    # Do not filter by study, for which SQLite would read all rows of the study at each call.
    stored_rows = Consensus.objects.filter(
        **{f"{field}__gte": int(batch.pks[0]), f"{field}__lte": int(batch.pks[-1])}
    )
    stored_rows = stored_rows.order_by(field)
    if list(plain_rows(stored_rows.values_list(*names))) == rows:
        return
    rows_by_subject = {
        stored_row[1]: stored_row
        for stored_row in plain_rows(stored_rows.values_list("pk", *names))
        if stored_row[2] == study.pk
    }
    new_rows, changed_rows = [], []
    for row in rows:
        stored_row = rows_by_subject.pop(row[0], None)
        if stored_row is None:
            new_rows.append(row)
        elif stored_row[1:] != row and _comparison_key(stored_row[1:]) != _comparison_key(row):
            changed_rows.append((stored_row[0], *row))
    outdated = [pk for pk, *_ in (*rows_by_subject.values(), *changed_rows)]
    if outdated:
        Consensus.objects.filter(pk__in=outdated).delete()
    insert_rows(Consensus, ("id", *names), changed_rows, ready=JSON_FIELDS)
    insert_rows(Consensus, names, new_rows, ready=JSON_FIELDS)


def _comparison_key(row: Sequence[Any]) -> tuple[Any, ...]:
    *cells, answer, share, margin, tie, votes = row
    return *cells, _sort_names(answer), share, margin, tie, _sort_names(votes)


@lru_cache(MAX_CACHED_TEXTS)
def _sort_names(text: str | None) -> str | None:
    """Return JSON with sorted keys, because PostgreSQL stores keys in another order."""
    return None if text is None else json.dumps(json.loads(text), sort_keys=True)
