"""Columns of the admin's lists, and the formats of their cells."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib.admin import display
from django.db.models import Count, IntegerField, Model, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext

from common.amounts import thousands
from judgments.access.rights import Person
from judgments.admin.addresses import picture_address
from judgments.models import Item, Study


def count_rows_by_key(rows: QuerySet[Any], foreign_key: str) -> Coalesce:
    """Return a subquery that counts those ``rows`` whose foreign key refers to the row of the outer query."""
    rows_of_outer_row = rows.filter(**{foreign_key: OuterRef("pk")}).order_by()
    counts = rows_of_outer_row.values(foreign_key).annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counts, output_field=IntegerField()), Value(0))


def count_reverse_relation(model: type[Any], relation: str) -> Coalesce:
    """Return a subquery that counts the rows of a model's reverse relation, such as the judgments of units."""
    field: Any = model._meta.get_field(relation)
    # `field.field` is the foreign key of the other model.
    return count_rows_by_key(field.related_model._default_manager.all(), field.field.name)


class CountColumn:
    """A column of an admin's list with a number of rows.

    ``count_for`` returns the subquery that counts them for a person, who may see only some of them. ``QuorumAdmin``
    annotates each row of the list with this number, as the attribute ``name``.
    """

    def __init__(
        self, description: str, name: str, count_for: Callable[[Person], Coalesce], *, sortable: bool = True
    ) -> None:
        self.short_description, self.name, self.count_for = description, name, count_for
        self.admin_order_field = name if sortable else None
        self.__name__ = name

    def __call__(self, row: Any) -> str:
        return thousands(getattr(row, self.name))


def json_field_column(model: type[Model], name: str) -> Callable[[Any], str]:
    """Return an admin column that shows a JSON field by ``format_json``."""
    field: Any = model._meta.get_field(name)

    @display(description=field.verbose_name)
    def column(row: Any) -> str:
        return format_json(getattr(row, name))

    return column


@display(description="study", ordering="study__slug")
def study_column(row: Any) -> SafeString | str:
    return study_label(row.study)


@display(description="image")
def item_thumbnail(row: Any) -> SafeString | str:
    return thumbnail(row.item)


def format_json(value: Any, *, separator: str = "\n") -> str:
    """Format a value of a JSON field for people.

    An object becomes ``key: value`` for each key, with ``separator`` between them. The members of a list, and of an
    object inside another, are separated by commas. A dash stands for an empty value.
    """
    if isinstance(value, dict):
        lines = [f"{name}: {format_json(member, separator=', ')}" for name, member in value.items()]
        return separator.join(lines) or "–"
    if isinstance(value, list):
        return ", ".join(format_json(member, separator=", ") for member in value) or "–"
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return "–" if value is None or value == "" else str(value)


def format_short(value: float | None) -> str:
    """Format a number with at most four decimal places, without trailing zeros. Return a dash for None."""
    if value is None:
        return "–"
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def format_time(time: datetime) -> str:
    return date_format(localtime(time), "DATETIME_FORMAT")


def study_label(study: Study | None) -> SafeString | str:
    """Return a study's slug, and a mark if its answers are simulated. Return a dash for None."""
    if study is None:
        return "–"
    return format_html("{}{}", study.slug, simulated_mark(study))


def simulated_mark(study: Study) -> SafeString:
    """Return the mark beside the name of a simulated study; nothing for other studies."""
    mark = format_html(' <span class="q-mark">{}</span>', gettext("simulated"))
    return mark if study.simulated else SafeString()


def thumbnail(item: Item) -> SafeString | str:
    address = picture_address(item)
    if not address:
        return gettext("no picture")
    return format_html('<img class="q-thumb" src="{}" alt="{}" loading="lazy">', address, item.name)
