"""The rows of the emulated service, and the agenda of what time will do to them."""

import heapq
import random
import string
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any, Protocol

from tests.fakes.mturk.clock import Clock
from tests.fakes.mturk.errors import does_not_exist
from tests.fakes.mturk.ledger import Ledger, fee_cents, fee_percent
from tests.fakes.mturk.questions import Question
from tests.fakes.mturk.tokens import Tokens

MASTERS = {"2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"}  # live, sandbox (D)
_LETTERS = string.ascii_uppercase + string.digits


@dataclass
class Notification:
    """What a HIT type wants told, and where."""

    destination: str
    transport: str
    version: str
    event_types: list[str]
    active: bool = True


@dataclass
class HITType:
    """What HITs have in common."""

    hit_type_id: str
    hit_group_id: str
    title: str
    description: str
    keywords: str | None
    reward_cents: int
    duration: int
    auto_approval: int
    requirements: list[dict[str, Any]]
    notification: Notification | None = None

    @property
    def masters(self) -> bool:
        """Whether only Masters may do it, which costs more."""
        return any(requirement["QualificationTypeId"] in MASTERS for requirement in self.requirements)


@dataclass
class Assignment:
    """A worker's turn at a HIT. Returned and abandoned turns stay here, but the service shows none (O)."""

    number: int
    assignment_id: str
    hit: "HIT" = field(repr=False)
    worker_id: str
    accepted: datetime
    deadline: datetime
    order: int = 0  # in which it was submitted
    state: str = "Working"  # Submitted, Approved, Rejected; Returned, Abandoned
    submitted: datetime | None = None
    visible: datetime | None = None  # from when on the requester's side knows of the submission
    auto_approval: datetime | None = None
    approved: datetime | None = None
    rejected: datetime | None = None
    feedback: str | None = None
    answer: str | None = None

    def known(self, now: datetime) -> bool:
        """Whether the requester's side of the service has heard of the submission yet."""
        return self.visible is not None and self.visible <= now


@dataclass
class HIT:
    """A task that is up, or was."""

    number: int
    hit_id: str
    type: HITType
    question: Question = field(repr=False)
    created: datetime
    expiration: datetime
    max_assignments: int
    annotation: str | None
    status: str = "Assignable"
    reviewable_since: datetime | None = None
    told_expired: datetime | None = None
    turns: list[Assignment] = field(default_factory=list, repr=False)
    free_ids: list[str] = field(default_factory=list, repr=False)

    def having(self, *states: str) -> list[Assignment]:
        """The turns in these states, in the order they were taken."""
        return [turn for turn in self.turns if turn.state in states]

    @property
    def kept(self) -> list[Assignment]:
        """The turns that use up a place."""
        return self.having("Working", "Submitted", "Approved", "Rejected")

    @property
    def unit_fee(self) -> int:
        """The fee for one assignment, by how many the HIT asks for."""
        percent = fee_percent(self.max_assignments, self.type.masters)
        return fee_cents(self.type.reward_cents, percent)

    @property
    def unit_cost(self) -> int:
        """What one approved assignment costs, fee included."""
        return self.type.reward_cents + self.unit_fee


@dataclass
class QualificationType:
    """A trait that workers may have."""

    number: int
    qualification_type_id: str
    created: datetime
    name: str
    keywords: str | None
    description: str
    status: str
    test: str | None = None
    answer_key: str | None = None
    test_duration: int | None = None
    retry_delay: int | None = None


@dataclass
class Qualification:
    """A worker's value of a trait, given or taken away."""

    number: int
    type: QualificationType
    worker_id: str
    granted: datetime
    value: int
    status: str = "Granted"


@dataclass
class QualificationRequest:
    """A worker asks for a qualification; `state` Started while a test is being taken."""

    number: int
    request_id: str
    type: QualificationType
    worker_id: str
    asked: datetime
    state: str = "Started"  # Pending, Granted, Rejected
    answer: str | None = None
    submitted: datetime | None = None


