"""What a file of judgments would become, without storing any of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from judgments.importers import ResultColumns, open_judgments
from judgments.models import Item
from judgments.services.generation import Progress, no_progress
from judgments.services.studies import find_dataset

MOST_VALUES = 12  # values that are listed one by one
REPORT_EVERY = 2_000


@dataclass(slots=True)
class Understood:
    """What was found in a file. Holds a digest a unit and worker, not the rows."""

    path: Path
    protocols: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    units: set[int] = field(default_factory=set)
    workers: set[int] = field(default_factory=set)
    judgments: int = 0
    controls: int = 0
    expected: int = 0
    unused: int = 0
    example: str = ""
    notes: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        """For the person who asked, a line each; the last says that nothing was stored."""
        shares = ", ".join(f"{value}: {n:,}" for value, n in sorted(self.values.items())[:MOST_VALUES])
        more = len(self.values) - MOST_VALUES
        return [
            f"{self.path}: {self.judgments:,} judgments on {len(self.units):,} units by {len(self.workers):,} "
            f"workers ({', '.join(self.protocols)}).",
            f"  values: {shares}{f' and {more:,} others' if more > 0 else ''}",
            f"  {self.controls:,} on control items, {self.expected:,} of them with a right answer; "
            f"{self.unused:,} are not to be used",
            f"  the first: {self.example}",
            *(f"  {note}" for note in self.notes),
            "Nothing was stored (--dry-run).",
        ]


def understand_judgments(
    *,
    format: str,
    path: Path,
    dataset: str,
    protocol: str | None = None,
    encoding: str | None = None,
    columns: ResultColumns | None = None,
    progress: Progress = no_progress,
) -> Understood:
    """Read a file of judgments as ``import_judgments`` would, and say what it holds.

    Raises:
        NotThere: no such dataset.
        ImportProblem: what an import would be refused for.
    """
    items = dict(Item.objects.filter(dataset=find_dataset(dataset)).values_list("name", "pk"))
    source = open_judgments(format, path, protocol=protocol, encoding=encoding, columns=columns)
    found = Understood(path)
    for row in source.judgments(items):
        found.judgments += 1
        found.protocols[row.protocol or source.protocol or "no protocol"] += 1
        found.values["open answer" if row.value is None else f"{row.value:>3}"] += 1
        found.units.add(hash(row.unit))
        found.workers.add(hash(row.worker))
        found.controls += row.control
        found.expected += row.expected is not None
        found.unused += not row.used
        if not found.example:
            answer = row.answer if row.value is None else row.value
            found.example = (
                f"unit {row.unit}, image {row.image}, worker {row.worker}, answer {str(answer)[:80]}"
            )
        if found.judgments % REPORT_EVERY == 0:
            progress(1 - REPORT_EVERY / (found.judgments + REPORT_EVERY), f"{found.judgments:,} judgments")
    found.notes = source.notes.sentences()
    return found
