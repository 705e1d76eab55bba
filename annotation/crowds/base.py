"""The interface of a crowd backend, and the local backend. Services know only this."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from annotation.work.presentation import Layout
from judgments.design.requirements import CROWDS
from judgments.design.study_design import StudyDesign
from judgments.models import Study

if TYPE_CHECKING:
    from annotation.models import CrowdCall, Publication


class Ability(StrEnum):
    """What can be asked of a crowd; the words are the kinds of ``CrowdCall`` too."""

    PUBLISH = "publish"
    EXTEND = "extend"
    EXPIRE = "expire"
    LIST = "list"
    APPROVE = "approve"
    REJECT = "reject"
    BONUS = "bonus"
    BLOCK = "block"
    UNBLOCK = "unblock"
    QUALIFY = "qualify"
    MESSAGE = "message"
    COST = "cost"


class CrowdProblem(Exception):
    """What a crowd's answer, or its absence, means for a call. ``str()`` is one sentence for the person in charge."""


class Refused(CrowdProblem):
    """The crowd will never do this: the call is parked with the reason, and what it reserved is free again."""


class TryLater(CrowdProblem):
    """Throttled, unreachable, out of order, or cut off: it may have been done or not. Asked again, later.

    Attributes:
        after: seconds the crowd asked to wait; 0 where it said nothing.
        undone: whether it was certainly not done: throttled, or never reached.
        final: whether nothing will be better until somebody has seen to it, as with keys that are wrong.
    """

    def __init__(
        self, message: str, *, after: float = 0.0, undone: bool = False, final: bool = False
    ) -> None:
        super().__init__(message)
        self.after, self.undone, self.final = after, undone, final


class OutOfFunds(CrowdProblem):
    """The account at the crowd cannot pay: this call and all that cost money wait until somebody has seen to it."""


class Unsure(CrowdProblem):
    """Nobody can tell whether it was done, and asking again could do it twice: the call is parked with its money kept,
    until a person has looked (annotation.crowds.delivery)."""


@dataclass(frozen=True, slots=True)
class Price:
    """What one place costs, in cents."""

    reward_cents: int
    fee_cents: int

    @property
    def cents(self) -> int:
        """Reward and fee."""
        return self.reward_cents + self.fee_cents


def fee_of(cents: int, percent: Decimal, *, least: int = 0) -> int:
    """``percent`` of an amount, rounded half up to a cent; never below ``least``."""
    fee = (Decimal(cents) * percent / 100).quantize(Decimal(1), rounding=ROUND_HALF_UP)
    return max(least, int(fee))


@dataclass(frozen=True, slots=True)
class Plan:
    """A publication that a study wants.

    Attributes:
        hit: row id of its HIT; None where the whole study is put up at once.
        places: how many people it is for.
    """

    hit: int | None
    places: int


@dataclass(frozen=True, slots=True)
class SeenWork:
    """A person's piece of work as the crowd tells it.

    Attributes:
        external_id: of the assignment or submission.
        worker: the crowd's own id of the person.
        status: a word of ``CrowdSession.Status``.
        receipt: the answer as the crowd holds it; '' where it holds none.
    """

    external_id: str
    worker: str
    status: str
    accepted_at: datetime | None = None
    submitted_at: datetime | None = None
    auto_approval_at: datetime | None = None
    decided_at: datetime | None = None
    receipt: str = ""
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class SeenPublication:
    """A publication as the crowd tells it.

    Attributes:
        external_id: its id there.
        token: ours, where the crowd kept it; '' where the publication is somebody else's.
        over: no more work can come of it: nobody may take it and nobody is at work.
        places: how many people it is for.
        reward_cents: what it pays; None where the crowd does not say.
        readable: whether its work can be listed; what was deleted there shows none.
        facts: what to keep of it, for people to read. Equal facts mean that nothing happened to its work.
    """

    external_id: str
    token: str
    over: bool
    places: int
    group_id: str = ""
    reward_cents: int | None = None
    readable: bool = True
    expires_at: datetime | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HandedIn:
    """Answers that were given on a page of the crowd.

    Attributes:
        layout: how the HIT was shown.
        answers: as ``submit_assignment`` takes them.
        missing: positions without an answer.
    """

    layout: Layout
    answers: list[dict[str, Any]]
    missing: list[int]


