"""The imported scores on the page "Metrics" of a study, and the form that imports scores."""

from __future__ import annotations

from pathlib import Path

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from common.errors import QuorumError
from contrib.score_imports.parameters import ImportScoresRequest, pop_mapping
from contrib.score_imports.reading import read_scores
from contrib.score_imports.storing import store_metric_scores
from evaluation.data.imported_scores import signature_of
from evaluation.data.metrics_page import METRICS_PAGE
from evaluation.models import ImportedMetric
from judgments.access.dataset_roles import has_role, require_editor
from judgments.access.rights import Right
from judgments.admin.base import signed_in
from judgments.datasets.views.page import import_or_queue
from judgments.models import Study
from judgments.studies.pages import Context, PagePart, StudyStep
from judgments.studies.step_form import read_posted_parameters
from judgments.studies.study_page import add_page_part, add_step

MAX_SHOWN_METRICS = 100


def _imported_metrics_context(request: HttpRequest, study: Study) -> Context:
    rows = (
        ImportedMetric.objects.filter(dataset=study.dataset_id).defer("scores").select_related("imported_by")
    )
    return {
        "metrics_with_signatures": [(metric, signature_of(metric)) for metric in rows[:MAX_SHOWN_METRICS]],
        "may_import": has_role(request.user, study.dataset, "editor"),
    }


add_page_part(
    PagePart(
        METRICS_PAGE,
        "evaluation/imported_scores.html",
        _imported_metrics_context,
        label=gettext_noop("imported scores"),
    )
)


def _import_scores(request: HttpRequest, study: Study) -> None:
    user = require_editor(signed_in(request), study.dataset)
    values = read_posted_parameters(request, ImportScoresRequest)
    upload = request.FILES.get("file")
    if upload is None:
        raise QuorumError(_("Nothing was imported: choose the file with the scores."))
    metrics = values.pop("metric", [])
    # The arguments of the job include the options about columns, which `pop_mapping` then removes.
    args = {"study": study.slug, "metrics": metrics, **values}
    mapping = pop_mapping(values, Path(upload.name or ""))

    def import_file(path: Path) -> str:
        files = read_scores(path, metrics, mapping=mapping)
        return store_metric_scores(dataset=study.dataset, files=files, by=user, **values).summary()

    import_or_queue(request, upload, import_file, kind="import_scores", args=args)  # a job if it is large


add_step(  # the scores are the dataset's, so its editors need no right to change the study
    StudyStep(name="import-scores", label="Import", run=_import_scores, permission=Right.VIEW, inline=True)
)