@dataclass
class Bonus:
    """Money on top."""

    number: int
    worker_id: str
    assignment_id: str
    hit_id: str
    cents: int
    reason: str
    granted: datetime


@dataclass
class Worker:
    """A person on the workers' site; the numbers count judged work, that for other requesters included."""

    worker_id: str
    country: str = "US"
    subdivision: str | None = None
    approved: int = 0
    rejected: int = 0
    adult: bool = False
    masters: bool = False


class Herald(Protocol):
    """Tells the requester what happened to a HIT."""

    def tell(self, event: str, hit: HIT, assignment: Assignment | None, at: datetime) -> None:
        """Makes an event of it when the HIT type asks for such events."""


class World:
    """All rows of one account at one service. Whoever reads or writes holds `lock`."""

    def __init__(self, *, seed: int, clock: Clock, balance_cents: int, lag_seconds: float = 0) -> None:
        self.lock = threading.RLock()
        self.clock = clock
        self.lag_seconds = lag_seconds
        self.random = random.Random(seed)
        self.ledger = Ledger(balance_cents)
        self.tokens = Tokens()
        self.herald: Herald | None = None
        self.hit_types: dict[str, HITType] = {}
        self.hits: dict[str, HIT] = {}
        self.assignments: dict[str, Assignment] = {}  # an id may pass on; the latest holder is here
        self.qualification_types: dict[str, QualificationType] = {}
        self.qualifications: dict[tuple[str, str], Qualification] = {}
        self.requests: dict[str, QualificationRequest] = {}
        self.holding: defaultdict[str, dict[str, Assignment]] = defaultdict(dict)  # by worker: running work
        self.bonuses: list[Bonus] = []
        self.blocks: dict[str, tuple[int, str]] = {}
        self.workers: dict[str, Worker] = {}
        self.reviewed: set[str] = set()  # whose work this requester approved or rejected
        self.mails: list[dict[str, str]] = []
        self._numbers = count(1)
        self._agenda: list[tuple[datetime, int, Callable[[datetime], None]]] = []

    def number(self) -> int:
        """A number higher than all before: the order in which rows came."""
        return next(self._numbers)

    def new_id(self, first: str = "3", length: int = 30) -> str:
        """An id that looks like the service's."""
        return first + "".join(self.random.choices(_LETTERS, k=length - len(first)))

    def later(self, at: datetime, what: Callable[[datetime], None]) -> None:
        """Puts something on the agenda; it must look for itself whether it still applies."""
        heapq.heappush(self._agenda, (at, self.number(), what))

    def settle(self) -> datetime:
        """Lets everything happen whose time has come, in order, and answers the present moment."""
        now = self.clock.now()
        while self._agenda and self._agenda[0][0] <= now:
            at, _, what = heapq.heappop(self._agenda)
            what(at)
        return now

    def tell(self, event: str, hit: HIT, at: datetime, assignment: Assignment | None = None) -> None:
        """Something happened that the requester may want to know."""
        if self.herald is not None:
            self.herald.tell(event, hit, assignment, at)

    def worker(self, worker_id: str) -> Worker:
        """The worker of that id; whoever visits for the first time is somebody without a past."""
        return self.workers.setdefault(worker_id, Worker(worker_id))

    def hit(self, hit_id: str) -> HIT:
        """The HIT of that id, deleted ones included."""
        if hit_id not in self.hits:
            raise does_not_exist("HIT", hit_id)
        return self.hits[hit_id]

    def hit_type(self, hit_type_id: str) -> HITType:
        """The HIT type of that id."""
        if hit_type_id not in self.hit_types:
            raise does_not_exist("HITType", hit_type_id)
        return self.hit_types[hit_type_id]

    def qualification_type(self, identifier: str) -> QualificationType:
        """The requester's own qualification type of that id."""
        found = self.qualification_types.get(identifier)
        if found is None:
            raise does_not_exist("QualificationType", identifier)
        return found
