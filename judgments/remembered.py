"""Figures of a large study, kept in a row: a page that counts a million rows must not count them at each look.

What was counted within the last minute is shown as it is. What is older is shown too, with the time it was counted,
while a job counts again: nobody waits. Nor at the first look at a large study: the page says that it is being counted,
and fills in when the job ends. Figures over few rows are counted at each look and never kept.

Where a person did something to the study since, figures that are quick to count are counted at once, so that who acts
sees what came of it; others are shown as before, marked as being counted again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import Exists, FilteredRelation, Max, Q, Value
from django.utils import timezone

from judgments.drawing.draws import content_key
from judgments.jobs import enqueue
from judgments.models import Job, KeptFigures, Study

T = TypeVar("T")
MANY_ROWS = 20_000
FRESH = 60.0  # seconds for which figures are shown without counting again
QUICK = 1.0  # seconds of counting that whoever did something to the study waits for
COST = 10.0  # counting may take this part of the time: what took 12 s is counted every two minutes
JOB = "figures"


def as_it_is(value: Any) -> Any:
    """For figures that are JSON values themselves."""
    return value


def version_of(study: Study) -> object:
    """Changes with whatever a person does to the study; its log has a row for each."""
    last = study.events.aggregate(last=Max("pk"))["last"]
    return str(study.created_at), study.state, str(study.paused_at), last


@dataclass(frozen=True, slots=True)
class Figures(Generic[T]):
    """What is counted over the rows of a study.

    Attributes:
        name: once in the project.
        compute: counts.
        rows: how many rows a result stands for.
        as_json, from_json: to a JSON value, and back.
        version: as JSON, what else than time makes kept figures old.
        exact: whether they follow from their version alone: they never grow old, and those of another version are wrong
            and not shown.
        many: an expression by which the database tells in a moment whether there is so much to count that a job does it
            the first time.
        beyond_a_page: the same where it takes so long that a page never counts, whatever was kept; what is not beyond
            it is counted at each look.
    """

    name: str
    compute: Callable[[Study], T]
    rows: Callable[[T], int]
    as_json: Callable[[T], Any] = as_it_is
    from_json: Callable[[Any], T] = as_it_is
    version: Callable[[Study], object] = version_of
    exact: bool = False
    many: Callable[[Study], Exists | Value] | None = None
    beyond_a_page: Callable[[Study], bool] | None = None


@dataclass(frozen=True, slots=True)
class Shown(Generic[T]):
    """Figures as a page shows them.

    Attributes:
        value: None only where a job counts them for the first time.
        made_at: when they were counted; None: just now.
        again: whether a job is counting them again.
    """

    value: T | None
    made_at: datetime | None = None
    again: bool = False


_KNOWN: dict[str, Figures[Any]] = {}
_BY_PREFIX: dict[str, Callable[[str], Figures[Any]]] = {}


def add_figures(figures: Figures[T]) -> Figures[T]:
    """Let the job know them by their name."""
    _KNOWN[figures.name] = figures
    return figures


def add_figures_by_prefix(prefix: str, figures_named: Callable[[str], Figures[Any]]) -> None:
    """Let the job know figures named ``<prefix>:<more>``, such as those of a study beside another one."""
    _BY_PREFIX[prefix] = figures_named


def _named(name: str) -> Figures[Any] | None:
    prefix, colon, _ = name.partition(":")
    if colon and prefix in _BY_PREFIX:
        return _BY_PREFIX[prefix](name)
    return _KNOWN.get(name)


class BeingCounted(Exception):
    """Figures without which a page has nothing to show are being counted for the first time; the page says so."""


def certain(shown: Shown[T]) -> T:
    """Of figures without which a page has nothing to show.

    Raises:
        BeingCounted: there are none yet.
    """
    if shown.value is None:
        raise BeingCounted
    return shown.value


def remembered(study: Study, figures: Figures[T], *, wait: bool = False) -> Shown[T]:
    """The figures of a study: counted now, or kept.

    Args:
        wait: for programs: they are counted at once where there are none, however many rows that takes.
    """
    beyond = figures.beyond_a_page is not None and figures.beyond_a_page(study)
    if figures.beyond_a_page is not None and not beyond:
        return Shown(figures.compute(study))
    kept, many = _kept(study, figures)
    if kept is None:
        if beyond or (many and not wait):
            _ask_first(study, figures.name)
            return Shown(None, again=True)
        return Shown(_counted(study, figures))
    same = kept.version == _version(study, figures)
    if not same and not beyond and kept.seconds <= QUICK:
        return Shown(_counted(study, figures))
    again = not same or (not figures.exact and _is_old(kept))
    if again:
        ask_for_figures(study, [figures.name])
    if figures.exact and not same:
        return Shown(None, again=True)
    return Shown(figures.from_json(kept.value), kept.made_at, again)


def _kept(study: Study, figures: Figures[Any]) -> tuple[KeptFigures | None, bool]:
    """What is kept, and whether there is much to count; one query for both, as pages ask few."""
    if figures.many is None:
        return KeptFigures.objects.filter(study=study, name=figures.name).first(), False
    own = FilteredRelation("kept_figures", condition=Q(kept_figures__name=figures.name))
    version, value, seconds, made_at, many = (
        Study.objects.annotate(own=own)
        .values_list("own__version", "own__value", "own__seconds", "own__made_at", figures.many(study))
        .get(pk=study.pk)
    )
    if made_at is None:
        return None, bool(many)
    return KeptFigures(version=version, value=value, seconds=seconds, made_at=made_at), bool(many)


def newest_count(study: Study) -> Job | None:
    """The last job that was asked to count something of the study."""
    return Job.objects.filter(kind=JOB, args__study=study.slug).first()


def _ask_first(study: Study, name: str) -> None:
    """Where counting failed a moment ago, nobody is asked again: a page that waits would ask for ever."""
    last = newest_count(study)
    failed_at = last.finished_at if last is not None and last.state == Job.State.FAILED else None
    if failed_at is None or (timezone.now() - failed_at).total_seconds() >= FRESH:
        ask_for_figures(study, [name])


def ask_for_figures(study: Study, names: Iterable[str]) -> None:
    """Have them counted by a job, unless that is under way."""
    under_way = Job.objects.filter(
        kind=JOB, args__study=study.slug, state__in=[Job.State.QUEUED, Job.State.RUNNING]
    )
    asked = {name for args in under_way.values_list("args", flat=True) for name in args["names"]}
    wanted = sorted(set(names) - asked)
    if wanted:
        enqueue(kind=JOB, args={"study": study.slug, "names": wanted})


def count_again(study: Study, names: Iterable[str]) -> list[KeptFigures]:
    """Rows of the figures of these names, not stored yet (``store_figures``)."""
    rows = []
    for name in names:
        figures = _named(name)
        if figures is None:
            continue
        # what happens while it is counted makes it old
        version, made_at, began = _version(study, figures), timezone.now(), time.monotonic()
        found = figures.compute(study)
        rows.append(_row(study, figures, found, version, made_at, time.monotonic() - began))
    return rows


def store_figures(rows: Iterable[KeptFigures]) -> None:
    """In place of those before."""
    for row in rows:
        KeptFigures.objects.update_or_create(
            study_id=row.study_id,
            name=row.name,
            defaults={
                "version": row.version,
                "value": row.value,
                "seconds": row.seconds,
                "made_at": row.made_at,
            },
        )


def _counted(study: Study, figures: Figures[T]) -> T:
    """For a page; what is kept says so only then, as most studies are small and pages ask few questions."""
    made_at, began = timezone.now(), time.monotonic()
    found = figures.compute(study)
    if figures.rows(found) >= MANY_ROWS:
        seconds = time.monotonic() - began
        store_figures([_row(study, figures, found, _version(study, figures), made_at, seconds)])
    return found


def _row(
    study: Study, figures: Figures[T], found: T, version: str, made_at: datetime, seconds: float
) -> KeptFigures:
    return KeptFigures(
        study=study,
        name=figures.name,
        version=version,
        value=figures.as_json(found),
        seconds=seconds,
        made_at=made_at,
    )


def _version(study: Study, figures: Figures[Any]) -> str:
    return content_key(figures.version(study))


def _is_old(kept: KeptFigures) -> bool:
    age = (timezone.now() - kept.made_at).total_seconds()
    return age >= max(FRESH, COST * kept.seconds)
