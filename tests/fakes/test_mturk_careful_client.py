"""Exactly once is within reach: a client that asks again by token, and reads before it repeats, books all once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError

from tests.fakes.mturk import MTurkEmulator, mixed
from tests.fakes.turking import put_up

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

HITS = 60


class Lost(Exception):
    """No answer, or one that cannot be trusted: nobody knows whether the call was carried out."""


def ask(call: Callable[..., Any], expected: str = "", **parameters: Any) -> Any:
    """The answer to a call; every way of not getting one is Lost, an error of the service is itself."""
    try:
        answer = call(**parameters)
    except HTTPClientError as error:
        raise Lost from error
    except ClientError as error:
        if error.response["Error"]["Code"] == "RequestError":
            raise
        raise Lost from error
    if expected and expected not in answer:
        raise Lost
    return answer


def until_answered(attempt: Callable[[], Any]) -> Any:
    """Asks again until an answer comes; fifty lost in a row mean something else is wrong."""
    for _ in range(50):
        try:
            return attempt()
        except Lost:
            continue
    raise AssertionError("fifty calls were lost in a row")


def publish(client: MTurkClient, number: int) -> str:
    """One HIT for a number, whatever happens: a token that was used is a success to adopt."""

    def attempt() -> str:
        try:
            made = ask(lambda: {"HIT": put_up(client, UniqueRequestToken=f"unit-{number}")}, "HIT")
        except KeyError as error:
            raise Lost from error
        except ClientError as error:
            found = re.search(r"\b3[A-Z0-9]{29}\b", str(error))
            assert found is not None
            return found.group()
        return str(made["HIT"]["HITId"])

    return str(until_answered(attempt))


def approve(client: MTurkClient, assignment_id: str) -> None:
    """One approval: there is no token, so the state is read whenever an answer was lost."""

    def attempt() -> None:
        found = ask(client.get_assignment, "Assignment", AssignmentId=assignment_id)
        if found["Assignment"]["AssignmentStatus"] == "Submitted":
            ask(client.approve_assignment, AssignmentId=assignment_id)
        found = ask(client.get_assignment, "Assignment", AssignmentId=assignment_id)
        if found["Assignment"]["AssignmentStatus"] != "Approved":
            raise Lost

    until_answered(attempt)


def bonus(client: MTurkClient, worker_id: str, assignment_id: str) -> None:
    """One bonus: a token that was used is a bonus that was paid."""

    def attempt() -> None:
        try:
            ask(
                client.send_bonus,
                WorkerId=worker_id,
                AssignmentId=assignment_id,
                BonusAmount="0.05",
                Reason="Thanks",
                UniqueRequestToken=f"bonus-{assignment_id}",
            )
        except ClientError as error:
            if "already been processed" not in str(error):
                raise

    until_answered(attempt)


@pytest.mark.parametrize("seed", range(3))
def test_a_careful_client_books_everything_once(
    emulator: MTurkEmulator, client: MTurkClient, seed: int
) -> None:
    emulator.faults.replace(mixed(0.4), seed)
    hits = [publish(client, number) for number in range(HITS)]
    assert len(set(hits)) == HITS
    for hit_id in hits:
        assignment_id = emulator.turker("AANN").work(hit_id, {"choice": "A"})
        approve(client, assignment_id)
        bonus(client, "AANN", assignment_id)
    ledger = emulator.ledger()
    assert len(emulator.dump()["hits"]) == HITS
    assert len(emulator.dump()["bonuses"]) == HITS
    assert (ledger["held"], ledger["spent"]) == (0, HITS * (12 + 6))
    assert emulator.faults.counts.total() > HITS
