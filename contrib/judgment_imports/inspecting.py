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

MAX_LISTED_VALUES = 12
ROWS_PER_REPORT = 2_000  # progress is reported once for this many rows


@dataclass(slots=True)
class FileContent:
    """The numbers of a file's rows, units and workers. Units and workers are kept as hashes."""

    path: Path
    protocols: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    units: set[int] = field(default_factory=set)
    workers: set[int] = field(default_factory=set)
    anonymous: bool = False
    judgment_count: int = 0
    control_count: int = 0
    expected_count: int = 0
    unused_count: int = 0
    example: str = ""
    setting: str = ""
    notes: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        ordered_counts = sorted(self.values.items(), key=lambda item: _number_sort_key(item[0]))
        value_counts = ", ".join(f"{value}: {n:,}" for value, n in ordered_counts[:MAX_LISTED_VALUES])
        unlisted_count = len(self.values) - MAX_LISTED_VALUES
        return [
            f"{self.path}: {with_noun(self.judgment_count, 'judgment')} on {with_noun(len(self.units), 'unit')} by "
            f"{'anonymous people' if self.anonymous else with_noun(len(self.workers), 'worker')} "
            f"({', '.join(self.protocols)}).",
            f"  values: {value_counts}{f' and {unlisted_count:,} others' if unlisted_count > 0 else ''}",
            f"  {self.control_count:,} on check questions, {self.expected_count:,} of them with a right answer; "
            f"{self.unused_count:,} are not to be used",
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
    refused_rows = None if bad_rows is None else BadRows(bad_rows).collect(source)
    content = FileContent(path)
    for row in source.judgments(items, captions_of_dataset(material)):
        content.judgment_count += 1
        content.protocols[row.protocol or source.protocol or "no protocol"] += 1
        # aligned to the right, so that numbers sort by value
        content.values["open answer" if row.value is None else f"{row.value:>3}"] += 1
        content.units.add(hash(row.unit))
        content.workers.add(hash(row.worker))
        content.anonymous = content.anonymous or row.anonymous
        content.control_count += row.control
        content.expected_count += row.expected is not None
        content.unused_count += not row.used
        if not content.example:
            answer = row.answer if row.value is None else row.value
            content.example = (
                f"unit {row.unit}, image {row.image}, worker {row.worker}, answer {str(answer)[:80]}"
            )
        if content.judgment_count % ROWS_PER_REPORT == 0:
            # the number of rows is unknown, so the share approaches 1
            progress(
                1 - ROWS_PER_REPORT / (content.judgment_count + ROWS_PER_REPORT),
                with_noun(content.judgment_count, "judgment"),
            )
    if refused_rows is not None:
        refused_rows.write()
    scale_words = words_of_scale(source)
    # these words name the scale already
    content.setting = "" if scale_words else source.setting
    content.notes = [*source.notes.sentences(), *filter(None, [scale_words])]
    return content
