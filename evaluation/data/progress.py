"""Counts of a study's work, now and over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from itertools import accumulate
from typing import Any

from django.db.models import Count, F, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, Greatest

from annotation.models import Assignment, Judgment
from annotation.models.assignments import FINISHED_STATES
from evaluation.data.export.formats.judgment_rows import timestamp
from judgments.models import HIT, CandidatePair, HITUnit, OutcomeBounds, Study
from judgments.studies.designs import design_of, draws_at_claim, stops_early
from judgments.studies.stopping import expected_share

MAX_POINTS = 200  # largest number of points of the timeline
ROWS_PER_BATCH = 2_000


def study_progress(study: Study) -> dict[str, Any]:
    """Return counts of HITs, assignments and judgments.

    ``wanted`` is the number of judgments that the design asks for; 0 for imports. ``hits_done`` counts HITs whose slots
    are all submitted. ``timeline`` has up to MAX_POINTS pairs of a time and the number of judgments until then; it
    changes only with a submission. ``stopping`` has the savings of early stopping, or None.
    """
    states, timeline, revised_at = _count_work(study)
    counts, judgments = _counts(study, states), timeline[-1][1] if timeline else 0
    return {
        **counts,
        "wanted": judgments_wanted(counts, judgments),
        "judgments": judgments,
        "timeline": timeline,
        "revised_at": revised_at,
    }


def study_counts(study: Study) -> dict[str, Any]:
    """Return those counts of ``study_progress`` that need no scan of judgments."""
    states = Assignment.objects.filter(study=study).order_by("state").values_list("state")
    return _counts(study, dict(states.annotate(n=Count("pk"))))


def _counts(study: Study, states: dict[str, int]) -> dict[str, Any]:
    hits = _count_hits(study)
    stopping = _count_saved(study) if stops_early(study) else None
    wanted_judgments = 0 if study.source == Study.Source.IMPORTED else hits["wanted"]
    return {
        "wanted": stopping["wanted"] if stopping else wanted_judgments,
        "hits": hits["n"],
        "hits_done": hits["done"],
        "assignments": states,
        "stopping": stopping,
    }


def judgments_wanted(counts: Mapping[str, Any], judgments: int) -> int:
    """Return the number of judgments that the study asks for.

    When all HITs are complete, this is the present number, ``judgments``.
    """
    is_complete = 0 < counts.get("hits", 0) == counts.get("hits_done")
    return judgments if is_complete else counts.get("wanted", 0)


def _count_saved(study: Study) -> dict[str, Any]:
    """Return the votes and slots saved by early stopping, and the saving that the design expects."""
    design = design_of(study)
    units = OutcomeBounds.objects.filter(unit__study=study)
    votes_left = Greatest(design.judgments_per_unit - F("cast"), Value(0), output_field=IntegerField())
    totals = units.aggregate(
        n=Count("pk"),
        settled=Count("pk", filter=Q(done=True)),
        left=Sum(votes_left, filter=Q(done=True), default=0),
    )
    slots = HIT.objects.filter(study=study).aggregate(all=Sum("required"), saved=Sum("spared"))
    controls = HITUnit.objects.filter(hit__study=study, unit__control=True).aggregate(
        wanted=Sum(F("hit__required") - F("hit__spared"), default=0)
    )
    full = totals["n"] * design.judgments_per_unit  # number of votes without early stopping
    pairs = CandidatePair.objects.filter(study=study).count()
    return {
        "full": full,
        "spared": totals["left"],
        "share": totals["left"] / full if full else None,
        "units": totals["n"],
        "done": totals["settled"],
        "copies": slots["all"] or 0,
        "copies_spared": slots["saved"] or 0,
        "wanted": full - totals["left"] + controls["wanted"],
        "expected": 1 - expected_share(design, references=round(totals["n"] / pairs) if pairs else 1),
    }


def _count_hits(study: Study) -> dict[str, int]:
    finished = Assignment.objects.filter(hit=OuterRef("pk")).finished()
    rows = HIT.objects.filter(study=study).annotate(
        size=_count_per_hit(HITUnit.objects.filter(hit=OuterRef("pk"))), submitted=_count_per_hit(finished)
    )
    is_complete = Q(submitted__gte=F("required") - F("spared"))
    # Skip HITs without assignments, which can be complete only with early stopping.
    if not stops_early(study):
        is_complete &= Q(submitted__gt=0)
    if draws_at_claim(study):  # HITs that nobody has taken have no units yet
        rows = rows.annotate(full=Greatest(F("size"), Value(design_of(study).units_per_hit)))
    return rows.aggregate(
        n=Count("pk"),
        # Each unit needs as many workers as its HIT.
        wanted=Sum(F("required") * F("full" if draws_at_claim(study) else "size"), default=0),
        done=Count("pk", filter=is_complete),
    )


def _count_per_hit(rows: QuerySet[Any]) -> Coalesce:
    """Return a subquery that counts the ``rows`` of an outer HIT.

    For a subquery, the database uses an index and does not sort.
    """
    counts = rows.order_by().values("hit").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counts, output_field=IntegerField()), Value(0))


def _count_work(study: Study) -> tuple[dict[str, int], list[list[Any]], datetime | None]:
    """Return the number of assignments by state, the timeline, and the time of the last revision."""
    # Subtract instead of filtering for null, for which a database may scan the index of revisions.
    answers = Judgment.objects.filter(assignment=OuterRef("pk")).order_by().values("assignment")
    # Do not count revisions, which replace an answer.
    first_answers = answers.annotate(n=Count("pk") - Count("replaces")).values("n")
    last_revision = answers.annotate(last=Max("made_at", filter=Q(replaces__isnull=False))).values("last")
    rows = Assignment.objects.filter(study=study).order_by("submitted_at", "pk")
    subqueries = Subquery(first_answers, output_field=IntegerField()), Subquery(last_revision)
    assignments = list(rows.values_list("state", "submitted_at", *subqueries).iterator(ROWS_PER_BATCH))
    finished = [row for row in assignments if row[0] in FINISHED_STATES]
    totals = list(accumulate(count or 0 for _, _, count, _ in finished))
    # The timeline has every n-th assignment, and the last one.
    step = max(1, math.ceil(len(finished) / MAX_POINTS))
    positions = [n for n in range(len(finished)) if (n + 1) % step == 0 or n == len(finished) - 1]
    states = Counter(row[0] for row in assignments)
    return (
        {state: states[state] for state in sorted(states)},
        [[timestamp(finished[n][1]), totals[n]] for n in positions],
        max((row[3] for row in finished if row[3] is not None), default=None),
    )
