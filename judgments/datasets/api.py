"""The API resources of datasets: their images, captions and systems, the outputs of systems, and people's roles."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from judgments.access.dataset_roles import has_role
from judgments.access.permissions import limited_token_of, staff_of
from judgments.api.filters import dataset_filter, filters_of
from judgments.api.resources import SLUG, Related, Resource, RowSerializer
from judgments.datasets.operations import OPERATIONS, DatasetOperation
from judgments.models import Caption, Dataset, DatasetRole, Item, Output, System


class DatasetSerializer(RowSerializer[Dataset]):
    """A dataset and the number of its images."""

    images = serializers.IntegerField(read_only=True)
    notes = serializers.SerializerMethodField(help_text="`sentences`: what the import noted about the data.")

    class Meta:
        model = Dataset
        fields = [
            "name", "source_format", "images", "attribution", "notes", "fingerprint", "sharing", "created_at",
        ]  # fmt: skip

    def get_notes(self, dataset: Any) -> dict[str, Any]:
        """Return only the sentences; other notes name studies and unpublished systems."""
        return {name: value for name, value in dataset.notes.items() if name == "sentences"}


def dataset_action(operation: DatasetOperation) -> Any:
    """Return the action that does an operation: POST /api/datasets/{name}/<operation>/."""

    def carry_out(view: Resource, request: Request, name: str) -> Response:
        dataset = view.get_object()
        if limited_token_of(request) is not None:  # a token for some studies may not change datasets
            raise PermissionDenied
        if operation.role and not has_role(request.user, dataset, operation.role):
            raise PermissionDenied
        values = operation.parameters.read(request.data)
        operation.carry_out(dataset=dataset, by=staff_of(request), **values)
        return Response(view.get_serializer(view.get_queryset().get(pk=dataset.pk)).data)

    carry_out.__name__, carry_out.__doc__ = operation.name.replace("-", "_"), operation.description
    describe = extend_schema(
        request=operation.parameters,
        responses={200: DatasetSerializer, 409: OpenApiResponse(description="Not possible now.")},
        summary=operation.summary,
        description=operation.description,
    )
    return describe(action(detail=True, methods=["post"], url_path=operation.name)(carry_out))


def readable_by_all(resource: Any) -> Any:
    """Declare in the schema that the resource can be read without signing in."""
    auth: Any = [{}, {"cookieAuth": []}, {"token": []}]  # nothing, a session or a token
    return extend_schema_view(list=extend_schema(auth=auth), retrieve=extend_schema(auth=auth))(resource)


@readable_by_all
class DatasetRowResource(Resource):
    """A resource of rows of datasets. Everybody may read the rows of datasets that are open to everybody.

    ``dataset_path`` is the lookup from a row to its dataset.
    """

    read_permission, published = "judgments.view_dataset", True
    dataset_path = "dataset"


class DatasetResource(DatasetRowResource):
    """Datasets: sets of images with references."""

    dataset_path = "pk"
    queryset = Dataset.objects.annotate(images=Count("items"))
    serializer_class = DatasetSerializer
    filterset_class = filters_of(Dataset, "name", "source_format", "sharing")
    orderings = {"name": "name", "created_at": "created_at"}
    lookup_field, lookup_value_regex = "name", SLUG

    share = dataset_action(OPERATIONS["share"])
    give_role = dataset_action(OPERATIONS["give-role"])
    take_role = dataset_action(OPERATIONS["take-role"])
    publish = dataset_action(OPERATIONS["publish"])
    scale_pictures = dataset_action(OPERATIONS["scale-pictures"])


class DatasetRoleSerializer(RowSerializer[DatasetRole]):
    """A person's role in a dataset."""

    dataset = Related("dataset.name")
    user = Related("user.username")
    given_by = Related("given_by.username", optional=True)

    class Meta:
        model = DatasetRole
        fields = ["id", "dataset", "user", "role", "given_by", "given_at"]


class DatasetRoleResource(Resource):
    """The roles that people have in datasets."""

    read_permission, dataset_path = "judgments.view_dataset", "dataset"
    queryset = DatasetRole.objects.select_related("dataset", "user", "given_by")
    serializer_class = DatasetRoleSerializer
    filterset_class = filters_of(DatasetRole, "role", dataset=dataset_filter(), user="user__username")


class SystemSerializer(RowSerializer[System]):
    """A system, and the number of captions that it proposed for images."""

    dataset = Related("dataset.name")
    captions = serializers.IntegerField(read_only=True)

    class Meta:
        model = System
        fields = ["id", "dataset", "name", "human", "private", "captions"]


class SystemResource(DatasetRowResource):
    """Systems, whose outputs are candidates."""

    queryset = System.objects.select_related("dataset").annotate(
        captions=Count("outputs", filter=Q(outputs__task=Output.Task.ANNOTATION))
    )
    serializer_class = SystemSerializer
    filterset_class = filters_of(System, "name", "human", "private", dataset=dataset_filter())
    orderings = {"id": "pk", "name": "name"}


class ItemSerializer(RowSerializer[Item]):
    """An image of a dataset."""

    dataset = Related("dataset.name")
    boxes = serializers.ListField(
        child=serializers.DictField(), read_only=True, help_text="Boxes: {id, label, x, y, width, height}."
    )
    url = serializers.CharField(read_only=True, help_text="Empty unless the picture is on another server.")

    class Meta:
        model = Item
        fields = ["id", "dataset", "name", "position", "split", "url", "text", "boxes"]


class ItemResource(DatasetRowResource):
    """Images of datasets."""

    queryset = Item.objects.select_related("dataset")
    serializer_class = ItemSerializer
    filterset_class = filters_of(Item, "name", "split", dataset=dataset_filter())
    orderings = {"id": "pk", "position": "position"}


class CaptionSerializer(RowSerializer[Caption]):
    """A caption. A reference has an image; a candidate has none, since several images can share it."""

    dataset = Related("dataset.name")
    image = Related("item.name", optional=True)

    class Meta:
        model = Caption
        fields = ["id", "dataset", "key", "text", "role", "image", "position"]


class CaptionResource(DatasetRowResource):
    """References and candidates. A candidate is listed once, even if several systems proposed it."""

    queryset = Caption.objects.select_related("dataset", "item")
    serializer_class = CaptionSerializer
    filterset_class = filters_of(Caption, "key", "role", dataset=dataset_filter(), image="item__name")


class OutputSerializer(RowSerializer[Output]):
    """A caption that a system proposed for an image, or an image that it found for a caption."""

    dataset = Related("system.dataset.name")
    system = Related("system.name")
    image = Related("item.name")
    caption = Related("caption.key")
    text = Related("caption.text")

    class Meta:
        model = Output
        fields = ["id", "dataset", "system", "task", "image", "caption", "text", "rank", "score"]


class OutputResource(DatasetRowResource):
    """Outputs of systems."""

    dataset_path = "system__dataset"
    queryset = Output.objects.select_related("system__dataset", "item", "caption")
    serializer_class = OutputSerializer
    filterset_class = filters_of(
        Output, "task", "rank", dataset="system__dataset__name", system="system__name", image="item__name"
    )
