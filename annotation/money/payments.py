"""What a study costs and pays: forecast and wages, read alone, and approvals, bonuses and top-ups to its wage floor.

Wages use active time (page visible, person present) from the judgments; a crowd's own clock includes pauses and would
make wages look lower. Browsers can send any active time: ``paid_times`` limits what is paid.

Orders are outbox messages, sent once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from itertools import groupby
from statistics import median
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, FloatField, Q, QuerySet, Sum
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from annotation.crowds import Ability, CrowdBackend, backend_for, backend_of
from annotation.crowds.outbox import call_key, settle_session, write_message
from annotation.models import (
    Assignment,
    CrowdCall,
    CrowdSession,
    Judgment,
    LedgerEntry,
    Publication,
    at_crowd,
)
from annotation.money.ledger import OverBudget, as_one_order, one_order
from common.amounts import spell_cents, spell_seconds
from common.errors import WrongState
from judgments.access.roles import note_event
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import LARGEST_PAGE
from judgments.models import HIT, HITUnit, Study
from judgments.studies.studies import design_of

CLOCK_TOLERANCE = 5.0  # tolerated difference in seconds between browser and server time per assignment
PAYABLE = (CrowdSession.Status.SUBMITTED, CrowdSession.Status.APPROVED)

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class PaidTime:
    """A session's active seconds as sent and as paid; ``differs`` if they differ by more than the clocks may."""

    claimed: float
    paid: float
    differs: bool


@dataclass(frozen=True, slots=True)
class _Page:
    session: int
    study: int
    submitted_at: datetime
    claimed: float
    spans: list[Span]


def paid_times(sessions: QuerySet[CrowdSession]) -> dict[int, PaidTime]:
    """Return the active time of each payable session of these sessions' workers, in three queries.

    A worker with several HITs, also of several studies, does not work twice at once: time paid for an earlier
    assignment is not paid again. A HIT reclaimed again and again is paid for one lease with its extensions. Revised
    answers keep the time of the first submission.
    """
    claimed: defaultdict[int, float] = defaultdict(float)
    paid: defaultdict[int, float] = defaultdict(float)
    differs: set[int] = set()
    by_worker = _pages_by_worker(sessions)
    limits = _longest_leases(page.study for pages in by_worker.values() for page in pages)
    for pages in by_worker.values():
        together, paid_seconds = _SpanUnion(), 0.0
        for page in sorted(pages, key=lambda page: page.submitted_at):
            together.add(page.spans)
            lease_seconds = _SpanUnion.of(page.spans).seconds
            at_once = max(((end - start).total_seconds() for start, end in page.spans), default=0.0)
            allowed = max(limits[page.study], at_once)  # the study's people can make a lease longer
            seconds = min(page.claimed, lease_seconds, allowed, together.seconds - paid_seconds)
            paid_seconds += seconds
            claimed[page.session] += page.claimed
            paid[page.session] += seconds
            if page.claimed > seconds + CLOCK_TOLERANCE:
                differs.add(page.session)
    return {pk: PaidTime(claimed[pk], paid[pk], pk in differs) for pk in claimed}


def _longest_leases(studies: Iterable[int]) -> dict[int, float]:
    """Return the seconds of a lease with all its extensions, by study."""
    crowds = {pk: design_of(study).crowd for pk, study in Study.objects.in_bulk(set(studies)).items()}
    return {pk: 60.0 * crowd.lease_minutes * (1 + crowd.extensions) for pk, crowd in crowds.items()}


def _pages_by_worker(sessions: QuerySet[CrowdSession]) -> dict[int, list[_Page]]:
    # In other studies, what the crowd has named: a made-up session would take the time of whose id it bears.
    known = Q(pk__in=sessions.values("pk")) | Q(confirmed=True) | Q(status=CrowdSession.Status.APPROVED)
    every = CrowdSession.objects.filter(known, worker__in=sessions.values("worker"), status__in=PAYABLE)
    claims = dict(
        Judgment.objects.filter(assignment__session__in=every, replaces__isnull=True)
        .values("assignment")
        .annotate(seconds=Sum(Cast(F("seconds"), FloatField())))
        .order_by()
        .values_list("assignment", "seconds")
    )
    rows = Assignment.objects.filter(session__in=every).order_by("session", "hit", "accepted_at", "pk")
    pages: defaultdict[int, list[_Page]] = defaultdict(list)
    lapsed: list[Assignment] = []
    for row in rows.only(
        "session", "study", "hit", "worker", "state", "accepted_at", "expires_at", "submitted_at", "gaps"
    ).iterator():
        assert row.session_id is not None  # guaranteed by the query
        lapsed = [
            earlier
            for earlier in lapsed
            if (earlier.session_id, earlier.hit_id) == (row.session_id, row.hit_id)
        ]
        seconds = claims.get(row.pk) or 0.0
        if seconds:
            assert row.submitted_at is not None  # guaranteed by its judgments
            lease_spans = _spans_held([*lapsed, row])
            page = _Page(row.session_id, row.study_id, row.submitted_at, seconds, lease_spans)
            pages[row.worker_id].append(page)
        elif row.state == Assignment.State.EXPIRED:
            lapsed.append(row)  # its answers and times moved to the row that replaced it
    return pages


