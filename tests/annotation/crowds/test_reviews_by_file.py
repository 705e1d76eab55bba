"""A study's work as a result file, reviewed in a spreadsheet program, and back."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Assignment, Judgment, Worker
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from judgments.models import Study, StudyEvent
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


def worked(protocol: str = "pairwise", workers: int = 2, **values: Any) -> Study:
    """A study of which each worker did one page; the first wrote beside an answer what a spreadsheet would run."""
    study = make_study(protocol, judgments_per_unit=2, **values)
    for number in range(workers):
        worker, _ = make_worker(study, f"w-{number}")
        claim = claim_assignment(study=study, worker=worker)
        assert claim is not None
        answers = [
            {"position": place.position, "value": 1, "seconds": 2.5, "comment": "=1+1" if number == 0 else ""}
            for place in claim.places
        ]
        submit_assignment(assignment=claim.assignment, answers=answers)
    return study


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def exported(study: Study, folder: Path) -> tuple[Path, list[dict[str, str]]]:
    path = folder / "work.csv"
    call_command("export_judgments", study.slug, format="mturk", output=path, stdout=io.StringIO())
    return path, rows_of(path)


def reviewed(path: Path, rows: list[dict[str, str]]) -> Path:
    """The rows back in the file, as a spreadsheet program saves it."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def run(study: Study, path: Path) -> str:
    said = io.StringIO()
    call_command("import_reviews", study.slug, str(path), stdout=said)
    return said.getvalue().strip()


def refused(study: Study, path: Path) -> str:
    before = sorted(Assignment.objects.values_list("pk", "state", "reason"))
    with pytest.raises(CommandError) as caught:
        run(study, path)
    assert sorted(Assignment.objects.values_list("pk", "state", "reason")) == before
    assert not StudyEvent.objects.filter(what="reviews-imported").exists()
    return str(caught.value)


def test_an_assignment_is_a_line_in_the_requester_columns(tmp_path: Path) -> None:
    study = worked(crowd={"reward_cents": 12, "title": "Compare two sentences", "keywords": "sentences"})
    _, rows = exported(study, tmp_path)
    assert len(rows) == 2
    assignment = Assignment.objects.get(study=study, worker__name="w-0")
    row = next(row for row in rows if row["WorkerId"] == "w-0")
    assert list(row)[:3] == ["HITId", "HITTypeId", "Title"]
    assert list(row)[-2:] == ["Approve", "Reject"]
    assert (row["AssignmentId"], row["AssignmentStatus"], row["Reward"]) == (
        str(assignment.pk),
        "Submitted",
        "$0.12",
    )
    assert (row["Title"], row["Keywords"], row["MaxAssignments"]) == (
        "Compare two sentences",
        "sentences",
        "2",
    )
    assert assignment.hit is not None
    for place in assignment.hit.places.select_related("unit__item", "unit__first"):
        unit = place.unit
        judgment = Judgment.objects.get(assignment=assignment, unit=unit)
        assert row[f"Input.u{place.position}_unit"] == unit.key
        assert row[f"Input.u{place.position}_image"] == unit.item.name
        assert unit.first is not None
        assert row[f"Input.u{place.position}_first_text"] == unit.first.text
        assert row[f"Answer.u{place.position}"] == str(judgment.value)
        assert row[f"Answer.t{place.position}"] == "2.5"
        assert row[f"Answer.c{place.position}"] == "'=1+1"


@pytest.mark.parametrize(
    ("protocol", "columns"),
    [
        ("pairwise", "pair=Input.u{n}_pair"),
        ("triplet", "pair=Input.u{n}_pair,reference=Input.u{n}_reference"),
        ("graded", ""),
    ],
)
def test_the_file_is_a_result_file_that_imports_again(tmp_path: Path, protocol: str, columns: str) -> None:
    study = worked(protocol)
    path, _ = exported(study, tmp_path)
    names = "unit image first_text value control comment"
    told = {"value": "Answer.u{n}", "comment": "Answer.c{n}"}
    wanted = ",".join(f"{name}={told.get(name, f'Input.u{{n}}_{name}')}" for name in names.split())
    wanted += ",second_text=Input.u{n}_second_text" if protocol != "graded" else ""
    wanted += f",{columns}" if columns else ""
    call_command(
        "import_judgments",
        "mturk",
        str(path),
        dataset="animals",
        study="again",
        protocol=protocol,
        columns=wanted,
        stdout=io.StringIO(),
    )
    fields = (
        "unit__key",
        "assignment__worker__name",
        "value",
        "comment",
        "unit__control",
        "unit__item__name",
    )
    told_again = Judgment.objects.of_study(Study.objects.get(slug="again")).values_list(*fields)
    assert sorted(told_again) == sorted(Judgment.objects.of_study(study).values_list(*fields))


def test_the_manifest_counts_assignments(tmp_path: Path) -> None:
    study = worked()
    path, _ = exported(study, tmp_path)
    manifest = path.with_name("work.csv.manifest.json").read_text()
    assert '"assignments": 2' in manifest
    assert f'"judgments": {Judgment.objects.count()}' in manifest


