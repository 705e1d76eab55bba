"""Export judgments one per row, as JSON lines, CSV or Parquet, and demographics of workers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db.models import Exists, IntegerField, OuterRef, QuerySet, Value

from annotation.models import Assignment, Demographics
from common.files import HashedFile
from common.rows import batched
from evaluation.data.export.parts import Encoding, ExportWork, Stage
from evaluation.data.export.rows import JudgmentRows, columns_of, zero_counts
from evaluation.data.provenance import quorum_version
from judgments.importers.judgment_tables import answer_cell
from judgments.importers.textio import guard_formula
from judgments.models import Study
from judgments.studies.studies import design_of

if TYPE_CHECKING:
    import pyarrow as pa


LINES_AT_ONCE = 500
JSON_COLUMNS = {"answer", "content", "systems"}
ROW_GROUP = 8_192


def write_jsonl(rows: JudgmentRows, file: HashedFile) -> None:
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    for batch in batched(rows, LINES_AT_ONCE):
        file.write_text("".join(f"{encode(row)}\n" for row in batch))


class UTF8Lines:
    """Let ``csv.writer`` write UTF-8."""

    def __init__(self, file: HashedFile) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.encode())


def csv_writer(file: HashedFile) -> Any:
    return csv.writer(UTF8Lines(file), lineterminator="\r\n")


def write_csv(rows: JudgmentRows, file: HashedFile) -> None:
    """Write a line per judgment, guarded against spreadsheet formulas, without the header."""
    columns = columns_of(rows.study)
    writer = csv_writer(file)
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
    counts = zero_counts()

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        write_jsonl(work.rows(), file)


class CsvLines(JsonLines):
    suffix = "csv"

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        write_csv(work.rows(), file)

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        csv_writer(file).writerow(columns_of(work.study))
        super().join(work, file, parts)


def parquet_schema(study: Study) -> pa.Schema:
    import pyarrow as pa  # loaded when it is first used, as most web processes never need its 40 MB

    types = {
        "value": pa.int16(),
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
        [pa.field(name, types.get(name, pa.string())) for name in columns_of(study)],
        metadata={"quorum.study": study.slug, "quorum.version": quorum_version()},
    )


class ParquetParts(Encoding):
    """Write parts as Arrow streams, since Parquet files cannot be appended to."""

    suffix = "arrow"
    tallies = True
    progress_count = "judgments"
    counts = zero_counts()

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        import pyarrow as pa

        schema = parquet_schema(work.study)
        with pa.ipc.new_stream(pa.PythonFile(file, mode="w"), schema) as writer:
            for batch in batched(work.rows(), ROW_GROUP):
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
    for name in ("accepted_at", "submitted_at"):
        if row[name] is not None:
            row[name] = datetime.fromisoformat(row[name])
    if row["expected"] is not None:
        row["expected"] = str(expected_cell(row["expected"]))
    for name in JSON_COLUMNS & row.keys():
        row[name] = answer_cell(row[name]) or None
    return row


def why_unfit(study: Study) -> str:
    return "" if design_of(study).crowd.demographics else "its design names demographics (crowd.demographics)"


def _workers_with_demographics(study: Study) -> QuerySet[Any]:
    judged = Assignment.objects.filter(study=study, worker=OuterRef("worker"), submitted_at__isnull=False)
    rows = Demographics.objects.filter(Exists(judged), study=study)
    return rows.annotate(position=Value(0, IntegerField()))  # the parts of an export go by it


class DemographicLines(Encoding):
    """Write a line per described worker: pseudonym, and the design's demographics."""

    suffix = "people"
    progress_count = "people"
    counts = {"people": 0}

    def stages(self, work: ExportWork) -> Sequence[Stage]:
        return (Stage(self.suffix, _workers_with_demographics, "people"),)

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        names = design_of(work.study).crowd.demographics
        rows = Demographics.objects.filter(pk__in=work.pieces).select_related("worker").order_by("pk")
        for row in rows:
            _write(file, [row.worker.name, *(row.answers.get(name, "") for name in names)])
            work.counts["people"] += 1

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        _write(file, ["worker", *design_of(work.study).crowd.demographics])
        super().join(work, file, parts)


def _write(file: HashedFile, cells: Sequence[str]) -> None:
    csv_writer(file).writerow(guard_formula(cell) for cell in cells)
