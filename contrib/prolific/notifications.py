"""Notifications from Prolific about studies and submissions.

Format: docs.prolific.com, "Webhooks". Events are delivered at least once and in any order, so they are only hints
that something has changed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings

from annotation.crowds.people import session_pseudonym
from annotation.models import CrowdSession
from common.errors import QuorumError, WrongState
from common.features import feature_settings
from common.files import can_be_stored
from common.incoming.json_documents import load_json
from contrib.prolific.client import open_client

HOOK_PATH = "/hooks/prolific/"  # as in ``urls``
SUBMISSION_EVENT, STUDY_EVENT = "submission.status.change", "study.status.change"
EVENTS = (SUBMISSION_EVENT, STUDY_EVENT)
MAX_AGE = timedelta(minutes=10)  # of a signature, which is new for each delivery; clocks may differ
MAX_BYTES = 100_000


class HookUnreadable(QuorumError):
    """Raised if a webhook is too long, or is not in the documented format."""


class HookForged(QuorumError):
    """Raised if a webhook is not signed with the workspace's secret, or was signed too long ago."""

    status = 403


def studies_of_notification(body: bytes, *, signature: str, timestamp: str, now: datetime) -> list[str]:
    """Return Prolific's ids of the studies that a notification is about.

    If it is about a submission, this is the study of its session. There is none if the submission has no session yet,
    or if the notification is about another kind of event.

    Raises:
        HookUnreadable, HookForged: the notification must be ignored.
    """
    if len(body) > MAX_BYTES:
        raise HookUnreadable(f"The notification has {len(body):,} bytes; expected {MAX_BYTES:,} at most.")
    _check_signature(body, signature, timestamp, now)
    try:
        event = load_json(body)
        kind, resource = str(event["event_type"]), str(event["resource_id"])
        if not can_be_stored(resource):  # as with the character U+0000, by which no database can search
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise HookUnreadable("The notification is no JSON object with event_type and resource_id.") from None
    if kind == STUDY_EVENT:
        return [resource]
    if kind != SUBMISSION_EVENT:
        return []
    sessions = CrowdSession.objects.filter(
        platform="prolific", external_id=session_pseudonym("prolific", resource)
    )
    return list(sessions.values_list("publication__external_id", flat=True))


def _check_signature(body: bytes, signature: str, timestamp: str, now: datetime) -> None:
    """Raise HookForged if the signature is not that of the body and the time, or if the time is long ago."""
    expected_hash = hmac.new(
        feature_settings.PROLIFIC_HOOK_SECRET.encode(), timestamp.encode() + body, hashlib.sha256
    )
    if not hmac.compare_digest(base64.b64encode(expected_hash.digest()), signature.encode()):
        raise HookForged("The notification is not signed with PROLIFIC_HOOK_SECRET.")
    try:
        signed_at = datetime.fromtimestamp(float(timestamp), UTC)
    except (ValueError, OverflowError, OSError):
        raise HookForged(f"The notification's time {timestamp[:40]!r} is none.") from None
    if abs(now - signed_at) > MAX_AGE:
        raise HookForged(
            f"The notification was sent at {signed_at:%Y-%m-%d %H:%M} UTC; expected less than ten minutes from now."
        )


def subscribe_to_events() -> tuple[str, list[str]]:
    """Subscribe this server to the workspace's events. Return the secret that signs them, and the new events.

    An existing secret is kept, since a new one would make other subscriptions invalid.

    Raises:
        WrongState: no workspace is set, or the server has no https address.
    """
    workspace, address = str(feature_settings.PROLIFIC_WORKSPACE), f"{settings.PUBLIC_URL}{HOOK_PATH}"
    if not workspace:
        raise WrongState("Nothing was subscribed to: webhooks belong to a workspace; set PROLIFIC_WORKSPACE.")
    if urlsplit(address).scheme != "https":
        raise WrongState(
            f"Nothing was subscribed to: PUBLIC_URL is {settings.PUBLIC_URL!r}; Prolific calls https alone."
        )
    with open_client() as client:
        secret = client.fetch_hook_secret(workspace) or client.create_hook_secret(workspace)
        earlier_events = {hook.event for hook in client.list_hooks(workspace) if hook.address == address}
        new_events = [event for event in EVENTS if event not in earlier_events]
        for event in new_events:
            client.subscribe_to_event(workspace, event=event, address=address)
    return secret, new_events
