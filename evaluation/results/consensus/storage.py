"""Store a study's consensus as rows. Only rows that changed are written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from common.files import FiguresEncoder
from common.rows.batches import batched
from common.rows.loads import indexes_built_after, large_cache
from common.rows.reading import plain_rows
from common.rows.writing import insert_rows
from evaluation.data.judgment_sets import blocks
from evaluation.models import Consensus
from evaluation.results.consensus.study import StudyConsensus, columns_and_others
from judgments.kinds import KindResults
from judgments.models import Study
from quorum.numeric.arrays import places_in

CONSENSUS_FIELDS = (
    "study_id", "unit_id", "pair_id", "source", "n", "value", "answer", "share", "margin", "tie", "votes",
)  # fmt: skip
ADJUDICATED, JUDGMENTS = Consensus.Source.ADJUDICATED.value, Consensus.Source.JUDGMENTS.value
JSON_FIELDS = ("answer", "votes")
ROWS_PER_BATCH = 5_000
MAX_CACHED_TEXTS = 5_000
DIGESTED_FROM = 100_000  # number of units; the rows of fewer units are compared within a second


def store_consensus(study: Study, consensus: StudyConsensus, figures: KindResults) -> None:
    """Update the stored rows of a study's consensus, in the transaction of the caller."""
    stored = Consensus.objects.filter(study=study)
    rows_before, digested = stored.count(), len(consensus.units) >= DIGESTED_FROM
    before = blocks.read_digests(study, rows=rows_before) if digested else {}
    digests: dict[int, bytes] = {}
    rows_of_units = _unit_rows(study, consensus, figures, before, digests)
    rows_of_pairs = _pair_rows(study, consensus)
    with large_cache():
        if rows_before:
            for units, rows in rows_of_units:
                _store_changes(study, "unit_id", units, rows)
            for pairs, rows in rows_of_pairs:
                _store_changes(study, "pair_id", pairs, rows)
        else:
            every = chain.from_iterable(rows for _, rows in chain(rows_of_units, rows_of_pairs))
            with indexes_built_after(Consensus, rows=len(consensus.units)):
                insert_rows(Consensus, CONSENSUS_FIELDS, every, ready=JSON_FIELDS)
    if digested:
        blocks.store_digests(study, digests, rows=stored.count())
    elif rows_before >= DIGESTED_FROM:
        blocks.forget_digests(study)


def _store_changes(study: Study, field: str, pks: Sequence[int], rows: list[tuple[Any, ...]]) -> None:
    """Store ``rows`` with CONSENSUS_FIELDS for these units or pairs. Write only what changed.

    Args:
        field: the field of the unit or pair.
        pks: row ids of the units or pairs, ascending; those without a row in ``rows`` have no consensus.
    """
    index = CONSENSUS_FIELDS.index(field)
    # Do not filter by study, for which SQLite would read all rows of the study at each call.
    between = Consensus.objects.filter(**{f"{field}__gte": pks[0], f"{field}__lte": pks[-1]}).order_by(field)
    if list(plain_rows(between.values_list(*CONSENSUS_FIELDS))) == rows:
        return
    known = {
        before[index + 1]: before
        for before in plain_rows(between.values_list("pk", *CONSENSUS_FIELDS))
        if before[1] == study.pk
    }
    added, changed = [], []
    for row in rows:
        before = known.pop(row[index], None)
        if before is None:
            added.append(row)
        elif before[1:] != row and _comparison_key(before[1:]) != _comparison_key(row):
            changed.append((before[0], *row))
    outdated = [pk for pk, *_ in (*known.values(), *changed)]
    if outdated:
        Consensus.objects.filter(pk__in=outdated).delete()
    insert_rows(Consensus, ("id", *CONSENSUS_FIELDS), changed, ready=JSON_FIELDS)
    insert_rows(Consensus, CONSENSUS_FIELDS, added, ready=JSON_FIELDS)


def _comparison_key(row: Sequence[Any]) -> tuple[Any, ...]:
    *cells, answer, share, margin, tie, votes = row
    return *cells, _sort_names(answer), share, margin, tie, _sort_names(votes)


