"""The HTTP door of operations that move money: a preview, then its ``confirm`` under an ``Idempotency-Key``.

Also the page "Money" of the installation: limits, commitments, and requests that wait for a second person; and the cost
of a draft beside its plan.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from annotation.api import work
from annotation.crowds import backend_for
from annotation.models import CrowdCall, SpendingLimit, SpendingRequest
from annotation.models.crowds import KEY_LENGTH
from annotation.money import orders
from annotation.money.ledger import (
    SEE_LIMITS,
    SET_LIMITS,
    SUMS,
    lock_row,
    refuse_rules_of_one_account,
    set_limits,
    spending_by_account,
)
from annotation.money.orders import CONFIRM, LimitsRequest, confirm_request, refuse_request
from annotation.money.payments import Forecast, forecast_of_design, top_up
from common.amounts import AmountField
from common.errors import DesignError, NotThere, QuorumError, WrongState
from common.parameters import Parameters
from judgments.access.permissions import require, staff_of, studies_of, study_for, token_of
from judgments.admin.base import QuorumAdmin, signed_in
from judgments.api.resources import Related, Resource, RowSerializer, filters_of, study_filter
from judgments.design.study_design import StudyDesign
from judgments.design.tables import Crowd
from judgments.models import Study
from judgments.operations import Operation
from judgments.studies.study_page import PlanPart, add_plan_part
from judgments.templatetags.judgments_tags import cents

KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    required=True,
    description=f"1 to {KEY_LENGTH} visible characters of your choice, new for every new request. The same request "
    "under the same key is answered as the first time and changes nothing.",
)
REPLAYED = "Idempotency-Replayed"


class PreviewReply(work.Schema):
    """The effect of the step; further members depend on the step."""

    step = serializers.CharField()
    total_cents = serializers.IntegerField(help_text="Of the budget, fees included.")
    currency = serializers.CharField()
    left_cents = serializers.IntegerField(help_text="Neither spent nor reserved now.")
    enough = serializers.BooleanField()
    confirm = serializers.CharField(help_text="Send it back to have this done.")


class DoneReply(work.Schema):
    """The result of the step."""

    step = serializers.CharField()
    total_cents = serializers.IntegerField()
    currency = serializers.CharField()
    left_cents = serializers.IntegerField(help_text="Afterwards.")
    calls = serializers.ListField(
        child=serializers.IntegerField(), help_text="To follow under /api/crowd-calls/."
    )
    left_out = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Workers for whose top-ups the budget does not reach.",
    )
    request = serializers.IntegerField(
        required=False,
        help_text="Nothing is done yet: another account must confirm /api/spending-requests/{id}/.",
    )


PREVIEWS: dict[Any, Any] = {
    200: PreviewReply,
    400: work.Problem,
    404: work.Problem,
    409: OpenApiResponse(work.Problem, description="Not possible now."),
}
DONE: dict[Any, Any] = {
    202: DoneReply,
    400: work.Problem,
    404: work.Problem,
    409: OpenApiResponse(
        work.Problem,
        description="Not what was confirmed, beyond the budget, or not possible now; nothing was done.",
    ),
    422: OpenApiResponse(work.Problem, description="The key came before with another request."),
}


class RefusalRequest(Parameters):
    """The reason."""

    why = serializers.CharField(default="", allow_blank=True, max_length=500)


class MoneyView(APIView):
    """GET previews the cost; POST does it, once. Both are for who may spend the study's money."""

    scope: ClassVar[str] = "money"
    reading: ClassVar[str] = "annotation.view_budget"
    operation: ClassVar[Operation]
    previewed: ClassVar[type[Parameters]]
    confirmed: ClassVar[type[Parameters]]

    def study_and_row(self, request: Request) -> tuple[Study, dict[str, Any]]:
        """Return the study, and the row in the address as an argument of the operation."""
        return study_for(request, self.kwargs["slug"], self.operation.right), {}

    def get(self, request: Request, **address: str) -> Response:
        study, row = self.study_and_row(request)
        assert self.operation.preview is not None
        parameters = self.previewed.read(request.query_params)
        preview: orders.Preview = self.operation.preview(study=study, **parameters, **row)
        return Response(preview.as_json(), headers={"Cache-Control": "no-store"})

    def post(self, request: Request, **address: str) -> Response:
        study, row = self.study_and_row(request)
        sent, operation, by = request.data, self.operation, staff_of(request)
        key = _key_of(request)  # after the body: one of another type is 415
        parameters = {"why": "", **self.confirmed.read(sent)}
        assert operation.do is not None
        do = partial(operation.do, study=study, by=by, **parameters, **row)
        answer, replayed = orders.run_once(
            key=key,
            study=study,
            step=operation.name,
            request={**parameters, **row},
            by=by,
            do=lambda: do().value,
        )
        headers = {REPLAYED: "true"} if replayed else {}
        return Response(answer, status=status.HTTP_202_ACCEPTED, headers=headers)


