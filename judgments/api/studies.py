"""Studies over HTTP, with their units, candidate pairs and HITs."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import django_filters as filters
from django.db.models import Prefetch, QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.settings import api_settings

from judgments.access.permissions import staff_of
from judgments.api.bodies import TOMLParser, body_of, toml_of
from judgments.api.filters import RowFilters, TrueOrFalse, dataset_filter, filters_of, study_filter
from judgments.api.resources import SLUG, Related, Resource, RowSerializer
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import read_toml
from judgments.design.saved_presets import load_saved_presets
from judgments.models import HIT, CandidatePair, HITUnit, Study, Unit
from judgments.studies.studies import create_study


class StudySerializer(RowSerializer[Study]):
    """A study with its whole design."""

    dataset = Related("dataset.name")
    protocol = serializers.CharField(read_only=True)
    design = serializers.DictField(read_only=True, help_text="The complete study file.")
    notes = serializers.DictField(read_only=True, help_text="Counts and sentences about the sample of items.")

    class Meta:
        model = Study
        fields = [
            "slug", "name", "dataset", "protocol", "state", "source", "simulated", "design", "notes",
            "created_at", "generated_at", "opened_at", "closed_at",
        ]  # fmt: skip


class DesignSerializer(serializers.Serializer[Any]):
    """The main keys of a study file. docs/study-files.md describes all of them."""

    name = serializers.CharField(max_length=200)
    dataset = serializers.CharField()
    protocol = serializers.CharField(required=False, help_text="Required unless `preset` gives it.")
    slug = serializers.CharField(required=False)
    preset = serializers.CharField(required=False)
    seed = serializers.IntegerField(required=False)
    judgments_per_unit = serializers.IntegerField(required=False)
    sampling = serializers.DictField(required=False, help_text="Which images and captions are judged.")
    controls = serializers.DictField(required=False, help_text="Check questions.")
    filter = serializers.DictField(required=False, help_text="Which captions are judged, by Bleu-pre.")
    access = serializers.DictField(required=False, help_text="Who may take part.")
    crowd = serializers.DictField(required=False, help_text="Crowd, pay, and time for a page of work.")
    registration = serializers.DictField(required=False, help_text="The plan, fixed once it is registered.")


@extend_schema_view(
    create=extend_schema(
        request=DesignSerializer,
        responses={201: StudySerializer, 409: OpenApiResponse(description="The slug is taken.")},
        description="Create a draft from a design: the study file as JSON, or as TOML (`application/toml`).",
    )
)
class StudyResource(mixins.CreateModelMixin, Resource):
    """Studies."""

    read_permission, study_path = "judgments.view_study", "pk"
    queryset = Study.objects.select_related("dataset")
    serializer_class = StudySerializer
    filterset_class = filters_of(Study, "protocol", "state", "source", "simulated", dataset=dataset_filter())
    orderings = {"created_at": "created_at", "slug": "slug", "name": "name"}
    lookup_field, lookup_value_regex = "slug", SLUG
    parser_classes = [*cast(list[type[BaseParser]], api_settings.DEFAULT_PARSER_CLASSES), TOMLParser]
    needed_permissions: ClassVar[dict[str, str]] = {"create": "judgments.add_study"}

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Store a design as a draft."""
        body = body_of(request)
        saved_presets = load_saved_presets()
        toml = toml_of(body)
        design = (
            make_design(body, saved_presets=saved_presets)
            if toml is None
            else read_toml(toml, saved_presets=saved_presets)
        )
        study = create_study(design=design, user=staff_of(request))
        address = reverse("api:studies-detail", args=[study.slug], request=request)
        return Response(
            self.get_serializer(study).data, status=status.HTTP_201_CREATED, headers={"Location": address}
        )


class UnitSerializer(RowSerializer[Unit]):
    """A unit with the keys and texts of its reference and candidates.

    Keys and texts that the protocol does not use are null.
    """

    study = Related("study.slug")
    unit = Related("key")
    protocol = Related("study.protocol")
    image = Related("item.name")
    reference = Related("reference.key", optional=True)
    first = Related("first.key", optional=True)
    second = Related("second.key", optional=True)
    reference_text = Related("reference.text", optional=True)
    first_text = Related("first.text", optional=True)
    second_text = Related("second.text", optional=True)
    pair = Related("pair.key", optional=True)
    struck = serializers.BooleanField(
        source="withdrawn", read_only=True, help_text="Whether the check question was withdrawn."
    )

    class Meta:
        model = Unit
        fields = [
            "id", "study", "unit", "position", "protocol", "image", "reference", "first", "second",
            "reference_text", "first_text", "second_text", "kind", "pair", "control", "expected", "filtered",
            "struck",
        ]  # fmt: skip


class UnitResource(Resource):
    """The units of studies. Participants cannot read them, since control items have their right answers."""

    read_permission = "judgments.view_unit"
    queryset = Unit.objects.select_related("study", "item", "reference", "first", "second", "pair")
    serializer_class = UnitSerializer
    filterset_class = filters_of(
        Unit,
        "kind",
        "control",
        "filtered",
        study=study_filter(),
        unit="key",
        image="item__name",
        pair="pair__key",
        struck=TrueOrFalse(field_name="withdrawn"),
    )
    orderings = {"id": "pk", "position": "position"}


class PairSerializer(RowSerializer[CandidatePair]):
    """Two candidates that a study compares, with their keys and texts."""

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
            "id", "study", "pair", "position", "kind", "image", "first", "second", "first_text",
            "second_text", "first_system", "second_system",
        ]  # fmt: skip


class PairResource(Resource):
    """Candidate pairs with the systems that gave the candidates. Participants cannot read them."""

    read_permission = "judgments.view_candidatepair"
    queryset = CandidatePair.objects.select_related(
        "study", "item", "first", "second", "first_system", "second_system"
    )
    serializer_class = PairSerializer
    filterset_class = filters_of(CandidatePair, "kind", study=study_filter(), pair="key", image="item__name")
    orderings = {"id": "pk", "position": "position"}


class HITSerializer(RowSerializer[HIT]):
    """A page of work, with the number of participants that it needs (``required``)."""

    study = Related("study.slug")
    hit = Related("key")
    units = serializers.SerializerMethodField()

    class Meta:
        model = HIT
        fields = ["id", "study", "hit", "position", "required", "open_slots", "external_id", "units"]

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_units(self, hit: Any) -> list[str]:
        """The keys of the units on the page, in order."""
        return [place.unit.key for place in hit.places.all()]


class HITFilters(RowFilters):
    study = study_filter()
    hit = filters.CharFilter(field_name="key")
    open = TrueOrFalse(method="filter_by_open_slots", label="Has open slots")

    class Meta:
        model = HIT
        fields = ["study", "hit", "open"]

    def filter_by_open_slots(self, queryset: QuerySet[HIT], name: str, value: bool) -> QuerySet[HIT]:
        return queryset.filter(open_slots__gt=0) if value else queryset.filter(open_slots=0)


class HITResource(Resource):
    """Pages of work with their units."""

    read_permission = "judgments.view_hit"
    serializer_class = HITSerializer
    filterset_class = HITFilters
    orderings = {"id": "pk", "position": "position"}

    def get_queryset(self) -> QuerySet[HIT]:
        # A place is the position of a unit on a HIT.
        places = HITUnit.objects.select_related("unit").only("hit_id", "position", "unit__key")
        places = places.order_by("position")
        return HIT.objects.select_related("study").prefetch_related(Prefetch("places", queryset=places))
