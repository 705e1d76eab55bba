"""The log of studies, who has which role in them, and who may send large bodies (deploy/nginx.conf)."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from rest_framework import serializers, status
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from judgments.api.resources import Related, Resource, RowSerializer, filters_of, study_filter
from judgments.models import StudyEvent, StudyRole


class EventSerializer(RowSerializer[StudyEvent]):
    """An entry of a study's log."""

    study = Related("slug")
    details = serializers.DictField(read_only=True)
    by = Related("by.username", optional=True)

    class Meta:
        model = StudyEvent
        fields = ["id", "study", "what", "words", "why", "details", "by", "at"]


class EventResource(Resource):
    """Who did what to a study, when and why; nothing in it is ever changed."""

    queryset = StudyEvent.objects.select_related("by")
    serializer_class = EventSerializer
    filterset_class = filters_of(StudyEvent, "what", study="slug", by="by__username")
    orderings = {"id": "pk", "at": "at"}


class RoleSerializer(RowSerializer[StudyRole]):
    """A person's part in a study."""

    study = Related("study.slug")
    user = Related("user.username")
    given_by = Related("given_by.username", optional=True)

    class Meta:
        model = StudyRole
        fields = ["id", "study", "user", "role", "given_by", "given_at"]


class RoleResource(Resource):
    """Who may do what with a study."""

    queryset = StudyRole.objects.select_related("study", "user", "given_by")
    serializer_class = RoleSerializer
    filterset_class = filters_of(StudyRole, "role", study=study_filter(), user="user__username")


class MayUpload(BasePermission):
    """An account, signed in or by token; no worker. For datasets, one of the staff."""

    def has_permission(self, request: Request, view: Any) -> bool:
        user = request.user
        return (
            isinstance(user, User) and user.is_active and (user.is_staff or view.kwargs["who"] == "account")
        )


class MayUploadView(APIView):
    """GET /may-upload/account/ and /may-upload/staff/: 204, 401 or 403, before a proxy reads the body."""

    permission_classes = (MayUpload,)
    schema = None

    def get(self, request: Request, who: str) -> Response:
        return Response(status=status.HTTP_204_NO_CONTENT)

    def handle_exception(self, exc: Exception) -> Response:
        """A proxy knows no other refusals than 401 and 403: too many wrong tokens are one of them."""
        response = super().handle_exception(exc)
        if response.status_code == status.HTTP_429_TOO_MANY_REQUESTS:
            response.status_code = status.HTTP_403_FORBIDDEN
        return response
