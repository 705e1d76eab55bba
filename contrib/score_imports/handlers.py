"""The job that imports scores from a large file."""

from __future__ import annotations

from typing import Any

from common.audit import acting_person
from contrib.score_imports import storing
from contrib.score_imports.parameters import pop_mapping
from contrib.score_imports.reading import read_scores
from judgments.access.dataset_roles import require_editor
from judgments.datasets import uploads
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_study


def import_scores(run: JobRun, *, study: str, upload: str, metrics: list[str], **options: Any) -> None:
    """Import the scores of an uploaded file, with the further values of ``ImportScoresRequest`` as options."""
    dataset = find_study(study).dataset
    user = require_editor(acting_person(), dataset)
    with uploads.open_upload(upload) as files:
        score_files = read_scores(files.path, metrics, mapping=pop_mapping(options, files.path))
        with run.commit() as result:
            outcome = storing.store_metric_scores(dataset=dataset, files=score_files, by=user, **options)
            result["notes"] = [outcome.summary()]
    uploads.discard_upload(upload)  # after the commit, since a repeated job needs the file
