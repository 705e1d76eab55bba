"""Money over HTTP: looked at first, confirmed once, by who may spend it and with a token that says so."""

import json
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.test import Client, override_settings

from annotation.crowds.opening import open_study
from annotation.crowds.sessions import open_session, worker_for_crowd_id
from annotation.crowds.sync.schedule import SYNC
from annotation.models import Budget, CrowdCall, CrowdSession, LedgerEntry, MoneyRequest
from annotation.money import bookings, ledger
from annotation.money.wages import Pay
from annotation.privacy.erasing import erase_person
from annotation.work.joining import join_from_crowd
from common.errors import WrongState
from config.checks import LIVE_HOST, SANDBOX_HOST, check_mechanical_turk
from judgments.models import Job, Study, StudyEvent
from tests.annotation.casting import make_dataset
from tests.annotation.crowds.framing import approved_ada, funded_study, study_at_mturk
from tests.annotation.crowds.turking import emulated, make_turk_study, one_hit, settings_for, sync
from tests.doors import DOORS, Call, by_page, key_of, of_role
from tests.fakes.mturk import MTurkEmulator
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return funded_study()


@pytest.fixture
def owner() -> dict[str, str]:
    return key_of(User.objects.create_superuser("designer"))


@pytest.fixture
def ada(study: Study) -> str:
    """Somebody whose work was approved; the name they have here."""
    return approved_ada(study).worker.name


def look(path: str, headers: dict[str, str], **asked: Any) -> Any:
    return Client().get(f"/api/{path}?{urlencode(asked)}", headers=headers)


def send(path: str, headers: dict[str, str], body: Any, key: str = "k1") -> Any:
    named = headers | ({"Idempotency-Key": key} if key else {})
    return Client().post(f"/api/{path}", json.dumps(body), content_type="application/json", headers=named)


def bonus(study: Study, headers: dict[str, str], worker: str, cents: int = 50, **about: Any) -> Any:
    """Look, and confirm."""
    path = f"studies/{study.slug}/bonus/"
    shown = look(path, headers, worker=worker, cents=cents).json()
    body = {"worker": worker, "cents": cents, "why": "Thanks.", "confirm": shown["confirm"]}
    return send(path, headers, body | about.pop("body", {}), **about)


def books(study: Study) -> tuple[Any, ...]:
    """All that must not have moved."""
    return (
        list(Budget.objects.filter(study=study).values_list()),
        LedgerEntry.objects.count(),
        list(CrowdCall.objects.order_by("pk").values_list("pk", "state", "reserved_cents")),
        MoneyRequest.objects.count(),
    )


def refused(answer: Any, status: int, said: str) -> None:
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json"), (
        answer.content
    )
    assert said in answer.json()["detail"]


def test_a_bonus_is_looked_at_and_then_paid_and_nothing_moves_before(
    study: Study, owner: dict[str, str], ada: str
) -> None:
    before = books(study)
    shown = look(f"studies/{study.slug}/bonus/", owner, worker=ada, cents=50)
    told = shown.json()
    assert (shown.status_code, told["bonus_cents"], told["fee_cents"], told["total_cents"]) == (
        200,
        50,
        10,
        60,
    )
    assert (told["left_cents"], told["enough"]) == (10_000, True)
    assert books(study) == before
    done = bonus(study, owner, ada)
    assert done.status_code == 202, done.content
    call = CrowdCall.objects.get(kind="bonus")
    assert done.json() == {
        "step": "bonus",
        "total_cents": 60,
        "currency": "USD",
        "left_cents": 9_940,
        "calls": [call.pk],
    }
    assert (call.state, call.reserved_cents, call.why, call.worker and call.worker.name) == (
        "waiting", 60, "Thanks.", ada,
    )  # fmt: skip
    assert Job.objects.filter(kind="sync_crowd", args__study=study.slug, state="queued").count() == 1
    event = StudyEvent.objects.get(study=study, what="bonus")
    assert event.by is not None
    assert event.by.username == "designer"


