"""Addresses outside of the admin that its pages lead to."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import reverse

from judgments.models import Item, Study


def picture_address(item: Item) -> str:
    """Where staff see an image: where it stands on another host, or the upload; '' where there is neither."""
    if item.picture:
        return reverse("annotation:preview-picture", args=[item.pk])
    return item.url


def preview_address(study: Study) -> str:
    """The worker's page with a few of the study's units, for staff."""
    return reverse("annotation:preview", args=[study.slug])


def public_address(request: HttpRequest, study: Study, *, code: str = "") -> str:
    """The link that workers get."""
    address = request.build_absolute_uri(reverse("annotation:study", args=[study.slug]))
    return f"{address}?code={code}" if code else address
