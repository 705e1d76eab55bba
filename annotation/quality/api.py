"""Quality over HTTP: detectors, replays, control items, flags, exclusions, reviews and adjudications."""

from __future__ import annotations

from typing import Any, ClassVar

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
    Exclusion,
    QualityRule,
)
from annotation.quality import operations
from annotation.quality import reviews as services
from annotation.quality.detectors import RULES
from annotation.quality.operations import settings_from_query
from annotation.quality.page import (
    FIGURES,
    MOST_TO_REPLAY,
    AnswerCounts,
    ControlFigures,
    sum_used_up_alarms,
)
from annotation.quality.rules import finished_judgments, replay_rule
from annotation.work.worksheet import preview_picture_url, shown_unit
from common.errors import WrongState
from judgments.access.permissions import staff_of, study_for, token_of
from judgments.api.resources import (
    OperationView,
    Related,
    Resource,
    RowSerializer,
    TrueOrFalse,
    UnitSerializer,
    create_action,
    filters_of,
    row_action,
    study_filter,
)
from judgments.cached_figures import cached_figures, required_figures
from judgments.models import Study, Unit
from judgments.studies.studies import design_of


class RuleSerializer(RowSerializer[QualityRule]):
    """A detector of a study."""

    study = Related("study.slug")
    settings = serializers.DictField(read_only=True, help_text="Settings that differ from the defaults.")
    changed_by = Related("changed_by.username", optional=True)

    class Meta:
        model = QualityRule
        fields = ["id", "study", "rule", "action", "enabled", "settings", "changed_by", "changed_at"]


class RuleResource(Resource):
    """The detectors that watch studies; their findings are in ``cases``."""

    reading, scope = "annotation.view_qualityrule", "workers"
    queryset = QualityRule.objects.select_related("study", "changed_by")
    serializer_class = RuleSerializer
    filterset_class = filters_of(QualityRule, "rule", "action", "enabled", study=study_filter())


class RuleView(OperationView):
    """PUT /api/studies/{slug}/rules/{rule}/"""

    method = "put"
    http_method_names = ["put", "options"]
    reply = RuleSerializer
    responses: ClassVar[dict[Any, Any]] = {200: RuleSerializer, 404: work.Problem, 409: work.Problem}

    def put(self, request: Request, slug: str, rule: str) -> Response:
        return self.do(request, slug, rule=rule)


class FoundSerializer(work.Schema):
    """A worker whom a detector would have flagged."""

    worker = serializers.CharField()
    answers = serializers.IntegerField(help_text="After how many of their answers.")
    words = serializers.CharField(allow_blank=True)
    numbers = serializers.DictField()
    judgments = serializers.IntegerField(help_text="That an exclusion would invalidate.")
    slots = serializers.IntegerField(help_text="That it would open again.")
    standing = serializers.CharField()
    simulated = serializers.BooleanField()


class ReplaySerializer(work.Schema):
    """The findings of one detector in finished work."""

    rule = serializers.CharField()
    settings = serializers.DictField()
    applies = serializers.BooleanField(help_text="Whether it means anything for this kind of study.")
    unrecorded = serializers.BooleanField(
        help_text="No answer holds what it looks at, so that it clears nobody."
    )
    workers = serializers.IntegerField()
    judgments = serializers.IntegerField()
    slots = serializers.IntegerField()
    found = FoundSerializer(many=True)


class ReplayView(APIView):
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
        settings = settings_from_query(study, name, request.query_params.dict())
        if finished_judgments(study).count() > MOST_TO_REPLAY:
            raise WrongState(
                f"Study {slug!r} has more than {MOST_TO_REPLAY:,} judgments; use `manage.py replay_rules`."
            )
        return Response(replay_rule(study=study, rule=name, settings=settings).as_json())


