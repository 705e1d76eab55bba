"""Write the rows of a Parquet file to standard output: `python parquet.py FILE LIMITS`, started by `apart`.

The first line is the names of the columns, each other one a row, as JSON. What cannot be read ends with an object.
Nothing of Quorum is imported here, as the process is started for each file.
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

MOST_COLUMNS = 16_384
ROWS_AT_ONCE = 256
BYTES_AT_ONCE = 2**23
READ_AT_ONCE = 65_536
OUT_OF_MEMORY = 3  # this process's state when it ends


def rows_of(path: str) -> Iterator[list[Any]]:
    """Yield the names of the columns, then rows."""
    with pq.ParquetFile(path, buffer_size=READ_AT_ONCE) as file:
        about = file.metadata
        yield file.schema_arrow.names
        size = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
        fitting = BYTES_AT_ONCE * about.num_rows // max(size, 1)  # if the file lies, it costs memory alone
        for batch in file.iter_batches(min(max(fitting, 1), ROWS_AT_ONCE), use_threads=False):
            columns = [column.to_pylist() for column in batch.columns]
            yield from (list(map(_plain, row)) for row in zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    """Return what JSON holds; None for bytes, such as a picture."""
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
            return {name: _plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return list(map(_plain, value))
    return str(value)


def excess_of(path: str, limits: dict[str, int]) -> tuple[str, str] | None:
    """Write the rows up to the first limit, and return what is beyond it, and what was expected."""
    until, size = time.monotonic() + limits["seconds"], 0
    for number, row in enumerate(rows_of(path)):
        if not number and len(row) > MOST_COLUMNS:
            return f"{len(row):,} columns", f"at most {MOST_COLUMNS:,}"
        line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
        size += len(line)
        if len(line) > limits["line"]:
            return f"a record of more than {limits['line']:,} characters", "shorter ones"
        for name, count, noun in (("lines", number, "rows"), ("bytes", size, "bytes")):
            if count > limits[name]:
                return f"more than {limits[name]:,} {noun}", f"fewer (the setting INCOMING_{name.upper()})"
        if time.monotonic() > until:
            return f"more than is read in {limits['seconds']:,} s", "less (the setting INCOMING_SECONDS)"
        sys.stdout.buffer.write(line)
    return None


def main(path: str, limits: dict[str, int]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    resource.setrlimit(resource.RLIMIT_DATA, (limits["memory"], limits["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"], limits["seconds"]))
    try:
        excess = excess_of(path, limits)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except (pa.ArrowException, OSError, KeyError, ValueError, RecursionError) as error:
        why = str(error).partition("\n")[0][:200] or type(error).__name__
        excess = f"damaged data ({why})", "a Parquet file"
    if excess:
        sys.stdout.buffer.write(json.dumps({"excess": excess}).encode() + b"\n")
    sys.stdout.buffer.flush()
    os._exit(0)  # at once: nothing here needs to be put in order


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
