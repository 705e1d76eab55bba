"""Rows of logs and ledgers, which are only ever added."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models


class LogIsAppendOnly(Exception):
    """A row of a log or ledger was about to be changed or deleted."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    """Rows are only ever added."""

    def update(self, **kwargs: Any) -> NoReturn:
        """Refused."""
        raise LogIsAppendOnly(f"{self.model.__name__} rows are never edited")

    def delete(self) -> NoReturn:
        """Refused."""
        raise LogIsAppendOnly(f"{self.model.__name__} rows are never deleted")


class AppendOnlyRow(models.Model):
    """What stands stays."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refused for a stored row."""
        if self.pk is not None and not self._state.adding:
            raise LogIsAppendOnly(f"{type(self).__name__} rows are never edited")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        raise LogIsAppendOnly(f"{type(self).__name__} rows are never deleted")
