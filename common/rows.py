"""Append-only models, and fast bulk reads and writes of many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from django.db import connections, models, router
from django.db.models import QuerySet

from common.downloads import batched

ROWS_AT_ONCE = 5_000
READ_AT_ONCE = 20_000


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


def insert_rows(model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Insert ``rows`` with values for the fields ``names`` (``unit_id`` for a raw foreign key). Return their
    number.
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
    prepare = [_preparation(field, connection) for field in named]
    count = 0
    with connection.cursor() as cursor:
        for batch in batched(rows, ROWS_AT_ONCE):
            cursor.executemany(
                statement,
                [
                    [*(ready(value) for ready, value in zip(prepare, row, strict=True)), *defaults]
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
    compiler = rows.query.get_compiler(using=rows.db)
    found: Any = compiler.execute_sql(chunked_fetch=True, chunk_size=READ_AT_ONCE)
    parts = [
        np.fromiter(chain.from_iterable(chunk), dtype=np.float64, count=count * len(chunk))
        for chunk in found or ()
    ]
    return np.concatenate(parts).reshape(-1, count).T if parts else np.empty((count, 0))
