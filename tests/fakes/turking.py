"""What tests of the emulator put up: clients, questions, HITs; and how they look at errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.fakes.mturk import MTurkEmulator

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient
    from mypy_boto3_mturk.type_defs import HITTypeDef
    from mypy_boto3_sqs import SQSClient

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
TOKEN_LIFE = 24 * 60 * 60
MONTH = 30 * TOKEN_LIFE
LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"


def config(attempts: int) -> Config:
    """No second try unless asked for, and short waits."""
    return Config(retries={"total_max_attempts": attempts, "mode": "standard"}, read_timeout=20)


def mturk_client(emulator: MTurkEmulator, attempts: int = 1) -> MTurkClient:
    """Plain boto3 with another address."""
    return boto3.client(
        "mturk",
        endpoint_url=emulator.endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=config(attempts),
    )


def sqs_client(emulator: MTurkEmulator) -> SQSClient:
    """The same for queues."""
    return boto3.client(
        "sqs",
        endpoint_url=emulator.endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=config(1),
    )


def external(url: str = "https://quorum.example/work", height: int = 600) -> str:
    """An ExternalQuestion."""
    return (
        f'<ExternalQuestion xmlns="{SCHEMAS}2006-07-14/ExternalQuestion.xsd">'
        f"<ExternalURL>{escape(url)}</ExternalURL><FrameHeight>{height}</FrameHeight></ExternalQuestion>"
    )


def html_question(html: str) -> str:
    """An HTMLQuestion."""
    return (
        f'<HTMLQuestion xmlns="{SCHEMAS}2011-11-11/HTMLQuestion.xsd">'
        f"<HTMLContent><![CDATA[{html}]]></HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>"
    )


def requiring(kind: str, comparator: str, values: Any = None, times: int = 1) -> dict[str, Any]:
    """A HIT's field for a requirement of this kind, so many times."""
    name = "LocaleValues" if kind == LOCALE else "IntegerValues"
    requirement = {"QualificationTypeId": kind, "Comparator": comparator}
    return {"QualificationRequirements": [requirement | ({} if values is None else {name: values})] * times}


def put_up(client: MTurkClient, **changes: Any) -> HITTypeDef:
    """A HIT for one worker at ten cents, open for an hour, done in ten minutes."""
    asked: dict[str, Any] = {
        "Title": "Which caption describes the photograph?",
        "Description": "Compare two captions",
        "Reward": "0.10",
        "LifetimeInSeconds": 3600,
        "AssignmentDurationInSeconds": 600,
        "Question": external(),
    }
    return client.create_hit(**asked | changes)["HIT"]


@contextmanager
def refused(kind: str, code: str = "") -> Iterator[pytest.ExceptionInfo[ClientError]]:
    """The block ends in this error of the service, with this TurkErrorCode when one is named."""
    with pytest.raises(ClientError) as caught:
        yield caught
    response: dict[str, Any] = dict(caught.value.response)
    assert response["Error"]["Code"] == kind
    if code:
        assert response["TurkErrorCode"] == f"AWS.MechanicalTurk.{code}"
