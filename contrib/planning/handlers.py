"""The jobs of plans and rehearsals. They compute outside any transaction, and store the result when they end."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from annotation.rehearsal.crowd import RehearsalCrowd
from annotation.rehearsal.run import rehearse as let_crowd_answer
from contrib.planning.assumptions import read_assumptions
from contrib.planning.pilots import estimate_from_pilot
from contrib.planning.plans import compute_plan, store_power_plan
from contrib.planning.rehearsals.results import compute_rehearsal, store_rehearsal
from judgments.jobs.runs import JobRun
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
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
    source: dict[str, str] = {}
    if pilot:
        run.progress(0.0, "reading the pilot")
        estimates = estimate_from_pilot(
            study=find_study(pilot), question=assumptions["question"], first=first, second=second
        )
        assumptions, source = assumptions | estimates.assumptions, estimates.source
    checked = read_assumptions(assumptions)
    design = design_of(study_row) if study_row else None
    plan = compute_plan(assumptions=checked, design=design, progress=run.progress)
    with run.commit() as result:
        result |= {"designs": len(plan["tried"])}
        if study_row is None:
            result |= {"plan": plan, "settings": checked.model_dump(mode="json") | source}
        else:
            analysis = store_power_plan(study=study_row, assumptions=checked, result=plan, source=source)
            result["analysis"] = analysis.pk


def rehearse(run: JobRun, *, study: str, **crowd: Any) -> None:
    """Generate a draft's HITs, simulate a crowd's answers, and evaluate them.

    Every step is a transaction of its own, so an interrupted rehearsal can continue.
    """
    study_row, simulated_crowd = find_study(study), RehearsalCrowd(**crowd)
    if study_row.state == Study.State.DRAFT:
        run.progress(0.0, "generating HITs")
        generate_hits(study=study_row)
    # answering is about 0.7 of the work, and evaluating the rest
    report = let_crowd_answer(
        study=study_row,
        crowd=simulated_crowd,
        progress=lambda share, message: run.progress(0.7 * share, message),
    )
    rehearsal = compute_rehearsal(
        study=study_row,
        crowd=simulated_crowd,
        report=report,
        progress=lambda share, message: run.progress(0.7 + 0.3 * share, message),
    )
    with run.commit() as result:
        result |= {"analysis": store_rehearsal(rehearsal).pk, **asdict(report)}
