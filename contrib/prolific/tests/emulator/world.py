"""The rows of the emulated Prolific: studies, submissions, bonuses, groups, messages, and money in whole cents."""

import base64
import hashlib
import hmac
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from contrib.prolific.tests.emulator.traits import Traits, fits, room_in_quota

RUNNING = {"RESERVED", "ACTIVE"}
# states of submissions whose place is free again (R: study object, submission object)
FREED = {"RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT"}


class Refusal(Exception):
    """Raised if the service answers a call with an error; nothing was changed.

    Args:
        bare: whether the error is not put into a member ``error``.
    """

    def __init__(self, detail: object, *, status: int = 400, code: int = 140000, bare: bool = False) -> None:
        super().__init__(str(detail))
        self.status = status
        # R: most endpoints put the error into "error", and some do not
        error = {"status": status, "error_code": code, "title": "Bad request", "detail": detail}
        self.body: dict[str, Any] = error if bare else {"error": error}


@dataclass
class Study:
    """A study. ``fields`` are the members that the researcher sent."""

    id: str
    fields: dict[str, Any]
    created: datetime
    status: str = "UNPUBLISHED"

    @property
    def reward(self) -> int:
        """The cents for one submission."""
        return int(self.fields["reward"])

    @property
    def places(self) -> int:
        """The number of all places."""
        return int(self.fields["total_available_places"])

    def minutes_allowed(self) -> float:
        """Return the minutes after which a submission times out.

        R: at least two minutes plus two times the estimate plus two times its root. This is also the default (?).
        """
        estimate = float(self.fields["estimated_completion_time"])
        return float(
            self.fields.get("maximum_allowed_time") or math.ceil(2 + 2 * estimate + 2 * estimate**0.5)
        )


@dataclass
class Submission:
    """A participant's submission. ``bonuses`` are the cents of those that are shown."""

    id: str
    study: str
    participant: str
    started: datetime
    status: str = "ACTIVE"
    code: str | None = None
    completed: datetime | None = None
    return_requested: datetime | None = None
    bonuses: list[int] = field(default_factory=list)
    rejection: tuple[str, str] | None = None


@dataclass
class BulkBonus:
    """Bonuses that were set up together. ``rows`` are submissions and cents; ``paid`` is how often they were paid."""

    id: str
    study: str
    rows: list[tuple[str, int]]
    total: int
    paid: int = 0


@dataclass
class Group:
    """A group of participants, with the time when each was added."""

    id: str
    name: str
    workspace: str
    members: dict[str, datetime] = field(default_factory=dict)


