"""An export holds one moment: what people do while it is written, or before it goes on, is not in it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotation.models import Adjudication, Assignment, Exclusion, Judgment
from evaluation.data.export import parts
from evaluation.data.export.exporting import export_judgments
from evaluation.data.judgment_sets.loaders import hash_of_judgments, signature_of_study
from judgments.models import Unit
from tests.evaluation.studies import StudyOf, make_dataset
from tests.installations import Installation

pytestmark = pytest.mark.django_db
# One for each way to read answers: csv and parquet read those of jsonl, flickr8k those of qrels.
IN_PARTS = ["jsonl", "qrels", "reliability"]
WRITTEN = {"as_of": "", "created_at": "", "file": ""}


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> StudyOf:
    """Nine units and a control item, two a part; of four workers one revised an answer and one was excluded."""
    monkeypatch.setattr(parts, "UNITS_A_PART", 2)
    made = StudyOf(
        make_dataset("toy", {"a.jpg": ["a dog runs"], "b.jpg": ["a cat"]}),
        "relevance",
        controls={"per_hit": 1},
    )
    units = [made.unit(f"u{place}", "a.jpg", first=f"text {place}") for place in range(9)]
    control = made.unit("c1", "b.jpg", first="a cat", control=True, expected=1)
    hit = made.hit("h1", [*units, control], required=9)
    for number, worker in enumerate(("zoe", "bela", "Ärni", "gone")):
        made.answer(hit, worker, [(place + number) % 2 for place in range(9)] + [1])
    revise(worker="zoe", unit="u8", value=1)
    exclude(made, "gone")
    return made


def revise(*, worker: str, unit: str, value: int) -> None:
    own = Judgment.objects.get(assignment__worker__name=worker, unit__key=unit, replaced_by=None)
    Judgment.objects.create(assignment=own.assignment, unit=own.unit, value=value, replaces=own)


def exclude(study: StudyOf, name: str) -> None:
    spoilt = Assignment.objects.get(worker__name=name)
    exclusion = Exclusion.objects.create(
        study=study.study, worker=spoilt.worker, rule="side-bias", why="left"
    )
    Assignment.objects.filter(pk=spoilt.pk).update(
        state="invalidated", exclusion=exclusion, before_exclusion="submitted"
    )


def readmit(name: str) -> None:
    Assignment.objects.filter(worker__name=name).update(state="submitted", before_exclusion="")


def everything_changes(study: StudyOf) -> None:
    """Somebody submits, answers are revised (one of them again, one on a control item), a person is excluded and one
    taken back, a unit is decided."""
    study.answer(study.study.hits.get(), "late", [1] * 9 + [1])
    revise(worker="bela", unit="u5", value=1)
    revise(worker="zoe", unit="u8", value=0)
    revise(worker="Ärni", unit="c1", value=0)
    exclude(study, "bela")
    readmit("gone")
    Adjudication.objects.create(
        study=study.study, unit=Unit.objects.get(key="u7"), adjudicator=User.objects.create(username="judge"),
        state="decided", value=1, decided_at=timezone.now(),
    )  # fmt: skip


class Stopped(BaseException):
    """What stops an export in the middle, as a signal does."""


def after_parts(number: int, act: Callable[[], None]) -> Callable[..., None]:
    """A progress report that does something once, when so many parts are there."""
    reports = iter(range(1 + number))

    def report(share: float, words: str = "") -> None:
        if next(reports, None) == number:
            act()

    return report


def stop() -> None:
    raise Stopped


def told(study: StudyOf, path: Path, form: str, **options: Any) -> dict[str, Any]:
    return export_judgments(study=study.study, format=form, output=path, **options).manifest | WRITTEN


@pytest.mark.parametrize("form", IN_PARTS)
def test_what_people_do_between_parts_is_not_in_the_file(form: str, study: StudyOf, tmp_path: Path) -> None:
    before = told(study, tmp_path / "quiet", form)
    assert before["judgments_sha256"] == hash_of_judgments(study.study)
    assert before["judgment_signature"] == str(signature_of_study(study.study))
    during = told(study, tmp_path / "busy", form, progress=after_parts(2, lambda: everything_changes(study)))
    assert Judgment.objects.filter(assignment__worker__name="late").exists()
    assert (tmp_path / "busy").read_bytes() == (tmp_path / "quiet").read_bytes()
    assert during == before
    now = told(study, tmp_path / "now", form)
    assert now["judgments_sha256"] == hash_of_judgments(study.study) != before["judgments_sha256"]
    assert now["judgment_signature"] == str(signature_of_study(study.study))
    assert now["sha256"] != before["sha256"]


@pytest.mark.parametrize("form", [*IN_PARTS, "revisions"])
def test_an_export_that_goes_on_holds_the_moment_when_it_began(
    form: str, study: StudyOf, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"revisions": True} if form == "revisions" else {}
    form = "jsonl" if form == "revisions" else form
    before = told(study, tmp_path / "quiet", form, **options)
    with pytest.raises(Stopped):
        told(study, tmp_path / "busy", form, progress=after_parts(2, stop), **options)
    everything_changes(study)
    after = told(study, tmp_path / "busy", form, resume=True, **options)
    assert (tmp_path / "busy").read_bytes() == (tmp_path / "quiet").read_bytes()
    assert after == before


def test_the_manifest_says_when_it_was(study: StudyOf, tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        export_judgments(study=study.study, format="csv", output=path, progress=after_parts(1, stop))
    kept = json.loads((parts.parts_folder(path) / parts.STATE).read_text())["held"]["moment"]["at"]
    made = export_judgments(study=study.study, format="csv", output=path, resume=True).manifest
    assert made["as_of"] == kept.replace("+00:00", "Z") < made["created_at"]


LOWER_ID_LATER = """
import threading
from django.db import connection, transaction
from annotation.models import Assignment, Judgment
from django.test.utils import CaptureQueriesContext
from evaluation.data.export import parts as moments
from evaluation.data.judgment_sets import loaders as blocks
from evaluation.models import ColumnBlock
from judgments.models import Unit
from tests.evaluation.studies import StudyOf, make_dataset

