"""How careless answers are kept out, for programs: rules, replays, control items, flags, exclusions and reviews."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters as filters
from django.db.models import Q, QuerySet
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
    extend_schema_view,
)
from rest_framework import serializers
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
    Participation,
    ProblemReport,
    QualityRule,
    QuizAttempt,
    WrittenCaption,
)
from annotation.quality import adjudication as services
from annotation.quality import operations
from annotation.quality.controls_page import FIGURES, ControlFigures, used_up
from annotation.quality.detectors import RULES
from annotation.quality.histories import judged
from annotation.quality.operations import settings_of
from annotation.quality.rules import replay_rule
from annotation.quality.rules_page import MOST_TO_REPLAY
from annotation.work.operations import invite
from annotation.work.pictures import preview_picture_url
from annotation.work.presentation import shown_unit
from common.errors import WrongState
from judgments.access.permissions import staff_of, study_for, token_of
from judgments.api.operations import OperationView, create_action, row_action
from judgments.api.resources import Filters, Resource, TrueOrFalse, UnitSerializer, study_filter
from judgments.models import Study, Unit
from judgments.remembered import certain, remembered
from judgments.studies.studies import design_of


class RuleSerializer(serializers.ModelSerializer[QualityRule]):
    """A rule of behaviour of a study."""

    study = serializers.CharField(source="study.slug", read_only=True)
    settings = serializers.DictField(read_only=True, help_text="Settings that differ from the defaults.")
    changed_by = serializers.CharField(
        source="changed_by.username", default=None, allow_null=True, read_only=True
    )

    class Meta:
        model = QualityRule
        fields = ["id", "study", "rule", "action", "enabled", "settings", "changed_by", "changed_at"]
        read_only_fields = fields


class RuleFilters(Filters):
    """Of rules."""

    study = study_filter()

    class Meta:
        model = QualityRule
        fields = ["study", "rule", "action", "enabled"]


class RuleResource(Resource):
    """The rules that watch studies; what they found is in ``cases``."""

    reading, scope = "annotation.view_qualityrule", "workers"
    queryset = QualityRule.objects.select_related("study", "changed_by")
    serializer_class = RuleSerializer
    filterset_class = RuleFilters


class RuleView(OperationView):
    """PUT /api/studies/{slug}/rules/{rule}/"""

    method = "put"
    http_method_names = ["put", "options"]
    reply = RuleSerializer
    responses: ClassVar[dict[Any, Any]] = {200: RuleSerializer, 404: work.Problem, 409: work.Problem}

    def put(self, request: Request, slug: str, rule: str) -> Response:
        return self.do(request, slug, rule=rule)


class FoundSerializer(work.Schema):
    """A worker whom a rule would have found."""

    worker = serializers.CharField()
    answers = serializers.IntegerField(help_text="After how many of their answers.")
    words = serializers.CharField(allow_blank=True)
    numbers = serializers.DictField()
    judgments = serializers.IntegerField(help_text="That an exclusion would invalidate.")
    slots = serializers.IntegerField(help_text="That it would open again.")
    standing = serializers.CharField()
    simulated = serializers.BooleanField()


class ReplaySerializer(work.Schema):
    """What one rule would have found in the finished work."""

    rule = serializers.CharField()
    settings = serializers.DictField()
    applies = serializers.BooleanField(help_text="Whether it means anything for this kind of study.")
    workers = serializers.IntegerField()
    judgments = serializers.IntegerField()
    slots = serializers.IntegerField()
    found = FoundSerializer(many=True)


class ReplayView(APIView):
    """GET /api/studies/{slug}/replay/"""

    scope: ClassVar[str] = "workers"

    @extend_schema(
        parameters=[
            OpenApiParameter("rule", str, required=True, enum=sorted(RULES), description="Its name."),
        ],
        responses={200: ReplaySerializer, 404: work.Problem, 409: work.Problem},
        operation_id="studies_replay",
        summary="Whom a detector would have found",
        description="Every setting of the detector may be a query parameter too. Nothing is stored.",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Run over the finished work, as it would have looked then."""
        study = study_for(request, slug)
        name = request.query_params.get("rule", "")
        if name not in RULES:
            raise ValidationError({"rule": [f"must be one of {', '.join(RULES)}."]})
        settings = settings_of(study, name, request.query_params.dict())
        if judged(study).count() > MOST_TO_REPLAY:
            raise WrongState(
                f"Study {slug!r} has more than {MOST_TO_REPLAY:,} judgments; use `manage.py replay_rules`."
            )
        return Response(replay_rule(study=study, rule=name, settings=settings).as_json())


