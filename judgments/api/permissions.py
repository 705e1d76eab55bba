"""Who may use the researchers' resources."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request


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
