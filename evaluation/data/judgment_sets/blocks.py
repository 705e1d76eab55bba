"""Columns of judgments and units, stored in Arrow blocks, so that only newer rows are read one by one.

A block has the columns of a study's rows from one row id to another. Background jobs add blocks, and readers join them
with the rows after the last block. A block of another kind has digests of the stored consensus, by which the next
analysis finds the batches of units whose consensus has changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db import OperationalError, transaction
from django.db.models import Case, F, FloatField, Max, Model, QuerySet, Sum, When
from django.db.models import Value as SQLValue
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Judgment
from common.rows.batches import batched
from common.rows.loads import last_row_id, many_objects
from common.rows.reading import column_parts, plain_rows
from evaluation.models import ColumnBlock
from judgments.models import Study, Unit

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

FIRST_LEFT, SECOND_LEFT = 1, 2  # the side: which option was on the left, or 0 without sides
# The column "flags" is the side, plus SET_ASIDE for a judgment that is not used, plus OPEN for an open answer. So the
# side is flags % 3, and a judgment is set aside if flags // 3 is odd.
SET_ASIDE, OPEN = 3, 6
FLAGS_BASE = 16  # more than any sum of flags
NO_VALUE = -1e9  # stands for a missing value in columns of numbers; below every scale (judgments.design)
IDS_PER_BLOCK = 100_000  # a block is added after this many row ids, including those of other studies
UNITS_PER_BATCH = 20_000  # units that are read at once
MAX_ROWS = 250_000  # largest number of rows in a block
FORMAT = 3  # format of COLUMNS and digests; increase it when names, types or meanings change
MODELS: Mapping[str, type[Model]] = {ColumnBlock.Kind.UNITS: Unit, ColumnBlock.Kind.JUDGMENTS: Judgment}
COLUMNS: Mapping[str, Mapping[str, str]] = {
    ColumnBlock.Kind.UNITS: {
        "pk": "int64",
        "key": "large_string",
        "kind": "string",
        "pair": "int64",
        "position": "int64",
        "item": "int64",
        "reference": "int64",
        "first": "int64",
        "second": "int64",
        "control": "bool",
        "expected": "string",
        "has_content": "bool",
    },
    ColumnBlock.Kind.JUDGMENTS: {
        "pk": "int64",
        "unit": "int64",
        "worker": "int64",
        "value": "float64",
        "seconds": "float64",
        "flags": "int8",
        "replaces": "int64",
    },
}


def judgment_columns(study: Study) -> dict[str, NDArray[Any]]:
    """Return the (N,) columns of all judgments, including revised and excluded ones, in no order.

    A missing ``value`` or ``seconds`` is nan, a missing ``replaces`` is 0. ``flags`` is the option on the left (1, 2,
    or 0 for none), plus SET_ASIDE if the judgment is not used, plus OPEN if the answer is open.
    """
    block_kind = ColumnBlock.Kind.JUDGMENTS
    blocks, after = _usable_blocks(study, block_kind)
    newer_rows = _read_rows(study, block_kind, after, None)
    row_count = sum(block.rows for block in blocks) + len(newer_rows)
    columns = {name: np.empty(row_count, dtype=data_type) for name, data_type in COLUMNS[block_kind].items()}
    start = 0
    # Copy the values of one block after the other, because a table of all blocks would take as much memory again.
    for table in chain((deserialize_table(block.columns) for block in blocks), [newer_rows]):
        for name, column in columns.items():
            column[start : start + len(table)] = table[name].to_numpy()
        start += len(table)
    return columns


def unit_columns(study: Study, names: Collection[str], *, from_blocks: bool = True) -> pa.Table:
    """Return the named columns of all units, in no order.

    ``pair``, ``reference``, ``first``, ``second`` and ``expected`` are null if missing. ``expected`` is JSON text.
    Without ``from_blocks``, all rows are read.
    """
    if not from_blocks:
        return _read_rows(study, ColumnBlock.Kind.UNITS, 0, None).select(names)
    return _read_columns(study, ColumnBlock.Kind.UNITS, names)


def last_judgment_bound(study: Study) -> int:
    """Return an upper bound of the row ids of the study's judgments, or 0 without judgments.

    The bound for the rows in blocks is stored with them, so only newer rows are read.
    """
    last_stored = _read_totals(study, ColumnBlock.Kind.JUDGMENTS).last_row
    newest_id = _rows_after(study, ColumnBlock.Kind.JUDGMENTS, last_stored).aggregate(last=Max("pk"))["last"]
    return newest_id or last_stored


def extend_blocks(study: Study) -> None:
    """Store new rows as a block if there are enough of them, and rebuild incomplete blocks."""
    for block_kind, model in MODELS.items():
        newest_id = model._default_manager.aggregate(last=Max("pk"))["last"] or 0
        if newest_id < IDS_PER_BLOCK:
            continue
        # Check without the lock, because submissions would have to wait for it.
        totals = _read_totals(study, block_kind)
        if newest_id - totals.last_row < IDS_PER_BLOCK:
            continue
        # 0: store all rows again
        last_id = totals.last_row if _are_complete(study, block_kind, totals) else 0
        upto = _last_row(model)
        if upto is None:  # the next call will store the rows
            continue
        table = _read_rows(study, block_kind, last_id, upto)
        if not (np.diff(table["pk"].to_numpy()) > 0).all():
            table = table.sort_by("pk")
        blocks = _make_blocks(study, block_kind, table, last_id, upto)
        with transaction.atomic():
            Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            stored_rows = totals.rows if last_id else 0
            is_unchanged = _read_totals(study, block_kind) == totals
            is_complete = _are_complete(study, block_kind, _BlockTotals(upto, stored_rows + len(table)))
            # Since the rows were read, another job may have stored blocks, or a person may have been erased.
            if is_unchanged and is_complete and _workers_are_present(study, table):
                if not last_id:
                    ColumnBlock.objects.filter(study=study, what=block_kind).delete()
                ColumnBlock.objects.bulk_create(blocks, batch_size=1)


def _make_blocks(study: Study, block_kind: str, table: pa.Table, after: int, upto: int) -> list[ColumnBlock]:
    """Return unsaved blocks of at most MAX_ROWS rows, which together cover the row ids above ``after`` up to ``upto``.

    ``table`` has all rows of the study in this range, sorted by row id. Without rows, return one empty block.
    """
    blocks, first = [], after
    for start in range(0, max(len(table), 1), MAX_ROWS):
        part = table.slice(start, MAX_ROWS)
        last = upto if start + MAX_ROWS >= len(table) else part["pk"][-1].as_py()
        blocks.append(
            ColumnBlock(
                study=study,
                what=block_kind,
                format=FORMAT,
                first=first,
                last=last,
                rows=len(part),
                columns=serialize_table(part),
            )
        )
        first = last
    return blocks


def extend_recent_blocks() -> None:
    """Extend the blocks of the studies with the newest IDS_PER_BLOCK judgments.

    Celery beat calls this function, so that a study's first analysis reads few rows one by one. Without it, the
    analysis takes twice as long.
    """
    newest_id = Judgment.objects.aggregate(last=Max("pk"))["last"] or 0
    recent_judgments = Judgment.objects.filter(pk__gt=newest_id - IDS_PER_BLOCK).order_by()
    with many_objects():  # without passes of the garbage collector
        for study in Study.objects.filter(pk__in=recent_judgments.values("assignment__study")):
            extend_blocks(study)


def _workers_are_present(study: Study, table: pa.Table) -> bool:
    """Return whether all workers in the table still have work in the study. Erased workers have none."""
    if "worker" not in table.column_names:
        return True
    workers = Assignment.objects.filter(study=study).order_by().values_list("worker_id", flat=True).distinct()
    return set(table["worker"].unique().to_pylist()) <= set(workers)


def delete_blocks(study: Study) -> None:
    ColumnBlock.objects.filter(study=study).delete()


def read_digests(study: Study, row_count: int) -> dict[int, bytes]:
    """Return the digests of the stored consensus, by the first unit of each batch.

    Return {} if the digests were stored for another number of rows than ``row_count``.
    """
    block = _blocks(study, ColumnBlock.Kind.CONSENSUS).filter(rows=row_count).first()
    if block is None:
        return {}
    table = deserialize_table(block.columns)
    return dict(zip(table["first"].to_pylist(), table["digest"].to_pylist(), strict=True))


def store_digests(study: Study, digests: Mapping[int, bytes], row_count: int) -> None:
    """Store the digests of a consensus, by the first unit of each batch, and its number of rows."""
    import pyarrow as pa

    table = pa.table(
        {"first": pa.array(digests, pa.int64()), "digest": pa.array(digests.values(), pa.binary())}
    )
    ColumnBlock.objects.update_or_create(
        study=study,
        what=ColumnBlock.Kind.CONSENSUS,
        defaults={
            "first": 0,
            "last": 0,
            "rows": row_count,
            "format": FORMAT,
            "columns": serialize_table(table),
        },
    )


def delete_digests(study: Study) -> None:
    _blocks(study, ColumnBlock.Kind.CONSENSUS).delete()


def wrong_blocks() -> Iterator[ColumnBlock]:
    """Yield the blocks of all studies that contradict the rows, or that do not follow the block before."""
    last_rows: dict[tuple[int, str], int] = {}
    blocks = ColumnBlock.objects.filter(format=FORMAT, what__in=MODELS)
    for block in blocks.select_related("study").iterator(1):
        follows = block.first == last_rows.get((block.study_id, block.what), 0)
        last_rows[block.study_id, block.what] = block.last
        if not (follows and _agrees_with_rows(block)):
            yield block


def _agrees_with_rows(block: ColumnBlock) -> bool:
    import pyarrow as pa

    rows = _read_rows(block.study, block.what, block.first, block.last).sort_by("pk")
    try:
        stored_rows = deserialize_table(block.columns)
    except (pa.ArrowException, OSError):
        return False
    return (
        block.rows == len(stored_rows)
        and stored_rows.schema == rows.schema
        and all(_equal_columns(stored_rows[name], rows[name]) for name in rows.column_names)
    )


def _equal_columns(column: pa.ChunkedArray, other_column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    if pa.types.is_floating(column.type):  # in Arrow, nan is not equal to nan
        return np.array_equal(column.to_numpy(), other_column.to_numpy(), equal_nan=True)
    return bool(column.equals(other_column))


def _last_row(model: type[Model]) -> int | None:
    """Return the highest row id below which no row can be added, or None while a long transaction is writing."""
    try:
        return last_row_id(model)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != "55P03":  # lock_not_available
            raise
    return None


@dataclass(frozen=True, slots=True)
class _BlockTotals:
    """The last row id that a study's blocks cover, and the number of rows in them."""

    last_row: int
    rows: int


