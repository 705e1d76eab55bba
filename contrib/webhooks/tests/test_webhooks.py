"""Webhooks: what is noted when, what is sent, what happens when the other side misbehaves; and their page."""

import json
import os
import random
import re
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.serializers import ValidationError

from annotation.crowds.opening import close_study
from annotation.models import Assignment
from annotation.quality.exclusions import exclude_worker
from annotation.work.operations import extend_study
from annotation.work.sheet.units import page_units_of
from common.errors import DataConflict, DesignError, ObjectNotFound, WrongState
from contrib.webhooks import delivery, posting
from contrib.webhooks.delivery import MAX_ATTEMPTS, delete_old_deliveries, secret_of, send_webhooks, sign
from contrib.webhooks.events import note_completions
from contrib.webhooks.models import COMPLETED, EVENTS, EXCLUDED, SUBMITTED, Webhook, WebhookDelivery
from contrib.webhooks.operations import (
    add_webhook,
    remove_webhook,
    retry_delivery,
    rotate_secret,
    store_webhook,
    switch_webhook,
    write_test_message,
)
from contrib.webhooks.tests.listening import Heard, Listener, listening
from judgments.access.roles import give_role
from judgments.models import Study, StudyEvent
from tests.annotation.calling import is_problem
from tests.annotation.leasing import finish_all, hand_in, take
from tests.doors import Call, by_http, by_page, key_of, signed_in
from tests.installations import ROOT, Installation
from tests.judgments.desk import do, page, words
from tests.refusals import refuses
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db
State = WebhookDelivery.State


@pytest.fixture
def listener(settings: Any) -> Iterator[Listener]:
    settings.WEBHOOK_PRIVATE = True
    with listening() as found:
        yield found


@pytest.fixture
def study() -> Study:
    return make_study("pairwise", judgments_per_unit=1)


def hook(study: Study, listener: Listener, *events: str) -> Webhook:
    return store_webhook(study=study, url=listener.url, events=events or [*EVENTS])


def taken(study: Study, name: str = "Grace Hopper") -> Assignment:
    return take(study, make_worker(study, name)[0])


def later(webhook: Webhook) -> None:
    """Every pause is over."""
    past = timezone.now() - timedelta(hours=1)
    Webhook.objects.filter(pk=webhook.pk).update(rests_until=None)
    WebhookDelivery.objects.filter(webhook=webhook, state="waiting").update(next_at=past)
    WebhookDelivery.objects.filter(webhook=webhook, state="sending").update(started_at=past)


def only(webhook: Webhook) -> WebhookDelivery:
    return WebhookDelivery.objects.get(webhook=webhook)


def documented_verify() -> Callable[[str, dict[str, str], bytes], bool]:
    """The lines that the README gives to receivers."""
    text = (ROOT / "contrib" / "webhooks" / "README.md").read_text()
    [code] = re.findall(r"```python\n(.*?)```", text, re.S)
    found: dict[str, Any] = {}
    exec(code, found)  # noqa: S102 (our own documentation, which must run)
    verify: Callable[[str, dict[str, str], bytes], bool] = found["verify"]
    return verify


def test_the_signature_is_that_of_the_specification() -> None:
    # the example of Standard Webhooks' own libraries (github.com/standard-webhooks, libraries/python/tests)
    given = sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=1614265330,
        body=b'{"test": 2432232314}',
    )
    assert given == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_submission_is_told_signed_and_without_names_or_answers(study: Study, listener: Listener) -> None:
    webhook = hook(study, listener, SUBMITTED)
    assignment = taken(study)
    hand_in(assignment)
    assert only(webhook).state == State.WAITING
    assert listener.heard == []
    assert send_webhooks() == 1
    [heard] = listener.heard
    said = heard.said
    assert (said["event"], said["study"], said["id"]) == (SUBMITTED, study.slug, heard.headers["webhook-id"])
    assert said["data"]["assignment"] == str(assignment.pk)
    assert said["data"]["judgments"] == len(page_units_of(assignment))
    assert set(said["data"]) == {"assignment", "hit", "worker", "submitted_at", "judgments", "simulated"}
    assert b"Hopper" not in heard.body
    assert re.fullmatch(r"w-[0-9a-f]{16}", said["data"]["worker"])
    verify = documented_verify()
    assert verify(secret_of(webhook), heard.headers, heard.body)
    assert not verify(secret_of(webhook), heard.headers, heard.body + b" ")
    assert not verify("whsec_AAAA", heard.headers, heard.body)
    assert not verify(secret_of(webhook), heard.headers | {"webhook-timestamp": "1614265330"}, heard.body)
    assert only(webhook).state == State.DELIVERED
    assert send_webhooks() == 0
    assert len(listener.heard) == 1


