"""Types for the fields of rows. Each is an annotation that says how the value of a column is read (`RowReader`)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache, partial
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationInfo

from judgments.importers.records.record import Record
from judgments.importers.records.values import (
    SHORT_NAME_LIMIT,
    WORKER_LIMIT,
    read_address,
    read_chance,
    read_flag,
    read_image,
    read_integer,
    read_name,
    read_number,
    read_output,
    read_seconds,
    read_text,
    read_time,
)

MAX_CACHED_TEXTS = 10_000  # cached texts of a column


def cached_validator(read: Callable[..., Any], **options: Any) -> PlainValidator:
    """Return a validator with a cache for texts, since many rows of a file repeat names, captions and times."""
    read_value = partial(read, **options)
    read_cached = lru_cache(MAX_CACHED_TEXTS)(read_value)

    def validate(value: Any) -> Any:
        return read_cached(value) if type(value) is str else read_value(value)

    return PlainValidator(validate)


def typed_validator(read: Callable[..., Any], **options: Any) -> PlainValidator:
    """Return a validator that calls ``read`` with the value and ``Record.textual``. The context is the record."""

    def validate(value: Any, info: ValidationInfo) -> Any:
        record = info.context
        return read(value, isinstance(record, Record) and record.textual, **options)

    return PlainValidator(validate)


Text = Annotated[str, cached_validator(read_text)]
OutputText = Annotated[str, cached_validator(read_output)]
Name = Annotated[str, cached_validator(read_name)]
ShortName = Annotated[str, cached_validator(read_name, limit=SHORT_NAME_LIMIT)]
WorkerName = Annotated[str, cached_validator(read_name, limit=WORKER_LIMIT)]
ImageName = Annotated[str, cached_validator(read_image)]
Address = Annotated[str, PlainValidator(read_address)]
Number = Annotated[float, typed_validator(read_number)]
Rank = Annotated[int, typed_validator(read_integer, expected="a whole number from 1, the best", minimum=1)]
WholeNumber = Annotated[int, typed_validator(read_integer)]
Seconds = Annotated[float, typed_validator(read_seconds)]
Chance = Annotated[float, typed_validator(read_chance)]
Flag = Annotated[bool, typed_validator(read_flag)]
Time = Annotated[datetime, cached_validator(read_time)]
