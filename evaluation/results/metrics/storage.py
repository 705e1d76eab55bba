"""Store evaluations: their results, and the score of each pair and text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import transaction

from evaluation.data.judgment_sets import loaders
from evaluation.models import Analysis, MetricScore
from evaluation.results.metrics.evaluation import MetaEvaluation, compute_evaluation
from evaluation.results.metrics.figures import MetricResults
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.generation.progress import Progress, no_progress


@transaction.atomic
def store_evaluation(evaluation: MetaEvaluation) -> Analysis:
    """Store the evaluation, and its scores in place of those of earlier evaluations with its signature."""
    study = evaluation.study
    analysis = Analysis.objects.replace(
        study=study,
        what=Analysis.Kind.META_EVALUATION,
        signature=evaluation.signature,
        data_hash=evaluation.data_hash,
        settings=evaluation.settings,
        judgments=evaluation.judgments,
        result=evaluation.result,
    )
    MetricScore.objects.filter(analysis__study=study, analysis__signature=evaluation.signature).delete()
    MetricScore.objects.bulk_create(
        _score_rows(analysis, evaluation.metric_results), batch_size=loaders.ROWS_PER_BATCH
    )
    sentence = "Metrics were compared with what people said."
    note_event(study=study, what="evaluated", sentence=sentence, signature=evaluation.signature)
    return analysis


def _score_rows(analysis: Analysis, metric_results: MetricResults) -> Iterator[MetricScore]:
    if metric_results.pks is None:  # several units judge a caption, and a stored score refers to one
        return
    for metric, scores in metric_results.scores.items():
        for pk, text_scores in zip(metric_results.pks.tolist(), scores.tolist(), strict=True):
            if len(text_scores) == 2:
                first, second = text_scores
                yield MetricScore(analysis=analysis, metric=metric, pair_id=pk, first=first, second=second)
            else:
                yield MetricScore(analysis=analysis, metric=metric, unit_id=pk, first=text_scores[0])


def evaluate_study(*, study: Study, progress: Progress = no_progress, **options: Any) -> dict[str, Any]:
    """Compute and store an evaluation, and return its result (docs/evaluation.md).

    ``options`` are those of ``compute_evaluation``.
    """
    evaluation = compute_evaluation(study=study, progress=progress, **options)
    progress(0.85, "storing scores")
    store_evaluation(evaluation)
    progress(1.0, "done")
    return {**evaluation.result, "judgments": evaluation.judgments}
