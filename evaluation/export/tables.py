"""Judgments as they are, one a row: JSON lines, CSV and Parquet."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evaluation.export.files import HashedFile
from evaluation.export.rows import JudgmentRows, columns_of
from evaluation.provenance import quorum_version
from judgments.importers.formulas import guard_formula
from judgments.importers.judgment_tables import answer_cell
from judgments.models import Study
from judgments.streams import batched

LINES_AT_ONCE = 500
ROW_GROUP = 8_192


def write_jsonl(rows: JudgmentRows, file: HashedFile) -> None:
    """One JSON object a line, keys in the order of the columns."""
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    for batch in batched(rows, LINES_AT_ONCE):
        file.write_text("".join(f"{encode(row)}\n" for row in batch))


class _Lines:
    """What csv.writer writes to: each line goes on as UTF-8."""

    def __init__(self, file: HashedFile) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.encode())


def csv_writer(file: HashedFile) -> Any:
    """A writer of RFC 4180 lines in UTF-8."""
    return csv.writer(_Lines(file), lineterminator="\r\n")


def write_csv(rows: JudgmentRows, file: HashedFile) -> None:
    """A header and one line a judgment; no cell is taken for a formula by a spreadsheet program.

    Such cells get an apostrophe in front, which the importer takes away again (docs/exports.md).
    """
    columns = columns_of(rows.study)
    writer = csv_writer(file)
    writer.writerow(columns)
    for row in rows:
        if "answer" in row:
            row["answer"] = answer_cell(row["answer"])
        writer.writerow([_cell(row[name]) for name in columns])


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if value is True:
        return "true"
    if value is False:
        return "false"
    return guard_formula(value) if isinstance(value, str) else value


_TYPES = {
    "value": pa.int16(),
    "control": pa.bool_(),
    "used": pa.bool_(),
    "simulated": pa.bool_(),
    "accepted_at": pa.timestamp("us", tz="UTC"),
    "submitted_at": pa.timestamp("us", tz="UTC"),
    "seconds": pa.float64(),
}


def parquet_schema(study: Study) -> pa.Schema:
    """The columns of the study's judgments with their types; ``expected`` and ``answer`` are texts."""
    return pa.schema(
        [pa.field(name, _TYPES.get(name, pa.string())) for name in columns_of(study)],
        metadata={"quorum.study": study.slug, "quorum.version": quorum_version()},
    )


def write_parquet(rows: JudgmentRows, file: HashedFile) -> None:
    """Row groups of some thousand judgments, zstd; open answers as JSON texts."""
    schema = parquet_schema(rows.study)
    with pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, compression="zstd") as writer:
        for batch in batched(rows, ROW_GROUP):
            writer.write_batch(pa.RecordBatch.from_pylist([_typed(row) for row in batch], schema=schema))


def _typed(row: dict[str, Any]) -> dict[str, Any]:
    for name in ("accepted_at", "submitted_at"):
        if row[name] is not None:
            row[name] = datetime.fromisoformat(row[name])
    if row["expected"] is not None:
        row["expected"] = str(row["expected"])
    if "answer" in row:
        row["answer"] = answer_cell(row["answer"]) or None
    return row