class CallView(MoneyView):
    def study_and_row(self, request: Request) -> tuple[Study, dict[str, Any]]:
        key = self.kwargs["id"]
        calls = CrowdCall.objects.filter(study__in=studies_of(request)).select_related("study")
        known = key.isascii() and key.isdecimal() and len(key) <= 18
        call = calls.filter(pk=int(key)).first() if known else None
        if call is None:
            raise NotThere(_("There is no call %(key)r.") % {"key": key[:20]})
        require(request, self.operation.right, call.study)
        return call.study, {"call": call.pk}


def money_path(operation: Operation, *, preview: str, of: str) -> URLPattern:
    """Return the address of an operation that moves money.

    Args:
        preview, of: the summary and the description of its preview in the schema.
    """
    of_call = operation.row == "call"
    name, parameters = operation.name.replace("-", "_"), operation.parameters
    previewed = type("Previewed", (parameters,), {"why": None})
    base = CallView if of_call else MoneyView
    view = type(
        f"{name.title()}View",
        (base,),
        {"operation": operation, "previewed": previewed, "confirmed": _with_confirm(parameters)},
    )
    operation_id = f"{'crowd_calls' if of_call else 'studies'}_{name}"
    described: type[MoneyView] = extend_schema_view(
        get=extend_schema(
            parameters=[previewed] if previewed().fields else [],
            responses=PREVIEWS,
            operation_id=f"{operation_id}_preview",
            summary=preview,
            description=of,
        ),
        post=extend_schema(
            request=_with_confirm(parameters),
            parameters=[KEY],
            responses=DONE,
            operation_id=operation_id,
            summary=operation.summary,
            description=operation.description,
        ),
    )(view)
    start = "crowd-calls/<str:id>" if of_call else "studies/<str:slug>"
    return path(f"{start}/{operation.name}/", described.as_view(), name=f"do-{operation.name}")


@cache  # a component of the schema is one class
def _with_confirm(parameters: type[Parameters]) -> type[Parameters]:
    members = {"confirm": serializers.CharField(), "__doc__": parameters.__doc__}
    return type(parameters.__name__, (parameters,), members)


def _key_of(request: Request) -> str:
    key = request.headers.get("Idempotency-Key", "").strip()
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not 1 <= len(key) <= KEY_LENGTH or not key.isascii() or not key.isprintable():
        raise ValidationError(
            {
                "Idempotency-Key": [
                    f"is missing or none; expected a header of 1 to {KEY_LENGTH} visible characters."
                ]
            }
        )
    return key


class SpendingRequestSerializer(RowSerializer[SpendingRequest]):
    """An order above the installation's sum."""

    study = Related("study.slug")
    asked_by = Related("asked_by.username", optional=True)
    decided_by = Related("decided_by.username", optional=True)
    values = serializers.DictField(read_only=True)

    class Meta:
        model = SpendingRequest
        fields = [
            "id", "study", "operation", "values", "cents", "currency", "state", "asked_by", "door",
            "asked_at", "decided_by", "decided_at", "words",
        ]  # fmt: skip


DECIDED = {200: SpendingRequestSerializer, 403: work.Problem, 409: work.Problem}


