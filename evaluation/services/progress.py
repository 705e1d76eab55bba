"""How far a study is: counts and the course of its judgments over time."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, F, Q, Sum

from annotation.models import Assignment
from evaluation.export.rows import timestamp
from judgments.models import HIT, Study

MOST_POINTS = 200


def study_progress(study: Study) -> dict[str, Any]:
    """Counts of HITs, assignments and judgments.

    Returns:
        ``judgments`` that are in, ``wanted`` in all (0 for imports), ``hits``, ``hits_done`` (every seat submitted),
        ``assignments`` by state, and ``timeline``: up to 200 ``[time, judgments by then]`` at submissions.
    """
    finished = Assignment.objects.filter(study=study).finished()
    imported = study.source == Study.Source.IMPORTED
    # a HIT stands in as many rows as it has units: each is wanted from as many workers as the HIT
    hits = HIT.objects.filter(study=study).aggregate(
        n=Count("pk", distinct=True), wanted=Sum("required", filter=Q(places__isnull=False), default=0)
    )
    done = finished.values("hit").annotate(done=Count("pk")).filter(done__gte=F("hit__required")).count()
    states = (
        Assignment.objects.filter(study=study)
        .values_list("state")
        .annotate(count=Count("pk"))
        .order_by("state")
    )
    timeline = _timeline(study)
    return {
        "judgments": timeline[-1][1] if timeline else 0,  # judgments come with submissions alone
        "wanted": 0 if imported else hits["wanted"],
        "hits": hits["n"],
        "hits_done": done,
        "assignments": dict(states),
        "timeline": timeline,
    }


def _timeline(study: Study) -> list[list[Any]]:
    rows = (
        Assignment.objects.filter(study=study)
        .finished()
        .annotate(count=Count("judgments"))
        .order_by("submitted_at", "pk")
        .values_list("submitted_at", "count")
    )
    points: list[list[Any]] = []
    total = 0
    for moment, count in rows.iterator(2_000):
        total += count
        points.append([timestamp(moment), total])
    every = -(-len(points) // MOST_POINTS) or 1
    return [
        point for place, point in enumerate(points, start=1) if place % every == 0 or place == len(points)
    ]
