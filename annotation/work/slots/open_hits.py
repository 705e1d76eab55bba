"""Find the next HITs with open slots that a worker may get.

The search begins at the cursor of the worker's participation, so that it skips the HITs that the worker has had. The
common case, HITs that are new to a worker who wrote no captions, is one prepared query.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from django.db.models import Exists, IntegerField, OuterRef, QuerySet

from annotation.models import Assignment, Worker
from annotation.models.assignments import LIVE_STATES
from annotation.work.slots.admission import STUDY_OF_CLAIM, WORKER_OF_CLAIM
from annotation.work.slots.suitability import hits_with_new_controls, without_own_captions
from common.rows.prepared import PreparedQuery, query_parameter
from judgments.drawing.controls.pool import RecognitionKey
from judgments.models import HIT, Study
from judgments.studies.designs import stops_early

# number of next HITs (the window) from which a HIT is drawn, so that simultaneous workers do not wait for one row
WINDOW_SIZE = 8
WIDE_WINDOW_SIZE = 40  # the same with early stopping, where workers should work on different HITs
# number of HITs that are searched for one with new control items, before a HIT is given without its control items
MAX_HITS_SEARCHED = 64


def _hits_new_to_worker(size: int) -> QuerySet[HIT]:
    """Return the next ``size`` open HITs, from the cursor on, of which the worker has had no assignment."""
    own_assignments = Assignment.objects.filter(hit=OuterRef("pk"), worker=WORKER_OF_CLAIM)
    open_hits = HIT.objects.filter(
        ~Exists(own_assignments),
        study=STUDY_OF_CLAIM,
        open_slots__gt=0,
        position__gte=query_parameter("cursor", IntegerField()),
    )
    return open_hits.order_by("position")[:size]


# by the size of the window
_NEW_HITS = {
    size: PreparedQuery(partial(_hits_new_to_worker, size)) for size in (WINDOW_SIZE, WIDE_WINDOW_SIZE)
}


def next_open_hits(study: Study, worker: Worker, participation: Any) -> list[HIT]:
    """Return the next open HITs from the worker's cursor on, at most a window of them.

    If none is new to the worker, return HITs that the worker returned or let expire.

    Args:
        participation: the worker's participation as ``candidates`` reads it, with the annotation ``wrote_captions``.
    """
    size = WIDE_WINDOW_SIZE if stops_early(study) else WINDOW_SIZE
    if not participation.wrote_captions:
        window = _NEW_HITS[size].all_rows(study=study.pk, worker=worker.pk, cursor=participation.cursor)
        if window:
            return window
    own_assignments = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker)
    open_hits = (
        hits_without_own_captions(study, worker, participation).filter(open_slots__gt=0).order_by("position")
    )
    new_hits = open_hits.filter(~Exists(own_assignments))
    if participation.wrote_captions:  # for others, the prepared query above has looked from the cursor on
        window = list(new_hits.filter(position__gte=participation.cursor)[:size])
    if not window and participation.cursor:
        window = list(new_hits[:size])  # HITs before the cursor whose slots were released
    return window or list(open_hits.filter(~Exists(own_assignments.filter(state__in=LIVE_STATES)))[:size])


def hits_without_own_captions(study: Study, worker: Worker, participation: Any) -> QuerySet[HIT]:
    """Return the study's HITs that show no caption by the worker."""
    hits = HIT.objects.filter(study=study)
    return without_own_captions(hits, study=study, worker=worker) if participation.wrote_captions else hits


def prefer_new_controls(
    study: Study,
    worker: Worker,
    participation: Any,
    window: list[HIT],
    seen_items: Collection[RecognitionKey],
) -> list[HIT]:
    """Return HITs whose control items are all new to the worker: of ``window``, else later ones, else ``window``."""
    suitable_hits = hits_with_new_controls(study, window, seen_items)
    if suitable_hits:
        return suitable_hits
    own_assignments = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker)
    later_hits = hits_without_own_captions(study, worker, participation).filter(
        open_slots__gt=0, position__gt=window[-1].position
    )
    searched_hits = list(later_hits.filter(~Exists(own_assignments)).order_by("position")[:MAX_HITS_SEARCHED])
    return hits_with_new_controls(study, searched_hits, seen_items)[:WINDOW_SIZE] or window
