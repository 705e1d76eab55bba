"""The page "Errors by system"."""

from __future__ import annotations

from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from evaluation.data.judgment_sets.loaders import marks_errors
from evaluation.models import Analysis
from evaluation.results.error_spans.domains import rank_systems, ranks_table
from evaluation.results.error_spans.scores import (
    SEGMENTS,
    compare_systems,
    marked_rows,
    shared_segments,
    system_scores,
)
from judgments.cached_figures import cached_figures, required_figures
from judgments.models import Study
from judgments.studies.studies import design_of
from judgments.studies.study_page import Context, Group, StudyPage, add_page

ON_A_PAGE = 10


class SystemsForm(forms.Form):
    def __init__(self, data: dict[str, str], *, systems: list[str]) -> None:
        super().__init__(data, auto_id="by-%s")
        choices = [(name, name) for name in systems]
        for name, label in (("first", _("System")), ("second", _("beside"))):
            self.fields[name] = forms.ChoiceField(
                label=label, choices=choices, widget=UnfoldAdminSelectWidget
            )


def show_errors(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    if not marks_errors(study):
        raise Http404
    segments = required_figures(cached_figures(study, SEGMENTS))
    scores = system_scores(segments)
    newest = Analysis.objects.newest_first(study, Analysis.What.AGGREGATION).first()
    figures = newest.result.get("figures", {}).get("spans", {}) if newest else {}
    design = design_of(study)
    domains = {segment.domain for judged in segments.values() for segment in judged}
    context |= {
        "scores": scores,
        "scored": design.spans.score,
        "own_weights": design.spans.weights,
        "ranks": ranks_table(rank_systems(segments)) if len(domains) > 1 else None,
        "source": design.source,
        "figures": figures,
        "agreement": [
            (_("F1 over characters"), figures["f1"]),
            (_("the same, with the same severity"), figures["f1_same_severity"]),
            (_("Krippendorff’s alpha-U"), figures["alpha_u"]),
            (_("the same, severity by severity"), figures["alpha_u_same_severity"]),
        ]
        if figures
        else [],
    }
    systems = [row.system for row in scores]
    if newest is not None and len(systems) > 1:
        first, second = request.GET.get("first", ""), request.GET.get("second", "")
        first = first if first in systems else systems[0]
        second = second if second in systems else systems[1]
        page = Paginator(shared_segments(segments, first, second), ON_A_PAGE).get_page(
            request.GET.get("page")
        )
        context |= {
            "form": SystemsForm({"first": first, "second": second}, systems=systems),
            "pair": compare_systems(segments, first, second),
            "page": page,
            "query": "&" + urlencode({"first": first, "second": second}),
            "rows": marked_rows(study, list(page.object_list)),
        }
    return TemplateResponse(request, "evaluation/study_errors.html", context)


add_page(
    StudyPage(
        name="errors",
        label="Errors by system",
        order=51,
        view=show_errors,
        shown=marks_errors,
        group=Group.FINDINGS,
    )
)