made = StudyOf(make_dataset("toy", {"a.jpg": ["a dog runs"]}), "relevance")
units = [made.unit(f"u{place}", "a.jpg", first=f"text {place}") for place in range(2)]
hit = made.hit("h1", units)
made.answer(hit, "early", [1, 1])
slow = Assignment.objects.create(study=made.study, hit=hit, worker=made.worker("slow"), slot=7)
stored, waited = threading.Event(), threading.Event()

def submit_slowly():
    with transaction.atomic():
        Judgment.objects.create(assignment=slow, unit=units[0], value=1)
        stored.set()
        assert waited.wait(60)
        Judgment.objects.create(assignment=slow, unit=units[1], value=1)
    connection.close()

writer = threading.Thread(target=submit_slowly)
writer.start()
assert stored.wait(60)
made.answer(hit, "quick", [0, 0])  # higher ids, there before the lower one
with CaptureQueriesContext(connection) as queries:
    blocks.extend_blocks(made.study)
print([query["sql"] for query in queries if query["sql"].startswith("LOCK")])
blocks.SPAN = 1
blocks.extend_blocks(made.study)
print(list(ColumnBlock.objects.values_list("what", flat=True)))

def pause(seconds):
    waited.set()
    writer.join()

moments.time.sleep = pause
moment = moments.take_snapshot(made.study)
print(sorted(moment.judgments(made.study).values_list("assignment__worker__name", flat=True)))
with connection.cursor() as cursor:
    cursor.execute("SELECT count(*) FROM pg_locks WHERE mode = 'ShareLock' AND pid = pg_backend_pid()")
    print(cursor.fetchone()[0])
blocks.extend_blocks(made.study)
print(ColumnBlock.objects.get(what="judgments").rows, len(blocks.judgment_columns(made.study)))
"""


def test_exports_and_blocks_hold_a_submission_that_was_under_way_as_a_whole(
    installation_on: Callable[[str], Installation], postgres_url: str
) -> None:
    found = installation_on("postgresql").python(LOWER_ID_LATER).splitlines()
    assert found == [
        "[]",  # no lock for blocks that are not yet worth it
        "['units']",  # no judgments while a lower id can appear
        "['early', 'early', 'quick', 'quick', 'slow', 'slow']",
        "0",
        "6 6",
    ]
