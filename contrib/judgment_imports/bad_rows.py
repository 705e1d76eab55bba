"""Leave invalid rows out of an imported table, and write them to a CSV file with the line and the reason."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from common.files import as_cell, check_writable_path, csv_line, guard_formula, write_lines
from judgments.importers.judgment_tables import TableJudgments
from judgments.importers.problems import ImportProblem
from judgments.importers.records.record import Record
from judgments.importers.records.sources import JudgmentSource


class BadRows:
    """The file of the rows that an import of a table leaves out, one for the studies of all criteria in the table."""

    def __init__(self, path: Path) -> None:
        check_writable_path(path)
        self._path = path
        self._lines: list[str] = []

    def collect(self, source: JudgmentSource) -> BadRows:
        """Collect the rows that ``source`` will refuse while it is read. Return this object.

        Raises:
            ImportProblem: the source is not a table.
        """
        if not isinstance(source, TableJudgments):
            raise ImportProblem(
                source.path,
                line=None,
                column="--bad-rows",
                actual="a published set",
                expected="it for tables alone",
            )
        source.row_problems.on_bad_row = partial(self._add_row, source)
        # the source's columns have Quorum's names, none of which looks like a formula
        self._lines = self._lines or [csv_line(("line", "problem", *source.columns))]
        return self

    def _add_row(self, source: TableJudgments, record: Record, problem: ImportProblem) -> None:
        source.notes.count("bad-row")
        cells = (record.line, str(problem), *map(record.values.get, source.columns))
        self._lines.append(csv_line(guard_formula(as_cell(cell)) for cell in cells))

    def write(self) -> None:
        # The table is read once for each criterion, and again to recognise an earlier import, so a row can be refused
        # several times.
        write_lines(self._path, dict.fromkeys(self._lines))
