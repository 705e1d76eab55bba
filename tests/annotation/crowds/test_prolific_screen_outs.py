"""People who are screened out by Prolific's API are paid as the design says, and the books know it."""

import pytest
from django.test import Client

from annotation.crowds.base import Ability
from annotation.crowds.panel.people import end_panel_session
from annotation.crowds.publishing import close_study, open_study, pay_more_screen_outs
from annotation.crowds.sync import sync_crowd
from annotation.models import CrowdCall, CrowdSession, Publication, RawId
from annotation.money.costs import forecast_of
from common.errors import DesignError, WrongState
from evaluation.data.integrity import check_integrity
from tests.annotation.crowds.panels import entry
from tests.annotation.crowds.prolific_panel import LOST, PLACES, PRICE, Panel, go_on, panel_study
from tests.fakes.prolific import Fault, ProlificEmulator
from tests.judgments.desk import do, words

pytestmark = pytest.mark.django_db

PAID = 40 + 14  # with Prolific's fee, rounded up here
THERE = 40 + 13


@pytest.fixture
def paying(prolific: ProlificEmulator) -> Panel:
    study = panel_study(screen_out_cents=40, screen_outs=2)
    assert forecast_of(study).cents == PLACES * PRICE + 2 * PAID
    open_study(study=study)
    return Panel(study, prolific)


def screened_out(panel: Panel, participant: str) -> CrowdSession:
    session = panel.arrive(participant)
    end_panel_session(session=session, status=CrowdSession.Status.SCREENED_OUT)
    panel.prolific.come_back(panel.came[participant], panel.code("screened-out"))
    return session


def compared(panel: Panel) -> None:
    sync_crowd(study=panel.study, wait=lambda seconds: None)
    assert not check_integrity().problems


def test_who_is_screened_out_is_paid_once(paying: Panel) -> None:
    assert paying.books() == (PLACES * PRICE + 2 * PAID, 0)
    assert paying.books_there() == (PLACES * PRICE + 2 * THERE, 0)
    screened_out(paying, "aa1")
    compared(paying)
    compared(paying)
    assert paying.books() == (PLACES * PRICE + PAID, PAID)
    assert paying.books_there() == (PLACES * PRICE + THERE, THERE)


@pytest.mark.parametrize("fault", LOST)
def test_a_study_that_paused_goes_on_with_more(paying: Panel, fault: Fault) -> None:
    screened_out(paying, "aa1")
    screened_out(paying, "aa2")
    there = paying.prolific.world.studies[paying.publication.external_id]
    assert there.status == "PAUSED"
    compared(paying)
    paying.prolific.faults.plan("update study", fault)
    pay_more_screen_outs(study=paying.study, count=3)
    while go_on(paying.study).waiting:
        pass
    assert there.status == "ACTIVE"
    assert paying.publication.screen_outs == 5
    assert paying.books() == (PLACES * PRICE + 3 * PAID, 2 * PAID)
    screened_out(paying, "aa3")
    compared(paying)
    assert paying.books() == (PLACES * PRICE + 2 * PAID, 3 * PAID)


def test_more_of_them_are_not_bought_for_more_than_is_reserved(paying: Panel) -> None:
    paying.prolific.world.fee_permille = 500
    pay_more_screen_outs(study=paying.study, count=3)
    go_on(paying.study)
    call = CrowdCall.objects.get(kind=Ability.EXTEND)
    assert "set PROLIFIC_FEE_PERCENT to this account's fee" in call.problem
    assert paying.books() == (PLACES * PRICE + 2 * PAID, 0)
    assert paying.publication.screen_outs == 2


def test_a_stopped_study_pays_no_more_of_them(paying: Panel) -> None:
    there = paying.prolific.world.studies[paying.publication.external_id]
    there.status = "COMPLETED"
    pay_more_screen_outs(study=paying.study, count=3)
    go_on(paying.study)
    assert "opens again with more places only" in CrowdCall.objects.get(kind=Ability.EXTEND).problem
    assert [action["slots"] for _code, action in paying.prolific.world.screen_outs(there)] == [2]
    assert paying.books()[0] == PLACES * PRICE + 2 * PAID


def test_what_nobody_needed_is_free_again_when_the_study_is_over(paying: Panel) -> None:
    screened_out(paying, "aa1")
    close_study(study=paying.study)
    compared(paying)
    assert paying.publication.state == Publication.State.FINISHED
    assert paying.books() == (0, PAID)


def test_who_came_back_with_a_code_of_somebody_else_is_in_the_books(paying: Panel) -> None:
    submission, _address = paying.prolific.enter(paying.publication.external_id, "ff1")
    paying.prolific.come_back(submission, paying.code("screened-out"))
    compared(paying)
    assert paying.books()[1] == PAID


def test_whom_only_prolific_knows_has_the_id_under_the_panel_s_name(prolific: ProlificEmulator) -> None:
    study = panel_study(screen_out_cents=40, screen_outs=2, panel={"worker": "pid"})
    open_study(study=study)
    panel = Panel(study, prolific)
    submission, _address = prolific.enter(panel.publication.external_id, "ff1")
    prolific.come_back(submission, panel.code("screened-out"))
    compared(panel)
    assert RawId.objects.get(value="ff1").name == "pid"  # as a bonus looks for it


def test_a_budget_that_does_not_reach_for_screen_outs_opens_nothing(prolific: ProlificEmulator) -> None:
    study = panel_study(budget_cents=PLACES * PRICE, screen_out_cents=40, screen_outs=2)
    with pytest.raises(WrongState, match="Nothing was published"):
        open_study(study=study)


@pytest.mark.parametrize("away", [False, True])
def test_a_workspace_with_another_currency_buys_nothing(prolific: ProlificEmulator, away: bool) -> None:
    study = panel_study(currency="USD")
    said = "pays in GBP, and the study's amounts are in USD; set crowd.currency to 'GBP'"
    if away:  # then the message to publish finds it
        prolific.faults.plan("get balance", Fault.ERROR_BEFORE)
        open_study(study=study)
        assert said in CrowdCall.objects.get(kind=Ability.PUBLISH).problem
    else:
        with pytest.raises(WrongState, match=said):
            open_study(study=study)
        assert not CrowdCall.objects.exists()
    assert not prolific.world.studies


def test_who_is_screened_out_reads_what_they_get(paying: Panel) -> None:
    screened_out(paying, "aa1")
    ids = {"PROLIFIC_PID": "aa1", "SESSION_ID": paying.came["aa1"], "STUDY_ID": "s"}
    assert "You get 0.40 GBP for your time" in words(entry(paying.study, ids))


def test_the_page_pays_more_of_them(paying: Panel, designer: Client) -> None:
    sent = {"page": "crowd", "count": "1", "why": "Many do not fit."}
    shown = designer.post(do(paying.study, "more-screen-outs"), sent, follow=True)
    assert "One more person who is screened out will be paid." in words(shown)
    go_on(paying.study)
    assert paying.publication.screen_outs == 3


def test_a_design_pays_less_than_the_work_and_says_how_many() -> None:
    with pytest.raises(DesignError, match="expected less than the pay of a session, 150"):
        panel_study(screen_out_cents=150, screen_outs=2)
    with pytest.raises(DesignError, match="expected both, or neither"):
        panel_study(screen_out_cents=50)
    with pytest.raises(DesignError, match=r"crowd\.screen_out_cents is for Prolific by its API"):
        panel_study(screen_out_cents=50, screen_outs=1, panel={"api": False})
