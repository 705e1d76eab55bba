"""Count a study's work: now, and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from django.db.models import Count, F, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from annotation.models import Assignment, Budget, Judgment
from annotation.models.assignments import FINISHED_STATES
from annotation.money.payments import local_cost_cents
from evaluation.data.export.formats.judgments import timestamp
from evaluation.models import BoardSnapshot
from judgments.drawing.material import content_key
from judgments.jobs import enqueue
from judgments.models import HIT, CandidatePair, HITUnit, Job, OutcomeBounds, Study
from judgments.studies.generation import expected_share
from judgments.studies.studies import design_of, draws_at_claim, stops_early

MOST_POINTS = 200
ROWS_AT_ONCE = 2_000
HELD_SHOWN = 20
EVERY = 15.0  # seconds between two snapshots, at least
COST = 10.0  # maximal share of time for snapshots: one that took 3 s is made every 30 s


def study_progress(study: Study) -> dict[str, Any]:
    """Count HITs, assignments and judgments.

    ``wanted`` is 0 for imports; ``hits_done`` have every slot submitted; ``timeline`` has up to 200 ``[time,
    judgments by then]``; ``stopping`` has the savings of early stopping, or None.
    """
    states, timeline, revised_at = _count_work(study)
    counts, judgments = (
        _counts(study, states),
        timeline[-1][1] if timeline else 0,
    )  # come with submissions alone
    return {
        **counts,
        "wanted": _wanted(counts, judgments),
        "judgments": judgments,
        "timeline": timeline,
        "revised_at": revised_at,
    }


def study_counts(study: Study) -> dict[str, Any]:
    """Return ``study_progress`` without what needs a scan of judgments."""
    states = Assignment.objects.filter(study=study).order_by("state").values_list("state")
    return _counts(study, dict(states.annotate(n=Count("pk"))))


def _counts(study: Study, states: dict[str, int]) -> dict[str, Any]:
    hits = _count_hits(study)
    stopping = _count_saved(study) if stops_early(study) else None
    wanted = 0 if study.source == Study.Source.IMPORTED else hits["wanted"]
    return {
        "wanted": stopping["wanted"] if stopping else wanted,
        "hits": hits["n"],
        "hits_done": hits["done"],
        "assignments": states,
        "stopping": stopping,
    }


def _wanted(counts: Mapping[str, Any], judgments: int) -> int:
    """Return the judgments wanted in all, which are there once all pages of work are complete."""
    complete = 0 < counts.get("hits", 0) == counts.get("hits_done")
    return judgments if complete else counts.get("wanted", 0)


def _count_saved(study: Study) -> dict[str, Any]:
    """Return votes and slots saved by early stopping, and the design's expectation."""
    design = design_of(study)
    units = OutcomeBounds.objects.filter(unit__study=study)
    left = Greatest(design.judgments_per_unit - F("cast"), Value(0), output_field=IntegerField())
    totals = units.aggregate(
        n=Count("pk"),
        settled=Count("pk", filter=Q(done=True)),
        left=Sum(left, filter=Q(done=True), default=0),
    )
    copies = HIT.objects.filter(study=study).aggregate(all=Sum("required"), given_up=Sum("spared"))
    controls = HITUnit.objects.filter(hit__study=study, unit__control=True).aggregate(
        wanted=Sum(F("hit__required") - F("hit__spared"), default=0)
    )
    full = totals["n"] * design.judgments_per_unit
    pairs = CandidatePair.objects.filter(study=study).count()
    return {
        "full": full,
        "spared": totals["left"],
        "share": totals["left"] / full if full else None,
        "units": totals["n"],
        "done": totals["settled"],
        "copies": copies["all"] or 0,
        "copies_spared": copies["given_up"] or 0,
        "wanted": full - totals["left"] + controls["wanted"],
        "expected": 1 - expected_share(design, references=round(totals["n"] / pairs) if pairs else 1),
    }


def _count_hits(study: Study) -> dict[str, int]:
    finished = Assignment.objects.filter(hit=OuterRef("pk")).finished()
    rows = HIT.objects.filter(study=study).annotate(
        size=_count_per_hit(HITUnit.objects.filter(hit=OuterRef("pk"))), handed_in=_count_per_hit(finished)
    )
    complete = Q(handed_in__gte=F("required") - F("spared"))
    if not stops_early(study):  # with early stopping a HIT may be complete without any assignment
        complete &= Q(handed_in__gt=0)
    if draws_at_claim(study):  # pages that nobody took have no units yet
        rows = rows.annotate(full=Greatest(F("size"), Value(design_of(study).units_per_hit)))
    return rows.aggregate(
        n=Count("pk"),
        # Each unit of a HIT needs as many workers as the HIT.
        wanted=Sum(F("required") * F("full" if draws_at_claim(study) else "size"), default=0),
        done=Count("pk", filter=complete),
    )


def _count_per_hit(rows: QuerySet[Any]) -> Coalesce:
    """Count ``rows`` per outer HIT in a subquery, which an index serves without sorting."""
    counted = rows.order_by().values("hit").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


