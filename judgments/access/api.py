"""The log and the roles of studies over HTTP, and the check who may send large bodies (deploy/nginx.conf)."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from rest_framework import serializers, status
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from judgments.api.filters import filters_of, study_filter
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.models import StudyEvent, StudyRole


class EventSerializer(RowSerializer[StudyEvent]):
    """An entry of a study's log."""

    study = Related("slug")  # as stored in the entry, which remains if the study is deleted
    details = serializers.DictField(read_only=True)
    by = Related("by.username", optional=True)

    class Meta:
        model = StudyEvent
        fields = ["id", "study", "what", "words", "why", "details", "by", "at"]


class EventResource(Resource):
    """The log of a study: who did what, when and why. Its entries never change."""

    queryset = StudyEvent.objects.select_related("by")
    serializer_class = EventSerializer
    filterset_class = filters_of(StudyEvent, "what", study="slug", by="by__username")
    orderings = {"id": "pk", "at": "at"}


class RoleSerializer(RowSerializer[StudyRole]):
    """A person's role in a study."""

    study = Related("study.slug")
    user = Related("user.username")
    given_by = Related("given_by.username", optional=True)

    class Meta:
        model = StudyRole
        fields = ["id", "study", "user", "role", "given_by", "given_at"]


class RoleResource(Resource):
    """The roles that people have in studies."""

    queryset = StudyRole.objects.select_related("study", "user", "given_by")
    serializer_class = RoleSerializer
    filterset_class = filters_of(StudyRole, "role", study=study_filter(), user="user__username")


class MayUpload(BasePermission):
    """Allow accounts that are signed in or have a token, but no workers. At the address for staff, allow only staff."""

    def has_permission(self, request: Request, view: Any) -> bool:
        user, staff_only = request.user, view.kwargs["who"] != "account"
        return isinstance(user, User) and user.is_active and (user.is_staff or not staff_only)


class MayUploadView(APIView):
    """Tell a proxy, before it reads a body, whether the sender may upload it.

    GET /may-upload/account/ and GET /may-upload/staff/ answer 204 for yes, and 401 or 403 for no.
    """

    permission_classes = (MayUpload,)
    schema = None

    def get(self, request: Request, who: str) -> Response:
        return Response(status=status.HTTP_204_NO_CONTENT)

    def handle_exception(self, exc: Exception) -> Response:
        """Answer 403 instead of 429 (too many wrong tokens), since nginx expects 401 or 403 for a refusal."""
        response = super().handle_exception(exc)
        if response.status_code == status.HTTP_429_TOO_MANY_REQUESTS:
            response.status_code = status.HTTP_403_FORBIDDEN
        return response
