"""SNS topics with HTTP subscribers, whose messages are signed with a certificate of the emulator's own.

What is signed and how: AWS, "Verifying the signatures of Amazon SNS messages": the values of certain keys with
their names, in alphabetical order, each on a line; RSA with SHA-1 (version 1) or SHA-256 (version 2).
"""

import base64
import json
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from tests.fakes.mturk.clock import Clock

CERTIFICATE_PATH = "/SimpleNotificationService-emulated.pem"
TYPE_HEADER = "x-amz-sns-message-type"
SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": (
        "Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type",
    ),
}  # fmt: skip
HASHES: dict[str, hashes.HashAlgorithm] = {"1": hashes.SHA1(), "2": hashes.SHA256()}  # noqa: S303 (what SNS signs with)


@dataclass
class Subscription:
    """A subscriber's address; messages come once it has fetched the SubscribeURL."""

    topic_arn: str
    url: str
    token: str
    confirmed: bool = False


@dataclass(frozen=True)
class Delivery:
    """What a subscriber answered to a message."""

    url: str
    kind: str
    status: int  # 0: could not be reached


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
    """Topics and who listens. Messages go out from a thread of their own, in order."""

    def __init__(self, clock: Clock, new_id: Callable[[], str]) -> None:
        self.base_url = ""
        self.signature_version = "1"  # what SNS uses unless a topic asks for 2 (D)
        self.deliveries: list[Delivery] = []
        self._clock = clock
        self._new_id = new_id
        self._subscriptions: list[Subscription] = []
        self._outgoing: queue.Queue[tuple[Subscription, dict[str, Any]] | None] = queue.Queue()
        self._thread: threading.Thread | None = None

    def subscribe(self, topic_arn: str, url: str) -> Subscription:
        """A new subscriber: is sent a SubscriptionConfirmation and nothing else until it confirms."""
        subscription = Subscription(topic_arn, url, self._new_id().lower())
        self._subscriptions.append(subscription)
        confirm = (
            f"{self.base_url}/?Action=ConfirmSubscription&TopicArn={topic_arn}&Token={subscription.token}"
        )
        self._post(
            subscription,
            {
                "Type": "SubscriptionConfirmation",
                "Token": subscription.token,
                "Message": f"You have chosen to subscribe to the topic {topic_arn}.",
                "SubscribeURL": confirm,
            },
        )
        return subscription

    def confirm(self, topic_arn: str, token: str) -> bool:
        """What fetching a SubscribeURL does; false when nobody subscribed so."""
        found = [
            entry for entry in self._subscriptions if (entry.topic_arn, entry.token) == (topic_arn, token)
        ]
        for entry in found:
            entry.confirmed = True
        return bool(found)

    def publish(self, topic_arn: str, text: str) -> None:
        """Sends a text to every confirmed subscriber of a topic."""
        for subscription in self._subscriptions:
            if subscription.topic_arn == topic_arn and subscription.confirmed:
                self._post(subscription, {"Type": "Notification", "Message": text})

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

    def flush(self) -> None:
        """Waits until everything was delivered."""
        if self._thread is not None:
            self._outgoing.join()

    def close(self) -> None:
        """Delivers what is left and ends the thread."""
        if self._thread is not None:
            self._outgoing.put(None)
            self._thread.join()
            self._thread = None

    def _post(self, subscription: Subscription, content: dict[str, Any]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._deliver, name="sns", daemon=True)
            self._thread.start()
        self._outgoing.put((subscription, self.signed(subscription.topic_arn, content)))

    def _deliver(self) -> None:
        while (job := self._outgoing.get()) is not None:
            subscription, message = job
            self.deliveries.append(
                Delivery(subscription.url, message["Type"], _deliver_to(subscription.url, message))
            )
            self._outgoing.task_done()
        self._outgoing.task_done()


def _deliver_to(url: str, message: dict[str, Any]) -> int:
    headers = {
        "Content-Type": "text/plain; charset=UTF-8",  # as SNS says it, although it is JSON
        TYPE_HEADER: message["Type"],
        "x-amz-sns-message-id": message["MessageId"],
        "x-amz-sns-topic-arn": message["TopicArn"],
        "User-Agent": "Amazon Simple Notification Service Agent",
    }
    request = urllib.request.Request(url, json.dumps(message).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0
