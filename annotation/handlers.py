"""What the jobs of this app do: find what the ids mean, call one service, tell how far it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from annotation.services.importing import import_judgments as import_rows
from annotation.services.rehearsal import Crowd
from annotation.services.rehearsal import rehearse as let_crowd_answer
from judgments import uploads
from judgments.jobs import Run
from judgments.models import Study
from judgments.services.generation import generate_hits
from judgments.services.studies import find_study


def import_judgments(
    run: Run, *, upload: str, format: str, dataset: str, study: str, protocol: str = ""
) -> None:
    """Import judgments that were collected elsewhere; the upload goes once the rows are stored."""
    with uploads.opened(upload) as files, run.commit() as result:
        summary = import_rows(
            format=format,
            path=files.path,
            dataset=dataset,
            study=study,
            protocol=protocol or None,
            progress=run.progress,
        )
        result |= {**asdict(summary), "study": study}
    uploads.discard(upload)


def rehearse(run: Run, *, study: str, **crowd: Any) -> dict[str, Any]:
    """Let a simulated crowd answer a study, its HITs generated first where it is a draft.

    Every step of the crowd is a transaction of its own: a rehearsal that was cut off goes on where it stopped.
    """
    found = find_study(study)
    if found.state == Study.State.DRAFT:
        run.progress(0.0, "generating HITs")
        generate_hits(study=found)
    return asdict(let_crowd_answer(study=found, crowd=Crowd(**crowd), progress=run.progress))
