"""Write the rows of a Parquet file to standard output. `isolation` starts it as `python parquet.py FILE LIMITS`.

The first line has the names of the columns, and every other line has a row, as JSON lists. After an error, the last
line is an object. The module imports almost nothing from Quorum, since a new process is started for each file.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator
from datetime import date, datetime
from datetime import time as clock
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from common.memory import data_segment_bytes

MAX_COLUMNS = 16_384
# A batch has at most so many rows, and about so many bytes.
ROWS_PER_BATCH = 256
BYTES_PER_BATCH = 2**23
READ_SIZE = 65_536
OUT_OF_MEMORY = 3  # the exit code if the memory does not suffice


def _rows_of(path: str) -> Iterator[list[Any]]:
    """Yield the names of the columns, then the rows. Cells of columns of bytes, such as pictures, are None."""
    with pq.ParquetFile(path, buffer_size=READ_SIZE) as file:
        metadata = file.metadata
        names = file.schema_arrow.names
        yield names
        # a nested column consists of several leaves, such as "box.x" and "box.y"
        leaves = [metadata.schema.column(index) for index in range(metadata.num_columns)]
        leaf_indexes = [index for index, leaf in enumerate(leaves) if not _is_bytes(leaf)]
        total_bytes = 0
        for group in range(metadata.num_row_groups):
            row_group = metadata.row_group(group)
            total_bytes += sum(row_group.column(index).total_uncompressed_size for index in leaf_indexes)
        # the file may state a wrong size, even 0
        rows_that_fit = BYTES_PER_BATCH * metadata.num_rows // max(total_bytes, 1)
        rows_per_batch = min(max(rows_that_fit, 1), ROWS_PER_BATCH)
        for batch in file.iter_batches(
            rows_per_batch, columns=[leaves[index].path for index in leaf_indexes], use_threads=False
        ):
            cells = (column.to_pylist() for column in batch.columns)
            cells_by_name = dict(zip(batch.schema.names, cells, strict=True))
            empty_cells = [None] * batch.num_rows
            columns = [cells_by_name.get(name, empty_cells) for name in names]
            yield from (list(map(_as_json_value, row)) for row in zip(*columns, strict=True))


def _is_bytes(leaf: pq.ColumnSchema) -> bool:
    """Return whether a column, or a part of a nested one, has bytes that are no text."""
    return leaf.physical_type.endswith("BYTE_ARRAY") and leaf.logical_type.type == "NONE"


def _as_json_value(value: Any) -> Any:
    """Return a cell as a JSON value; None for bytes."""
    match value:
        case None | str() | int() | float():
            return value
        case bytes():
            return None
        case Decimal():
            return float(value)
        case date() | datetime() | clock():
            return value.isoformat()
        case dict():
            return {name: _as_json_value(member) for name, member in value.items()}
        case list() | tuple():
            return list(map(_as_json_value, value))
    return str(value)


def write_rows(path: str, limits: dict[str, int]) -> tuple[str, str] | None:
    """Write the rows to standard output. If a limit is exceeded, stop, and return what was found and expected.

    Args:
        limits: the limits of ``common.environment.IncomingLimits`` by name.
    """
    deadline = time.monotonic() + limits["seconds"]
    written_bytes = 0
    for number, row in enumerate(_rows_of(path)):  # row 0 has the names of the columns
        if not number and len(row) > MAX_COLUMNS:
            return f"{len(row):,} columns", f"at most {MAX_COLUMNS:,}"
        text = json.dumps(row, ensure_ascii=False)
        if len(text) > limits["line"]:
            return f"a record of more than {limits['line']:,} characters", "shorter ones"
        line = text.encode() + b"\n"
        written_bytes += len(line)
        for name, count, noun in (("lines", number, "rows"), ("bytes", written_bytes, "bytes")):
            if count > limits[name]:
                return f"more than {limits[name]:,} {noun}", f"fewer (the setting INCOMING_{name.upper()})"
        if time.monotonic() > deadline:
            return f"more than is read in {limits['seconds']:,} s", "less (the setting INCOMING_SECONDS)"
        sys.stdout.buffer.write(line)
    return None


def main(path: str, limits: dict[str, int]) -> None:
    """Write the rows of a file to the standard output, and end the process.

    If a limit is exceeded or the file is damaged, the last line is ``{"excess": [what was found, what was expected]}``.
    If there is not enough memory, the exit code is ``OUT_OF_MEMORY``.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    max_bytes = data_segment_bytes() + limits["memory"]
    resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, max_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"], limits["seconds"]))
    try:
        excess = write_rows(path, limits)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except (pa.ArrowException, OSError, KeyError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0][:200] or type(error).__name__
        excess = f"damaged data ({reason})", "a Parquet file"
    if excess:
        sys.stdout.buffer.write(json.dumps({"excess": excess}).encode() + b"\n")
    sys.stdout.buffer.flush()
    os._exit(0)  # exit at once, since no cleanup is needed


def _end_with_parent() -> None:
    """End the process when the parent process ends, since it then closes the pipe to the standard input."""
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