def test_a_submission_without_webhooks_costs_no_query_and_with_one_a_look_and_an_insert(
    study: Study, listener: Listener, standing_clock: None
) -> None:
    first, second = taken(study, "a"), taken(study, "b")
    with CaptureQueriesContext(connection) as without:
        hand_in(first)
    [asked] = [query["sql"] for query in without if "annotation_webhook" in query["sql"]]
    assert 'FROM "annotation_assignment"' in asked  # the one that reads the assignment anyway
    hook(study, listener, SUBMITTED)
    with CaptureQueriesContext(connection) as queries:
        hand_in(second)
    assert len(queries) == len(without) + 2


def test_what_is_undone_is_not_told(study: Study, listener: Listener) -> None:
    hook(study, listener)
    assignment = taken(study)
    with transaction.atomic():
        hand_in(assignment)
        assert WebhookDelivery.objects.count() == 1
        transaction.set_rollback(True)
    assert WebhookDelivery.objects.count() == 0


def test_an_exclusion_is_told_once_without_its_reason(study: Study, listener: Listener) -> None:
    webhook = hook(study, listener, EXCLUDED)
    assignment = taken(study)
    hand_in(assignment)
    for _ in range(2):
        exclude_worker(study=study, worker=assignment.worker, why="wrote: my name is Grace", rule="fast")
    send_webhooks()
    [heard] = listener.heard
    assert heard.said["event"] == EXCLUDED
    assert heard.said["data"]["rule"] == "fast"
    assert b"Grace" not in heard.body
    assert only(webhook).state == State.DELIVERED


def completions(listener: Listener) -> list[str]:
    send_webhooks()
    return [one.said["data"]["because"] for one in listener.heard if one.said["event"] == COMPLETED]


def test_completion_is_told_once_for_each_time_a_study_completes(study: Study, listener: Listener) -> None:
    hook(study, listener, COMPLETED)
    assert completions(listener) == []
    finish_all(study, make_worker(study, "a")[0])
    assert completions(listener) == ["all-judged"]
    assert completions(listener) == ["all-judged"]
    extend_study(study=study, workers=1, why="one more")
    # completed anew between two looks
    finish_all(study, make_worker(study, "b")[0])
    assert completions(listener) == ["all-judged"] * 2
    extend_study(study=study, workers=1, why="one more")
    assert completions(listener) == ["all-judged"] * 2
    close_study(study=study)
    assert completions(listener) == ["all-judged", "all-judged", "closed"]
    assert note_completions() == 0


def test_closing_a_study_that_is_all_judged_is_no_second_completion(study: Study, listener: Listener) -> None:
    hook(study, listener, COMPLETED)
    finish_all(study, make_worker(study, "a")[0])
    assert completions(listener) == ["all-judged"]
    close_study(study=study)
    assert completions(listener) == ["all-judged"]


def test_who_begins_to_listen_to_a_complete_study_hears_nothing_of_the_past(
    study: Study, listener: Listener
) -> None:
    finish_all(study, make_worker(study, "a")[0])
    hook(study, listener, COMPLETED)
    assert completions(listener) == []


