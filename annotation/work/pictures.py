"""Addresses and bytes of pictures. Only the study's workers and staff see uploaded pictures."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from itertools import zip_longest
from typing import cast

from django.db.models.fields.files import FieldFile
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import http_date, quote_etag
from django.utils.safestring import SafeString

from annotation.models import Assignment, QuizAttempt
from annotation.work.presentation import Place, worded
from common.markup import render_markdown
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import Dataset, HITUnit, Item, Study

TYPES = {"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/bmp"}


def picture_url(*, place: Place, assignment: Assignment) -> str:
    """Return the address of a picture for the assignment's worker, '' if there is none.

    An uploaded picture's address has assignment and position: file names may reveal too much.
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
    """Return the item at ``position`` (from 1), or None."""
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
    """Return the bytes of an uploaded picture, to be cached by this browser only.

    Raises:
        Http404: there is no picture, or its file is missing.
    """
    if item is None or not item.picture:
        raise Http404("There is no such picture.")
    picture: FieldFile = item.picture
    try:
        size, changed = picture.size, picture.storage.get_modified_time(picture.name or "")
    except FileNotFoundError:
        raise Http404("The picture's file is not there.") from None
    etag = quote_etag(f"{size:x}-{int(changed.timestamp() * 1_000_000):x}")
    unchanged = get_conditional_response(request, etag=etag, last_modified=int(changed.timestamp()))
    response: HttpResponseBase
    if unchanged is not None:
        response = unchanged
    else:
        kind = mimetypes.guess_type(picture.name or "")[0] or ""
        # only known picture types are shown; others (an SVG can hold scripts) are sent as bytes
        response = FileResponse(
            picture.open("rb"), content_type=kind if kind in TYPES else "application/octet-stream"
        )
        response.headers["Content-Disposition"] = "inline"  # no file name: it may reveal too much
    response.headers["ETag"] = etag
    response.headers["Last-Modified"] = http_date(changed.timestamp())
    patch_cache_control(cast(HttpResponse, response), private=True, max_age=86_400)
    return response


@dataclass(frozen=True, slots=True)
class Worked:
    """A worked example.

    Attributes:
        picture: its address, or ''.
        scene: the picture in words.
        texts: (letter, text) pairs; the letter may be ''.
        why: the reason, as HTML.
    """

    picture: str
    scene: str
    texts: tuple[tuple[str, str], ...]
    answer: str
    why: SafeString | str


def worked_examples(study: Study, design: StudyDesign) -> list[Worked]:
    """Return the worked examples in order, with one query if one has an image."""
    return _worked(design, _pictures(study, design))


def sketched_examples(dataset: Dataset, design: StudyDesign) -> list[Worked]:
    """Return the worked examples of a design without a study, for staff."""
    named = {number: one.image for number, one in enumerate(design.examples, start=1) if one.image}
    rows = Item.objects.filter(dataset=dataset, name__in=set(named.values())) if named else []
    addresses = {item.name: preview_picture_url(item) for item in rows}
    return _worked(design, {number: addresses.get(name, "") for number, name in named.items()})


def _worked(design: StudyDesign, addresses: dict[int, str]) -> list[Worked]:
    letters = KINDS[design.protocol].page.letters
    return [
        Worked(
            picture=addresses.get(number, ""),
            scene=worded(example.scene),
            texts=tuple(zip_longest(letters[: len(example.shown)], example.shown, fillvalue="")),
            answer=worded(example.answer),
            why=render_markdown(worded(example.why)) if example.why else "",
        )
        for number, example in enumerate(design.examples, start=1)
    ]


def _pictures(study: Study, design: StudyDesign) -> dict[int, str]:
    named = {number: one.image for number, one in enumerate(design.examples, start=1) if one.image}
    if not named:
        return {}
    rows = Item.objects.filter(dataset_id=study.dataset_id, name__in=set(named.values()))
    items = {item.name: item for item in rows}
    return {
        number: reverse("annotation:example-picture", args=[study.slug, number])
        if items[name].picture
        else items[name].url
        for number, name in named.items()
        if name in items
    }


def example_item(study: Study, design: StudyDesign, number: int) -> Item | None:
    """Return the image of example ``number`` (from 1), or None."""
    if not 1 <= number <= len(design.examples) or not design.examples[number - 1].image:
        return None
    return Item.objects.filter(dataset_id=study.dataset_id, name=design.examples[number - 1].image).first()
