"""Compute and store the slow part of the dashboard. This runs in a job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotation.models import Case as QualityCase
from annotation.models import Participation
from annotation.models.assignments import FINISHED_STATES
from annotation.money.wages import pay_of_sessions, wages_of
from annotation.quality.controls import ControlRecord
from contrib.dashboard.drawings import draw_plots
from contrib.dashboard.models import BoardSnapshot
from contrib.dashboard.replay import (
    VotesInOrder,
    accuracy_so_far,
    agreement_so_far,
    correlation_so_far,
    means_so_far,
    winners_so_far,
)
from contrib.dashboard.scores import candidate_scores, scores_to_store, stored_scores
from contrib.dashboard.staleness import first_answers
from evaluation.data.judgment_sets import blocks, loaders
from evaluation.data.judgment_sets.records import JudgmentTable, Units
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.data.progress import study_counts
from evaluation.results.agreement import (
    exchange_of,
    flag_judgments_for_agreement,
    one_against_rest,
    side_bias,
)
from evaluation.results.consensus.clusters import clusters_of_captions
from evaluation.results.consensus.counts import unused_answers, worker_figures
from evaluation.results.metrics.texts import pair_kinds
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Flags, Ints, places_in

MAX_WORKERS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ComputedSnapshot:
    """A snapshot that is not stored yet.

    Attributes:
        values: the fields of its ``BoardSnapshot``, without the scores.
        scores: from ``candidate_scores``; None to keep the stored ones.
    """

    study: Study
    values: dict[str, Any]
    scores: dict[str, Any] | None


def compute_snapshot(*, study: Study, progress: Progress = no_progress) -> ComputedSnapshot:
    """Read all judgments of a study, and compute the results of its dashboard, without storing them."""
    start = time.monotonic()
    kind, design = KINDS[study.protocol], design_of(study)
    # Only of this study: one of its judgments may be committed after a judgment of another study with a higher id.
    newest = blocks.last_judgment_bound(study)
    event = study.events.aggregate(last=Max("pk"))["last"] or 0
    # Score before reading judgments, to use less memory.
    stored = stored_scores(study)
    scores = candidate_scores(study) if stored is None else stored
    scores["images"] = loaders.clusters_of_items(study, scores["images"])
    progress(0.05, "reading judgments")
    all_units = loaders.study_units(study)
    table = loaders.load_judgments(study, newest=newest, units=all_units)
    progress(0.5, "replaying them")
    units = all_units.judged_units
    del all_units  # the units with judgments have been copied
    images, anonymous = _images_of_units(study, units, scores), loaders.is_anonymous(study)

    def sort_votes(is_included: Flags) -> VotesInOrder:
        rows = np.flatnonzero(is_included)
        rows = rows[np.argsort(table.pk[rows])]  # row ids grow in the order of arrival
        return VotesInOrder(
            unit=places_in(units.pk, table.unit[rows]),
            worker=table.worker[rows],
            value=table.value[rows],
            image=images,
            anonymous=anonymous,
        )

    votes = sort_votes(table.is_counted & ~np.isnan(table.value))
    used_for_alpha = flag_judgments_for_agreement(table, loaders.full_depth_units(study))
    growth = (
        []
        if kind.is_open
        else agreement_so_far(
            sort_votes(used_for_alpha), kind.aggregation.level, seed=design.seed, exchange=exchange_of(kind)
        )
    )
    progress(0.7, "comparing metrics with people")
    metric_results = _evaluate_metrics(study, votes, units, table, scores)
    del votes  # to use less memory
    people_accuracy = {}
    if kind.compares_pairs and used_for_alpha.any():
        people_accuracy = one_against_rest(table, units, used_for_alpha, images=images, anonymous=anonymous)
    bias = side_bias(table, units, images, anonymous=anonymous)
    counts = study_counts(study)
    wages = wages_of(study, pay_of_sessions(study))
    result: dict[str, Any] = {
        "wanted": counts["wanted"],
        "finished": sum(counts["assignments"].get(state, 0) for state in FINISHED_STATES),
        "hits": counts["hits"],
        "hits_done": counts["hits_done"],
        "stopping": counts["stopping"],
        "level": "" if kind.is_open else kind.aggregation.level,
        "no_alpha": kind.aggregation.no_alpha,
        "growth": growth,
        "evaluation": {
            "kinds": metric_results,
            "people": people_accuracy,
            "reason": scores["reason"],
            "correlated": not kind.compares_pairs,
        },
        "controls": {},
        **_worker_results(study, table, table.records, design.controls.threshold),
        "side_bias": bias,
        "wages": {
            "median": wages.median_cents,
            "floor": wages.floor_cents,
            "below": wages.below_floor_count,
            "n": wages.session_count,
        },
        "unused": unused_answers(study, table),
    }
    signature = str(signature_of_study(study, table=table)) if len(table) else ""
    result["drawings"] = {**draw_plots(result), "signature": signature}
    # Judgments that arrive meanwhile are counted as new, in addition to the snapshot.
    judgments = first_answers(study).filter(pk__lte=newest).count()
    values = {"judgments": judgments, "newest": newest, "event": event, "result": result}
    values |= {"seconds": time.monotonic() - start, "made_at": timezone.now()}
    return ComputedSnapshot(study, values, scores if stored is None else None)


@transaction.atomic
def store_snapshot(snapshot: ComputedSnapshot) -> BoardSnapshot:
    values = dict(snapshot.values)
    if snapshot.scores is not None:
        values["scores"] = scores_to_store(snapshot.scores)
    stored, _ = BoardSnapshot.objects.defer("scores").update_or_create(study=snapshot.study, defaults=values)
    return stored


def forget_snapshot(*, study: Study, **_signal: Any) -> None:
    """Delete the snapshot, which may name people, on ``person_erased`` and ``pages_discarded``."""
    BoardSnapshot.objects.filter(study=study).delete()


def _evaluate_metrics(
    study: Study, votes: VotesInOrder, units: Units, table: JudgmentTable, scores: dict[str, Any]
) -> dict[str, Any]:
    """Return the results of metrics now and at each checkpoint, by pair kind (or ``all``).

    Return {} without judgments or metrics.

    Args:
        votes: the included judgments in the order of arrival.
        table: all judgments.
        scores: from ``candidate_scores``.
    """
    if not scores["metrics"] or not len(votes):
        return {}
    if not KINDS[study.protocol].compares_pairs:
        # Keep the order of the scores, as an evaluation does, so that equal numbers have equal intervals.
        unit_index = places_in(units.pk, scores["of"])
        means = [
            (vote_count, np.where(unit_index >= 0, mean[unit_index], np.nan))
            for vote_count, mean in means_so_far(votes, _decided_units(study, units))
        ]
        clusters = clusters_of_captions(
            table,
            scores["of"],
            scores["images"],
            ratings=(),
            adjudicated_units=loaders.decisions_of(study),
            anonymous=votes.anonymous,
        )
        unit_weights = loaders.weights_of_units(study)
        weights = (
            np.array([unit_weights.get(pk, 1.0) for pk in scores["of"].tolist()]) if unit_weights else None
        )
        return {"all": correlation_so_far(means, scores["metrics"], clusters, weights)}
    pair_count = len(scores["of"])
    pair = places_in(scores["of"], units.pair)
    winners = list(winners_so_far(votes, pair, scores["images"], _decided_units(study, units)))
    kind_of_pair = np.full(pair_count, -1, dtype=np.int64)
    kind_of_pair[pair] = units.kind
    codes = np.unique(kind_of_pair[kind_of_pair >= 0]).tolist()
    code_by_kind = {units.kinds[code]: code for code in codes if units.kinds[code]}
    names = pair_kinds(code_by_kind)
    kinds = {name: kind_of_pair == code_by_kind[name] for name in names} if len(names) > 1 else {}
    kinds["all"] = np.ones(pair_count, dtype=np.bool_)
    return accuracy_so_far(winners, scores["metrics"], kinds)


def _images_of_units(study: Study, units: Units, scores: Mapping[str, Any]) -> Ints:
    """Return the cluster of each of U units: (U,). It comes from stored scores if they cover all pairs."""
    pair_index = places_in(scores["of"], units.pair)
    if not KINDS[study.protocol].compares_pairs or (pair_index < 0).any():
        return loaders.clusters_of_units(study, units)
    return scores["images"][pair_index]


def _decided_units(study: Study, units: Units) -> dict[int, float]:
    """Return the adjudicated values by unit code."""
    decisions = loaders.decisions_of(study)
    codes = places_in(units.pk, np.fromiter(decisions, dtype=np.int64, count=len(decisions))).tolist()
    values = [decision.value for decision in decisions.values()]
    return {code: value for code, value in zip(codes, values, strict=True) if code >= 0}


def _worker_results(
    study: Study, table: JudgmentTable, records: Mapping[int, ControlRecord], threshold: float
) -> dict[str, Any]:
    """Return the rows of workers, those whose work needs a review first, and the sums over their control items."""
    people = loaders.worker_rows(study)
    rows = worker_figures(
        table, people, records, loaders.work_times(study, loaders.workers_without_times(table, people))
    )
    standings = dict(
        Participation.objects.filter(study=study)
        .exclude(standing=Participation.Standing.ACTIVE)
        .values_list("worker__name", "standing")
    )
    rules_by_worker: dict[str, list[str]] = {}
    cases = QualityCase.objects.filter(study=study, state=QualityCase.State.OPEN).order_by("pk")
    for name, rule in cases.values_list("worker__name", "rule"):
        rules_by_worker.setdefault(name, []).append(rule)
    for row in rows:
        row |= {"standing": standings.get(row["worker"], ""), "rules": rules_by_worker.get(row["worker"], [])}
    # first those who are not used, flagged, paused or excluded, and of these the ones with the most judgments
    rows.sort(
        key=lambda row: (
            row["used"] and not row["rules"] and not row["standing"],
            -row["judgments"],
            row["worker"],
        )
    )
    seen_count, right_count = (sum(row[key] for row in rows) for key in ("controls_seen", "controls_right"))
    return {
        "workers": rows[:MAX_WORKERS_SHOWN],
        "workers_left": max(0, len(rows) - MAX_WORKERS_SHOWN),
        "workers_all": len(rows),
        "per_worker": not any(worker.anonymous for worker in people),
        "threshold": threshold,
        "controls": {
            "seen": seen_count,
            "right": right_count,
            "share": right_count / seen_count if seen_count else None,
            "workers": sum(row["controls_seen"] > 0 for row in rows),
            "below": sum(row["controls_seen"] > 0 and row["controls_share"] < threshold for row in rows),
            "set_aside": int((~table.used & ~table.control).sum()),
        },
    }
