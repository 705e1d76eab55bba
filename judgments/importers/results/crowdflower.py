"""CrowdFlower's (Figure Eight's, Appen's) full and aggregated reports.

A full report has a row per judgment: ``_unit_id, _created_at, _golden, _id, _started_at, _tainted, _worker_id`` and
others, the questions, the data columns and, for a test question, ``QUESTION_gold`` with the right answers, one per
line. An aggregated report has a row per unit: ``_unit_id, _golden, _trusted_judgments, _last_judgment_at`` and the
questions. Sources: descriptions of published reports (zenodo.org/records/3626185) and CrowdFlower's help pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path

from judgments.importers.readers import csv_records
from judgments.importers.records import Record, quoted
from judgments.importers.results.rows import ResultRow, ResultSource
from judgments.importers.textio import ImportNotes, ImportProblem, unguard_formula

GOLD = "_gold"
_FLAGS = {"true": True, "false": False, "": False}


def _read(path: Path, encoding: str | None, zone: tzinfo | None, notes: ImportNotes) -> Iterator[ResultRow]:
    for record in csv_records(path, encoding=encoding, required=("_unit_id",)):
        cells = {name: unguard_formula(cell) for name, cell in record.values.items()}
        golden = _flag(record, "_golden")
        if "_worker_id" in cells:
            said = {
                "WorkerId": cells["_worker_id"],
                "AssignmentId": cells.get("_id", ""),
                "AcceptTime": cells.get("_started_at", ""),
                "SubmitTime": cells.get("_created_at", ""),
                "AssignmentStatus": "Rejected" if _flag(record, "_tainted") else "Submitted",
            }
        elif "_trusted_judgments" in cells:
            notes.count("aggregated-votes")
            said = {"WorkerId": "anon-1", "SubmitTime": cells.get("_last_judgment_at", "")}
        else:
            raise ImportProblem(
                path, 1, None, "neither _worker_id nor _trusted_judgments", "a full or an aggregated report"
            )
        yield ResultRow(
            path, record.line, cells | said, zone, control=golden, truth=_truth(cells, golden, notes)
        )


def _truth(cells: dict[str, str], golden: bool, notes: ImportNotes) -> dict[str, str] | None:
    """Return the right answers by column; skip several right ones."""
    if not golden:
        return None
    truth: dict[str, str] = {}
    for name, cell in cells.items():
        if name.endswith(GOLD) and name != "_golden" and cell.strip():
            answers = [line.strip() for line in cell.splitlines() if line.strip()]
            if len(answers) > 1:
                notes.count("several-right")
            else:
                truth[name.removesuffix(GOLD)] = answers[0]
    return truth


def _flag(record: Record, column: str) -> bool:
    cell = str(record.values.get(column, "")).strip()
    if cell.lower() not in _FLAGS:
        raise record.problem(column, quoted(cell), "true or false")
    return _FLAGS[cell.lower()]


CROWDFLOWER = ResultSource(_read, unit="_unit_id", rejected="tainted")