class World:
    """The rows of a researcher's account, and what participants do. Nothing in here knows HTTP.

    Args:
        deposit_cents: the money that the researcher paid in.
        fee_permille: Prolific's fee on rewards and bonuses; 333 for universities, 428 for companies in 2026
            (prolific.com/pricing as transcribed by api-evangelist/prolific on 20 September 2026).
        vat_permille: the tax on the fee.
        bonus_delay: seconds until a paid bonus is shown ("in the following minutes", R).
    """

    def __init__(
        self,
        *,
        deposit_cents: int = 100_000,
        fee_permille: int = 333,
        vat_permille: int = 0,
        bonus_delay: int = 0,
    ) -> None:
        self.deposit_cents = deposit_cents
        self.spent_cents = 0
        self.fee_permille = fee_permille
        self.vat_permille = vat_permille
        self.bonus_delay = bonus_delay
        self.studies: dict[str, Study] = {}
        self.submissions: dict[str, Submission] = {}
        self.bulk_bonuses: dict[str, BulkBonus] = {}
        self.groups: dict[str, Group] = {}
        self.messages: list[dict[str, str]] = []
        self.people: dict[str, Traits] = {}
        self.hook_secrets: dict[str, str] = {}
        self.hooks: dict[str, dict[str, Any]] = {}
        self._ahead = timedelta()
        self._coming: list[tuple[datetime, str, int]] = []
        self._issued = 0

    def now(self) -> datetime:
        """Return the service's time."""
        return datetime.now(UTC) + self._ahead

    def advance(self, **spans: float) -> None:
        """Let time pass: ``advance(minutes=10)``."""
        self._ahead += timedelta(**spans)

    def new_id(self) -> str:
        """Return an id of 24 hexadecimal digits. Ids grow with time, as in the reference's examples."""
        self._issued += 1
        return f"{0x65000000 + self._issued:08x}{self._issued:016x}"

    def settle(self) -> None:
        """Show bonuses that are due, and time out submissions."""
        now = self.now()
        for due, submission, cents in [entry for entry in self._coming if entry[0] <= now]:
            self.submissions[submission].bonuses.append(cents)
            self._coming.remove((due, submission, cents))
        for one in self.submissions.values():
            allowed = timedelta(minutes=self.studies[one.study].minutes_allowed())
            if one.status in RUNNING and one.started + allowed < now:
                one.status = "TIMED-OUT"

    def fees(self, cents: int) -> tuple[int, int]:
        """Return the fee and the tax on an amount, each rounded half up to the cent (?)."""
        fee = (cents * self.fee_permille + 500) // 1000
        return fee, (fee * self.vat_permille + 500) // 1000

    def price(self, cents: int) -> int:
        """Return what it costs to pay somebody this amount."""
        return cents + sum(self.fees(cents))

    def held_cents(self) -> int:
        """Return the money reserved for published places that are not paid yet (R: "locking the amount required")."""
        published = [study for study in self.studies.values() if study.status != "UNPUBLISHED"]
        places = sum(self.price(study.reward) * self._unpaid(study) for study in published)
        return places + sum(
            self.screen_outs_cents(study) for study in published if study.status != "COMPLETED"
        )

    def screen_outs(self, study: Study) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the completion codes that pay people who are screened out, with their actions."""
        return [
            (code, action)
            for code in study.fields["completion_codes"]
            for action in code["actions"]
            if action["action"] == "FIXED_SCREEN_OUT_PAYMENT"
        ]

    def screen_outs_cents(self, study: Study) -> int:
        """Return the money reserved for further screen-outs. That it is reserved is a guess (?)."""
        return sum(
            self.price(action["fixed_screen_out_reward"]) * (action["slots"] - self._screened_out(study))
            for _code, action in self.screen_outs(study)
        )

    def _screened_out(self, study: Study) -> int:
        return sum(one.status == "SCREENED OUT" for one in self.of(study.id))

    def available_cents(self) -> int:
        """Return the money that is neither spent nor reserved."""
        return self.deposit_cents - self.spent_cents - self.held_cents()

    def _unpaid(self, study: Study) -> int:
        states = [one.status for one in self.of(study.id)]
        if study.status == "UNPUBLISHED":
            return 0
        if study.status == "COMPLETED":
            return sum(state in RUNNING or state == "AWAITING REVIEW" for state in states)
        return study.places - states.count("APPROVED")

    def deliveries(self, submission_id: str) -> Iterator[tuple[str, bytes, dict[str, str]]]:
        """Yield the webhooks about a submission: address, body and signed headers (R: "Receiving", "Verifying")."""
        one = self.submissions[submission_id]
        for hook in self.hooks.values():
            if hook["is_enabled"] and hook["event_type"] == "submission.status.change":
                event = {
                    "resource_id": one.id,
                    "event_type": hook["event_type"],
                    "participant_id": one.participant,
                    "status": one.status,
                }
                body, sent = json.dumps(event).encode(), str(int(self.now().timestamp()))
                secret = self.hook_secrets[hook["workspace_id"]]
                digest = hmac.new(secret.encode(), sent.encode() + body, hashlib.sha256).digest()
                signed = {
                    "X-Prolific-Request-Signature": base64.b64encode(digest).decode(),
                    "X-Prolific-Request-Timestamp": sent,
                    "X-Event-ID": self.new_id(),
                }
                yield hook["target_url"], body, signed

    def afford(self, cents: int) -> None:
        """Raise Refusal if the account cannot pay this amount."""
        if cents > self.available_cents():
            raise Refusal(f"Your balance is too low: {cents} needed, {self.available_cents()} available.")

    def spend(self, cents: int) -> None:
        """Pay somebody, with fee and tax."""
        self.spent_cents += self.price(cents)

    def pay_bonus(self, submission: str, cents: int) -> None:
        """Pay a bonus at once, and show it later."""
        self.spend(cents)
        self._coming.append((self.now() + timedelta(seconds=self.bonus_delay), submission, cents))
        self.settle()

    def of(self, study: str) -> Iterator[Submission]:
        """Return a study's submissions."""
        return (one for one in self.submissions.values() if one.study == study)

    def taken(self, study: Study) -> int:
        """Return the number of places that are taken.

        R: all submissions count, except those that timed out or were returned or rejected.
        """
        return sum(one.status not in FREED for one in self.of(study.id))

    def empty(self, study: Study) -> int:
        """Return the number of free places."""
        return study.places - self.taken(study)

    def review(self, study: Study) -> None:
        """Update the study's state: if it is full and nobody is at work, it awaits review; if all is decided, it is
        completed (R).
        """
        states = [one.status for one in self.of(study.id)]
        if study.status in {"ACTIVE", "AWAITING REVIEW"} and self.taken(study) >= study.places:
            running = any(state in RUNNING for state in states)
            if not running:
                study.status = "AWAITING REVIEW" if "AWAITING REVIEW" in states else "COMPLETED"

    def enter(self, study_id: str, participant: str) -> tuple[str, str]:
        """Let a participant take a place. Return the submission's id, and the address to which they are sent."""
        self.settle()
        study = self.studies[study_id]
        if study.status != "ACTIVE" or self.taken(study) >= study.places:
            raise Refusal(f"study {study_id} has no place")
        if any(one.participant == participant for one in self.of(study_id)):
            raise Refusal(f"{participant} took part in study {study_id} before")
        if not self._sees(study, participant):
            raise Refusal(f"{participant} does not see study {study_id}")
        one = Submission(self.new_id(), study_id, participant, self.now())
        self.submissions[one.id] = one
        address = str(study.fields["external_study_url"])
        values = {"PROLIFIC_PID": participant, "STUDY_ID": study_id, "SESSION_ID": one.id}
        for name, value in values.items():
            address = address.replace(f"{{{{%{name}%}}}}", value)
        return one.id, address

    def _sees(self, study: Study, participant: str) -> bool:
        """Return whether a participant sees the study: they pass every filter, and the quotas leave a place (R)."""
        filters, traits = study.fields.get("filters") or [], self.people.get(participant, {})
        taking = [one.participant for one in self.of(study.id) if one.status not in FREED]
        others = [self.people.get(one, {}) for one in taking]
        return (
            all(self._passes(one, participant, traits) for one in filters)
            and traits.get("device", "desktop") in (study.fields.get("device_compatibility") or ["desktop"])
            and room_in_quota(filters, traits, others, study.places)
        )

    def _passes(self, filtered: dict[str, Any], participant: str, traits: Traits) -> bool:
        name = filtered["filter_id"]
        if name.startswith("participant_group_"):
            within = any(participant in self.groups[one].members for one in filtered["selected_values"])
            return within == name.endswith("allowlist")
        if name == "previous_studies_blocklist":
            return not any(
                participant == one.participant for old in filtered["selected_values"] for one in self.of(old)
            )
        return fits(filtered, traits)

    def come_back(self, submission_id: str, code: str | None) -> None:
        """Let a participant return to Prolific with a code or without one. Carry out the code's actions."""
        self.settle()
        one = self.submissions[submission_id]
        if one.status not in RUNNING:
            raise Refusal(f"submission {submission_id} is {one.status}")
        study = self.studies[one.study]
        known = {entry["code"]: entry["actions"] for entry in study.fields["completion_codes"]}
        one.code, one.completed, one.status = code or "NOCODE", self.now(), "AWAITING REVIEW"
        for action in known.get(code, []):
            self._carry_out_action(one, study, action)
        self.review(study)

    def _carry_out_action(self, one: Submission, study: Study, action: dict[str, Any]) -> None:
        kind = action["action"]
        if kind == "AUTOMATICALLY_APPROVE":
            self.approve(one)
        elif kind == "REQUEST_RETURN":
            one.return_requested = self.now()
        elif kind == "FIXED_SCREEN_OUT_PAYMENT":
            one.status = "SCREENED OUT"
            self.spent_cents += self.price(action["fixed_screen_out_reward"])
            if self._screened_out(study) >= action["slots"] and study.status == "ACTIVE":
                study.status = "PAUSED"

    def give_back(self, submission_id: str) -> None:
        """Let a participant return their submission. It is not paid, and its place is free again (R)."""
        one = self.submissions[submission_id]
        if one.status not in RUNNING | {"AWAITING REVIEW"}:
            raise Refusal(f"submission {submission_id} is {one.status}")
        one.status = "RETURNED"
        self._pause_if_full(self.studies[one.study])

    def approve(self, one: Submission) -> None:
        """Approve and pay a submission once (R: the second request is ignored)."""
        if one.status == "APPROVED":
            return
        if one.status != "AWAITING REVIEW":
            raise Refusal(f"Submission {one.id} can't be approved, it is {one.status}.", code=140108)
        one.status = "APPROVED"
        self.spend(self.studies[one.study].reward)
        self.review(self.studies[one.study])

    def reject(self, one: Submission, category: str, message: str) -> None:
        """Reject a submission once (R: the second request is ignored)."""
        if one.status == "REJECTED":
            return
        if one.status != "AWAITING REVIEW":
            raise Refusal(f"Submission {one.id} can't be rejected, it is {one.status}.", code=140108)
        one.status, one.rejection = "REJECTED", (category, message)
        self._pause_if_full(self.studies[one.study])

    def _pause_if_full(self, study: Study) -> None:
        """Pause a full study that loses a submission, as the service does (researcher-help.prolific.com)."""
        if study.status == "AWAITING REVIEW":
            study.status = "PAUSED"
