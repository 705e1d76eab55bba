"""The images and captions of datasets, the candidate pairs of studies, who has which role, and the log."""

from __future__ import annotations

import django_filters as filters
from rest_framework import serializers

from judgments.api.resources import Filters, Resource, dataset_filter, study_filter
from judgments.models import CandidatePair, Caption, Item, Output, StudyEvent, StudyRole


class ItemSerializer(serializers.ModelSerializer[Item]):
    """An image with what stands beside it."""

    dataset = serializers.CharField(source="dataset.name", read_only=True)
    boxes = serializers.ListField(child=serializers.DictField(), read_only=True)
    url = serializers.CharField(
        read_only=True, help_text="Where the picture is on another host; empty where it is kept here."
    )

    class Meta:
        model = Item
        fields = ["id", "dataset", "name", "position", "split", "url", "text", "boxes"]
        read_only_fields = fields


class ItemFilters(Filters):
    """Of images."""

    dataset = dataset_filter()

    class Meta:
        model = Item
        fields = ["dataset", "name", "split"]


class ItemResource(Resource):
    """Images of datasets."""

    reading, study_path, several = "judgments.view_item", "dataset__studies", True
    queryset = Item.objects.select_related("dataset")
    serializer_class = ItemSerializer
    filterset_class = ItemFilters
    orderings = {"id": "pk", "position": "position"}


class CaptionSerializer(serializers.ModelSerializer[Caption]):
    """A sentence; the image is that of a reference."""

    dataset = serializers.CharField(source="dataset.name", read_only=True)
    image = serializers.CharField(source="item.name", default=None, allow_null=True, read_only=True)

    class Meta:
        model = Caption
        fields = ["id", "dataset", "key", "text", "role", "image", "position"]
        read_only_fields = fields


class CaptionFilters(Filters):
    """Of captions."""

    dataset = dataset_filter()
    image = filters.CharFilter(field_name="item__name")

    class Meta:
        model = Caption
        fields = ["dataset", "key", "role", "image"]


class CaptionResource(Resource):
    """References, and candidates once each."""

    reading, study_path, several = "judgments.view_caption", "dataset__studies", True
    queryset = Caption.objects.select_related("dataset", "item")
    serializer_class = CaptionSerializer
    filterset_class = CaptionFilters


class OutputSerializer(serializers.ModelSerializer[Output]):
    """Who proposed what for which image."""

    dataset = serializers.CharField(source="system.dataset.name", read_only=True)
    system = serializers.CharField(source="system.name", read_only=True)
    image = serializers.CharField(source="item.name", read_only=True)
    caption = serializers.CharField(source="caption.key", read_only=True)
    text = serializers.CharField(source="caption.text", read_only=True)

    class Meta:
        model = Output
        fields = ["id", "dataset", "system", "task", "image", "caption", "text", "rank", "score"]
        read_only_fields = fields


class OutputFilters(Filters):
    """Of outputs."""

    dataset = filters.CharFilter(field_name="system__dataset__name")
    system = filters.CharFilter(field_name="system__name")
    image = filters.CharFilter(field_name="item__name")

    class Meta:
        model = Output
        fields = ["dataset", "system", "task", "image", "rank"]


class OutputResource(Resource):
    """What systems proposed."""

    reading, study_path, several = "judgments.view_output", "system__dataset__studies", True
    queryset = Output.objects.select_related("system__dataset", "item", "caption")
    serializer_class = OutputSerializer
    filterset_class = OutputFilters


class PairSerializer(serializers.ModelSerializer[CandidatePair]):
    """Two candidates that a study compares."""

    study = serializers.CharField(source="study.slug", read_only=True)
    pair = serializers.CharField(source="key", read_only=True)
    image = serializers.CharField(source="item.name", read_only=True)
    first = serializers.CharField(source="first.key", read_only=True)
    second = serializers.CharField(source="second.key", read_only=True)
    first_text = serializers.CharField(source="first.text", read_only=True)
    second_text = serializers.CharField(source="second.text", read_only=True)
    first_system = serializers.CharField(
        source="first_system.name", default=None, allow_null=True, read_only=True
    )
    second_system = serializers.CharField(
        source="second_system.name", default=None, allow_null=True, read_only=True
    )

    class Meta:
        model = CandidatePair
        fields = [
            *("id", "study", "pair", "position", "kind", "image", "first", "second", "first_text"),
            *("second_text", "first_system", "second_system"),
        ]
        read_only_fields = fields


class PairFilters(Filters):
    """Of candidate pairs."""

    study = study_filter()
    pair = filters.CharFilter(field_name="key")
    image = filters.CharFilter(field_name="item__name")

    class Meta:
        model = CandidatePair
        fields = ["study", "pair", "kind", "image"]


class PairResource(Resource):
    """Candidate pairs with the systems behind them: never shown to workers."""

    reading = "judgments.view_candidatepair"
    queryset = CandidatePair.objects.select_related(
        "study", "item", "first", "second", "first_system", "second_system"
    )
    serializer_class = PairSerializer
    filterset_class = PairFilters
    orderings = {"id": "pk", "position": "position"}


class EventSerializer(serializers.ModelSerializer[StudyEvent]):
    """An entry of a study's log."""

    study = serializers.CharField(source="slug", read_only=True)
    details = serializers.DictField(read_only=True)
    by = serializers.CharField(source="by.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = StudyEvent
        fields = ["id", "study", "what", "words", "why", "details", "by", "at"]
        read_only_fields = fields


class EventFilters(Filters):
    """Of the log."""

    study = filters.CharFilter(field_name="slug")
    by = filters.CharFilter(field_name="by__username")

    class Meta:
        model = StudyEvent
        fields = ["study", "what", "by"]


class EventResource(Resource):
    """Who did what to a study, when and why; nothing in it is ever changed."""

    queryset = StudyEvent.objects.select_related("by")
    serializer_class = EventSerializer
    filterset_class = EventFilters
    orderings = {"id": "pk", "at": "at"}


class RoleSerializer(serializers.ModelSerializer[StudyRole]):
    """A person's part in a study."""

    study = serializers.CharField(source="study.slug", read_only=True)
    user = serializers.CharField(source="user.username", read_only=True)
    given_by = serializers.CharField(
        source="given_by.username", default=None, allow_null=True, read_only=True
    )

    class Meta:
        model = StudyRole
        fields = ["id", "study", "user", "role", "given_by", "given_at"]
        read_only_fields = fields


class RoleFilters(Filters):
    """Of roles."""

    study = study_filter()
    user = filters.CharFilter(field_name="user__username")

    class Meta:
        model = StudyRole
        fields = ["study", "user", "role"]


class RoleResource(Resource):
    """Who may do what with a study."""

    queryset = StudyRole.objects.select_related("study", "user", "given_by")
    serializer_class = RoleSerializer
    filterset_class = RoleFilters
