"""Roles in a study, their permissions, and the rows that a person may see."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Model, Q, QuerySet

from common.errors import DesignError, WrongState
from judgments.models import Caption, Dataset, Item, Job, Output, Study, StudyRole, System
from judgments.studies.log import note_event

Role = StudyRole.Role
Person = AbstractBaseUser | AnonymousUser


class Right(StrEnum):
    """What may be done with a study, from the least to the most."""

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
    """All that a person may do with a study, by their role in it or by a permission for all studies."""
    if not isinstance(user, User) or not user.is_active:
        return frozenset()
    given = frozenset(right for right, permission in PERMISSIONS.items() if user.has_perm(permission))
    if given:
        given |= {Right.VIEW}  # who changes all studies looks at them too, as everywhere in the admin
    if given == frozenset(Right):
        return given
    role = StudyRole.objects.filter(study=study, user=user).values_list("role", flat=True).first()
    return given | RIGHTS[role] if role is not None else given


def may(user: Person, right: Right, study: Study) -> bool:
    """Whether a person may do this with a study."""
    return right in rights_of(user, study)


@transaction.atomic
def give_role(*, study: Study, user: User, role: str, by: User | None = None) -> StudyRole:
    """Give a person a role in a study, in place of the one they had.

    Raises:
        DesignError: there is no such role, or the account cannot sign in.
        WrongState: the study would be left without an owner.
    """
    if role not in Role.values:
        raise DesignError(
            f"There is no role {role!r}; expected one of {', '.join(Role.values)}.", field="role"
        )
    if not user.is_active:
        raise DesignError(f"The account {user.get_username()!r} is not active.", field="user")
    had = _held(study, user)
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
    """Take a person's role in a study away; nothing happens where they have none.

    Raises:
        WrongState: the study would be left without an owner.
    """
    had = _held(study, user)
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
    """Return who is meant: the account of staff of this name, or where there is no name, the account of this row.

    Raises:
        WrongState: there is none.
    """
    if username:
        person = User.objects.filter(is_active=True, is_staff=True, username=username).first()
        if person is None:
            raise WrongState(f"Nothing was changed: there is no account of staff named {username!r}.")
        return person
    person = User.objects.filter(pk=pk).first()
    if person is None:
        raise WrongState("Nothing was changed: choose a person first.")
    return person


def _held(study: Study, user: User) -> str | None:
    """The person's role; the study's row is held until the transaction ends, so that two owners who leave at once
    do not leave it alone."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    return StudyRole.objects.filter(study=study, user=user).values_list("role", flat=True).first()


def _keep_an_owner(study: Study, user: User) -> None:
    if not StudyRole.objects.filter(study=study, role=Role.OWNER).exclude(user=user).exists():
        raise WrongState(
            f"{user.get_username()} is the only owner of study {study.slug!r}; make somebody else an owner first."
        )


M = TypeVar("M", bound=Model)
_TO_DATASET: dict[type[Model], str] = {
    Dataset: "pk",
    Item: "dataset",
    Caption: "dataset",
    System: "dataset",
    Output: "system__dataset",
}
_KEPT = "_takes_part"


def takes_part(user: Person) -> bool:
    """Whether any study is visible to this person; asked once for each person that was loaded."""
    if not isinstance(user, User) or not user.is_active:
        return False
    if not hasattr(user, _KEPT):
        setattr(user, _KEPT, Study.objects.visible_to(user).exists())
    return bool(getattr(user, _KEPT))


def may_view(user: Person, model: type[Model]) -> bool:
    """Whether there can be rows of this kind for the person to look at."""
    return sees_all(user, model) or (belongs_to_studies(model) and takes_part(user))


def sees_all(user: Person, model: type[Model]) -> bool:
    """Whether Django's permissions open all rows of this kind."""
    app, name = model._meta.app_label, model._meta.model_name
    return isinstance(user, User) and (
        user.has_perm(f"{app}.view_{name}") or user.has_perm(f"{app}.change_{name}")
    )


def belongs_to_studies(model: type[Model]) -> bool:
    """Whether a role in a study can open rows of this kind."""
    return model in (Study, Job) or model in _TO_DATASET or bool(lookups_of(model))


def lookups_of(model: type[Model]) -> tuple[str, ...]:
    """What leads from a row to a study; () for rows that belong to none."""
    told: tuple[str, ...] = getattr(model, "of_study", ())
    if told:
        return told
    fields = {field.name: field.related_model for field in model._meta.get_fields()}
    return ("study",) if fields.get("study") is Study else ()


def visible_rows(rows: QuerySet[M], user: Person) -> QuerySet[M]:
    """The rows that a person may look at."""
    model: type[Model] = rows.model
    if sees_all(user, model):
        return rows
    studies = Study.objects.visible_to(user)
    if model is Study:
        return rows.filter(pk__in=studies.values("pk"))
    if model is Job:
        return rows.filter(_of_jobs(user))
    if model in _TO_DATASET:
        return rows.filter(**{f"{_TO_DATASET[model]}__in": studies.order_by().values("dataset")})
    lookups = lookups_of(model)
    if not lookups:
        return rows.none()
    if len(lookups) == 1:
        return rows.filter(**{f"{lookups[0]}__in": studies.order_by().values("pk")})
    own = Q()
    for lookup in lookups:  # each by itself: a row of several studies stays one row
        found = model._default_manager.filter(**{f"{lookup}__in": studies.order_by().values("pk")})
        own |= Q(pk__in=found.values("pk"))
    return rows.filter(own)


def loaded_by(dataset: Dataset, user: User) -> bool:
    """Whether this person's upload made the dataset. Whoever uploads the same files under the same name later on
    changes nothing, and gets no right to it."""
    done = Job.objects.filter(
        kind="import_dataset",
        state=Job.State.DONE,
        args__name=dataset.name,
        finished_at__gte=dataset.created_at,  # another one of this name may have been here before
    )
    first = done.order_by("finished_at", "pk").first()
    return first is not None and first.created_by_id == user.pk


def _of_jobs(user: Person) -> Q:
    """What the person asked for, and work on studies that they may see."""
    asked = Q(created_by=user.pk) if user.pk else Q(pk__in=[])
    studies = Study.objects.visible_to(user)
    if not isinstance(user, User) or not user.is_active:
        return Q(pk__in=[])
    if user.has_perm("judgments.view_study"):
        return asked | Q(args__has_key="study")
    return asked | Q(args__study__in=list(studies.values_list("slug", flat=True)))