class SpendingRequestResource(Resource):
    """Orders that a second person confirms."""

    reading, scope = CONFIRM, "money"
    queryset = SpendingRequest.objects.select_related("study", "asked_by", "decided_by")
    serializer_class = SpendingRequestSerializer
    filterset_class = filters_of(SpendingRequest, "state", "operation", study=study_filter())

    @extend_schema(request=None, responses=DECIDED)
    @action(detail=True, methods=["post"])
    def confirm(self, request: Request, pk: str) -> Response:
        """Carry it out, once, by another account than asked for it."""
        row = self.get_object()
        if not staff_of(request).has_perm(CONFIRM):
            raise PermissionDenied
        return self._answer(confirm_request(request=row.pk, by=staff_of(request)))

    @extend_schema(request=RefusalRequest, responses=DECIDED)
    @action(detail=True, methods=["post"])
    def refuse(self, request: Request, pk: str) -> Response:
        """End it without doing it; who asked may do so too."""
        row, by = self.get_object(), staff_of(request)
        if not by.has_perm(CONFIRM) and by.pk != row.asked_by_id:
            raise PermissionDenied
        return self._answer(refuse_request(request=row.pk, by=by, **RefusalRequest.read(request.data)))

    def _answer(self, row: SpendingRequest) -> Response:
        return Response(self.get_serializer(row).data)


class StandingReply(work.Schema):
    """The commitments and limits of an account, or of the installation (an empty name); null: no limit."""

    account = serializers.CharField()
    currency = serializers.CharField()
    today_cents = serializers.IntegerField(help_text="Asked for since midnight.")
    day_cents = serializers.IntegerField(allow_null=True)
    committed_cents = serializers.IntegerField(help_text="Reserved or spent.")
    total_cents = serializers.IntegerField(allow_null=True)
    confirm_cents = serializers.IntegerField(allow_null=True, help_text="Above it a second person confirms.")


class SpendingView(APIView):
    """The commitments and limits of accounts, for who may see the limits."""

    scope: ClassVar[str] = "money"

    @extend_schema(responses={200: StandingReply(many=True), 403: work.Problem}, operation_id="spending")
    def get(self, request: Request) -> Response:
        token = token_of(request)
        if not staff_of(request).has_perm(SEE_LIMITS) or (token is not None and token.limited):
            raise PermissionDenied
        return self._spending()

    @extend_schema(
        request=LimitsRequest,
        responses={200: StandingReply(many=True), 403: work.Problem, 404: work.Problem, 409: work.Problem},
        operation_id="spending_limits",
    )
    def put(self, request: Request) -> Response:
        """Set all limits of an account, or of the whole installation, in one currency."""
        token, by = token_of(request), staff_of(request)
        if not by.has_perms(SET_LIMITS) or (token is not None and token.limited):
            raise PermissionDenied
        set_limits(by=by, **LimitsRequest.read(request.data))
        return self._spending()

    def _spending(self) -> Response:
        return Response(StandingReply([asdict(row) for row in spending_by_account()], many=True).data)


if TYPE_CHECKING:
    _Form = forms.ModelForm[SpendingLimit]
else:
    _Form = forms.ModelForm

LATEST = 20


@dataclass(frozen=True, slots=True)
class PlanCost:
    """The money of a plan; ``fair_cents`` is the reward that would reach the floor, 0 if the reward does."""

    crowd: Crowd
    sends_people: bool
    forecast: Forecast
    fair_cents: int
    currency: str

    @property
    def missing_cents(self) -> int:
        return max(0, self.forecast.cents - self.crowd.budget_cents)

    @property
    def left_cents(self) -> int:
        return max(0, self.crowd.budget_cents - self.forecast.cents)


def cost_of_plan(design: StudyDesign, hits: int, items: int) -> PlanCost:
    forecast = forecast_of_design(design, hits=hits, items=items)
    crowd = design.crowd
    missing = top_up(crowd.reward_cents, forecast.seconds, crowd.floor_cents_per_hour)
    return PlanCost(
        crowd=crowd,
        sends_people=backend_for(design).sends_people,
        forecast=forecast,
        fair_cents=crowd.reward_cents + missing if missing else 0,
        currency=design.currency,
    )


