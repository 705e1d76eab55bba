"""Notification settings of HIT types; what is told is made in `herald.py`."""

from datetime import datetime
from typing import Any

from tests.fakes.mturk.errors import ParameterValidationError
from tests.fakes.mturk.operations.registry import Answer, Parameters, operation
from tests.fakes.mturk.state import Notification, World

VERSIONS = {"2006-05-05", "2014-08-15"}  # botocore's model names the first, AWS's article the second


@operation("UpdateNotificationSettings")
def update_notification_settings(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Sets, replaces, switches on or off; one of the two parameters must be there (D)."""
    hit_type = world.hit_type(parameters["HITTypeId"])
    if "Notification" not in parameters and "Active" not in parameters:
        raise ParameterValidationError("Either Notification or Active must be specified.")
    if "Notification" in parameters:
        notification = _notification(parameters["Notification"])
        if "Ping" in notification.event_types:
            raise ParameterValidationError("Ping is only for SendTestEventNotification.")
        hit_type.notification = notification
    if hit_type.notification is None:
        raise ParameterValidationError(f"HIT type {hit_type.hit_type_id} has no Notification to switch.")
    hit_type.notification.active = parameters.get("Active", hit_type.notification.active)
    return {}


def _notification(given: dict[str, Any]) -> Notification:
    if given["Version"] not in VERSIONS:
        raise ParameterValidationError(f"Version {given['Version']} is not known.")
    return Notification(given["Destination"], given["Transport"], given["Version"], given["EventTypes"])
