"""What goes wrong between a caller and the service, drawn from a seed or told in advance."""

import random
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from enum import StrEnum


class Fault(StrEnum):
    """One thing that happens to one call."""

    DROP_BEFORE = "the connection drops and nothing was carried out"
    DROP_AFTER = "the connection drops and it was carried out"
    ERROR_BEFORE = "answered with 500 and nothing was carried out"
    ERROR_AFTER = "answered with 502 and it was carried out"
    THROTTLE = "answered with 429 and nothing was carried out"
    CUT_SHORT = "carried out, and the answer ends in the middle"


class Faults:
    """Draws a fault for each call: first what was planned for its operation, then by the shares.

    Args:
        seed: of the draws; the same calls in the same order meet the same faults.
        shares: how likely each fault is for a call.
        only: the operations that faults are drawn for; all when left out. Planned ones come in any case.
        retry_after: seconds that a throttled caller is asked to wait.
    """

    def __init__(
        self,
        seed: int = 0,
        shares: Mapping[Fault, float] | None = None,
        *,
        only: Sequence[str] = (),
        retry_after: int = 2,
    ) -> None:
        self.retry_after = retry_after
        self.met: Counter[Fault] = Counter()
        self._random = random.Random(seed)
        self._shares = dict(shares or {})
        self._only = frozenset(only)
        self._planned: defaultdict[str, deque[Fault | None]] = defaultdict(deque)
        self._lock = threading.Lock()

    def plan(self, operation: str, *faults: Fault | None) -> None:
        """The next calls of an operation meet these, one each; None lets a call through."""
        with self._lock:
            self._planned[operation].extend(faults)

    def stop(self) -> None:
        """From now on everything goes well."""
        with self._lock:
            self._shares.clear()
            self._planned.clear()

    def draw(self, operation: str) -> Fault | None:
        """What happens to this call."""
        with self._lock:
            fault = self._drawn(operation)
            if fault:
                self.met[fault] += 1
            return fault

    def _drawn(self, operation: str) -> Fault | None:
        if self._planned[operation]:
            return self._planned[operation].popleft()
        if self._only and operation not in self._only:
            return None
        point = self._random.random()
        for fault, share in self._shares.items():
            point -= share
            if point < 0:
                return fault
        return None
