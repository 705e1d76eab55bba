"""Soft labels and groups of raters over HTTP."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluation.disagreement.analysis import cached_disagreement
from judgments.access.roles import staff_of, study_for
from judgments.cached_figures import FiguresPending

AGAIN = 5  # seconds after which a program may ask again


class SoftLabelsView(APIView):
    """GET /api/studies/{slug}/soft-labels/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            202: OpenApiResponse(
                description="A job is counting; ask again after the seconds of Retry-After."
            ),
            400: OpenApiResponse(description="There are no results yet, or answers are no few labels."),
            404: OpenApiResponse(description="No such study that you may see."),
        },
        operation_id="studies_soft_labels",
        summary="Soft labels, what predicts them, and groups of raters",
    )
    def get(self, request: Request, slug: str) -> Response:
        """As the command `soft_labels` writes it, of the judgments that the newest results rest on.

        Groups by demographics (``known``, ``crowd: …``) are for those who may change the study.
        """
        study = study_for(request, slug)
        try:
            return Response(cached_disagreement(study, staff_of(request)))
        except FiguresPending:
            return Response({"state": "being counted"}, status=202, headers={"Retry-After": str(AGAIN)})
