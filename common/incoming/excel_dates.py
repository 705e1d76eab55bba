"""Convert the numbers that Excel stores for dates and times to the text that cells show.

A date is the number of days since the end of 1899, or since 1904 if the workbook says so. Its fraction is the time of
day. Only the number format of a cell says whether a number is a date (ECMA-376 part 1, 18.8.30 and 18.17.4.1).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

# Built-in formats, as in the United States. Files refer to them only by number.
BUILT_IN_FORMATS = {
    14: "m/d/yyyy", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm",
    21: "h:mm:ss", 22: "m/d/yyyy h:mm", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0",
}  # fmt: skip
_PART = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|(?P<blank>_.|\*.)|\[(?P<elapsed>h+|m+|s+)\]|(?P<ignored>\[[^\]]*\])'
    r"|(?P<half>AM/PM|A/P)|(?P<token>y+|m+|d+|h+|s+(?:\.0+)?)|(?P<other>.)",
    re.I | re.S,
)
_SECONDS_PER_DAY = 86_400
_LEAP_DAY = 60  # 29 February 1900, which Excel counts although it did not exist
_MAX_DAYS = 2_958_466  # the end of 9999


def is_date_format(code: str) -> bool:
    """Return whether a number format shows dates or times."""
    parts = _PART.finditer(code.partition(";")[0]) if code.lower() != "general" else ()
    return any(part.group("token") or part.group("elapsed") for part in parts)


def shown_date(number: str, code: str, *, since_1904: bool = False) -> str:
    """Return a number as a date format shows it. Return it unchanged if it is not a date."""
    try:
        serial = float(number)
    except ValueError:
        return number
    if not 0 <= serial < _MAX_DAYS - 1_462 * since_1904:
        return number
    code = code.partition(";")[0]
    seconds = round(serial * _SECONDS_PER_DAY, 3 if ".0" in code else 0)
    year, month, day = (1904, 1, 1) if since_1904 else (1899, 12, 30 + (serial < _LEAP_DAY))
    moment = datetime(year, month, day, tzinfo=UTC) + timedelta(seconds=seconds)  # UTC is a stand-in
    return _write_date(list(_PART.finditer(code)), moment, seconds)


def _write_date(parts: list[re.Match[str]], moment: datetime, seconds: float) -> str:
    tokens = [(part.group("token") or part.group("elapsed") or "")[:1].lower() for part in parts]
    half = any(part.group("half") for part in parts)
    written = []
    for at, part in enumerate(parts):
        if token := part.group("token"):
            previous = next(filter(None, reversed(tokens[:at])), "")
            following = next(filter(None, tokens[at + 1 :]), "")
            minutes = tokens[at] == "m" and (previous == "h" or following == "s")
            written.append(_token(token.lower(), moment, minutes=minutes, half=half))
        elif unit := part.group("elapsed"):
            size = {"h": 3_600, "m": 60, "s": 1}[unit[0].lower()]
            written.append(f"{int(seconds // size):0{len(unit)}d}")
        elif part.group("half"):
            names = part.group("half").split("/")
            written.append(names[moment.hour >= 12])
        else:
            written.append(part.group("quoted") or part.group("escaped") or part.group("other") or "")
    return "".join(written).strip()


def _token(token: str, moment: datetime, *, minutes: bool, half: bool) -> str:
    size = len(token)
    if token[0] == "y":
        return f"{moment:%Y}" if size > 2 else f"{moment:%y}"
    if token[0] in "dm" and size > 2 and not minutes:
        long, short = ("%A", "%a") if token[0] == "d" else ("%B", "%b")
        name = moment.strftime(long if size > 3 else short)
        return name[0] if size == 5 else name
    if token[0] == "s" and "." in token:
        whole, _, digits = token.partition(".")
        return f"{moment.second + moment.microsecond / 1e6:0{len(whole) + 1 + len(digits)}.{len(digits)}f}"
    hour = (moment.hour - 1) % 12 + 1 if half else moment.hour
    value = {"d": moment.day, "m": moment.minute if minutes else moment.month, "h": hour, "s": moment.second}
    return f"{value[token[0]]:0{min(size, 2)}d}"
