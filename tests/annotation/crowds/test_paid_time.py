"""Active time comes from a worker's browser: what is paid of it never goes beyond what the server saw."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, CrowdSession, Judgment
from annotation.presentation import places_of
from annotation.services.costs import overclaims_of, pay_of_sessions, wages_of
from annotation.services.crowd import open_study
from annotation.services.extending import extend_leases
from annotation.services.leases import extend_lease, retake_assignment
from annotation.services.money_steps import preview_top_ups
from annotation.services.payments import decide_session
from annotation.services.revisions import revise_judgments
from annotation.services.submissions import save_answers, submit_assignment
from annotation.services.wages import pay_top_ups
from annotation.words import spell_seconds
from judgments.errors import WrongState
from judgments.models import Study
from tests.annotation.crowds.turking import Crowd, Work, one_hit, sync, up
from tests.fakes.mturk import MTurkEmulator

FLOOR = 900  # cents an hour: 0.25 a second
A_DAY = 86_400.0


def paying(turk: MTurkEmulator, *, reward: int = 14, units: int = 10, **crowd: Any) -> Study:
    """One HIT of ten units."""
    study = one_hit(
        units_per_hit=units,
        sampling={"pairs": {"MM": 5}, "references": 2},
        crowd={"reward_cents": reward, "floor_cents_per_hour": FLOOR, **crowd},
    )
    open_study(study=study)
    return study


def answers(assignment: Assignment, seconds: float | None) -> list[dict[str, Any]]:
    extra = {} if seconds is None else {"seconds": seconds}
    return [{"position": place.position, "value": 1} | extra for place in places_of(assignment)]


def hand_in(work: Work, *, seconds: float | None, took: float | None) -> Work:
    """All of it at once; ``took`` is how long it was held by the server's clock."""
    submit_assignment(assignment=work.assignment, answers=answers(work.assignment, seconds))
    CrowdSession.objects.filter(pk=work.session.pk).update(status="submitted")
    if took is not None:
        held = Assignment.objects.filter(pk=work.assignment.pk)
        held.update(accepted_at=F("submitted_at") - timedelta(seconds=took))
    work.post()
    return work


def test_a_claim_of_a_day_an_answer_is_not_paid(turk: MTurkEmulator) -> None:
    study = paying(turk)
    work = hand_in(Crowd(turk, study).accept(up(study)[0], "eve"), seconds=A_DAY, took=35)
    sync(study)
    decide_session(session=work.refreshed()[0], approve=True)
    sync(study)

    (pay,) = pay_of_sessions(study)
    # ten days at 9.00 an hour are 2,160.00; 35 s are 0.09 and the reward is 0.14
    assert (pay.seconds, pay.top_up_cents, pay.wage_cents) == (35.0, 0, 1_440)
    assert wages_of(study, [pay]).top_up_cents == 0
    with pytest.raises(WrongState):
        pay_top_ups(study=study, why="To the floor.")
    shown = preview_top_ups(study=study).as_json()
    assert (shown["payments"], shown["total_cents"], shown["claims_not_paid"]) == (0, 0, 1)
    assert set(Judgment.objects.values_list("seconds", flat=True)) == {A_DAY}  # as they were sent
    (claim,) = overclaims_of(study)
    assert (claim.worker, claim.claimed, claim.seen) == (pay.worker, 10 * A_DAY, 35.0)


def test_what_the_server_saw_is_paid_of_a_claim_above_it(turk: MTurkEmulator) -> None:
    study = paying(turk, reward=2)
    hand_in(Crowd(turk, study).accept(up(study)[0], "eve"), seconds=A_DAY, took=35)

    (pay,) = pay_of_sessions(study)

    assert pay.top_up_cents == 7  # 8.75 cents, rounded up, less 2


def test_an_honest_worker_is_paid_as_before(turk: MTurkEmulator) -> None:
    study = paying(turk)
    hand_in(Crowd(turk, study).accept(up(study)[0], "ada"), seconds=12.5, took=180)

    (pay,) = pay_of_sessions(study)

    assert (pay.seconds, pay.top_up_cents) == (125.0, 32 - 14)  # 31.25 cents
    assert overclaims_of(study) == []


def test_clocks_may_differ_a_little(turk: MTurkEmulator) -> None:
    study = paying(turk)
    hand_in(Crowd(turk, study).accept(up(study)[0], "ada"), seconds=10.3, took=100)

    assert [pay.seconds for pay in pay_of_sessions(study)] == [100.0]
    assert overclaims_of(study) == []


def test_no_time_is_no_wage(turk: MTurkEmulator) -> None:
    study = paying(turk)
    hand_in(Crowd(turk, study).accept(up(study)[0], "ada"), seconds=None, took=180)

    assert pay_of_sessions(study) == []
    assert overclaims_of(study) == []


