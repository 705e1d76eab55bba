"""Workers, assignments and judgments, for staff; and a study's opening and closing."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import mixins
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from annotation.api import filters, schemas, serializers
from annotation.api.work import WorkersOnly, save_draft
from annotation.models import Assignment, Judgment, Worker
from annotation.services.crowd import close_study, open_study
from judgments.api.permissions import IsStaff, VisibleRows, study_for
from judgments.api.resources import Resource
from judgments.api.serializers import StudySerializer
from judgments.errors import NotThere
from judgments.models import Study
from judgments.roles import Right
from judgments.services.studies import find_study

ASSIGNMENTS = Assignment.objects.select_related("study", "hit", "worker")


class WorkerResource(Resource):
    """People who judge, the rehearsal crowd, and raters of imported judgments; never their tokens."""

    reading, study_path, several, scope = "annotation.view_worker", "participations__study", True, "workers"
    queryset = Worker.objects.select_related("study")
    serializer_class = serializers.WorkerSerializer
    filterset_class = filters.WorkerFilters
    orderings = {"id": "pk", "name": "name", "created_at": "created_at"}


class AssignmentResource(mixins.ListModelMixin, GenericViewSet[Assignment]):
    """Workers' copies of HITs, returned and expired ones too."""

    reading, study_path, scope = "annotation.view_assignment", "study", "judgments"
    queryset = ASSIGNMENTS
    serializer_class = serializers.AssignmentSerializer
    filterset_class = filters.AssignmentFilters
    orderings: ClassVar[dict[str, str]] = {"accepted_at": "accepted_at"}


class AssignmentView(APIView):
    """One assignment: staff read it, its worker saves answers there."""

    reading, study_path, scope = "annotation.view_assignment", "study", "judgments"
    worker_methods = ("PATCH",)

    def get_permissions(self) -> list[BasePermission]:
        """PATCH is the worker's, everything else the staff's."""
        return [WorkersOnly() if self.request.method == "PATCH" else IsStaff()]

    @extend_schema(
        responses=serializers.AssignmentSerializer,
        operation_id="assignments_retrieve",
        summary="One assignment",
    )
    def get(self, request: Request, id: str) -> Response:
        """The row, for staff."""
        found = serializers.by_uuid(VisibleRows().filter_queryset(request, ASSIGNMENTS, self), id)
        if found is None:
            raise NotThere("There is no such assignment.")
        return Response(serializers.AssignmentSerializer(found).data)

    @extend_schema(
        request=schemas.SaveRequest,
        responses={200: schemas.SavedReply, 400: schemas.Problem, 404: schemas.Problem, 409: schemas.Problem},
        operation_id="assignments_save",
        tags=["worker"],
        summary="Save a partial answer",
    )
    def patch(self, request: Request, id: str) -> Response:
        """A worker's call: lay answers over the draft; saying the same again changes nothing."""
        return save_draft(request, id)


class JudgmentResource(Resource):
    """Answers in the unit's order. Which of them a study uses is in its exports: it depends on the study's rule."""

    reading, study_path, scope = "annotation.view_judgment", "assignment__study", "judgments"
    queryset = Judgment.objects.select_related(
        "assignment__worker",
        "assignment__hit",
        "assignment__study",
        "unit__item",
        "unit__reference",
        "unit__first",
        "unit__second",
        "unit__pair",
    )
    serializer_class = serializers.JudgmentSerializer
    filterset_class = filters.JudgmentFilters


class StudyStep(APIView):
    """A step of a study's life."""

    answers: ClassVar = {
        200: StudySerializer,
        409: OpenApiResponse(schemas.Problem, description="Not possible now."),
    }

    @staticmethod
    def reply(study: Study) -> Response:
        """The study as it is now."""
        return Response(StudySerializer(find_study(study.slug)).data)


class OpenStudyView(StudyStep):
    """POST /api/studies/{slug}/open/"""

    @extend_schema(
        request=None, responses=StudyStep.answers, operation_id="studies_open", summary="Let workers in"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Publishes the study to its crowd; twice is harmless."""
        study = study_for(request, slug, Right.CHANGE)
        open_study(study=study)
        return self.reply(study)


class CloseStudyView(StudyStep):
    """POST /api/studies/{slug}/close/"""

    @extend_schema(
        request=None, responses=StudyStep.answers, operation_id="studies_close", summary="Offer no more work"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Who holds a HIT may still submit it; twice is harmless."""
        study = study_for(request, slug, Right.CHANGE)
        close_study(study=study)
        return self.reply(study)
