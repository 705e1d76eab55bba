"""HITs that are over are deleted at Mechanical Turk: once, and never before their work and money are stored here."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from annotation.crowds.outbox import finish_call
from annotation.crowds.publishing import ask_to_extend, close_study, open_study
from annotation.crowds.sync import sync_what_is_due
from annotation.models import CrowdCall, CrowdSession, Judgment, Publication
from annotation.money.payments import decide_session, pay_bonus
from common.errors import WrongState
from evaluation.data.integrity import check_integrity
from judgments.models import Job, Study
from tests.annotation.crowds.turking import Crowd, Work, kinds_of, one_hit, same_money, sync, up
from tests.fakes.mturk import Fault, MTurkEmulator

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


@pytest.mark.parametrize("kind", BROKEN)
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
    assert sync_what_is_due() == [study.slug]
    Job.objects.all().delete()
    sync(study)
    assert there(turk) == "Disposed"
    assert sync_what_is_due() == []


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
    with pytest.raises(WrongState, match="is deleted at its crowd"):
        ask_to_extend(publication=Publication.objects.get(), places=1)
    assert up(study) == []
    assert not finish_call(call=CrowdCall.objects.get(kind="delete"), answer={})
