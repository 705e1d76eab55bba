"""What was asked before: unique request tokens, remembered for 24 hours (MTURK.md §2 D)."""

from datetime import datetime, timedelta

REMEMBERED = timedelta(hours=24)


class Tokens:
    """Tokens by the operation they belong to. A call that failed does not use its token up."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[datetime, str]] = {}

    def earlier(self, operation: str, token: str | None, now: datetime) -> str | None:
        """What the earlier call with this token led to; None when there was none within 24 hours."""
        if token is None:
            return None
        at, outcome = self._seen.get((operation, token), (None, ""))
        return outcome if at is not None and now - at < REMEMBERED else None

    def remember(self, operation: str, token: str | None, outcome: str, now: datetime) -> None:
        """Keeps what a call led to."""
        if token is not None:
            self._seen[operation, token] = (now, outcome)
