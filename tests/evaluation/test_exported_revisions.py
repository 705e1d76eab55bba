"""Revised and invalidated answers in exported files: marked, kept, and back as they went."""

import json
from itertools import product
from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.models import Assignment, Exclusion, Judgment
from contrib.judgment_imports.importing import import_judgments
from evaluation.data.integrity import check_integrity
from evaluation.results.aggregation import aggregate_study
from judgments.importers.problems import ImportProblem
from judgments.studies.studies import find_study
from tests.evaluation.reporting import exported
from tests.evaluation.studies import StudyOf, make_dataset
from tests.marks import long_except

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> StudyOf:
    """A unit judged by four: one thought again twice, one was excluded."""
    made = StudyOf(make_dataset("toy", {"a.jpg": ["a dog runs"]}), "pairwise")
    pair = made.pair("p1", "a.jpg", "a dog", "a cat")
    hit = made.hit("h1", [made.unit("u1", pair=pair)], required=3)
    for name, value in (("alma", 1), ("bela", 2), ("carl", 2)):
        made.answer(hit, name, [value], presented=["first-left"], seconds=[2.0])
    first = Judgment.objects.get(assignment__worker__name="alma")
    for number, value in enumerate((2, 1), start=1):
        first = Judgment.objects.create(
            assignment=first.assignment, unit=first.unit, value=value, presented="first-left", seconds=3.0,
            wall_seconds=9.5, comment=f"=thought {number}", replaces=first,
        )  # fmt: skip
    spoilt = Assignment.objects.get(worker__name="carl")
    exclusion = Exclusion.objects.create(
        study=made.study, worker=spoilt.worker, rule="side-bias", why="always left"
    )
    Assignment.objects.filter(pk=spoilt.pk).update(
        state="invalidated", exclusion=exclusion, before_exclusion="submitted"
    )
    hit.open_slots += 1
    hit.save()
    return made


def test_the_last_answer_stands_and_says_that_it_was_revised(study: StudyOf, tmp_path: Path) -> None:
    rows = {row["worker"]: row for row in exported(study.study, tmp_path / "out")}
    assert [(name, row["value"], row["revision"]) for name, row in rows.items()] == [
        ("alma", 1, 2), ("bela", 2, 0), ("carl", 2, 0),
    ]  # fmt: skip
    alma = rows["alma"]
    assert (alma["seconds"], alma["wall_seconds"], alma["comment"]) == (3.0, 9.5, "=thought 2")
    assert (rows["bela"]["wall_seconds"], rows["bela"]["comment"]) == (None, None)


def test_an_invalidated_answer_stays_and_names_its_rule(study: StudyOf, tmp_path: Path) -> None:
    rows = {row["worker"]: row for row in exported(study.study, tmp_path / "out")}
    assert (rows["carl"]["used"], rows["carl"]["invalidated"]) == (False, "side-bias")
    assert (rows["bela"]["used"], rows["bela"]["invalidated"]) == (True, None)
    Exclusion.objects.update(rule="")
    rows = {row["worker"]: row for row in exported(study.study, tmp_path / "out")}
    assert rows["carl"]["invalidated"] == "person"


def test_all_answers_are_there_when_they_are_asked_for(study: StudyOf, tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    call_command(
        "export_judgments", study.study.slug, "--format", "jsonl", "--output", str(path), "--revisions"
    )
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    alma = [row for row in rows if row["worker"] == "alma"]
    found = [(row["revision"], row["value"], row["used"]) for row in alma]
    assert found == [(0, 1, False), (1, 2, False), (2, 1, True)]
    manifest = json.loads((tmp_path / "all.jsonl.manifest.json").read_text())
    assert (manifest["counts"]["revised"], manifest["counts"]["invalidated"]) == (2, 1)
    assert "|revisions:all|" in manifest["signature"]
    exported(study.study, tmp_path / "last.jsonl")
    last = json.loads((tmp_path / "last.jsonl.manifest.json").read_text())
    assert last["judgments_sha256"] == manifest["judgments_sha256"], "what counts is the same"


@pytest.mark.parametrize(
    ("form", "revisions"),
    long_except(product(["jsonl", "csv"], [False, True]), ("jsonl", True), ("csv", False)),
)
def test_both_come_back_as_they_went(form: str, revisions: bool, study: StudyOf, tmp_path: Path) -> None:
    exported(study.study, tmp_path / "out", form, revisions=revisions)
    import_judgments(format=form, path=tmp_path / "out", dataset="toy", study="again")
    again = find_study("again")
    before = exported(study.study, tmp_path / "one", revisions=revisions)
    after = exported(again, tmp_path / "two", revisions=revisions)
    assert [row | {"study": ""} for row in after] == [row | {"study": ""} for row in before]
    hashes = [
        json.loads((tmp_path / f"{name}.manifest.json").read_text())["judgments_sha256"]
        for name in ("one", "two")
    ]
    assert hashes[0] == hashes[1]
    assert aggregate_study(study=again)["units"] == aggregate_study(study=study.study)["units"]
    assert check_integrity().problems == []


def test_only_what_counts_enters_the_consensus(study: StudyOf) -> None:
    found = aggregate_study(study=study.study)
    assert (found["units"][0]["n"], found["units"][0]["tie"]) == (2, True)


def test_a_revision_that_skips_one_is_refused(tmp_path: Path) -> None:
    make_dataset("toy", {"a.jpg": ["a dog runs"]})
    row = {
        "unit": "u",
        "worker": "w",
        "protocol": "relevance",
        "image": "a.jpg",
        "first_text": "a dog",
        "value": 1,
    }
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(json.dumps(row | {"revision": revision}) for revision in (0, 2)))
    with pytest.raises(ImportProblem, match="second answer"):
        import_judgments(format="jsonl", path=path, dataset="toy", study="again")
