"""Batches of many rows and of many keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
ROWS_PER_BATCH = 5_000
KEYS_PER_QUERY = 500  # keys that one query names, fewer than SQLite's limit for one statement


def batched(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the rows in lists of ``size``. The last list may be shorter."""
    stream = iter(rows)
    while batch := list(islice(stream, size)):
        yield batch
