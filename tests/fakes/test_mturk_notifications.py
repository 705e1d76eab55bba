"""Events told to a queue that boto3 polls, and to subscribers of a topic by signed messages."""

from __future__ import annotations

import base64
import http.server
import json
import random
import threading
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.fakes.mturk import MTurkEmulator
from tests.fakes.mturk.sns import HASHES
from tests.fakes.turking import NOON, put_up, refused, sqs_client

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient
    from mypy_boto3_sqs import SQSClient

TOPIC = "arn:aws:sns:us-east-1:000000000000:mturk"
ALL = [
    "AssignmentAccepted", "AssignmentAbandoned", "AssignmentReturned", "AssignmentSubmitted",
    "AssignmentRejected", "AssignmentApproved", "HITCreated", "HITExpired", "HITReviewable", "HITExtended",
    "HITDisposed",
]  # fmt: skip


class Subscriber:
    """Somebody with an address, who keeps what comes in."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        received = self

        class Desk(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.messages.append(json.loads(body))
                received.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Desk)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/sns"


@pytest.fixture
def subscriber() -> Iterator[Subscriber]:
    """A subscriber who listens."""
    made = Subscriber()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


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
    assert sqs.get_queue_url(QueueName="events")["QueueUrl"] == url
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
    client.delete_hit(HITId=hit_id)
    found = documents(sqs, url)
    assert events(found) == [
        "HITCreated", "AssignmentAccepted", "AssignmentReturned", "AssignmentAccepted", "AssignmentAbandoned",
        "AssignmentAccepted", "AssignmentSubmitted", "AssignmentRejected", "AssignmentApproved", "HITExpired",
        "HITReviewable", "HITDisposed",
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


def test_a_test_event_needs_a_queue_that_is_there(
    emulator: MTurkEmulator, client: MTurkClient, sqs: SQSClient
) -> None:
    url = emulator.queues.create("events")
    asked: Any = {
        "Destination": url,
        "Transport": "SQS",
        "Version": "2014-08-15",
        "EventTypes": ["HITCreated"],
    }
    client.send_test_event_notification(Notification=asked, TestEventType="Ping")
    assert events(documents(sqs, url)) == ["Ping"]
    with refused("RequestError", "QueueNotWritable"):
        client.send_test_event_notification(
            Notification=asked | {"Destination": f"{url}-gone"}, TestEventType="Ping"
        )
    with refused("ParameterValidationError"):
        client.send_test_event_notification(Notification=asked | {"Version": "1"}, TestEventType="Ping")


def test_events_may_come_late_shuffled_and_twice(
    emulator: MTurkEmulator, client: MTurkClient, sqs: SQSClient
) -> None:
    url = emulator.queues.create("events")
    listen(client, hit_type(client), url, "SQS")
    emulator.herald.hold()
    hit_id = put_up(client)["HITId"]
    emulator.turker("AANN").work(hit_id, {"a": "1"})
    assert documents(sqs, url) == []
    assert emulator.herald.release(shuffle=random.Random(2)) == 4
    shuffled = documents(sqs, url)
    in_order = ["HITCreated", "AssignmentAccepted", "AssignmentSubmitted", "HITReviewable"]
    assert events(shuffled) != in_order
    assert sorted(events(shuffled)) == sorted(in_order)
    emulator.herald.repeat(2)
    again = documents(sqs, url)
    assert events(again) == in_order[2:]
    assert {document["EventDocId"] for document in again} < {document["EventDocId"] for document in shuffled}


def test_what_is_not_deleted_from_a_queue_comes_back(emulator: MTurkEmulator, sqs: SQSClient) -> None:
    url = sqs.create_queue(QueueName="events")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    first = sqs.receive_message(QueueUrl=url, VisibilityTimeout=60)["Messages"][0]
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    counted = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert counted["ApproximateNumberOfMessagesNotVisible"] == "1"
    emulator.clock.advance(60)
    again = sqs.receive_message(QueueUrl=url)["Messages"][0]
    assert again["MessageId"] == first["MessageId"]
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=again["ReceiptHandle"], VisibilityTimeout=0)
    last = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1)["Messages"][0]
    sqs.delete_message_batch(QueueUrl=url, Entries=[{"Id": "1", "ReceiptHandle": last["ReceiptHandle"]}])
    emulator.clock.advance(days=1)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    assert sqs.list_queues()["QueueUrls"] == [url]
    with pytest.raises(ClientError) as caught:
        sqs.receive_message(QueueUrl=f"{url}-gone")
    assert caught.value.response["Error"]["Code"].endswith("QueueDoesNotExist")
    with pytest.raises(ClientError):
        sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=11)


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_subscriber_confirms_and_gets_signed_events(
    emulator: MTurkEmulator, client: MTurkClient, subscriber: Subscriber, version: str
) -> None:
    emulator.topics.signature_version = version
    listen(client, hit_type(client), TOPIC, "SNS", "HITCreated")
    emulator.topics.subscribe(TOPIC, subscriber.url)
    put_up(client)
    emulator.topics.flush()
    assert [message["Type"] for message in subscriber.messages] == ["SubscriptionConfirmation"]
    with urllib.request.urlopen(subscriber.messages[0]["SubscribeURL"]) as answer:
        assert answer.status == 200
    hit_id = put_up(client, Title="Another", UniqueRequestToken="x")["HITId"]
    listen(client, client.get_hit(HITId=hit_id)["HIT"]["HITTypeId"], TOPIC, "SNS", "HITDisposed")
    known = put_up(client)["HITId"]
    emulator.topics.flush()
    confirmation, notification = subscriber.messages
    document = json.loads(notification["Message"])
    assert [(event["EventType"], event["HITId"]) for event in document["Events"]] == [("HITCreated", known)]
    assert subscriber.headers[1]["x-amz-sns-message-type"] == "Notification"
    for message in (confirmation, notification):
        check(message)
    for name in ("Message", "Timestamp", "MessageId", "TopicArn"):
        with pytest.raises(InvalidSignature):
            check(notification | {name: notification[name] + "x"})


def check(message: dict[str, Any]) -> None:
    """What a receiver does, by AWS's description: rebuild the text that was signed, check it."""
    with urllib.request.urlopen(message["SigningCertURL"]) as answer:
        key = x509.load_pem_x509_certificate(answer.read()).public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    names = ["Message", "MessageId"]
    names += ["SubscribeURL", "Timestamp", "Token"] if "SubscribeURL" in message else ["Timestamp"]
    text = "".join(f"{name}\n{message[name]}\n" for name in [*names, "TopicArn", "Type"])
    algorithm = HASHES[message["SignatureVersion"]]
    key.verify(base64.b64decode(message["Signature"]), text.encode(), padding.PKCS1v15(), algorithm)


def test_a_wrong_confirmation_confirms_nothing(emulator: MTurkEmulator, subscriber: Subscriber) -> None:
    emulator.topics.subscribe(TOPIC, subscriber.url)
    emulator.topics.flush()
    assert emulator.topics.confirm(TOPIC, "made-up") is False
    emulator.topics.publish(TOPIC, "nobody hears")
    emulator.topics.flush()
    assert len(subscriber.messages) == 1


def test_a_subscriber_who_is_not_there_harms_nobody(emulator: MTurkEmulator) -> None:
    emulator.topics.subscribe(TOPIC, "http://127.0.0.1:9/sns")
    emulator.topics.flush()
    assert [(sent.kind, sent.status) for sent in emulator.topics.deliveries] == [
        ("SubscriptionConfirmation", 0)
    ]
