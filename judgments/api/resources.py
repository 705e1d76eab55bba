"""The base class of API resources, the resources of studies, units, pairs, HITs and jobs, and operations over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar, cast

import django_filters as filters
from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import Prefetch, Q, QuerySet
from django.urls import URLPattern, path
from django.utils.functional import cached_property
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.serializers import BaseSerializer
from rest_framework.settings import api_settings
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from common.parameters import Parameters, PlainNumberField
from judgments.access.permissions import (
    IsStaff,
    may_cancel,
    may_retry,
    require,
    staff_of,
    studies_of,
    study_for,
    token_of,
)
from judgments.access.rights import Right
from judgments.access.tokens import scope_allows
from judgments.access.visible_rows import lookups_of, own_jobs, visible_rows
from judgments.api.bodies import TOMLParser, body_of, toml_of
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import read_toml
from judgments.design.saved_presets import saved_presets
from judgments.jobs.queues import cancel_job, queue_positions, retry_job
from judgments.jobs.registry import scope_of_kind
from judgments.models import HIT, CandidatePair, Dataset, HITUnit, Job, Study, Unit
from judgments.models.datasets import NumberField as NumberColumn
from judgments.models.jobs import of_studies
from judgments.operations import Operation, Outcome, operation_of
from judgments.studies.studies import create_study, find_dataset, find_study

Row = TypeVar("Row", bound=models.Model)

SLUG = "[-a-zA-Z0-9_]+"

COUNTING_RESPONSE = OpenApiResponse(
    description="A job is counting; ask again after the seconds of Retry-After."
)


def dataset_for(request: Request, name: str) -> Dataset:
    """Return a dataset that the request's account may read. A token that is limited to studies cannot read one."""
    token = token_of(request)
    if token is not None and token.limited:
        raise PermissionDenied("A token of some studies reads no datasets.")
    return find_dataset(name, user=staff_of(request))


@extend_schema_field(OpenApiTypes.BOOL)
class TrueOrFalse(filters.TypedChoiceFilter):
    def __init__(self, **options: Any) -> None:
        choices = (("true", "true"), ("false", "false"))
        super().__init__(**{"choices": choices, "coerce": lambda text: text == "true", **options})


@extend_schema_field(OpenApiTypes.INT)
class WholeNumber(filters.NumberFilter):
    field_class = forms.IntegerField


def _visible(model: type[models.Model], request: Request | None) -> QuerySet[Any]:
    """Return the rows that a filter may name.

    The error for another row is that of a row that does not exist, so that responses do not reveal it.
    """
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
    """Return a filter by study, for which an unknown or invisible study is an error."""
    return filters.ModelChoiceFilter(queryset=_studies, to_field_name="slug", **options)


def dataset_filter() -> filters.ModelChoiceFilter:
    """Return a filter by dataset, for which an unknown or invisible dataset is an error."""
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
    serializer_field_mapping = {
        **serializers.ModelSerializer.serializer_field_mapping,
        NumberColumn: PlainNumberField,
    }

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
    """The main keys of a study file. docs/study-files.md describes all of them."""

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
        """Return the ids of the page's units, in order."""
        return [position.unit.key for position in hit.places.all()]


class JobSerializer(RowSerializer[Job]):
    """A background job."""

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
        if (
            fields["result"]
            and token
            and not scope_allows(token.scopes, f"{scope_of_kind(instance.kind)}:read")
        ):
            fields["result"] = {}
        return fields

    class Meta:
        model = Job
        fields = [
            "id", "kind", "args", "by", "queue", "state", "place", "progress", "words", "error", "result",
            "created_at", "started_at", "finished_at",
        ]  # fmt: skip


