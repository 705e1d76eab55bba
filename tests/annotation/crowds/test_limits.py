"""Limits above studies: who is stopped, at what sum, and what a second person confirms."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.crowds.claims import claim_for_session
from annotation.crowds.sessions import open_session, worker_for_crowd_id
from annotation.models import (
    Assignment,
    Commitment,
    CrowdCall,
    CrowdSession,
    LedgerEntry,
    Publication,
    SpendingLimit,
    SpendingRequest,
)
from annotation.money import bookings, ledger, limits
from annotation.money.orders import refuse_request
from annotation.money.payments import pay_bonus
from annotation.privacy.erasing import erase_person
from annotation.work.joining import join_from_crowd
from annotation.work.operations import pause_study
from evaluation.data.invariants.money import budgets_are_what_their_ledger_says
from judgments.models import Study, StudyRole
from tests.annotation.casting import make_dataset
from tests.annotation.crowds.framing import approved_ada, study_at_mturk
from tests.annotation.crowds.panels import panel_study
from tests.annotation.test_erasure import all_text
from tests.doors import key_of, signed_in
from tests.installations import Installation
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
PAGE = "/admin/annotation/spendinglimit/"


def person(name: str, *permissions: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def send(path: str, user: User, body: Any = None, key: str = "k") -> Any:
    headers = {**key_of(user), "Idempotency-Key": key}
    return Client().post(
        f"/api/{path}", json.dumps(body or {}), content_type="application/json", headers=headers
    )


@pytest.fixture
def study() -> Study:
    """Open at the sandbox, with a budget of 100.00 and an owner called olga."""
    made = study_at_mturk(make_dataset(pictures=False))
    ledger.set_budget(study=made, platform=made.platform, cents=10_000)
    StudyRole.objects.create(study=made, user=person("olga"), role="owner")
    return made


@pytest.fixture
def olga(study: Study) -> User:
    return User.objects.get(username="olga")


@pytest.fixture
def ada(study: Study) -> CrowdSession:
    return approved_ada(study)


def limit(account: User | None = None, **cents: int | None) -> SpendingLimit:
    return SpendingLimit.objects.create(account=account, currency="USD", **cents)


def bonus(study: Study, user: User, session: CrowdSession, cents: int, key: str = "k") -> Any:
    path = f"studies/{study.slug}/bonus/"
    shown = (
        Client().get(f"/api/{path}?worker={session.worker.name}&cents={cents}", headers=key_of(user)).json()
    )
    body = {"worker": session.worker.name, "cents": cents, "why": "Thanks.", "confirm": shown["confirm"]}
    return send(path, user, body, key)


def test_an_account_is_stopped_at_its_limit_and_told_what_it_is(
    study: Study, olga: User, ada: CrowdSession
) -> None:
    limit(account_total_cents=100)
    assert bonus(study, olga, ada, 50).status_code == 202  # 60 with the fee
    before = LedgerEntry.objects.count()
    refused = bonus(study, olga, ada, 50, key="2")
    assert refused.status_code == 409
    assert refused.json()["detail"] == (
        "Nothing was done: the limit of the account olga for all time is 1.00 USD; 0.60 USD is committed, and this "
        "asks for 0.60 USD."
    )
    assert (LedgerEntry.objects.count(), CrowdCall.objects.filter(kind="bonus").count()) == (before, 1)
    limit(olga, total_cents=120)  # the account's own limit holds instead
    assert bonus(study, olga, ada, 50, key="3").status_code == 202


def test_a_day_counts_what_was_asked_for_since_midnight(study: Study, olga: User, ada: CrowdSession) -> None:
    budget = ledger.budget_of(study, study.platform)
    LedgerEntry.objects.create(
        budget=budget,
        key="before",
        what="reserve",
        reserved_cents=500,
        by=olga,
        at=timezone.now() - timedelta(days=2),
    )
    own = limit(account_day_cents=59)
    refused = bonus(study, olga, ada, 50)
    assert "for a day is 0.59 USD; 0.00 USD is committed" in refused.json()["detail"]
    SpendingLimit.objects.filter(pk=own.pk).update(account_day_cents=60)
    assert bonus(study, olga, ada, 50).status_code == 202


def test_a_day_begins_at_midnight_of_the_server_in_every_zone(study: Study, olga: User) -> None:
    """Else a reader's zone, which a cookie names, would empty the sum of the day."""
    budget = ledger.budget_of(study, study.platform)
    first = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    LedgerEntry.objects.create(
        budget=budget, key="first", what="reserve", reserved_cents=50, by=olga, at=first
    )
    for zone in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        with timezone.override(zone):
            assert limits.cents_committed_today(budget.currency, olga.pk) == 50, zone


