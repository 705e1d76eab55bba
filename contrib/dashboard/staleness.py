"""Decide whether the snapshot of a dashboard is out of date, and request another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Judgment
from annotation.models.assignments import FINISHED_STATES
from contrib.dashboard.models import BoardSnapshot
from judgments.drawing.keys import content_key
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study

JOB_KIND = "board"
MAX_LEASES_SHOWN = 20
MIN_INTERVAL = 15.0  # seconds between two snapshots
INTERVAL_FACTOR = 10.0  # a snapshot that took 3 s is made at most every 30 s


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """What tells whether a dashboard has changed: the last snapshot, and what came after it.

    Attributes:
        snapshot: the last snapshot, without scores and result; None before the first.
        new_judgments: number of judgments since the snapshot.
        leases: the id and the end of assignments in progress, by their end; one more than are shown, if there are more.
    """

    snapshot: BoardSnapshot | None
    new_judgments: int
    leases: tuple[tuple[str, str], ...]

    def tag(self, study: Study, *values: object) -> str:
        """Return an ETag that changes whenever the dashboard changes, or one of ``values``."""
        made_at = self.snapshot.made_at.isoformat() if self.snapshot else ""
        paused_at = study.paused_at.isoformat() if study.paused_at else ""
        return f'"{content_key(study.pk, study.state, paused_at, made_at, self.new_judgments, self.leases, *values)}"'


def has_dashboard(study: Study) -> bool:
    """Return whether a study has a dashboard: it is or was open to participants, and was not imported."""
    return study.state in (Study.State.OPEN, Study.State.CLOSED) and study.source == Study.Source.DESIGNED


def change_mark(study: Study) -> ChangeMark:
    """Read what changed in a study since its last snapshot."""
    snapshot = BoardSnapshot.objects.filter(study=study).defer("result", "scores").first()
    newest_id = snapshot.newest if snapshot else 0  # of the judgments in the snapshot
    new_judgments = first_answers(study).filter(pk__gt=newest_id).count()
    rows = Assignment.objects.with_lease(timezone.now()).filter(study=study).order_by("expires_at", "pk")
    leases = rows.values_list("pk", "expires_at")[: MAX_LEASES_SHOWN + 1]
    return ChangeMark(snapshot, new_judgments, tuple((str(pk), str(expires_at)) for pk, expires_at in leases))


def first_answers(study: Study) -> QuerySet[Judgment]:
    """Return the answers that count as progress: first answers to a unit, by people who are not excluded."""
    rows = Judgment.objects.filter(assignment__study=study, replaces=None)
    return rows.filter(assignment__state__in=FINISHED_STATES)


def is_stale(study: Study, mark: ChangeMark, now: datetime | None = None) -> bool:
    """Return whether the study has changed, and the snapshot is old enough to be replaced.

    A snapshot that took longer to compute is kept longer.
    """
    if mark.snapshot is None:
        return True
    age = ((now or timezone.now()) - mark.snapshot.made_at).total_seconds()
    if age < max(MIN_INTERVAL, INTERVAL_FACTOR * mark.snapshot.seconds):
        return False
    if mark.new_judgments:
        return True
    newest_event_id = study.events.aggregate(last=Max("pk"))["last"] or 0
    return bool(newest_event_id > mark.snapshot.event)  # an entry of the study's log


def request_snapshot(study: Study) -> bool:
    """Queue a job that makes a snapshot. Return False if one is queued or running."""
    if Job.objects.under_way().filter(kind=JOB_KIND, args__study=study.slug).exists():
        return False
    enqueue(kind=JOB_KIND, args={"study": study.slug})
    return True
