"""Steps that move money: bonuses, top-ups, budgets, and calls that were given up. Each by a preview and its
``confirm``, under an ``Idempotency-Key``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api import work
from annotation.models import CrowdCall
from annotation.models.money_requests import KEY_LENGTH
from annotation.money import steps
from common.errors import NotThere
from common.parameters import Parameters
from judgments.access.permissions import require, staff_of, studies_of, study_for
from judgments.access.roles import Right
from judgments.models import Study

KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    required=True,
    description=f"1 to {KEY_LENGTH} visible characters of your choice, new for every new request. The same request "
    "under the same key is answered as the first time and changes nothing.",
)
WORKER = OpenApiParameter("worker", OpenApiTypes.STR, required=True, description="Whose work was approved.")
CENTS = OpenApiParameter("cents", OpenApiTypes.INT, required=True)
REPLAYED = "Idempotency-Replayed"
LONGEST_WHY = 1000


class PreviewReply(work.Schema):
    """What the step would do; further members tell what it is about."""

    step = serializers.CharField()
    total_cents = serializers.IntegerField(help_text="Of the budget, fees included.")
    left_cents = serializers.IntegerField(help_text="Neither spent nor reserved now.")
    enough = serializers.BooleanField()
    confirm = serializers.CharField(help_text="Send it back to have this done.")


class DoneReply(work.Schema):
    """What was asked for."""

    step = serializers.CharField()
    total_cents = serializers.IntegerField()
    left_cents = serializers.IntegerField(help_text="Afterwards.")
    calls = serializers.ListField(
        child=serializers.IntegerField(), help_text="To follow under /api/crowd-calls/."
    )


class ConfirmRequest(Parameters):
    """The preview's word, and why."""

    confirm = serializers.CharField()
    why = serializers.CharField(
        required=False, allow_blank=True, max_length=LONGEST_WHY, help_text="For the log."
    )


class TopUpRequest(ConfirmRequest):
    """With what the workers read."""

    why = serializers.CharField(max_length=LONGEST_WHY, help_text="What the workers read with it.")


class BonusQuery(Parameters):
    """A worker, and how much."""

    worker = serializers.CharField()
    cents = serializers.IntegerField(
        min_value=1, max_value=steps.MOST_CENTS, help_text="Without the crowd's fee."
    )


class BonusRequest(BonusQuery, TopUpRequest):
    """A worker, and how much."""


class BudgetQuery(Parameters):
    """All that may be spent."""

    cents = serializers.IntegerField(
        min_value=0, max_value=steps.MOST_CENTS, help_text="Fees and bonuses included."
    )


class BudgetRequest(BudgetQuery, ConfirmRequest):
    """All that may be spent."""


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


class MoneyStep(APIView, ABC):
    """GET: what it would cost. POST: do it, once. Both are for who may spend the study's money."""

    scope: ClassVar[str] = "money"
    reading: ClassVar[str] = "annotation.view_budget"
    parameters: ClassVar[type[Parameters]] = ConfirmRequest

    def preview_reply(self, found: steps.Preview) -> Response:
        """The preview."""
        return Response(found.as_json(), headers={"Cache-Control": "no-store"})

    def do(
        self, request: Request, study: Study, step: str, about: Mapping[str, Any] | None = None
    ) -> Response:
        """Do what the body confirms, or tell what was answered to it before."""
        sent = request.data  # before the key: a body of another type is 415
        key = _key_of(request)
        asked = {"why": "", **self.parameters.read(sent)}
        by = staff_of(request)
        answer, replayed = steps.once(
            key=key,
            study=study,
            step=step,
            asked={**asked, **(about or {})},
            by=by,
            do=lambda: self.done(study, asked, request),
        )
        headers = {REPLAYED: "true"} if replayed else {}
        return Response(answer, status=status.HTTP_202_ACCEPTED, headers=headers)

    @abstractmethod
    def done(self, study: Study, asked: dict[str, Any], request: Request) -> dict[str, Any]:
        """The step itself."""


class BonusView(MoneyStep):
    """/api/studies/{slug}/bonus/"""

    parameters = BonusRequest

    @extend_schema(
        parameters=[WORKER, CENTS],
        responses=PREVIEWS,
        operation_id="studies_bonus_preview",
        summary="What a bonus would cost",
    )
    def get(self, request: Request, slug: str) -> Response:
        """For a worker's latest approved work."""
        study = study_for(request, slug, Right.CHANGE)
        return self.preview_reply(steps.preview_bonus(study=study, **BonusQuery.read(request.query_params)))

    @extend_schema(
        request=BonusRequest,
        parameters=[KEY],
        responses=DONE,
        operation_id="studies_bonus",
        summary="Pay a bonus",
    )
    def post(self, request: Request, slug: str) -> Response:
        """The crowd is asked in the background; follow the call."""
        return self.do(request, study_for(request, slug, Right.CHANGE), "bonus")

    def done(self, study: Study, asked: dict[str, Any], request: Request) -> dict[str, Any]:
        """Pay."""
        return steps.pay_confirmed_bonus(study=study, by=staff_of(request), **asked)


