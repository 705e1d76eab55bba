"""The handler of the background job that reads a large list."""

from __future__ import annotations

import json
from typing import Any

from contrib.panel_lists.submission_list import ListProblem, read_submissions
from judgments.datasets import uploads
from judgments.importers.textio import read_whole
from judgments.jobs.runs import JobRun
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
