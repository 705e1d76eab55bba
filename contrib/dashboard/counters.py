"""Count a study's work, and decide whether its snapshot is out of date."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, IntegerField, Max, OuterRef, QuerySet, Subquery, Sum
from django.utils import timezone

from annotation.models import Assignment, Budget, Judgment
from annotation.models.assignments import FINISHED_STATES
from annotation.money.wages import local_cost_cents
from contrib.dashboard.models import BoardSnapshot
from evaluation.data.progress import judgments_wanted
from judgments.drawing.keys import content_key
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study

JOB_KIND = "board"
MAX_LEASES_SHOWN = 20
MIN_INTERVAL = 15.0  # seconds between two snapshots
INTERVAL_FACTOR = 10.0  # limits the share of time spent on snapshots: one that took 3 s is made every 30 s


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """The changes of a study since the last snapshot.

    Attributes:
        snapshot: the last snapshot, without scores and result; None before the first.
        new: number of judgments since then.
        leases: the assignment and the end of each active lease.
    """

    snapshot: BoardSnapshot | None
    new: int
    leases: tuple[tuple[str, str], ...]

    def tag(self, study: Study, *more: object) -> str:
        """Return an ETag that changes whenever the dashboard changes."""
        made_at = self.snapshot.made_at.isoformat() if self.snapshot else ""
        paused_at = study.paused_at.isoformat() if study.paused_at else ""
        return f'"{content_key(study.pk, study.state, paused_at, made_at, self.new, self.leases, *more)}"'


def has_dashboard(study: Study) -> bool:
    return study.state in (Study.State.OPEN, Study.State.CLOSED) and study.source == Study.Source.DESIGNED


def change_mark(study: Study) -> ChangeMark:
    snapshot = BoardSnapshot.objects.filter(study=study).defer("result", "scores").first()
    newest = snapshot.newest if snapshot else 0
    new = first_answers(study).filter(pk__gt=newest).count()
    rows = Assignment.objects.with_lease(timezone.now()).filter(study=study).order_by("expires_at", "pk")
    leases = rows.values_list("pk", "expires_at")[: MAX_LEASES_SHOWN + 1]
    return ChangeMark(snapshot, new, tuple((str(pk), str(until)) for pk, until in leases))


def first_answers(study: Study) -> QuerySet[Judgment]:
    """Return the answers that count as progress: first answers to a unit, by people who are not excluded."""
    rows = Judgment.objects.filter(assignment__study=study, replaces=None)
    return rows.filter(assignment__state__in=FINISHED_STATES)


def is_stale(study: Study, mark: ChangeMark, now: datetime | None = None) -> bool:
    """Return whether the snapshot should be replaced: the study has changed, and the snapshot is old enough.

    A snapshot that took longer is kept longer.
    """
    if mark.snapshot is None:
        return True
    age = ((now or timezone.now()) - mark.snapshot.made_at).total_seconds()
    if age < max(MIN_INTERVAL, INTERVAL_FACTOR * mark.snapshot.seconds):
        return False
    if mark.new:
        return True
    last = study.events.aggregate(last=Max("pk"))["last"] or 0
    return bool(last > mark.snapshot.event)


def request_snapshot(study: Study) -> bool:
    """Queue a job that makes a snapshot. Return False if one is queued or running."""
    if Job.objects.under_way().filter(kind=JOB_KIND, args__study=study.slug).exists():
        return False
    enqueue(kind=JOB_KIND, args={"study": study.slug})
    return True


@dataclass(frozen=True, slots=True)
class LiveCounters:
    """The counters of a dashboard.

    Attributes:
        wanted: total number of judgments that the study needs; 0 if unknown.
        last_hour: number of judgments in the last hour.
        hours_left: remaining time at that pace; None if no judgments arrive or none are needed.
        spending: the money at the crowd; None without a budget.
        local_cents: rewards of approved work on this installation.
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


def live_counters(study: Study, mark: ChangeMark, result: dict[str, Any]) -> LiveCounters:
    """Return the counters. ``result`` is the result of the last snapshot, {} before the first."""
    now = timezone.now()
    known = mark.snapshot.judgments if mark.snapshot else 0
    judgments = known + mark.new
    wanted = judgments_wanted(result, judgments)
    recent = Assignment.objects.filter(study=study, submitted_at__gt=now - timedelta(hours=1)).finished()
    # Use one query per counter: a single query may make the database scan every judgment.
    answers = Judgment.objects.filter(assignment=OuterRef("pk")).order_by().values("assignment")
    first = answers.annotate(n=Count("pk") - Count("replaces"))  # do not count revisions
    counted = Subquery(first.values("n"), output_field=IntegerField())
    last_hour = recent.order_by().annotate(n=counted).aggregate(all=Sum("n", default=0))["all"]
    missing = max(0, wanted - judgments)
    ids = [pk for pk, _ in mark.leases[:MAX_LEASES_SHOWN]]
    leases = Assignment.objects.filter(pk__in=ids).select_related("worker", "hit")
    spending = study.budgets.filter(platform=study.platform).first() if study.platform else None
    return LiveCounters(
        judgments=judgments,
        wanted=wanted,
        last_hour=last_hour,
        hours_left=missing / last_hour if missing and last_hour else None,
        leases=list(leases.order_by("expires_at", "pk")),
        has_more_leases=len(mark.leases) > MAX_LEASES_SHOWN,
        spending=spending,
        local_cents=0 if spending else local_cost_cents(study),
    )
