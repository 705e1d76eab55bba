"""Background jobs over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.utils.functional import cached_property
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from judgments.access.permissions import IsStaff, limited_token_of, may_cancel, may_retry, staff_of, token_of
from judgments.access.tokens import scope_allows
from judgments.access.visible_rows import personal_jobs
from judgments.api.filters import filters_of
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.jobs.queues import cancel_job, queue_positions, retry_job
from judgments.jobs.registry import scope_of_kind
from judgments.models import Job, Study
from judgments.models.jobs import of_studies
from judgments.operations import operation_of


class JobSerializer(RowSerializer[Job]):
    """A background job. ``progress`` is a share from 0 to 1, and ``words`` says what the job does now."""

    args = serializers.DictField(read_only=True)
    by = Related("created_by.username", optional=True)
    place = serializers.SerializerMethodField(help_text="Position of a waiting job in its queue, from 1.")
    result = serializers.DictField(
        read_only=True,
        allow_null=True,
        help_text="What the job made or found; null if there is nothing, and empty if the token may not read it.",
    )

    @cached_property
    def _queue_positions(self) -> dict[int, int]:
        # In a list, the parent is the serializer of the list. One query then serves all its jobs.
        jobs: Any = [self.instance] if self.parent is None else self.parent.instance
        return queue_positions(jobs)

    def get_place(self, job: Job) -> int | None:
        return self._queue_positions.get(job.pk)

    def to_representation(self, instance: Job) -> dict[str, Any]:
        fields: dict[str, Any] = super().to_representation(instance)
        # `job_response` passes no request, since a job that was just started has no result.
        token = token_of(self.context["request"]) if "request" in self.context else None
        scope = f"{scope_of_kind(instance.kind)}:read"
        if fields["result"] and token and not scope_allows(token.scopes, scope):
            fields["result"] = {}
        return fields

    class Meta:
        model = Job
        fields = [
            "id", "kind", "args", "by", "queue", "state", "place", "progress", "words", "error", "result",
            "created_at", "started_at", "finished_at",
        ]  # fmt: skip


def job_action(refusal: str) -> Callable[[Any], Any]:
    """Declare an action on a job. ``refusal`` describes its 409 response in the schema."""
    responses = {200: JobSerializer, 409: OpenApiResponse(description=refusal)}

    def declare(method: Any) -> Any:
        return extend_schema(request=None, responses=responses)(action(detail=True, methods=["post"])(method))

    return declare


class JobResource(Resource):
    """Background jobs with their progress and results."""

    read_permission = "judgments.view_job"
    queryset = Job.objects.select_related("created_by")
    serializer_class = JobSerializer
    filterset_class = filters_of(Job, "kind", "queue", "state")
    orderings = {"id": "pk", "created_at": "created_at"}

    def rows_for(self, rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
        return jobs_about(rows, studies, request)

    @job_action("The job has ended, or other people need its result.")
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel a job that waits or runs. A running job stops within five seconds, and stores nothing.

        The person who asked for the job may cancel it, and everybody who may change its study or dataset.
        """
        return self._change_job(cancel_job, is_allowed=may_cancel)

    @job_action("The job neither failed nor was cancelled.")
    def retry(self, request: Request, pk: str) -> Response:
        """Queue a failed or cancelled job again.

        Everybody who may cancel the job and could ask for it now may do so.
        """
        operation = operation_of(self.get_object().kind)
        if operation is not None:  # the token needs the scope of what the job does, too
            IsStaff.check_scope(request, operation)
        return self._change_job(retry_job, is_allowed=may_retry)

    def _change_job(
        self, change: Callable[[Job], None], *, is_allowed: Callable[[User, Job], bool]
    ) -> Response:
        job: Job = self.get_object()
        if not is_allowed(staff_of(self.request), job):
            raise PermissionDenied
        change(job)
        return Response(self.get_serializer(job).data)


def jobs_about(rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
    """Return the jobs of visible studies and, without a limited token, the person's jobs outside studies."""
    is_visible = of_studies(*studies.values_list("slug", flat=True))
    if limited_token_of(request) is None:
        is_visible |= personal_jobs(staff_of(request))
    return rows.filter(is_visible)


def job_response(request: Request, job: Job, *, route: str = "api:jobs-detail") -> Response:
    """Return the response 202 with a job, and with the job's address in the header Location."""
    address = reverse(route, args=[job.pk], request=request)
    return Response(JobSerializer(job).data, status=202, headers={"Location": address})
