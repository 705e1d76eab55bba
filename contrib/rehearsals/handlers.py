"""The job that rehearses a study. It computes outside any transaction, and stores the result when it ends."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from contrib.rehearsals.results import compute_rehearsal, store_rehearsal
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse as simulate_answers
from judgments.jobs.runs import JobRun
from judgments.models import Study
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import find_study


def rehearse(run: JobRun, *, study: str, **crowd: Any) -> None:
    """Generate a draft's HITs, simulate a crowd's answers, and evaluate them.

    Every step is a transaction of its own, so an interrupted rehearsal can continue.
    """
    study_row, simulated_crowd = find_study(study), RehearsalCrowd(**crowd)
    if study_row.state == Study.State.DRAFT:
        run.progress(0.0, "generating HITs")
        generate_hits(study=study_row)
    # answering is about 0.7 of the work, and evaluating the rest
    report = simulate_answers(
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
    with run.commit() as result:  # the result of the job
        result |= {"analysis": store_rehearsal(rehearsal).pk, **asdict(report)}
