"""What the jobs of this app do: find the study, compute outside any transaction, store with the job's end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluation.meta_evaluation import DEFAULT_METRICS, DEFAULT_TOKENIZER
from evaluation.services.aggregation import compute_aggregation, store_aggregation
from evaluation.services.exports import export_for_download
from evaluation.services.meta_evaluation import compute_evaluation, store_evaluation
from judgments.jobs import Run
from judgments.services.studies import find_study


def aggregate(run: Run, *, study: str) -> None:
    """Consensus, agreement and workers of a study."""
    aggregation = compute_aggregation(study=find_study(study), progress=run.progress)
    with run.commit() as result:
        result |= {"analysis": store_aggregation(aggregation).pk, **aggregation.counts}


def evaluate(
    run: Run,
    *,
    study: str,
    metrics: Sequence[str] = DEFAULT_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
) -> None:
    """Metrics against the consensus of a study."""
    evaluation = compute_evaluation(
        study=find_study(study), metrics=metrics, tokenizer=tokenizer, progress=run.progress
    )
    with run.commit() as result:
        result |= {"analysis": store_evaluation(evaluation).pk, **evaluation.result["counts"]}


def export(run: Run, *, study: str, format: str, task: str = "annotation") -> dict[str, Any]:
    """A study's judgments as a file in the export folder; a second run writes the same file again."""
    return export_for_download(
        study=find_study(study), format=format, job_id=run.job_id, task=task, progress=run.progress
    )
