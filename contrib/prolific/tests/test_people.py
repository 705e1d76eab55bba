"""People from Prolific: groups, messages, submissions, arrival and return, screen-outs, decisions and bonuses."""

import re
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.crowds import backend_of
from annotation.crowds.base import Ability, CrowdRefusal
from annotation.crowds.opening import close_study, open_study
from annotation.crowds.outbox.messages import ask_to_block, ask_to_qualify, ask_to_send_text, ask_to_unblock
from annotation.crowds.outbox.resolution import resolve_as_done, resolve_as_not_done
from annotation.crowds.panel.endings import end_panel_session
from annotation.crowds.publishing import pay_more_screen_outs
from annotation.crowds.raw_ids import forget_raw_ids
from annotation.crowds.sync.run import sync_with_crowd
from annotation.models import Assignment, CrowdCall, CrowdSession, Publication, RawId
from annotation.money.forecast import forecast_of
from annotation.money.payments import decide_session, pay_bonus
from common.errors import DesignError, WrongState
from contrib.prolific.backend import ProlificBackend
from contrib.prolific.outbox.people import blocked_group_name
from contrib.prolific.tests.emulator import Fault, ProlificEmulator, Refusal
from contrib.prolific.tests.panel import LOST, PLACES, PRICE, Panel, go_on, only_call, panel_study
from evaluation.data.integrity import check_integrity
from tests.annotation.crowds.panels import do_page, entry, start
from tests.judgments.desk import do, page, words
from tests.marks import long_except
from tests.refusals import assert_names, refuses

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("fault", long_except(LOST, Fault.DROP_BEFORE, Fault.CUT_SHORT))
def test_who_is_blocked_sees_no_study_of_this_installation(
    panel: Panel, prolific: ProlificEmulator, fault: Fault | None
) -> None:
    session = panel.finish("aa1")
    prolific.faults.plan("add members", fault)
    ask_to_block(study=panel.study, worker=session.worker, why="A program.")
    while go_on(panel.study).unsent_count:
        pass
    [group] = prolific.world.groups.values()
    assert group.name == blocked_group_name()
    assert list(group.members) == ["aa1"]
    study = panel_study(slug="once-more")
    open_study(study=study)
    other = Panel(study, prolific)
    with refuses(Refusal, "aa1"):
        other.arrive("aa1")
    ask_to_unblock(study=panel.study, worker=session.worker)
    go_on(panel.study)
    assert other.arrive("aa1").worker == session.worker


def test_a_qualification_is_a_group_of_that_name(panel: Panel, prolific: ProlificEmulator) -> None:
    session = panel.finish("aa1")
    ask_to_qualify(study=panel.study, worker=session.worker, qualification="careful")
    go_on(panel.study)
    [group] = [one for one in prolific.world.groups.values() if one.name == "careful"]
    assert list(group.members) == ["aa1"]
    ask_to_qualify(study=panel.study, worker=session.worker, qualification="careful", value=0)
    go_on(panel.study)
    assert list(group.members) == []


@pytest.mark.parametrize("fault", [Fault.DROP_BEFORE, Fault.DROP_AFTER])
def test_a_message_is_sent_once_at_most(panel: Panel, prolific: ProlificEmulator, fault: Fault) -> None:
    session = panel.finish("aa1")
    ask_to_send_text(study=panel.study, workers=[session.worker], subject="Done", text="Thank you.")
    go_on(panel.study)
    assert [one["body"] for one in prolific.world.messages] == ["Done\n\nThank you."]
    prolific.faults.plan("send message", fault)
    ask_to_send_text(study=panel.study, workers=[session.worker], subject="Done", text="Once more.")
    go_on(panel.study)
    go_on(panel.study)
    sent = [one["body"] for one in prolific.world.messages]
    assert sent.count("Done\n\nOnce more.") == (fault is Fault.DROP_AFTER)
    call = CrowdCall.objects.filter(kind=Ability.MESSAGE).latest("pk")
    assert call.state == "parked"
    assert "whether it was sent" in call.problem


