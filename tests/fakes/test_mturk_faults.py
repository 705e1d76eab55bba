"""Tokens and faults: what plain boto3 makes of lost answers, and what the service has done meanwhile."""

from __future__ import annotations

import re
import threading
from http.client import RemoteDisconnected
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from tests.fakes.mturk import Fault, MTurkEmulator, Refused, mixed
from tests.fakes.mturk.faults import FaultPlan, Kind
from tests.fakes.turking import TOKEN_LIFE, external, mturk_client, put_up, refused
from tests.refusals import refuses

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient


def there(emulator: MTurkEmulator) -> int:
    """How many HITs the service has."""
    return len(emulator.dump()["hits"])


def test_a_token_makes_one_hit_and_tells_its_id(emulator: MTurkEmulator, client: MTurkClient) -> None:
    made = put_up(client, UniqueRequestToken="t" * 64)
    with refused("RequestError", "HitAlreadyExists") as caught:
        put_up(client, UniqueRequestToken="t" * 64)
    assert re.search(rf"\b{made['HITId']}\b", str(caught.value))
    with refused("RequestError", "HitAlreadyExists"):
        client.create_hit_with_hit_type(
            HITTypeId=made["HITTypeId"],
            LifetimeInSeconds=60,
            Question=made["Question"],
            UniqueRequestToken="t" * 64,
        )
    assert there(emulator) == 1


def test_a_token_is_forgotten_after_a_day(emulator: MTurkEmulator, client: MTurkClient) -> None:
    put_up(client, UniqueRequestToken="once")
    emulator.clock.advance(TOKEN_LIFE - 1)
    with refused("RequestError", "HitAlreadyExists"):
        put_up(client, UniqueRequestToken="once")
    emulator.clock.advance(1)
    put_up(client, UniqueRequestToken="once")
    assert there(emulator) == 2


def test_extensions_and_bonuses_happen_once_per_token(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client)["HITId"]
    assignment_id = emulator.turker("AANN").work(hit_id, {"a": "1"})
    bonus: dict[str, Any] = {
        "WorkerId": "AANN", "AssignmentId": assignment_id, "BonusAmount": "0.50", "Reason": "Top-up",
        "UniqueRequestToken": "bonus",
    }  # fmt: skip
    client.send_bonus(**bonus)
    extension: dict[str, Any] = {
        "HITId": hit_id, "NumberOfAdditionalAssignments": 2, "UniqueRequestToken": "more",
    }  # fmt: skip
    client.create_additional_assignments_for_hit(**extension)
    for call, parameters in (
        (client.send_bonus, bonus),
        (client.create_additional_assignments_for_hit, extension),
    ):
        with refused("RequestError") as caught:
            call(**parameters)
        assert "Request ID" in str(caught.value)
    assert client.get_hit(HITId=hit_id)["HIT"]["MaxAssignments"] == 3
    assert len(client.list_bonus_payments(HITId=hit_id)["BonusPayments"]) == 1


@pytest.mark.parametrize(("kind", "made"), [("drop_before", 0), ("drop_after", 1)])
def test_a_dropped_connection_may_have_done_its_work(
    emulator: MTurkEmulator, client: MTurkClient, kind: Kind, made: int
) -> None:
    with emulator.faults.during(Fault(kind)), pytest.raises(ConnectionClosedError):
        put_up(client)
    assert there(emulator) == made


@pytest.mark.parametrize(
    ("kind", "name", "status", "made"),
    [
        ("fault_before", "ServiceFault", 500, 0),
        ("fault_after", "ServiceFault", 500, 1),
        ("unavailable", "503", 503, 0),
        ("throttle", "ThrottlingException", 400, 0),
    ],
)
def test_a_fault_of_the_service(
    emulator: MTurkEmulator, client: MTurkClient, kind: Kind, name: str, status: int, made: int
) -> None:
    with emulator.faults.during(Fault(kind)), refused(name) as caught:
        put_up(client)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
    assert there(emulator) == made


@pytest.mark.parametrize("kind", ["truncate", "cut"])
def test_an_answer_that_ends_early_is_an_empty_one(
    emulator: MTurkEmulator, client: MTurkClient, kind: Kind
) -> None:
    """What boto3 makes of half a body, whether its Content-Length is right or not: no error, and no HIT."""
    with emulator.faults.during(Fault(kind)):
        answer = client.create_hit(
            Title="Captions",
            Description="Compare two captions",
            Reward="0.10",
            LifetimeInSeconds=60,
            AssignmentDurationInSeconds=60,
            Question=external(),
        )
    assert set(answer) == {"ResponseMetadata"}
    assert there(emulator) == 1


