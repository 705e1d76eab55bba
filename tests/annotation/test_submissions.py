"""Submissions, and answers changed after them."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.errors import AlreadyEnded, AnswerProblem, TooLateToChange
from annotation.models import AppendOnlyError, Assignment, Judgment
from annotation.work.answers.revisions import current_answers, revise_judgments
from annotation.work.sheet.units import page_units_of
from annotation.work.submissions import report_problem, save_answers, submit_assignment
from judgments.kinds import KINDS
from judgments.models import Study
from tests.annotation.leasing import claimed
from tests.refusals import refuses
from tests.studies import make_study, make_worker, with_worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def assignment() -> Assignment:
    study, worker = with_worker(make_study("triplet"))
    claim = claimed(study, worker)
    return claim.assignment


def all_answers(assignment: Assignment, value: int = 1) -> list[dict[str, Any]]:
    return [{"position": place.position, "value": value} for place in page_units_of(assignment)]


def test_saved_answers_count_and_later_ones_win(assignment: Assignment) -> None:
    save_answers(assignment=assignment, answers=[{"position": 1, "value": 2, "seconds": 4.5}])
    save_answers(assignment=assignment, answers=[{"position": 1, "value": 1}])
    submit_assignment(assignment=assignment, answers=all_answers(assignment)[1:])
    first = page_units_of(assignment)[0]
    judgment = Judgment.objects.get(assignment=assignment, unit=first.unit)
    assert judgment.value == (2 if first.side else 1)
    assert judgment.seconds == 4.5


def test_an_answer_that_is_none_saves_nothing(assignment: Assignment) -> None:
    good = {"position": 1, "value": 1}
    wrong: list[tuple[Any, str]] = [
        (good | {"value": 3}, "the field “value” at position 1 is 3; expected 1 or 2"),
        (good | {"value": True}, "the field “value” at position 1 is True; expected 1 or 2"),
        (good | {"value": 1.0}, "the field “value” at position 1 is 1.0; expected 1 or 2"),
        (good | {"position": 0}, "“position” is 0; expected a number from 1 to 5"),
        (good | {"position": 99}, "“position” is 99; expected a number from 1 to 5"),
        (good | {"position": "1"}, "“position” is '1'; expected a number from 1 to 5"),
        ({"value": 1}, "each answer needs the fields “position” and “value”"),
        ("1", "each answer needs the fields “position” and “value”"),
        (good | {"seconds": -1}, "“seconds” at position 1 is -1"),
        (good | {"seconds": float("nan")}, "“seconds” at position 1 is nan"),
    ]
    for answer, sentence in wrong:
        with pytest.raises(AnswerProblem) as caught:
            save_answers(assignment=assignment, answers=[{"position": 2, "value": 1}, answer])
        assert sentence in str(caught.value)
    assignment.refresh_from_db()
    assert assignment.answers == {}


def test_judgments_are_never_edited_or_deleted(assignment: Assignment) -> None:
    submit_assignment(assignment=assignment, answers=all_answers(assignment))
    judgment = Judgment.objects.first()
    assert judgment is not None
    judgment.value = 2
    with pytest.raises(AppendOnlyError):
        judgment.save()
    with pytest.raises(AppendOnlyError):
        judgment.delete()
    with pytest.raises(AppendOnlyError):
        Judgment.objects.filter(pk=judgment.pk).update(value=2)
    with pytest.raises(AppendOnlyError):
        Judgment.objects.all().delete()


def test_a_problem_is_kept_with_its_item(assignment: Assignment) -> None:
    report = report_problem(assignment=assignment, position=2, what="text", comment=" broken ")
    assert report.unit == page_units_of(assignment)[1].unit
    assert report.comment == "broken"
    with refuses(AnswerProblem, "no item at position", "77"):
        report_problem(assignment=assignment, position=77, what="text")
    with refuses(AnswerProblem, "nothing"):
        report_problem(assignment=assignment, position=1, what="nothing")


def submitted(study: Study, value: int = 1) -> Assignment:
    worker, _ = make_worker(study)
    claim = claimed(study, worker)
    answers = [{"position": place.position, "value": value, "seconds": 2.0} for place in claim.page_units]
    submit_assignment(assignment=claim.assignment, answers=answers)
    return Assignment.objects.get(pk=claim.assignment.pk)


def seen(assignment: Assignment) -> dict[str, Any]:
    """Position -> the value that counts, as the worker sees it."""
    return {
        position: answer["value"]
        for position, answer in current_answers(assignment, page_units_of(assignment)).items()
    }


def test_a_revision_is_a_new_judgment_and_the_old_one_stays() -> None:
    assignment = submitted(make_study())
    before: dict[int, Any] = {row.pk: row.value for row in Judgment.objects.all()}
    assert revise_judgments(assignment=assignment, answers=[{"position": 2, "value": 2}]) == [2]
    assert {row.pk: row.value for row in Judgment.objects.filter(pk__in=before)} == before
    assert Judgment.objects.count() == len(before) + 1
    assert Judgment.objects.current().count() == len(before)
    revised = Judgment.objects.get(replaces__isnull=False)
    assert revised.replaces is not None
    assert revised.value == 3 - before[revised.replaces.pk]
    assert seen(assignment) == {position: 2 if position == "2" else 1 for position in seen(assignment)}


def test_a_revision_can_be_revised_and_taken_back_and_outlasts_the_submission_sent_again() -> None:
    assignment = submitted(make_study())
    for value in (2, 1):
        answers = [{"position": 1, "value": value}]
        assert revise_judgments(assignment=assignment, answers=answers) == [1]
        assert revise_judgments(assignment=assignment, answers=answers) == []
    assert seen(assignment)["1"] == 1
    assert Judgment.objects.filter(assignment=assignment, replaces__isnull=False).count() == 2
    revise_judgments(assignment=assignment, answers=[{"position": 1, "value": 2}])
    answers = [{"position": place.position, "value": 1} for place in page_units_of(assignment)]
    assert submit_assignment(assignment=assignment, answers=answers).is_repeat
    assert seen(assignment)["1"] == 2


def test_a_comment_alone_is_a_revision_and_keeps_the_answer_and_its_time() -> None:
    assignment = submitted(make_study())
    revise_judgments(assignment=assignment, answers=[{"position": 1, "value": 1, "comment": "Both fit."}])
    revised = Judgment.objects.get(replaces__isnull=False)
    assert revised.replaces is not None
    assert (revised.comment, revised.seconds, revised.value) == ("Both fit.", 2.0, revised.replaces.value)


def test_nothing_is_revised_once_the_time_for_it_is_over() -> None:
    study = make_study(crowd={"edit_minutes": 10})
    assignment = submitted(study)
    long_ago = timezone.now() - timedelta(minutes=10, seconds=1)
    Assignment.objects.filter(pk=assignment.pk).update(accepted_at=long_ago, submitted_at=long_ago)
    with pytest.raises(TooLateToChange):
        revise_judgments(assignment=assignment, answers=[{"position": 1, "value": 2}])
    assert Judgment.objects.filter(replaces__isnull=False).count() == 0


def test_nothing_is_revised_once_somebody_decided_on_it() -> None:
    assignment = submitted(make_study())
    for state in ("approved", "rejected"):
        Assignment.objects.filter(pk=assignment.pk).update(state=state)
        with pytest.raises(TooLateToChange):
            revise_judgments(assignment=assignment, answers=[{"position": 1, "value": 2}])


def test_a_study_may_allow_no_revisions() -> None:
    assignment = submitted(make_study(crowd={"edit_minutes": 0}))
    with pytest.raises(TooLateToChange):
        revise_judgments(assignment=assignment, answers=[{"position": 1, "value": 2}])


def test_work_that_was_never_submitted_has_nothing_to_revise() -> None:
    study, worker = with_worker(make_study())
    claim = claimed(study, worker)
    with pytest.raises(AlreadyEnded):
        revise_judgments(assignment=claim.assignment, answers=[{"position": 1, "value": 2}])


def test_a_revision_with_an_invalid_answer_changes_nothing() -> None:
    assignment = submitted(make_study())
    with pytest.raises(AnswerProblem):
        revise_judgments(
            assignment=assignment, answers=[{"position": 1, "value": 2}, {"position": 2, "value": 3}]
        )
    assert Judgment.objects.filter(replaces__isnull=False).count() == 0


def test_a_revision_is_counted_where_votes_are_spared() -> None:
    study = make_study(
        "pairwise",
        judgments_per_unit=3,
        sampling={"pairs": {"HC": 1}},
        controls={"per_hit": 0},
        stopping={"rule": "settled", "full_depth": 0.0},
    )
    hit = study.hits.get()
    for name in ("ada", "bo"):
        worker, _ = make_worker(study, name)
        claim = claimed(study, worker)
        assignment = claim.assignment
        answers = [
            {"position": place.position, "value": KINDS["pairwise"].sides.from_canonical(1, side=place.side)}
            for place in claim.page_units
        ]
        submit_assignment(assignment=assignment, answers=answers)
    hit.refresh_from_db()
    assert hit.open_slots == 0, "two of three agree: nobody else can turn it"
    other = {"position": 1, "value": 3 - answers[0]["value"]}
    revise_judgments(assignment=Assignment.objects.get(pk=assignment.pk), answers=[other])
    hit.refresh_from_db()
    assert hit.open_slots == 1
