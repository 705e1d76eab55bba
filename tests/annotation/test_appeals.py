"""Deciding with reasons that the rules found, and what workers say when they think that a rejection is wrong."""

from typing import Any

import pytest
from django.test import Client

from annotation.models import AppealNote, Assignment, Case
from annotation.quality.reviews import (
    approve_unopposed,
    reasons_against,
    reject_assignments,
    reject_with_findings,
)
from annotation.quality.rules import copy_rules
from common.errors import WrongState
from judgments.models import Study
from tests.annotation.casting import joined
from tests.annotation.test_me import seen
from tests.annotation.watched import careful, left, make_watched, states, work
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    made = make_watched(rules=[{"rule": "side-bias", "action": "flag"}])
    copy_rules(study=made)
    return made


def post(client: Client, study: Study, step: str, **values: Any) -> str:
    return words(client.post(do(study, step), {"page": "work", **values}, follow=True))


def test_what_nothing_speaks_against_is_approved_and_the_rest_waits(designer: Client, study: Study) -> None:
    good, bad = work(study, "ada", careful, pages=2), work(study, "spam", left, pages=2)
    found = reasons_against(study, {good[0].worker_id, bad[0].worker_id})
    assert list(found) == [bad[0].worker_id]
    assert "20 of 20 answers took the option on the left" in found[bad[0].worker_id][0]
    assert "20 of 20 answers took the option on the left" in words(designer.get(page(study, "work")))
    assert "2 pages of work are approved." in post(designer, study, "approve-unopposed")
    assert states(good + bad) == ["approved", "approved", "submitted", "submitted"]
    assert approve_unopposed(study=study) == 0


def test_a_rejection_takes_its_reason_from_what_was_found(designer: Client, study: Study) -> None:
    good, bad = work(study, "ada", careful, pages=1), work(study, "spam", left, pages=2)
    chosen = [str(one.pk) for one in good + bad]
    assert "nothing speaks against ada; write the reason" in post(
        designer, study, "reject", assignments=chosen, found="on"
    )
    assert states(good + bad) == ["submitted"] * 3
    post(designer, study, "reject", assignments=chosen[1:], found="on")
    assert states(good + bad) == ["submitted", "rejected", "rejected"]
    assert "took the option on the left" in Assignment.objects.get(pk=bad[0].pk).reason


def test_a_worker_appeals_and_is_answered_and_paid_after_all(designer: Client, study: Study) -> None:
    ada = joined(study)
    (mine,) = work(study, ada.worker, careful)
    reject_assignments(study=study, assignments=[mine.pk], reason="Too fast.")
    assert "Is that wrong? Say why" in seen(ada)
    for _ in range(2):  # pressed twice
        ada.client.post(f"/me/appeal/{mine.pk}/", {"text": "I read <b>every</b> sentence."})
    assert AppealNote.objects.count() == 1
    assert "The participant" in words(designer.get(page(study, "work") + "?state=rejected"))
    post(designer, study, "appeal-note", assignments=[str(mine.pk)], note="You are right.")
    html = seen(ada)
    assert "I read &lt;b&gt;every&lt;/b&gt; sentence." in html
    assert "You are right." in html
    post(designer, study, "approve", assignments=[str(mine.pk)])
    assert states([mine]) == ["approved"]


def test_nobody_appeals_for_somebody_else_or_without_a_rejection_or_without_end(study: Study) -> None:
    ada, eve = joined(study), joined(study, "eve")
    (mine,) = work(study, ada.worker, careful)
    assert ada.client.post(f"/me/appeal/{mine.pk}/", {"text": "Why?"}).status_code == 409
    reject_assignments(study=study, assignments=[mine.pk], reason="Too fast.")
    assert eve.client.post(f"/me/appeal/{mine.pk}/", {"text": "Why?"}).status_code == 404
    assert ada.client.post(f"/me/appeal/{mine.pk}/", {"text": "  "}).status_code == 409
    said = [ada.client.post(f"/me/appeal/{mine.pk}/", {"text": f"Why {n}?"}).status_code for n in range(6)]
    assert said == [303] * 5 + [409]
    assert AppealNote.objects.count() == 5


@pytest.mark.parametrize("rule", ["pasted-text", "typing", "phrasing", "canary"])
def test_a_sign_neither_holds_pay_back_nor_is_the_reason_of_a_rejection(rule: str, study: Study) -> None:
    (done,) = work(study, "ada")
    ada = done.worker
    evidence = {"words": "Typed so."}
    # a row of an earlier version, which paused people
    Case.objects.create(study=study, worker=ada, rule=rule, action="pause", evidence=evidence)
    with pytest.raises(WrongState, match="nothing speaks against ada"):
        reject_with_findings(study=study, assignments=[done.pk])
    assert reasons_against(study, [ada.pk], signs=True) == {ada.pk: ["Typed so."]}
    assert approve_unopposed(study=study) == 1
