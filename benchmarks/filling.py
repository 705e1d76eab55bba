"""A large study, made in seconds: 1,000,000 judgments in about a minute, seeded, the same rows each time.

``fill_study(judgments=..., seed=...)`` makes, in the database that Django is set up with, one open triplet study and
everything it stands on: images with ten references and three candidates each, three pairs an image, a unit for each
pair and reference, HITs of 18 units and 2 control items, three workers for each HIT, and 300 workers of whom one in
ten answers at random. Rows go in as tuples (``judgments.bulk``), without an object a row. Other benchmarks may use it:

    from benchmarks.filling import fill_study
    study = fill_study(judgments=1_000_000)  # -> the Study, slug "large"

Run by itself it fills the database that DATABASE_URL or DATA_DIR names:  python -m benchmarks.filling --judgments 60000
"""

from __future__ import annotations

import argparse
import os
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from judgments.models import Study

REFERENCES, CANDIDATES, JUDGED, CONTROLS, VOTES, WORKERS = 10, 3, 18, 2, 3, 300
PAIRS = ((0, 1, "HM"), (0, 2, "HM"), (1, 2, "MM"))
SIZE = JUDGED + CONTROLS
WORDS = tuple(f"word{number}" for number in range(40))
START = datetime(2026, 1, 1, 10, tzinfo=UTC)


