"""Limit the memory of a process, and read Parquet in a separate process with limits of memory and time."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, cast

from common.incoming import LimitExceeded, limits
from common.memory import data_segment_bytes

PARQUET_SCRIPT = Path(__file__).with_name("parquet.py")
DATA_SHARE = 0.6  # share of the memory limit for data; the rest is for libraries
BYTES_PER_CHARACTER = 4  # most bytes of a character in UTF-8


@contextmanager
def memory_limit(megabytes: int) -> Iterator[None]:
    """Limit the additional memory for data that this process may take in the block. 0 sets no limit."""
    previous_limits = resource.getrlimit(resource.RLIMIT_DATA)
    if megabytes:
        max_bytes = data_segment_bytes() + megabytes * 10**6
        resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, previous_limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, previous_limits)


def parquet_rows(path: Path) -> Iterator[list[Any]]:
    """Yield the names of the columns, then rows of JSON values.

    Raises:
        LimitExceeded: a limit is exceeded, or the file is damaged.
    """
    path.open("rb").close()  # raise here if the file cannot be opened
    incoming_limits = limits()
    limits_of_reader = asdict(incoming_limits)
    limits_of_reader["memory"] = int(DATA_SHARE * incoming_limits.memory)
    limits_of_reader["seconds"] = max(incoming_limits.seconds, 1)  # the least limit of processor time
    # A library that reads files of strangers must not get secrets of the environment. Arrow must use the system's
    # allocator, so that the limit applies.
    environment = {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": "1",
        "OMP_NUM_THREADS": "1",
    }
    reader = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-P", str(PARQUET_SCRIPT), str(path), json.dumps(limits_of_reader)],
        stdin=subprocess.PIPE,  # is closed when this process ends, and thus ends the child process
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    with reader:
        try:
            yield from _read_rows(cast(IO[bytes], reader.stdout), BYTES_PER_CHARACTER * incoming_limits.line)
            exit_code = reader.wait()
        finally:
            reader.kill()
    if exit_code == -signal.SIGXCPU:  # the script limits its own processor time
        raise LimitExceeded(
            f"more than is read in {incoming_limits.seconds:,} s", "less (the setting INCOMING_SECONDS)"
        )
    if exit_code:  # OUT_OF_MEMORY of the script, or a signal
        expected = "smaller values, lists or groups of rows (the setting INCOMING_MEMORY)"
        raise LimitExceeded(
            f"data that need more than {incoming_limits.memory // 2**20:,} MiB of memory", expected
        )


def _read_rows(lines: IO[bytes], max_bytes: int) -> Iterator[list[Any]]:
    """Yield the rows that the script writes. Raise LimitExceeded for the object ``{"excess": [found, expected]}``."""
    while line := lines.readline(max_bytes):
        row = json.loads(line)
        if isinstance(row, dict):
            raise LimitExceeded(*row["excess"])
        yield row
