"""What the desk decides about: exclusions, findings of the rules, problem reports; and how it decides."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

import django_filters as filters
from django.db.models import Q, QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api import work
from annotation.models import (
    Adjudication,
    Case,
    CrowdCall,
    Exclusion,
    Invitation,
    ProblemReport,
    Worker,
    WrittenCaption,
)
from annotation.quality import adjudication as services
from annotation.quality.exclusions import exclude_worker, lift_exclusion
from annotation.quality.flags import confirm_case, dismiss_case
from annotation.quality.reviews import approve_assignments, reject_assignments
from annotation.work.joining import MOST, create_invitations
from annotation.work.pictures import preview_picture_url
from annotation.work.presentation import shown_unit
from common.errors import NotThere, WrongState
from judgments.access.permissions import require, staff_of, study_for, token_of
from judgments.access.roles import Right
from judgments.api.bodies import body_of, member
from judgments.api.resources import Filters, Resource, TrueOrFalse, study_filter
from judgments.models import Study, Unit
from judgments.studies.studies import design_of

MOST_ASSIGNMENTS = 1000  # assignments decided by one call


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


class WhyRequest(work.Schema):
    """Why, in a sentence that others can read."""

    why = serializers.CharField(max_length=500)


DECIDED: dict[Any, Any] = {
    200: CaseSerializer,
    409: OpenApiResponse(work.Problem, description="It was decided before; nothing was changed."),
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


class DecisionRequest(work.Schema):
    """The assignments to decide on."""

    assignments = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=MOST_ASSIGNMENTS
    )


class RejectionRequest(DecisionRequest):
    """With the reason that their workers read."""

    reason = serializers.CharField()


class ExclusionRequest(work.Schema):
    """A worker, and why."""

    worker = serializers.CharField()
    why = serializers.CharField()


class ChangedReply(work.Schema):
    """How many changed; the others were so already."""

    changed = serializers.IntegerField()


ANSWERS: dict[Any, Any] = {
    200: ChangedReply,
    400: work.Problem,
    404: work.Problem,
    409: OpenApiResponse(work.Problem, description="Not possible now; nothing was changed."),
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
    if not 1 <= len(given) <= MOST_ASSIGNMENTS:
        raise ValidationError({"assignments": [f"must hold 1 to {MOST_ASSIGNMENTS} ids."]})
    try:
        return [UUID(text) for text in given]
    except (ValueError, AttributeError, TypeError):
        raise ValidationError({"assignments": ["must hold ids of assignments."]}) from None


MOST_SENT = 1000
LONGEST = 500
NOT_NOW = OpenApiResponse(work.Problem, description="Not possible now; nothing was changed.")


class AdjudicationSerializer(serializers.ModelSerializer[Adjudication]):
    """A disputed unit before a person. Who is still to decide it is not told the votes."""

    study = serializers.CharField(source="study.slug", read_only=True)
    unit = serializers.CharField(source="unit.key", read_only=True)
    adjudicator = serializers.CharField(source="adjudicator.username", read_only=True)
    sent_by = serializers.CharField(source="sent_by.username", default=None, allow_null=True, read_only=True)
    withdrawn_by = serializers.CharField(
        source="withdrawn_by.username", default=None, allow_null=True, read_only=True
    )
    votes = serializers.SerializerMethodField()
    answer = serializers.JSONField(read_only=True, allow_null=True)

    class Meta:
        model = Adjudication
        fields = [
            *("id", "study", "unit", "adjudicator", "state", "value", "answer", "reason", "votes", "sent_by"),
            *("sent_at", "decided_at", "withdrawn_by", "withdrawn_at"),
        ]
        read_only_fields = fields

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField(), allow_null=True))
    def get_votes(self, row: Adjudication) -> dict[str, int] | None:
        """As they stood when it was sent; null to who decides it, until they did."""
        own = row.adjudicator_id == self.context["request"].user.pk
        return None if own and row.state == Adjudication.State.WAITING else row.votes


class AdjudicationFilters(Filters):
    """Of adjudications."""

    study = study_filter()
    unit = filters.CharFilter(field_name="unit__key")
    adjudicator = filters.CharFilter(field_name="adjudicator__username")

    class Meta:
        model = Adjudication
        fields = ["study", "unit", "adjudicator", "state"]


class SendRequest(work.Schema):
    """Units to decide, and by whom."""

    study = serializers.CharField()
    units = serializers.ListField(child=serializers.CharField(), min_length=1, max_length=MOST_SENT)
    adjudicator = serializers.CharField(help_text="The name of an account that may review the study.")


class DecideRequest(work.Schema):
    """The answer as the person sees the unit."""

    value = serializers.IntegerField()
    reason = serializers.CharField(required=False, max_length=LONGEST)


@extend_schema_view(
    create=extend_schema(
        request=SendRequest,
        responses={201: AdjudicationSerializer(many=True), 404: work.Problem, 409: NOT_NOW},
        description="Puts units before a person, all or none; those that were sent before stay where they are and are "
        "left out of the answer.",
        filters=False,
    ),
    task=extend_schema(
        responses={200: work.ShownUnit, 404: work.Problem},
        description="The unit as its adjudicator sees it, for them alone.",
    ),
    decide=extend_schema(
        request=DecideRequest,
        responses={200: AdjudicationSerializer, 404: work.Problem, 409: NOT_NOW},
        description="The final answer, by the adjudicator alone, as they see the unit; the same again is harmless.",
    ),
    withdraw=extend_schema(
        request=None,
        responses={200: AdjudicationSerializer, 404: work.Problem},
        description="Takes a unit back, decided or not: what workers said counts again. Twice is harmless.",
    ),
)
class AdjudicationResource(Resource):
    """Disputed units that a person decides."""

    reading, scope = "annotation.view_adjudication", "workers"
    queryset = Adjudication.objects.select_related("study", "unit", "adjudicator", "sent_by", "withdrawn_by")
    serializer_class = AdjudicationSerializer
    filterset_class = AdjudicationFilters
    orderings = {"id": "pk", "sent_at": "sent_at"}

    def rows_for(
        self, queryset: QuerySet[Adjudication], studies: QuerySet[Study], request: Request
    ) -> QuerySet[Adjudication]:
        """Of studies that who asks may see; their own too, unless a token opens some studies alone."""
        token = token_of(request)
        seen = Q(study__in=studies)
        if token is None or not token.limited:
            seen |= Q(adjudicator=staff_of(request))
        return queryset.filter(seen)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Send units."""
        body = body_of(request)
        study = study_for(request, member(body, "study", str), Right.REVIEW)
        keys = member(body, "units", list)
        if not 1 <= len(keys) <= MOST_SENT or not all(type(key) is str for key in keys):
            raise ValidationError({"units": [f"must hold 1 to {MOST_SENT} ids of units."]})
        found = dict(Unit.objects.filter(study=study, key__in=keys).values_list("key", "pk"))
        lacking = [key for key in keys if key not in found]
        if lacking:
            raise NotThere(f"Nothing was sent: study {study.slug!r} has no unit {lacking[0][:80]!r}.")
        name = member(body, "adjudicator", str)
        person = services.adjudicators(study).filter(username=name).first()
        if person is None:
            raise WrongState(f"Nothing was sent: {name[:80]!r} may not adjudicate in this study.")
        sent = services.send_to_adjudicator(
            study=study, units=list(found.values()), adjudicator=person, by=staff_of(request)
        )
        return Response(self.get_serializer(sent, many=True).data, status=status.HTTP_201_CREATED)

    @action(detail=True, methods=["get"])
    def task(self, request: Request, pk: str) -> Response:
        """What is shown."""
        own = self._own(request)
        shown = shown_unit(
            services.place_of(own),
            design=design_of(own.study),
            picture_url=lambda place: preview_picture_url(own.unit.item),
        )
        return Response(shown, headers={"Cache-Control": "no-store"})

    @action(detail=True, methods=["post"])
    def decide(self, request: Request, pk: str) -> Response:
        """Decide."""
        own, body = self._own(request), body_of(request)
        given, reason = member(body, "value", int), member(body, "reason", str, "")
        if len(reason) > LONGEST:
            raise ValidationError({"reason": [f"must have at most {LONGEST} characters."]})
        return Response(
            self.get_serializer(services.decide(adjudication=own, given=given, reason=reason)).data
        )

    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, pk: str) -> Response:
        """Take back."""
        found: Adjudication = self.get_object()
        require(request, Right.REVIEW, found.study)
        services.withdraw(study=found.study, pk=found.pk, by=staff_of(request))
        return Response(self.get_serializer(self.get_object()).data)

    def _own(self, request: Request) -> Adjudication:
        """The unit, before this person. Whoever sees the row and is somebody else learns no more than that."""
        return services.own_adjudication(user=staff_of(request), pk=self.get_object().pk)


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    """A personal code, good for one person."""

    study = serializers.CharField(source="study.slug", read_only=True)
    worker = serializers.CharField(source="worker.name", default=None, allow_null=True, read_only=True)

    class Meta:
        model = Invitation
        fields = ["id", "study", "code", "note", "worker", "used_at"]
        read_only_fields = fields


