"""Shapes, limits and paging: what the emulator takes and refuses, held against botocore's model."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.mturk import MTurkEmulator
from tests.fakes.mturk.service import TARGET
from tests.fakes.mturk.shapes import encode, operation_model
from tests.fakes.turking import (
    LOCALE,
    NUMBER_APPROVED,
    SCHEMAS,
    external,
    html_question,
    put_up,
    refused,
    requiring,
)

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

SIGNED = "AWS4-HMAC-SHA256 Credential=test/20260302/us-east-1/mturk-requester/aws4_request, Signature=0"
BIG = html_question("x" * (65_535 - len(html_question(""))))


def raw(
    emulator: MTurkEmulator, operation: str, body: bytes, authorization: str = SIGNED
) -> tuple[int, dict[str, Any]]:
    """A call without boto3, which would not send what is wrong."""
    headers = {"X-Amz-Target": f"{TARGET}.{operation}", "Authorization": authorization}
    request = urllib.request.Request(emulator.endpoint_url, body, headers, method="POST")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.mark.parametrize(
    ("operation", "body", "kind"),
    [
        ("GetHIT", b"{", "ParameterValidationError"),
        ("GetHIT", b"[]", "ParameterValidationError"),
        ("GetHIT", b"{}", "ParameterValidationError"),
        ("GetHIT", b'{"HITId": 3}', "ParameterValidationError"),
        ("GetHIT", b'{"HITId": "lower"}', "ParameterValidationError"),
        ("GetHIT", b'{"HITId": "3A", "Extra": 1}', "ParameterValidationError"),
        ("ListHITs", b'{"MaxResults": 101}', "ParameterValidationError"),
        ("ListHITs", b'{"NextToken": "nonsense"}', "ParameterValidationError"),
        ("UpdateExpirationForHIT", b'{"HITId": "3A", "ExpireAt": 1e99}', "ParameterValidationError"),
        ("GetHIT", b'{"HITId": "3A"}', "RequestError"),
        ("MakeCoffee", b"{}", "UnknownOperationException"),
        ("GetFileUploadURL", b"{}", "UnknownOperationException"),
    ],
)
def test_wrong_calls_are_refused_by_name(
    emulator: MTurkEmulator, operation: str, body: bytes, kind: str
) -> None:
    status, told = raw(emulator, operation, body)
    assert (status, told["__type"]) == (400, kind)


def test_calls_must_be_signed_for_the_service_and_its_region(emulator: MTurkEmulator) -> None:
    assert raw(emulator, "GetAccountBalance", b"{}")[0] == 200
    for scope in ("eu-west-1/mturk-requester", "us-east-1/sqs"):
        status, told = raw(
            emulator,
            "GetAccountBalance",
            b"{}",
            SIGNED.replace("us-east-1/mturk-requester", scope),
        )
        assert (status, told["__type"]) == (400, "InvalidSignatureException")
    assert raw(emulator, "GetAccountBalance", b"{}", "")[0] == 400


def test_the_emulator_answers_nothing_that_the_model_does_not_know() -> None:
    model = operation_model("mturk", "GetAccountBalance")
    assert model is not None
    with pytest.raises(AssertionError, match="Unknown parameter"):
        encode(model.output_shape, {"Balance": "1.00"})


@pytest.mark.parametrize(
    "changes",
    [
        {"Title": "x" * 129},
        {"Title": ""},
        {"Description": "x" * 2001},
        {"Keywords": "x" * 1001},
        {"RequesterAnnotation": "x" * 256},
        {"Reward": "0.105"},
        {"Reward": "-1"},
        {"Reward": "."},
        {"Reward": "0.00"},
        {"LifetimeInSeconds": 29},
        {"LifetimeInSeconds": 31_536_001},
        {"AssignmentDurationInSeconds": 29},
        {"AutoApprovalDelayInSeconds": 2_592_001},
        {"MaxAssignments": 0},
        {"UniqueRequestToken": "t" * 65},
        {"HITLayoutId": "3LAYOUT"},
        {"Question": "no XML"},
        {"Question": "<Question/>"},
        {"Question": '<!DOCTYPE a [<!ENTITY b "c">]>' + external()},
        {"Question": external("http://quorum.example/work")},
        {"Question": external("work")},
        {"Question": external("https://quorum.example/work?assignmentId=1")},
        {"Question": external().replace("600", "tall")},
        {"Question": html_question(" ")},
        {"Question": BIG + " "},
        {"Question": f'<QuestionForm xmlns="{SCHEMAS}2017-11-06/QuestionForm.xsd"/>'},
        requiring("3NONE", "Exists"),
        requiring(NUMBER_APPROVED, "Exists", times=11),
        requiring(NUMBER_APPROVED, "In", [1] * 16),
        requiring(NUMBER_APPROVED, "Exists", [1]),
        requiring(LOCALE, "In", [{"Country": "US"}] * 31),
        requiring(LOCALE, "LessThan", [{"Country": "US"}]),
    ],
)
def test_out_of_the_documented_limits(client: MTurkClient, changes: dict[str, Any]) -> None:
    with refused("RequestError" if "3NONE" in str(changes) else "ParameterValidationError"):
        put_up(client, **changes)
    assert client.list_hits()["HITs"] == []


def test_text_comes_back_as_it_was_sent(client: MTurkClient) -> None:
    title = 'Ärger & "Ümlaut" <b> 日本'
    assert put_up(client, Title=title)["Title"] == title


def test_pages_hold_every_row_once_while_rows_come(emulator: MTurkEmulator, client: MTurkClient) -> None:
    made = [put_up(client, RequesterAnnotation=str(number))["HITId"] for number in range(25)]
    seen, token = [], None
    while True:
        page = client.list_hits(**({"NextToken": token} if token else {}), MaxResults=10)
        seen += [hit["HITId"] for hit in page["HITs"]]
        assert page["NumResults"] == len(page["HITs"])
        token = page.get("NextToken")
        if token is None:
            break
        put_up(client, RequesterAnnotation="in between")
    assert seen == made[::-1]


def test_a_full_page_has_a_token_even_if_nothing_follows(client: MTurkClient) -> None:
    put_up(client)
    full = client.list_hits(MaxResults=1)
    after = client.list_hits(MaxResults=1, NextToken=full["NextToken"])
    assert (after["NumResults"], after["HITs"], "NextToken" in after) == (0, [], False)


def test_feedback_is_limited_and_a_rejection_wants_a_reason(
    emulator: MTurkEmulator, client: MTurkClient
) -> None:
    assignment_id = emulator.turker("AANN").work(put_up(client)["HITId"], {"a": "1"})
    for feedback in (" ", "x" * 1025):
        with refused("ParameterValidationError"):
            client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback=feedback)
    client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="x" * 1024)


def test_blocks(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client)["HITId"]
    ann = emulator.turker("AANN")
    client.create_worker_block(WorkerId="AANN", Reason="Clicks without looking")
    client.create_worker_block(WorkerId="AANN", Reason="Still does")
    assert emulator.dump()["blocks"] == {"AANN": "Still does"}
    assert ann.hits() == []
    client.delete_worker_block(WorkerId="AANN")
    client.delete_worker_block(WorkerId="AANN")
    assert ann.hits() == [hit_id]
    with refused("ParameterValidationError") as caught:
        client.create_worker_block(WorkerId="ANOBODY", Reason="Unknown")
    assert 'The value "ANOBODY" is not valid for the parameter WorkerId.' in str(caught.value)


def test_messages_reach_those_whose_work_was_judged(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client, MaxAssignments=2)["HITId"]
    judged, waiting = (emulator.turker(name).work(hit_id, {"a": "1"}) for name in ("AANN", "ABEN"))
    client.approve_assignment(AssignmentId=judged)
    told = client.notify_workers(Subject="Thanks", MessageText="Hello", WorkerIds=["AANN", "ABEN"])
    assert [failure["WorkerId"] for failure in told["NotifyWorkersFailureStatuses"]] == ["ABEN"]
    assert emulator.dump()["mails"] == [{"worker": "AANN", "subject": "Thanks", "text": "Hello"}]
    assert client.get_assignment(AssignmentId=waiting)["Assignment"]["AssignmentStatus"] == "Submitted"
    out_of_limits: list[dict[str, Any]] = [
        {"WorkerIds": ["AANN"] * 101},
        {"WorkerIds": []},
        {"Subject": "x" * 201},
        {"MessageText": "x" * 4097},
    ]
    for wrong in out_of_limits:
        asked: dict[str, Any] = {"Subject": "s", "MessageText": "t", "WorkerIds": ["AANN"]}
        with refused("ParameterValidationError"):
            client.notify_workers(**asked | wrong)


def test_it_runs_by_hand() -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.mturk", "--port", "0", "--balance", "700"],
        cwd=Path(__file__).resolve().parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    with started:
        assert started.stdout is not None
        url = started.stdout.readline().strip()
        with urllib.request.urlopen(f"{url}/worker/hits?worker=AANN") as answer:
            assert b"HITs for AANN" in answer.read()
        started.send_signal(signal.SIGINT)
        assert started.wait(timeout=30) == 0
