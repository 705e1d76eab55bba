"""Forecast what a study costs, and how much it pays per hour, from its design or from its HITs.

A place is one paid session of one person. An external HIT is an offer of work at a crowd. Since the price of a place
can depend on the number of places of its external HIT, places are counted for each external HIT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
        reward_cents, fee_cents: the rewards of all sessions, and the crowd's fees for them.
        seconds: active time of a HIT, by the design's ``seconds_per_unit``.
        wage_cents: the hourly reward at this pace; None if the study pays nothing.
        screen_out_cents: the pay of people who are screened out, with fees.
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


class _PricedPlaces(NamedTuple):
    """The places of an external HIT: their number, and the reward and the fee of each place."""

    place_count: int
    reward_cents: int
    fee_cents: int


def forecast_of(study: Study) -> Forecast:
    """Return the forecast for a study from its HITs.

    A publication counts with its own prices and, unless it is only planned, with the places that are held or paid. If
    nothing is published yet, the forecast has what would be published.
    """
    design, backend = design_of(study), backend_of(study)
    publications = Publication.objects.filter(
        study=study, platform=study.platform or backend.platform(design)
    ).exclude(state=Publication.State.WITHDRAWN)
    paid_sessions = Count("sessions", filter=Q(sessions__booked=CrowdSession.Booked.SPENT))
    priced_places, screen_out_cents = [], 0
    for publication in publications.annotate(paid_count=paid_sessions):
        is_planned = publication.state == Publication.State.PLANNED
        count = publication.places if is_planned else publication.held_slots + publication.paid_count
        priced_places.append(_PricedPlaces(count, publication.reward_cents, publication.fee_cents))
        screen_outs = publication.screen_outs if is_planned else publication.screen_outs_held
        screen_out_cents += screen_outs * publication.screen_out_cents
    paid_screen_outs = LedgerEntry.objects.filter(publication__study=study, what="screened-out")
    screen_out_cents += paid_screen_outs.aggregate(cents=Sum("spent_cents"))["cents"] or 0
    if not any(hit_places.place_count for hit_places in priced_places):  # nothing is published, held or paid
        screen_out_cents += _screen_out_cents(design, backend)
        priced_places = _planned_places(study, backend)
    return _sum_forecast(design, priced_places, screen_out_cents, seconds=_seconds_of_a_hit(study))


def _sum_forecast(
    design: StudyDesign, priced_places: Sequence[_PricedPlaces], screen_out_cents: int, *, seconds: float
) -> Forecast:
    reward_per_hit = design.crowd.reward_cents
    wage_cents = round(reward_per_hit * SECONDS_PER_HOUR / seconds) if reward_per_hit and seconds else None
    return Forecast(
        places=sum(hit_places.place_count for hit_places in priced_places),
        reward_cents=sum(hit_places.place_count * hit_places.reward_cents for hit_places in priced_places),
        fee_cents=sum(hit_places.place_count * hit_places.fee_cents for hit_places in priced_places),
        seconds=seconds,
        wage_cents=wage_cents,
        screen_out_cents=screen_out_cents,
    )


def _screen_out_cents(design: StudyDesign, backend: CrowdBackend) -> int:
    """Return the cost of all screen-outs that the design pays for, with fees."""
    return design.crowd.screen_outs * backend.screen_out_price(design).cents


def forecast_of_design(design: StudyDesign, *, hits: int, items: int) -> Forecast:
    """Return the forecast for a design whose HITs are not generated yet.

    Args:
        hits: number of HITs that will be generated.
        items: number of units in all of them.
    """
    backend = backend_for(design)
    priced_places = _price_places(design, backend, backend.places_of_publications(design, hits=hits))
    seconds = design.seconds_per_unit * items / hits if hits else 0.0
    return _sum_forecast(design, priced_places, _screen_out_cents(design, backend), seconds=seconds)


def _planned_places(study: Study, backend: CrowdBackend) -> list[_PricedPlaces]:
    """Return the places of each external HIT to publish or, if workers join by a link, of each HIT."""
    design = design_of(study)
    counts = [plan.places for plan in backend.publication_plans(study)]
    if not counts:
        counts = list(HIT.objects.filter(study=study).values_list("required", flat=True))
    return _price_places(design, backend, counts)


def _price_places(design: StudyDesign, backend: CrowdBackend, counts: Sequence[int]) -> list[_PricedPlaces]:
    """Return the places of external HITs with their prices. ``counts`` are their numbers of places."""
    prices = {count: backend.price(design, places=count) for count in set(counts)}
    return [_PricedPlaces(count, prices[count].reward_cents, prices[count].fee_cents) for count in counts]


def _seconds_of_a_hit(study: Study) -> float:
    """Return the mean active time that the HITs of a study need; 0 before HITs are generated."""
    hit_count = HIT.objects.filter(study=study).count()
    if not hit_count:
        return 0.0
    # an arena stores no units of HITs: a page is filled when a worker claims it
    if LARGEST_PAGE in study.notes and study.design.get("arena"):
        return design_of(study).seconds_per_unit * float(study.notes[LARGEST_PAGE])
    unit_count = HITUnit.objects.filter(hit__study=study).count()
    return design_of(study).seconds_per_unit * unit_count / hit_count
