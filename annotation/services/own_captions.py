"""Nobody judges a caption of their own: the HITs that show one are not offered to its writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Worker, WrittenCaption
from annotation.models.written import WrittenCaptionQuerySet
from judgments.models import HIT, HITUnit, Study, Unit


def own_captions(study: Study, worker: Worker) -> WrittenCaptionQuerySet:
    """What the worker wrote that is part of the study's dataset."""
    return WrittenCaption.objects.by(worker, dataset_id=study.dataset_id)


def without_own_captions(hits: QuerySet[HIT], *, study: Study, worker: Worker) -> QuerySet[HIT]:
    """``hits`` of the study but for those that show a caption which the worker wrote: as a candidate, a reference, or
    among the options that a kind keeps in ``Unit.content``.

    One query for whoever wrote none in the study's dataset, which is nearly everybody; else two.
    """
    own = own_captions(study, worker)
    rows = list(
        own.values_list(
            "caption__key", "caption__text", "caption__item_id", "judgment__unit__item_id"
        ).distinct()
    )
    if not rows:
        return hits
    captions = own.values("caption")
    shows = (
        Q(unit__first__in=captions)
        | Q(unit__second__in=captions)
        | Q(unit__reference__in=captions)
        | Q(unit__in=_units_listing(rows, study))
    )
    return hits.filter(~Exists(HITUnit.objects.filter(shows, hit=OuterRef("pk"))))


def _units_listing(rows: Iterable[tuple[Any, ...]], study: Study) -> list[int]:
    """Row ids of the units whose content names one of the captions, by its id in the dataset or by its text."""
    known: set[str] = set()
    images: set[int] = set()
    for key, text, of_caption, of_unit in rows:
        known |= {key, text}
        images |= {image for image in (of_caption, of_unit) if image is not None}
    units = Unit.objects.filter(study=study, item__in=images).exclude(content={})
    return [pk for pk, content in units.values_list("pk", "content") if not known.isdisjoint(_texts(content))]


def _texts(content: Any) -> Iterator[str]:
    """Every text in a value of JSON."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from _texts(value)
    elif isinstance(content, list):
        for value in content:
            yield from _texts(value)
