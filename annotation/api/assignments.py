"""One assignment: its worker saves answers there."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import schemas
from annotation.api.work import WorkView, save_draft


class AssignmentView(WorkView):
    """PATCH /api/assignments/{id}/"""

    worker_methods = ("PATCH",)

    @extend_schema(
        request=schemas.SaveRequest,
        responses={200: schemas.SavedReply, 400: schemas.Problem, 404: schemas.Problem, 409: schemas.Problem},
        operation_id="assignments_save",
        summary="Save a partial answer",
    )
    def patch(self, request: Request, id: str) -> Response:
        """Lay answers over the draft; saying the same again changes nothing."""
        return save_draft(request, id)
