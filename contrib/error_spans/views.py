"""The page "Errors by system", and the call that returns systems' scores by marked errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from unfold.widgets import UnfoldAdminSelectWidget

from common.amounts import as_json
from contrib.error_spans.results.comparison import compare_systems, shared_segments
from contrib.error_spans.results.marked_texts import marked_rows
from contrib.error_spans.results.ranks import rank_systems
from contrib.error_spans.results.scores import system_scores
from contrib.error_spans.results.segments import SEGMENTS, marks_errors, scope_of_segments, segments_of
from contrib.error_spans.results.tables import ranks_table
from evaluation.errors import EvaluationError, as_sentence
from evaluation.models import Analysis
from evaluation.results.consensus.clusters import scope_sentence
from judgments.access.permissions import study_for
from judgments.cached_figures import cached_figures, required_figures
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.pages import Context, StudySection
from judgments.studies.study_page import study_page

PAGE_SIZE = 10


class SystemPairForm(forms.Form):
    """The choice of two systems whose texts are shown side by side."""

    def __init__(self, data: dict[str, str], *, systems: list[str]) -> None:
        super().__init__(data, auto_id="by-%s")
        choices = [(name, name) for name in systems]
        for name, label in (("first", _("System")), ("second", _("compared with"))):
            self.fields[name] = forms.ChoiceField(
                label=label, choices=choices, widget=UnfoldAdminSelectWidget
            )


@study_page(
    "errors",
    "Errors by system",
    order=51,
    has_tab=marks_errors,
    section=StudySection.FINDINGS,
    style="css/errors.css",
)
def show_errors(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    if not marks_errors(study):
        raise Http404
    segments = required_figures(cached_figures(study, SEGMENTS))  # system -> its judged segments
    scores = system_scores(segments)
    analysis = Analysis.objects.newest(study, Analysis.Kind.AGGREGATION)
    figures = analysis.result.get("figures", {}).get("spans", {}) if analysis else {}
    design = design_of(study)
    # WMT's domains are the splits of the dataset here.
    domains = {segment.domain for system_segments in segments.values() for segment in system_segments}
    context |= {
        "scores": scores,
        "scope": scope_sentence({"scope": scope_of_segments(segments)}),
        "has_scores": design.spans.score,
        "own_weights": design.spans.weights,
        "ranks": ranks_table(rank_systems(segments)) if len(domains) > 1 else None,
        "source": design.source,  # settings of the source texts, such as their language
        "figures": figures,
        "agreement": _labelled_agreement(figures) if figures else [],
    }
    systems = [row.system for row in scores]
    if analysis is not None and len(systems) > 1:  # the marks that are shown are those of the consensus
        first, second = request.GET.get("first", ""), request.GET.get("second", "")
        first = first if first in systems else systems[0]
        if second not in systems or second == first:
            second = next(name for name in systems if name != first)
        page = Paginator(shared_segments(segments, first, second), PAGE_SIZE).get_page(
            request.GET.get("page")
        )
        context |= {
            "form": SystemPairForm({"first": first, "second": second}, systems=systems),
            "comparison": compare_systems(segments, first, second),
            "page": page,
            "systems_query": "&" + urlencode({"first": first, "second": second}),
            "marked_rows": marked_rows(study, list(page.object_list)),
        }
    return TemplateResponse(request, "evaluation/study_errors.html", context)


def _labelled_agreement(figures: Mapping[str, Any]) -> list[tuple[Any, Mapping[str, Any]]]:
    return [
        (_("F1 over characters"), figures["f1"]),
        (_("F1 over characters, same severity required"), figures["f1_same_severity"]),
        (_("Krippendorff’s alpha-U"), figures["alpha_u"]),
        (_("Krippendorff’s alpha-U, separate for severities"), figures["alpha_u_same_severity"]),
    ]


class SystemScoreSerializer(serializers.Serializer[Any]):
    """A system's mean scores over its segments. A segment is a text of the system for an item."""

    system = serializers.CharField(help_text="Name of the system.")
    score = serializers.FloatField(
        help_text="Mean of people's scores from 0 to 100 or, if the study asks for none, of MQM scores."
    )
    low = serializers.FloatField(
        allow_null=True, help_text="Lower end of the 95 % interval of `score`; null if it cannot be computed."
    )
    high = serializers.FloatField(
        allow_null=True, help_text="Upper end of the 95 % interval of `score`; null if it cannot be computed."
    )
    mqm = serializers.FloatField(
        help_text="Mean MQM score, at most 0: minus the sum of the weights of a text's errors."
    )
    z = serializers.FloatField(
        allow_null=True,
        help_text="Mean score after standardisation by participant; null if every participant gave only equal scores.",
    )
    errors = serializers.DictField(  # type: ignore[assignment]  # a member of the answer
        child=serializers.FloatField(),
        help_text="By severity: mean number of errors that a participant marks in a segment. A severity that nobody "
        "marked is absent.",
    )
    segments = serializers.IntegerField(help_text="Number of judged segments.")
    judgments = serializers.IntegerField(help_text="Number of judgments of these segments.")


