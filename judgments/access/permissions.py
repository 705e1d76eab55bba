"""What a request to the HTTP interface may see and do, by its account and token, and who may cancel or retry a job.

A token allows at most what its account, its scopes and its studies allow.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.utils.translation import gettext
from rest_framework.exceptions import PermissionDenied as PermissionDeniedWithReason
from rest_framework.filters import BaseFilterBackend
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from common.audit import log_about
from common.errors import ObjectNotFound, did_you_mean
from judgments.access.dataset_roles import has_role
from judgments.access.rights import PERMISSIONS, Right, has_right
from judgments.access.tokens import scope_allows
from judgments.access.visible_rows import DATASET_MODELS, visible_rows
from judgments.jobs.registry import study_creating_kinds
from judgments.models import ApiToken, Dataset, DatasetRole, Job, Study, StudyRole
from judgments.operations import operation_of


def staff_of(request: Request) -> User:
    """Return the account of a request to a view that only accounts can use."""
    assert isinstance(request.user, User)
    return request.user


def token_of(request: Request) -> ApiToken | None:
    """Return the request's API token. It is None for a session, which has every scope, and for a worker's token."""
    return request.auth if isinstance(request.auth, ApiToken) else None


def limited_token_of(request: Request) -> ApiToken | None:
    """Return the request's API token if it is limited to certain studies, else None."""
    token = token_of(request)
    return token if token is not None and token.limited else None


def studies_of(request: Request) -> QuerySet[Study]:
    """Return the studies that both the request's account and its token may see."""
    visible_studies = Study.objects.visible_to(staff_of(request))
    token = limited_token_of(request)
    return visible_studies if token is None else visible_studies.filter(pk__in=token.studies.values("pk"))


def study_for(request: Request, slug: str, right: Right = Right.VIEW) -> Study:
    """Return the study with this slug.

    Raise ObjectNotFound if the account may not see such a study, and PermissionDenied if it lacks the right in it.
    """
    study = studies_of(request).select_related("dataset").filter(slug=slug).first()
    if study is None:
        slugs = studies_of(request).values_list("slug", flat=True)
        raise ObjectNotFound(
            gettext("There is no study %(slug)r.") % {"slug": slug} + did_you_mean(slug, slugs)
        )
    require_right(request, right, study)
    log_about(study=study.slug)
    return study


def require_right(request: Request, right: Right, study: Study) -> None:
    """Raise PermissionDenied if the request's account lacks the right in the study."""
    if not has_right(staff_of(request), right, study):
        raise PermissionDenied


def require_study_creation(request: Request) -> None:
    """Raise PermissionDenied if the token is limited to certain studies, or the account may not add studies."""
    if not staff_of(request).has_perm("judgments.add_study"):
        raise PermissionDeniedWithReason("This takes the permission to add studies.")
    if limited_token_of(request) is not None:
        raise PermissionDeniedWithReason("A token of some studies creates none.")


class IsStaff(BasePermission):
    """Allow active staff who may use the view by a Django permission or by a role in a study or dataset.

    The permission to add studies suffices, too; ``VisibleRows`` then shows only the rows that the person may see.

    Attributes of the view:
        read_permission: the permission to see all of its rows.
        scope: the scope that a token needs, without the verb.
        needed_permissions: the permission by action, for actions that no role allows.
        published: whether everybody may read some of its rows, also without an account.
    """

    message = "This is for staff of this installation whose account may look at it."

    def has_permission(self, request: Request, view: Any) -> bool:
        user = request.user
        self.check_scope(request, view)
        is_open_to_all = getattr(view, "published", False) and request.method in SAFE_METHODS
        if not isinstance(user, User) or not user.is_active or not user.is_staff:
            return is_open_to_all
        permission = getattr(view, "needed_permissions", {}).get(getattr(view, "action", None))
        if permission is not None:
            return user.has_perm(permission) and limited_token_of(request) is None
        read_permission = getattr(view, "read_permission", PERMISSIONS[Right.VIEW])
        if user.has_perm(read_permission) or user.has_perm("judgments.add_study"):
            return True  # a person who may create studies gets empty lists, not a refusal
        if is_open_to_all:
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
            raise PermissionDeniedWithReason(
                gettext("The token lacks the scope %(asked)s.") % {"asked": scope}
            )


class VisibleRows(BaseFilterBackend):
    """Exclude rows of studies and datasets that are not visible to the requester.

    Attributes of the view:
        study_path: the lookup from a row to its study; "" if there is none.
        has_several_studies: whether a row can belong to several studies.
        rows_for: a method that gets the rows, the visible studies and the request, and returns the visible rows. It
            replaces ``study_path``.
        dataset_path: the lookup from a row to its dataset, for models whose visibility depends on the dataset.
    """

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        token = limited_token_of(request)
        if queryset.model in DATASET_MODELS:
            rows = visible_rows(queryset, request.user)
            if token is None:
                return rows
            return rows.filter(**{f"{view.dataset_path}__in": token.studies.order_by().values("dataset")})
        if token is None and staff_of(request).has_perm(view.read_permission):
            return queryset  # all rows
        studies = studies_of(request)
        if hasattr(view, "rows_for"):
            readable_rows: QuerySet[Any] = view.rows_for(queryset, studies, request)
            return readable_rows
        path = getattr(view, "study_path", "")
        if not path:
            return queryset.none()
        condition = {f"{path}__in": studies}
        if getattr(view, "has_several_studies", False):  # a join would repeat a row of several studies
            return queryset.filter(pk__in=queryset.model._default_manager.filter(**condition).values("pk"))
        return queryset.filter(**condition)


class NoWorker(BasePermission):
    """The permission of the API description and its page, which are public, but refuse workers' tokens."""

    message = "A participant's token opens the participant's calls alone."

    def has_permission(self, request: Request, view: Any) -> bool:
        return not request.auth or request.user.is_staff


def may_cancel(user: User, job: Job) -> bool:
    """Return whether a person may cancel a job that they can see.

    They may if they requested it, or if they may change its study or dataset.
    """
    if user.is_superuser or (user.is_active and job.created_by_id == user.pk):
        return True
    study, dataset = _study_of(job), Dataset.objects.filter(name=job.args.get("dataset", "")).first()
    if study is not None:
        return has_right(user, Right.CHANGE, study)
    return dataset is not None and has_role(user, dataset, "editor")


def may_retry(user: User, job: Job) -> bool:
    """Return whether the user may cancel the job, and could request it now, since their roles may have changed."""
    if user.is_superuser:
        return True
    if not may_cancel(user, job):
        return False
    study, operation = _study_of(job), operation_of(job.kind)
    if study is not None and not has_right(user, operation.right if operation else Right.CHANGE, study):
        return False
    # the user must still see the other studies and datasets that the job reads
    pilot_slugs = {job.args.get("pilot", "")} - {""}
    dataset_names = {job.args.get("dataset", ""), *job.args.get("others", ())} - {""}
    visible_pilots = Study.objects.visible_to(user).filter(slug__in=pilot_slugs)
    visible_datasets = Dataset.objects.visible_to(user).filter(name__in=dataset_names)
    return visible_pilots.count() == len(pilot_slugs) and visible_datasets.count() == len(dataset_names)


def _study_of(job: Job) -> Study | None:
    """Return the study that the job is about, if there is one."""
    # an import creates its study; a study that has the slug already is another one
    if job.kind in study_creating_kinds():
        return None
    return Study.objects.filter(slug=job.args.get("study", "")).first()