def _read_totals(study: Study, block_kind: str) -> _BlockTotals:
    totals = _blocks(study, block_kind).aggregate(last=Max("last"), rows=Sum("rows"))
    return _BlockTotals(totals["last"] or 0, totals["rows"] or 0)


def _blocks(study: Study, block_kind: str) -> QuerySet[ColumnBlock]:
    return ColumnBlock.objects.filter(study=study, what=block_kind, format=FORMAT).order_by("first")


def _are_complete(study: Study, block_kind: str, totals: _BlockTotals) -> bool:
    """Return whether the blocks have all rows of the study up to their last row id.

    They have fewer if a later row got a lower id: on SQLite, a migration that recreates a table frees the ids of
    deleted rows after the last row.
    """
    if not totals.last_row:
        return True
    rows = (
        Unit.objects.filter(study=study)
        if block_kind == ColumnBlock.Kind.UNITS
        else Judgment.objects.of_study(study)
    )
    return rows.filter(pk__lte=totals.last_row).count() == totals.rows


def serialize_table(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def deserialize_table(columns: bytes | memoryview, fields: list[int] | None = None) -> pa.Table:
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=fields)
    return pa.ipc.open_stream(columns, options=options).read_all()


def _read_columns(study: Study, block_kind: str, names: Collection[str]) -> pa.Table:
    """Return the columns with these names from the usable blocks, and from newer rows."""
    import pyarrow as pa

    fields = [index for index, name in enumerate(COLUMNS[block_kind]) if name in names]
    blocks, after = _usable_blocks(study, block_kind)
    tables = [deserialize_table(block.columns, fields) for block in blocks]
    tables.append(_read_rows(study, block_kind, after, None))
    return pa.concat_tables([table.select(names) for table in tables])


