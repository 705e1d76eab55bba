"""Result files of MTurk and of Turkle.

MTurk's are the requester pages' CSV and the older tab-separated ``.results`` (docs/crowds/batch-files.md names
public files and programs). Turkle's have the columns of ``Batch._get_csv_fieldnames`` in turkle/models.py of
github.com/hltcoe/turkle (version 2.10): MTurk's, but ``WorkerId`` is the user's row number and empty for anonymous
work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path

from judgments.importers.readers import Header, csv_rows, find_header, named_cells
from judgments.importers.results.mturk_cells import (
    ANSWER,
    OLD_ANSWERS,
    canonical,
    groups_of,
    is_known,
    old_answers,
)
from judgments.importers.results.rows import ResultRow
from judgments.importers.textio import ImportProblem, read_lines, unguard_formula

SEPARATORS = ",\t;"


def read_results(
    path: Path,
    *,
    required: Sequence[str] = ("WorkerId",),
    encoding: str | None = None,
    zone: tzinfo | None = None,
) -> Iterator[ResultRow]:
    """Yield the assignments of a result file, without rows of unfinished HITs.

    Args:
        required: canonical columns that the file must have.
        zone: of times without one.
    """
    lines = read_lines(path, encoding=encoding, newline="")
    header = _read_header(path, lines, required)
    groups = groups_of(name[len(ANSWER) :] for name in header.names if name.startswith(ANSWER))
    for line, values in csv_rows(path, lines, header):
        cells = _cells(path, line, header, values)
        if cells.get("WorkerId", "").strip() or cells.get("AssignmentId", "").strip():
            yield ResultRow(path, line, cells, zone, groups)


def _read_header(path: Path, lines: Iterator[tuple[int, str]], required: Sequence[str]) -> Header:
    wanted = f"a header with {' and '.join(required)}"
    header = find_header(
        path,
        *next(lines, (1, "")),
        wanted=wanted,
        score=lambda names: sum(map(is_known, names)),
        separators=SEPARATORS,
        rename=canonical,
    )
    for name in required:
        if name not in header.names:
            raise ImportProblem(path, header.line, None, f"no column {name}", wanted)
    return header


def _cells(path: Path, line: int, header: Header, values: list[str]) -> dict[str, str]:
    names, more = header.names, {}
    if names[-1].lower() == OLD_ANSWERS and len(values) >= len(names):
        names, values, behind = names[:-1], values[: len(names) - 1], values[len(names) - 1 :]
        try:
            more = old_answers(behind)
        except ValueError as error:
            raise ImportProblem(path, line, OLD_ANSWERS, str(error), "names and values in turn") from None
    elif header.separator == "\t" and len(values) < len(names):
        values = values + [""] * (len(names) - len(values))  # those tools omitted empty cells at the end
    cells = named_cells(path, line, names, values, header.separator) | more
    return {name: unguard_formula(cell) for name, cell in cells.items()}


def mturk_rows(path: Path, encoding: str | None, zone: tzinfo | None) -> Iterator[ResultRow]:
    return read_results(path, encoding=encoding, zone=zone)


def turkle_rows(path: Path, encoding: str | None, zone: tzinfo | None) -> Iterator[ResultRow]:
    for row in read_results(path, required=("AssignmentId", "WorkerId"), encoding=encoding, zone=zone):
        # Anonymous work counts as another unknown person each time.
        name = row.text("Turkle.Username").strip() or row.text("WorkerId").strip()
        worker = name or f"anonymous-{row.required('AssignmentId')}"
        yield replace(row, cells={**row.cells, "WorkerId": worker})
