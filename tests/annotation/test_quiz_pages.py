"""The pages of the quiz, as a browser without scripts sees and sends them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import QuizAttempt
from annotation.quiz.quizzes import sheet_of
from annotation.quiz.sheet import ExplainedAnswer
from judgments.models import Study
from tests.annotation.casting import Person, joined, make_dataset, make_study
from tests.annotation.quizzing import PROTOCOLS, quizzed, right_answers, take

pytestmark = pytest.mark.django_db


def page(person: Person, path: str) -> str:
    response = person.client.get(path, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def answer_on_page(study: Study, person: Person, *, right: bool = True) -> Any:
    """Answer what the page shows, by its form."""
    attempt = QuizAttempt.objects.filter(worker=person.worker).latest("number")
    sheet = sheet_of(attempt)
    html = page(person, f"/s/{study.slug}/quiz/")
    first = int(re.findall(r'name="step" value="(\d+)"', html)[0])
    expected = sheet.questions[first].expected
    value = expected if right else expected % len(sheet.questions[first].order) + 1
    return person.client.post(
        f"/s/{study.slug}/quiz/{attempt.number}/answer/", {"step": first, f"u{first}": value}
    )


def test_a_worker_goes_from_the_instructions_through_the_quiz_to_the_work_by_plain_forms() -> None:
    study = quizzed(explain="at-the-end")
    ada = joined(study)
    assert "Go on to the test" in page(ada, f"/s/{study.slug}/start/")
    assert ada.client.get(f"/s/{study.slug}/work/")["Location"] == f"/s/{study.slug}/quiz/"
    first = page(ada, f"/s/{study.slug}/quiz/")
    assert "4 questions" in first
    assert "80 % right" in first
    assert "2 times" in first
    assert ada.client.post(f"/s/{study.slug}/quiz/start/").status_code == 303
    for number in range(4):
        assert f"Test: {number + 1} of 4" in page(ada, f"/s/{study.slug}/quiz/")
        assert answer_on_page(study, ada, right=number > 0).status_code == 303
    result = page(ada, f"/s/{study.slug}/quiz/")
    assert "The test is not passed" in result
    assert "3 of 4 right; 80 % are needed" in result
    assert result.count("Because of") == 4
    assert "Your answer:" in result
    ada.client.post(f"/s/{study.slug}/quiz/start/")
    for _ in range(4):
        answer_on_page(study, ada)
    assert "You passed the test" in page(ada, f"/s/{study.slug}/quiz/")
    assert 'data-assignment="' in page(ada, f"/s/{study.slug}/work/")


def test_after_each_answer_it_is_said_what_is_right_and_why_where_the_quiz_teaches() -> None:
    study = quizzed(explain="after-each")
    ada = joined(study)
    ada.client.post(f"/s/{study.slug}/quiz/start/")
    response = answer_on_page(study, ada, right=False)
    assert response["Location"] == f"/s/{study.slug}/quiz/?seen=1"
    told = page(ada, response["Location"])
    assert "That is not right" in told
    assert re.search(r"Right is:</span> <bdi dir=\"auto\">right \d", told)
    assert told.count("Because of") == 1
    assert "That is right" in page(ada, answer_on_page(study, ada)["Location"])


def test_right_answers_that_are_sentences_do_not_run_into_each_other() -> None:
    told = ExplainedAnswer(1, "How well?", (), "1", False, ("Describes <b>it</b>", "Is unrelated"), "")
    assert told.expected_html == "<q>Describes &lt;b&gt;it&lt;/b&gt;</q> or <q>Is unrelated</q>"
    assert replace(told, expected=("Is <b>",)).expected_html == "Is &lt;b&gt;"


@pytest.mark.parametrize(("explain", "before", "after"), [("at-the-end", 0, 4), ("never", 0, 0)])
def test_nothing_is_explained_sooner_than_the_design_says(explain: str, before: int, after: int) -> None:
    study = quizzed(explain=explain)
    ada = joined(study)
    ada.client.post(f"/s/{study.slug}/quiz/start/")
    for _ in range(4):
        told = page(ada, f"/s/{study.slug}/quiz/?seen=1")
        assert told.count("Because of") == before
        assert answer_on_page(study, ada)["Location"] == f"/s/{study.slug}/quiz/"
    assert page(ada, f"/s/{study.slug}/quiz/").count("Because of") == after


def test_back_and_another_answer_changes_nothing() -> None:
    study = quizzed()
    ada = joined(study)
    ada.client.post(f"/s/{study.slug}/quiz/start/")
    answer_on_page(study, ada, right=False)
    attempt = QuizAttempt.objects.get()
    before = attempt.answers
    again = ada.client.post(
        f"/s/{study.slug}/quiz/1/answer/", {"step": 1, "u1": sheet_of(attempt).questions[1].expected}
    )
    assert again.status_code == 303
    attempt.refresh_from_db()
    assert attempt.answers == before


def test_going_on_without_an_answer_is_told_on_the_same_page() -> None:
    study = quizzed()
    ada = joined(study)
    ada.client.post(f"/s/{study.slug}/quiz/start/")
    for fields in ({"step": "1"}, {"step": "1", "u1": "x"}):
        response = ada.client.post(f"/s/{study.slug}/quiz/1/answer/", fields)
        assert response.status_code == 422
        assert "choose an answer first" in response.content.decode()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_known_item_is_shown_and_answered_on_the_page_of_its_kind(protocol: str) -> None:
    study = make_study(make_dataset(), protocol, quiz={"items": 1, "attempts": 1}, controls={"per_hit": 0})
    ada = joined(study)
    ada.client.post(f"/s/{study.slug}/quiz/start/")
    html = page(ada, f"/s/{study.slug}/quiz/")
    sheet = sheet_of(QuizAttempt.objects.get())
    step = sheet.steps()[0]
    if protocol != "triplet":
        picture = re.findall(r'<img src="([^"]+)"', html)[0]
        shown = ada.client.get(picture)
        assert (shown.status_code, shown["Content-Type"]) == (200, "image/jpeg")
        shown.close()
        assert Client().get(picture).status_code == 404
    answers = {answer["position"]: answer["value"] for answer in right_answers(sheet)}
    fields: dict[str, Any] = {"step": step[0]}
    fields |= {f"u{position}": answers[position] for position in step if answers[position]}
    response = ada.client.post(f"/s/{study.slug}/quiz/1/answer/", fields)
    assert "That is right" in page(ada, response["Location"])


def test_a_relevance_item_without_a_tick_is_asked_about_again() -> None:
    study = make_study(make_dataset(), "relevance", quiz={"items": 1, "attempts": 1}, controls={"per_hit": 0})
    ada = joined(study)
    ada.client.post(f"/s/{study.slug}/quiz/start/")
    assert ada.client.post(f"/s/{study.slug}/quiz/1/answer/", {"step": 1}).status_code == 422
    assert ada.client.post(f"/s/{study.slug}/quiz/1/answer/", {"step": 1, "none1": "1"}).status_code == 303


def test_who_used_up_all_attempts_is_told_kindly_and_gets_no_work() -> None:
    study = quizzed(attempts=1, explain="never")
    ada = joined(study)
    take(study, ada, wrong=4)
    told = page(ada, f"/s/{study.slug}/work/")
    assert "No attempt is left" in told
    assert "Try again" not in told
    refused = ada.client.post(f"/s/{study.slug}/quiz/start/")
    assert refused.status_code == 403
    assert "Go on" not in refused.content.decode()


def test_a_stranger_and_one_who_did_not_join_are_led_to_the_study_s_page() -> None:
    study = quizzed()
    eve = joined(make_study(study.dataset, name="Other"), "eve")
    for client in (Client(), eve.client):
        for path in ("quiz/", "quiz/start/", "quiz/1/answer/"):
            assert client.get(f"/s/{study.slug}/{path}")["Location"] == f"/s/{study.slug}/"
        assert client.post(f"/s/{study.slug}/quiz/start/")["Location"] == f"/s/{study.slug}/"
    assert not QuizAttempt.objects.exists()


def test_a_page_of_the_quiz_takes_few_queries() -> None:
    study = quizzed(preset="hodosh-2013-english", ask=30)
    ada = joined(study)
    ada.client.post(f"/s/{study.slug}/quiz/start/")
    with CaptureQueriesContext(connection) as queries:
        page(ada, f"/s/{study.slug}/quiz/")
    assert len(queries) <= 5
