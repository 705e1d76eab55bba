"""Cache judgments and units as Arrow columns in blocks, so that only newer rows are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from django.db import OperationalError, transaction
from django.db.models import Case, F, FloatField, Max, Model, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce

from annotation.models import Judgment
from common.rows import batched, column_parts, last_row, plain_rows
from evaluation.models import ColumnBlock
from evaluation.numeric.arrays import Floats
from judgments.models import Study, Unit

FIRST_LEFT, SECOND_LEFT = 1, 2
SET_ASIDE, OPEN = 3, 6  # beside the side, in one number
NO_VALUE = -1e9
SPAN = 100_000  # row ids, also of other studies, after which a block is added
MOST = 250_000  # rows in a block
UNITS_AT_ONCE = 20_000
FORMAT = 1  # of the columns below: a change of names, types or meanings takes the next number
MODELS: Mapping[str, type[Model]] = {ColumnBlock.What.UNITS: Unit, ColumnBlock.What.JUDGMENTS: Judgment}
JUDGMENTS = pa.schema(
    {
        "pk": pa.int64(),
        "unit": pa.int64(),
        "worker": pa.int64(),
        "value": pa.float64(),
        "seconds": pa.float64(),
        "flags": pa.int8(),
        "replaces": pa.int64(),
    }
)
UNITS = pa.schema(
    {
        "pk": pa.int64(),
        "key": pa.large_string(),
        "kind": pa.string(),
        "pair": pa.int64(),
        "position": pa.int64(),
        "control": pa.bool_(),
    }
)


def judgment_columns(study: Study) -> pa.Table:
    """Return JUDGMENTS of every judgment, even revised and excluded, unordered.

    ``value`` and ``seconds`` are nan if missing, ``replaces`` is 0. ``flags`` are the option on the left (0:
    none), plus SET_ASIDE, plus OPEN.
    """
    return _read_columns(study, ColumnBlock.What.JUDGMENTS)


def unit_columns(study: Study) -> pa.Table:
    """Return UNITS of every unit, even control items, unordered."""
    return _read_columns(study, ColumnBlock.What.UNITS)


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
        table = _read_rows(study, what, last, upto).sort_by("pk")
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
                    columns=_serialize(part),
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
    rows = _read_rows(block.study, block.what, block.first, block.last).sort_by("pk")
    try:
        stored = _deserialize(block.columns)
    except (pa.ArrowException, OSError):
        return False
    return (
        block.rows == len(stored)
        and stored.schema == rows.schema
        and all(_equal_columns(stored[name], rows[name]) for name in rows.column_names)
    )


def _equal_columns(column: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
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


def _serialize(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _deserialize(columns: bytes | memoryview) -> pa.Table:
    return pa.ipc.open_stream(columns).read_all()


def _read_columns(study: Study, what: str) -> pa.Table:
    tables, after = [], 0
    for last, columns in _blocks(study, what).values_list("last", "columns").iterator(1):
        tables.append(_deserialize(columns))
        after = last
    if not _are_complete(study, what, _Stored(after, sum(map(len, tables)))):
        tables, after = [], 0
    return pa.concat_tables([*tables, _read_rows(study, what, after, None)])


def _read_rows(study: Study, what: str, after: int, upto: int | None) -> pa.Table:
    rows = _rows_after(study, what, after)
    if upto is not None:
        rows = rows.filter(pk__lte=upto)
    return _unit_rows(rows) if what == ColumnBlock.What.UNITS else _judgment_rows(rows)


def _rows_after(study: Study, what: str, after: int) -> QuerySet[Any]:
    """Return the study's rows behind row id ``after``."""
    of_units = what == ColumnBlock.What.UNITS
    rows: QuerySet[Any] = Unit.objects.order_by() if of_units else Judgment.objects.order_by()
    owner = "study" if of_units else "assignment__study"
    if not after:
        return rows.filter(**{owner: study})
    # A sum, so that the database goes by row id, not through all work of the study.
    return rows.annotate(owner=F(f"{owner}_id") + 0).filter(pk__gt=after, owner=study.pk)


def _unit_rows(rows: QuerySet[Any]) -> pa.Table:
    columns = rows.values_list("pk", "key", "kind", "pair_id", "position", "control")
    batches = []
    for some in batched(plain_rows(columns), UNITS_AT_ONCE):
        *others, control = zip(*some, strict=True)
        batches.append(pa.record_batch([*others, list(map(bool, control))], schema=UNITS))
    return pa.Table.from_batches(batches, UNITS)


def _judgment_rows(rows: QuerySet[Any]) -> pa.Table:
    flags = (
        Case(When(presented="", then=0), When(presented="first-left", then=FIRST_LEFT), default=SECOND_LEFT)
        + Case(When(set_aside=True, then=SET_ASIDE), default=0)
        + Case(When(answer__isnull=False, then=OPEN), default=0)
    )
    columns = rows.values_list(
        F("pk"),
        F("unit_id"),
        F("assignment__worker_id"),
        Coalesce(F("value"), Value(NO_VALUE), output_field=FloatField()),
        Coalesce(F("seconds"), Value(-1.0)),
        flags,
        Coalesce(F("replaces_id"), Value(0)),
    )
    batches = [_judgment_batch(numbers) for numbers in column_parts(columns, len(JUDGMENTS))]
    return pa.Table.from_batches(batches, JUDGMENTS)


def _judgment_batch(numbers: Floats) -> pa.RecordBatch:
    value, seconds = numbers[3], numbers[4]
    value[value == NO_VALUE] = float("nan")
    seconds[seconds < 0] = float("nan")
    columns = [
        pa.array(column.astype(kind.to_pandas_dtype()))
        for column, kind in zip(numbers, JUDGMENTS.types, strict=True)
    ]
    return pa.record_batch(columns, schema=JUDGMENTS)