def _spans_held(rows: Sequence[Assignment]) -> list[Span]:
    """Return the spans of a worker's leases on a HIT: expired rows, then the submitted one."""
    ends = [later.accepted_at for later in rows[1:]] + [rows[-1].submitted_at]
    spans: list[Span] = []
    for row, end in zip(rows, ends, strict=True):
        last = min(filter(None, (end, row.expires_at)))
        start = row.accepted_at
        for gap in row.gaps:
            left, back = map(datetime.fromisoformat, gap)
            spans.append((start, min(left, last)))
            start = back
        spans.append((start, last))
    return [(start, end) for start, end in spans if start < end]


@dataclass(slots=True)
class _SpanUnion:
    spans: list[Span] = field(default_factory=list)  # disjoint and ordered
    length: timedelta = timedelta()

    @classmethod
    def of(cls, spans: Iterable[Span]) -> _SpanUnion:
        union = cls()
        union.add(spans)
        return union

    @property
    def seconds(self) -> float:
        return self.length.total_seconds()

    def add(self, spans: Iterable[Span]) -> None:
        for start, end in spans:
            later: list[Span] = []
            while self.spans and self.spans[-1][1] >= start:
                first, last = self.spans.pop()
                if first > end:
                    later.append((first, last))
                    continue
                self.length -= last - first
                start, end = min(start, first), max(end, last)
            self.spans += [(start, end), *reversed(later)]
            self.length += end - start


SECONDS_AN_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Forecast:
    """The cost of a study once everything is done.

    Attributes:
        places: paid sessions.
        screen_out_cents: reserved for people who are screened out, with fees.
        seconds: active time of a session, by the design's ``seconds_per_unit``.
        wage_cents: the hourly reward at that pace.
    """

    places: int
    reward_cents: int
    fee_cents: int
    seconds: float
    wage_cents: int | None
    screen_out_cents: int = 0

    @property
    def cents(self) -> int:
        return self.reward_cents + self.fee_cents + self.screen_out_cents


def forecast_of(study: Study) -> Forecast:
    """Return the forecast from HITs and prices. Published HITs keep their price, without released slots."""
    design, backend = design_of(study), backend_of(study)
    up = Publication.objects.filter(study=study, platform=study.platform or backend.platform(design)).exclude(
        state=Publication.State.WITHDRAWN
    )
    paid = Count("sessions", filter=Q(sessions__booked=CrowdSession.Booked.SPENT))
    rewards = fees = places = screen_outs = 0
    for publication in up.annotate(paid=paid):
        planned = publication.state == Publication.State.PLANNED
        count = publication.places if planned else publication.held_slots + publication.paid
        reward, fee = publication.reward_cents, publication.fee_cents
        places, rewards, fees = places + count, rewards + count * reward, fees + count * fee
        reserved = publication.screen_outs if planned else publication.screen_outs_held
        screen_outs += reserved * publication.screen_out_cents
    paid_out = LedgerEntry.objects.filter(publication__study=study, what="screened-out")
    screen_outs += paid_out.aggregate(cents=Sum("spent_cents"))["cents"] or 0
    if not places:
        screen_outs += _screen_outs(design, backend)
        for count, reward, fee in _planned(study, backend):
            places, rewards, fees = places + count, rewards + count * reward, fees + count * fee
    seconds = _seconds_of_a_hit(study)
    return Forecast(
        places=places,
        reward_cents=rewards,
        fee_cents=fees,
        seconds=seconds,
        wage_cents=_wage(design, seconds),
        screen_out_cents=screen_outs,
    )