def test_the_same_request_again_is_answered_the_same_and_pays_nothing(
    study: Study, owner: dict[str, str], ada: str
) -> None:
    path = f"studies/{study.slug}/bonus/"
    confirm = look(path, owner, worker=ada, cents=50).json()["confirm"]
    body = {"worker": ada, "cents": 50, "why": "Thanks.", "confirm": confirm}
    first, again = send(path, owner, body), send(path, owner, body, key='"k1"')
    assert (again.status_code, again.json()) == (first.status_code, first.json()) == (202, first.json())
    assert ("Idempotency-Replayed" in first, again["Idempotency-Replayed"]) == (False, "true")
    assert CrowdCall.objects.filter(kind="bonus").count() == 1
    before = books(study)
    refused(send(path, owner, body | {"cents": 51}), 422, "came before with another request")
    refused(send(path, owner, body, key="k2"), 409, "not what was confirmed")  # one bonus was asked for since
    assert books(study) == before


def test_two_accounts_may_use_the_same_key(study: Study, owner: dict[str, str], ada: str) -> None:
    assert bonus(study, owner, ada).status_code == 202
    assert bonus(study, of_role(study, "designer"), ada).status_code == 202
    assert CrowdCall.objects.filter(kind="bonus").count() == 2


def test_what_is_not_confirmed_as_it_was_shown_is_refused(
    study: Study, owner: dict[str, str], ada: str
) -> None:
    before = books(study)
    wrong: list[tuple[dict[str, Any], str, int, str]] = [
        ({}, "", 400, "Idempotency-Key: is missing"),
        ({}, "x" * 201, 400, "Idempotency-Key: is missing or none"),
        ({"confirm": None}, "k", 400, "confirm: "),
        ({"confirm": "made-up"}, "k", 409, "Look at the preview again"),
        ({"cents": 51}, "k", 409, "it would now cost 0.61"),
        ({"cents": "50"}, "k", 400, "cents: "),
        ({"why": " "}, "k", 400, "why: "),
        ({"worker": "nobody"}, "k", 404, "no participant 'nobody' took part"),
    ]
    for body, key, status, said in wrong:
        refused(bonus(study, owner, ada, body=body, key=key), status, said)
    assert books(study) == before


def test_a_bonus_beyond_the_budget_is_refused_and_the_key_is_free_for_later(
    study: Study, owner: dict[str, str], ada: str
) -> None:
    told = look(f"studies/{study.slug}/bonus/", owner, worker=ada, cents=9_000).json()
    assert (told["total_cents"], told["enough"]) == (10_800, False)
    before = books(study)
    refused(bonus(study, owner, ada, 9_000), 409, "100.00 USD is left")
    assert books(study) == before
    ledger.set_budget(study=study, platform=study.platform, cents=20_000)
    assert bonus(study, owner, ada, 9_000).status_code == 202


def test_who_looks_at_an_amount_that_is_none_is_told(study: Study, owner: dict[str, str], ada: str) -> None:
    path = f"studies/{study.slug}/bonus/"
    refused(look(path, owner, worker=ada, cents="1.5"), 400, "cents: ")
    refused(look(path, owner, cents=5), 400, "worker: ")
    refused(look(path, owner, worker="a\x00b", cents=5), 400, "worker: ")  # PostgreSQL's limit
    refused(look(path, owner, worker=ada, cents=0), 400, "cents: ")


def test_the_page_says_the_same_of_a_mistake(study: Study, owner: dict[str, str], ada: str) -> None:
    path = f"studies/{study.slug}/bonus/"
    for name, amount, why in (
        ("nobody", "0.50", "Thanks."),
        (ada, "0.50", " "),
        (ada, "0", "x"),
        (ada, "95", "x"),
    ):
        cents = int(Decimal(amount) * 100)
        call = Call("bonus", "", "", {"worker": name, "amount": amount, "why": why})
        page = by_page(study, call, User.objects.get(username="designer"))
        confirm = look(path, owner, worker=name, cents=cents).json().get("confirm", "x")
        http = send(path, owner, {"worker": name, "cents": cents, "why": why, "confirm": confirm})
        assert (page.done, http.status_code >= 400) == (False, True)
        assert page.sentence == http.json()["detail"]
    assert not CrowdCall.objects.filter(kind="bonus").exists()