@pytest.mark.parametrize("status", [500, 404, 302])
def test_what_fails_is_tried_again_under_its_id_until_it_is_given_up(
    study: Study, listener: Listener, status: int
) -> None:
    webhook = hook(study, listener)
    listener.status, listener.more = status, {"Location": listener.url}
    write_test_message(webhook=webhook)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert send_webhooks() == 0
        assert send_webhooks() == 0  # not due yet
        found = only(webhook)
        assert (found.attempts, found.status) == (attempt, status)
        assert f"The answer was {status}" in found.problem
        later(webhook)
    assert found.state == State.GIVEN_UP
    assert len(listener.heard) == MAX_ATTEMPTS  # nor was a redirect followed
    assert len({one.headers["webhook-id"] for one in listener.heard}) == 1
    assert len({one.body for one in listener.heard}) == 1
    listener.status = 204
    with pytest.raises(WrongState):
        retry_delivery.run(study, {"delivery": str(write_test_message(webhook=webhook).pk)}, by=None)
    retry_delivery.run(study, {"delivery": str(found.pk)}, by=None)
    assert send_webhooks() == 2
    assert listener.heard[0].headers["webhook-id"] in {
        one.headers["webhook-id"] for one in listener.heard[-2:]
    }
    webhook.refresh_from_db()
    assert webhook.failures == 0


def test_pauses_grow_and_what_the_other_side_asks_for_is_kept(study: Study, listener: Listener) -> None:
    webhook = hook(study, listener)
    listener.status, listener.more = 503, {"Retry-After": "7200"}
    write_test_message(webhook=webhook)
    before = timezone.now()
    send_webhooks(rng=random.Random(1))
    assert only(webhook).next_at >= before + timedelta(hours=2)
    webhook.refresh_from_db()
    assert webhook.rests_until is not None
    assert webhook.rests_until >= before + timedelta(hours=2)
    # what comes meanwhile waits too
    hand_in(taken(study))
    assert send_webhooks() == 0
    assert len(listener.heard) == 1
    rng = random.Random(1)
    pauses = [delivery._pause(rng, times) for times in range(1, 30)]
    assert 2.5 <= pauses[0] <= 5
    assert 10 <= pauses[1] <= 20
    assert max(pauses) <= delivery.MAX_PAUSE


def test_a_server_that_wants_no_more_is_left_alone(study: Study, listener: Listener) -> None:
    webhook = hook(study, listener)
    listener.status = 410
    write_test_message(webhook=webhook)
    hand_in(taken(study))
    send_webhooks()
    webhook.refresh_from_db()
    assert webhook.active is False
    assert len(listener.heard) == 1
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {State.GIVEN_UP}
    assert StudyEvent.objects.filter(study=study, what="webhook-gone").count() == 1
    with pytest.raises(WrongState, match="webhook is disabled"):
        write_test_message(webhook=webhook)
    switch_webhook.run(study, {"webhook": str(webhook.pk), "active": True}, by=None)
    listener.status = 200
    write_test_message(webhook=webhook)
    assert send_webhooks() == 1


def test_a_server_that_never_ends_its_answer_is_cut_off(listener: Listener) -> None:
    listener.hangs = True
    answer = posting.post(listener.url, body=b"{}", headers={}, seconds=0.3)
    assert answer.status is None
    assert answer.problem == "No answer within 0.3 seconds."


def test_where_nobody_listens_the_failure_is_said(study: Study, listener: Listener) -> None:
    with listening() as gone:
        url = gone.url
    assert posting.post(url, body=b"{}", headers={}).problem.startswith("No connection: ")


def test_one_that_fails_does_not_keep_others_from_hearing(study: Study, listener: Listener) -> None:
    with listening() as bad:
        bad.status = 500
        failing, fine = hook(study, bad), hook(study, listener)
        for _ in range(5):
            write_test_message(webhook=failing)
        write_test_message(webhook=fine)
        assert send_webhooks() == 1
        assert len(bad.heard) == 1