def test_groups_need_a_workspace(panel: Panel, settings: Settings) -> None:
    session = panel.finish("aa1")
    settings.PROLIFIC_WORKSPACE = ""
    ask_to_block(study=panel.study, worker=session.worker, why="A program.")
    go_on(panel.study)
    assert "set PROLIFIC_WORKSPACE" in only_call(panel, Ability.BLOCK).problem
    assert ProlificBackend().fetch_balance("prolific") is None


def test_work_is_told_with_the_states_there(panel: Panel, prolific: ProlificEmulator) -> None:
    panel.finish("aa1")
    panel.arrive("aa2")
    panel.arrive("aa3")
    prolific.world.give_back(panel.came["aa3"])
    backend = ProlificBackend()
    work = {one.worker: one for one in backend.fetch_work(panel.publication)}
    assert {name: one.status for name, one in work.items()} == {
        "aa1": "submitted",
        "aa2": "working",
        "aa3": "returned",
    }
    assert work["aa1"].receipt == panel.code()
    named = {backend.session_id("prolific", one.external_id) for one in work.values()}
    assert named == set(CrowdSession.objects.values_list("external_id", flat=True))


def test_a_code_that_was_read_off_somewhere_finishes_nothing(
    panel: Panel, prolific: ProlificEmulator
) -> None:
    panel.arrive("aa1")
    prolific.come_back(panel.came["aa1"], panel.code())
    stranger, _ = prolific.enter(panel.publication.external_id, "aa2")
    prolific.come_back(stranger, panel.code())
    assert panel.there("aa1") == "AWAITING REVIEW"
    seen = [(one.worker, one.status) for one in backend_of(panel.study).fetch_work(panel.publication)]
    assert seen == [("aa1", "working")]


def test_a_study_whose_answer_was_lost_is_seen_by_its_token(prolific: ProlificEmulator) -> None:
    study = panel_study()
    prolific.faults.plan("transition study", Fault.DROP_AFTER)
    prolific.faults.plan("list studies", None, *[Fault.DROP_BEFORE] * 5)
    open_study(study=study)
    publication = Publication.objects.get(study=study)
    assert publication.external_id == ""
    [seen] = backend_of(study).fetch_publications(study, known=[])
    assert seen.token == publication.token
    assert seen.external_id in prolific.world.studies
    assert not seen.is_over


def test_an_id_that_prolific_does_not_know_is_refused(panel: Panel) -> None:
    Publication.objects.update(external_id="5d0c")
    with refuses(CrowdRefusal, "5d0c"):
        list(backend_of(panel.study).fetch_publications(panel.study, known=[panel.publication]))


def test_the_account_s_balance_is_told_in_cents(panel: Panel) -> None:
    assert backend_of(panel.study).fetch_balance("prolific") == 100_000 - PLACES * PRICE


def test_a_budget_below_the_price_opens_nothing(prolific: ProlificEmulator) -> None:
    study = panel_study(budget_cents=PLACES * PRICE - 1)
    with refuses(WrongState, "16.00 GBP", "15.99 GBP"):
        open_study(study=study)
    assert prolific.world.studies == {}


def test_a_person_comes_from_prolific_works_goes_back_and_is_paid(
    panel: Panel, prolific: ProlificEmulator
) -> None:
    submission, address = prolific.enter(panel.publication.external_id, "5ed1ada00000000000000001")
    ids = dict(parse_qsl(urlsplit(address).query))
    client, _ = start(panel.study, ids)
    last = do_page(panel.study, client).content.decode()
    back = re.search(r"https://app\.prolific\.com/submissions/complete\?cc=([A-Z0-9]+)", last)
    assert back is not None
    prolific.come_back(submission, back[1])
    session = CrowdSession.objects.get(study=panel.study)
    assert (session.status, session.code) == ("submitted", back[1])
    [seen] = backend_of(panel.study).fetch_work(panel.publication)
    assert seen.status == "submitted"
    decide_session(session=session, approve=True)
    go_on(panel.study)
    assert prolific.world.submissions[submission].status == "APPROVED"
    assert Assignment.objects.get(session=session).state == "approved"
    assert panel.books() == ((PLACES - 1) * PRICE, PRICE) == panel.books_there()


