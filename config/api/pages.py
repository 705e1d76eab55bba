"""Cursor pagination, filters and orderings of lists in the API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from django.core.exceptions import ValidationError as FieldValidationError
from django.db import connections
from django.db.models import Q, QuerySet
from django_filters import ChoiceFilter, Filter, ModelChoiceFilter, NumberFilter, TypedChoiceFilter
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from common.errors import unknown_value
from common.rows.ids import ID_REGEX, MAX_ID_DIGITS
from judgments.api.paging import MAX_PAGE_SIZE, link_with_cursor, page_size_of, read_cursor
from quorum.numeric.names import nearest_name

PAGE_PARAMETERS = ("cursor", "page_size", "ordering")


class StrictFilters(DjangoFilterBackend):
    """Filters that refuse unknown parameters, since a list would be too long if a misspelt one were ignored."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        if view.action != "list":
            return queryset
        filters = getattr(view, "filterset_class", None)
        known_filters = filters.base_filters if filters else {}
        known_parameters = [*known_filters, *PAGE_PARAMETERS]
        for name in request.query_params:
            if name not in known_parameters:
                similar_name = nearest_name(name, known_parameters, cutoff=0.0)
                raise ValidationError(
                    {name: [f"is no parameter of this list; the nearest one is {similar_name!r}."]}
                )
        for name in known_parameters:
            for problem in _parameter_problems(known_filters.get(name), request, name):
                raise ValidationError({name: [problem]})
        try:
            filtered_rows: QuerySet[Any] = super().filter_queryset(request, queryset, view)
        except ValidationError as error:
            problems = dict(cast(dict[str, Any], error.detail))
            for name in problems.keys() & known_filters.keys():
                if hint := _expected_value(known_filters[name], request, name):
                    problems[name] = [hint]
            raise ValidationError(problems) from None
        return filtered_rows


def _expected_value(filter_field: Filter, request: Request, name: str) -> str:
    """Return a message about what a filter of choices or of rows expects instead of its value; "" for other filters."""
    text = request.query_params.get(name, "")
    if isinstance(filter_field, ModelChoiceFilter):
        key_field = filter_field.extra.get("to_field_name")
        if key_field is None:
            return f"{text[:80]!r} is unknown; expected the id of a row that you may see."
        return unknown_value(text, filter_field.get_queryset(request).values_list(key_field, flat=True))
    if isinstance(filter_field, ChoiceFilter | TypedChoiceFilter):
        return unknown_value(text, [value for value, _ in filter_field.extra["choices"]])
    return ""


def _parameter_problems(filter_field: Filter | None, request: Request, name: str) -> Iterator[str]:
    """Yield messages about values that the filter's field accepts, but the OpenAPI document excludes."""
    values = request.query_params.getlist(name)
    if len(values) > 1:
        yield "is given twice; expected it once."
    for text in values:
        if isinstance(filter_field, NumberFilter) and not re.fullmatch(f"-?{ID_REGEX}", text):
            yield f"must be a whole number of at most {MAX_ID_DIGITS} digits."
        if isinstance(filter_field, ChoiceFilter | TypedChoiceFilter | ModelChoiceFilter) and not text:
            yield "is empty; expected one of its values."


class _Cursor(NamedTuple):
    """The row before the page or, if ``is_backward``, the row after it.

    Attributes:
        value: the row's value of the field by which the list is ordered.
        pk: the row's id.
    """

    is_backward: bool
    value: Any
    pk: Any


