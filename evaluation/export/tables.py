"""Judgments as they are, one a row: JSON lines and CSV."""

from __future__ import annotations

import csv
import json
from typing import Any

from common.files import HashedFile
from common.streams import batched
from evaluation.export.rows import JudgmentRows, columns_of, no_judgments
from evaluation.export.work import Encoding, Work
from judgments.importers.formulas import guard_formula
from judgments.importers.judgment_tables import answer_cell

LINES_AT_ONCE = 500
JSON_COLUMNS = {"answer", "content", "systems"}


def write_jsonl(rows: JudgmentRows, file: HashedFile) -> None:
    """One JSON object a line, keys in the order of the columns."""
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    for batch in batched(rows, LINES_AT_ONCE):
        file.write_text("".join(f"{encode(row)}\n" for row in batch))


class Lines:
    """What csv.writer writes to: each line goes on as UTF-8."""

    def __init__(self, file: HashedFile) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.encode())


def csv_writer(file: HashedFile) -> Any:
    """A writer of RFC 4180 lines in UTF-8."""
    return csv.writer(Lines(file), lineterminator="\r\n")


def write_csv(rows: JudgmentRows, file: HashedFile, *, header: bool = True) -> None:
    """A header and one line a judgment; no cell is taken for a formula by a spreadsheet program.

    Such cells get an apostrophe in front, which the importer takes away again (docs/exports.md).
    """
    columns = columns_of(rows.study)
    writer = csv_writer(file)
    if header:
        writer.writerow(columns)
    for row in rows:
        for name in JSON_COLUMNS & row.keys():
            row[name] = answer_cell(row[name])
        row["expected"] = expected_cell(row["expected"])
        writer.writerow([_cell(row[name]) for name in columns])


def expected_cell(expected: Any) -> Any:
    """The right answer of a control item in one cell: open ones as JSON."""
    return json.dumps(expected, ensure_ascii=False) if isinstance(expected, (list, dict)) else expected


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if value is True:
        return "true"
    if value is False:
        return "false"
    return guard_formula(value) if isinstance(value, str) else value


class JsonLines(Encoding):
    """JSON lines in parts."""

    suffix = "jsonl"
    tallies = True
    told = "judgments"
    counts = no_judgments()

    def write_part(self, work: Work, file: HashedFile) -> None:
        """The lines."""
        write_jsonl(work.rows(), file)


class CsvLines(JsonLines):
    """CSV in parts, the first of which has the header."""

    suffix = "csv"

    def write_part(self, work: Work, file: HashedFile) -> None:
        """The lines."""
        write_csv(work.rows(), file, header=False)

    def join(self, work: Work, file: HashedFile) -> None:
        """The header, which a study without units has too, and then the parts."""
        csv_writer(file).writerow(columns_of(work.study))
        super().join(work, file)
