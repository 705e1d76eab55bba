"""The job that simulates a plan. It computes outside any transaction, and stores the result when it ends."""

from __future__ import annotations

from typing import Any

from contrib.planning.assumptions import read_assumptions
from contrib.planning.pilots import estimate_from_pilot
from contrib.planning.plans import compute_plan, store_power_plan
from judgments.jobs.runs import JobRun
from judgments.studies.designs import design_of
from judgments.studies.studies import find_study


def plan_power(
    run: JobRun,
    *,
    assumptions: dict[str, Any],
    study: str = "",
    pilot: str = "",
    first: str = "",
    second: str = "",
) -> None:
    """Simulate a plan. Store it as an analysis of the study or, without a study, in the job.

    Args:
        pilot: slug of the study from which assumptions are estimated; "" for none.
        first, second: two systems or metrics of the pilot, or "".
    """
    study_row = find_study(study) if study else None
    source: dict[str, Any] = {}  # facts about the pilot, stored with the assumptions that come from it
    if pilot:
        run.progress(0.0, "reading the pilot")
        estimates = estimate_from_pilot(
            study=find_study(pilot), question=assumptions["question"], first=first, second=second
        )
        assumptions, source = assumptions | estimates.assumptions, estimates.source
    plan_input = read_assumptions(assumptions)
    design = design_of(study_row) if study_row else None
    plan = compute_plan(assumptions=plan_input, design=design, progress=run.progress)
    with run.commit() as result:
        result |= {"designs": len(plan["tried"])}
        if study_row is None:
            result |= {"plan": plan, "settings": plan_input.model_dump(mode="json") | source}
        else:
            analysis = store_power_plan(study=study_row, assumptions=plan_input, result=plan, source=source)
            result["analysis"] = analysis.pk
