"""Webhooks on their page and over HTTP: who may see and change them, and what it costs."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import Webhook, WebhookDelivery
from annotation.models.webhooks import SUBMITTED
from annotation.webhooks.webhooks import add_webhook, ping_webhook, secret_of
from judgments.access.roles import give_role
from judgments.models import Study
from tests.annotation.calling import is_problem
from tests.doors import Call, by_http, by_page, key_of, signed_in
from tests.judgments.desk import do, page, words
from tests.studies import make_study

pytestmark = pytest.mark.django_db
URL = "https://hooks.example/secret-path"


@pytest.fixture
def study() -> Study:
    return make_study("pairwise")


@pytest.fixture
def webhook(study: Study) -> Webhook:
    return add_webhook(study=study, url=URL, events=[SUBMITTED])


def person(study: Study | None, role: str = "") -> User:
    user = User.objects.create_user(role or "stranger", is_staff=True)
    if study is not None:
        give_role(study=study, user=user, role=role, by=User.objects.get_or_create(username="boss")[0])
    return user


def given_up(webhook: Webhook) -> WebhookDelivery:
    made = ping_webhook(webhook=webhook)
    WebhookDelivery.objects.filter(pk=made.pk).update(
        state="given-up", problem="The answer was 500.", status=500
    )
    return made


def test_a_designer_adds_tries_rotates_switches_and_removes(study: Study) -> None:
    client = signed_in(person(study, "designer"))
    assert "No address gets messages" in words(client.get(page(study, "webhooks")))
    form = {"page": "webhooks", "url": URL, "events": [SUBMITTED, "worker.excluded"]}
    shown = client.post(do(study, "add-webhook"), form)
    webhook = Webhook.objects.get()
    assert webhook.events == [SUBMITTED, "worker.excluded"]
    assert secret_of(webhook) in words(shown)
    assert "no-store" in shown["Cache-Control"]
    assert secret_of(webhook) not in words(client.get(page(study, "webhooks")))
    own = {"page": "webhooks", "webhook": webhook.pk}
    assert "goes out" in words(client.post(do(study, "ping-webhook"), own, follow=True))
    before = secret_of(webhook)
    assert before not in words(client.post(do(study, "rotate-webhook"), own))
    webhook.refresh_from_db()
    assert secret_of(webhook) != before
    failed = given_up(webhook)
    client.post(do(study, "retry-delivery"), {"page": "webhooks", "delivery": failed.pk}, follow=True)
    failed.refresh_from_db()
    assert failed.state == "waiting"
    client.post(do(study, "switch-webhook"), own | {"active": "off"})
    assert "is switched off" in words(client.post(do(study, "ping-webhook"), own, follow=True))
    client.post(do(study, "remove-webhook"), own)
    assert Webhook.objects.count() == WebhookDelivery.objects.count() == 0
    assert "no such webhook" in words(client.post(do(study, "ping-webhook"), own, follow=True))


# what is sent, and the HTTP status
WRONG: dict[str, tuple[dict[str, Any], int]] = {
    "no address": ({"url": "", "events": [SUBMITTED]}, 400),
    "an open address": ({"url": "http://<b>", "events": [SUBMITTED]}, 400),
    "no event": ({"url": URL}, 400),
    "another event": ({"url": URL, "events": ["worker.paid"]}, 400),
    "an address that is there": ({"url": URL, "events": [SUBMITTED]}, 409),
}


def test_a_mistake_gets_the_same_sentence_on_the_page_and_over_http(webhook: Webhook) -> None:
    study, owner = webhook.study, person(webhook.study, "owner")
    for wrong, (values, status) in WRONG.items():
        shown = by_page(study, Call("add-webhook", "", "", values), owner)
        answer = by_http(study, Call("", "/webhooks/", "", {**values, "study": study.slug}), owner)
        assert (shown.done, answer.done, answer.status) == (False, False, status), wrong
        assert shown.sentence == answer.sentence, wrong
    assert Webhook.objects.count() == 1


@pytest.mark.parametrize("role", ["", "viewer", "reviewer"])
def test_who_may_not_change_the_study_sees_and_does_nothing(webhook: Webhook, role: str) -> None:
    study, failed = webhook.study, given_up(webhook)
    user = person(study if role else None, role)
    client, refused = signed_in(user), (403, 404)
    headers = key_of(user, "webhooks:write")
    assert client.get(page(study, "webhooks")).status_code in refused
    for step in ("add", "ping", "rotate", "switch", "remove"):
        form = {"webhook": webhook.pk, "url": URL + "2", "events": SUBMITTED, "active": "off"}
        assert client.post(do(study, f"{step}-webhook"), form).status_code in refused
    assert client.post(do(study, "retry-delivery"), {"delivery": failed.pk}).status_code in refused
    body = json.dumps({"study": study.slug, "url": URL + "2", "events": [SUBMITTED]})
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


def test_programs_do_the_same(study: Study) -> None:
    user = person(study, "designer")
    headers = key_of(user, "webhooks:write")

    def post(path: str, body: Any = None) -> Any:
        data = "" if body is None else json.dumps(body)
        return Client().post(f"/api/{path}", data, content_type="application/json", headers=headers)

    made = post("webhooks/", {"study": study.slug, "url": URL, "events": [SUBMITTED]})
    assert made.status_code == 201, made.content
    webhook = Webhook.objects.get()
    assert made.json()["secret"] == secret_of(webhook)
    assert made["Location"].endswith(f"/api/webhooks/{webhook.pk}/")
    is_problem(post("webhooks/", {"study": study.slug, "url": URL, "events": [SUBMITTED]}), 409)
    is_problem(
        post("webhooks/", {"study": study.slug, "url": "https://10.0.0.1", "events": [SUBMITTED]}), 400
    )
    is_problem(post("webhooks/", {"study": study.slug, "url": URL, "events": [1]}), 400)
    [listed] = Client().get("/api/webhooks/", headers=headers).json()["results"]
    assert listed["events"] == [SUBMITTED]
    assert "secret" not in listed
    assert "salt" not in listed
    assert post(f"webhooks/{webhook.pk}/ping/").status_code == 201
    assert post(f"webhooks/{webhook.pk}/rotate/").json()["secret"] != made.json()["secret"]
    failed = given_up(webhook)
    assert post(f"deliveries/{failed.pk}/retry/").json()["state"] == "waiting"
    is_problem(post(f"deliveries/{failed.pk}/retry/"), 409)
    rows = Client().get(f"/api/deliveries/?study={study.slug}&event=ping", headers=headers).json()["results"]
    assert len(rows) == 2
    assert post(f"webhooks/{webhook.pk}/switch/", {"active": False}).json()["active"] is False
    assert Client().delete(f"/api/webhooks/{webhook.pk}/", headers=headers).status_code == 204
    assert Webhook.objects.count() == 0
