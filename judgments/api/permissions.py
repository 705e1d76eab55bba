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
    """Staff with the Django permission for what they ask, as in the admin.

    A view names it: ``reading`` for looking, ``needed_permissions`` for an action that changes something.
    """

    message = "This is for staff of this installation whose account may look at it."

    def has_permission(self, request: Request, view: Any) -> bool:
        """A worker's token opens nothing here."""
        user = request.user
        if user is None or not user.is_active or not user.is_staff:
            return False
        changing = getattr(view, "needed_permissions", {}).get(getattr(view, "action", None))
        return user.has_perm(changing or view.reading)


class NoWorker(BasePermission):
    """The description of the interface is public; a worker's token opens the worker's calls alone."""

    message = "A worker's token opens the worker's calls alone."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Anonymous visitors and signed-in people."""
        return not (request.auth and not request.user.is_staff)
