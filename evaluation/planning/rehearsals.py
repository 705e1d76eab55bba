"""Evaluate a rehearsal: recovery of the drawn truth, cost and decisions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Sum

from annotation.models import Assignment, Judgment
from annotation.money.payments import forecast_of
from annotation.rehearsal import Crowd, RehearsalReport, rehearsal_of, truths_of
from common.amounts import as_json, percent
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import Decision
from evaluation.data.ranked_lists import Proposals, proposals_of
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from evaluation.planning.planning import ENOUGH
from evaluation.results.aggregation import Aggregation, compute_aggregation, store_aggregation
from evaluation.results.agreement import clustered_share
from evaluation.results.meta_evaluation import MetaEvaluation, compute_evaluation, store_evaluation
from evaluation.results.standings import MEAN, outputs_of_answers
from evaluation.results.systems import SystemsVerdict
from judgments.access.roles import note_event
from judgments.kinds import KINDS, RelevanceScale
from judgments.models import Study, Unit
from judgments.studies.generation import Progress, no_progress
from judgments.studies.studies import design_of, kind_of
from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.signatures import signature
from quorum.statistics.crossed import ITEM
from quorum.statistics.inputs import StatisticsError
from quorum.statistics.meta import metric_winners
from quorum.statistics.power import People, Question, Size, TwoMetrics, TwoSystems, power_of
from quorum.statistics.significance import LEVEL

ESTIMATE = ("value", "low", "high", "n")
NO_ESTIMATE = dict.fromkeys(ESTIMATE) | {"n": 0}
SIMULATIONS = 400
# Differences of which the power is told: the share of pairs that the better system wins, how much more often a metric
# is right, and steps of a scale between systems' means. Whether a study is ready is said of the main ones.
SHARES_WON = (0.6, 0.7, 0.8)
ACCURACIES_APART = (0.05, 0.1, 0.2)
STEPS_APART, MAIN_STEPS = (0.5, 1.0), 0.5
MAIN = {"systems": 0.7, "metrics": 0.1}
MOST_GRADES = 10  # of a scale whose steps are grades; others are cut into so many
QUICK_SIMULATIONS = 100  # where only the order of magnitude counts
MOST_DOUBLINGS, MOST_JUDGMENTS = 6, 50_000


@dataclass(frozen=True, slots=True)
class RehearsalResult:
    study: Study
    crowd: Crowd
    result: dict[str, Any]
    aggregation: Aggregation
    evaluation: MetaEvaluation | None


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pair row id -> true winner (1 or 2), and what the pair is clustered by."""

    truth: Mapping[int, int]
    cluster: Mapping[int, int]


def compute_rehearsal(
    *, study: Study, crowd: Crowd, report: RehearsalReport, progress: Progress = no_progress
) -> RehearsalResult:
    """Evaluate a finished rehearsal against the truth, without storing the result."""
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
    progress(0.7, "holding results against the truth")
    truths = truths_of(study, crowd.seed)
    if KINDS[study.protocol].compares_pairs:
        pairs = _known_pairs(study, truths)
        people = _people_of_crowd(study, truths)
        right = _metric_hits(evaluation, pairs)
        metrics = sorted(
            (
                {"name": name, "truth": _share_of_truth(of, pairs), "found": _accuracy_of(evaluation, name)}
                for name, of in right.items()
            ),
            key=lambda row: -row["truth"]["value"],
        )
        meetings = _meetings(study, pairs)
        systems = _system_rows(meetings, pairs, aggregation.result["systems_verdict"])
        power = _simulate_power(study, people, systems, metrics, right, meetings, pairs, crowd.seed)
    elif (relevance := kind_of(study).relevance) is not None and relevance.averaged:
        power = _power_of_means(study, relevance, aggregation.consensus.decisions, truths)
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


def _share_recovered(study: Study, truths: Mapping[int, Any], aggregation: Aggregation) -> dict[str, Any]:
    """Return the share of judged units whose consensus is the truth, with its interval by item."""
    rehearsal, of_unit = rehearsal_of(study), aggregation.consensus.of_unit
    judged = Judgment.objects.of_study(study).current().filter(unit__control=False)
    items = dict(judged.order_by().values_list("unit_id", "unit__item_id").distinct())
    right = [pk in of_unit and rehearsal.recovers(of_unit[pk], truths[pk]) for pk in items]
    return _share(right, loaders.clusters_of_items(study, list(items.values())))


def _share(right: Sequence[bool], clusters: Sequence[int] | Ints) -> dict[str, Any]:
    columns = {ITEM: np.asarray(clusters, dtype=np.int64)}
    return clustered_share(np.array(right, dtype=np.bool_), np.ones(len(right), dtype=np.bool_), columns)


