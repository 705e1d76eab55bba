"""The page "Metrics" of a study, to which features add parts.

Only features import this module, so there is no such page without features.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from judgments.models import Study
from judgments.studies.pages import Context, StudySection, can_be_evaluated
from judgments.studies.step_form import take_refusal
from judgments.studies.study_page import study_page

METRICS_PAGE = "metrics"


@study_page(
    METRICS_PAGE,
    order=53,
    has_tab=can_be_evaluated,
    section=StudySection.FINDINGS,
    parent_page="results",
    help="metrics.md",
)
def show_metrics(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    context["refusal"] = take_refusal(request, study)  # the error of the form that was just posted, if any
    return TemplateResponse(request, "evaluation/study_metrics.html", context)
