"""Evaluate a rehearsal: how many of the drawn true answers the consensus found, the power, the cost and the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.db.models import Sum

from annotation.models import Assignment, Judgment
from annotation.money.forecast import forecast_of
from common.amounts import percent
from contrib.rehearsals.mean_power import power_of_means
from contrib.rehearsals.pair_power import SIMULATIONS, simulate_power
from contrib.rehearsals.pairs import compare_pairs, share_by_item
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.reports import RehearsalReport
from contrib.rehearsals.simulation.truths import rehearsal_of, truths_of
from evaluation.data.judgment_sets import loaders
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from evaluation.results.aggregation import StudyAggregation, compute_aggregation, store_aggregation
from evaluation.results.metrics.evaluation import MetaEvaluation, compute_evaluation
from evaluation.results.metrics.storage import store_evaluation
from judgments.access.study_log import note_event
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.signatures import signature


@dataclass(frozen=True, slots=True)
class RehearsalResult:
    """A computed rehearsal that is not stored yet. ``result`` is the JSON of its analysis."""

    study: Study
    crowd: RehearsalCrowd
    result: dict[str, Any]
    aggregation: StudyAggregation
    evaluation: MetaEvaluation | None


def compute_rehearsal(
    *, study: Study, crowd: RehearsalCrowd, report: RehearsalReport, progress: Progress = no_progress
) -> RehearsalResult:
    """Compare the consensus of a finished rehearsal with the drawn true answers, without storing the result."""
    aggregation = compute_aggregation(study=study, progress=lambda share, text: progress(share / 3, text))
    evaluation, why_no_metrics = None, ""
    try:
        evaluation = compute_evaluation(
            study=study, progress=lambda share, text: progress((1 + share) / 3, text)
        )
    except EvaluationError as error:
        why_no_metrics = str(error)
    metrics: list[dict[str, Any]] = []
    systems: list[dict[str, Any]] = []
    power: list[dict[str, Any]] = []
    progress(0.7, "comparing results with the right answers")
    true_answers = truths_of(study, crowd.seed)
    if KINDS[study.protocol].compares_pairs:
        findings = compare_pairs(study, true_answers, evaluation, aggregation.result["systems_verdict"])
        metrics, systems = findings.metrics, findings.systems
        power = simulate_power(study, findings, crowd.seed)
    elif (
        scale := kind_of(study).relevance
    ) is not None and scale.is_mean:  # a mean grade is a caption's consensus
        power = power_of_means(study, scale, aggregation.consensus.decisions, true_answers)
    return RehearsalResult(
        study=study,
        crowd=crowd,
        result={
            "report": asdict(report),
            "recovered": _share_recovered(study, true_answers, aggregation),
            "agreement": aggregation.result["agreement"]["alpha"],
            "metrics": metrics,
            "systems": systems,
            "no_metrics": why_no_metrics,
            "power": power,
            **_cost_and_time(study),
        },
        aggregation=aggregation,
        evaluation=evaluation,
    )


def _share_recovered(
    study: Study, true_answers: Mapping[int, Any], aggregation: StudyAggregation
) -> dict[str, Any]:
    """Return the share of judged units whose consensus is the true answer, with its interval by item."""
    rehearsal, consensus_of_unit = rehearsal_of(study), aggregation.consensus.of_unit
    judgments = Judgment.objects.of_study(study).current().filter(unit__control=False)
    item_of_unit = dict(judgments.order_by().values_list("unit_id", "unit__item_id").distinct())
    is_recovered = [
        pk in consensus_of_unit and rehearsal.matches(consensus_of_unit[pk], true_answers[pk])
        for pk in item_of_unit
    ]
    return share_by_item(is_recovered, loaders.clusters_of_items(study, list(item_of_unit.values())))


def _cost_and_time(study: Study) -> dict[str, Any]:
    """Return the cost of the design, the longest working time of a person, and the wage per hour by the reward."""
    design, forecast = design_of(study), forecast_of(study)
    seconds_of_worker = dict(
        Judgment.objects.of_study(study)
        .current()
        .values_list("assignment__worker_id")
        .annotate(took=Sum("seconds"))
        .order_by()
    )
    seconds = sum(filter(None, seconds_of_worker.values()))
    finished_count = Assignment.objects.filter(study=study).finished().count()
    reward = design.crowd.reward_cents
    return {
        "cost": {
            "places": forecast.places,
            "reward_cents": forecast.reward_cents,
            "fee_cents": forecast.fee_cents,
            "cents": forecast.cents,
        },
        "longest_hours": max(filter(None, seconds_of_worker.values()), default=0.0) / 3600,
        "wage_cents": round(reward * finished_count * 3600 / seconds) if reward and seconds else None,
    }


@transaction.atomic
def store_rehearsal(rehearsal: RehearsalResult) -> Analysis:
    """Store the consensus, the evaluation and the result of a rehearsal. Return the analysis of the result."""
    aggregation = store_aggregation(rehearsal.aggregation)
    if rehearsal.evaluation is not None:
        store_evaluation(rehearsal.evaluation)
    settings = asdict(rehearsal.crowd)
    analysis = Analysis.objects.create(
        study=rehearsal.study,
        what=Analysis.Kind.REHEARSAL,
        settings=settings,
        signature=signature("rehearsal", settings | {"simulations": SIMULATIONS}),
        data_hash=aggregation.data_hash,
        result=rehearsal.result,
    )
    value = rehearsal.result["recovered"]["value"]
    share = f"; {percent(value)} of the drawn truth came back" if value is not None else ""
    note_event(study=rehearsal.study, what="rehearsal-done", sentence=f"Rehearsed{share}.")
    return analysis
