"""Which systems gave the captions that a unit shows, for some hundred units at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from annotation.moments import Moment
from judgments.models import Output, Study, Unit

ROWS_AT_ONCE = 2_000
Place = tuple[int, str]  # an image and a text
Credits = dict[str, list[dict[str, Any]]]


def credits_of(study: Study, units: Sequence[int], moment: Moment) -> dict[int, Credits]:
    """Unit row id -> caption id -> who gave it for the unit's image, and at which place; nothing of control items.

    A caption is known by its words, as units are; of a pair, those alone are named whose captions it compares.
    """
    rows = Unit.objects.filter(pk__in=units, control=False).values_list(
        "pk", "item_id", "first__key", "first__text", "content", "second__key", "second__text",
        "pair__first_system__name", "pair__second_system__name", "pair_id",
    )  # fmt: skip
    shown: dict[int, list[tuple[str, Place, str | None]]] = {}
    for pk, item, first, first_text, content, second, second_text, first_system, second_system, pair in rows:
        if pair is not None:
            sides = ((first, first_text, first_system), (second, second_text, second_system))
            shown[pk] = [(key, (item, text), system) for key, text, system in sides if system]
        elif first is not None:
            shown[pk] = [(first, (item, first_text), None)]
        else:
            shown[pk] = [(one["key"], (item, one["text"]), None) for one in content.get("options", ())]
    wanted = {place for captions in shown.values() for _, place, _ in captions}
    given: defaultdict[Place, dict[tuple[str, str], int]] = defaultdict(dict)
    for task, found in (
        (Output.Task.ANNOTATION, _captions(study, moment, wanted)),
        (Output.Task.SEARCH, _images(study, moment, wanted)),
    ):
        for name, place, rank in found:
            given[place].setdefault((str(task), name), rank)
    credits: dict[int, Credits] = {}
    for pk, captions in shown.items():
        own: Credits = {}
        for key, place, system in captions:
            found_here = [
                _credit(name, rank, task)
                for (task, name), rank in sorted(given[place].items())
                if system is None or (name == system and task == Output.Task.ANNOTATION)
            ]
            if system is not None and not found_here:
                found_here = [{"system": system}]  # the pair says so, and no list does
            if found_here:
                own.setdefault(key, []).extend(one for one in found_here if one not in own.get(key, ()))
        if own:
            credits[pk] = own
    return credits


def _credit(system: str, rank: int, task: str) -> dict[str, Any]:
    told = {"task": task} if task == Output.Task.SEARCH else {}
    return {"system": system, "rank": rank, **told}


def _captions(study: Study, moment: Moment, wanted: set[Place]) -> Iterator[tuple[str, Place, int]]:
    """(system, image and text, place) of the wanted captions, in the systems' lists for their images."""
    rows = Output.objects.annotations().filter(
        pk__lte=moment.outputs, item__in={item for item, _ in wanted}, system__dataset=study.dataset_id
    )
    columns = rows.order_by("item_id", "system_id", "rank").values_list(
        "item_id", "system__name", "caption__text", "rank"
    )
    in_part = moment.in_part.get(Output.Task.ANNOTATION, ())
    for (item, system), own in groupby(columns.iterator(ROWS_AT_ONCE), key=itemgetter(0, 1)):
        for text, place in _places(((row[2], row[3]) for row in own), placed=system in in_part):
            if (item, text) in wanted:
                yield system, (item, text), place


def _images(study: Study, moment: Moment, wanted: set[Place]) -> Iterator[tuple[str, Place, int]]:
    """(system, image and text, place) of the wanted images, in the systems' lists for captions with these words."""
    if not moment.searched:
        return
    rows = Output.objects.searches().filter(pk__lte=moment.outputs, system__dataset=study.dataset_id)
    asked = rows.filter(
        item__in={item for item, _ in wanted}, caption__text__in={text for _, text in wanted}
    ).values("caption_id")
    columns = (
        rows.filter(caption__in=asked)
        .order_by("caption__key", "system_id", "rank")
        .values_list("caption__key", "system__name", "caption__text", "item_id", "rank")
    )
    in_part = moment.in_part.get(Output.Task.SEARCH, ())
    for (_, system, text), own in groupby(columns.iterator(ROWS_AT_ONCE), key=itemgetter(0, 1, 2)):
        for item, place in _places(((row[3], row[4]) for row in own), placed=system in in_part):
            if (item, text) in wanted:
                yield system, (item, text), place


def _places(ranked: Iterable[tuple[Any, int]], *, placed: bool) -> Iterator[tuple[Any, int]]:
    """Each item of a list with its place from 1; one that comes again keeps its best."""
    seen: set[Any] = set()
    for item, rank in ranked:
        if item not in seen:
            seen.add(item)
            yield item, rank if placed else len(seen)
