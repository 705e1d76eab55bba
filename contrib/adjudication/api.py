"""The calls that send disputed units to adjudicators, and with which adjudicators decide."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import bodies
from annotation.models import Adjudication
from annotation.work.sheet.pictures import preview_picture_url
from annotation.work.worksheet import shown_unit
from contrib.adjudication import decisions, operations
from judgments.access.permissions import staff_of, token_of
from judgments.api.filters import filters_of, study_filter
from judgments.api.operations import create_action, row_action
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.models import Study
from judgments.studies.designs import design_of


class AdjudicationSerializer(RowSerializer[Adjudication]):
    """A disputed unit that is sent to an adjudicator. The adjudicator does not see the votes before the decision."""

    study = Related("study.slug")
    unit = Related("unit.key")
    adjudicator = Related("adjudicator.username")
    sent_by = Related("sent_by.username", optional=True)
    withdrawn_by = Related("withdrawn_by.username", optional=True)
    votes = serializers.SerializerMethodField(
        help_text="Number of votes for each answer when the unit was sent; null for the adjudicator while the state is "
        "`waiting`."
    )
    answer = serializers.JSONField(
        read_only=True,
        allow_null=True,
        help_text="Decision on an answer that is not a number; null, since such answers cannot be adjudicated.",
    )

    class Meta:
        model = Adjudication
        fields = [
            "id", "study", "unit", "adjudicator", "state", "value", "answer", "reason", "votes", "sent_by",
            "sent_at", "decided_at", "withdrawn_by", "withdrawn_at",
        ]  # fmt: skip

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField(), allow_null=True))
    def get_votes(self, row: Adjudication) -> dict[str, int] | None:
        """Return the votes when the unit was sent. They are null for the adjudicator while the unit waits."""
        is_own = row.adjudicator_id == self.context["request"].user.pk
        return None if is_own and row.state == Adjudication.State.WAITING else row.votes


class AdjudicationResource(Resource):
    """Disputed units on which a person decides."""

    read_permission, scope = "annotation.view_adjudication", "workers"
    queryset = Adjudication.objects.select_related("study", "unit", "adjudicator", "sent_by", "withdrawn_by")
    serializer_class = AdjudicationSerializer
    filterset_class = filters_of(
        Adjudication, "state", study=study_filter(), unit="unit__key", adjudicator="adjudicator__username"
    )
    orderings = {"id": "pk", "sent_at": "sent_at"}

    def rows_for(
        self, queryset: QuerySet[Adjudication], studies: QuerySet[Study], request: Request
    ) -> QuerySet[Adjudication]:
        token = token_of(request)
        is_visible = Q(study__in=studies)
        # Adjudicators also see what was sent to them from other studies, unless their token is limited to some studies.
        if token is None or not token.limited:
            is_visible |= Q(adjudicator=staff_of(request))
        return queryset.filter(is_visible)

    create = create_action(
        operations.send_units,
        reply=AdjudicationSerializer,
        many=True,
        responses={404: bodies.Problem, 409: bodies.CONFLICT_RESPONSE},
    )
    withdraw = row_action(
        operations.withdraw_adjudication,
        "withdraw",
        reply=AdjudicationSerializer,
        responses={404: bodies.Problem},
    )

    @extend_schema(
        responses={200: bodies.ShownUnit, 404: bodies.Problem},
        description="Return the unit as its adjudicator sees it. Only the adjudicator can make this call.",
    )
    @action(detail=True, methods=["get"])
    def task(self, request: Request, pk: str) -> Response:
        """Return the unit as the adjudicator sees it."""
        adjudication = self._callers_adjudication(request)
        content = shown_unit(
            decisions.page_unit_of(adjudication),
            design=design_of(adjudication.study),
            picture_url=lambda page_unit: preview_picture_url(adjudication.unit.item),
        )
        return Response(content, headers={"Cache-Control": "no-store"})

    @extend_schema(
        request=operations.DecideRequest,
        responses={200: AdjudicationSerializer, 404: bodies.Problem, 409: bodies.CONFLICT_RESPONSE},
        description="Store the adjudicator's final answer, for the options in the order of the call `task`. Only the "
        "adjudicator can make this call. Sending the same answer again changes nothing.",
    )
    @action(detail=True, methods=["post"])
    def decide(self, request: Request, pk: str) -> Response:
        adjudication = self._callers_adjudication(request)
        answer = operations.DecideRequest.read(request.data)
        decided_row = decisions.decide_adjudication(
            adjudication=adjudication, answer=answer["value"], reason=answer.get("reason", "")
        )
        return Response(self.get_serializer(decided_row).data)

    def _callers_adjudication(self, request: Request) -> Adjudication:
        return decisions.adjudication_for(user=staff_of(request), pk=self.get_object().pk)
