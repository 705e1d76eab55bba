"""Who may use the researchers' resources, and which rows of them.

A permission of Django's counts for every study of the installation, a role for its own study alone; a token never opens
more than its account may do, its scopes name, and its studies hold.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from rest_framework.exceptions import PermissionDenied as Refused
from rest_framework.filters import BaseFilterBackend
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from common.errors import NotThere
from judgments.access.roles import PERMISSIONS, Right, may
from judgments.access.tokens import allows
from judgments.models import ApiToken, Study, StudyRole


def staff_of(request: Request) -> User:
    """Who asks, on a view that lets in staff alone."""
    assert isinstance(request.user, User)
    return request.user


def token_of(request: Request) -> ApiToken | None:
    """The token that the request came with; None for sessions and for the old tokens, which open everything."""
    return request.auth if isinstance(request.auth, ApiToken) else None


def studies_of(request: Request) -> QuerySet[Study]:
    """The studies that who asks may see."""
    found = Study.objects.visible_to(staff_of(request))
    token = token_of(request)
    return found.filter(pk__in=token.studies.values("pk")) if token is not None and token.limited else found


def study_for(request: Request, slug: str, right: Right = Right.VIEW) -> Study:
    """The study of this slug, for something that takes ``right``.

    Raises:
        NotThere: there is none that this person may see.
        PermissionDenied: they may see it, and not do this.
    """
    study = studies_of(request).select_related("dataset").filter(slug=slug).first()
    if study is None:
        raise NotThere(f"There is no study {slug!r}.")
    require(request, right, study)
    return study


def require(request: Request, right: Right, study: Study) -> None:
    """Raises PermissionDenied where who asks may not do this with a study they may see."""
    if not may(staff_of(request), right, study):
        raise PermissionDenied


class IsStaff(BasePermission):
    """Staff with the Django permission for what they ask, or with a role in a study.

    A view names ``reading``, the permission that opens all its rows; ``scope``, the area of a token's scopes; and
    ``needed_permissions`` of actions that no role gives. Which rows a role opens is VisibleRows' part.
    """

    message = "This is for staff of this installation whose account may look at it."

    def has_permission(self, request: Request, view: Any) -> bool:
        """A worker's token opens nothing here."""
        user = request.user
        if not isinstance(user, User) or not user.is_active or not user.is_staff:
            return False
        self._within_scope(request, view)
        needed = getattr(view, "needed_permissions", {}).get(getattr(view, "action", None))
        if needed is not None:
            token = token_of(request)
            return user.has_perm(needed) and not (token is not None and token.limited)
        reading = getattr(view, "reading", PERMISSIONS[Right.VIEW])
        if user.has_perm(reading) or user.has_perm("judgments.add_study"):
            return True  # who may begin a study finds the lists empty, not shut
        return StudyRole.objects.filter(user=user).exists()

    @staticmethod
    def _within_scope(request: Request, view: Any) -> None:
        token = token_of(request)
        if token is None:
            return
        verb = "read" if request.method in SAFE_METHODS else "write"
        asked = f"{getattr(view, 'scope', 'studies')}:{verb}"
        if not allows(token.scopes, asked):
            raise Refused(f"The token lacks the scope {asked}.")


class VisibleRows(BaseFilterBackend):
    """Leaves out the rows of studies that who asks may not see. A view says what ties its rows to studies:

    ``study_path``: the field, or fields with __ between them, that lead to the study, '' for none; ``several``: whether
    a row can belong to more than one; or a method ``rows_for(queryset, studies, request)``, for anything else.
    """

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        """Lists and single rows alike."""
        token = token_of(request)
        limited = token is not None and token.limited
        if not limited and staff_of(request).has_perm(view.reading):
            return queryset
        studies = studies_of(request)
        if hasattr(view, "rows_for"):
            rows: QuerySet[Any] = view.rows_for(queryset, studies, request)
            return rows
        path = getattr(view, "study_path", "")
        if not path:
            return queryset.none()
        own = {f"{path}__in": studies}
        if getattr(view, "several", False):
            return queryset.filter(pk__in=queryset.model._default_manager.filter(**own).values("pk"))
        return queryset.filter(**own)


class NoWorker(BasePermission):
    """The description of the interface is public; a worker's token opens the worker's calls alone."""

    message = "A worker's token opens the worker's calls alone."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Anonymous visitors and signed-in people."""
        return not (request.auth and not request.user.is_staff)
