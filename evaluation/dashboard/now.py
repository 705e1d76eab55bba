"""The dashboard's live counters: cheap queries beside the snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, IntegerField, Max, OuterRef, Subquery, Sum
from django.utils import timezone

from annotation.models import Assignment, Judgment
from annotation.money.costs import Spending, local_cost_cents, spending_of
from evaluation.models import BoardSnapshot
from judgments.drawing.draws import content_key
from judgments.jobs import enqueue
from judgments.models import Job, Study

HELD_SHOWN = 20
EVERY = 15.0  # seconds between two snapshots, at least
COST = 10.0  # maximal share of time for snapshots: one that took 3 s is made every 30 s


@dataclass(frozen=True, slots=True)
class Pulse:
    """Detect changes since a page was made, in two queries besides the study's row.

    Attributes:
        snapshot: without its scores and result; None before the first.
        new: judgments since then.
        held: (assignment, until) of active leases.
    """

    snapshot: BoardSnapshot | None
    new: int
    held: tuple[tuple[str, str], ...]

    def tag(self, study: Study, *more: object) -> str:
        """Return an ETag: equal while the dashboard would look the same."""
        made = self.snapshot.made_at.isoformat() if self.snapshot else ""
        paused = study.paused_at.isoformat() if study.paused_at else ""
        return f'"{content_key(study.pk, study.state, paused, made, self.new, self.held, *more)}"'


def has_board(study: Study) -> bool:
    """Return whether people could work on the study."""
    return study.state in (Study.State.OPEN, Study.State.CLOSED) and study.source == Study.Source.DESIGNED


def pulse_of(study: Study, now: datetime | None = None) -> Pulse:
    snapshot = BoardSnapshot.objects.filter(study=study).defer("result", "scores").first()
    newest = snapshot.newest if snapshot else 0
    new = Judgment.objects.filter(pk__gt=newest, assignment__study=study, replaces=None).count()
    rows = Assignment.objects.holding(now or timezone.now()).filter(study=study).order_by("expires_at", "pk")
    held = tuple(
        (str(pk), str(until)) for pk, until in rows.values_list("pk", "expires_at")[: HELD_SHOWN + 1]
    )
    return Pulse(snapshot, new, held)


def is_stale(study: Study, pulse: Pulse, now: datetime | None = None) -> bool:
    """Return whether there are changes, and the last snapshot is old enough for its cost."""
    if pulse.snapshot is None:
        return True
    age = ((now or timezone.now()) - pulse.snapshot.made_at).total_seconds()
    if age < max(EVERY, COST * pulse.snapshot.seconds):
        return False
    if pulse.new:
        return True
    last = study.events.aggregate(last=Max("pk"))["last"] or 0
    return bool(last > pulse.snapshot.event)


def ask_for_board(study: Study) -> bool:
    """Start a snapshot job unless one is running; return whether it was started."""
    under_way = Job.objects.filter(
        kind="board", args__study=study.slug, state__in=[Job.State.QUEUED, Job.State.RUNNING]
    )
    if under_way.exists():
        return False
    enqueue(kind="board", args={"study": study.slug})
    return True


@dataclass(frozen=True, slots=True)
class Now:
    """The counters of a dashboard.

    Attributes:
        wanted: judgments in all (0 if unknown).
        an_hour: judgments of the last hour.
        hours_left: at that pace; None if nothing arrives, or nothing is left.
        held: at most 20 active leases; ``held_more`` whether there are more.
        spending: at the crowd; None without a budget.
        local_cents: rewards of approved work of this site's own people.
    """

    judgments: int
    wanted: int
    an_hour: int
    hours_left: float | None
    held: list[Assignment]
    held_more: bool
    spending: Spending | None
    local_cents: int

    @property
    def a_minute(self) -> float:
        return self.an_hour / 60


def board_now(study: Study, pulse: Pulse, result: dict[str, Any]) -> Now:
    """Return the counters; ``result`` is the snapshot's, {} before the first."""
    now = timezone.now()
    known = pulse.snapshot.judgments if pulse.snapshot else 0
    judgments, wanted = known + pulse.new, result.get("wanted", 0)
    recent = Assignment.objects.filter(study=study, submitted_at__gt=now - timedelta(hours=1)).finished()
    # One query per form; a single query may make the database scan every judgment.
    own = Judgment.objects.filter(assignment=OuterRef("pk")).order_by().values("assignment")
    first = own.annotate(n=Count("pk") - Count("replaces"))  # a revision is no further judgment
    counted = Subquery(first.values("n"), output_field=IntegerField())
    an_hour = recent.order_by().annotate(n=counted).aggregate(all=Sum("n", default=0))["all"]
    left = max(0, wanted - judgments)
    ids = [pk for pk, _ in pulse.held[:HELD_SHOWN]]
    held = list(
        Assignment.objects.filter(pk__in=ids).select_related("worker", "hit").order_by("expires_at", "pk")
    )
    spending = spending_of(study) if study.place else None
    return Now(
        judgments=judgments,
        wanted=wanted,
        an_hour=an_hour,
        hours_left=left / an_hour if left and an_hour else None,
        held=held,
        held_more=len(pulse.held) > HELD_SHOWN,
        spending=spending,
        local_cents=0 if spending else local_cost_cents(study),
    )
