"""What the lists of this app can be narrowed by."""

from __future__ import annotations

from typing import Any

import django_filters as filters
from django import forms
from django.db import models
from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field

from judgments.models import HIT, Dataset, Job, Study, System, Unit


@extend_schema_field(OpenApiTypes.BOOL)
class TrueOrFalse(filters.TypedChoiceFilter):
    """A yes-no parameter; anything but true and false is an error, where the library would ignore it."""

    def __init__(self, **options: Any) -> None:
        choices = (("true", "true"), ("false", "false"))
        super().__init__(**{"choices": choices, "coerce": lambda text: text == "true", **options})


@extend_schema_field(OpenApiTypes.INT)
class WholeNumber(filters.NumberFilter):
    """Of a column of whole numbers; the library would look for half of one, and find nothing."""

    field_class = forms.IntegerField


class Filters(filters.FilterSet):
    """What the lists of all apps have in common."""

    FILTER_DEFAULTS = {
        **filters.FilterSet.FILTER_DEFAULTS,
        models.BooleanField: {"filter_class": TrueOrFalse},
        **{
            field: {"filter_class": WholeNumber}
            for field, given in filters.FilterSet.FILTER_DEFAULTS.items()
            if issubclass(field, models.IntegerField) and given["filter_class"] is filters.NumberFilter
        },
    }


def study_filter(**options: Any) -> filters.ModelChoiceFilter:
    """By the study's slug; an unknown one is an error, not an empty list."""
    return filters.ModelChoiceFilter(queryset=Study.objects.all(), to_field_name="slug", **options)


def dataset_filter() -> filters.ModelChoiceFilter:
    """By the dataset's name."""
    return filters.ModelChoiceFilter(queryset=Dataset.objects.all(), to_field_name="name")


class DatasetFilters(Filters):
    """Of datasets."""

    class Meta:
        model = Dataset
        fields = ["name", "source_format"]


class SystemFilters(Filters):
    """Of systems."""

    dataset = dataset_filter()

    class Meta:
        model = System
        fields = ["dataset", "name", "human"]


class StudyFilters(Filters):
    """Of studies."""

    dataset = dataset_filter()

    class Meta:
        model = Study
        fields = ["dataset", "protocol", "state", "source", "simulated"]


class UnitFilters(Filters):
    """Of units."""

    study = study_filter()
    unit = filters.CharFilter(field_name="key")
    image = filters.CharFilter(field_name="item__name")
    pair = filters.CharFilter(field_name="pair__key")

    class Meta:
        model = Unit
        fields = ["study", "unit", "image", "kind", "pair", "control", "filtered", "struck"]


class HITFilters(Filters):
    """Of HITs."""

    study = study_filter()
    hit = filters.CharFilter(field_name="key")
    open = TrueOrFalse(method="with_places", label="Has places left")

    class Meta:
        model = HIT
        fields = ["study", "hit", "open"]

    def with_places(self, queryset: QuerySet[HIT], name: str, value: bool) -> QuerySet[HIT]:
        """HITs that still want workers, or those that want none."""
        return queryset.filter(open_slots__gt=0) if value else queryset.filter(open_slots=0)


class JobFilters(Filters):
    """Of jobs."""

    class Meta:
        model = Job
        fields = ["kind", "state"]
