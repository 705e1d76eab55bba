"""Bounds of a dataset over HTTP."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluation.results.leave_one_out.operations import JOB_KIND, LeaveOneOutRequest
from judgments.access.permissions import staff_of, token_of
from judgments.api.operations import job_response
from judgments.api.resources import JobSerializer
from judgments.jobs import enqueue
from judgments.studies.studies import find_dataset


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
        """Starts a job that holds each reference caption against the others of its image; its result has the bounds."""
        user, token = staff_of(request), token_of(request)
        if token is not None and token.limited:
            raise PermissionDenied("A token of some studies reads no datasets.")
        dataset = find_dataset(name, user=user)
        values = LeaveOneOutRequest.read(request.data)
        for other in values.get("others", ()):
            find_dataset(other, user=user)
        job = enqueue(kind=JOB_KIND, args={"dataset": dataset.name, **values}, user=user, once=True)
        return job_response(request, job)
