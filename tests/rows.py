"""Rows of any model, many at once: distinct, and no more of each than the database asks for.

Fields that must be given get a value by their kind, foreign keys the rows of the other model in turn. Where more is
needed (a constraint over several fields, words that code looks up), ``TOLD`` says what; a new model that needs an
entry there fails with the constraint's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone
from rest_framework.authtoken.models import TokenProxy

from annotation.models import Assignment, Case, CrowdCall, Judgment, Webhook
from evaluation.models import Analysis, Challenge, Consensus, MetricScore, Release, Submission
from judgments.models import Caption, Job, Study, StudyEvent

Values = dict[str, Any]
Model = type[models.Model]

# what a row needs besides, by its number
TOLD: dict[Model, Callable[[int], Values]] = {
    Assignment: lambda number: {"state": "submitted", "submitted_at": timezone.now() + timedelta(hours=1)},
    Caption: lambda number: {"role": "candidate"},
    Challenge: lambda number: {"metrics": ["cider-d"]},
    Submission: lambda number: {"state": "scored", "public": True, "scores": {"cider-d": {"corpus": 0.5}}},
    Analysis: lambda number: {"what": "other"},
    Release: lambda number: {"version": f"1.{number}"},
    CrowdCall: lambda number: {"kind": "expire"},
    Case: lambda number: {"rule": "side-bias", "state": "dismissed"},
    Job: lambda number: {"kind": "export", "result": {}},
    Judgment: lambda number: {"value": 1},
    Study: lambda number: {"protocol": "triplet", "design": Study.objects.all()[0].design},
    Webhook: lambda number: {"submissions": True, "url": f"https://example.org/{number}"},
    TokenProxy: lambda number: {"key": f"{number:040}"},
    User: lambda number: {"username": f"u-{number:05}"},
}
# may be empty, and shown where they are not
SHOWN: dict[Model, frozenset[str]] = {
    Assignment: frozenset({"hit"}),
    Consensus: frozenset({"unit"}),
    MetricScore: frozenset({"unit"}),
    CrowdCall: frozenset({"hit"}),
    StudyEvent: frozenset({"study"}),
}


def make_rows(model: Model, count: int, *, study: Study | None = None) -> None:
    """Until there are ``count`` of them or more; of those of ``study``, where it is given and they belong to one."""
    rows = _of(model, study)
    there, every = rows.count(), model._default_manager.count()
    fields = [field for field in model._meta.concrete_fields if is_wanted(model, field)]
    pools = {field.name: list(_pool(field, study)) for field in fields if field.is_relation}
    told = TOLD.get(model, lambda number: {})
    made = []
    for number in range(every, every + count - there):
        values = {
            field.name: pools[field.name][number % len(pools[field.name])]
            if field.is_relation
            else value_of(field, number)
            for field in fields
        }
        made.append(model(**(values | told(number))))
    model._default_manager.bulk_create(made)


def in_order(wanted: Iterable[Model]) -> list[Model]:
    """With the models that their rows point to, those first."""
    found: list[Model] = []

    def add(model: Model) -> None:
        for field in model._meta.concrete_fields:
            if field.is_relation and field.related_model is not model and is_wanted(model, field):
                add(field.related_model)  # type: ignore[arg-type]  # no relation here leads to "self" by name
        if model not in found:
            found.append(model)

    for model in wanted:
        add(model)
    return found


def belongs_to(model: Model) -> bool:
    """Whether each of its rows is a study's."""
    return any(field.name == "study" and not field.null for field in model._meta.concrete_fields)


def _of(model: Model, study: Study | None) -> models.QuerySet[Any]:
    rows: models.QuerySet[Any] = model._default_manager.order_by("pk")
    return rows.filter(study=study) if study is not None and belongs_to(model) else rows


def _pool(field: Any, study: Study | None) -> models.QuerySet[Any]:
    if study is not None and field.related_model is Study:
        return Study.objects.filter(pk=study.pk)
    return _of(field.related_model, study)[:500]


def is_wanted(model: Model, field: Any) -> bool:
    """Whether a row must be told this field."""
    if field.name in SHOWN.get(model, ()):
        return True
    own_key = field.primary_key and not field.is_relation
    return not (own_key or field.null or field.blank or field.has_default())


def value_of(field: Any, number: int) -> Any:
    """What the row of this number holds there."""
    if isinstance(field, models.JSONField):
        return {}
    if isinstance(field, models.IntegerField | models.FloatField):
        return number
    if isinstance(field, models.DateTimeField):
        return timezone.now()
    if isinstance(field, models.DateField):
        return timezone.localdate()
    if field.choices:
        return field.choices[0][0]
    text = f"{number:05}"
    return text[-field.max_length :] if field.max_length else text
