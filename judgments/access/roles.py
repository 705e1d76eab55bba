"""Roles in studies and in datasets, the rights and the rows that they open, and the log of a study.

A Django permission counts for every study or dataset, a role for its own.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any, TypeVar

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext

from common.audit import acting_person
from common.errors import NotThere, WrongState, did_you_mean
from judgments.models import (
    Caption,
    Dataset,
    DatasetRole,
    Item,
    Job,
    Output,
    Study,
    StudyEvent,
    StudyRole,
    System,
)
from judgments.models.datasets import is_staff, pre_share, sees_all_datasets
from judgments.models.jobs import IMPORTS_STUDY, of_studies

Role = StudyRole.Role
Person = AbstractBaseUser | AnonymousUser
M = TypeVar("M", bound=Model)

_CACHE_ATTRIBUTE = "_takes_part"  # an attribute of the user object

# roles in a dataset from the least to the most, with what each may do
DATASET_ROLES = [
    ("viewer", "views images, captions and published systems, and designs studies with them"),
    ("editor", "also adds systems, rankings, judgments and pictures"),
    ("owner", "also gives roles and decides who else can read the dataset"),
]

# models whose rows belong to a dataset
DATASET_MODELS: tuple[type[Model], ...] = (Dataset, Item, Caption, System, Output, DatasetRole)


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
    granted = frozenset(right for right, permission in PERMISSIONS.items() if user.has_perm(permission))
    if granted:
        granted |= {Right.VIEW}  # the permission to change all studies includes viewing, as in the admin
    if granted == frozenset(Right):
        return dict.fromkeys((study.pk for study in studies), granted)
    roles = dict(StudyRole.objects.filter(study__in=studies, user=user).values_list("study", "role"))
    return {study.pk: granted | RIGHTS.get(roles.get(study.pk, ""), frozenset()) for study in studies}


def has_right(user: Person, right: Right, study: Study) -> bool:
    return right in rights_of(user, study)


@transaction.atomic
def give_role(*, study: Study, user: User, role: str, by: User | None = None) -> StudyRole:
    """Give a person a role in a study, replacing any other.

    Raises:
        WrongState: the study would lose its last owner.
    """
    had = _role_and_lock(study, user)
    if had == role:
        return StudyRole.objects.get(study=study, user=user)
    if had == Role.OWNER:
        _keep_an_owner(study, user)
    study_role, _ = StudyRole.objects.update_or_create(
        study=study, user=user, defaults={"role": role, "given_by": by}
    )
    note_event(
        study=study,
        what="role-given",
        sentence=f"{user.get_username()} is {role} now{f', and was {had}' if had else ''}.",
        by=by,
        user=user.pk,
        role=role,
        before=had,
    )
    return study_role


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
        sentence=f"{user.get_username()} is {had} no longer.",
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
        raise WrongState(gettext("Nothing was changed: choose an account first."))
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
    if not hasattr(user, _CACHE_ATTRIBUTE):
        setattr(user, _CACHE_ATTRIBUTE, Study.objects.visible_to(user).exists())
    return bool(getattr(user, _CACHE_ATTRIBUTE))


def may_view(user: Person, model: type[Model]) -> bool:
    """Return whether this person has lists of the model, perhaps empty."""
    if sees_all(user, model) or (belongs_to_studies(model) and takes_part(user)):
        return True
    return (
        model in DATASET_MODELS and user.pk is not None and DatasetRole.objects.filter(user=user.pk).exists()
    )


def sees_all(user: Person, model: type[Model]) -> bool:
    app, name = model._meta.app_label, model._meta.model_name
    return isinstance(user, User) and (
        user.has_perm(f"{app}.view_{name}") or user.has_perm(f"{app}.change_{name}")
    )


def belongs_to_studies(model: type[Model]) -> bool:
    return model in (Study, Job) or model in DATASET_MODELS or bool(lookups_of(model))


def lookups_of(model: type[Model]) -> tuple[str, ...]:
    lookups: tuple[str, ...] = getattr(model, "of_study", ())
    if lookups:
        return lookups
    fields = {field.name: field.related_model for field in model._meta.get_fields()}
    return ("study",) if fields.get("study") is Study else ()


def visible_rows(rows: QuerySet[M], user: Person) -> QuerySet[M]:
    model: type[Model] = rows.model
    if model in DATASET_MODELS:
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
    belonging = Q()
    for lookup in lookups:  # separate subqueries: a row of several studies appears once
        reached = model._default_manager.filter(**{f"{lookup}__in": studies.order_by().values("pk")})
        belonging |= Q(pk__in=reached.values("pk"))
    return rows.filter(belonging)


def own_jobs(user: User) -> Q:
    """Match the jobs that a person started, except those of studies: a role in the study, which may end, gives access.

    An import of judgments names the study that it makes.
    """
    return Q(created_by=user.pk) & (Q(args__study__isnull=True) | Q(kind=IMPORTS_STUDY))


def _of_jobs(user: Person) -> Q:
    studies = Study.objects.visible_to(user)
    if not isinstance(user, User) or not user.is_active:
        return Q(pk__in=[])
    started = own_jobs(user)
    if user.has_perm("judgments.view_study"):
        return started | Q(args__has_key="study")
    return started | of_studies(*studies.values_list("slug", flat=True))


def has_role(user: Person, dataset: Dataset, least: str) -> bool:
    """Return whether a person has this role, or a higher one."""
    if sees_all_datasets(user):
        return True
    if not is_staff(user):
        return False
    order = list(DatasetRole.Role.values)
    enough = order[order.index(least) :]
    return DatasetRole.objects.filter(dataset=dataset, user=user, role__in=enough).exists()


def require_editor(user: User | None, dataset: Dataset) -> User:
    """Return the account of a job or page that adds to a dataset. Raise WrongState if it may not, or is gone."""
    if user is None:
        raise WrongState(gettext("Nothing was added: the account that asked for it no longer exists."))
    if not has_role(user, dataset, DatasetRole.Role.EDITOR):
        raise WrongState(
            gettext("Nothing was added: %(name)s is not an editor of dataset %(name2)r.")
            % {"name": user.get_username(), "name2": dataset.name}
        )
    return user


@transaction.atomic
def give_dataset_role(*, dataset: Dataset, user: User, role: str, by: User | None = None) -> DatasetRole:
    """Give a person a role in a dataset, replacing any other.

    Raises:
        WrongState: an account that cannot sign in, or the last owner.
    """
    if not (user.is_active and user.is_staff):
        raise WrongState(
            gettext("Nothing was changed: %(name)s cannot sign in to these pages.")
            % {"name": user.get_username()}
        )
    if role != DatasetRole.Role.OWNER:
        _keep_dataset_owner(dataset, user)
    dataset_role, _ = DatasetRole.objects.update_or_create(
        dataset=dataset, user=user, defaults={"role": role, "given_by": by}
    )
    return dataset_role


@transaction.atomic
def take_dataset_role(*, dataset: Dataset, user: User) -> None:
    """Raise WrongState if the dataset would lose its last owner."""
    _keep_dataset_owner(dataset, user)
    DatasetRole.objects.filter(dataset=dataset, user=user).delete()


def _keep_dataset_owner(dataset: Dataset, user: User) -> None:
    """Lock the dataset, so that the last two owners cannot leave at once."""
    Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    owners = set(
        DatasetRole.objects.filter(dataset=dataset, role=DatasetRole.Role.OWNER).values_list(
            "user_id", flat=True
        )
    )
    if owners == {user.pk}:
        raise WrongState(
            gettext("%(name)s is the only owner of dataset %(name2)r; make somebody else an owner first.")
            % {"name": user.get_username(), "name2": dataset.name}
        )


def refuse_other_readers(dataset: Dataset) -> None:
    """Lock a dataset, and raise WrongState if its members alone may read it."""
    locked = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    pre_share.send(sender=Dataset, dataset=locked)


@transaction.atomic
def share_dataset(*, dataset: Dataset, sharing: str) -> None:
    """Raise WrongState if its members alone may read it."""
    if sharing != Dataset.Sharing.MEMBERS:
        refuse_other_readers(dataset)
    Dataset.objects.filter(pk=dataset.pk).update(sharing=sharing)
    dataset.sharing = sharing


def publish_system(*, dataset: Dataset, name: str, by: User | None = None) -> System:
    """Show a system's outputs to all who may read the dataset; ``by`` None is a command.

    This is final: studies that draw from the system could not be drawn or exported alike without it.

    Raises:
        NotThere: ``by`` sees no such system. WrongState: it has another owner, or none.
    """
    systems = System.objects.filter(dataset=dataset)
    visible = systems if by is None else systems.visible_to(by)
    system = visible.filter(name=name).first()
    if system is None:
        named = visible.values_list("name", flat=True)
        raise NotThere(
            gettext("There is no system %(name)r in dataset %(name2)r.")
            % {"name": name, "name2": dataset.name}
            + did_you_mean(name, named)
        )
    if by is not None and system.owner_id != by.pk and not sees_all_datasets(by):
        raise WrongState(gettext("Nothing was changed: system %(name)r is somebody else's.") % {"name": name})
    system.private = False
    system.save(update_fields=["private"])
    return system


def note_event(
    *, study: Study, what: str, sentence: str, by: User | None = None, why: str = "", **details: Any
) -> StudyEvent:
    """Log an action, in the caller's transaction, by the current actor (``common.audit``) if ``by`` is None.

    Args:
        what: its code, such as ``opened``.
        sentence: what was done, with the amounts.
        details: JSON values.
    """
    return StudyEvent.objects.create(
        study=study,
        slug=study.slug,
        what=what,
        words=sentence[:1000],
        why=why[:500],
        by=by or acting_person(),
        details=details,
    )
