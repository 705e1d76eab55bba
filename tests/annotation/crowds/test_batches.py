"""A study by hand at the requester pages: out as template and input file, back as a result file."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Model

from annotation.models import (
    Assignment,
    CrowdCall,
    CrowdSession,
    Judgment,
    Participation,
    RawId,
    Worker,
)
from annotation.quality.exclusions import exclude_worker
from judgments.models import HIT, Caption, Item, Study, StudyEvent
from judgments.studies.generation import generate_hits
from judgments.studies.studies import mark_open
from tests.annotation.crowds.requester_pages import (
    answers_on,
    first_value,
    page_of,
    results_of,
    rows_of,
    worked_row,
)
from tests.annotation.scenes import make_scenes
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db
TEMPLATES = ("template.html", "input.csv")


def exported(study: Study, folder: Path, **options: str) -> tuple[str, list[dict[str, str]]]:
    """The first template and its input rows."""
    call_command("export_batch", study.slug, output=folder / "batch", stdout=io.StringIO(), **options)
    template, rows = (folder / "batch" / name for name in TEMPLATES)
    return template.read_text(encoding="utf-8"), rows_of(rows)


def imported(study: Study, path: Path, **options: str) -> str:
    said = io.StringIO()
    call_command("import_batch", study.slug, str(path), stdout=said, **options)
    return said.getvalue()


def stored() -> list[Any]:
    """Every row that an import could make or change."""
    kinds: list[type[Model]] = [Assignment, Judgment, Worker, RawId, Participation, StudyEvent, HIT]
    return [sorted(kind._default_manager.values_list(), key=repr) for kind in kinds]


def refused(study: Study, path: Path, **options: str) -> str:
    before = stored()
    with pytest.raises(CommandError) as caught:
        imported(study, path, **options)
    assert stored() == before
    return str(caught.value)


@pytest.mark.parametrize(
    "protocol", ["triplet", "pairwise", "graded", "slider", "relevance", "caption", "best-worst"]
)
def test_a_batch_goes_out_and_its_answers_come_back(tmp_path: Path, protocol: str) -> None:
    make_dataset(systems=4)
    plain: dict[str, Any] = {"controls": {"per_hit": 0}} if protocol in ("caption", "best-worst") else {}
    study = make_study(protocol, judgments_per_unit=2, **plain)
    template, rows = exported(study, tmp_path)
    people = ("AWORKER1", "AWORKER2")
    worked = [worked_row(template, row, worker=worker) for row in rows[:2] for worker in people]
    path = results_of(tmp_path, *worked)
    assert imported(study, path).startswith(f"{len(worked)} new assignments, 0 that were there already.")
    work = Assignment.objects.filter(study=study)
    assert set(work.values_list("state", flat=True)) == {"submitted"}
    assert set(work.values_list("submitted_at", flat=True)) == {datetime(2019, 11, 21, 16, 0, 44, tzinfo=UTC)}
    for assignment in work:
        assert assignment.hit is not None
        assert Judgment.objects.filter(assignment=assignment).count() == assignment.hit.units.count()
    before = stored()
    assert imported(study, path).startswith(f"0 new assignments, {len(worked)} that were there already.")
    assert stored() == before
    assert not CrowdCall.objects.exists()
    assert not CrowdSession.objects.exists()
    call_command("check_integrity", stdout=io.StringIO())


def test_the_page_shows_what_the_work_page_shows(tmp_path: Path) -> None:
    study = make_study("pairwise")
    template, rows = exported(study, tmp_path)
    page = page_of(template, rows[0])
    hit = HIT.objects.get(study=study, key=rows[0]["quorum_hit"])
    units = list(hit.units.select_related("item", "first", "second"))
    assert sorted(page.pictures) == sorted(unit.item.url for unit in units)
    for unit in units:
        assert unit.first is not None
        assert unit.second is not None
        assert unit.first.text in page.text
        assert unit.second.text in page.text
    assert {name for name in page.fields if name.startswith("u")} <= page.required
    assert "${" not in page.text
    assert "jsonly" not in page.text


def test_there_is_a_row_for_each_hit_and_a_template_for_each_form_of_page(tmp_path: Path) -> None:
    study = make_study("pairwise", units_per_hit=5, controls={"per_hit": 0})
    exported(study, tmp_path)
    keys = []
    for path in sorted((tmp_path / "batch").glob("input*.csv")):
        template = path.with_name(path.name.replace("input", "template").replace(".csv", ".html")).read_text()
        for row in rows_of(path):
            keys.append(row["quorum_hit"])
            positions = HIT.objects.get(study=study, key=row["quorum_hit"]).places.count()
            named = {name for name in page_of(template, row).fields if name.startswith("u")}
            assert named == {f"u{position}" for position in range(1, positions + 1)}
    assert sorted(keys) == sorted(HIT.objects.filter(study=study).values_list("key", flat=True))
    assert (
        len(list((tmp_path / "batch").glob("input*.csv"))) == 2
    )  # 12 units in fives: the last HIT is shorter


def test_a_caption_cannot_disturb_the_page_or_bring_a_field_of_its_own(tmp_path: Path) -> None:
    hostile = 'A dog ${quorum_hit} </label><script>alert(1)</script> "quoted" & \U0001f415 é\nsecond line'
    study = make_study("graded", opened=False)
    Caption.objects.filter(role="candidate").update(text=hostile)
    generate_hits(study=study)
    mark_open(study=study)
    template, rows = exported(study, tmp_path)
    found = [row for row in rows if any("alert" in cell for cell in row.values())]
    assert found
    page = page_of(template, found[0])
    assert hostile in page.text
    assert page.fields.keys() == page_of(template, dict.fromkeys(found[0], "x")).fields.keys()


def test_sides_come_back_in_the_unit_s_order(tmp_path: Path) -> None:
    study = make_study("pairwise")
    template, rows = exported(study, tmp_path)
    imported(study, results_of(tmp_path, worked_row(template, rows[0], worker="AWORKER1")))
    judgments = Judgment.objects.select_related("unit__first", "unit__second", "assignment")
    assert {judgment.presented for judgment in judgments} == {"first-left", "second-left"}
    for judgment in judgments:  # everywhere the one on the left was chosen
        assert judgment.value == (1 if judgment.presented == "first-left" else 2)


def test_people_are_pseudonyms_and_their_ids_stand_apart(tmp_path: Path) -> None:
    study = make_study("pairwise")
    template, rows = exported(study, tmp_path)
    imported(study, results_of(tmp_path, worked_row(template, rows[0], worker="AWORKER1")))
    worker = Worker.objects.get()
    assert (worker.source, worker.place) == ("crowd", "mturk-files")
    assert "AWORKER1" not in worker.name
    raw = RawId.objects.get()
    assert (raw.worker, raw.name, raw.value) == (worker, "WorkerId", "AWORKER1")


def test_a_later_file_brings_what_is_new_and_what_was_decided(tmp_path: Path) -> None:
    study = make_study("pairwise", judgments_per_unit=2)
    template, rows = exported(study, tmp_path)
    first, second, third = (worked_row(template, rows[0], worker=f"AWORKER{number}") for number in (1, 2, 3))
    imported(study, results_of(tmp_path, first, second))
    later = results_of(
        tmp_path,
        first | {"AssignmentStatus": "Approved"},
        second | {"AssignmentStatus": "Rejected", "RequesterFeedback": "Always the left one."},
        third,
    )
    said = imported(study, later)
    assert said.startswith("1 new assignments, 2 that were there already.")
    assert "1 approved and 1 rejected on the requester pages" in said
    states = sorted(Assignment.objects.values_list("state", "reason"))
    assert states == [("approved", ""), ("rejected", "Always the left one."), ("submitted", "")]
    hit = HIT.objects.get(study=study, key=rows[0]["quorum_hit"])
    assert (hit.required, hit.open_slots) == (3, 0)  # one person more than was asked for
    before = list(Assignment.objects.values_list("pk", "state").order_by("pk"))
    imported(study, later)
    assert list(Assignment.objects.values_list("pk", "state").order_by("pk")) == before
    overruled = results_of(tmp_path, second | {"AssignmentStatus": "Approved"})
    assert "1 approved and 0 rejected" in imported(study, overruled)


def test_rows_that_do_not_fit_are_named_and_nothing_comes_in(tmp_path: Path) -> None:
    study = make_study("pairwise")
    template, rows = exported(study, tmp_path)
    good = worked_row(template, rows[0], worker="AWORKER1")
    strange = worked_row(template, rows[0], worker="AWORKER2") | {"Input.quorum_hit": "another"}
    late = worked_row(template, rows[1], worker="AWORKER3", SubmitTime="Thu Nov 21 07:00:00 PST 2019")
    said = refused(study, results_of(tmp_path, good, strange, late))
    assert 'line 3, Input.quorum_hit: found "another", expected a HIT of study' in said
    assert said.endswith("Nothing was imported. Nor do the rows on these lines fit: 4.")


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (
            {"Answer.u1.1": "false"},
            "line 2: found no answer, or none that counts, to question 1, expected all",
        ),
        (
            {"Answer.u1.1": "false", "Answer.u1": "3"},
            "line 2: Nothing was saved: the value at position 1 is 3",
        ),
        ({"Input.quorum_check": "0"}, "line 2, Input.quorum_check: found another mark than this study's"),
        ({"WorkerId": "A" * 201}, "line 2, WorkerId: found 201 characters, expected at most 200."),
        ({"AssignmentId": "3" * 81}, "line 2, AssignmentId: found 81 characters, expected at most 80."),
        ({"AssignmentId": ""}, "line 2, AssignmentId: found nothing"),
        ({"AcceptTime": "soon"}, 'line 2, AcceptTime: found "soon", expected a time with its zone'),
        ({"Answer.taskAnswers": "[{"}, "line 2, Answer.taskAnswers: found text that is not JSON"),
    ],
)
def test_hostile_cells_are_refused_with_their_line(
    tmp_path: Path, cells: dict[str, str], sentence: str
) -> None:
    study = make_study("pairwise")
    template, rows = exported(study, tmp_path)
    row = worked_row(template, rows[0], worker="AWORKER1") | {"Answer.u1.2": "false"} | cells
    if "Answer.u1.1" not in cells:
        row["Answer.u1.1"] = "true"
    assert sentence in refused(study, results_of(tmp_path, row))


def test_what_does_not_fit_can_be_left_out_by_its_id(tmp_path: Path) -> None:
    study = make_study("pairwise")
    template, rows = exported(study, tmp_path)
    good = worked_row(template, rows[0], worker="AWORKER1")
    empty = worked_row(template, rows[0], worker="AWORKER2", choose=lambda name, values: "")
    path = results_of(tmp_path, good, empty)
    assert "line 3: found no answer" in refused(study, path)
    assert "has no assignment 3NOBODY to leave out" in refused(
        study, path, leave_out="3NOBODY," + empty["AssignmentId"]
    )
    assert "1 left out" in imported(study, path, leave_out=empty["AssignmentId"])
    assert Assignment.objects.count() == 1


def test_other_answers_under_the_same_id_and_a_hit_done_twice_are_refused(tmp_path: Path) -> None:
    study = make_study("pairwise")
    template, rows = exported(study, tmp_path)
    row = worked_row(template, rows[0], worker="AWORKER1")
    imported(study, results_of(tmp_path, row))
    other = worked_row(template, rows[0], worker="AWORKER1", choose=lambda name, values: values[-1])
    assert "AssignmentId: found other answers than it brought before" in refused(
        study, results_of(tmp_path, other)
    )
    again = row | {"AssignmentId": "3SECOND"}
    assert "found a second assignment of HIT" in refused(study, results_of(tmp_path, again))


def test_an_id_that_went_on_to_the_next_worker_is_theirs(tmp_path: Path) -> None:
    study = make_study("pairwise", judgments_per_unit=2)
    template, rows = exported(study, tmp_path)
    one, two = (
        worked_row(template, rows[0], worker=f"AWORKER{number}", AssignmentId="3ID") for number in (1, 2)
    )
    assert imported(study, results_of(tmp_path, one, two)).startswith("2 new assignments")


def test_later_work_of_an_excluded_person_stays_out(tmp_path: Path) -> None:
    study = make_study("pairwise")
    template, rows = exported(study, tmp_path)
    first, second = (worked_row(template, row, worker="AWORKER1") for row in rows[:2])
    imported(study, results_of(tmp_path, first))
    exclude_worker(study=study, worker=Worker.objects.get(), rule="", why="Answers at random.")
    said = imported(study, results_of(tmp_path, first, second))
    assert said.startswith("0 new assignments, 1 that were there already.")
    assert "1 of people who were excluded before, not imported" in said
    assert set(Assignment.objects.values_list("state", flat=True)) == {"invalidated"}


def test_consent_is_asked_on_the_page(tmp_path: Path) -> None:
    study = make_study("pairwise", consent="I take part *freely*.")
    template, rows = exported(study, tmp_path)
    assert "consent" in page_of(template, rows[0]).required
    row = worked_row(template, rows[0], worker="AWORKER1")
    without = {name: "false" if name.startswith("Answer.consent") else cell for name, cell in row.items()}
    assert "Please read the consent text" in refused(study, results_of(tmp_path, without))
    imported(study, results_of(tmp_path, row))
    assert Participation.objects.get().consent_version == Assignment.objects.get().consent_version != ""


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"protocol": "grounding"}, "cannot be a template of the requester pages"),
        ({"opened": False}, "open it first, so that its HITs stay as they are"),
    ],
)
def test_studies_that_cannot_go_out_say_why(tmp_path: Path, values: dict[str, Any], sentence: str) -> None:
    if values.get("protocol") == "grounding":
        make_scenes()
        values = values | {"dataset": "scenes", "controls": {"per_hit": 0}}
    study = make_study(**values)
    with pytest.raises(CommandError) as caught:
        exported(study, tmp_path)
    assert sentence in str(caught.value)
    assert not list((tmp_path / "batch").glob("*"))


def test_pictures_need_an_https_address(tmp_path: Path) -> None:
    study = make_study("pairwise")
    Item.objects.update(url="")
    with pytest.raises(
        CommandError, match="has no address; the requester pages show pictures with an https address"
    ):
        exported(study, tmp_path)
    template, rows = exported(study, tmp_path, pictures="https://pictures.example.org/a b/")
    assert all(
        address.startswith("https://pictures.example.org/") for address in page_of(template, rows[0]).pictures
    )


def test_the_form_sends_nothing_by_itself(tmp_path: Path) -> None:
    template, rows = exported(make_study("pairwise"), tmp_path)
    assert template.count("<script") == 1
    assert "crowd-html-elements.js" in template
    assert "<form" not in template
    assert set(answers_on(page_of(template, rows[0]), first_value)) >= {
        "Answer.quorum_hit",
        "Answer.quorum_check",
    }


def test_the_pages_own_file_can_carry_the_reviews(tmp_path: Path) -> None:
    study = make_study("pairwise", judgments_per_unit=2)
    template, rows = exported(study, tmp_path)
    one, two = (
        worked_row(template, rows[0], worker=f"AWORKER{number}", AssignmentId="3ID") for number in (1, 2)
    )
    imported(study, results_of(tmp_path, one, two))
    path = results_of(tmp_path, one | {"Approve": "x"}, two | {"Reject": "Always the left one."})
    call_command("import_reviews", study.slug, str(path), stdout=io.StringIO())
    states = {raw.value: raw.worker.assignments.get().state for raw in RawId.objects.all()}
    assert states == {"AWORKER1": "approved", "AWORKER2": "rejected"}
