"""Make a large study in seconds: 1,000,000 judgments in half a minute. The same seed makes the same rows.

``fill_study(judgments=..., protocol=..., seed=...)`` makes one open study with all rows that it needs, in the database
of Django's settings: HITs of 20 items, three workers for each HIT, and 300 workers, of whom one in ten answers at
random. Rows are inserted as tuples (``common.rows.writing``), without an object for each row, some thousand HITs at a
time. So ten million judgments take little memory, apart from 8 bytes for each caption's row id and the memory of the
database.

``triplet``: images with ten references and three candidates, three pairs per image, and a unit for each pair and
reference. ``relevance``: 20,000 images with two references, and as many systems as the judgments need, each with
one caption of each image. Both have 2 control items among the 20. ``caption``, ``keywords`` and ``grounding`` ask
about the same 20,000 images again and again, without control items. Other benchmarks may use it:

    from benchmarks.filling import fill_study
    study = fill_study(judgments=1_000_000)  # -> the Study, slug "large"

As a program, it fills the database that DATABASE_URL or DATA_DIR names:

    python -m benchmarks.filling --judgments 60000
"""

from __future__ import annotations

import argparse
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from judgments.models import Study

SIZE, VOTES, WORKERS = 20, 3, 300
PAIRS = ((0, 1, "HM"), (0, 2, "HM"), (1, 2, "MM"))
MAX_IMAGES = 20_000
OPEN_HITS = 10  # number of HITs at the end that nobody has taken
HITS_PER_BATCH, CAPTIONS_PER_BATCH = 2_000, 50_000
WORDS = tuple(f"word{number}" for number in range(40))
BOXES = (
    {"id": "b1", "label": "word1", "box": [0, 0, 10, 10]},
    {"id": "b2", "label": "word2", "box": [5, 5, 20, 20]},
)
TEXT = "word1 word2 word3 word4 word5 word6 word7 word8"
START = datetime(2026, 1, 1, 10, tzinfo=UTC)
PROTOCOLS = ("triplet", "relevance", "caption", "keywords", "grounding")
Ints = npt.NDArray[np.int64]


