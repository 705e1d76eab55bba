"""What a study puts up at Mechanical Turk, for whom and at what price; funds, and deleting."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from annotation.crowds import backend_for
from annotation.crowds.opening import close_study, open_study
from annotation.crowds.outbox.delivery import finish_call
from annotation.crowds.publishing import ask_to_extend
from annotation.crowds.sync.schedule import queue_due_syncs
from annotation.errors import RequirementNotMet
from annotation.models import CrowdCall, CrowdSession, Judgment, Publication
from annotation.money.forecast import forecast_of
from annotation.money.payments import decide_session, pay_bonus
from common.errors import WrongState
from evaluation.data.integrity import check_integrity
from judgments.models import HIT, Job, Study
from judgments.studies.designs import design_of
from tests.annotation.crowds.turking import (
    Crowd,
    Work,
    books,
    emulated,
    kinds_of,
    make_turk_study,
    one_hit,
    same_money,
    settings_for,
    sync,
    up,
)
from tests.fakes.mturk import Fault, MTurkEmulator, Refused
from tests.installations import Installation
from tests.marks import long_except
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("reward", "places", "masters", "fee"),
    [
        (10, 1, False, 2),
        pytest.param(10, 9, False, 2, marks=pytest.mark.long),
        (10, 10, False, 4),
        (1, 1, False, 1),  # a cent at least
        pytest.param(1, 10, False, 1, marks=pytest.mark.long),
        pytest.param(12, 9, False, 2, marks=pytest.mark.long),  # 2.4
        (13, 9, False, 3),  # 2.6
        (30, 9, True, 8),  # 7.5 is rounded up
        pytest.param(30, 10, True, 14, marks=pytest.mark.long),  # 13.5
    ],
)
def test_the_emulated_account_holds_what_we_reserve(
    reward: int, places: int, masters: bool, fee: int, turk: MTurkEmulator
) -> None:
    study = one_hit(people=places, crowd={"reward_cents": reward, "masters": masters})
    open_study(study=study)
    assert books(study) == (places * (reward + fee), 0)
    same_money(study, turk)
    assert backend_for(design_of(study)).bonus_fee(13) == 3


@pytest.mark.parametrize(
    ("crowd", "words"),
    [
        ({"reward_cents": 0}, "pays nothing"),
        ({"budget_cents": 0}, "has no budget"),
        ({"budget_cents": 23}, "0.24 USD"),
    ],
)
def test_what_cannot_be_paid_is_refused_before_anything_is_asked(
    crowd: dict[str, Any], words: str, turk: MTurkEmulator
) -> None:
    study = one_hit(crowd=crowd)
    with pytest.raises(WrongState, match=re.escape(words)):
        open_study(study=study)
    study.refresh_from_db()
    assert (study.state, turk.calls()) == ("generated", [])
    assert not Publication.objects.exists()


def test_a_server_that_workers_cannot_reach_is_refused(turk: MTurkEmulator) -> None:
    study = one_hit()
    with (
        settings_for(turk, PUBLIC_URL="http://quorum.example.org"),
        pytest.raises(WrongState, match="addresses"),
    ):
        open_study(study=study)
    assert turk.calls() == []


def test_hits_are_one_group_with_what_the_design_says(turk: MTurkEmulator) -> None:
    study = make_turk_study(
        crowd={"title": "Which is closer?", "keywords": "captions, pictures", "lease_minutes": 45},
        workers={"countries": ["DE", "AT"], "approval_above": 0.95, "approved_at_least": 500},
    )
    open_study(study=study)
    (hit_type,) = turk.world.hit_types.values()
    assert (hit_type.title, hit_type.keywords, hit_type.duration) == (
        "Which is closer?",
        "captions, pictures",
        45 * 60,
    )
    assert len(turk.calls("CreateHITType")) == 1
    assert len(hit_type.requirements) == 3
    fit = turk.turker("AFIT", country="DE", approved=500)
    assert len(fit.hits()) == HIT.objects.count()
    assert turk.turker("AAWAY", country="FR", approved=500).hits() == []


def test_a_quiz_of_questions_is_a_test_there_and_made_once(turk: MTurkEmulator) -> None:
    question = {"text": "Is a zebra striped?", "options": ["yes", "no"], "answer": 1}
    study = make_turk_study(quiz={"questions": [question], "ask": 1, "pass_mark": 1.0})
    open_study(study=study)
    assert len(turk.calls("CreateQualificationType")) == 1
    assert len(turk.calls("ListQualificationTypes")) == 2 < HIT.objects.count()
    (kind,) = turk.world.qualification_types.values()
    hit = up(study)[0].external_id
    ada = turk.turker("AADA")
    with pytest.raises(Refused, match="qualifications"):
        ada.accept(hit)
    request, _ = ada.request_qualification(kind.qualification_type_id)
    assert ada.take_test(request, {"q1": "o1"}) == "Granted"
    ada.accept(hit)
    open_study(study=study)
    assert len(turk.calls("CreateQualificationType")) == 1


def test_opening_again_puts_up_what_was_not_filled_and_nothing_else(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    open_study(study=study)
    first = up(study)[0]
    Crowd(turk, study).do(first, "ada")
    calls = CrowdCall.objects.count()
    open_study(study=study)
    assert CrowdCall.objects.count() == calls
    turk.clock.advance(days=8)
    assert kinds_of(sync(study)) == []
    assert books(study) == (12, 0)
    open_study(study=study)
    again = Publication.objects.filter(hit=first.hit).order_by("number")
    assert [(one.number, one.places, one.state) for one in again] == [(1, 2, "expired"), (2, 1, "published")]
    Crowd(turk, study).do(again[1], "ben")
    assert kinds_of(sync(study)) == []
    same_money(study, turk)


def test_who_did_as_many_as_one_may_is_asked_to_return_the_next(turk: MTurkEmulator) -> None:
    study = make_turk_study(workers={"hits_at_most": 1})
    open_study(study=study)
    first, second = up(study)[:2]
    crowd = Crowd(turk, study)
    work = crowd.do(first, "ada")
    with pytest.raises(RequirementNotMet, match="person"):
        crowd.accept(second, "ada")
    assert crowd.arrive(first, work.assignment_id, "ada").assignment == work.assignment
    crowd.do(second, "ben")
    assert sync(study).assignments_by_state == {"submitted": 2}


SCENE = """
import json, threading
from django.db import connection
from annotation.models import Budget, CrowdCall, Publication
from annotation.crowds.opening import begin_opening
from judgments.models import HIT, Study
from judgments.studies.generation.hits import generate_hits
from tests.annotation.crowds.turking import CROWD
from tests.studies import make_study

