"""How much of the active time that browsers send is paid: no more than the server saw pass while work was held."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import F, FloatField, QuerySet, Sum
from django.db.models.functions import Cast

from annotation.models import Assignment, CrowdSession, Judgment

CLOCKS_DIFFER = 5.0  # seconds by which a browser's clock and ours may differ on one page of work

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class PaidTime:
    """Seconds of active time of a session: as sent, and as paid; ``differs`` beyond what clocks do."""

    claimed: float
    paid: float
    differs: bool


@dataclass(frozen=True, slots=True)
class _Page:
    """One page of work for which time was sent, and when it was held."""

    session: int
    handed_in: datetime
    claimed: float
    held: list[Span]


def times_of(sessions: QuerySet[CrowdSession]) -> dict[int, PaidTime]:
    """Session -> active time; sessions for which none was sent are missing. Two queries.

    A crowd lets people hold several HITs at once, but nobody works twice at the same time: a worker's pages are gone
    through in the order of handing in, and time that earlier ones were paid for is not paid again. Answers that were
    revised keep the time of the first submission.
    """
    claimed: defaultdict[int, float] = defaultdict(float)
    paid: defaultdict[int, float] = defaultdict(float)
    differs: set[int] = set()
    for pages in _pages_by_worker(sessions).values():
        together, given = _Union(), 0.0
        for page in sorted(pages, key=lambda one: one.handed_in):
            together.add(page.held)
            seconds = min(page.claimed, _Union.of(page.held).seconds, together.seconds - given)
            given += seconds
            claimed[page.session] += page.claimed
            paid[page.session] += seconds
            if page.claimed > seconds + CLOCKS_DIFFER:
                differs.add(page.session)
    return {pk: PaidTime(claimed[pk], paid[pk], pk in differs) for pk in claimed}


def _pages_by_worker(sessions: QuerySet[CrowdSession]) -> dict[int, list[_Page]]:
    claims = dict(
        Judgment.objects.filter(assignment__session__in=sessions, replaces__isnull=True)
        .values("assignment")
        .annotate(seconds=Sum(Cast(F("seconds"), FloatField())))
        .order_by()
        .values_list("assignment", "seconds")
    )
    rows = Assignment.objects.filter(session__in=sessions).order_by("session", "hit", "accepted_at", "pk")
    pages: defaultdict[int, list[_Page]] = defaultdict(list)
    lapsed: list[Assignment] = []
    for row in rows.only(
        "session", "hit", "worker", "state", "accepted_at", "expires_at", "submitted_at", "gaps"
    ).iterator():
        assert row.session_id is not None  # sought by it
        lapsed = [one for one in lapsed if (one.session_id, one.hit_id) == (row.session_id, row.hit_id)]
        seconds = claims.get(row.pk) or 0.0
        if seconds:
            assert row.submitted_at is not None  # it has judgments
            held = _spans_held([*lapsed, row])
            pages[row.worker_id].append(_Page(row.session_id, row.submitted_at, seconds, held))
        elif row.state == Assignment.State.EXPIRED:
            lapsed.append(row)  # its answers, with their times, went on to the row that took its place
    return pages


def _spans_held(rows: Sequence[Assignment]) -> list[Span]:
    """When a worker held a HIT by the server's clock: rows in which the lease ended, then the one handed in.

    Each counts from taking to handing in, or to the end of its lease, without the gaps before it was taken up again.
    """
    ends = [later.accepted_at for later in rows[1:]] + [rows[-1].submitted_at]
    spans: list[Span] = []
    for row, end in zip(rows, ends, strict=True):
        last = min(filter(None, (end, row.expires_at)))
        start = row.accepted_at
        for gap in row.gaps:
            left, back = map(datetime.fromisoformat, gap)
            spans.append((start, min(left, last)))
            start = back
        spans.append((start, last))
    return [(start, end) for start, end in spans if start < end]


@dataclass(slots=True)
class _Union:
    """Spans put together: what several of them cover counts once."""

    spans: list[Span] = field(default_factory=list)  # apart from each other, in order
    length: timedelta = timedelta()

    @classmethod
    def of(cls, spans: Iterable[Span]) -> _Union:
        union = cls()
        union.add(spans)
        return union

    @property
    def seconds(self) -> float:
        return self.length.total_seconds()

    def add(self, spans: Iterable[Span]) -> None:
        for start, end in spans:
            later: list[Span] = []
            while self.spans and self.spans[-1][1] >= start:
                first, last = self.spans.pop()
                if first > end:
                    later.append((first, last))
                    continue
                self.length -= last - first
                start, end = min(start, first), max(end, last)
            self.spans += [(start, end), *reversed(later)]
            self.length += end - start
