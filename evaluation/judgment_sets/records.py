"""The shapes in which a study reaches the numbers: arrays and plain records, without a database behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evaluation.arrays import Flags, Floats, Ints


@dataclass(frozen=True, slots=True)
class JudgmentTable:
    """The judgments of a study, one a row.

    Attributes:
        pk: (N,) int64, row ids, ascending in the order in which judgments came in.
        unit, worker: (N,) int64; row ids of units and workers.
        value: (N,) float64 in the unit's order; nan where the answer is an open one.
        answer: N open answers in the unit's order; None where there is a value.
        control: (N,) bool, judgments on control items.
        used: (N,) bool, judgments that count: not set aside by an import, nor by the control rule.
        left: (N,) bool, the option on the left was chosen; meaningless where ``sided`` is false.
        sided: (N,) bool, whether the unit had sides.
        seconds: (N,) float64; nan where unknown.
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
        """(N,) bool: judgments that enter consensus and agreement: used, and on no control item."""
        return self.used & ~self.control

    def given(self, keep: Flags) -> list[Any]:
        """The answers of the rows that ``keep`` names, as their kind takes them: whole numbers, or open ones."""
        return [
            self.answer[row] if np.isnan(self.value[row]) else int(self.value[row])
            for row in np.flatnonzero(keep).tolist()
        ]


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker of a study; ``anonymous`` stands for a place in a published total, not for a person."""

    pk: int
    name: str
    anonymous: bool
    simulated: bool


class UnitRow(NamedTuple):
    """A judged unit, no control item. A tuple, as there are many of them."""

    pk: int
    key: str
    kind: str
    pair: int | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What an adjudicator decided of a unit, in the unit's order, and how it came about: by whom and when (ISO 8601),
    why, and the votes as they stood when it was sent."""

    value: int
    by: str
    at: str
    reason: str
    votes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PairRow:
    """A candidate pair of a study."""

    pk: int
    key: str
    kind: str
    first: str
    second: str
    published_winner: int | None