class Resource(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Any]):
    """A read-only resource: a list in pages, and single rows.

    Attributes:
        reading: the permission to read all rows.
        study_path: the lookup from a row to its study; a role in the study allows to read the row.
        several: whether a row can belong to several studies.
        scope: the scope that a token needs, without the verb.
        published: whether everybody may read some of the rows.
        orderings: the fields to order by, by public name; the first is the default.
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
    """Studies."""

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
    """The units of studies. Participants cannot read them, since control items have their right answers."""

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
    """Candidate pairs with the systems that gave the candidates. Participants cannot read them."""

    reading = "judgments.view_candidatepair"
    queryset = CandidatePair.objects.select_related(
        "study", "item", "first", "second", "first_system", "second_system"
    )
    serializer_class = PairSerializer
    filterset_class = filters_of(CandidatePair, "kind", study=study_filter(), pair="key", image="item__name")
    orderings = {"id": "pk", "position": "position"}


class HITResource(Resource):
    """Pages of work with their units."""

    reading = "judgments.view_hit"
    serializer_class = HITSerializer
    filterset_class = HITFilters
    orderings = {"id": "pk", "position": "position"}

    def get_queryset(self) -> QuerySet[HIT]:
        places = HITUnit.objects.select_related("unit").only("hit_id", "position", "unit__key")
        places = places.order_by("position")
        return HIT.objects.select_related("study").prefetch_related(Prefetch("places", queryset=places))


def job_action(refused: str) -> Callable[[Any], Any]:
    """Declare an action on a job. The schema describes its 409 response by ``refused``."""
    responses = {200: JobSerializer, 409: OpenApiResponse(description=refused)}
    return lambda do: extend_schema(request=None, responses=responses)(
        action(detail=True, methods=["post"])(do)
    )


class JobResource(Resource):
    """Background jobs with their progress and results."""

    reading = "judgments.view_job"
    queryset = Job.objects.select_related("created_by")
    serializer_class = JobSerializer
    filterset_class = filters_of(Job, "kind", "queue", "state")
    orderings = {"id": "pk", "created_at": "created_at"}

    def rows_for(self, rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
        return jobs_about(rows, studies, request)

    @job_action("It has ended, or others rely on it.")
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel a job that waits or runs. A running job stops within five seconds, and stores nothing.

        The person who asked for the job may cancel it, and everybody who may change its study or dataset.
        """
        return self._change(may_cancel, cancel_job)

    @job_action("It neither failed nor was cancelled.")
    def retry(self, request: Request, pk: str) -> Response:
        """Queue a job again that failed or was cancelled.

        Everybody may do so who may cancel the job and could ask for it now.
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
    """Return the jobs of visible studies and, without a limited token, the person's jobs outside studies."""
    token = token_of(request)
    of_visible_studies = of_studies(*studies.values_list("slug", flat=True))
    return rows.filter(
        of_visible_studies
        if token is not None and token.limited
        else of_visible_studies | own_jobs(staff_of(request))
    )


class WaitingReply(serializers.Serializer[Any]):
    """An order that waits for another person's confirmation, under /api/spending-requests/."""

    step = serializers.CharField()
    request = serializers.IntegerField()
    total_cents = serializers.IntegerField(help_text="Fees included.")
    currency = serializers.CharField()


class OperationView(APIView):
    """Do an operation, and answer with the study or with the operation's job.

    Attributes:
        responses, job_responses: the answers by HTTP status, for the API schema.
        reply: the serializer of the answer, which gets ``Outcome.value``; None to answer with the study.
    """

    operation: ClassVar[Operation]
    method: ClassVar[str] = "post"
    reply: ClassVar[type[BaseSerializer[Any]] | None] = None
    responses: ClassVar[dict[Any, Any]] = {
        200: StudySerializer,
        409: OpenApiResponse(description="Not possible now."),
    }
    job_responses: ClassVar[dict[Any, Any]] = {
        202: JobSerializer,
        409: OpenApiResponse(description="Not possible now."),
    }

    @classmethod
    def of(cls, operation: Operation) -> type[Self]:
        takes_parameters = bool(operation.parameters().fields)
        responses = cls.job_responses if operation.job else cls.responses
        if operation.orders:
            responses = {**responses, 202: WaitingReply}
        view = type(
            f"{operation.name.title().replace('-', '')}View",
            (cls,),
            {"operation": operation, "scope": operation.scope, "__doc__": operation.description},
        )
        described: type[Self] = extend_schema_view(
            **{
                cls.method: extend_schema(
                    request=operation.parameters if takes_parameters else None,
                    responses=responses,
                    operation_id=f"studies_{operation.name.replace('-', '_')}",
                    summary=operation.summary,
                    description=operation.description,
                )
            }
        )(view)
        return described

    def post(self, request: Request, slug: str, **path: str) -> Response:
        return self.do(request, slug, **path)

    def do(self, request: Request, slug: str, **path: str) -> Response:
        operation = self.operation
        study = study_for(request, slug, operation.right)
        values = operation.read(_body(request, operation), row=path.get(operation.row))
        if operation.job:
            return job_response(request, operation.start(study, values, by=staff_of(request)))
        outcome = operation.run(study, values, by=staff_of(request))
        if outcome.is_pending:
            return Response(WaitingReply(outcome.value).data, status=202)
        return self.answer(study, outcome)

    def answer(self, study: Study, outcome: Outcome) -> Response:
        if self.reply is not None:
            return Response(self.reply(outcome.value).data)
        return Response(StudySerializer(find_study(study.slug)).data)


