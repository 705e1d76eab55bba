"""Load stored judgments as arrays and records, and compute a study's judgment signature (docs/signatures.md).

Columns of judgments and units are also stored in Arrow blocks, so that only newer rows are read one by one.
Order is by unit, then worker name, equal on every database.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from django.db import OperationalError, transaction
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    FloatField,
    Max,
    Min,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    When,
)
from django.db.models import Value as SQLValue
from django.db.models.functions import Coalesce

from annotation.crowds import Ability, backend_of
from annotation.models import Adjudication, Assignment, Judgment, Worker
from annotation.models.assignments import EXCLUDED_STATES
from annotation.quality.controls import (
    ControlRecord,
    ControlTally,
    _repeated_tallies,
    control_tallies,
    records_from_tallies,
    tallies_of_snapshot,
)
from annotation.snapshots import Snapshot
from common.rows import batched, column_parts, last_row, plain_rows
from evaluation.data.judgment_sets.records import (
    AS_IMPORTED,
    DIGITS_OF_HASH,
    DataHash,
    Decision,
    Difference,
    JudgmentTable,
    JudgmentTally,
    Material,
    PairRow,
    UnitRow,
    Units,
    Votes,
    WorkerRow,
    differences,
    hash_with,
    hash_with_winners,
    judgment_signature,
)
from evaluation.models import ColumnBlock
from evaluation.numeric.arrays import Flags, Floats, Ints, places_in
from evaluation.numeric.signatures import Signature, Value, quorum_version
from evaluation.statistics.aggregation.votes_and_means import MUCH
from evaluation.statistics.inputs import encode
from judgments.design.scale import plain_number
from judgments.design.tables import Controls
from judgments.drawing.controls import REPEATED
from judgments.drawing.material import document_in, first_of_documents
from judgments.kinds import KINDS, IncludedJudgment
from judgments.models import CandidatePair, Caption, Item, OutcomeBounds, Study, Unit
from judgments.studies.generation import describe_stopping
from judgments.studies.studies import design_of, draws_at_claim, kind_of, stops_early

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_LEFT, SECOND_LEFT = 1, 2
SET_ASIDE, OPEN = 3, 6  # beside the side, in one number
FLAGS = 16  # what the side, SET_ASIDE and OPEN come to is below
NO_VALUE = -1e9
SPAN = 100_000  # row ids, also of other studies, after which a block is added
MOST = 250_000  # rows in a block
UNITS_AT_ONCE = 20_000
ROWS_AT_ONCE = 2_000
FORMAT = 1  # of the columns below: a change of names, types or meanings takes the next number
MODELS: Mapping[str, type[Model]] = {ColumnBlock.What.UNITS: Unit, ColumnBlock.What.JUDGMENTS: Judgment}
COLUMNS: Mapping[str, Mapping[str, str]] = {
    ColumnBlock.What.UNITS: {
        "pk": "int64",
        "key": "large_string",
        "kind": "string",
        "pair": "int64",
        "position": "int64",
        "control": "bool",
    },
    ColumnBlock.What.JUDGMENTS: {
        "pk": "int64",
        "unit": "int64",
        "worker": "int64",
        "value": "float64",
        "seconds": "float64",
        "flags": "int8",
        "replaces": "int64",
    },
}


def judgment_columns(study: Study) -> pa.Table:
    """Return the columns of every judgment, even revised and excluded, unordered.

    ``value`` and ``seconds`` are nan if missing, ``replaces`` is 0. ``flags`` are the option on the left (0:
    none), plus SET_ASIDE, plus OPEN.
    """
    return _read_columns(study, ColumnBlock.What.JUDGMENTS)


def newest_judgment(study: Study) -> int:
    """Return a row id that no judgment of the study exceeds; 0 without judgments.

    Blocks say it of the rows that they hold, so that only newer ones are read.
    """
    last = _read_stored(study, ColumnBlock.What.JUDGMENTS).last
    newer = _rows_after(study, ColumnBlock.What.JUDGMENTS, last).aggregate(last=Max("pk"))["last"]
    return newer or last


def extend_blocks(study: Study) -> None:
    """Store new rows as a block if there are enough, and rebuild incomplete blocks."""
    for what, model in MODELS.items():
        stored = _read_stored(study, what)
        last = stored.last if _are_complete(study, what, stored) else 0
        newest = model._default_manager.aggregate(last=Max("pk"))["last"] or 0
        if newest - last < SPAN:  # asked without the lock, which submissions would wait for
            continue
        upto = _last_row(model)
        if upto is None:
            continue
        table = _read_rows(study, what, last, upto)
        if not (np.diff(table["pk"].to_numpy()) > 0).all():
            table = table.sort_by("pk")
        blocks, first = [], last
        for start in range(0, max(len(table), 1), MOST):
            part = table.slice(start, MOST)
            end = upto if start + MOST >= len(table) else part["pk"][-1].as_py()
            blocks.append(
                ColumnBlock(
                    study=study,
                    what=what,
                    format=FORMAT,
                    first=first,
                    last=end,
                    rows=len(part),
                    columns=serialize_table(part),
                )
            )
            first = end
        with transaction.atomic():
            Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            if _read_stored(study, what) == stored:  # else another job stored them
                if not last:
                    ColumnBlock.objects.filter(study=study, what=what).delete()
                ColumnBlock.objects.bulk_create(blocks, batch_size=1)


def forget_blocks(study: Study) -> None:
    """Delete a study's blocks, so that the next analysis reads every row."""
    ColumnBlock.objects.filter(study=study).delete()


