"""The emulator's clock: runs with the machine's, can be stopped, and can be put forward."""

import threading
from datetime import UTC, datetime, timedelta


class Clock:
    """Time of the emulated service, in UTC.

    `Clock()` runs with the machine. `Clock(at=…)` stands still at that moment until `advance` or `run`.
    """

    def __init__(self, at: datetime | None = None) -> None:
        self._lock = threading.Lock()
        self._standing = at.astimezone(UTC) if at else None
        self._ahead = timedelta()

    def now(self) -> datetime:
        """The present moment of the service."""
        with self._lock:
            return self._now()

    @property
    def frozen(self) -> bool:
        """Whether it stands still."""
        return self._standing is not None

    def advance(self, seconds: float = 0, **spans: float) -> datetime:
        """Puts it forward, standing or running: `advance(30)`, `advance(days=30)`; answers the new time."""
        step = timedelta(seconds=seconds, **spans)
        if step < timedelta():
            raise ValueError("the service's clock never goes back")
        with self._lock:
            if self._standing is None:
                self._ahead += step
            else:
                self._standing += step
            return self._now()

    def freeze(self, at: datetime | None = None) -> datetime:
        """Stops it, now or at a later moment."""
        with self._lock:
            now = self._now()
            self._standing = max(now, at.astimezone(UTC)) if at else now
            return self._standing

    def run(self) -> datetime:
        """Lets it run on from where it stands."""
        with self._lock:
            if self._standing is not None:
                self._ahead = self._standing - datetime.now(UTC)
                self._standing = None
            return self._now()

    def _now(self) -> datetime:
        return self._standing or datetime.now(UTC) + self._ahead
