"""What Mechanical Turk tells of events: through an SNS topic, or an SQS queue of its own.

Form: "Notification Handling Using Amazon SNS" and "... Amazon SQS" of the Mechanical Turk API Reference; the two carry
the same document. Events may come twice, late and in any order, and say nothing of the worker: they are a hint to look,
never the truth about anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotation.mturk.errors import NotificationForged, NotificationUnreadable
from annotation.mturk.signatures import Signed, SNSTopic, verified

MOST_BYTES = 1_000_000  # four times the largest message of SNS and SQS
EVENT_TYPES = frozenset(
    {
        "AssignmentAccepted",
        "AssignmentAbandoned",
        "AssignmentReturned",
        "AssignmentSubmitted",
        "AssignmentRejected",
        "AssignmentApproved",
        "HITCreated",
        "HITExtended",
        "HITDisposed",
        "HITReviewable",
        "HITExpired",
        "Ping",
    }
)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a HIT; ``assignment`` is "" where it concerns the HIT as a whole.

    ``kind`` may be one that is not in ``EVENT_TYPES``: the service is free to add some.
    """

    kind: str
    at: datetime
    hit_type: str
    hit: str
    assignment: str


@dataclass(frozen=True, slots=True)
class Events:
    """A document of events, the earliest first. ``key`` is the same when it comes again."""

    key: str
    version: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Subscription:
    """SNS asks whether this address is to get a topic's messages; ``url`` says yes when it is fetched."""

    key: str
    topic: str
    url: str


def read_sns(
    body: str | bytes,
    *,
    topic: SNSTopic,
    now: datetime,
    certificate: Callable[[str], bytes],
    seen: Callable[[str], bool] = lambda key: False,
) -> Events | Subscription | None:
    """What SNS posted, once its signature holds; None for the news that a subscription ended.

    Args:
        topic: the one that is expected, and where its certificates come from.
        certificate: fetches the certificate (PEM) at an address that was checked.
        seen: whether a message of this id came before.

    Raises:
        NotificationUnreadable: not the documented form.
        NotificationForged, NotificationTooOld, NotificationRepeated: not to be acted upon.
    """
    message = verified(parsed(body), topic=topic, now=now, certificate=certificate, seen=seen)
    if message.kind == "SubscriptionConfirmation":
        return Subscription(key=message.key, topic=message.topic, url=message.subscribe_url)
    if message.kind == "UnsubscribeConfirmation":
        return None
    return read_events(parsed(message.text))


def read_sqs(body: str | bytes, *, topic_arn: str = "") -> Events:
    """What a queue held: the document itself, or as SNS wraps it for a queue that is subscribed to a topic.

    Who may put something into the queue is up to the queue's policy, so no signature is asked for.

    Raises:
        NotificationUnreadable: not the documented form.
        NotificationForged: wrapped by another topic than ``topic_arn``.
    """
    document = parsed(body)
    if document.get("Type") != "Notification":
        return read_events(document)
    message = Signed.of(document)
    if topic_arn and message.topic != topic_arn:
        raise NotificationForged(
            f"The message is of the topic {message.topic[:200]!r}; expected {topic_arn!r}."
        )
    return read_events(parsed(message.text))


def read_events(document: dict[str, Any]) -> Events:
    """The events of a document.

    Raises:
        NotificationUnreadable: not the documented form.
    """
    listed = document.get("Events")
    if not isinstance(listed, list) or not listed:
        raise NotificationUnreadable("The notification lists no events; expected EventDocId and Events.")
    return Events(
        key=_text(document, "EventDocId"),
        version=_text(document, "EventDocVersion"),
        events=tuple(sorted((_event(one) for one in listed), key=lambda event: event.at)),
    )


def parsed(body: str | bytes) -> dict[str, Any]:
    """A JSON object in which no name comes twice: readers do not agree on which of the two counts.

    Raises:
        NotificationUnreadable: something else, or too much of it.
    """
    if len(body) > MOST_BYTES:
        raise NotificationUnreadable(f"The notification is longer than {MOST_BYTES:,} bytes.")
    try:
        document = json.loads(body, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise NotificationUnreadable("The notification is not whole JSON; expected one object.") from None
    if not isinstance(document, dict):
        raise NotificationUnreadable("The notification is no JSON object.")
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotificationUnreadable("The notification has a name twice; expected each once.")
    return found


def _event(given: Any) -> Event:
    if not isinstance(given, dict):
        raise NotificationUnreadable("An event of the notification is no object.")
    at = _text(given, "EventTimestamp")
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise NotificationUnreadable(
            f"EventTimestamp is {at[:80]!r}; expected a time such as 2026-01-31T23:59:59Z."
        )
    return Event(
        kind=_text(given, "EventType"),
        at=moment,
        hit_type=_text(given, "HITTypeId"),
        hit=_text(given, "HITId"),
        assignment=_text(given, "AssignmentId") if given.get("AssignmentId") is not None else "",
    )


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not 0 < len(value) < 256 or not value.isprintable():
        raise NotificationUnreadable(f"{name} of the notification is missing or no short text.")
    return value
