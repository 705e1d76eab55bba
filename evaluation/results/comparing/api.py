"""Comparisons of two studies over HTTP."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.errors import NotThere
from evaluation.results.comparing.comparison import MISSING
from evaluation.results.comparing.studies import cached_comparison, comparable_studies
from judgments.access.permissions import studies_of, study_for
from judgments.api.resources import COUNTING


class ComparisonView(APIView):
    """GET /api/studies/{slug}/comparison/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "with", str, required=True, description="Slug of a study of the same dataset: the standard."
            ),
            OpenApiParameter(
                "missing",
                str,
                enum=list(MISSING),
                description="What becomes of units that only that study has.",
            ),
        ],
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            202: COUNTING,
            400: OpenApiResponse(description="The studies cannot be compared."),
            404: OpenApiResponse(description="No such study that you may see and that can be compared."),
        },
        operation_id="studies_comparison",
        summary="How far two studies agree",
    )
    def get(self, request: Request, slug: str) -> Response:
        """As `agreement --with` writes it, and `in_words`; large studies are counted in the background first."""
        study = study_for(request, slug)
        other = request.query_params.get("with", "")
        if not other:
            raise ValidationError({"with": ["Expected the slug of the study to compare with."]})
        missing = request.query_params.get("missing", MISSING[0])
        if missing not in MISSING:
            raise ValidationError({"missing": [f"Expected {' or '.join(MISSING)}."]})
        second = (
            comparable_studies(study, studies_of(request).select_related("dataset"))
            .filter(slug=other)
            .first()
        )
        if second is None:
            raise NotThere(f"There is no study {other!r} to compare {slug!r} with.")
        return Response(cached_comparison(first=study, second=second, missing=missing))