@lru_cache(MAX_CACHED_TEXTS)
def _sort_names(text: str | None) -> str | None:
    """Return JSON with sorted keys, because PostgreSQL stores keys in another order."""
    return None if text is None else json.dumps(json.loads(text), sort_keys=True)


def _unit_rows(
    study: Study,
    consensus: StudyConsensus,
    figures: KindResults,
    before: Mapping[int, bytes],
    digests: dict[int, bytes],
) -> Iterator[tuple[list[int], list[tuple[Any, ...]]]]:
    """Yield batches of unit row ids, each with CONSENSUS_FIELDS of its units that have a consensus.

    Fill ``digests``, by a batch's first unit, with digests of the batches whose consensus consists only of columns.
    Skip such a batch if its digest in ``before`` is the same.
    """
    columns, single = columns_and_others(consensus.of_unit)
    pks = np.sort(consensus.units.pk)
    positions = np.full(len(pks), -1) if columns is None else places_in(columns.unit, pks)
    rows_differ = np.isin(pks, list(single)) | bool(figures.units)  # rows that differ from the columns
    for start in range(0, len(pks), ROWS_PER_BATCH):
        batch, rows = slice(start, start + ROWS_PER_BATCH), []
        in_columns = positions[batch] >= 0
        if columns is not None and not rows_differ[batch].any():
            first = int(pks[start])
            digests[first] = columns.digest(pks[batch], positions[batch])
            if before.get(first) == digests[first]:
                continue
        units = pks[batch].tolist()
        if columns is not None:
            n, value, *outcomes, votes = columns.cells(positions[batch][in_columns])
            judged = pks[batch][in_columns].tolist()
            answers = [_as_text(figures.units.get(pk)) for pk in judged] if figures.units else repeat(None)
            common = repeat(study.pk), judged, repeat(None), repeat(JUDGMENTS)
            # The shortest column ends the rows, because repeated cells are infinite.
            rows = list(zip(*common, n, value, answers, *outcomes, votes, strict=False))
        others = [pk for pk in pks[batch][~in_columns].tolist() if pk in single] if single else []
        for pk in others:
            outcome, source = single[pk], ADJUDICATED if pk in consensus.decisions else JUDGMENTS
            answer = _as_text(figures.units.get(pk) if outcome.answer is None else outcome.answer)
            shares = outcome.share, outcome.margin, outcome.tie, json.dumps(outcome.votes)
            rows.append((study.pk, pk, None, source, outcome.n, outcome.value, answer, *shares))
        if others:
            rows.sort(key=itemgetter(CONSENSUS_FIELDS.index("unit_id")))
        yield units, rows


def _as_text(answer: Any) -> str | None:
    return None if answer is None else json.dumps(answer, cls=FiguresEncoder)


@lru_cache(MAX_CACHED_TEXTS)
def _votes_as_text(wins: int, losses: int, ties: int) -> str:
    return json.dumps({"wins": wins, "losses": losses, "ties": ties})


def _pair_rows(study: Study, consensus: StudyConsensus) -> Iterator[tuple[list[int], list[tuple[Any, ...]]]]:
    """Yield batches of pair row ids, each with rows of CONSENSUS_FIELDS for pairs with a winner or votes."""
    adjudicated = consensus.adjudicated_pairs()
    for pairs in batched(sorted(consensus.pairs, key=attrgetter("pk")), ROWS_PER_BATCH):
        rows: list[tuple[Any, ...]] = []
        for pair in pairs:
            outcome = consensus.of_pair[pair.pk]
            wins, losses, ties = outcome.wins, outcome.losses, outcome.ties
            n = wins + losses + ties
            if not n and not outcome.published:
                continue
            source = ADJUDICATED if pair.pk in adjudicated else JUDGMENTS
            share = margin = None
            if n:
                share, margin = max(wins, losses) / n, abs(wins - losses) / n
            if outcome.published:
                source = Consensus.Source.PUBLISHED.value
            votes = _votes_as_text(wins, losses, ties) if n else "{}"
            row = (study.pk, None, pair.pk, source, n, outcome.value, None, share, margin, outcome.tie, votes)
            rows.append(row)
        yield [pair.pk for pair in pairs], rows
