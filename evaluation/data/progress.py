"""Counts of a study's work, now and over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
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
    """Return counts of HITs, assignments and judgments, as a dict.

    hits, hits_done: number of HITs, and of those whose slots are all submitted or saved.
    assignments: number of assignments by state.
    wanted: number of judgments that the study asks for; 0 for imports.
    judgments: number of judgments, without revisions.
    timeline: up to MAX_POINTS pairs of a time and the number of judgments until then; changes only with a submission.
    revised_at: time of the last revision, or None.
    stopping: the savings of early stopping (``_count_saved``), or None.
    """
    assignments_by_state, timeline, revised_at = _count_work(study)
    counts = _counts_without_judgments(study, assignments_by_state)
    judgments = timeline[-1][1] if timeline else 0
    return {
        **counts,
        "wanted": judgments_wanted(counts, judgments),
        "judgments": judgments,
        "timeline": timeline,
        "revised_at": revised_at,
    }


def study_counts(study: Study) -> dict[str, Any]:
    """Return the counts of ``study_progress`` that are computed without a scan of judgments."""
    states = Assignment.objects.filter(study=study).order_by("state").values_list("state")
    return _counts_without_judgments(study, dict(states.annotate(n=Count("pk"))))


def _counts_without_judgments(study: Study, assignments_by_state: dict[str, int]) -> dict[str, Any]:
    hits = _count_hits(study)
    stopping = _count_saved(study) if stops_early(study) else None
    wanted_judgments = 0 if study.source == Study.Source.IMPORTED else hits["wanted"]
    return {
        "wanted": stopping["wanted"] if stopping else wanted_judgments,
        "hits": hits["n"],
        "hits_done": hits["done"],
        "assignments": assignments_by_state,
        "stopping": stopping,
    }


def judgments_wanted(counts: Mapping[str, Any], judgments: int) -> int:
    """Return the number of judgments that the study asks for; when all HITs are complete, the present ``judgments``.

    ``counts`` are those of ``study_counts``, or {} if they are not known yet.
    """
    is_complete = 0 < counts.get("hits", 0) == counts.get("hits_done")
    return judgments if is_complete else counts.get("wanted", 0)


def _count_saved(study: Study) -> dict[str, Any]:
    """Return the votes and slots saved by early stopping, and the saving that the design expects, as a dict.

    full: votes that the study would ask for without early stopping.
    spared, share: votes saved so far, and their share of ``full``.
    wanted: judgments that the study asks for in all, less the saved votes, with those of control items.
    units, done: number of units, and of those that need no more votes.
    copies, copies_spared: slots of HITs, and those saved so far.
    expected: share of votes that the design expects to save.
    """
    design = design_of(study)
    bounds = OutcomeBounds.objects.filter(unit__study=study)
    votes_left = Greatest(design.judgments_per_unit - F("cast"), Value(0), output_field=IntegerField())
    units = bounds.aggregate(
        all=Count("pk"),
        settled=Count("pk", filter=Q(done=True)),
        saved_votes=Sum(votes_left, filter=Q(done=True), default=0),
    )
    slots = HIT.objects.filter(study=study).aggregate(all=Sum("required"), saved=Sum("spared"))
    controls = HITUnit.objects.filter(hit__study=study, unit__control=True).aggregate(
        wanted=Sum(F("hit__required") - F("hit__spared"), default=0)
    )
    all_votes = units["all"] * design.judgments_per_unit
    pairs = CandidatePair.objects.filter(study=study).count()
    units_per_pair = round(units["all"] / pairs) if pairs else 1  # one unit for each reference of the pair
    return {
        "full": all_votes,
        "spared": units["saved_votes"],
        "share": units["saved_votes"] / all_votes if all_votes else None,
        "units": units["all"],
        "done": units["settled"],
        "copies": slots["all"] or 0,
        "copies_spared": slots["saved"] or 0,
        "wanted": all_votes - units["saved_votes"] + controls["wanted"],
        "expected": 1 - expected_share(design, units_per_pair=units_per_pair),
    }


def _count_hits(study: Study) -> dict[str, int]:
    """Return numbers of HITs (``n``), of complete ones (``done``), and of judgments that they ask for (``wanted``)."""
    work = Assignment.objects.filter(hit=OuterRef("pk")).finished()
    rows = HIT.objects.filter(study=study).annotate(
        size=_count_per_hit(HITUnit.objects.filter(hit=OuterRef("pk"))), submitted=_count_per_hit(work)
    )
    is_complete = Q(submitted__gte=F("required") - F("spared"))
    # Without early stopping, slots are spared only if they expire. This completes no HIT without submissions.
    if not stops_early(study):
        is_complete &= Q(submitted__gt=0)
    if draws_at_claim(study):  # HITs that nobody has taken have no units yet
        rows = rows.annotate(final_size=Greatest(F("size"), Value(design_of(study).units_per_hit)))
    return rows.aggregate(
        n=Count("pk"),
        # Each unit needs as many workers as its HIT.
        wanted=Sum(F("required") * F("final_size" if draws_at_claim(study) else "size"), default=0),
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
    answers = Judgment.objects.filter(assignment=OuterRef("pk")).order_by().values("assignment")
    # Subtract revisions, which replace an answer. If they were filtered out, a database might scan their index.
    first_answers = answers.annotate(n=Count("pk") - Count("replaces")).values("n")
    last_revision = answers.annotate(last=Max("made_at", filter=Q(replaces__isnull=False))).values("last")
    rows = Assignment.objects.filter(study=study).order_by("submitted_at", "pk")
    subqueries = Subquery(first_answers, output_field=IntegerField()), Subquery(last_revision)
    state_counts: Counter[str] = Counter()
    times: list[datetime | None] = []  # of submission of the finished assignments
    totals: list[int] = []  # number of judgments up to each finished assignment
    revised_at: datetime | None = None
    judgment_count = 0
    work = rows.values_list("state", "submitted_at", *subqueries).iterator(ROWS_PER_BATCH)
    for state, submitted_at, answer_count, revision_time in work:
        state_counts[state] += 1
        if state not in FINISHED_STATES:
            continue
        judgment_count += answer_count or 0
        times.append(submitted_at)
        totals.append(judgment_count)
        if revision_time is not None and (revised_at is None or revision_time > revised_at):
            revised_at = revision_time
    # The timeline has every n-th assignment, and the last one.
    step = max(1, math.ceil(len(times) / MAX_POINTS))
    timeline = [
        [timestamp(times[index]), totals[index]]
        for index in range(len(times))
        if (index + 1) % step == 0 or index == len(times) - 1
    ]
    return {state: state_counts[state] for state in sorted(state_counts)}, timeline, revised_at
