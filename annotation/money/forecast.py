"""Forecast what a study costs, and how much it pays per hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from annotation.crowds import CrowdBackend, backend_for, backend_of
from annotation.models import CrowdSession, LedgerEntry, Publication
from annotation.money.wages import SECONDS_PER_HOUR
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import LARGEST_PAGE
from judgments.models import HIT, HITUnit, Study
from judgments.studies.designs import design_of


@dataclass(frozen=True, slots=True)
class Forecast:
    """The cost of a study when all of its work is done.

    Attributes:
        places: number of paid sessions.
        screen_out_cents: reserved for people who are screened out, with fees.
        seconds: active time of a session, by the design's ``seconds_per_unit``.
        wage_cents: the hourly reward at this pace.
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
    """Return the forecast for a study, from its HITs and prices.

    Published HITs keep their price, and their released slots do not count.
    """
    design, backend = design_of(study), backend_of(study)
    publications = Publication.objects.filter(
        study=study, platform=study.platform or backend.platform(design)
    ).exclude(state=Publication.State.WITHDRAWN)
    paid = Count("sessions", filter=Q(sessions__booked=CrowdSession.Booked.SPENT))
    rewards = fees = places = screen_outs = 0
    for publication in publications.annotate(paid=paid):
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
        for count, reward, fee in _planned_prices(study, backend):
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
    """Return the forecast for a design before HITs are generated, from the numbers of HITs and of items in them."""
    backend = backend_for(design)
    rows = _prices(design, backend, backend.slots_of_publications(design, hits=hits))
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
    return round(reward * SECONDS_PER_HOUR / seconds) if reward and seconds else None


def _planned_prices(study: Study, backend: CrowdBackend) -> list[tuple[int, int, int]]:
    """Return the number of slots, the reward and the fee of each external HIT to publish.

    If nothing is published, this is one row for all slots.
    """
    design = design_of(study)
    plans = [plan.places for plan in backend.publication_plans(study)]
    counts = plans or list(HIT.objects.filter(study=study).values_list("required", flat=True))
    return _prices(design, backend, counts)


def _prices(design: StudyDesign, backend: CrowdBackend, counts: Sequence[int]) -> list[tuple[int, int, int]]:
    prices = {count: backend.price(design, places=count) for count in set(counts)}
    return [(count, prices[count].reward_cents, prices[count].fee_cents) for count in counts]


def _seconds_of_a_hit(study: Study) -> float:
    hits = HIT.objects.filter(study=study).count()
    if not hits:
        return 0.0
    # the pages of an arena are filled when a worker claims them
    if LARGEST_PAGE in study.notes and study.design.get("arena"):
        return design_of(study).seconds_per_unit * float(study.notes[LARGEST_PAGE])
    units = HITUnit.objects.filter(hit__study=study).count()
    return design_of(study).seconds_per_unit * units / hits
