"""A table of an arena's system pairs. A process reads it once, since pages are drawn from it at each claim."""

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
    """The P system pairs of a study as columns, in the order of ``SystemPair.position``.

    They do not change after the study is generated. The pool has all units of the study, pair by pair.

    Attributes:
        systems: names of the systems.
        first, second: (P,) indices in ``systems``.
        start: (P,) position of the pair's first unit in the pool.
        unit_counts: (P,) number of the pair's units.
    """

    systems: tuple[str, ...]
    first: Ints
    second: Ints
    start: Ints
    unit_counts: Ints

    def count_by_pair(self, positions: Collection[int]) -> Ints:
        """Return the (P,) numbers of units at these positions that belong to each pair."""
        # The pair of a position is the last one that starts at or before the position.
        pair = np.searchsorted(self.start, np.fromiter(positions, dtype=np.int64), side="right") - 1
        return np.bincount(pair, minlength=len(self.start)).astype(np.int64, copy=False)


def pair_table_of(study: Study) -> PairTable:
    return _read_pair_table(study.pk, study.generated_at)


@lru_cache(maxsize=64)
def _read_pair_table(study_id: int, generated_at: datetime | None) -> PairTable:
    """Read the system pairs, and cache them for these arguments.

    ``generated_at`` tells apart studies that had the same row id at different times.
    """
    rows = SystemPair.objects.filter(study=study_id).order_by("position")
    table = list(rows.values_list("first_system__name", "second_system__name", "start", "units"))
    first_names, second_names, starts, unit_counts = zip(*table, strict=True)
    systems, indices = np.unique(np.array((*first_names, *second_names)), return_inverse=True)
    first, second = np.split(indices, 2)
    start, units = np.array(starts, dtype=np.int64), np.array(unit_counts, dtype=np.int64)
    return PairTable(tuple(systems.tolist()), first, second, start, units)
