"""Operations that move money, over HTTP: a GET request previews one, a POST request carries it out once.

The POST request sends back the digest ``confirm`` of the preview, and has a header ``Idempotency-Key``. ``money_path``
makes the route, the view and the schema of each operation.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api import bodies
from annotation.models import CrowdCall
from annotation.models.money import KEY_LENGTH
from annotation.money import previews
from annotation.money.views import idempotency
from common.errors import ObjectNotFound
from common.parameters import Parameters
from common.rows.ids import is_row_id
from judgments.access.permissions import require_right, staff_of, studies_of, study_for
from judgments.models import Study
from judgments.operations import Operation

KEY_PARAMETER = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    required=True,
    description=f"1 to {KEY_LENGTH} visible characters of your choice, new for every new request. The same request "
    "under the same key is answered as the first time and changes nothing.",
)
REPLAYED_HEADER = "Idempotency-Replayed"


class PreviewReply(bodies.Schema):
    """The preview of an operation that moves money. It has more members, which depend on the operation."""

    step = serializers.CharField()
    total_cents = serializers.IntegerField(help_text="Cost with fees; for a new budget, the increase.")
    currency = serializers.CharField()
    left_cents = serializers.IntegerField(help_text="Budget that is not spent or reserved; can be negative.")
    enough = serializers.BooleanField(help_text="Whether total_cents is at most left_cents.")
    confirm = serializers.CharField(help_text="Digest of this preview, which the POST request sends back.")


class DoneReply(bodies.Schema):
    """The result of an operation on money. ``left_out``: participants whose top-ups the budget does not cover."""

    step = serializers.CharField()
    total_cents = serializers.IntegerField(help_text="Cost of what is done; for a new budget, the increase.")
    currency = serializers.CharField()
    left_cents = serializers.IntegerField(help_text="Budget not spent or reserved after the operation.")
    calls = serializers.ListField(child=serializers.IntegerField(), help_text="Ids, under /api/crowd-calls/.")
    left_out = serializers.ListField(child=serializers.CharField(), required=False)
    request = serializers.IntegerField(
        required=False, help_text="Id of the spending request, if a second person must confirm it first."
    )


PREVIEW_RESPONSES: dict[Any, Any] = {
    200: PreviewReply,
    400: bodies.Problem,
    404: bodies.Problem,
    409: OpenApiResponse(bodies.Problem, description="Not possible now."),
}
DONE_RESPONSES: dict[Any, Any] = {
    202: DoneReply,
    400: bodies.Problem,
    404: bodies.Problem,
    409: OpenApiResponse(
        bodies.Problem,
        description="The preview has changed, the budget or a limit does not suffice, or it is not possible now.",
    ),
    422: OpenApiResponse(bodies.Problem, description="The key was used for another request."),
}


class MoneyView(APIView):
    """Preview the cost of an operation (GET), and carry it out once (POST).

    Both require the operation's right in the study. ``money_path`` makes a subclass for each operation.

    Attributes:
        preview_type: the parameters of a GET request.
        confirm_type: the parameters of a POST request, among them ``confirm``.
    """

    scope: ClassVar[str] = "money"
    read_permission: ClassVar[str] = "annotation.view_budget"
    operation: ClassVar[Operation]
    preview_type: ClassVar[type[Parameters]]
    confirm_type: ClassVar[type[Parameters]]

    def study_and_row(self, request: Request) -> tuple[Study, dict[str, Any]]:
        """Return the study in the address, and the arguments of the operation that the address gives: none here."""
        return study_for(request, self.kwargs["slug"], self.operation.right), {}

    def get(self, request: Request, **address: str) -> Response:
        study, row = self.study_and_row(request)
        assert self.operation.preview is not None
        parameters = self.preview_type.read(request.query_params)
        preview: previews.Preview = self.operation.preview(study=study, **parameters, **row)
        return Response(preview.as_json(), headers={"Cache-Control": "no-store"})

    def post(self, request: Request, **address: str) -> Response:
        study, row = self.study_and_row(request)
        body, operation, by = request.data, self.operation, staff_of(request)
        key = _read_key(request)  # after the body is read, since an unsupported type must give 415
        arguments = {"why": "", **self.confirm_type.read(body), **row}

        def carry_out() -> Any:
            assert operation.do is not None
            return operation.do(study=study, by=by, **arguments).value

        reply, is_replayed = idempotency.run_once(
            key=key, study=study, step=operation.name, request=arguments, by=by, carry_out=carry_out
        )
        headers = {REPLAYED_HEADER: "true"} if is_replayed else {}
        return Response(reply, status=status.HTTP_202_ACCEPTED, headers=headers)


class CallView(MoneyView):
    """Preview and carry out an operation on a failed call, whose id is in the address."""

    def study_and_row(self, request: Request) -> tuple[Study, dict[str, Any]]:
        id_text = self.kwargs["id"]
        calls = CrowdCall.objects.filter(study__in=studies_of(request)).select_related("study")
        is_id = id_text.isascii() and is_row_id(id_text)  # ``is_row_id`` accepts digits of other scripts
        call = calls.filter(pk=int(id_text)).first() if is_id else None
        if call is None:
            raise ObjectNotFound(_("There is no request %(key)r to the crowd.") % {"key": id_text[:20]})
        require_right(request, self.operation.right, call.study)
        return call.study, {"call": call.pk}


def money_path(operation: Operation, *, preview: str, detail: str) -> URLPattern:
    """Return the route of an operation that moves money, with a view made for it.

    Args:
        preview, detail: the summary and the description of the GET request in the schema.
    """
    is_about_call = operation.row == "call"
    name, parameters = operation.name.replace("-", "_"), operation.parameters
    preview_type = type("Previewed", (parameters,), {"why": None})  # None removes the inherited field
    base = CallView if is_about_call else MoneyView
    view = type(
        f"{name.title()}View",
        (base,),
        {"operation": operation, "preview_type": preview_type, "confirm_type": _with_confirm(parameters)},
    )
    operation_id = f"{'crowd_calls' if is_about_call else 'studies'}_{name}"
    documented_view: type[MoneyView] = extend_schema_view(
        get=extend_schema(
            parameters=[preview_type] if preview_type().fields else [],
            responses=PREVIEW_RESPONSES,
            operation_id=f"{operation_id}_preview",
            summary=preview,
            description=detail,
        ),
        post=extend_schema(
            request=_with_confirm(parameters),
            parameters=[KEY_PARAMETER],
            responses=DONE_RESPONSES,
            operation_id=operation_id,
            summary=operation.summary,
            description=operation.description,
        ),
    )(view)
    start = "crowd-calls/<str:id>" if is_about_call else "studies/<str:slug>"
    return path(f"{start}/{operation.name}/", documented_view.as_view(), name=f"do-{operation.name}")


@cache  # cached, since a schema component must be a single class
def _with_confirm(parameters: type[Parameters]) -> type[Parameters]:
    """Return the parameters with a field ``confirm``."""
    members = {
        "confirm": serializers.CharField(help_text="Digest in the preview of the same operation."),
        "__doc__": parameters.__doc__,
    }
    return type(parameters.__name__, (parameters,), members)


def _read_key(request: Request) -> str:
    """Return the key in the header ``Idempotency-Key``, which may be in double quotes."""
    key = request.headers.get("Idempotency-Key", "").strip()
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not 1 <= len(key) <= KEY_LENGTH or not key.isascii() or not key.isprintable():
        problem = f"is missing or none; expected a header of 1 to {KEY_LENGTH} visible characters."
        raise ValidationError({"Idempotency-Key": [problem]})
    return key
