"""Filters of the admin's lists. Each offers a bounded number of choices, however many rows the database has."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AllValuesFieldListFilter, RelatedFieldListFilter, SimpleListFilter
from django.contrib.admin.utils import NotRelationField, get_fields_from_path, get_model_from_relation
from django.db.models import BooleanField, Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext

from common.amounts import thousands
from common.rows.ids import is_row_id
from judgments.access.visible_rows import visible_rows
from judgments.models import Dataset, Study

MAX_CHOICES = 100  # choices of a filter


class KnownValuesFilter(SimpleListFilter):
    """A filter by a field whose values are listed in ``known_values``, so that no query has to find them."""

    known_values: tuple[str, ...] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, value) for value in self.known_values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        if self.value() not in {value for value, _ in self.lookup_choices}:
            return queryset.none()
        return queryset.filter(**{self.parameter_name or "": self.value()})


class NewestRowsFilter(RelatedFieldListFilter):
    """A filter by a related row. It offers only the newest rows and the selected row."""

    max_count = MAX_CHOICES

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # calls `field_choices`, which sets ``has_more``
        if self.has_more:
            self.title = gettext("%(title)s (only the newest %(most)d)") % {
                "title": self.title,
                "most": self.max_count,
            }

    def available_rows(self, field: Any, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the related model that the filter may offer."""
        rows: QuerySet[Any] = field.related_model._default_manager.all()
        return rows

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[Any]:
        """Return the keys and labels of the newest rows and of the selected row, sorted by label."""
        offered_rows = self.available_rows(field, request)
        rows = list(offered_rows.order_by("-pk")[: self.max_count + 1])
        self.has_more = len(rows) > self.max_count
        rows = rows[: self.max_count]
        selected_texts = map(str, self.lookup_val or ())
        selected_keys = [key for key in selected_texts if is_row_id(key)]
        if self.has_more and selected_keys:
            rows += offered_rows.filter(pk__in=selected_keys[:1]).exclude(pk__in=[row.pk for row in rows])
        rows.sort(key=lambda row: str(row).casefold())
        return [(row.pk, str(row)) for row in rows]


class VisibleRowsFilter(NewestRowsFilter):
    """A filter by a related row that offers only rows that the person may see."""

    def available_rows(self, field: Any, request: HttpRequest) -> QuerySet[Any]:
        return visible_rows(super().available_rows(field, request), request.user)


class NewestValuesFilter(AllValuesFieldListFilter):
    """A filter by a field's values. It offers only the values of the newest rows and the selected value."""

    max_count = MAX_CHOICES
    rows_searched = 10_000  # number of newest rows

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The base class sets `lookup_choices` to the queryset of all values, which is not evaluated.
        newest_first = self.lookup_choices.order_by("-pk")
        name = self.field.name
        newest_keys = newest_first.values("pk")[: self.rows_searched]
        newest_rows = newest_first.model._default_manager.filter(pk__in=newest_keys)
        values = newest_rows.order_by(name).values_list(name, flat=True).distinct()[: self.max_count]
        choices: Any = [*dict.fromkeys([*values, *(self.lookup_val or ())])]
        self.lookup_choices = choices
        has_more_rows = newest_first.values("pk")[self.rows_searched : self.rows_searched + 1]
        if has_more_rows:
            self.title = gettext("%(title)s (only the newest %(n)s)") % {
                "title": self.title,
                "n": thousands(self.rows_searched),
            }


def bounded_filter(model: type[Model], entry: Any) -> Any:
    """Return an entry of ``ModelAdmin.list_filter`` with a filter of this module, if it names a field without choices.

    Other entries are returned unchanged: they are filter classes, or names of fields that offer few choices anyway.
    """
    if not isinstance(entry, str):
        return entry
    field = get_fields_from_path(model, entry)[-1]
    if field.choices or isinstance(field, BooleanField):
        return entry
    try:
        related_model = get_model_from_relation(field)
    except NotRelationField:
        return entry, NewestValuesFilter
    return entry, VisibleRowsFilter if related_model in (Study, Dataset) else NewestRowsFilter
