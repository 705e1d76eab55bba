"""The life of HITs and assignments in the emulator, through plain boto3: states, counters, three clocks."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.fakes.mturk import Clock, MTurkEmulator, Refused
from tests.fakes.turking import MONTH, NOON, TOKEN_LIFE, mturk_client, put_up, refused

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient


def counters(client: MTurkClient, hit_id: str) -> tuple[str, int, int, int]:
    """State, pending, available, completed."""
    hit = client.get_hit(HITId=hit_id)["HIT"]
    return (
        hit["HITStatus"],
        hit["NumberOfAssignmentsPending"],
        hit["NumberOfAssignmentsAvailable"],
        hit["NumberOfAssignmentsCompleted"],
    )


def test_a_hit_goes_from_assignable_to_reviewable(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client, MaxAssignments=2)["HITId"]
    assert counters(client, hit_id) == ("Assignable", 0, 2, 0)
    ann, ben = emulator.turker("AANN"), emulator.turker("ABEN")
    first, second = ann.accept(hit_id).assignment_id, ben.accept(hit_id).assignment_id
    assert counters(client, hit_id) == ("Unassignable", 2, 0, 0)
    ann.submit(first, {"choice": "A"})
    assert counters(client, hit_id) == ("Unassignable", 1, 0, 0)
    ben.submit(second, {"choice": "B"})
    assert counters(client, hit_id) == ("Reviewable", 0, 0, 0)
    client.approve_assignment(AssignmentId=first, RequesterFeedback="Thank you")
    client.reject_assignment(AssignmentId=second, RequesterFeedback="Not read")
    assert counters(client, hit_id) == ("Reviewable", 0, 0, 2)
    rows = client.list_assignments_for_hit(HITId=hit_id)["Assignments"]
    assert [(row["WorkerId"], row["AssignmentStatus"], row["RequesterFeedback"]) for row in rows] == [
        ("AANN", "Approved", "Thank you"),
        ("ABEN", "Rejected", "Not read"),
    ]
    with refused("RequestError", "HITDoesNotExist"):
        client.get_hit(HITId="3NOSUCHHIT")


def test_the_lifetime_closes_the_hit_to_newcomers_only(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client, MaxAssignments=2, AssignmentDurationInSeconds=1800)["HITId"]
    emulator.clock.advance(3590)
    ann = emulator.turker("AANN")
    taken = ann.accept(hit_id)
    emulator.clock.advance(20)
    with pytest.raises(Refused, match="no more"):
        emulator.turker("ABEN").accept(hit_id)
    assert counters(client, hit_id)[:2] == ("Unassignable", 1)
    ann.submit(taken.assignment_id, {"choice": "A"})
    assert counters(client, hit_id)[:2] == ("Reviewable", 0)


def test_the_deadline_gives_the_place_and_the_id_to_the_next_worker(
    emulator: MTurkEmulator, client: MTurkClient
) -> None:
    hit_id = put_up(client)["HITId"]
    ann, ben = emulator.turker("AANN"), emulator.turker("ABEN")
    late = ann.accept(hit_id).assignment_id
    emulator.clock.advance(601)
    assert counters(client, hit_id) == ("Assignable", 0, 1, 0)
    with refused("RequestError", "AssignmentDoesNotExist"):
        client.get_assignment(AssignmentId=late)
    assert ben.accept(hit_id).assignment_id == late
    with pytest.raises(Refused, match="assigned"):
        ann.submit(late, {"choice": "A"})
    ben.submit(late, {"choice": "B"})
    assert client.get_assignment(AssignmentId=late)["Assignment"]["WorkerId"] == "ABEN"
    assert [turn["state"] for turn in emulator.dump()["hits"][0]["turns"]] == ["Abandoned", "Submitted"]


def test_a_worker_does_a_hit_once_and_may_hold_several(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hits = [put_up(client, MaxAssignments=2)["HITId"] for _ in range(3)]
    ann = emulator.turker("AANN")
    taken = [ann.accept(hit_id).assignment_id for hit_id in hits]
    assert ann.held() == taken
    assert ann.accept(hits[0]).assignment_id == taken[0]
    ann.submit(taken[0], {"choice": "A"})
    assert ann.hits() == []
    with pytest.raises(Refused, match="already done"):
        ann.accept(hits[0])


def test_running_work_cannot_be_read_or_judged(emulator: MTurkEmulator, client: MTurkClient) -> None:
    assignment_id = emulator.turker("AANN").accept(put_up(client)["HITId"]).assignment_id
    with refused("RequestError", "InvalidAssignmentState") as caught:
        client.get_assignment(AssignmentId=assignment_id)
    assert "Reviewable,Approved,Rejected" in str(caught.value)
    with refused("RequestError", "InvalidAssignmentState"):
        client.approve_assignment(AssignmentId=assignment_id)
    with refused("RequestError", "AssignmentDoesNotExist"):
        client.get_assignment(AssignmentId="3NOSUCHASSIGNMENT")


def test_a_rejection_can_be_taken_back_for_thirty_days(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client, MaxAssignments=2)["HITId"]
    early, late = (emulator.turker(name).work(hit_id, {"choice": "A"}) for name in ("AANN", "ABEN"))
    for assignment_id in (early, late):
        client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="Not read")
    with refused("RequestError", "InvalidAssignmentState"):
        client.approve_assignment(AssignmentId=early)
    emulator.clock.advance(MONTH)
    client.approve_assignment(AssignmentId=early, OverrideRejection=True)
    row = client.get_assignment(AssignmentId=early)["Assignment"]
    assert row["AssignmentStatus"] == "Approved"
    assert "RejectionTime" not in row
    emulator.clock.advance(1)
    with refused("RequestError", "AssignmentTooOldToOverride"):
        client.approve_assignment(AssignmentId=late, OverrideRejection=True)


def test_a_past_time_expires_and_a_later_one_opens_again(
    emulator: MTurkEmulator, client: MTurkClient
) -> None:
    hit_id = put_up(client)["HITId"]
    client.update_expiration_for_hit(HITId=hit_id, ExpireAt=NOON - timedelta(days=1))
    assert counters(client, hit_id)[0] == "Reviewable"
    assert emulator.turker("AANN").hits() == []
    client.update_expiration_for_hit(HITId=hit_id, ExpireAt=NOON + timedelta(hours=2))
    assert counters(client, hit_id)[0] == "Assignable"
    assert emulator.turker("AANN").hits() == [hit_id]
    emulator.clock.advance(7201)
    assert counters(client, hit_id)[0] == "Reviewable"


def test_the_same_expiration_twice_is_refused_for_a_day(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client)["HITId"]
    until = NOON + timedelta(days=3)
    client.update_expiration_for_hit(HITId=hit_id, ExpireAt=until)
    with refused("RequestError") as caught:
        client.update_expiration_for_hit(HITId=hit_id, ExpireAt=until)
    assert f'The idempotency token "{hit_id}Thu Mar 05 12:00:00 UTC 2026" has already been processed.' in str(
        caught.value
    )
    emulator.clock.advance(TOKEN_LIFE)
    client.update_expiration_for_hit(HITId=hit_id, ExpireAt=until)


def test_an_extension_is_a_minute_at_least(client: MTurkClient) -> None:
    hit_id = put_up(client)["HITId"]
    with refused("ParameterValidationError") as caught:
        client.update_expiration_for_hit(HITId=hit_id, ExpireAt=NOON + timedelta(seconds=3611))
    assert "The value 11 is invalid for ExpirationIncrementInSeconds" in str(caught.value)
    client.update_expiration_for_hit(HITId=hit_id, ExpireAt=NOON + timedelta(seconds=3660))


def test_fewer_than_ten_never_become_ten(client: MTurkClient) -> None:
    nine = put_up(client, MaxAssignments=8)["HITId"]
    client.create_additional_assignments_for_hit(HITId=nine, NumberOfAdditionalAssignments=1)
    with refused("RequestError", "InvalidMaximumAssignmentsIncrease"):
        client.create_additional_assignments_for_hit(HITId=nine, NumberOfAdditionalAssignments=1)
    ten = put_up(client, MaxAssignments=10)["HITId"]
    client.create_additional_assignments_for_hit(HITId=ten, NumberOfAdditionalAssignments=5)
    assert client.get_hit(HITId=ten)["HIT"]["MaxAssignments"] == 15


def test_unused_hits_go_after_120_days(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client)["HITId"]
    emulator.clock.advance(3600)
    emulator.settle()
    emulator.clock.advance(days=120, seconds=-1)
    assert counters(client, hit_id)[0] == "Reviewable"
    emulator.clock.advance(1)
    assert counters(client, hit_id)[0] == "Disposed"
    assert client.list_hits()["HITs"] == []
    with refused("RequestError", "InvalidHITState"):
        client.list_assignments_for_hit(HITId=hit_id)


def test_fresh_submissions_are_unknown_for_a_while() -> None:
    with MTurkEmulator(clock=Clock(at=NOON), lag_seconds=300) as emulator:
        client = mturk_client(emulator)
        hit_id = put_up(client)["HITId"]
        assignment_id = emulator.turker("AANN").work(hit_id, {"choice": "A"})
        assert client.list_assignments_for_hit(HITId=hit_id)["Assignments"] == []
        assert counters(client, hit_id)[:2] == ("Unassignable", 1)
        with refused("RequestError", "InvalidAssignmentState") as caught:
            client.approve_assignment(AssignmentId=assignment_id)
        assert "with a status of: null" in str(caught.value)
        emulator.clock.advance(300)
        assert counters(client, hit_id)[:2] == ("Reviewable", 0)
        client.approve_assignment(AssignmentId=assignment_id)
        client.close()


def test_the_clock_runs_stands_and_goes_forward_only() -> None:
    clock = Clock()
    assert clock.now() <= clock.now()
    stopped = clock.freeze()
    assert clock.now() == stopped
    assert clock.advance(minutes=5) == stopped + timedelta(minutes=5)
    clock.freeze(stopped)
    assert clock.now() == stopped + timedelta(minutes=5)
    assert clock.run() >= stopped + timedelta(minutes=5)
    with pytest.raises(ValueError, match="never goes back"):
        clock.advance(-1)
