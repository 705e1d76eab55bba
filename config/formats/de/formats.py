"""Formats of German dates and times, such as 21. Nov. 2026 00:08. They have the same names as the English formats."""

_DAY = "j.\N{NO-BREAK SPACE}N"
MONTH_DAY_FORMAT = _DAY
DATE_FORMAT = f"{_DAY}\N{NO-BREAK SPACE}Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = f"{DATE_FORMAT}\N{NO-BREAK SPACE}H:i"
SHORT_DATETIME_FORMAT = f"{_DAY}\N{NO-BREAK SPACE}H:i"
SECOND_FORMAT = f"{DATE_FORMAT}\N{NO-BREAK SPACE}H:i:s"
