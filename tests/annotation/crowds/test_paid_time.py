"""Active time comes from a worker's browser: what is paid of it never goes beyond what the server saw."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.crowds.opening import open_study
from annotation.crowds.people import pseudonym
from annotation.crowds.views.figures import crowd_figures
from annotation.models import Assignment, CrowdSession, Judgment
from annotation.money.payments import decide_session, pay_top_ups
from annotation.money.previews import preview_top_ups
from annotation.money.wages import overclaims_of, pay_of_sessions, wages_of
from annotation.work.answers.revisions import revise_judgments
from annotation.work.leases import extend_lease, retake_assignment
from annotation.work.operations import extend_leases
from annotation.work.sheet.units import page_units_of
from annotation.work.submissions import save_answers, submit_assignment
from common.amounts import spell_seconds
from common.errors import WrongState
from judgments.models import HIT, Study
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.crowds.turking import CROWD, Crowd, Work, one_hit, sync, up
from tests.fakes.mturk import MTurkEmulator
from tests.marks import long_except

FLOOR = 900  # cents an hour: 0.25 a second
A_DAY = 86_400.0
DAY = "2025-03-01"
CALLS = 60.0  # seconds that the calls of a test itself may take


def paying(turk: MTurkEmulator, *, reward: int = 14, people: int = 2, **crowd: Any) -> Study:
    """One HIT of ten units."""
    study = one_hit(
        people=people,
        units_per_hit=10,
        sampling={"pairs": {"MM": 5}, "references": 2},
        crowd={"reward_cents": reward, "floor_cents_per_hour": FLOOR, **crowd},
    )
    open_study(study=study)
    return study


def answers(assignment: Assignment, seconds: float | None) -> list[dict[str, Any]]:
    extra = {} if seconds is None else {"seconds": seconds}
    return [{"position": place.position, "value": 1} | extra for place in page_units_of(assignment)]


def hand_in(work: Work, *, seconds: float | None, took: float | None) -> Work:
    """All of it at once; ``took`` is how long before it was taken by the server's clock, lease and all."""
    submit_assignment(assignment=work.assignment, answers=answers(work.assignment, seconds))
    CrowdSession.objects.filter(pk=work.session.pk).update(status="submitted")
    if took is not None:
        row = Assignment.objects.get(pk=work.assignment.pk)
        assert row.submitted_at is not None
        assert row.expires_at is not None
        lease = row.expires_at - row.accepted_at
        row.accepted_at = row.submitted_at - timedelta(seconds=took)
        row.expires_at = row.accepted_at + lease
        row.save()
    work.post()
    return work


def ago(work: Work, *, taken: float, ends: float) -> None:
    """Move its times: so many minutes before now."""
    now = timezone.now()
    Assignment.objects.filter(pk=work.assignment.pk).update(
        accepted_at=now - timedelta(minutes=taken), expires_at=now - timedelta(minutes=ends)
    )


def at(work: Work, start: str, end: str) -> None:
    """Held from one time of a day to another, of those in which it was worked on."""
    first, last = (datetime.fromisoformat(f"{DAY}T{clock}+00:00") for clock in (start, end))
    Assignment.objects.filter(pk=work.assignment.pk).update(
        accepted_at=first, submitted_at=last, expires_at=first + timedelta(hours=1)
    )


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
    assert (claim.worker, claim.claimed_seconds, claim.observed_seconds) == (pay.worker, 10 * A_DAY, 35.0)