def changed_blocks() -> Iterator[ColumnBlock]:
    """Yield blocks of all studies that contradict the rows or leave a gap."""
    ends: dict[tuple[int, str], int] = {}
    for block in ColumnBlock.objects.filter(format=FORMAT).select_related("study").iterator(1):
        follows = block.first == ends.get((block.study_id, block.what), 0)
        ends[block.study_id, block.what] = block.last
        if not (follows and _agrees_with_rows(block)):
            yield block


def _agrees_with_rows(block: ColumnBlock) -> bool:
    import pyarrow as pa

    rows = _read_rows(block.study, block.what, block.first, block.last).sort_by("pk")
    try:
        stored = deserialize_table(block.columns)
    except (pa.ArrowException, OSError):
        return False
    return (
        block.rows == len(stored)
        and stored.schema == rows.schema
        and all(_equal_columns(stored[name], rows[name]) for name in rows.column_names)
    )


def _equal_columns(column: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    if pa.types.is_floating(column.type):  # Arrow's nan are not equal
        return np.array_equal(column.to_numpy(), other.to_numpy(), equal_nan=True)
    return bool(column.equals(other))


def _last_row(model: type[Model]) -> int | None:
    """Return the last certain row id; None while a long transaction is writing."""
    try:
        return last_row(model)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != "55P03":  # lock_not_available
            raise
    return None


@dataclass(frozen=True, slots=True)
class _Stored:
    """The last row id in blocks, and their total rows."""

    last: int
    rows: int


def _read_stored(study: Study, what: str) -> _Stored:
    totals = _blocks(study, what).aggregate(last=Max("last"), rows=Sum("rows"))
    return _Stored(totals["last"] or 0, totals["rows"] or 0)


def _blocks(study: Study, what: str) -> QuerySet[ColumnBlock]:
    return ColumnBlock.objects.filter(study=study, what=what, format=FORMAT).order_by("first")


def _are_complete(study: Study, what: str, stored: _Stored) -> bool:
    """Return whether the blocks have as many rows as the study up to their end.

    They have fewer if a row got a lower id later: on SQLite a migration that recreates a table frees the ids
    of deleted rows behind the last one.
    """
    if not stored.last:
        return True
    rows = (
        Unit.objects.filter(study=study)
        if what == ColumnBlock.What.UNITS
        else Judgment.objects.of_study(study)
    )
    return rows.filter(pk__lte=stored.last).count() == stored.rows


def serialize_table(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def deserialize_table(columns: bytes | memoryview) -> pa.Table:
    import pyarrow as pa

    return pa.ipc.open_stream(columns).read_all()


def _read_columns(study: Study, what: str) -> pa.Table:
    import pyarrow as pa

    tables, after = [], 0
    for last, columns in _blocks(study, what).values_list("last", "columns").iterator(1):
        tables.append(deserialize_table(columns))
        after = last
    if not _are_complete(study, what, _Stored(after, sum(map(len, tables)))):
        tables, after = [], 0
    return pa.concat_tables([*tables, _read_rows(study, what, after, None)])


def _read_rows(study: Study, what: str, after: int, upto: int | None) -> pa.Table:
    import pyarrow as pa

    rows = _rows_after(study, what, after)
    if upto is not None:
        rows = rows.filter(pk__lte=upto)
    parts = _unit_parts(rows) if what == ColumnBlock.What.UNITS else _judgment_parts(rows)
    schema = pa.schema(list(COLUMNS[what].items()))
    return pa.Table.from_batches([pa.record_batch(columns, schema=schema) for columns in parts], schema)


def _rows_after(study: Study, what: str, after: int) -> QuerySet[Any]:
    """Return the study's rows behind row id ``after``."""
    of_units = what == ColumnBlock.What.UNITS
    rows: QuerySet[Any] = Unit.objects.order_by() if of_units else Judgment.objects.order_by()
    owner = "study" if of_units else "assignment__study"
    if not after:
        return rows.filter(**{owner: study})
    # A sum, so that the database goes by row id, not through all work of the study.
    return rows.annotate(owner=F(f"{owner}_id") + 0).filter(pk__gt=after, owner=study.pk)


def _unit_parts(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    columns = rows.values_list("pk", "key", "kind", "pair_id", "position", "control")
    for some in batched(plain_rows(columns), UNITS_AT_ONCE):
        *others, control = zip(*some, strict=True)
        yield [*others, list(map(bool, control))]


def _judgment_parts(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    flags = (
        Case(When(presented="", then=0), When(presented="first-left", then=FIRST_LEFT), default=SECOND_LEFT)
        + Case(When(set_aside=True, then=SET_ASIDE), default=0)
        + Case(When(answer__isnull=False, then=OPEN), default=0)
    )
    value = Coalesce(F("value"), SQLValue(NO_VALUE), output_field=FloatField())
    seconds = Coalesce(F("seconds"), SQLValue(-1.0))
    replaces = Coalesce(F("replaces_id"), SQLValue(0))
    # Each number that is read takes time, so that two are one.
    both = F("assignment__worker_id") * FLAGS + flags
    columns = rows.values_list(F("pk"), F("unit_id"), both, value, seconds, replaces)
    types = COLUMNS[ColumnBlock.What.JUDGMENTS].values()
    for pk, unit, packed, answer, duration, replaced in column_parts(columns, len(types) - 1):
        answer[answer == NO_VALUE] = float("nan")
        duration[duration < 0] = float("nan")
        worker, flag = np.divmod(packed, FLAGS)
        numbers = pk, unit, worker, answer, duration, flag, replaced
        yield [column.astype(kind) for column, kind in zip(numbers, types, strict=True)]


def worker_rows(study: Study) -> list[WorkerRow]:
    finished = Assignment.objects.filter(study=study).finished()
    simulated = Exists(finished.filter(simulated=True, worker=OuterRef("pk")))
    rows = Worker.objects.filter(pk__in=finished.values("worker")).annotate(made_up=simulated)
    workers = [WorkerRow(*row) for row in rows.values_list("pk", "name", "anonymous", "made_up")]
    return sorted(workers, key=lambda row: (row.name, row.pk))


def is_anonymous(study: Study) -> bool:
    return any(worker.anonymous for worker in worker_rows(study))


def control_records_of(study: Study, *, moment: Snapshot | None = None) -> dict[int, ControlRecord]:
    """Return worker -> results on control items. Imports state per judgment whether it is used."""
    return _control_records(
        study, control_tallies(study) if moment is None else tallies_of_snapshot(study, moment)
    )


def rule_of_controls(study: Study) -> Controls:
    """Return the study's rule on control items; of imports one that sets nobody aside."""
    return Controls(threshold=0.0) if study.source == Study.Source.IMPORTED else design_of(study).controls


def _control_records(
    study: Study, tallies: list[ControlTally], rule: Controls | None = None
) -> dict[int, ControlRecord]:
    rule = rule or rule_of_controls(study)
    return records_from_tallies(tallies, rule=rule, kind=kind_of(study))


def _tally_controls(study: Study, unit: Ints, worker: Ints, value: Floats) -> list[ControlTally]:
    if not len(unit):
        return []
    rows = Unit.objects.filter(study=study, control=True).order_by()
    of_control = {pk: fact for pk, *fact in plain_rows(rows.values_list("pk", "expected", "control_kind"))}
    facts = list(dict.fromkeys(map(tuple, of_control.values())))
    number = {fact: at for at, fact in enumerate(facts)}
    numbers = np.array([number[tuple(fact)] for fact in of_control.values()], dtype=np.int64)
    fact = numbers[places_in(np.fromiter(of_control, dtype=np.int64), unit)]
    answer = np.unique(value, return_inverse=True)[1]
    code = (places_in(np.unique(worker), worker) * len(facts) + fact) * (answer.max() + 1) + answer
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    tallies, repeated = [], False
    for row, n in zip(first.tolist(), counts.tolist(), strict=True):
        text, control_kind = facts[fact[row]]
        expected = None if text is None else json.loads(text)
        if control_kind == REPEATED:
            repeated = True
        elif expected is not None:
            tallies.append(
                ControlTally(int(worker[row]), plain_number(value[row]), expected, control_kind, n)
            )
    return [*tallies, *_repeated_tallies(study)] if repeated else tallies


def excluded_workers(study: Study, *, moment: Snapshot | None = None) -> frozenset[int]:
    records = control_records_of(study, moment=moment)
    return frozenset(worker for worker, record in records.items() if not record.used)


def unconfirmed_work(study: Study) -> QuerySet[Assignment]:
    """Return paid work that the crowd has not confirmed.

    Anyone can open a page with made-up ids, so such answers count only after confirmation.
    """
    if not study.platform or Ability.LIST not in backend_of(study).can:
        return Assignment.objects.none()
    return Assignment.objects.filter(study=study, session__confirmed=False)


def by_unit_and_name(rows: Iterator[tuple[Any, ...]], *, unit: int, worker: int) -> Iterator[tuple[Any, ...]]:
    """Sort ``rows`` by unit and worker name, in Python because database collations differ."""
    for _, group in groupby(rows, key=itemgetter(unit)):
        yield from sorted(group, key=itemgetter(worker))


@dataclass(frozen=True, slots=True)
class StudyUnits:
    """All units of a study in order, even control items; ``control`` and ``withdrawn`` are (U,) bool."""

    all: Units
    control: Flags
    withdrawn: Flags

    @property
    def judged(self) -> Units:
        return self.all.at(np.flatnonzero(~self.control))


def study_units(study: Study) -> StudyUnits:
    import pyarrow as pa  # when it is first used

    table = _read_columns(study, ColumnBlock.What.UNITS)
    pk = table["pk"].to_numpy()
    order = np.lexsort((pk, table["position"].to_numpy()))
    units, control = Units.of_columns(table).at(order), table["control"].to_numpy()[order]
    del table
    pa.default_memory_pool().release_unused()
    withdrawn = Unit.objects.filter(study=study, withdrawn=True).values_list("pk", flat=True)
    return StudyUnits(units, control, np.isin(units.pk, list(withdrawn)))


def load_judgments(
    study: Study,
    *,
    newest: int | None = None,
    units: StudyUnits | None = None,
    rule: Controls | None = None,
) -> JudgmentTable:
    """Load all judgments of ``study``.

    Args:
        newest: last row id to include.
        units: from ``study_units``, if loaded.
        rule: on control items; by default the study's own.
    """
    import pyarrow as pa

    units = units or study_units(study)
    rows = judgment_columns(study)
    names = dict(
        Worker.objects.filter(pk__in=Assignment.objects.filter(study=study).values("worker")).values_list(
            "pk", "name"
        )
    )
    # Sorted here by name: database collations differ.
    people = np.array(sorted(names, key=names.__getitem__), dtype=np.int64)
    people_names = [names[worker_id] for worker_id in people.tolist()]
    order = _positions_of_current(study, rows, newest)
    order = order[np.argsort(rows["pk"].to_numpy()[order])]
    unit_index = places_in(units.all.pk, rows["unit"].to_numpy()[order])
    person = places_in(people, rows["worker"].to_numpy()[order])
    assert not (unit_index < 0).any(), "judgments are of the study's own units"
    sorting = np.argsort(unit_index * len(people) + person, kind="stable")
    order, unit_index, person = order[sorting], unit_index[sorting], person[sorting]
    pk, unit, worker, value, seconds, flags = (
        rows[name].to_numpy()[order] for name in ("pk", "unit", "worker", "value", "seconds", "flags")
    )
    del rows, order, sorting
    pa.default_memory_pool().release_unused()
    if (flags >= OPEN).any():
        records = _control_records(study, control_tallies(study), rule)
    else:
        on_controls = np.flatnonzero(units.control[unit_index] & ~units.withdrawn[unit_index])
        tallies = _tally_controls(study, unit[on_controls], worker[on_controls], value[on_controls])
        records = _control_records(study, tallies, rule)
    out = np.array([worker_id for worker_id, record in records.items() if not record.used], dtype=np.int64)
    used = (flags // SET_ASIDE % 2 == 0) & ~units.withdrawn[unit_index] & ~np.isin(worker, out)
    unconfirmed = Judgment.objects.filter(assignment__in=unconfirmed_work(study).values("pk"))
    used &= ~np.isin(pk, list(unconfirmed.values_list("pk", flat=True)))
    answer: tuple[Any, ...] = ()
    if (flags >= OPEN).any():
        answers = _open_answers(study, newest)
        answer = tuple(answers.get(judgment) for judgment in pk.tolist())
    by_far = KINDS[study.protocol].two_sided and (value >= MUCH).any()
    of_unit = value % MUCH if by_far else value
    return JudgmentTable(
        pk=pk,
        unit=unit,
        worker=worker,
        value=of_unit,
        full_value=value,
        answer=answer,
        control=units.control[unit_index],
        used=used,
        side=flags % SET_ASIDE,
        seconds=seconds,
        records=records,
        data_hash=_hash_judgments(units.all.key, people_names, unit_index, person, value, answer, used),
    )


def _positions_of_current(study: Study, rows: pa.Table, newest: int | None) -> Ints:
    """Return positions of judgments neither revised nor excluded nor unknown to their crowd."""
    pk, replaces = rows["pk"].to_numpy(), rows["replaces"].to_numpy()
    known = np.full(len(pk), True) if newest is None else pk <= newest
    gone = Judgment.objects.filter(assignment__study=study, assignment__state__in=EXCLUDED_STATES)
    current = known & ~np.isin(pk, replaces[known & (replaces > 0)])
    return np.flatnonzero(current & ~np.isin(pk, list(gone.order_by().values_list("pk", flat=True))))


def _open_answers(study: Study, newest: int | None) -> dict[int, Any]:
    rows = Judgment.objects.current().filter(assignment__study=study, answer__isnull=False)
    if newest is not None:
        rows = rows.filter(pk__lte=newest)
    return dict(rows.order_by().values_list("pk", "answer").iterator(ROWS_AT_ONCE))


def _hash_judgments(
    units: pa.Array,
    names: list[str],
    unit_index: Ints,
    person: Ints,
    value: Floats,
    answer: Sequence[Any],
    used: Flags,
) -> str:
    known, code = np.unique(value, return_inverse=True) if answer else encode(value)
    answers: list[Any] = [None if np.isnan(number) else plain_number(number) for number in known.tolist()]
    open_rows = [row for row, open_answer in enumerate(answer) if open_answer is not None]
    code[open_rows] = len(answers) + np.arange(len(open_rows))
    data_hash = DataHash()
    data_hash.add_coded(
        units,
        names,
        [*answers, *(answer[row] for row in open_rows)],
        (unit_index, person, code, used.astype(np.int64)),
    )
    return data_hash.hexdigest()


def counted_answers(study: Study, moment: Snapshot) -> Iterator[tuple[int, list[Any]]]:
    """Yield (unit row id, answers included at ``moment`` by worker name), in unit order.

    Control items are omitted; a unit without included answers has an empty list, or is missing.
    """
    rows = (
        moment.judgments(study)
        .filter(unit__control=False, set_aside=False)
        .order_by("unit__position", "unit_id", "pk")
        .values_list(
            "unit_id", "assignment__worker__name", "assignment__worker_id", "assignment_id", "value", "answer"
        )
    )
    for unit, group in groupby(
        by_unit_and_name(rows.iterator(ROWS_AT_ONCE), unit=0, worker=1), key=itemgetter(0)
    ):
        yield (
            unit,
            [
                value if answer is None else answer
                for _, _, worker, assignment, value, answer in group
                if moment.includes(assignment, worker)
            ],
        )


def judged_answers(study: Study, table: JudgmentTable) -> list[IncludedJudgment]:
    counted = table.counted
    units = {
        unit.pk: unit
        for unit in Unit.objects.filter(study=study, control=False)
        .select_related("item", "reference", "first", "second")
        .iterator(ROWS_AT_ONCE)
    }
    rows = zip(
        table.unit[counted].tolist(), table.worker[counted].tolist(), table.answers_of(counted), strict=True
    )
    return [IncludedJudgment(unit=units[unit], worker=worker, answer=answer) for unit, worker, answer in rows]


def work_times(study: Study, workers: Collection[int]) -> dict[int, list[float]]:
    """Return seconds per unit of finished assignments, by wall time.

    All judgments count: use it only for ``workers_without_times``. Imports without times give none.
    """
    rows = (
        Assignment.objects.filter(study=study, worker__in=workers)
        .finished()
        .annotate(count=Count("judgments"))
        .values_list("worker_id", "accepted_at", "submitted_at", "count")
    )
    times: dict[int, list[float]] = {}
    for worker, accepted, submitted, count in rows.iterator(ROWS_AT_ONCE) if workers else ():
        if count and submitted is not None and submitted > accepted:
            times.setdefault(worker, []).append((submitted - accepted).total_seconds() / count)
    return times


def workers_without_times(table: JudgmentTable, workers: Iterable[WorkerRow]) -> set[int]:
    timed = np.unique(table.worker[~np.isnan(table.seconds)])
    return {worker.pk for worker in workers}.difference(timed.tolist())


def unit_rows(study: Study) -> Units:
    return study_units(study).judged


def documents_of(study: Study) -> dict[int, int]:
    """Return ``first_of_documents`` of the study's items, by row id."""
    units = Unit.objects.filter(study=study).exclude(control_kind=Unit.ControlKind.QUIZ)
    pairs = CandidatePair.objects.filter(study=study)
    drawn = Q(pk__in=units.values("item")) | Q(pk__in=pairs.values("item"))
    rows = Item.objects.filter(drawn, dataset=study.dataset_id).exclude(fields=[]).order_by("position", "pk")
    of_items = rows.values_list("pk", "fields").iterator(ROWS_AT_ONCE)
    return first_of_documents((pk, document_in(fields)) for pk, fields in of_items)


def clusters_of_items(study: Study, items: Ints | Sequence[int]) -> Ints:
    """Return what (N,) items, by row id, are clustered by: the first item of their document, else themselves."""
    documents, pks = documents_of(study), np.asarray(items, dtype=np.int64)
    if not documents:
        return pks
    return np.array([documents.get(pk, pk) for pk in pks.tolist()], dtype=np.int64)


def clusters_of_units(study: Study, units: Sequence[UnitRow]) -> Ints:
    """Return ``clusters_of_items`` of the units' items."""
    units = Units.of(units)
    by_pair = len(units) > 0 and bool((units.pair >= 0).all())  # pairs are fewer
    pairs = CandidatePair.objects.filter(study=study).values_list("pk", "item_id")
    items = Unit.objects.filter(study=study, control=False).values_list("pk", "item_id")
    rows = (pairs if by_pair else items).order_by().iterator(ROWS_AT_ONCE)
    wanted = units.pair if by_pair else units.pk
    table = np.fromiter((cell for row in rows for cell in row), dtype=np.int64).reshape(-1, 2)
    return clusters_of_items(study, table[places_in(table[:, 0], wanted), 1])


def units_by_filter(study: Study) -> tuple[set[int], set[int]]:
    """Return judged units that passed the filter, and audited ones."""
    rows = Unit.objects.filter(study=study, control=False, filtered=False).values_list("pk", "audited")
    by_audit: tuple[set[int], set[int]] = set(), set()
    for pk, audited in rows.iterator(ROWS_AT_ONCE):
        by_audit[audited].add(pk)
    return by_audit


def weights_of_units(study: Study) -> dict[int, float]:
    """Return how many left-out captions each audited unit stands for; the others stand for themselves."""
    notes = study.notes
    audited = units_by_filter(study)[1] if notes.get("audited") else set()
    return {unit: (notes["candidate_pairs"] - notes["passed_filter"]) / len(audited) for unit in audited}


def full_depth_units(study: Study) -> set[int] | None:
    """Return the unstopped units; None without early stopping."""
    if not stops_early(study):
        return None
    return set(OutcomeBounds.objects.filter(unit__study=study, full_depth=True).values_list("pk", flat=True))


def decisions_of(study: Study) -> dict[int, Decision]:
    """Return unit row id -> adjudicated decision, in unit order."""
    rows = Adjudication.objects.filter(study=study, state=Adjudication.State.DECIDED, value__isnull=False)
    names = ("unit_id", "value", "adjudicator__username", "decided_at", "reason", "votes")
    return {
        unit: Decision(value=value, by=by, at=at.isoformat(), reason=reason, votes=votes)
        for unit, value, by, at, reason, votes in rows.order_by("unit__position").values_list(*names)
    }


def pair_rows(study: Study) -> list[PairRow]:
    rows = CandidatePair.objects.filter(study=study).order_by("position", "pk")
    names = ("pk", "key", "kind", "first__key", "second__key", "published_winner")
    return [PairRow(*row) for row in rows.values_list(*names).iterator(ROWS_AT_ONCE)]


def systems_of_pairs(study: Study) -> dict[str, tuple[str, str]]:
    """Return pair key -> systems of both captions, or 'people'."""
    rows = CandidatePair.objects.filter(study=study).values_list(
        "key", "first_system__name", "second_system__name"
    )
    return {key: (first or "people", second or "people") for key, first, second in rows}


@dataclass(frozen=True, slots=True)
class ReferenceSet:
    """References of images in the judged splits, in import order.

    Attributes:
        of_item: image row id -> its ordered (key, text) references.
        splits: names; [""] without splits.
    """

    of_item: dict[int, list[tuple[str, str]]]
    splits: list[str]

    def documents(self, leading: int | None = None) -> list[Sequence[str]]:
        return [[text for _, text in rows[:leading]] for rows in self.of_item.values()]


def load_references(study: Study) -> ReferenceSet:
    if KINDS[study.protocol].compares_pairs:
        items: Any = CandidatePair.objects.filter(study=study).values_list("item_id")
    else:
        items = Unit.objects.filter(study=study, control=False).values_list("item_id")
    splits = set(Item.objects.filter(pk__in=items).values_list("split", flat=True))
    return references_of_splits(study.dataset_id, sorted(splits))


def references_of_splits(dataset: int, splits: list[str]) -> ReferenceSet:
    rows = (
        Caption.objects.filter(dataset_id=dataset, role=Caption.Role.REFERENCE, item__split__in=splits)
        .order_by("item__position", "position", "pk")
        .values_list("item_id", "key", "text")
    )
    of_item: dict[int, list[tuple[str, str]]] = {}
    for item, key, text in rows.iterator(ROWS_AT_ONCE):
        of_item.setdefault(item, []).append((key, text))
    return ReferenceSet(of_item=of_item, splits=splits)


def pair_texts(study: Study) -> list[tuple[int, str, int, str, str, list[str]]]:
    """Return (row id, kind, image row id, first text, second text, reference keys) of each pair."""
    rows = CandidatePair.objects.filter(study=study).order_by("position", "pk")
    return list(rows.values_list("pk", "kind", "item_id", "first__text", "second__text", "references"))


def caption_units(study: Study) -> list[tuple[int, int, str, str]]:
    """Return (row id, image row id, caption id, caption text) of each judged unit."""
    rows = Unit.objects.filter(study=study, control=False).order_by("position", "pk")
    return list(rows.values_list("pk", "item_id", "first__key", "first__text"))


def systems_of_units(study: Study) -> dict[int | None, list[Any]]:
    """Return ``Unit.systems`` of the judged units of which a file says it."""
    rows = Unit.objects.filter(study=study, control=False).exclude(systems=[])
    return dict(rows.order_by().values_list("pk", "systems"))


def marks_errors(study: Study) -> bool:
    return "spans" in KINDS[study.protocol].own_formats


def signature_of_study(study: Study, *, table: JudgmentTable | None = None) -> Signature:
    """Return the current signature, from ``table`` if loaded."""
    votes = votes_of(study) if table is None else votes_of_table(table)
    return signature_from(study, material_of(study), votes, uncommon_fields(study))


def signature_from(study: Study, material: Material, votes: Votes, others: Mapping[str, Value]) -> Signature:
    published = CandidatePair.objects.filter(study=study, published_winner__isnull=False)
    rows = published.values_list("key", "published_winner").iterator(ROWS_AT_ONCE)
    winners = {key: winner for key, winner in rows if winner is not None}
    return judgment_signature(
        KINDS[study.protocol],
        material,
        replace(votes, data_hash=hash_with_winners(votes.data_hash, winners)),
        controls=control_rule(study),
        seed=design_of(study).seed,
        version=quorum_version(),
        others=others,
    )


def compare_signature(study: Study, stated: Signature) -> list[Difference]:
    return differences(stated, signature_of_study(study))


def material_of(study: Study) -> Material:
    units = Unit.objects.filter(study=study, control=False)
    counts = units.aggregate(units=Count("pk"), images=Count("item", distinct=True))
    pairs = None
    if KINDS[study.protocol].compares_pairs:
        pairs = CandidatePair.objects.filter(study=study).count()
    shown = (
        units.filter(reference__isnull=False)
        .values("pair", "item")
        .annotate(n=Count("reference", distinct=True))
    )
    references = shown.aggregate(least=Min("n"), most=Max("n"))
    return Material(
        units=counts["units"],
        pairs=pairs,
        images=counts["images"],
        references=(references["least"] or 0, references["most"] or 0),
    )


def votes_of(study: Study) -> Votes:
    """Return counts over every judgment."""
    tally = JudgmentTally()
    for _ in included_votes(study, None, tally):
        continue
    return tally.facts()


def hash_of_judgments(study: Study) -> str:
    return votes_of(study).data_hash


def included_votes(
    study: Study, moment: Snapshot | None, tally: JudgmentTally, *, units: Sequence[int] | None = None
) -> Iterator[tuple[int, int, str, Any]]:
    """Yield (unit, worker, worker's name, answer) of judgments in consensus and agreement.

    Ordered by unit and worker name. ``tally`` takes in every judgment; ``units`` are row ids.
    """
    if moment is None:
        unused, gone = excluded_workers(study), frozenset[UUID]()
        unconfirmed = frozenset(unconfirmed_work(study).values_list("pk", flat=True))
        judgments = Judgment.objects.current().filter(
            Q(assignment__study=study) if units is None else Q(unit__in=units)
        )
    else:
        unused, gone, unconfirmed = moment.excluded_workers, frozenset(moment.invalidated), moment.unconfirmed
        judgments = moment.judgments(study, units=units)
    rows = judgments.order_by("unit__position", "unit_id", "pk").values_list(
        "unit_id", "assignment__worker__name", "assignment__worker_id", "unit__key", "value", "answer", "set_aside",
        "unit__withdrawn", "assignment_id", "unit__control", "presented",
    )  # fmt: skip
    for row in by_unit_and_name(rows.iterator(ROWS_AT_ONCE), unit=0, worker=1):
        unit, name, worker, key, value, answer, set_aside, withdrawn, assignment, control, presented = row
        if assignment in gone:
            continue
        if moment is not None:
            withdrawn = unit in moment.withdrawn
        used = not set_aside and not withdrawn and worker not in unused and assignment not in unconfirmed
        vote = value if answer is None else answer
        tally.add(key, name, vote, used=used, control=control, presented=presented)
        if used and not control:
            yield unit, worker, name, vote


def votes_of_table(table: JudgmentTable) -> Votes:
    counted = table.counted
    _, votes = np.unique(table.unit[counted], return_counts=True)
    sided = counted & table.sided
    return Votes(
        units=len(votes),
        least=int(votes.min(initial=votes.max(initial=0))),
        most=int(votes.max(initial=0)),
        sided=int(sided.sum()),
        first_left=int((sided & (table.side == FIRST_LEFT)).sum()),
        data_hash=table.data_hash,
        counted=int(counted.sum()),
    )


def control_rule(study: Study) -> Value:
    if study.source == Study.Source.IMPORTED:
        return AS_IMPORTED
    controls = design_of(study).controls
    return controls.threshold if controls.per_hit else "none"


# Parts of a design that change nothing of what people are asked, or only which units there are.
NOT_ASKED = {
    "name", "slug", "dataset", "preset", "purpose", "seed", "seconds_per_unit", "consent", "contact", "arena",
    "sampling", "filter", "access", "workers", "rules", "stopping", "crowd", "panel", "erasure", "retention", "ethics",
    "registration", "chosen", "by_hand",
}  # fmt: skip


def _as_text(text: str | None) -> str:
    return "null" if text is None else encode_basestring_ascii(text)


@lru_cache(ROWS_AT_ONCE)
def _as_json(text: str | None) -> str:
    return "null" if text is None else json.dumps(json.loads(text), sort_keys=True)


SHOWN: Mapping[str, Callable[[Any], str]] = {
    "key": _as_text, "control": lambda is_control: "true" if is_control else "false", "item__name": _as_text,
    "item__text": _as_text, "reference__text": _as_text, "first__text": _as_text, "second__text": _as_text,
    "expected": _as_json, "content": _as_json,
}  # fmt: skip
NAMED = {"item__name": _as_text, "text": _as_text}


def _digest_of_material(study: Study) -> str:
    """Hash units and references as lines of JSON, column by column: encoding whole rows takes twice as long."""
    units = Unit.objects.filter(study=study)
    references = Caption.objects.filter(item__in=units.order_by().values("item"), role=Caption.Role.REFERENCE)
    digest = hashlib.sha256()
    for rows, columns in (
        (units.order_by("position", "pk"), SHOWN),
        (references.order_by("item__position", "position", "pk"), NAMED),
    ):
        for some in batched(plain_rows(rows.values_list(*columns)), ROWS_AT_ONCE):
            texts = map(map, columns.values(), zip(*some, strict=True))
            lines = "]\n[".join(map(", ".join, zip(*texts, strict=True)))
            digest.update(f"[{lines}]\n".encode())
    return digest.hexdigest()[:DIGITS_OF_HASH]


def uncommon_fields(study: Study, *, moment: Snapshot | None = None) -> dict[str, Value]:
    """Return digests of the design and the material, and uncommon signature fields, now or at ``moment``."""
    asked = {name: value for name, value in study.design.items() if name not in NOT_ASKED}
    fields: dict[str, Value] = {
        "design": hash_with("", asked)[:DIGITS_OF_HASH],
        "material": _digest_of_material(study),
    }
    kind = KINDS[study.protocol]
    if answers := kind.setting(design_of(study)) if kind.two_sided or kind.scale else "":
        # a colon separates a field from its value
        fields["answers" if kind.two_sided else "scale"] = answers.replace(":", "/")
    if draws_at_claim(study):
        fields["drawn"] = f"live,even-{design_of(study).arena.even:g}"
    if chosen := design_of(study).chosen:
        fields["chosen"] = f"{chosen.method},{chosen.budget}-of-{chosen.population}-{chosen.per}"
    if (least := rule_of_controls(study).least) > 1:
        fields["least"] = least
    if stops_early(study):
        fields["stopping"] = describe_stopping(design_of(study))
    if moment is None:
        decided = Adjudication.objects.filter(
            study=study, state=Adjudication.State.DECIDED, value__isnull=False
        ).count()
    else:
        decided = len(moment.decisions)
    if decided:
        fields["adjudicated"] = decided
    if study.simulated:
        fields["people"] = "simulated"
    return fields
