"""Parse times in the forms that other platforms write."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# Hours from UTC. MTurk's requester pages write Pacific time; its command line tools wrote local time. An abbreviation
# that several countries use means the American zone.
ZONES = {
    "UTC": 0, "GMT": 0, "Z": 0, "WET": 0,
    "PST": -8, "PDT": -7, "MST": -7, "MDT": -6, "CST": -6, "CDT": -5, "EST": -5, "EDT": -4,
    "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "BST": 1, "JST": 9
}  # fmt: skip

_WEEKDAY = r"(?:[A-Z][a-z]{2},? )?"

_MONTH = r"(?P<month_name>[A-Z][a-z]{2})"

_CLOCK_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2}):(?P<second>\d{2})"

_ZONE = r"(?P<zone>[A-Z]{1,4})?(?P<offset>[+-]\d{2}:?\d{2})?"

_PATTERNS = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        # Fri Nov 20 06:00:00 PST 2026, as written by MTurk's requester pages and by Java
        rf"{_WEEKDAY}{_MONTH} +(?P<day>\d{{1,2}}) {_CLOCK_TIME} {_ZONE} (?P<year>\d{{4}})",
        # Fri Nov 20 2026 06:00:00 GMT-0800 (PST), as written by JavaScript
        rf"{_WEEKDAY}{_MONTH} +(?P<day>\d{{1,2}}) (?P<year>\d{{4}}) {_CLOCK_TIME} {_ZONE}(?: \([^()]*\))?",
        # 2026-11-20 14:00:00 UTC
        rf"(?P<year>\d{{4}})-(?P<month>\d{{2}})-(?P<day>\d{{2}})[T ]{_CLOCK_TIME} {_ZONE}",
        # 11/20/26 6:00 or 11/20/2026 06:00:05 PM, as written by spreadsheet programs, without a zone
        r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{2}|\d{4}),? (?P<hour>\d{1,2}):(?P<minute>\d{2})"
        r"(?::(?P<second>\d{2}))?(?: (?P<half>[AaPp][Mm]))?",
    )
)

TIME_EXPECTED = "a time with its zone, such as Fri Nov 20 06:00:00 PST 2026"


@lru_cache(maxsize=4_096)  # cached, since the rows of a batch repeat the times of their HITs
def parse_time(text: str, zone: tzinfo | None = None) -> datetime:
    """Parse a time in ISO 8601, in seconds since 1970, or in a form of ``_PATTERNS``, and return it in UTC.

    ``zone`` applies to times that state no zone.

    Raises:
        ValueError: the text is not a time, or has no zone and ``zone`` is None.
    """
    if re.fullmatch(r"\d{9,10}(?:\.\d+)?", text, re.ASCII):  # seconds since 1970
        return datetime.fromtimestamp(float(text), UTC)
    match = next(filter(None, (pattern.fullmatch(text) for pattern in _PATTERNS)), None)
    time = _make_time(match.groupdict()) if match else datetime.fromisoformat(text)
    if time.tzinfo is None:
        if zone is None:
            raise ValueError("without a zone")
        time = time.replace(tzinfo=zone)
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("no such moment") from None


def _make_time(parts: dict[str, str | None]) -> datetime:
    """Return the time with these parts, the groups of a pattern by name. A time without a zone has no ``tzinfo``."""
    units = ("year", "month", "day", "hour", "minute", "second")
    numbers = {unit: int(parts.get(unit) or 0) for unit in units}
    if month := parts.get("month_name"):
        numbers["month"] = MONTHS.index(month) + 1
    if len(parts["year"] or "") == 2:
        numbers["year"] += 2000
    if half_of_day := parts.get("half"):
        if not 1 <= numbers["hour"] <= 12:
            raise ValueError("no such hour")
        numbers["hour"] %= 12  # 12 am is hour 0
        if half_of_day.lower() == "pm":
            numbers["hour"] += 12
    zone = _find_time_zone(parts.get("zone"), parts.get("offset"))
    return datetime(**numbers, tzinfo=zone)


def _find_time_zone(name: str | None, offset: str | None) -> tzinfo | None:
    """Return the zone with an offset such as "+0100" or, without one, with a name such as "PST"; None for neither."""
    if name is not None and name not in ZONES:
        raise ValueError(f"the unknown zone {name}")
    if offset is not None:
        return datetime.strptime(offset, "%z").tzinfo
    return None if name is None else timezone(timedelta(hours=ZONES[name]))
