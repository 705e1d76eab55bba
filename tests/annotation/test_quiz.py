"""The quiz before the work: drawn once, answered once, and in the way of nobody who passed it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.errors import AlreadyEnded, AnswerProblem, QuizFailed, QuizNotPassed
from annotation.models import Assignment, QuizAttempt
from annotation.quiz.quizzes import answer_attempt, quiz_status, quiz_units, sheet_of, start_attempt
from annotation.rehearsal.people import Crowd
from annotation.rehearsal.rehearsal import rehearse
from annotation.work.claims import claim_assignment
from judgments.models import HITUnit, Unit
from judgments.studies.studies import design_of
from tests.annotation.casting import joined, make_dataset, make_study
from tests.annotation.quizzing import PROTOCOLS, QUESTIONS, quizzed, right_answers, take
from tests.annotation.sourcing import make_texts

pytestmark = pytest.mark.django_db


def test_no_work_is_given_out_before_the_quiz_is_passed_and_all_of_it_afterwards() -> None:
    study = quizzed()
    ada = joined(study)
    with pytest.raises(QuizNotPassed):
        claim_assignment(study=study, worker=ada.worker)
    assert not Assignment.objects.exists()
    assert take(study, ada).passed
    assert claim_assignment(study=study, worker=ada.worker) is not None


def test_an_attempt_is_drawn_from_the_seed_the_worker_and_its_number() -> None:
    study = quizzed(preset="hodosh-2013-english", attempts=3)
    ada, bob = joined(study, "ada"), joined(study, "bob")
    first = start_attempt(study=study, worker=ada.worker)
    assert len(first.items) == 10
    assert start_attempt(study=study, worker=bob.worker).items != first.items
    kept = first.items
    first.delete()
    assert start_attempt(study=study, worker=ada.worker).items == kept


def test_the_next_attempt_asks_other_questions_and_the_last_one_is_the_last() -> None:
    study = quizzed(preset="hodosh-2013-english", attempts=2)
    ada = joined(study)
    first = take(study, ada, wrong=5)
    assert (first.passed, first.right) == (False, 5)
    second = take(study, ada, wrong=3)
    assert not {item["question"] for item in first.items} & {item["question"] for item in second.items}
    assert (second.number, second.passed) == (2, False)
    with pytest.raises(QuizFailed):
        start_attempt(study=study, worker=ada.worker)
    with pytest.raises(QuizFailed):
        claim_assignment(study=study, worker=ada.worker)
    assert QuizAttempt.objects.count() == 2


def test_an_answer_is_final_and_saying_it_again_is_harmless() -> None:
    study = quizzed()
    ada = joined(study)
    attempt = start_attempt(study=study, worker=ada.worker)
    answer_attempt(attempt=attempt, answers=[{"position": 1, "value": 2}])
    again = answer_attempt(attempt=attempt, answers=[{"position": 1, "value": 2}])
    assert again.answers == {"1": {"value": 2}}
    with pytest.raises(AlreadyEnded, match="number 1 was answered before"):
        answer_attempt(attempt=attempt, answers=[{"position": 1, "value": 1}, {"position": 2, "value": 1}])
    attempt.refresh_from_db()
    assert attempt.answers == {"1": {"value": 2}}


def test_an_answer_that_is_none_is_refused_and_nothing_is_kept() -> None:
    study = quizzed()
    ada = joined(study)
    attempt = start_attempt(study=study, worker=ada.worker)
    wrong: list[Any] = [
        {"position": 0, "value": 1},
        {"position": 5, "value": 1},
        {"position": 1, "value": 4},
        {"position": 1, "value": True},
        {"position": 1},
        {"value": 1},
        7,
    ]
    for answer in wrong:
        with pytest.raises(AnswerProblem, match="Nothing was"):
            answer_attempt(attempt=attempt, answers=[{"position": 2, "value": 1}, answer])
    attempt.refresh_from_db()
    assert attempt.answers == {}


def test_a_quiz_passed_once_counts_for_every_study_that_shares_its_name() -> None:
    dataset = make_dataset()
    first, second, third = (
        make_study(dataset, name=name, quiz={"questions": QUESTIONS, "qualification": shared})
        for name, shared in (("One", "english"), ("Two", "english"), ("Three", ""))
    )
    ada = joined(first)
    for other in (second, third):
        ada.client.post(f"/s/{other.slug}/", {"name": "ada"})
    take(first, ada)
    assert claim_assignment(study=second, worker=ada.worker) is not None
    with pytest.raises(QuizNotPassed):
        claim_assignment(study=third, worker=ada.worker)


def test_attempts_at_a_shared_quiz_are_counted_together() -> None:
    dataset = make_dataset()
    first, second = (
        make_study(dataset, name=name, quiz={"questions": QUESTIONS, "qualification": "english"})
        for name in ("One", "Two")
    )
    ada = joined(first)
    ada.client.post(f"/s/{second.slug}/", {"name": "ada"})
    take(first, ada, wrong=4)
    assert quiz_status(study=second, worker=ada.worker).attempts_left == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_known_items_of_the_study_s_kind_stand_in_no_hit_and_are_judged_by_their_kind(protocol: str) -> None:
    study = make_study(make_dataset(), protocol, quiz={"items": 1, "attempts": 1}, controls={"per_hit": 0})
    known = Unit.objects.filter(study=study, control_kind="quiz")
    assert known.exists()
    assert not HITUnit.objects.filter(unit__in=known).exists()
    judged = set(Unit.objects.filter(study=study).exclude(control_kind="quiz").values_list("item", flat=True))
    assert not judged & set(known.values_list("item", flat=True))
    ada, bob = joined(study, "ada"), joined(study, "bob")
    assert take(study, ada).passed
    missed = take(study, bob, wrong=99)
    assert (missed.right, missed.passed) == (0, False)


def test_a_known_item_that_was_struck_is_not_asked_and_an_empty_quiz_stops_nobody() -> None:
    study = make_study(make_dataset(), quiz={"items": 1, "attempts": 1}, controls={"per_hit": 0})
    Unit.objects.filter(study=study, control_kind="quiz").update(withdrawn=True)
    ada = joined(study)
    assert start_attempt(study=study, worker=ada.worker).passed
    assert claim_assignment(study=study, worker=ada.worker) is not None


def test_a_study_without_a_quiz_asks_the_database_nothing_about_one() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    with CaptureQueriesContext(connection) as queries:
        claim_assignment(study=study, worker=ada.worker)
    assert not [query for query in queries if "quizattempt" in query["sql"]]


def test_designers_see_questions_results_and_what_nearly_everybody_misses(admin_client: Client) -> None:
    study = quizzed(attempts=1)
    for number in range(6):
        person = joined(study, f"worker-{number}")
        attempt = start_attempt(study=study, worker=person.worker)
        sheet = sheet_of(attempt)
        answers = right_answers(sheet)
        for answer in answers:
            asked = sheet.questions[answer["position"]]
            if asked.question.text == "Question 3?":
                answer["value"] = asked.expected % 3 + 1
        answer_attempt(attempt=attempt, answers=answers)
    html = admin_client.get(f"/admin/judgments/study/{study.pk}/quiz/").content.decode()
    assert "Nearly everybody misses 1 question" in html
    aside = re.findall(r'<tr class="q-aside"><td>(Question \d\?)', html)
    assert aside == ["Question 3?"]
    assert "worker-5" in html
    assert "3 of 4" in html


def test_a_study_without_a_quiz_says_so(admin_client: Client) -> None:
    study = make_study(make_dataset())
    html = admin_client.get(f"/admin/judgments/study/{study.pk}/quiz/").content.decode()
    assert "No test comes before the work" in html


def test_the_page_of_results_is_for_those_who_may_see_the_study(client: Client) -> None:
    study = quizzed()
    path = f"/admin/judgments/study/{study.pk}/quiz/"
    assert client.get(path).status_code == 302
    client.force_login(User.objects.create_user("outsider", is_staff=True))
    assert client.get(path).status_code == 404


def test_known_items_of_the_quiz_are_not_counted_as_control_items(admin_client: Client) -> None:
    study = make_study(make_dataset(), quiz={"items": 1}, controls={"per_hit": 0})
    assert (
        "Check questions</span><b>0</b>"
        in admin_client.get(f"/admin/judgments/study/{study.pk}/hits/").content.decode()
    )
    html = admin_client.get(f"/admin/judgments/study/{study.pk}/controls/").content.decode()
    assert "This study has no check questions" in html
    assert design_of(study).quiz.items == 1


def test_a_rehearsal_takes_no_quiz_and_fills_every_hit() -> None:
    study = make_study(
        make_dataset(), opened=False, quiz={"questions": QUESTIONS}, workers={"hits_at_most": 1}
    )
    report = rehearse(study=study, crowd=Crowd(workers=4, spammers=0.0, seed=1))
    assert report.hits == study.hits.count()
    assert not study.hits.filter(open_slots__gt=0).exists()
    assert not QuizAttempt.objects.exists()


def test_a_damaged_text_of_the_quiz_is_stored() -> None:
    study = make_study(make_texts(), "spans", judged="summary", controls={"per_hit": 0}, quiz={"items": 1})
    texts = [unit.first.text for unit in quiz_units(study) if unit.first]
    assert texts
    assert not study.dataset.captions.filter(text__in=texts, role="reference").exists()