class SystemComparisonSerializer(serializers.Serializer[Any]):
    """The comparison of two systems' scores, over the items for which both have a judged text."""

    first = serializers.CharField(help_text="Name of the first system.")
    second = serializers.CharField(help_text="Name of the second system.")
    difference = serializers.FloatField(
        allow_null=True,
        help_text="Mean score of the first system minus that of the second; null if no item has a judged text of both.",
    )
    low = serializers.FloatField(
        allow_null=True,
        help_text="Lower end of the 95 % interval of the difference; null if it cannot be computed.",
    )
    high = serializers.FloatField(
        allow_null=True,
        help_text="Upper end of the 95 % interval of the difference; null if it cannot be computed.",
    )
    p = serializers.FloatField(
        allow_null=True,
        help_text="p-value of the test that the difference is 0; null if it cannot be tested.",
    )
    better = serializers.IntegerField(
        help_text="Number of items on which the first system has the higher score."
    )
    worse = serializers.IntegerField(
        help_text="Number of items on which the first system has the lower score."
    )
    segments = serializers.IntegerField(
        help_text="Number of items for which both systems have a judged text."
    )
    reason = serializers.CharField(
        allow_blank=True, help_text="Why there is no difference; empty if there is one."
    )


class ErrorSpansSerializer(serializers.Serializer[Any]):
    """The scores of all systems, and the comparison of two of them."""

    systems = SystemScoreSerializer(many=True)
    comparison = SystemComparisonSerializer(
        allow_null=True, help_text="null without the parameters `first` and `second`."
    )
    scope = serializers.CharField(
        help_text="To whom intervals and tests generalise: `items and people` (other items and participants) or `these "
        "people` (other items, but not other participants)."
    )


class ErrorSpansView(APIView):
    """GET /api/studies/{slug}/error-spans/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        parameters=[
            OpenApiParameter("first", str, description="Name of a system to compare with `second`."),
            OpenApiParameter("second", str, description="Name of the other system; required with `first`."),
        ],
        responses={
            200: ErrorSpansSerializer,
            400: OpenApiResponse(
                description="The study does not ask for marked errors, or has no judged text of such a system."
            ),
            404: OpenApiResponse(description="No such study that you may read."),
        },
        operation_id="studies_error_spans",
        summary="Scores of systems by marked errors",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the scores of systems as WMT computes them, and the comparison of two of them."""
        study = study_for(request, slug)
        first, second = (request.query_params.get(name, "") for name in ("first", "second"))
        try:
            segments = segments_of(study)
            result: dict[str, Any] = {
                "systems": [as_json(score) for score in system_scores(segments)],
                "comparison": None,
                "scope": scope_of_segments(segments),
            }
            if first or second:
                result["comparison"] = as_json(compare_systems(segments, first, second))
        except EvaluationError as error:
            raise ValidationError(as_sentence(error)) from None
        return Response(result)
