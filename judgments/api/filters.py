"""The filters of lists in the API: fields of a model, studies and datasets, and texts of related rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import django_filters as filters
from django import forms
from django.db import models
from django.db.models import Q, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework.request import Request

from judgments.access.permissions import limited_token_of, studies_of
from judgments.access.visible_rows import study_lookups_of, visible_rows
from judgments.models import Dataset, Study


@extend_schema_field(OpenApiTypes.BOOL)
class TrueOrFalse(filters.TypedChoiceFilter):
    """A filter that takes ``true`` or ``false``, and refuses other words."""

    def __init__(self, **options: Any) -> None:
        choices = (("true", "true"), ("false", "false"))
        super().__init__(**{"choices": choices, "coerce": lambda text: text == "true", **options})


@extend_schema_field(OpenApiTypes.INT)
class WholeNumber(filters.NumberFilter):
    field_class = forms.IntegerField


class RowFilters(filters.FilterSet):
    """The filters of a list. Related rows are offered only if the requester may see them."""

    # The classes of filters, by class of model field (django-filter). "extra" returns further arguments of the filter,
    # of which a function as `queryset` is called with the request.
    FILTER_DEFAULTS = {
        **filters.FilterSet.FILTER_DEFAULTS,
        models.ForeignKey: {
            "filter_class": filters.ModelChoiceFilter,
            "extra": lambda field: {"queryset": partial(_visible_rows_of, field.remote_field.model)},
        },
        models.BooleanField: {"filter_class": TrueOrFalse},
        **{
            field: {"filter_class": WholeNumber}
            for field, options in filters.FilterSet.FILTER_DEFAULTS.items()
            if issubclass(field, models.IntegerField) and options["filter_class"] is filters.NumberFilter
        },
    }


def _visible_rows_of(model: type[models.Model], request: Request | None) -> QuerySet[Any]:
    """Return the rows that a filter may name.

    The error for another row is that of a row that does not exist, so that responses do not reveal it.
    """
    if request is None:
        return model._default_manager.none()
    rows = visible_rows(model._default_manager.all(), request.user)
    token = limited_token_of(request)
    if token is None:
        return rows
    is_in_studies = Q(pk__in=[])  # matches no row, until a lookup is added
    for lookup in study_lookups_of(model):
        is_in_studies |= Q(**{f"{lookup}__in": token.studies.order_by().values("pk")})
    return rows.filter(is_in_studies)


def filters_of(
    model: type[models.Model], *fields: str, **named_filters: str | filters.Filter
) -> type[filters.FilterSet]:
    """Return the filters of a list: one for each of the model's ``fields``, and further ones by their names in the API.

    A lookup, such as ``"worker__name"``, stands for a filter that compares this related field with a text.
    """
    members = {
        name: filters.CharFilter(field_name=named_filter) if isinstance(named_filter, str) else named_filter
        for name, named_filter in named_filters.items()
    }
    meta = type("Meta", (), {"model": model, "fields": [*named_filters, *fields]})
    return type(f"{model.__name__}Filters", (RowFilters,), {**members, "Meta": meta})


def study_filter(**options: Any) -> filters.ModelChoiceFilter:
    """Return a filter by study, for which an unknown or invisible study is an error."""
    return filters.ModelChoiceFilter(queryset=_studies, to_field_name="slug", **options)


def _studies(request: Request | None) -> QuerySet[Study]:
    return Study.objects.none() if request is None else studies_of(request)


def dataset_filter() -> filters.ModelChoiceFilter:
    """Return a filter by dataset, for which an unknown or invisible dataset is an error."""
    return filters.ModelChoiceFilter(queryset=_datasets, to_field_name="name")


def _datasets(request: Request | None) -> QuerySet[Dataset]:
    if request is None:
        return Dataset.objects.none()
    rows, token = Dataset.objects.visible_to(request.user), limited_token_of(request)
    if token is None:
        return rows
    return rows.filter(pk__in=token.studies.order_by().values("dataset"))
