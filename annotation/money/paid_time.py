"""The paid active time of sessions: at most what the server observed, and no second is paid twice.

Active time is the time in which the page was visible and the person present. Browsers measure and send it. A crowd's
own clock includes pauses, so wages by that clock would look lower. But a browser can send any number, so the paid time
is limited to the time in which the worker held a HIT, according to the server. A lease is the time for which a HIT is
reserved for its worker; the worker may extend it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, groupby
from operator import attrgetter

from django.db.models import F, FloatField, Q, QuerySet, Sum
from django.db.models.functions import Cast

from annotation.models import Assignment, CrowdSession, Judgment
from judgments.models import Study
from judgments.studies.designs import design_of

CLOCK_TOLERANCE = 5.0  # tolerated difference between browser and server time, in seconds per assignment
PAYABLE_STATUSES = (CrowdSession.Status.SUBMITTED, CrowdSession.Status.APPROVED)

Span = tuple[datetime, datetime]  # start and end


@dataclass(frozen=True, slots=True)
class PaidTime:
    """A session's active seconds, as the browser sent them and as they are paid.

    Attributes:
        exceeds_tolerance: whether the browser sent more than inexact clocks explain.
    """

    claimed_seconds: float
    paid_seconds: float
    exceeds_tolerance: bool


@dataclass(frozen=True, slots=True)
class _SubmittedAssignment:
    """A submitted assignment, with the worker's earlier, expired assignments of the same HIT.

    Attributes:
        session, study: row ids.
        claimed_seconds: the active seconds that the browser sent.
        spans: when the worker held the HIT, in one or several leases.
    """

    session: int
    study: int
    submitted_at: datetime
    claimed_seconds: float
    spans: list[Span]


def paid_times(sessions: QuerySet[CrowdSession]) -> dict[int, PaidTime]:
    """Return the active time of payable sessions by row id, in three queries.

    The result has all payable sessions of the workers of ``sessions``. A worker who has several HITs, perhaps in
    several studies, does not work twice at once: time paid for an earlier assignment is not paid again. A HIT that was
    reclaimed several times is paid for at most one lease with its extensions. Revised answers keep the time of the
    first submission.
    """
    # seconds by session
    claims: defaultdict[int, float] = defaultdict(float)
    payments: defaultdict[int, float] = defaultdict(float)
    overclaiming_sessions: set[int] = set()
    assignments_by_worker = _assignments_by_worker(sessions)
    all_assignments = chain.from_iterable(assignments_by_worker.values())
    max_lease_seconds = _max_lease_seconds(assignment.study for assignment in all_assignments)
    for assignments in assignments_by_worker.values():
        held_time, paid_to_worker = _SpanUnion(), 0.0  # of the worker, over all assignments so far
        for work in sorted(assignments, key=attrgetter("submitted_at")):
            held_time.add(work.spans)
            held_seconds = _SpanUnion.from_spans(work.spans).seconds
            longest_span = max(((end - start).total_seconds() for start, end in work.spans), default=0.0)
            # a lease can be longer than the design allows, since staff can extend it
            lease_limit = max(max_lease_seconds[work.study], longest_span)
            unpaid_seconds = held_time.seconds - paid_to_worker
            seconds = min(work.claimed_seconds, held_seconds, lease_limit, unpaid_seconds)
            paid_to_worker += seconds
            claims[work.session] += work.claimed_seconds
            payments[work.session] += seconds
            if work.claimed_seconds > seconds + CLOCK_TOLERANCE:
                overclaiming_sessions.add(work.session)
    return {pk: PaidTime(claims[pk], payments[pk], pk in overclaiming_sessions) for pk in claims}


def _max_lease_seconds(studies: Iterable[int]) -> dict[int, float]:
    """Return the seconds of a lease with all extensions that the design allows, by the study's row id."""
    crowds = {pk: design_of(study).crowd for pk, study in Study.objects.in_bulk(set(studies)).items()}
    return {pk: 60.0 * crowd.lease_minutes * (1 + crowd.extensions) for pk, crowd in crowds.items()}


