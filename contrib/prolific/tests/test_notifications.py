"""Notifications from Prolific: the subscription, the signature, and the sync that they start."""

import base64
import hashlib
import hmac
import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.crowds.sync.run import sync_with_crowd
from annotation.models import CrowdSession
from contrib.prolific.notifications import HOOK_PATH
from contrib.prolific.tests.emulator import Fault, ProlificEmulator
from contrib.prolific.tests.panel import LOST, Panel
from judgments.models import Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def subscribed(panel: Panel, settings: Settings) -> Panel:
    call_command("subscribe_prolific", stdout=StringIO())
    settings.PROLIFIC_HOOK_SECRET = panel.prolific.world.hook_secrets["w1"]
    return panel


def delivered(panel: Panel, participant: str) -> tuple[bytes, dict[str, str]]:
    [(address, body, headers)] = panel.prolific.world.deliveries(panel.came[participant])
    assert address == f"https://quorum.example{HOOK_PATH}"
    return body, headers


def post(body: bytes, headers: dict[str, str]) -> Any:
    return Client().post(HOOK_PATH, body, content_type="application/json", headers=headers)


def syncs() -> int:
    return Job.objects.filter(kind="sync_crowd").count()


def test_a_change_there_is_looked_at_at_once(subscribed: Panel) -> None:
    panel = subscribed
    panel.finish("aa1")
    sync_with_crowd(study=panel.study, wait=lambda seconds: None)
    body, headers = delivered(panel, "aa1")
    for _replayed in range(3):
        assert post(body, headers).status_code == 204
    assert syncs() == 1
    publication = panel.publication
    assert publication.hinted_at is not None
    assert publication.looked_at is not None
    assert publication.hinted_at > publication.looked_at
    [session] = CrowdSession.objects.all()
    assert session.status == "submitted"  # what the notification says is not taken over


def test_forged_and_old_ones_change_nothing(subscribed: Panel) -> None:
    panel = subscribed
    panel.arrive("aa1")
    body, headers = delivered(panel, "aa1")
    forged = json.dumps(json.loads(body) | {"status": "APPROVED"}).encode()
    unsigned = {name: value for name, value in headers.items() if "Signature" not in name}
    for sent in (
        (forged, headers),
        (body, unsigned),
        (body, headers | {"X-Prolific-Request-Timestamp": "9"}),
    ):
        answer = post(*sent)
        assert (answer.status_code, b"not signed" in answer.content) == (403, True)
    panel.prolific.world.advance(minutes=-11)
    answer = post(*delivered(panel, "aa1"))
    assert (answer.status_code, b"less than ten minutes from now" in answer.content) == (403, True)
    huge = post(b" " * 100_001 + body, headers)
    assert (huge.status_code, b"expected 100,000 at most" in huge.content) == (400, True)
    assert syncs() == 0
    assert panel.publication.hinted_at is None


def test_what_is_signed_and_odd_is_refused_and_changes_nothing(subscribed: Panel, settings: Settings) -> None:
    """Somebody who learned the secret can neither stop anything nor start the sync of an unknown study."""

    def sent(body: bytes, time: str = "") -> Any:
        time = time or str(timezone.now().timestamp())
        mac = hmac.new(settings.PROLIFIC_HOOK_SECRET.encode(), time.encode() + body, hashlib.sha256)
        signature = base64.b64encode(mac.digest()).decode()
        return post(body, {"X-Prolific-Request-Signature": signature, "X-Prolific-Request-Timestamp": time})

    event = {"event_type": "study.status.change", "resource_id": "none-of-ours"}
    for body in (
        b"", b"[]", b"[" * 50_000, b"\xff", b'{"event_type": "study.status.change"}',
        json.dumps(event | {"resource_id": "\0"}).encode(), json.dumps(event | {"resource_id": "\ud800"}).encode(),
    ):  # fmt: skip
        answer = sent(body)
        assert (answer.status_code, b"event_type and resource_id" in answer.content) == (400, True), body[:40]
    for time in ("nan", "inf", "-1e400", "soon", "99999999999999"):
        assert sent(json.dumps(event).encode(), time).status_code == 403, time
    for other in (event, event | {"resource_id": ["x"]}, event | {"event_type": "study.deleted"}):
        assert sent(json.dumps(other).encode()).status_code == 204
    assert syncs() == 0
    assert subscribed.publication.hinted_at is None


def test_of_people_who_never_came_there_is_nothing_to_look_at(subscribed: Panel) -> None:
    submission, _address = subscribed.prolific.enter(subscribed.publication.external_id, "ff1")
    subscribed.came["ff1"] = submission
    assert post(*delivered(subscribed, "ff1")).status_code == 204
    assert syncs() == 0


def test_without_a_secret_there_is_no_such_address(panel: Panel) -> None:
    assert post(b"{}", {}).status_code == 404


@pytest.mark.parametrize("fault", LOST)
def test_subscribing_again_adds_what_is_missing_and_keeps_the_secret(
    prolific: ProlificEmulator, settings: Settings, fault: Fault
) -> None:
    prolific.faults.plan("create hook", None, fault)
    with pytest.raises(CommandError):
        call_command("subscribe_prolific", stdout=StringIO())
    said = StringIO()
    call_command("subscribe_prolific", stdout=said)
    secret = prolific.world.hook_secrets["w1"]
    assert (
        said.getvalue()
        == f"Subscribed to study.status.change.\nSet this and restart: PROLIFIC_HOOK_SECRET={secret}\n"
    )
    enabled = [hook["event_type"] for hook in prolific.world.hooks.values() if hook["is_enabled"]]
    assert sorted(enabled) == ["study.status.change", "submission.status.change"]
    settings.PUBLIC_URL = "http://quorum.example"
    with pytest.raises(CommandError, match="calls"):
        call_command("subscribe_prolific")
