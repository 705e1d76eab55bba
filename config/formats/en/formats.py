"""Formats of English dates and times, such as 21 Nov 2026 00:08.

Templates use the names of the formats, and Django selects them by language.
"""

_DAY = "j\N{NO-BREAK SPACE}M"
MONTH_DAY_FORMAT = _DAY
DATE_FORMAT = f"{_DAY}\N{NO-BREAK SPACE}Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = f"{DATE_FORMAT}\N{NO-BREAK SPACE}H:i"
SHORT_DATETIME_FORMAT = f"{_DAY}\N{NO-BREAK SPACE}H:i"  # for recent times
SECOND_FORMAT = f"{DATE_FORMAT}\N{NO-BREAK SPACE}H:i:s"  # not one of Django's names; used for logs