def _usable_blocks(study: Study, block_kind: str) -> tuple[list[ColumnBlock], int]:
    """Return the study's blocks that have rows, and the last row id that the blocks cover.

    Return no blocks and 0 if the blocks have a gap, or if a later row got an id within their range. Unlike
    `_are_complete`, this function does not count the rows.
    """
    blocks = list(_blocks(study, block_kind))
    last_covered = blocks[-1].last if blocks else 0
    # The first block starts at 0, and each other one where the block before it ends.
    are_consecutive = [block.first for block in blocks] == [0, *(block.last for block in blocks)][:-1]
    filled_blocks = [block for block in blocks if block.rows]
    last_stored = deserialize_table(filled_blocks[-1].columns, [0])["pk"][-1].as_py() if filled_blocks else 0
    # A row of the study after the last stored one, but within the range of the blocks, got its low id later (see
    # `_are_complete`). `_rows_after` looks the rows up by row id, or, with 0, by study. If the blocks cover many ids
    # after the last stored row, most of them belong to other studies, so looking up by study is faster.
    rows = _rows_after(study, block_kind, last_stored if last_covered - last_stored < IDS_PER_BLOCK else 0)
    if not are_consecutive or (blocks and rows.filter(pk__gt=last_stored, pk__lte=last_covered).exists()):
        return [], 0
    return filled_blocks, last_covered


