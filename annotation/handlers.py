"""Job handlers: resolve ids, call one service, report progress."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from annotation import importing as importing
from annotation.crowds import sync
from annotation.crowds.panel.reconciling import ListProblem, read_submissions
from annotation.models.people import erasure_committed
from annotation.privacy import retention
from common.audit import acting_person
from judgments.access.roles import require_editor
from judgments.datasets import uploads
from judgments.design.reading import toml_values
from judgments.importers import ColumnMapping
from judgments.importers.textio import read_whole
from judgments.jobs import Run
from judgments.models import Job, Study
from judgments.studies.studies import design_of, find_dataset, find_study


def import_judgments(
    run: Run,
    *,
    upload: str,
    format: str,
    dataset: str,
    study: str,
    protocol: str = "",
    encoding: str = "",
    mapping: dict[str, Any] | None = None,
    good_rows: bool = False,
    scale: str = "",
    design: str = "",
) -> None:
    """Import judgments; ``good_rows`` leaves the others in a file beside the upload, ``design`` is a study file."""
    require_editor(acting_person(), find_dataset(dataset))
    bad_rows = uploads.bad_rows_file(upload) if good_rows else None
    with (
        uploads.open_upload(upload) as files,
        run.commit() as result,
        uploads.problems_left(Job.objects.get(pk=run.job_id), files.path),
    ):
        summary = importing.import_judgments(
            format=format,
            path=files.path,
            dataset=dataset,
            study=study,
            protocol=protocol or None,
            encoding=encoding or None,
            mapping=ColumnMapping.model_validate(mapping) if mapping else None,
            bad_rows=bad_rows,
            scale=scale,
            design=toml_values(design),
            progress=run.progress,
        )
        result |= {**asdict(summary), "study": summary.what.partition(",")[0]}
    if not good_rows:
        uploads.discard_upload(upload)


def read_panel_list(run: Run, *, study: str, upload: str, columns: dict[str, str]) -> None:
    """Read a panel's list for its page. Its ids of people stay with the upload, and do not enter the database."""
    panel = design_of(find_study(study)).panel
    with uploads.open_upload(upload, run.progress) as files:
        shown: dict[str, Any] = {}
        try:
            submissions = read_submissions(read_whole(files.path), panel, columns=columns)
            shown["rows"] = [submission.as_json() for submission in submissions]
        except ListProblem as problem:
            if not problem.columns:
                raise
            shown |= {"problem": str(problem), "columns": problem.columns}
        uploads.job_file(upload).write_text(json.dumps(shown))


def sync_crowd(run: Run, *, study: str) -> dict[str, Any]:
    return sync.sync_crowd(study=find_study(study), progress=run.progress).as_json()


def finish_erasure(run: Run, *, study: str, withdraw: bool) -> None:
    erasure_committed.send(Study, study=find_study(study), withdraw=withdraw)


def end_retention(run: Run, *, study: str) -> dict[str, Any]:
    return {"people": retention.end_retention(study=find_study(study), progress=run.progress)}