def fill_study(*, judgments: int = 1_000_000, seed: int = 1, slug: str = "large") -> Study:
    """The study, with as many whole HITs as ``judgments`` make, and ten more that nobody took yet."""
    from django.db import connection, transaction

    from annotation.models import Assignment, Judgment
    from judgments.bulk import refresh_statistics
    from judgments.models import HIT, Caption, HITUnit, Study, Unit

    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous = OFF")
    rng = np.random.default_rng(seed)
    done = judgments // (SIZE * VOTES)
    with transaction.atomic():
        study = _study(slug, images=-(-(done + 10) * JUDGED // (len(PAIRS) * REFERENCES)), rng=rng)
        units, controls, hits = _hits(study, done)
        _work(study, units, controls, hits, done, rng)
        refresh_statistics(Caption, Unit, HIT, HITUnit, Assignment, Judgment)
    return Study.objects.get(pk=study.pk)


def _study(slug: str, *, images: int, rng: np.random.Generator) -> Study:
    from django.utils import timezone

    from judgments.bulk import insert_rows
    from judgments.design import make_design
    from judgments.models import Caption, Dataset, Item, Output, Study, System
    from judgments.services.studies import create_study

    dataset = Dataset.objects.create(name=slug, source_format="jsonl", fingerprint="")
    fields = ("dataset_id", "name", "position", "split")
    insert_rows(Item, fields, ((dataset.pk, f"{at:06}.jpg", at, "test") for at in range(images)))
    items = list(Item.objects.filter(dataset=dataset).order_by("position").values_list("pk", flat=True))
    picked = rng.integers(0, len(WORDS), size=(images, REFERENCES + CANDIDATES, 8))
    text = [[" ".join(WORDS[at] for at in one) + " ." for one in of_image] for of_image in picked.tolist()]
    insert_rows(
        Caption,
        ("dataset_id", "item_id", "key", "text", "role", "position"),
        (
            (dataset.pk, items[at], f"{at:06}.jpg#{n}", text[at][n], "reference", n)
            for at in range(images)
            for n in range(REFERENCES)
        ),
    )
    insert_rows(
        Caption,
        ("dataset_id", "key", "text", "role"),
        (
            (dataset.pk, f"c-{at:06}-{n}", text[at][REFERENCES + n], "candidate")
            for at in range(images)
            for n in range(CANDIDATES)
        ),
    )
    names = ("human", "one", "two")
    systems = System.objects.bulk_create(
        System(dataset=dataset, name=name, human=name == "human") for name in names
    )
    captions = _captions(dataset, "candidate")
    insert_rows(
        Output,
        ("system_id", "item_id", "caption_id"),
        (
            (systems[n].pk, items[at], captions[at * CANDIDATES + n])
            for at in range(images)
            for n in range(CANDIDATES)
        ),
    )
    values = {"name": slug, "dataset": slug, "protocol": "triplet", "judgments_per_unit": VOTES,
              "units_per_hit": SIZE, "controls": {"per_hit": CONTROLS}}  # fmt: skip
    study = create_study(design=make_design(values))
    now = timezone.now()
    Study.objects.filter(pk=study.pk).update(slug=slug, state="open", generated_at=now, opened_at=now)
    return Study.objects.get(pk=study.pk)


def _captions(dataset: Any, role: str) -> list[int]:
    from judgments.models import Caption

    rows = Caption.objects.filter(dataset=dataset, role=role).order_by("pk")
    return list(rows.values_list("pk", flat=True))


def _hits(study: Study, done: int) -> tuple[list[int], list[int], list[int]]:
    """The keys of judged units, of control items, and of HITs, each in their order."""
    from judgments.bulk import insert_rows
    from judgments.models import HIT, CandidatePair, HITUnit, Item, Unit

    items = list(
        Item.objects.filter(dataset=study.dataset_id).order_by("position").values_list("pk", flat=True)
    )
    candidates, references = (_captions(study.dataset, role) for role in ("candidate", "reference"))
    sides = [(at, *pair) for at in range(len(items)) for pair in PAIRS]
    insert_rows(
        CandidatePair,
        ("study_id", "key", "position", "kind", "item_id", "first_id", "second_id", "references"),
        (
            (study.pk, f"p-{place:07}", place, kind, items[at], candidates[at * CANDIDATES + first],
             candidates[at * CANDIDATES + second], [f"{at:06}.jpg#{n}" for n in range(REFERENCES)])
            for place, (at, first, second, kind) in enumerate(sides)
        ),
    )  # fmt: skip
    pairs = list(study.pairs.order_by("position").values_list("pk", flat=True))
    wanted = (done + 10) * JUDGED
    insert_rows(
        Unit,
        ("study_id", "key", "position", "item_id", "reference_id", "first_id", "second_id", "pair_id", "kind"),
        (
            (study.pk, f"u-{place:07}", place, items[at], references[at * REFERENCES + place % REFERENCES],
             candidates[at * CANDIDATES + first], candidates[at * CANDIDATES + second],
             pairs[place // REFERENCES], kind)
            for place in range(wanted)
            for at, first, second, kind in (sides[place // REFERENCES],)
        ),
    )  # fmt: skip
    insert_rows(
        Unit,
        ("study_id", "key", "position", "item_id", "reference_id", "first_id", "second_id", "control", "expected",
         "control_kind"),
        (
            (study.pk, f"x-{place:07}", wanted + place, items[at], references[at * REFERENCES],
             references[at * REFERENCES + 1], candidates[at * CANDIDATES], True, 1, "degraded")
            for place in range((done + 10) * CONTROLS)
            for at in (place % len(items),)
        ),
    )  # fmt: skip
    found = list(study.units.order_by("position").values_list("pk", flat=True))
    units, controls = found[:wanted], found[wanted:]
    insert_rows(
        HIT,
        ("study_id", "key", "position", "required", "open_slots"),
        ((study.pk, f"h-{at:06}", at, VOTES, 0 if at < done else VOTES) for at in range(done + 10)),
    )
    hits = list(study.hits.order_by("position").values_list("pk", flat=True))
    insert_rows(
        HITUnit,
        ("hit_id", "unit_id", "position"),
        (
            (hit, unit, n)
            for at, hit in enumerate(hits)
            for n, unit in enumerate(_of_hit(units, controls, at), start=1)
        ),
    )
    return units, controls, hits


def _of_hit(units: list[int], controls: list[int], at: int) -> list[int]:
    return units[at * JUDGED : (at + 1) * JUDGED] + controls[at * CONTROLS : (at + 1) * CONTROLS]


def _work(
    study: Study, units: list[int], controls: list[int], hits: list[int], done: int, rng: np.random.Generator
) -> None:
    from annotation.models import Assignment, Judgment, Participation, Worker
    from judgments.bulk import insert_rows

    people = Worker.objects.bulk_create(Worker(name=f"{study.slug}-w-{at:04}") for at in range(WORKERS))
    insert_rows(
        Participation,
        ("study_id", "worker_id", "completion_code"),
        ((study.pk, one.pk, f"code-{at:04}") for at, one in enumerate(people)),
    )
    drawn = rng.bytes(16 * done * VOTES)
    keys = [uuid.UUID(bytes=drawn[at : at + 16]) for at in range(0, len(drawn), 16)]
    insert_rows(
        Assignment,
        ("id", "study_id", "hit_id", "worker_id", "state", "seat", "accepted_at", "submitted_at"),
        (
            (key, study.pk, hits[at // VOTES], people[(at // VOTES + at % VOTES * 97) % WORKERS].pk, "submitted",
             at % VOTES, START + timedelta(seconds=3 * at), START + timedelta(seconds=3 * at + 110))
            for at, key in enumerate(keys)
        ),
    )  # fmt: skip

    def given() -> Iterator[tuple[Any, ...]]:
        moment = START
        for at, key in enumerate(keys):
            hit, worker = at // VOTES, (at // VOTES + at % VOTES * 97) % WORKERS
            here = _of_hit(units, controls, hit)
            # nine in ten mostly prefer the side that a unit is "truly" better on, and know the control items
            truth = [1 + (unit // REFERENCES) % 2 for unit in here[:JUDGED]] + [1] * CONTROLS
            wrong = rng.random(SIZE) < (0.5 if worker % 10 == 0 else 0.15)
            left = rng.random(SIZE) < 0.5
            spent = np.round(rng.gamma(4.0, 1.5, SIZE), 1).tolist()
            moment = START + timedelta(seconds=3 * at + 110)
            for n, unit in enumerate(here):
                value = 3 - truth[n] if wrong[n] else truth[n]
                yield key, unit, value, "first-left" if left[n] else "second-left", spent[n], moment

    insert_rows(Judgment, ("assignment_id", "unit_id", "value", "presented", "seconds", "made_at"), given())


def main() -> None:
    """Fill the database of the environment."""
    import django

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    began = time.perf_counter()
    study = fill_study(judgments=chosen.judgments, seed=chosen.seed)
    print(f"study {study.slug}: {chosen.judgments:,} judgments in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
