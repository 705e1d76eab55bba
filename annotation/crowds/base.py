"""The interface of crowd backends, and the backend of studies without a crowd.

Services use crowds only through this interface. An external HIT is one offer of work at a crowd: a single HIT at
Mechanical Turk, or a whole study at a panel. Its places are the sessions that it pays for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.work.sheet.layout import Layout
from judgments.design.study_design import StudyDesign
from judgments.models import Study

if TYPE_CHECKING:
    from annotation.models import CrowdCall, Publication


class Ability(StrEnum):
    """An operation that a crowd may support. The values are also the kinds of ``CrowdCall``."""

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


ABILITY_PHRASES = {
    Ability.PUBLISH: gettext_noop("publish work"),
    Ability.EXTEND: gettext_noop("add places and time"),
    Ability.EXPIRE: gettext_noop("take down published work"),
    Ability.DELETE: gettext_noop("delete ended publications"),
    Ability.LIST: gettext_noop("list submissions"),
    Ability.APPROVE: gettext_noop("approve"),
    Ability.REJECT: gettext_noop("reject"),
    Ability.BONUS: gettext_noop("pay bonuses"),
    Ability.BLOCK: gettext_noop("block a participant"),
    Ability.UNBLOCK: gettext_noop("lift a block"),
    Ability.QUALIFY: gettext_noop("give a qualification"),
    Ability.MESSAGE: gettext_noop("message participants"),
    Ability.COST: gettext_noop("report the cost"),
}


class CrowdProblem(Exception):
    """Raised when a call to a crowd fails. ``str()`` is one sentence for the researcher.

    Attributes:
        had_no_effect: whether the call certainly had no effect.
    """

    had_no_effect = True


class CrowdRefusal(CrowdProblem):
    """Raised if the crowd refuses a call permanently. The call fails, and its reservation is released."""


class RetryLater(CrowdProblem):
    """Raised if a call should be tried again later. It may have had an effect, unless ``had_no_effect`` is true.

    Attributes:
        after: seconds that the crowd asked to wait.
        final: whether no further call succeeds until a person acts, for instance on wrong API keys.
    """

    def __init__(
        self, message: str, *, after: float = 0.0, had_no_effect: bool = False, final: bool = False
    ) -> None:
        super().__init__(message)
        self.after, self.had_no_effect, self.final = after, had_no_effect, final


class OutOfFunds(CrowdProblem):
    """Raised if the account at the crowd cannot pay. Calls that cost money then wait for a person."""


class UnknownOutcome(CrowdProblem):
    """Raised if nobody knows whether a call had an effect, so a person has to check before it is repeated."""

    had_no_effect = False


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one place, in cents."""

    reward_cents: int
    fee_cents: int

    @property
    def cents(self) -> int:
        return self.reward_cents + self.fee_cents


def fee_of(cents: int, percent: Decimal, *, min_cents: int = 0) -> int:
    """Return ``percent`` of an amount, rounded half up to a cent, and at least ``min_cents``."""
    fee = (Decimal(cents) * percent / 100).quantize(Decimal(1), rounding=ROUND_HALF_UP)
    return max(min_cents, int(fee))


@dataclass(frozen=True, slots=True)
class HITPlan:
    """An external HIT to publish. ``hit`` is the row id of its HIT, or None if it is the whole study."""

    hit: int | None
    places: int