def _known_pairs(study: Study, truths: Mapping[int, Any]) -> _Pairs:
    units = Unit.objects.filter(study=study, control=False, pair__isnull=False)
    rows = {pair: (unit, item) for pair, unit, item in units.values_list("pair_id", "pk", "item_id")}
    clusters = loaders.clusters_of_items(study, [item for _, item in rows.values()])
    return _Pairs(
        truth={pair: int(truths[unit]) for pair, (unit, _) in rows.items()},
        cluster=dict(zip(rows, clusters.tolist(), strict=True)),
    )


def _people_of_crowd(study: Study, truths: Mapping[int, Any]) -> People | None:
    table, design = loaders.load_judgments(study), design_of(study)
    keep = table.counted
    truth = np.array([int(truths[unit]) for unit in table.unit[keep].tolist()])
    if not truth.size:
        return None
    try:
        return People(
            right=float((table.value[keep] == truth).mean()),
            pair_spread=0.0,
            careless=0.0,
            worker_spread=0.0,
            pairs_each=max(1, design.units_per_hit - design.controls.per_hit),
            raters=max(len(np.unique(table.worker[keep])), design.judgments_per_unit),
        )
    except StatisticsError:  # a crowd below chance decides nothing
        return None


def _metric_hits(evaluation: MetaEvaluation | None, pairs: _Pairs) -> dict[str, dict[int, int]]:
    if evaluation is None or evaluation.judged.pks is None:
        return {}
    pks = evaluation.judged.pks.tolist()
    return {
        name: {
            pk: winner
            for pk, winner in zip(pks, metric_winners(scores[:, 0], scores[:, 1]).tolist(), strict=True)
            if pk in pairs.truth
        }
        for name, scores in evaluation.judged.scores.items()
    }


def _share_of_truth(named: Mapping[int, int], pairs: _Pairs) -> dict[str, Any]:
    """Return on how many pairs the named side is truly the winner."""
    right = [side == pairs.truth[pair] for pair, side in named.items()]
    return _share(right, [pairs.cluster[pair] for pair in named])


def _accuracy_of(evaluation: MetaEvaluation | None, metric: str) -> dict[str, Any]:
    """Return the metric's accuracy as results show it."""
    assert evaluation is not None, "it has the metric"
    return {name: evaluation.result["metrics"][metric]["accuracy"]["all"][name] for name in ESTIMATE}


def _meetings(study: Study, pairs: _Pairs) -> dict[int, tuple[str, str]]:
    of_pair = loaders.systems_of_pairs(study)
    rows = {pair.pk: of_pair[pair.key] for pair in loaders.pair_rows(study) if pair.pk in pairs.truth}
    return {pk: names for pk, names in rows.items() if names[0] != names[1]}


def _system_rows(
    meetings: Mapping[int, tuple[str, str]], pairs: _Pairs, verdict: SystemsVerdict | None
) -> list[dict[str, Any]]:
    """Return how often each system wins in truth, and by the votes as results show it."""
    results = {row["system"]: row for row in verdict["systems"]} if verdict else {}
    rows = []
    for name in sorted({name for names in meetings.values() for name in names}):
        sides = {pk: names.index(name) + 1 for pk, names in meetings.items() if name in names}
        voted = {key: results.get(name, NO_ESTIMATE)[key] for key in ESTIMATE}
        rows.append({"name": name, "truth": _share_of_truth(sides, pairs), "found": voted})
    return sorted(rows, key=lambda row: -(row["truth"]["value"] or 0.0))


def _simulate_power(
    study: Study,
    people: People | None,
    systems: list[dict[str, Any]],
    metrics: list[dict[str, Any]],
    named: Mapping[str, Mapping[int, int]],
    meetings: Mapping[int, tuple[str, str]],
    pairs: _Pairs,
    seed: int,
) -> list[dict[str, Any]]:
    """Simulate such studies of two systems and of two metrics that differ by so much.

    The systems are those that meet most often; the metrics are the best two, with the agreement that they have here.
    """
    if people is None:
        return []
    shares_won = [row["truth"]["value"] or 0.0 for row in systems]
    alike = bool(shares_won) and max(shares_won) < min(SHARES_WON)
    units = Unit.objects.filter(study=study, control=False, pair__isnull=False).count()
    references = max(1, round(units / max(1, len(pairs.truth))))
    votes = design_of(study).judgments_per_unit
    rows = []
    for what, first, second, count, difference, question in [
        *_questions_of_systems(study, meetings),
        *_questions_of_metrics(metrics, named, pairs),
    ]:
        size = Size(count, references, votes)
        (estimate,) = power_of(question, people, [size], simulations=SIMULATIONS, seed=seed)
        figures = {key: as_json(value) for key, value in asdict(estimate).items() if key != "size"}
        main = difference == MAIN[what]
        needed = needed_pairs(question, people, size, estimate.power, seed) if main else None
        rows.append(
            {
                "what": what,
                "first": first,
                "second": second,
                "difference": difference,
                "main": main,
                "n": count,
            }
            | asdict(size)
            | figures
            | {"needed": needed, "alike": what == "systems" and alike}
        )
    return rows


QuestionRow = tuple[str, str, str, int, float, Question]


