"""The page "Compare" of a study, the API call that compares two studies, and the comparison on the page "Metrics"."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from unfold.widgets import UnfoldAdminSelectWidget

from common.errors import ObjectNotFound, did_you_mean
from contrib.comparing.operations import JOB_KIND, start_metric_comparison
from contrib.comparing.sources.comparison import LEAVE_OUT, MISSING_RULES
from contrib.comparing.sources.wording import describe_compared_sources
from contrib.comparing.studies import cached_comparison, comparable_studies
from contrib.comparing.wording import describe_comparison
from evaluation.data.metrics_page import METRICS_PAGE
from evaluation.errors import EvaluationError
from evaluation.results.consensus.study import SIDE_LABELS
from judgments.access.permissions import studies_of, study_for
from judgments.api.resources import COUNTING_RESPONSE
from judgments.kinds import KINDS
from judgments.models import Job, Study
from judgments.studies.designs import kind_of
from judgments.studies.pages import Context, PagePart, StudySection, can_be_evaluated
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import add_page_part, study_page, study_page_address

MAX_STUDIES_OFFERED = 200  # number of studies in the list
SHADES = 4  # number of shades of a cell's background
MISSING_LABELS = {
    "leave-out": gettext_noop("leave them out"),
    "no": gettext_noop("count them as “no” in this study"),
}


class StudyComparisonForm(forms.Form):
    """The choice of the other study, and of the rule for items that only that study has."""

    def __init__(self, data: Any, *, studies: list[Study]) -> None:
        super().__init__(data)
        self.fields["with"] = forms.ChoiceField(
            label=_("Compare with"),
            widget=UnfoldAdminSelectWidget,
            choices=[("", _("Choose a study")), *((study.slug, _study_label(study)) for study in studies)],
        )
        self.fields["missing"] = forms.ChoiceField(
            label=_("Items only in the other study"),
            widget=UnfoldAdminSelectWidget,
            choices=[(name, _(MISSING_LABELS[name])) for name in MISSING_RULES],
        )


def _study_label(study: Study) -> str:
    description = f"{study.protocol}, {_('simulated')}" if study.simulated else study.protocol
    return f"{study.name} ({description})"


def has_numeric_answers(study: Study) -> bool:
    return not KINDS[study.protocol].is_open


@study_page(
    "compare",
    "Compare",
    order=54,
    has_tab=has_numeric_answers,
    section=StudySection.FINDINGS,
    style="css/comparing.css",
)
@require_safe
def show_study_comparison(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    visible_studies = comparable_studies(study, Study.objects.visible_to(request.user))
    slug = request.GET.get("with", "")
    missing_rule = request.GET.get("missing", "")
    missing_rule = missing_rule if missing_rule in MISSING_RULES else LEAVE_OUT
    studies = list(visible_studies[:MAX_STUDIES_OFFERED]) if has_numeric_answers(study) else []
    other_study = next((listed_study for listed_study in studies if listed_study.slug == slug), None)
    if other_study is None and slug:
        other_study = visible_studies.filter(slug=slug).first()
    context |= {
        "studies": studies,
        "has_numeric_answers": has_numeric_answers(study),
        "form": StudyComparisonForm({"with": slug, "missing": missing_rule}, studies=studies),
        "other_study": other_study,
        "unknown_slug": slug if slug and other_study is None else "",
    }
    if other_study is not None:
        context |= {"other_link": study_page_address(other_study, "results")} | _comparison_context(
            request, study, other_study, missing_rule
        )
    return TemplateResponse(request, "evaluation/study_compare.html", context)


def _comparison_context(request: HttpRequest, study: Study, other_study: Study, missing: str) -> Context:
    """Return the context of a comparison, or the reason why the studies cannot be compared."""
    try:
        result = cached_comparison(first=study, second=other_study, missing=missing)
    except EvaluationError as error:
        return {"refusal": _(str(error))}
    grid = result["thresholds"]  # kappa if scores count as yes from a threshold on, one for each study
    selected_index = _selected_cell(grid, request.GET.get("cell", ""))
    return {
        "result": result | {"in_words": describe_compared_sources(result)},
        "missing_rule": missing,
        "selected_cell": grid["cells"][selected_index] if selected_index is not None else None,
        "threshold_rows": _threshold_rows(grid, selected_index),
        "confusion_rows": _confusion_rows(study, result["consensus"]),
        "made_at": result["made_at"],
    }


def _selected_cell(grid: dict[str, Any], cell_text: str) -> int | None:
    """Return the index of the cell that the address names, or of the cell with the highest kappa; None without one."""
    cells = grid["cells"]
    # At most six digits are read, since it takes long to parse a very long number.
    if cell_text.isdecimal() and int(cell_text[:6]) < len(cells):
        return int(cell_text[:6])
    return cells.index(grid["best"]) if grid["best"] is not None else None


def _threshold_rows(grid: dict[str, Any], selected_index: int | None) -> list[dict[str, Any]]:
    """Return a row for each threshold of the first study, with a cell for each threshold of the second.

    The cells of ``grid`` are one list, row by row.
    """
    column_count = len(grid["second"])
    rows = []
    for row_index, threshold in enumerate(grid["first"]):
        cells = []
        for index in range(row_index * column_count, (row_index + 1) * column_count):
            kappa = grid["cells"][index]["kappa"]
            is_selected = index == selected_index
            cells.append(
                {"index": index, "kappa": kappa, "shade": _shade(kappa["value"]), "is_selected": is_selected}
            )
        rows.append({"threshold": threshold, "cells": cells})
    return rows


def _shade(kappa: float | None) -> int:
    """Return the shade of a cell's background, from 0 (none) to SHADES."""
    return 0 if kappa is None or kappa <= 0 else min(SHADES, 1 + int(kappa * SHADES))


