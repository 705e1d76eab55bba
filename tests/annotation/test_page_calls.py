"""What the page's script asks for: submitting, the next page ahead, more time, taking work up again, corrections."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Assignment, Judgment
from judgments.models import Study
from tests.annotation.casting import Person, joined, make_dataset, make_study
from tests.annotation.posting import positions_on, submit, work_of
from tests.crowd import first_answers

pytestmark = pytest.mark.django_db

CALLS = ("save", "submit", "ahead", "extend", "retake", "change")


def call(study: Study, client: Client, assignment: Assignment, what: str, **body: Any) -> Any:
    address = f"/s/{study.slug}/work/{assignment.pk}/{what}/"
    return client.post(address, body, content_type="application/json")


def answers_to(html: str, value: int = 1) -> list[dict[str, Any]]:
    return [{"position": int(position), "value": value} for position in positions_on(html)]


def begun(protocol: str = "triplet", **values: Any) -> tuple[Study, Person, str, Assignment]:
    study = make_study(make_dataset(), protocol, **values)
    ada = joined(study)
    html, assignment = work_of(study, ada)
    return study, ada, html, assignment


def test_a_stranger_gets_nothing_by_any_call() -> None:
    study, _, html, assignment = begun()
    other = joined(study, "bo")
    for what, client in product(CALLS, (Client(), other.client)):
        reply = call(study, client, assignment, what, answers=answers_to(html))
        assert reply.status_code == 404
        assert reply.json()["why"] == "unknown"
        form = client.post(f"/s/{study.slug}/work/{assignment.pk}/{what}/", {"u1": "1"})
        assert form.status_code == 404
    assignment.refresh_from_db()
    assert (assignment.state, assignment.answers, assignment.extended) == ("accepted", {}, 0)


def test_a_stranger_sees_no_page_to_correct() -> None:
    study, ada, html, assignment = begun()
    submit(study, ada, assignment, first_answers(html))
    address = f"/s/{study.slug}/work/{assignment.pk}/change/"
    assert ada.client.get(address).status_code == 200
    assert Client().get(address).status_code == 404
    assert joined(study, "bo").client.get(address).status_code == 404


def test_a_submission_tells_which_page_comes_next_and_where_to_correct_this_one() -> None:
    study, ada, html, assignment = begun()
    ahead = call(study, ada.client, assignment, "ahead")
    assert ahead.status_code == 200
    reserved = Assignment.objects.get(state="reserved")
    assert f'data-assignment="{reserved.pk}"' in ahead.content.decode()
    reply = call(
        study, ada.client, assignment, "submit", answers=answers_to(html), ahead=str(reserved.pk)
    ).json()
    assert reply["next"] == str(reserved.pk)
    assert reply["change"] == f"/s/{study.slug}/work/{assignment.pk}/change/"
    assert 3500 < reply["left"] <= 3600
    assert (
        "Your page of work is submitted." not in ada.client.get(f"/s/{study.slug}/work/").content.decode()
    ), "it was said already"


def test_a_page_that_was_not_fetched_ahead_says_itself_that_the_one_before_is_submitted() -> None:
    study, ada, html, assignment = begun()
    reply = call(study, ada.client, assignment, "submit", answers=answers_to(html)).json()
    assert reply["next"]
    assert "Your page of work is submitted." in ada.client.get(reply["where"]).content.decode()


def test_an_incomplete_submission_names_what_is_missing_and_keeps_the_rest() -> None:
    study, ada, html, assignment = begun()
    reply = call(study, ada.client, assignment, "submit", answers=answers_to(html)[:1])
    assert reply.status_code == 400
    assert reply.json()["missing"] == [int(position) for position in positions_on(html)[1:]]
    assignment.refresh_from_db()
    assert assignment.answers["1"]["value"] == 1


def test_nothing_lies_ahead_of_the_last_page() -> None:
    study, ada, _, assignment = begun()
    study.hits.exclude(assignments=assignment).update(open_slots=0)
    assert call(study, ada.client, assignment, "ahead").status_code == 204


def test_what_lies_ahead_shows_no_more_than_its_page_would() -> None:
    study, ada, _, assignment = begun("graded")
    html = call(study, ada.client, assignment, "ahead").content.decode()
    for secret in ("secret-file", "captioner", "control", "expected"):
        assert secret not in html


def test_more_time_and_its_end_are_told_in_seconds_and_words() -> None:
    study, ada, _, assignment = begun(crowd={"extensions": 1})
    soon = timezone.now() + timedelta(minutes=2)
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=soon)
    reply = call(study, ada.client, assignment, "extend")
    assert 3590 <= reply.json()["left"] <= 3600
    assert reply.json()["more"] == 0
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=soon)
    refused = call(study, ada.client, assignment, "extend")
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith("Your answers are saved")


def test_a_refusal_says_what_happened_to_the_page() -> None:
    study, ada, html, assignment = begun()
    refusals = (("expired", "save", "late"), ("expired", "submit", "late"), ("returned", "save", "over"))
    for state, what, why in (*refusals, ("returned", "retake", "over"), ("submitted", "save", "over")):
        submitted_at = timezone.now() if state == "submitted" else None
        Assignment.objects.filter(pk=assignment.pk).update(state=state, submitted_at=submitted_at)
        reply = call(study, ada.client, assignment, what, answers=answers_to(html))
        assert (reply.status_code, reply.json()["why"]) == (409, why)


def test_a_correction_comes_back_with_the_answers_that_count() -> None:
    study, ada, html, assignment = begun()
    call(study, ada.client, assignment, "submit", answers=answers_to(html))
    assert (
        call(study, ada.client, assignment, "change", answers=[{"position": 2, "value": 2}]).status_code
        == 200
    )
    page = ada.client.get(f"/s/{study.slug}/work/{assignment.pk}/change/").content.decode()
    chosen = [part.split(">")[0] for part in page.split("<input") if "checked" in part.split(">")[0]]
    assert 'value="2"' in next(part for part in chosen if 'name="u2"' in part)
    assert Judgment.objects.filter(assignment=assignment, replaces__isnull=False).count() == 1


def test_corrections_end_with_the_time_for_them() -> None:
    study, ada, html, assignment = begun(crowd={"edit_minutes": 5})
    call(study, ada.client, assignment, "submit", answers=answers_to(html))
    past = timezone.now() - timedelta(minutes=6)
    Assignment.objects.filter(pk=assignment.pk).update(accepted_at=past, submitted_at=past)
    refused = call(study, ada.client, assignment, "change", answers=[{"position": 1, "value": 2}])
    assert (refused.status_code, refused.json()["why"]) == (409, "fixed")
    assert ada.client.get(f"/s/{study.slug}/work/{assignment.pk}/change/").status_code == 409
    assert "Change my last page</a>" in ada.client.get(f"/s/{study.slug}/work/").content.decode()
    assert f"{assignment.pk}/change/" not in ada.client.get(f"/s/{study.slug}/work/").content.decode()


def test_a_refused_answer_is_named_by_its_position() -> None:
    study, ada, html, assignment = begun()
    wrong = [*answers_to(html)[:1], {"position": 2, "value": 9}]
    reply = call(study, ada.client, assignment, "save", answers=wrong)
    assert (reply.status_code, reply.json()["position"]) == (400, 2)


def test_the_calls_of_a_page_stay_within_their_queries() -> None:
    study, ada, html, assignment = begun()
    counts = {}
    bodies = {"save": {"answers": answers_to(html)[:1]}, "ahead": {}, "submit": {"answers": answers_to(html)}}
    for what, body in bodies.items():
        with CaptureQueriesContext(connection) as queries:
            assert call(study, ada.client, assignment, what, **body).status_code == 200
        counts[what] = sum("SAVEPOINT" not in one["sql"] for one in queries.captured_queries)
    assert counts["save"] <= 4, counts
    assert counts["ahead"] <= 11, counts
    assert counts["submit"] <= 10, counts