def _read_rows(study: Study, block_kind: str, after: int, upto: int | None) -> pa.Table:
    """Return COLUMNS of the rows with ids above ``after`` and up to ``upto``, read one by one."""
    import pyarrow as pa

    rows = _rows_after(study, block_kind, after)
    if upto is not None:
        rows = rows.filter(pk__lte=upto)
    parts = _unit_parts(rows) if block_kind == ColumnBlock.Kind.UNITS else _judgment_parts(rows)
    schema = pa.schema(list(COLUMNS[block_kind].items()))
    return pa.Table.from_batches([pa.record_batch(columns, schema=schema) for columns in parts], schema)


def _rows_after(study: Study, block_kind: str, after: int) -> QuerySet[Any]:
    """Return the study's rows with ids above ``after``, or all of its rows if ``after`` is 0."""
    of_units = block_kind == ColumnBlock.Kind.UNITS
    rows: QuerySet[Any] = Unit.objects.order_by() if of_units else Judgment.objects.order_by()
    study_field = "study" if of_units else "assignment__study"
    if not after:
        return rows.filter(**{study_field: study})
    # Adding 0 keeps the database from using the index of the study or assignment, so that it uses the row ids.
    return rows.annotate(owner=F(f"{study_field}_id") + 0).filter(pk__gt=after, owner=study.pk)


def _unit_parts(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    columns = rows.values_list(
        "pk",
        "key",
        "kind",
        "pair_id",
        "position",
        "item_id",
        "reference_id",
        "first_id",
        "second_id",
        "control",
        "expected",
        "content",
    )
    for batch in batched(plain_rows(columns), UNITS_PER_BATCH):
        *columns_as_stored, control, expected, content = zip(*batch, strict=True)
        has_content = [text != "{}" for text in content]  # `plain_rows` leaves JSON as text
        yield [*columns_as_stored, list(map(bool, control)), expected, has_content]


def _judgment_parts(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    """Yield the columns of judgments in parts. The database adds up the flags."""
    flags = (
        Case(When(presented="", then=0), When(presented="first-left", then=FIRST_LEFT), default=SECOND_LEFT)
        + Case(When(set_aside=True, then=SET_ASIDE), default=0)
        + Case(When(answer__isnull=False, then=OPEN), default=0)
    )
    value = Coalesce(F("value"), SQLValue(NO_VALUE), output_field=FloatField())
    seconds = Coalesce(F("seconds"), SQLValue(-1.0))
    replaces = Coalesce(F("replaces_id"), SQLValue(0))
    # Reading a number takes time, so read the worker and the flags as one number.
    worker_and_flags = F("assignment__worker_id") * FLAGS_BASE + flags
    columns = rows.values_list(F("pk"), F("unit_id"), worker_and_flags, value, seconds, replaces)
    types = COLUMNS[ColumnBlock.Kind.JUDGMENTS].values()
    column_count = len(types) - 1  # worker and flags are one
    for pk, unit, packed_numbers, value_part, seconds_part, replaced in column_parts(columns, column_count):
        value_part[value_part == NO_VALUE] = float("nan")
        seconds_part[seconds_part < 0] = float("nan")
        worker, flag_part = np.divmod(packed_numbers, FLAGS_BASE)
        ordered_columns = pk, unit, worker, value_part, seconds_part, flag_part, replaced  # of COLUMNS
        yield [column.astype(data_type) for column, data_type in zip(ordered_columns, types, strict=True)]
