"""How far a study is: counts and the course of its judgments over time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Count, F, IntegerField, Max, Q, Sum, Value
from django.db.models.functions import Greatest

from annotation.models import Assignment
from evaluation.export.rows import timestamp
from judgments.models import HIT, CandidatePair, HITUnit, Outlook, Study
from judgments.services.studies import design_of
from judgments.stopping import expected_share, stops_early

MOST_POINTS = 200


def study_progress(study: Study) -> dict[str, Any]:
    """Counts of HITs, assignments and judgments.

    Returns:
        ``judgments`` that are in, ``wanted`` in all (0 for imports), ``hits``, ``hits_done`` (every seat submitted),
        ``assignments`` by state, ``timeline``: up to 200 ``[time, judgments by then]`` at submissions, ``revised_at``:
        when an answer was revised last, or None, and ``stopping``: what early stopping saves, None where the design
        has none.
    """
    finished = Assignment.objects.filter(study=study).finished()
    imported = study.source == Study.Source.IMPORTED
    # a HIT stands in as many rows as it has units: each is wanted from as many workers as the HIT
    hits = HIT.objects.filter(study=study).aggregate(
        n=Count("pk", distinct=True), wanted=Sum("required", filter=Q(places__isnull=False), default=0)
    )
    complete = F("hit__required") - F("hit__spared")
    done = finished.values("hit").annotate(done=Count("pk")).filter(done__gte=complete).count()
    if stops_early(study):
        done += HIT.objects.filter(study=study, spared__gte=F("required")).count()  # nobody was needed
    states = (
        Assignment.objects.filter(study=study)
        .values_list("state")
        .annotate(count=Count("pk"))
        .order_by("state")
    )
    timeline, revised_at = _timeline(study)
    stopping = _stopping(study) if stops_early(study) else None
    return {
        "judgments": timeline[-1][1] if timeline else 0,  # judgments come with submissions alone
        "wanted": stopping["wanted"] if stopping else 0 if imported else hits["wanted"],
        "hits": hits["n"],
        "hits_done": done,
        "assignments": dict(states),
        "timeline": timeline,
        "revised_at": revised_at,
        "stopping": stopping,
    }


def _stopping(study: Study) -> dict[str, Any]:
    """What early stopping saves: of the votes that full depth asks for on the units, how many are not wanted any more,
    and how many copies of HITs; beside them what the design was expected to use."""
    design = design_of(study)
    units = Outlook.objects.filter(unit__study=study)
    left = Greatest(design.judgments_per_unit - F("cast"), Value(0), output_field=IntegerField())
    found = units.aggregate(
        n=Count("pk"),
        settled=Count("pk", filter=Q(done=True)),
        left=Sum(left, filter=Q(done=True), default=0),
    )
    copies = HIT.objects.filter(study=study).aggregate(all=Sum("required"), given_up=Sum("spared"))
    controls = HITUnit.objects.filter(hit__study=study, unit__control=True).aggregate(
        wanted=Sum(F("hit__required") - F("hit__spared"), default=0)
    )
    full = found["n"] * design.judgments_per_unit
    pairs = CandidatePair.objects.filter(study=study).count()
    return {
        "full": full,
        "spared": found["left"],
        "share": found["left"] / full if full else None,
        "units": found["n"],
        "done": found["settled"],
        "copies": copies["all"] or 0,
        "copies_spared": copies["given_up"] or 0,
        "wanted": full - found["left"] + controls["wanted"],
        "expected": 1 - expected_share(design, references=round(found["n"] / pairs) if pairs else 1),
    }


def _timeline(study: Study) -> tuple[list[list[Any]], datetime | None]:
    """Moments with how many judgments there were, and when the last one was revised: a revision is no further one."""
    first = Q(judgments__replaces=None)
    rows = (
        Assignment.objects.filter(study=study)
        .finished()
        .annotate(count=Count("judgments", filter=first), revised=Max("judgments__made_at", filter=~first))
        .order_by("submitted_at", "pk")
        .values_list("submitted_at", "count", "revised")
    )
    points: list[list[Any]] = []
    total, revised_at = 0, None
    for moment, count, revised in rows.iterator(2_000):
        total += count
        points.append([timestamp(moment), total])
        revised_at = max(filter(None, (revised_at, revised)), default=None)
    every = -(-len(points) // MOST_POINTS) or 1
    return [
        point for place, point in enumerate(points, start=1) if place % every == 0 or place == len(points)
    ], revised_at