def test_an_x_approves_and_a_reason_rejects_once(tmp_path: Path) -> None:
    study = worked(workers=3)
    path, rows = exported(study, tmp_path)
    rows[0]["Approve"], rows[1]["Reject"] = "X", "Every answer was the first."
    reviewed(path, rows)
    assert run(study, path) == "1 approved and 1 rejected; the file leaves 1 open."
    states = dict(Assignment.objects.values_list("worker__name", "state"))
    assert states == {
        rows[0]["WorkerId"]: "approved",
        rows[1]["WorkerId"]: "rejected",
        rows[2]["WorkerId"]: "submitted",
    }
    assert Assignment.objects.get(state="rejected").reason == "Every answer was the first."
    assert StudyEvent.objects.get(what="reviews-imported").details == {"approved": 1, "rejected": 1}
    assert run(study, path) == "0 approved and 0 rejected; the file leaves 1 open."
    assert StudyEvent.objects.filter(what="reviews-imported").count() == 1


def test_decisions_stand_in_the_next_export_and_an_approval_overrides_a_rejection(tmp_path: Path) -> None:
    study = worked(workers=1)
    path, rows = exported(study, tmp_path)
    rows[0]["Reject"] = "Too fast."
    run(study, reviewed(path, rows))
    path, rows = exported(study, tmp_path)
    assert (rows[0]["AssignmentStatus"], rows[0]["RequesterFeedback"]) == ("Rejected", "Too fast.")
    assert (rows[0]["Approve"], rows[0]["Reject"]) == ("", "")
    rows[0]["Approve"] = "x"
    run(study, reviewed(path, rows))
    _, rows = exported(study, tmp_path)
    assert rows[0]["AssignmentStatus"] == "Approved"


NO_REVIEWS = (
    ({"Approve": "x", "Reject": "bad"}, "line 2, Reject: found a reason beside an x under Approve, expected one"),
    ({"Approve": "ok"}, 'line 2, Approve: found "ok", expected an x, or nothing.'),
    ({"Reject": "x"}, 'line 2, Reject: found "x", expected a reason that the worker can read'),
    ({"Reject": "y" * 501}, "line 2, Reject: found 501 characters, expected a reason"),
    ({"Approve": "x", "AssignmentId": "3NOBODY"}, 'line 2, AssignmentId: found "3NOBODY", expected finished work'),
    ({"Approve": "x", "AssignmentId": ""}, "line 2, AssignmentId: found nothing, expected it in every row."),
)  # fmt: skip


def test_a_line_that_is_no_review_changes_nothing(tmp_path: Path) -> None:
    study = worked()
    path, rows = exported(study, tmp_path)
    rows[1]["Approve"] = "x"
    for cells, sentence in NO_REVIEWS:
        assert sentence in refused(study, reviewed(path, [rows[0] | cells, *rows[1:]]))


def test_two_reviews_of_one_assignment_must_agree(tmp_path: Path) -> None:
    study = worked(workers=1)
    path, rows = exported(study, tmp_path)
    assert "line 3, AssignmentId: found" in refused(
        study, reviewed(path, [rows[0] | {"Approve": "x"}, rows[0] | {"Reject": "bad"}])
    )
    again = reviewed(path, [rows[0] | {"Approve": "x"}] * 2)
    assert run(study, again) == "1 approved and 0 rejected; the file leaves 0 open."


def test_work_of_another_study_and_approved_work_are_refused(tmp_path: Path) -> None:
    study, other = worked(), make_study("triplet", name="Another study")
    path, rows = exported(study, tmp_path)
    rows[0]["Approve"] = rows[1]["Approve"] = "x"
    assert "expected finished work of study 'another-study'" in refused(other, reviewed(path, rows))
    run(study, path)
    rows[0] |= {"Approve": "", "Reject": "bad"}
    with pytest.raises(
        CommandError, match="line 2, Reject: found a reason for work that was approved before"
    ):
        run(study, reviewed(path, rows))
    assert set(Assignment.objects.filter(study=study).values_list("state", flat=True)) == {"approved"}


def test_an_id_that_went_from_one_worker_to_the_next_is_told_apart_by_the_worker(tmp_path: Path) -> None:
    study = worked()
    Assignment.objects.filter(study=study).update(external_id="3SHARED")
    path, rows = exported(study, tmp_path)
    assert {row["AssignmentId"] for row in rows} == {"3SHARED"}
    rows[0]["Approve"] = "x"
    run(study, reviewed(path, rows))
    assert Assignment.objects.get(worker=Worker.objects.get(name=rows[0]["WorkerId"])).state == "approved"
    assert Assignment.objects.get(worker=Worker.objects.get(name=rows[1]["WorkerId"])).state == "submitted"


def test_a_file_without_the_columns_of_a_review_is_refused(tmp_path: Path) -> None:
    study = worked()
    path = tmp_path / "rows.csv"
    path.write_text("HITId,AssignmentId,WorkerId\n")
    assert "line 1: found no column Approve" in refused(study, path)