@dataclass(frozen=True, slots=True)
class CrowdWork:
    """A submission or assignment, as the crowd reports it.

    Attributes:
        external_id: the crowd's id of the assignment or submission.
        worker: the crowd's id of the person.
        status: a value of ``CrowdSession.Status``.
        auto_approval_at: when the crowd approves it if nobody decides.
        receipt: the answer that the crowd stores.
        feedback: the requester's message to the person.
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
class CrowdPublication:
    """An external HIT, as the crowd reports it.

    Attributes:
        token: the token with which Quorum created it, if the crowd stores the token.
        is_over: whether nobody works on it and nobody can accept it any more.
        group_id: at Mechanical Turk, the id of the HIT type.
        readable: whether its work can be listed; false once it is deleted.
        facts: details to show to people. While they stay the same, the HIT's work does, so that it is not read again.
    """

    external_id: str
    token: str
    is_over: bool
    places: int
    group_id: str = ""
    reward_cents: int | None = None
    readable: bool = True
    expires_at: datetime | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SubmittedAnswers:
    """The answers that a worker gave on a page of the crowd's own site.

    Attributes:
        layout: the order and the sides in which the page showed the units.
        answers, missing_positions: answers to store (``submit_assignment``), and positions on the page without one.
    """

    layout: Layout
    answers: list[dict[str, Any]]  # each with "position", "value" or "answer", "seconds" and "comment"
    missing_positions: list[int]


class CrowdBackend(ABC):
    """A source of workers.

    Attributes:
        name: its name in study files.
        title: its name in sentences.
        can: the operations that it supports.
        sends_people: whether the crowd sends the workers, who then have pseudonyms. Otherwise people join with a name
            of their choice.
        person: the crowd's name for the id of a person, such as WorkerId.
    """

    name: str
    title: str
    can: frozenset[Ability] = frozenset()
    sends_people: bool = True
    person: str = "id"

    def platform(self, design: StudyDesign) -> str:
        """Return the value of ``Study.platform``: the crowd's name, or "mturk-sandbox" or "mturk-live"."""
        return self.name

    def person_of(self, design: StudyDesign) -> str:
        """Return the crowd's name for the id of a person in a study."""
        return self.person

    def refuse(self, study: Study, design: StudyDesign) -> None:
        """Raise WrongState, with one sentence, if the study cannot be opened at this crowd."""
        return

    def check_at_crowd(self, design: StudyDesign) -> None:
        """Ask the crowd whether it supports the design, before opening and outside a transaction.

        Raises:
            CrowdRefusal: the crowd does not support the design.
            RetryLater: the crowd did not respond; it is asked again on publishing.
        """
        return

    @abstractmethod
    def describe_entrance(self, study: Study) -> str:
        """Return the sentence of the study's page that says where workers enter the study."""

    def price(self, design: StudyDesign, *, places: int) -> Price:
        """Return the price of one place of an external HIT that has ``places`` places."""
        return Price(reward_cents=design.crowd.reward_cents, fee_cents=0)

    def bonus_fee(self, cents: int) -> int:
        return 0

    def screen_out_price(self, design: StudyDesign) -> Price:
        """Return the price of screening a person out; zero if the crowd does not pay these people."""
        return Price(reward_cents=0, fee_cents=0)

    def publication_plans(self, study: Study) -> Iterable[HITPlan]:
        """Yield the external HITs to publish; none if workers join by a link."""
        return ()

    def places_of_publications(self, design: StudyDesign, *, hits: int) -> list[int]:
        """Return the number of places of each external HIT of a design that will have ``hits`` HITs."""
        return [design.judgments_per_unit] * hits

    def refuse_places(self, publication: Publication, places: int) -> None:
        """Raise WrongState, with one sentence, if ``places`` places cannot be added."""
        return

    def session_id(self, platform: str, raw: str) -> str:
        """Return the ``external_id`` of the session whose id at the crowd is ``raw``."""
        return raw

    def fetch_balance(self, platform: str) -> int | None:
        """Return the account's balance in cents; None if unknown."""
        return None

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        """Carry out a call, or find out that it was carried out before; return JSON to store with it.

        This method is called outside a transaction. The result of a publish call has ``external_id`` and may have
        ``group_id`` and ``expires_at`` (ISO 8601).

        Raises:
            CrowdRefusal: the crowd refuses the call permanently.
            RetryLater: the call should be tried again later.
            OutOfFunds: the account cannot pay.
            UnknownOutcome: nobody knows whether the call had an effect.
        """
        raise CrowdRefusal(f"The crowd {self.title} cannot be asked to {call.kind}.")

    def fetch_publications(self, study: Study, *, known: Iterable[Publication]) -> Iterator[CrowdPublication]:
        """Yield the study's external HITs at the crowd.

        Args:
            known: publications in the database. Those that still exist at the crowd are included.
        """
        return iter(())

    def ids_with_news(self, platform: str) -> Iterable[str]:
        """Yield ids of external HITs that have changed. This is only a hint: a sync must find changes without it."""
        return ()

    def knows_work(
        self, publication: Publication, *, worker: str, work: str, at_work: bool = True
    ) -> bool | None:
        """Return whether the crowd confirms that the work is the person's; None if the crowd does not say.

        A visitor waits for the result, so the crowd is asked once, with a short timeout. This method is called outside
        a transaction.

        Args:
            worker, work: the crowd's ids of the person and of the work.
            at_work: whether the person must be working on it now.
        """
        return None

    def fetch_work_ids(self, publication: Publication) -> frozenset[str] | None:
        """Return the ids of all work on an external HIT (``CrowdSession.external_id``); None if unknown."""
        return None

    def fetch_answers(self, publication: Publication, work: CrowdWork) -> SubmittedAnswers | None:
        """Return the answers given on a page that the crowd shows; None if the answers came from Quorum's own page."""
        return None

    def fetch_work(self, publication: Publication) -> Iterator[CrowdWork]:
        """Yield the submitted work of an external HIT, both decided and undecided."""
        return iter(())


class LocalBackend(CrowdBackend):
    """The backend of studies without a crowd: nothing is published, and no operation is supported."""

    name = "local"
    title = "this site"
    sends_people = False

    def platform(self, design: StudyDesign) -> str:
        return LocalBackend.name  # also for subclasses, whose people join as those without a crowd do

    def describe_entrance(self, study: Study) -> str:
        return _("Participants join at /s/%(slug)s/ on this server.") % {"slug": study.slug}
