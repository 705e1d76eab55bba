"""The job that compares two metrics."""

from __future__ import annotations

from typing import Any

from contrib.comparing.metrics import compare_metrics as compared_metrics
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_study


def compare_metrics_of_study(run: JobRun, *, study: str, **values: Any) -> dict[str, Any]:
    return compared_metrics(study=find_study(study), progress=run.progress, **values)
