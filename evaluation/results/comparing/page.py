"""The page "Compare" of a study."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe
from unfold.widgets import UnfoldAdminSelectWidget

from evaluation.errors import EvaluationError
from evaluation.results.comparing.comparison import MISSING, describe_compared_sources
from evaluation.results.comparing.studies import cached_comparison, comparable_studies
from evaluation.results.consensus import SIDE_LABELS
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.study_page import Context, Group, StudyPage, add_page, page_address

OFFERED = 200  # studies in the list
SHADES = 4  # steps of a cell's background
MISSING_LABELS = {
    "leave-out": gettext_noop("leave them out"),
    "no": gettext_noop("count them as a no of this study"),
}


class CompareForm(forms.Form):
    def __init__(self, data: Any, *, studies: list[Study]) -> None:
        super().__init__(data)
        self.fields["with"] = forms.ChoiceField(
            label=_("Compare with"),
            widget=UnfoldAdminSelectWidget,
            choices=[("", _("Choose a study")), *((study.slug, _label(study)) for study in studies)],
        )
        self.fields["missing"] = forms.ChoiceField(
            label=_("Items that only the other study has"),
            widget=UnfoldAdminSelectWidget,
            choices=[(name, _(MISSING_LABELS[name])) for name in MISSING],
        )


def _label(study: Study) -> str:
    about = f"{study.protocol}, {_('simulated')}" if study.simulated else study.protocol
    return f"{study.name} ({about})"


def can_compare(study: Study) -> bool:
    return not KINDS[study.protocol].is_open


@require_safe
def show_comparison(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    seen = comparable_studies(study, Study.objects.visible_to(request.user))
    slug = request.GET.get("with", "")
    missing = request.GET.get("missing", "")
    missing = missing if missing in MISSING else MISSING[0]
    studies = list(seen[:OFFERED]) if can_compare(study) else []
    other = next((listed for listed in studies if listed.slug == slug), None)
    if other is None and slug:
        other = seen.filter(slug=slug).first()
    context |= {
        "studies": studies,
        "comparable": can_compare(study),
        "form": CompareForm({"with": slug, "missing": missing}, studies=studies),
        "other": other,
        "unknown": slug if slug and other is None else "",
    }
    if other is not None:
        context |= {"other_link": page_address(other, "results")} | _comparison_context(
            request, study, other, missing
        )
    return TemplateResponse(request, "evaluation/study_compare.html", context)


def _comparison_context(request: HttpRequest, study: Study, other: Study, missing: str) -> dict[str, Any]:
    try:
        result = cached_comparison(first=study, second=other, missing=missing)
    except EvaluationError as error:
        return {"refused": _(str(error))}
    grid = result["thresholds"]
    chosen = _chosen_cell(grid, request.GET.get("cell", ""))
    return {
        "result": result | {"in_words": describe_compared_sources(result)},
        "missing_rule": missing,
        "chosen": grid["cells"][chosen] if chosen is not None else None,
        "rows": _grid_rows(grid, chosen),
        "confusion": _confusion(study, result["consensus"]),
        "made_at": result["made_at"],
    }


def _chosen_cell(grid: dict[str, Any], number: str) -> int | None:
    cells = grid["cells"]
    if number.isdecimal() and int(number[:6]) < len(cells):
        return int(number[:6])
    return cells.index(grid["best"]) if grid["best"] is not None else None


def _grid_rows(grid: dict[str, Any], chosen: int | None) -> list[dict[str, Any]]:
    wide = len(grid["second"])
    rows = []
    for row, cut in enumerate(grid["first"]):
        cells = []
        for number in range(row * wide, (row + 1) * wide):
            kappa = grid["cells"][number]["kappa"]
            shade = _shade(kappa["value"])
            cells.append({"number": number, "kappa": kappa, "shade": shade, "chosen": number == chosen})
        rows.append({"cut": cut, "cells": cells})
    return rows


def _shade(kappa: float | None) -> int:
    return 0 if kappa is None or kappa <= 0 else min(SHADES, 1 + int(kappa * SHADES))


def _confusion(study: Study, consensus: dict[str, Any]) -> list[tuple[str, list[int]]]:
    names = _describe_answers(study)
    return [(names[label], row) for label, row in zip(consensus["labels"], consensus["table"], strict=True)]


def _describe_answers(study: Study) -> dict[float, str]:
    kind = KINDS[study.protocol]
    if kind.two_sided:
        return {float(side): str(label) for side, label in SIDE_LABELS.items()}
    return {float(choice.value): choice.text for choice in kind.choices}


add_page(
    StudyPage(
        name="compare",
        label="Compare",
        order=54,
        view=show_comparison,
        shown=can_compare,
        group=Group.FINDINGS,
    )
)
