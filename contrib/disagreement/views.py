"""The page "Disagreement" of a study, and soft labels and groups of raters over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.errors import QuorumError
from contrib.disagreement.analysis import DEMOGRAPHIC_PREFIX
from contrib.disagreement.cached import cached_disagreement
from contrib.disagreement.predictions import PredictionsName, import_predictions, remove_predictions
from contrib.disagreement.wording import ALWAYS, EQUALLY, describe_disagreement
from evaluation.data.export.formats.soft_labels import has_soft_labels
from evaluation.errors import EvaluationError
from evaluation.models import Prediction
from evaluation.results.consensus.study import SIDE_LABELS
from judgments.access.permissions import require_right, staff_of, study_for
from judgments.admin.base import picture_address, signed_in
from judgments.api.filters import filters_of, study_filter
from judgments.api.resources import COUNTING_RESPONSE, Related, Resource, RowSerializer
from judgments.datasets.views.page import import_or_queue
from judgments.importers.textio import read_whole
from judgments.models import Study
from judgments.studies.designs import kind_of
from judgments.studies.pages import Context, StudyPlace, StudyStep
from judgments.studies.step_form import add_operation, read_posted_parameters
from judgments.studies.study_page import add_step, study_page

JUDGES_SHOWN = 20
MAX_SHOWN = 100  # number of imported predictions
BASELINES = {
    EQUALLY: gettext_noop("Uniform distribution"),
    ALWAYS: gettext_noop("The same distribution for all items"),
}
ATTRIBUTE_LABELS = {"country": gettext_noop("Country"), "source": gettext_noop("Source of participants")}


@study_page(
    "soft-labels", order=55, has_tab=has_soft_labels, group=StudyPlace.FINDINGS, parent_page="results"
)
@require_safe
def show_disagreement(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    try:
        result = cached_disagreement(study, request.user)
    except EvaluationError as error:
        context["refused"] = _(str(error))
    else:
        context |= _disagreement_context(study, result)
    context["imported"] = Prediction.objects.filter(study=study).defer("units", "shares")[:MAX_SHOWN]
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
    keys = [row["unit"] for row in result["disputed"]]
    shown = study.units.select_related("item__dataset", "reference", "first", "second")
    units = {unit.key: unit for unit in shown.filter(key__in=keys)}
    pictures = {key: picture_address(unit.item) for key, unit in units.items()}
    return {
        "found": result,
        "sentence": describe_disagreement(result),
        "labels": labels,
        "predictors": [
            row | {"name": _(BASELINES.get(row["name"], row["name"]))} for row in result["predictors"]
        ],
        "disputed": [
            row | {"shown": units.get(row["unit"]), "picture": pictures.get(row["unit"], "")}
            for row in result["disputed"]
        ],
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
    return (
        _(ATTRIBUTE_LABELS[name])
        if name in ATTRIBUTE_LABELS
        else f"{_('Crowd')}: {name.removeprefix(DEMOGRAPHIC_PREFIX)}"
    )


def _labels(study: Study, values: list[Any]) -> list[str]:
    kind = kind_of(study)
    if kind.two_sided:
        return [str(SIDE_LABELS[value]) for value in values]
    names = {choice.value: choice.text for choice in kind.choices}
    return [names.get(value, f"{value:g}") for value in values]


add_step(StudyStep(name="import-predictions", label="Import", run=_import_predictions))

add_operation(remove_predictions, label="Remove predictions", fields=())


class PredictionSerializer(RowSerializer[Prediction]):
    """The distributions of people's answers that a model predicts. Their figures are in the study's soft labels."""

    study = Related("study.slug")

    class Meta:
        model = Prediction
        fields = ["id", "study", "name", "known", "sha256", "imported_at"]


@extend_schema_view(destroy=extend_schema(description=remove_predictions.description))
class PredictionResource(mixins.DestroyModelMixin, Resource):
    """The imported distributions of people's answers, as models predict them."""

    scope = "reports"
    queryset = Prediction.objects.select_related("study").defer("units", "shares")
    serializer_class = PredictionSerializer
    filterset_class = filters_of(Prediction, "name", study=study_filter())

    def perform_destroy(self, instance: Prediction) -> None:
        require_right(self.request, remove_predictions.right, instance.study)
        remove_predictions.run(instance.study, {"prediction": str(instance.pk)}, by=staff_of(self.request))


class SoftLabelsView(APIView):
    """GET /api/studies/{slug}/soft-labels/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            202: COUNTING_RESPONSE,
            400: OpenApiResponse(description="There are no results yet, or answers are no few labels."),
            404: OpenApiResponse(description="No such study that you may see."),
        },
        operation_id="studies_soft_labels",
        summary="Soft labels, what predicts them, and groups of raters",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return soft labels as the command `soft_labels` writes them, of the judgments of the newest results.

        Groups by demographics (``known``, ``crowd: …``) are shown to accounts that may change the study.
        """
        study = study_for(request, slug)
        return Response(cached_disagreement(study, staff_of(request)))
