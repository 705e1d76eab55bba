"""Faults between a caller and the service. They are drawn from a seed, or planned by a test."""

import random
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from enum import StrEnum


class Fault(StrEnum):
    """What goes wrong with one call."""

    DROP_BEFORE = "the connection drops and nothing was carried out"
    DROP_AFTER = "the connection drops and it was carried out"
    ERROR_BEFORE = "answered with 500 and nothing was carried out"
    ERROR_AFTER = "answered with 502 and it was carried out"
    THROTTLE = "answered with 429 and nothing was carried out"
    CUT_SHORT = "carried out, and the answer ends in the middle"


class Faults:
    """Draw a fault for each call: the next one that was planned for its operation, or else one by the shares.

    Args:
        seed: the seed of the draws. The same calls in the same order get the same faults.
        shares: the probability of each fault.
        only: the operations for which faults are drawn; default: all. Planned faults happen in any case.
        retry_after: seconds that a throttled caller is asked to wait.

    Attributes:
        met: how often each fault has happened.
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
        """Plan the faults of the next calls of an operation, one for each call. None lets a call through."""
        with self._lock:
            self._planned[operation].extend(faults)

    def stop(self) -> None:
        """Let all further calls through."""
        with self._lock:
            self._shares.clear()
            self._planned.clear()

    def draw(self, operation: str) -> Fault | None:
        """Return the fault of a call of the operation; None if it goes well."""
        with self._lock:
            fault = self._draw_fault(operation)
            if fault:
                self.met[fault] += 1
            return fault

    def _draw_fault(self, operation: str) -> Fault | None:
        if self._planned[operation]:
            return self._planned[operation].popleft()
        if self._only and operation not in self._only:
            return None
        remainder = self._random.random()
        for fault, share in self._shares.items():
            remainder -= share
            if remainder < 0:
                return fault
        return None