class ControlItemSerializer(UnitSerializer):
    """A control item with its right answer and workers' results, in any HIT."""

    seen = serializers.SerializerMethodField()
    right = serializers.SerializerMethodField()
    suspect = serializers.SerializerMethodField(help_text="Whether careful workers miss it.")

    class Meta(UnitSerializer.Meta):
        fields = [*UnitSerializer.Meta.fields, "control_kind", "seen", "right", "suspect"]

    def _counts(self, unit: Unit) -> AnswerCounts:
        figures: ControlFigures = self.context["view"].figures
        return figures.by_unit.get(unit.pk, AnswerCounts(0, 0))

    def get_seen(self, unit: Unit) -> int:
        """The number of answers."""
        return self._counts(unit).seen

    def get_right(self, unit: Unit) -> int:
        """The number of right answers."""
        return self._counts(unit).right

    def get_suspect(self, unit: Unit) -> bool:
        return unit.pk in self.context["view"].suspects


def control_figures_of(study: Study) -> ControlFigures:
    return required_figures(cached_figures(study, FIGURES, wait=True))


@extend_schema_view(list=extend_schema(operation_id="studies_control_items", responses=ControlItemSerializer))
class ControlItemResource(Resource):
    """The control items of a study with workers' results."""

    reading, scope = "annotation.view_judgment", "judgments"
    queryset = Unit.objects.none()
    serializer_class = ControlItemSerializer
    orderings: ClassVar[dict[str, str]] = {"position": "position", "id": "pk"}
    figures = ControlFigures({}, [], [])
    suspects: frozenset[int] = frozenset()

    def get_queryset(self) -> QuerySet[Unit]:
        if getattr(self, "swagger_fake_view", False):
            return Unit.objects.none()
        study = study_for(self.request, self.kwargs["slug"])
        self.figures = control_figures_of(study)
        self.suspects = frozenset(unit.pk for row in self.figures.suspects for unit in row.units)
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
    scope: ClassVar[str] = "judgments"

    @extend_schema(
        responses={200: ControlsSerializer, 404: work.Problem},
        operation_id="studies_controls",
        summary="How workers fare on control items",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Results by the kind of item, and items that careful workers miss."""
        study = study_for(request, slug)
        figures = control_figures_of(study)
        return Response(
            {
                "by_kind": [
                    {"kind": kind, "seen": counts.seen, "right": counts.right}
                    for kind, counts in figures.by_kind
                ],
                "suspects": [unit.key for entry in figures.suspects for unit in entry.units],
                "used_up": sum_used_up_alarms(study),
            }
        )


class ExclusionSerializer(RowSerializer[Exclusion]):
    """A worker whose answers in a study do not count."""

    study = Related("study.slug")
    worker = Related("worker.name")
    evidence = serializers.DictField(read_only=True)
    made_by = Related("made_by.username", optional=True)
    lifted_by = Related("lifted_by.username", optional=True)

    class Meta:
        model = Exclusion
        fields = [
            "id", "study", "worker", "rule", "why", "evidence", "made_by", "made_at", "lifted_by",
            "lifted_at", "lifted_why",
        ]  # fmt: skip


class ExclusionResource(Resource):
    """Exclusions, including lifted ones."""

    reading, scope = "annotation.view_exclusion", "workers"
    queryset = Exclusion.objects.select_related("study", "worker", "made_by", "lifted_by")
    serializer_class = ExclusionSerializer
    filterset_class = filters_of(
        Exclusion,
        "rule",
        study=study_filter(),
        worker="worker__name",
        lifted=TrueOrFalse(field_name="lifted_at", lookup_expr="isnull", exclude=True),
    )


class CaseSerializer(RowSerializer[Case]):
    """A detector's finding about a worker."""

    study = Related("study.slug")
    worker = Related("worker.name")
    evidence = serializers.DictField(read_only=True)
    decided_by = Related("decided_by.username", optional=True)

    class Meta:
        model = Case
        fields = [
            "id", "study", "worker", "rule", "action", "evidence", "answers", "state", "opened_at",
            "decided_by", "decided_at", "decision",
        ]  # fmt: skip


DECIDED_BEFORE = {
    409: OpenApiResponse(work.Problem, description="It was decided before; nothing was changed.")
}


class CaseResource(Resource):
    """Findings of the detectors, and the decisions on them."""

    reading, scope = "annotation.view_case", "workers"
    queryset = Case.objects.select_related("study", "worker", "decided_by")
    serializer_class = CaseSerializer
    filterset_class = filters_of(Case, "rule", "state", study=study_filter(), worker="worker__name")

    confirm = row_action(operations.confirm_case, "confirm", reply=CaseSerializer, responses=DECIDED_BEFORE)
    dismiss = row_action(operations.dismiss_case, "dismiss", reply=CaseSerializer, responses=DECIDED_BEFORE)


class ChangedReply(work.Schema):
    """The number of changes; the others were so already."""

    changed = serializers.IntegerField()


PROBLEMS = {400: work.Problem, 404: work.Problem, 409: work.NOT_NOW}


class ChangedView(OperationView):
    """Answer with the number of changes."""

    reply = ChangedReply
    responses: ClassVar[dict[Any, Any]] = {200: ChangedReply, **PROBLEMS}


class ExclusionView(OperationView):
    """Answer with the exclusion."""

    reply = ExclusionSerializer
    responses: ClassVar[dict[Any, Any]] = {200: ExclusionSerializer, **PROBLEMS}


class AdjudicationSerializer(RowSerializer[Adjudication]):
    """A disputed unit before a person. The votes are hidden from who is still to decide it."""

    study = Related("study.slug")
    unit = Related("unit.key")
    adjudicator = Related("adjudicator.username")
    sent_by = Related("sent_by.username", optional=True)
    withdrawn_by = Related("withdrawn_by.username", optional=True)
    votes = serializers.SerializerMethodField()
    answer = serializers.JSONField(read_only=True, allow_null=True)

    class Meta:
        model = Adjudication
        fields = [
            "id", "study", "unit", "adjudicator", "state", "value", "answer", "reason", "votes", "sent_by",
            "sent_at", "decided_at", "withdrawn_by", "withdrawn_at",
        ]  # fmt: skip

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField(), allow_null=True))
    def get_votes(self, row: Adjudication) -> dict[str, int] | None:
        """Return the votes when it was sent; null to who decides it, until they did."""
        column = row.adjudicator_id == self.context["request"].user.pk
        return None if column and row.state == Adjudication.State.WAITING else row.votes


