"""The base of all resources, and those of studies, units, pairs, HITs and jobs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

import django_filters as filters
from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import Prefetch, Q, QuerySet
from django.utils.functional import cached_property
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.settings import api_settings
from rest_framework.viewsets import GenericViewSet

from judgments.access.permissions import IsStaff, may_cancel, may_retry, staff_of, studies_of, token_of
from judgments.access.roles import lookups_of, own_jobs, visible_rows
from judgments.access.tokens import scope_allows
from judgments.api.bodies import TOMLParser, body_of, toml_of
from judgments.design.reading import make_design, read_toml
from judgments.design.saved_presets import saved_presets
from judgments.jobs import cancel_job, queue_positions, retry_job, scope_of
from judgments.models import HIT, CandidatePair, Dataset, HITUnit, Job, Study, Unit
from judgments.models.jobs import of_studies
from judgments.studies.studies import create_study
from judgments.study_operations import operation_of

Row = TypeVar("Row", bound=models.Model)
SLUG = "[-a-zA-Z0-9_]+"
COUNTING = OpenApiResponse(description="A job is counting; ask again after the seconds of Retry-After.")


@extend_schema_field(OpenApiTypes.BOOL)
class TrueOrFalse(filters.TypedChoiceFilter):
    def __init__(self, **options: Any) -> None:
        choices = (("true", "true"), ("false", "false"))
        super().__init__(**{"choices": choices, "coerce": lambda text: text == "true", **options})


@extend_schema_field(OpenApiTypes.INT)
class WholeNumber(filters.NumberFilter):
    field_class = forms.IntegerField


def _visible(model: type[models.Model], request: Request | None) -> QuerySet[Any]:
    """Return the rows that a filter may name: the answer must not say that others are there."""
    if request is None:
        return model._default_manager.none()
    rows = visible_rows(model._default_manager.all(), request.user)
    token = token_of(request)
    if token is None or not token.limited:
        return rows
    of_token = Q(pk__in=[])
    for lookup in lookups_of(model):
        of_token |= Q(**{f"{lookup}__in": token.studies.order_by().values("pk")})
    return rows.filter(of_token)


class Filters(filters.FilterSet):
    FILTER_DEFAULTS = {
        **filters.FilterSet.FILTER_DEFAULTS,
        models.ForeignKey: {
            "filter_class": filters.ModelChoiceFilter,
            "extra": lambda field: {"queryset": partial(_visible, field.remote_field.model)},
        },
        models.BooleanField: {"filter_class": TrueOrFalse},
        **{
            field: {"filter_class": WholeNumber}
            for field, options in filters.FilterSet.FILTER_DEFAULTS.items()
            if issubclass(field, models.IntegerField) and options["filter_class"] is filters.NumberFilter
        },
    }


def filters_of(
    model: type[models.Model], *fields: str, **named: str | filters.Filter
) -> type[filters.FilterSet]:
    """Return the filters of a list.

    Args:
        fields: fields of the model.
        named: further filters by name; a path such as ``worker__name`` compares a text.
    """
    members = {
        name: filters.CharFilter(field_name=path) if isinstance(path, str) else path
        for name, path in named.items()
    }
    meta = type("Meta", (), {"model": model, "fields": [*named, *fields]})
    return type(f"{model.__name__}Filters", (Filters,), {**members, "Meta": meta})


def study_filter(**options: Any) -> filters.ModelChoiceFilter:
    """An unknown or invisible study is an error."""
    return filters.ModelChoiceFilter(queryset=_studies, to_field_name="slug", **options)


def dataset_filter() -> filters.ModelChoiceFilter:
    """An unknown or invisible dataset is an error."""
    return filters.ModelChoiceFilter(queryset=_datasets, to_field_name="name")


def _studies(request: Request | None) -> QuerySet[Study]:
    return Study.objects.none() if request is None else studies_of(request)


def _datasets(request: Request | None) -> QuerySet[Dataset]:
    if request is None:
        return Dataset.objects.none()
    rows, token = Dataset.objects.visible_to(request.user), token_of(request)
    if token is None or not token.limited:
        return rows
    return rows.filter(pk__in=token.studies.order_by().values("dataset"))


class HITFilters(Filters):
    study = study_filter()
    hit = filters.CharFilter(field_name="key")
    open = TrueOrFalse(method="with_places", label="Has open slots")

    class Meta:
        model = HIT
        fields = ["study", "hit", "open"]

    def with_places(self, queryset: QuerySet[HIT], name: str, value: bool) -> QuerySet[HIT]:
        return queryset.filter(open_slots__gt=0) if value else queryset.filter(open_slots=0)


class RowSerializer(serializers.ModelSerializer[Row]):
    def get_extra_kwargs(self) -> dict[str, Any]:
        return {name: {"read_only": True} for name in self.Meta.fields}


class Related(serializers.CharField):
    """A text of a related row; null if it is ``optional`` and there is no such row."""

    def __init__(self, source: str, *, optional: bool = False) -> None:
        missing: dict[str, Any] = {"default": None, "allow_null": True} if optional else {}
        super().__init__(source=source, read_only=True, **missing)


class StudySerializer(RowSerializer[Study]):
    """A study with its whole design."""

    dataset = Related("dataset.name")
    protocol = serializers.CharField(read_only=True)
    design = serializers.DictField(read_only=True, help_text="The study file, complete.")
    notes = serializers.DictField(read_only=True)

    class Meta:
        model = Study
        fields = [
            "slug", "name", "dataset", "protocol", "state", "source", "simulated", "design", "notes",
            "created_at", "generated_at", "opened_at", "closed_at",
        ]  # fmt: skip


class DesignSerializer(serializers.Serializer[Any]):
    """The study file's keys; docs/study-files.md has them all."""

    name = serializers.CharField(max_length=200)
    dataset = serializers.CharField()
    protocol = serializers.CharField(required=False, help_text="May come from the preset.")
    slug = serializers.CharField(required=False)
    preset = serializers.CharField(required=False)
    seed = serializers.IntegerField(required=False)
    judgments_per_unit = serializers.IntegerField(required=False)
    sampling = serializers.DictField(required=False)
    controls = serializers.DictField(required=False)
    filter = serializers.DictField(required=False)
    access = serializers.DictField(required=False)
    crowd = serializers.DictField(required=False)
    registration = serializers.DictField(required=False, help_text="The plan, until it is registered.")


