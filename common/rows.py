"""Append-only models, and fast bulk reads and writes of many rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from django.db import connection, connections, models, router, transaction
from django.db.models import QuerySet

from common.downloads import batched

ROWS_AT_ONCE = 5_000
READ_AT_ONCE = 20_000
LOCK_TIMEOUT = "500ms"  # a submission waits no longer for this lock


class LogIsAppendOnly(Exception):
    """A row of a log or ledger must not be changed or deleted."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    def update(self, **kwargs: Any) -> NoReturn:
        raise LogIsAppendOnly(f"{self.model.__name__} rows are never edited")

    def delete(self) -> NoReturn:
        raise LogIsAppendOnly(f"{self.model.__name__} rows are never deleted")


class AppendOnlyRow(models.Model):
    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None and not self._state.adding:
            raise LogIsAppendOnly(f"{type(self).__name__} rows are never edited")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise LogIsAppendOnly(f"{type(self).__name__} rows are never deleted")


def insert_rows(
    model: type[models.Model],
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    ready: Collection[str] = (),
) -> int:
    """Insert ``rows`` with values for the fields ``names`` (``unit_id`` for a raw foreign key). Return their
    number.

    Values of the fields ``ready`` are as the database takes them, such as JSON as text.
    """
    connection = connections[router.db_for_write(model)]
    quote = connection.ops.quote_name
    named = [model._meta.get_field(name) for name in names]
    unnamed = [
        field
        for field in model._meta.concrete_fields
        if field not in named and not field.null and not isinstance(field, models.AutoField)
    ]
    defaults = [field.get_db_prep_save(field.get_default(), connection) for field in unnamed]
    fields = [*named, *unnamed]
    columns = ", ".join(quote(field.column) for field in fields)  # type: ignore[union-attr, arg-type]
    marks = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({marks})"  # noqa: S608 - our own names
    prepare = [
        _as_it_is if name in ready else _preparation(field, connection)
        for name, field in zip(names, named, strict=True)
    ]
    as_they_are = not defaults and all(one is _as_it_is for one in prepare)  # half the cost of a narrow row
    count = 0
    with connection.cursor() as cursor:
        for batch in batched(rows, ROWS_AT_ONCE):
            cursor.executemany(
                statement,
                batch
                if as_they_are
                else [
                    [*(make(value) for make, value in zip(prepare, row, strict=True)), *defaults]
                    for row in batch
                ],
            )
            count += len(batch)
    return count


def refresh_statistics(*tables: type[models.Model]) -> None:
    """Update PostgreSQL's table statistics, within the caller's transaction.

    Autovacuum does it about once a minute; until then, plans for a new study of 10,000 HITs make a claim 50 %
    slower.
    """
    connection = connections[router.db_for_write(tables[0])]
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"ANALYZE {connection.ops.quote_name(table._meta.db_table)}")


def last_row(model: type[models.Model]) -> int:
    """Return a table's highest row id, once no lower one can appear.

    PostgreSQL assigns ids before commit. A lock that waits for writers and is released at once rules out a
    lower id; SQLite has one writer.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
                cursor.execute(f'LOCK TABLE "{model._meta.db_table}" IN SHARE MODE')
        last = model._default_manager.aggregate(last=models.Max("pk"))["last"] or 0
        if connection.vendor == "postgresql":
            transaction.set_rollback(True)  # the savepoint ends the lock and its timeout here
    return last


def _preparation(field: Any, connection: Any) -> Callable[[Any], Any]:
    """Return the conversion of a Python value to this column."""
    target = field.target_field if field.is_relation else field
    if isinstance(target, (models.IntegerField, models.CharField, models.BooleanField, models.FloatField)):
        return _as_it_is
    if isinstance(target, models.UUIDField):  # a few thousand values repeat
        return cache(lambda value: field.get_db_prep_save(value, connection))
    return lambda value: field.get_db_prep_save(value, connection)


def _as_it_is(value: Any) -> Any:
    return value


def plain_rows(rows: QuerySet[Any, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield rows of a values query without the model's converters, which cost more than reading.

    For integers, text and booleans (0 and 1 on SQLite).
    """
    compiler = rows.query.get_compiler(using=rows.db)
    found: Any = compiler.execute_sql(chunked_fetch=True, chunk_size=READ_AT_ONCE)
    return chain.from_iterable(found or ())


def columns_of(rows: QuerySet[Any, Any], count: int) -> npt.NDArray[np.float64]:
    """Return the columns of a values query that the database gives as numbers without NULL.

    The model's converters are skipped, as they cost more than reading: UUIDs, JSON, dates and booleans are not
    allowed.

    Returns:
        (count, N) float64; integers are exact below 2^53.
    """
    parts = list(column_parts(rows, count))
    return np.concatenate(parts, axis=1) if parts else np.empty((count, 0))


def column_parts(rows: QuerySet[Any, Any], count: int) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the columns of ``columns_of`` some thousand rows at a time, for what would not fit into memory."""
    compiler = rows.query.get_compiler(using=rows.db)
    found: Any = compiler.execute_sql(chunked_fetch=True, chunk_size=READ_AT_ONCE)
    for chunk in found or ():
        numbers = np.fromiter(chain.from_iterable(chunk), dtype=np.float64, count=count * len(chunk))
        yield numbers.reshape(-1, count).T