def test_a_delayed_answer_comes(emulator: MTurkEmulator, client: MTurkClient) -> None:
    with emulator.faults.during(Fault("delay", seconds=0.01)):
        put_up(client)
    assert emulator.faults.counts == {"delay": 1}


def test_boto3_itself_repeats_a_lost_call(emulator: MTurkEmulator) -> None:
    eager = mturk_client(emulator, attempts=3)
    with emulator.faults.during(Fault("drop_after", times=1)):
        put_up(eager)
    assert there(emulator) == 2
    with emulator.faults.during(Fault("drop_after", times=1)), refused("RequestError", "HitAlreadyExists"):
        put_up(eager, UniqueRequestToken="once")
    assert there(emulator) == 3
    eager.close()


def test_faults_choose_operations_turns_and_number(emulator: MTurkEmulator, client: MTurkClient) -> None:
    plan = Fault("throttle", operations=frozenset({"GetHIT"}), skip=1, times=2)
    hit_id = put_up(client)["HITId"]
    heard = []
    with emulator.faults.during(plan):
        for _ in range(5):
            client.get_account_balance()
            try:
                client.get_hit(HITId=hit_id)
                heard.append(True)
            except ClientError:
                heard.append(False)
    assert heard == [True, False, False, True, True]
    assert emulator.service.counts["GetHIT", "throttle"] == plan.happened == 2


def test_a_share_of_calls_is_drawn_from_the_seed() -> None:
    def drawn(seed: int) -> list[bool]:
        plan = FaultPlan([Fault("drop_after", share=0.2)], seed=seed)
        return [plan.strike("CreateHIT") is not None for _ in range(1000)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert 150 < sum(drawn(1)) < 250


def test_the_mixture_strikes_as_often_as_asked_and_in_every_way() -> None:
    plan = FaultPlan(mixed(0.4), seed=3)
    for _ in range(10_000):
        plan.strike("CreateHIT")
    assert 3_800 < plan.counts.total() < 4_200
    assert len(plan.counts) == 8
    assert all(400 < times < 600 for times in plan.counts.values())


def test_the_log_tells_what_was_asked_and_what_became_of_it(
    emulator: MTurkEmulator, client: MTurkClient
) -> None:
    hit_id = put_up(client, UniqueRequestToken="t")["HITId"]
    with refused("RequestError"):
        client.get_hit(HITId="3NOSUCHHIT")
    with emulator.faults.during(Fault("drop_after")), pytest.raises(ConnectionClosedError):
        client.get_hit(HITId=hit_id)
    assert [(call.operation, call.outcome, call.carried_out) for call in emulator.calls()] == [
        ("CreateHIT", "done", True),
        ("GetHIT", "refused", False),
        ("GetHIT", "drop_after", True),
    ]
    assert emulator.calls("CreateHIT")[0].parameters["UniqueRequestToken"] == "t"
    assert emulator.done("GetHIT") == 1


def test_many_at_once_leave_the_money_right(emulator: MTurkEmulator) -> None:
    """Eight publishers race for the last money: 100 dollars hold 83 HITs of 1.20, and not one more."""
    failures = []

    def publish() -> None:
        own = mturk_client(emulator)
        for _ in range(15):
            try:
                put_up(own, Reward="1")
            except ClientError as error:
                failures.append(error.response["Error"]["Code"])
        own.close()

    threads = [threading.Thread(target=publish) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = emulator.ledger()
    assert there(emulator) == 83
    assert failures == ["RequestError"] * 37
    assert (ledger["available"], ledger["held"]) == (40, 9_960)


@pytest.mark.parametrize(("kind", "counted"), [("drop_before", 0), ("drop_after", 1)])
def test_a_workers_form_may_be_lost_when_asked_for(
    emulator: MTurkEmulator, client: MTurkClient, kind: Kind, counted: int
) -> None:
    hit_id = put_up(client)["HITId"]
    ann = emulator.turker("AANN")
    taken = ann.accept(hit_id).assignment_id
    with (
        emulator.faults.during(Fault(kind, operations=frozenset({"externalSubmit"}))),
        pytest.raises(RemoteDisconnected),
    ):
        ann.submit(taken, {"a": "1"})
    assert client.list_assignments_for_hit(HITId=hit_id)["NumResults"] == counted
    if counted:
        with refuses(Refused, "submitted", "returned", "abandoned"):
            ann.submit(taken, {"a": "1"})
    else:
        ann.submit(taken, {"a": "1"})


def test_faults_of_the_requesters_calls_leave_workers_alone(
    emulator: MTurkEmulator, client: MTurkClient
) -> None:
    hit_id = put_up(client)["HITId"]
    with emulator.faults.during(Fault("drop_after")):
        emulator.turker("AANN").work(hit_id, {"a": "1"})
    assert client.list_assignments_for_hit(HITId=hit_id)["NumResults"] == 1
