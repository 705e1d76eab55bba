"""The jobs that compare two metrics, and two releases."""

from __future__ import annotations

from typing import Any

from contrib.comparing.metrics import compare_metrics
from contrib.comparing.releases import compare_bundles
from evaluation.data.releases.storage import find_release, release_file
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_study

MAX_STORED_CHANGES = 100  # changes of the consensus that the result of a job lists


def compare_metrics_of_study(run: JobRun, *, study: str, **options: Any) -> dict[str, Any]:
    return compare_metrics(study=find_study(study), progress=run.progress, **options)


def compare_releases_of_study(run: JobRun, *, study: str, before: str, after: str) -> dict[str, Any]:
    """Compare the releases of versions ``before`` and ``after``. ``flipped`` counts all changes of the consensus."""
    study_row = find_study(study)
    run.progress(0.1, "reading both")
    bundles = [release_file(find_release(study_row, version)) for version in (before, after)]
    changes = compare_bundles(*bundles)
    consensus_changes = changes["consensus"]
    return {**changes, "consensus": consensus_changes[:MAX_STORED_CHANGES], "flipped": len(consensus_changes)}
