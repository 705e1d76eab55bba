"""Alarms: what a designer should know of before the answers suffer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotation.models import StudyAlarm, Worker
from judgments.models import Study, Unit


@transaction.atomic
def raise_used_up(*, study: Study, worker: Worker, missing: Collection[int], units: Sequence[Unit]) -> None:
    """Count a page of ``worker`` that goes without control items, as they have met them all.

    Args:
        missing: row ids of the units of the HIT, of which all are ``units``, that are left out.
    """
    own = {"study": study, "worker": worker, "what": StudyAlarm.What.CONTROLS_USED_UP}
    # the captions under a control image are one control item to whoever designs the study
    items = len({unit.item_id for unit in units if unit.pk in missing})
    raised = StudyAlarm.objects.filter(**own).update(
        pages=F("pages") + 1, missing=F("missing") + items, last_at=timezone.now()
    )
    if not raised:  # a worker takes one HIT at a time: nobody else makes the same row
        StudyAlarm.objects.create(**own, pages=1, missing=items)
