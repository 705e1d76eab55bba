"""The calls that create follow-up drafts, and that list and take known items."""

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

from contrib.follow_up.known_items import (
    TakeKnownItemsRequest,
    candidate_of,
    take_known_items,
    visible_units_for_known_items,
)
from evaluation.models import Consensus
from judgments.access.permissions import limited_token_of, studies_of, study_for
from judgments.access.rights import Right
from judgments.api.operations import OperationView
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.api.studies import StudySerializer
from judgments.models import Study
from judgments.operations import Outcome
from judgments.studies.designs import kind_of
from judgments.studies.studies import find_study


class KnownItemSerializer(RowSerializer[Consensus]):
    """A unit of another study that may become a known item: a check question whose right answer is `expected`."""

    study = Related("unit.study.slug")
    unit = Related("unit.key")
    image = Related("unit.item.name")
    expected = serializers.SerializerMethodField(
        help_text="The right answer, as a study file states it; null if the votes do not all count as right for one "
        "answer, so that the unit cannot be taken."
    )

    class Meta:
        model = Consensus
        fields = ["id", "study", "unit", "image", "source", "n", "expected"]

    @extend_schema_field(OpenApiTypes.ANY)
    def get_expected(self, row: Consensus) -> Any:
        """Return the unanimous or adjudicated answer."""
        assert row.unit is not None
        candidate = candidate_of(kind_of(row.unit.study), row)
        return candidate.expected if candidate else None


class AddedKnownItemsSerializer(serializers.Serializer[Any]):
    """The outcome of a call that takes known items."""

    added = serializers.IntegerField(help_text="Number of known items that were added to the design.")


@extend_schema_view(
    list=extend_schema(operation_id="studies_known_items", responses=KnownItemSerializer),
    create=extend_schema(
        operation_id="studies_take_known_items",
        request=TakeKnownItemsRequest,
        responses={
            200: AddedKnownItemsSerializer,
            409: OpenApiResponse(description="The design is frozen, or none of the chosen units fits."),
        },
        filters=False,
    ),
)
class KnownItemResource(Resource):
    """Units of other studies of the same dataset and protocol that could become known items of this study."""

    queryset = Consensus.objects.none()
    serializer_class = KnownItemSerializer
    study_path: ClassVar[str] = "unit__study"

    def get_queryset(self) -> QuerySet[Consensus]:
        if getattr(self, "swagger_fake_view", False):
            return Consensus.objects.none()
        study = study_for(self.request, self.kwargs["slug"])
        return visible_units_for_known_items(study, studies_of(self.request))

    def create(self, request: Request, slug: str) -> Response:
        """Add units to the known items of the draft's design."""
        study = study_for(request, slug, Right.CHANGE)
        requested_ids = TakeKnownItemsRequest.read(request.data)["chosen"]
        offered_ids = list(self.get_queryset().filter(pk__in=requested_ids).values_list("pk", flat=True))
        return Response({"added": take_known_items(study=study, consensus_ids=offered_ids)})


class FollowUpDraftView(OperationView):
    """A view of an operation that creates a follow-up draft, and responds with the draft."""

    responses: ClassVar[dict[Any, Any]] = {
        201: StudySerializer,
        404: OpenApiResponse(
            description="There is no such study, or the study has no row with a key that was sent."
        ),
        409: OpenApiResponse(
            description="The study's items cannot be sampled again, or the dataset has too few unused items."
        ),
    }

    def post(self, request: Request, slug: str, **path: str) -> Response:
        if limited_token_of(request) is not None:
            raise PermissionDenied("A token of some studies creates none.")
        return super().post(request, slug)  # these operations are about no row, so `path` is empty

    def answer(self, study: Study, outcome: Outcome) -> Response:
        draft = find_study(outcome.value.slug)
        address = reverse("api:studies-detail", args=[draft.slug], request=self.request)
        return Response(StudySerializer(draft).data, status=201, headers={"Location": address})
