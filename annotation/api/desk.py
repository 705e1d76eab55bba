"""What the desk decides about: exclusions, findings of the rules, problem reports; and how it decides."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

import django_filters as filters
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api import schemas
from annotation.models import Case, Exclusion, ProblemReport, Worker
from annotation.services.cases import confirm_case, dismiss_case
from annotation.services.exclusions import exclude_worker, lift_exclusion
from annotation.services.reviews import approve_assignments, reject_assignments
from judgments.api.bodies import body_of, member
from judgments.api.filters import Filters, TrueOrFalse, study_filter
from judgments.api.permissions import require, staff_of, study_for
from judgments.api.resources import Resource
from judgments.errors import NotThere
from judgments.models import Study
from judgments.roles import Right

MOST = 1000  # assignments decided by one call


class ExclusionSerializer(serializers.ModelSerializer[Exclusion]):
    """A worker whose answers in a study do not count."""

    study = serializers.CharField(source="study.slug", read_only=True)
    worker = serializers.CharField(source="worker.name", read_only=True)
    evidence = serializers.DictField(read_only=True)
    made_by = serializers.CharField(source="made_by.username", default=None, allow_null=True, read_only=True)
    lifted_by = serializers.CharField(
        source="lifted_by.username", default=None, allow_null=True, read_only=True
    )

    class Meta:
        model = Exclusion
        fields = [
            *("id", "study", "worker", "rule", "why", "evidence", "made_by", "made_at", "lifted_by"),
            *("lifted_at", "lifted_why"),
        ]
        read_only_fields = fields


class ExclusionFilters(Filters):
    """Of exclusions."""

    study = study_filter()
    worker = filters.CharFilter(field_name="worker__name")
    lifted = TrueOrFalse(field_name="lifted_at", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Exclusion
        fields = ["study", "worker", "rule", "lifted"]


class ExclusionResource(Resource):
    """Exclusions, lifted ones too."""

    reading, scope = "annotation.view_exclusion", "workers"
    queryset = Exclusion.objects.select_related("study", "worker", "made_by", "lifted_by")
    serializer_class = ExclusionSerializer
    filterset_class = ExclusionFilters


class CaseSerializer(serializers.ModelSerializer[Case]):
    """What a rule found about a worker."""

    study = serializers.CharField(source="study.slug", read_only=True)
    worker = serializers.CharField(source="worker.name", read_only=True)
    evidence = serializers.DictField(read_only=True)
    decided_by = serializers.CharField(
        source="decided_by.username", default=None, allow_null=True, read_only=True
    )

    class Meta:
        model = Case
        fields = [
            *("id", "study", "worker", "rule", "action", "evidence", "answers", "state", "opened_at"),
            *("decided_by", "decided_at", "decision"),
        ]
        read_only_fields = fields


class CaseFilters(Filters):
    """Of findings."""

    study = study_filter()
    worker = filters.CharFilter(field_name="worker__name")

    class Meta:
        model = Case
        fields = ["study", "worker", "rule", "state"]


class WhyRequest(schemas.Schema):
    """Why, in a sentence that others can read."""

    why = serializers.CharField(max_length=500)


DECIDED: dict[Any, Any] = {
    200: CaseSerializer,
    409: OpenApiResponse(schemas.Problem, description="It was decided before; nothing was changed."),
}


@extend_schema_view(
    confirm=extend_schema(
        request=WhyRequest,
        responses=DECIDED,
        description="The worker is excluded, where the rule had not done it.",
    ),
    dismiss=extend_schema(
        request=WhyRequest,
        responses=DECIDED,
        description="What the rule did is taken back, and it says nothing more about this worker.",
    ),
)
class CaseResource(Resource):
    """Findings of the rules of behaviour, and what was decided."""

    reading, scope = "annotation.view_case", "workers"
    queryset = Case.objects.select_related("study", "worker", "decided_by")
    serializer_class = CaseSerializer
    filterset_class = CaseFilters

    @action(detail=True, methods=["post"])
    def confirm(self, request: Request, pk: str) -> Response:
        """Exclude."""
        case, why = self._asked(request)
        confirm_case(case=case, why=why, by=staff_of(request))
        return Response(self.get_serializer(self.get_object()).data)

    @action(detail=True, methods=["post"])
    def dismiss(self, request: Request, pk: str) -> Response:
        """Let go."""
        case, why = self._asked(request)
        dismiss_case(case=case, why=why, by=staff_of(request))
        return Response(self.get_serializer(self.get_object()).data)

    def _asked(self, request: Request) -> tuple[Case, str]:
        case: Case = self.get_object()
        require(request, Right.REVIEW, case.study)
        return case, _reason(body_of(request))


class ProblemReportSerializer(serializers.ModelSerializer[ProblemReport]):
    """Something a worker found wrong with a unit."""

    study = serializers.CharField(source="assignment.study.slug", read_only=True)
    worker = serializers.CharField(source="assignment.worker.name", read_only=True)
    unit = serializers.CharField(source="unit.key", read_only=True)

    class Meta:
        model = ProblemReport
        fields = ["id", "study", "assignment", "worker", "unit", "what", "comment"]
        read_only_fields = fields


class ProblemReportFilters(Filters):
    """Of problem reports."""

    study = study_filter(field_name="assignment__study")

    class Meta:
        model = ProblemReport
        fields = ["study", "what"]


class ProblemReportResource(Resource):
    """Pictures that cannot be seen, broken sentences, anything else."""

    reading, study_path, scope = "annotation.view_problemreport", "assignment__study", "judgments"
    queryset = ProblemReport.objects.select_related("assignment__study", "assignment__worker", "unit")
    serializer_class = ProblemReportSerializer
    filterset_class = ProblemReportFilters


class DecisionRequest(schemas.Schema):
    """The assignments to decide on."""

    assignments = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=MOST)


class RejectionRequest(DecisionRequest):
    """With the reason that their workers read."""

    reason = serializers.CharField()


class ExclusionRequest(schemas.Schema):
    """A worker, and why."""

    worker = serializers.CharField()
    why = serializers.CharField()


class ChangedReply(schemas.Schema):
    """How many changed; the others were so already."""

    changed = serializers.IntegerField()


ANSWERS: dict[Any, Any] = {
    200: ChangedReply,
    400: schemas.Problem,
    404: schemas.Problem,
    409: OpenApiResponse(schemas.Problem, description="Not possible now; nothing was changed."),
}


class ReviewView(APIView):
    """A decision of a reviewer."""

    scope: ClassVar[str] = "workers"


class ApproveView(ReviewView):
    """POST /api/studies/{slug}/approve/"""

    @extend_schema(
        request=DecisionRequest, responses=ANSWERS, operation_id="studies_approve", summary="Approve work"
    )
    def post(self, request: Request, slug: str) -> Response:
        """All of them or none; twice is harmless."""
        study = study_for(request, slug, Right.REVIEW)
        chosen = _assignments(body_of(request))
        return Response(
            {"changed": approve_assignments(study=study, assignments=chosen, by=staff_of(request))}
        )


class RejectView(ReviewView):
    """POST /api/studies/{slug}/reject/"""

    @extend_schema(
        request=RejectionRequest, responses=ANSWERS, operation_id="studies_reject", summary="Reject work"
    )
    def post(self, request: Request, slug: str) -> Response:
        """All of them or none, with a reason that the workers read; twice is harmless."""
        study, body = study_for(request, slug, Right.REVIEW), body_of(request)
        changed = reject_assignments(
            study=study,
            assignments=_assignments(body),
            reason=member(body, "reason", str),
            by=staff_of(request),
        )
        return Response({"changed": changed})


class ExcludeView(ReviewView):
    """POST /api/studies/{slug}/exclude/"""

    @extend_schema(
        request=ExclusionRequest,
        responses={**ANSWERS, 200: ExclusionSerializer},
        operation_id="studies_exclude",
        summary="Exclude a worker",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Their answers stay, and do not count; twice gives the first exclusion."""
        study, body = study_for(request, slug, Right.REVIEW), body_of(request)
        worker, why = _worker(study, member(body, "worker", str)), _reason(body)
        made = exclude_worker(study=study, worker=worker, why=why, by=staff_of(request))
        return Response(ExclusionSerializer(made).data)


