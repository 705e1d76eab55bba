"""The bounds of a dataset: their page, and the HTTP call."""

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
REPLACEMENT_WORDS = {
    "other-image": gettext_noop("another item’s caption"),
    "other-dataset": gettext_noop("another dataset’s caption"),
    "corpus": gettext_noop("a sentence from a corpus"),
    "words-10": gettext_noop("ten random words"),
    "words-mean": gettext_noop("random words (mean caption length)"),
    "corpus-words-10": gettext_noop("ten random words from a corpus"),
    "corpus-words-mean": gettext_noop("random words from a corpus (mean caption length)"),
}
# Attributes of a bound that the page shows (contrib.bounds.bounds.Bound).
SHOWN_STATISTICS = ("macro", "low", "high", "micro", "deviation", "median", "least", "most")


def show_bounds(request: HttpRequest, dataset: Dataset, context: dict[str, Any]) -> HttpResponse:
    user = signed_in(request)
    jobs = visible_rows(Job.objects.filter(kind=JOB_KIND, args__dataset=dataset.name), user)
    refusal = ""
    if request.method == "POST":
        try:
            _start_job(user, dataset, read_posted_parameters(request, LeaveOneOutRequest, empty=False))
        except QuorumError as error:
            refusal = str(error)
        else:
            return redirect("admin:judgments_dataset_bounds", dataset.pk)
    finished_job = jobs.filter(state=Job.State.DONE).order_by("-pk").first()
    splits = dataset.items.order_by("split").values_list("split", flat=True).distinct()
    context |= {
        "refusal": refusal,
        "given": request.POST if refusal else {},
        "tokenizers": _tokenizers(),
        "usual": WG16_TOKENIZER,
        "splits": [name for name in splits if name],
        "others": Dataset.objects.visible_to(user).exclude(pk=dataset.pk).order_by("name"),
        "jobs": [job for job in jobs.order_by("-pk")[:1] if job.is_under_way or job.error],
        "made": finished_job,
        **(_tables_of(finished_job.result) if finished_job is not None and finished_job.result else {}),
    }
    return TemplateResponse(
        request, "evaluation/dataset_bounds.html", context, status=400 if refusal else 200
    )


def _start_job(user: User, dataset: Dataset, values: dict[str, Any]) -> Job:
    for other in values.get("others", ()):
        find_dataset(other, user=user)
    return enqueue(kind=JOB_KIND, args={"dataset": dataset.name, **values}, user=user, once=True)


def _tokenizers() -> list[str]:
    from quorum.metrics.text.tokenizers import TOKENIZERS  # imported lazily, since it loads a compiler

    return list(TOKENIZERS)


def _tables_of(result: dict[str, Any]) -> dict[str, Any]:
    from contrib.bounds.bounds import rank_tables

    metrics = result["metrics"]
    lower = list(next(iter(metrics.values()))["lower"])
    taus = result["kendall_tau_b"]
    return {
        "bounds": result,
        "upper": [
            {"name": name, "figures": {figure: entry["upper"][figure] for figure in SHOWN_STATISTICS}}
            for name, entry in metrics.items()
        ],
        "instead": [_(REPLACEMENT_WORDS[what]) for what in lower],
        "lower": [
            {
                "name": name,
                "upper": entry["upper"]["macro"],
                "cells": [entry["lower"][what] for what in lower],
            }
            for name, entry in metrics.items()
        ],
        "ranks": rank_tables(result) if "orders" in result else [],
        "taus": [
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
            404: OpenApiResponse(description="No such dataset that you may read."),
            409: OpenApiResponse(description="The same bounds are being computed for you already."),
        },
        operation_id="datasets_bounds",
        summary="What people and unrelated texts reach by each metric",
    )
    def post(self, request: Request, name: str) -> Response:
        """Start a job that compares each reference caption with the others of its image. Its result has the bounds."""
        dataset, values = dataset_for(request, name), LeaveOneOutRequest.read(request.data)
        return job_response(request, _start_job(staff_of(request), dataset, values))
