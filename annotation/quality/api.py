"""How careless answers are kept out, for programs: rules, their replays, control items, quizzes, who may go on."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters as filters
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api import work
from annotation.models import Participation, QualityRule, QuizAttempt
from annotation.quality.controls_page import FIGURES, ControlFigures, used_up
from annotation.quality.detectors import RULES
from annotation.quality.histories import judged
from annotation.quality.operations import settings_of
from annotation.quality.rules import replay_rule
from annotation.quality.rules_page import MOST_TO_REPLAY
from common.errors import WrongState
from judgments.access.permissions import study_for
from judgments.api.operations import OperationView
from judgments.api.resources import Filters, Resource, TrueOrFalse, UnitSerializer, study_filter
from judgments.models import Study, Unit
from judgments.remembered import certain, remembered


class RuleSerializer(serializers.ModelSerializer[QualityRule]):
    """A rule of behaviour of a study."""

    study = serializers.CharField(source="study.slug", read_only=True)
    settings = serializers.DictField(read_only=True, help_text="What differs from the rule's own settings.")
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
    judgments = serializers.IntegerField(help_text="That an exclusion would set aside.")
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
        summary="Whom a rule would have found",
        description="Every setting of the rule may be a query parameter too. Nothing is stored.",
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
