"""Simulate the designs of a plan, compute their costs, and store the plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.money.forecast import forecast_of_design
from common.amounts import json_float
from contrib.planning.assumptions import Assumptions
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from judgments.access.study_log import note_event
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.signatures import signature
from quorum.statistics.inputs import StatisticsError
from quorum.statistics.power import Plan, PowerResult, Size, plan_design


def compute_plan(
    *, assumptions: Assumptions, design: StudyDesign | None = None, progress: Progress = no_progress
) -> dict[str, Any]:
    """Simulate the designs, and return the plan as JSON, without storing it.

    If ``design`` is given, the costs are those of its crowd, for HITs with the assumed reward and length.

    Raises:
        EvaluationError: the designs are too many or too large.
    """
    try:
        plan = plan_design(
            assumptions.as_question(),
            assumptions.voter_model(),
            pairs=assumptions.pairs,
            references=assumptions.references,
            votes=assumptions.votes,
            cost=lambda size: cost_of(size, assumptions, design),
            wanted=assumptions.wanted,
            alpha=assumptions.alpha,
            simulations=assumptions.simulations,
            seed=assumptions.seed,
            progress=lambda share: progress(share, "simulating studies"),
        )
    except StatisticsError as error:
        raise EvaluationError(_("%(error)s.") % {"error": error}) from None
    return _plan_as_json(plan, assumptions, design)


def cost_of(size: Size, assumptions: Assumptions, design: StudyDesign | None) -> int:
    """Return the cost of a design in whole cents, including fees and the repetition of excluded work.

    A place is the work of one person on one HIT.
    """
    units = size.pairs * size.references
    hits = math.ceil(units / (assumptions.units_per_hit - assumptions.controls_per_hit))
    places = hits * size.votes
    repeated_places = math.ceil(places * assumptions.replaced)
    if design is None:
        return (places + repeated_places) * (assumptions.reward_cents + assumptions.fee_cents)
    crowd = design.crowd.model_copy(update={"reward_cents": assumptions.reward_cents})
    priced_design = design.model_copy(update={"judgments_per_unit": size.votes, "crowd": crowd})
    forecast = forecast_of_design(priced_design, hits=hits, items=units + hits * assumptions.controls_per_hit)
    # Repeated work costs as much as the average place. The division rounds up: -(-a // b).
    return forecast.cents + -(-forecast.cents * repeated_places // max(1, forecast.places))


def _plan_as_json(plan: Plan, assumptions: Assumptions, design: StudyDesign | None) -> dict[str, Any]:
    def as_row(result: PowerResult | None) -> dict[str, Any] | None:
        if result is None:
            return None
        probabilities = {key: json_float(value) for key, value in asdict(result).items() if key != "size"}
        cost = {"cost_cents": cost_of(result.size, assumptions, design)}
        return asdict(result.size) | probabilities | cost

    return {
        "tried": [as_row(result) for result in plan.tried],
        "wanted": plan.required_power,
        "best": as_row(plan.best),  # the cheapest that has the wanted power; None without one
        "fewer_votes": as_row(plan.fewer_votes),  # this and the next: smaller than the best
        "half_the_pairs": as_row(plan.half_the_pairs),
    }


@transaction.atomic
def store_power_plan(
    *, study: Study, assumptions: Assumptions, result: dict[str, Any], source: Mapping[str, Any] | None = None
) -> Analysis:
    """Store the plan of a study as an analysis.

    Args:
        result: a result of ``compute_plan``.
        source: the pilot that assumptions come from (``PilotEstimates.source``); None if no pilot was used.
    """
    pilot_settings = dict(source or {})
    data_hash = pilot_settings.pop("data_hash", "")
    settings = assumptions.model_dump(mode="json") | pilot_settings
    analysis = Analysis.objects.create(
        study=study,
        what=Analysis.Kind.PLAN,
        settings=settings,
        signature=signature(
            "power",
            {
                "question": assumptions.question,
                "test": "items-and-raters",
                "alpha": assumptions.alpha,
                "simulations": assumptions.simulations,
                "seed": assumptions.seed,
            },
        ),
        data_hash=data_hash,
        result=result,
    )
    note_event(study=study, what="planned", sentence=f"{len(result['tried'])} designs were simulated.")
    return analysis
