"""The emulator's ledger: prepaid, held, spent; fees to the cent."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.fakes.mturk import MTurkEmulator
from tests.fakes.turking import NOON, put_up, refused

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"


def balance(emulator: MTurkEmulator) -> tuple[int, int, int]:
    """Available, held, spent in cents; nothing ever appears or vanishes."""
    ledger = emulator.ledger()
    available, held, spent = ledger["available"], ledger["held"], ledger["spent"]
    assert available + held + spent == ledger["deposited"]
    return available, held, spent


@pytest.mark.parametrize(
    ("reward", "places", "masters", "unit"),
    [
        ("0.01", 1, False, 2),  # 0.2 cents are one at least
        ("0.07", 9, False, 8),  # 1.4 rounds to 1
        ("0.08", 9, False, 10),  # 1.6 rounds to 2
        ("0.10", 9, False, 12),
        ("0.10", 10, False, 14),  # 40 % from ten on
        ("0.11", 10, False, 15),  # 4.4 rounds to 4
        ("0.10", 9, True, 13),  # 2.5 rounds up to 3
        ("0.10", 10, True, 15),  # 4.5 rounds up to 5
        ("1", 1, False, 120),
        ("1.5", 1, False, 180),
    ],
)
def test_every_place_is_held_with_its_fee(
    emulator: MTurkEmulator, client: MTurkClient, reward: str, places: int, masters: bool, unit: int
) -> None:
    requirements = [{"QualificationTypeId": MASTERS, "Comparator": "Exists"}] if masters else []
    put_up(client, Reward=reward, MaxAssignments=places, QualificationRequirements=requirements)
    assert balance(emulator) == (10_000 - places * unit, places * unit, 0)


def test_a_bonus_costs_its_own_fee(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client)["HITId"]
    assignment_id = emulator.turker("AANN").work(hit_id, {"a": "1"})
    client.send_bonus(WorkerId="AANN", AssignmentId=assignment_id, BonusAmount="1.23", Reason="Top-up")
    assert balance(emulator) == (10_000 - 12 - 123 - 25, 12, 148)
    client.send_bonus(WorkerId="AANN", AssignmentId=assignment_id, BonusAmount="0.01", Reason="A cent")
    assert balance(emulator)[2] == 150
    for asked in ({"HITId": hit_id}, {"AssignmentId": assignment_id}):
        rows = client.list_bonus_payments(**asked)["BonusPayments"]  # type: ignore[arg-type]  # one or the other
        assert [(row["WorkerId"], row["BonusAmount"], row["Reason"]) for row in rows] == [
            ("AANN", "1.23", "Top-up"),
            ("AANN", "0.01", "A cent"),
        ]
    with refused("ParameterValidationError"):
        client.send_bonus(WorkerId="ANOBODY", AssignmentId=assignment_id, BonusAmount="1", Reason="Wrong")
    emulator.turker("ABEN")
    with refused("RequestError", "WorkerDoesNotMatchAssignment"):
        client.send_bonus(WorkerId="ABEN", AssignmentId=assignment_id, BonusAmount="1", Reason="Wrong")
    with refused("ParameterValidationError"):
        client.send_bonus(WorkerId="AANN", AssignmentId=assignment_id, BonusAmount="0", Reason="None")
    with refused("ParameterValidationError"):
        client.list_bonus_payments()


def test_without_money_nothing_is_put_up(emulator: MTurkEmulator, client: MTurkClient) -> None:
    put_up(client, Reward="10", MaxAssignments=8)  # 96 of 100 dollars
    with refused("RequestError", "InsufficientFunds"):
        put_up(client, Reward="4", UniqueRequestToken="later")
    assert len(client.list_hits()["HITs"]) == 1
    assert balance(emulator) == (400, 9_600, 0)
    put_up(client, Reward="3.33", UniqueRequestToken="later")  # 3.33 + 0.67; a refusal used up no token
    assert balance(emulator) == (0, 10_000, 0)


def test_extending_and_opening_again_need_the_money(emulator: MTurkEmulator, client: MTurkClient) -> None:
    first = put_up(client, Reward="10", MaxAssignments=4)["HITId"]  # 48
    client.update_expiration_for_hit(HITId=first, ExpireAt=NOON - timedelta(days=1))
    put_up(client, Reward="10", MaxAssignments=5)  # 60
    with refused("RequestError", "InsufficientFunds"):
        client.update_expiration_for_hit(HITId=first, ExpireAt=NOON + timedelta(hours=2))
    assert client.get_hit(HITId=first)["HIT"]["HITStatus"] == "Reviewable"
    client.create_additional_assignments_for_hit(HITId=first, NumberOfAdditionalAssignments=1)
    assert balance(emulator) == (4_000, 6_000, 0)
    second = put_up(client, Reward="10", MaxAssignments=3)["HITId"]  # 36
    with refused("RequestError", "InsufficientFunds"):
        client.create_additional_assignments_for_hit(HITId=second, NumberOfAdditionalAssignments=1)
    assert client.get_hit(HITId=second)["HIT"]["MaxAssignments"] == 3


def test_taking_back_a_rejection_and_a_bonus_need_the_money(
    emulator: MTurkEmulator, client: MTurkClient
) -> None:
    hit_id = put_up(client, Reward="10", MaxAssignments=1)["HITId"]
    assignment_id = emulator.turker("AANN").work(hit_id, {"a": "1"})
    client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="Not read")
    put_up(client, Reward="9", MaxAssignments=9)  # 97.20
    with refused("RequestError", "InsufficientFunds"):
        client.approve_assignment(AssignmentId=assignment_id, OverrideRejection=True)
    with refused("RequestError", "InsufficientFunds"):
        client.send_bonus(WorkerId="AANN", AssignmentId=assignment_id, BonusAmount="2.34", Reason="Sorry")
    client.send_bonus(WorkerId="AANN", AssignmentId=assignment_id, BonusAmount="2.33", Reason="Sorry")
    assert balance(emulator) == (0, 9_720, 280)
