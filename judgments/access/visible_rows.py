"""The rows that a person may see, by permissions and by roles in studies and datasets."""

from __future__ import annotations

from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db.models import Model, Q, QuerySet

from judgments.access.rights import Person
from judgments.jobs.registry import study_creating_kinds
from judgments.models import Caption, Dataset, DatasetRole, Item, Job, Output, Study, System
from judgments.models.jobs import of_studies

M = TypeVar("M", bound=Model)

_CACHE_ATTRIBUTE = "_has_visible_study"  # the attribute of the user object in which the answer is cached

# models whose rows belong to a dataset
DATASET_MODELS: tuple[type[Model], ...] = (Dataset, Item, Caption, System, Output, DatasetRole)


def has_visible_study(user: Person) -> bool:
    """Return whether the user may see any study. The query is made once per user object."""
    if not isinstance(user, User) or not user.is_active:
        return False
    if not hasattr(user, _CACHE_ATTRIBUTE):
        setattr(user, _CACHE_ATTRIBUTE, Study.objects.visible_to(user).exists())
    return bool(getattr(user, _CACHE_ATTRIBUTE))


def may_view(user: Person, model: type[Model]) -> bool:
    """Return whether this person may open the lists of the model, which may be empty."""
    if sees_all(user, model) or (belongs_to_studies(model) and has_visible_study(user)):
        return True
    if model is Job and isinstance(user, User) and user.is_active:
        return Job.objects.filter(personal_jobs(user)).exists()
    if model not in DATASET_MODELS or user.pk is None:
        return False
    return DatasetRole.objects.filter(user=user.pk).exists()


def sees_all(user: Person, model: type[Model]) -> bool:
    """Return whether a Django permission shows the person all rows of the model."""
    app, name = model._meta.app_label, model._meta.model_name
    return isinstance(user, User) and (
        user.has_perm(f"{app}.view_{name}") or user.has_perm(f"{app}.change_{name}")
    )


def belongs_to_studies(model: type[Model]) -> bool:
    """Return whether each row of the model is a study, or belongs to studies or to a dataset that studies may use."""
    return model in (Study, Job) or model in DATASET_MODELS or bool(study_lookups_of(model))


def study_lookups_of(model: type[Model]) -> tuple[str, ...]:
    """Return the lookups from a model's rows to their studies, such as ("assignment__study",).

    They are the model's attribute ``study_lookups`` or, without it, the foreign key ``study``. Return () if the rows
    belong to no study.
    """
    lookups: tuple[str, ...] = getattr(model, "study_lookups", ())
    if lookups:
        return lookups
    fields = {field.name: field.related_model for field in model._meta.get_fields()}
    return ("study",) if fields.get("study") is Study else ()


def visible_rows(rows: QuerySet[M], user: Person) -> QuerySet[M]:
    """Return those of the rows that the user may see."""
    model: type[Model] = rows.model
    if model in DATASET_MODELS:
        dataset_rows: Any = rows  # each of these models has a queryset with ``visible_to``
        readable_rows: QuerySet[M] = dataset_rows.visible_to(user)
        return readable_rows
    if sees_all(user, model):
        return rows
    studies = Study.objects.visible_to(user)
    if model is Study:
        return rows.filter(pk__in=studies.values("pk"))
    if model is Job:
        return rows.filter(_visible_jobs(user))
    lookups = study_lookups_of(model)
    if not lookups:
        return rows.none()
    if len(lookups) == 1:
        return rows.filter(**{f"{lookups[0]}__in": studies.order_by().values("pk")})
    is_visible = Q()
    for lookup in lookups:  # subqueries instead of joins, which would repeat a row of several studies
        matches = model._default_manager.filter(**{f"{lookup}__in": studies.order_by().values("pk")})
        is_visible |= Q(pk__in=matches.values("pk"))
    return rows.filter(is_visible)


def personal_jobs(user: User) -> Q:
    """Return a filter for the jobs that a person started and that belong to no study, such as imports.

    A job of a study is not personal, since it shall be visible only as long as the person has a role in the study. An
    import of judgments is personal, although its arguments name a study: the one that it creates.
    """
    return Q(created_by=user.pk) & (Q(args__study__isnull=True) | Q(kind__in=study_creating_kinds()))


def _visible_jobs(user: Person) -> Q:
    """Return a filter for a person's own jobs, and for the jobs of studies that the person may see."""
    studies = Study.objects.visible_to(user)
    if not isinstance(user, User) or not user.is_active:
        return Q(pk__in=[])
    is_own = personal_jobs(user)
    if user.has_perm("judgments.view_study"):
        return is_own | Q(args__has_key="study")
    return is_own | of_studies(*studies.values_list("slug", flat=True))
