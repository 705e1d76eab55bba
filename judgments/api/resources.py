"""The base classes of resources and of their serializers in the API."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from django.core.exceptions import PermissionDenied
from django.db import models
from drf_spectacular.utils import OpenApiResponse
from rest_framework import mixins, serializers
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from common.parameters import PlainNumberField
from common.rows.ids import ID_REGEX
from judgments.access.permissions import limited_token_of, staff_of
from judgments.models import Dataset
from judgments.models.fields import NumberField as NumberColumn
from judgments.studies.studies import find_dataset

Row = TypeVar("Row", bound=models.Model)
SLUG = "[-a-zA-Z0-9_]+"
COUNTING_RESPONSE = OpenApiResponse(description="A job is counting. Ask again after the time in Retry-After.")


def dataset_for(request: Request, name: str) -> Dataset:
    """Return a dataset that the request's account may read. A token that is limited to studies cannot read one."""
    if limited_token_of(request) is not None:
        raise PermissionDenied("A token of some studies reads no datasets.")
    return find_dataset(name, user=staff_of(request))


class RowSerializer(serializers.ModelSerializer[Row]):
    """The base of serializers that only read rows."""

    serializer_field_mapping = {
        **serializers.ModelSerializer.serializer_field_mapping,
        NumberColumn: PlainNumberField,  # whole numbers as 3 instead of 3.0
    }

    def get_extra_kwargs(self) -> dict[str, Any]:
        return {name: {"read_only": True} for name in self.Meta.fields}


class Related(serializers.CharField):
    """A text of a related row; null if it is ``optional`` and there is no such row."""

    def __init__(self, source: str, *, optional: bool = False) -> None:
        options: dict[str, Any] = {"default": None, "allow_null": True} if optional else {}
        super().__init__(source=source, read_only=True, **options)


class Resource(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Any]):
    """A read-only resource: a list in pages, and single rows. ``access.permissions`` reads most of the attributes.

    Attributes:
        read_permission: the permission to read all rows.
        study_path: the lookup from a row to its study; a role in the study allows to read the row.
        has_several_studies: whether a row can belong to several studies.
        scope: the scope that a token needs, without the verb.
        published: whether everybody may read some of the rows.
        orderings: the fields to order by, by public name; the first is the default.
    """

    read_permission: ClassVar[str] = "judgments.view_study"
    study_path: ClassVar[str] = "study"
    has_several_studies: ClassVar[bool] = False
    scope: ClassVar[str] = "studies"
    published: ClassVar[bool] = False
    orderings: ClassVar[dict[str, str]] = {"id": "pk"}
    lookup_value_regex = ID_REGEX