class ControlItemSerializer(UnitSerializer):
    """A control item with its right answer, and how workers fared on it in whatever HITs it stands."""

    seen = serializers.SerializerMethodField()
    right = serializers.SerializerMethodField()
    suspect = serializers.SerializerMethodField(help_text="Whether careful workers miss it.")

    class Meta(UnitSerializer.Meta):
        fields = [*UnitSerializer.Meta.fields, "control_kind", "seen", "right", "suspect"]
        read_only_fields = fields

    def _figures(self) -> ControlFigures:
        found: ControlFigures = self.context["view"].figures
        return found

    def get_seen(self, unit: Unit) -> int:
        """How often it was answered."""
        fared = self._figures().fared.get(unit.pk)
        return fared.seen if fared else 0

    def get_right(self, unit: Unit) -> int:
        """How often rightly."""
        fared = self._figures().fared.get(unit.pk)
        return fared.right if fared else 0

    def get_suspect(self, unit: Unit) -> bool:
        """By the same test as the page."""
        return unit.pk in self.context["view"].suspects


def known_figures(study: Study) -> ControlFigures:
    """As the page of control items shows them: kept for a minute where they stand for many rows."""
    return certain(remembered(study, FIGURES, wait=True))


@extend_schema_view(list=extend_schema(operation_id="studies_control_items", responses=ControlItemSerializer))
class ControlItemResource(Resource):
    """The control items of a study, with what workers answered on them."""

    reading, scope = "annotation.view_judgment", "judgments"
    queryset = Unit.objects.none()
    serializer_class = ControlItemSerializer
    orderings: ClassVar[dict[str, str]] = {"position": "position", "id": "pk"}
    figures = ControlFigures({}, [], [])
    suspects: frozenset[int] = frozenset()

    def get_queryset(self) -> QuerySet[Unit]:
        """Of the study in the address; items of its quiz are in ``quiz-attempts``."""
        if getattr(self, "swagger_fake_view", False):
            return Unit.objects.none()
        study = study_for(self.request, self.kwargs["slug"])
        self.figures = known_figures(study)
        self.suspects = frozenset(unit.pk for one in self.figures.suspects for unit in one.units)
        return (
            Unit.objects.filter(study=study, control=True)
            .exclude(control_kind=Unit.ControlKind.QUIZ)
            .select_related("study", "item", "reference", "first", "second", "pair")
        )


class FaredSerializer(work.Schema):
    """Answers on one kind of control items."""

    kind = serializers.CharField()
    seen = serializers.IntegerField()
    right = serializers.IntegerField()


class ControlsSerializer(work.Schema):
    """All answers on control items together."""

    by_kind = FaredSerializer(many=True)
    suspects = serializers.ListField(child=serializers.CharField(), help_text="Units, the surest first.")
    used_up = serializers.DictField(
        child=serializers.IntegerField(allow_null=True),
        help_text="Workers who met every item, and what their pages lacked.",
    )


class ControlsView(APIView):
    """GET /api/studies/{slug}/controls/"""

    scope: ClassVar[str] = "judgments"

    @extend_schema(
        responses={200: ControlsSerializer, 404: work.Problem},
        operation_id="studies_controls",
        summary="How workers fare on control items",
    )
    def get(self, request: Request, slug: str) -> Response:
        """By the kind of item, with the items that careful workers miss."""
        study = study_for(request, slug)
        figures = known_figures(study)
        return Response(
            {
                "by_kind": [
                    {"kind": kind, "seen": fared.seen, "right": fared.right}
                    for kind, fared in figures.by_kind
                ],
                "suspects": [unit.key for one in figures.suspects for unit in one.units],
                "used_up": used_up(study),
            }
        )


class QuizAttemptSerializer(serializers.ModelSerializer[QuizAttempt]):
    """A worker's try at a quiz: what was asked, what was answered."""

    study = serializers.CharField(source="study.slug", read_only=True)
    worker = serializers.CharField(source="worker.name", read_only=True)
    items = serializers.ListField(read_only=True)
    answers = serializers.DictField(read_only=True, help_text="Position -> answer, as the worker saw it.")

    class Meta:
        model = QuizAttempt
        fields = [
            *("id", "study", "worker", "qualification", "number", "items", "answers", "right", "passed"),
            *("simulated", "started_at", "finished_at"),
        ]
        read_only_fields = fields


