"""Load a report's inputs from a study. ``evaluation.reports.releases.inputs`` computes them from a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.data.imported_scores import imported_hashes
from evaluation.data.judgment_sets import loaders
from evaluation.data.ranked_lists import newest_output_id, proposals_of
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_METRICS, DEFAULT_TOKENIZER, Analysis, MetricScore
from evaluation.reports.inputs import AnalysisResult, EvaluationResult, ReportInputs
from evaluation.results.aggregation import compute_aggregation
from evaluation.results.consensus.study import StudyConsensus, consensus_of
from evaluation.results.metrics.evaluation import compute_evaluation
from evaluation.results.metrics.study_texts import judged_pairs, values_of_units
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Study
from judgments.studies.designs import design_of, draws_at_claim, kind_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Floats
from quorum.numeric.signatures import quorum_version


def load_inputs(
    study: Study, *, metrics: Sequence[str] = (), tokenizer: str = "", progress: Progress = no_progress
) -> ReportInputs:
    """Return a report's inputs. Raise EvaluationError if a metric or tokenizer is unknown.

    Args:
        metrics: names of the metrics to evaluate; by default those of the newest evaluation of the same judgments.
        tokenizer: name of the tokenizer; by default that of the newest evaluation of the same judgments.
    """
    kind = kind_of(study)
    progress(0.02, "reading judgments")
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    progress(0.15, "consensus and agreement")
    aggregation = _aggregation_result(study, consensus)
    progress(0.3, "metrics against people")
    evaluation, why_not = load_evaluation(study, consensus, metrics, tokenizer)
    # "audited": a sample of the captions that a filter rejected was judged; each stands for several of them.
    is_weighted = evaluation is not None and "audited" in evaluation.settings
    compares_pairs, pairs = kind.compares_pairs, CandidatePair.objects.filter(study=study)
    return ReportInputs(
        kind=kind,
        seed=design_of(study).seed,
        table=table,
        consensus=consensus,
        aggregation=aggregation,
        evaluation=evaluation,
        no_evaluation_reason=why_not,
        unit_weights=loaders.weights_of_units(study) if is_weighted else {},
        full_depth_units=loaders.full_depth_units(study),  # units that early stopping leaves alone
        names={worker.pk: worker.name for worker in loaders.worker_rows(study)},
        systems=loaders.systems_of_pairs(study) if compares_pairs else {},
        images=dict(pairs.values_list("pk", "item_id")) if compares_pairs else {},
        unit_images=loaders.clusters_of_units(study, consensus.units),  # or their documents
        documents=loaders.documents_of(study) if compares_pairs else {},
        proposals=None if compares_pairs or kind.is_open else proposals_of(study),  # systems' ranked outputs
        pair_material=lambda: judged_pairs(study, consensus, loaders.load_references(study)),  # if needed
        draws_at_claim=draws_at_claim(study),
        samples_useful_items=design_of(study).chosen is not None,
        are_raters_known=not loaders.is_anonymous(study),
    )


def load_evaluation(
    study: Study, consensus: StudyConsensus, metrics: Sequence[str] = (), tokenizer: str = ""
) -> tuple[EvaluationResult | None, str]:
    """Return the evaluation of metrics, or None, and the reason if it is None.

    A stored evaluation is used if it fits. Else the metrics are evaluated, and the result is not stored.
    """
    why_not = KINDS[study.protocol].comparison.refusal
    if why_not:
        return None, why_not
    try:
        return _evaluation_result(study, consensus, metrics, tokenizer), ""
    except EvaluationError as error:
        if metrics or tokenizer:
            raise
        return None, str(error)


def _stored_analyses(study: Study, kind: str, data_hash: str) -> list[Analysis]:
    """Return the analyses of the present judgments by this version of Quorum, newest first.

    Analyses with naive intervals are left out. Only they have the setting "clusters", whose value is "naive".
    """
    analyses = Analysis.objects.newest_first(study, kind).filter(data_hash=data_hash)
    analyses = analyses.filter(signature__endswith=f"|v:{quorum_version()}")
    return [analysis for analysis in analyses if "clusters" not in analysis.settings]


def _aggregation_result(study: Study, consensus: StudyConsensus) -> AnalysisResult:
    """Return the stored aggregation, or a new one if judgments or outputs of systems have changed."""
    analyses = _stored_analyses(study, Analysis.Kind.AGGREGATION, consensus.data_hash)
    # "outputs" is the row id of the last output; None for a kind without outputs. Older results lack the key.
    analysis = next((row for row in analyses[:1] if "outputs" in row.result), None)
    if analysis is not None and (analysis.result["outputs"] or 0) == newest_output_id(study):
        return AnalysisResult(analysis.result, analysis.settings, analysis.signature)
    aggregation = compute_aggregation(study=study)
    return AnalysisResult(aggregation.result, aggregation.settings, aggregation.signature)


def _evaluation_result(
    study: Study, consensus: StudyConsensus, metrics: Sequence[str], tokenizer: str
) -> EvaluationResult:
    analyses = _stored_analyses(study, Analysis.Kind.META_EVALUATION, consensus.data_hash)
    for analysis in analyses:
        settings = analysis.settings
        if metrics and list(metrics) != settings["metrics"]:
            continue
        if tokenizer and tokenizer != settings["tok"]:
            continue
        # Imported scores may have been replaced in the meantime.
        if settings.get("imported", "") != imported_hashes(study.dataset, settings["metrics"]):
            continue
        scores, scored_ids = _stored_scores(analysis)
        # Scores of captions that are not units are not stored. They are computed again.
        if set(scores) != set(analysis.result["metrics"]):
            continue
        evaluation = EvaluationResult(analysis.result, settings, analysis.signature, scores, scored_ids)
        if KINDS[study.protocol].compares_pairs:
            return evaluation
        caption_by_unit = {unit_id: (item, key) for unit_id, item, key, _ in loaders.caption_units(study)}
        captions = [caption_by_unit[unit_id] for unit_id in scored_ids]
        return replace(evaluation, people=values_of_units(consensus, scored_ids), captions=captions)
    defaults: Mapping[str, Any] = (
        analyses[0].settings if analyses else {"metrics": DEFAULT_METRICS, "tok": DEFAULT_TOKENIZER}
    )
    computed = compute_evaluation(
        study=study, metrics=list(metrics) or defaults["metrics"], tokenizer=tokenizer or defaults["tok"]
    )
    metric_results = computed.metric_results
    pks = metric_results.pks
    return EvaluationResult(
        computed.result,
        computed.settings,
        computed.signature,
        scores=metric_results.scores,
        scored_ids=None if pks is None else pks.tolist(),
        people=metric_results.people,
        captions=metric_results.captions,
    )


def _stored_scores(analysis: Analysis) -> tuple[dict[str, Floats], list[int]]:
    """Return the stored scores, (N, 2) or (N, 1) by metric, and the row ids of the scored pairs or units."""
    rows = MetricScore.objects.filter(analysis=analysis).order_by("pk")
    values: dict[str, list[tuple[float, ...]]] = {}
    row_ids: dict[str, list[int]] = {}
    for metric, pair, unit, first, second in rows.values_list(
        "metric", "pair_id", "unit_id", "first", "second"
    ).iterator(loaders.ROWS_PER_BATCH):
        values.setdefault(metric, []).append((first,) if second is None else (first, second))
        row_ids.setdefault(metric, []).append(unit if pair is None else pair)
    metrics = analysis.result["metrics"]
    scores = {name: np.array(values[name], dtype=np.float64) for name in metrics if name in values}
    return scores, next(iter(row_ids.values()), [])  # the row ids are the same for all metrics
