"""Serve the pictures of a page of work: their addresses, their sizes in HTML, and the responses with the files."""

from __future__ import annotations

import mimetypes
from datetime import UTC, datetime
from typing import Any

from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import http_date, quote_etag

from annotation.models import Assignment
from annotation.work.sheet.units import PageUnit
from common.incoming import limits
from judgments.datasets.picture_metadata import strip_metadata
from judgments.datasets.scaling import img_attributes, served_path
from judgments.models import HITUnit, Item

# types of files that are served as pictures
PICTURE_TYPES = {"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/bmp"}


def picture_url(*, page_unit: PageUnit, assignment: Assignment) -> str:
    """Return the address of a picture for the assignment's worker; "" if there is no picture.

    The address does not contain the file's name, which may reveal too much.
    """
    item: Item = page_unit.unit.item
    if item.picture:
        return reverse("annotation:picture", args=[assignment.pk, page_unit.position])
    return item.url


def preview_picture_url(item: Item) -> str:
    """Return the address of a picture for people who may see the dataset; "" if there is no picture."""
    return reverse("annotation:preview-picture", args=[item.pk]) if item.picture else item.url


def add_sizes(content: dict[str, Any], item: Item | None) -> dict[str, Any]:
    """Add the sizes of the scaled picture to the image of a unit's content, so that the browser can choose one."""
    image = content.get("image") or {}
    # only an uploaded picture is scaled; a picture at an address outside (``item.url``) is not
    if item is not None and item.picture and image.get("url") not in (None, "", item.url):
        image |= img_attributes(item, image["url"])
    return content


def item_at(assignment: Assignment, position: int) -> Item | None:
    """Return the item at a position of the worker's page; None if there is none."""
    if assignment.hit_id is None:
        return None
    order = assignment.order  # if it is empty, the units are in the HIT's own order
    if position < 1 or (order and position > len(order)):
        return None
    index = order[position - 1] if order else position - 1
    rows = HITUnit.objects.filter(hit_id=assignment.hit_id).select_related("unit__item").order_by("position")
    row = rows[index : index + 1].first()
    return row.unit.item if row is not None else None


def picture_response(request: HttpRequest, item: Item | None) -> HttpResponseBase:
    """Return an uploaded picture, which only this browser may cache. Raise Http404 if it is missing or too large.

    The picture is the original without metadata, or the version scaled to the ``width`` in the address.
    """
    if item is None or not item.picture:
        raise Http404("There is no such picture.")
    picture: FieldFile = item.picture
    try:
        scaled_path = served_path(item, request.GET.get("width", ""))
        size = picture.size
        changed_at = picture.storage.get_modified_time(picture.name or "")
        if scaled_path:
            stat = scaled_path.stat()
            size = stat.st_size
            changed_at = datetime.fromtimestamp(stat.st_mtime, UTC)
    except FileNotFoundError:
        raise Http404("The picture's file is not there.") from None
    # "bare": the response has no metadata, unlike the stored file
    etag = quote_etag(f"bare-{size:x}-{int(changed_at.timestamp() * 1_000_000):x}")
    if size > limits().picture_bytes:  # check the size, since the file is read into memory
        raise Http404("The picture is too large to be shown.")
    not_modified = get_conditional_response(request, etag=etag, last_modified=int(changed_at.timestamp()))
    if not_modified is not None:
        response = not_modified
    else:
        if scaled_path:
            response = HttpResponse(scaled_path.read_bytes(), content_type="image/webp")
        else:
            response = _original_picture(picture)
        response.headers["Content-Disposition"] = "inline"  # without a file name, which may reveal too much
    response.headers["ETag"] = etag
    response.headers["Last-Modified"] = http_date(changed_at.timestamp())
    patch_cache_control(response, private=True, max_age=86_400)  # a day
    return response


def _original_picture(picture: FieldFile) -> HttpResponse:
    """Return a response with an uploaded picture without metadata.

    Files other than pictures of known types are sent as bytes, since an SVG can contain scripts.
    """
    with picture.open("rb") as file:
        content = strip_metadata(file.read())
    media_type = mimetypes.guess_type(picture.name or "")[0]
    if media_type not in PICTURE_TYPES:
        media_type = "application/octet-stream"
    return HttpResponse(content, content_type=media_type)
