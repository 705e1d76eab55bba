"""Prepared queries: whether a study gives a worker work now, and the update that takes a slot in such a study.

``STUDIES_TAKING_WORK`` and ``TAKE_SLOT`` have two forms each, under the keys ``ONLY_OPEN`` (a study must be open) and
``ALSO_CLOSED`` (it may also be closed or paused, to store answers that a crowd has already accepted).
"""

from __future__ import annotations

from functools import partial

from django.db.models import BooleanField, Exists, F, Q, QuerySet

from annotation.models import Participation
from common.rows.prepared import PreparedQuery, PreparedUpdate, query_parameter
from judgments.models import HIT, Study

STUDY_OF_CLAIM, WORKER_OF_CLAIM = query_parameter("study"), query_parameter("worker")


def _studies_taking_work(allow_closed: bool) -> QuerySet[Study]:
    """Return the study of the claim if it gives the worker work now; ``allow_closed`` is a key of the two forms."""
    is_admitted = Q(
        participations__worker=WORKER_OF_CLAIM, participations__standing=Participation.Standing.ACTIVE
    )
    if allow_closed:
        gives_work = Q(state__in=[Study.State.OPEN, Study.State.CLOSED])
    else:
        gives_work = Q(state=Study.State.OPEN, paused_at=None)
    is_simulated = query_parameter("simulated", BooleanField())  # whether the worker is
    return Study.objects.filter(is_admitted, gives_work, pk=STUDY_OF_CLAIM, simulated=is_simulated).order_by()


def _open_hit(allow_closed: bool) -> QuerySet[HIT]:
    """Return the HIT of the claim if it has an open slot, and its study gives the worker work now."""
    taking_work = Exists(_studies_taking_work(allow_closed))
    return HIT.objects.filter(taking_work, pk=query_parameter("hit"), open_slots__gt=0)


ONLY_OPEN, ALSO_CLOSED = False, True
STUDIES_TAKING_WORK = {
    allow_closed: PreparedQuery(partial(_studies_taking_work, allow_closed))
    for allow_closed in (ONLY_OPEN, ALSO_CLOSED)
}
TAKE_SLOT = {
    allow_closed: PreparedUpdate(partial(_open_hit, allow_closed), open_slots=F("open_slots") - 1)
    for allow_closed in (ONLY_OPEN, ALSO_CLOSED)
}