def _screen_outs(design: StudyDesign, backend: CrowdBackend) -> int:
    return design.crowd.screen_outs * backend.screen_out_price(design).cents


def forecast_of_design(design: StudyDesign, *, hits: int, items: int) -> Forecast:
    """Return the forecast before HITs are generated, from their number and the items in them."""
    backend = backend_for(design)
    rows = _priced(design, backend, backend.slots_of_publications(design, hits=hits))
    seconds = design.seconds_per_unit * items / hits if hits else 0.0
    return Forecast(
        places=sum(count for count, _reward, _fee in rows),
        reward_cents=sum(count * reward for count, reward, _fee in rows),
        fee_cents=sum(count * fee for count, _reward, fee in rows),
        seconds=seconds,
        wage_cents=_wage(design, seconds),
        screen_out_cents=_screen_outs(design, backend),
    )


def _wage(design: StudyDesign, seconds: float) -> int | None:
    reward = design.crowd.reward_cents
    return round(reward * SECONDS_AN_HOUR / seconds) if reward and seconds else None


def _planned(study: Study, backend: CrowdBackend) -> list[tuple[int, int, int]]:
    """Return (slots, reward, fee) of each external HIT to be opened, or of all slots if nothing is published."""
    design = design_of(study)
    plans = [plan.places for plan in backend.publication_plans(study)]
    counts = plans or list(HIT.objects.filter(study=study).values_list("required", flat=True))
    return _priced(design, backend, counts)


def _priced(design: StudyDesign, backend: CrowdBackend, counts: Sequence[int]) -> list[tuple[int, int, int]]:
    prices = {count: backend.price(design, places=count) for count in set(counts)}
    return [(count, prices[count].reward_cents, prices[count].fee_cents) for count in counts]


def _seconds_of_a_hit(study: Study) -> float:
    hits = HIT.objects.filter(study=study).count()
    if not hits:
        return 0.0
    if LARGEST_PAGE in study.notes and study.design.get("arena"):  # its pages are filled when they are taken
        return design_of(study).seconds_per_unit * float(study.notes[LARGEST_PAGE])
    units = HITUnit.objects.filter(hit__study=study).count()
    return design_of(study).seconds_per_unit * units / hits


@dataclass(frozen=True, slots=True)
class Pay:
    """The pay of one session.

    Attributes:
        session: row id.
        seconds: active time, at most what the server saw.
        reward_cents, bonus_cents: without fees, including pending bonuses.
        wage_cents: the hourly pay at that pace.
        top_up_cents: the difference to the study's floor, rounded up.
    """

    session: int
    worker: str
    seconds: float
    reward_cents: int
    bonus_cents: int
    wage_cents: int
    top_up_cents: int
    approved: bool

    @property
    def minutes(self) -> float:
        return self.seconds / 60

    @property
    def cents(self) -> int:
        return self.reward_cents + self.bonus_cents


@dataclass(frozen=True, slots=True)
class Overclaim:
    """A session with more active time sent by the browser than the server saw. The excess is not paid.

    Attributes:
        claimed: seconds sent; the judgments keep them.
        seen: seconds between claim and submission, within the lease, not paid for other work.
    """

    session: int
    worker: str
    claimed: float
    seen: float

    @property
    def sentence(self) -> str:
        return _("claimed %(claimed)s, server saw %(seen)s") % {
            "claimed": spell_seconds(self.claimed),
            "seen": spell_seconds(self.seen),
        }


def pay_of_sessions(study: Study) -> list[Pay]:
    """Return submitted and approved sessions with known time, the lowest wage first, in five queries."""
    return pay_and_claims(study)[0]


def overclaims_of(study: Study) -> list[Overclaim]:
    """Return sessions with more time sent than the server saw, the largest difference first."""
    return pay_and_claims(study)[1]


