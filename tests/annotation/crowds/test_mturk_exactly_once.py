"""Whatever breaks on the way to Mechanical Turk: one HIT, one approval, one rejection, one bonus."""

import random
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from annotation.crowds import backend_of
from annotation.crowds.mturk.client import client_of as turk_client
from annotation.crowds.opening import begin_opening, carry_out_opening, close_study, open_study
from annotation.crowds.outbox.delivery import ATTEMPTS_PER_RUN, MAX_UNANSWERED, carry_out_calls
from annotation.crowds.outbox.messages import ask_to_block, ask_to_qualify, ask_to_send_text, ask_to_unblock
from annotation.crowds.outbox.resolution import retry_call
from annotation.crowds.publishing import ask_to_extend
from annotation.models import Budget, CrowdCall, CrowdSession, Publication
from annotation.money.ledger import OverBudget
from annotation.money.payments import decide_session, pay_bonus
from common.errors import WrongState
from evaluation.data.integrity import check_integrity
from judgments.models import Study
from tests.annotation.crowds.turking import (
    KEYS,
    Crowd,
    Work,
    books,
    emulated,
    kinds_of,
    one_hit,
    same_money,
    sync,
    up,
)
from tests.fakes.mturk import Fault, MTurkEmulator
from tests.marks import long_except
from tests.refusals import refuses

PLACE = "mturk-sandbox"
BROKEN = [
    "drop_before",
    "drop_after",
    "truncate",
    "cut",
    "fault_before",
    "fault_after",
    "unavailable",
    "throttle",
]
CREATE = "CreateHITWithHITType"


class Latest(random.Random):
    """Draws long pauses."""

    def uniform(self, a: float, b: float) -> float:
        return 29.0


def carry_out(study: Study) -> Any:
    """What a run makes of the calls that wait, without waiting."""
    CrowdCall.objects.filter(state="waiting").update(next_at=timezone.now())
    return carry_out_calls(study=study, wait=lambda seconds: None)


def handed_in(turk: MTurkEmulator, study: Study, name: str = "ada") -> CrowdSession:
    """One person's piece of work, known on both sides."""
    open_study(study=study)
    Crowd(turk, study).do(up(study)[0], name)
    assert sync(study).discrepancies == []
    return CrowdSession.objects.get()


def a_day_passes(turk: MTurkEmulator) -> None:
    """For the service, which forgets its tokens, and for our rows."""
    turk.clock.advance(hours=25)
    began = CrowdCall.objects.exclude(first_started_at=None)
    began.update(first_started_at=F("first_started_at") - timedelta(hours=25))


@pytest.mark.parametrize("kind", long_except(BROKEN, "drop_after", "cut", "fault_before"))
def test_every_step_is_carried_out_once_whatever_breaks(kind: Any, turk: MTurkEmulator) -> None:
    def broken(*operations: str) -> Any:
        return turk.faults.during(Fault(kind, frozenset(operations), times=2 * len(operations)))

    study = one_hit(people=1)
    with broken(CREATE):
        open_study(study=study)
    (there,) = turk.dump()["hits"]
    (publication,) = up(study)
    assert publication.external_id == there["hit_id"]
    tokens = {call.parameters["UniqueRequestToken"] for call in turk.calls(CREATE) if call.parameters}
    assert tokens == {CrowdCall.objects.get().key}
    same_money(study, turk)

    ask_to_extend(publication=publication, places=1)
    with broken("CreateAdditionalAssignmentsForHIT"):
        carry_out(study)
    assert turk.dump()["hits"][0]["max_assignments"] == Publication.objects.get().places == 2
    same_money(study, turk)

    works = Crowd(turk, study).do_all("ada", "ben")
    assert sync(study).discrepancies == []
    for work, approve in zip(works, (True, False), strict=True):
        decide_session(session=work.refreshed()[0], approve=approve, why="Too quick.")
    with broken("ApproveAssignment", "RejectAssignment"):
        carry_out(study)
    assert turk.done("ApproveAssignment") == turk.done("RejectAssignment") == 1
    states = [(session.status, assignment.state) for session, assignment in map(Work.refreshed, works)]
    assert states == [("approved", "approved"), ("rejected", "rejected")]
    assert books(study) == (0, 12)
    same_money(study, turk)

    pay_bonus(session=works[0].session, cents=7, why="Thank you.")
    with broken("SendBonus"):
        carry_out(study)
    assert [(one["cents"], one["reason"]) for one in turk.dump()["bonuses"]] == [(7, "Thank you.")]
    assert books(study) == (0, 12 + 8)
    same_money(study, turk)


