"""The job that imports uploaded judgments."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from common.audit import acting_person
from contrib.judgment_imports import importing
from judgments.access.dataset_roles import require_editor
from judgments.datasets import pending_imports, uploads
from judgments.design.reading.study_files import toml_values
from judgments.importers import ColumnMapping
from judgments.jobs.runs import JobRun
from judgments.models import Job
from judgments.studies.studies import find_dataset


def import_judgment_upload(
    run: JobRun,
    *,
    upload: str,
    format: str,
    dataset: str,
    study: str,
    protocol: str = "",
    encoding: str = "",
    mapping: dict[str, Any] | None = None,
    good_rows: bool = False,
    scale: str = "",  # LOW:HIGH[:STEP]; "" if the file states it, or to infer it
    design: str = "",
) -> None:
    """Import uploaded judgments.

    Args:
        upload: the id of the upload, which is kept if ``good_rows`` is true.
        mapping: the fields of a ``ColumnMapping``.
        good_rows: whether to import the valid rows and write the others to a file of the upload. Otherwise, one
            invalid row prevents the import.
        design: the text of a study file.
    """
    require_editor(acting_person(), find_dataset(dataset))
    bad_rows = uploads.bad_rows_file(upload) if good_rows else None
    with (
        uploads.open_upload(upload) as files,
        run.commit() as result,  # the job's result, which is stored together with the import
        pending_imports.storing_problems(Job.objects.get(pk=run.job_id), files.path),
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
        first_slug = summary.what.partition(",")[0]  # each criterion became a study
        result |= {**asdict(summary), "study": first_slug}
    if not good_rows:
        uploads.discard_upload(upload)
