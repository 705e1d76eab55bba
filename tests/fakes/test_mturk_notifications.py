"""Events told to a queue that boto3 polls, and to subscribers of a topic by signed messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.mturk import MTurkEmulator
from tests.fakes.turking import NOON, put_up, refused, sqs_client

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient
    from mypy_boto3_sqs import SQSClient

ALL = [
    "AssignmentAccepted", "AssignmentAbandoned", "AssignmentReturned", "AssignmentSubmitted",
    "AssignmentRejected", "AssignmentApproved", "HITCreated", "HITExpired", "HITReviewable", "HITExtended",
    "HITDisposed",
]  # fmt: skip


@pytest.fixture
def sqs(emulator: MTurkEmulator) -> Iterator[SQSClient]:
    """A client of the queues."""
    made = sqs_client(emulator)
    yield made
    made.close()


def listen(client: MTurkClient, hit_type_id: str, destination: str, transport: str, *events: str) -> None:
    """Asks for the events of a HIT type."""
    client.update_notification_settings(
        HITTypeId=hit_type_id,
        Notification={
            "Destination": destination,
            "Transport": transport,  # type: ignore[typeddict-item]  # a plain string here
            "Version": "2006-05-05",
            "EventTypes": events or ALL,  # type: ignore[typeddict-item]  # plain strings here
        },
        Active=True,
    )


def documents(sqs: SQSClient, url: str) -> list[dict[str, Any]]:
    """Receives and deletes all that is there."""
    found: list[dict[str, Any]] = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        for message in messages:
            found.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return found


def events(found: list[dict[str, Any]]) -> list[str]:
    """What happened, in the order told."""
    return [event["EventType"] for document in found for event in document["Events"]]


def hit_type(client: MTurkClient) -> str:
    """The type of the HITs that `put_up` makes."""
    return client.create_hit_type(
        Title="Which caption describes the photograph?",
        Description="Compare two captions",
        Reward="0.10",
        AssignmentDurationInSeconds=600,
    )["HITTypeId"]


def test_the_life_of_a_hit_is_told_to_a_queue(
    emulator: MTurkEmulator, client: MTurkClient, sqs: SQSClient
) -> None:
    url = sqs.create_queue(QueueName="events")["QueueUrl"]
    listen(client, hit_type(client), url, "SQS")
    hit_id = put_up(client, MaxAssignments=2)["HITId"]
    ann, ben = emulator.turker("AANN"), emulator.turker("ABEN")
    ann.return_(ann.accept(hit_id).assignment_id)
    ann.accept(hit_id)
    emulator.clock.advance(600)
    done = ben.work(hit_id, {"a": "1"})
    client.reject_assignment(AssignmentId=done, RequesterFeedback="Not read")
    client.approve_assignment(AssignmentId=done, OverrideRejection=True)
    emulator.clock.advance(3000)
    emulator.settle()
    found = documents(sqs, url)
    assert events(found) == [
        "HITCreated", "AssignmentAccepted", "AssignmentReturned", "AssignmentAccepted", "AssignmentAbandoned",
        "AssignmentAccepted", "AssignmentSubmitted", "AssignmentRejected", "AssignmentApproved", "HITExpired",
        "HITReviewable",
    ]  # fmt: skip
    assert len({document["EventDocId"] for document in found}) == len(found)
    submitted = found[6]["Events"][0]
    assert submitted == {
        "EventType": "AssignmentSubmitted",
        "EventTimestamp": "2026-03-02T12:10:00Z",
        "HITTypeId": hit_type(client),
        "HITId": hit_id,
        "AssignmentId": done,
    }


def test_an_expiration_is_told_once(emulator: MTurkEmulator, client: MTurkClient, sqs: SQSClient) -> None:
    url = emulator.queues.create("events")
    listen(client, hit_type(client), url, "SQS", "HITExpired", "HITExtended")
    hit_id = put_up(client)["HITId"]
    for days in (1, 2):
        client.update_expiration_for_hit(HITId=hit_id, ExpireAt=NOON - timedelta(days=days))
        emulator.settle()
    client.update_expiration_for_hit(HITId=hit_id, ExpireAt=NOON + timedelta(hours=1))
    emulator.clock.advance(3600)
    assert events(documents(sqs, url)) == ["HITExpired", "HITExtended", "HITExpired"]


def test_only_what_was_asked_for_while_it_is_active(
    emulator: MTurkEmulator, client: MTurkClient, sqs: SQSClient
) -> None:
    url = emulator.queues.create("events")
    kind = hit_type(client)
    with refused("ParameterValidationError"):
        client.update_notification_settings(HITTypeId=kind, Active=True)
    with refused("ParameterValidationError"):
        client.update_notification_settings(HITTypeId=kind)
    with refused("ParameterValidationError"):
        listen(client, kind, url, "SQS", "Ping")
    listen(client, kind, url, "SQS", "HITCreated")
    emulator.turker("AANN").work(put_up(client)["HITId"], {"a": "1"})
    client.update_notification_settings(HITTypeId=kind, Active=False)
    put_up(client)
    assert events(documents(sqs, url)) == ["HITCreated"]
