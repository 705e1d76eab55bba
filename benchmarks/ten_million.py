"""Every export of ten million judgments: seconds, and the most memory of each in a process of its own.

    python -m benchmarks.ten_million                        # ten million; some 12 GB of disk while it runs
    python -m benchmarks.ten_million --judgments 1000000    # a tenth

A study of relevance: 4 judgments on each unit, 1,000 workers, 2,000 images, 20 units a HIT; every row follows from its
number. On SQLite in a folder of its own; with DATABASE_URL set, on that empty database.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.export import peak_memory, set_up

VOTES, WORKERS, IMAGES, HIT_SIZE, BATCH = 4, 1_000, 2_000, 20, 50_000
STEPS = ("jsonl", "csv", "parquet", "qrels", "flickr8k", "mturk", "reliability")


def fill(judgments: int) -> None:
    """The study; the database gets rows as tuples, without an object a row."""
    set_up()
    from django.core.management import call_command
    from django.db import connection

    from annotation.models import Assignment, Judgment, Worker
    from judgments.bulk import insert_rows
    from judgments.design import make_design
    from judgments.models import HIT, Caption, Dataset, HITUnit, Item, Study, Unit
    from judgments.services.studies import create_study

    call_command("migrate", verbosity=0)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous = OFF")
    units = judgments // VOTES // HIT_SIZE * HIT_SIZE
    dataset = Dataset.objects.create(name="made-up", source_format="jsonl", fingerprint="")
    items = Item.objects.bulk_create(
        Item(dataset=dataset, name=f"{number:05}.jpg", position=number) for number in range(IMAGES)
    )
    captions = Caption.objects.bulk_create(
        Caption(dataset=dataset, key=f"c-{number:05}", text=f"A dog plays {number} .", role="candidate")
        for number in range(IMAGES)
    )
    design = {"name": "big", "dataset": "made-up", "protocol": "relevance"}
    study = create_study(design=make_design(design))
    Study.objects.filter(pk=study.pk).update(state="closed")
    workers = Worker.objects.bulk_create(Worker(name=f"w-{number:04}") for number in range(WORKERS))
    now = datetime(2026, 1, 1, 10, tzinfo=UTC)
    for start in range(0, units, BATCH):
        numbers = range(start, min(start + BATCH, units))
        made = Unit.objects.bulk_create(
            [
                Unit(study=study, key=f"u-{number:08}", position=number, item=items[number % IMAGES],
                     first=captions[number // IMAGES % IMAGES])
                for number in numbers
            ],
            batch_size=5_000,
        )  # fmt: skip
        hits = HIT.objects.bulk_create(
            [
                HIT(study=study, key=f"h-{number:07}", position=number, required=VOTES, open_slots=0)
                for number in range(numbers[0] // HIT_SIZE, numbers[-1] // HIT_SIZE + 1)
            ],
            batch_size=5_000,
        )
        places = ((hits[at // HIT_SIZE].pk, unit.pk, at % HIT_SIZE + 1) for at, unit in enumerate(made))
        insert_rows(HITUnit, ("hit_id", "unit_id", "position"), places)
        work = Assignment.objects.bulk_create(
            [
                Assignment(study=study, hit=hit, worker=workers[(hit.position * VOTES + seat) % WORKERS],
                           seat=seat, state="submitted", accepted_at=now, submitted_at=now)
                for hit in hits
                for seat in range(VOTES)
            ],
            batch_size=5_000,
        )  # fmt: skip
        insert_rows(
            Judgment,
            ("assignment_id", "unit_id", "value", "seconds"),
            (
                (work[at // HIT_SIZE * VOTES + seat].pk, unit.pk, int((at * 7 + seat * 3) % 5 < 3), 3.5)
                for at, unit in enumerate(made)
                for seat in range(VOTES)
            ),
        )


def step(name: str, folder: Path) -> None:
    """One export, timed."""
    set_up()
    from evaluation.services import export_judgments
    from judgments.services.studies import find_study

    study, before, start = find_study("big"), peak_memory(), time.perf_counter()
    made = export_judgments(study=study, format=name, output=folder / name)
    seconds, more = time.perf_counter() - start, peak_memory() - before
    size = made.manifest["bytes"]
    print(f"{name:12} {seconds:8.1f} s {more:7.1f} MiB more {size / 1e6:9.1f} MB written", flush=True)
    (folder / name).unlink()


def main() -> None:
    """Fill, then each format by itself."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judgments", type=int, default=10_000_000)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step(options.step, options.folder)
        return
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DATA_DIR"] = scratch
        start = time.perf_counter()
        command = [sys.executable, "-m", "benchmarks.ten_million", "--folder", scratch]
        fill(options.judgments)
        print(f"{options.judgments:,} judgments, filled in {time.perf_counter() - start:.0f} s", flush=True)
        for name in STEPS:
            subprocess.run([*command, "--step", name], check=True)


if __name__ == "__main__":
    main()
