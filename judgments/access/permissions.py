"""The rights of requests to the HTTP interface: API tokens and their scopes, visible studies and rows, and jobs.

A token allows at most what its account, its scopes and its studies allow.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import CharField, DateTimeField, QuerySet
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.exceptions import PermissionDenied as Refused
from rest_framework.filters import BaseFilterBackend
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from common.audit import log_about
from common.errors import DesignError, NotThere
from common.prepared import PreparedQuery, query_parameter
from judgments.access.roles import OF_DATASETS, PERMISSIONS, Right, has_right, has_role, visible_rows
from judgments.models import ApiToken, Dataset, DatasetRole, Job, Study, StudyRole
from judgments.models.jobs import IMPORTS_STUDY
from judgments.study_operations import operation_of

SCOPES: dict[str, str] = {
    "studies:read": "studies, designs, datasets, units, HITs, jobs, the log, rehearsals, presets",
    "studies:write": "create studies, change designs and detectors, generate, open and close",
    "judgments:read": "judgments, assignments and what workers wrote",
    "workers:read": "workers, invitations, detectors and their flags, exclusions, adjudications",
    "workers:write": "approve and reject work, exclude workers and take them back, decide",
    "reports:read": "consensus, agreement, analyses, the dashboard, plans",
    "reports:write": "compute consensus, agreement, metrics against them, and plans",
    "exports:read": "list and download exports",
    "exports:write": "make exports",
    "webhooks:read": "webhooks and what they were told",
    "webhooks:write": "add, try, rotate, switch and remove webhooks",
    "submissions:read": "challenges and one's own submissions to them",
    "submissions:write": "submit captions to challenges",
    "money:read": "budgets, the ledger, what was put up at a crowd and asked of it",
    "money:write": "pay bonuses and top-ups, set budgets, decide on payments that failed",
}
# Scopes that an account without staff rights can use.
FOR_PARTICIPANTS = ("submissions:read", "submissions:write")
KEY_START = "quorum_"
NOTED_EVERY = timedelta(minutes=1)  # avoid a write per request of a token in use


def scope_allows(granted: Iterable[str], requested: str) -> bool:
    """Write includes read."""
    area, _, verb = requested.partition(":")
    return requested in granted or (verb == "read" and f"{area}:write" in granted)


@transaction.atomic
def create_token(
    *,
    user: User,
    name: str,
    scopes: Sequence[str],
    studies: Sequence[Study] = (),
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Return a new token and its key, which is not stored.

    Args:
        studies: those it is limited to; empty: all that the account may see.

    Raises:
        DesignError: an empty name, an unknown scope, or an expiry in the past.
    """
    if not name.strip() or len(name) > 100:
        raise DesignError(
            gettext("A token has a name of 1 to 100 characters that says what it is for."), field="name"
        )
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        problem = (
            gettext("There is no scope %(scope)r") % {"scope": unknown[0]}
            if unknown
            else gettext("A token needs a scope")
        )
        raise DesignError(
            gettext("%(problem)s; expected one or more of %(listed)s.")
            % {"problem": problem, "listed": ", ".join(SCOPES)},
            field="scopes",
        )
    if not user.is_active or not (user.is_staff or set(scopes) <= set(FOR_PARTICIPANTS)):
        raise DesignError(
            gettext("The account %(name)r is no active staff account.") % {"name": user.get_username()},
            field="user",
        )
    if expires_at is not None and expires_at <= timezone.now():
        raise DesignError(
            gettext("The token would be past its time already; choose a later one."), field="expires_at"
        )
    key = KEY_START + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name.strip(),
        prefix=key[:12],
        digest=_digest(key),
        scopes=[scope for scope in SCOPES if scope in scopes],
        limited=bool(studies),
        expires_at=expires_at,
    )
    token.studies.set(studies)
    return token, key


# Each call of a program begins with it.
_USABLE = PreparedQuery(
    lambda: (
        ApiToken.objects.usable(query_parameter("now", DateTimeField()))
        .select_related("user")
        .filter(digest=query_parameter("digest", CharField()))
    )
)


def token_for_key(key: str) -> ApiToken | None:
    """Return the valid token of a key; record its use."""
    now = timezone.now()
    token = _USABLE.first(now=now, digest=_digest(key))
    if token is not None and (token.last_used_at is None or now - token.last_used_at > NOTED_EVERY):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def revoke_token(*, token: ApiToken) -> None:
    """Raise NotThere if the token was deleted with its account."""
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    if not ApiToken.objects.filter(pk=token.pk).exists():
        raise NotThere(gettext("There is no such token any more."))


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def staff_of(request: Request) -> User:
    assert isinstance(request.user, User)
    return request.user


def token_of(request: Request) -> ApiToken | None:
    """Return the token; None for sessions and old tokens, which have every scope."""
    return request.auth if isinstance(request.auth, ApiToken) else None


def studies_of(request: Request) -> QuerySet[Study]:
    visible = Study.objects.visible_to(staff_of(request))
    token = token_of(request)
    return (
        visible.filter(pk__in=token.studies.values("pk")) if token is not None and token.limited else visible
    )


