"""The workers of a study on its dashboard, with their figures, flags and control items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.models import Case as QualityCase
from annotation.models import Participation
from annotation.quality.controls import ControlRecord
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.results.consensus.counts import worker_figures
from judgments.models import Study

MAX_WORKERS_SHOWN = 200


def worker_results(
    study: Study, judgments: JudgmentTable, records: Mapping[int, ControlRecord], threshold: float
) -> dict[str, Any]:
    """Return the rows of workers, those whose work needs a review first, and the sums over their control items.

    Args:
        records: the answers to control items, by the worker's row id.
        threshold: the least share of right control items of a worker who is used.
    """
    people = loaders.worker_rows(study)
    rows = worker_figures(
        judgments,
        people,
        records,
        loaders.work_times(study, loaders.workers_without_times(judgments, people)),
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
    rows.sort(key=_review_order)
    seen_count = sum(row["controls_seen"] for row in rows)
    right_count = sum(row["controls_right"] for row in rows)
    return {
        "workers": rows[:MAX_WORKERS_SHOWN],
        "workers_left": max(0, len(rows) - MAX_WORKERS_SHOWN),
        "workers_all": len(rows),
        "per_worker": not any(worker.anonymous for worker in people),  # whether judgments say who made them
        "threshold": threshold,
        "controls": {
            "seen": seen_count,
            "right": right_count,
            "share": right_count / seen_count if seen_count else None,
            "workers": sum(row["controls_seen"] > 0 for row in rows),
            "below": sum(row["controls_seen"] > 0 and row["controls_share"] < threshold for row in rows),
            "set_aside": int((~judgments.used & ~judgments.control).sum()),  # unused answers to other items
        },
    }


def _review_order(worker_result: Mapping[str, Any]) -> tuple[bool, int, str]:
    """Return a sort key: first workers who are flagged, paused, excluded or not used, then by number of judgments."""
    needs_no_review = worker_result["used"] and not worker_result["rules"] and not worker_result["standing"]
    return needs_no_review, -worker_result["judgments"], worker_result["worker"]
