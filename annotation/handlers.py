"""Handlers of the app's background jobs, which ``apps`` registers.

Each gets the arguments of a job, finds the study, and calls one function of a feature.
"""

from __future__ import annotations

from typing import Any

from annotation.crowds.sync.run import sync_with_crowd
from annotation.models.privacy import erasure_committed
from annotation.privacy import retention
from judgments.jobs.runs import JobRun
from judgments.models import Study
from judgments.studies.studies import find_study


def sync_crowd(run: JobRun, *, study: str) -> dict[str, Any]:
    """Synchronise a study with its crowd. The result of the job is the report."""
    return sync_with_crowd(study=find_study(study), progress=run.progress).as_json()


def finish_erasure(run: JobRun, *, study: str, withdraw: bool) -> None:
    """Let other apps finish the erasure of a person, outside the transaction that erased them.

    ``withdraw`` says whether to remove files of releases.
    """
    erasure_committed.send(Study, study=find_study(study), withdraw=withdraw)


def end_retention(run: JobRun, *, study: str) -> dict[str, Any]:
    """Erase the identities of a study's people after the time that was promised to them. The result is their number."""
    return {"people": retention.end_identities_of_study(study=find_study(study), progress=run.progress)}
