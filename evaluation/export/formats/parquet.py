"""Write Parquet. Imported lazily: pyarrow costs every process 40 MB."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from common.files import HashedFile
from common.streams import batched
from evaluation.export.encoding import Encoding, Work
from evaluation.export.formats.jsonl_csv import JSON_COLUMNS, expected_cell
from evaluation.export.rows import columns_of, no_judgments
from evaluation.provenance import quorum_version
from judgments.importers.judgment_tables import answer_cell
from judgments.models import Study

ROW_GROUP = 8_192

_TYPES = {
    "value": pa.int16(),
    "control": pa.bool_(),
    "used": pa.bool_(),
    "simulated": pa.bool_(),
    "accepted_at": pa.timestamp("us", tz="UTC"),
    "submitted_at": pa.timestamp("us", tz="UTC"),
    "seconds": pa.float64(),
    "wall_seconds": pa.float64(),
    "revision": pa.int32(),
}


def parquet_schema(study: Study) -> pa.Schema:
    return pa.schema(
        [pa.field(name, _TYPES.get(name, pa.string())) for name in columns_of(study)],
        metadata={"quorum.study": study.slug, "quorum.version": quorum_version()},
    )


class ParquetParts(Encoding):
    """Write parts as Arrow streams, since a Parquet file cannot be appended to."""

    suffix = "arrow"
    tallies = True
    progress_count = "judgments"
    counts = no_judgments()

    def write_part(self, work: Work, file: HashedFile) -> None:
        schema = parquet_schema(work.study)
        with pa.ipc.new_stream(pa.PythonFile(file, mode="w"), schema) as writer:
            for batch in batched(work.rows(), ROW_GROUP):
                writer.write_batch(pa.RecordBatch.from_pylist([_typed(row) for row in batch], schema=schema))

    def join(self, work: Work, file: HashedFile) -> None:
        schema = parquet_schema(work.study)
        with pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, compression="zstd") as writer:
            for path in work.parts(self.suffix):
                with path.open("rb") as part, pa.ipc.open_stream(part) as reader:
                    for batch in reader:
                        writer.write_batch(batch)


def _typed(row: dict[str, Any]) -> dict[str, Any]:
    for name in ("accepted_at", "submitted_at"):
        if row[name] is not None:
            row[name] = datetime.fromisoformat(row[name])
    if row["expected"] is not None:
        row["expected"] = str(expected_cell(row["expected"]))
    for name in JSON_COLUMNS & row.keys():
        row[name] = answer_cell(row[name]) or None
    return row
