"""The HTTP API of spending requests (orders that a second person confirms) and of spending limits."""

from __future__ import annotations

from dataclasses import asdict
from typing import ClassVar

from django.core.exceptions import PermissionDenied
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api import bodies
from annotation.models import SpendingRequest
from annotation.money.account_limits import SET_LIMITS, VIEW_LIMITS, set_limits, spending_by_account
from annotation.money.orders import CONFIRM_PERMISSION, confirm_request, refuse_request
from annotation.money.parameters import LimitsRequest
from common.parameters import Parameters
from judgments.access.permissions import staff_of, token_of
from judgments.api.filters import filters_of, study_filter
from judgments.api.resources import Related, Resource, RowSerializer


class RefusalRequest(Parameters):
    """The reason for which a spending request is refused."""

    why = serializers.CharField(default="", allow_blank=True, max_length=500)


class SpendingRequestSerializer(RowSerializer[SpendingRequest]):
    """A spending request: an order above the installation's limit for one person."""

    study = Related("study.slug")
    asked_by = Related("asked_by.username", optional=True)
    decided_by = Related("decided_by.username", optional=True)
    values = serializers.DictField(read_only=True, help_text="Parameters of the operation.")

    class Meta:
        model = SpendingRequest
        fields = [  # door: a page, the API, a job or a command
            "id", "study", "operation", "values", "cents", "currency", "state", "asked_by", "door",
            "asked_at", "decided_by", "decided_at", "words",
        ]  # fmt: skip


DECISION_RESPONSES = {200: SpendingRequestSerializer, 403: bodies.Problem, 409: bodies.Problem}


class SpendingRequestResource(Resource):
    """Spending requests: orders that a second person confirms."""

    read_permission, scope = CONFIRM_PERMISSION, "money"
    queryset = SpendingRequest.objects.select_related("study", "asked_by", "decided_by")
    serializer_class = SpendingRequestSerializer
    filterset_class = filters_of(SpendingRequest, "state", "operation", study=study_filter())

    @extend_schema(request=None, responses=DECISION_RESPONSES)
    @action(detail=True, methods=["post"])
    def confirm(self, request: Request, pk: str) -> Response:
        """Carry out a spending request, once. The account that made the request cannot confirm it."""
        row = self.get_object()
        if not staff_of(request).has_perm(CONFIRM_PERMISSION):
            raise PermissionDenied
        return self._reply(confirm_request(request_id=row.pk, by=staff_of(request)))

    @extend_schema(request=RefusalRequest, responses=DECISION_RESPONSES)
    @action(detail=True, methods=["post"])
    def refuse(self, request: Request, pk: str) -> Response:
        """Refuse a spending request, so that the order is not carried out.

        The requester may also withdraw the request in this way.
        """
        row, by = self.get_object(), staff_of(request)
        if not by.has_perm(CONFIRM_PERMISSION) and by.pk != row.asked_by_id:
            raise PermissionDenied
        return self._reply(refuse_request(request_id=row.pk, by=by, **RefusalRequest.read(request.data)))

    def _reply(self, row: SpendingRequest) -> Response:
        return Response(self.get_serializer(row).data)


class StandingReply(bodies.Schema):
    """The commitments and limits of an account, or of the installation (``account`` is "").

    If day_cents or total_cents is null, there is no such limit.
    """

    account = serializers.CharField(help_text="Name of the account; empty for the installation.")
    currency = serializers.CharField()
    today_cents = serializers.IntegerField(help_text="Cents reserved or spent since midnight (UTC).")
    day_cents = serializers.IntegerField(allow_null=True, help_text="Limit of today_cents.")
    committed_cents = serializers.IntegerField(help_text="Cents reserved or spent at any time.")
    total_cents = serializers.IntegerField(allow_null=True, help_text="Limit of committed_cents.")
    confirm_cents = serializers.IntegerField(
        allow_null=True,
        help_text="Amount above which a second person must confirm an order; null if no order needs this. Always null "
        "for an account, since the amount of the installation applies to all.",
    )


class SpendingView(APIView):
    """The commitments and limits of accounts, for accounts with the right to see limits."""

    scope: ClassVar[str] = "money"

    @extend_schema(responses={200: StandingReply(many=True), 403: bodies.Problem}, operation_id="spending")
    def get(self, request: Request) -> Response:
        token = token_of(request)  # it may be limited to some studies, but limits concern all
        if not staff_of(request).has_perm(VIEW_LIMITS) or (token is not None and token.limited):
            raise PermissionDenied
        return self._list_spending()

    @extend_schema(
        request=LimitsRequest,
        responses={
            200: StandingReply(many=True),
            403: bodies.Problem,
            404: bodies.Problem,
            409: bodies.Problem,
        },
        operation_id="spending_limits",
    )
    def put(self, request: Request) -> Response:
        """Set all limits of an account, or of the whole installation, in one currency."""
        token, by = token_of(request), staff_of(request)
        if not by.has_perms(SET_LIMITS) or (token is not None and token.limited):
            raise PermissionDenied
        set_limits(by=by, **LimitsRequest.read(request.data))
        return self._list_spending()

    def _list_spending(self) -> Response:
        return Response(StandingReply([asdict(row) for row in spending_by_account()], many=True).data)