study = make_study("triplet", opened=False, question="Which?", crowd=CROWD)
generate_hits(study=study)
start, said = threading.Barrier(6), []

def publish():
    start.wait()
    try:
        begin_opening(study=Study.objects.get(pk=study.pk))
        said.append("fine")
    except Exception as problem:
        said.append(repr(problem))
    finally:
        connection.close()

people = [threading.Thread(target=publish) for _ in range(6)]
[person.start() for person in people]
[person.join() for person in people]
budget = Budget.objects.get()
print(json.dumps({
    "said": said, "hits": HIT.objects.count(), "publications": Publication.objects.count(),
    "calls": CrowdCall.objects.count(), "reserved": budget.reserved_cents,
    "price": sum(one.places * one.price_cents for one in Publication.objects.all()),
}))
"""


def test_six_who_open_at_once_publish_once(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    installation = installation_on(database)
    installation.env |= {"PUBLIC_URL": "https://quorum.example.org"}
    found = json.loads(installation.python(SCENE).splitlines()[-1])
    assert found["said"] == ["fine"] * 6
    assert found["publications"] == found["calls"] == found["hits"]
    assert found["reserved"] == found["price"]


DELETE = "DeleteHIT"
BROKEN = ["drop_before", "drop_after", "truncate", "fault_after", "throttle"]


def decided(turk: MTurkEmulator, *approve: bool, people: int = 0) -> tuple[Study, list[Work]]:
    """A study whose work is decided by our rows; the crowd has not heard of it."""
    study = one_hit(people=people or len(approve))
    open_study(study=study)
    works = Crowd(turk, study).do_all(*[f"w{number}" for number in range(len(approve))])
    sync(study)
    for work, good in zip(works, approve, strict=True):
        decide_session(session=work.refreshed()[0], approve=good, why="Too quick.")
    return study, works


def there(turk: MTurkEmulator) -> str:
    return str(turk.dump()["hits"][0]["status"])


@pytest.mark.parametrize("kind", long_except(BROKEN, "drop_before", "truncate"))
def test_a_full_hit_is_deleted_once_whatever_breaks(kind: Any, turk: MTurkEmulator) -> None:
    study, works = decided(turk, True)
    with turk.faults.during(Fault(kind, frozenset({DELETE}), times=2)):
        for _ in range(3):
            assert kinds_of(sync(study)) == []
    assert (there(turk), turk.done(DELETE)) == ("Disposed", 1)
    assert CrowdCall.objects.get(kind="delete").state == "done"
    assert works[0].refreshed()[0].status == "approved"
    assert Judgment.objects.filter(assignment=works[0].assignment).count() == 2
    same_money(study, turk)
    assert check_integrity().problems == []
    pay_bonus(session=works[0].session, cents=7, why="Thank you.")
    sync(study)
    assert len(turk.dump()["bonuses"]) == 1


def test_one_that_has_free_places_waits_until_the_study_is_closed(turk: MTurkEmulator) -> None:
    study, _ = decided(turk, True, people=2)
    turk.clock.advance(days=8)
    sync(study)
    assert Publication.objects.get().state == "finished"
    assert there(turk) == "Reviewable"
    close_study(study=study)
    assert queue_due_syncs() == [study.slug]
    Job.objects.all().delete()
    sync(study)
    assert there(turk) == "Disposed"
    assert queue_due_syncs() == []


def test_rejected_work_keeps_it_while_the_rejection_can_be_overridden(turk: MTurkEmulator) -> None:
    study, works = decided(turk, True, False)
    sync(study)
    sync(study)
    assert there(turk) == "Reviewable"
    decide_session(session=works[1].refreshed()[0], approve=True)
    for _ in range(2):
        sync(study)
    assert works[1].refreshed()[0].status == "approved"
    assert there(turk) == "Disposed"
    same_money(study, turk)


def test_a_rejection_ends_with_the_time_for_its_override(turk: MTurkEmulator) -> None:
    study, _ = decided(turk, False)
    sync(study)
    CrowdSession.objects.update(decided_at=F("decided_at") - timedelta(days=31))
    sync(study)
    assert there(turk) == "Disposed"


def test_a_bonus_under_way_comes_first(turk: MTurkEmulator) -> None:
    study, works = decided(turk, True)
    with turk.faults.during(Fault("throttle", frozenset({"SendBonus"}))):
        pay_bonus(session=works[0].session, cents=7, why="Thank you.")
        sync(study)
        assert there(turk) == "Reviewable"
    CrowdCall.objects.update(next_at=F("made_at"))
    sync(study)
    assert there(turk) == "Disposed"


def test_work_that_is_not_decided_here_is_never_deleted(turk: MTurkEmulator) -> None:
    study, works = decided(turk, True)
    with turk.faults.during(Fault("throttle", frozenset({DELETE}))):
        sync(study)
    CrowdSession.objects.update(booked="")  # as after a backup of before was taken up again
    CrowdCall.objects.filter(kind="delete").update(next_at=F("made_at"))
    sync(study)
    assert there(turk) == "Reviewable"
    assert "Approved there, and not decided here" in CrowdCall.objects.get(kind="delete").problem
    assert turk.done(DELETE) == 0
    assert works[0].refreshed()[1].submitted_at is not None


def test_what_is_deleted_gets_no_more_places(turk: MTurkEmulator) -> None:
    study, _ = decided(turk, True)
    sync(study)
    with pytest.raises(WrongState, match="at its crowd"):
        ask_to_extend(publication=Publication.objects.get(), places=1)
    assert up(study) == []
    assert not finish_call(call=CrowdCall.objects.get(kind="delete"), answer={})


pytestmark = pytest.mark.django_db


def test_the_balance_is_asked_before_anything_is_put_up() -> None:
    study = make_turk_study()
    hits = HIT.objects.filter(study=study).count()
    with (
        emulated(balance_cents=hits * 24 - 1) as turk,
        refuses(WrongState, hits * 24 - 1, hits * 24),
    ):
        open_study(study=study)
    assert turk.done("CreateHITWithHITType") == 0
    assert up(study) == []
    assert books(study) == (hits * 24, 0)

    with emulated(balance_cents=hits * 24) as filled:  # the account was topped up
        assert kinds_of(sync(study)) == []
        assert len(up(study)) == filled.done("CreateHITWithHITType") == hits
        same_money(study, filled)
        assert not CrowdCall.objects.exclude(state="done").exists()


def test_a_study_that_was_closed_and_opened_again_is_counted_once() -> None:
    study = make_turk_study()
    asked = sum(HIT.objects.filter(study=study).values_list("required", flat=True))
    assert forecast_of(study).places == asked
    with emulated():
        open_study(study=study)
        assert (forecast_of(study).places, forecast_of(study).cents) == (asked, asked * 12)
        close_study(study=study)
        sync(study)
        open_study(study=study)
        assert (forecast_of(study).places, forecast_of(study).cents) == (asked, asked * 12)
        assert books(study) == (asked * 12, 0)
