"""The images and captions of datasets, the candidate pairs of studies, who has which role, and the log."""

from __future__ import annotations

from rest_framework import serializers

from judgments.api.resources import Related, Resource, RowSerializer, dataset_filter, filters_of, study_filter
from judgments.models import CandidatePair, Caption, Item, Output, StudyEvent, StudyRole


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


class PairSerializer(RowSerializer[CandidatePair]):
    """Two candidates that a study compares."""

    study = Related("study.slug")
    pair = Related("key")
    image = Related("item.name")
    first = Related("first.key")
    second = Related("second.key")
    first_text = Related("first.text")
    second_text = Related("second.text")
    first_system = Related("first_system.name", optional=True)
    second_system = Related("second_system.name", optional=True)

    class Meta:
        model = CandidatePair
        fields = [
            *("id", "study", "pair", "position", "kind", "image", "first", "second", "first_text"),
            *("second_text", "first_system", "second_system"),
        ]


class PairResource(Resource):
    """Candidate pairs with the systems behind them: never shown to workers."""

    reading = "judgments.view_candidatepair"
    queryset = CandidatePair.objects.select_related(
        "study", "item", "first", "second", "first_system", "second_system"
    )
    serializer_class = PairSerializer
    filterset_class = filters_of(CandidatePair, "kind", study=study_filter(), pair="key", image="item__name")
    orderings = {"id": "pk", "position": "position"}


class EventSerializer(RowSerializer[StudyEvent]):
    """An entry of a study's log."""

    study = Related("slug")
    details = serializers.DictField(read_only=True)
    by = Related("by.username", optional=True)

    class Meta:
        model = StudyEvent
        fields = ["id", "study", "what", "words", "why", "details", "by", "at"]


class EventResource(Resource):
    """Who did what to a study, when and why; nothing in it is ever changed."""

    queryset = StudyEvent.objects.select_related("by")
    serializer_class = EventSerializer
    filterset_class = filters_of(StudyEvent, "what", study="slug", by="by__username")
    orderings = {"id": "pk", "at": "at"}


class RoleSerializer(RowSerializer[StudyRole]):
    """A person's part in a study."""

    study = Related("study.slug")
    user = Related("user.username")
    given_by = Related("given_by.username", optional=True)

    class Meta:
        model = StudyRole
        fields = ["id", "study", "user", "role", "given_by", "given_at"]


class RoleResource(Resource):
    """Who may do what with a study."""

    queryset = StudyRole.objects.select_related("study", "user", "given_by")
    serializer_class = RoleSerializer
    filterset_class = filters_of(StudyRole, "role", study=study_filter(), user="user__username")
