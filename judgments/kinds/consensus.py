"""The consensus of a unit (``Consensus``), and of many units as arrays (``ConsensusColumns``).

A study may have a million units, and arrays are faster than as many objects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import blake2b
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from quorum.numeric.signatures import quorum_version


@dataclass(frozen=True, slots=True)
class Consensus:
    """The consensus of a unit's n included judgments.

    Attributes:
        value: the number of the winner, 0 or 1 for relevance, or the mean grade; None on a tie or without judgments.
        share: the winner's share of the answers; for relevance, the share of yes; None for grades.
        margin: the winner's share minus the second largest share; None for grades.
        votes: the number of judgments for each answer, or for each part of open answers, by the text of it.
        answer: the consensus of open answers, in the kind's form; None for kinds with values.
    """

    n: int
    value: float | None = None
    share: float | None = None
    margin: float | None = None
    tie: bool = False
    votes: Mapping[str, int] = field(default_factory=dict)
    answer: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class ConsensusColumns(Mapping[int, Consensus]):
    """The consensus of units, most of them as columns.

    A unit is either in the columns or in ``overrides``, never in both (``with_overrides``).

    Attributes:
        unit: (U,) row ids of the units in the columns, ascending.
        n, share, margin, tie: (U,) the attributes of ``Consensus``.
        value: (U,) consensus values, nan on a tie. ``is_integer`` says whether they are whole numbers.
        votes: (U, L) numbers of judgments for each of the L ``answers``, which are values as texts.
        overrides: the consensus of the other units, such as adjudicated units, by the unit's row id.
    """

    unit: npt.NDArray[np.int64]
    n: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64] | None
    margin: npt.NDArray[np.float64] | None
    tie: npt.NDArray[np.bool_]
    votes: npt.NDArray[np.int64]
    answers: tuple[str, ...]
    is_integer: bool
    overrides: Mapping[int, Consensus] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.unit) + len(self.overrides)

    def __iter__(self) -> Iterator[int]:
        yield from self.unit.tolist()
        yield from self.overrides

    def __getitem__(self, unit: int) -> Consensus:
        if unit in self.overrides:
            return self.overrides[unit]
        index = int(np.searchsorted(self.unit, unit))
        if index == len(self.unit) or self.unit[index] != unit:
            raise KeyError(unit)
        value = nan_as_none(self.value[index])
        return Consensus(
            n=int(self.n[index]),
            value=int(value) if self.is_integer and value is not None else value,
            share=None if self.share is None else float(self.share[index]),
            margin=None if self.margin is None else float(self.margin[index]),
            tie=bool(self.tie[index]),
            votes=dict(zip(self.answers, self.votes[index].tolist(), strict=True)),
        )

    def cells(self, indices: npt.NDArray[np.int64]) -> tuple[Iterable[Any], ...]:
        """Return columns n, value, share, margin, tie and votes (as JSON text), for the database.

        ``indices`` are the (M,) positions of the units in the columns. If there is no share or margin, as for grades,
        its column repeats None without end.
        """

        @cache
        def as_text(counts: tuple[int, ...]) -> str:
            return json.dumps(dict(zip(self.answers, counts, strict=True)))

        return (
            self.n[indices].tolist(),
            [None if math.isnan(value) else value for value in self.value[indices].tolist()],
            repeat(None) if self.share is None else self.share[indices].tolist(),
            repeat(None) if self.margin is None else self.margin[indices].tolist(),
            self.tie[indices].tolist(),
            map(as_text, map(tuple, self.votes[indices].tolist())),
        )

    def number_outcomes(
        self, indices: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Number the distinct outcomes of the units at (M,) positions ``indices`` in the columns.

        An outcome is a whole consensus. Return (M,) numbers of outcomes, from 0, and the first position of each.
        """
        columns = (self.n, self.value, self.share, self.margin, self.tie, self.votes)
        table = np.column_stack(
            [column[indices].astype(np.float64) for column in columns if column is not None]
        )
        row_size = table.itemsize * table.shape[1]
        # the bytes of a row are its key, so that nan equals nan
        rows = table.view(np.dtype((np.void, row_size))).ravel().tolist()
        number_by_row: dict[Any, int] = {}
        numbers = np.array(
            [number_by_row.setdefault(row, len(number_by_row)) for row in rows], dtype=np.int64
        )
        _, first_positions = np.unique(numbers, return_index=True)
        return numbers, indices[first_positions]

    def digest(self, units: npt.NDArray[np.int64], indices: npt.NDArray[np.int64]) -> bytes:
        """Return a digest of the consensus of units that are not in ``overrides``, to find out whether it is stored.

        It differs if any attribute or Quorum's version differs.

        Args:
            units: (M,) row ids of the units.
            indices: (M,) positions of the units in the columns; -1 for a unit without a consensus.
        """
        digest = blake2b(repr((self.answers, self.is_integer, quorum_version())).encode(), digest_size=16)
        indices = indices[indices >= 0]
        for column in (self.n, self.value, self.share, self.margin, self.tie, self.votes):
            digest.update(b"" if column is None else column[indices].tobytes())
        for rows in (units, self.unit[indices]):
            digest.update(rows.tobytes())
        return digest.digest()

    def with_overrides(self, overrides: Mapping[int, Consensus]) -> ConsensusColumns:
        """Return a copy in which the consensus of some units is replaced or added.

        Units that are replaced leave the columns.
        """
        is_kept = ~np.isin(self.unit, list(overrides))
        return replace(
            self,
            unit=self.unit[is_kept],
            n=self.n[is_kept],
            value=self.value[is_kept],
            share=None if self.share is None else self.share[is_kept],
            margin=None if self.margin is None else self.margin[is_kept],
            tie=self.tie[is_kept],
            votes=self.votes[is_kept],
            overrides={**self.overrides, **overrides},
        )


def nan_as_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
