"""A study at Prolific by its API: it is published once, with its filters, extended and closed."""

from datetime import timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from annotation.crowds import backend_of
from annotation.crowds.base import Ability, RetryLater
from annotation.crowds.opening import begin_opening, close_study, open_study
from annotation.crowds.publishing import ask_to_extend
from annotation.models import CrowdCall, Publication
from annotation.money.ledger import set_budget
from common.errors import WrongState
from contrib.prolific.tests.emulator import Fault, ProlificEmulator, Refusal, World
from contrib.prolific.tests.panel import (
    LOST,
    PLACES,
    PRICE,
    REWARD,
    Panel,
    go_on,
    only_call,
    panel_study,
    point_at,
)
from judgments.studies.designs import design_of
from tests.annotation.crowds.panels import entry, start
from tests.marks import long_except
from tests.refusals import assert_names, refuses

pytestmark = pytest.mark.django_db


def test_opening_puts_one_study_up_with_a_place_per_session(panel: Panel, prolific: ProlificEmulator) -> None:
    [there] = prolific.world.studies.values()
    assert (there.status, there.places, there.reward) == ("ACTIVE", PLACES, REWARD)
    assert panel.publication.external_id == there.id
    assert there.fields["internal_name"] == panel.publication.token
    assert panel.study.platform == "prolific"
    assert panel.books() == (PLACES * PRICE, 0) == panel.books_there()


def test_a_session_of_three_hits_is_paid_three_rewards(prolific: ProlificEmulator) -> None:
    study = panel_study(panel={"hits": 3}, reward_cents=50)
    said = open_study(study=study)
    [there] = prolific.world.studies.values()
    assert (there.places, there.reward) == (3, 150)
    assert "https://quorum.example" in said


def test_what_the_page_about_prolific_says_that_a_study_costs(settings: Settings) -> None:
    settings.PROLIFIC_FEE_PERCENT = Decimal("42.8")
    study = panel_study(reward_cents=40, panel={"hits": 3})
    price = backend_of(study).price(design_of(study), places=1)
    cells = [f"{price.reward_cents / 100:.2f}", f"{price.fee_cents / 100:.2f}", "100", f"{price.cents:.2f}"]
    page = Path(__file__).parents[1] / "README.md"
    assert f"| {' | '.join(cells)} |" in page.read_text(encoding="utf-8")


def test_opening_twice_changes_nothing(panel: Panel, prolific: ProlificEmulator) -> None:
    open_study(study=panel.study)
    assert len(prolific.world.studies) == 1
    assert panel.books() == (PLACES * PRICE, 0)


def test_each_outcome_has_a_code_and_only_finished_work_waits_to_be_paid(panel: Panel) -> None:
    for number, outcome in enumerate(("completed", "screened-out", "timed-out", "returned", "full")):
        session = panel.finish(f"aa{number}", outcome)
        one = panel.prolific.world.submissions[panel.came[f"aa{number}"]]
        assert one.code == panel.code(outcome)
        assert (one.return_requested is None) == (outcome == "completed")
        assert session.study == panel.study
    assert (
        len({panel.code(one) for one in ("completed", "screened-out", "timed-out", "returned", "full")}) == 5
    )


def test_what_people_read_there_is_text_and_never_markup(prolific: ProlificEmulator) -> None:
    open_study(study=panel_study(title="<b>Shapes</b>", description="<script>alert(1)</script> & more"))
    [there] = prolific.world.studies.values()
    assert there.fields["description"] == "<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp; more</p>"
    assert there.fields["name"] == "<b>Shapes</b>"


def test_more_than_was_reserved_is_never_bought(prolific: ProlificEmulator, settings: Settings) -> None:
    settings.PROLIFIC_FEE_PERCENT = Decimal("20")
    study = panel_study()
    with pytest.raises(WrongState, match="accepted none"):
        open_study(study=study)
    call = CrowdCall.objects.get(study=study)
    assert call.state == "parked"
    assert_names(call.problem, "1600", "8", "150", "1440")
    assert prolific.world.studies == {}
    panel = Panel(study, prolific)
    assert panel.books() == (0, 0)
    assert panel.publication.state == Publication.State.WITHDRAWN


