"""Read many rows fast, without converting values that need no conversion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

from common.rows.batches import ROWS_PER_BATCH

ROWS_PER_READ = 20_000
MAX_CACHED_VALUES = 20_000


def _chunks(rows: QuerySet[Any, Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the unconverted rows of a values query in lists of ``size``. PostgreSQL uses a server-side cursor."""
    try:
        sql, parameters = rows.query.sql_with_params()
    except EmptyResultSet:  # the filter excludes all rows, for example pk__in=[]
        return
    with connection.chunked_cursor() as cursor:
        cursor.execute(sql, parameters)
        while chunk := cursor.fetchmany(size):
            yield chunk


def plain_rows(rows: QuerySet[Any, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a values query without converting values.

    Use it for integers, texts and booleans, which SQLite returns as 0 and 1. Django's ``iterator`` takes 1.05 times as
    long for integers, 1.5 times as long with a boolean, and 4 times as long with JSON.
    """
    return chain.from_iterable(_chunks(rows, ROWS_PER_READ))


def converted_rows(rows: QuerySet[Any, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a values query. Convert equal values only once; ``iterator`` takes 1.3 times as long.

    Rows with equal JSON may share one object, so callers must not change it.
    """
    compiler: Any = rows.query.get_compiler(rows.db)
    try:
        compiler.as_sql()  # sets the compiler's columns
    except EmptyResultSet:
        return
    expressions = [expression for expression, _sql, _alias in compiler.select]
    converters: dict[int, Callable[[Any], Any]] = {}  # by the index of the column; other columns need none
    for index, (steps, expression) in compiler.get_converters(expressions).items():
        convert_value = partial(_convert_value, steps, expression, compiler.connection)
        converters[index] = lru_cache(MAX_CACHED_VALUES, typed=True)(convert_value)
    for chunk in _chunks(rows, ROWS_PER_BATCH):
        columns: list[Iterable[Any]] = list(zip(*chunk, strict=True))
        for index, convert in converters.items():
            columns[index] = map(convert, columns[index])
        yield from zip(*columns, strict=True)


def _convert_value(steps: Sequence[Callable[..., Any]], expression: Any, connection: Any, value: Any) -> Any:
    """Convert a value by several functions of Django, one after the other."""
    for step in steps:
        value = step(value, expression, connection)
    return value


def columns_of(rows: QuerySet[Any, Any], column_count: int) -> npt.NDArray[np.float64]:
    """Return the columns of a values query of numbers, without NULL, as an array.

    Values are not converted, which would take longer than reading them, so UUIDs, JSON, dates and booleans are not
    allowed.

    Returns:
        (column_count, N) float64; integers below 2^53 are exact.
    """
    parts = list(column_parts(rows, column_count))
    return np.concatenate(parts, axis=1) if parts else np.empty((column_count, 0))


def column_parts(rows: QuerySet[Any, Any], column_count: int) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the columns as ``columns_of`` returns them, but in arrays of at most ROWS_PER_READ rows, to save memory."""
    for chunk in _chunks(rows, ROWS_PER_READ):
        numbers = np.fromiter(chain.from_iterable(chunk), dtype=np.float64, count=column_count * len(chunk))
        yield numbers.reshape(-1, column_count).T