def pay_and_claims(study: Study) -> tuple[list[Pay], list[Overclaim]]:
    """Return ``pay_of_sessions`` and ``overclaims_of`` from the same five queries."""
    floor = design_of(study).crowd.floor_cents_per_hour
    rows = list(_counted(study).values_list("pk", "worker__name", "publication__reward_cents", "status"))
    if not rows:  # nobody was paid: avoid a scan of all judgments
        return [], []
    times, bonuses = paid_times(_counted(study)), _bonuses(study)
    pays, claims = [], []
    for pk, worker, reward, status in rows:
        time = times.get(pk)
        if time is None:
            continue
        if time.differs:
            claims.append(Overclaim(session=pk, worker=worker, claimed=time.claimed, seen=time.paid))
        if not time.paid:
            continue
        cents = reward + bonuses.get(pk, 0)
        pays.append(
            Pay(
                session=pk,
                worker=worker,
                seconds=time.paid,
                reward_cents=reward,
                bonus_cents=bonuses.get(pk, 0),
                wage_cents=round(cents * SECONDS_AN_HOUR / time.paid),
                top_up_cents=top_up(cents, time.paid, floor),
                approved=status == CrowdSession.Status.APPROVED,
            )
        )
    pays.sort(key=lambda pay: (pay.wage_cents, pay.session))
    claims.sort(key=lambda claim: (claim.seen - claim.claimed, claim.session))
    return pays, claims


def _counted(study: Study) -> QuerySet[CrowdSession]:
    sessions = at_crowd(CrowdSession, study)
    return sessions.filter(status__in=PAYABLE)


def _bonuses(study: Study) -> dict[int, int]:
    """Return bonus cents by session: paid, pending or indeterminate, which keep their reservation."""
    sums: dict[int, int] = {}
    calls = CrowdCall.objects.filter(study=study, kind="bonus", session__isnull=False)
    refused = Q(state=CrowdCall.State.FAILED, reserved_cents=0)
    for session, payload in calls.exclude(refused).values_list("session", "payload"):
        sums[session] = sums.get(session, 0) + int(payload.get("bonus_cents", 0))
    return sums


def top_up(cents: int, seconds: float, floor_cents_per_hour: int) -> int:
    """Return the difference to the floor for these seconds, rounded up to a cent."""
    due = Decimal(floor_cents_per_hour) * Decimal(repr(seconds)) / SECONDS_AN_HOUR
    return max(0, int(due.to_integral_value(rounding=ROUND_CEILING)) - cents)


@dataclass(frozen=True, slots=True)
class Wages:
    """A summary of wages, in cents an hour.

    Attributes:
        counted: sessions with known time.
        top_up_cents: the sum that lifts all approved ones to the floor.
    """

    counted: int
    median_cents: int | None
    lowest_cents: int | None
    floor_cents: int
    below: int
    top_ups: int
    top_up_cents: int
    top_up_fee_cents: int


def wages_of(study: Study, pays: Sequence[Pay]) -> Wages:
    backend = backend_of(study)
    wages = [pay.wage_cents for pay in pays]
    wanting = [pay for pay in pays if pay.top_up_cents and pay.approved]
    return Wages(
        counted=len(pays),
        median_cents=round(median(wages)) if wages else None,
        lowest_cents=min(wages, default=None),
        floor_cents=design_of(study).crowd.floor_cents_per_hour,
        below=sum(pay.top_up_cents > 0 for pay in pays),
        top_ups=len(wanting),
        top_up_cents=sum(pay.top_up_cents for pay in wanting),
        top_up_fee_cents=sum(backend.bonus_fee(pay.top_up_cents) for pay in wanting),
    )


def local_cost_cents(study: Study) -> int:
    """Return the reward of all approved assignments, for people paid by other means."""
    approved = Assignment.objects.filter(study=study, state=Assignment.State.APPROVED).count()
    return approved * design_of(study).crowd.reward_cents


Status = CrowdSession.Status
ENDED = (CrowdCall.State.DONE, CrowdCall.State.DROPPED)


@transaction.atomic
def decide_session(
    *, session: CrowdSession, approve: bool, why: str = "", by: User | None = None
) -> CrowdCall | None:
    """Approve or reject a session by a call; return None if the crowd has no API and only our books change.

    Args:
        why: the message to the worker, required for a rejection.
    """
    if session.status == Status.APPROVED or session.booked == CrowdSession.Booked.SPENT:
        if approve:
            return None
        raise WrongState(
            _("Nothing was changed: session %(external_id)s is approved and paid.")
            % {"external_id": session.external_id}
        )
    if session.status not in (Status.SUBMITTED, Status.REJECTED):
        raise WrongState(
            _("Nothing was changed: session %(external_id)s is %(status)s.")
            % {"external_id": session.external_id, "status": session.get_status_display()}
        )
    kind = Ability.APPROVE if approve else Ability.REJECT
    if kind not in backend_of(session.study).can:
        settle_session(
            session=session, status=Status.APPROVED if approve else Status.REJECTED, feedback=why.strip()
        )
        return None
    # an approval after a rejection overrides it, and a dropped call is asked again: both need a new key
    ended = CrowdCall.objects.filter(session=session, kind=kind, state__in=ENDED)
    number = ended.count() + 1
    override = session.status == Status.REJECTED
    return write_message(
        study=session.study,
        kind=kind,
        key=call_key(kind, session.platform, session.worker_id, session.external_id, number),
        session=session,
        worker=session.worker,
        payload={"override": override},
        cents=session.publication.price_cents if override else 0,
        why=why.strip(),
        by=by,
    )


