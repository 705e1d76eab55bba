"""Figures of a large study, kept for a minute: a page that counts a million rows must not count them at each look.

What a person does to the study stands in its log, so a page is counted anew at once after that; what workers do shows
within the minute. Figures over few rows are never kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache
from django.db.models import Max

from judgments.models import Study

T = TypeVar("T")
MANY_ROWS = 20_000
SECONDS = 60


def remembered(study: Study, name: str, compute: Callable[[], T], *, rows: Callable[[T], int]) -> T:
    """What ``compute`` gives, or gave less than a minute ago where it went through many rows.

    Args:
        name: of the figures, once in the project.
        rows: how many rows of the study the figures stand for.
    """
    key = f"quorum-figures-{study.pk}-{name}"
    kept: tuple[object, T] | None = cache.get(key)
    if kept is not None and kept[0] == _version(study):
        return kept[1]
    found = compute()
    if rows(found) >= MANY_ROWS:
        cache.set(key, (_version(study), found), SECONDS)
    return found


def _version(study: Study) -> tuple[object, ...]:
    """Changes with whatever a person does to the study."""
    last = study.events.aggregate(last=Max("pk"))["last"]
    return study.created_at, study.state, study.paused_at, last
