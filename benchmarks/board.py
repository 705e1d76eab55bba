"""What a study's board costs with a million judgments: the page, its moving part, an unchanged answer, a snapshot.

    python -m benchmarks.board
    python -m benchmarks.board --judgments 100000 --database postgresql

It makes an installation of its own and asks it through Django's test client, so the times are the server's. PostgreSQL
is the server that TEST_DATABASE_URL names. Each figure is by the clock and, in brackets, by the processor of the
process, which others on the machine disturb less (on PostgreSQL, without the database's own). What it prints is the
table of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from tests.installations import Installations

CODE = """
import statistics, time
from datetime import timedelta
import numpy as np
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from annotation.models import Assignment, Judgment, Worker
from evaluation.models import BoardSnapshot
from evaluation.services.board import compute_board, store_board
from judgments.models import Study
from tests.annotation.casting import make_dataset, make_study

WANTED, VOTES, PER_HIT = {judgments}, 50, 20
dataset = make_dataset(images=200, pictures=False)
study = make_study(dataset, "pairwise", slug="large", judgments_per_unit=VOTES, controls={{"per_hit": 0}},
                   units_per_hit=PER_HIT, sampling={{"pairs": {{"MM": 100}}}})
study = Study.objects.get(pk=study.pk)
units = list(study.units.order_by("position").values_list("pk", flat=True))
hit = study.hits.first()
workers = Worker.objects.bulk_create([Worker(name=f"w-{{n:05}}") for n in range(500)])
rng, done, start = np.random.default_rng(1), 0, timezone.now() - timedelta(days=3)
while done < WANTED:
    # HIT is left empty, as for imported work: the seats of one HIT would not hold so many
    batch = Assignment.objects.bulk_create([
        Assignment(study=study, worker=workers[(done // PER_HIT + n) % 500], state="submitted", seat=0,
                   accepted_at=start, submitted_at=start + timedelta(seconds=(done + n * PER_HIT) * 0.25))
        for n in range(500)])
    rows = [Judgment(assignment=one, unit_id=units[(done // PER_HIT + k * 7 + at) % len(units)],
                     value=int(rng.integers(1, 3)), presented="first-left", seconds=4.0)
            for at, one in enumerate(batch) for k in range(PER_HIT)]
    Judgment.objects.bulk_create(rows, batch_size=5000)
    done += len(rows)

def snapshot():
    began, used = time.monotonic(), time.process_time()
    store_board(compute_board(study=study))
    return f"{{time.monotonic() - began:.1f}} s ({{time.process_time() - used:.1f}})"

first, again = snapshot(), snapshot()
PLAIN = {{"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
override_settings(STORAGES={{**settings.STORAGES, "staticfiles": PLAIN}}).enable()
User.objects.create_superuser("designer")
client = Client(SERVER_NAME="localhost")
client.force_login(User.objects.get(username="designer"))
page, live = (reverse(f"admin:judgments_study_{{name}}", args=[study.pk]) for name in ("board", "board-live"))
tag = client.get(live)["ETag"]

def timed(address, **headers):
    times, own = [], []
    for _ in range(15):
        began, used = time.monotonic(), time.process_time()
        answer = client.get(address, headers=headers)
        times.append(1000 * (time.monotonic() - began))
        own.append(1000 * (time.process_time() - used))
    assert answer.status_code == (304 if headers else 200), answer.status_code
    return f"{{statistics.median(times):.0f}} ms ({{statistics.median(own):.0f}})"

unchanged = timed(live, **{{"If-None-Match": tag}})
print(f"| {{done:,}} | {database} | {{timed(page)}} | {{timed(live)}} | {{unchanged}} | {{first}} | {{again}} |")
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        maker = Installations(Path(folder), os.environ.get("TEST_DATABASE_URL"))
        try:
            with maker.fresh(chosen.database) as installation:
                print(
                    "| judgments | database | page | moving part | unchanged | first snapshot | later ones |"
                )
                print("|---|---|---|---|---|---|---|")
                print(installation.python(CODE.format(judgments=chosen.judgments, database=chosen.database)))
        finally:
            maker.close()


if __name__ == "__main__":
    main()
