"""Export the demographics of participants that the crowd supplies, with one line for each participant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.db.models import Exists, IntegerField, OuterRef, QuerySet, Value

from annotation.models import Assignment, Demographics
from common.files import HashedFile, guard_formula
from evaluation.data.export.encodings import Encoding, ExportWork, Stage
from evaluation.data.export.formats.judgments import csv_writer
from judgments.models import Study
from judgments.studies.designs import design_of


def _demographics_of_participants(study: Study) -> QuerySet[Any]:
    work = Assignment.objects.filter(study=study, worker=OuterRef("worker"), submitted_at__isnull=False)
    rows = Demographics.objects.filter(Exists(work), study=study)
    return rows.annotate(position=Value(0, IntegerField()))  # parts of an export are ordered by position


class DemographicLines(Encoding):
    """Write a line for each worker with demographics: the pseudonym, and the demographics that the design asks for.

    The parts of the file are made of rows of ``Demographics`` instead of units.
    """

    suffix = "people"
    progress_count = "people"
    counts = {"people": 0}

    def stages(self, work: ExportWork) -> Sequence[Stage]:
        return (Stage(self.suffix, _demographics_of_participants, pieces_noun="people"),)

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        names = design_of(work.study).crowd.demographics
        rows = Demographics.objects.filter(pk__in=work.pieces).select_related("worker").order_by("pk")
        for row in rows:
            _write_row(file, [row.worker.name, *(row.answers.get(name, "") for name in names)])
            work.counts["people"] += 1

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        _write_row(file, ["worker", *design_of(work.study).crowd.demographics])
        super().join(work, file, parts)


def _write_row(file: HashedFile, cells: Sequence[str]) -> None:
    csv_writer(file).writerow(guard_formula(cell) for cell in cells)
