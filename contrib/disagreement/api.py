"""The calls that list and remove predictions, and that return soft labels and groups of participants."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from contrib.disagreement.cached_figures import cached_disagreement
from contrib.disagreement.predictions import remove_predictions
from evaluation.models import Prediction
from judgments.access.permissions import require_right, staff_of, study_for
from judgments.api.filters import filters_of, study_filter
from judgments.api.resources import COUNTING_RESPONSE, Related, Resource, RowSerializer


class PredictionSerializer(RowSerializer[Prediction]):
    """The distributions of people's answers that a model predicts, as imported for a study."""

    study = Related("study.slug")

    class Meta:
        model = Prediction
        fields = ["id", "study", "name", "known", "sha256", "imported_at"]  # known: the number of items


@extend_schema_view(destroy=extend_schema(description=remove_predictions.description))
class PredictionResource(mixins.DestroyModelMixin, Resource):
    """Imported distributions of people's answers, which models predict."""

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
            400: OpenApiResponse(
                description="The study has no results yet, or its kind of answers has no soft labels."
            ),
            404: OpenApiResponse(description="There is no such study that you may see."),
        },
        operation_id="studies_soft_labels",
        summary="Soft labels, how well they are predicted, and groups of participants",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the soft labels of the newest results, in the format of the command `soft_labels`.

        ``known`` has a row for each known grouping of participants, which ``by`` names. Rows about demographics, whose
        ``by`` begins with ``crowd: ``, are only shown to accounts that may change the study.
        """
        study = study_for(request, slug)
        return Response(cached_disagreement(study, staff_of(request)))
