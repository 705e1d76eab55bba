"""A study's costs and wages: forecast, current and final. Read-only; in whole cents.

Wages use active time (page visible, person present) from the judgments; a crowd's own clock includes pauses and would
make wages look lower. Browsers can send any active time: ``annotation.work.leases`` limits what is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from statistics import median

from django.db.models import Count, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from annotation.crowds import CrowdBackend, backend_for, backend_of
from annotation.models import Assignment, CrowdCall, CrowdSession, LedgerEntry, Publication, at_crowd
from annotation.words import spell_seconds
from annotation.work.leases import PAYABLE, paid_times
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import LARGEST_PAGE
from judgments.models import HIT, HITUnit, Study
from judgments.studies.studies import design_of

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
    up = Publication.objects.filter(study=study, place=study.place or backend.place(design)).exclude(
        state=Publication.State.WITHDRAWN
    )
    paid = Count("sessions", filter=Q(sessions__booked=CrowdSession.Booked.SPENT))
    rewards = fees = places = screen_outs = 0
    for publication in up.annotate(paid=paid):
        planned = publication.state == Publication.State.PLANNED
        count = publication.places if planned else publication.held + publication.paid
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
    def words(self) -> str:
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