class AdjudicationResource(Resource):
    """Disputed units that a person decides."""

    reading, scope = "annotation.view_adjudication", "workers"
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
        seen = Q(study__in=studies)
        if token is None or not token.limited:
            seen |= Q(adjudicator=staff_of(request))
        return queryset.filter(seen)

    create = create_action(
        operations.send_units,
        reply=AdjudicationSerializer,
        many=True,
        responses={404: work.Problem, 409: work.NOT_NOW},
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
        """Return the unit as shown."""
        adjudication = self._own(request)
        shown = shown_unit(
            services.page_unit_of(adjudication),
            design=design_of(adjudication.study),
            picture_url=lambda page_unit: preview_picture_url(adjudication.unit.item),
        )
        return Response(shown, headers={"Cache-Control": "no-store"})

    @extend_schema(
        request=operations.DecideRequest,
        responses={200: AdjudicationSerializer, 404: work.Problem, 409: work.NOT_NOW},
        description="The final answer, by the adjudicator alone, as they see the unit; the same again is harmless.",
    )
    @action(detail=True, methods=["post"])
    def decide(self, request: Request, pk: str) -> Response:
        adjudication, answer = self._own(request), operations.DecideRequest.read(request.data)
        decided = services.decide(
            adjudication=adjudication, answer=answer["value"], reason=answer.get("reason", "")
        )
        return Response(self.get_serializer(decided).data)

    def _own(self, request: Request) -> Adjudication:
        return services.own_adjudication(user=staff_of(request), pk=self.get_object().pk)
