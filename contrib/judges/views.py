"""The page "Judges", and the calls that read and remove judges and read their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from contrib.judges.asking import MILLION
from contrib.judges.models import Judge, JudgeAnswer
from contrib.judges.operations import import_judge, remove_judge, start_judge_comparison, start_judge_run
from contrib.judges.prompts import has_orders, is_for_judges
from contrib.judges.results.findings import describe_unbiased_share
from evaluation.models import Analysis
from evaluation.results.views.api import NewestAnalysisView, describe_newest_analysis
from judgments.access.permissions import require_right, staff_of
from judgments.api.filters import filters_of, study_filter
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import kind_of
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation, take_refusal
from judgments.studies.study_page import study_page
from judgments.templatetags.judgments_tags import coefficient

MAX_SHOWN_JUDGES = 100


def can_have_judges(study: Study) -> bool:
    return is_for_judges(kind_of(study))


@study_page("judges", "Judges", order=55, has_tab=can_have_judges, section=StudySection.FINDINGS)
def show_judges(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    judges = Judge.objects.filter(study=study).annotate(
        all_answers=Count("answers"),
        answered=Count("answers", filter=Q(answers__state=JudgeAnswer.State.ANSWERED)),
        failed=Count("answers", filter=Q(answers__state=JudgeAnswer.State.FAILED)),
    )
    rows = list(judges.order_by("-pk")[: MAX_SHOWN_JUDGES + 1])  # one more tells whether some are left out
    has_hidden_judges = len(rows) > MAX_SHOWN_JUDGES
    analysis = Analysis.objects.newest(study, Analysis.Kind.JUDGES)
    comparisons = analysis.result["judges"] if analysis else []
    context |= {
        "refusal": take_refusal(request, study),  # why the last operation was refused; None if it was not
        "judges": [
            {
                "judge": judge,
                "unanswered_count": judge.all_answers - judge.answered - judge.failed,
                "spent_of_budget": _describe_costs(judge),
            }
            for judge in sorted(rows[:MAX_SHOWN_JUDGES], key=lambda judge: judge.name)
        ],
        "max_shown_judges": MAX_SHOWN_JUDGES if has_hidden_judges else None,
        "analysis": analysis,
        "people": analysis.result["people"] if analysis else {},  # numbers, and how far people agree
        "comparisons": [
            {**row, "verdict": describe_verdict(row["test"]), "biases": _biases(row)} for row in comparisons
        ],
        "shows_several_texts": has_orders(KINDS[study.protocol]),
    }
    return TemplateResponse(request, "evaluation/study_judges.html", context)


def _describe_costs(judge: Judge) -> str:
    """Return the spent amount and the budget, such as "0.1234 / 2.00"; "" for an imported judge."""
    if not judge.prompt:
        return ""
    return f"{judge.spent / MILLION:.4f} / {judge.budget / MILLION:.2f}"


def describe_verdict(test: Mapping[str, Any]) -> str:
    """Return a translated sentence about the alternative annotator test of a stored comparison."""
    if test["reason"]:
        return _("The judge was not tested: %(reason)s.") % {"reason": test["reason"]}
    sentence = (
        _(
            "The judge can replace a person in this study. People against whom it passed the test: %(won)s of "
            "%(people)s; at least half are needed (epsilon %(epsilon)s)."
        )
        if test["passed"]
        else _(
            "The judge should not replace a person in this study. People against whom it passed the test: only "
            "%(won)s of %(people)s; at least half are needed (epsilon %(epsilon)s)."
        )
    )
    return sentence % {"won": test["won"], "people": test["people"], "epsilon": coefficient(test["epsilon"])}


def _biases(judge: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any], str]]:
    """Return each measured bias: its label, its estimate, and the value of an unbiased judge as text.

    Args:
        judge: the entry of the judge in a stored comparison: ``side`` is the bias by order of the texts,
            ``difference`` the judge's mean answer minus people's, ``length`` the bias by length, and ``own`` the
            bias towards systems of the judge's family.
    """
    biases: list[tuple[str, Mapping[str, Any], str]] = []
    side = judge["side"]
    if side and side["first_shown"]["n"]:
        unbiased_share = describe_unbiased_share(side)
        biases.append((_("chooses the text that is shown first"), side["first_shown"], unbiased_share))
        label = _("gives the same answer if the two texts are swapped")
        biases.append((label, side["consistent"], coefficient(1)))
    if judge["difference"]:
        biases.append((_("answer of the judge minus mean answer of people"), judge["difference"], "0"))
    if judge["length"]["n"]:
        label = (
            _("chooses the longer text more often than people do")
            if judge["side"]
            else _("change of the score per ten words: judge minus people")
        )
        biases.append((label, judge["length"], "0"))
    if judge["own"]:
        biases.append((_("prefers systems of its model family more than people do"), judge["own"], "0"))
    return biases


add_operation(start_judge_comparison, label="Compute now")
add_operation(import_judge, label="Import")
add_operation(start_judge_run, label="Ask")
add_operation(remove_judge, label="Remove a judge", fields=())  # the page's template has its form


class JudgeSerializer(RowSerializer[Judge]):
    """A judge: a model or another crowd. Budget, spent and reserved are in millionths of the endpoint's currency."""

    study = Related("study.slug")
    own_systems = serializers.ListField(
        child=serializers.CharField(),
        read_only=True,
        help_text="Names of systems of the judge's model family, which it could favour.",
    )
    options = serializers.SerializerMethodField(
        help_text="How a model was asked: endpoint, temperature, longest reply and prices; empty if imported."
    )

    class Meta:
        model = Judge
        fields = [
            *("id", "study", "name", "source", "model", "own_systems", "prompt", "options"),
            *("budget", "spent", "reserved", "made_at"),
        ]

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_options(self, row: Judge) -> dict[str, object]:
        """Return how the judge was asked: endpoint, temperature, longest reply and prices."""
        return dict(row.options)


