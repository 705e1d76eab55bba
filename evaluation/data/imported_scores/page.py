"""The page "Metrics" of a study: scores that were imported for its dataset."""

from __future__ import annotations

from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from common.errors import QuorumError
from evaluation.data.imported_scores.reading import read_scores
from evaluation.data.imported_scores.storing import (
    ScoresRequest,
    import_scores,
    mapping_of_scores,
    signature_of,
)
from evaluation.models import ImportedMetric
from judgments.access.roles import Right, has_role, require_editor
from judgments.admin.base import signed_in
from judgments.datasets.page import import_or_queue
from judgments.models import Study
from judgments.studies.study_page import (
    Context,
    Group,
    StudyStep,
    add_step,
    can_be_evaluated,
    read_posted_parameters,
    study_page,
    take_refusal,
)

MOST_SHOWN = 100


@study_page("metrics", order=53, shown=can_be_evaluated, group=Group.FINDINGS, under="results")
def show_metrics(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    rows = (
        ImportedMetric.objects.filter(dataset=study.dataset_id).defer("scores").select_related("imported_by")
    )
    context |= {
        "imported": [(metric, signature_of(metric)) for metric in rows[:MOST_SHOWN]],
        "may_import": has_role(request.user, study.dataset, "editor"),
        "refusal": take_refusal(request, study),
    }
    return TemplateResponse(request, "evaluation/study_metrics.html", context)


def _import_scores(request: HttpRequest, study: Study) -> None:
    user = require_editor(signed_in(request), study.dataset)
    values = read_posted_parameters(request, ScoresRequest)
    upload = request.FILES.get("file")
    if upload is None:
        raise QuorumError(_("Nothing was imported: choose the file with the scores."))
    metrics = values.pop("metric", [])
    args = {"study": study.slug, "metrics": metrics, **values}

    mapping = mapping_of_scores(values, Path(upload.name or ""))

    def read(path: Path) -> str:
        files = read_scores(path, metrics, mapping=mapping)
        return import_scores(dataset=study.dataset, files=files, by=user, **values).summary()

    import_or_queue(request, upload, read, kind="import_scores", args=args)


add_step(
    StudyStep(name="import-scores", label="Import", run=_import_scores, permission=Right.VIEW, beside=True)
)
