"""People of Prolific: groups, messages, their states there, and the way there and back."""

import re
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.crowds import backend_of
from annotation.crowds.base import Ability, Refused
from annotation.crowds.outbox import ask_to_block, ask_to_qualify, ask_to_unblock, ask_to_write
from annotation.crowds.prolific.backend import ProlificBackend, blocked_group_name
from annotation.crowds.publishing import open_study
from annotation.models import Assignment, CrowdCall, CrowdSession, Publication
from annotation.money.payments import decide_session, pay_bonus
from common.errors import WrongState
from tests.annotation.crowds.panels import do_page, start
from tests.annotation.crowds.prolific_panel import (
    LOST,
    PLACES,
    PRICE,
    Panel,
    go_on,
    only_call,
    panel_study,
)
from tests.fakes.prolific import Fault, ProlificEmulator, Refusal
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("fault", LOST)
def test_who_is_blocked_sees_no_study_of_this_installation(
    panel: Panel, prolific: ProlificEmulator, fault: Fault | None
) -> None:
    session = panel.finish("aa1")
    prolific.faults.plan("add members", fault)
    ask_to_block(study=panel.study, worker=session.worker, why="A program.")
    while go_on(panel.study).waiting:
        pass
    [group] = prolific.world.groups.values()
    assert group.name == blocked_group_name()
    assert list(group.members) == ["aa1"]
    study = panel_study(slug="once-more")
    open_study(study=study)
    other = Panel(study, prolific)
    with pytest.raises(Refusal, match="aa1 does not see study"):
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
    ask_to_write(study=panel.study, workers=[session.worker], subject="Done", text="Thank you.")
    go_on(panel.study)
    assert [one["body"] for one in prolific.world.messages] == ["Done\n\nThank you."]
    prolific.faults.plan("send message", fault)
    ask_to_write(study=panel.study, workers=[session.worker], subject="Done", text="Once more.")
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
    assert not seen.over


def test_an_id_that_prolific_does_not_know_is_refused(panel: Panel) -> None:
    Publication.objects.update(external_id="5d0c")
    with pytest.raises(Refused, match="Could not find study with id 5d0c"):
        list(backend_of(panel.study).fetch_publications(panel.study, known=[panel.publication]))


def test_the_account_s_balance_is_told_in_cents(panel: Panel) -> None:
    assert backend_of(panel.study).fetch_balance("prolific") == 100_000 - PLACES * PRICE


def test_a_budget_below_the_price_opens_nothing(prolific: ProlificEmulator) -> None:
    study = panel_study(budget_cents=PLACES * PRICE - 1)
    with pytest.raises(
        WrongState, match=r"costs 16\.00 GBP with fees, and of its budget \(15\.99 GBP\) 15\.99 GBP are left"
    ):
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
    assert "Look at the submission there" in shown
    assert "Try again</button>" not in shown
    assert do(panel.study, "call-was-not-done") in shown
    sent = {"page": "crowd", "call": call.pk}
    assert "It counts as done." in words(client.post(do(panel.study, "call-was-done"), sent, follow=True))
    assert panel.books() == (PLACES * PRICE, 40)
    assert prolific.calls["pay bonuses"] == 1
    said = words(client.post(do(panel.study, "call-was-done"), sent, follow=True))
    assert "only a failed call" in said