@extend_schema_view(destroy=extend_schema(description=remove_judge.description))
class JudgeResource(mixins.DestroyModelMixin, Resource):
    """Judges that answer in addition to the people of a study."""

    scope = "reports"
    queryset = Judge.objects.select_related("study")
    serializer_class = JudgeSerializer
    filterset_class = filters_of(Judge, "name", "source", study=study_filter())

    def perform_destroy(self, instance: Judge) -> None:
        require_right(self.request, remove_judge.right, instance.study)
        remove_judge.run(instance.study, {"judge": str(instance.pk)}, by=staff_of(self.request))


class JudgeAnswerSerializer(RowSerializer[JudgeAnswer]):
    """A judge's answer to a unit whose texts were shown in one order.

    ``value`` 1 and 2 are the unit's own first and second text, whichever was shown first. If the answer is not a
    number, it is in ``answer`` instead.
    """

    study = Related("judge.study.slug")
    judge = Related("judge.name")
    unit = Related("unit.key")
    answer = serializers.JSONField(
        read_only=True, allow_null=True, help_text="The answer if it is not a number; else null."
    )

    class Meta:
        model = JudgeAnswer
        fields = [
            *("id", "study", "judge", "unit", "rater", "swapped", "state", "value", "answer", "reply"),
            *("answered_by", "cached", "attempts", "cost", "answered_at"),
        ]


class JudgeAnswerResource(Resource):
    """The answers of judges, with their replies."""

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


class JudgesView(NewestAnalysisView):
    """GET /api/studies/{slug}/judges/"""

    analysis_kind = Analysis.Kind.JUDGES

    @describe_newest_analysis("studies_judges", "The last comparison of judges with people")
    def get(self, request: Request, slug: str) -> Response:
        """Return the last comparison, as ``compare-judges`` stored it."""
        return self.newest_analysis(request, slug)
