"""Rights to the researchers' resources and their rows.

A Django permission counts for every study, a role for its own study. A token allows at most what its
account, its scopes and its studies allow.
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
    assert isinstance(request.user, User)
    return request.user


def token_of(request: Request) -> ApiToken | None:
    """Return the request's token; None for sessions and for old tokens, which have every scope."""
    return request.auth if isinstance(request.auth, ApiToken) else None


def studies_of(request: Request) -> QuerySet[Study]:
    found = Study.objects.visible_to(staff_of(request))
    token = token_of(request)
    return found.filter(pk__in=token.studies.values("pk")) if token is not None and token.limited else found


def study_for(request: Request, slug: str, right: Right = Right.VIEW) -> Study:
    """Return a study that the requester may use with ``right``.

    Raises:
        NotThere: it does not exist or is not visible. PermissionDenied: it is visible, but the right is
            missing.
    """
    study = studies_of(request).select_related("dataset").filter(slug=slug).first()
    if study is None:
        raise NotThere(f"There is no study {slug!r}.")
    require(request, right, study)
    return study


def require(request: Request, right: Right, study: Study) -> None:
    if not may(staff_of(request), right, study):
        raise PermissionDenied


class IsStaff(BasePermission):
    """Staff with the Django permission of the action, or with a role in a study.

    A view names ``reading``, the permission for all its rows; ``scope``, the area of token scopes; and
    ``needed_permissions`` of actions that no role gives. VisibleRows limits the rows.
    """

    message = "This is for staff of this installation whose account may look at it."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Refuse workers' tokens."""
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
            return True  # a person who may create studies gets empty lists, not a refusal
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
    """Exclude rows of studies that are not visible to the requester.

    A view names ``study_path``, the lookup from row to study ('' for none), and ``several``, whether a
    row can belong to more than one; or it has ``rows_for(queryset, studies, request)``.
    """

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        """Filter lists and single rows alike."""
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
    """Refuse workers' tokens; the API description is otherwise public."""

    message = "A worker's token opens the worker's calls alone."

    def has_permission(self, request: Request, view: Any) -> bool:
        return not (request.auth and not request.user.is_staff)