def test_an_empty_account_stops_what_costs_money_until_it_is_filled(settings: Settings) -> None:
    with ProlificEmulator(World(deposit_cents=100)) as poor:
        point_at(poor, settings)
        settings.PROLIFIC_FEE_PERCENT = Decimal("33.3")
        study = panel_study()
        with refuses(WrongState, "costs", "1.00", "16.00"):
            open_study(study=study)
        settings.PROLIFIC_WORKSPACE = ""  # then Prolific itself says so, on publishing
        assert "balance is too low" in go_on(study).stop_reason
        poor.world.deposit_cents = 5_000
        assert go_on(study).done_count == 1
        assert [one.status for one in poor.world.studies.values()] == ["ACTIVE"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PROLIFIC_TOKEN", "", "PROLIFIC_TOKEN is empty"),
        ("PUBLIC_URL", "", "PUBLIC_URL"),
        ("PUBLIC_URL", "http://quorum.example", "address"),
    ],
)
def test_nothing_is_opened_that_people_there_could_not_reach(
    prolific: ProlificEmulator, settings: Settings, name: str, value: str, said: str
) -> None:
    settings.PROLIFIC_API_URL = "https://prolific.invalid"
    setattr(settings, name, value)
    study = panel_study()
    with pytest.raises(WrongState, match=said):
        open_study(study=study)
    study.refresh_from_db()
    assert study.state != "open"
    assert not CrowdCall.objects.exists()


def test_work_that_pays_nothing_is_not_put_up(prolific: ProlificEmulator) -> None:
    with pytest.raises(WrongState, match=r"crowd\.reward_cents is 0"):
        open_study(study=panel_study(reward_cents=0))


READS = ["list studies", "calculate cost", "get balance", "list groups"]
WRITES = ["create group", "create study", "transition study"]


@pytest.mark.parametrize(
    ("operation", "fault"),
    long_except(
        [*product(READS, [Fault.DROP_BEFORE]), *product(WRITES, LOST)],
        ("get balance", Fault.DROP_BEFORE),
        ("create group", Fault.DROP_AFTER),
        *(("create study", fault) for fault in LOST),
        ("transition study", Fault.CUT_SHORT),
    ),
)
def test_one_study_is_published_whatever_is_lost_on_the_way(
    prolific: ProlificEmulator, operation: str, fault: Fault
) -> None:
    prolific.faults.plan(operation, fault, fault)
    study = panel_study()
    begin_opening(study=study)
    while go_on(study).unsent_count:
        pass
    published = [one for one in prolific.world.studies.values() if one.status != "UNPUBLISHED"]
    assert len(published) == 1
    panel = Panel(study, prolific)
    assert panel.publication.external_id == published[0].id
    assert panel.books() == (PLACES * PRICE, 0) == panel.books_there()


def test_a_runner_that_was_killed_after_publishing_leaves_one_study(prolific: ProlificEmulator) -> None:
    study = panel_study()
    prolific.faults.plan("transition study", Fault.DROP_AFTER)
    prolific.faults.plan("list studies", None, *[Fault.DROP_BEFORE] * 5)
    open_study(study=study)
    call = CrowdCall.objects.get(study=study)
    CrowdCall.objects.filter(pk=call.pk).update(state="started", started_at=timezone.now())
    call.refresh_from_db()
    backend_of(study).carry_out(call)  # its answer dies with the process that asked
    go_on(study)
    assert [one.status for one in prolific.world.studies.values()] == ["ACTIVE"]
    assert Panel(study, prolific).publication.state == Publication.State.PUBLISHED


def test_of_two_drafts_only_the_remembered_one_is_published(prolific: ProlificEmulator) -> None:
    study = panel_study()
    prolific.faults.plan("transition study", Fault.DROP_BEFORE)
    prolific.faults.plan("list studies", None, *[Fault.DROP_BEFORE] * 5)
    open_study(study=study)
    call = CrowdCall.objects.get(study=study)
    [draft] = prolific.world.studies.values()
    assert call.answer == {"draft": draft.id}
    # A request that was thought lost arrives late, and its draft comes first in every list.
    late = type(draft)("0" * 24, dict(draft.fields), draft.created)
    prolific.world.studies = {late.id: late, draft.id: draft}
    go_on(study)
    assert (draft.status, late.status) == ("ACTIVE", "UNPUBLISHED")


