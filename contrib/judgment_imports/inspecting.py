"""Report what an import of a file of judgments would do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.utils import translation

from common.amounts import with_noun
from contrib.judgment_imports.bad_rows import BadRows
from contrib.judgment_imports.reading import captions_of_dataset, open_judgments_of, words_of_scale
from judgments.importers import ColumnMapping
from judgments.importers.records.values import by_name
from judgments.models import Item
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.studies import find_dataset

MAX_VALUES_LISTED = 12
REPORT_EVERY = 2_000


@dataclass(slots=True)
class FileContent:
    """The numbers of a file's rows, units and workers. Units and workers are kept as hashes."""

    path: Path
    protocols: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    units: set[int] = field(default_factory=set)
    workers: set[int] = field(default_factory=set)
    anonymous: bool = False
    judgments: int = 0
    controls: int = 0
    expected: int = 0
    unused: int = 0
    example: str = ""
    setting: str = ""
    notes: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        listed = sorted(self.values.items(), key=lambda counted: _number_sort_key(counted[0]))
        shares = ", ".join(f"{value}: {n:,}" for value, n in listed[:MAX_VALUES_LISTED])
        more = len(self.values) - MAX_VALUES_LISTED
        return [
            f"{self.path}: {with_noun(self.judgments, 'judgment')} on {with_noun(len(self.units), 'unit')} by "
            f"{'anonymous people' if self.anonymous else with_noun(len(self.workers), 'worker')} "
            f"({', '.join(self.protocols)}).",
            f"  values: {shares}{f' and {more:,} others' if more > 0 else ''}",
            f"  {self.controls:,} on check questions, {self.expected:,} of them with a right answer; "
            f"{self.unused:,} are not to be used",
            f"  the first: {self.example}",
            *([f"  options of the study by these values: {self.setting}"] if self.setting else []),
            *(f"  {note}" for note in self.notes),
        ]


def _number_sort_key(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return math.inf, text


@translation.override("en")
def inspect_judgments(
    *,
    format: str,
    path: Path,
    dataset: str,
    protocol: str | None = None,
    encoding: str | None = None,
    mapping: ColumnMapping | None = None,
    bad_rows: Path | None = None,
    design: Mapping[str, Any] | None = None,
    scale: str = "",
    progress: Progress = no_progress,
) -> FileContent:
    """Read a file as ``import_judgments`` would, and report its content."""
    material = find_dataset(dataset)
    items = by_name(Item.objects.filter(dataset=material).values_list("name", "pk"))
    source = open_judgments_of(material, format, path, protocol, encoding, mapping, scale, design or {})
    left_out = None if bad_rows is None else BadRows(bad_rows).collect(source)
    content = FileContent(path)
    for row in source.judgments(items, captions_of_dataset(material)):
        content.judgments += 1
        content.protocols[row.protocol or source.protocol or "no protocol"] += 1
        content.values["open answer" if row.value is None else f"{row.value:>3}"] += 1
        content.units.add(hash(row.unit))
        content.workers.add(hash(row.worker))
        content.anonymous = content.anonymous or row.anonymous
        content.controls += row.control
        content.expected += row.expected is not None
        content.unused += not row.used
        if not content.example:
            answer = row.answer if row.value is None else row.value
            content.example = (
                f"unit {row.unit}, image {row.image}, worker {row.worker}, answer {str(answer)[:80]}"
            )
        if content.judgments % REPORT_EVERY == 0:
            progress(
                1 - REPORT_EVERY / (content.judgments + REPORT_EVERY),
                with_noun(content.judgments, "judgment"),
            )
    if left_out is not None:
        left_out.write()
    scale_words = words_of_scale(source)
    content.setting = "" if scale_words else source.setting
    content.notes = [*source.notes.sentences(), *filter(None, [scale_words])]
    return content
