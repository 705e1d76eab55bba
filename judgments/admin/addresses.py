"""The addresses of a study's pages for workers, and of the pictures of items."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import reverse

from judgments.datasets.scaling import small_address
from judgments.models import Item, Study
from judgments.studies.designs import design_of


def picture_address(item: Item) -> str:
    """Return the address of an item's stored picture, in its smallest size, or else the item's ``url``."""
    if item.picture:
        return small_address(item, reverse("annotation:preview-picture", args=[item.pk]))
    return item.url


def preview_address(study: Study) -> str:
    return reverse("annotation:preview", args=[study.slug])


def public_address(request: HttpRequest, study: Study, *, code: str = "") -> str:
    """Return the absolute address at which workers join a study.

    The address contains ``code``, the code of an invitation. If ``code`` is empty and the design lets workers join
    with an access code, the address contains the design's access code.
    """
    if not code:
        access = design_of(study).access
        code = access.code if access.join == "code" else ""
    address = request.build_absolute_uri(reverse("annotation:study", args=[study.slug]))
    return f"{address}?code={code}" if code else address
