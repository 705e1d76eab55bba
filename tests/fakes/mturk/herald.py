"""Events about HITs, as documents sent to SQS queues or SNS topics (MTURK.md §2 D, "Elements of a Notification").

A document holds `EventDocId`, `EventDocVersion`, `CustomerId` and a list of `Events` (type, time, HITTypeId,
HITId, AssignmentId). No WorkerId. Documents may come twice, late and out of order: `repeat` and `shuffle` do that.
"""

import json
import random
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.fakes.mturk.errors import RequestError
from tests.fakes.mturk.sns import Topics
from tests.fakes.mturk.sqs import Queues
from tests.fakes.mturk.state import HIT, Assignment, Notification

CUSTOMER = "AEMULATEDREQUESTER"


class Herald:
    """Sends documents and keeps them, so that they can be sent again."""

    def __init__(self, queues: Queues, topics: Topics, new_id: Callable[[], str]) -> None:
        self.queues = queues
        self.topics = topics
        self.sent: list[tuple[Notification, str]] = []
        self.mails: list[tuple[str, str]] = []
        self.holding = False
        self._held: list[tuple[Notification, str]] = []
        self._new_id = new_id

    def tell(self, event: str, hit: HIT, assignment: Assignment | None, at: datetime) -> None:
        """One event of a HIT, when its type wants such events told."""
        notification = hit.type.notification
        if notification is None or not notification.active or event not in notification.event_types:
            return
        told: dict[str, Any] = {
            "EventType": event,
            "EventTimestamp": f"{at:%Y-%m-%dT%H:%M:%SZ}",
            "HITTypeId": hit.type.hit_type_id,
            "HITId": hit.hit_id,
        }
        if assignment is not None:
            told["AssignmentId"] = assignment.assignment_id
        self._send(notification, [told])

    def test(self, notification: Notification, event: str, at: datetime) -> None:
        """A made-up event; a destination that is not there is an error (?)."""
        if notification.transport == "SQS" and not self.queues.knows(notification.destination):
            raise RequestError(
                f"The queue {notification.destination} cannot be written to.", "QueueNotWritable"
            )
        told = {
            "EventType": event,
            "EventTimestamp": f"{at:%Y-%m-%dT%H:%M:%SZ}",
            "HITTypeId": self._new_id(),
            "HITId": self._new_id(),
        }
        if event.startswith("Assignment"):
            told["AssignmentId"] = self._new_id()
        self._send(notification, [told])

    def hold(self) -> None:
        """Keeps documents back until `release`."""
        self.holding = True

    def release(self, shuffle: random.Random | None = None) -> int:
        """Sends what was held back, in order or shuffled; answers how many."""
        self.holding = False
        held, self._held = self._held, []
        if shuffle is not None:
            shuffle.shuffle(held)
        for notification, document in held:
            self._deliver(notification, document)
        return len(held)

    def repeat(self, last: int = 1) -> None:
        """Sends the latest documents once more, unchanged."""
        for notification, document in self.sent[-last:]:
            self._deliver(notification, document)

    def _send(self, notification: Notification, events: list[dict[str, Any]]) -> None:
        document = json.dumps(
            {
                "EventDocId": self._new_id().lower(),
                "EventDocVersion": notification.version,
                "CustomerId": CUSTOMER,
                "Events": events,
            }
        )
        self.sent.append((notification, document))
        if self.holding:
            self._held.append((notification, document))
        else:
            self._deliver(notification, document)

    def _deliver(self, notification: Notification, document: str) -> None:
        if notification.transport == "SQS":
            self.queues.deliver(notification.destination, document)
        elif notification.transport == "SNS":
            self.topics.publish(notification.destination, document)
        else:
            self.mails.append((notification.destination, document))
