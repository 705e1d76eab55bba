"""Mechanical Turk's notifications as posted by SNS: a hint to look, from Amazon alone."""

import json
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from django.test import Client

from annotation.crowds.mturk import notifications
from annotation.models import Publication
from judgments.models import Job, Study
from tests.annotation.crowds.framing import first_publication, study_at_mturk
from tests.annotation.crowds.signing import ARN, CERTIFICATE_URL, EVENTS, certificate, message

pytestmark = pytest.mark.django_db

ADDRESS = "/hooks/mturk/"
SUBSCRIBE = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=1"


@pytest.fixture
def study(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Up at Mechanical Turk, and the certificate of Amazon's that was fetched before."""
    settings.MTURK_SNS_TOPIC = ARN
    lasting = certificate(ends=datetime.now(UTC) + timedelta(days=1))
    monkeypatch.setattr(notifications, "_certificates", {CERTIFICATE_URL: lasting})
    return study_at_mturk()


def about(study: Study, *, key: str = "doc-1") -> str:
    hit = first_publication(study).external_id
    events = [one | {"HITId": hit} for one in EVENTS["Events"] if isinstance(one, dict)]
    return json.dumps(EVENTS | {"Events": events, "EventDocId": key})


def post(body: dict[str, Any] | str, **changed: Any) -> Any:
    text = body if isinstance(body, str) else json.dumps(body)
    return Client(enforce_csrf_checks=True).post(ADDRESS, text, content_type="text/plain; charset=UTF-8")


def signed(study: Study, kind: str = "Notification", **changed: Any) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return message(kind, **({"Message": about(study), "Timestamp": now} | changed))


def nothing_written() -> bool:
    return not Job.objects.exists() and not Publication.objects.filter(hinted_at__isnull=False).exists()


def test_a_notification_has_its_study_looked_at_once_a_minute(study: Study) -> None:
    for key in ("doc-1", "doc-1", "doc-2"):  # doubled, and another one at once
        reply = post(signed(study, Message=about(study, key=key)))
        assert reply.status_code == 204, reply.content
        assert "Set-Cookie" not in reply.headers
    hinted = Publication.objects.filter(hinted_at__isnull=False)
    assert [one.pk for one in hinted] == [first_publication(study).pk]
    assert list(Job.objects.values_list("kind", "args")) == [("sync_crowd", {"study": study.slug})]
    Job.objects.update(state="done", finished_at=datetime.now(UTC))
    assert post(signed(study)).status_code == 204
    assert Job.objects.count() == 1
    Job.objects.update(created_at=datetime.now(UTC) - timedelta(minutes=2))
    assert post(signed(study)).status_code == 204
    assert Job.objects.count() == 2


def test_forged_ones_are_refused_and_write_nothing(study: Study) -> None:
    good = signed(study)
    for name, forged in {
        "another key": signed(study, signer="mallory"),
        "changed": good | {"Message": about(study, key="doc-9")},
        "another topic": signed(study, TopicArn=ARN + "-other"),
        "no signature": {key: value for key, value in good.items() if key != "Signature"},
        "their certificate": good | {"SigningCertURL": "https://sns.evil.example/x.pem"},
        "too old": signed(study, Timestamp="2020-01-01T00:00:00.000Z"),
    }.items():
        reply = post(forged)
        assert reply.status_code == 403, name
    assert nothing_written()


def test_what_is_no_message_is_refused_and_writes_nothing(study: Study) -> None:
    for body in ("", "{", "[]", "null", json.dumps(signed(study))[:-30], "{}" * 3, "\x00"):
        assert post(body).status_code == 400, body
    assert Client().get(ADDRESS).status_code == 405
    assert nothing_written()


def test_hits_of_others_are_passed_over(study: Study) -> None:
    assert post(signed(study, Message=json.dumps(EVENTS))).status_code == 204
    assert nothing_written()


def test_without_a_topic_there_is_no_such_address(study: Study, settings: Any) -> None:
    settings.MTURK_SNS_TOPIC = ""
    assert post(signed(study)).status_code == 404
    assert nothing_written()


class Amazon:
    """The network: what is fetched from it, and what it gives."""

    def __init__(self, reply: bytes | Exception) -> None:
        self.reply, self.asked = reply, list[str]()

    def open(self, opener: urllib.request.OpenerDirector, address: str, **_: Any) -> BytesIO:
        self.asked.append(address)
        if isinstance(self.reply, Exception):
            raise self.reply
        return BytesIO(self.reply)


def behind(monkeypatch: pytest.MonkeyPatch, reply: bytes | Exception) -> Amazon:
    amazon = Amazon(reply)
    monkeypatch.setattr(
        urllib.request.OpenerDirector, "open", lambda opener, address, **more: amazon.open(opener, address)
    )
    return amazon


def test_a_subscription_to_our_topic_is_confirmed(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    amazon = behind(monkeypatch, b"<ConfirmSubscriptionResponse/>")
    asked = signed(study, "SubscriptionConfirmation", SubscribeURL=SUBSCRIBE, Token="1", Message="?")
    assert post(asked).status_code == 204
    assert amazon.asked == [SUBSCRIBE]
    elsewhere = signed(
        study,
        "SubscriptionConfirmation",
        SubscribeURL="https://evil.example/",
        Token="1",
        Message="?",
    )
    assert post(elsewhere).status_code == 403
    assert amazon.asked == [SUBSCRIBE]
    assert nothing_written()


def test_a_certificate_is_fetched_once(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    lasting = notifications.certificate(CERTIFICATE_URL)
    monkeypatch.setattr(notifications, "_certificates", {})
    amazon = behind(monkeypatch, lasting)
    assert [post(signed(study)).status_code for _ in range(3)] == [204, 204, 204]
    assert amazon.asked == [CERTIFICATE_URL]


def test_a_certificate_that_cannot_be_had_makes_amazon_send_again(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "_certificates", {})
    for reply in (urllib.error.URLError("no route"), TimeoutError(), b"x" * 100_001):
        behind(monkeypatch, reply)
        assert post(signed(study)).status_code == 503
    assert nothing_written()
