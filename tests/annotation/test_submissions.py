"""Submitting: all judgments or none, once, mapped to the unit's order."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.errors import AlreadyEnded, AnswerProblem, AnswersMissing, TooLate
from annotation.models import AppendOnly, Assignment, Judgment
from annotation.work.claims import claim_assignment, return_assignment
from annotation.work.presentation import places_of
from annotation.work.submissions import own_assignment, report_problem, save_answers, submit_assignment
from common.errors import NotThere
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def assignment() -> Assignment:
    study = make_study("triplet")
    worker, _ = make_worker(study)
    claim = claim_assignment(study=study, worker=worker)
    assert claim is not None
    return claim.assignment


def all_answers(assignment: Assignment, value: int = 1) -> list[dict[str, Any]]:
    return [{"position": place.position, "value": value} for place in places_of(assignment)]


def test_every_unit_becomes_a_judgment_in_the_unit_s_order(assignment: Assignment) -> None:
    submit_assignment(assignment=assignment, answers=all_answers(assignment, 1))
    for place in places_of(assignment):
        judgment = Judgment.objects.get(assignment=assignment, unit=place.unit)
        # the worker chose what stood on the left
        assert judgment.presented == ("second-left" if place.side else "first-left")
        assert judgment.value == (2 if place.side else 1)
    assert {place.side for place in places_of(assignment)} == {True, False}


def test_a_repeat_is_harmless_and_another_answer_changes_nothing(assignment: Assignment) -> None:
    answers = all_answers(assignment)
    assert submit_assignment(assignment=assignment, answers=answers).repeated is False
    assert submit_assignment(assignment=assignment, answers=answers).repeated is True
    assert submit_assignment(assignment=assignment, answers=[]).repeated is True
    with pytest.raises(AlreadyEnded, match="submitted before and stay"):
        submit_assignment(assignment=assignment, answers=all_answers(assignment, 2))
    assert Judgment.objects.filter(assignment=assignment).count() == len(answers)


def test_what_is_missing_is_named_and_what_came_is_kept(assignment: Assignment) -> None:
    answers = all_answers(assignment)
    with pytest.raises(AnswersMissing) as caught:
        submit_assignment(assignment=assignment, answers=answers[:2])
    assert caught.value.missing == list(range(3, len(answers) + 1))
    assert Judgment.objects.count() == 0
    assert own_assignment(worker=assignment.worker, assignment_id=assignment.pk).state == "accepted"
    submit_assignment(assignment=assignment, answers=answers[2:])
    assert Judgment.objects.count() == len(answers)


def test_saved_answers_count_and_later_ones_win(assignment: Assignment) -> None:
    save_answers(assignment=assignment, answers=[{"position": 1, "value": 2, "seconds": 4.5}])
    save_answers(assignment=assignment, answers=[{"position": 1, "value": 1}])
    submit_assignment(assignment=assignment, answers=all_answers(assignment)[1:])
    first = places_of(assignment)[0]
    judgment = Judgment.objects.get(assignment=assignment, unit=first.unit)
    assert judgment.value == (2 if first.side else 1)
    assert judgment.seconds == 4.5


def test_an_answer_that_is_none_saves_nothing(assignment: Assignment) -> None:
    good = {"position": 1, "value": 1}
    wrong: list[tuple[Any, str]] = [
        (good | {"value": 3}, "the value at position 1 is 3; expected 1 or 2"),
        (good | {"value": True}, "the value at position 1 is True; expected 1 or 2"),
        (good | {"value": 1.0}, "the value at position 1 is 1.0; expected 1 or 2"),
        (good | {"position": 0}, "position is 0; expected 1 to 5"),
        (good | {"position": 99}, "position is 99; expected 1 to 5"),
        (good | {"position": "1"}, "position is '1'; expected 1 to 5"),
        ({"value": 1}, "each answer needs position and value"),
        ("1", "each answer needs position and value"),
        (good | {"seconds": -1}, "seconds at position 1 is -1"),
        (good | {"seconds": float("nan")}, "seconds at position 1 is nan"),
    ]
    for answer, sentence in wrong:
        with pytest.raises(AnswerProblem) as caught:
            save_answers(assignment=assignment, answers=[{"position": 2, "value": 1}, answer])
        assert sentence in str(caught.value)
    assignment.refresh_from_db()
    assert assignment.answers == {}


def test_a_late_submission_changes_nothing(assignment: Assignment) -> None:
    save_answers(assignment=assignment, answers=[{"position": 1, "value": 2}])
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(TooLate, match="what you had saved is kept"):
        submit_assignment(assignment=assignment, answers=all_answers(assignment))
    with pytest.raises(TooLate):
        save_answers(assignment=assignment, answers=all_answers(assignment))
    assignment.refresh_from_db()
    assert assignment.answers == {"1": {"value": 2}}
    assert Judgment.objects.count() == 0


def test_a_returned_page_takes_no_answers(assignment: Assignment) -> None:
    return_assignment(assignment=assignment)
    with pytest.raises(AlreadyEnded, match="you returned"):
        submit_assignment(assignment=assignment, answers=all_answers(assignment))


def test_another_worker_s_assignment_is_not_there(assignment: Assignment) -> None:
    stranger, _ = make_worker(assignment.study, "stranger")
    with pytest.raises(NotThere):
        own_assignment(worker=stranger, assignment_id=assignment.pk)
    with pytest.raises(NotThere):
        own_assignment(worker=stranger, assignment_id="no-id")


def test_judgments_are_never_edited_or_deleted(assignment: Assignment) -> None:
    submit_assignment(assignment=assignment, answers=all_answers(assignment))
    judgment = Judgment.objects.first()
    assert judgment is not None
    judgment.value = 2
    with pytest.raises(AppendOnly):
        judgment.save()
    with pytest.raises(AppendOnly):
        judgment.delete()
    with pytest.raises(AppendOnly):
        Judgment.objects.filter(pk=judgment.pk).update(value=2)
    with pytest.raises(AppendOnly):
        Judgment.objects.all().delete()


def test_a_problem_is_kept_with_its_item(assignment: Assignment) -> None:
    report = report_problem(assignment=assignment, position=2, what="text", comment=" broken ")
    assert report.unit == places_of(assignment)[1].unit
    assert report.comment == "broken"
    with pytest.raises(AnswerProblem, match="there is no position 77"):
        report_problem(assignment=assignment, position=77, what="text")
    with pytest.raises(AnswerProblem, match="'nothing' is none of"):
        report_problem(assignment=assignment, position=1, what="nothing")


@pytest.mark.parametrize(("protocol", "value"), [("relevance", 0), ("graded", 4), ("pairwise", 2)])
def test_each_kind_stores_its_own_answers(protocol: str, value: int) -> None:
    study = make_study(protocol)
    worker, _ = make_worker(study)
    claim = claim_assignment(study=study, worker=worker)
    assert claim is not None
    submit_assignment(assignment=claim.assignment, answers=all_answers(claim.assignment, value))
    for place in places_of(claim.assignment):
        stored = Judgment.objects.get(assignment=claim.assignment, unit=place.unit)
        assert stored.value == (3 - value if place.side else value)
        assert bool(stored.presented) == (protocol == "pairwise")
