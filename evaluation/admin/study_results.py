"""The results page of a study: progress, agreement, metrics, workers, and the files to take home.

What is computed stands in Analysis rows; the page shows the newest of each kind and says when the data has grown
since.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count, Max, Q, Sum
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils import timezone

from annotation.models import Assignment, Judgment, ProblemReport
from evaluation.admin.forms import MetricsForm
from evaluation.admin.results_in_words import (
    accuracy_table,
    agreement_in_words,
    correlation_table,
    metrics_in_words,
    worker_note,
    workers_in_words,
)
from evaluation.export.formats import formats_for
from evaluation.models import Analysis
from evaluation.services.exports import JOB_KIND, exported_file
from judgments.admin.base import signed_in
from judgments.admin.study_pages import Context, StudyPage, StudyStep, add_page, add_step
from judgments.errors import WrongState
from judgments.jobs import enqueue
from judgments.kinds import KINDS
from judgments.models import HIT, Job, Study
from judgments.services.studies import design_of

WORKERS_SHOWN = 200
NEWEST = 5


def show_results(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Everything that is known about a study so far."""
    newest = {}
    for analysis in Analysis.objects.filter(study=study).order_by("created_at"):
        newest[analysis.what] = analysis
    aggregation = newest.get(Analysis.What.AGGREGATION)
    evaluation = newest.get(Analysis.What.META_EVALUATION)
    progress = progress_of(study)
    context |= {
        "design": design_of(study),
        "progress": progress,
        "held": list(
            Assignment.objects.holding(timezone.now())
            .filter(study=study)
            .select_related("worker", "hit")[:NEWEST]
        ),
        "reports": list(
            ProblemReport.objects.filter(assignment__study=study).select_related(
                "assignment__worker", "unit"
            )[:NEWEST]
        ),
        "exports": list(
            Job.objects.filter(kind=JOB_KIND, args__study=study.slug, state=Job.State.DONE)[:NEWEST]
        ),
        "formats": formats_for(study),
        "aggregation": aggregation,
        "evaluation": evaluation,
        **_freshness(aggregation, evaluation, progress),
        **_agreement(aggregation),
        **_metrics(study, evaluation),
    }
    return TemplateResponse(request, "evaluation/study_results.html", context)


def progress_of(study: Study) -> dict[str, Any]:
    """HITs and judgments so far, in three queries."""
    hits = HIT.objects.filter(study=study).aggregate(n=Count("pk"), wanted=Sum("required", default=0))
    assignments = Assignment.objects.filter(study=study).aggregate(
        handed_in=Count("pk", filter=Q(state__in=["submitted", "approved", "rejected"])),
        held=Count("pk", filter=Q(state="accepted", expires_at__gt=timezone.now())),
        workers=Count("worker", distinct=True),
        last=Max("submitted_at"),
    )
    judgments = Judgment.objects.filter(assignment__study=study).count()
    return {**assignments, "hits": hits["n"], "wanted": hits["wanted"], "judgments": judgments}


def _freshness(
    aggregation: Analysis | None, evaluation: Analysis | None, progress: dict[str, Any]
) -> dict[str, bool]:
    """Whether results are older than the data. Judgments are only ever added, so their number tells."""
    current = aggregation is not None and aggregation.result["counts"]["judgments"] == progress["judgments"]
    evaluated = (
        evaluation is not None and aggregation is not None and evaluation.data_hash == aggregation.data_hash
    )
    return {
        "aggregation_old": aggregation is not None and not current,
        "evaluation_old": evaluation is not None and not (current and evaluated),
    }


def _agreement(aggregation: Analysis | None) -> dict[str, Any]:
    """Agreement, consensus counts and workers, ready to be shown."""
    if aggregation is None:
        return {}
    result = aggregation.result
    workers = sorted(result["workers"], key=lambda row: (row["used"], -row["judgments"], row["worker"]))
    threshold = aggregation.settings.get("controls")
    seen, right = (sum(row[key] for row in workers) for key in ("controls_seen", "controls_right"))
    return {
        "agreement": result["agreement"],
        "agreement_words": agreement_in_words(result["agreement"]),
        "counts": result["counts"],
        "workers": [row | {"note": worker_note(row, threshold)} for row in workers[:WORKERS_SHOWN]],
        "workers_left": max(0, len(workers) - WORKERS_SHOWN),
        "workers_words": workers_in_words(workers, threshold),
        "controls": {"seen": seen, "right": right, "share": right / seen if seen else None},
    }


def _metrics(study: Study, evaluation: Analysis | None) -> dict[str, Any]:
    """Figures of the metrics as a table, and what they come to in a sentence."""
    shown: dict[str, Any] = {
        "compares_pairs": KINDS[study.protocol].compares_pairs,
        "metrics_form": MetricsForm(),
    }
    if evaluation is not None:
        result = evaluation.result
        table = accuracy_table(result) if shown["compares_pairs"] else correlation_table(result)
        shown |= {
            "metrics_table": table,
            "metrics_words": metrics_in_words(result),
            "signatures": result["signatures"],
        }
    return shown


def download(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    """The file, or the manifest, of a finished export of this study."""
    number = request.GET.get("job", "")
    job = Job.objects.filter(pk=number, args__study=study.slug).first() if number.isdecimal() else None
    if job is None:
        raise Http404
    found = exported_file(job=job, manifest="manifest" in request.GET)
    return FileResponse(
        found.path.open("rb"), as_attachment=True, filename=found.name, content_type=found.content_type
    )


def _compute(request: HttpRequest, study: Study) -> None:
    """Consensus and agreement, then the metrics against them: two jobs."""
    form = MetricsForm(request.POST if "metrics" in request.POST else None)
    chosen: dict[str, Any] = {}
    if form.is_bound:
        if not form.is_valid():
            raise WrongState("Nothing was computed: choose metrics and a way to cut words from the lists.")
        chosen = {"metrics": form.cleaned_data["metrics"], "tokenizer": form.cleaned_data["tokenizer"]}
    if not Judgment.objects.filter(assignment__study=study).exists() and not study.pairs.exists():
        raise WrongState(f"Study {study.slug!r} has no judgments yet; there is nothing to compute.")
    enqueue(kind="aggregate", args={"study": study.slug}, user=signed_in(request))
    enqueue(kind="evaluate", args={"study": study.slug, **chosen}, user=signed_in(request))


def _export(request: HttpRequest, study: Study) -> None:
    """A file of the judgments; the work is a job."""
    known = {one.name for one in formats_for(study)}
    name = request.POST.get("format", "")
    if name not in known:
        raise WrongState(
            f"This study cannot be exported as {name!r}; expected one of {', '.join(sorted(known))}."
        )
    enqueue(kind=JOB_KIND, args={"study": study.slug, "format": name}, user=signed_in(request))
    messages.success(request, f"The {name} file is being written; it appears under “Take the data home”.")


add_page(StudyPage(name="results", label="Results", order=50, view=show_results))
add_page(StudyPage(name="download", label="", order=51, view=download))
add_step(
    StudyStep(
        name="compute",
        label="Compute now",
        run=_compute,
        offered=lambda study: study.state in (Study.State.OPEN, Study.State.CLOSED),
        permission="view",
    )
)
add_step(StudyStep(name="export", label="Export", run=_export, permission="view"))