def test_on_the_page_of_the_crowd_a_person_says_what_became_of_a_bonus(
    panel: Panel, prolific: ProlificEmulator, client: Client
) -> None:
    client.force_login(User.objects.create_superuser("designer"))
    session = panel.finish("aa1")
    prolific.world.bonus_delay = 10**6
    prolific.faults.plan("pay bonuses", Fault.DROP_AFTER)
    pay_bonus(session=session, cents=30, why="Below the floor.")
    go_on(panel.study)
    call = only_call(panel, Ability.BONUS)
    call.answer["paying"] = (timezone.now() - timedelta(hours=2)).isoformat()
    call.save(update_fields=["answer"])
    go_on(panel.study)
    shown = client.get(page(panel.study, "crowd")).content.decode()
    assert "at the submission" in shown
    assert "Try again</button>" not in shown
    assert do(panel.study, "call-was-not-done") in shown
    sent = {"page": "crowd", "call": call.pk}
    assert "The request now counts as done." in words(
        client.post(do(panel.study, "call-was-done"), sent, follow=True)
    )
    assert panel.books() == (PLACES * PRICE, 40)
    assert prolific.calls["pay bonuses"] == 1
    said = words(client.post(do(panel.study, "call-was-done"), sent, follow=True))
    assert "only failed requests" in said


PAID = 40 + 14  # with Prolific's fee, rounded up here
THERE = 40 + 13


@pytest.fixture
def paying(prolific: ProlificEmulator) -> Panel:
    study = panel_study(screen_out_cents=40, screen_outs=2)
    assert forecast_of(study).cents == PLACES * PRICE + 2 * PAID
    open_study(study=study)
    return Panel(study, prolific)


def screen_out_person(panel: Panel, participant: str) -> CrowdSession:
    session = panel.arrive(participant)
    end_panel_session(session=session, status=CrowdSession.Status.SCREENED_OUT)
    panel.prolific.come_back(panel.came[participant], panel.code("screened-out"))
    return session


def sync_and_check(panel: Panel) -> None:
    sync_with_crowd(study=panel.study, wait=lambda seconds: None)
    assert not check_integrity().problems


def test_who_is_screened_out_is_paid_once(paying: Panel) -> None:
    assert paying.books() == (PLACES * PRICE + 2 * PAID, 0)
    assert paying.books_there() == (PLACES * PRICE + 2 * THERE, 0)
    screen_out_person(paying, "aa1")
    sync_and_check(paying)
    sync_and_check(paying)
    assert paying.books() == (PLACES * PRICE + PAID, PAID)
    assert paying.books_there() == (PLACES * PRICE + THERE, THERE)


@pytest.mark.parametrize("fault", long_except(LOST, Fault.DROP_AFTER, Fault.THROTTLE))
def test_a_study_that_paused_goes_on_with_more(paying: Panel, fault: Fault) -> None:
    screen_out_person(paying, "aa1")
    screen_out_person(paying, "aa2")
    there = paying.prolific.world.studies[paying.publication.external_id]
    assert there.status == "PAUSED"
    sync_and_check(paying)
    paying.prolific.faults.plan("update study", fault)
    pay_more_screen_outs(study=paying.study, count=3)
    while go_on(paying.study).unsent_count:
        pass
    assert there.status == "ACTIVE"
    assert paying.publication.screen_outs == 5
    assert paying.books() == (PLACES * PRICE + 3 * PAID, 2 * PAID)
    screen_out_person(paying, "aa3")
    sync_and_check(paying)
    assert paying.books() == (PLACES * PRICE + 2 * PAID, 3 * PAID)


def test_more_of_them_are_not_bought_for_more_than_is_reserved(paying: Panel) -> None:
    paying.prolific.world.fee_permille = 500
    pay_more_screen_outs(study=paying.study, count=3)
    go_on(paying.study)
    call = CrowdCall.objects.get(kind=Ability.EXTEND)
    assert_names(call.problem, "PROLIFIC_FEE_PERCENT")
    assert paying.books() == (PLACES * PRICE + 2 * PAID, 0)
    assert paying.publication.screen_outs == 2


