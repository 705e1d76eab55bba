"""Faults on purpose: what goes wrong with a call, by a seeded plan."""

import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, get_args

Kind = Literal[
    "drop_before",  # the connection closes, nothing was carried out
    "drop_after",  # the connection closes, the call was carried out
    "truncate",  # carried out; 200 with half a body of the right length: boto3 makes an empty dict of it (M)
    "cut",  # carried out; 200 whose body ends before its Content-Length: the same to boto3 (M)
    "fault_before",  # 500 ServiceFault, nothing was carried out
    "fault_after",  # 500 ServiceFault, although it was carried out
    "unavailable",  # 503 without a body that the model knows; nothing was carried out
    "throttle",  # ThrottlingException "Rate exceeded", nothing was carried out
    "delay",  # the answer comes late
]


@dataclass
class Fault:
    """A way of going wrong, and when it happens.

    Of the calls to `operations` (all of the requester's, when empty; `externalSubmit`, a worker's form, must be
    named) the first `skip` pass; of the rest a `share` goes wrong, `times` at most.
    """

    kind: Kind
    operations: frozenset[str] = frozenset()
    share: float = 1.0
    times: int | None = None
    skip: int = 0
    seconds: float = 0.0
    happened: int = field(default=0, init=False)
    _passed: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"{self.kind} is no kind of fault")
        if not 0 <= self.share <= 1:
            raise ValueError("the share of calls that go wrong lies between 0 and 1")
        self.operations = frozenset(self.operations)

    def strikes(self, operation: str, draw: random.Random) -> bool:
        """Whether this call goes wrong."""
        if self.operations and operation not in self.operations:
            return False
        if self.times is not None and self.happened >= self.times:
            return False
        self._passed += 1
        if self._passed <= self.skip:
            return False
        struck = draw.random() < self.share
        self.happened += struck
        return struck


class FaultPlan:
    """The faults in force, tried in order; the first that strikes decides. Safe for threads."""

    def __init__(self, faults: Iterable[Fault] = (), *, seed: int = 0) -> None:
        self._lock = threading.Lock()
        self._draw = random.Random(seed)
        self._faults = list(faults)
        self.counts: Counter[str] = Counter()

    @contextmanager
    def during(self, *faults: Fault) -> Iterator[None]:
        """These faults and no others, for the length of a block."""
        with self._lock:
            before, self._faults = self._faults, list(faults)
        try:
            yield
        finally:
            with self._lock:
                self._faults = before

    def strike(self, operation: str, *, if_named: bool = False) -> Fault | None:
        """What goes wrong with this call, if anything; `if_named`: only faults that name the operation."""
        with self._lock:
            for fault in self._faults:
                if if_named and operation not in fault.operations:
                    continue
                if fault.strikes(operation, self._draw):
                    self.counts[fault.kind] += 1
                    return fault
            return None


def mixed(share: float, operations: Iterable[str] = ()) -> list[Fault]:
    """Equal parts of every fault that loses an answer or refuses a call; `share` of calls altogether."""
    kinds: tuple[Kind, ...] = (
        "drop_before", "drop_after", "truncate", "cut", "fault_before", "fault_after", "unavailable", "throttle",
    )  # fmt: skip
    faults, left = [], 1.0
    for kind in kinds:
        faults.append(Fault(kind, frozenset(operations), share=share / len(kinds) / left))
        left -= share / len(kinds)
    return faults
