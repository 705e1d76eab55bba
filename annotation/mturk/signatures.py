"""Whether a message came from the expected SNS topic, just now, for the first time.

Rules: "Verifying the signatures of Amazon SNS messages" of the SNS Developer Guide.
"""

from __future__ import annotations

import base64
import binascii
import re
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

from annotation.mturk.errors import (
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
# SHA-1 is what topics use unless told otherwise: it cannot be left out
HASHES: dict[str, HashAlgorithm] = {"1": SHA1(), "2": SHA256()}  # noqa: S303  # the sender chooses it
# what is signed, in the order it is signed
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
    """The topic that is expected.

    Attributes:
        arn: its name.
        hosts: where certificates may come from, host and port: Amazon's by default, another partition's by setting.
            Only an emulator on this machine, if it is let in, may do without https.
    """

    arn: str
    hosts: re.Pattern[str] = AMAZON


@dataclass(frozen=True, slots=True)
class Signed:
    """A message of SNS; nothing is checked yet but its form."""

    kind: str
    key: str
    topic: str
    text: str
    at: datetime
    subscribe_url: str

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Signed:
        """The message of a JSON object.

        Raises:
            NotificationUnreadable: a part is missing.
        """
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
    """The message, once everything about it holds. Nothing is fetched before the rest is checked.

    Raises:
        NotificationUnreadable: a part is missing.
        NotificationForged: another topic, a foreign certificate, or a signature that does not fit.
        NotificationTooOld: signed more than an hour ago, or for a time to come.
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
        # under the right host, but as an action's answer, anybody's words could be served
        raise NotificationForged(f"SigningCertURL is {address[:200]!r}, no address of a certificate.")
    if found.subscribe_url:
        _of_amazon(found.subscribe_url, topic, "SubscribeURL")
    _check_signature(message, found, now=now, pem=certificate(address))
    if seen(found.key):
        raise NotificationRepeated(f"The message {found.key[:80]!r} came before.")
    return found


def string_to_sign(message: Mapping[str, Any]) -> bytes:
    """The names and values that are signed, each on a line of its own; what is not there is left out."""
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
