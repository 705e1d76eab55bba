"""Measure the seconds and the memory of a release: writing the bundle, verifying it, and comparing two bundles.

    python -m benchmarks.releasing                        # 100,000 judgments on triplets, 300 workers
    python -m benchmarks.releasing --judgments 1000000

The database is an empty SQLite database in a temporary folder. Each step runs in a new process, so that its peak memory
is its own; the memory of a process that did nothing is subtracted. The study is made by benchmarks/filling.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.export import peak_memory, set_up

STEPS = ("release", "release again", "verify", "compare")


def fill(judgments: int) -> None:
    set_up()
    from django.core.management import call_command

    from benchmarks.filling import fill_study
    from judgments.models import Study

    call_command("migrate", verbosity=0)
    study = fill_study(judgments=judgments)
    Study.objects.filter(pk=study.pk).update(state="closed")


def step(name: str, folder: Path) -> None:
    """Run one step, and print its seconds and memory."""
    set_up()
    from contrib.comparing.releases import compare_bundles
    from evaluation.data.releases.terms import ReleaseTerms
    from evaluation.reports.releases.making import write_release
    from evaluation.reports.releases.verification import verify_bundle
    from judgments.studies.studies import find_study

    bundles = [folder / "release-1.0.zip", folder / "release-1.1.zip"]
    before = peak_memory()
    start, processor = time.perf_counter(), time.process_time()
    summary: Any = ""
    if name.startswith("release"):
        again = name.endswith("again")
        written = write_release(
            study=find_study("large"),
            terms=ReleaseTerms(version="1.1" if again else "1.0", licence="CC-BY-4.0"),
            path=bundles[again],
        )
        summary = f"{bundles[again].stat().st_size / 1e6:.1f} MB, {written.judgments:,} judgments"
    elif name == "verify":
        found = verify_bundle(bundles[0])
        summary = f"{found.checked:,} values, {found.count} differences"
    else:
        summary = compare_bundles(*bundles)["judgments"]
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    print(
        f"| {name} | {seconds:.1f} | {processor:.1f} | {peak_memory() - before:.0f} | {summary} |", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judgments", type=int, default=100_000)
    parser.add_argument(
        "--folder", type=Path, help="keep the database and the bundles here; one there is used again"
    )
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step(options.step, options.folder)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        os.environ["DATA_DIR"] = str(folder)
        if not (folder / "filled").exists():
            folder.mkdir(exist_ok=True)
            fill(options.judgments)
            (folder / "filled").touch()
        print("| step | s | processor s | MiB at the peak | |\n|---|---|---|---|---|", flush=True)
        for name in STEPS:
            command = [sys.executable, "-m", "benchmarks.releasing", "--step", name, "--folder", str(folder)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
