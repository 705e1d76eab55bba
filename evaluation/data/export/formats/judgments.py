"""Export judgments as JSON lines, CSV or Parquet, with one judgment in each row."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.files import HashedFile, guard_formula
from common.rows.batches import batched
from evaluation.data.export.encodings import Encoding, ExportWork
from evaluation.data.export.formats.judgment_columns import file_columns, study_scale
from evaluation.data.export.formats.judgment_rows import JudgmentRows, zero_counts
from judgments.kinds.base import answer_cell
from judgments.models import Study
from quorum.numeric.signatures import quorum_version

if TYPE_CHECKING:
    import pyarrow as pa


LINES_PER_BATCH = 500
ROWS_PER_GROUP = 8_192  # rows of a Parquet file that are compressed together
JSON_COLUMNS = {"answer", "content", "systems"}  # columns that are text with JSON in CSV and Parquet


def _rows_of_part(work: ExportWork) -> JudgmentRows:
    """Return the judgments of a part, whose pieces are units. Reading them updates the part's counts and tally."""
    return JudgmentRows(
        work.study, work.moment, work.revisions, unit_ids=work.pieces, counts=work.counts, tally=work.tally
    )


def write_jsonl(rows: JudgmentRows, file: HashedFile) -> None:
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    for batch in batched(rows, LINES_PER_BATCH):
        file.write_text("".join(f"{encode(row)}\n" for row in batch))


class UTF8Writer:
    """A wrapper of a binary file for ``csv.writer``, which writes text. It encodes lines as UTF-8."""

    def __init__(self, file: HashedFile) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.encode())


def csv_writer(file: HashedFile) -> Any:
    return csv.writer(UTF8Writer(file), lineterminator="\r\n")


def write_csv(rows: JudgmentRows, file: HashedFile) -> None:
    """Write a line for each judgment, without the header. A spreadsheet cannot mistake a cell for a formula."""
    columns = file_columns(rows.study)
    writer = csv_writer(file)
    for row in rows:
        for name in JSON_COLUMNS & row.keys():
            row[name] = answer_cell(row[name])
        row["expected"] = _expected_cell(row["expected"])
        writer.writerow([_csv_cell(row[name]) for name in columns])


def _expected_cell(expected: Any) -> Any:
    """Return an expected answer, as JSON text if it is a list or an object."""
    return json.dumps(expected, ensure_ascii=False) if isinstance(expected, (list, dict)) else expected


def _csv_cell(value: Any) -> Any:
    if value is None:
        return ""
    if value is True:
        return "true"
    if value is False:
        return "false"
    return guard_formula(value) if isinstance(value, str) else value


class JsonLines(Encoding):
    suffix = "jsonl"
    tallies = True  # the rows add each judgment to the tally of the part
    progress_count = "judgments"  # the entry of ``counts`` that is shown as progress
    counts = zero_counts()

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        write_jsonl(_rows_of_part(work), file)


class CsvLines(JsonLines):
    suffix = "csv"

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        write_csv(_rows_of_part(work), file)

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        csv_writer(file).writerow(file_columns(work.study))
        super().join(work, file, parts)


def parquet_schema(study: Study) -> pa.Schema:
    """Return the types of the study's columns. A column without a type here is text."""
    import pyarrow as pa  # imported late, because most web processes never need its 40 MB

    types = {
        "value": pa.float64() if study_scale(study) else pa.int16(),
        "control": pa.bool_(),
        "used": pa.bool_(),
        "simulated": pa.bool_(),
        "accepted_at": pa.timestamp("us", tz="UTC"),
        "submitted_at": pa.timestamp("us", tz="UTC"),
        "seconds": pa.float64(),
        "wall_seconds": pa.float64(),
        "revision": pa.int32(),
        "chance": pa.float64(),
    }
    return pa.schema(
        [pa.field(name, types.get(name, pa.string())) for name in file_columns(study)],
        metadata={"quorum.study": study.slug, "quorum.version": quorum_version()},
    )


class ParquetParts(Encoding):
    """Write parts as Arrow streams, and join them into a Parquet file. A Parquet file itself cannot be appended to."""

    suffix = "arrow"
    tallies = True
    progress_count = "judgments"
    counts = zero_counts()

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        import pyarrow as pa

        schema = parquet_schema(work.study)
        with pa.ipc.new_stream(pa.PythonFile(file, mode="w"), schema) as writer:
            for batch in batched(_rows_of_part(work), ROWS_PER_GROUP):
                writer.write_batch(
                    pa.RecordBatch.from_pylist([_parquet_row(row) for row in batch], schema=schema)
                )

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = parquet_schema(work.study)
        with pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, compression="zstd") as writer:
            for path in parts:
                with path.open("rb") as part, pa.ipc.open_stream(part) as reader:
                    for batch in reader:
                        writer.write_batch(batch)


def _parquet_row(row: dict[str, Any]) -> dict[str, Any]:
    """Convert the row's values to the types of ``parquet_schema``, and return the row."""
    for name in ("accepted_at", "submitted_at"):
        if row[name] is not None:
            row[name] = datetime.fromisoformat(row[name])
    if row["expected"] is not None:
        row["expected"] = str(_expected_cell(row["expected"]))
    for name in JSON_COLUMNS & row.keys():
        row[name] = answer_cell(row[name]) or None
    return row
