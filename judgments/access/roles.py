"""Roles in a study and their rights, visible rows, and the rights of requests.

A Django permission counts for every study, a role for its own. A token allows at most what its account, its scopes
and its studies allow.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any, TypeVar

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext
from rest_framework.exceptions import PermissionDenied as Refused
from rest_framework.filters import BaseFilterBackend
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from common.audit import log_about
from common.errors import DesignError, NotThere, WrongState
from judgments.access.tokens import scope_allows
from judgments.models import (
    ApiToken,
    Caption,
    Dataset,
    DatasetRole,
    Item,
    Job,
    Output,
    Study,
    StudyRole,
    System,
)
from judgments.models.jobs import IMPORTS_STUDY, of_studies
from judgments.studies.log import note_event

Role = StudyRole.Role
Person = AbstractBaseUser | AnonymousUser
_KEPT = "_takes_part"  # an attribute of the user object
M = TypeVar("M", bound=Model)
OF_DATASETS: tuple[type[Model], ...] = (Dataset, Item, Caption, System, Output, DatasetRole)


class Right(StrEnum):
    """From the least to the most."""

    VIEW = "view"  # its pages, results, files
    REVIEW = "review"  # approve, reject, exclude, adjudicate, answer appeals
    CHANGE = "change"  # design, generate, open, pause, close, spend
    OWN = "own"  # roles, deletion, releases


RIGHTS: dict[str, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.VIEW}),
    Role.REVIEWER: frozenset({Right.VIEW, Right.REVIEW}),
    Role.DESIGNER: frozenset({Right.VIEW, Right.REVIEW, Right.CHANGE}),
    Role.OWNER: frozenset(Right),
}
PERMISSIONS = {
    Right.VIEW: "judgments.view_study",
    Right.REVIEW: "judgments.change_study",
    Right.CHANGE: "judgments.change_study",
    Right.OWN: "judgments.delete_study",
}


def rights_of(user: Person, study: Study) -> frozenset[Right]:
    return rights_in(user, [study])[study.pk]


def rights_in(user: Person, studies: Collection[Study]) -> dict[int, frozenset[Right]]:
    """Use one query for all studies."""
    if not isinstance(user, User) or not user.is_active:
        return dict.fromkeys((study.pk for study in studies), frozenset())
    given = frozenset(right for right, permission in PERMISSIONS.items() if user.has_perm(permission))
    if given:
        given |= {Right.VIEW}  # the permission to change all studies includes viewing, as in the admin
    if given == frozenset(Right):
        return dict.fromkeys((study.pk for study in studies), given)
    roles = dict(StudyRole.objects.filter(study__in=studies, user=user).values_list("study", "role"))
    return {study.pk: given | RIGHTS.get(roles.get(study.pk, ""), frozenset()) for study in studies}


def has_right(user: Person, right: Right, study: Study) -> bool:
    return right in rights_of(user, study)


@transaction.atomic
def give_role(*, study: Study, user: User, role: str, by: User | None = None) -> StudyRole:
    """Give a person a role in a study, replacing any other.

    Raises:
        DesignError: an unknown role, or an inactive account. WrongState: the study would lose its last owner.
    """
    if role not in Role.values:
        raise DesignError(
            gettext("There is no role %(role)r; expected one of %(listed)s.")
            % {"role": role, "listed": ", ".join(Role.values)},
            field="role",
        )
    if not user.is_active:
        raise DesignError(
            gettext("The account %(name)r is not active.") % {"name": user.get_username()}, field="user"
        )
    had = _role_and_lock(study, user)
    if had == role:
        return StudyRole.objects.get(study=study, user=user)
    if had == Role.OWNER:
        _keep_an_owner(study, user)
    given, _ = StudyRole.objects.update_or_create(
        study=study, user=user, defaults={"role": role, "given_by": by}
    )
    note_event(
        study=study,
        what="role-given",
        words=f"{user.get_username()} is {role} now{f', and was {had}' if had else ''}.",
        by=by,
        user=user.pk,
        role=role,
        before=had,
    )
    return given


@transaction.atomic
def take_role(*, study: Study, user: User, by: User | None = None) -> None:
    """Raise WrongState if the study would lose its last owner."""
    had = _role_and_lock(study, user)
    if had is None:
        return
    if had == Role.OWNER:
        _keep_an_owner(study, user)
    StudyRole.objects.filter(study=study, user=user).delete()
    note_event(
        study=study,
        what="role-taken",
        words=f"{user.get_username()} is {had} no longer.",
        by=by,
        user=user.pk,
        before=had,
    )


def person_named(pk: int, username: str) -> User:
    """Return the staff account of this name, else of this key. Raise WrongState."""
    if username:
        person = User.objects.filter(is_active=True, is_staff=True, username=username).first()
        if person is None:
            raise WrongState(
                gettext("Nothing was changed: there is no account of staff named %(username)r.")
                % {"username": username}
            )
        return person
    person = User.objects.filter(pk=pk).first()
    if person is None:
        raise WrongState(gettext("Nothing was changed: choose a person first."))
    return person


def _role_and_lock(study: Study, user: User) -> str | None:
    """Lock the study, so that the last two owners cannot leave at once."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    return StudyRole.objects.filter(study=study, user=user).values_list("role", flat=True).first()


