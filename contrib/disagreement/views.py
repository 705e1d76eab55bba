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
from contrib.disagreement.cached_figures import cached_disagreement
from contrib.disagreement.predictions import PredictionsNameRequest, import_predictions, remove_predictions
from contrib.disagreement.rater_groups import DEMOGRAPHIC_PREFIX
from contrib.disagreement.soft_labels import has_soft_labels
from contrib.disagreement.wording import CONSTANT_BASELINE, UNIFORM_BASELINE, describe_disagreement
from evaluation.errors import EvaluationError
from evaluation.models import Prediction
from evaluation.results.consensus.study import SIDE_LABELS
from judgments.admin.addresses import picture_address
from judgments.admin.base import signed_in
from judgments.datasets.views.page import import_or_queue
from judgments.importers.textio import read_whole
from judgments.models import Study
from judgments.studies.designs import kind_of
from judgments.studies.pages import Context, StudySection, StudyStep
from judgments.studies.step_form import add_operation, read_posted_parameters
from judgments.studies.study_page import add_step, study_page

MAX_JUDGES_SHOWN = 20  # people whose answers are treated as predictions, and members of the second group
MAX_PREDICTIONS_SHOWN = 100
SECOND_GROUP = 2  # of the two that a model finds; the page lists its members; others are in the first
BASELINES = {
    UNIFORM_BASELINE: gettext_noop("Uniform distribution"),
    CONSTANT_BASELINE: gettext_noop("The same distribution for all items"),
}
ATTRIBUTE_LABELS = {"country": gettext_noop("Country"), "source": gettext_noop("Source of participants")}


@study_page(
    "soft-labels",
    order=54,
    has_tab=has_soft_labels,
    section=StudySection.FINDINGS,
    parent_page="results",
    results_label=gettext_noop("How much people disagree"),
)
@require_safe
def show_disagreement(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    try:
        result = cached_disagreement(study, request.user)  # `study_page` handles FiguresPending
    except EvaluationError as error:
        context["refusal"] = _(str(error))
    else:
        context |= _disagreement_context(study, result)
    predictions = Prediction.objects.filter(study=study).defer("units", "shares")
    context["imported_predictions"] = predictions[:MAX_PREDICTIONS_SHOWN]
    return TemplateResponse(request, "evaluation/study_soft_labels.html", context)


def _import_predictions(request: HttpRequest, study: Study) -> None:
    parameters = read_posted_parameters(request, PredictionsNameRequest)
    upload = request.FILES.get("file")
    if upload is None:
        raise QuorumError(_("Nothing was imported: choose the file with the predictions."))

    def read(path: Path) -> str:
        file_parameters = {**parameters, "predictions": read_whole(path)}
        return import_predictions.run(study, file_parameters, by=signed_in(request)).message

    job_args = {"study": study.slug, **parameters}
    import_or_queue(request, upload, read, kind="import_predictions", args=job_args)


def _disagreement_context(study: Study, disagreement: dict[str, Any]) -> dict[str, Any]:
    """Return the template variables for a result of ``compute_disagreement``."""
    labels = _label_texts(study, disagreement["labels"])
    judges = disagreement.get("judges", [])  # people whose answers are treated as predictions
    groups = disagreement.get("groups", {})  # groups of people that a model finds, and their members
    units = study.units.select_related("item__dataset", "reference", "first", "second")
    disputed_units = {
        unit.key: unit for unit in units.filter(key__in=[row["unit"] for row in disagreement["disputed"]])
    }
    pictures = {key: picture_address(unit.item) for key, unit in disputed_units.items()}
    second_group = [row for row in groups.get("members", ()) if row["group"] == SECOND_GROUP]
    return {
        "result": disagreement,
        "sentence": describe_disagreement(disagreement),
        "labels": labels,
        "predictors": [
            row | {"name": _(BASELINES.get(row["name"], row["name"]))} for row in disagreement["predictors"]
        ],
        "disputed_rows": [
            row | {"judged_unit": disputed_units.get(row["unit"]), "picture": pictures.get(row["unit"], "")}
            for row in disagreement["disputed"]
        ],
        "judges": judges[:MAX_JUDGES_SHOWN],
        "hidden_judge_count": max(0, len(judges) - MAX_JUDGES_SHOWN),
        "groups": groups,
        "group_tables": [  # with a row for each true answer: the probabilities of the answers of the group
            group | {"number": number, "rows": list(zip(labels, group["confusion"], strict=True))}
            for number, group in enumerate(groups.get("groups", ()), start=1)
        ],
        "members_of_second_group": second_group[:MAX_JUDGES_SHOWN],
        "attribute_comparisons": [
            row | {"by": _describe_attribute(row["by"])} for row in disagreement.get("known", ())
        ],
    }


def _describe_attribute(name: str) -> str:
    if name in ATTRIBUTE_LABELS:
        return _(ATTRIBUTE_LABELS[name])
    return f"{_('Crowd')}: {name.removeprefix(DEMOGRAPHIC_PREFIX)}"


def _label_texts(study: Study, labels: list[Any]) -> list[str]:
    kind = kind_of(study)
    if kind.two_sided:
        return [str(SIDE_LABELS[value]) for value in labels]
    names = {choice.value: choice.text for choice in kind.choices}
    return [names.get(value, f"{value:g}") for value in labels]


add_step(StudyStep(name="import-predictions", label="Import", run=_import_predictions))

add_operation(remove_predictions, label="Remove predictions", fields=())
