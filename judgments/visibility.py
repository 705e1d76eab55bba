"""Which rows a person may look at: all of a kind with Django's permission for it, else those of their studies.

What belongs to a study says so by a field ``study``, or by ``of_study`` on its model: the lookups that lead from a row
to a study. Rows of a model that says neither are shown to nobody without the permission.
"""

from __future__ import annotations

from typing import TypeVar

from django.contrib.auth.models import User
from django.db.models import Model, Q, QuerySet

from judgments.models import Caption, Dataset, Item, Job, Output, Study, System
from judgments.roles import Person

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