def test_a_stopped_study_pays_no_more_of_them(paying: Panel) -> None:
    there = paying.prolific.world.studies[paying.publication.external_id]
    there.status = "COMPLETED"
    pay_more_screen_outs(study=paying.study, count=3)
    go_on(paying.study)
    assert "places only" in CrowdCall.objects.get(kind=Ability.EXTEND).problem
    assert [action["slots"] for _code, action in paying.prolific.world.screen_outs(there)] == [2]
    assert paying.books()[0] == PLACES * PRICE + 2 * PAID


def test_what_nobody_needed_is_free_again_when_the_study_is_over(paying: Panel) -> None:
    screen_out_person(paying, "aa1")
    close_study(study=paying.study)
    sync_and_check(paying)
    assert paying.publication.state == Publication.State.FINISHED
    assert paying.books() == (0, PAID)


def test_who_came_back_with_a_code_of_somebody_else_is_in_the_books(paying: Panel) -> None:
    submission, _address = paying.prolific.enter(paying.publication.external_id, "ff1")
    paying.prolific.come_back(submission, paying.code("screened-out"))
    sync_and_check(paying)
    assert paying.books()[1] == PAID


def test_whom_only_prolific_knows_has_the_id_under_the_panel_s_name(prolific: ProlificEmulator) -> None:
    study = panel_study(screen_out_cents=40, screen_outs=2, panel={"worker": "pid"})
    open_study(study=study)
    panel = Panel(study, prolific)
    submission, _address = prolific.enter(panel.publication.external_id, "ff1")
    prolific.come_back(submission, panel.code("screened-out"))
    sync_and_check(panel)
    assert RawId.objects.get(value="ff1").name == "pid"  # as a bonus looks for it


def test_a_budget_that_does_not_reach_for_screen_outs_opens_nothing(prolific: ProlificEmulator) -> None:
    study = panel_study(budget_cents=PLACES * PRICE, screen_out_cents=40, screen_outs=2)
    with pytest.raises(WrongState, match="Nothing was published"):
        open_study(study=study)


@pytest.mark.parametrize("away", [False, True])
def test_a_workspace_with_another_currency_buys_nothing(prolific: ProlificEmulator, away: bool) -> None:
    study = panel_study(currency="USD")
    named = ("GBP", "USD", "crowd.currency")
    if away:  # then the message to publish finds it
        prolific.faults.plan("get balance", Fault.ERROR_BEFORE)
        with pytest.raises(WrongState, match="accepted none"):
            open_study(study=study)
        assert_names(CrowdCall.objects.get(kind=Ability.PUBLISH).problem, *named)
    else:
        with refuses(WrongState, *named):
            open_study(study=study)
        assert not CrowdCall.objects.exists()
    assert not prolific.world.studies


def test_who_is_screened_out_reads_what_they_get(paying: Panel) -> None:
    screen_out_person(paying, "aa1")
    ids = {"PROLIFIC_PID": "aa1", "SESSION_ID": paying.came["aa1"], "STUDY_ID": "s"}
    assert "You get 0.40 GBP for your time" in words(entry(paying.study, ids))


def test_the_page_pays_more_of_them(paying: Panel, designer: Client) -> None:
    sent = {"page": "crowd", "count": "1", "why": "Many do not fit."}
    shown = designer.post(do(paying.study, "more-screen-outs"), sent, follow=True)
    assert "One more screened-out participant will be paid." in words(shown)
    go_on(paying.study)
    assert paying.publication.screen_outs == 3


def test_a_design_pays_less_than_the_work_and_says_how_many() -> None:
    with refuses(DesignError, "150", field="crowd.screen_out_cents"):
        panel_study(screen_out_cents=150, screen_outs=2)
    with refuses(DesignError, field="crowd"):
        panel_study(screen_out_cents=50)
    with refuses(DesignError, field="crowd.screen_out_cents"):
        panel_study(screen_out_cents=50, screen_outs=1, panel={"api": False})