def test_the_installation_has_a_limit_of_its_own_and_none_in_another_currency(
    study: Study, olga: User, ada: CrowdSession
) -> None:
    own = limit(total_cents=ledger.budget_of(study, study.platform).reserved_cents + 59)
    refused = bonus(study, olga, ada, 50)
    assert "the limit of this installation for all time" in refused.json()["detail"]
    SpendingLimit.objects.filter(pk=own.pk).update(currency="EUR")
    refused = bonus(study, olga, ada, 50)
    assert "none in USD" in refused.json()["detail"]


def test_what_is_asked_at_once_is_refused_at_once(study: Study, olga: User) -> None:
    limit(account_total_cents=1)
    before = list(CrowdCall.objects.values_list("pk"))
    body = {"workers": 1, "why": "More."}
    refused = send(f"studies/{study.slug}/extend/", olga, body)
    hits = study.hits.count()
    assert (refused.status_code, hits > 1) == (409, True)
    price = Publication.objects.filter(study=study)[0].price_cents
    assert f"this asks for {ledger.spell_cents(hits * price, 'USD')}." in refused.json()["detail"]
    assert list(CrowdCall.objects.values_list("pk")) == before
    assert not study.hits.filter(extra__gt=0).exists()


def test_each_entry_names_who_moved_money_and_by_which_door(
    study: Study, olga: User, ada: CrowdSession
) -> None:
    bonus(study, olga, ada, 50)
    entry = LedgerEntry.objects.latest("pk")
    assert (entry.by, entry.door, entry.request) == (olga, "api", f"POST /api/studies/{study.slug}/bonus/")
    shown = Client().get("/api/ledger/?ordering=-id", headers=key_of(olga)).json()["results"][-1]
    assert (shown["by"], shown["door"], shown["currency"]) == ("olga", "api", "USD")
    assert Commitment.objects.get(account=olga).cents == 60
    call = CrowdCall.objects.get(kind="bonus")
    bookings.release_reservation(call=call)
    assert Commitment.objects.get(account=olga).cents == 0
    assert list(budgets_are_what_their_ledger_says()) == []


@pytest.fixture
def asked(study: Study, olga: User, ada: CrowdSession) -> SpendingRequest:
    """A bonus of 50 (60 with the fee), where a second person confirms what is above 59."""
    limit(confirm_cents=59)
    answer = bonus(study, olga, ada, 50)
    assert answer.status_code == 202
    found = SpendingRequest.objects.get(pk=answer.json()["request"])
    assert (found.cents, found.currency, found.asked_by, found.state) == (60, "USD", olga, "waiting")
    assert not CrowdCall.objects.filter(kind="bonus").exists()
    return found


def confirmer(name: str = "carl") -> User:
    return person(name, "confirm_spending", "view_spendinglimit")


def test_another_account_confirms_once_and_who_asked_cannot(
    study: Study, olga: User, asked: SpendingRequest
) -> None:
    path = f"spending-requests/{asked.pk}/confirm/"
    assert send(path, olga).status_code == 403
    olga.user_permissions.add(Permission.objects.get(codename="confirm_spending"))
    refused = send(path, olga)
    assert (refused.status_code, "your own spending" in refused.json()["detail"]) == (
        409,
        True,
    )
    carl = confirmer()
    done = send(path, carl)
    assert (done.status_code, done.json()["state"], done.json()["decided_by"]) == (200, "done", "carl")
    assert send(path, carl).status_code == 409
    call = CrowdCall.objects.get(kind="bonus")
    assert (call.made_by, call.reserved_cents) == (olga, 60)
    assert Commitment.objects.get(account=olga).cents == 60


def test_a_study_is_opened_once_a_second_person_confirms(olga: User) -> None:
    draft = panel_study(opened=False, dataset="others", slug="others")
    StudyRole.objects.create(study=draft, user=olga, role="owner")
    SpendingLimit.objects.create(currency="GBP", confirm_cents=100)
    for key in ("k", "again"):  # asked for twice, it is one request
        answer = send(f"studies/{draft.slug}/open/", olga, key=key)
        assert answer.status_code == 202
    draft.refresh_from_db()
    assert (draft.state, SpendingRequest.objects.count()) == ("generated", 1)
    done = send(f"spending-requests/{answer.json()['request']}/confirm/", confirmer())
    assert (done.status_code, done.json()["state"]) == (200, "done")
    draft.refresh_from_db()
    assert draft.state == "open"