def test_top_ups_are_paid_as_they_were_shown(
    study: Study, owner: dict[str, str], ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = CrowdSession.objects.get(study=study)
    lacking = [25]

    def pays(_study: Study) -> list[Pay]:
        asked = CrowdCall.objects.filter(kind="bonus").exists()
        cents = 0 if asked else lacking[0]
        return [Pay(session.pk, ada, 60.0, 30, 0, 100, cents, True)]

    monkeypatch.setattr("annotation.money.previews.pay_of_sessions", pays)
    monkeypatch.setattr("annotation.money.payments.pay_of_sessions", pays)
    path = f"studies/{study.slug}/top-up/"
    shown = look(path, owner).json()
    assert (shown["payments"], shown["bonus_cents"], shown["total_cents"]) == (1, 25, 30)
    lacking[0] = 40  # somebody's time became known since
    refused(
        send(path, owner, {"why": "The floor.", "confirm": shown["confirm"]}),
        409,
        "it would now cost 0.48 USD",
    )
    shown = look(path, owner).json()
    done = send(path, owner, {"why": "The floor.", "confirm": shown["confirm"]})
    assert (done.status_code, done.json()["total_cents"]) == (202, 48)
    assert CrowdCall.objects.get(kind="bonus").payload["bonus_cents"] == 40
    nothing = look(path, owner).json()
    assert nothing["total_cents"] == 0
    late = send(path, owner, {"why": "x", "confirm": nothing["confirm"]}, key="k2")
    refused(late, 409, "no approved work is below")


def test_a_top_up_beyond_the_budget_does_not_block_those_of_others(
    study: Study, owner: dict[str, str], ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = CrowdSession.objects.get(study=study)
    worker = worker_for_crowd_id(study=study, crowd_id="A1BOB", id_name="WorkerId")
    join_from_crowd(study=study, worker=worker, consent=True)
    second = open_session(publication=first.publication, worker=worker, external_id="3BOB")
    CrowdSession.objects.filter(pk=second.pk).update(status="approved", confirmed=True)

    def pays(_study: Study) -> list[Pay]:
        asked = set(CrowdCall.objects.filter(kind="bonus").values_list("session", flat=True))
        every = [
            Pay(first.pk, ada, 60.0, 30, 0, 100, 20_000, True),
            Pay(second.pk, worker.name, 60.0, 30, 0, 100, 25, True),
        ]
        return [pay for pay in every if pay.session not in asked]

    monkeypatch.setattr("annotation.money.previews.pay_of_sessions", pays)
    monkeypatch.setattr("annotation.money.payments.pay_of_sessions", pays)
    path = f"studies/{study.slug}/top-up/"
    shown = look(path, owner).json()
    done = send(path, owner, {"why": "The floor.", "confirm": shown["confirm"]}).json()
    assert (done["total_cents"], done["left_out"], len(done["calls"])) == (30, [ada], 1)
    alone = look(path, owner, worker=ada).json()
    assert (alone["payments"], alone["bonus_cents"]) == (1, 20_000)
    late = send(path, owner, {"worker": ada, "why": "x", "confirm": alone["confirm"]}, key="k2")
    refused(late, 409, "nothing was booked")
    stand_in = erase_person(study=study, worker=first.worker).names[ada]
    again = send(path, owner, {"why": "The floor.", "confirm": shown["confirm"]}).json()
    assert again == done | {"left_out": [stand_in]}


def test_a_budget_is_set_once_it_was_looked_at(study: Study, owner: dict[str, str]) -> None:
    path = f"studies/{study.slug}/budget/"
    shown = look(path, owner, cents=12_050).json()
    assert (shown["budget_cents_before"], shown["total_cents"]) == (10_000, 2_050)
    done = send(path, owner, {"cents": 12_050, "why": "More people.", "confirm": shown["confirm"]})
    assert (done.status_code, done.json()["left_cents"]) == (202, 12_050)
    assert Budget.objects.get(study=study).budget_cents == 12_050
    stale = send(path, owner, {"cents": 12_050, "confirm": shown["confirm"]}, key="k2")
    refused(stale, 409, "this is not what was confirmed")


def test_a_budget_below_what_is_kept_stays(study: Study, owner: dict[str, str], ada: str) -> None:
    bonus(study, owner, ada)
    path = f"studies/{study.slug}/budget/"
    before = books(study)
    shown = look(path, owner, cents=59).json()
    refused(
        send(path, owner, {"cents": 59, "confirm": shown["confirm"]}, key="k2"), 409, "0.60 USD is reserved"
    )
    assert books(study) == before


def parked(study: Study, *, unsure: bool, kept: int = 0) -> CrowdCall:
    session = CrowdSession.objects.get(study=study)
    call = CrowdCall.objects.create(
        study=study, platform=study.platform, kind="bonus", key="k", state="parked", problem="The answer was lost.",
        session=session, worker=session.worker, answer={"unsure": True} if unsure else {},
        payload={"bonus_cents": 50, "cents": 60},
    )  # fmt: skip
    bookings.reserve_for_call(call=call, cents=kept)
    return call


def test_a_payment_that_failed_is_tried_again_with_its_money_kept_anew(
    study: Study, owner: dict[str, str], ada: str
) -> None:
    call = parked(study, unsure=False)
    path = f"crowd-calls/{call.pk}/retry/"
    shown = look(path, owner).json()
    assert (shown["kind"], shown["total_cents"]) == ("bonus", 60)
    confirmed = {"confirm": shown["confirm"], "why": "the line was down"}
    done = send(path, owner, confirmed)
    assert (done.status_code, done.json()["calls"], done.json()["left_cents"]) == (202, [call.pk], 9_940)
    call.refresh_from_db()
    assert (call.state, call.reserved_cents) == ("waiting", 60)
    assert send(path, owner, confirmed)["Idempotency-Replayed"] == "true"
    refused(look(path, owner), 409, "only failed requests")
    event = StudyEvent.objects.get(study=study, what="call-retried")
    assert event.by is not None
    assert event.why == "the line was down"


def test_of_what_nobody_can_tell_it_is_said_whether_it_was_done(
    study: Study, owner: dict[str, str], ada: str
) -> None:
    call = parked(study, unsure=True, kept=60)
    refused(
        look(f"crowd-calls/{call.pk}/retry/", owner), 409, "resolve this request is was-done or was-not-done"
    )
    path = f"crowd-calls/{call.pk}/was-done/"
    shown = look(path, owner).json()
    assert shown["total_cents"] == 0
    body = {"confirm": shown["confirm"], "why": "their list has it"}
    assert send(path, owner, body).status_code == 202
    call.refresh_from_db()
    assert (call.state, call.reserved_cents) == ("done", 0)
    assert StudyEvent.objects.get(study=study, what="looked").why == "their list has it"
    assert Budget.objects.get(study=study).spent_cents == 60


def test_a_publish_call_of_unknown_outcome_is_tried_again_and_not_marked_as_done(
    study: Study, owner: dict[str, str], ada: str
) -> None:
    call = parked(study, unsure=True)
    CrowdCall.objects.filter(pk=call.pk).update(kind="publish")
    refused(
        look(f"crowd-calls/{call.pk}/was-done/", owner), 409, "resolve this request is retry or was-not-done"
    )
    assert look(f"crowd-calls/{call.pk}/retry/", owner).status_code == 200


def test_what_was_not_done_is_asked_for_again(study: Study, owner: dict[str, str], ada: str) -> None:
    call = parked(study, unsure=True, kept=60)
    path = f"crowd-calls/{call.pk}/was-not-done/"
    body = {"confirm": look(path, owner).json()["confirm"], "why": "their list lacks it"}
    assert send(path, owner, body).status_code == 202
    call.refresh_from_db()
    assert (call.state, call.reserved_cents) == ("waiting", 60)
    assert StudyEvent.objects.get(study=study, what="looked").why == "their list lacks it"


def test_only_who_may_spend_a_study_s_money_looks_and_pays(
    study: Study, owner: dict[str, str], ada: str
) -> None:
    call = parked(study, unsure=False)
    confirm = look(f"studies/{study.slug}/bonus/", owner, worker=ada, cents=50).json()["confirm"]
    body = {"worker": ada, "cents": 50, "why": "x", "confirm": confirm}
    before = books(study)
    for role in ("viewer", "reviewer"):
        headers = of_role(study, role)
        assert look(f"studies/{study.slug}/bonus/", headers, worker=ada, cents=50).status_code == 403
        assert send(f"studies/{study.slug}/bonus/", headers, body).status_code == 403
        assert send(f"crowd-calls/{call.pk}/retry/", headers, {"confirm": "x"}).status_code == 403
    stranger = key_of(User.objects.create_user("stranger", is_staff=True))
    for path in (
        f"studies/{study.slug}/bonus/",
        f"studies/{study.slug}/budget/",
        f"crowd-calls/{call.pk}/retry/",
    ):
        assert send(path, stranger, body).status_code in (403, 404)
        assert send(path, {}, body).status_code == 401
    assert books(study) == before
    assert bonus(study, of_role(study, "designer"), ada).status_code == 202


def test_a_token_without_the_scope_looks_at_most(study: Study, ada: str) -> None:
    user = User.objects.create_superuser("grace")
    reads, writes = key_of(user, "money:read"), key_of(user, "studies:write", "workers:write")
    before = books(study)
    refused(bonus(study, reads, ada), 403, "lacks the scope money:write")
    refused(look(f"studies/{study.slug}/budget/", writes, cents=5), 403, "lacks the scope money:read")
    assert books(study) == before
    assert bonus(study, key_of(user, "money:write"), ada).status_code == 202


def test_a_token_of_another_study_finds_nothing(study: Study, owner: dict[str, str], ada: str) -> None:
    other = study_at_mturk(make_dataset("more", pictures=False), slug="other")
    user = User.objects.create_superuser("grace")
    answer = look(f"studies/{study.slug}/top-up/", key_of(user, "money:write", studies=[other]))
    refused(answer, 404, "There is no study")


FINE: dict[str, Any] = {"MTURK_LIVE": True, "PUBLIC_URL": "https://quorum.example.org", "DEBUG": False}


def found(**settings: Any) -> set[str]:
    with override_settings(**settings):
        return {str(one.id) for one in run_checks() if str(one.id) >= "quorum.E010"} - {
            "quorum.W001",
            "quorum.W002",
        }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, set()),
        (FINE, set()),
        (FINE | {"MTURK_ENDPOINT": f"https://{SANDBOX_HOST}"}, {"quorum.E010"}),
        ({"MTURK_ENDPOINT": f"https://{LIVE_HOST}"}, {"quorum.E011"}),
        (FINE | {"DEBUG": True}, {"quorum.E012"}),
        (FINE | {"PUBLIC_URL": "http://quorum.example.org"}, {"quorum.W010"}),
        (FINE | {"PUBLIC_URL": "https://localhost"}, {"quorum.W010"}),
    ],
)
def test_settings_that_could_spend_by_mistake_are_named(settings: dict[str, Any], said: set[str]) -> None:
    with override_settings(**settings):
        assert {one.id for one in check_mechanical_turk()} == said