def _questions_of_systems(study: Study, meetings: Mapping[int, tuple[str, str]]) -> Iterator[QuestionRow]:
    met = Counter(tuple(sorted(names)) for names in meetings.values())
    if met and KINDS[study.protocol].rehearses_systems:
        first, second = both = max(met, key=lambda names: ("people" not in names, met[names], names))
        for share in SHARES_WON:
            yield "systems", first, second, met[both], share, TwoSystems(share)


def _questions_of_metrics(
    metrics: list[dict[str, Any]], named: Mapping[str, Mapping[int, int]], pairs: _Pairs
) -> Iterator[QuestionRow]:
    if len(metrics) < 2:
        return
    names = [row["name"] for row in metrics[:2]]
    right = [{pair: side == pairs.truth[pair] for pair, side in named[name].items()} for name in names]
    same = float(np.mean([right[0][pair] == right[1][pair] for pair in right[0]]))
    for apart in ACCURACIES_APART:
        accuracy = max(metrics[0]["truth"]["value"], 0.5 + apart)
        least, most = abs(2 * accuracy - apart - 1), 1 - apart
        question = TwoMetrics(accuracy, accuracy - apart, min(max(same, least), most))
        yield "metrics", *names, len(right[0]), apart, question


def _power_of_means(
    study: Study, relevance: RelevanceScale, decisions: Mapping[int, Decision], truths: Mapping[int, Any]
) -> list[dict[str, Any]]:
    """Return the power for systems whose means differ by so much, by the variance of the best two here."""
    proposals = proposals_of(study)
    outputs = outputs_of_answers(
        proposals, loaders.load_judgments(study), decisions, anonymous=False, ends=relevance.ends
    )
    if outputs is None or len(outputs.names) < 2:
        return []
    standings = outputs.standings(MEAN)
    first, second = np.argsort(-standings.strength, kind="stable")[:2].tolist()
    contrast = standings.contrast(first, second)
    low, high = relevance.ends
    step = 1.0 if high - low <= MOST_GRADES else (high - low) / MOST_GRADES
    true_means = _true_means(proposals, truths)
    alike = true_means[0] - true_means[1] < min(STEPS_APART) * step
    return [
        {
            "what": "systems",
            "first": standings.names[first],
            "second": standings.names[second],
            "difference": steps * step,
            "main": steps == MAIN_STEPS,
            "n": standings.items,
            "power": as_json(contrast.spread.power(steps * step, LEVEL)),
            "needed": None,
            "alike": bool(alike),
        }
        for steps in STEPS_APART
    ]


def _true_means(proposals: Proposals, truths: Mapping[int, Any]) -> Floats:
    """Return the systems' means of the drawn truths, highest first."""
    output, unit = proposals.credits()
    value = np.array([float(truths.get(pk, math.nan)) for pk in proposals.units.pk.tolist()])[unit]
    drawn, system = ~np.isnan(value), proposals.system[output]
    number, total = np.bincount(system[drawn]), np.bincount(system[drawn], value[drawn])
    return np.sort(total[number > 0] / number[number > 0])[::-1]


def needed_pairs(question: Question, people: People, size: Size, power: float, seed: int) -> int | None:
    """Return the pairs at which a study decides often enough: the size, doubled; None where that is too many."""
    for _doubling in range(MOST_DOUBLINGS):
        if power >= ENOUGH:
            break
        size = replace(size, pairs=2 * size.pairs)
        if size.judgments > MOST_JUDGMENTS:
            return None
        power = power_of(question, people, [size], simulations=QUICK_SIMULATIONS, seed=seed)[0].power
    return size.pairs if power >= ENOUGH else None


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
    handed_in = Assignment.objects.filter(study=study).finished().count()
    reward = design.crowd.reward_cents
    return {
        "cost": {
            "places": forecast.places,
            "reward_cents": forecast.reward_cents,
            "fee_cents": forecast.fee_cents,
            "cents": forecast.cents,
        },
        "longest_hours": max(filter(None, seconds.values()), default=0.0) / 3600,
        "wage_cents": round(reward * handed_in * 3600 / total) if reward and total else None,
    }


@transaction.atomic
def store_rehearsal(rehearsal: RehearsalResult) -> Analysis:
    aggregation = store_aggregation(rehearsal.aggregation)
    if rehearsal.evaluation is not None:
        store_evaluation(rehearsal.evaluation)
    settings = asdict(rehearsal.crowd)
    stored = Analysis.objects.create(
        study=rehearsal.study,
        what=Analysis.What.REHEARSAL,
        settings=settings,
        signature=signature("rehearsal", settings | {"simulations": SIMULATIONS}),
        data_hash=aggregation.data_hash,
        result=rehearsal.result,
    )
    value = rehearsal.result["recovered"]["value"]
    share = f"; {percent(value)} of the drawn truth came back" if value is not None else ""
    note_event(study=rehearsal.study, what="rehearsal-done", sentence=f"Rehearsed{share}.")
    return stored
