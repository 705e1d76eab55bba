"""Evaluate a rehearsal: how much of the drawn truth was recovered, the cost, and the decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.db.models import Sum

from annotation.models import Assignment, Judgment
from annotation.money.forecast import forecast_of
from annotation.rehearsal.crowd import RehearsalCrowd
from annotation.rehearsal.reports import RehearsalReport
from annotation.rehearsal.truths import rehearsal_of, truths_of
from common.amounts import percent
from contrib.planning.rehearsals.mean_power import power_of_means
from contrib.planning.rehearsals.pair_power import SIMULATIONS, simulate_power
from contrib.planning.rehearsals.pairs import find_on_pairs, share_by_item
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
    study: Study
    crowd: RehearsalCrowd
    result: dict[str, Any]
    aggregation: StudyAggregation
    evaluation: MetaEvaluation | None


def compute_rehearsal(
    *, study: Study, crowd: RehearsalCrowd, report: RehearsalReport, progress: Progress = no_progress
) -> RehearsalResult:
    """Compare a finished rehearsal with the truth, without storing the result."""
    aggregation = compute_aggregation(study=study, progress=lambda share, text: progress(share / 3, text))
    evaluation, reason = None, ""
    try:
        evaluation = compute_evaluation(
            study=study, progress=lambda share, text: progress((1 + share) / 3, text)
        )
    except EvaluationError as error:
        reason = str(error)
    metrics: list[dict[str, Any]] = []
    systems: list[dict[str, Any]] = []
    power: list[dict[str, Any]] = []
    progress(0.7, "comparing results with the right answers")
    truths = truths_of(study, crowd.seed)
    if KINDS[study.protocol].compares_pairs:
        findings = find_on_pairs(study, truths, evaluation, aggregation.result["systems_verdict"])
        metrics, systems = findings.metrics, findings.systems
        power = simulate_power(study, findings, crowd.seed)
    elif (relevance := kind_of(study).relevance) is not None and relevance.is_mean:
        power = power_of_means(study, relevance, aggregation.consensus.decisions, truths)
    return RehearsalResult(
        study=study,
        crowd=crowd,
        result={
            "report": asdict(report),
            "recovered": _share_recovered(study, truths, aggregation),
            "agreement": aggregation.result["agreement"]["alpha"],
            "metrics": metrics,
            "systems": systems,
            "no_metrics": reason,
            "power": power,
            **_count_work(study),
        },
        aggregation=aggregation,
        evaluation=evaluation,
    )


def _share_recovered(
    study: Study, truths: Mapping[int, Any], aggregation: StudyAggregation
) -> dict[str, Any]:
    """Return the share of judged units whose consensus is the truth, with its interval by item."""
    rehearsal, of_unit = rehearsal_of(study), aggregation.consensus.of_unit
    judgments = Judgment.objects.of_study(study).current().filter(unit__control=False)
    items = dict(judgments.order_by().values_list("unit_id", "unit__item_id").distinct())
    right = [pk in of_unit and rehearsal.matches(of_unit[pk], truths[pk]) for pk in items]
    return share_by_item(right, loaders.clusters_of_items(study, list(items.values())))


def _count_work(study: Study) -> dict[str, Any]:
    design, forecast = design_of(study), forecast_of(study)
    seconds = dict(
        Judgment.objects.of_study(study)
        .current()
        .values_list("assignment__worker_id")
        .annotate(took=Sum("seconds"))
        .order_by()
    )
    total = sum(filter(None, seconds.values()))
    finished_count = Assignment.objects.filter(study=study).finished().count()
    reward = design.crowd.reward_cents
    return {
        "cost": {
            "places": forecast.places,
            "reward_cents": forecast.reward_cents,
            "fee_cents": forecast.fee_cents,
            "cents": forecast.cents,
        },
        "longest_hours": max(filter(None, seconds.values()), default=0.0) / 3600,
        "wage_cents": round(reward * finished_count * 3600 / total) if reward and total else None,
    }


@transaction.atomic
def store_rehearsal(rehearsal: RehearsalResult) -> Analysis:
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