def test_a_live_study_that_is_up_while_the_setting_is_off_is_named(db: None) -> None:
    with emulated() as turk, settings_for(turk, MTURK_LIVE=True, PUBLIC_URL="https://quorum.example.org"):
        study = one_hit(crowd={"live": True})
        said = open_study(study=study)
        assert said.endswith("Their work there costs real money.")
        assert study.platform == "mturk-live"
        assert run_checks(databases=["default"], tags=["database"]) == []
        with override_settings(MTURK_LIVE=False):
            (warning,) = run_checks(databases=["default"], tags=["database"])
            assert warning.id == "quorum.W011"
            before = len(turk.calls())
            assert [one.kind for one in sync(study).discrepancies] == ["not-looked-at"]
            assert len(turk.calls()) == before
            with pytest.raises(WrongState, match="MTURK_LIVE is off"):
                open_study(study=study)


@pytest.mark.parametrize(("setting", "study"), [(True, False), (False, True), (False, False)])
def test_it_is_the_sandbox_unless_the_setting_and_the_study_both_say_live(
    setting: bool, study: bool, db: None
) -> None:
    with emulated() as turk, settings_for(turk, MTURK_LIVE=setting):
        made = one_hit(crowd={"live": study})
        open_study(study=made)
        assert made.platform == "mturk-sandbox"


def test_the_sandboxs_client_never_speaks_to_the_live_address(db: None) -> None:
    with (
        emulated() as turk,
        settings_for(turk, MTURK_ENDPOINT=f"https://{LIVE_HOST}", PUBLIC_URL="https://quorum.example.org"),
    ):
        study = one_hit()
        with refuses(WrongState, "mturk-live"):
            open_study(study=study)


PAUSE = Call("pause", "pause", "pause_study", {"why": "lunch"})


@pytest.mark.parametrize("door", DOORS)
def test_pausing_takes_the_work_down_at_the_crowd(door: str, turk: MTurkEmulator) -> None:
    study = make_turk_study()
    open_study(study=study)
    assert DOORS[door](study, PAUSE, User.objects.create_superuser("lead")).done
    calls = CrowdCall.objects.filter(study=study, kind="expire")
    assert calls.exists()
    waits = door == "page"
    assert {call.state for call in calls} == {CrowdCall.State.WAITING if waits else CrowdCall.State.DONE}
    assert Job.objects.filter(kind=SYNC, args__study=study.slug).exists() == waits
