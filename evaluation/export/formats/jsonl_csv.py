"""Write judgments as JSON lines or CSV, one per row."""

from __future__ import annotations

import csv
import json
from typing import Any

from common.files import HashedFile
from common.streams import batched
from evaluation.export.encoding import Encoding, Work
from evaluation.export.rows import JudgmentRows, columns_of, no_judgments
from judgments.importers.judgment_tables import answer_cell
from judgments.importers.textio import guard_formula

LINES_AT_ONCE = 500
JSON_COLUMNS = {"answer", "content", "systems"}


def write_jsonl(rows: JudgmentRows, file: HashedFile) -> None:
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    for batch in batched(rows, LINES_AT_ONCE):
        file.write_text("".join(f"{encode(row)}\n" for row in batch))


class Lines:
    """A target for csv.writer that passes on UTF-8 lines."""

    def __init__(self, file: HashedFile) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.encode())


def csv_writer(file: HashedFile) -> Any:
    return csv.writer(Lines(file), lineterminator="\r\n")


def write_csv(rows: JudgmentRows, file: HashedFile, *, header: bool = True) -> None:
    """Write a line per judgment, guarded against spreadsheet formulas.

    Guarded cells get a leading apostrophe, which the importer removes (docs/exports.md).
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
    suffix = "jsonl"
    tallies = True
    progress_count = "judgments"
    counts = no_judgments()

    def write_part(self, work: Work, file: HashedFile) -> None:
        write_jsonl(work.rows(), file)


class CsvLines(JsonLines):
    suffix = "csv"

    def write_part(self, work: Work, file: HashedFile) -> None:
        write_csv(work.rows(), file, header=False)

    def join(self, work: Work, file: HashedFile) -> None:
        csv_writer(file).writerow(columns_of(work.study))
        super().join(work, file)
