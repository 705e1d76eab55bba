"""Read Mechanical Turk's events from an SNS topic or an SQS queue.

Form: "Notification Handling Using Amazon SNS" and "... Amazon SQS" of the Mechanical Turk API Reference; both
carry the same document. Events may be repeated, late and unordered, and do not name the worker: they are only
hints to look.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, HashAlgorithm
from django.conf import settings

from annotation.crowds.mturk.questions import (
    NotificationForged,
    NotificationRepeated,
    NotificationTooOld,
    NotificationUnreadable,
)

OLDEST = timedelta(hours=1)
EARLIEST = timedelta(minutes=15)  # clocks differ
LOOPBACK = ("localhost", "127.0.0.1", "::1")
AMAZON = re.compile(r"sns\.[a-z0-9-]+\.amazonaws\.com")
CERTIFICATE = re.compile(r"/[A-Za-z0-9_-]+\.pem")
# topics use SHA-1 by default, so it cannot be left out
HASHES: dict[str, HashAlgorithm] = {"1": SHA1(), "2": SHA256()}  # noqa: S303  # the sender chooses it
# signed members in order
NOTIFICATION = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
SIGNED: dict[str, tuple[str, ...]] = {
    "Notification": NOTIFICATION,
    "SubscriptionConfirmation": CONFIRMATION,
    "UnsubscribeConfirmation": CONFIRMATION,
}
OPTIONAL = "Subject"


@dataclass(frozen=True, slots=True)
class SNSTopic:
    """The expected topic.

    Attributes:
        hosts: host and port of certificates: Amazon's by default. Only a permitted emulator on this machine may do
            without https.
    """

    arn: str
    hosts: re.Pattern[str] = AMAZON


@dataclass(frozen=True, slots=True)
class Signed:
    """An SNS message whose form alone was checked."""

    kind: str
    key: str
    topic: str
    text: str
    at: datetime
    subscribe_url: str

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Signed:
        kind = message.get("Type")
        if not isinstance(kind, str) or kind not in SIGNED:
            raise NotificationUnreadable(f"Type is {str(kind)[:80]!r}; expected {', '.join(SIGNED)}.")
        for name in SIGNED[kind]:
            value = message.get(name)
            if not (isinstance(value, str) and value) and not (name == OPTIONAL and value is None):
                raise NotificationUnreadable(f"{name} of the message is missing or no text.")
        stamp = message["Timestamp"]
        try:
            at = datetime.fromisoformat(stamp)
        except ValueError:
            at = None
        if at is None or at.tzinfo is None:
            raise NotificationUnreadable(
                f"Timestamp is {stamp[:80]!r}; expected a time such as 2026-01-31T23:59:59Z."
            )
        return cls(
            kind=kind,
            key=message["MessageId"],
            topic=message["TopicArn"],
            text=message["Message"],
            at=at,
            subscribe_url=message["SubscribeURL"] if "SubscribeURL" in SIGNED[kind] else "",
        )


def verified(
    message: Mapping[str, Any],
    *,
    topic: SNSTopic,
    now: datetime,
    certificate: Callable[[str], bytes],
    seen: Callable[[str], bool],
) -> Signed:
    """Verify a message completely. Fetch nothing before the rest was checked.

    Raises:
        NotificationForged: another topic, a foreign certificate, or a wrong signature.
        NotificationTooOld: signed more than an hour ago, or in the future.
        NotificationRepeated: ``seen`` before.
    """
    found = Signed.of(message)
    if found.topic != topic.arn:
        raise NotificationForged(
            f"The message is of the topic {found.topic[:200]!r}; expected {topic.arn!r}."
        )
    if not now - OLDEST <= found.at <= now + EARLIEST:
        raise NotificationTooOld(
            f"The message was signed at {found.at.isoformat()}; expected at most an hour before {now.isoformat()}."
        )
    address = _of_amazon(message.get("SigningCertURL"), topic, "SigningCertURL")
    parts = urlsplit(address)
    if parts.query or parts.fragment or not CERTIFICATE.fullmatch(parts.path):
        # the host may also serve other text, as the answer of an action
        raise NotificationForged(f"SigningCertURL is {address[:200]!r}, no address of a certificate.")
    if found.subscribe_url:
        _of_amazon(found.subscribe_url, topic, "SubscribeURL")
    _check_signature(message, found, now=now, pem=certificate(address))
    if seen(found.key):
        raise NotificationRepeated(f"The message {found.key[:80]!r} came before.")
    return found


def string_to_sign(message: Mapping[str, Any]) -> bytes:
    """Return the signed names and values, each on a line; missing ones are left out."""
    return "".join(
        f"{name}\n{message[name]}\n" for name in SIGNED[message["Type"]] if message.get(name) is not None
    ).encode(errors="surrogatepass")


def _of_amazon(address: Any, topic: SNSTopic, what: str) -> str:
    try:
        parts = urlsplit(address if isinstance(address, str) else "")
    except ValueError:
        parts = urlsplit("")
    encrypted = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    if not encrypted or not topic.hosts.fullmatch(parts.netloc):
        raise NotificationForged(
            f"{what} is {str(address)[:200]!r}; expected https at an address of Amazon SNS."
        )
    return str(address)


def _check_signature(message: Mapping[str, Any], found: Signed, *, now: datetime, pem: bytes) -> None:
    version = message.get("SignatureVersion")
    method = HASHES.get(version) if isinstance(version, str) else None
    if method is None:
        raise NotificationForged(f"SignatureVersion is {str(version)[:80]!r}; expected '1' or '2'.")
    try:
        signature = base64.b64decode(str(message.get("Signature")), validate=True)
        signer = x509.load_pem_x509_certificate(pem)
    except (binascii.Error, ValueError):
        raise NotificationForged("The signature or its certificate cannot be read.") from None
    key = signer.public_key()
    if not isinstance(key, RSAPublicKey):
        raise NotificationForged("The certificate's key is none of RSA, with which SNS signs.")
    if not signer.not_valid_before_utc <= now <= signer.not_valid_after_utc:
        raise NotificationForged("The certificate of the signature is not valid now.")
    try:
        key.verify(signature, string_to_sign(message), PKCS1v15(), method)
    except InvalidSignature:
        raise NotificationForged(f"The signature does not fit the message {found.key[:80]!r}.") from None


MOST_BYTES = 1_000_000  # four times the maximum of SNS and SQS
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
    """An event of a HIT; ``assignment`` is "" if it concerns the whole HIT.

    ``kind`` may be missing from ``EVENT_TYPES``, as the service may add kinds.
    """

    kind: str
    at: datetime
    hit_type: str
    hit: str
    assignment: str


@dataclass(frozen=True, slots=True)
class Events:
    """A document of events, the earliest first. ``key`` identifies a repetition."""

    key: str
    version: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Subscription:
    """A request to confirm a subscription by fetching ``url``."""

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
    """Read a verified SNS message; return None for the end of a subscription.

    Args:
        certificate: fetches the certificate (PEM) at a verified address.
        seen: whether a message id came before.

    Raises:
        NotificationUnreadable: not the documented form.
        NotificationForged, NotificationTooOld, NotificationRepeated: it must be ignored.
    """
    message = verified(parsed(body), topic=topic, now=now, certificate=certificate, seen=seen)
    if message.kind == "SubscriptionConfirmation":
        return Subscription(key=message.key, topic=message.topic, url=message.subscribe_url)
    if message.kind == "UnsubscribeConfirmation":
        return None
    return read_events(parsed(message.text))


def read_sqs(body: str | bytes, *, topic_arn: str = "") -> Events:
    """Read a queue's message: the document, or SNS's wrapping of it.

    The queue's policy controls who may write, so no signature is needed.

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
    listed = document.get("Events")
    if not isinstance(listed, list) or not listed:
        raise NotificationUnreadable("The notification lists no events; expected EventDocId and Events.")
    return Events(
        key=_text(document, "EventDocId"),
        version=_text(document, "EventDocVersion"),
        events=tuple(sorted((_event(one) for one in listed), key=lambda event: event.at)),
    )


