"""Our documents at a service that speaks MTurk's protocol: taken, shown, graded, and read back."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from annotation.crowds.mturk.notifications import Subscription, read_sns, read_sqs
from annotation.crowds.mturk.pages import (
    answers_of_page,
    external_question,
    html_question,
    qualification_test,
    requirements_of,
    score_at_least,
)
from judgments.design.requirements import Quiz, Workers
from tests.annotation.crowds.hits import make_hit
from tests.fakes.mturk import Clock, MTurkEmulator, Refused
from tests.fakes.mturk.sns import certificate
from tests.fakes.turking import NOON, mturk_client, put_up, sqs_client

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

ARN = "arn:aws:sns:us-east-1:000000000000:mturk"
QUIZ = Quiz.model_validate(
    {
        "questions": [{"text": f"Which is {n}?", "options": ["a", "b", "c"], "answer": 2} for n in range(5)],
        "pass_mark": 0.8,
    }
)


@pytest.fixture
def emulator() -> Iterator[MTurkEmulator]:
    """$100.00 prepaid, a clock that stands still."""
    with MTurkEmulator(seed=5, clock=Clock(at=NOON), balance_cents=10_000) as running:
        yield running


@pytest.fixture
def client(emulator: MTurkEmulator) -> Iterator[MTurkClient]:
    """The requester's boto3 client."""
    made = mturk_client(emulator)
    yield made
    made.close()


def test_a_page_is_published_worked_on_and_read_back(emulator: MTurkEmulator, client: MTurkClient) -> None:
    design, hit, units = make_hit("best-worst", units=3)
    hosts = [emulator.endpoint_url]
    question = html_question(design=design, hit=hit, units=units, hosts=hosts)
    hit_id = put_up(client, Question=question)["HITId"]
    ann = emulator.turker("AANN")
    taken = ann.accept(hit_id)
    assert b"data-mirror" in urllib.request.urlopen(taken.url).read()
    fields = [(f"u{n}-{end}", place) for n in (1, 2, 3) for end, place in (("best", "3"), ("worst", "1"))]
    ann.submit(taken.assignment_id, [*fields, ("layout", "1"), ("t1", "4.20"), ("comment", "Größe 🐕")])
    document = client.get_assignment(AssignmentId=taken.assignment_id)["Assignment"]["Answer"]
    found = answers_of_page(document, design=design, hit=hit, units=units)
    assert [one["answer"] for one in found.answers] == [{"best": 3, "worst": 1}] * 3
    assert (found.answers[0]["seconds"], found.missing) == (4.2, [])


def test_an_external_question_and_all_requirements_are_taken(client: MTurkClient) -> None:
    workers = Workers(countries=("US", "DE"), approval_above=0.95, approved_at_least=500)
    question = external_question(url="https://quorum.example.org/?a=1&b=2", hit="h")
    made = put_up(client, Question=question, QualificationRequirements=requirements_of(workers))
    assert client.get_hit(HITId=made["HITId"])["HIT"]["Question"] == question


def right_answers(test: str, key: str) -> dict[str, str]:
    """What the key says, by the question's identifier."""
    pattern = r"<QuestionIdentifier>(\w+)</QuestionIdentifier><AnswerOption><SelectionIdentifier>(\w+)<"
    found = dict(re.findall(pattern, key))
    assert len(found) == test.count("<Question>")
    return found


@pytest.mark.parametrize(("right", "admitted"), [(5, True), (4, True), (3, False)])
def test_a_quiz_is_graded_by_the_service_as_it_would_be_here(
    emulator: MTurkEmulator, client: MTurkClient, right: int, admitted: bool
) -> None:
    made = qualification_test(QUIZ, seed=3, title="Words")
    kind = client.create_qualification_type(
        Name="Words",
        Description="Five questions",
        QualificationTypeStatus="Active",
        Test=made.test,
        AnswerKey=made.answer_key,
        TestDurationInSeconds=600,
    )["QualificationType"]["QualificationTypeId"]
    hit_id = put_up(client, QualificationRequirements=[score_at_least(kind, made.needed)])["HITId"]
    ann = emulator.turker("AANN")
    answers = right_answers(made.test, made.answer_key)
    wrong = list(answers)[right:]
    request, _ = ann.request_qualification(kind)
    ann.take_test(request, answers | dict.fromkeys(wrong, "o1"))
    assert (
        client.get_qualification_score(QualificationTypeId=kind, WorkerId="AANN")["Qualification"][
            "IntegerValue"
        ]
        == 20 * right
    )
    if admitted:
        assert ann.accept(hit_id).assignment_id
    else:
        with pytest.raises(Refused):
            ann.accept(hit_id)


def listen(client: MTurkClient, hit_type: str, destination: str, transport: Any) -> None:
    client.update_notification_settings(
        HITTypeId=hit_type,
        Notification={
            "Destination": destination,
            "Transport": transport,
            "Version": "2014-08-15",
            "EventTypes": ["AssignmentSubmitted"],
        },
    )


def test_a_queue_s_bodies_are_read(emulator: MTurkEmulator, client: MTurkClient) -> None:
    queue = emulator.queues.create("events")
    hit = put_up(client)
    listen(client, hit["HITTypeId"], queue, "SQS")
    emulator.turker("AANN").work(hit["HITId"], {"a": "1"})
    sqs = sqs_client(emulator)
    body = sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"]
    assert read_sqs(body) == {hit["HITId"]}
    sqs.close()


@pytest.mark.parametrize("version", ["1", "2"])
def test_what_the_service_signs_is_believed(emulator: MTurkEmulator, version: str) -> None:
    emulator.topics.signature_version = version
    emulator.topics.base_url = "https://sns.us-east-1.amazonaws.com"
    events = '{"Events": [{"EventType": "Ping", "HITId": "3H"}]}'
    address = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription"
    for content, expected in (
        ({"Type": "Notification", "Message": events}, {"3H"}),
        (
            {"Type": "SubscriptionConfirmation", "Message": "x", "Token": "t", "SubscribeURL": address},
            Subscription(address),
        ),
    ):
        body = json.dumps(emulator.topics.signed(ARN, content))
        assert read_sns(body, topic=ARN, now=NOON, certificate=lambda _: certificate()) == expected
