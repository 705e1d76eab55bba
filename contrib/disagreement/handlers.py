"""The job that imports a model's predicted distributions from a large uploaded file."""

from __future__ import annotations

from common.audit import acting_person
from contrib.disagreement.predictions import store_predictions
from judgments.datasets import uploads
from judgments.importers.textio import read_lines
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_study


def import_prediction_upload(run: JobRun, *, study: str, upload: str, name: str) -> None:
    with uploads.open_upload(upload) as files, run.commit() as result:
        lines = (line for _, line in read_lines(files.path, newline=""))
        sentence = store_predictions(study=find_study(study), name=name, lines=lines, by=acting_person())
        result["notes"] = [sentence]
    uploads.discard_upload(upload)
