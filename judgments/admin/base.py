"""What the admin's lists have in common."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import display
from django.contrib.auth.models import User
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

from judgments.admin.addresses import picture_address
from judgments.models import Item, Study


def signed_in(request: HttpRequest) -> User:
    """The person at the admin, who is signed in by now."""
    assert isinstance(request.user, User)
    return request.user


def count_of(rows: QuerySet[Any], owner: str) -> Coalesce:
    """How many of ``rows`` belong to the outer row."""
    counted = (
        rows.filter(**{owner: OuterRef("pk")}).order_by().values(owner).annotate(n=Count("pk")).values("n")
    )
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


class QuorumAdmin(ModelAdmin):
    """Lists of 50 that cost the same for any number of rows."""

    list_per_page = 50
    add_label = ""  # the words of the button above a list; empty: "Add ..."
    list_fullwidth = True


class ReadOnlyAdmin(QuorumAdmin):
    """To look at, never to change: these rows come from services alone."""

    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds a row by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes a row by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes a row by hand."""
        return False


SIMULATED = ' <span class="q-mark">simulated</span>'


def study_words(study: Study | None) -> SafeString | str:
    """A study's short name, and whether its answers are simulated."""
    if study is None:
        return "–"
    return format_html("{}" + (SIMULATED if study.simulated else ""), study.slug)


@display(description="study", ordering="study__slug")
def study_column(row: Any) -> SafeString | str:
    """The study of a row, for lists."""
    return study_words(row.study)


def thumbnail(item: Item) -> SafeString | str:
    """The image, small."""
    address = picture_address(item)
    if not address:
        return "no picture"
    return format_html('<img class="q-thumb" src="{}" alt="{}" loading="lazy">', address, item.name)


@display(description="image")
def item_thumbnail(row: Any) -> SafeString | str:
    """The picture of a row's image, for lists."""
    return thumbnail(row.item)
