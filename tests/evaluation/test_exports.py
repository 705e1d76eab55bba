"""Exported files: their columns, the moment that they hold, what they refuse, and that they come back as they went."""

import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import Adjudication, Assignment, Exclusion, Judgment
from contrib.judgment_imports.importing import import_judgments
from evaluation.data.export import parts
from evaluation.data.export.exporting import export_judgments
from evaluation.data.judgment_sets.study_signatures import hash_of_judgments, signature_of_study
from evaluation.reports.releases import pseudonymous_judgments
from evaluation.results.aggregation import aggregate_study
from judgments.models import Caption, Study, Unit
from judgments.studies.studies import find_study
from quorum.numeric.parallel import use_pool
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.installations import Installation
from tests.marks import long_except
from tests.test_packing import Elsewhere

pytestmark = pytest.mark.django_db

# The example of the public interface, key by key.
COLUMNS = [
    "study", "unit", "protocol", "image", "reference", "first", "second", "reference_text", "first_text",
    "second_text", "kind", "pair", "worker", "assignment", "hit", "value", "control", "expected", "used",
    "presented", "simulated", "accepted_at", "submitted_at", "seconds",
    "wall_seconds", "comment", "revision", "invalidated", "systems",
]  # fmt: skip
REFERENCES = {"a.jpg": ["a dog runs", "=SUM(A1)", "'@quoted"], "b.jpg": ['a cat, "the" cat\nsits', "+1 cat"]}
FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-2 dogs", "@home", "\ttabbed", "\rreturn", "＝wide"]
TEXTS = [*FORMULAS, "'=already", "''-twice", "Zoë's 犬"]


@pytest.fixture
def pairwise() -> StudyOf:
    """Two units of one pair each, three workers of whom one fails the control item."""
    study = StudyOf(make_dataset("toy", REFERENCES), "pairwise", controls={"per_hit": 1}, seed=11)
    first = study.pair("p1", "a.jpg", TEXTS[0], TEXTS[8], kind="HM")
    second = study.pair("p2", "b.jpg", TEXTS[2], TEXTS[3], kind="MM")
    other = candidate(study.dataset, TEXTS[6])
    hit = study.hit(
        "h1",
        [
            study.unit("u1", pair=first),
            study.unit("u2", pair=second),
            study.unit("c1", "b.jpg", first=TEXTS[7], second=other, control=True, expected=2),
        ],
    )
    sides = ["first-left", "second-left", "second-left"]
    study.answer(hit, "w-2", [1, 2, 2], presented=sides, seconds=[1.5, 2.25, 3.0])
    study.answer(hit, "=w-1", [1, 1, 2], presented=sides[::-1])
    study.answer(hit, "w-3", [2, 1, 1], presented=sides)
    return study


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def exported(study: StudyOf | Study, path: Path, form: str, **options: Any) -> Path:
    row = study.study if isinstance(study, StudyOf) else study
    export_judgments(study=row, format=form, output=path, **options)
    return path


def test_a_line_has_the_documented_keys_in_their_order(pairwise: StudyOf, tmp_path: Path) -> None:
    rows = lines(exported(pairwise, tmp_path / "out.jsonl", "jsonl"))
    assert all(list(row) == COLUMNS for row in rows)
    assert [(row["unit"], row["worker"]) for row in rows] == [
        (unit, worker) for unit in ("u1", "u2", "c1") for worker in ("=w-1", "w-2", "w-3")
    ]
    assert {row["worker"]: row["used"] for row in rows} == {"=w-1": True, "w-2": True, "w-3": False}
    assert [row["expected"] for row in rows if row["control"]] == [2, 2, 2]
    row = next(row for row in rows if (row["unit"], row["worker"]) == ("u2", "w-2"))
    assert row | {"assignment": ""} == {
        "study": "toy-pairwise", "unit": "u2", "protocol": "pairwise", "image": "b.jpg", "reference": None,
        "first": Caption.objects.get(text=TEXTS[2]).key, "second": Caption.objects.get(text=TEXTS[3]).key,
        "reference_text": None, "first_text": TEXTS[2], "second_text": TEXTS[3], "kind": "MM", "pair": "p2",
        "worker": "w-2", "assignment": "", "hit": "h1", "value": 2, "control": False, "expected": None, "used": True,
        "presented": "second-left", "simulated": False, "accepted_at": "2026-01-01T10:00:00Z",
        "submitted_at": "2026-01-01T10:05:00Z", "seconds": 2.25, "wall_seconds": None, "comment": None, "revision": 0,
        "invalidated": None, "systems": None,
    }  # fmt: skip


def test_no_cell_of_a_csv_is_a_formula(pairwise: StudyOf, tmp_path: Path) -> None:
    path = exported(pairwise, tmp_path / "out.csv", "csv")
    with path.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert f"'{TEXTS[0]}" in cells
    assert "'=w-1" in cells


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_what_is_exported_imports_to_the_same_consensus_and_texts(
    form: str, pairwise: StudyOf, tmp_path: Path
) -> None:
    path = exported(pairwise, tmp_path / f"out.{form}", form)
    import_judgments(format=form, path=path, dataset="toy", study="again")
    before, after = aggregate_study(study=pairwise.study), aggregate_study(study=find_study("again"))
    assert after["units"] == before["units"]
    assert after["pairs"] == before["pairs"]
    assert after["agreement"]["alpha"]["value"] == before["agreement"]["alpha"]["value"]
    rows = lines(exported(pairwise, tmp_path / "one.jsonl", "jsonl"))
    again = lines(exported(find_study("again"), tmp_path / "two.jsonl", "jsonl"))
    assert [row | {"study": ""} for row in again] == [row | {"study": ""} for row in rows]
    assert (
        manifest(tmp_path / "one.jsonl")["judgments_sha256"]
        == manifest(tmp_path / "two.jsonl")["judgments_sha256"]
    )


