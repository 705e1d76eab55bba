"""English dates and times: 21 Nov 2026 00:08. Pages name formats; Django finds them by the reader's language."""

_DAY = "j\N{NO-BREAK SPACE}M"
MONTH_DAY_FORMAT = _DAY
DATE_FORMAT = f"{_DAY}\N{NO-BREAK SPACE}Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = f"{DATE_FORMAT}\N{NO-BREAK SPACE}H:i"
SHORT_DATETIME_FORMAT = f"{_DAY}\N{NO-BREAK SPACE}H:i"  # of what is recent
SECOND_FORMAT = f"{DATE_FORMAT}\N{NO-BREAK SPACE}H:i:s"  # of the platform's own, for logs
