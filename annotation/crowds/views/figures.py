"""Figures of the crowd page that take long to compute: wages, cost, and work without objections.

They are cached as JSON. The alias of a field is its name in this JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, TypeAdapter

from annotation.money.forecast import Forecast, forecast_of
from annotation.money.previews import preview_of_top_ups
from annotation.money.wages import Overclaim, Pay, Wages, pay_and_overclaims, wages_of
from annotation.quality.reviews import assignments_without_objection
from annotation.snapshots import has_many_assignments
from judgments.figures import FiguresDefinition, add_figures
from judgments.models import Study

MAX_LINES_SHOWN = 20
UNITS_PER_HIT = 20  # approximate number of units in a HIT


@dataclass(frozen=True, slots=True)
class TopUp:
    """The cost of a person's top-ups with fees.

    ``confirm`` is the digest of this cost, which the order repeats. The order is refused if the cost has changed.
    """

    worker: str
    cents: int
    confirm: str


@dataclass(frozen=True, slots=True)
class CrowdFigures:
    """Figures about all work of a study.

    Attributes:
        underpaid_sessions: the sessions with the lowest wages below the floor.
        unopposed_count: number of submitted assignments to whose approval there is no objection.
        largest_overclaims: the sessions with the most time that the browser sent beyond what the server observed.
        overclaim_count: number of all overclaims.
        top_ups: the top-ups of the people in ``underpaid_sessions`` whose work is approved.
        top_ups_confirmation: the digest of the preview of all people's top-ups; "" if none can be paid.
    """

    forecast: Forecast
    wages: Wages
    underpaid_sessions: Annotated[list[Pay], Field(alias="pays")]
    unopposed_count: Annotated[int, Field(alias="unopposed")]
    # figures that an older version cached lack these fields
    largest_overclaims: Annotated[list[Overclaim], Field(alias="overclaims")] = field(default_factory=list)
    overclaim_count: Annotated[int, Field(alias="overclaimed")] = 0
    top_ups: list[TopUp] = field(default_factory=list)
    top_ups_confirmation: Annotated[str, Field(alias="confirm")] = ""

    @property
    def row_count(self) -> int:
        """The estimated number of rows from which the figures were computed. If it is large, they are cached."""
        return UNITS_PER_HIT * (self.forecast.places + self.wages.session_count + self.unopposed_count)


_STORED_FIGURES = TypeAdapter(CrowdFigures)


def crowd_figures(study: Study) -> CrowdFigures:
    pays, overclaims = pay_and_overclaims(study)  # the lowest wages and the largest overclaims first
    sessions_below_floor = [pay for pay in pays if pay.top_up_cents]
    underpaid_sessions = sessions_below_floor[:MAX_LINES_SHOWN]
    can_pay = any(pay.approved for pay in sessions_below_floor)
    payable_workers = dict.fromkeys(pay.worker for pay in underpaid_sessions if pay.approved)  # each once
    previews = [preview_of_top_ups(study, pays, overclaims, worker) for worker in payable_workers]
    return CrowdFigures(
        forecast=forecast_of(study),
        wages=wages_of(study, pays),
        underpaid_sessions=underpaid_sessions,
        top_ups=[
            TopUp(preview.facts["worker"], preview.total_cents, preview.confirm) for preview in previews
        ],
        top_ups_confirmation=preview_of_top_ups(study, pays, overclaims).confirm if can_pay else "",
        unopposed_count=len(assignments_without_objection(study)) if study.opened_at else 0,
        largest_overclaims=overclaims[:MAX_LINES_SHOWN],
        overclaim_count=len(overclaims),
    )


FIGURES = add_figures(
    FiguresDefinition(
        "crowd",
        crowd_figures,
        rows=lambda figures: figures.row_count,
        as_json=lambda figures: _STORED_FIGURES.dump_python(figures, by_alias=True),
        from_json=_STORED_FIGURES.validate_python,
        first_needs_job=has_many_assignments,
    )
)
