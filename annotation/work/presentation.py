"""Lay out a HIT for a worker: texts in the reader's language, pictures, worked examples.

The catalogues translate built-in texts, also when a design repeats them word for word.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, zip_longest
from typing import Any

import numpy as np
from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import http_date, quote_etag
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

from annotation.models import Assignment, QuizAttempt, Worker
from common.incoming import limits
from common.markup import render_markdown
from common.prepared import PreparedQuery, query_parameter
from judgments.datasets.picture_metadata import without_metadata
from judgments.design.study_design import StudyDesign, design_in
from judgments.drawing.controls import REPEATED, REPEATS
from judgments.drawing.material import rng_for, screen_of, shuffled
from judgments.drawing.packing import order_with_twins_apart
from judgments.kinds import KINDS, Kind
from judgments.models import HIT, Dataset, HITUnit, Item, Study, Unit
from judgments.studies.studies import design_of

PICTURE_TYPES = {"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/bmp"}


def translated_text(text: str) -> str:
    """Strip a design's text and translate it if it is a built-in one."""
    text = text.strip()
    return gettext(text) if text else ""


def read_design(study: Study) -> StudyDesign:
    """Return the design with its texts in the reader's language, as far as available."""
    return design_in(design_of(study), get_language())


@dataclass(frozen=True, slots=True)
class Place:
    """A unit at its position (from 1) in an assignment; ``side`` is drawn by its kind (``Kind.sides``)."""

    position: int
    unit: Unit
    side: Any = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The index of the HIT's unit at each position, and its side, if the kind draws sides."""

    order: list[int]
    sides: list[Any]


def draw_layout(
    *,
    design: StudyDesign,
    hit: HIT,
    worker: Worker,
    units: Sequence[Unit],
    left_out: Collection[int] = (),
    with_withdrawn: bool = False,
) -> Layout:
    """Draw the order and the sides of ``hit`` for ``worker``.

    Seed, HIT and the worker's name fix the draw, so that a reclaimed HIT looks the same. The units of a passage
    (``Kind.passage``) keep the HIT's order. Those of one screen (``screen_of``) stay together in any order, the same
    one in all of a passage. A unit and its repetition are kept apart, or the repetition is left out. So are withdrawn
    units, unless ``with_withdrawn`` is set to read a page as it was published.
    """
    kind = KINDS[design.protocol]
    rng = rng_for(design.seed, f"order {hit.key} {worker.name}")
    drawn = [
        _draw_screen_order(units, group, rng) if kind.passage(units[group[0]]) else shuffled(group, rng)
        for group in shuffled(_group_indices(kind, units), rng)
    ]
    unseen = {
        index
        for index, unit in enumerate(units)
        if (unit.withdrawn and not with_withdrawn) or unit.pk in left_out
    }
    groups = [kept for group in drawn if (kept := [index for index in group if index not in unseen])]
    twins = _repetitions(units, groups)
    places = order_with_twins_apart(len(groups), twins, rng) if twins else range(len(groups))
    order = [index for number in places for index in groups[number]]
    shown = sorted(order)
    rng = rng_for(design.seed, f"sides {hit.key} {worker.name}")
    side_of = dict(zip(shown, kind.sides.draw([units[index] for index in shown], rng), strict=False))
    return Layout(order=order, sides=[side_of[index] for index in order] if side_of else [])


def _group_indices(kind: Kind, units: Sequence[Unit]) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for index, unit in enumerate(units):
        if kind.grouped:
            mark: Any = (unit.item_id, unit.control_kind == REPEATED)
        else:
            mark = kind.passage(unit) or screen_of(unit) or index
        groups.setdefault(mark, []).append(index)
    return list(groups.values())


def _draw_screen_order(units: Sequence[Unit], passage: list[int], rng: np.random.Generator) -> list[int]:
    """Return a passage in its order; in half of the draws, turn the units of every screen round."""
    screens = [
        list(screen) for _, screen in groupby(passage, key=lambda index: screen_of(units[index]) or index)
    ]
    if len(screens) == len(passage) or rng.integers(2):
        return passage
    return [index for screen in screens for index in reversed(screen)]


def _repetitions(units: Sequence[Unit], groups: Sequence[Sequence[int]]) -> dict[int, int]:
    of_key = {units[index].key: number for number, group in enumerate(groups) for index in group}
    heads = [units[group[0]] for group in groups]
    return {
        number: of_key[unit.content[REPEATS]]
        for number, unit in enumerate(heads)
        if unit.control_kind == REPEATED and unit.content[REPEATS] in of_key
    }


_PLACES = PreparedQuery(
    lambda: (
        HITUnit.objects.filter(hit=query_parameter("hit"))
        .select_related("unit__item", "unit__reference", "unit__first", "unit__second")
        .order_by("position")
    )
)


def units_of_hit(hit_id: int) -> list[Unit]:
    return [row.unit for row in _PLACES.all(hit=hit_id)]


def cached_units_of(hit: HIT) -> list[Unit]:
    """Return the units of a HIT just read. Requests share them: change none."""
    return list(_cached_units(hit.pk, hit.version))


# 4 MB of HITs of ten; a HIT is asked for twice by each of its workers, within minutes
@lru_cache(maxsize=128)
def _cached_units(hit_id: int, version: int) -> tuple[Unit, ...]:
    return tuple(units_of_hit(hit_id))


def place_units(units: Sequence[Any], order: Sequence[int], sides: Sequence[Any]) -> list[Place]:
    """Place the units in ``order``; if empty, in the HIT's own (imported work, previews)."""
    shown = [units[index] for index in order] if order else units
    return [
        Place(position=index + 1, unit=unit, side=sides[index] if sides else None)
        for index, unit in enumerate(shown)
    ]


