"""Fields that models share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from judgments.drawing.keys import text_key

if TYPE_CHECKING:
    _CharField = models.CharField[str, str]
else:
    _CharField = models.CharField


def account_key(
    on_delete: Any = models.SET_NULL, help_text: str = "", *, label: str | None = None
) -> models.ForeignKey[User | None, User | None]:
    """Return a nullable foreign key to the account that did something. It is null if a command did it."""
    options: dict[str, Any] = {"related_name": "+", "null": True, "blank": True, "help_text": help_text}
    return models.ForeignKey(settings.AUTH_USER_MODEL, on_delete, verbose_name=label, **options)


class NumberField(models.FloatField):
    """A number that is read as an int if it is whole, such as 3 instead of 3.0.

    SQLite does this itself for a column of type "numeric", so only other databases need a converter.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "numeric" if connection.vendor == "sqlite" else super().db_type(connection)

    def get_db_converters(self, connection: BaseDatabaseWrapper) -> list[Any]:
        return [] if connection.vendor == "sqlite" else [_int_if_whole]


def _int_if_whole(value: float | None, expression: Any, connection: BaseDatabaseWrapper) -> float | None:
    return int(value) if value is not None and value.is_integer() else value


class TextKeyField(_CharField):
    """The key of the row's ``text`` in normal form (``text_key``). It is set when the row is saved."""

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        key = text_key(model_instance.text)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, key)
        return key
