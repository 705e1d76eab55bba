"""The interface of crowd backends, and the local backend. Services know nothing else of crowds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from annotation.work.sheet.layout import Layout
from judgments.design.study_design import StudyDesign
from judgments.models import Study

if TYPE_CHECKING:
    from annotation.models import CrowdCall, Publication


class Ability(StrEnum):
    """An operation of a crowd; the values are also the kinds of ``CrowdCall``."""

    PUBLISH = "publish"
    EXTEND = "extend"
    EXPIRE = "expire"
    DELETE = "delete"
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
    """A call failed. ``str()`` is one sentence for the person in charge.

    Attributes:
        undone: whether the call was certainly not carried out.
    """

    undone = True


class Refused(CrowdProblem):
    """The crowd will never do this: the call fails and its reservation is released."""


class TryLater(CrowdProblem):
    """The call may have been done, unless ``undone``, and is tried again later.

    Attributes:
        after: seconds that the crowd asked to wait.
        final: whether a person must act first, for instance on wrong keys.
    """

    def __init__(
        self, message: str, *, after: float = 0.0, undone: bool = False, final: bool = False
    ) -> None:
        super().__init__(message)
        self.after, self.undone, self.final = after, undone, final


class OutOfFunds(CrowdProblem):
    """The account at the crowd cannot pay: calls that cost money wait for a person."""


class Unsure(CrowdProblem):
    """The outcome is unknown and repeating is unsafe: a person has to look."""

    undone = False


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one slot, in cents."""

    reward_cents: int
    fee_cents: int

    @property
    def cents(self) -> int:
        return self.reward_cents + self.fee_cents


def fee_of(cents: int, percent: Decimal, *, least: int = 0) -> int:
    """Return ``percent`` of an amount, rounded half up to a cent, at least ``least``."""
    fee = (Decimal(cents) * percent / 100).quantize(Decimal(1), rounding=ROUND_HALF_UP)
    return max(least, int(fee))


@dataclass(frozen=True, slots=True)
class HITPlan:
    """An external HIT that a study needs; ``hit`` is the row id of its HIT, None for the whole study."""

    hit: int | None
    places: int


@dataclass(frozen=True, slots=True)
class SeenWork:
    """A piece of work as reported by the crowd.

    Attributes:
        external_id: of the assignment or submission.
        worker: the crowd's id of the person.
        status: a value of ``CrowdSession.Status``.
        receipt: the answer stored at the crowd.
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
    """An external HIT as reported by the crowd.

    Attributes:
        token: our token, if the crowd stored it.
        over: nobody may take it and nobody is at work.
        readable: whether its work can be listed; False once deleted.
        facts: details for people to read. Equal facts mean that its work did not change.
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
    """Answers given on a crowd's own page; ``missing`` are positions without an answer."""

    layout: Layout
    answers: list[dict[str, Any]]
    missing: list[int]


class CrowdBackend(ABC):
    """A source of workers.

    Attributes:
        name: in study files.
        sends_people: whether the crowd sends pseudonymous workers, instead of names that join here.
        person: the crowd's name for a person's id.
    """

    name: str
    title: str
    can: frozenset[Ability] = frozenset()
    sends_people: bool = True
    person: str = "id"

    def platform(self, design: StudyDesign) -> str:
        """Return the place of a study's rows: the crowd, and sandbox or live."""
        return self.name

    def person_of(self, design: StudyDesign) -> str:
        return self.person

    def refuse(self, study: Study, design: StudyDesign) -> None:
        """Raise WrongState, with one sentence, if a study cannot be opened here."""
        return

    def check_at_crowd(self, design: StudyDesign) -> None:
        """Ask the crowd, before opening and outside a transaction, whether it can state the design.

        Raises:
            Refused: it cannot.
            TryLater: unknown; publishing asks again.
        """
        return

    @abstractmethod
    def describe_entrance(self, study: Study) -> str:
        """Return a sentence that says where workers come in."""

    def price(self, design: StudyDesign, *, places: int) -> Price:
        """Return the price of one of ``places`` slots of an external HIT (``Ability.COST``)."""
        return Price(reward_cents=design.crowd.reward_cents, fee_cents=0)

    def bonus_fee(self, cents: int) -> int:
        return 0

    def screen_out_price(self, design: StudyDesign) -> Price:
        """Return the pay for being screened out, if the crowd pays it."""
        return Price(reward_cents=0, fee_cents=0)

    def publication_plans(self, study: Study) -> Iterable[HITPlan]:
        """Yield what to publish; nothing if workers join by a link."""
        return ()

    def slots_of_publications(self, design: StudyDesign, *, hits: int) -> list[int]:
        """Return the number of slots of each external HIT, before HITs are generated."""
        return [design.judgments_per_unit] * hits

    def refuse_places(self, publication: Publication, places: int) -> None:
        """Raise WrongState, with one sentence, if ``places`` slots cannot be added."""
        return

    def session_id(self, platform: str, raw: str) -> str:
        return raw

    def fetch_balance(self, platform: str) -> int | None:
        """Return the account's balance in cents; None if unknown."""
        return None

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        """Carry out a call, or find that it was done; return JSON to store with it. No transaction is open.

        A publish returns ``external_id`` and may return ``group_id`` and ``expires_at`` (ISO 8601).

        Raises:
            Refused, TryLater, OutOfFunds, Unsure.
        """
        raise Refused(f"The crowd {self.title} cannot be asked to {call.kind}.")

    def fetch_publications(self, study: Study, *, known: Iterable[Publication]) -> Iterator[SeenPublication]:
        """Yield the study's external HITs, and those of ``known`` that exist."""
        return iter(())

    def ids_with_news(self, platform: str) -> Iterable[str]:
        """Yield ids of external HITs with news; a sync must find the same without them."""
        return ()

    def knows_work(
        self, publication: Publication, *, worker: str, work: str, at_work: bool = True
    ) -> bool | None:
        """Return whether the crowd knows of a person's work (ids of the crowd); None if unknown.

        With ``at_work``, the person must be at work there now. A visitor waits, so ask once and briefly. No
        transaction is open.
        """
        return None

    def fetch_work_ids(self, publication: Publication) -> frozenset[str] | None:
        """Return ``CrowdSession.external_id`` of all its work at the crowd; None if unknown."""
        return None

    def fetch_answers(self, publication: Publication, work: SeenWork) -> HandedIn | None:
        """Return answers taken by the crowd's own page; None if our server took them."""
        return None

    def fetch_work(self, publication: Publication) -> Iterator[SeenWork]:
        """Yield the submitted work of an external HIT, whatever was decided."""
        return iter(())


class LocalBackend(CrowdBackend):
    """The backend without a crowd: nothing is published, and no operation is supported."""

    name = "local"
    title = "this site"
    sends_people = False

    def platform(self, design: StudyDesign) -> str:
        return "local"  # people of subclasses join here, too

    def describe_entrance(self, study: Study) -> str:
        return _("Participants join at /s/%(slug)s/ on this server.") % {"slug": study.slug}
