"""Batches and fingerprints of many rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")
ROWS_PER_BATCH = 5_000


def batched(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    stream = iter(rows)
    while batch := list(islice(stream, size)):
        yield batch


class Fingerprint:
    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def over(self, rows: Iterable[T]) -> Iterator[T]:
        for row in rows:
            self._hash.update(repr(row).encode())
            yield row

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def fingerprint_of(*streams: Iterable[Any]) -> str:
    fingerprint = Fingerprint()
    for stream in streams:
        for _ in fingerprint.over(stream):
            continue
    return fingerprint.hexdigest()
