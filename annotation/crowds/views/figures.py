"""Figures of the crowd page that take long to compute: wages, cost, and work without objections."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from pydantic import TypeAdapter

from annotation.money.forecast import Forecast, forecast_of
from annotation.money.previews import top_ups_of
from annotation.money.wages import Overclaim, Pay, Wages, pay_and_overclaims, wages_of
from annotation.quality.reviews import assignments_without_objection
from annotation.snapshots import has_many_assignments
from judgments.figures import Figures, add_figures
from judgments.models import Study

MAX_LINES_SHOWN = 20
UNITS_PER_HIT = 20  # approximate number of units in a HIT


@dataclass(frozen=True, slots=True)
class TopUp:
    """The cost of a person's top-ups with fees, and the word that confirms the payment."""

    worker: str
    cents: int
    confirm: str


@dataclass(frozen=True, slots=True)
class CrowdFigures:
    """Figures about all work of a study.

    Attributes:
        pays: the sessions with the lowest wages below the floor.
        top_ups: the top-ups of the people in ``pays``.
        confirm: the word that confirms the top-ups of all people.
        overclaims: the largest overclaims.
        overclaimed: the number of all overclaims.
    """

    forecast: Forecast
    wages: Wages
    pays: list[Pay]
    unopposed: int
    # figures that an older version cached lack these fields
    overclaims: list[Overclaim] = field(default_factory=list)
    overclaimed: int = 0
    top_ups: list[TopUp] = field(default_factory=list)
    confirm: str = ""

    @property
    def rows(self) -> int:
        """The estimated number of rows that were counted."""
        return UNITS_PER_HIT * (self.forecast.places + self.wages.counted + self.unopposed)


def crowd_figures(study: Study) -> CrowdFigures:
    pays, overclaims = pay_and_overclaims(study)
    lowest = [pay for pay in pays if pay.top_up_cents][:MAX_LINES_SHOWN]
    previews = [
        top_ups_of(study, pays, overclaims, worker)
        for worker in dict.fromkeys(pay.worker for pay in lowest if pay.approved)
    ]
    return CrowdFigures(
        forecast=forecast_of(study),
        wages=wages_of(study, pays),
        pays=lowest,
        top_ups=[
            TopUp(preview.facts["worker"], preview.total_cents, preview.confirm) for preview in previews
        ],
        confirm=top_ups_of(study, pays, overclaims).confirm if previews else "",
        unopposed=len(assignments_without_objection(study)) if study.opened_at else 0,
        overclaims=overclaims[:MAX_LINES_SHOWN],
        overclaimed=len(overclaims),
    )


FIGURES = add_figures(
    Figures(
        "crowd",
        crowd_figures,
        rows=lambda figures: figures.rows,
        as_json=asdict,
        from_json=TypeAdapter(CrowdFigures).validate_python,
        is_large=has_many_assignments,
    )
)
