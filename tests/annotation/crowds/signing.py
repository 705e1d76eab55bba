"""A topic of our own: SNS messages signed with a key whose certificate the tests hand out."""

import base64
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from annotation.crowds.mturk.notifications import string_to_sign

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ARN = "arn:aws:sns:us-east-1:123456789012:quorum"
CERTIFICATE_URL = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem"
EVENTS = {
    "EventDocVersion": "2014-08-15",
    "EventDocId": "doc-1",
    "CustomerId": "A1CUSTOMER",
    "Events": [
        {
            "EventType": "AssignmentSubmitted",
            "EventTimestamp": "2026-11-20T11:59:00Z",
            "HITTypeId": "3TYPE",
            "HITId": "3HIT",
            "AssignmentId": "3ASSIGNMENT",
        },
        {
            "EventType": "HITReviewable",
            "EventTimestamp": "2026-11-20T11:58:00Z",
            "HITTypeId": "3TYPE",
            "HITId": "3HIT",
        },
    ],
}


@cache
def key_of(name: str) -> RSAPrivateKey:
    """A key of its own for each name."""
    return generate_private_key(public_exponent=65537, key_size=2048)


@cache
def certificate(name: str = "amazon", *, ends: datetime = NOW + timedelta(days=30)) -> bytes:
    """The certificate of ``name``'s key, valid from a month ago."""
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    key = key_of(name)
    made = (
        x509.CertificateBuilder()
        .subject_name(called)
        .issuer_name(called)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW - timedelta(days=30))
        .not_valid_after(ends)
        .sign(key, SHA256())
    )
    return made.public_bytes(Encoding.PEM)


def message(
    kind: str = "Notification", *, version: str = "2", signer: str = "amazon", **changed: Any
) -> dict[str, Any]:
    """A message as SNS posts it, signed after ``changed``."""
    found: dict[str, Any] = {
        "Type": kind,
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": ARN,
        "Message": json.dumps(EVENTS),
        "Timestamp": "2026-11-20T11:59:30.123Z",
        "SignatureVersion": version,
        "SigningCertURL": CERTIFICATE_URL,
    }
    if kind != "Notification":
        found |= {
            "Message": "You have chosen to subscribe to the topic.",
            "Token": "2336412f37fb687f5d51e6e241d09c805a5a57b30d712f794cc5f6a988666d92768dd60a747ba6f3beb71854e285d6ad",
            "SubscribeURL": f"https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn={ARN}&Token=2336",
        }
    found = {name: value for name, value in (found | changed).items() if value is not None}
    return found | {"Signature": signature(found, signer=signer)}


def signature(found: dict[str, Any], *, signer: str = "amazon") -> str:
    """What fits the message as it is."""
    method = SHA256() if found["SignatureVersion"] == "2" else SHA1()  # noqa: S303
    return base64.b64encode(key_of(signer).sign(string_to_sign(found), PKCS1v15(), method)).decode()


@dataclass
class Shelf:
    """Hands out certificates by address, and remembers which were asked for."""

    held: bytes = field(default_factory=certificate)
    asked: list[str] = field(default_factory=list)

    def __call__(self, address: str) -> bytes:
        self.asked.append(address)
        return self.held
