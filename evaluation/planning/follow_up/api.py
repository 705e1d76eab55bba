"""Known items and next batches over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from evaluation.models import Consensus
from evaluation.planning.follow_up.units import (
    TakeRequest,
    candidate_of,
    take_known_items,
    units_for_known_items,
)
from judgments.access.permissions import studies_of, study_for, token_of
from judgments.access.roles import Right
from judgments.api.operations import OperationView
from judgments.api.resources import Related, Resource, RowSerializer, StudySerializer
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.studies import find_study
from judgments.study_operations import Outcome


class KnownItemSerializer(RowSerializer[Consensus]):
    """A unit of another study that everybody answered alike, or that was decided."""

    study = Related("unit.study.slug")
    unit = Related("unit.key")
    image = Related("unit.item.name")
    expected = serializers.SerializerMethodField(
        help_text="The answer, in the study file's form; null where votes differ too much for a known item."
    )

    class Meta:
        model = Consensus
        fields = ["id", "study", "unit", "image", "source", "n", "expected"]

    @extend_schema_field(OpenApiTypes.ANY)
    def get_expected(self, row: Consensus) -> Any:
        """Return the unanimous or adjudicated answer."""
        assert row.unit is not None
        candidate = candidate_of(KINDS[row.unit.study.protocol], row)
        return candidate.expected if candidate else None


class TakenReply(serializers.Serializer[Any]):
    """How many were new to the design."""

    added = serializers.IntegerField()


@extend_schema_view(
    list=extend_schema(operation_id="studies_known_items", responses=KnownItemSerializer),
    create=extend_schema(
        operation_id="studies_take_known_items",
        request=TakeRequest,
        responses={200: TakenReply, 409: OpenApiResponse(description="The design is frozen, or none fits.")},
        filters=False,
    ),
)
class KnownItemResource(Resource):
    """Units of other studies of the same dataset and kind that could be known items of this one."""

    queryset = Consensus.objects.none()
    serializer_class = KnownItemSerializer
    study_path: ClassVar[str] = "unit__study"

    def get_queryset(self) -> QuerySet[Consensus]:
        if getattr(self, "swagger_fake_view", False):
            return Consensus.objects.none()
        study = study_for(self.request, self.kwargs["slug"])
        return units_for_known_items(study).filter(study__in=studies_of(self.request).order_by().values("pk"))

    def create(self, request: Request, slug: str) -> Response:
        """Add them to the draft's design."""
        study = study_for(request, slug, Right.CHANGE)
        chosen = TakeRequest.read(request.data)["chosen"]
        offered = list(self.get_queryset().filter(pk__in=chosen).values_list("pk", flat=True))
        return Response({"added": take_known_items(study=study, chosen=offered)})


class NextBatchView(OperationView):
    """Answers with the new draft."""

    responses: ClassVar[dict[Any, Any]] = {
        201: StudySerializer,
        404: OpenApiResponse(description="No such study, or nothing of one of the ids in it."),
        409: OpenApiResponse(description="The study's kind leaves nothing to draw again."),
    }

    def post(self, request: Request, slug: str, **path: str) -> Response:
        token = token_of(request)
        if token is not None and token.limited:
            raise PermissionDenied("A token of some studies creates none.")
        return super().post(request, slug)

    def answer(self, study: Study, outcome: Outcome) -> Response:
        batch = find_study(outcome.value.slug)
        address = reverse("api:studies-detail", args=[batch.slug], request=self.request)
        return Response(StudySerializer(batch).data, status=201, headers={"Location": address})