def _count_work(study: Study) -> tuple[dict[str, int], list[list[Any]], datetime | None]:
    # Subtract instead of filtering by null: a database may otherwise scan the index of revisions.
    answers = Judgment.objects.filter(assignment=OuterRef("pk")).order_by().values("assignment")
    # A revision is no further judgment.
    first = answers.annotate(n=Count("pk") - Count("replaces")).values("n")
    revised = answers.annotate(last=Max("made_at", filter=Q(replaces__isnull=False))).values("last")
    rows = Assignment.objects.filter(study=study).order_by("submitted_at", "pk")
    columns = ("state", "submitted_at", Subquery(first, output_field=IntegerField()), Subquery(revised))
    assignments = list(rows.values_list(*columns).iterator(ROWS_AT_ONCE))
    finished = [row for row in assignments if row[0] in FINISHED_STATES]
    totals = list(accumulate(count or 0 for _, _, count, _ in finished))
    every = -(-len(finished) // MOST_POINTS) or 1
    shown = [at for at in range(len(finished)) if (at + 1) % every == 0 or at == len(finished) - 1]
    states = Counter(row[0] for row in assignments)
    return (
        {state: states[state] for state in sorted(states)},
        [[timestamp(finished[at][1]), totals[at]] for at in shown],
        max((row[3] for row in finished if row[3] is not None), default=None),
    )


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """What changed since the last snapshot.

    Attributes:
        snapshot: without scores and result; None before the first.
        new: number of judgments.
        leases: (assignment, until) of the active ones.
    """

    snapshot: BoardSnapshot | None
    new: int
    leases: tuple[tuple[str, str], ...]

    def tag(self, study: Study, *more: object) -> str:
        """Return an ETag that is equal while the dashboard looks the same."""
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
    leases = rows.values_list("pk", "expires_at")[: HELD_SHOWN + 1]
    return ChangeMark(snapshot, new, tuple((str(pk), str(until)) for pk, until in leases))


def first_answers(study: Study) -> QuerySet[Judgment]:
    """Return answers that count as progress: a revision is no further one, and those of excluded people are gone."""
    rows = Judgment.objects.filter(assignment__study=study, replaces=None)
    return rows.filter(assignment__state__in=FINISHED_STATES)


def is_stale(study: Study, mark: ChangeMark, now: datetime | None = None) -> bool:
    """Return whether there are changes and the last snapshot is old enough for its cost."""
    if mark.snapshot is None:
        return True
    age = ((now or timezone.now()) - mark.snapshot.made_at).total_seconds()
    if age < max(EVERY, COST * mark.snapshot.seconds):
        return False
    if mark.new:
        return True
    last = study.events.aggregate(last=Max("pk"))["last"] or 0
    return bool(last > mark.snapshot.event)


def request_snapshot(study: Study) -> bool:
    """Start a snapshot job; return False if one is under way."""
    if Job.objects.under_way().filter(kind="board", args__study=study.slug).exists():
        return False
    enqueue(kind="board", args={"study": study.slug})
    return True


@dataclass(frozen=True, slots=True)
class LiveCounters:
    """The counters of a dashboard.

    Attributes:
        wanted: judgments in all; 0 if unknown.
        an_hour: judgments of the last hour.
        hours_left: at that pace; None if nothing arrives or is left.
        spending: at the crowd; None without a budget.
        local_cents: rewards of approved work on this site.
    """

    judgments: int
    wanted: int
    an_hour: int
    hours_left: float | None
    leases: list[Assignment]
    more_leases: bool
    spending: Budget | None
    local_cents: int

    @property
    def a_minute(self) -> float:
        return self.an_hour / 60


def live_counters(study: Study, mark: ChangeMark, result: dict[str, Any]) -> LiveCounters:
    """Return the counters; ``result`` is the snapshot's, {} before the first."""
    now = timezone.now()
    known = mark.snapshot.judgments if mark.snapshot else 0
    judgments = known + mark.new
    wanted = _wanted(result, judgments)
    recent = Assignment.objects.filter(study=study, submitted_at__gt=now - timedelta(hours=1)).finished()
    # One query per form; a single query may make the database scan every judgment.
    answers = Judgment.objects.filter(assignment=OuterRef("pk")).order_by().values("assignment")
    first = answers.annotate(n=Count("pk") - Count("replaces"))  # a revision is no further judgment
    counted = Subquery(first.values("n"), output_field=IntegerField())
    an_hour = recent.order_by().annotate(n=counted).aggregate(all=Sum("n", default=0))["all"]
    left = max(0, wanted - judgments)
    ids = [pk for pk, _ in mark.leases[:HELD_SHOWN]]
    leases = Assignment.objects.filter(pk__in=ids).select_related("worker", "hit")
    spending = study.budgets.filter(platform=study.platform).first() if study.platform else None
    return LiveCounters(
        judgments=judgments,
        wanted=wanted,
        an_hour=an_hour,
        hours_left=left / an_hour if left and an_hour else None,
        leases=list(leases.order_by("expires_at", "pk")),
        more_leases=len(mark.leases) > HELD_SHOWN,
        spending=spending,
        local_cents=0 if spending else local_cost_cents(study),
    )
