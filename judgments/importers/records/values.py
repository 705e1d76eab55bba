"""Read single values. ``textual`` says that all values of a file are texts, as in CSV, so that numbers are parsed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from common.incoming import ADDRESS_LIMIT, compose_name, quote_value
from quorum.statistics.inputs import MAX_NUMBER

# The most characters that the database stores. Longer names are refused here, with their line in the file.
NAME_LIMIT, SHORT_NAME_LIMIT, WORKER_LIMIT = 200, 80, 100
MAX_IMPORTED_SECONDS = 1_000_000_000  # thirty years

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNSTORABLE_CHARACTERS = re.compile(r"[\x00\ud800-\udfff]")
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_TIME_EXPECTED = "a time with its zone, such as 2026-01-01T10:00:00Z"


class BadCell(ValueError):
    """A value that does not fit its column. ``path`` is the part of the value that is wrong, such as ``[3].label``."""

    def __init__(self, actual: str, expected: str, path: str = "") -> None:
        super().__init__(actual, expected, path)
        self.actual = actual
        self.expected = expected
        self.path = path


def read_text(value: Any, expected: str = "a text") -> str:
    """Return a text unchanged. Raise BadCell for an empty text, for one that cannot be stored, and for other types."""
    if not isinstance(value, str):
        raise BadCell(quote_value(value), expected)
    if not value.strip():
        raise BadCell("an empty text", expected)
    if _UNSTORABLE_CHARACTERS.search(value):
        raise BadCell("a NUL character or half a surrogate pair", expected)
    return value


def read_output(value: Any) -> str:
    """Return a system's output; "" for an empty or blank cell, since an output may be empty."""
    return "" if is_blank(value) else read_text(value, "a caption")


def is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def ids_by_name(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the row ids by name. ``rows`` are pairs of name and row id.

    Each name is a key as stored, and also in its normal form (NFC).
    """
    row_ids = dict(rows)
    ids_by_normal_form = {compose_name(name): pk for name, pk in row_ids.items()}
    return ids_by_normal_form | row_ids


def read_name(value: Any, expected: str = "a name", limit: int = NAME_LIMIT) -> str:
    """Return an identifier in normal form (NFC), on one line. Whole numbers (MS COCO's image ids) become texts.

    Raises:
        BadCell: the value is not a name, is empty or too long, or has control characters.
    """
    if type(value) is int:
        value = str(value)
    if not isinstance(value, str):
        raise BadCell(quote_value(value), expected)
    name = compose_name(value.strip())
    if not name:
        raise BadCell("an empty text", expected)
    if name in ("nan", "NaN"):
        raise BadCell(f"{quote_value(name)}, a missing answer", expected)
    if len(name) > limit:
        raise BadCell(f"a name of {len(name):,} characters", f"at most {limit} characters")
    if _CONTROL.search(name) or _UNSTORABLE_CHARACTERS.search(name):
        raise BadCell(f"control characters in {quote_value(name)}", expected)
    return name


def read_image(value: Any) -> str:
    """Return the name of an image. Raise BadCell for an invalid name, or a path that leaves the folder."""
    name = read_name(value, "an image's name")
    parts = re.split(r"[/\\]", name)
    if ".." in parts or parts[0] == "" or re.match(r"[A-Za-z]:[/\\]", name):
        raise BadCell(quote_value(name), "a name inside the folder of images")
    return name


def read_address(value: Any) -> str:
    address = read_text(value)
    if len(address) > ADDRESS_LIMIT:
        raise BadCell(f"an address of {len(address):,} characters", f"at most {ADDRESS_LIMIT} characters")
    if not re.match(r"https?://[^\s/]+\S*\Z", address):
        raise BadCell(quote_value(address), "an address that begins with http:// or https://")
    return address


def read_number(value: Any, textual: bool, expected: str = "a number") -> float:
    """Return a finite number, as int if it is whole. Raise BadCell for other values."""
    number = value
    if textual and isinstance(value, str):
        try:  # int() keeps the last digits of long whole numbers
            number = int(value) if re.fullmatch(r"[+-]?\d{1,18}", value.strip()) else float(value)
        except ValueError:
            raise BadCell(quote_value(value), expected) from None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise BadCell(quote_value(value), expected)
    if not abs(number) < math.inf:  # also true for nan; math.isfinite would fail for a long integer
        raise BadCell(quote_value(value), expected)
    if abs(number) > MAX_NUMBER:
        raise BadCell(quote_value(value), f"{expected}, of size {MAX_NUMBER:g} at most")
    return int(number) if number == int(number) else number


def read_integer(value: Any, textual: bool, expected: str = "a whole number from 0", minimum: int = 0) -> int:
    number = read_number(value, textual, expected)
    if number < minimum or not isinstance(number, int):
        raise BadCell(quote_value(number), expected)
    return number


def read_chance(value: Any, textual: bool) -> float:
    """Return the probability with which a unit was drawn. Importers do not call this for an empty cell."""
    expected = "a number above 0 and at most 1, or nothing"
    number = float(read_number(value, textual, expected))
    if not 0 < number <= 1:
        raise BadCell(quote_value(value), expected)
    return number


def read_seconds(value: Any, textual: bool) -> float:
    expected = f"a number of seconds from 0 to {MAX_IMPORTED_SECONDS:,}"
    seconds = read_number(value, textual, expected)
    if not 0 <= seconds <= MAX_IMPORTED_SECONDS:
        raise BadCell(quote_value(seconds), expected)
    return seconds


def read_flag(value: Any, textual: bool) -> bool:
    """Return a flag as bool. If ``textual``, accept 1 and 0, and yes and no. Raise BadCell for other values."""
    if textual and isinstance(value, str) and value.strip().lower() in _FLAGS:
        return _FLAGS[value.strip().lower()]
    if not isinstance(value, bool):
        raise BadCell(quote_value(value), "true or false")
    return value


def read_time(value: Any) -> datetime:
    if not isinstance(value, str):
        raise BadCell(quote_value(value), _TIME_EXPECTED)
    try:
        time = datetime.fromisoformat(value.strip())
    except ValueError:
        raise BadCell(quote_value(value), _TIME_EXPECTED) from None
    if time.tzinfo is None:
        raise BadCell(f"{quote_value(value)} without a time zone", _TIME_EXPECTED)
    return time