def _keep_an_owner(study: Study, user: User) -> None:
    if not StudyRole.objects.filter(study=study, role=Role.OWNER).exclude(user=user).exists():
        raise WrongState(
            gettext("%(name)s is the only owner of study %(slug)r; make somebody else an owner first.")
            % {"name": user.get_username(), "slug": study.slug}
        )


def takes_part(user: Person) -> bool:
    if not isinstance(user, User) or not user.is_active:
        return False
    if not hasattr(user, _KEPT):
        setattr(user, _KEPT, Study.objects.visible_to(user).exists())
    return bool(getattr(user, _KEPT))


def may_view(user: Person, model: type[Model]) -> bool:
    """Return whether this person has lists of the model, perhaps empty."""
    if sees_all(user, model) or (belongs_to_studies(model) and takes_part(user)):
        return True
    return model in OF_DATASETS and user.pk is not None and DatasetRole.objects.filter(user=user.pk).exists()


def sees_all(user: Person, model: type[Model]) -> bool:
    app, name = model._meta.app_label, model._meta.model_name
    return isinstance(user, User) and (
        user.has_perm(f"{app}.view_{name}") or user.has_perm(f"{app}.change_{name}")
    )


def belongs_to_studies(model: type[Model]) -> bool:
    return model in (Study, Job) or model in OF_DATASETS or bool(lookups_of(model))


def lookups_of(model: type[Model]) -> tuple[str, ...]:
    lookups: tuple[str, ...] = getattr(model, "of_study", ())
    if lookups:
        return lookups
    fields = {field.name: field.related_model for field in model._meta.get_fields()}
    return ("study",) if fields.get("study") is Study else ()


def visible_rows(rows: QuerySet[M], user: Person) -> QuerySet[M]:
    model: type[Model] = rows.model
    if model in OF_DATASETS:
        own_rule: Any = rows
        visible: QuerySet[M] = own_rule.visible_to(user)
        return visible
    if sees_all(user, model):
        return rows
    studies = Study.objects.visible_to(user)
    if model is Study:
        return rows.filter(pk__in=studies.values("pk"))
    if model is Job:
        return rows.filter(_of_jobs(user))
    lookups = lookups_of(model)
    if not lookups:
        return rows.none()
    if len(lookups) == 1:
        return rows.filter(**{f"{lookups[0]}__in": studies.order_by().values("pk")})
    own = Q()
    for lookup in lookups:  # separate subqueries: a row of several studies appears once
        found = model._default_manager.filter(**{f"{lookup}__in": studies.order_by().values("pk")})
        own |= Q(pk__in=found.values("pk"))
    return rows.filter(own)


def own_jobs(user: User) -> Q:
    """Match the jobs that a person started, except a study's, which its role opens: it may be taken away.

    An import of judgments names the study that it makes.
    """
    return Q(created_by=user.pk) & (Q(args__study__isnull=True) | Q(kind=IMPORTS_STUDY))


def _of_jobs(user: Person) -> Q:
    studies = Study.objects.visible_to(user)
    if not isinstance(user, User) or not user.is_active:
        return Q(pk__in=[])
    asked = own_jobs(user)
    if user.has_perm("judgments.view_study"):
        return asked | Q(args__has_key="study")
    return asked | of_studies(*studies.values_list("slug", flat=True))


def staff_of(request: Request) -> User:
    assert isinstance(request.user, User)
    return request.user


def token_of(request: Request) -> ApiToken | None:
    """Return the token; None for sessions and old tokens, which have every scope."""
    return request.auth if isinstance(request.auth, ApiToken) else None


def studies_of(request: Request) -> QuerySet[Study]:
    found = Study.objects.visible_to(staff_of(request))
    token = token_of(request)
    return found.filter(pk__in=token.studies.values("pk")) if token is not None and token.limited else found


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
        asked = f"{getattr(view, 'scope', 'studies')}:{verb}"
        if not scope_allows(token.scopes, asked):
            raise Refused(gettext("The token lacks the scope %(asked)s.") % {"asked": asked})


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
        own = {f"{path}__in": studies}
        if getattr(view, "several", False):
            return queryset.filter(pk__in=queryset.model._default_manager.filter(**own).values("pk"))
        return queryset.filter(**own)


class NoWorker(BasePermission):
    """Refuse workers' tokens; the API description is otherwise public."""

    message = "A worker's token opens the worker's calls alone."

    def has_permission(self, request: Request, view: Any) -> bool:
        return not (request.auth and not request.user.is_staff)
