"""Insert many rows fast, without a model instance for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import chain, islice
from typing import Any, NamedTuple

from django.db import connection, models

from common.rows.batches import ROWS_PER_BATCH, batched
from common.rows.ids import MAX_BIGINT
from common.rows.prepared import server_side_plans
from quorum.numeric.arrays import Ints

MAX_PREPARED_ROWS = 30  # most rows for PostgreSQL's prepared statement, and for a statement each with SQLite
ROWS_PER_STATEMENT = 100  # rows that SQLite inserts by one statement
MAX_CACHED_VALUES = 20_000
# fields whose Python values are already those that the database takes
UNCONVERTED_FIELDS = (
    models.IntegerField,
    models.CharField,
    models.TextField,
    models.BooleanField,
    models.FloatField,
)


def insert_rows(
    model: type[models.Model],
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    ready: Collection[str] = (),
) -> int:
    """Insert rows. Return their number.

    Args:
        names: the fields of the values of each row; ``unit_id`` for the row id of a foreign key ``unit``. The other
            fields of the model get NULL or their default.
        rows: the values of each row, in the order of ``names``.
        ready: fields whose values already have the database's form, such as JSON as text.
    """
    row_count = 0
    write = _writer(model, names, ready)
    for batch in batched(rows, ROWS_PER_BATCH):
        write(zip(*batch, strict=True))
        row_count += len(batch)
    return row_count


def insert_columns(model: type[models.Model], columns: Mapping[str, Iterable[Any]]) -> None:
    """Insert rows that are given as columns of equal length, by field name. Raise ValueError if lengths differ."""
    write = _writer(model, list(columns), ())
    streams = [iter(column) for column in columns.values()]
    while True:
        batch = [list(islice(stream, ROWS_PER_BATCH)) for stream in streams]
        if not any(batch):
            return
        lengths = {len(column) for column in batch}
        if len(lengths) > 1:
            raise ValueError(f"columns of {model.__name__} have different lengths")
        write(batch)


def insert_repeated(
    model: type[models.Model],
    key: str,
    keys: Ints,
    names: Sequence[str],
    repeated: Sequence[Sequence[Any]],
    list_numbers: Ints,
    *,
    ready: Collection[str] = (),
) -> None:
    """Insert rows that consist of an integer, such as a foreign key, and of one of a few lists of other values.

    For example, the keys 5, 6 and 7 with the lists ``[["a", 1], ["b", 2]]`` and the list numbers 0, 0 and 1 give the
    rows (5, "a", 1), (6, "a", 1) and (7, "b", 2). With SQLite, the integers are sent as one text, and the database adds
    the other values, because binding each value takes as long as storing it. Call it within a transaction.

    Args:
        key: the field of the integers ``keys``, (N,) int64.
        names: the fields of the other values.
        repeated: lists of values of the fields ``names``.
        list_numbers: (N,) index of each row's values in ``repeated``.
        ready: fields whose values already have the database's form.
    """
    if connection.vendor != "sqlite" or len(keys) < ROWS_PER_STATEMENT:
        pairs = zip(keys.tolist(), list_numbers.tolist(), strict=True)
        rows = ((value, *repeated[index]) for value, index in pairs)
        insert_rows(model, (key, *names), rows, ready=ready)
        return
    target = _target(model, (key, *names), frozenset(ready), connection.vendor)
    defaults = [make() for make in target.make_defaults]
    columns = [f"c{index}" for index in range(len(names) + len(defaults))]
    converters = target.converters[1:]  # integers, the first column, need no conversion
    with connection.cursor() as cursor:
        converted_lists = (
            [convert(value) for convert, value in zip(converters, values, strict=True)] for values in repeated
        )
        cursor.execute(f"CREATE TEMP TABLE repeated (number INTEGER PRIMARY KEY, {', '.join(columns)})")
        cursor.executemany(
            f"INSERT INTO repeated VALUES (%s{', %s' * len(columns)})",  # noqa: S608 - our own names
            [(index, *values, *defaults) for index, values in enumerate(converted_lists)],
        )
        # One integer stands for a row: its key times the number of lists, plus the number of its list. The statement
        # gets both back by division and remainder. CROSS JOIN makes SQLite loop over the integers first.
        cursor.execute(
            f"INSERT INTO {target.sql} SELECT packed.value / %s, {', '.join(columns)} "  # noqa: S608 - our own names
            "FROM json_each(%s) AS packed CROSS JOIN repeated ON repeated.number = packed.value %% %s",
            [len(repeated), str((keys * len(repeated) + list_numbers).tolist()), len(repeated)],
        )
        cursor.execute("DROP TABLE repeated")


def _writer(
    model: type[models.Model], names: Sequence[str], ready: Collection[str]
) -> Callable[[Iterable[Iterable[Any]]], None]:
    """Return a function that gets the columns of the fields ``names``, and inserts their rows."""
    target = _target(model, tuple(names), frozenset(ready), connection.vendor)
    defaults = [make() for make in target.make_defaults]
    insert = _insert_into_postgresql if connection.vendor == "postgresql" else _insert_into_sqlite

    def write(columns: Iterable[Iterable[Any]]) -> None:
        converted_columns = [
            list(column) if convert is _identity else list(map(convert, column))
            for convert, column in zip(target.converters, columns, strict=True)
        ]
        row_count = len(converted_columns[0])
        insert(target.sql, [*converted_columns, *([value] * row_count for value in defaults)], row_count)

    return write


class _Target(NamedTuple):
    """A table into which rows are inserted.

    Attributes:
        sql: the quoted table with its columns.
        converters: a function for each named field, which converts a value to the database's form.
        make_defaults: a function for each other field without NULL, which returns its converted default value.
    """

    sql: str
    converters: list[Callable[[Any], Any]]
    make_defaults: list[Callable[[], Any]]


@cache  # few entries, since calls in the code always give the same names
def _target(model: type[models.Model], names: tuple[str, ...], ready: frozenset[str], vendor: str) -> _Target:
    """Return the target of ``insert_rows``. Its converters depend on the database's ``vendor``."""
    quote = connection.ops.quote_name
    named_fields: list[Any] = [model._meta.get_field(name) for name in names]
    other_fields = [
        field
        for field in model._meta.concrete_fields
        if field not in named_fields and not field.null and not isinstance(field, models.AutoField)
    ]
    columns = ", ".join(quote(field.column) for field in (*named_fields, *other_fields))
    converters = [
        _identity if name in ready else _converter_of(field)
        for name, field in zip(names, named_fields, strict=True)
    ]
    sql = f"{quote(model._meta.db_table)} ({columns})"
    return _Target(sql, converters, [partial(_converted_default, field) for field in other_fields])


