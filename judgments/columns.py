"""Columns of numbers out of a table, several times faster than row by row: for those who want arrays, not rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import QuerySet

ROWS_AT_ONCE = 20_000


def plain_rows(rows: QuerySet[Any, Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of a query for values as the database gives them: past the model's converters, which cost more than
    reading. For whole numbers, text and truth values (0 and 1 on SQLite)."""
    compiler = rows.query.get_compiler(using=rows.db)
    found: Any = compiler.execute_sql(chunked_fetch=True, chunk_size=ROWS_AT_ONCE)
    return chain.from_iterable(found or ())


def columns_of(rows: QuerySet[Any, Any], count: int) -> npt.NDArray[np.float64]:
    """The columns of a query for values that the database gives as numbers, none of them NULL.

    The rows go past the model's converters, which cost more than reading them: UUIDs, JSON, dates and booleans must
    not be among the columns.

    Args:
        rows: ``values_list`` of ``count`` columns.

    Returns:
        (count, N) float64; whole numbers stay exact below 2^53.
    """
    compiler = rows.query.get_compiler(using=rows.db)
    found: Any = compiler.execute_sql(chunked_fetch=True, chunk_size=ROWS_AT_ONCE)
    parts = [
        np.fromiter(chain.from_iterable(chunk), dtype=np.float64, count=count * len(chunk))
        for chunk in found or ()
    ]
    return np.concatenate(parts).reshape(-1, count).T if parts else np.empty((count, 0))
