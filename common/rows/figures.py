"""A database field for computed results."""

from __future__ import annotations

from typing import Any

from django.db import models

from common.amounts import as_json


class FiguresField(models.JSONField):
    """A JSON field that takes dataclasses, arrays and nan (as null). In migrations, it is a plain JSONField."""

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(as_json(value), connection, prepared)

    def deconstruct(self) -> Any:
        name, _path, args, options = super().deconstruct()
        return name, "django.db.models.JSONField", args, options