def _assignments_by_worker(sessions: QuerySet[CrowdSession]) -> dict[int, list[_SubmittedAssignment]]:
    """Return the submitted assignments of the workers of ``sessions``, by the worker's row id."""
    # Of sessions outside ``sessions``, include only those that the crowd confirmed. Somebody may open a panel's link
    # with the id of another person; such a session must not reduce that person's paid time.
    is_trusted = Q(pk__in=sessions.values("pk")) | Q(confirmed=True) | Q(status=CrowdSession.Status.APPROVED)
    payable_sessions = CrowdSession.objects.filter(
        is_trusted, worker__in=sessions.values("worker"), status__in=PAYABLE_STATUSES
    )
    claimed_seconds_by_assignment = dict(
        Judgment.objects.filter(assignment__session__in=payable_sessions, replaces__isnull=True)
        .values("assignment")
        .annotate(seconds=Sum(Cast(F("seconds"), FloatField())))
        .order_by()
        .values_list("assignment", "seconds")
    )
    assignments = Assignment.objects.filter(session__in=payable_sessions).only(
        "session", "study", "hit", "worker", "state", "accepted_at", "expires_at", "submitted_at", "gaps"
    )
    rows = assignments.order_by("session", "hit", "accepted_at", "pk").iterator()
    submitted_by_worker: defaultdict[int, list[_SubmittedAssignment]] = defaultdict(list)
    for _session_and_hit, assignments_of_hit in groupby(rows, attrgetter("session_id", "hit_id")):
        expired_assignments: list[Assignment] = []
        for assignment in assignments_of_hit:
            claimed_seconds = claimed_seconds_by_assignment.get(assignment.pk) or 0.0
            if claimed_seconds:
                submitted_assignment = _submitted_assignment(assignment, expired_assignments, claimed_seconds)
                submitted_by_worker[assignment.worker_id].append(submitted_assignment)
            elif assignment.state == Assignment.State.EXPIRED:
                # its answers and their seconds were moved to the later assignment of the same HIT
                expired_assignments.append(assignment)
    return submitted_by_worker


def _submitted_assignment(
    assignment: Assignment, expired_assignments: Sequence[Assignment], claimed_seconds: float
) -> _SubmittedAssignment:
    """Return a submitted assignment, with the time in which its worker held the HIT, expired assignments included."""
    assert assignment.session_id is not None  # guaranteed by the query
    assert assignment.submitted_at is not None  # guaranteed by its judgments
    return _SubmittedAssignment(
        session=assignment.session_id,
        study=assignment.study_id,
        submitted_at=assignment.submitted_at,
        claimed_seconds=claimed_seconds,
        spans=_spans_held([*expired_assignments, assignment], assignment.submitted_at),
    )


def _spans_held(assignments: Sequence[Assignment], submitted_at: datetime) -> list[Span]:
    """Return the time spans in which a worker held a HIT by one assignment after the other.

    Args:
        assignments: the worker's assignments of the HIT, in order. The lease of an assignment is interrupted by its
            ``gaps``, such as ``[["2026-01-01T10:30:00+00:00", "2026-01-01T10:42:00+00:00"]]``, the times between an
            expired lease and its renewal.
        submitted_at: when the last assignment was submitted.
    """
    # an assignment ends at the latest when the next one begins, or when the page is submitted
    latest_ends = [successor.accepted_at for successor in assignments[1:]] + [submitted_at]
    spans: list[Span] = []
    for assignment, latest_end in zip(assignments, latest_ends, strict=True):
        end = min(latest_end, assignment.expires_at) if assignment.expires_at else latest_end
        start = assignment.accepted_at
        for gap in assignment.gaps:
            gap_start, gap_end = map(datetime.fromisoformat, gap)
            spans.append((start, min(gap_start, end)))
            start = gap_end
        spans.append((start, end))
    return [(start, end) for start, end in spans if start < end]


@dataclass(slots=True)
class _SpanUnion:
    """The union of time spans, and its length."""

    spans: list[Span] = field(default_factory=list)  # without overlaps, and in order of time
    length: timedelta = timedelta()

    @classmethod
    def from_spans(cls, spans: Iterable[Span]) -> _SpanUnion:
        union = cls()
        union.add(spans)
        return union

    @property
    def seconds(self) -> float:
        return self.length.total_seconds()

    def add(self, spans: Iterable[Span]) -> None:
        for start, end in spans:
            self._add_span(start, end)

    def _add_span(self, start: datetime, end: datetime) -> None:
        # take the spans that end after ``start`` from the end of the list, merge those that overlap with the new span,
        # and put back those that begin after it; new spans are mostly late, so few spans are taken
        later_spans: list[Span] = []
        while self.spans and self.spans[-1][1] >= start:
            other_start, other_end = self.spans.pop()
            if other_start > end:
                later_spans.append((other_start, other_end))
            else:
                self.length -= other_end - other_start
                start, end = min(start, other_start), max(end, other_end)
        self.spans += [(start, end), *reversed(later_spans)]
        self.length += end - start
