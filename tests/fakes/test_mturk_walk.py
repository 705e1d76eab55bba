"""Long random walks over everything that requesters and workers do: the books must agree at every turn.

What is held and spent is computed here from the rows alone, by rules written down a second time.
"""

from __future__ import annotations

import random
from datetime import timedelta
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.fakes.mturk import MTurkEmulator, Refused
from tests.fakes.turking import put_up
from tests.marks import long_except

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

STEPS = 250
PEOPLE = [f"A{letter}" for letter in "BCDEFGH"]
REWARDS = {"0.01": 1, "0.07": 7, "0.10": 10, "0.33": 33, "2.5": 250}
ALLOWED_CODES = {
    "InsufficientFunds", "InvalidAssignmentState", "InvalidHITState", "InvalidMaximumAssignmentsIncrease",
    "AssignmentDoesNotExist", "HITDoesNotExist", "DuplicateRequest", "AssignmentTooOldToOverride",
    "WorkerDoesNotMatchAssignment",
}  # fmt: skip


def cost(cents: int, places: int) -> int:
    """A reward with its fee, in exact arithmetic: half a cent up, one cent at least."""
    fee = Fraction(cents * (40 if places >= 10 else 20), 100)
    return cents + max(1, floor(fee + Fraction(1, 2)))


class Walk:
    """One requester and some workers who do whatever comes to their minds."""

    def __init__(self, emulator: MTurkEmulator, client: MTurkClient, seed: int) -> None:
        self.emulator = emulator
        self.client = client
        self.draw = random.Random(seed)
        self.people = [emulator.turker(name) for name in PEOPLE]
        self.rewards: dict[str, tuple[int, int]] = {}
        self.bonuses = 0
        self.done: set[str] = set()

    def step(self) -> None:
        """One thing somebody does; it may be refused, but only for a reason that is known."""
        act = self.draw.choice(
            [
                self.publish,
                self.extend,
                self.expire,
                self.judge,
                self.judge,
                self.bonus,
                self.wait,
            ]
            + [self.work] * 8
        )
        try:
            act()
            self.done.add(act.__name__)
        except Refused:
            self.done.add("refused by the site")
        except ClientError as error:
            response: dict[str, Any] = dict(error.response)
            code = response.get("TurkErrorCode", "").removeprefix("AWS.MechanicalTurk.")
            assert code in ALLOWED_CODES or response["Error"]["Code"] == "ParameterValidationError"
            self.done.add(code)

    def publish(self) -> None:
        reward, places = self.draw.choice(list(REWARDS)), self.draw.choice([1, 2, 9, 10, 12])
        hit = put_up(
            self.client,
            Reward=reward,
            MaxAssignments=places,
            LifetimeInSeconds=self.draw.choice([60, 3600, 86_400]),
            AutoApprovalDelayInSeconds=self.draw.choice([0, 600, 86_400]),
        )
        self.rewards[hit["HITId"]] = (REWARDS[reward], places)

    def hit_id(self) -> str:
        return self.draw.choice([hit["hit_id"] for hit in self.emulator.dump()["hits"]] or ["3NONE"])

    def extend(self) -> None:
        self.client.create_additional_assignments_for_hit(
            HITId=self.hit_id(), NumberOfAdditionalAssignments=self.draw.choice([1, 3])
        )

    def expire(self) -> None:
        at = self.emulator.clock.now() + timedelta(minutes=self.draw.choice([-5, 3, 90]))
        self.client.update_expiration_for_hit(HITId=self.hit_id(), ExpireAt=at)

    def turn(self) -> dict[str, Any]:
        turns = [turn for hit in self.emulator.dump()["hits"] for turn in hit["turns"]]
        return self.draw.choice(turns or [{"assignment_id": "3NONE", "worker_id": "AB"}])

    def judge(self) -> None:
        asked = self.turn()["assignment_id"]
        if self.draw.random() < 0.4:
            self.client.reject_assignment(AssignmentId=asked, RequesterFeedback="Not read")
        else:
            self.client.approve_assignment(AssignmentId=asked, OverrideRejection=self.draw.random() < 0.5)

    def bonus(self) -> None:
        turn = self.turn()
        self.client.send_bonus(
            WorkerId=turn["worker_id"],
            AssignmentId=turn["assignment_id"],
            BonusAmount="0.37",
            Reason="Thanks",
        )
        self.bonuses += 1

    def wait(self) -> None:
        self.emulator.clock.advance(self.draw.choice([1, 50, 500, 5_000]))

    def work(self) -> None:
        person = self.draw.choice(self.people)
        held = person.held()
        if not held:
            hits = person.hits()
            if hits:
                person.accept(self.draw.choice(hits))
        elif self.draw.random() < 0.25:
            person.return_(held[0])
        else:
            person.submit(held[0], {"choice": self.draw.choice("AB")})

    def check(self) -> None:
        """The account agrees with the rows, and the rows with each other."""
        now, held, spent = self.emulator.clock.now(), 0, self.bonuses * (37 + 7)
        for hit in self.emulator.dump()["hits"]:
            cents, places = self.rewards[hit["hit_id"]]
            states = [turn["state"] for turn in hit["turns"]]
            taken = sum(state not in {"Returned", "Abandoned"} for state in states)
            running, waiting = states.count("Working"), states.count("Submitted")
            opened = hit["max_assignments"] - taken if hit["expiration"] > now else 0
            assert opened >= 0
            held += (running + waiting + opened) * cost(cents, places)
            spent += states.count("Approved") * cost(cents, places)
            people = [
                turn["worker_id"] for turn in hit["turns"] if turn["state"] not in {"Returned", "Abandoned"}
            ]
            assert len(people) == len(set(people))
            expected = "Assignable" if opened else "Unassignable" if running else "Reviewable"
            assert hit["status"] == expected
        ledger = self.emulator.ledger()
        assert (ledger["held"], ledger["spent"]) == (held, spent)
        assert ledger["available"] == 10_000 - held - spent >= 0


@pytest.mark.parametrize("seed", long_except(range(2), 0))
def test_the_books_agree_whatever_happens(emulator: MTurkEmulator, client: MTurkClient, seed: int) -> None:
    walk = Walk(emulator, client, seed)
    for _ in range(STEPS):
        walk.step()
        walk.check()
    assert walk.done >= {"publish", "work", "judge", "bonus", "expire", "extend", "InvalidAssignmentState"}
