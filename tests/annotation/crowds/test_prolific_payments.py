"""Work at Prolific decided once, and bonuses paid once, whatever is lost on the way."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.crowds.base import Ability
from annotation.crowds.outbox import resolve_as_done, resolve_as_not_done
from annotation.crowds.people import forget_raw_ids
from annotation.crowds.publishing import close_study
from annotation.models import CrowdCall, CrowdSession
from annotation.money.payments import decide_session, pay_bonus
from common.errors import WrongState
from tests.annotation.crowds.prolific_panel import (
    LOST,
    PLACES,
    PRICE,
    Panel,
    go_on,
    only_call,
)
from tests.fakes.prolific import Fault, ProlificEmulator

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        ("get submission", Fault.DROP_BEFORE),
        *(("transition submission", fault) for fault in (None, *LOST)),
    ],
)
def test_an_approval_and_a_rejection_are_made_once(
    panel: Panel, prolific: ProlificEmulator, operation: str, fault: Fault | None
) -> None:
    good, bad = panel.finish("aa1"), panel.finish("aa2")
    prolific.faults.plan(operation, fault, fault)
    decide_session(session=good, approve=True)
    decide_session(session=bad, approve=False, why="Three of four control items were wrong.")
    while go_on(panel.study).waiting:
        pass
    assert (panel.there("aa1"), panel.there("aa2")) == ("APPROVED", "REJECTED")
    assert panel.books() == ((PLACES - 2) * PRICE, PRICE)
    assert prolific.world.spent_cents == PRICE
    good.refresh_from_db()
    bad.refresh_from_db()
    assert (good.status, bad.status) == ("approved", "rejected")
    rejection = prolific.world.submissions[panel.came["aa2"]].rejection
    assert rejection is not None
    assert rejection[1].startswith("Three of four control items were wrong.\n\nIf you think")
    assert len(rejection[1]) >= 100


def test_whoever_decided_there_before_has_decided(panel: Panel, prolific: ProlificEmulator) -> None:
    session = panel.finish("aa1")
    decide_session(session=session, approve=False, why="Empty.")
    prolific.world.approve(prolific.world.submissions[panel.came["aa1"]])
    go_on(panel.study)
    session.refresh_from_db()
    assert session.status == "approved"
    assert panel.books() == ((PLACES - 1) * PRICE, PRICE)


def test_a_rejection_there_is_not_undone_from_here(panel: Panel) -> None:
    session = panel.finish("aa1")
    decide_session(session=session, approve=False, why="Empty.")
    go_on(panel.study)
    session.refresh_from_db()
    decide_session(session=session, approve=True)
    go_on(panel.study)
    assert "undo the rejection on Prolific's page" in only_call(panel, Ability.APPROVE).problem
    assert panel.books() == ((PLACES - 1) * PRICE, 0)


def test_work_is_decided_once_its_author_is_back_at_prolific(
    panel: Panel, prolific: ProlificEmulator
) -> None:
    session = panel.arrive("aa1")
    CrowdSession.objects.filter(pk=session.pk).update(status="submitted")
    session.refresh_from_db()
    decide_session(session=session, approve=True)
    assert go_on(panel.study).waiting == 1
    assert "once its author is back there" in only_call(panel, Ability.APPROVE).problem
    prolific.come_back(panel.came["aa1"], panel.code())
    assert go_on(panel.study).done == 1
    assert panel.there("aa1") == "APPROVED"


@pytest.mark.parametrize("ending", ["returned", "timed out"])
def test_what_was_given_back_or_timed_out_there_is_not_paid(
    panel: Panel, prolific: ProlificEmulator, ending: str
) -> None:
    session = panel.arrive("aa1")
    CrowdSession.objects.filter(pk=session.pk).update(status="submitted")
    session.refresh_from_db()
    if ending == "returned":
        prolific.world.give_back(panel.came["aa1"])
    else:
        prolific.world.advance(days=2)
    decide_session(session=session, approve=True)
    go_on(panel.study)
    assert "cannot be decided here" in only_call(panel, Ability.APPROVE).problem
    assert prolific.world.spent_cents == 0


def test_a_made_up_submission_never_gets_another_person_paid(
    panel: Panel, prolific: ProlificEmulator
) -> None:
    victim = panel.finish("aa1")
    thief = panel.finish("aa2")
    thief.raw_ids.update(value=panel.came["aa1"])  # an address that its visitor has edited
    decide_session(session=thief, approve=True)
    go_on(panel.study)
    call = only_call(panel, Ability.APPROVE)
    assert call.state == "parked"
    assert "belongs to another person or study" in call.problem
    assert victim.status == "submitted"
    assert prolific.world.spent_cents == 0


def test_after_the_ids_were_deleted_nobody_can_be_paid_from_here(panel: Panel) -> None:
    session = panel.finish("aa1")
    close_study(study=panel.study)
    forget_raw_ids(study=panel.study)
    decide_session(session=session, approve=True)
    go_on(panel.study)
    assert "were deleted here" in only_call(panel, Ability.APPROVE).problem


@pytest.mark.parametrize(
    ("operation", "fault"),
    [("get submission", Fault.DROP_BEFORE), *(("set up bonuses", fault) for fault in (None, *LOST))],
)
def test_a_bonus_is_paid_once_whatever_is_lost_before_paying(
    panel: Panel, prolific: ProlificEmulator, operation: str, fault: Fault | None
) -> None:
    session = panel.finish("aa1")
    prolific.faults.plan(operation, fault, fault)
    pay_bonus(session=session, cents=30, why="Below the floor.")
    while go_on(panel.study).waiting:
        pass
    assert prolific.world.submissions[panel.came["aa1"]].bonuses == [30]
    assert panel.books() == (PLACES * PRICE, 40) == (PLACES * PRICE, prolific.world.spent_cents)


def test_a_bonus_whose_answer_was_lost_is_found_and_not_paid_again(
    panel: Panel, prolific: ProlificEmulator
) -> None:
    prolific.world.bonus_delay = 300
    session = panel.finish("aa1")
    prolific.faults.plan("pay bonuses", Fault.DROP_AFTER)
    pay_bonus(session=session, cents=30, why="Below the floor.")
    for _ in range(3):
        assert go_on(panel.study).waiting == 1
    prolific.world.advance(seconds=301)
    assert go_on(panel.study).done == 1
    assert prolific.calls["pay bonuses"] == 1
    assert prolific.world.submissions[panel.came["aa1"]].bonuses == [30]
    assert panel.books() == (PLACES * PRICE, 40)


def test_a_bonus_of_which_nobody_can_tell_is_left_to_a_person_with_its_money_kept(
    panel: Panel, prolific: ProlificEmulator
) -> None:
    session = panel.finish("aa1")
    prolific.faults.plan("pay bonuses", Fault.DROP_BEFORE)
    pay_bonus(session=session, cents=30, why="Below the floor.")
    go_on(panel.study)
    call = only_call(panel, Ability.BONUS)
    call.answer["paying"] = (timezone.now() - timedelta(hours=2)).isoformat()
    call.save(update_fields=["answer"])
    assert go_on(panel.study).parked == 1
    call.refresh_from_db()
    assert "Look at the submission there" in call.problem
    assert panel.books() == (PLACES * PRICE + 40, 0)
    assert prolific.calls["pay bonuses"] == 0
    resolve_as_not_done(call=call)
    assert go_on(panel.study).done == 1
    assert prolific.world.submissions[panel.came["aa1"]].bonuses == [30]
    assert panel.books() == (PLACES * PRICE, 40)


def test_a_person_who_found_the_bonus_there_says_so(panel: Panel, prolific: ProlificEmulator) -> None:
    session = panel.finish("aa1")
    prolific.world.bonus_delay = 10**6
    prolific.faults.plan("pay bonuses", Fault.DROP_AFTER)
    pay_bonus(session=session, cents=30, why="Below the floor.")
    go_on(panel.study)
    call = only_call(panel, Ability.BONUS)
    with pytest.raises(WrongState, match="only a failed call"):
        resolve_as_done(call=call)
    call.answer["paying"] = (timezone.now() - timedelta(hours=2)).isoformat()
    call.save(update_fields=["answer"])
    go_on(panel.study)
    assert resolve_as_done(call=call).state == "done"
    with pytest.raises(WrongState, match="only a failed call"):
        resolve_as_not_done(call=call)
    assert go_on(panel.study).waiting == 0
    assert panel.books() == (PLACES * PRICE, 40)
    assert prolific.world.spent_cents == 40
    events = list(panel.study.events.filter(what="looked").values_list("words", flat=True))
    assert len(events) == 1
    assert events[0].endswith("it was done.")


def test_a_runner_that_was_killed_before_paying_does_not_pay_later(
    panel: Panel, prolific: ProlificEmulator
) -> None:
    session = panel.finish("aa1")
    call = pay_bonus(session=session, cents=30, why="Below the floor.")
    CrowdCall.objects.filter(pk=call.pk).update(
        state="started", started_at=timezone.now() - timedelta(hours=1), attempts=1,
        answer={"set_up": "5d0c", "paying": timezone.now().isoformat(), "before": 0},
    )  # fmt: skip
    assert go_on(panel.study).waiting == 1
    assert prolific.calls["pay bonuses"] == 0


@pytest.mark.parametrize("fault", [Fault.THROTTLE])
def test_a_throttled_payment_is_asked_for_again(
    panel: Panel, prolific: ProlificEmulator, fault: Fault
) -> None:
    session = panel.finish("aa1")
    prolific.faults.plan("pay bonuses", fault, fault)
    pay_bonus(session=session, cents=30, why="Below the floor.")
    while go_on(panel.study).waiting:
        pass
    assert prolific.calls["pay bonuses"] == prolific.calls["set up bonuses"] == 1


def test_equal_bonuses_of_one_submission_are_told_apart(panel: Panel, prolific: ProlificEmulator) -> None:
    prolific.world.bonus_delay = 600
    session = panel.finish("aa1")
    pay_bonus(session=session, cents=30, why="Below the floor.")
    assert go_on(panel.study).done == 1  # paid, and does not show yet
    prolific.faults.plan("pay bonuses", Fault.DROP_BEFORE)
    pay_bonus(session=session, cents=30, why="And again.", number=2)
    pay_bonus(session=session, cents=30, why="A third time.", number=3)
    go_on(panel.study)
    prolific.world.advance(seconds=601)  # the first one shows: it is not the second one
    assert go_on(panel.study).waiting == 2
    assert prolific.world.submissions[panel.came["aa1"]].bonuses == [30]
    assert panel.books()[1] == 40


def test_a_bonus_dearer_than_its_reservation_is_refused(panel: Panel, prolific: ProlificEmulator) -> None:
    prolific.world.vat_permille = 200
    session = panel.finish("aa1")
    pay_bonus(session=session, cents=30, why="Below the floor.")
    go_on(panel.study)
    assert (
        "Prolific asks 42 cents for this bonus, and 40 are reserved"
        in only_call(panel, Ability.BONUS).problem
    )
    assert prolific.world.spent_cents == 0
    assert panel.books() == (PLACES * PRICE, 0)
