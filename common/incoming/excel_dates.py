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
# The parts of a format, such as "[h]:mm" or "d mmm yy": quoted and escaped text, blanks ("_" or "*" with a character,
# which gives their width), elapsed time in brackets, other brackets (colours and conditions), the mark of the half of
# the day, tokens of dates and times, and other characters.
_PART = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|(?P<blank>_.|\*.)|\[(?P<elapsed>h+|m+|s+)\]|(?P<ignored>\[[^\]]*\])'
    r"|(?P<half>AM/PM|A/P)|(?P<token>y+|m+|d+|h+|s+(?:\.0+)?)|(?P<other>.)",
    re.I | re.S,
)
_SECONDS_PER_DAY = 86_400
_FALSE_LEAP_DAY = 60  # 29 February 1900, which Excel counts although it did not exist
_MAX_DAYS = 2_958_466  # the end of 9999
_DAYS_TO_1904 = 1_462  # days from the end of 1899 to the beginning of 1904


def is_date_format(code: str) -> bool:
    """Return whether a number format shows dates or times."""
    parts = _PART.finditer(code.partition(";")[0])
    return any(part.group("token") or part.group("elapsed") for part in parts)


def shown_date(number: str, code: str, *, since_1904: bool = False) -> str:
    """Return a number as a date format shows it. Return it unchanged if it is not a date."""
    try:
        serial = float(number)
    except ValueError:
        return number
    # other formats for negative numbers and zero may follow
    parts = list(_PART.finditer(code.partition(";")[0]))
    tokens = [part.group("token") or "" for part in parts]
    decimals = max((len(token.partition(".")[2]) for token in tokens), default=0)  # of seconds, as in "ss.00"
    seconds = round(serial * _SECONDS_PER_DAY, decimals)
    max_days = _MAX_DAYS - _DAYS_TO_1904 if since_1904 else _MAX_DAYS
    if serial < 0 or not seconds < max_days * _SECONDS_PER_DAY:  # "not" refuses nan, too
        return number
    if since_1904:
        start = datetime(1904, 1, 1, tzinfo=UTC)  # Excel has no time zones
    elif serial < _FALSE_LEAP_DAY:
        start = datetime(1899, 12, 31, tzinfo=UTC)
    else:  # a day earlier, since the number includes the false leap day
        start = datetime(1899, 12, 30, tzinfo=UTC)
    moment = start + timedelta(seconds=seconds)
    return _format_date(parts, moment, seconds)


def _format_date(parts: list[re.Match[str]], moment: datetime, seconds: float) -> str:
    """Return the text of a moment, or of elapsed ``seconds``, as the parts of a format show it.

    The token "m" means minutes after hours and before seconds, and otherwise months.
    """
    # the letter of each part that is a token for a date or a time; "" for other parts
    letters = [(part.group("token") or part.group("elapsed") or "")[:1].lower() for part in parts]
    twelve_hours = any(part.group("half") for part in parts)
    texts = []
    for index, part in enumerate(parts):
        if token := part.group("token"):
            previous_letter = next(filter(None, reversed(letters[:index])), "")
            next_letter = next(filter(None, letters[index + 1 :]), "")
            is_minutes = letters[index] == "m" and (previous_letter == "h" or next_letter == "s")
            texts.append(
                _format_token(token.lower(), moment, is_minutes=is_minutes, twelve_hours=twelve_hours)
            )
        elif unit := part.group("elapsed"):
            unit_seconds = {"h": 3_600, "m": 60, "s": 1}[unit[0].lower()]
            texts.append(f"{int(seconds // unit_seconds):0{len(unit)}d}")
        elif part.group("half"):
            before_noon, after_noon = part.group("half").split("/")
            texts.append(after_noon if moment.hour >= 12 else before_noon)
        else:
            texts.append(part.group("quoted") or part.group("escaped") or part.group("other") or "")
    return "".join(texts).strip()


def _format_token(token: str, moment: datetime, *, is_minutes: bool, twelve_hours: bool) -> str:
    """Format a part of a date, such as "yyyy" or "ss.00".

    Days and months have one or two digits ("d", "dd"), short or long names ("ddd", "dddd"), or one letter ("mmmmm").
    The token "m" also stands for minutes, if ``is_minutes``.
    """
    length = len(token)
    if token[0] == "y":
        return f"{moment:%Y}" if length > 2 else f"{moment:%y}"
    if token[0] in "dm" and length > 2 and not is_minutes:
        long, short = ("%A", "%a") if token[0] == "d" else ("%B", "%b")
        name = moment.strftime(long if length > 3 else short)
        return name[0] if length == 5 else name
    if token[0] == "s" and "." in token:
        decimals = len(token.partition(".")[2])
        return f"{moment.second + moment.microsecond / 1e6:0{length}.{decimals}f}"
    hour = (moment.hour - 1) % 12 + 1 if twelve_hours else moment.hour  # 12, 1, ..., 11
    month_or_minute = moment.minute if is_minutes else moment.month
    value = {"d": moment.day, "m": month_or_minute, "h": hour, "s": moment.second}[token[0]]
    return f"{value:0{min(length, 2)}d}"
