"""Streams of records: in batches, with a fingerprint of the file they came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")


def batched(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """``rows`` in lists of ``size``; the last may be shorter."""
    stream = iter(rows)
    while batch := list(islice(stream, size)):
        yield batch


class Fingerprint:
    """SHA-256 over the rows that pass by."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def over(self, rows: Iterable[T]) -> Iterator[T]:
        """``rows``, each taken into the hash."""
        for row in rows:
            self._hash.update(repr(row).encode())
            yield row

    def hexdigest(self) -> str:
        """The hash of all rows so far."""
        return self._hash.hexdigest()


def fingerprint_of(*streams: Iterable[Any]) -> str:
    """The fingerprint of whole streams of rows."""
    fingerprint = Fingerprint()
    for stream in streams:
        for _ in fingerprint.over(stream):
            continue
    return fingerprint.hexdigest()
