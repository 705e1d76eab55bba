"""Judges over HTTP."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.models import Analysis, Judge, JudgeAnswer
from evaluation.results.api import LastAnalysisView, describe_last
from evaluation.results.judges import operations
from judgments.access.permissions import require, staff_of
from judgments.api.resources import Related, Resource, RowSerializer, filters_of, study_filter


class JudgeSerializer(RowSerializer[Judge]):
    """A model or another crowd; its money is in millionths of the endpoint's currency."""

    study = Related("study.slug")
    own_systems = serializers.ListField(child=serializers.CharField(), read_only=True)
    options = serializers.SerializerMethodField()

    class Meta:
        model = Judge
        fields = [
            *("id", "study", "name", "source", "model", "own_systems", "prompt", "options"),
            *("budget", "spent", "reserved", "made_at"),
        ]

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_options(self, row: Judge) -> dict[str, object]:
        """How it was asked: endpoint, temperature, longest reply, prices."""
        return dict(row.options)


@extend_schema_view(destroy=extend_schema(description=operations.remove_judge.description))
class JudgeResource(mixins.DestroyModelMixin, Resource):
    """Judges beside the people of a study."""

    scope = "reports"
    queryset = Judge.objects.select_related("study")
    serializer_class = JudgeSerializer
    filterset_class = filters_of(Judge, "name", "source", study=study_filter())

    def perform_destroy(self, instance: Judge) -> None:
        require(self.request, operations.remove_judge.right, instance.study)
        operations.remove_judge.run(instance.study, {"judge": str(instance.pk)}, by=staff_of(self.request))


class JudgeAnswerSerializer(RowSerializer[JudgeAnswer]):
    """A judge's answer to a unit in one order; `value`, or `answer` if it is no number, is in the unit's order."""

    study = Related("judge.study.slug")
    judge = Related("judge.name")
    unit = Related("unit.key")
    answer = serializers.JSONField(read_only=True, allow_null=True)

    class Meta:
        model = JudgeAnswer
        fields = [
            *("id", "study", "judge", "unit", "rater", "swapped", "state", "value", "answer", "reply"),
            *("answered_by", "cached", "attempts", "cost", "answered_at"),
        ]


class JudgeAnswerResource(Resource):
    """What judges answered, and what they wrote."""

    scope = "reports"
    queryset = JudgeAnswer.objects.select_related("judge__study", "unit")
    serializer_class = JudgeAnswerSerializer
    study_path = "judge__study"
    filterset_class = filters_of(
        JudgeAnswer,
        "state",
        study=study_filter(field_name="judge__study"),
        judge="judge__name",
        unit="unit__key",
    )


class JudgesView(LastAnalysisView):
    """GET /api/studies/{slug}/judges/"""

    what = Analysis.What.JUDGES

    @describe_last("studies_judges", "The last comparison of judges with people")
    def get(self, request: Request, slug: str) -> Response:
        """As the last ``compare-judges`` stored it."""
        return self.last(request, slug)
