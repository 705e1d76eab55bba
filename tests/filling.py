"""Thousands of rows of any model in a moment: the database counts and writes them itself, none passes through Python.

Fields that must be given get a value by their kind, foreign keys the rows of the other model in turn. Where more is
needed (a constraint over several fields, words that code looks up), ``TOLD`` says what; a new model that needs an
entry there fails with the constraint's name. For SQLite, on which the tests of query budgets run.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, models
from django.utils import timezone

from annotation.models import Assignment, Budget, Case, CrowdCall, Judgment, QualityRule, SpendingLimit
from contrib.challenges.models import Challenge, Submission
from contrib.registration.models import Registration
from contrib.webhooks.models import Webhook
from evaluation.models import Analysis, Consensus, MetricScore, Prediction, Release
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
    Prediction: lambda number: {"units": b"", "shares": b""},
    Release: lambda number: {"version": f"1.{number}"},
    CrowdCall: lambda number: {"kind": "expire"},
    Case: lambda number: {"rule": "side-bias", "state": "dismissed"},
    Job: lambda number: {"kind": "export", "result": {}},
    Judgment: lambda number: {"value": 1},
    Study: lambda number: {"protocol": "triplet", "design": Study.objects.all()[0].design},
    Webhook: lambda number: {"submissions": True, "url": f"https://example.org/{number}"},
    User: lambda number: {"username": f"u-{number:05}"},
}
# may be empty, and shown where they are not
SHOWN: dict[Model, frozenset[str]] = {
    Assignment: frozenset({"hit"}),
    Consensus: frozenset({"unit"}),
    MetricScore: frozenset({"unit"}),
    CrowdCall: frozenset({"hit"}),
    SpendingLimit: frozenset({"account"}),
    StudyEvent: frozenset({"study"}),
}
# of these a study has one, or a few: the rows belong to one study after the other
OF_ALL_STUDIES: tuple[Model, ...] = (Budget, QualityRule, Registration, Webhook)
SENTINEL = 7_654_321  # stands for a row's number in what TOLD says
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
    if isinstance(ready, bytes | memoryview):
        return f"X'{bytes(ready).hex()}'"
    if isinstance(ready, int | float):
        return "n" if int(ready) == SENTINEL else repr(ready)
    quoted = str(ready).replace("'", "''")
    return "'" + quoted.replace(str(SENTINEL), "' || printf('%07d', n) || '") + "'"


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
