"""What a rule looks at: one worker's judgments in the order they were made, and what others said of the same units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

WINDOW = 300  # judgments that are looked at, the latest ones
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Answers:
    """What answers of a study look like to the rules.

    Attributes:
        values: how many different ones a worker may give; 0 where answers are open.
        sided: whether two candidates stand side by side, on sides that were drawn.
        near: answers so far apart still agree: 0 where they are names, a tenth of the scale (at least half a step)
            where they are quantities.
    """

    values: int
    sided: bool
    near: float

    @classmethod
    def of(cls, values: Sequence[int], *, level: str, sided: bool) -> Answers:
        """From a kind's allowed values and level of measurement."""
        nominal = level == "nominal" or not values
        near = 0.0 if nominal else max(0.5, (max(values) - min(values)) / 10)
        return cls(values=len(values), sided=sided, near=near)


class Given(NamedTuple):
    """One judgment of the worker.

    Attributes:
        assignment: any number that tells the worker's assignments apart.
        unit: row id of the unit.
        seen: the answer as the worker saw it; nan where it is an open one.
        value: the answer in the unit's order; nan where it is an open one.
        left: 1.0 where the option on the left was chosen, 0.0 for the right; nan where there are no sides.
        seconds: active time; nan where unknown.
        right: 1.0 or 0.0 on a control item; nan elsewhere.
        same: on a unit shown again: 1.0 where the answer was the earlier one, else 0.0; nan elsewhere.
        pasted: 1.0 where text was pasted into an open answer, 0.0 where not; nan where nothing is typed.
    """

    assignment: int
    unit: int
    seen: float
    value: float
    left: float = NAN
    seconds: float = NAN
    right: float = NAN
    same: float = NAN
    pasted: float = NAN

    @property
    def known(self) -> bool:
        """Whether it says something about the worker by itself: on a control item that counts, or on a repeat."""
        return not (math.isnan(self.right) and math.isnan(self.same))


class Other(NamedTuple):
    """Somebody else's judgment of a unit; nan for an open answer or an unknown time."""

    value: float
    seconds: float


@dataclass(frozen=True, slots=True)
class History:
    """A worker's latest judgments (at most ``WINDOW``), oldest first; (N,) arrays with the meaning of ``Given``.

    Attributes:
        answers: what answers look like.
        total: all judgments of the worker in the study, those before the window among them; for rules that look at
            control items alone, all on control items.
        fresh: how many of them came since the rules looked before.
        labels: (V,) the values that occur among the others' answers.
        others: (N, V) how many others gave each of them to the unit of each judgment.
        others_seconds: (M,) their times on these units.
    """

    answers: Answers
    total: int
    fresh: int
    assignment: Ints
    unit: Ints
    seen: Floats
    value: Floats
    left: Floats
    seconds: Floats
    right: Floats
    same: Floats
    pasted: Floats
    labels: Floats
    others: Ints
    others_seconds: Floats

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def others_count(self) -> Ints:
        """(N,) how many others judged the unit of each judgment."""
        return self.others.sum(axis=1)

    @property
    def others_same(self) -> Ints:
        """(N,) how many of them gave the worker's own answer."""
        return (self.others * (self.labels[None, :] == self.value[:, None])).sum(axis=1)


def make_history(
    given: Sequence[Given],
    others: Mapping[int, Sequence[Other]],
    *,
    answers: Answers,
    total: int,
    fresh: int,
) -> History:
    """Arrays from records.

    Args:
        given: the worker's judgments, oldest first; only the latest ``WINDOW`` are kept.
        others: unit -> what other workers answered so far.
    """
    kept = given[-WINDOW:]
    columns = np.array(kept, dtype=np.float64).reshape(-1, len(Given._fields)).T
    unit = columns[1].astype(np.int64)
    values: list[float] = []
    rows: list[int] = []
    seconds: list[float] = []
    for row, one in enumerate(unit.tolist()):
        for other in others.get(one, ()):
            values.append(other.value)
            rows.append(row)
            seconds.append(other.seconds)
    said = np.array(values, dtype=np.float64)
    known = ~np.isnan(said)
    labels, places = np.unique(said[known], return_inverse=True)
    counts = np.zeros((len(kept), len(labels)), dtype=np.int64)
    np.add.at(counts, (np.array(rows, dtype=np.int64)[known], places), 1)
    times = np.array(seconds, dtype=np.float64)
    return History(
        answers=answers,
        total=total,
        fresh=fresh,
        assignment=columns[0].astype(np.int64),
        unit=unit,
        seen=columns[2],
        value=columns[3],
        left=columns[4],
        seconds=columns[5],
        right=columns[6],
        same=columns[7],
        pasted=columns[8],
        labels=labels,
        others=counts,
        others_seconds=times[~np.isnan(times)],
    )