BAD_URLS = [
    "http://example.org/hook", "ftp://example.org", "https://", "example.org", "https://user:pw@example.org/",
    "https://127.0.0.1/", "https://10.1.2.3/", "https://192.168.0.1/", "https://169.254.169.254/latest/meta-data",
    "https://[::1]/", "https://[fe80::1]/", "https://[fd00::1]/", "https://[::ffff:127.0.0.1]/", "https://0.0.0.0/",
    "https://[64:ff9b::7f00:1]/", "https://[64:ff9b:1::7f00:1]/", "https://[::127.0.0.1]/", "https://[fec0::1]/",
    "https://[2002:7f00:1::]/", "https://224.0.0.1/", "https://localhost/",
    "https://db.internal/", "https://a b/", "https://exämple.org/", "https://x:99999/", "https://x:0/",
    "https://x/#part", "https://x/\r\nHost: y",
    # as resolvers read them
    "https://127.1/", "https://0x7f000001/", "https://0X7F.1/", "https://2130706433/", "https://017700000001/",
    "https://0177.0.0.0x1:8443/", "https://127.0.0.1./", "https://10.258/", "https://0/", "https://[::ffff:7f00:1]/",
    "https://[fe80::1%25eth0]/", "https://[v1.a:b]/", "https://localhost./", "https://LOCALHOST/", "https://localhost../",
    "https://a.localhost/", "https://ip6-localhost/", "https://localhost.localdomain/", "https://redis:6379/",
    "https://printer.local./", "https://router.home.arpa/",
]  # fmt: skip
GOOD_URLS = [
    "https://example.org/hook?a=1",
    "https://example.org./",
    "https://8.8.8.8:8443/",
    "https://[2606:4700::1111]/",
]


def test_addresses_that_lead_inside_or_are_none_are_refused(study: Study) -> None:
    for url in BAD_URLS:
        with refuses(DesignError, field="url"):
            store_webhook(study=study, url=url, events=[SUBMITTED])
    assert Webhook.objects.count() == 0


def test_public_addresses_are_taken(study: Study) -> None:
    for url in GOOD_URLS:
        assert store_webhook(study=study, url=url, events=[SUBMITTED]).url == url


