"""The quiz before the work, by page and by call: drawn once, answered once, in the way of nobody who passed it."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.errors import AlreadyEnded, AnswerProblem
from annotation.models import Assignment, QuizAttempt, Worker
from annotation.work.claims import claim_assignment
from contrib.quiz.attempts.content import content_of, quiz_units
from contrib.quiz.attempts.explanations import ExplainedAnswer
from contrib.quiz.attempts.taking import answer_attempt, quiz_status, start_attempt
from contrib.quiz.errors import QuizFailed, QuizNotPassed
from contrib.quiz.tests.quizzing import PROTOCOLS, QUESTIONS, quizzed, right_answers, take
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from judgments.models import HITUnit, Study, Unit
from judgments.studies.designs import design_of
from tests import studies
from tests.annotation.calling import accept, is_problem, join, post
from tests.annotation.casting import Person, joined, make_dataset, make_study, with_person
from tests.annotation.sourcing import make_texts
from tests.refusals import refuses
from tests.studies import make_worker

pytestmark = pytest.mark.django_db
YES_OR_NO = [
    {"text": f"Question {number}?", "options": ["yes", "no"], "answer": 1, "why": f"Reason {number}."}
    for number in range(3)
]


def test_no_work_is_given_out_before_the_quiz_is_passed_and_all_of_it_afterwards() -> None:
    study, ada = with_person(quizzed())
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
    study, ada = with_person(quizzed(preset="hodosh-2013-english", attempts=2))
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
    study, ada = with_person(quizzed())
    attempt = start_attempt(study=study, worker=ada.worker)
    answer_attempt(attempt=attempt, answers=[{"position": 1, "value": 2}])
    again = answer_attempt(attempt=attempt, answers=[{"position": 1, "value": 2}])
    assert again.answers == {"1": {"value": 2}}
    with refuses(AlreadyEnded, "answered", "1"):
        answer_attempt(attempt=attempt, answers=[{"position": 1, "value": 1}, {"position": 2, "value": 1}])
    attempt.refresh_from_db()
    assert attempt.answers == {"1": {"value": 2}}


def test_an_answer_that_is_none_is_refused_and_nothing_is_kept() -> None:
    study, ada = with_person(quizzed())
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
    study, ada = with_person(make_study(make_dataset()))
    with CaptureQueriesContext(connection) as queries:
        claim_assignment(study=study, worker=ada.worker)
    assert not [query for query in queries if "quizattempt" in query["sql"]]


def test_designers_see_questions_results_and_what_nearly_everybody_misses(admin_client: Client) -> None:
    study = quizzed(attempts=1)
    for number in range(6):
        person = joined(study, f"worker-{number}")
        attempt = start_attempt(study=study, worker=person.worker)
        content = content_of(attempt)
        answers = right_answers(content)
        for answer in answers:
            asked = content.questions[answer["position"]]
            if asked.question.text == "Question 3?":
                answer["value"] = asked.right_value % 3 + 1
        answer_attempt(attempt=attempt, answers=answers)
    html = admin_client.get(f"/admin/judgments/study/{study.pk}/quiz/").content.decode()
    assert "1 question has at least five answers" in html
    aside = re.findall(r'<tr class="q-aside"><td>(Question \d\?)', html)
    assert aside == ["Question 3?"]
    assert "worker-5" in html
    assert "3 of 4" in html


def test_a_quiz_without_attempts_says_when_they_come(admin_client: Client) -> None:
    study = quizzed()
    html = admin_client.get(f"/admin/judgments/study/{study.pk}/quiz/").content.decode()
    assert "Participants take the quiz before their first page of work." in html
    assert f'href="/admin/judgments/study/{study.pk}/workers/"' in html


def test_a_study_without_a_quiz_says_so(admin_client: Client) -> None:
    study = make_study(make_dataset())
    html = admin_client.get(f"/admin/judgments/study/{study.pk}/quiz/").content.decode()
    assert "No quiz" in html


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
    report = rehearse(study=study, crowd=RehearsalCrowd(workers=4, spammers=0.0, seed=1))
    assert report.hits == study.hits.count()
    assert not study.hits.filter(open_slots__gt=0).exists()
    assert not QuizAttempt.objects.exists()


def test_a_damaged_text_of_the_quiz_is_stored() -> None:
    study = make_study(make_texts(), "spans", judged="summary", controls={"per_hit": 0}, quiz={"items": 1})
    texts = [unit.first.text for unit in quiz_units(study) if unit.first]
    assert texts
    assert not study.dataset.captions.filter(text__in=texts, role="reference").exists()


def page(person: Person, path: str) -> str:
    response = person.client.get(path, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def started(study: Study) -> tuple[Study, Person]:
    """A person who began an attempt on the page."""
    study, person = with_person(study)
    person.client.post(f"/s/{study.slug}/quiz/start/")
    return study, person


def answer_on_page(study: Study, person: Person, *, right: bool = True) -> Any:
    """Answer what the page shows, by its form."""
    attempt = QuizAttempt.objects.filter(worker=person.worker).latest("number")
    content = content_of(attempt)
    html = page(person, f"/s/{study.slug}/quiz/")
    first = int(re.findall(r'name="step" value="(\d+)"', html)[0])
    expected = content.questions[first].right_value
    value = expected if right else expected % len(content.questions[first].order) + 1
    return person.client.post(
        f"/s/{study.slug}/quiz/{attempt.number}/answer/", {"step": first, f"u{first}": value}
    )


def test_a_worker_goes_from_the_instructions_through_the_quiz_to_the_work_by_plain_forms() -> None:
    study, ada = with_person(quizzed(explain="at-the-end"))
    assert "Go on to the test" in page(ada, f"/s/{study.slug}/start/")
    assert ada.client.get(f"/s/{study.slug}/work/")["Location"] == f"/s/{study.slug}/quiz/"
    first = page(ada, f"/s/{study.slug}/quiz/")
    assert "4 questions" in first
    assert "80 % right" in first
    assert "Attempts left</dt><dd>2</dd>" in first
    assert ada.client.post(f"/s/{study.slug}/quiz/start/").status_code == 303
    for number in range(4):
        assert f"Test: {number + 1} of 4" in page(ada, f"/s/{study.slug}/quiz/")
        assert answer_on_page(study, ada, right=number > 0).status_code == 303
    result = page(ada, f"/s/{study.slug}/quiz/")
    assert "You did not pass the test" in result
    assert "You answered 3 of 4 correctly. You need 80 % to pass." in result
    assert result.count("Because of") == 4
    assert "Your answer:" in result
    ada.client.post(f"/s/{study.slug}/quiz/start/")
    for _ in range(4):
        answer_on_page(study, ada)
    assert "You passed the test" in page(ada, f"/s/{study.slug}/quiz/")
    assert 'data-assignment="' in page(ada, f"/s/{study.slug}/work/")


def test_after_each_answer_it_is_said_what_is_right_and_why_where_the_quiz_teaches() -> None:
    study, ada = started(quizzed(explain="after-each"))
    response = answer_on_page(study, ada, right=False)
    assert response["Location"] == f"/s/{study.slug}/quiz/?seen=1"
    told = page(ada, response["Location"])
    assert "That is not right" in told
    assert re.search(r"Right answer:</span> <bdi dir=\"auto\">right \d", told)
    assert told.count("Because of") == 1
    assert "That is right" in page(ada, answer_on_page(study, ada)["Location"])


def test_right_answers_that_are_sentences_do_not_run_into_each_other() -> None:
    told = ExplainedAnswer(1, "How well?", (), "1", False, ("Describes <b>it</b>", "Is unrelated"), "")
    assert told.expected_html == "<q>Describes &lt;b&gt;it&lt;/b&gt;</q> or <q>Is unrelated</q>"
    assert replace(told, expected=("Is <b>",)).expected_html == "Is &lt;b&gt;"


@pytest.mark.parametrize(("explain", "before", "after"), [("at-the-end", 0, 4), ("never", 0, 0)])
def test_nothing_is_explained_sooner_than_the_design_says(explain: str, before: int, after: int) -> None:
    study, ada = started(quizzed(explain=explain))
    for _ in range(4):
        told = page(ada, f"/s/{study.slug}/quiz/?seen=1")
        assert told.count("Because of") == before
        assert answer_on_page(study, ada)["Location"] == f"/s/{study.slug}/quiz/"
    assert page(ada, f"/s/{study.slug}/quiz/").count("Because of") == after


def test_back_and_another_answer_changes_nothing() -> None:
    study, ada = started(quizzed())
    answer_on_page(study, ada, right=False)
    attempt = QuizAttempt.objects.get()
    before = attempt.answers
    again = ada.client.post(
        f"/s/{study.slug}/quiz/1/answer/", {"step": 1, "u1": content_of(attempt).questions[1].right_value}
    )
    assert again.status_code == 303
    attempt.refresh_from_db()
    assert attempt.answers == before


def test_going_on_without_an_answer_is_told_on_the_same_page() -> None:
    study, ada = started(quizzed())
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
    content = content_of(QuizAttempt.objects.get())
    step = content.steps()[0]
    if protocol != "triplet":
        picture = re.findall(r'<img src="([^"]+)"', html)[0]
        shown = ada.client.get(picture)
        assert (shown.status_code, shown["Content-Type"]) == (200, "image/jpeg")
        shown.close()
        assert Client().get(picture).status_code == 404
    answers = {answer["position"]: answer["value"] for answer in right_answers(content)}
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
    study, ada = with_person(quizzed(attempts=1, explain="never"))
    take(study, ada, wrong=4)
    told = page(ada, f"/s/{study.slug}/work/")
    assert "You have no attempts left" in told
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
    study, ada = started(quizzed(preset="hodosh-2013-english", ask=30))
    with CaptureQueriesContext(connection) as queries:
        page(ada, f"/s/{study.slug}/quiz/")
    assert len(queries) <= 5


def quizzed_for_clients(protocol: str = "triplet", **quiz: Any) -> Study:
    return studies.make_study(protocol, quiz={"questions": YES_OR_NO, "explain": "at-the-end"} | quiz)


def path(study: Study) -> str:
    return f"/api/studies/{study.slug}/quiz/"


def standing(study: Study, headers: dict[str, str]) -> Any:
    return Client().get(path(study), headers=headers).json()


def right(*, but: int = 0) -> list[dict[str, int]]:
    """Right answers to the attempt under way, the first ``but`` of them wrong."""
    content = content_of(QuizAttempt.objects.latest("number"))
    return [
        {"position": position, "value": 3 - asked.right_value if position <= but else asked.right_value}
        for position, asked in sorted(content.questions.items())
    ]


def test_work_is_refused_with_the_address_of_the_quiz_and_given_once_it_is_passed() -> None:
    study = quizzed_for_clients()
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
    study = quizzed_for_clients()
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
    study = quizzed_for_clients()
    _, headers = make_worker(study)
    assert "Reason" not in str(post(path(study), {}, headers).json())
    answers = right(but=1)
    assert post(path(study), {"answers": answers[:2]}, headers).json()["attempt"]["explanations"] == []
    ended = post(path(study), {"answers": answers}, headers).json()["attempt"]
    assert [line["right"] for line in ended["explanations"]] == [False, True, True]
    assert {line["expected"] for line in ended["explanations"]} == {"yes"}


def test_after_the_last_attempt_the_client_is_told_so() -> None:
    study = quizzed_for_clients(attempts=1)
    _, headers = make_worker(study)
    post(path(study), {}, headers)
    post(path(study), {"answers": right(but=3)}, headers)
    found = standing(study, headers)
    assert (found["needed"], found["passed"], found["attempts_left"]) == (True, False, 0)
    assert "no attempt" in is_problem(post(path(study), {}, headers), 403)["detail"]
    assert "no attempt" in is_problem(accept(study, headers), 403)["detail"]


def test_known_items_come_as_units_of_the_study_s_kind_and_tell_nothing() -> None:
    study = studies.make_study("pairwise", quiz={"items": 1, "attempts": 1})
    _, headers = make_worker(study)
    (unit,) = post(path(study), {}, headers).json()["attempt"]["questions"]
    assert set(unit) == {"position", "protocol", "question", "image", "b", "c"}


def test_a_study_without_a_quiz_says_that_none_is_needed() -> None:
    study = studies.make_study()
    _, headers = make_worker(study)
    assert standing(study, headers) == {
        "needed": False, "passed": True, "pass_mark": 0.8, "attempts_left": 0, "attempt": None,
    }  # fmt: skip
    is_problem(post(path(study), {}, headers), 404)


def test_strangers_and_workers_who_did_not_join_are_kept_out() -> None:
    study = quizzed_for_clients()
    _, elsewhere = make_worker(studies.make_study("graded"), "eve")
    is_problem(Client().get(path(study)), 401)
    is_problem(post(path(study), {}), 401)
    is_problem(Client().get(path(study), headers=elsewhere), 403)
    is_problem(post(path(study), {}, elsewhere), 403)
    is_problem(Client().get("/api/studies/nowhere/quiz/", headers=elsewhere), 404)


def test_a_client_says_where_its_worker_lives() -> None:
    study = studies.make_study(workers={"countries": ["US"]})
    assert "country you live" in is_problem(join(study), 403)["detail"]
    is_problem(join(study, country="XX"), 400)
    is_problem(join(study, country=7), 400)
    assert join(study, country="us").status_code == 201
    assert Worker.objects.get().country == "US"
