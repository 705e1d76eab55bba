"""Turkle's batch results: Mechanical Turk's columns, with the worker's name at the end.

The columns are those of ``Batch._get_csv_fieldnames`` in turkle/models.py of github.com/hltcoe/turkle (read in
version 2.10): ``WorkerId`` is the user's row number and empty for anonymous work, ``Turkle.Username`` the name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path

from judgments.importers.mturk.columns import canonical
from judgments.importers.mturk.judgments import ResultSource
from judgments.importers.mturk.results import ResultRow, read_results
from judgments.importers.notes import ImportNotes

USERNAME = "Turkle.Username"


def _read(path: Path, encoding: str | None, zone: tzinfo | None, notes: ImportNotes) -> Iterator[ResultRow]:
    for row in read_results(path, required=("AssignmentId", "WorkerId"), encoding=encoding, zone=zone):
        # work without a login is by somebody unknown, another one each time as far as anybody can say
        name = row.text(USERNAME).strip() or row.text("WorkerId").strip()
        worker = name or f"anonymous-{row.required('AssignmentId')}"
        yield replace(row, cells={**row.cells, "WorkerId": worker})


TURKLE = ResultSource(_read, canonical)