def _converted_default(field: Any) -> Any:
    return _converter_of(field)(field.get_default())


def _insert_into_sqlite(into: str, columns: Sequence[list[Any]], row_count: int) -> None:
    """Insert rows into SQLite. Insert many rows by statements of a hundred rows, with common values as literals.

    For many rows, binding single values and running a statement for each row would take longer than storing them.
    """
    if row_count <= MAX_PREPARED_ROWS:
        _execute_many(into, ["%s"] * len(columns), 1, zip(*columns, strict=True))
        return
    # bind the first column in any case, since a statement needs a parameter
    marks = ["%s", *(_literal_of(column) or "%s" for column in columns[1:])]
    bound_columns = [column for column, mark in zip(columns, marks, strict=True) if mark == "%s"]
    rest_count = row_count % ROWS_PER_STATEMENT  # rows that do not fill a statement
    rest_start = row_count - rest_count
    full_statements = _join_rows(bound_columns, 0, rest_start, ROWS_PER_STATEMENT)
    _execute_many(into, marks, ROWS_PER_STATEMENT, full_statements)
    if rest_count:
        _execute_many(into, marks, rest_count, _join_rows(bound_columns, rest_start, row_count, rest_count))


def _execute_many(into: str, marks: Sequence[str], row_count: int, values: Iterable[Sequence[Any]]) -> None:
    """Insert rows by statements of ``row_count`` rows each.

    Args:
        into: the quoted table with its columns.
        marks: for each column, a placeholder or a literal.
        values: for each statement, the values of the placeholders of all its rows.
    """
    row = f"({', '.join(marks)})"
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {into} VALUES {', '.join([row] * row_count)}", values)  # type: ignore[arg-type]  # noqa: S608 - our own names


def _join_rows(columns: Sequence[list[Any]], start: int, end: int, row_count: int) -> Iterator[list[Any]]:
    """Yield lists with the values of ``row_count`` rows each, row after row, from row ``start`` to before ``end``."""
    for first_row in range(start, end, row_count):
        rows = zip(*(column[first_row : first_row + row_count] for column in columns), strict=True)
        yield list(chain.from_iterable(rows))


def _literal_of(column: list[Any]) -> str:
    """Return the SQL literal of a column with the same value in all rows; "" if values differ or must be bound."""
    value = column[0]
    # compare the last value first, since counting takes longer
    if column[-1] != value or column.count(value) < len(column):
        return ""
    if value is None:
        return "NULL"
    # SQLite would turn a larger literal into a float
    if isinstance(value, int) and -MAX_BIGINT <= value <= MAX_BIGINT:
        return str(int(value))
    return f"'{value}'" if value in ("", "{}") else ""  # other texts might need escapes


def _insert_into_postgresql(into: str, columns: Sequence[list[Any]], row_count: int) -> None:
    """Insert rows into PostgreSQL: few rows by a prepared statement, more by COPY, which needs two more messages."""
    rows = zip(*columns, strict=True)
    if row_count > MAX_PREPARED_ROWS:
        _copy_rows(into, rows)
    elif row_count:
        marks = ", ".join([f"({', '.join(['%s'] * len(columns))})"] * row_count)
        sql = f"INSERT INTO {into} VALUES {marks}"  # noqa: S608 - our own names
        with server_side_plans(), connection.cursor() as cursor:
            cursor.execute(sql, [*chain.from_iterable(rows)])


def _copy_rows(into: str, rows: Iterable[Sequence[Any]]) -> None:
    connection.validate_no_broken_transaction()
    # Django converts the errors of `execute`, but not those of `copy`.
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(f"COPY {into} FROM STDIN") as stream,
    ):
        for row in rows:
            stream.write_row(row)


def _converter_of(field: Any) -> Callable[[Any], Any]:
    """Return a function that converts a field's value to the database's form."""
    target = field.target_field if field.is_relation else field
    if isinstance(target, UNCONVERTED_FIELDS):
        return _identity
    if isinstance(target, models.JSONField):
        return _json_encoder((target.encoder or json.JSONEncoder)().encode)
    # foreign keys of an import repeat a few thousand UUIDs
    if isinstance(target, models.UUIDField) and not field.primary_key:
        return lru_cache(MAX_CACHED_VALUES)(lambda value: field.get_db_prep_save(value, connection))
    return lambda value: field.get_db_prep_save(value, connection)


def _json_encoder(encode: Callable[[Any], str]) -> Callable[[Any], str | None]:
    def encode_value(value: Any) -> str | None:
        if value is None:
            return None
        return "{}" if value == {} else encode(value)  # most rows have {}

    return encode_value


def _identity(value: Any) -> Any:
    return value
