"""Queues that boto3's sqs client can poll: the part of SQS that a listener uses (botocore's model, JSON 1.0).

Delivery is at least once: what is received and not deleted comes back when its visibility timeout is over.
"""

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.fakes.mturk.clock import Clock

ACCOUNT = "000000000000"
USUAL_INVISIBILITY = 30  # seconds (D, VisibilityTimeout)
LONGEST_WAIT = 20  # seconds (D, WaitTimeSeconds)


class SQSRefusal(Exception):
    """An error of SQS, by its shape in the model."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass
class Message:
    """A message in a queue."""

    message_id: str
    body: str
    sent: datetime
    visible: datetime
    received: int = 0
    receipt: str = ""


@dataclass
class Queue:
    """A queue and how long what was received from it stays out of sight."""

    name: str
    messages: list[Message]
    invisibility: int = USUAL_INVISIBILITY


class Queues:
    """All queues of the account."""

    def __init__(self, clock: Clock, new_id: Callable[[], str]) -> None:
        self.base_url = ""
        self._clock = clock
        self._new_id = new_id
        self._queues: dict[str, Queue] = {}
        self._arrived = threading.Condition()
        self._operations: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "CreateQueue": self._create,
            "SendMessage": self._send_message,
            "ReceiveMessage": self._receive,
            "DeleteMessage": self._delete,
        }

    def call(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Carries out one operation of SQS."""
        handler = self._operations.get(operation)
        if handler is None:
            raise SQSRefusal("UnsupportedOperation", f"{operation} is not known to this emulator")
        return handler(parameters)

    def create(self, name: str) -> str:
        """A queue of that name, made when it is not there; answers its address."""
        return str(self._create({"QueueName": name})["QueueUrl"])

    def knows(self, url: str) -> bool:
        """Whether there is such a queue."""
        with self._arrived:
            return url.rpartition("/")[2] in self._queues

    def deliver(self, url: str, body: str) -> None:
        """Puts a message in; one for a queue that is not there is lost, as with the real service."""
        if self.knows(url):
            self._send_message({"QueueUrl": url, "MessageBody": body})

    def _queue(self, parameters: dict[str, Any]) -> Queue:
        queue = self._queues.get(parameters["QueueUrl"].rpartition("/")[2])
        if queue is None:
            raise SQSRefusal("QueueDoesNotExist", "The specified queue does not exist.")
        return queue

    def _url(self, name: str) -> str:
        return f"{self.base_url}/{ACCOUNT}/{name}"

    def _create(self, parameters: dict[str, Any]) -> dict[str, Any]:
        name = parameters["QueueName"]
        timeout = int(parameters.get("Attributes", {}).get("VisibilityTimeout", USUAL_INVISIBILITY))
        with self._arrived:
            self._queues.setdefault(name, Queue(name, [], timeout))
        return {"QueueUrl": self._url(name)}

    def _send_message(self, parameters: dict[str, Any]) -> dict[str, Any]:
        now = self._clock.now()
        with self._arrived:
            visible = now + timedelta(seconds=parameters.get("DelaySeconds", 0))
            message = Message(self._new_id(), parameters["MessageBody"], now, visible)
            self._queue(parameters).messages.append(message)
            self._arrived.notify_all()
        return {"MessageId": message.message_id, "MD5OfMessageBody": _md5(message.body)}

    def _receive(self, parameters: dict[str, Any]) -> dict[str, Any]:
        most = parameters.get("MaxNumberOfMessages", 1)
        if not 1 <= most <= 10:
            raise SQSRefusal("InvalidParameterValue", "MaxNumberOfMessages must be between 1 and 10")
        wait = min(parameters.get("WaitTimeSeconds", 0), LONGEST_WAIT)
        with self._arrived:
            queue = self._queue(parameters)
            if wait:
                self._arrived.wait_for(lambda: self._visible(queue), timeout=wait)
            now = self._clock.now()
            out_of_sight = timedelta(seconds=parameters.get("VisibilityTimeout", queue.invisibility))
            found = self._visible(queue)[:most]
            for message in found:
                message.received += 1
                message.visible = now + out_of_sight
                message.receipt = f"{message.message_id}#{message.received}"
        return {"Messages": [_shown(message) for message in found]} if found else {}

    def _visible(self, queue: Queue) -> list[Message]:
        now = self._clock.now()
        return [message for message in queue.messages if message.visible <= now]

    def _delete(self, parameters: dict[str, Any]) -> dict[str, Any]:
        with self._arrived:
            queue = self._queue(parameters)
            message_id = parameters["ReceiptHandle"].partition("#")[0]
            queue.messages = [message for message in queue.messages if message.message_id != message_id]
        return {}


def _shown(message: Message) -> dict[str, Any]:
    return {
        "MessageId": message.message_id,
        "ReceiptHandle": message.receipt,
        "MD5OfBody": _md5(message.body),
        "Body": message.body,
        "Attributes": {
            "ApproximateReceiveCount": str(message.received),
            "SentTimestamp": str(int(message.sent.timestamp() * 1000)),
        },
    }


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
