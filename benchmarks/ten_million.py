"""Measure every export of ten million judgments: seconds, and peak memory, each in a new process.

    python -m benchmarks.ten_million                        # ten million; some 15 GB of disk while it runs
    python -m benchmarks.ten_million --judgments 1000000    # a tenth
    python -m benchmarks.ten_million --only mturk mtme      # some of the formats
    python -m benchmarks.ten_million --protocol keywords --judgments 1000000   # captions, keywords, grounding alike

The study is a relevance study (benchmarks/filling.py): 3 judgments on each unit, 20 items per HIT, 300 workers, 20,000
images with two references, and a system for each caption of an image. The database is SQLite in a temporary folder, or
in ``--folder``, where an existing study is used; or, if DATABASE_URL is set, that database. Memory is the peak of the
process (VmHWM), minus the memory of Quorum before the export. Processor time is that of the process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.export import peak_memory, set_up
from benchmarks.filling import PROTOCOLS


@contextmanager
def filled_folder(options: argparse.Namespace) -> Iterator[Path]:
    """Yield the folder with the study's database, which is ``--folder`` or a temporary folder."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["DATA_DIR"] = str(folder)
        fill(options.judgments, options.protocol)
        yield folder


def fill(judgments: int, protocol: str) -> None:
    """Fill the study unless it exists."""
    set_up()
    from django.core.management import call_command

    from benchmarks.filling import fill_study
    from judgments.models import Study

    call_command("migrate", verbosity=0)
    if Study.objects.filter(slug="large").exists():
        return
    start = time.perf_counter()
    fill_study(judgments=judgments, protocol=protocol)
    said = f"{judgments:,} judgments, filled in {time.perf_counter() - start:.0f} s"
    print(f"{said} and {peak_memory():,.0f} MiB in all", flush=True)


def formats(only: list[str]) -> list[str]:
    """Return the names of the formats that can represent the study."""
    from evaluation.data.export.formats import formats_for
    from judgments.studies.studies import find_study

    return [one.name for one in formats_for(find_study("large")) if one.name in only or not only]


def step(name: str, folder: Path) -> None:
    set_up()
    from evaluation.data.export.exporting import export_judgments
    from judgments.studies.studies import find_study

    study, before = find_study("large"), peak_memory()
    start, processor = time.perf_counter(), time.process_time()
    made = export_judgments(study=study, format=name, output=folder / name)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    said = (
        f"{name:12} {seconds:8.1f} s {processor:8.1f} s of processor {peak_memory() - before:7.1f} MiB more"
    )
    print(f"{said} {made.manifest['bytes'] / 1e6:9.1f} MB written", flush=True)
    (folder / name).unlink()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judgments", type=int, default=10_000_000)
    parser.add_argument("--protocol", choices=PROTOCOLS, default="relevance")
    parser.add_argument("--only", nargs="*", default=[], metavar="FORMAT")
    parser.add_argument("--folder", type=Path, help="keep the database here, or take the one that is here")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step(options.step, options.folder)
        return
    with filled_folder(options) as folder:
        for name in formats(options.only):
            command = [
                sys.executable,
                "-m",
                "benchmarks.ten_million",
                "--folder",
                str(folder),
                "--step",
                name,
            ]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
