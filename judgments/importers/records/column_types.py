"""Types for the columns of rows."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import PlainValidator

from judgments.importers.records.validators import (
    is_textual,
    name,
    output,
    read_chance,
    read_seconds,
    text,
    with_text_cache,
)
from judgments.importers.records.values import (
    SHORT_NAME_LIMIT,
    WORKER_LIMIT,
    read_address,
    read_flag,
    read_image,
    read_integer,
    read_number,
    read_time,
)

RANK_EXPECTED = "a whole number from 1, the best"

Text = Annotated[str, text("a text")]
OutputText = Annotated[str, output("a caption")]
Name = Annotated[str, name()]
ShortName = Annotated[str, name(limit=SHORT_NAME_LIMIT)]
WorkerName = Annotated[str, name(limit=WORKER_LIMIT)]
ImageName = Annotated[str, PlainValidator(with_text_cache(read_image))]
Address = Annotated[str, PlainValidator(read_address)]
Number = Annotated[float, PlainValidator(lambda value, info: read_number(value, is_textual(info)))]
Rank = Annotated[
    int, PlainValidator(lambda value, info: read_integer(value, is_textual(info), RANK_EXPECTED, least=1))
]
WholeNumber = Annotated[int, PlainValidator(lambda value, info: read_integer(value, is_textual(info)))]
Seconds = Annotated[float, PlainValidator(read_seconds)]
Chance = Annotated[float, PlainValidator(read_chance)]
Flag = Annotated[bool, PlainValidator(lambda value, info: read_flag(value, is_textual(info)))]
Time = Annotated[datetime, PlainValidator(with_text_cache(read_time))]