@pytest.mark.parametrize("kind", long_except(BROKEN, "truncate", "throttle"))
def test_closing_reaches_every_hit_and_gives_the_money_back(kind: Any, turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    with turk.faults.during(Fault(kind, frozenset({"UpdateExpirationForHIT"}), times=2)):
        close_study(study=study)
    assert turk.dump()["hits"][0]["status"] == "Reviewable"
    assert kinds_of(sync(study)) == []
    assert books(study) == (0, 0)
    assert Publication.objects.get().state == "finished"
    same_money(study, turk)


@pytest.mark.parametrize("kind", long_except(["drop_after", "drop_before", "fault_after"], "drop_after"))
def test_one_hit_when_the_token_is_forgotten_before_it_is_asked_again(kind: Any, turk: MTurkEmulator) -> None:
    study = one_hit()
    begin_opening(study=study)
    with turk.faults.during(Fault(kind, frozenset({CREATE}))):
        carry_out(study)
    a_day_passes(turk)
    carry_out(study)
    assert len(turk.dump()["hits"]) == 1
    assert len(up(study)) == 1
    same_money(study, turk)


def test_a_process_that_is_killed_before_or_after_the_call_leaves_nothing_double_and_nothing_out(
    turk: MTurkEmulator,
) -> None:
    study = one_hit(sampling={"pairs": {"MM": 6}, "references": 2})
    begin_opening(study=study)
    first, second, *_ = CrowdCall.objects.order_by("pk")
    # the first: carried out there, killed before the commit; the second: killed before it was sent
    backend_of(study).carry_out(first)
    now = timezone.now()
    CrowdCall.objects.filter(pk__in=[first.pk, second.pk]).update(
        state="started", started_at=now, first_started_at=now, attempts=1
    )
    carry_out(study)
    assert len(turk.dump()["hits"]) == len(up(study)) == 3
    same_money(study, turk)


def test_what_a_sync_finds_there_is_adopted_though_its_call_was_given_up(turk: MTurkEmulator) -> None:
    study = one_hit()
    begin_opening(study=study)
    with turk.faults.during(Fault("drop_after", frozenset({CREATE}))):
        carry_out(study)
    CrowdCall.objects.update(state="parked", problem="Given up.")
    synced = sync(study)
    assert synced.discrepancies == []
    assert len(up(study)) == 1
    same_money(study, turk)


def test_nothing_is_booked_that_was_refused(turk: MTurkEmulator) -> None:
    study = one_hit(crowd={"title": "A"})
    begin_opening(study=study)
    Publication.objects.update(places=0)  # which the service takes for nonsense
    assert carry_out(study).failed_count == 1
    assert books(study) == (0, 0)
    assert Publication.objects.get().state == "withdrawn"
    Publication.objects.update(places=2)
    retry_call(call=CrowdCall.objects.get())
    assert books(study) == (24, 0)
    assert carry_out(study).done_count == 1
    same_money(study, turk)


def test_a_run_stops_cleanly_when_the_account_is_emptied_meanwhile_and_goes_on_when_it_is_not(
    db: None,
) -> None:
    with emulated(balance_cents=72) as turk:
        study = one_hit(sampling={"pairs": {"MM": 6}, "references": 2})
        begin_opening(study=study)

        def somebody_else_publishes(seconds: float) -> None:
            turk.world.ledger.hold("another study's", turk.world.ledger.available, turk.clock.now())
            CrowdCall.objects.update(next_at=timezone.now())

        with turk.faults.during(Fault("throttle", frozenset({CREATE}), skip=2, times=1)):
            carried = carry_out_calls(study=study, rng=Latest(), wait=somebody_else_publishes)
        assert (carried.done_count, carried.failed_count, carried.unsent_count) == (2, 0, 1)
        assert "holds too little" in carried.stop_reason
        assert books(study) == (72, 0)
        turk.world.ledger.hold("another study's", 0, turk.clock.now())
        assert kinds_of(sync(study)) == []
        same_money(study, turk)


def test_throttling_is_answered_by_fewer_calls_and_only_so_many(turk: MTurkEmulator) -> None:
    study = one_hit()
    begin_opening(study=study)
    waits: list[float] = []
    with turk.faults.during(Fault("throttle", frozenset({CREATE}))):
        carried = carry_out_calls(study=study, wait=waits.append)
    assert carried.unsent_count == 1
    assert len(turk.calls(CREATE)) == ATTEMPTS_PER_RUN
    call = CrowdCall.objects.get()
    assert (call.state, call.attempts) == ("waiting", ATTEMPTS_PER_RUN)
    assert call.first_started_at is None  # it was certainly never done
    carry_out(study)
    assert len(turk.dump()["hits"]) == 1


def test_a_crowd_that_answers_nothing_ends_the_run_early(turk: MTurkEmulator) -> None:
    study = one_hit(units_per_hit=1, sampling={"pairs": {"HI": 20, "HC": 20}, "references": 1})
    begin_opening(study=study)
    assert CrowdCall.objects.count() == 40
    with turk.faults.during(Fault("unavailable", frozenset({CREATE}))):
        carried = carry_out(study)
    assert carried.unsent_count == 40
    assert sum(CrowdCall.objects.values_list("attempts", flat=True)) == MAX_UNANSWERED


def test_wrong_keys_stop_a_run_at_the_first_call(
    turk: MTurkEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = one_hit(sampling={"pairs": {"MM": 6}, "references": 2})
    begin_opening(study=study)
    for name in KEYS:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    carried = carry_out(study)
    assert "keys are not configured" in carried.stop_reason
    assert carried.unsent_count == 3
    assert sum(CrowdCall.objects.values_list("attempts", flat=True)) <= 1
    for name, key in KEYS.items():  # keys that are configured later are found without a restart
        monkeypatch.setenv(name, key)
    assert carry_out(study).unsent_count == 0


@pytest.mark.parametrize("kind", long_except(["drop_after", "drop_before"], "drop_before"))
def test_places_are_added_once_when_the_token_is_forgotten(kind: Any, turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    ask_to_extend(publication=up(study)[0], places=2)
    with turk.faults.during(Fault(kind, frozenset({"CreateAdditionalAssignmentsForHIT"}))):
        carry_out(study)
    a_day_passes(turk)
    carry_out(study)
    assert turk.dump()["hits"][0]["max_assignments"] == 4
    same_money(study, turk)


def test_the_step_from_nine_to_ten_places_is_refused_before_it_is_asked(turk: MTurkEmulator) -> None:
    study = one_hit(people=8)
    open_study(study=study)
    ask_to_extend(publication=up(study)[0], places=1)
    carry_out(study)
    with refuses(WrongState, "places", "10", "9"):
        ask_to_extend(publication=up(study)[0], places=1)
    assert turk.dump()["hits"][0]["max_assignments"] == 9
    assert books(study) == (9 * 12, 0)
    same_money(study, turk)


def test_more_time_opens_the_places_that_were_given_back_and_pays_for_them_anew(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    Crowd(turk, study).do(up(study)[0], "ada")
    turk.clock.advance(days=8)
    sync(study)
    assert books(study) == (12, 0)
    publication = Publication.objects.get()
    ask_to_extend(publication=publication, until=turk.clock.now() + timedelta(days=2))
    carry_out(study)
    assert books(study) == (24, 0)
    same_money(study, turk)
    Crowd(turk, study).do(up(study)[0], "ben")
    assert kinds_of(sync(study)) == []
    same_money(study, turk)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    long_except(product([True, False], ["approve", "reject"]), (True, "reject"), (False, "approve")),
)
def test_who_decided_first_at_the_crowd_is_right(theirs: str, ours: bool, turk: MTurkEmulator) -> None:
    study = one_hit(people=1)
    session = handed_in(turk, study)
    decide_session(session=session, approve=ours, why="Ours.")
    getattr(turk_client(PLACE), theirs)(session.external_id, feedback="By somebody else.")
    carry_out(study)
    session.refresh_from_db()
    assert session.status == {"approve": "approved", "reject": "rejected"}[theirs]
    assert books(study) == (0, 12 if theirs == "approve" else 0)
    same_money(study, turk)


def test_what_was_decided_on_the_crowds_own_pages_is_taken_over(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    works = Crowd(turk, study).do_all("ada", "ben")
    turk_client(PLACE).approve(works[0].assignment_id)
    turk_client(PLACE).reject(works[1].assignment_id, feedback="Empty.")
    assert sync(study).discrepancies == []
    assert [one.refreshed()[1].state for one in works] == ["approved", "rejected"]
    assert works[1].assignment.reason == "Empty."
    same_money(study, turk)


@pytest.mark.parametrize("kind", long_except(["drop_after", "drop_before"], "drop_after"))
def test_one_bonus_when_the_token_is_forgotten_and_two_where_two_were_asked_for(
    kind: Any, turk: MTurkEmulator
) -> None:
    study = one_hit(people=1)
    session = handed_in(turk, study)
    pay_bonus(session=session, cents=7, why="Thank you.")
    carry_out(study)
    pay_bonus(session=session, cents=7, why="Thank you.", number=2)
    with turk.faults.during(Fault(kind, frozenset({"SendBonus"}))):
        carry_out(study)
    a_day_passes(turk)
    carry_out(study)
    assert len(turk.dump()["bonuses"]) == 2
    same_money(study, turk)


def test_a_rejection_is_overridden_with_money_of_its_own(turk: MTurkEmulator) -> None:
    study = one_hit(people=1)
    session = handed_in(turk, study)
    decide_session(session=session, approve=False, why="Empty.")
    carry_out(study)
    session.refresh_from_db()
    decide_session(session=session, approve=True, why="It was not.")
    assert books(study) == (12, 0)
    carry_out(study)
    session.refresh_from_db()
    assert (session.status, session.booked) == ("approved", "spent")
    assert books(study) == (0, 12)
    same_money(study, turk)


def test_an_override_that_the_budget_does_not_reach_is_not_asked(turk: MTurkEmulator) -> None:
    study = one_hit(people=1, crowd={"budget_cents": 12})
    session = handed_in(turk, study)
    decide_session(session=session, approve=False, why="Empty.")
    carry_out(study)
    session.refresh_from_db()
    Budget.objects.update(budget_cents=11)
    with pytest.raises(OverBudget, match=r"This costs 0\.12"):
        decide_session(session=session, approve=True, why="It was not.")
    assert books(study) == (0, 0)


def test_blocking_qualifying_and_writing(turk: MTurkEmulator) -> None:
    study = one_hit(people=1)
    session = handed_in(turk, study)
    decide_session(session=session, approve=True)
    carry_out(study)
    ask_to_block(study=study, worker=session.worker, why="Copied answers.")
    ask_to_qualify(study=study, worker=session.worker, qualification="Careful", value=7)
    ask_to_send_text(study=study, workers=[session.worker], subject="Thanks", text="It helped.")
    assert carry_out(study).done_count == 3
    dump = turk.dump()
    assert dump["blocks"] == {"AADA": "Copied answers."}
    assert [mail["text"] for mail in dump["mails"]] == ["It helped."]
    ask_to_unblock(study=study, worker=session.worker)
    carry_out(study)
    assert turk.dump()["blocks"] == {}
    (kind,) = turk.world.qualification_types.values()
    assert kind.name.startswith("Careful (")


@pytest.mark.parametrize(("kind", "letters"), [("drop_after", 1), ("drop_before", 0), ("throttle", 1)])
def test_a_letter_is_sent_once_at_most(kind: Any, letters: int, turk: MTurkEmulator) -> None:
    study = one_hit(people=1)
    session = handed_in(turk, study)
    decide_session(session=session, approve=True)
    carry_out(study)
    ask_to_send_text(study=study, workers=[session.worker], subject="Thanks", text="It helped.")
    with turk.faults.during(Fault(kind, frozenset({"NotifyWorkers"}), times=1)):
        carry_out(study)
    assert len(turk.dump()["mails"]) == letters
    assert ("parked" in kinds_of(sync(study))) == (kind != "throttle")


@pytest.mark.parametrize("by_sync", long_except([False, True], True))
def test_a_study_all_of_whose_hits_were_refused_does_not_open(by_sync: bool, turk: MTurkEmulator) -> None:
    study = one_hit(crowd={"title": "A"})
    begin_opening(study=study)
    Publication.objects.update(places=0)  # which the service takes for nonsense
    sentence = "refused"
    if by_sync:
        report = sync(study)
        assert "refused" in kinds_of(report)
        assert any(sentence in discrepancy.words for discrepancy in report.discrepancies)
    else:
        with pytest.raises(WrongState, match=sentence):
            carry_out_opening(study=study)
    study.refresh_from_db()
    assert study.state == "closed"
    assert books(study) == (0, 0)
    assert check_integrity().problems == []

    open_study(study=study)  # the design is put right, or the crowd
    study.refresh_from_db()
    assert (study.state, len(up(study))) == ("open", 1)
    same_money(study, turk)


def test_what_was_refused_is_not_put_up_while_the_study_is_closed(turk: MTurkEmulator) -> None:
    study = one_hit(crowd={"title": "A"})
    begin_opening(study=study)
    Publication.objects.update(places=0)
    assert kinds_of(sync(study)) == ["parked", "refused"]
    with pytest.raises(WrongState, match="publishes"):
        retry_call(call=CrowdCall.objects.get())
    assert up(study) == []
