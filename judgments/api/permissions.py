"""Who may use the researchers' resources."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from rest_framework.permissions import BasePermission
from rest_framework.request import Request


def staff_of(request: Request) -> User:
    """Who asks, on a view that lets in staff alone."""
    assert isinstance(request.user, User)
    return request.user


class IsStaff(BasePermission):
    """Staff read everything; a change also asks for the Django permission the view names for its action."""

    message = "This is for the staff of this installation."

    def has_permission(self, request: Request, view: Any) -> bool:
        """A worker's token opens nothing here."""
        user = request.user
        if user is None or not user.is_active or not user.is_staff:
            return False
        needed = getattr(view, "needed_permissions", {}).get(getattr(view, "action", None))
        return needed is None or user.has_perm(needed)


class NoWorker(BasePermission):
    """The description of the interface is public; a worker's token opens the worker's calls alone."""

    message = "A worker's token opens the worker's calls alone."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Anonymous visitors and signed-in people."""
        return not (request.auth and not request.user.is_staff)
