"""Say whether a visitor may send a large body, before a proxy reads it (deploy/nginx.conf)."""

from typing import Any

from django.contrib.auth.models import User
from rest_framework import status
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class MayUpload(BasePermission):
    """An account, signed in or by token; no worker. For datasets, one of the staff."""

    def has_permission(self, request: Request, view: Any) -> bool:
        user = request.user
        return (
            isinstance(user, User) and user.is_active and (user.is_staff or view.kwargs["who"] == "account")
        )


class MayUploadView(APIView):
    """GET /may-upload/account/ and /may-upload/staff/: 204, 401 or 403."""

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