def test_who_lost_a_call_to_another_runner_asks_nothing_more(prolific: ProlificEmulator) -> None:
    study = panel_study()
    prolific.faults.plan("list studies", *[Fault.DROP_BEFORE] * 6)
    open_study(study=study)
    call = CrowdCall.objects.get(study=study)
    CrowdCall.objects.filter(pk=call.pk).update(state="started", started_at=timezone.now(), attempts=8)
    call.refresh_from_db()
    CrowdCall.objects.filter(pk=call.pk).update(attempts=9)  # somebody else began meanwhile
    assert not call.store_facts(draft="5d0c")
    call.refresh_from_db()
    assert call.answer == {}
    call.attempts = 8
    with pytest.raises(RetryLater, match="carries"):
        backend_of(study).carry_out(call)
    assert [one.status for one in prolific.world.studies.values()] == ["UNPUBLISHED"]


@pytest.mark.parametrize("fault", long_except([None, *LOST], None, Fault.DROP_AFTER, Fault.THROTTLE))
def test_places_are_added_once(panel: Panel, prolific: ProlificEmulator, fault: Fault | None) -> None:
    prolific.faults.plan("update study", fault)
    ask_to_extend(publication=panel.publication, places=3)
    ask_to_extend(publication=panel.publication, places=2)
    while go_on(panel.study).unsent_count:
        pass
    assert (
        prolific.world.studies[panel.publication.external_id].places == panel.publication.places == PLACES + 5
    )
    assert panel.books() == ((PLACES + 5) * PRICE, 0) == panel.books_there()


def test_places_beyond_the_reservation_are_refused(
    panel: Panel, prolific: ProlificEmulator, settings: Settings
) -> None:
    prolific.world.fee_permille = 428
    ask_to_extend(publication=panel.publication, places=3)
    go_on(panel.study)
    assert "is reserved" in only_call(panel, Ability.EXTEND).problem
    assert panel.publication.places == PLACES
    assert panel.books() == (PLACES * PRICE, 0)


def test_closing_stops_an_empty_study_and_only_pauses_one_with_people_at_work(
    panel: Panel, prolific: ProlificEmulator
) -> None:
    session = panel.arrive("aa1")
    close_study(study=panel.study)
    there = prolific.world.studies[panel.publication.external_id]
    assert there.status == "PAUSED"
    assert panel.publication.state == Publication.State.EXPIRED
    prolific.come_back(panel.came["aa1"], panel.code())  # who was at work may finish
    assert session.publication == panel.publication


def test_closing_a_study_that_nobody_works_on_gives_its_money_back(
    panel: Panel, prolific: ProlificEmulator
) -> None:
    panel.finish("aa1")
    close_study(study=panel.study)
    assert prolific.world.studies[panel.publication.external_id].status == "COMPLETED"
    assert panel.books_there() == (PRICE, 0)
    [seen] = backend_of(panel.study).fetch_publications(panel.study, known=[panel.publication])
    assert (seen.is_over, seen.places, seen.reward_cents) == (True, PLACES, REWARD)
    assert seen.facts == {"status": "COMPLETED", "AWAITING REVIEW": 1}


def test_a_paused_study_goes_on_when_it_is_extended(panel: Panel, prolific: ProlificEmulator) -> None:
    panel.arrive("aa1")
    close_study(study=panel.study)
    ask_to_extend(publication=panel.publication, until=timezone.now() + timedelta(hours=1))
    go_on(panel.study)
    assert prolific.world.studies[panel.publication.external_id].status == "ACTIVE"
    assert panel.publication.state == Publication.State.PUBLISHED


def test_a_stopped_study_opens_again_with_more_places_alone(panel: Panel, prolific: ProlificEmulator) -> None:
    close_study(study=panel.study)
    ask_to_extend(publication=panel.publication, until=timezone.now() + timedelta(hours=1))
    go_on(panel.study)
    assert "places only" in only_call(panel, Ability.EXTEND).problem
    assert prolific.world.studies[panel.publication.external_id].status == "COMPLETED"
    ask_to_extend(publication=panel.publication, places=1)
    go_on(panel.study)
    assert prolific.world.studies[panel.publication.external_id].status == "ACTIVE"
    assert panel.books() == ((PLACES + 1) * PRICE, 0) == panel.books_there()


def test_who_took_part_does_not_see_the_study_that_goes_on_later(
    panel: Panel, prolific: ProlificEmulator
) -> None:
    panel.finish("aa1")
    close_study(study=panel.study)
    set_budget(study=panel.study, platform="prolific", cents=20_000)
    open_study(study=panel.study)
    first, second = prolific.world.studies
    assert Publication.objects.get(number=2).external_id == second
    with refuses(Refusal, second, "aa1"):
        prolific.enter(second, "aa1")
    assert prolific.enter(second, "aa2")
    assert first != second


