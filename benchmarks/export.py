"""Measure the seconds and the memory that exporting and aggregating take.

    python -m benchmarks.export                    # 100,000 judgments: 33,334 graded units, three workers each
    python -m benchmarks.export --units 100000     # 300,000 judgments on 100,000 units

The database is an empty SQLite database in a temporary folder, or the empty database of DATABASE_URL. Each step runs in
a new process, so that its peak memory is its own; memory in use before the step is subtracted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HIT_SIZE, WORKERS, IMAGES = 20, 3, 1_000
STEPS = ("jsonl", "csv", "parquet", "qrels", "flickr8k", "reliability", "aggregate")


def set_up() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()


def fill_study(units: int) -> None:
    """Fill a study of ``units`` graded captions, each judged by three workers."""
    set_up()
    from django.core.management import call_command
    from django.utils import timezone

    from annotation.models import Assignment, Judgment, Worker
    from judgments.design.reading.checking import make_design
    from judgments.models import HIT, Caption, Dataset, HITUnit, Item, Study, Unit
    from judgments.studies.studies import create_study

    call_command("migrate", verbosity=0)
    dataset = Dataset.objects.create(name="made-up", source_format="jsonl", fingerprint="")
    items = Item.objects.bulk_create(
        Item(dataset=dataset, name=f"{number:05}.jpg", position=number) for number in range(IMAGES)
    )
    captions = Caption.objects.bulk_create(
        [
            Caption(
                dataset=dataset,
                key=f"c-{number:06}",
                text=f"Two dogs play in the snow {number} .",
                role="candidate",
            )
            for number in range(units // 10 + 1)
        ],
        batch_size=5_000,
    )
    study = create_study(
        design=make_design(
            {"name": "big", "dataset": "made-up", "protocol": "graded", "units_per_hit": HIT_SIZE}
        )
    )
    Study.objects.filter(pk=study.pk).update(state="closed")
    made = Unit.objects.bulk_create(
        [
            Unit(
                study=study, key=f"u-{number:06}", position=number, item=items[number % IMAGES],
                first=captions[number // 10],
            )
            for number in range(units)
        ],
        batch_size=5_000,
    )  # fmt: skip
    hits = HIT.objects.bulk_create(
        [
            HIT(study=study, key=f"h-{number:06}", position=number, required=WORKERS, open_slots=0)
            for number in range(-(-units // HIT_SIZE))
        ],
        batch_size=5_000,
    )
    HITUnit.objects.bulk_create(
        [
            HITUnit(hit=hits[number // HIT_SIZE], unit=unit, position=number % HIT_SIZE + 1)
            for number, unit in enumerate(made)
        ],
        batch_size=5_000,
    )
    now = timezone.now()
    workers = Worker.objects.bulk_create(Worker(name=f"w-{number:04}") for number in range(WORKERS))
    work = Assignment.objects.bulk_create(
        [
            Assignment(
                study=study,
                hit=hit,
                worker=worker,
                slot=slot,
                state="submitted",
                accepted_at=now,
                submitted_at=now,
            )
            for hit in hits
            for slot, worker in enumerate(workers)
        ],
        batch_size=5_000,
    )
    Judgment.objects.bulk_create(
        [
            Judgment(assignment=work[number // HIT_SIZE * WORKERS + slot], unit=unit,
                     value=1 + (number + slot) % 4, seconds=3.5)
            for number, unit in enumerate(made)
            for slot in range(WORKERS)
        ],
        batch_size=5_000,
    )  # fmt: skip


def step(name: str, folder: Path) -> None:
    """Run one step, and print its seconds and memory."""
    set_up()
    from evaluation.data.export.exporting import export_judgments
    from evaluation.results.aggregation import aggregate_study
    from judgments.studies.studies import find_study

    study = find_study("big")
    before = peak_memory()
    start, processor = time.perf_counter(), time.process_time()
    if name == "aggregate":
        aggregate_study(study=study)
        size = 0
    else:
        made = export_judgments(study=study, format=name, output=folder / name)
        size = made.manifest["bytes"]
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    more = peak_memory() - before
    said = f"{seconds:6.2f} s ({processor:5.2f} s of processor) {more:7.1f} MiB more"
    print(f"{name:12} {said} {size / 1e6:8.1f} MB written")


def peak_memory() -> float:
    """Return this process's peak memory in MiB (Linux; getrusage would include the parent's)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--units", type=int, default=33_334)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step(options.step, options.folder)
        return
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DATA_DIR"] = scratch
        start = time.perf_counter()
        fill_study(options.units)
        print(
            f"{options.units:,} units, {WORKERS * options.units:,} judgments, "
            f"filled in {time.perf_counter() - start:.1f} s"
        )
        for name in STEPS:
            subprocess.run(
                [sys.executable, "-m", "benchmarks.export", "--step", name, "--folder", scratch], check=True
            )


if __name__ == "__main__":
    main()
