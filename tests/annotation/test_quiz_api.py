"""The quiz for clients that never open a page, and where a worker lives."""

from typing import Any

import pytest
from django.test import Client

from annotation.models import QuizAttempt, Worker
from annotation.quiz.quizzes import sheet_of
from judgments.models import Study
from tests.annotation.calling import accept, is_problem, join, post
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db
QUESTIONS = [
    {"text": f"Question {number}?", "options": ["yes", "no"], "answer": 1, "why": f"Reason {number}."}
    for number in range(3)
]


def quizzed(protocol: str = "triplet", **quiz: Any) -> Study:
    return make_study(protocol, quiz={"questions": QUESTIONS, "explain": "at-the-end"} | quiz)


def path(study: Study) -> str:
    return f"/api/studies/{study.slug}/quiz/"


def standing(study: Study, headers: dict[str, str]) -> Any:
    return Client().get(path(study), headers=headers).json()


def right(*, but: int = 0) -> list[dict[str, int]]:
    """Right answers to the attempt under way, the first ``but`` of them wrong."""
    sheet = sheet_of(QuizAttempt.objects.latest("number"))
    return [
        {"position": position, "value": 3 - asked.expected if position <= but else asked.expected}
        for position, asked in sorted(sheet.questions.items())
    ]


def test_work_is_refused_with_the_address_of_the_quiz_and_given_once_it_is_passed() -> None:
    study = quizzed()
    _, headers = make_worker(study)
    refused = is_problem(accept(study, headers), 403)
    assert refused["quiz"] == path(study)
    started = post(path(study), {}, headers)
    assert started.status_code == 201
    assert started["Cache-Control"] == "no-store"
    shown = started.json()["attempt"]["questions"]
    assert [question["position"] for question in shown] == [1, 2, 3]
    assert {option["text"] for option in shown[0]["options"]} == {"yes", "no"}
    ended = post(path(study), {"answers": right()}, headers).json()
    assert (ended["passed"], ended["attempt"]["right"], ended["attempt"]["of"]) == (True, 3, 3)
    assert accept(study, headers).status_code == 201


def test_starting_again_goes_on_and_answers_come_one_by_one_or_together() -> None:
    study = quizzed()
    _, headers = make_worker(study)
    assert post(path(study), {}, headers).status_code == 201
    assert post(path(study), {}, headers).status_code == 200
    answers = right()
    one = post(path(study), {"answers": answers[:1]}, headers).json()
    assert one["attempt"]["answers"] == answers[:1]
    assert one["attempt"]["state"] == "running"
    assert post(path(study), {"answers": answers}, headers).json()["passed"]
    assert post(path(study), {"answers": answers}, headers).status_code == 200  # a reply was lost
    is_problem(post(path(study), {}, headers), 409)


def test_what_is_right_is_told_when_the_design_says_and_not_before() -> None:
    study = quizzed()
    _, headers = make_worker(study)
    assert "Reason" not in str(post(path(study), {}, headers).json())
    answers = right(but=1)
    assert post(path(study), {"answers": answers[:2]}, headers).json()["attempt"]["explanations"] == []
    ended = post(path(study), {"answers": answers}, headers).json()["attempt"]
    assert [line["right"] for line in ended["explanations"]] == [False, True, True]
    assert {line["expected"] for line in ended["explanations"]} == {"yes"}


def test_after_the_last_attempt_the_client_is_told_so() -> None:
    study = quizzed(attempts=1)
    _, headers = make_worker(study)
    post(path(study), {}, headers)
    post(path(study), {"answers": right(but=3)}, headers)
    found = standing(study, headers)
    assert (found["needed"], found["passed"], found["attempts_left"]) == (True, False, 0)
    assert "no attempt at it is left" in is_problem(post(path(study), {}, headers), 403)["detail"]
    assert "no attempt at it is left" in is_problem(accept(study, headers), 403)["detail"]


def test_known_items_come_as_units_of_the_study_s_kind_and_tell_nothing() -> None:
    study = make_study("pairwise", quiz={"items": 1, "attempts": 1})
    _, headers = make_worker(study)
    (unit,) = post(path(study), {}, headers).json()["attempt"]["questions"]
    assert set(unit) == {"position", "protocol", "question", "image", "b", "c"}


def test_a_study_without_a_quiz_says_that_none_is_needed() -> None:
    study = make_study()
    _, headers = make_worker(study)
    assert standing(study, headers) == {
        "needed": False, "passed": True, "pass_mark": 0.8, "attempts_left": 0, "attempt": None,
    }  # fmt: skip
    is_problem(post(path(study), {}, headers), 404)


def test_strangers_and_workers_who_did_not_join_are_kept_out() -> None:
    study = quizzed()
    _, elsewhere = make_worker(make_study("graded"), "eve")
    is_problem(Client().get(path(study)), 401)
    is_problem(post(path(study), {}), 401)
    is_problem(Client().get(path(study), headers=elsewhere), 403)
    is_problem(post(path(study), {}, elsewhere), 403)
    is_problem(Client().get("/api/studies/nowhere/quiz/", headers=elsewhere), 404)


def test_a_client_says_where_its_worker_lives() -> None:
    study = make_study(workers={"countries": ["US"]})
    assert "in which country you live" in is_problem(join(study), 403)["detail"]
    is_problem(join(study, country="XX"), 400)
    is_problem(join(study, country=7), 400)
    assert join(study, country="us").status_code == 201
    assert Worker.objects.get().country == "US"
