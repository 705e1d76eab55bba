"""Handlers of the app's background jobs, which ``apps`` registers.

Each gets the arguments of a job, finds the study, and calls one function of a feature.
"""

from __future__ import annotations

import json
from typing import Any

from annotation.crowds.panel.submission_list import ListProblem, read_submissions
from annotation.crowds.sync.run import sync_with_crowd
from annotation.models.privacy import erasure_committed
from annotation.privacy import retention
from judgments.datasets import uploads
from judgments.importers.textio import read_whole
from judgments.jobs.runs import JobRun
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.studies import find_study


def read_panel_list(run: JobRun, *, study: str, upload: str, columns: dict[str, str]) -> None:
    """Read a panel's list of submissions, and write the rows, or the problem, to the file that its page reads.

    The people's ids stay in files and are not stored in the database.
    """
    panel = design_of(find_study(study)).panel
    with uploads.open_upload(upload, run.progress) as files:
        try:
            submissions = read_submissions(read_whole(files.path), panel, columns=columns)
            page_data: dict[str, Any] = {"rows": [submission.as_json() for submission in submissions]}
        except ListProblem as problem:
            if not problem.columns:
                raise
            # a person can name the columns on the page
            page_data = {"problem": str(problem), "columns": problem.columns}
        uploads.job_file(upload).write_text(json.dumps(page_data))


def sync_crowd(run: JobRun, *, study: str) -> dict[str, Any]:
    """Synchronise a study with its crowd. The result of the job is the report."""
    return sync_with_crowd(study=find_study(study), progress=run.progress).as_json()


def finish_erasure(run: JobRun, *, study: str, withdraw: bool) -> None:
    """Let other apps finish the erasure of a person, outside the transaction that erased them.

    Args:
        withdraw: whether to remove files of releases.
    """
    erasure_committed.send(Study, study=find_study(study), withdraw=withdraw)


def end_retention(run: JobRun, *, study: str) -> dict[str, Any]:
    """Erase the identities of a study's people, whose time is over. The result is the number of people."""
    return {"people": retention.end_identities_of_study(study=find_study(study), progress=run.progress)}