def places_of(assignment: Assignment) -> list[Place]:
    if assignment.hit is None:  # imported judgments of an unknown HIT
        return []
    return place_units(cached_units_of(assignment.hit), assignment.order, assignment.flips)


def shown_unit(place: Place, *, design: StudyDesign, picture_url: Callable[[Place], str]) -> dict[str, Any]:
    kind = KINDS[design.protocol].for_design(design)
    return {
        "position": place.position,
        "protocol": kind.name,
        "question": translated_text(design.question),
        **texts_shown(place, design=design, kind=kind, picture_url=picture_url(place)),
    }


def texts_shown(place: Place, *, design: StudyDesign, kind: Kind, picture_url: str) -> dict[str, Any]:
    shown = kind.present_unit(place.unit, side=place.side, picture_url=picture_url)
    if not picture_url and "image" in shown:
        shown["image"] = {"url": "", "alt": ""}
    if not design.source.show:
        return shown
    source = {"text": place.unit.source_text, "language": design.source.language}
    return {"source": source, **shown}


def picture_url(*, place: Place, assignment: Assignment) -> str:
    """Return the address of a picture for the assignment's worker, "" if there is none.

    It has no file name of an upload, which may reveal too much.
    """
    item: Item = place.unit.item
    if item.picture:
        return reverse("annotation:picture", args=[assignment.pk, place.position])
    return item.url


def quiz_picture_url(study: Study, attempt: QuizAttempt, place: Place) -> str:
    item = place.unit.item
    if not item.picture:
        return item.url
    return reverse("annotation:quiz-picture", args=[study.slug, attempt.number, place.position])


def preview_picture_url(item: Item) -> str:
    return reverse("annotation:preview-picture", args=[item.pk]) if item.picture else item.url


def item_at(assignment: Assignment, position: int) -> Item | None:
    if assignment.hit_id is None:
        return None
    order = assignment.order  # in the worker's order, or the HIT's own if that is empty
    if not 1 <= position <= (len(order) or position):
        return None
    place = order[position - 1] if order else position - 1
    rows = HITUnit.objects.filter(hit_id=assignment.hit_id).select_related("unit__item").order_by("position")
    row = rows[place : place + 1].first()
    return row.unit.item if row is not None else None


def picture_response(request: HttpRequest, item: Item | None) -> HttpResponseBase:
    """Return an uploaded picture without metadata, cached by this browser only; raise Http404 if missing."""
    if item is None or not item.picture:
        raise Http404("There is no such picture.")
    picture: FieldFile = item.picture
    try:
        size, changed = picture.size, picture.storage.get_modified_time(picture.name or "")
    except FileNotFoundError:
        raise Http404("The picture's file is not there.") from None
    etag = quote_etag(f"bare-{size:x}-{int(changed.timestamp() * 1_000_000):x}")
    if size > limits().picture_bytes:  # it is read whole
        raise Http404("The picture is too large to be shown.")
    unchanged = get_conditional_response(request, etag=etag, last_modified=int(changed.timestamp()))
    if unchanged is not None:
        response = unchanged
    else:
        kind = mimetypes.guess_type(picture.name or "")[0] or ""
        # only known picture types are shown; others (an SVG can hold scripts) are sent as bytes
        with picture.open("rb") as file:
            content = without_metadata(file.read())
        response = HttpResponse(
            content, content_type=kind if kind in PICTURE_TYPES else "application/octet-stream"
        )
        response.headers["Content-Disposition"] = "inline"  # no file name: it may reveal too much
    response.headers["ETag"] = etag
    response.headers["Last-Modified"] = http_date(changed.timestamp())
    patch_cache_control(response, private=True, max_age=86_400)
    return response


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A worked example; ``texts`` are (letter, text) pairs, ``why`` is HTML."""

    picture: str
    scene: str
    texts: tuple[tuple[str, str], ...]
    answer: str
    why: SafeString | str


def worked_examples(study: Study, design: StudyDesign) -> list[WorkedExample]:
    addresses = {
        number: reverse("annotation:example-picture", args=[study.slug, number]) if item.picture else item.url
        for number, item in _example_items(study.dataset_id, design).items()
    }
    return _build_examples(design, addresses)


def preview_examples(dataset: Dataset, design: StudyDesign) -> list[WorkedExample]:
    items = _example_items(dataset.pk, design)
    return _build_examples(design, {number: preview_picture_url(item) for number, item in items.items()})


def _build_examples(design: StudyDesign, addresses: dict[int, str]) -> list[WorkedExample]:
    letters = KINDS[design.protocol].for_design(design).page.letters
    return [
        WorkedExample(
            picture=addresses.get(number, ""),
            scene=translated_text(example.scene),
            texts=tuple(zip_longest(letters[: len(example.shown)], example.shown, fillvalue="")),
            answer=translated_text(example.answer),
            why=render_markdown(translated_text(example.why)) if example.why else "",
        )
        for number, example in enumerate(design.examples, start=1)
    ]


def _example_items(dataset_id: int, design: StudyDesign) -> dict[int, Item]:
    named = {number: one.image for number, one in enumerate(design.examples, start=1) if one.image}
    if not named:
        return {}
    rows = Item.objects.filter(dataset_id=dataset_id, name__in=set(named.values()))
    items = {item.name: item for item in rows}
    return {number: items[name] for number, name in named.items() if name in items}


def example_item(study: Study, design: StudyDesign, number: int) -> Item | None:
    if not 1 <= number <= len(design.examples) or not design.examples[number - 1].image:
        return None
    return Item.objects.filter(dataset_id=study.dataset_id, name=design.examples[number - 1].image).first()