@pytest.mark.parametrize(
    ("operation", "fault"),
    long_except(
        [
            ("get submission", Fault.DROP_BEFORE),
            *(("transition submission", fault) for fault in (None, *LOST)),
        ],
        ("get submission", Fault.DROP_BEFORE),
        ("transition submission", None),
        ("transition submission", Fault.DROP_AFTER),
    ),
)
def test_an_approval_and_a_rejection_are_made_once(
    panel: Panel, prolific: ProlificEmulator, operation: str, fault: Fault | None
) -> None:
    good, bad = panel.finish("aa1"), panel.finish("aa2")
    prolific.faults.plan(operation, fault, fault)
    decide_session(session=good, approve=True)
    decide_session(session=bad, approve=False, why="Three of four control items were wrong.")
    while go_on(panel.study).unsent_count:
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
    assert go_on(panel.study).unsent_count == 1
    assert "author is back" in only_call(panel, Ability.APPROVE).problem
    prolific.come_back(panel.came["aa1"], panel.code())
    assert go_on(panel.study).done_count == 1
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
    assert "person or study" in call.problem
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
    long_except(
        [("get submission", Fault.DROP_BEFORE), *(("set up bonuses", fault) for fault in (None, *LOST))],
        ("set up bonuses", None),
        ("set up bonuses", Fault.DROP_AFTER),
        ("set up bonuses", Fault.THROTTLE),
    ),
)
def test_a_bonus_is_paid_once_whatever_is_lost_before_paying(
    panel: Panel, prolific: ProlificEmulator, operation: str, fault: Fault | None
) -> None:
    session = panel.finish("aa1")
    prolific.faults.plan(operation, fault, fault)
    pay_bonus(session=session, cents=30, why="Below the floor.")
    while go_on(panel.study).unsent_count:
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
        assert go_on(panel.study).unsent_count == 1
    prolific.world.advance(seconds=301)
    assert go_on(panel.study).done_count == 1
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
    assert go_on(panel.study).failed_count == 1
    call.refresh_from_db()
    assert "at the submission" in call.problem
    assert panel.books() == (PLACES * PRICE + 40, 0)
    assert prolific.calls["pay bonuses"] == 0
    resolve_as_not_done(call=call)
    assert go_on(panel.study).done_count == 1
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
    assert go_on(panel.study).unsent_count == 0
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
    assert go_on(panel.study).unsent_count == 1
    assert prolific.calls["pay bonuses"] == 0


@pytest.mark.parametrize("fault", [Fault.THROTTLE])
def test_a_throttled_payment_is_asked_for_again(
    panel: Panel, prolific: ProlificEmulator, fault: Fault
) -> None:
    session = panel.finish("aa1")
    prolific.faults.plan("pay bonuses", fault, fault)
    pay_bonus(session=session, cents=30, why="Below the floor.")
    while go_on(panel.study).unsent_count:
        pass
    assert prolific.calls["pay bonuses"] == prolific.calls["set up bonuses"] == 1


def test_equal_bonuses_of_one_submission_are_told_apart(panel: Panel, prolific: ProlificEmulator) -> None:
    prolific.world.bonus_delay = 600
    session = panel.finish("aa1")
    pay_bonus(session=session, cents=30, why="Below the floor.")
    assert go_on(panel.study).done_count == 1  # paid, and does not show yet
    prolific.faults.plan("pay bonuses", Fault.DROP_BEFORE)
    pay_bonus(session=session, cents=30, why="And again.", number=2)
    pay_bonus(session=session, cents=30, why="A third time.", number=3)
    go_on(panel.study)
    prolific.world.advance(seconds=601)  # the first one shows: it is not the second one
    assert go_on(panel.study).unsent_count == 2
    assert prolific.world.submissions[panel.came["aa1"]].bonuses == [30]
    assert panel.books()[1] == 40


def test_a_bonus_dearer_than_its_reservation_is_refused(panel: Panel, prolific: ProlificEmulator) -> None:
    prolific.world.vat_permille = 200
    session = panel.finish("aa1")
    pay_bonus(session=session, cents=30, why="Below the floor.")
    go_on(panel.study)
    assert_names(only_call(panel, Ability.BONUS).problem, "42", "40")
    assert prolific.world.spent_cents == 0
    assert panel.books() == (PLACES * PRICE, 0)