class QuizAttemptFilters(Filters):
    """Of quiz attempts."""

    study = study_filter()
    worker = filters.CharFilter(field_name="worker__name")

    class Meta:
        model = QuizAttempt
        fields = ["study", "worker", "qualification", "passed", "simulated"]


class QuizAttemptResource(Resource):
    """Attempts at quizzes, those under way too."""

    reading, scope = "annotation.view_quizattempt", "workers"
    queryset = QuizAttempt.objects.select_related("study", "worker")
    serializer_class = QuizAttemptSerializer
    filterset_class = QuizAttemptFilters
    orderings = {"id": "pk", "started_at": "started_at"}


class ParticipationSerializer(serializers.ModelSerializer[Participation]):
    """A worker's part in a study; never their completion code."""

    study = serializers.CharField(source="study.slug", read_only=True)
    worker = serializers.CharField(source="worker.name", read_only=True)

    class Meta:
        model = Participation
        fields = ["id", "study", "worker", "standing", "joined_at", "consent_version", "consented_at"]
        read_only_fields = fields


class ParticipationFilters(Filters):
    """Of participations."""

    study = study_filter()
    worker = filters.CharFilter(field_name="worker__name")
    consented = TrueOrFalse(field_name="consented_at", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Participation
        fields = ["study", "worker", "standing", "consented"]


class ParticipationResource(Resource):
    """Who joined which study, and whether they may go on."""

    reading, scope = "annotation.view_participation", "workers"
    queryset = Participation.objects.select_related("study", "worker")
    serializer_class = ParticipationSerializer
    filterset_class = ParticipationFilters
    orderings = {"id": "pk", "joined_at": "joined_at"}


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


DECIDED_BEFORE = {
    409: OpenApiResponse(work.Problem, description="It was decided before; nothing was changed.")
}


class CaseResource(Resource):
    """Findings of the rules of behaviour, and what was decided."""

    reading, scope = "annotation.view_case", "workers"
    queryset = Case.objects.select_related("study", "worker", "decided_by")
    serializer_class = CaseSerializer
    filterset_class = CaseFilters

    confirm = row_action(operations.confirm_case, "confirm", reply=CaseSerializer, responses=DECIDED_BEFORE)
    dismiss = row_action(operations.dismiss_case, "dismiss", reply=CaseSerializer, responses=DECIDED_BEFORE)


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


class ChangedReply(work.Schema):
    """How many changed; the others were so already."""

    changed = serializers.IntegerField()


NOT_NOW = OpenApiResponse(work.Problem, description="Not possible now; nothing was changed.")
PROBLEMS = {400: work.Problem, 404: work.Problem, 409: NOT_NOW}


class ChangedView(OperationView):
    """Answers with how many changed."""

    reply = ChangedReply
    responses: ClassVar[dict[Any, Any]] = {200: ChangedReply, **PROBLEMS}


class ExclusionView(OperationView):
    """Answers with the exclusion."""

    reply = ExclusionSerializer
    responses: ClassVar[dict[Any, Any]] = {200: ExclusionSerializer, **PROBLEMS}


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

    create = create_action(
        operations.send_units,
        reply=AdjudicationSerializer,
        many=True,
        responses={404: work.Problem, 409: NOT_NOW},
    )
    withdraw = row_action(
        operations.withdraw, "withdraw", reply=AdjudicationSerializer, responses={404: work.Problem}
    )

    @extend_schema(
        responses={200: work.ShownUnit, 404: work.Problem},
        description="The unit as its adjudicator sees it, for them alone.",
    )
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

    @extend_schema(
        request=operations.DecideRequest,
        responses={200: AdjudicationSerializer, 404: work.Problem, 409: NOT_NOW},
        description="The final answer, by the adjudicator alone, as they see the unit; the same again is harmless.",
    )
    @action(detail=True, methods=["post"])
    def decide(self, request: Request, pk: str) -> Response:
        """Decide."""
        own, given = self._own(request), operations.DecideRequest.read(request.data)
        decided = services.decide(adjudication=own, given=given["value"], reason=given.get("reason", ""))
        return Response(self.get_serializer(decided).data)

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


class InvitationResource(Resource):
    """Personal codes."""

    reading, scope = "annotation.view_invitation", "workers"
    queryset = Invitation.objects.select_related("study", "worker")
    serializer_class = InvitationSerializer
    filterset_class = InvitationFilters

    create = create_action(
        invite, reply=InvitationSerializer, many=True, responses={404: work.Problem, 409: NOT_NOW}
    )


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
