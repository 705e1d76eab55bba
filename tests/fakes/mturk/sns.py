"""Messages of SNS topics, signed with a certificate of the emulator's own.

What is signed and how: AWS, "Verifying the signatures of Amazon SNS messages": the values of certain keys with
their names, in alphabetical order, each on a line; RSA with SHA-1 (version 1) or SHA-256 (version 2).
"""

import base64
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from tests.fakes.mturk.clock import Clock

CERTIFICATE_PATH = "/SimpleNotificationService-emulated.pem"
SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": (
        "Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type",
    ),
}  # fmt: skip
HASHES: dict[str, hashes.HashAlgorithm] = {"1": hashes.SHA1(), "2": hashes.SHA256()}  # noqa: S303 (what SNS signs with)


@cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def certificate() -> bytes:
    """The certificate that subscribers check signatures with, as PEM."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.emulated")])
    start = datetime.fromisoformat("2020-01-01T00:00:00+00:00")
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(_key().public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=36_500))
        .sign(_key(), hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM)


def sign(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its signature, by its SignatureVersion."""
    lines = [f"{name}\n{message[name]}\n" for name in SIGNED[message["Type"]] if name in message]
    algorithm = HASHES[message["SignatureVersion"]]
    signature = _key().sign("".join(lines).encode(), padding.PKCS1v15(), algorithm)
    return message | {"Signature": base64.b64encode(signature).decode()}


class Topics:
    """Signs what topics send."""

    def __init__(self, clock: Clock, new_id: Callable[[], str]) -> None:
        self.base_url = ""
        self.signature_version = "1"  # what SNS uses unless a topic asks for 2 (D)
        self._clock = clock
        self._new_id = new_id

    def signed(self, topic_arn: str, content: dict[str, Any]) -> dict[str, Any]:
        """A whole signed message around `Type`, `Message` and what belongs to its type."""
        now = self._clock.now()
        return sign(
            {
                "MessageId": self._new_id().lower(),
                "TopicArn": topic_arn,
                "Timestamp": f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}Z",
                "SignatureVersion": self.signature_version,
                "SigningCertURL": f"{self.base_url}{CERTIFICATE_PATH}",
            }
            | content
        )
