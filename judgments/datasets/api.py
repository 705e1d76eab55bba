"""Datasets with their images, captions and systems, and what systems proposed."""

from __future__ import annotations

from django.db.models import Count, Q
from rest_framework import serializers

from judgments.api.resources import SLUG, Related, Resource, RowSerializer, dataset_filter, filters_of
from judgments.models import Caption, Dataset, Item, Output, System


class DatasetSerializer(RowSerializer[Dataset]):
    """A dataset and the number of its images."""

    images = serializers.IntegerField(read_only=True)

    class Meta:
        model = Dataset
        fields = ["name", "source_format", "images", "attribution", "notes", "fingerprint", "created_at"]


class DatasetResource(Resource):
    """Sets of images with references."""

    reading, study_path, several = "judgments.view_dataset", "studies", True
    queryset = Dataset.objects.annotate(images=Count("items"))
    serializer_class = DatasetSerializer
    filterset_class = filters_of(Dataset, "name", "source_format")
    orderings = {"name": "name", "created_at": "created_at"}
    lookup_field, lookup_value_regex = "name", SLUG


class SystemSerializer(RowSerializer[System]):
    """A system and the number of its captions."""

    dataset = Related("dataset.name")
    captions = serializers.IntegerField(read_only=True)

    class Meta:
        model = System
        fields = ["id", "dataset", "name", "human", "captions"]


class SystemResource(Resource):
    """Whatever produced candidates."""

    reading, study_path, several = "judgments.view_system", "dataset__studies", True
    queryset = System.objects.select_related("dataset").annotate(
        captions=Count("outputs", filter=Q(outputs__task=Output.Task.ANNOTATION))
    )
    serializer_class = SystemSerializer
    filterset_class = filters_of(System, "name", "human", dataset=dataset_filter())
    orderings = {"id": "pk", "name": "name"}


class ItemSerializer(RowSerializer[Item]):
    """An image with what stands beside it."""

    dataset = Related("dataset.name")
    boxes = serializers.ListField(child=serializers.DictField(), read_only=True)
    url = serializers.CharField(
        read_only=True, help_text="Where the picture is on another host; empty where it is kept here."
    )

    class Meta:
        model = Item
        fields = ["id", "dataset", "name", "position", "split", "url", "text", "boxes"]


class ItemResource(Resource):
    """Images of datasets."""

    reading, study_path, several = "judgments.view_item", "dataset__studies", True
    queryset = Item.objects.select_related("dataset")
    serializer_class = ItemSerializer
    filterset_class = filters_of(Item, "name", "split", dataset=dataset_filter())
    orderings = {"id": "pk", "position": "position"}


class CaptionSerializer(RowSerializer[Caption]):
    """A sentence; the image is that of a reference."""

    dataset = Related("dataset.name")
    image = Related("item.name", optional=True)

    class Meta:
        model = Caption
        fields = ["id", "dataset", "key", "text", "role", "image", "position"]


class CaptionResource(Resource):
    """References, and candidates once each."""

    reading, study_path, several = "judgments.view_caption", "dataset__studies", True
    queryset = Caption.objects.select_related("dataset", "item")
    serializer_class = CaptionSerializer
    filterset_class = filters_of(Caption, "key", "role", dataset=dataset_filter(), image="item__name")


class OutputSerializer(RowSerializer[Output]):
    """Who proposed what for which image."""

    dataset = Related("system.dataset.name")
    system = Related("system.name")
    image = Related("item.name")
    caption = Related("caption.key")
    text = Related("caption.text")

    class Meta:
        model = Output
        fields = ["id", "dataset", "system", "task", "image", "caption", "text", "rank", "score"]


class OutputResource(Resource):
    """What systems proposed."""

    reading, study_path, several = "judgments.view_output", "system__dataset__studies", True
    queryset = Output.objects.select_related("system__dataset", "item", "caption")
    serializer_class = OutputSerializer
    filterset_class = filters_of(
        Output, "task", "rank", dataset="system__dataset__name", system="system__name", image="item__name"
    )