def test_top_ups_are_confirmed_on_the_page_while_the_lowest_wages_wait_for_approval(
    turk: MTurkEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if twenty rows of the lowest wages, which the page shows, were not approved yet."""
    monkeypatch.setattr("annotation.crowds.views.figures.MAX_LINES_SHOWN", 1)
    study = paying(turk, reward=2)
    crowd, publication = Crowd(turk, study), up(study)[0]
    hand_in(crowd.accept(publication, "slow"), seconds=100.0, took=1_000)
    work = hand_in(crowd.accept(publication, "quick"), seconds=12.5, took=180)
    sync(study)
    decide_session(session=work.refreshed()[0], approve=True)
    sync(study)

    figures = crowd_figures(study)
    assert [pay.approved for pay in figures.underpaid_sessions] == [False]
    assert figures.top_ups_confirmation == preview_top_ups(study=study).confirm


def test_the_least_of_the_claim_the_servers_clock_and_the_lease_is_paid(turk: MTurkEmulator) -> None:
    study = paying(turk, people=6, reward=2, lease_minutes=10)
    crowd, publication = Crowd(turk, study), up(study)[0]
    for name, seconds, took in (
        ("honest", 12.5, 180),
        ("rounded", 10.3, 100),  # clocks may differ a little
        ("greedy", A_DAY, 35),
        ("away", A_DAY, 5_000),
        ("instant", 60.0, 0),
        ("silent", None, 180),
    ):
        hand_in(crowd.accept(publication, name), seconds=seconds, took=took)
    names = {pseudonym(study.platform, f"A{name.upper()}"): name for name in crowd.people}

    paid = {names[pay.worker]: (pay.seconds, pay.top_up_cents) for pay in pay_of_sessions(study)}
    assert paid == {
        "honest": (125.0, 32 - 2),  # 31.25 cents
        "rounded": (100.0, 25 - 2),
        "greedy": (35.0, 9 - 2),  # 8.75 cents
        "away": (600.0, 150 - 2),
    }
    claims = {
        names[claim.worker]: (claim.claimed_seconds, claim.observed_seconds) for claim in overclaims_of(study)
    }
    assert claims == {"greedy": (10 * A_DAY, 35.0), "away": (10 * A_DAY, 600.0), "instant": (600.0, 0.0)}


def test_a_lease_that_was_made_longer_counts_with_it(turk: MTurkEmulator) -> None:
    study = paying(turk, lease_minutes=10, extensions=1)
    work = Crowd(turk, study).accept(up(study)[0], "ada")
    ago(work, taken=8, ends=-2)
    held = work.refreshed()[1]
    save_answers(assignment=held, answers=[{"position": 1, "value": 1}])
    extend_lease(assignment=held)  # ten minutes from now
    extend_leases(study=study, minutes=7, why="The server was slow.")
    hand_in(work, seconds=A_DAY, took=5_000)

    (pay,) = pay_of_sessions(study)
    assert pay.seconds == pytest.approx((8 + 10 + 7) * 60, abs=CALLS)


def test_work_taken_up_again_is_not_paid_for_the_time_away(turk: MTurkEmulator) -> None:
    """Taken at 10:00, over at 11:00, taken up again at 20:00 and handed in 30 s later: 3,630 s."""
    study = paying(turk, reward=7)
    work = Crowd(turk, study).accept(up(study)[0], "eve")
    ago(work, taken=600, ends=540)
    retake_assignment(assignment=work.refreshed()[1])
    work.refreshed()
    submit_assignment(assignment=work.assignment, answers=answers(work.assignment, A_DAY))
    CrowdSession.objects.update(status="submitted")
    (((_, back),),) = Assignment.objects.values_list("gaps", flat=True)
    Assignment.objects.update(submitted_at=datetime.fromisoformat(back) + timedelta(seconds=30))

    (pay,) = pay_of_sessions(study)
    assert pay.seconds == 3_630.0
    assert pay.top_up_cents == 908 - 7  # 907.5 cents, rounded up
    assert [one.observed_seconds for one in overclaims_of(study)] == [3_630.0]


def test_work_taken_up_again_counts_both_leases(turk: MTurkEmulator) -> None:
    """A lease of ten minutes, a minute away, and five minutes of the next: of 950 s sent 900 are paid."""
    study = paying(turk, lease_minutes=10)
    work = Crowd(turk, study).accept(up(study)[0], "ada")
    ago(work, taken=11, ends=1)
    retake_assignment(assignment=work.refreshed()[1])
    work.refreshed()
    submit_assignment(assignment=work.assignment, answers=answers(work.assignment, 95.0))
    CrowdSession.objects.update(status="submitted")
    (((_, back),),) = Assignment.objects.values_list("gaps", flat=True)
    Assignment.objects.update(submitted_at=datetime.fromisoformat(back) + timedelta(minutes=5))

    assert [pay.seconds for pay in pay_of_sessions(study)] == [900.0]


@pytest.mark.parametrize("given_back", long_except([False, True], False))
def test_work_taken_up_again_and_again_is_paid_for_one_lease_with_its_extensions(
    turk: MTurkEmulator, given_back: bool
) -> None:
    """Nine leases of ten minutes, each let run out, for a page that takes seconds: 90 min were 13.50."""
    study = paying(turk, lease_minutes=10, extensions=1)
    row = Crowd(turk, study).accept(up(study)[0], "eve").assignment
    for _time in range(8):
        earlier(minutes=12)
        if given_back:  # somebody else could have taken it, and nobody did
            Assignment.objects.filter(pk=row.pk).update(state="expired")
            HIT.objects.update(open_slots=2)
        row = retake_assignment(assignment=Assignment.objects.get(pk=row.pk))
    earlier(minutes=9)
    submit_assignment(assignment=Assignment.objects.get(pk=row.pk), answers=answers(row, A_DAY))
    CrowdSession.objects.update(status="submitted")

    (pay,) = pay_of_sessions(study)
    assert pay.seconds == 20 * 60
    assert [one.observed_seconds for one in overclaims_of(study)] == [20 * 60]


def earlier(*, minutes: int) -> None:
    """Let so much time pass for all assignments."""
    span = timedelta(minutes=minutes)
    for row in Assignment.objects.all():
        assert row.expires_at is not None
        row.accepted_at, row.expires_at = row.accepted_at - span, row.expires_at - span
        row.gaps = [[(datetime.fromisoformat(one) - span).isoformat() for one in gap] for gap in row.gaps]
        row.save(update_fields=["accepted_at", "expires_at", "gaps"])


def test_saved_answers_stored_long_after_the_lease_are_paid_within_it(turk: MTurkEmulator) -> None:
    """Mechanical Turk has the work and we have the answers, though nobody handed them in here."""
    study = paying(turk, lease_minutes=10)
    work = Crowd(turk, study).accept(up(study)[0], "ada")
    save_answers(assignment=work.assignment, answers=answers(work.assignment, A_DAY))
    ago(work, taken=700, ends=690)
    work.post()
    sync(study)

    assert work.refreshed()[1].submitted_at is not None
    assert [pay.seconds for pay in pay_of_sessions(study)] == [pytest.approx(600.0, abs=CALLS)]


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


def two_hits(turk: MTurkEmulator) -> Study:
    study = one_hit(
        sampling={"pairs": {"MM": 4}, "references": 1},
        units_per_hit=2,
        crowd={"reward_cents": 1, "floor_cents_per_hour": FLOOR},
    )
    open_study(study=study)
    return study


def test_each_hit_of_a_session_is_held_to_its_own_time(turk: MTurkEmulator) -> None:
    """Two pages of work in one piece of paid work: what one left unused does not cover a claim on the other."""
    study = two_hits(turk)
    crowd = Crowd(turk, study)
    honest, other = (hand_in(crowd.accept(one, "ada"), seconds=30.0, took=100) for one in up(study))
    Assignment.objects.filter(pk=other.assignment.pk).update(session=honest.session)
    at(honest, "10:00:00", "10:01:40")
    at(other, "10:01:40", "10:02:00")

    (pay,) = pay_of_sessions(study)

    assert (pay.session, pay.seconds) == (honest.session.pk, 60.0 + 20.0)
    assert pay.top_up_cents == 19  # 80 s are 20 cents
    assert [(one.claimed_seconds, one.observed_seconds) for one in overclaims_of(study)] == [(120.0, 80.0)]


@pytest.mark.parametrize(
    ("spans", "paid", "cents"),
    [
        # held at once from 10:00 to 10:55, 3,300 s: 825 cents, and none for the second
        ((("10:00:00", "10:55:00"), ("10:00:00", "10:55:00")), [3_300.0], [824]),
        # 40 min are 600 cents; of the other's 50 min the last 20 are its own: 300 cents
        ((("10:00:00", "10:40:00"), ("10:10:00", "11:00:00")), [1_200.0, 2_400.0], [299, 599]),
        # the first lies within the second: 10 min are 150 cents, and what is left of 50 min is 600
        ((("10:20:00", "10:30:00"), ("10:00:00", "10:50:00")), [600.0, 2_400.0], [149, 599]),
        # one after the other
        ((("10:00:00", "10:10:00"), ("11:00:00", "11:10:00")), [600.0, 600.0], [149, 149]),
    ],
)
def test_hits_held_at_once_share_the_time_that_passed(
    turk: MTurkEmulator, spans: tuple[tuple[str, str], ...], paid: list[float], cents: list[int]
) -> None:
    study = two_hits(turk)
    crowd = Crowd(turk, study)
    works = [crowd.accept(one, "eve") for one in up(study)]
    for work, (start, end) in zip(works, spans, strict=True):
        at(hand_in(work, seconds=A_DAY / 2, took=None), start, end)

    pays = sorted(pay_of_sessions(study), key=lambda pay: pay.seconds)

    assert [pay.seconds for pay in pays] == paid
    assert [pay.top_up_cents for pay in pays] == cents
    assert len(overclaims_of(study)) == 2


def test_who_works_on_hits_held_at_once_in_turn_is_paid_for_all_of_it(turk: MTurkEmulator) -> None:
    """Both held from 10:00; 20 min of work on the one and then 30 on the other."""
    study = two_hits(turk)
    crowd = Crowd(turk, study)
    works = [crowd.accept(one, "ada") for one in up(study)]
    for work, seconds, end in zip(works, (600.0, 900.0), ("10:20:00", "10:50:00"), strict=True):
        at(hand_in(work, seconds=seconds, took=None), "10:00:00", end)

    assert sorted(pay.seconds for pay in pay_of_sessions(study)) == [1_200.0, 1_800.0]
    assert overclaims_of(study) == []


def test_hits_held_at_once_by_different_people_are_each_paid(turk: MTurkEmulator) -> None:
    study = two_hits(turk)
    crowd = Crowd(turk, study)
    for one, name in zip(up(study), ("ada", "eve"), strict=True):
        at(hand_in(crowd.accept(one, name), seconds=A_DAY, took=None), "10:00:00", "10:55:00")

    assert [pay.seconds for pay in pay_of_sessions(study)] == [3_300.0, 3_300.0]


@pytest.mark.parametrize("named", long_except([False, True], True))
def test_hits_of_two_studies_held_at_once_share_the_time_that_passed(
    turk: MTurkEmulator, named: bool
) -> None:
    """Both held from 10:00, handed in at 10:30 and 10:55; what the crowd has not named takes nobody's time."""
    study = paying(turk)
    other = make_study(
        make_dataset("other-shapes", pictures=False),
        opened=False,
        slug="other",
        question="Which is closer?",
        controls={"per_hit": 0},
        crowd=CROWD | {"floor_cents_per_hour": FLOOR},
    )
    open_study(study=other)
    first = hand_in(Crowd(turk, other).accept(up(other)[0], "eve"), seconds=A_DAY, took=None)
    second = hand_in(Crowd(turk, study).accept(up(study)[0], "eve"), seconds=A_DAY, took=None)
    at(first, "10:00:00", "10:30:00")
    at(second, "10:00:00", "10:55:00")
    CrowdSession.objects.filter(pk=first.session.pk).update(confirmed=named)

    assert [pay.seconds for pay in pay_of_sessions(other)] == [1_800.0]
    assert [pay.seconds for pay in pay_of_sessions(study)] == [1_500.0 if named else 3_300.0]


def test_time_away_from_one_hit_is_no_time_for_another(turk: MTurkEmulator) -> None:
    """Two HITs held from 10:00 to 11:00 and again for 30 s from 20:00: 3,630 s of both together."""
    study = two_hits(turk)
    crowd = Crowd(turk, study)
    works = [crowd.accept(one, "eve") for one in up(study)]
    for work in works:
        at(hand_in(work, seconds=A_DAY, took=None), "10:00:00", "20:00:30")
    Assignment.objects.update(
        expires_at=datetime.fromisoformat(f"{DAY}T21:00:00+00:00"),
        gaps=[[f"{DAY}T11:00:00+00:00", f"{DAY}T20:00:00+00:00"]],
    )

    assert [pay.seconds for pay in pay_of_sessions(study)] == [3_630.0]


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

    assert "24 h reported by the browser, 35 s measured by the server" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (35.2, "35 s"), (120, "2 min"), (7_200, "2 h"), (5_400, "90 min"), (8.64e6, "2,400 h")],
)
def test_spans_are_told_in_a_unit_that_fits(seconds: float, words: str) -> None:
    assert spell_seconds(seconds) == words
