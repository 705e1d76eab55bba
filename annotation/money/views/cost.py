"""The cost of a draft: a part of the plan that the page of the design shows, and the problems with the cost."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.crowds import backend_for
from annotation.money.forecast import Forecast, forecast_of_design
from annotation.money.wages import cents_below_floor
from common.errors import DesignError
from judgments.design.study_design import StudyDesign
from judgments.design.tables.crowd import Crowd
from judgments.studies.pages import PlanPart
from judgments.studies.study_page import add_plan_part
from judgments.templatetags.judgments_tags import cents


@dataclass(frozen=True, slots=True)
class PlanCost:
    """The cost of a plan, for the template.

    Attributes:
        crowd: the design's settings of the crowd.
        sends_people: whether the crowd sends the workers, and pays them from the study's budget.
        fair_cents: the reward that would reach the wage floor; 0 if the design's reward reaches it.
    """

    crowd: Crowd
    sends_people: bool
    forecast: Forecast
    fair_cents: int
    currency: str

    @property
    def missing_cents(self) -> int:
        """The cents by which the budget is too small."""
        return max(0, self.forecast.cents - self.crowd.budget_cents)

    @property
    def left_cents(self) -> int:
        return max(0, self.crowd.budget_cents - self.forecast.cents)


def cost_of_plan(design: StudyDesign, hits: int, items: int) -> PlanCost:
    """Return the cost of a design that will have ``hits`` HITs with ``items`` units in all."""
    forecast = forecast_of_design(design, hits=hits, items=items)
    crowd = design.crowd
    below_floor_cents = cents_below_floor(crowd.reward_cents, forecast.seconds, crowd.floor_cents_per_hour)
    return PlanCost(
        crowd=crowd,
        sends_people=backend_for(design).sends_people,
        forecast=forecast,
        fair_cents=crowd.reward_cents + below_floor_cents if below_floor_cents else 0,
        currency=design.currency,
    )


def problems_of_cost(design: StudyDesign, hits: int, items: int) -> list[DesignError]:
    """Return the problems with the cost: a budget that is too small to open, and a wage below the floor."""
    cost = cost_of_plan(design, hits, items)
    problems = []
    if cost.sends_people and cost.missing_cents:
        problems.append(
            DesignError(
                f"The study costs {cents(cost.forecast.cents, cost.currency)} with fees: the budget is "
                f"{cents(cost.missing_cents, cost.currency)} "
                "short, and it cannot be opened.",
                field="crowd.budget_cents",
            )
        )
    if cost.fair_cents:
        problems.append(
            DesignError(
                f"At this pace an hour earns less than the floor; a page of work would have to "
                f"pay {cents(cost.fair_cents, cost.currency)}.",
                field="crowd.reward_cents",
            )
        )
    return problems


add_plan_part(
    PlanPart(template="admin/annotation/parts/plan_cost.html", facts=cost_of_plan, problems=problems_of_cost)
)
