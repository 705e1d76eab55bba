"""The register of figures about a study's rows, such as the counts on its page "Pages of work".

An app registers how its figures are computed and stored (``FiguresDefinition``), as ``annotation.quality.work_page``
does. ``judgments.cached_figures`` computes and caches them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Exists, Max, Value

from judgments.models import Study

T = TypeVar("T")

_FIGURES: dict[str, FiguresDefinition[Any]] = {}
_FIGURES_BY_PREFIX: dict[str, Callable[[str], FiguresDefinition[Any]]] = {}


def plain_value(value: Any) -> Any:
    return value


def version_of(study: Study) -> object:
    """Return values that change with every action of a person on the study, which its log records."""
    last_event = study.events.aggregate(last=Max("pk"))["last"]
    return str(study.created_at), study.state, str(study.paused_at), last_event


@dataclass(frozen=True, slots=True)
class FiguresDefinition(Generic[T]):
    """How figures about the rows of a study are computed and stored.

    Attributes:
        compute: a function that computes the figures.
        rows: a function of the figures that returns how many rows they are computed from.
        as_json, from_json: functions that convert figures to what is stored, and back.
        version: a function that returns a version as JSON; cached figures of another version are stale.
        never_expires: whether the figures depend only on the version. They then do not expire, and figures of other
            versions are not shown.
        first_needs_job: a function that returns a quick database expression for whether the study is so large that a
            job must compute the figures the first time; None if pages always compute them.
        always_needs_job: a function that returns whether the study is so large that jobs must always compute the
            figures; None for figures that pages may compute.
    """

    name: str
    compute: Callable[[Study], T]
    rows: Callable[[T], int]
    as_json: Callable[[T], Any] = plain_value
    from_json: Callable[[Any], T] = plain_value
    version: Callable[[Study], object] = version_of
    never_expires: bool = False
    first_needs_job: Callable[[Study], Exists | Value] | None = None
    always_needs_job: Callable[[Study], bool] | None = None


def add_figures(figures: FiguresDefinition[T]) -> FiguresDefinition[T]:
    _FIGURES[figures.name] = figures
    return figures


def add_figures_by_prefix(prefix: str, make_figures: Callable[[str], FiguresDefinition[Any]]) -> None:
    """Register a function that makes figures named ``<prefix>:<more>``, such as comparisons of studies."""
    _FIGURES_BY_PREFIX[prefix] = make_figures


def find_figures(name: str) -> FiguresDefinition[Any] | None:
    prefix, colon, _ = name.partition(":")
    if colon and prefix in _FIGURES_BY_PREFIX:
        return _FIGURES_BY_PREFIX[prefix](name)
    return _FIGURES.get(name)