class UnitSerializer(RowSerializer[Unit]):
    """A unit with its texts."""

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
        source="withdrawn", read_only=True, help_text="A withdrawn control item: it misled careful workers."
    )

    class Meta:
        model = Unit
        fields = [
            "id", "study", "unit", "position", "protocol", "image", "reference", "first", "second",
            "reference_text", "first_text", "second_text", "kind", "pair", "control", "expected", "filtered",
            "struck",
        ]  # fmt: skip


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
            "id", "study", "pair", "position", "kind", "image", "first", "second", "first_text",
            "second_text", "first_system", "second_system",
        ]  # fmt: skip


class HITSerializer(RowSerializer[HIT]):
    """A HIT with its units in order."""

    study = Related("study.slug")
    hit = Related("key")
    units = serializers.SerializerMethodField()

    class Meta:
        model = HIT
        fields = ["id", "study", "hit", "position", "required", "open_slots", "external_id", "units"]

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_units(self, hit: Any) -> list[str]:
        """Their ids."""
        return [position.unit.key for position in hit.places.all()]


class JobSerializer(RowSerializer[Job]):
    """A piece of long work."""

    args = serializers.DictField(read_only=True)
    by = Related("created_by.username", optional=True)
    place = serializers.SerializerMethodField(help_text="In the line of its queue, from 1, while it waits.")
    result = serializers.DictField(
        read_only=True, allow_null=True, help_text="Empty for a token that may not read what the job made."
    )

    @cached_property
    def _queue_positions(self) -> dict[int, int]:
        shown: Any = [self.instance] if self.parent is None else self.parent.instance
        return queue_positions(shown)

    def get_place(self, job: Job) -> int | None:
        return self._queue_positions.get(job.pk)

    def to_representation(self, instance: Job) -> dict[str, Any]:
        fields: dict[str, Any] = super().to_representation(instance)
        token = token_of(self.context["request"]) if "request" in self.context else None
        if fields["result"] and token and not scope_allows(token.scopes, f"{scope_of(instance.kind)}:read"):
            fields["result"] = {}
        return fields

    class Meta:
        model = Job
        fields = [
            "id", "kind", "args", "by", "queue", "state", "place", "progress", "words", "error", "result",
            "created_at", "started_at", "finished_at",
        ]  # fmt: skip


