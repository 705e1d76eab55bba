"""The pairs of a study's systems as columns, read once for each generation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np

from judgments.models import Study, SystemPair
from quorum.numeric.arrays import Ints


@dataclass(frozen=True, slots=True)
class PairTable:
    """The P pairs of a study's systems as columns, in order; fixed after generation.

    ``first`` and ``second`` index ``systems``; ``start`` and ``units`` are the first position and number of its units.
    """

    systems: tuple[str, ...]
    first: Ints
    second: Ints
    start: Ints
    units: Ints

    def count_by_pair(self, positions: Collection[int]) -> Ints:
        """Return (P,) the number of these units of each pair."""
        pair = np.searchsorted(self.start, np.fromiter(positions, dtype=np.int64), side="right") - 1
        return np.bincount(pair, minlength=len(self.start)).astype(np.int64, copy=False)


def pair_table_of(study: Study) -> PairTable:
    return _read_pair_table(study.pk, study.generated_at)


@lru_cache(maxsize=64)
def _read_pair_table(study: int, generated_at: datetime | None) -> PairTable:
    """Read the pairs of systems. ``generated_at`` keeps studies apart that had the same row id."""
    rows = SystemPair.objects.filter(study=study).order_by("position")
    table = list(rows.values_list("first_system__name", "second_system__name", "start", "units"))
    ones, twos, *columns = zip(*table, strict=True)
    systems, places = np.unique(np.array((*ones, *twos)), return_inverse=True)
    first, second = places[: len(table)], places[len(table) :]
    start, units = (np.array(column, dtype=np.int64) for column in columns)
    return PairTable(tuple(systems.tolist()), first, second, start, units)
