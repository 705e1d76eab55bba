"""The jobs that choose items, estimate results for all items, and measure what choosing saves."""

from __future__ import annotations

from typing import Any

from common.audit import acting_person
from contrib.choosing.savings import compute_savings
from contrib.choosing.selecting import ALL_ITEMS, compute_choice, store_choice
from contrib.choosing.weighing import compute_weighted_estimates
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_study


def select_items(run: JobRun, *, study: str, method: str, **options: Any) -> None:
    draft = find_study(study)
    choice = None  # else "only" has the chosen pairs or captions, and "budget" the number of their items
    if method != ALL_ITEMS:
        choice = compute_choice(study=draft, method=method, **options, progress=run.progress)
    with run.commit() as result:  # in one transaction with the end of the job
        store_choice(study=draft, choice=choice, by=acting_person())
        if choice:
            result |= {"items": choice["chosen"]["budget"], "units": len(choice["only"])}


def weigh_back(run: JobRun, *, study: str, **options: Any) -> dict[str, Any]:
    return compute_weighted_estimates(study=find_study(study), **options, progress=run.progress)


def choice_savings(run: JobRun, *, study: str, **options: Any) -> dict[str, Any]:
    return compute_savings(study=find_study(study), **options, progress=run.progress)
