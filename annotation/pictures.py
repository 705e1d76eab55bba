"""Where a picture is, and its bytes. Uploaded pictures are seen by the study's workers and staff only."""

from __future__ import annotations

import mimetypes
from typing import cast

from django.db.models.fields.files import FieldFile
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import http_date, quote_etag

from annotation.models import Assignment, QuizAttempt
from annotation.presentation import Place
from judgments.models import HITUnit, Item, Study

TYPES = {"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/bmp"}


def picture_url(*, place: Place, assignment: Assignment) -> str:
    """The address of the original bytes for the assignment's worker; '' where the item has no picture.

    An uploaded picture is named by assignment and position, so that its file name tells nothing.
    """
    item: Item = place.unit.item
    if item.picture:
        return reverse("annotation:picture", args=[assignment.pk, place.position])
    return item.url


def quiz_picture_url(study: Study, attempt: QuizAttempt, place: Place) -> str:
    """The picture of a known item, for the worker whose attempt it is; '' where it has none."""
    item = place.unit.item
    if not item.picture:
        return item.url
    return reverse("annotation:quiz-picture", args=[study.slug, attempt.number, place.position])


def preview_picture_url(item: Item) -> str:
    """The same for staff, who hold no assignment."""
    return reverse("annotation:preview-picture", args=[item.pk]) if item.picture else item.url


def item_at(assignment: Assignment, position: int) -> Item | None:
    """The item at ``position`` (from 1) of an assignment, or None."""
    if assignment.hit_id is None:
        return None
    order = (
        assignment.order
    )  # the places of the HIT as this worker sees them; the HIT's own where it is empty
    if not 1 <= position <= (len(order) or position):
        return None
    place = order[position - 1] if order else position - 1
    rows = HITUnit.objects.filter(hit_id=assignment.hit_id).select_related("unit__item").order_by("position")
    row = rows[place : place + 1].first()
    return row.unit.item if row is not None else None


def picture_response(request: HttpRequest, item: Item | None) -> HttpResponseBase:
    """The original bytes of an item's uploaded picture, kept by this browser alone.

    Raises:
        Http404: the item has none, or its file is gone.
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
        # anything but a known picture (an SVG can hold scripts) is handed over as bytes, never as a document
        response = FileResponse(
            picture.open("rb"), content_type=kind if kind in TYPES else "application/octet-stream"
        )
        response.headers["Content-Disposition"] = "inline"  # without the file name, which may tell too much
    response.headers["ETag"] = etag
    response.headers["Last-Modified"] = http_date(changed.timestamp())
    patch_cache_control(cast(HttpResponse, response), private=True, max_age=86_400)
    return response