@pytest.mark.parametrize("inside", ["127.0.0.1", "10.0.0.7", "::1", "169.254.169.254", "::ffff:10.0.0.7"])
def test_a_name_that_stands_for_a_private_address_is_never_connected_to(
    monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    def resolves(*_: Any, **__: Any) -> list[Any]:
        return [(2, 1, 6, "", ("93.184.215.14", 443)), (2, 1, 6, "", (inside, 443))]

    def connects(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr("socket.getaddrinfo", resolves)
    monkeypatch.setattr("socket.create_connection", connects)
    answer = posting.post("https://rebinding.example/", body=b"", headers={})
    assert "private network" in answer.problem


def test_numbers_that_resolvers_take_for_addresses_lead_nowhere_inside() -> None:
    for url in ("https://2130706433/", "https://0x7f.1/", "https://127.1/"):
        answer = posting.post(url, body=b"", headers={}, seconds=2)
        assert "private network" in answer.problem


def test_what_cannot_be_added_changes_nothing(study: Study, listener: Listener) -> None:
    with pytest.raises(ValidationError, match="'lunch'"):
        add_webhook.read({"url": listener.url, "events": [SUBMITTED, "lunch"]})
    with pytest.raises(ValidationError, match="at least 1"):
        add_webhook.read({"url": listener.url, "events": []})
    hook(study, listener)
    with pytest.raises(DataConflict, match="this address already"):
        hook(study, listener)
    for number in range(9):
        store_webhook(study=study, url=f"{listener.url}{number}", events=[SUBMITTED])
    with pytest.raises(DataConflict, match="10 webhooks"):
        store_webhook(study=study, url=f"{listener.url}x", events=[SUBMITTED])
    assert Webhook.objects.count() == 10


def test_the_database_keeps_nothing_twice_and_no_secret(study: Study, listener: Listener) -> None:
    webhook = store_webhook(study=study, url=listener.url, events=[SUBMITTED])
    secret = secret_of(webhook)
    assert secret.removeprefix("whsec_") not in str(Webhook.objects.values().get())
    assert secret == secret_of(webhook)
    same = {"webhook": webhook, "event": SUBMITTED, "key": "same", "payload": {}}
    WebhookDelivery.objects.create(**same)
    with pytest.raises(IntegrityError), transaction.atomic():
        WebhookDelivery.objects.create(**same)
    write_test_message(webhook=webhook)
    rotate_secret.run(study, {"webhook": str(webhook.pk)}, by=None)
    webhook.refresh_from_db()
    other = secret_of(webhook)
    assert other != secret
    send_webhooks()
    heard: Heard = listener.heard[0]
    assert documented_verify()(other, heard.headers, heard.body)
    assert not documented_verify()(secret, heard.headers, heard.body)
    remove_webhook.run(study, {"webhook": str(webhook.pk)}, by=None)
    with pytest.raises(ObjectNotFound):
        remove_webhook.run(study, {"webhook": str(webhook.pk)}, by=None)
    noted = StudyEvent.objects.filter(study=study, what__startswith="webhook-").values_list("what", flat=True)
    assert sorted(noted) == ["webhook-added", "webhook-removed", "webhook-rotated"]


def test_old_messages_are_forgotten_and_what_waits_is_not(study: Study, listener: Listener) -> None:
    webhook = hook(study, listener)
    write_test_message(webhook=webhook)
    send_webhooks()
    waits = write_test_message(webhook=webhook)
    WebhookDelivery.objects.update(made_at=timezone.now() - timedelta(days=31))
    assert delete_old_deliveries() == 1
    assert only(webhook).pk == waits.pk


def test_a_sender_that_is_killed_before_it_noted_the_answer_sends_again_under_the_same_id(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    with listening() as there:
        installation = installation_on(database)
        installation.env["WEBHOOK_PRIVATE"] = "true"
        installation.python(
            "from tests.studies import make_study\n"
            "from contrib.webhooks.operations import store_webhook, write_test_message\n"
            f"webhook = store_webhook(study=make_study('pairwise'), url={there.url!r}, events=['study.completed'])\n"
            "write_test_message(webhook=webhook)"
        )
        started: Queue[int] = Queue()
        there.before = lambda: os.kill(started.get(), signal.SIGKILL)
        process = installation.start("manage", "send_webhooks", log="sending.log")
        assert process.pid is not None
        started.put(process.pid)
        process.join()
        there.before = None
        log = Path(installation.folder / "sending.log").read_text()
        assert process.exitcode == -signal.SIGKILL, log
        rows = "SELECT state, attempts FROM annotation_webhookdelivery"
        assert installation.query(rows) == [("sending", 1)]
        installation.python(
            "from contrib.webhooks.delivery import send_webhooks\n"
            "from contrib.webhooks.models import WebhookDelivery\n"
            "from datetime import timedelta\n"
            "from django.utils import timezone\n"
            "assert send_webhooks() == 0, 'its sender may still be at work'\n"
            "WebhookDelivery.objects.update(started_at=timezone.now() - timedelta(minutes=2))\n"
            "assert send_webhooks() == 1"
        )
        assert installation.query(rows) == [("delivered", 2)]
        assert len({one.headers["webhook-id"] for one in there.heard}) == 1
        assert len(there.heard) == 2


URL = "https://hooks.example/secret-path"


@pytest.fixture
def paged_study() -> Study:
    return make_study("pairwise")


@pytest.fixture
def webhook(paged_study: Study) -> Webhook:
    return store_webhook(study=paged_study, url=URL, events=[SUBMITTED])


def person(paged_study: Study | None, role: str = "") -> User:
    user = User.objects.create_user(role or "stranger", is_staff=True)
    if paged_study is not None:
        give_role(study=paged_study, user=user, role=role, by=User.objects.get_or_create(username="boss")[0])
    return user


def given_up(webhook: Webhook) -> WebhookDelivery:
    made = write_test_message(webhook=webhook)
    WebhookDelivery.objects.filter(pk=made.pk).update(
        state="given-up", problem="The answer was 500.", status=500
    )
    return made


def test_a_designer_adds_tries_rotates_switches_and_removes(paged_study: Study) -> None:
    client = signed_in(person(paged_study, "designer"))
    assert "This study has no webhooks" in words(client.get(page(paged_study, "webhooks")))
    form = {"page": "webhooks", "url": URL, "events": [SUBMITTED, "worker.excluded"]}
    shown = client.post(do(paged_study, "add-webhook"), form)
    webhook = Webhook.objects.get()
    assert webhook.events == [SUBMITTED, "worker.excluded"]
    assert secret_of(webhook) in words(shown)
    assert "no-store" in shown["Cache-Control"]
    assert secret_of(webhook) not in words(client.get(page(paged_study, "webhooks")))
    own = {"page": "webhooks", "webhook": webhook.pk}
    assert "will be sent" in words(client.post(do(paged_study, "ping-webhook"), own, follow=True))
    before = secret_of(webhook)
    assert before not in words(client.post(do(paged_study, "rotate-webhook"), own))
    webhook.refresh_from_db()
    assert secret_of(webhook) != before
    failed = given_up(webhook)
    client.post(do(paged_study, "retry-delivery"), {"page": "webhooks", "delivery": failed.pk}, follow=True)
    failed.refresh_from_db()
    assert failed.state == "waiting"
    client.post(do(paged_study, "switch-webhook"), own | {"active": "off"})
    assert "the webhook is disabled" in words(client.post(do(paged_study, "ping-webhook"), own, follow=True))
    client.post(do(paged_study, "remove-webhook"), own)
    assert Webhook.objects.count() == WebhookDelivery.objects.count() == 0
    assert "no such webhook" in words(client.post(do(paged_study, "ping-webhook"), own, follow=True))


# what is sent, and the HTTP status
WRONG: dict[str, tuple[dict[str, Any], int]] = {
    "no address": ({"url": "", "events": [SUBMITTED]}, 400),
    "an open address": ({"url": "http://<b>", "events": [SUBMITTED]}, 400),
    "no event": ({"url": URL}, 400),
    "another event": ({"url": URL, "events": ["worker.paid"]}, 400),
    "an address that is there": ({"url": URL, "events": [SUBMITTED]}, 409),
}


def test_a_mistake_gets_the_same_sentence_on_the_page_and_over_http(webhook: Webhook) -> None:
    paged_study, owner = webhook.study, person(webhook.study, "owner")
    for wrong, (values, status) in WRONG.items():
        shown = by_page(paged_study, Call("add-webhook", "", "", values), owner)
        answer = by_http(
            paged_study, Call("", "/webhooks/", "", {**values, "study": paged_study.slug}), owner
        )
        assert (shown.done, answer.done, answer.status) == (False, False, status), wrong
        assert shown.sentence == answer.sentence, wrong
    assert Webhook.objects.count() == 1


@pytest.mark.parametrize("role", ["", "viewer", "reviewer"])
def test_who_may_not_change_the_study_sees_and_does_nothing(webhook: Webhook, role: str) -> None:
    paged_study, failed = webhook.study, given_up(webhook)
    user = person(paged_study if role else None, role)
    client, refused = signed_in(user), (403, 404)
    headers = key_of(user, "webhooks:write")
    assert client.get(page(paged_study, "webhooks")).status_code in refused
    for step in ("add", "ping", "rotate", "switch", "remove"):
        form = {"webhook": webhook.pk, "url": URL + "2", "events": SUBMITTED, "active": "off"}
        assert client.post(do(paged_study, f"{step}-webhook"), form).status_code in refused
    assert client.post(do(paged_study, "retry-delivery"), {"delivery": failed.pk}).status_code in refused
    body = json.dumps({"study": paged_study.slug, "url": URL + "2", "events": [SUBMITTED]})
    for path, data in [
        ("webhooks/", body), (f"webhooks/{webhook.pk}/ping/", ""), (f"webhooks/{webhook.pk}/rotate/", ""),
        (f"webhooks/{webhook.pk}/switch/", '{"active": false}'), (f"deliveries/{failed.pk}/retry/", ""),
    ]:  # fmt: skip
        answer = Client().post(f"/api/{path}", data, content_type="application/json", headers=headers)
        assert answer.status_code in refused, path
    assert Client().delete(f"/api/webhooks/{webhook.pk}/", headers=headers).status_code in refused
    for path in ("webhooks/", "deliveries/"):
        answer = Client().get(f"/api/{path}", headers=headers)
        assert answer.status_code == 403 or answer.json()["results"] == []
        is_problem(Client().get(f"/api/{path}"), 401)
    assert list(Webhook.objects.values_list("pk", "salt", "active")) == [(webhook.pk, webhook.salt, True)]
    assert WebhookDelivery.objects.get().state == "given-up"


def test_a_webhook_of_another_study_is_not_reached_through_one_s_own(webhook: Webhook) -> None:
    own = make_study("triplet")
    client = signed_in(person(own, "owner"))
    for step in ("ping", "rotate", "switch", "remove"):
        client.post(do(own, f"{step}-webhook"), {"webhook": webhook.pk, "active": "off"})
    assert list(Webhook.objects.values_list("pk", "salt", "active")) == [(webhook.pk, webhook.salt, True)]
    assert WebhookDelivery.objects.count() == 0


def test_programs_do_the_same(paged_study: Study) -> None:
    user = person(paged_study, "designer")
    headers = key_of(user, "webhooks:write")

    def post(path: str, body: Any = None) -> Any:
        data = "" if body is None else json.dumps(body)
        return Client().post(f"/api/{path}", data, content_type="application/json", headers=headers)

    made = post("webhooks/", {"study": paged_study.slug, "url": URL, "events": [SUBMITTED]})
    assert made.status_code == 201, made.content
    webhook = Webhook.objects.get()
    assert made.json()["secret"] == secret_of(webhook)
    assert made["Location"].endswith(f"/api/webhooks/{webhook.pk}/")
    is_problem(post("webhooks/", {"study": paged_study.slug, "url": URL, "events": [SUBMITTED]}), 409)
    is_problem(
        post("webhooks/", {"study": paged_study.slug, "url": "https://10.0.0.1", "events": [SUBMITTED]}), 400
    )
    is_problem(post("webhooks/", {"study": paged_study.slug, "url": URL, "events": [1]}), 400)
    [listed] = Client().get("/api/webhooks/", headers=headers).json()["results"]
    assert listed["events"] == [SUBMITTED]
    assert "secret" not in listed
    assert "salt" not in listed
    assert post(f"webhooks/{webhook.pk}/ping/").status_code == 201
    assert post(f"webhooks/{webhook.pk}/rotate/").json()["secret"] != made.json()["secret"]
    failed = given_up(webhook)
    assert post(f"deliveries/{failed.pk}/retry/").json()["state"] == "waiting"
    is_problem(post(f"deliveries/{failed.pk}/retry/"), 409)
    rows = (
        Client()
        .get(f"/api/deliveries/?study={paged_study.slug}&event=ping", headers=headers)
        .json()["results"]
    )
    assert len(rows) == 2
    assert post(f"webhooks/{webhook.pk}/switch/", {"active": False}).json()["active"] is False
    assert Client().delete(f"/api/webhooks/{webhook.pk}/", headers=headers).status_code == 204
    assert Webhook.objects.count() == 0
