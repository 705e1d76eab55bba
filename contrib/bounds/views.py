"""The bounds of metrics on a dataset: the page "Human performance" of the dataset, and the HTTP call."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.errors import QuorumError
from contrib.bounds.parameters import WG16_TOKENIZER, LeaveOneOutRequest
from judgments.access.permissions import staff_of
from judgments.access.visible_rows import visible_rows
from judgments.admin.base import signed_in
from judgments.api.jobs import JobSerializer, job_response
from judgments.api.resources import dataset_for
from judgments.datasets.views.page import DatasetPage, add_dataset_page
from judgments.jobs.queues import enqueue
from judgments.models import Dataset, Job
from judgments.studies.step_form import read_posted_parameters
from judgments.studies.studies import find_dataset

JOB_KIND = "leave_one_out"
# Short labels of the texts that replace a caption (contrib.bounds.bounds).
REPLACEMENT_LABELS = {
    "other-image": gettext_noop("another item’s caption"),
    "other-dataset": gettext_noop("another dataset’s caption"),
    "corpus": gettext_noop("a sentence from a corpus"),
    "words-10": gettext_noop("ten random words"),
    "words-mean": gettext_noop("random words (mean caption length)"),
    "corpus-words-10": gettext_noop("ten random words from a corpus"),
    "corpus-words-mean": gettext_noop("random words from a corpus (mean caption length)"),
}
# Attributes of a bound that the page shows: `macro`, with its interval, is over images, and the others over captions.
SHOWN_STATISTICS = ("macro", "low", "high", "micro", "deviation", "median", "least", "most")


def show_bounds(request: HttpRequest, dataset: Dataset, context: dict[str, Any]) -> HttpResponse:
    user = signed_in(request)
    jobs = visible_rows(Job.objects.filter(kind=JOB_KIND, args__dataset=dataset.name), user)
    refusal = ""
    if request.method == "POST":
        try:
            _start_job(user, dataset, read_posted_parameters(request, LeaveOneOutRequest, keep_empty=False))
        except QuorumError as error:
            refusal = str(error)
        else:
            return redirect("admin:judgments_dataset_bounds", dataset.pk)
    finished_job = jobs.filter(state=Job.State.DONE).order_by("-pk").first()
    splits = dataset.items.order_by("split").values_list("split", flat=True).distinct()
    context |= {
        "refusal": refusal,
        "posted": request.POST if refusal else {},
        "tokenizers": _tokenizers(),
        "default_tokenizer": WG16_TOKENIZER,
        "splits": [name for name in splits if name],
        "other_datasets": Dataset.objects.visible_to(user).exclude(pk=dataset.pk).order_by("name"),
        # The newest job, unless it is finished: its result is shown.
        "jobs": [job for job in jobs.order_by("-pk")[:1] if job.is_under_way or job.error],
        "finished_job": finished_job,
        **(_tables_of(finished_job.result) if finished_job is not None and finished_job.result else {}),
    }
    return TemplateResponse(
        request, "evaluation/dataset_bounds.html", context, status=400 if refusal else 200
    )


def _start_job(user: User, dataset: Dataset, parameters: dict[str, Any]) -> Job:
    for other_name in parameters.get("others", ()):
        find_dataset(other_name, user=user)  # raises an error if the user may not see it
    return enqueue(kind=JOB_KIND, args={"dataset": dataset.name, **parameters}, user=user, once=True)


def _tokenizers() -> list[str]:
    from quorum.metrics.text.tokenizers import TOKENIZERS  # imported lazily, since it loads a compiler

    return list(TOKENIZERS)


def _tables_of(bounds_json: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of ``Bounds.as_json``, which is a job's result, as template variables."""
    from contrib.bounds.tables import rank_tables

    metrics = bounds_json["metrics"]  # figures of people's captions ("upper"), and by replacement ("lower")
    replacements = list(next(iter(metrics.values()))["lower"])
    taus = bounds_json["kendall_tau_b"]
    return {
        "bounds": bounds_json,
        "upper_rows": [
            {"name": name, "figures": {figure: entry["upper"][figure] for figure in SHOWN_STATISTICS}}
            for name, entry in metrics.items()
        ],
        "replacement_labels": [_(REPLACEMENT_LABELS[replacement]) for replacement in replacements],
        "lower_rows": [
            {
                "name": name,
                "mean_of_people": entry["upper"]["macro"],
                "cells": [entry["lower"][replacement] for replacement in replacements],
            }
            for name, entry in metrics.items()
        ],
        # Results of jobs by older releases lack the rankings.
        "rank_tables": rank_tables(bounds_json) if "orders" in bounds_json else [],
        "tau_tables": [
            {
                "title": _(title),
                "names": taus["metrics"],
                "rows": list(zip(taus["metrics"], taus[level], strict=True)),
            }
            for level, title in (
                ("images", gettext_noop("Kendall’s tau-b between metrics, over items")),
                ("captions", gettext_noop("Kendall’s tau-b between metrics, over captions")),
            )
        ],
    }


add_dataset_page(DatasetPage("bounds", show_bounds, gettext_noop("Human performance")))


class DatasetBoundsView(APIView):
    """POST /api/datasets/{name}/bounds/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        request=LeaveOneOutRequest,
        responses={
            202: JobSerializer,
            404: OpenApiResponse(description="There is no such dataset that you may read."),
            409: OpenApiResponse(description="A job of yours is already computing the same bounds."),
        },
        operation_id="datasets_bounds",
        summary="Scores of people's captions and of unrelated texts",
    )
    def post(self, request: Request, name: str) -> Response:
        """Start a job that scores each reference caption, and unrelated texts, against the image's other captions.

        Its result has the scores by each metric: upper bounds of people's captions, and lower bounds of other texts.
        """
        dataset, parameters = dataset_for(request, name), LeaveOneOutRequest.read(request.data)
        return job_response(request, _start_job(staff_of(request), dataset, parameters))
