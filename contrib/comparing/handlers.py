"""The jobs that compare two metrics, and two releases."""

from __future__ import annotations

from typing import Any

from contrib.comparing.metrics import compare_metrics as compared_metrics
from contrib.comparing.releases import compare_bundles
from evaluation.data.releases.storage import find_release, release_file
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_study

MAX_FLIPPED_PAIRS = 100


def compare_metrics_of_study(run: JobRun, *, study: str, **values: Any) -> dict[str, Any]:
    return compared_metrics(study=find_study(study), progress=run.progress, **values)


def compare_releases_of_study(run: JobRun, *, study: str, before: str, after: str) -> dict[str, Any]:
    of_study = find_study(study)
    run.progress(0.1, "reading both")
    changes = compare_bundles(*(release_file(find_release(of_study, version)) for version in (before, after)))
    flipped = changes["consensus"]
    return {**changes, "consensus": flipped[:MAX_FLIPPED_PAIRS], "flipped": len(flipped)}