def parsed(body: str | bytes) -> dict[str, Any]:
    """Parse a JSON object without repeated names, which parsers treat differently."""
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


SECONDS = 10
MOST_TOPIC_BYTES = 100_000
MOST_CERTIFICATES = 20

_certificates: dict[str, bytes] = {}  # SNS uses one certificate for months


class NotFetched(Exception):
    """Amazon's answer is missing or unexpected; the notification may come again."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Refuse redirects, which become errors."""


def topic() -> SNSTopic | None:
    return SNSTopic(arn=settings.MTURK_SNS_TOPIC) if settings.MTURK_SNS_TOPIC else None


def certificate(address: str) -> bytes:
    """Return the certificate (PEM) at a verified address; raise NotFetched."""
    if address not in _certificates:
        found = _fetched(address)
        if len(_certificates) >= MOST_CERTIFICATES:
            _certificates.clear()
        _certificates[address] = found
    return _certificates[address]


def confirm(address: str) -> None:
    """Confirm a subscription; raise NotFetched."""
    _fetched(address)


def _fetched(address: str) -> bytes:
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(address, timeout=SECONDS) as reply:
            body: bytes = reply.read(MOST_TOPIC_BYTES + 1)
    except (OSError, ValueError) as problem:
        raise NotFetched(f"{address} could not be fetched: {problem}") from None
    if len(body) > MOST_TOPIC_BYTES:
        raise NotFetched(f"{address} is longer than {MOST_TOPIC_BYTES:,} bytes.")
    return body