@dataclass
class Size:
    """The numbers of all rows, and the row ids of rows that were made."""

    protocol: str
    done: int
    controls: int = field(init=False)
    images: int = field(init=False)
    references: int = field(init=False)
    candidates: int = field(init=False)
    items: Ints = field(init=False)
    reference: Ints = field(init=False)
    candidate: Ints = field(init=False)
    pairs: Ints = field(init=False)

    def __post_init__(self) -> None:
        triplet = self.protocol == "triplet"
        self.controls = 2 if self.protocol in ("triplet", "relevance") else 0
        self.references = 10 if triplet else 2
        if triplet:
            self.images, self.candidates = -(-self.units // (len(PAIRS) * self.references)), 3
        else:
            self.images = min(MAX_IMAGES, self.units)
            self.candidates = -(-self.units // self.images) if self.protocol == "relevance" else 1

    @property
    def judged_units(self) -> int:
        """The number of judged units of a HIT."""
        return SIZE - self.controls

    @property
    def hits(self) -> int:
        """The number of all HITs, including untaken ones."""
        return self.done + OPEN_HITS

    @property
    def units(self) -> int:
        return self.hits * self.judged_units


def fill_study(
    *, judgments: int = 1_000_000, seed: int = 1, slug: str = "large", protocol: str = "triplet"
) -> Study:
    """Make a study with as many whole HITs as ``judgments`` need, and ten untaken ones."""
    from django.db import connection, transaction

    from annotation.models import Assignment, Judgment, Participation, Worker
    from common.rows.loads import refresh_statistics
    from common.rows.writing import insert_rows
    from judgments.models import HIT, Caption, HITUnit, Output, Study, Unit

    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous = OFF")
    rng = np.random.default_rng(seed)
    size = Size(protocol, judgments // (SIZE * VOTES))
    study = _study(slug, size, rng)
    people = Worker.objects.bulk_create(Worker(name=f"{slug}-w-{at:04}") for at in range(WORKERS))
    insert_rows(
        Participation,
        ("study_id", "worker_id", "completion_code"),
        ((study.pk, one.pk, f"code-{at:04}") for at, one in enumerate(people)),
    )
    workers = [one.pk for one in people]
    for start in range(0, size.hits, HITS_PER_BATCH):
        with transaction.atomic():
            numbers = range(start, min(start + HITS_PER_BATCH, size.hits))
            units, hits = _hits(study, size, numbers)
            _add_work(study, size, numbers, units, hits, workers, rng)
            if start == 0:  # so that the database plans queries for the new rows well
                refresh_statistics(Unit, HIT)
    with transaction.atomic():
        refresh_statistics(Caption, Output, Unit, HIT, HITUnit, Assignment, Judgment)
    return Study.objects.get(pk=study.pk)


def _study(slug: str, size: Size, rng: np.random.Generator) -> Study:
    from django.utils import timezone

    from common.rows.writing import insert_rows
    from judgments.design.reading.checking import make_design
    from judgments.models import Dataset, Item, Study
    from judgments.studies.studies import create_study

    dataset = Dataset.objects.create(name=slug, source_format="jsonl", fingerprint="")
    insert_rows(
        Item,
        ("dataset_id", "name", "position", "split"),
        ((dataset.pk, f"{at:06}.jpg", at, "test") for at in range(size.images)),
    )
    size.items = _ids(Item.objects.filter(dataset=dataset))
    _fill_captions(dataset.pk, size, rng)
    _fill_outputs(dataset, size)
    values: dict[str, Any] = {"name": slug, "dataset": slug, "protocol": size.protocol, "judgments_per_unit": VOTES,
                              "units_per_hit": SIZE, "controls": {"per_hit": size.controls}}  # fmt: skip
    study = create_study(design=make_design(values))
    now = timezone.now()
    Study.objects.filter(pk=study.pk).update(slug=slug, state="open", generated_at=now, opened_at=now)
    study = Study.objects.get(pk=study.pk)
    if size.protocol == "triplet":
        _fill_pairs(study, size)
    return study


def _fill_captions(dataset: int, size: Size, rng: np.random.Generator) -> None:
    """Add references and candidates with eight words each."""
    from common.rows.writing import insert_rows
    from judgments.drawing.keys import text_key
    from judgments.models import Caption

    each = size.references + size.candidates
    at_once = max(1, CAPTIONS_PER_BATCH // each)
    for start in range(0, size.images, at_once):
        some = range(start, min(start + at_once, size.images))
        picked = rng.integers(0, len(WORDS), size=(len(some), each, 8))
        text = [
            [" ".join(WORDS[at] for at in one) + " ." for one in of_image] for of_image in picked.tolist()
        ]
        insert_rows(
            Caption,
            ("dataset_id", "item_id", "key", "text", "text_key", "role", "position"),
            (
                (
                    dataset,
                    int(size.items[at]),
                    f"{at:06}.jpg#{n}",
                    text[at - start][n],
                    text_key(text[at - start][n]),
                    "reference",
                    n,
                )
                for at in some
                for n in range(size.references)
            ),
        )
        insert_rows(
            Caption,
            ("dataset_id", "key", "text", "text_key", "role"),
            (
                (dataset, f"c-{at:06}-{n}", candidate, text_key(candidate), "candidate")
                for at in some
                for n, candidate in enumerate(text[at - start][size.references :])
            ),
        )
    rows = Caption.objects.filter(dataset=dataset)
    size.reference = _ids(rows.filter(role="reference")).reshape(size.images, size.references)
    size.candidate = _ids(rows.filter(role="candidate")).reshape(size.images, size.candidates)


def _fill_outputs(dataset: Any, size: Size) -> None:
    """Add a system for each candidate of an image. The first system stands for people."""
    from common.rows.writing import insert_rows
    from judgments.models import Output, System

    named = ("human", "one", "two") if size.protocol == "triplet" else ()
    names = named or tuple(f"s-{n:04}" for n in range(size.candidates))
    systems = System.objects.bulk_create(
        System(dataset=dataset, name=name, human=name == "human") for name in names
    )
    insert_rows(
        Output,
        ("system_id", "item_id", "caption_id"),
        (
            (systems[n].pk, item, caption)
            for at, item in enumerate(size.items.tolist())
            for n, caption in enumerate(size.candidate[at].tolist())
        ),
    )


def _fill_pairs(study: Study, size: Size) -> None:
    from common.rows.writing import insert_rows
    from judgments.models import CandidatePair

    insert_rows(
        CandidatePair,
        ("study_id", "key", "position", "kind", "item_id", "first_id", "second_id", "references"),
        (
            (study.pk, f"p-{at * len(PAIRS) + n:07}", at * len(PAIRS) + n, kind, item, own[first], own[second],
             [f"{at:06}.jpg#{n}" for n in range(size.references)])
            for at, item in enumerate(size.items.tolist())
            for own in (size.candidate[at].tolist(),)
            for n, (first, second, kind) in enumerate(PAIRS)
        ),
    )  # fmt: skip
    size.pairs = _ids(study.pairs.all())


def _ids(rows: Any, after: int = 0) -> Ints:
    """Return the int64 row ids above ``after``, in order."""
    found = rows.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True).iterator(10_000)
    return np.fromiter(found, dtype=np.int64)


def _last_id(model: Any) -> int:
    last_id: int = model.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    return last_id


CONTENT_FIELDS = ("item_id", "reference_id", "first_id", "second_id", "pair_id", "kind", "content")


def _unit_fields(size: Size, place: int) -> tuple[Any, ...]:
    """Return the fields of the judged unit at ``place``."""
    if size.protocol == "triplet":
        pair, n = divmod(place, size.references)
        at, which = divmod(pair, len(PAIRS))
        first, second, kind = PAIRS[which]
        own = size.candidate[at]
        sides = int(size.reference[at, n]), int(own[first]), int(own[second]), int(size.pairs[pair])
        return int(size.items[at]), *sides, kind, {}
    n, at = divmod(place, size.images)
    first_caption = None
    if size.protocol == "relevance":
        first_caption = int(size.candidate[at, n])
    elif size.protocol == "grounding":
        first_caption = int(size.reference[at, 0])
    contents: dict[str, dict[str, Any]] = {
        "keywords": {"text": TEXT, "collocations": []},
        "grounding": {"boxes": list(BOXES)},
    }
    content = contents.get(size.protocol, {})
    return int(size.items[at]), None, first_caption, None, None, "", content


def _control(size: Size, place: int) -> tuple[Any, ...]:
    """Return the fields of a control item, whose right answer is 1."""
    at = place % size.images
    first, other = int(size.reference[at, 0]), int(size.reference[at, 1])
    if size.protocol == "triplet":
        return int(size.items[at]), first, other, int(size.candidate[at, 0]), None, "", {}
    return int(size.items[at]), None, first, None, None, "", {}


def _hits(study: Study, size: Size, numbers: range) -> tuple[Ints, Ints]:
    """Add HITs and units. Return (HITs, SIZE) row ids of units, with control items last, and row ids of HITs."""
    from common.rows.writing import insert_rows
    from judgments.models import HIT, HITUnit, Unit

    places = range(numbers[0] * size.judged_units, (numbers[-1] + 1) * size.judged_units)
    last = _last_id(Unit)
    insert_rows(
        Unit,
        ("study_id", "key", "position", *CONTENT_FIELDS),
        ((study.pk, f"u-{place:07}", place, *_unit_fields(size, place)) for place in places),
    )
    units = _ids(study.units, last).reshape(len(numbers), size.judged_units)
    if size.controls:
        last = int(units[-1, -1])
        wanted = range(numbers[0] * size.controls, (numbers[-1] + 1) * size.controls)
        kind = "degraded" if size.protocol == "triplet" else "known-good"
        insert_rows(
            Unit,
            ("study_id", "key", "position", *CONTENT_FIELDS, "control", "expected", "control_kind"),
            (
                (study.pk, f"x-{place:07}", size.units + place, *_control(size, place), True, 1, kind)
                for place in wanted
            ),
        )
        units = np.hstack([units, _ids(study.units, last).reshape(len(numbers), size.controls)])
    last = _last_id(HIT)
    insert_rows(
        HIT,
        ("study_id", "key", "position", "required", "open_slots"),
        ((study.pk, f"h-{at:06}", at, VOTES, 0 if at < size.done else VOTES) for at in numbers),
    )
    hits = _ids(study.hits, last)
    insert_rows(
        HITUnit,
        ("hit_id", "unit_id", "position"),
        (
            (hit, unit, n)
            for hit, own in zip(hits.tolist(), units.tolist(), strict=True)
            for n, unit in enumerate(own, start=1)
        ),
    )
    return units, hits


def _add_work(
    study: Study,
    size: Size,
    numbers: range,
    units: Ints,
    hits: Ints,
    workers: Sequence[int],
    rng: np.random.Generator,
) -> None:
    """Add three assignments of each finished HIT, and their judgments."""
    from annotation.models import Assignment, Judgment
    from common.rows.writing import insert_rows

    done = min(size.done - numbers[0], len(numbers))
    if done <= 0:
        return
    drawn = rng.bytes(16 * done * VOTES)
    keys = [uuid.UUID(bytes=drawn[at : at + 16]) for at in range(0, len(drawn), 16)]
    first = numbers[0] * VOTES

    def worker_at(at: int) -> int:
        return (at // VOTES + at % VOTES * 97) % WORKERS

    insert_rows(
        Assignment,
        ("id", "study_id", "hit_id", "worker_id", "state", "slot", "accepted_at", "submitted_at"),
        (
            (key, study.pk, int(hits[n // VOTES]), workers[worker_at(first + n)], "submitted", n % VOTES,
             START + timedelta(seconds=3 * (first + n)), START + timedelta(seconds=3 * (first + n) + 110))
            for n, key in enumerate(keys)
        ),
    )  # fmt: skip
    # nine in ten workers mostly give the true answer, and know the control items
    lazy = np.array([worker_at(first + n) % 10 == 0 for n in range(len(keys))])
    right = rng.random((len(keys), SIZE)) >= np.where(lazy, 0.5, 0.15)[:, None]
    left = (rng.random((len(keys), SIZE)) < 0.5).tolist()
    spent = np.round(rng.gamma(4.0, 1.5, (len(keys), SIZE)), 1).tolist()
    given = _answers(size, numbers[0], right, rng)

    def rows() -> Iterator[tuple[Any, ...]]:
        for n, key in enumerate(keys):
            moment = START + timedelta(seconds=3 * (first + n) + 110)
            for place, unit in enumerate(units[n // VOTES].tolist()):
                side = (
                    ("first-left" if left[n][place] else "second-left") if size.protocol == "triplet" else ""
                )
                yield key, unit, *given[n][place], side, spent[n][place], moment

    names = ("assignment_id", "unit_id", "value", "answer", "presented", "seconds", "made_at")
    insert_rows(Judgment, names, rows())


def _answers(
    size: Size, hit: int, right: npt.NDArray[np.bool_], rng: np.random.Generator
) -> list[list[tuple[int | None, Any]]]:
    """Return the (value, answer) of each assignment and position, one of which is None."""
    places = (hit + np.arange(len(right)) // VOTES)[:, None] * size.judged_units + np.arange(SIZE)
    control = np.arange(SIZE) >= size.judged_units
    if size.protocol == "triplet":
        truth = np.where(control, 1, 1 + places // size.references % 2)
        return [[(one, None) for one in own] for own in np.where(right, truth, 3 - truth).tolist()]
    if size.protocol == "relevance":
        truth = np.where(control, 1, places % 5 < 2)
        return [[(one, None) for one in own] for own in np.where(right, truth, 1 - truth).tolist()]
    picked = rng.integers(1, 9, size=(*right.shape, 2)).tolist()
    made = {
        "caption": lambda one, other: f"word{one} stands beside word{other} and word{one + other} .",
        "keywords": lambda one, other: sorted({f"word{one}", f"word{other}"}),
        "grounding": lambda one, other: [{"word": one - 1, "box": f"b{1 + other % 2}"}],
    }[size.protocol]
    return [[(None, made(*pair)) for pair in own] for own in picked]


def main() -> None:
    import django

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--protocol", choices=PROTOCOLS, default="triplet")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.core.management import call_command

    from benchmarks.export import peak_memory

    call_command("migrate", verbosity=0)
    began = time.perf_counter()
    study = fill_study(judgments=chosen.judgments, seed=chosen.seed, protocol=chosen.protocol)
    seconds = time.perf_counter() - began
    print(
        f"study {study.slug}: {chosen.judgments:,} judgments in {seconds:.0f} s, {peak_memory():,.0f} MiB at most"
    )


if __name__ == "__main__":
    main()