class ReadmitView(ReviewView):
    """POST /api/studies/{slug}/readmit/"""

    @extend_schema(
        request=ExclusionRequest,
        responses={**ANSWERS, 200: ExclusionSerializer},
        operation_id="studies_readmit",
        summary="Take an exclusion back",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Their answers count again."""
        study, body = study_for(request, slug, Right.REVIEW), body_of(request)
        worker, why = _worker(study, member(body, "worker", str)), _reason(body)
        last = Exclusion.objects.filter(study=study, worker=worker).order_by("-pk").first()
        if last is None:
            raise NotThere(f"{worker.name} was never excluded from study {slug!r}.")
        return Response(
            ExclusionSerializer(lift_exclusion(exclusion=last, why=why, by=staff_of(request))).data
        )


def _reason(body: dict[str, Any]) -> str:
    why: str = member(body, "why", str)
    if not why.strip():
        raise ValidationError({"why": ["must say why."]})
    return why


def _worker(study: Study, name: str) -> Worker:
    worker = Worker.objects.filter(participations__study=study, name=name).first()
    if worker is None:
        raise NotThere(f"No worker {name!r} took part in study {study.slug!r}.")
    return worker


def _assignments(body: dict[str, Any]) -> list[UUID]:
    given = member(body, "assignments", list)
    if not 1 <= len(given) <= MOST:
        raise ValidationError({"assignments": [f"must hold 1 to {MOST} ids."]})
    try:
        return [UUID(text) for text in given]
    except (ValueError, AttributeError, TypeError):
        raise ValidationError({"assignments": ["must hold ids of assignments."]}) from None