class CursorPages(BasePagination):
    """Keyset pagination: a cursor names the last row before the page, so all pages are equally fast.

    A view's ``orderings`` map public names to fields that are never null. The first ordering is the default. Rows with
    equal values are ordered by id, so that no row is lost between pages.
    """

    def paginate_queryset(  # type: ignore[override]  # only for querysets, since a list has no keys
        self, queryset: QuerySet[Any], request: Request, view: Any = None
    ) -> list[Any]:
        self.request = request
        self.size = page_size_of(request)
        name, is_descending = self._read_ordering(request, view)
        field = view.orderings[name]
        cursor = self._read_cursor(request, queryset, field)
        is_backward = cursor is not None and cursor.is_backward
        # a page before the cursor is read in the opposite order, from the cursor on, and turned round
        sign, lookup = ("-", "lt") if is_descending != is_backward else ("", "gt")
        if cursor is not None:
            queryset = self._rows_beyond(cursor, queryset, field, lookup)
        ordering = [f"{sign}pk"] if field == "pk" else [f"{sign}{field}", f"{sign}pk"]
        # one row more than the page, to know whether there are more
        rows = list(queryset.order_by(*ordering)[: self.size + 1])
        has_more = len(rows) > self.size
        page = rows[: self.size]
        if is_backward:
            page.reverse()
        # a page that is read backward from a cursor has the cursor's row after it; another page has it before it
        self.has_next = bool(page) and (is_backward or has_more)
        self.has_previous = bool(page) and (has_more if is_backward else cursor is not None)
        self.edge_keys = (self._key(page[0], field), self._key(page[-1], field)) if page else None
        return page

    @staticmethod
    def _rows_beyond(cursor: _Cursor, queryset: QuerySet[Any], field: str, lookup: str) -> QuerySet[Any]:
        """Return the rows beyond the cursor: with larger keys for the lookup "gt", with smaller ones for "lt"."""
        if field == "pk":
            return queryset.filter(**{f"pk__{lookup}": cursor.pk})
        has_same_value = Q(**{field: cursor.value, f"pk__{lookup}": cursor.pk})
        is_beyond = Q(**{f"{field}__{lookup}": cursor.value}) | has_same_value
        # the first condition follows from the second, but lets the database use an index
        return queryset.filter(Q(**{f"{field}__{lookup}e": cursor.value}) & is_beyond)

    def get_paginated_response(self, data: Any) -> Response:
        return Response(
            {
                "next": self._link(is_backward=False) if self.has_next else None,
                "previous": self._link(is_backward=True) if self.has_previous else None,
                "results": data,
            }
        )

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        link = {"type": "string", "format": "uri", "nullable": True}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": link, "previous": link, "results": schema},
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        orderings: list[str] = []
        for name in view.orderings:
            orderings += [name, f"-{name}"]
        parameters: tuple[tuple[str, dict[str, Any], str], ...] = (
            ("cursor", {"type": "string"}, "Position in the list, from `next` or `previous` of a page."),
            ("page_size", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE}, "Rows on a page."),
            ("ordering", {"type": "string", "enum": orderings}, "Field to order by; `-` reverses the order."),
        )
        return [
            {"name": name, "in": "query", "required": False, "schema": schema, "description": description}
            for name, schema, description in parameters
        ]

    def _read_ordering(self, request: Request, view: Any) -> tuple[str, bool]:
        """Return the name of the ordering, and whether it is descending."""
        text = request.query_params.get("ordering", next(iter(view.orderings)))
        name = text.removeprefix("-")
        if name not in view.orderings:
            raise ValidationError(
                {"ordering": [f"must be one of {', '.join(view.orderings)}, or - before one."]}
            )
        return name, text.startswith("-")

    def _read_cursor(self, request: Request, queryset: QuerySet[Any], field: str) -> _Cursor | None:
        """Return the cursor in the address; None if it has none. Raise ValidationError for an invalid cursor."""
        cursor = request.query_params.get("cursor")
        if cursor is None:
            return None
        try:
            is_backward, value, pk = read_cursor(cursor)
            fields = queryset.model._meta
            pk = fields.pk.to_python(pk)
            column = fields.pk if field == "pk" else fields.get_field(field)
            value = column.to_python(value)
            # raises if the time is too early to be stored in the database
            column.get_db_prep_value(value, connections[queryset.db])
            if pk is None or value is None or "\x00" in str(value):
                raise ValueError("a cursor without a place, or with one that no database holds")
            return _Cursor(bool(is_backward), value, pk)
        except (ValueError, TypeError, OverflowError, FieldValidationError):
            raise ValidationError(
                {"cursor": ["is none that this list gave out; start without one."]}
            ) from None

    @staticmethod
    def _key(row: Any, field: str) -> tuple[str, str]:
        """Return the row's value of the ordering and its id, as texts for a cursor."""
        row_id = str(row.pk)
        if field == "pk":
            return row_id, row_id
        return row._meta.get_field(field).value_to_string(row), row_id

    def _link(self, *, is_backward: bool) -> str:
        """Return a link to the page after the last row or, if ``is_backward``, before the first row."""
        assert self.edge_keys is not None  # an empty page has no next or previous page
        first_key, last_key = self.edge_keys
        edge_key = first_key if is_backward else last_key
        return link_with_cursor(self.request, [int(is_backward), *edge_key])