def _confusion_rows(study: Study, consensus: dict[str, Any]) -> list[tuple[str, list[int]]]:
    """Return a row for each answer of this study: its name, and its numbers of items by the other study's consensus."""
    names = _describe_answers(study)
    return [(names[label], row) for label, row in zip(consensus["labels"], consensus["table"], strict=True)]


def _describe_answers(study: Study) -> dict[float, str]:
    kind = kind_of(study)
    if kind.two_sided:
        return {float(side): str(label) for side, label in SIDE_LABELS.items()}
    return {float(choice.value): choice.text for choice in kind.choices}


def _metric_comparison_context(request: HttpRequest, study: Study) -> Context:
    """Return the newest comparison of two metrics, for the part of the page "Metrics"."""
    finished_jobs = Job.objects.filter(kind=JOB_KIND, args__study=study.slug, state=Job.State.DONE)
    newest_job = finished_jobs.order_by("-pk").first()
    comparison = newest_job.result if newest_job else None
    return {
        "newest_job": newest_job,
        "comparison": comparison,
        "rows": comparison["rows"] if comparison else [],
        "summary": describe_comparison(comparison) if comparison else "",
        "results_over_systems": zip(comparison["metrics"], comparison["systems"]["own"], strict=True)
        if comparison and comparison.get("systems")  # "own": the figures of each metric
        else (),
        "can_compare": can_be_evaluated(study),
    }


add_page_part(
    PagePart(
        METRICS_PAGE,
        "evaluation/two_metrics.html",
        _metric_comparison_context,
        label=gettext_noop("comparison of two metrics"),
    )
)


add_operation(start_metric_comparison, label="Compare", leads_to=lambda study: "metrics")


class ComparisonView(APIView):
    """GET /api/studies/{slug}/comparison/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "with",
                str,
                required=True,
                description="Slug of another study of the same dataset, with which this study is compared.",
            ),
            OpenApiParameter(
                "missing",
                str,
                enum=list(MISSING_RULES),
                description="What happens to units that only the other study has: `leave-out` (the default), or `no` "
                "to count them as no in this study.",
            ),
        ],
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            202: COUNTING_RESPONSE,
            400: OpenApiResponse(description="A parameter is wrong, or the studies cannot be compared."),
            404: OpenApiResponse(
                description="There is no such study that you may see and that can be compared."
            ),
        },
        operation_id="studies_comparison",
        summary="How far two studies agree",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the comparison in the format of the command `agreement --with`, and in sentences (``in_words``).

        A job compares large studies. Until it has ended, the status is 202.
        """
        study = study_for(request, slug)
        other_slug = request.query_params.get("with", "")
        if not other_slug:
            raise ValidationError({"with": ["Expected the slug of the study to compare with."]})
        missing_rule = request.query_params.get("missing", LEAVE_OUT)
        if missing_rule not in MISSING_RULES:
            raise ValidationError({"missing": [f"Expected {' or '.join(MISSING_RULES)}."]})
        visible_studies = comparable_studies(study, studies_of(request).select_related("dataset"))
        other_study = visible_studies.filter(slug=other_slug).first()
        if other_study is None:
            hint = did_you_mean(other_slug, visible_studies.values_list("slug", flat=True))
            raise ObjectNotFound(f"There is no study {other_slug!r} to compare {slug!r} with.{hint}")
        return Response(cached_comparison(first=study, second=other_study, missing=missing_rule))
