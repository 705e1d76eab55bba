"""Validators for the columns of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import PlainValidator, ValidationInfo

from common.incoming import quoted
from judgments.importers.records.record import Record
from judgments.importers.records.values import (
    NAME_LIMIT,
    BadCell,
    read_name,
    read_number,
    read_output,
    read_text,
)

T = TypeVar("T")

MOST_CACHED = 10_000  # cached texts of a column
MOST_SECONDS = 1_000_000_000  # thirty years


def with_text_cache(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """Return `read` with a cache for texts, since many rows of a file repeat names, captions and times."""
    read_once = lru_cache(MOST_CACHED)(read)
    return lambda value: read_once(value) if type(value) is str else read(value)


def is_textual(info: ValidationInfo) -> bool:
    record = info.context
    return isinstance(record, Record) and record.textual


def read_chance(value: object, info: ValidationInfo) -> float:
    expected = "a number above 0 and at most 1, or nothing"
    number = float(read_number(value, is_textual(info), expected))
    if not 0 < number <= 1:
        raise BadCell(quoted(value), expected)
    return number


def read_seconds(value: Any, info: ValidationInfo) -> float:
    expected = f"a number of seconds from 0 to {MOST_SECONDS:,}"
    seconds = read_number(value, is_textual(info), expected)
    if not 0 <= seconds <= MOST_SECONDS:
        raise BadCell(quoted(seconds), expected)
    return seconds


def text(expected: str) -> PlainValidator:
    return PlainValidator(with_text_cache(lambda value: read_text(value, expected)))


def output(expected: str) -> PlainValidator:
    return PlainValidator(with_text_cache(lambda value: read_output(value, expected)))


def name(expected: str = "a name", limit: int = NAME_LIMIT) -> PlainValidator:
    return PlainValidator(with_text_cache(lambda value: read_name(value, expected, limit)))
