"""What the imports of datasets, candidates and rankings share: batches of rows, progress, conflicts and the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from django.db import IntegrityError

from common.errors import DataConflict

ROWS_PER_BATCH = 2_000


def estimated_share(row_count: int) -> float:
    """Return a share of progress that rises towards 0.9 with the number of rows, since their total is unknown."""
    return 0.9 * row_count / (row_count + ROWS_PER_BATCH)


@contextmanager
def duplicates_as_conflict(subject: str, stored_rows: str = "it") -> Iterator[None]:
    """Raise DataConflict for an IntegrityError in the block, which means that another import stored the same rows."""
    try:
        yield
    except IntegrityError as error:
        raise DataConflict(
            f"{subject} was not imported: another import stored {stored_rows} at the same time; look at what is there."
        ) from error


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The result of an import.

    Attributes:
        what: the name of the imported dataset, study or system; the names of several are separated by commas.
        created: whether the import changed something.
        counts: numbers of rows by noun, such as ``{"images": 100, "captions": 500}``.
        notes: sentences about oddities of the data.
    """

    what: str
    created: bool
    counts: dict[str, int]
    notes: list[str] = field(default_factory=list)

    def lines(self, noun: str) -> list[str]:
        """Return the lines that a command prints. ``noun`` is the kind of data, such as "Dataset"."""
        outcome = "imported" if self.created else "was there already with the same rows; nothing changed"
        counts = [f"  {count:>9,} {name}" for name, count in self.counts.items() if count]
        return [f"{noun} {self.what}: {outcome}.", *counts, *(f"  {note}" for note in self.notes)]

    def with_system(self, system: ImportSummary) -> ImportSummary:
        """Return this summary of a dataset with that of a system's captions from the same upload."""
        counts = self.counts | {f"outputs of {system.what}": system.counts["captions"]}
        notes = [*self.notes, *(f"{system.what}: {note}" for note in system.notes if note not in self.notes)]
        return replace(self, created=self.created or system.created, counts=counts, notes=notes)
