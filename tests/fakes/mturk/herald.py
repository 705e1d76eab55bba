"""Events about HITs, as documents sent to SQS queues (MTURK.md §2 D, "Elements of a Notification").

A document holds `EventDocId`, `EventDocVersion`, `CustomerId` and a list of `Events` (type, time, HITTypeId,
HITId, AssignmentId). No WorkerId.
"""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.fakes.mturk.sqs import Queues
from tests.fakes.mturk.state import HIT, Assignment, Notification

CUSTOMER = "AEMULATEDREQUESTER"


class Herald:
    """Makes documents of events and sends them to queues."""

    def __init__(self, queues: Queues, new_id: Callable[[], str]) -> None:
        self.queues = queues
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

    def _send(self, notification: Notification, events: list[dict[str, Any]]) -> None:
        document = json.dumps(
            {
                "EventDocId": self._new_id().lower(),
                "EventDocVersion": notification.version,
                "CustomerId": CUSTOMER,
                "Events": events,
            }
        )
        if notification.transport == "SQS":
            self.queues.deliver(notification.destination, document)
