"""A column of numbers that are whole where they can be."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class NumberField(models.FloatField):
    """A number that is read as an int where it is whole: 3, and not 3.0.

    A column of SQLite with numeric affinity does so itself, so that rows are read without a converter.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "numeric" if connection.vendor == "sqlite" else super().db_type(connection)

    def get_db_converters(self, connection: BaseDatabaseWrapper) -> list[Any]:
        return [] if connection.vendor == "sqlite" else [_as_number]


def _as_number(value: float | None, expression: Any, connection: BaseDatabaseWrapper) -> float | None:
    return int(value) if value is not None and value.is_integer() else value
