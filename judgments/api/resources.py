"""Datasets, systems, studies, units, HITs and jobs, for staff."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django.db.models import Count, Prefetch, Q, QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.settings import api_settings
from rest_framework.viewsets import GenericViewSet

from judgments import jobs
from judgments.api import filters, serializers
from judgments.api.bodies import TOMLParser, body_of, member
from judgments.api.permissions import staff_of, study_for, token_of
from judgments.design import make_design, read_toml
from judgments.errors import WrongState
from judgments.models import HIT, Dataset, HITUnit, Job, Output, Study, System, Unit
from judgments.roles import Right
from judgments.services.presets import saved_presets
from judgments.services.studies import create_study

SLUG = "[-a-zA-Z0-9_]+"


class Resource(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Any]):
    """Read alone: a list by pages, and single rows.

    ``reading`` is the permission that opens all rows, and ``study_path`` leads from a row to the study whose roles open
    it; ``scope``: the area of a token's scopes; ``orderings``: public name -> field, the default first.
    """

    reading: ClassVar[str] = "judgments.view_study"
    study_path: ClassVar[str] = "study"
    several: ClassVar[bool] = False
    scope: ClassVar[str] = "studies"
    orderings: ClassVar[dict[str, str]] = {"id": "pk"}
    lookup_value_regex = "[0-9]{1,18}"


class DatasetResource(Resource):
    """Sets of images with references."""

    reading, study_path, several = "judgments.view_dataset", "studies", True
    queryset = Dataset.objects.annotate(images=Count("items"))
    serializer_class = serializers.DatasetSerializer
    filterset_class = filters.DatasetFilters
    orderings = {"name": "name", "created_at": "created_at"}
    lookup_field, lookup_value_regex = "name", SLUG


class SystemResource(Resource):
    """Whatever produced candidates."""

    reading, study_path, several = "judgments.view_system", "dataset__studies", True
    queryset = System.objects.select_related("dataset").annotate(
        captions=Count("outputs", filter=Q(outputs__task=Output.Task.ANNOTATION))
    )
    serializer_class = serializers.SystemSerializer
    filterset_class = filters.SystemFilters
    orderings = {"id": "pk", "name": "name"}


@extend_schema_view(
    create=extend_schema(
        request=serializers.DesignSerializer,
        responses={
            201: serializers.StudySerializer,
            409: OpenApiResponse(description="The slug is taken."),
        },
        description="A study from its design: the study file as JSON, or as TOML (`application/toml`).",
    ),
    generate=extend_schema(
        request=None,
        responses={
            202: serializers.JobSerializer,
            409: OpenApiResponse(description="It is no draft any more."),
        },
        description="Draws units, controls and HITs in the background; follow the job.",
    ),
)
class StudyResource(mixins.CreateModelMixin, Resource):
    """Data collections."""

    reading, study_path = "judgments.view_study", "pk"
    queryset = Study.objects.select_related("dataset")
    serializer_class = serializers.StudySerializer
    filterset_class = filters.StudyFilters
    orderings = {"created_at": "created_at", "slug": "slug", "name": "name"}
    lookup_field, lookup_value_regex = "slug", SLUG
    parser_classes = [*cast(list[type[BaseParser]], api_settings.DEFAULT_PARSER_CLASSES), TOMLParser]
    needed_permissions: ClassVar[dict[str, str]] = {"create": "judgments.add_study"}

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Store a design as a draft."""
        body = body_of(request)
        saved = saved_presets()
        toml = member(body, "toml", str) if set(body) == {"toml"} else None
        design = make_design(body, saved=saved) if toml is None else read_toml(toml, saved=saved)
        study = create_study(design=design, user=staff_of(request))
        place = reverse("api:studies-detail", args=[study.slug], request=request)
        return Response(
            self.get_serializer(study).data, status=status.HTTP_201_CREATED, headers={"Location": place}
        )

    @action(detail=True, methods=["post"])
    def generate(self, request: Request, slug: str) -> Response:
        """Start generating the HITs of a draft."""
        study = study_for(request, slug, Right.CHANGE)
        if study.state != Study.State.DRAFT:
            raise WrongState(f"Study {slug!r} is {study.state}; HITs are generated once, from a draft.")
        job = jobs.enqueue(kind="generate_hits", args={"study": study.slug}, user=staff_of(request))
        place = reverse("api:jobs-detail", args=[job.pk], request=request)
        body = serializers.JobSerializer(job).data
        return Response(body, status=status.HTTP_202_ACCEPTED, headers={"Location": place})


class UnitResource(Resource):
    """What is judged, control items with their right answers: never shown to workers."""

    reading = "judgments.view_unit"
    queryset = Unit.objects.select_related("study", "item", "reference", "first", "second", "pair")
    serializer_class = serializers.UnitSerializer
    filterset_class = filters.UnitFilters
    orderings = {"id": "pk", "position": "position"}


class HITResource(Resource):
    """Pages of work with the units they hold."""

    reading = "judgments.view_hit"
    serializer_class = serializers.HITSerializer
    filterset_class = filters.HITFilters
    orderings = {"id": "pk", "position": "position"}

    def get_queryset(self) -> QuerySet[HIT]:
        """With the units in their order, in one query more."""
        places = HITUnit.objects.select_related("unit").only("hit_id", "position", "unit__key")
        places = places.order_by("position")
        return HIT.objects.select_related("study").prefetch_related(Prefetch("places", queryset=places))


class JobResource(Resource):
    """Long work: how far it is, and what came of it."""

    reading = "judgments.view_job"
    queryset = Job.objects.all()
    serializer_class = serializers.JobSerializer
    filterset_class = filters.JobFilters
    orderings = {"id": "pk", "created_at": "created_at"}

    def rows_for(self, rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
        """What was asked for by this person, and what is about a study they may see."""
        return jobs_about(rows, studies, request)


def jobs_about(rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
    """The jobs of visible studies; those that the person asked for too, unless a token opens some studies alone."""
    token = token_of(request)
    own = Q(args__study__in=list(studies.values_list("slug", flat=True)))
    return rows.filter(own if token is not None and token.limited else own | Q(created_by=staff_of(request)))