ASKED: dict[str, Any] = {
    "countries": ["US", "KR"],
    "languages": ["english"],
    "approval_above": 0.95,
    "approved_at_least": 50,
    "devices": ["desktop", "tablet"],
}
FIT: dict[str, Any] = {
    "current-country-of-residence": "South Korea",
    "fluent-languages": ["German", "English"],
    "approval_rate": 96,
    "approval_numbers": 50,
    "device": "tablet",
}


def opened(prolific: ProlificEmulator, workers: dict[str, Any]) -> Panel:
    study = panel_study(workers=workers)
    open_study(study=study)
    return Panel(study, prolific)


def test_only_who_fulfils_what_is_asked_sees_the_study(prolific: ProlificEmulator) -> None:
    panel = opened(prolific, ASKED)
    others: dict[str, dict[str, Any]] = {
        "aa1": {"current-country-of-residence": "Germany"},
        "aa2": {"fluent-languages": ["German"]},
        "aa3": {"approval_rate": 95},
        "aa4": {"approval_numbers": 49},
        "aa5": {"device": "mobile"},
    }
    prolific.world.people |= {name: FIT | other for name, other in others.items()} | {"aa6": FIT}
    for name in others:
        with refuses(Refusal, name, "not see"):
            panel.arrive(name)
    submission, _address = prolific.enter(panel.publication.external_id, "aa6")
    ids = {"PROLIFIC_PID": "aa6", "STUDY_ID": panel.publication.external_id, "SESSION_ID": submission}
    assert 'name="country"' not in entry(panel.study, ids).content.decode()  # Prolific knows it
    _browser, answer = start(panel.study, ids)
    assert answer["Location"] == f"/s/{panel.study.slug}/start/"


def test_a_quota_leaves_room_for_its_groups(prolific: ProlificEmulator) -> None:
    quotas = [
        {"by": "sex", "value": "Female", "share": 3},
        {"by": "sex", "value": "Male", "share": 1},
        {"by": "age", "value": "18-39", "share": 1},
        {"by": "age", "value": "40-99", "share": 1},
    ]
    panel = opened(prolific, {"quotas": quotas})  # of eight places 3, 3, 1 and 1
    for number in range(8):
        prolific.world.people[f"young{number}"] = {"sex": "Male", "age": 25}
        prolific.world.people[f"old{number}"] = {"sex": "Female", "age": 70}
    panel.arrive("young0")
    with refuses(Refusal, "young1"):
        panel.arrive("young1")
    for number in range(3):
        panel.arrive(f"old{number}")
    with refuses(Refusal, "old3"):
        panel.arrive("old3")


@pytest.mark.parametrize(
    ("workers", "problem"),
    [
        (
            {"languages": ["Englsh"]},
            "workers.languages names 'Englsh', which is not among its answers; did you mean 'English'?",
        ),
        ({"countries": ["FR"]}, "workers.countries names 'France', which is not among its answers."),
        ({"quotas": [{"by": "age", "value": "16-30"}]}, "workers.quotas has ages from 16 to 30; it knows 18 to 100."),
    ],
)  # fmt: skip
def test_what_prolific_does_not_know_is_refused_before_anything_is_made(
    prolific: ProlificEmulator, workers: dict[str, Any], problem: str
) -> None:
    study = panel_study(workers=workers)
    with pytest.raises(WrongState) as refused:
        open_study(study=study)
    assert (
        str(refused.value) == f"Study 'shapes-there' was not opened. Nothing was made at Prolific: {problem}"
    )
    study.refresh_from_db()
    assert study.state == "generated"
    assert not CrowdCall.objects.exists()
    assert not prolific.world.studies


def test_prolific_is_asked_again_where_it_was_away(prolific: ProlificEmulator) -> None:
    study = panel_study(workers={"countries": ["FR"]})
    prolific.faults.plan("list filters", Fault.ERROR_BEFORE)
    with pytest.raises(WrongState, match="accepted none"):
        open_study(study=study)
    call = CrowdCall.objects.get(study=study)
    assert (call.state, "'France'" in call.problem) == ("parked", True)
    assert not prolific.world.studies
