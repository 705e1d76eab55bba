"""Job handlers: resolve ids, call one service, report progress."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from annotation.crowds import sync
from annotation.importing import judgments as importing
from annotation.models.privacy import erasure_committed
from annotation.privacy import retention
from common.audit import acting_person
from judgments.access.datasets import require_editor
from judgments.datasets import uploads
from judgments.jobs import Run
from judgments.models import Study
from judgments.studies.studies import find_dataset, find_study


def import_judgments(
    run: Run,
    *,
    upload: str,
    format: str,
    dataset: str,
    study: str,
    protocol: str = "",
    encoding: str = "",
) -> None:
    require_editor(acting_person(), find_dataset(dataset))
    with uploads.open_upload(upload) as files, run.commit() as result:
        summary = importing.import_judgments(
            format=format,
            path=files.path,
            dataset=dataset,
            study=study,
            protocol=protocol or None,
            encoding=encoding or None,
            progress=run.progress,
        )
        result |= {**asdict(summary), "study": study}
    uploads.discard_upload(upload)


def sync_crowd(run: Run, *, study: str) -> dict[str, Any]:
    return sync.sync_crowd(study=find_study(study), progress=run.progress).as_json()


def finish_erasure(run: Run, *, study: str, withdraw: bool) -> None:
    erasure_committed.send(Study, study=find_study(study), withdraw=withdraw)


def end_retention(run: Run, *, study: str) -> dict[str, Any]:
    return {"people": retention.end_retention(study=find_study(study), progress=run.progress)}