def hold_for_bonus(session: CrowdSession) -> int:
    """Lock the session against simultaneous decisions; return the number of its next bonus."""
    CrowdSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    return CrowdCall.objects.filter(session=session, kind=Ability.BONUS).count() + 1


@transaction.atomic
def pay_bonus(
    *, session: CrowdSession, cents: int, why: str, number: int = 1, by: User | None = None
) -> CrowdCall:
    """Ask for a bonus that a person decided, and log it; see ``ask_for_bonus``."""
    call = ask_for_bonus(session=session, cents=cents, why=why, number=number, by=by)
    note_event(
        study=session.study,
        what="bonus",
        sentence=f"A bonus of {spell_cents(cents, design_of(session.study).currency)} for {session.worker.name}.",
        why=why.strip(),
        by=by,
        call=call.pk,
    )
    return call


@transaction.atomic
def ask_for_bonus(
    *, session: CrowdSession, cents: int, why: str, number: int = 1, by: User | None = None
) -> CrowdCall:
    """Ask for a session's bonus, once for each ``number``."""
    if not why.strip():
        raise WrongState(_("Nothing was paid: a bonus needs a reason that the worker can read."))
    backend = backend_of(session.study)
    return write_message(
        study=session.study,
        kind=Ability.BONUS,
        key=call_key(Ability.BONUS, session.platform, session.worker_id, session.external_id, number),
        session=session,
        worker=session.worker,
        payload={"bonus_cents": cents},
        cents=cents + backend.bonus_fee(cents),
        why=why.strip(),
        by=by,
    )


class TopUps(NamedTuple):
    """The written calls, and the workers for whom the budget does not suffice."""

    calls: list[CrowdCall]
    left_out: list[str]


@as_one_order
def pay_top_ups(*, study: Study, why: str, worker: str = "", by: User | None = None) -> TopUps:
    """Ask for a bonus for each approved session below the study's floor, of all people or of one.

    Each person's top-ups are paid or left out together, so that one person's do not block others'.

    Raises:
        OverBudget: nothing is left for anybody.
    """
    # lock before the wages are read, so that a concurrent request finds these bonuses
    approved = CrowdSession.objects.filter(study=study, status=CrowdSession.Status.APPROVED).order_by("pk")
    list(approved.select_for_update(no_key=True).values_list("pk", flat=True))
    wanting = {
        pay.session: pay
        for pay in pay_of_sessions(study)
        if pay.top_up_cents and pay.approved and worker in ("", pay.worker)
    }
    if not wanting:
        raise WrongState(_("Nothing was paid: no approved work lies below the floor."))
    rows = (
        CrowdSession.objects.filter(pk__in=wanting).select_related("study", "worker").order_by("worker", "pk")
    )
    calls: list[CrowdCall] = []
    left_out: list[str] = []
    problem: OverBudget | None = None
    for name, sessions in groupby(rows, key=lambda row: row.worker.name):
        try:
            with one_order(study, None), transaction.atomic():
                paid = [
                    ask_for_bonus(
                        session=session,
                        cents=wanting[session.pk].top_up_cents,
                        why=why,
                        number=CrowdCall.objects.filter(session=session, kind="bonus").count() + 1,
                        by=by,
                    )
                    for session in sessions
                ]
        except OverBudget as error:
            left_out.append(name)
            problem = error
        else:
            calls += paid
    if not calls and problem is not None:
        raise problem
    total = spell_cents(sum(int(call.payload["bonus_cents"]) for call in calls), design_of(study).currency)
    message = f"Bonuses of {total} for {len(calls)} pieces of work below the floor."
    if left_out:
        message += f" The budget does not reach for {', '.join(left_out)}."
    note_event(study=study, what="top-up", sentence=message, by=by)
    return TopUps(calls, left_out)
