"""The page "Metrics": imported scores, and two metrics side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from common.errors import QuorumError
from evaluation.data.imported_scores.reading import read_scores
from evaluation.data.imported_scores.storing import ScoresRequest, import_scores, signature_of
from evaluation.models import ImportedMetric
from evaluation.presentation.content import p_value
from evaluation.results.comparing.metrics import JOB_KIND, can_compare, compare, describe_comparison
from judgments.access.roles import Right, has_role, require_editor
from judgments.admin.base import signed_in
from judgments.datasets.page import import_or_queue
from judgments.models import Job, Study
from judgments.studies.study_page import (
    Context,
    Group,
    StudyPage,
    StudyStep,
    add_operation,
    add_page,
    add_step,
    read_posted_parameters,
    take_refusal,
)

MOST_SHOWN = 100


def show_metrics(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    rows = (
        ImportedMetric.objects.filter(dataset=study.dataset_id).defer("scores").select_related("imported_by")
    )
    done = Job.objects.filter(kind=JOB_KIND, args__study=study.slug, state=Job.State.DONE)
    last = done.order_by("-pk").first()
    comparison = last.result if last else None
    context |= {
        "imported": [(metric, signature_of(metric)) for metric in rows[:MOST_SHOWN]],
        "may_import": has_role(request.user, study.dataset, "editor"),
        "refusal": take_refusal(request, study),
        "last": last,
        "comparison": comparison,
        "rows": _comparison_rows(comparison) if comparison else [],
        "sentence": describe_comparison(comparison) if comparison else "",
        "over_systems": zip(comparison["metrics"], comparison["systems"]["own"], strict=True)
        if comparison and comparison.get("systems")
        else (),
        "comparable": can_compare(study),
    }
    return TemplateResponse(request, "evaluation/study_metrics.html", context)


def _comparison_rows(comparison: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        row
        | {
            f"{name}_words": "–" if row.get(name) is None else p_value(row[name])
            for name in ("p", "permutation_p")
        }
        for row in comparison["rows"]
    ]


def _import_scores(request: HttpRequest, study: Study) -> None:
    user = require_editor(signed_in(request), study.dataset)
    values = read_posted_parameters(request, ScoresRequest)
    upload = request.FILES.get("file")
    if upload is None:
        raise QuorumError(_("Nothing was imported: choose the file with the scores."))
    metrics = values.pop("metric", [])
    args = {"study": study.slug, "metrics": metrics, **values}

    def read(path: Path) -> str:
        return import_scores(
            dataset=study.dataset, files=read_scores(path, metrics), by=user, **values
        ).summary()

    import_or_queue(request, upload, read, kind="import_scores", args=args)


add_page(
    StudyPage(
        name="metrics",
        label="",
        order=53,
        view=show_metrics,
        shown=can_compare,
        group=Group.FINDINGS,
        under="results",
    )
)
add_step(
    StudyStep(name="import-scores", label="Import", run=_import_scores, permission=Right.VIEW, beside=True)
)
add_operation(compare, label="Compare", leads_to=lambda study: "metrics")
