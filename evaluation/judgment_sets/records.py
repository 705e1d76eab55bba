"""Arrays and records of a study, without a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evaluation.arrays import Flags, Floats, Ints


@dataclass(frozen=True, slots=True)
class JudgmentTable:
    """The judgments of a study, one per row.

    Attributes:
        pk: (N,) int64, ascending row ids, in arrival order.
        unit, worker: (N,) int64; row ids of units and workers.
        value: (N,) float64 in the unit's order; nan for open answers.
        answer: N open answers in the unit's order; None for values.
        control: (N,) bool, judgments on control items.
        used: (N,) bool, excluded neither by an import nor by the control rule.
        left: (N,) bool, the left option was chosen; undefined where ``sided`` is false.
        sided: (N,) bool, whether the unit had sides.
        seconds: (N,) float64; nan if unknown.
        data_hash: SHA-256 of all of them.
    """

    pk: Ints
    unit: Ints
    worker: Ints
    value: Floats
    answer: tuple[Any, ...]
    control: Flags
    used: Flags
    left: Flags
    sided: Flags
    seconds: Floats
    data_hash: str

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def counted(self) -> Flags:
        """Return (N,) bool: used judgments on no control item."""
        return self.used & ~self.control

    def given(self, keep: Flags) -> list[Any]:
        """Return the answers of the rows ``keep`` for their kind: whole numbers, or open ones."""
        return [
            self.answer[row] if np.isnan(self.value[row]) else int(self.value[row])
            for row in np.flatnonzero(keep).tolist()
        ]


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker of a study; ``anonymous`` for a rater of published totals."""

    pk: int
    name: str
    anonymous: bool
    simulated: bool


class UnitRow(NamedTuple):
    """A judged unit, no control item. A tuple, as there are many."""

    pk: int
    key: str
    kind: str
    pair: int | None


@dataclass(frozen=True, slots=True)
class Decision:
    """An adjudicated unit: decision in the unit's order, by whom, when (ISO 8601), why, and the votes at the time."""

    value: int
    by: str
    at: str
    reason: str
    votes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PairRow:
    pk: int
    key: str
    kind: str
    first: str
    second: str
    published_winner: int | None
