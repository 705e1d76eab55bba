"""The page "Disagreement" of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe

from common.errors import QuorumError
from evaluation.data.export.formats.soft_labels import has_soft_labels
from evaluation.errors import EvaluationError
from evaluation.models import Prediction
from evaluation.results.consensus import SIDE_LABELS
from evaluation.results.disagreement.analysis import (
    ALWAYS,
    CROWD,
    EQUALLY,
    cached_disagreement,
    describe_disagreement,
)
from evaluation.results.disagreement.predictions import (
    PredictionsName,
    import_predictions,
    remove_predictions,
)
from judgments.admin.base import signed_in
from judgments.datasets.page import import_or_queue
from judgments.importers.textio import read_whole
from judgments.models import Study
from judgments.studies.studies import kind_of
from judgments.studies.study_page import (
    Context,
    Group,
    StudyPage,
    StudyStep,
    add_operation,
    add_page,
    add_step,
    read_posted_parameters,
)

JUDGES_SHOWN = 20
MOST_SHOWN = 100  # imported predictions
BASELINES = {
    EQUALLY: gettext_noop("Every answer equally likely"),
    ALWAYS: gettext_noop("The same shares for all items"),
}
KNOWN = {"country": gettext_noop("Country"), "source": gettext_noop("Where people came from")}


@require_safe
def show_disagreement(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    try:
        result = cached_disagreement(study, request.user)
    except EvaluationError as error:
        context["refused"] = _(str(error))
    else:
        context |= _disagreement_context(study, result)
    context["imported"] = Prediction.objects.filter(study=study).defer("units", "shares")[:MOST_SHOWN]
    return TemplateResponse(request, "evaluation/study_soft_labels.html", context)


def _import_predictions(request: HttpRequest, study: Study) -> None:
    values = read_posted_parameters(request, PredictionsName)
    upload = request.FILES.get("file")
    if upload is None:
        raise QuorumError(_("Nothing was imported: choose the file with the predictions."))

    def read(path: Path) -> str:
        sent = {**values, "predictions": read_whole(path)}
        return import_predictions.run(study, sent, by=signed_in(request)).message

    import_or_queue(request, upload, read, kind="import_predictions", args={"study": study.slug, **values})


def _disagreement_context(study: Study, result: dict[str, Any]) -> dict[str, Any]:
    labels = _labels(study, result["labels"])
    judges = result.get("judges", [])
    groups = result.get("groups", {})
    return {
        "found": result,
        "sentence": describe_disagreement(result),
        "labels": labels,
        "predictors": [
            row | {"name": _(BASELINES.get(row["name"], row["name"]))} for row in result["predictors"]
        ],
        "disputed": result["disputed"],
        "judges": judges[:JUDGES_SHOWN],
        "judges_left": max(0, len(judges) - JUDGES_SHOWN),
        "groups": groups,
        "tables": [
            group | {"number": number, "rows": list(zip(labels, group["confusion"], strict=True))}
            for number, group in enumerate(groups.get("groups", ()), start=1)
        ],
        "second": [row for row in groups.get("members", ()) if row["group"] == 2][:JUDGES_SHOWN],
        "known": [row | {"by": _describe_attribute(row["by"])} for row in result.get("known", ())],
    }


def _describe_attribute(name: str) -> str:
    return _(KNOWN[name]) if name in KNOWN else f"{_('Crowd')}: {name.removeprefix(CROWD)}"


def _labels(study: Study, values: list[Any]) -> list[str]:
    kind = kind_of(study)
    if kind.two_sided:
        return [str(SIDE_LABELS[value]) for value in values]
    names = {choice.value: choice.text for choice in kind.choices}
    return [names.get(value, f"{value:g}") for value in values]


add_page(
    StudyPage(
        name="soft-labels",
        label="",
        order=55,
        view=show_disagreement,
        shown=has_soft_labels,
        group=Group.FINDINGS,
        under="results",
    )
)
add_step(StudyStep(name="import-predictions", label="Import", run=_import_predictions))
add_operation(remove_predictions, label="Remove predictions", fields=())