def test_parquet_holds_typed_columns(pairwise: StudyOf, tmp_path: Path) -> None:
    table = pq.read_table(exported(pairwise, tmp_path / "out.parquet", "parquet"))
    assert table.column_names == COLUMNS
    assert str(table.schema.field("submitted_at").type) == "timestamp[us, tz=UTC]"
    rows = lines(exported(pairwise, tmp_path / "out.jsonl", "jsonl"))
    assert table["value"].to_pylist() == [row["value"] for row in rows]
    assert table["used"].to_pylist() == [row["used"] for row in rows]
    assert table["first_text"].to_pylist() == [row["first_text"] for row in rows]
    assert table["expected"].to_pylist() == [None] * 6 + ["2"] * 3


def manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_name(f"{path.name}.manifest.json").read_text())
    return found


def test_the_manifest_tells_what_is_needed_to_make_the_file_again(pairwise: StudyOf, tmp_path: Path) -> None:
    path = exported(pairwise, tmp_path / "out.jsonl", "jsonl")
    found = manifest(path)
    assert found["counts"] == {
        "judgments": 9, "used": 6, "unused": 3, "control": 3, "simulated": 0, "revised": 0, "invalidated": 0,
    }  # fmt: skip
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found["bytes"] == path.stat().st_size
    assert (found["study"], found["seed"], found["simulated"]) == ("toy-pairwise", 11, False)
    assert found["design"]["controls"]["per_hit"] == 1
    assert set(found["versions"]) == {"quorum", "python", "numpy", "scipy"}
    assert found["signature"].startswith("export|format:jsonl|protocol:pairwise|controls:0.7|v:")
    assert found["created_at"].endswith("Z")


def test_the_manifest_does_not_give_away_the_code_of_a_study(tmp_path: Path) -> None:
    study = StudyOf(
        make_dataset("toy", REFERENCES), "pairwise", access={"join": "code", "code": "open sesame"}
    )
    path = exported(study, tmp_path / "out.jsonl", "jsonl")
    assert "open sesame" not in path.with_name("out.jsonl.manifest.json").read_text()


def test_the_command_names_a_folder_in_one_line(pairwise: StudyOf, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is a folder"):
        call_command("export_judgments", "toy-pairwise", "--format", "csv", "--output", str(tmp_path))


def test_a_study_without_judgments_exports_an_empty_file(tmp_path: Path) -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "triplet")
    assert exported(study, tmp_path / "out.jsonl", "jsonl").read_text() == ""
    assert manifest(tmp_path / "out.jsonl")["counts"]["judgments"] == 0
    assert pq.read_table(exported(study, tmp_path / "out.parquet", "parquet")).num_rows == 0


# One for each way to read answers: csv and parquet read those of jsonl, flickr8k those of qrels.
IN_PARTS = ["jsonl", "qrels", "reliability"]
WRITTEN = {"as_of": "", "created_at": "", "file": ""}


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> StudyOf:
    """Nine units and a control item, two a part; of four workers one revised an answer and one was excluded."""
    monkeypatch.setattr(parts, "UNITS_PER_PART", 2)
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


@pytest.mark.parametrize("form", long_except(IN_PARTS, "reliability"))
def test_parts_that_others_write_are_the_same(form: str, study: StudyOf, tmp_path: Path) -> None:
    here, pool = told(study, tmp_path / "here", form), Elsewhere()
    with use_pool(pool):
        assert told(study, tmp_path / "elsewhere", form) == here
    assert pool.computed == {"_write_part"}
    assert (tmp_path / "elsewhere").read_bytes() == (tmp_path / "here").read_bytes()


def test_judgments_that_others_read_for_a_release_are_the_same(
    study: StudyOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pseudonymous_judgments, "ROWS_PER_BATCH", 2)
    how: dict[str, Any] = {
        "pseudonyms": pseudonymous_judgments.Pseudonyms(b"salt"),
        "texts": True,
        "comments": True,
    }
    here, pool = list(pseudonymous_judgments.released_judgments(study.study, **how)), Elsewhere()
    with use_pool(pool):
        assert list(pseudonymous_judgments.released_judgments(study.study, **how)) == here
    assert pool.computed == {"_read_batch"}


@pytest.mark.parametrize("form", long_except(IN_PARTS, "qrels"))
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


@pytest.mark.parametrize("form", long_except([*IN_PARTS, "revisions"], "jsonl", "revisions"))
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
    kept = json.loads((parts.parts_folder(path) / parts.STATE_FILE).read_text())["held"]["moment"]["at"]
    made = export_judgments(study=study.study, format="csv", output=path, resume=True).manifest
    assert made["as_of"] == kept.replace("+00:00", "Z") < made["created_at"]


LOWER_ID_LATER = """
import threading
from django.db import connection, transaction
from annotation.models import Assignment, Judgment
from django.test.utils import CaptureQueriesContext
from evaluation.data.export import snapshots as moments
from evaluation.data.judgment_sets import blocks
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
blocks.IDS_PER_BLOCK = 1
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
print(ColumnBlock.objects.get(what="judgments").rows, len(blocks.judgment_columns(made.study)['pk']))
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
