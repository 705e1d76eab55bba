"""Measure the command `aggregate` on ten million judgments, and PyArrow's group-by of the same units and answers.

    python -m benchmarks.aggregate                        # ten million triplets; some 4 GB of disk while it runs
    python -m benchmarks.aggregate --judgments 1000000 --protocol relevance

The study is made by benchmarks/filling.py, on SQLite in a temporary folder, or in ``--folder``, where an existing study
is used. First the blocks of columns are stored, as the background worker does while judgments come in. Then the command
runs twice: the first run writes all rows of the consensus. Each step is a new process. Processor time is user and
system time. Memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.export import set_up
from benchmarks.filling import PROTOCOLS
from benchmarks.ten_million import filled_folder


def cost(label: str, command: Sequence[str]) -> float:
    """Run a command. Print its seconds of processor time, and return them."""
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{label} ended with {os.waitstatus_to_exitcode(status)}.")
    seconds = used.ru_utime + used.ru_stime
    print(f"{label:24} {seconds:7.1f} s of processor {used.ru_maxrss / 1024:7.0f} MiB", flush=True)
    return seconds


def measure_group_by(path: Path) -> None:
    import pyarrow.parquet as pq

    pq.read_table(path).group_by(["unit", "value"]).aggregate([([], "count_all")])


def store_columns() -> None:
    set_up()
    from evaluation.data.judgment_sets.blocks import extend_recent_blocks

    extend_recent_blocks()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judgments", type=int, default=10_000_000)
    parser.add_argument("--protocol", choices=PROTOCOLS, default="triplet")
    parser.add_argument("--folder", type=Path, help="keep the database here, or take the one that is here")
    parser.add_argument("--group-by", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--store-columns", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.store_columns:
        store_columns()
        return
    if options.group_by:
        measure_group_by(options.group_by)
        return
    with filled_folder(options) as folder:
        cost("storing of columns", ("-m", "benchmarks.aggregate", "--store-columns"))
        times = [
            cost(f"aggregate, {time} time", ("manage.py", "aggregate", "large"))
            for time in ("first", "second")
        ]
        path = write_columns(folder / "judgments.parquet")
        grouped = cost("group-by of PyArrow", ("-m", "benchmarks.aggregate", "--group-by", str(path)))
        path.unlink()
        print("times as long as the group-by: " + ", ".join(f"{seconds / grouped:.0f}" for seconds in times))


def write_columns(path: Path) -> Path:
    """Write the units and answers of the judgments to a Parquet file, and return its path."""
    set_up()
    import pyarrow as pa
    import pyarrow.parquet as pq

    from evaluation.data.judgment_sets.blocks import judgment_columns
    from judgments.studies.studies import find_study

    columns = judgment_columns(find_study("large"))
    pq.write_table(pa.table({name: columns[name] for name in ("unit", "value")}), path)
    return path


if __name__ == "__main__":
    main()
