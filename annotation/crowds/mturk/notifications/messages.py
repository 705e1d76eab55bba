"""Read Mechanical Turk's events from an SNS topic or an SQS queue, and verify the signatures of SNS.

Events are a JSON document such as ``{"Events": [{"EventType": "AssignmentSubmitted", "HITId": "3XYZ"}]}``; SNS sends it
as the text ``Message`` of a signed JSON object. The formats are described in "Notification Handling Using Amazon SNS"
and "Notification Handling Using Amazon SQS" of the Mechanical Turk API Reference. Events may be repeated, late and
unordered, and do not name the worker. They are only hints that a HIT has changed.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from common.errors import QuorumError
from common.incoming.json_documents import load_json

MAX_AGE = timedelta(hours=1)  # of a notification's signature
CLOCK_TOLERANCE = timedelta(minutes=15)  # difference between the clocks of Amazon and of this server
AMAZON_HOST = re.compile(r"sns\.[a-z0-9-]+\.amazonaws\.com")
CERTIFICATE_PATH = re.compile(r"/[A-Za-z0-9_-]+\.pem")
# the members (names in the JSON object) that are signed, in the order in which they are signed, by type of message
NOTIFICATION_FIELDS = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
CONFIRMATION_FIELDS = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
SIGNED_FIELDS: dict[str, tuple[str, ...]] = {
    "Notification": NOTIFICATION_FIELDS,
    "SubscriptionConfirmation": CONFIRMATION_FIELDS,
    "UnsubscribeConfirmation": CONFIRMATION_FIELDS,
}
OPTIONAL_FIELD = "Subject"  # the only signed member that may be missing
HIT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
MAX_BYTES = 1_000_000  # four times the maximum of SNS and SQS


class NotificationProblem(QuorumError):
    """The base of errors for which a notification is ignored."""


class NotificationUnreadable(NotificationProblem):
    """Raised if a notification is too long, or is not in the documented format."""


class NotificationForged(NotificationProblem):
    """Raised if the notification is not signed by Amazon SNS, or is about another topic."""

    status = 403


class NotificationTooOld(NotificationProblem):
    """Raised if a notification was signed more than ``MAX_AGE`` ago."""

    status = 403


@dataclass(frozen=True, slots=True)
class Subscription:
    """A request to confirm a subscription. Fetching ``url`` confirms it."""

    url: str


def read_sns(
    body: str | bytes, *, topic: str, now: datetime, fetch_certificate: Callable[[str], bytes]
) -> Set[str] | Subscription:
    """Verify an SNS message, and return the ids of the HITs that it names, or the subscription that it asks to confirm.

    A message that ends a subscription names no HITs.

    Args:
        topic: the ARN of the topic from which the message must come.
        fetch_certificate: a function that returns the certificate (PEM) at an address.

    Raises:
        NotificationUnreadable, NotificationForged, NotificationTooOld: the message must be ignored.
        NotFetched: ``fetch_certificate`` could not fetch the certificate.
    """
    message = _parse_object(body)
    _verify_message(message, topic=topic, now=now, fetch_certificate=fetch_certificate)
    if message["Type"] == "SubscriptionConfirmation":
        return Subscription(message["SubscribeURL"])
    if message["Type"] == "UnsubscribeConfirmation":
        return frozenset()
    return _hit_ids_of(_parse_object(message["Message"]))


def read_sqs(body: str | bytes) -> Set[str]:
    """Return the ids of the HITs that a message of the queue names.

    The message has the events, or an SNS notification with the events if the queue is subscribed to a topic. The
    queue's policy controls who may write, so no signature is verified.
    """
    document = _parse_object(body)
    if document.get("Type") == "Notification":
        _read_signing_time(document)  # checks the members, such as Message
        document = _parse_object(document["Message"])
    return _hit_ids_of(document)


def string_to_sign(message: Mapping[str, Any]) -> bytes:
    """Return the text that is signed: the name and the value of each signed member, each on a line of its own."""
    present_fields = [name for name in SIGNED_FIELDS[message["Type"]] if message.get(name) is not None]
    text = "".join(f"{name}\n{message[name]}\n" for name in present_fields)
    # JSON may hold lone surrogates; no valid signature covers them
    return text.encode(errors="surrogatepass")


def _parse_object(body: str | bytes) -> dict[str, Any]:
    """Parse a JSON object; refuse repeated names, since parsers differ in which one they keep."""
    if len(body) > MAX_BYTES:
        raise NotificationUnreadable(f"The notification is longer than {MAX_BYTES:,} bytes.")
    try:
        document = load_json(body, object_pairs_hook=_unique_members)
    except ValueError:
        raise NotificationUnreadable("The notification is not whole JSON; expected one object.") from None
    if not isinstance(document, dict):
        raise NotificationUnreadable("The notification is no JSON object.")
    return document


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotificationUnreadable("The notification has a name twice; expected each once.")
    return members


def _hit_ids_of(document: Mapping[str, Any]) -> Set[str]:
    """Return the HIT ids of a document such as ``{"Events": [{"HITId": "3XYZ"}]}``."""
    events = document.get("Events")
    if not isinstance(events, list) or not events:
        raise NotificationUnreadable("The notification lists no events; expected Events.")
    hits = set()
    for event in events:
        hit = event.get("HITId") if isinstance(event, dict) else None
        if not isinstance(hit, str) or not HIT_ID.fullmatch(hit):
            raise NotificationUnreadable("An event of the notification names no HIT; expected HITId.")
        hits.add(hit)
    return hits


def _verify_message(
    message: Mapping[str, Any], *, topic: str, now: datetime, fetch_certificate: Callable[[str], bytes]
) -> None:
    """Verify topic, age, addresses and signature of a message. The certificate is fetched after all other checks.

    Raises:
        NotificationUnreadable, NotificationForged, NotificationTooOld: the message must be ignored.
    """
    signed_at = _read_signing_time(message)
    if message["TopicArn"] != topic:
        raise NotificationForged(
            f"The message is of the topic {message['TopicArn'][:200]!r}; expected {topic!r}."
        )
    if not now - MAX_AGE <= signed_at <= now + CLOCK_TOLERANCE:
        raise NotificationTooOld(
            f"The message was signed at {signed_at.isoformat()}; expected at most an hour before {now.isoformat()}."
        )
    address = _amazon_address(message, "SigningCertURL")
    parts = urlsplit(address)
    if parts.query or parts.fragment or not CERTIFICATE_PATH.fullmatch(parts.path):
        # the host may also serve other text, such as the response of an action
        raise NotificationForged(f"SigningCertURL is {address[:200]!r}, no address of a certificate.")
    if "SubscribeURL" in SIGNED_FIELDS[message["Type"]]:
        _amazon_address(message, "SubscribeURL")
    _check_signature(message, now=now, pem=fetch_certificate(address))


def _read_signing_time(message: Mapping[str, Any]) -> datetime:
    """Check that all signed members are texts, and return the time at which the message was signed.

    Raises:
        NotificationUnreadable: a signed member is missing or not valid.
    """
    kind = message.get("Type")
    if not isinstance(kind, str) or kind not in SIGNED_FIELDS:
        raise NotificationUnreadable(f"Type is {str(kind)[:80]!r}; expected {', '.join(SIGNED_FIELDS)}.")
    for name in SIGNED_FIELDS[kind]:
        value = message.get(name)
        is_text = isinstance(value, str) and bool(value)
        may_be_missing = name == OPTIONAL_FIELD and value is None
        if not is_text and not may_be_missing:
            raise NotificationUnreadable(f"{name} of the message is missing or no text.")
    try:
        signed_at = datetime.fromisoformat(message["Timestamp"])
    except ValueError:
        signed_at = None
    if signed_at is None or signed_at.tzinfo is None:
        raise NotificationUnreadable(
            f"Timestamp is {message['Timestamp'][:80]!r}; expected a time such as 2026-01-31T23:59:59Z."
        )
    return signed_at


def _amazon_address(message: Mapping[str, Any], name: str) -> str:
    """Return an address in a message. Raise NotificationForged unless it is an https address of Amazon SNS."""
    address = message.get(name)
    try:
        parts = urlsplit(address if isinstance(address, str) else "")
    except ValueError:
        parts = urlsplit("")
    if parts.scheme != "https" or not AMAZON_HOST.fullmatch(parts.netloc):
        raise NotificationForged(
            f"{name} is {str(address)[:200]!r}; expected https at an address of Amazon SNS."
        )
    return str(address)


def _check_signature(message: Mapping[str, Any], *, now: datetime, pem: bytes) -> None:
    """Raise NotificationForged unless the message is signed by the certificate ``pem``, which must be valid now."""
    # imported lazily: 13 MB that an installation without Mechanical Turk does not need
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.hashes import SHA1, SHA256

    version = message.get("SignatureVersion")
    # the topic's owner chooses the version; SHA-1 is the default
    hash_algorithm = {"1": SHA1(), "2": SHA256()}.get(version) if isinstance(version, str) else None  # noqa: S303
    if hash_algorithm is None:
        raise NotificationForged(f"SignatureVersion is {str(version)[:80]!r}; expected '1' or '2'.")
    try:
        signature = base64.b64decode(str(message.get("Signature")), validate=True)
        certificate = x509.load_pem_x509_certificate(pem)
    except (binascii.Error, ValueError):
        raise NotificationForged("The signature or its certificate cannot be read.") from None
    key = certificate.public_key()
    if not isinstance(key, RSAPublicKey):
        raise NotificationForged("The certificate's key is none of RSA, with which SNS signs.")
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise NotificationForged("The certificate of the signature is not valid now.")
    try:
        key.verify(signature, string_to_sign(message), PKCS1v15(), hash_algorithm)
    except InvalidSignature:
        problem = f"The signature does not fit the message {message['MessageId'][:80]!r}."
        raise NotificationForged(problem) from None