class StudySlugParameters(Parameters):
    """The study that a request without a study in its address is about."""

    study = serializers.CharField(help_text="Slug.")


def named_study(request: Request, right: Right = Right.VIEW) -> Study:
    return study_for(request, StudySlugParameters.read(request.data)["study"], right)


def with_study(parameters: type[Parameters], **options: Any) -> type[Parameters]:
    members = {"study": serializers.CharField(**options), "__doc__": parameters.__doc__}
    return type(parameters.__name__, (parameters,), members)


def start_with_study(request: Request, operation: Operation, *, route: str = "api:jobs-detail") -> Response:
    study = named_study(request, operation.right)
    return job_response(
        request, operation.start(study, operation.read(request.data), by=staff_of(request)), route=route
    )


def job_response(request: Request, job: Job, *, route: str = "api:jobs-detail") -> Response:
    address = reverse(route, args=[job.pk], request=request)
    return Response(JobSerializer(job).data, status=202, headers={"Location": address})


def operation_path(
    operation: Operation, view: type[OperationView] = OperationView, last_part: str = ""
) -> URLPattern:
    """Return the route of an operation, named ``api:do-<name>``; ``last_part`` replaces the name in the address."""
    return path(
        f"studies/<str:slug>/{last_part or operation.name}/",
        view.of(operation).as_view(),
        name=f"do-{operation.name}",
    )


def row_action(
    operation: Operation,
    name: str,
    *,
    reply: type[BaseSerializer[Any]],
    status: int = 200,
    responses: Mapping[int, Any] | None = None,
) -> Any:
    """Return a resource action that does an operation on a row: POST /api/<rows>/{key}/<name>/.

    ``reply`` is the serializer of the answer, which gets ``Outcome.value``.
    """

    def do(view: Resource, request: Request, pk: str) -> Response:
        row = view.get_object()
        study: Study = attrgetter(view.study_path.replace("__", "."))(row)
        require(request, operation.right, study)
        values = operation.read(_body(request, operation), row=pk)
        outcome = operation.run(study, values, by=staff_of(request))
        return Response(reply(outcome.value, context=view.get_serializer_context()).data, status=status)

    do.__name__, do.__doc__ = name, operation.description
    describe = extend_schema(
        request=operation.parameters if operation.parameters().fields else None,
        responses={status: reply, **(responses or {})},
        description=operation.description,
    )
    return describe(action(detail=True, methods=["post"])(do))


def create_action(
    operation: Operation,
    *,
    reply: type[BaseSerializer[Any]],
    many: bool = False,
    route: str = "",
    responses: Mapping[int, Any],
) -> Any:
    """Return a resource's ``create`` that does an operation on the study named in the body.

    Args:
        reply: the serializer of the answer, which gets ``Outcome.value``.
        route: the name of the new row's route, for the header Location; "" for no header.
    """

    def create(view: Resource, request: Request, *args: Any, **kwargs: Any) -> Response:
        study = named_study(request, operation.right)
        outcome = operation.run(study, operation.read(request.data), by=staff_of(request))
        serializer = reply(outcome.value, many=many, context=view.get_serializer_context())
        headers = {"Location": reverse(route, args=[outcome.value.pk], request=request)} if route else None
        return Response(serializer.data, status=201, headers=headers)

    create.__doc__ = operation.description
    parameters = operation.parameters
    return extend_schema(
        request=type(parameters.__name__, (StudySlugParameters, parameters), {"__doc__": parameters.__doc__}),
        responses={201: reply(many=many), **responses},
        description=operation.description,
        filters=False,
    )(create)


def _body(request: Request, operation: Operation) -> Any:
    return request.data if operation.parameters().fields else {}
