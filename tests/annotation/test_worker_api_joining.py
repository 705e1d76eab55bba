"""A worker's client joins a study; its token opens its own work alone; wrong input is refused."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import Assignment, Invitation, Judgment, Participation, Worker
from judgments.studies.studies import mark_closed
from tests.annotation.calling import accept, answers_to, begin, is_problem, join, patch, post, submit
from tests.doors import key_of
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


def test_joining_gives_a_name_a_token_and_a_resume_code() -> None:
    reply = join(make_study())
    assert reply.status_code == 201
    assert set(reply.json()) == {"worker", "token", "resume"}
    assert reply.json()["worker"] == "w-0007"
    assert reply["Cache-Control"] == "no-store"


def test_tokens_and_codes_are_not_stored_as_they_are() -> None:
    reply = join(make_study()).json()
    worker = Worker.objects.get()
    stored = f"{worker.token_hash} {worker.resume_hash}"
    assert reply["token"] not in stored
    assert reply["resume"] not in stored


def test_a_taken_name_is_refused_to_another_worker_too() -> None:
    study = make_study()
    join(study)
    assert "taken" in is_problem(join(study), 409)["detail"]
    _, stranger = make_worker(study, "stranger")
    is_problem(post(f"/api/studies/{study.slug}/join/", {"worker": "w-0007"}, stranger), 409)


def test_a_worker_joins_again_with_their_token_and_keeps_it() -> None:
    study, other = make_study(), make_study("graded")
    _, headers = make_worker(study)
    for one in (study, other):
        reply = post(f"/api/studies/{one.slug}/join/", {"worker": "w-0007"}, headers)
        assert reply.status_code == 201
        assert headers["Authorization"] == f"Token {reply.json()['token']}"
        assert reply.json()["resume"] is None
        assert accept(one, headers).status_code == 201
    assert Worker.objects.count() == 1


def test_the_resume_code_gives_a_new_token_and_a_wrong_one_nothing() -> None:
    study = make_study()
    first = join(study).json()
    for resume in ("wrong", "", "x" * 10_000):
        is_problem(join(study, resume=resume), 409)
    assert accept(study, {"Authorization": f"Token {first['token']}"}).status_code == 201
    again = join(study, resume=first["resume"])
    assert again.status_code == 201
    assert again.json()["token"] != first["token"]
    is_problem(accept(study, {"Authorization": f"Token {first['token']}"}), 401)
    assert accept(study, {"Authorization": f"Token {again.json()['token']}"}).status_code == 200
    assert join(study, resume=first["resume"]).status_code == 201, "the code works more than once"


def test_the_resume_code_lets_a_worker_into_another_study_on_its_terms() -> None:
    resume = join(make_study()).json()["resume"]
    other = make_study("graded", consent="We store your answers.")
    is_problem(join(other, resume=resume), 403)
    assert join(other, resume=resume, consent=True).status_code == 201


def test_a_name_of_any_script_is_welcome_once_in_any_spelling_and_others_are_refused() -> None:
    study = make_study()
    wrong = ["", "   ", "x" * 101, "a\x00b", "a\x1bb", "\ud800", "‮evil", 7, None, True, ["w"], {"a": 1}]
    for name in wrong:
        is_problem(join(study, worker=name), 400)
    assert not Worker.objects.exists()
    for name in ("Zoë", "王小明", "O'Neil <b>", "w 0007", "=cmd()"):
        assert join(study, worker=name).json()["worker"] == name
    join(study, worker="Zoë")
    is_problem(join(study, worker=" Zoe\u0308 "), 409)


def test_a_code_study_wants_its_code() -> None:
    study = make_study(access={"join": "code", "code": "blau-42-rot"})
    for wrong in ("", "blau", "BLAU-42", "bläu-42"):
        is_problem(join(study, code=wrong), 403)
    is_problem(join(study), 403)
    is_problem(join(study, code=42), 400)
    assert not Worker.objects.exists()
    assert join(study, code=" blau-42-rot ").status_code == 201


def test_an_invitation_lets_one_worker_in_once() -> None:
    study = make_study(access={"join": "invited"})
    Invitation.objects.create(study=study, code="for-ada")
    for wrong in ("", "for-bob", "x" * 5000):
        is_problem(join(study, code=wrong), 403)
    ada = join(study, worker="ada", code="for-ada")
    assert ada.status_code == 201
    is_problem(join(study, worker="bob", code="for-ada"), 403)
    back = post(
        f"/api/studies/{study.slug}/join/",
        {"worker": "ada"},
        {"Authorization": f"Token {ada.json()['token']}"},
    )
    assert back.status_code == 201, "who is in needs the invitation no more"


def test_an_invitation_to_another_study_opens_nothing() -> None:
    study, other = make_study(access={"join": "invited"}), make_study("graded", access={"join": "invited"})
    Invitation.objects.create(study=other, code="for-ada")
    is_problem(join(study, code="for-ada"), 403)


def test_a_consent_text_wants_consent() -> None:
    study = make_study(consent="We store your answers.")
    is_problem(join(study), 403)
    is_problem(join(study, consent=False), 403)
    for odd in ("true", 1, "yes"):
        is_problem(join(study, consent=odd), 400)
    assert not Worker.objects.exists()
    assert join(study, consent=True).status_code == 201
    participation = Participation.objects.get()
    assert participation.consented_at is not None
    assert participation.consent_version


def test_only_open_studies_let_workers_in() -> None:
    draft = make_study(opened=False)
    is_problem(join(draft), 403)
    closed = make_study("graded")
    mark_closed(study=closed)
    is_problem(join(closed), 403)
    is_problem(post("/api/studies/no-such-study/join/", {"worker": "w"}), 404)


def test_no_token_and_a_wrong_token_are_401_also_when_joining() -> None:
    study = make_study()
    for headers in (
        {},
        {"Authorization": "Token wrong"},
        {"Authorization": "Token " + "0" * 40},
        {"Authorization": "Token "},
        {"Authorization": "Token two words"},
        {"Authorization": "Token naïve"},
        {"Authorization": "Basic dzp3"},
    ):
        response = accept(study, headers)
        is_problem(response, 401)
        assert response["WWW-Authenticate"] == "Token"
    is_problem(
        post(f"/api/studies/{study.slug}/join/", {"worker": "w"}, {"Authorization": "Token wrong"}), 401
    )


RESOURCES = (
    *("studies", "units", "hits", "assignments", "judgments", "workers"),
    *("consensus", "reports", "exports", "jobs", "studies/a-triplet-study", "schema", "docs"),
)


def test_a_workers_token_opens_no_other_resource() -> None:
    _, headers = make_worker(make_study())
    for name in RESOURCES:
        is_problem(Client().get(f"/api/{name}/", headers=headers), 403)
    for name in ("datasets", "systems"):  # of published datasets, which everybody may read
        assert Client().get(f"/api/{name}/", headers=headers).json()["results"] == []


def test_a_workers_token_opens_its_calls_by_their_own_methods_alone() -> None:
    study = make_study()
    _, headers = make_worker(study)
    own = accept(study, headers).json()["id"]
    for method in ("get", "put", "patch", "delete", "options"):
        for path in (
            f"/api/studies/{study.slug}/join/",
            f"/api/studies/{study.slug}/assignments/",
            f"/api/assignments/{own}/submit/",
            *([f"/api/assignments/{own}/"] if method != "patch" else []),
        ):
            is_problem(getattr(Client(), method)(path, headers=headers), 403)


def test_a_staff_token_does_no_workers_work() -> None:
    study = make_study()
    designer = User.objects.create_user("designer", is_staff=True)
    is_problem(accept(study, key_of(designer)), 403)


def test_a_strangers_assignment_looks_like_none() -> None:
    study = make_study()
    _, headers = make_worker(study)
    _, stranger = make_worker(study, "stranger")
    shown = accept(study, headers).json()
    for assignment in (shown["id"], "00000000-0000-4000-8000-000000000000", "1", "x" * 300, "%00"):
        is_problem(patch(f"/api/assignments/{assignment}/", {"answers": []}, stranger), 404)
        is_problem(submit(assignment, answers_to(shown), stranger), 404)
        is_problem(post(f"/api/assignments/{assignment}/return/", headers=stranger), 404)
        is_problem(post(f"/api/assignments/{assignment}/report/", {"position": 1}, stranger), 404)
    assert Assignment.objects.get().state == "accepted"


def test_a_worker_who_did_not_join_this_study_gets_no_work_in_it() -> None:
    _, headers = make_worker(make_study())
    is_problem(accept(make_study("graded"), headers), 403)


GOOD = {"position": 1, "value": 1}


WRONG_ANSWERS: list[Any] = [
    None,
    7,
    "1",
    {"1": 1},
    [1],
    [None],
    [[]],
    [{}],
    [{"position": 1}],
    [{"value": 1}],
    [GOOD | {"position": True}],
    [GOOD | {"value": True}],
    [GOOD | {"value": 1.0}],
    [GOOD | {"value": "1"}],
    [GOOD | {"value": None}],
    [GOOD | {"value": [1]}],
    [GOOD | {"value": {"a": {"b": [1]}}}],
    [GOOD | {"value": 0}],
    [GOOD | {"value": 3}],
    [GOOD | {"value": 10**40}],
    [GOOD | {"position": 0}],
    [GOOD | {"position": -1}],
    [GOOD | {"position": 6}],
    [GOOD | {"position": 10**40}],
    [GOOD | {"position": "1"}],
    [GOOD | {"seconds": "3"}],
    [GOOD | {"seconds": -1}],
    [GOOD | {"seconds": 1e300}],
    [GOOD | {"seconds": True}],
    [GOOD, GOOD | {"value": 2}],
]
BROKEN_BODIES = [b"[]", b"{}", b'{"answer": []}']


def test_answers_that_are_not_valid_are_refused_and_nothing_is_kept() -> None:
    headers, shown = begin(make_study())
    path = f"/api/assignments/{shown['id']}/"
    for answers in WRONG_ANSWERS:
        is_problem(patch(path, {"answers": answers}, headers), 400)
        is_problem(submit(shown["id"], answers, headers), 400)
        if isinstance(answers, list):
            is_problem(submit(shown["id"], [*answers_to(shown)[1:], *answers], headers), 400)
        assert Assignment.objects.get().answers == {}, answers
    assert not Judgment.objects.exists()


def test_a_broken_body_is_a_400() -> None:
    study = make_study()
    headers, shown = begin(study)
    draft = f"/api/assignments/{shown['id']}/"
    for body in BROKEN_BODIES:
        request: dict[str, Any] = {"data": body, "content_type": "application/json", "headers": headers}
        is_problem(Client().post(f"{draft}submit/", **request), 400)
        is_problem(Client().post(f"/api/studies/{study.slug}/join/", **request), 400)
        is_problem(Client().patch(draft, **request), 400)


def test_next_is_true_or_false() -> None:
    headers, shown = begin(make_study())
    others: tuple[Any, ...] = (1, "yes", [])
    for other in others:
        is_problem(submit(shown["id"], answers_to(shown), headers, next=other), 400)
    assert not Judgment.objects.exists()


def test_unknown_addresses_are_problem_documents() -> None:
    is_problem(Client().get("/api/nothing/"), 404)
    is_problem(post("/api/studies/x/join", {}), 404)
    is_problem(Client().get("/api/units/%0A/"), 404)
    is_problem(Client(enforce_csrf_checks=True).post("/api/studies/%C2%84/nothing/"), 404)
    assert Client().get("/api/studies?state=open")["Location"] == "/api/studies/?state=open"
