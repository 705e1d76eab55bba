"""A study's judgments, units, pairs and workers as columns and rows, independent of the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from judgments.design.numbers import plain_number
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.aggregation.pair_answers import FIRST, SECOND

if TYPE_CHECKING:
    import pyarrow as pa

    from annotation.quality.controls import ControlRecord
    from judgments.kinds import Kind


NO_PAIR = -1  # stands in for the row id of a unit's pair if it has none

# Largest number of different answers for which exact agreement is reported. With more, only alpha is meaningful.
MAX_OUTCOMES = 10
UNITS_PER_BATCH = 20_000  # units that are read or converted at once


def has_few_outcomes(kind: Kind) -> bool:
    """Return whether each answer is one of a few values, so that the distribution of answers is meaningful."""
    return not kind.is_open and 2 <= len(kind.outcomes) <= MAX_OUTCOMES


@dataclass(frozen=True, slots=True)
class JudgmentTable:
    """N judgments of a study, ordered by unit and worker. Revised ones and those of excluded workers are left out.

    Attributes:
        pk: (N,) int64 row ids, which grow in the order of arrival.
        unit, worker: (N,) int64 row ids.
        value: (N,) float64, for the unit's order of options; nan for open answers; without strength and confidence.
        full_value: (N,) float64, the value with strength and confidence (pair_answers.py).
        answer: N open answers for the unit's order of options, None where the answer is a value; () if all are values.
        control: (N,) bool, whether the unit is a control item.
        used: (N,) bool, false if excluded by an import or by the rule on control items.
        side: (N,) int8, the option shown on the left, 1 or 2; 0 without sides.
        seconds: (N,) float64, the time that the judgment took; nan if unknown.
        records: results on control items by the worker's row id; empty if not loaded.
    """

    pk: Ints
    unit: Ints
    worker: Ints
    value: Floats
    full_value: Floats
    answer: tuple[Any, ...]
    control: Flags
    used: Flags
    side: NDArray[np.int8]
    seconds: Floats
    data_hash: str
    records: Mapping[int, ControlRecord] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def is_counted(self) -> Flags:
        """(N,) flags of judgments that are used and not on control items."""
        return self.used & ~self.control

    @property
    def has_side(self) -> Flags:
        """(N,) flags of judgments that chose one of two sides."""
        return (self.side > 0) & ((self.value == FIRST) | (self.value == SECOND))

    @property
    def chose_left(self) -> Flags:
        """(N,) flags of judgments that chose the option on the left."""
        return (self.side > 0) & (self.value == self.side)

    @property
    def order_sign(self) -> Floats:
        """(N,) numbers: 1 if the first option was on the left, -1 if the second was, 0 without sides."""
        return (self.side == FIRST) * 1.0 - (self.side == SECOND)

    def answers_of(self, is_kept: Flags) -> list[Any]:
        """Return the answers, numbers or open answers, of the rows for which ``is_kept`` is true."""
        return [
            self.answer[row] if np.isnan(self.full_value[row]) else plain_number(self.full_value[row])
            for row in np.flatnonzero(is_kept).tolist()
        ]


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker. The name of an ``anonymous`` worker identifies nobody."""

    pk: int
    name: str
    anonymous: bool
    simulated: bool


class UnitRow(NamedTuple):
    """A judged unit. ``kind`` is the pair kind, "" without one; ``pair`` is the row id of its pair."""

    pk: int
    key: str
    kind: str
    pair: int | None


class Units(Sequence[UnitRow]):
    """Judged units as columns. Row objects are created on access.

    Attributes:
        pk: (U,) row ids.
        key: (U,) strings of Arrow.
        kind: (U,) positions in ``kinds``, the distinct kinds of pairs.
        pair: (U,) row ids of pairs; NO_PAIR if the unit has none.
    """

    def __init__(self, pk: Ints, key: pa.Array, kind: Ints, kinds: Sequence[str], pair: Ints) -> None:
        self.pk, self.key, self.kind, self.kinds, self.pair = pk, key, kind, tuple(kinds), pair

    @classmethod
    def from_rows(cls, rows: Sequence[UnitRow]) -> Units:
        if isinstance(rows, Units):
            return rows
        import pyarrow as pa  # imported late, because most web processes never need its 40 MB

        pk, key, kind, pair = zip(*rows, strict=True) if rows else ((), (), (), ())
        columns = (
            pa.array(pk, pa.int64()),
            pa.array(key, pa.large_string()),
            pa.array(kind),
            pa.array(pair, pa.int64()),
        )
        return cls.of_columns(pa.table(columns, names=["pk", "key", "kind", "pair"]))

    @classmethod
    def of_columns(cls, table: pa.Table) -> Units:
        """Return the units of a table with the same column names. ``kind`` must be text; a missing ``pair`` is null."""
        kind = table["kind"].cast("string").combine_chunks().dictionary_encode()
        return cls(
            table["pk"].to_numpy(),
            table["key"].combine_chunks(),
            kind.indices.to_numpy().astype(np.int64),
            kind.dictionary.to_pylist(),
            table["pair"].fill_null(NO_PAIR).to_numpy(),
        )

    def __len__(self) -> int:
        return len(self.pk)

    def __iter__(self) -> Iterator[UnitRow]:
        for start in range(0, len(self), UNITS_PER_BATCH):
            yield from self._rows(slice(start, start + UNITS_PER_BATCH))

    @overload
    def __getitem__(self, index: int) -> UnitRow: ...

    @overload
    def __getitem__(self, index: slice) -> list[UnitRow]: ...

    def __getitem__(self, index: int | slice) -> UnitRow | list[UnitRow]:
        if isinstance(index, slice):
            return self._rows(index)
        return self._rows(slice(index, index + 1 or None))[0]  # None: the index -1 is the last

    def _rows(self, positions: slice) -> list[UnitRow]:
        pairs = (None if pair == NO_PAIR else pair for pair in self.pair[positions].tolist())
        kinds = (self.kinds[kind] for kind in self.kind[positions].tolist())
        columns = self.pk[positions].tolist(), self.key[positions].to_pylist(), kinds, pairs
        return list(map(UnitRow, *columns))

    def units_at(self, positions: Ints) -> Units:
        """Return the units at these positions, in this order."""
        key = self.key.take(positions)
        return Units(self.pk[positions], key, self.kind[positions], self.kinds, self.pair[positions])


def texts_of_column(column: pa.Array) -> Iterator[str]:
    """Yield the texts, of which only UNITS_PER_BATCH are converted at once, to save memory."""
    for start in range(0, len(column), UNITS_PER_BATCH):
        yield from column[start : start + UNITS_PER_BATCH].to_pylist()


@dataclass(frozen=True, slots=True)
class Decision:
    """An adjudication.

    Attributes:
        value: the decision, for the unit's order of options.
        by: name of the adjudicator.
        at: time of the decision in ISO 8601.
        votes: number of votes for each answer at that time.
    """

    value: float
    by: str
    at: str
    reason: str
    votes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PairRow:
    """A candidate pair. ``first`` and ``second`` are its captions' ids; ``published_winner`` is 1, 2 or None."""

    pk: int
    key: str
    kind: str
    first: str
    second: str
    published_winner: int | None