class CrowdBackend(ABC):
    """Where a study's workers come from.

    Attributes:
        name: as in the study file.
        title: in a sentence.
        can: what may be asked of it; the admin shows no more.
        requirements: those of ``judgments.design.requirements`` that it can state to its workers, or that are
            checked here.
        sends_people: whether workers are pseudonymous people whom the crowd sends, rather than names that join here.
        person: the crowd's word for a person's id.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    can: ClassVar[frozenset[Ability]] = frozenset()
    requirements: ClassVar[frozenset[str]]
    sends_people: ClassVar[bool] = True
    person: ClassVar[str] = "id"

    def serves(self, design: StudyDesign) -> bool:
        """Whether a study of this design is its own."""
        return design.crowd.backend == self.name

    def place(self, design: StudyDesign) -> str:
        """Where rows of such a study belong: the crowd, and whether its sandbox or the live one."""
        return self.name

    def refuse(self, study: Study, design: StudyDesign) -> None:
        """Before opening: what stands against it here.

        Raises:
            WrongState: in one sentence.
        """
        return

    @abstractmethod
    def where(self, study: Study) -> str:
        """One sentence that says where workers come in."""

    def price(self, design: StudyDesign, *, places: int) -> Price:
        """What one of ``places`` places of a publication costs (``Ability.COST``)."""
        return Price(reward_cents=design.crowd.reward_cents, fee_cents=0)

    def bonus_fee(self, cents: int) -> int:
        """The crowd's fee on a bonus, in cents."""
        return 0

    def plans(self, study: Study) -> Iterable[Plan]:
        """What publishing the study puts up; nothing where workers just come."""
        return ()

    def places(self, design: StudyDesign, *, hits: int) -> list[int]:
        """For so many HITs that are not generated yet: how many people each publication would be for."""
        return [design.judgments_per_unit] * hits

    def refuse_places(self, publication: Publication, places: int) -> None:
        """Before ``places`` more are asked for: what stands against it.

        Raises:
            WrongState: in one sentence.
        """
        return

    def session_id(self, place: str, raw: str) -> str:
        """``CrowdSession.external_id`` of what the crowd calls ``raw``."""
        return raw

    def balance(self, place: str) -> int | None:
        """Cents that the account holds; None where the crowd does not say.

        Raises:
            TryLater: it could not be asked.
        """
        return None

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        """Ask the crowd for what the call says, or find that it was done before. No transaction is open.

        Returns:
            JSON that the call keeps. A publish gives ``external_id`` and may give ``group_id`` and ``expires_at``
            (ISO 8601).

        Raises:
            Refused, TryLater, OutOfFunds, Unsure.
        """
        raise Refused(f"The crowd {self.title} cannot be asked to {call.kind}.")

    def publications(self, study: Study, *, known: Iterable[Publication]) -> Iterator[SeenPublication]:
        """All of the study's that exist there, also such as we do not know, and those of ``known`` it can find.

        Raises:
            TryLater.
        """
        return iter(())

    def hints(self, place: str) -> Iterable[str]:
        """Ids of publications to which something happened, where the crowd tells; each told once. Looking must find
        out the same without.

        Raises:
            TryLater.
        """
        return ()

    def answered_there(self, publication: Publication, work: SeenWork) -> HandedIn | None:
        """The answers to a HIT that the crowd's own page took; None where our server took them.

        Raises:
            QuorumError: they cannot be read.
        """
        return None

    def work(self, publication: Publication) -> Iterator[SeenWork]:
        """What people handed in for it there, whatever was decided about it.

        Raises:
            TryLater.
        """
        return iter(())


class LocalBackend(CrowdBackend):
    """Nothing is published anywhere else, and nothing can be asked of anybody."""

    name = "local"
    title = "this site"
    requirements = CROWDS["local"].requirements
    sends_people = False

    def where(self, study: Study) -> str:
        """The study's link."""
        return f"Workers join at /s/{study.slug}/ on this server."