def test_rejected_work_is_approved_once_a_second_person_confirms(study: Study, olga: User) -> None:
    """Approving it costs its pay anew: 0.12 with the fee for each of two."""
    StudyRole.objects.create(study=study, user=person("rhea"), role="reviewer")
    pages = []
    for number, up in enumerate(Publication.objects.filter(study=study).order_by("pk")[:2]):
        worker = worker_for_crowd_id(study=study, crowd_id=f"A1BOB{number}", id_name="WorkerId")
        join_from_crowd(study=study, worker=worker, consent=True)
        session = open_session(publication=up, worker=worker, external_id=f"3BOB{number}")
        assert up.hit is not None
        claim = claim_for_session(session=session, hit=up.hit)
        Assignment.objects.filter(pk=claim.assignment.pk).update(
            state="rejected", submitted_at=timezone.now()
        )
        CrowdSession.objects.filter(pk=session.pk).update(
            status="rejected", booked="released", confirmed=True
        )
        pages.append(str(claim.assignment.pk))
    cents = sum(up.price_cents for up in Publication.objects.filter(study=study).order_by("pk")[:2])
    limit(confirm_cents=cents - 1)
    rhea = User.objects.get(username="rhea")
    asked = send(f"studies/{study.slug}/approve/", rhea, {"assignments": pages})
    assert (asked.status_code, asked.json()["total_cents"]) == (202, cents)
    assert not CrowdCall.objects.exists()
    done = send(f"spending-requests/{asked.json()['request']}/confirm/", confirmer())
    assert (done.status_code, done.json()["state"]) == (200, "done"), done.json()
    calls = CrowdCall.objects.filter(kind="approve")
    assert [(one.made_by, one.reserved_cents) for one in calls] == [(rhea, cents // 2)] * 2


def test_a_request_is_void_once_the_situation_has_changed(
    study: Study, olga: User, ada: CrowdSession, asked: SpendingRequest
) -> None:
    pay_bonus(session=ada, cents=1, why="Before.", by=olga)
    refused = send(f"spending-requests/{asked.pk}/confirm/", confirmer())
    assert (refused.status_code, "The request is void" in refused.json()["detail"]) == (409, True)
    asked.refresh_from_db()
    assert (asked.state, CrowdCall.objects.filter(kind="bonus").count()) == ("void", 1)


def test_what_is_ordered_again_after_a_change_can_be_confirmed(
    study: Study, olga: User, ada: CrowdSession, asked: SpendingRequest
) -> None:
    """The first request is void, since who read its sum must not confirm another one."""
    pause_study(study=study, why="To look.", by=olga)
    again = bonus(study, olga, ada, 50, key="again").json()["request"]
    asked.refresh_from_db()
    assert (again != asked.pk, asked.state, asked.words) == (
        True,
        "void",
        "The same was ordered again after the study had changed.",
    )
    assert bonus(study, olga, ada, 50, key="third").json()["request"] == again
    done = send(f"spending-requests/{again}/confirm/", confirmer())
    assert (done.status_code, done.json()["state"]) == (200, "done")
    assert CrowdCall.objects.get(kind="bonus").reserved_cents == 60


def test_an_order_about_somebody_who_is_erased_names_nobody_and_pays_nobody(
    study: Study, olga: User, ada: CrowdSession, asked: SpendingRequest
) -> None:
    refuse_request(request_id=asked.pk, by=olga, why=f"{ada.worker} was paid before.")
    again = bonus(study, olga, ada, 50, key="again").json()["request"]
    erase_person(study=study, worker=ada.worker)
    assert ada.worker.name not in all_text()
    refused = send(f"spending-requests/{again}/confirm/", confirmer())
    assert (refused.status_code, "The request is void" in refused.json()["detail"]) == (409, True)
    assert not CrowdCall.objects.filter(kind="bonus").exists()


def test_the_page_shows_limits_and_requests_and_confirms(
    study: Study, olga: User, asked: SpendingRequest
) -> None:
    client = signed_in(confirmer())
    shown = client.get(PAGE)
    text = shown.content.decode()
    assert (shown.status_code, "0.60\xa0USD" in text, "olga" in text, study.slug in text) == (
        200,
        True,
        True,
        True,
    )
    decide = reverse("admin:annotation_spendingrequest_decide", args=[asked.pk, "confirm"])
    assert client.post(decide).status_code == 302
    assert CrowdCall.objects.get(kind="bonus").reserved_cents == 60
    stranger = signed_in(olga)
    assert (stranger.get(PAGE).status_code, stranger.post(decide).status_code) == (403, 403)


def test_an_address_with_another_word_decides_nothing(asked: SpendingRequest) -> None:
    client = signed_in(confirmer())
    for word in ("confrim", "Confirm", "delete"):
        decide = reverse("admin:annotation_spendingrequest_decide", args=[asked.pk, word])
        assert client.post(decide).status_code == 404
    asked.refresh_from_db()
    assert asked.state == "waiting"
    refuse = reverse("admin:annotation_spendingrequest_decide", args=[asked.pk, "refuse"])
    assert client.post(refuse).status_code == 302
    asked.refresh_from_db()
    assert asked.state == "refused"


def test_an_owner_of_the_installation_sets_limits_as_amounts(
    study: Study, olga: User, ada: CrowdSession
) -> None:
    client = signed_in(User.objects.create_superuser("root"))
    client.post(f"{PAGE}add/", {"account": olga.pk, "currency": "USD", "day_cents": "1.10"})
    assert set(SpendingLimit.objects.values_list("account__username", "day_cents")) == {
        ("olga", 110),
        (None, None),
    }
    wrong = client.post(f"{PAGE}add/", {"account": olga.pk, "currency": "EUR", "confirm_cents": "5"})
    assert "of the whole installation" in wrong.content.decode()
    assert "1.10\xa0USD" in client.get(PAGE).content.decode()
    told = Client().get("/api/spending/", headers=key_of(User.objects.get(username="root"))).json()
    assert {(one["account"], one["day_cents"]) for one in told} == {("", None), ("olga", 110)}


def test_a_call_and_a_command_set_limits_as_the_page_does(olga: User) -> None:
    root = User.objects.create_superuser("root")

    def put(user: User, **body: Any) -> Any:
        sent = json.dumps(body)
        return Client().put("/api/spending/", sent, content_type="application/json", headers=key_of(user))

    assert put(olga, currency="USD", day_cents=1).status_code == 403
    told = put(root, account="olga", currency="USD", day_cents=110).json()
    assert {(one["account"], one["day_cents"]) for one in told} == {("", None), ("olga", 110)}
    wrong = put(root, account="olga", currency="USD", confirm_cents=5)
    assert "of the whole installation" in wrong.json()["detail"]
    assert put(root, account="nobody", currency="USD").status_code == 404
    assert put(root, currency="usd").status_code == 400
    with pytest.raises(CommandError, match="installation"):
        call_command("set_limits", by="root", account="olga", currency="USD", confirm_cents="5")
    with refuses(CommandError, "olga"):
        call_command("set_limits", "--by", "olga", "--currency", "USD", "--confirm-cents", "700")
    call_command("set_limits", "--by", "root", "--currency", "USD", "--confirm-cents", "700")
    put(root, account="olga", currency="USD", total_cents=9)
    rows = SpendingLimit.objects.values_list("account__username", "day_cents", "total_cents", "confirm_cents")
    assert set(rows) == {("olga", None, 9, None), (None, None, None, 700)}
    logged = LogEntry.objects.order_by("pk").values_list("user__username", "object_repr", "change_message")
    told = [(who, what, re.findall(r"(\w+_cents) (\d+)", words)) for who, what, words in logged]
    assert told == [
        ("root", "olga, USD", [("day_cents", "110")]),
        ("root", "The installation, USD", [("confirm_cents", "700")]),
        ("root", "olga, USD", [("total_cents", "9")]),
    ]


RACE = """
import json, threading
from django.contrib.auth.models import User
from django.db import connection
from annotation.models import CrowdSession, LedgerEntry, Publication, SpendingLimit
from annotation.crowds.sessions import open_session, worker_for_crowd_id
from annotation.money import ledger, limits
from annotation.money.payments import pay_bonus
from annotation.work.joining import join_from_crowd
from tests.annotation.casting import make_dataset
from tests.annotation.crowds.framing import study_at_mturk

olga = User.objects.create_superuser("olga")
dataset = make_dataset(pictures=False)
sessions = []
for number in range(2):
    study = study_at_mturk(dataset, name=f"Race {number}", slug=f"race-{number}")
    ledger.set_budget(study=study, platform=study.platform, cents=10_000)
    worker = worker_for_crowd_id(study=study, crowd_id=f"A1ADA{number}", id_name="WorkerId")
    join_from_crowd(study=study, worker=worker, consent=True)
    up = Publication.objects.filter(study=study).order_by("pk")[0]
    session = open_session(publication=up, worker=worker, external_id=f"3ADA{number}")
    CrowdSession.objects.filter(pk=session.pk).update(status="approved", confirmed=True)
    sessions.append(CrowdSession.objects.get(pk=session.pk))
SpendingLimit.objects.create(currency="USD", account_total_cents=60)

room, check, said = threading.Barrier(2), limits._check_order, []
def held_up(order):  # both have booked before one of them counts, where the database lets two write at once
    try:
        room.wait(1)
    except threading.BrokenBarrierError:
        pass
    check(order)
limits._check_order = held_up

def pay(session):
    try:
        pay_bonus(session=session, cents=50, why="Thanks.", by=olga)
        said.append("paid")
    except limits.OverLimit:
        said.append("refused")
    finally:
        connection.close()

threads = [threading.Thread(target=pay, args=[session]) for session in sessions]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps({"said": sorted(said), "booked": LedgerEntry.objects.filter(by=olga).count()}))
"""


def test_two_orders_at_once_cannot_both_pass(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    found = json.loads(installation_on(database).python(RACE).splitlines()[-1])
    assert found == {"said": ["paid", "refused"], "booked": 1}
