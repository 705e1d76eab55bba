"""Find the HITs and control items that are suitable for a worker.

A worker never gets a HIT that shows a caption they wrote. Control items that the worker has already seen are left
out, and HITs with new control items come first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Assignment, StudyAlarm, Worker, WrittenCaption
from annotation.models.judgments import WrittenCaptionQuerySet
from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.controls.pool import RecognitionKey, recognition_key
from judgments.kinds import KINDS
from judgments.models import HIT, HITUnit, Study, Unit


def own_captions(study: Study, worker: Worker) -> WrittenCaptionQuerySet:
    """Return the captions of the study's dataset that the worker wrote."""
    return WrittenCaption.objects.written_by(worker, dataset_id=study.dataset_id)


def without_own_captions(hits: QuerySet[HIT], *, study: Study, worker: Worker) -> QuerySet[HIT]:
    """Exclude HITs that show a caption by this worker, as a candidate, a reference or an option."""
    written_captions = own_captions(study, worker)
    caption_rows = list(
        written_captions.values_list(
            "caption__key", "caption__text", "caption__item_id", "judgment__unit__item_id"
        ).distinct()
    )
    if not caption_rows:
        return hits
    captions = written_captions.values("caption")
    shows_caption = (
        Q(unit__first__in=captions)
        | Q(unit__second__in=captions)
        | Q(unit__reference__in=captions)
        | Q(unit__in=_units_containing(caption_rows, study))
    )
    return hits.filter(~Exists(HITUnit.objects.filter(shows_caption, hit=OuterRef("pk"))))


def _units_containing(caption_rows: Iterable[tuple[Any, ...]], study: Study) -> list[int]:
    """Return the row ids of units that show one of these captions as an option or in another content field.

    Args:
        caption_rows: key and text of each caption, the row id of its item, and that of the item about which the worker
            wrote it. A content field has the key or the text.
    """
    keys_and_texts: set[str] = set()
    items: set[int] = set()
    for key, text, caption_item, unit_item in caption_rows:
        keys_and_texts |= {key, text}
        items |= {item for item in (caption_item, unit_item) if item is not None}
    units = Unit.objects.filter(study=study, item__in=items).exclude(content={})
    return [
        pk
        for pk, content in units.values_list("pk", "content")
        if not keys_and_texts.isdisjoint(_texts_in(content))
    ]


def _texts_in(content: Any) -> Iterator[str]:
    """Yield all texts of a unit's content, however deep they are nested."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from _texts_in(value)
    elif isinstance(content, list):
        for value in content:
            yield from _texts_in(value)


def may_repeat_controls(study: Study) -> bool:
    """Return whether a control item may be in two HITs. The draw of the control items has stored this."""
    pool = study.notes.get("control_pool")  # missing in a study without control items
    return bool(pool["comes_again"]) if pool else False


def seen_control_items(study: Study, worker: Worker) -> dict[int, set[RecognitionKey]]:
    """Return the recognition keys of the control items of each HIT that the worker ever claimed, by HIT row id.

    A control item has the same recognition key in all HITs: its image and, unless a HIT groups captions, its captions.
    """
    own_assignments = Assignment.objects.filter(study=study, worker=worker, hit__isnull=False)
    return _control_items_by_hit(study, HITUnit.objects.filter(hit__in=own_assignments.values("hit")))


def controls_seen_before(
    study: Study, units: Sequence[Unit], seen_items: Collection[RecognitionKey]
) -> frozenset[int]:
    """Return the row ids of those control items among ``units`` that the worker has already seen."""
    grouped = KINDS[study.protocol].grouped
    return frozenset(
        unit.pk
        for unit in units
        if unit.control
        and unit.control_kind != REPEATED  # it repeats a unit of this page
        and recognition_key(unit.item_id, unit.first_id, unit.second_id, grouped=grouped) in seen_items
    )


def controls_left_out_before(hit: HIT, worker: Worker, units: Sequence[Unit]) -> frozenset[int]:
    """Return the row ids of the control items that the worker's earlier assignment of this HIT left out.

    They are left out again, so that the page looks the same.

    Args:
        units: all units of the HIT, in its order.
    """
    last_assignment = Assignment.objects.filter(hit=hit, worker=worker).order_by("-accepted_at").first()
    if last_assignment is None or not last_assignment.order:  # an empty order means that all units were shown
        return frozenset()
    return frozenset(
        unit.pk for index, unit in enumerate(units) if index not in last_assignment.order and unit.control
    )


def hits_with_new_controls(
    study: Study, hits: Sequence[HIT], seen_items: Collection[RecognitionKey]
) -> list[HIT]:
    """Return those of ``hits`` that have none of ``seen_items`` as a control item."""
    items_by_hit = _control_items_by_hit(study, HITUnit.objects.filter(hit__in=[hit.pk for hit in hits]))
    return [hit for hit in hits if items_by_hit.get(hit.pk, set()).isdisjoint(seen_items)]


def used_up_alarms(study: Study, worker: Worker) -> QuerySet[StudyAlarm]:
    """Return the alarm that the worker has seen all control items, if there is one."""
    return StudyAlarm.objects.filter(study=study, worker=worker, what=StudyAlarm.Kind.CONTROLS_USED_UP)


def _control_items_by_hit(study: Study, hit_units: Any) -> dict[int, set[RecognitionKey]]:
    """Return the recognition keys of control items by HIT row id, without repetitions and withdrawn items."""
    grouped = KINDS[study.protocol].grouped
    controls = hit_units.filter(unit__control=True, unit__withdrawn=False).exclude(
        unit__control_kind=REPEATED
    )
    columns = (
        ("hit_id", "unit__item_id")
        if grouped
        else ("hit_id", "unit__item_id", "unit__first_id", "unit__second_id")
    )
    keys_by_hit: dict[int, set[RecognitionKey]] = {}
    for hit, item, *texts in controls.values_list(*columns).distinct():
        keys_by_hit.setdefault(hit, set()).add(recognition_key(item, *texts, grouped=grouped))
    return keys_by_hit