def test_a_claim_without_any_time_of_the_server_is_shown_and_not_paid(turk: MTurkEmulator) -> None:
    study = paying(turk)
    hand_in(Crowd(turk, study).accept(up(study)[0], "eve"), seconds=60.0, took=0)

    assert pay_of_sessions(study) == []
    assert [(one.claimed, one.seen) for one in overclaims_of(study)] == [(600.0, 0.0)]


def test_no_more_than_the_lease_is_paid(turk: MTurkEmulator) -> None:
    study = paying(turk, lease_minutes=10)
    hand_in(Crowd(turk, study).accept(up(study)[0], "eve"), seconds=A_DAY, took=5_000)

    assert [pay.seconds for pay in pay_of_sessions(study)] == [600.0]


def test_a_lease_that_was_made_longer_counts_with_it(turk: MTurkEmulator) -> None:
    study = paying(turk, lease_minutes=10, extensions=1)
    work = Crowd(turk, study).accept(up(study)[0], "ada")
    Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=2))
    extend_lease(assignment=work.refreshed()[1])
    extend_leases(study=study, minutes=7, why="The server was slow.")
    hand_in(work, seconds=A_DAY, took=5_000)

    assert [pay.seconds for pay in pay_of_sessions(study)] == [(10 + 10 + 7) * 60]


def test_work_taken_up_again_counts_its_second_lease(turk: MTurkEmulator) -> None:
    study = paying(turk, lease_minutes=10)
    work = Crowd(turk, study).accept(up(study)[0], "ada")
    Assignment.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    retake_assignment(assignment=work.refreshed()[1])
    hand_in(work, seconds=90.0, took=5_000)

    assert [pay.seconds for pay in pay_of_sessions(study)] == [900.0]
    assert overclaims_of(study) == []


def test_answers_that_moved_to_a_new_row_keep_the_time_of_the_old_one(turk: MTurkEmulator) -> None:
    """The lease ended, the seat was given back, and the worker took the HIT up again with what was saved."""
    study = paying(turk, lease_minutes=10)
    work = Crowd(turk, study).accept(up(study)[0], "ada")
    save_answers(assignment=work.assignment, answers=answers(work.assignment, 48.0))
    lost = Assignment.objects.filter(pk=work.assignment.pk)
    now = timezone.now()
    lost.update(
        state="expired", accepted_at=now - timedelta(minutes=30), expires_at=now - timedelta(minutes=20)
    )
    work.assignment = retake_assignment(assignment=lost.get())
    assert work.assignment.pk != lost.get().pk
    submit_assignment(assignment=work.assignment, answers=[])
    CrowdSession.objects.update(status="submitted")

    (pay,) = pay_of_sessions(study)
    assert pay.seconds == 480.0
    assert overclaims_of(study) == []


def test_each_hit_of_a_session_is_held_to_its_own_time(turk: MTurkEmulator) -> None:
    """Two pages of work in one piece of paid work: what one left unused does not cover a claim on the other."""
    study = one_hit(
        sampling={"pairs": {"MM": 4}, "references": 1},
        units_per_hit=2,
        crowd={"reward_cents": 1, "floor_cents_per_hour": FLOOR},
    )
    open_study(study=study)
    crowd = Crowd(turk, study)
    honest, other = (hand_in(crowd.accept(one, "ada"), seconds=30.0, took=100) for one in up(study))
    Assignment.objects.filter(pk=other.assignment.pk).update(
        session=honest.session, accepted_at=F("submitted_at") - timedelta(seconds=20)
    )

    (pay,) = pay_of_sessions(study)

    assert (pay.session, pay.seconds) == (honest.session.pk, 60.0 + 20.0)
    assert pay.top_up_cents == 19  # 80 s are 20 cents
    assert [(one.claimed, one.seen) for one in overclaims_of(study)] == [(120.0, 80.0)]


def test_answers_revised_later_are_paid_once(turk: MTurkEmulator) -> None:
    study = paying(turk, edit_minutes=30)
    work = hand_in(Crowd(turk, study).accept(up(study)[0], "ada"), seconds=10.0, took=180)
    again = [one | {"value": 2, "seconds": A_DAY} for one in answers(work.assignment, None)]
    revise_judgments(assignment=work.refreshed()[1], answers=again)

    assert Judgment.objects.filter(replaces__isnull=False).count() == 10
    assert [pay.seconds for pay in pay_of_sessions(study)] == [100.0]


def test_the_page_shows_what_was_claimed(turk: MTurkEmulator, admin_client: Client) -> None:
    study = paying(turk)
    hand_in(Crowd(turk, study).accept(up(study)[0], "eve"), seconds=A_DAY / 10, took=35)

    text = admin_client.get(f"/admin/judgments/study/{study.pk}/crowd/").content.decode()

    assert "claimed 24 h, server saw 35 s" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (35.2, "35 s"), (120, "2 min"), (7_200, "2 h"), (5_400, "90 min"), (8.64e6, "2,400 h")],
)
def test_spans_are_told_in_a_unit_that_fits(seconds: float, words: str) -> None:
    assert spell_seconds(seconds) == words
