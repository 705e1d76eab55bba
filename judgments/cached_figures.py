"""Cache the figures of large studies, since counting a million rows is slow.

Figures younger than a minute are shown unchanged. Older ones are shown while a job recomputes them. Missing figures
of a large study are computed by a job; the page shows them when it is done. Figures over few rows are never cached.

After a person's action on the study, quick figures are recomputed at once, so that the person sees the effect.
Others are marked as being recomputed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db.models import FilteredRelation, Q, QuerySet
from django.utils import timezone
from django.utils.translation import get_language

from judgments.drawing.keys import content_key
from judgments.figures import FiguresDefinition, find_figures
from judgments.jobs.queues import enqueue
from judgments.models import CachedFigures, Job, Study

T = TypeVar("T")
MIN_CACHED_ROWS = 20_000
MAX_AGE_SECONDS = 60.0  # seconds for which cached figures are shown unchanged, at least
QUICK_SECONDS = 1.0  # seconds of the longest computation for which a page waits after a person's action
# Figures are recomputed after this multiple of their computing time, such as two minutes if they take 12 seconds.
INTERVAL_FACTOR = 10.0
FIGURES_JOB = "figures"  # the kind of the job


def has_many_rows(rows: QuerySet[Any]) -> bool:
    """Return whether there are so many rows that figures about them are cached. Count no more rows than necessary."""
    return rows.order_by()[:MIN_CACHED_ROWS].count() >= MIN_CACHED_ROWS


@dataclass(frozen=True, slots=True)
class ShownFigures(Generic[T]):
    """Figures as a page shows them.

    Attributes:
        value: None only while a job computes them for the first time.
        made_at: None if they were computed for this page.
    """

    value: T | None
    made_at: datetime | None = None
    is_recomputing: bool = False


class FiguresPending(Exception):
    """A job is still computing the figures for the first time."""


def required_figures(figures: ShownFigures[T]) -> T:
    """Return the value of figures. Raise FiguresPending if a job is still computing it for the first time."""
    if figures.value is None:
        raise FiguresPending
    return figures.value


def cached_figures(study: Study, figures: FiguresDefinition[T], *, wait: bool = False) -> ShownFigures[T]:
    """Return the figures of a study: cached ones, or figures that are computed now or by a job.

    Args:
        wait: whether to compute missing figures at once even if the study is large, unless only jobs compute them.
    """
    needs_job = False
    # Figures with this function are so slow that only jobs compute them, unless the study is small.
    if figures.always_needs_job is not None:
        needs_job = figures.always_needs_job(study)
        if not needs_job:
            return ShownFigures(figures.compute(study))
    row, is_large = _find_cached_figures(study, figures)
    if row is None:
        if needs_job or (is_large and not wait):
            _start_unless_failed(study, figures.name)
            return ShownFigures(None, is_recomputing=True)
        return ShownFigures(_compute_for_page(study, figures))
    # The version changes with a person's action, whose effect the person wants to see at once.
    is_current = row.version == _version_key(study, figures)
    if not is_current and not needs_job and row.seconds <= QUICK_SECONDS:
        return ShownFigures(_compute_for_page(study, figures))
    is_stale = not is_current or (not figures.never_expires and _is_old(row))
    if is_stale:
        request_figures(study, [figures.name])
    if figures.never_expires and not is_current:  # they are wrong, and not only old
        return ShownFigures(None, is_recomputing=True)
    return ShownFigures(figures.from_json(row.value), row.made_at, is_recomputing=is_stale)


def _find_cached_figures(study: Study, figures: FiguresDefinition[Any]) -> tuple[CachedFigures | None, bool]:
    """Return the cached figures, and whether the study is large, so that their first computation needs a job.

    One query finds both, since ``first_needs_job`` returns an expression for the database.
    """
    first_needs_job = figures.first_needs_job
    if first_needs_job is None:
        return CachedFigures.objects.filter(study=study, name=figures.name).first(), False
    cached_by_name = FilteredRelation("cached_figures", condition=Q(cached_figures__name=figures.name))
    version, value, seconds, made_at, is_large = (
        Study.objects.annotate(cached=cached_by_name)
        .values_list(
            "cached__version", "cached__value", "cached__seconds", "cached__made_at", first_needs_job(study)
        )
        .get(pk=study.pk)
    )
    if made_at is None:  # the study has no cached figures of this name
        return None, bool(is_large)
    return CachedFigures(version=version, value=value, seconds=seconds, made_at=made_at), bool(is_large)


def newest_figures_job(study: Study) -> Job | None:
    return Job.objects.filter(kind=FIGURES_JOB, args__study=study.slug).first()


def _start_unless_failed(study: Study, name: str) -> None:
    """Start the job unless the last one failed less than MAX_AGE_SECONDS ago.

    Otherwise, a page that waits for the figures would start the failing job again and again.
    """
    last_job = newest_figures_job(study)
    failed_at = last_job.finished_at if last_job is not None and last_job.has_failed else None
    if failed_at is None or (timezone.now() - failed_at).total_seconds() >= MAX_AGE_SECONDS:
        request_figures(study, [name])


def request_figures(study: Study, names: Iterable[str]) -> None:
    """Start a job for those of the figures that no queued or running job computes already."""
    jobs = Job.objects.under_way().filter(kind=FIGURES_JOB, args__study=study.slug)
    names_of_jobs: set[str] = set()
    for args in jobs.values_list("args", flat=True):
        names_of_jobs.update(args["names"])
    new_names = sorted(set(names) - names_of_jobs)
    if new_names:
        enqueue(kind=FIGURES_JOB, args={"study": study.slug, "names": new_names})


def recompute_figures(study: Study, names: Iterable[str]) -> list[CachedFigures]:
    """Return the rows of recomputed figures, which are not stored yet.

    Leave out names that no app registers now, such as those of a feature that was left out since the job was queued.
    """
    rows = []
    for name in names:
        figures = find_figures(name)
        if figures is None:
            continue
        # Read before computing: changes during the computation make the result stale.
        version, made_at, began = _version_key(study, figures), timezone.now(), time.monotonic()
        result = figures.compute(study)
        rows.append(_make_row(study, figures, result, version, made_at, time.monotonic() - began))
    return rows


def store_figures(rows: Iterable[CachedFigures]) -> None:
    CachedFigures.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["study", "name"],
        update_fields=["version", "value", "seconds", "made_at"],
    )


def _compute_for_page(study: Study, figures: FiguresDefinition[T]) -> T:
    """Compute figures that are not cached, and cache them if they are over many rows.

    Figures may contain sentences, which are stored in English. If the page is in another language, a job computes the
    figures again, to store them.
    """
    made_at, began = timezone.now(), time.monotonic()
    result = figures.compute(study)
    if figures.rows(result) >= MIN_CACHED_ROWS and get_language() != settings.LANGUAGE_CODE:
        request_figures(study, [figures.name])
    elif figures.rows(result) >= MIN_CACHED_ROWS:
        seconds = time.monotonic() - began
        store_figures([_make_row(study, figures, result, _version_key(study, figures), made_at, seconds)])
    return result


def _make_row(
    study: Study, figures: FiguresDefinition[T], result: T, version: str, made_at: datetime, seconds: float
) -> CachedFigures:
    return CachedFigures(
        study=study,
        name=figures.name,
        version=version,
        value=figures.as_json(result),
        seconds=seconds,
        made_at=made_at,
    )


def _version_key(study: Study, figures: FiguresDefinition[Any]) -> str:
    return content_key(figures.version(study))


def _is_old(row: CachedFigures) -> bool:
    age = (timezone.now() - row.made_at).total_seconds()
    return age >= max(MAX_AGE_SECONDS, INTERVAL_FACTOR * row.seconds)
