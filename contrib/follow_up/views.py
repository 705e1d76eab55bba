"""The calls that create follow-up drafts and take known items, and the page "Known items" of a draft."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import ngettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.quality.control_figures import describe_control_item
from contrib.follow_up.batches import more_items, next_batch
from contrib.follow_up.known_items import (
    TakeKnownItemsRequest,
    candidate_of,
    take_known_items,
    units_for_known_items,
)
from evaluation.models import Consensus
from judgments.access.permissions import studies_of, study_for, token_of
from judgments.access.rights import Right
from judgments.api.operations import OperationView
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.api.studies import StudySerializer
from judgments.models import Study
from judgments.operations import Outcome
from judgments.studies.designs import kind_of
from judgments.studies.pages import Context, StudyStep
from judgments.studies.step_form import add_operation, read_posted_parameters
from judgments.studies.studies import find_study
from judgments.studies.study_page import add_step, study_page, study_page_address

PAGE_SIZE = 50


class KnownItemSerializer(RowSerializer[Consensus]):
    """A unit of another study whose answers were all equal, or which was adjudicated."""

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
        candidate = candidate_of(kind_of(row.unit.study), row)
        return candidate.expected if candidate else None


class AddedKnownItemsSerializer(serializers.Serializer[Any]):
    """The number of known items that were added to the design."""

    added = serializers.IntegerField()


@extend_schema_view(
    list=extend_schema(operation_id="studies_known_items", responses=KnownItemSerializer),
    create=extend_schema(
        operation_id="studies_take_known_items",
        request=TakeKnownItemsRequest,
        responses={
            200: AddedKnownItemsSerializer,
            409: OpenApiResponse(description="The design is frozen, or none fits."),
        },
        filters=False,
    ),
)
class KnownItemResource(Resource):
    """Units of other studies of the same dataset and kind that could become known items of this study."""

    queryset = Consensus.objects.none()
    serializer_class = KnownItemSerializer
    study_path: ClassVar[str] = "unit__study"

    def get_queryset(self) -> QuerySet[Consensus]:
        if getattr(self, "swagger_fake_view", False):
            return Consensus.objects.none()
        study = study_for(self.request, self.kwargs["slug"])
        return units_for_known_items(study).filter(study__in=studies_of(self.request).order_by().values("pk"))

    def create(self, request: Request, slug: str) -> Response:
        """Add units to the known items of the draft's design."""
        study = study_for(request, slug, Right.CHANGE)
        requested_ids = TakeKnownItemsRequest.read(request.data)["chosen"]
        offered_ids = list(self.get_queryset().filter(pk__in=requested_ids).values_list("pk", flat=True))
        return Response({"added": take_known_items(study=study, consensus_ids=offered_ids)})


class NextBatchView(OperationView):
    """A view of an operation that responds with the new draft."""

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


@study_page("known", order=31, parent_page="controls")
def show_known(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    kind = context["kind"]
    page = Paginator(_visible_candidates(request, study), PAGE_SIZE).get_page(request.GET.get("page"))
    rows = []
    for consensus in page.object_list:
        candidate = candidate_of(kind, consensus)
        if candidate is not None and consensus.unit is not None:
            unit = consensus.unit
            unit.expected = candidate.expected
            rows.append({"consensus": consensus, "unit": unit, "shown": describe_control_item(kind, unit)})
    context |= {
        "page": page,
        "rows": rows,
        "known_items": study.design.get("controls", {}).get("known", []),
        "may_take": context["may_change"] and study.state == Study.State.DRAFT,
    }
    return TemplateResponse(request, "evaluation/study_known.html", context)


def _visible_candidates(request: HttpRequest, study: Study) -> QuerySet[Consensus]:
    """Return the units that may become known items, from studies that the account may see."""
    return units_for_known_items(study).filter(
        study__in=Study.objects.visible_to(request.user).order_by().values("pk")
    )


def _take_items(request: HttpRequest, study: Study) -> HttpResponse:
    """Add the selected units to the known items of the draft."""
    candidates = _visible_candidates(request, study)
    candidates = candidates.filter(pk__in=read_posted_parameters(request, TakeKnownItemsRequest)["chosen"])
    ids = list(candidates.values_list("pk", flat=True))
    added_count = take_known_items(study=study, consensus_ids=ids)
    sentence = ngettext(
        "%(n)s known item added to the design.", "%(n)s known items added to the design.", added_count
    )
    messages.success(request, sentence % {"n": added_count})
    return redirect(study_page_address(study, "known"))


add_step(StudyStep(name="take-known", label="Add known items", run=_take_items))

add_operation(next_batch, label="Create a study from the selected rows", result_page="change", inline=False)
add_operation(more_items, label="Create a draft with new items", result_page="change", inline=False)