class Resource(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Any]):
    """Read alone: a list by pages, and single rows.

    ``reading`` is the permission that opens all rows, and ``study_path`` leads from a row to the study whose roles open
    it; ``scope``: the area of a token's scopes; ``published``: whether some rows are for everybody; ``orderings``:
    public name -> field, the default first.
    """

    reading: ClassVar[str] = "judgments.view_study"
    study_path: ClassVar[str] = "study"
    several: ClassVar[bool] = False
    scope: ClassVar[str] = "studies"
    published: ClassVar[bool] = False
    orderings: ClassVar[dict[str, str]] = {"id": "pk"}
    lookup_value_regex = "[0-9]{1,18}"


@extend_schema_view(
    create=extend_schema(
        request=DesignSerializer,
        responses={201: StudySerializer, 409: OpenApiResponse(description="The slug is taken.")},
        description="A study from its design: the study file as JSON, or as TOML (`application/toml`).",
    )
)
class StudyResource(mixins.CreateModelMixin, Resource):
    """Data collections."""

    reading, study_path = "judgments.view_study", "pk"
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
        saved = saved_presets()
        toml = toml_of(body)
        design = make_design(body, saved=saved) if toml is None else read_toml(toml, saved=saved)
        study = create_study(design=design, user=staff_of(request))
        address = reverse("api:studies-detail", args=[study.slug], request=request)
        return Response(
            self.get_serializer(study).data, status=status.HTTP_201_CREATED, headers={"Location": address}
        )


class UnitResource(Resource):
    """What is judged, control items with their right answers: never shown to workers."""

    reading = "judgments.view_unit"
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


class PairResource(Resource):
    """Candidate pairs with the systems behind them: never shown to workers."""

    reading = "judgments.view_candidatepair"
    queryset = CandidatePair.objects.select_related(
        "study", "item", "first", "second", "first_system", "second_system"
    )
    serializer_class = PairSerializer
    filterset_class = filters_of(CandidatePair, "kind", study=study_filter(), pair="key", image="item__name")
    orderings = {"id": "pk", "position": "position"}


class HITResource(Resource):
    """Pages of work with the units they hold."""

    reading = "judgments.view_hit"
    serializer_class = HITSerializer
    filterset_class = HITFilters
    orderings = {"id": "pk", "position": "position"}

    def get_queryset(self) -> QuerySet[HIT]:
        places = HITUnit.objects.select_related("unit").only("hit_id", "position", "unit__key")
        places = places.order_by("position")
        return HIT.objects.select_related("study").prefetch_related(Prefetch("places", queryset=places))


def changing(refused: str) -> Callable[[Any], Any]:
    """Declare an action on a job; it is a 409 when it is `refused`."""
    responses = {200: JobSerializer, 409: OpenApiResponse(description=refused)}
    return lambda do: extend_schema(request=None, responses=responses)(
        action(detail=True, methods=["post"])(do)
    )


class JobResource(Resource):
    """Long work: how far it is, and what came of it."""

    reading = "judgments.view_job"
    queryset = Job.objects.select_related("created_by")
    serializer_class = JobSerializer
    filterset_class = filters_of(Job, "kind", "queue", "state")
    orderings = {"id": "pk", "created_at": "created_at"}

    def rows_for(self, rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
        return jobs_about(rows, studies, request)

    @changing("It has ended, or others rely on it.")
    def cancel(self, request: Request, pk: str) -> Response:
        """Ends a job that waits or runs. A running one stops at its next report of progress, and stores nothing.

        It is for who asked for it, and who may change the study or dataset it is about.
        """
        return self._change(may_cancel, cancel_job)

    @changing("It neither failed nor was cancelled.")
    def retry(self, request: Request, pk: str) -> Response:
        """Lets a job that failed or was cancelled wait for its turn again.

        It is for those who may cancel it and could ask for it now.
        """
        operation = operation_of(self.get_object().kind)
        if operation is not None:
            IsStaff.check_scope(request, operation)
        return self._change(may_retry, retry_job)

    def _change(self, may: Callable[[User, Job], bool], change: Callable[[Job], None]) -> Response:
        job: Job = self.get_object()
        if not may(staff_of(self.request), job):
            raise PermissionDenied
        change(job)
        return Response(self.get_serializer(job).data)


def jobs_about(rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
    """Return jobs of visible studies; without a limited token also the person's jobs of no study."""
    token = token_of(request)
    of_visible_studies = of_studies(*studies.values_list("slug", flat=True))
    return rows.filter(
        of_visible_studies
        if token is not None and token.limited
        else of_visible_studies | own_jobs(staff_of(request))
    )
