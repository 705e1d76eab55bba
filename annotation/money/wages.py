"""Wages: what sessions earn per hour, and the top-ups that raise them to the study's wage floor.

Pages cache ``Pay``, ``Overclaim`` and ``Wages`` as JSON. The alias of a field is its name in this JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from statistics import median
from typing import Annotated

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from pydantic import Field

from annotation.crowds import backend_of
from annotation.models import CrowdCall, CrowdSession, at_crowd
from annotation.money.paid_time import PAYABLE_STATUSES, paid_times
from common.amounts import spell_seconds
from judgments.models import Study
from judgments.studies.designs import design_of

SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Pay:
    """The pay of one session.

    Attributes:
        session: row id.
        worker: the worker's name.
        seconds: active time that the browser sent, at most the time that the server observed.
        reward_cents, bonus_cents: amounts without fees; bonuses include pending ones.
        wage_cents: reward and bonuses per hour of active time.
        top_up_cents: the cents that are missing for the study's wage floor, rounded up; 0 if none are.
        approved: whether the crowd approved the session, so that a top-up can be paid.
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
    """A session for which the browser sent more active time than the server observed. The excess is not paid.

    Attributes:
        session: row id.
        worker: the worker's name.
        claimed_seconds: the seconds that the browser sent; the judgments keep them.
        observed_seconds: the seconds between claim and submission, without those after the end of the lease (the time
            for which the HIT was reserved) and those that are paid for other work.
    """

    session: int
    worker: str
    claimed_seconds: Annotated[float, Field(alias="claimed")]
    observed_seconds: Annotated[float, Field(alias="observed")]

    @property
    def sentence(self) -> str:
        return _("%(claimed)s reported by the browser, %(seen)s measured by the server") % {
            "claimed": spell_seconds(self.claimed_seconds),
            "seen": spell_seconds(self.observed_seconds),
        }


def pay_of_sessions(study: Study) -> list[Pay]:
    """Return the pay of submitted and approved sessions with known time, lowest wage first, in five queries."""
    pays, _overclaims = pay_and_overclaims(study)
    return pays


def overclaims_of(study: Study) -> list[Overclaim]:
    """Return the sessions with more active time than the server observed, largest difference first."""
    _pays, overclaims = pay_and_overclaims(study)
    return overclaims


def pay_and_overclaims(study: Study) -> tuple[list[Pay], list[Overclaim]]:
    """Return ``pay_of_sessions`` and ``overclaims_of`` together, in the five queries that each of them takes."""
    floor_cents = design_of(study).crowd.floor_cents_per_hour
    sessions = _payable_sessions(study)
    rows = list(sessions.values_list("pk", "worker__name", "publication__reward_cents", "status"))
    if not rows:  # without paid sessions, avoid a scan of all judgments
        return [], []
    times, bonus_cents = paid_times(sessions), _bonus_cents_by_session(study)
    pays, overclaims = [], []
    for pk, worker, reward_cents, status in rows:
        time = times.get(pk)
        if time is None:
            continue
        if time.exceeds_tolerance:  # then all that the server observed is paid
            overclaims.append(Overclaim(pk, worker, time.claimed_seconds, time.paid_seconds))
        if not time.paid_seconds:
            continue
        cents = reward_cents + bonus_cents.get(pk, 0)
        pays.append(
            Pay(
                session=pk,
                worker=worker,
                seconds=time.paid_seconds,
                reward_cents=reward_cents,
                bonus_cents=bonus_cents.get(pk, 0),
                wage_cents=round(cents * SECONDS_PER_HOUR / time.paid_seconds),
                top_up_cents=cents_below_floor(cents, time.paid_seconds, floor_cents),
                approved=status == CrowdSession.Status.APPROVED,
            )
        )
    pays.sort(key=lambda pay: (pay.wage_cents, pay.session))
    overclaims.sort(key=lambda claim: (claim.observed_seconds - claim.claimed_seconds, claim.session))
    return pays, overclaims


def _payable_sessions(study: Study) -> QuerySet[CrowdSession]:
    return at_crowd(CrowdSession, study).filter(status__in=PAYABLE_STATUSES)


def _bonus_cents_by_session(study: Study) -> dict[int, int]:
    """Return the cents of bonuses by the session's row id: paid, pending and indeterminate ones.

    A failed bonus without a reservation was refused by the crowd. An indeterminate one keeps its reservation.
    """
    bonus_cents: dict[int, int] = {}
    calls = CrowdCall.objects.filter(study=study, kind="bonus", session__isnull=False)
    is_refused = Q(state=CrowdCall.State.FAILED, reserved_cents=0)
    for session_id, payload in calls.exclude(is_refused).values_list("session", "payload"):
        bonus_cents[session_id] = bonus_cents.get(session_id, 0) + int(payload.get("bonus_cents", 0))
    return bonus_cents


def cents_below_floor(cents: int, seconds: float, floor_cents_per_hour: int) -> int:
    """Return by how many cents the pay for this time is below the wage floor, rounded up."""
    # by ``repr``, 0.1 is exactly 0.1: the error of a binary fraction must not be rounded up to a cent
    due_cents = Decimal(floor_cents_per_hour) * Decimal(repr(seconds)) / SECONDS_PER_HOUR
    return max(0, int(due_cents.to_integral_value(rounding=ROUND_CEILING)) - cents)


@dataclass(frozen=True, slots=True)
class Wages:
    """A summary of wages, in cents per hour.

    Attributes:
        session_count: number of sessions with known time.
        below_floor_count: number of sessions below the wage floor.
        top_up_count: number of approved sessions below the wage floor.
        top_up_cents: the sum that would raise all approved sessions to the floor.
        top_up_fee_cents: the crowd's fees for these top-ups.
    """

    session_count: Annotated[int, Field(alias="counted")]
    median_cents: int | None
    lowest_cents: int | None
    floor_cents: int
    below_floor_count: Annotated[int, Field(alias="below")]
    top_up_count: int
    top_up_cents: int
    top_up_fee_cents: int


def wages_of(study: Study, pays: Sequence[Pay]) -> Wages:
    backend = backend_of(study)
    wages = [pay.wage_cents for pay in pays]
    top_ups = [pay for pay in pays if pay.top_up_cents and pay.approved]
    return Wages(
        session_count=len(pays),
        median_cents=round(median(wages)) if wages else None,
        lowest_cents=min(wages, default=None),
        floor_cents=design_of(study).crowd.floor_cents_per_hour,
        below_floor_count=sum(pay.top_up_cents > 0 for pay in pays),
        top_up_count=len(top_ups),
        top_up_cents=sum(pay.top_up_cents for pay in top_ups),
        top_up_fee_cents=sum(backend.bonus_fee(pay.top_up_cents) for pay in top_ups),
    )
