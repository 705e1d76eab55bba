"""Serve control items and workers' results on them over HTTP. Both views read the cached figures of a study."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api import bodies
from annotation.quality.control_figures import FIGURES, AnswerCounts, ControlFigures, sum_control_alarms
from judgments.access.permissions import study_for
from judgments.api.resources import Resource
from judgments.api.studies import UnitSerializer
from judgments.cached_figures import cached_figures, required_figures
from judgments.models import Study, Unit


class ControlItemSerializer(UnitSerializer):
    """A check question with its right answer, and the answers of participants to it on all pages of work."""

    seen = serializers.SerializerMethodField()
    right = serializers.SerializerMethodField()
    suspect = serializers.SerializerMethodField(help_text="Whether careful participants often miss it.")

    class Meta(UnitSerializer.Meta):
        fields = [*UnitSerializer.Meta.fields, "control_kind", "seen", "right", "suspect"]

    def _counts(self, unit: Unit) -> AnswerCounts:
        figures: ControlFigures = self.context["view"].figures
        return figures.by_unit.get(unit.pk, AnswerCounts(0, 0))

    def get_seen(self, unit: Unit) -> int:
        """The number of answers, on all pages of work."""
        return self._counts(unit).answers

    def get_right(self, unit: Unit) -> int:
        """The number of right answers, on all pages of work."""
        return self._counts(unit).right_answers

    def get_suspect(self, unit: Unit) -> bool:
        return unit.pk in self.context["view"].suspect_units


def control_figures_of(study: Study) -> ControlFigures:
    """Return the figures of a study's control items; wait until they are computed."""
    return required_figures(cached_figures(study, FIGURES, wait=True))


@extend_schema_view(list=extend_schema(operation_id="studies_control_items", responses=ControlItemSerializer))
class ControlItemResource(Resource):
    """The check questions of a study, with the answers of participants."""

    read_permission, scope = "annotation.view_judgment", "judgments"
    queryset = Unit.objects.none()
    serializer_class = ControlItemSerializer
    orderings: ClassVar[dict[str, str]] = {"position": "position", "id": "pk"}
    figures = ControlFigures({}, [], [])
    suspect_units: frozenset[int] = frozenset()  # row ids

    def get_queryset(self) -> QuerySet[Unit]:
        if getattr(self, "swagger_fake_view", False):  # the schema is generated, so there is no study
            return Unit.objects.none()
        study = study_for(self.request, self.kwargs["slug"])
        self.figures = control_figures_of(study)
        self.suspect_units = frozenset(unit.pk for unit in self.figures.suspect_units)
        return (
            Unit.objects.filter(study=study, control=True)
            .exclude(control_kind=Unit.ControlKind.QUIZ)
            .select_related("study", "item", "reference", "first", "second", "pair")
        )


class ControlAnswersSerializer(bodies.Schema):
    """The numbers of answers and of right answers to one kind of check questions."""

    kind = serializers.CharField()
    seen = serializers.IntegerField()
    right = serializers.IntegerField()


class ControlsSerializer(bodies.Schema):
    """The answers to all check questions of a study."""

    by_kind = ControlAnswersSerializer(many=True)
    suspects = serializers.ListField(
        child=serializers.CharField(),
        help_text="Ids of check questions that careful participants often miss, the most certain first.",
    )
    used_up = serializers.DictField(
        child=serializers.IntegerField(allow_null=True),
        help_text="workers: number of participants who have seen all check questions; pages: number of their pages of "
        "work that lack check questions; missing: number of check questions that these pages lack. pages and missing "
        "are null if there are no such participants.",
    )


class ControlsView(APIView):
    scope: ClassVar[str] = "judgments"

    @extend_schema(
        responses={200: ControlsSerializer, 404: bodies.Problem},
        operation_id="studies_controls",
        summary="How participants answer check questions",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the results by the kind of check question, and the check questions that careful participants miss."""
        study = study_for(request, slug)
        figures = control_figures_of(study)
        return Response(
            {
                "by_kind": [
                    {"kind": kind, "seen": counts.answers, "right": counts.right_answers}
                    for kind, counts in figures.by_kind
                ],
                "suspects": [unit.key for unit in figures.suspect_units],
                "used_up": sum_control_alarms(study),
            }
        )
