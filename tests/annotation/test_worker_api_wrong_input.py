"""Answers, bodies and addresses that a worker's client can get wrong, each refused as a problem document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from annotation.models import Assignment, Judgment
from tests.annotation.calling import accept, answers_to, is_problem, join, patch, post, submit
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


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
BROKEN_BODIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b"{'answers': []}",
    b'{"answers": NaN}',
    b'{"answers": [{"position": 1, "value": NaN}]}',
    b'{"answers": [{"position": 1, "value": 1, "seconds": Infinity}]}',
    b"\xff\xfe",
    b'{"answers": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"answers": [{"position": ' + b"9" * 5000 + b', "value": 1}]}',
    b"{}",
    b'{"answer": []}',
]


def test_answers_that_are_not_valid_are_refused_and_nothing_is_kept() -> None:
    study = make_study()
    _, headers = make_worker(study)
    shown = accept(study, headers).json()
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
    _, headers = make_worker(study)
    shown = accept(study, headers).json()
    draft = f"/api/assignments/{shown['id']}/"
    for body in BROKEN_BODIES:
        request: dict[str, Any] = {"data": body, "content_type": "application/json", "headers": headers}
        is_problem(Client().post(f"{draft}submit/", **request), 400)
        is_problem(Client().post(f"/api/studies/{study.slug}/join/", **request), 400)
        is_problem(Client().patch(draft, **request), 400)


def test_a_text_that_no_database_can_hold_is_a_400() -> None:
    study = make_study(access={"join": "invited"})
    for odd in ("\x00", "w\x00", "\ud800", "\udfff\ud800"):
        for name in ("worker", "code", "resume", "more"):
            is_problem(join(study, **{name: odd}), 400)
        is_problem(join(study, deeper=[{"a": {odd: 1}}]), 400)
    assert join(study, worker="😀 \\u0000 \\ud800").status_code == 403, "pairs and backslashes are plain text"


def test_next_is_true_or_false() -> None:
    study = make_study()
    _, headers = make_worker(study)
    shown = accept(study, headers).json()
    others: tuple[Any, ...] = (1, "yes", [])
    for other in others:
        is_problem(submit(shown["id"], answers_to(shown), headers, next=other), 400)
    assert not Judgment.objects.exists()


def test_a_body_of_another_type_is_a_415() -> None:
    study = make_study()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/xml", "nonsense"):
        response = Client().post(f"/api/studies/{study.slug}/join/", data="worker=w", content_type=kind)
        is_problem(response, 415)


def test_a_body_that_is_too_large_is_a_413() -> None:
    study = make_study()
    body = json.dumps({"worker": "w" * 3_000_000})
    response = Client().post(f"/api/studies/{study.slug}/join/", data=body, content_type="application/json")
    is_problem(response, 413)


def test_unknown_addresses_are_problem_documents() -> None:
    is_problem(Client().get("/api/nothing/"), 404)
    is_problem(post("/api/studies/x/join", {}), 404)
    is_problem(Client().get("/api/units/%0A/"), 404)
    is_problem(Client(enforce_csrf_checks=True).post("/api/studies/%C2%84/nothing/"), 404)
    assert Client().get("/api/studies?state=open")["Location"] == "/api/studies/?state=open"