def problems_of_cost(design: StudyDesign, hits: int, items: int) -> list[DesignError]:
    """Return problems that prevent opening, or pay people too little."""
    cost = cost_of_plan(design, hits, items)
    problems = []
    if cost.sends_people and cost.missing_cents:
        problems.append(
            DesignError(
                f"The study costs {cents(cost.forecast.cents, cost.currency)} with fees: the budget is "
                f"{cents(cost.missing_cents, cost.currency)} "
                "short, and it cannot be opened.",
                field="crowd.budget_cents",
            )
        )
    if cost.fair_cents:
        problems.append(
            DesignError(
                f"At this pace an hour earns less than the floor; a page of work would have to "
                f"pay {cents(cost.fair_cents, cost.currency)}.",
                field="crowd.reward_cents",
            )
        )
    return problems


add_plan_part(
    PlanPart(template="admin/annotation/parts/plan_cost.html", facts=cost_of_plan, problems=problems_of_cost)
)


class LimitForm(_Form):
    account = forms.ModelChoiceField(
        queryset=User.objects.filter(is_staff=True).order_by("username"),
        required=False,
        empty_label=gettext_lazy("the whole installation"),
        help_text=gettext_lazy("An account's own limits hold instead of those for each account."),
        widget=UnfoldAdminSelectWidget,
    )
    currency = forms.RegexField(
        r"^[A-Z]{3}$",
        initial="USD",
        help_text=gettext_lazy("Three letters, such as USD."),
        widget=UnfoldAdminTextInputWidget,
    )
    day_cents = AmountField(gettext_lazy("A day"), gettext_lazy("Empty: no limit."))
    total_cents = AmountField(gettext_lazy("In all"), gettext_lazy("Reserved and spent. Empty: no limit."))
    account_day_cents = AmountField(
        gettext_lazy("Each account, a day"), gettext_lazy("Of accounts without limits of their own.")
    )
    account_total_cents = AmountField(
        gettext_lazy("Each account, in all"), gettext_lazy("Of accounts without limits of their own.")
    )
    confirm_cents = AmountField(
        gettext_lazy("A second person confirms above"),
        gettext_lazy("For one order. Empty: nobody need confirm."),
    )

    class Meta:
        model = SpendingLimit
        fields = ["account", "currency", *SUMS]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        try:
            refuse_rules_of_one_account(values.get("account"), values)
        except WrongState as problem:
            raise forms.ValidationError(str(problem)) from problem
        same = SpendingLimit.objects.filter(account=values.get("account"), currency=values.get("currency"))
        if same.exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("There are such limits already; change those."))
        return values


@admin.register(SpendingLimit)
class SpendingLimitAdmin(QuorumAdmin):
    form = LimitForm
    add_label = "Set a limit"

    def get_urls(self) -> list[URLPattern]:
        deciding = path(
            "requests/<int:pk>/<str:decision>/",
            self.admin_site.admin_view(require_POST(self.decide_view)),
            name="annotation_spendingrequest_decide",
        )
        return [deciding, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, *args: Any, **options: Any) -> TemplateResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = SpendingRequest.objects.select_related("study", "asked_by", "decided_by").order_by("-pk")
        context = {
            **self.admin_site.each_context(request),
            "title": _("Money"),
            "spending_by_account": spending_by_account(),
            "waiting": list(rows.filter(state="waiting").order_by("pk")[:LATEST]),
            "waiting_count": rows.filter(state="waiting").count(),
            "decided": list(rows.exclude(state="waiting")[:LATEST]),
            "may_change": self.has_change_permission(request),
            "may_add": self.has_add_permission(request),
            "may_confirm": request.user.has_perm(CONFIRM),
        }
        return TemplateResponse(request, "admin/annotation/spending.html", context)

    def save_model(self, request: HttpRequest, obj: SpendingLimit, form: Any, change: bool) -> None:
        with transaction.atomic():
            if obj.account is not None:
                lock_row(obj.currency)
            super().save_model(request, obj, form, change)

    def decide_view(self, request: HttpRequest, pk: int, decision: str) -> HttpResponse:
        by = signed_in(request)
        if not by.has_perm(CONFIRM) or not self.has_view_permission(request):
            raise PermissionDenied
        try:
            if decision == "confirm":
                messages.success(request, confirm_request(request=pk, by=by).words)
            else:
                refuse_request(request=pk, by=by, why=request.POST.get("why", ""))
                messages.success(request, _("Request %(pk)s is refused.") % {"pk": pk})
        except QuorumError as error:
            messages.error(request, str(error))
        return redirect("admin:annotation_spendinglimit_changelist")
