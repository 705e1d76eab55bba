"""100,000 rows of any model in a moment: the database counts and writes them itself, no row passes through Python.

What a row holds is what ``tests/rows.py`` says of its model. For SQLite, on which the tests of query counts run.
"""

from __future__ import annotations

from typing import Any

from django.db import connection, models

from annotation.models import Assignment, Budget, QualityRule, Webhook
from evaluation.models import Challenge, Registration
from judgments.models import Job, Study
from tests.rows import TOLD, Model, belongs_to, is_wanted, value_of

# of these a study has one, or a few: the rows belong to one study after the other
OF_ALL_STUDIES: tuple[Model, ...] = (Budget, QualityRule, Registration, Webhook)
SENTINEL = 7_654_321  # stands for a row's number in what rows.py tells
# more than the one in TOLD: each kind of job is a list of its own
KINDS_OF_JOBS = ("export", "report", "plan_power")


def fill_rows(model: Model, count: int, study: Study) -> None:
    """Until ``study`` has ``count`` of them or more, or there are so many of what belongs to none."""
    own = model._default_manager.all()
    if belongs_to(model) and model not in OF_ALL_STUDIES:
        own = own.filter(study=study)
    every, missing = model._default_manager.count(), count - own.count()
    if missing <= 0:
        return
    columns: dict[str, str] = {}
    for place, field in enumerate(model._meta.concrete_fields):
        written = _written(model, field, place, study)
        if written is not None and field.column:
            columns[field.column] = written
    quote = connection.ops.quote_name
    names = ", ".join(map(quote, columns))
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE numbers(n) AS (SELECT {every} UNION ALL SELECT n + 1 FROM numbers "  # noqa: S608 - our own
            f"WHERE n + 1 < {every + missing}) INSERT INTO {quote(model._meta.db_table)} ({names}) "
            f"SELECT {', '.join(columns.values())} FROM numbers"
        )


def _written(model: Model, field: Any, place: int, study: Study) -> str | None:
    """The column's value as SQL over the row's number ``n``; None: the database sets it."""
    told = TOLD.get(model, lambda number: {})(SENTINEL)
    if model is Job and field.name == "kind":
        cases = " ".join(f"WHEN {at} THEN '{kind}'" for at, kind in enumerate(KINDS_OF_JOBS))
        return f"CASE n % {len(KINDS_OF_JOBS)} {cases} END"
    if model is Study and field.name == "design":
        short = {name: study.design[name] for name in ("name", "dataset", "protocol")}
        return _literal(field, short)  # whole ones would be 300 MB
    if field.name in told:
        return _literal(field, told[field.name])
    if isinstance(field, models.AutoField):
        return None
    if isinstance(field, models.UUIDField):
        return "printf('%032x', n + 1)"
    if field.is_relation and (is_wanted(model, field) or (field.unique and not field.null)):
        return _pointing(field, place, study)
    if is_wanted(model, field) or getattr(field, "auto_now_add", False) or getattr(field, "auto_now", False):
        return _literal(field, value_of(field, SENTINEL))
    if field.unique and not field.null:
        return "printf('%07d', n)"
    return None if field.null else _literal(field, field.get_default())


def _pointing(field: Any, place: int, study: Study) -> str:
    """A key of the other table: one after the other, and in the second round beside others than in the first."""
    related = field.related_model
    if related is Study and field.model not in OF_ALL_STUDIES:
        return str(study.pk)
    if related is Assignment:  # whose keys were made from their numbers
        return f"printf('%032x', {Assignment.objects.count()} - n % 1000)"
    if related is Webhook:  # the study's own has sent them all
        return str(Webhook.objects.filter(study=study).order_by("pk").values_list("pk", flat=True)[0])
    if related is Challenge:  # one leaderboard has them all
        return str(Challenge.objects.order_by("pk").values_list("pk", flat=True)[0])
    rows = related._default_manager
    lowest = rows.order_by("pk").values_list("pk", flat=True)[0]
    size = rows.count()
    return f"{lowest} + (n + n / {size} * {place}) % {size}"


def _literal(field: Any, value: Any) -> str:
    """A value as SQL; the sentinel in it becomes the row's number."""
    ready = field.get_db_prep_save(value, connection)
    if ready is None:
        return "NULL"
    if isinstance(ready, bool):
        return str(int(ready))
    if isinstance(ready, int | float):
        return "n" if int(ready) == SENTINEL else repr(ready)
    quoted = str(ready).replace("'", "''")
    return "'" + quoted.replace(str(SENTINEL), "' || printf('%07d', n) || '") + "'"
