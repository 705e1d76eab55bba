"""English formats: 21 Nov 2026 00:08, as on the platform's own pages."""

DATE_FORMAT = "j\N{NO-BREAK SPACE}M\N{NO-BREAK SPACE}Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = f"{DATE_FORMAT}\N{NO-BREAK SPACE}{TIME_FORMAT}"
