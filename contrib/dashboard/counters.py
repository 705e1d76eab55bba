"""Count a study's work for its dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, Subquery, Sum
from django.utils import timezone

from annotation.models import Assignment, Budget, Judgment
from contrib.dashboard.staleness import MAX_LEASES_SHOWN, ChangeMark
from evaluation.data.progress import judgments_wanted
from judgments.models import Study
from judgments.studies.designs import design_of


@dataclass(frozen=True, slots=True)
class LiveCounters:
    """The counters of a dashboard.

    Attributes:
        judgments: number of judgments, without revisions.
        wanted: total number of judgments that the study needs; 0 if unknown.
        last_hour: number of judgments in the last hour.
        hours_left: remaining time at that pace; None if no judgments arrive or none are needed.
        leases: the assignments in progress that end first.
        has_more_leases: whether there are more than ``leases`` has.
        spending: the money at the crowd; None without a budget.
        local_cents: rewards of approved work on this installation; 0 if there is a budget.
    """

    judgments: int
    wanted: int
    last_hour: int
    hours_left: float | None
    leases: list[Assignment]
    has_more_leases: bool
    spending: Budget | None
    local_cents: int

    @property
    def per_minute(self) -> float:
        return self.last_hour / 60


def live_counters(study: Study, mark: ChangeMark, snapshot_result: dict[str, Any]) -> LiveCounters:
    """Return the counters. ``mark`` has the last snapshot and what came since, ``snapshot_result`` its result or {}."""
    now = timezone.now()
    judgments_in_snapshot = mark.snapshot.judgments if mark.snapshot else 0
    judgments = judgments_in_snapshot + mark.new_judgments
    total_wanted = judgments_wanted(snapshot_result, judgments)
    recent_work = Assignment.objects.filter(study=study, submitted_at__gt=now - timedelta(hours=1)).finished()
    # Use one query per counter: a single query may make the database scan every judgment.
    answers = Judgment.objects.filter(assignment=OuterRef("pk")).order_by().values("assignment")
    first_answers = answers.annotate(n=Count("pk") - Count("replaces"))  # do not count revisions
    judgment_counts = Subquery(first_answers.values("n"), output_field=IntegerField())
    last_hour = recent_work.order_by().annotate(n=judgment_counts).aggregate(all=Sum("n", default=0))["all"]
    missing_count = max(0, total_wanted - judgments)
    ids = [pk for pk, _ in mark.leases[:MAX_LEASES_SHOWN]]
    leases = Assignment.objects.filter(pk__in=ids).select_related("worker", "hit")
    spending = study.budgets.filter(platform=study.platform).first() if study.platform else None
    return LiveCounters(
        judgments=judgments,
        wanted=total_wanted,
        last_hour=last_hour,
        hours_left=missing_count / last_hour if missing_count and last_hour else None,
        leases=list(leases.order_by("expires_at", "pk")),
        has_more_leases=len(mark.leases) > MAX_LEASES_SHOWN,
        spending=spending,
        local_cents=0 if spending else _local_cost_cents(study),
    )


def _local_cost_cents(study: Study) -> int:
    """Return the sum of the rewards of all approved assignments, for people who are paid outside of Quorum."""
    approved_count = Assignment.objects.filter(study=study, state=Assignment.State.APPROVED).count()
    return approved_count * design_of(study).crowd.reward_cents