class InvitationFilters(Filters):
    """Of invitations."""

    study = study_filter()
    used = TrueOrFalse(field_name="used_at", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Invitation
        fields = ["study", "note", "used"]


class InvitationRequest(work.Schema):
    """How many, and for whom."""

    study = serializers.CharField()
    count = serializers.IntegerField(min_value=1, max_value=MOST)
    note = serializers.CharField(required=False, max_length=200, help_text="Workers never see it.")


@extend_schema_view(
    create=extend_schema(
        request=InvitationRequest,
        responses={201: InvitationSerializer(many=True), 404: work.Problem, 409: NOT_NOW},
        description="New codes for a study that only invited people may join.",
        filters=False,
    )
)
class InvitationResource(Resource):
    """Personal codes."""

    reading, scope = "annotation.view_invitation", "workers"
    queryset = Invitation.objects.select_related("study", "worker")
    serializer_class = InvitationSerializer
    filterset_class = InvitationFilters

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Make some."""
        body = body_of(request)
        study = study_for(request, member(body, "study", str), Right.CHANGE)
        note = member(body, "note", str, "")
        if len(note) > 200:
            raise ValidationError({"note": ["must have at most 200 characters."]})
        count = member(body, "count", int)
        if not 1 <= count <= MOST:
            raise ValidationError({"count": [f"must be a whole number from 1 to {MOST}."]})
        made = create_invitations(study=study, count=count, note=note)
        codes = self.queryset.filter(study=study, code__in=[one.code for one in made]).order_by("pk")
        return Response(self.get_serializer(codes, many=True).data, status=status.HTTP_201_CREATED)


class CrowdCallSerializer(serializers.ModelSerializer[CrowdCall]):
    """Something asked of a crowd; never what the crowd itself calls a person."""

    study = serializers.CharField(source="study.slug", read_only=True)
    worker = serializers.CharField(source="worker.name", default=None, allow_null=True, read_only=True)
    made_by = serializers.CharField(source="made_by.username", default=None, allow_null=True, read_only=True)
    unsure = serializers.BooleanField(
        read_only=True, help_text="Nobody can tell whether the crowd carried it out."
    )

    class Meta:
        model = CrowdCall
        fields = [
            *("id", "study", "place", "kind", "publication", "session", "worker", "state", "unsure"),
            *("attempts", "reserved_cents", "why", "problem", "made_by", "made_at", "next_at", "done_at"),
        ]
        read_only_fields = fields


class CrowdCallFilters(Filters):
    """Of calls."""

    study = study_filter()
    worker = filters.CharFilter(field_name="worker__name")

    class Meta:
        model = CrowdCall
        fields = ["study", "place", "kind", "worker", "state"]


class CrowdCallResource(Resource):
    """What was asked of crowds: each call once, whatever broke on the way."""

    reading, scope = "annotation.view_crowdcall", "money"
    queryset = CrowdCall.objects.select_related("study", "worker", "made_by")
    serializer_class = CrowdCallSerializer
    filterset_class = CrowdCallFilters


class WrittenCaptionSerializer(serializers.ModelSerializer[WrittenCaption]):
    """A caption of a dataset that a worker wrote."""

    study = serializers.SerializerMethodField(help_text="Where it was written; null where that was deleted.")
    dataset = serializers.CharField(source="caption.dataset.name", read_only=True)
    caption = serializers.CharField(source="caption.key", read_only=True)
    text = serializers.CharField(source="caption.text", read_only=True)
    role = serializers.CharField(source="caption.role", read_only=True)
    worker = serializers.CharField(source="worker.name", read_only=True)

    class Meta:
        model = WrittenCaption
        fields = ["id", "study", "dataset", "caption", "text", "role", "worker", "judgment"]
        read_only_fields = fields

    @extend_schema_field({"type": "string", "nullable": True})
    def get_study(self, row: WrittenCaption) -> str | None:
        """Its slug."""
        return row.judgment.assignment.study.slug if row.judgment else None


class WrittenCaptionFilters(Filters):
    """Of written captions."""

    study = study_filter(field_name="judgment__assignment__study")
    dataset = filters.CharFilter(field_name="caption__dataset__name")
    worker = filters.CharFilter(field_name="worker__name")

    class Meta:
        model = WrittenCaption
        fields = ["study", "dataset", "worker"]


class WrittenCaptionResource(Resource):
    """Captions that workers wrote, once they are part of a dataset."""

    reading, scope = "annotation.view_writtencaption", "judgments"
    study_path: ClassVar[str] = "judgment__assignment__study"
    queryset = WrittenCaption.objects.select_related(
        "caption__dataset", "worker", "judgment__assignment__study"
    )
    serializer_class = WrittenCaptionSerializer
    filterset_class = WrittenCaptionFilters
