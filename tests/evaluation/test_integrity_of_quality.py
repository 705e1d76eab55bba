"""Layouts, revisions, quizzes, cases, adjudications and spared slots: each broken by hand and found."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from annotation.models import Assignment, Case, Judgment, QuizAttempt
from annotation.quality.flags import confirm_flag
from annotation.work.answers.revisions import revise_judgments
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from contrib.adjudication.decisions import decide_adjudication, send_to_adjudicator
from contrib.quiz.tests.quizzing import QUESTIONS, take
from evaluation.data.integrity import check_integrity
from judgments.models import HIT, HITUnit, Study, Unit
from tests.annotation.casting import joined, make_dataset, make_study
from tests.evaluation.test_integrity import sql

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def study(module_db: None) -> Study:
    """A study with a quiz of questions and known items, a page that was revised, a confirmed case, and a decision."""
    made = make_study(
        make_dataset(), quiz={"questions": QUESTIONS, "items": 1, "attempts": 1}, controls={"per_hit": 0}
    )
    ada, bela = joined(made, "ada"), joined(made, "bela")
    for person in (ada, bela):
        take(made, person)
        claim = claim_assignment(study=made, worker=person.worker)
        assert claim is not None
        answers = [{"position": place.position, "value": 1} for place in claim.page_units]
        submit_assignment(assignment=claim.assignment, answers=answers)
        revise_judgments(assignment=claim.assignment, answers=[{"position": 1, "value": 2}])
    judge = User.objects.create_superuser("judge")
    unit = Unit.objects.filter(study=made, control=False)[0]
    (sent,) = send_to_adjudicator(study=made, units=[unit.pk], adjudicator=judge)
    decide_adjudication(adjudication=sent, answer=1)
    case = Case.objects.create(study=made, worker=bela.worker, rule="too-fast", action="flag")
    confirm_flag(case=case, why="Nobody reads so fast.", by=judge)
    return made


def foreign_revision(study: Study) -> None:
    revision = Judgment.objects.filter(replaces__isnull=False)[0]
    other = Judgment.objects.filter(replaced_by__isnull=True).exclude(unit=revision.unit_id)[0]
    sql("UPDATE annotation_judgment SET replaces_id = %s WHERE id = %s", other.pk, revision.pk)


def quiz_item_in_a_hit(study: Study) -> None:
    unit = Unit.objects.filter(control_kind="quiz")[0]
    HITUnit.objects.create(hit=HIT.objects.filter(study=study)[0], unit=unit, position=99)


def held_without_lease(study: Study) -> None:
    claim = claim_assignment(study=study, worker=Assignment.objects.get(worker__name="ada").worker)
    assert claim is not None
    Assignment.objects.filter(pk=claim.assignment.pk).update(expires_at=None)


def exclusion_of_somebody_else(study: Study) -> None:
    Case.objects.update(worker=Assignment.objects.get(worker__name="ada").worker)


def decision_on_a_control_item(study: Study) -> None:
    sql("UPDATE annotation_adjudication SET unit_id = %s", Unit.objects.filter(control_kind="quiz")[0].pk)


BROKEN: list[tuple[Callable[[Study], object], str]] = [
    (lambda study: Assignment.objects.update(order=[0, 0, 1]), "none of the 4 units of its HIT"),
    (lambda study: Assignment.objects.update(order=[0, 9]), "none of the 4 units of its HIT"),
    (lambda study: Assignment.objects.update(flips=[True]), "has 1 sides for 4 units"),
    (foreign_revision, "which is no earlier one of the same unit"),
    (held_without_lease, "is accepted, but was submitted or has no lease"),
    (lambda study: HIT.objects.filter(open_slots=2).update(open_slots=1, spared=1), "does not stop early"),
    (lambda study: QuizAttempt.objects.update(answers={"99": {"value": 1}}), "and holds 1 answers"),
    (lambda study: QuizAttempt.objects.update(right=99), "has 99 of"),
    (quiz_item_in_a_hit, "is in a HIT"),
    (exclusion_of_somebody_else, "names the exclusion of somebody else"),
    (lambda study: Case.objects.update(decision=""), "is confirmed, but does not say when and why"),
    (decision_on_a_control_item, "is of a check question"),
    (lambda study: sql("UPDATE annotation_adjudication SET value = 9"), "decides 9"),
]


def test_a_study_with_a_quiz_revisions_cases_and_decisions_is_sound(study: Study) -> None:
    assert check_integrity().problems == []


@pytest.mark.parametrize(("damage", "said"), BROKEN)
def test_damage_is_found_and_named(study: Study, damage: Callable[[Study], object], said: str) -> None:
    damage(study)
    assert any(said in problem for problem in check_integrity().problems)
