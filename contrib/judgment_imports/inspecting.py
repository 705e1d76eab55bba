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
from contrib.judgment_imports.reading import captions_of_dataset, describe_scale, open_judgments_of
from judgments.importers import ColumnMapping
from judgments.importers.records.values import ids_by_name
from judgments.models import Item
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.studies import find_dataset

MAX_LISTED_VALUES = 12
ROWS_PER_REPORT = 2_000  # progress is reported once for this many rows


@dataclass(slots=True)
class FileContent:
    """Counts and other facts about a file of judgments. Units and workers are kept as hashes, to need little memory.

    Attributes:
        protocol_counts: the number of judgments of each protocol.
        value_counts: the number of judgments with each value, as text.
        control_count: the number of judgments of check questions.
        expected_count: the number of judgments of check questions whose right answer the file states.
        unused_count: the number of judgments that results leave out.
        example: the first row, in words.
        setting: the design options that the answers need.
    """

    path: Path
    protocol_counts: Counter[str] = field(default_factory=Counter)
    value_counts: Counter[str] = field(default_factory=Counter)
    unit_hashes: set[int] = field(default_factory=set)
    worker_hashes: set[int] = field(default_factory=set)
    has_anonymous_people: bool = False
    judgment_count: int = 0
    control_count: int = 0
    expected_count: int = 0
    unused_count: int = 0
    example: str = ""
    setting: str = ""
    notes: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        values = sorted(self.value_counts, key=_number_sort_key)[:MAX_LISTED_VALUES]
        listed_values = ", ".join(f"{value}: {self.value_counts[value]:,}" for value in values)
        unlisted_count = len(self.value_counts) - MAX_LISTED_VALUES
        other_values = f" and {unlisted_count:,} others" if unlisted_count > 0 else ""
        workers = with_noun(len(self.worker_hashes), "worker")
        people = "anonymous people" if self.has_anonymous_people else workers
        return [
            f"{self.path}: {with_noun(self.judgment_count, 'judgment')} on {with_noun(len(self.unit_hashes), 'unit')} "
            f"by {people} ({', '.join(self.protocol_counts)}).",
            f"  values: {listed_values}{other_values}",
            f"  {self.control_count:,} on check questions, {self.expected_count:,} of them with a right answer; "
            f"{self.unused_count:,} are not to be used",
            f"  the first: {self.example}",
            *([f"  options of the study by these values: {self.setting}"] if self.setting else []),
            *(f"  {note}" for note in self.notes),
        ]


def _number_sort_key(text: str) -> tuple[float, str]:
    """Return a key that sorts numbers by value, and other texts after them."""
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
    """Read a file as ``import_judgments`` would, and return what it holds. ``design`` has keys of a study file."""
    dataset_row = find_dataset(dataset)
    items = ids_by_name(Item.objects.filter(dataset=dataset_row).values_list("name", "pk"))
    source = open_judgments_of(
        dataset_row,
        format=format,
        path=path,
        protocol=protocol,
        encoding=encoding,
        mapping=mapping,
        scale=scale,
        design_keys=design or {},
    )
    refused_rows = None if bad_rows is None else BadRows(bad_rows).collect(source)
    content = FileContent(path)
    for row in source.judgments(items, captions_of_dataset(dataset_row)):
        content.judgment_count += 1
        content.protocol_counts[row.protocol or source.protocol or "no protocol"] += 1
        content.value_counts["open answer" if row.value is None else f"{row.value:>3}"] += 1
        content.unit_hashes.add(hash(row.unit))
        content.worker_hashes.add(hash(row.worker))
        content.has_anonymous_people = content.has_anonymous_people or row.anonymous
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
            share = 1 - ROWS_PER_REPORT / (content.judgment_count + ROWS_PER_REPORT)
            progress(share, with_noun(content.judgment_count, "judgment"))
    if refused_rows is not None:
        refused_rows.write()
    scale_note = describe_scale(source)
    # if there is a note, it already states the setting, which is the scale
    content.setting = "" if scale_note else source.setting
    content.notes = [*source.notes.sentences(), *filter(None, [scale_note])]
    return content