class TopUpView(MoneyStep):
    """/api/studies/{slug}/top-up/"""

    parameters = TopUpRequest

    @extend_schema(
        responses=PREVIEWS, operation_id="studies_top_up_preview", summary="What top-ups would cost"
    )
    def get(self, request: Request, slug: str) -> Response:
        """For all approved work below the study's floor."""
        return self.preview_reply(steps.preview_top_ups(study=study_for(request, slug, Right.CHANGE)))

    @extend_schema(
        request=TopUpRequest,
        parameters=[KEY],
        responses=DONE,
        operation_id="studies_top_up",
        summary="Pay top-ups",
    )
    def post(self, request: Request, slug: str) -> Response:
        """All of them or none; the crowd is asked in the background."""
        return self.do(request, study_for(request, slug, Right.CHANGE), "top-up")

    def done(self, study: Study, asked: dict[str, Any], request: Request) -> dict[str, Any]:
        """Pay."""
        return steps.pay_confirmed_top_ups(study=study, by=staff_of(request), **asked)


class BudgetView(MoneyStep):
    """/api/studies/{slug}/budget/"""

    parameters = BudgetRequest

    @extend_schema(
        parameters=[CENTS],
        responses=PREVIEWS,
        operation_id="studies_budget_preview",
        summary="What another budget would change",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Of a study that was opened."""
        study = study_for(request, slug, Right.CHANGE)
        return self.preview_reply(steps.preview_budget(study=study, **BudgetQuery.read(request.query_params)))

    @extend_schema(
        request=BudgetRequest,
        parameters=[KEY],
        responses=DONE,
        operation_id="studies_budget",
        summary="Set the budget",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Never below what is spent and reserved."""
        return self.do(request, study_for(request, slug, Right.CHANGE), "budget")

    def done(self, study: Study, asked: dict[str, Any], request: Request) -> dict[str, Any]:
        """Set it."""
        return steps.set_confirmed_budget(study=study, by=staff_of(request), **asked)


class CallStep(MoneyStep):
    """/api/crowd-calls/{id}/…/"""

    step: ClassVar[str]

    def found(self, request: Request, id: str) -> CrowdCall:
        """The call, for who may spend its study's money.

        Raises:
            NotThere: there is none that this person may see.
            PermissionDenied: they may see it, and not do this.
        """
        calls = CrowdCall.objects.filter(study__in=studies_of(request)).select_related("study")
        call = calls.filter(pk=int(id)).first() if id.isascii() and id.isdecimal() and len(id) <= 18 else None
        if call is None:
            raise NotThere(f"There is no call {id[:20]!r}.")
        require(request, Right.CHANGE, call.study)
        return call

    def get(self, request: Request, id: str) -> Response:
        """Of a call that is parked."""
        return self.preview_reply(steps.preview_call(call=self.found(request, id), step=self.step))

    def post(self, request: Request, id: str) -> Response:
        """Do it, once."""
        call = self.found(request, id)
        return self.do(request, call.study, self.step, {"call": call.pk})

    def done(self, study: Study, asked: dict[str, Any], request: Request) -> dict[str, Any]:
        """Do it."""
        call = self.found(request, self.kwargs["id"])
        return steps.decide_confirmed_call(call=call, step=self.step, by=staff_of(request), **asked)


def _described(
    name: str, *, preview: str, done: str, words: str
) -> Callable[[type[CallStep]], type[CallStep]]:
    """The calls of a step in the schema: ``crowd_calls_<name>`` and its preview."""
    return extend_schema_view(
        get=extend_schema(responses=PREVIEWS, operation_id=f"crowd_calls_{name}_preview", summary=preview),
        post=extend_schema(
            request=ConfirmRequest,
            parameters=[KEY],
            responses=DONE,
            operation_id=f"crowd_calls_{name}",
            summary=done,
            description=words,
        ),
    )


@_described(
    "retry",
    preview="What trying again costs",
    done="Try a call again",
    words="Of a call that was given up. Its money is kept anew; the crowd is asked in the background.",
)
class RetryView(CallStep):
    """A call that was given up."""

    step = "retry"


@_described(
    "was_done",
    preview="What saying so would book",
    done="Say that a call was done",
    words="Somebody looked at the crowd: it ends as done, and its money is spent.",
)
class WasDoneView(CallStep):
    """A call of which nobody could tell."""

    step = "was-done"


@_described(
    "was_not_done",
    preview="What asking again costs",
    done="Say that a call was not done",
    words="Somebody looked at the crowd: it is asked for again from the start.",
)
class WasNotDoneView(CallStep):
    """The same, the other way."""

    step = "was-not-done"


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
