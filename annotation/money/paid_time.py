"""The paid active time of sessions: at most what the server observed, and no second is paid twice.

Active time is the time in which the page was visible and the person present. A crowd's own clock includes pauses,
so wages by that clock would look lower. But browsers can send any active time, so it is limited.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import F, FloatField, Q, QuerySet, Sum
from django.db.models.functions import Cast

from annotation.models import Assignment, CrowdSession, Judgment
from judgments.models import Study
from judgments.studies.designs import design_of

CLOCK_TOLERANCE = 5.0  # tolerated difference between browser and server time, in seconds per assignment
PAYABLE_STATUSES = (CrowdSession.Status.SUBMITTED, CrowdSession.Status.APPROVED)

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class PaidTime:
    """A session's active seconds, as the browser sent them and as they are paid.

    ``exceeds_tolerance`` is true if the browser sent more than inexact clocks explain.
    """

    claimed_seconds: float
    paid_seconds: float
    exceeds_tolerance: bool


@dataclass(frozen=True, slots=True)
class _SubmittedPage:
    """A submitted assignment.

    Attributes:
        session, study: row ids.
        claimed_seconds: the active seconds that the browser sent.
        spans: when the worker held the HIT.
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
    claimed: defaultdict[int, float] = defaultdict(float)
    paid: defaultdict[int, float] = defaultdict(float)
    overclaiming_sessions: set[int] = set()
    pages_by_worker = _pages_by_worker(sessions)
    longest_leases = _longest_leases(page.study for pages in pages_by_worker.values() for page in pages)
    for pages in pages_by_worker.values():
        held_time, paid_to_worker = _SpanUnion(), 0.0
        for page in sorted(pages, key=lambda page: page.submitted_at):
            held_time.add(page.spans)
            page_seconds = _SpanUnion.from_spans(page.spans).seconds
            longest_span = max(((end - start).total_seconds() for start, end in page.spans), default=0.0)
            # The study's team may have extended the lease.
            limit = max(longest_leases[page.study], longest_span)
            seconds = min(page.claimed_seconds, page_seconds, limit, held_time.seconds - paid_to_worker)
            paid_to_worker += seconds
            claimed[page.session] += page.claimed_seconds
            paid[page.session] += seconds
            if page.claimed_seconds > seconds + CLOCK_TOLERANCE:
                overclaiming_sessions.add(page.session)
    return {pk: PaidTime(claimed[pk], paid[pk], pk in overclaiming_sessions) for pk in claimed}


def _longest_leases(studies: Iterable[int]) -> dict[int, float]:
    """Return the seconds of a lease with all its extensions, by the study's row id."""
    crowds = {pk: design_of(study).crowd for pk, study in Study.objects.in_bulk(set(studies)).items()}
    return {pk: 60.0 * crowd.lease_minutes * (1 + crowd.extensions) for pk, crowd in crowds.items()}


def _pages_by_worker(sessions: QuerySet[CrowdSession]) -> dict[int, list[_SubmittedPage]]:
    """Return the submitted assignments of the workers of ``sessions``, by the worker's row id."""
    # Of other studies, include only confirmed sessions: one with an invented id would reduce another person's paid
    # time.
    is_trusted = Q(pk__in=sessions.values("pk")) | Q(confirmed=True) | Q(status=CrowdSession.Status.APPROVED)
    payable = CrowdSession.objects.filter(
        is_trusted, worker__in=sessions.values("worker"), status__in=PAYABLE_STATUSES
    )
    claimed_seconds_by_assignment = dict(
        Judgment.objects.filter(assignment__session__in=payable, replaces__isnull=True)
        .values("assignment")
        .annotate(seconds=Sum(Cast(F("seconds"), FloatField())))
        .order_by()
        .values_list("assignment", "seconds")
    )
    rows = Assignment.objects.filter(session__in=payable).order_by("session", "hit", "accepted_at", "pk")
    pages: defaultdict[int, list[_SubmittedPage]] = defaultdict(list)
    expired_leases: list[Assignment] = []  # of the HIT of the current row
    for row in rows.only(
        "session", "study", "hit", "worker", "state", "accepted_at", "expires_at", "submitted_at", "gaps"
    ).iterator():
        assert row.session_id is not None  # guaranteed by the query
        expired_leases = [
            lease
            for lease in expired_leases
            if (lease.session_id, lease.hit_id) == (row.session_id, row.hit_id)
        ]
        claimed_seconds = claimed_seconds_by_assignment.get(row.pk) or 0.0
        if claimed_seconds:
            assert row.submitted_at is not None  # guaranteed by its judgments
            spans = _spans_held([*expired_leases, row])
            page = _SubmittedPage(row.session_id, row.study_id, row.submitted_at, claimed_seconds, spans)
            pages[row.worker_id].append(page)
        elif row.state == Assignment.State.EXPIRED:
            expired_leases.append(row)  # its answers and times were moved to the assignment that replaced it
    return pages


def _spans_held(rows: Sequence[Assignment]) -> list[Span]:
    """Return the time spans in which a worker held a HIT, from expired assignments and the submitted one.

    Args:
        rows: the assignments of the HIT in order; the last one is the submitted one.
    """
    # a lease ends at the latest when the next one begins, or when the page is submitted
    next_starts = [later.accepted_at for later in rows[1:]] + [rows[-1].submitted_at]
    spans: list[Span] = []
    for row, next_start in zip(rows, next_starts, strict=True):
        lease_end = min(filter(None, (next_start, row.expires_at)))
        start = row.accepted_at
        for gap in row.gaps:  # times between an expired lease and its renewal
            gap_start, gap_end = map(datetime.fromisoformat, gap)
            spans.append((start, min(gap_start, lease_end)))
            start = gap_end
        spans.append((start, lease_end))
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
            # take away the spans that reach into this one, merge them with it, and put later ones back
            later_spans: list[Span] = []
            while self.spans and self.spans[-1][1] >= start:
                other_start, other_end = self.spans.pop()
                if other_start > end:
                    later_spans.append((other_start, other_end))
                    continue
                self.length -= other_end - other_start
                start, end = min(start, other_start), max(end, other_end)
            self.spans += [(start, end), *reversed(later_spans)]
            self.length += end - start
