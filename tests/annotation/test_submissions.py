"""Submitting: all judgments or none, once, mapped to the unit's order."""

from typing import Any

import pytest

from annotation.errors import AlreadyEnded, AnswerProblem
from annotation.models import AppendOnly, Assignment, Judgment
from annotation.work.claims import claim_assignment
from annotation.work.presentation import places_of
from annotation.work.submissions import report_problem, save_answers, submit_assignment
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


def test_a_repeat_is_harmless_and_another_answer_changes_nothing(assignment: Assignment) -> None:
    answers = all_answers(assignment)
    assert submit_assignment(assignment=assignment, answers=answers).repeated is False
    assert submit_assignment(assignment=assignment, answers=answers).repeated is True
    assert submit_assignment(assignment=assignment, answers=[]).repeated is True
    with pytest.raises(AlreadyEnded, match="submitted before and stay"):
        submit_assignment(assignment=assignment, answers=all_answers(assignment, 2))
    assert Judgment.objects.filter(assignment=assignment).count() == len(answers)


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