def study_for(request: Request, slug: str, right: Right = Right.VIEW) -> Study:
    """Raise NotThere if the study is not visible, PermissionDenied if the right is missing."""
    study = studies_of(request).select_related("dataset").filter(slug=slug).first()
    if study is None:
        raise NotThere(gettext("There is no study %(slug)r.") % {"slug": slug})
    require(request, right, study)
    log_about(study=study.slug)
    return study


def require(request: Request, right: Right, study: Study) -> None:
    if not has_right(staff_of(request), right, study):
        raise PermissionDenied


class IsStaff(BasePermission):
    """Staff with the Django permission of the action, or with a role in a study.

    A view names ``reading``, the permission for all its rows; ``scope``, the area of token scopes;
    ``needed_permissions`` of actions that no role gives; and ``published``, whether some rows are for everybody.
    """

    message = "This is for staff of this installation whose account may look at it."

    def has_permission(self, request: Request, view: Any) -> bool:
        user = request.user
        self.check_scope(request, view)
        if not isinstance(user, User) or not user.is_active or not user.is_staff:
            return getattr(view, "published", False) and request.method in SAFE_METHODS
        needed = getattr(view, "needed_permissions", {}).get(getattr(view, "action", None))
        if needed is not None:
            token = token_of(request)
            return user.has_perm(needed) and not (token is not None and token.limited)
        reading = getattr(view, "reading", PERMISSIONS[Right.VIEW])
        if user.has_perm(reading) or user.has_perm("judgments.add_study"):
            return True  # a person who may create studies gets empty lists, not a refusal
        if getattr(view, "published", False) and request.method in SAFE_METHODS:
            return True
        return StudyRole.objects.filter(user=user).exists() or DatasetRole.objects.filter(user=user).exists()

    @staticmethod
    def check_scope(request: Request, view: Any) -> None:
        """Raise PermissionDenied if the token lacks the `scope` of a view or an operation."""
        token = token_of(request)
        if token is None:
            return
        verb = "read" if request.method in SAFE_METHODS else "write"
        scope = f"{getattr(view, 'scope', 'studies')}:{verb}"
        if not scope_allows(token.scopes, scope):
            raise Refused(gettext("The token lacks the scope %(asked)s.") % {"asked": scope})


class VisibleRows(BaseFilterBackend):
    """Exclude rows of studies that are not visible to the requester.

    A view names ``study_path``, the lookup from row to study ('' for none), and ``several``, whether a row can
    belong to more than one; or it has ``rows_for(queryset, studies, request)``. Rows of datasets have their own
    rule, and name ``to_dataset``, the lookup from row to dataset.
    """

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        token = token_of(request)
        limited = token is not None and token.limited
        if queryset.model in OF_DATASETS:
            rows = visible_rows(queryset, request.user)
            if token is None or not limited:
                return rows
            return rows.filter(**{f"{view.to_dataset}__in": token.studies.order_by().values("dataset")})
        if not limited and staff_of(request).has_perm(view.reading):
            return queryset
        studies = studies_of(request)
        if hasattr(view, "rows_for"):
            seen: QuerySet[Any] = view.rows_for(queryset, studies, request)
            return seen
        path = getattr(view, "study_path", "")
        if not path:
            return queryset.none()
        of_studies = {f"{path}__in": studies}
        if getattr(view, "several", False):
            return queryset.filter(pk__in=queryset.model._default_manager.filter(**of_studies).values("pk"))
        return queryset.filter(**of_studies)


class NoWorker(BasePermission):
    """Refuse workers' tokens; the API description is otherwise public."""

    message = "A worker's token opens the worker's calls alone."

    def has_permission(self, request: Request, view: Any) -> bool:
        return not (request.auth and not request.user.is_staff)


def may_cancel(user: User, job: Job) -> bool:
    """Return whether a person who sees the job asked for it, or may change the study or dataset it is about."""
    if user.is_superuser or (user.is_active and job.created_by_id == user.pk):
        return True
    study, dataset = _study_of(job), Dataset.objects.filter(name=job.args.get("dataset", "")).first()
    if study is not None:
        return has_right(user, Right.CHANGE, study)
    return dataset is not None and has_role(user, dataset, "editor")


def may_retry(user: User, job: Job) -> bool:
    """Return whether they may cancel it, and could still ask for it: roles change meanwhile."""
    if user.is_superuser or not may_cancel(user, job):
        return user.is_superuser
    study, operation = _study_of(job), operation_of(job.kind)
    if study is not None and not has_right(user, operation.right if operation else Right.CHANGE, study):
        return False
    pilots = {job.args.get("pilot", "")} - {""}
    datasets = {job.args.get("dataset", ""), *job.args.get("others", ())} - {""}
    seen = Study.objects.visible_to(user).filter(slug__in=pilots)
    read = Dataset.objects.visible_to(user).filter(name__in=datasets)
    return seen.count() == len(pilots) and read.count() == len(datasets)


def _study_of(job: Job) -> Study | None:
    if job.kind == IMPORTS_STUDY:  # a study of this name is another one
        return None
    return Study.objects.filter(slug=job.args.get("study", "")).first()
