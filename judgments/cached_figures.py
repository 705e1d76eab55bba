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
from judgments.figures import Figures, find_figures
from judgments.jobs.queues import enqueue
from judgments.models import CachedFigures, Job, Study

T = TypeVar("T")
MIN_CACHED_ROWS = 20_000
MAX_AGE_SECONDS = 60.0  # seconds for which cached figures are fresh
QUICK_SECONDS = 1.0  # longest computation in seconds to wait for after a person's action
INTERVAL_FACTOR = 10.0  # recompute after this multiple of the computing time: 12 s, every two minutes
JOB = "figures"


def has_many_rows(rows: QuerySet[Any]) -> bool:
    return rows.order_by()[:MIN_CACHED_ROWS].count() >= MIN_CACHED_ROWS


@dataclass(frozen=True, slots=True)
class ShownFigures(Generic[T]):
    """Figures as a page shows them.

    Attributes:
        value: None only while a job computes them for the first time.
        made_at: None if they were computed for this page.
        is_recomputing: whether a job is recomputing them.
    """

    value: T | None
    made_at: datetime | None = None
    is_recomputing: bool = False


class FiguresPending(Exception):
    pass


def required_figures(shown: ShownFigures[T]) -> T:
    if shown.value is None:
        raise FiguresPending
    return shown.value


def cached_figures(study: Study, figures: Figures[T], *, wait: bool = False) -> ShownFigures[T]:
    """Return the figures of a study. If ``wait`` is set, compute missing figures at once, whatever their size."""
    needs_job = figures.needs_job is not None and figures.needs_job(study)
    if figures.needs_job is not None and not needs_job:
        return ShownFigures(figures.compute(study))
    cached, many = _find_cached(study, figures)
    if cached is None:
        if needs_job or (many and not wait):
            _start_unless_failed(study, figures.name)
            return ShownFigures(None, is_recomputing=True)
        return ShownFigures(_compute_for_page(study, figures))
    same = cached.version == _version(study, figures)
    if not same and not needs_job and cached.seconds <= QUICK_SECONDS:
        return ShownFigures(_compute_for_page(study, figures))
    again = not same or (not figures.never_expires and _is_old(cached))
    if again:
        request_figures(study, [figures.name])
    if figures.never_expires and not same:
        return ShownFigures(None, is_recomputing=True)
    return ShownFigures(figures.from_json(cached.value), cached.made_at, again)


def _find_cached(study: Study, figures: Figures[Any]) -> tuple[CachedFigures | None, bool]:
    """Return the cached figures, and whether the first computation needs a job, in one query."""
    if figures.is_large is None:
        return CachedFigures.objects.filter(study=study, name=figures.name).first(), False
    cached_by_name = FilteredRelation("cached_figures", condition=Q(cached_figures__name=figures.name))
    version, value, seconds, made_at, many = (
        Study.objects.annotate(cached=cached_by_name)
        .values_list(
            "cached__version", "cached__value", "cached__seconds", "cached__made_at", figures.is_large(study)
        )
        .get(pk=study.pk)
    )
    if made_at is None:
        return None, bool(many)
    return CachedFigures(version=version, value=value, seconds=seconds, made_at=made_at), bool(many)


def newest_figures_job(study: Study) -> Job | None:
    return Job.objects.filter(kind=JOB, args__study=study.slug).first()


def _start_unless_failed(study: Study, name: str) -> None:
    """Start the job unless the last one failed less than MAX_AGE_SECONDS ago: a waiting page would retry forever."""
    last = newest_figures_job(study)
    failed_at = last.finished_at if last is not None and last.has_failed else None
    if failed_at is None or (timezone.now() - failed_at).total_seconds() >= MAX_AGE_SECONDS:
        request_figures(study, [name])


def request_figures(study: Study, names: Iterable[str]) -> None:
    """Start a job for those named figures that no queued or running job computes already."""
    under_way = Job.objects.under_way().filter(kind=JOB, args__study=study.slug)
    under_way_names = {name for args in under_way.values_list("args", flat=True) for name in args["names"]}
    wanted = sorted(set(names) - under_way_names)
    if wanted:
        enqueue(kind=JOB, args={"study": study.slug, "names": wanted})


def recompute_figures(study: Study, names: Iterable[str]) -> list[CachedFigures]:
    rows = []
    for name in names:
        figures = find_figures(name)
        if figures is None:
            continue
        # Read before computing: changes during the computation make the result stale.
        version, made_at, began = _version(study, figures), timezone.now(), time.monotonic()
        result = figures.compute(study)
        rows.append(_row(study, figures, result, version, made_at, time.monotonic() - began))
    return rows


def store_figures(rows: Iterable[CachedFigures]) -> None:
    CachedFigures.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["study", "name"],
        update_fields=["version", "value", "seconds", "made_at"],
    )


def _compute_for_page(study: Study, figures: Figures[T]) -> T:
    """Compute figures that are not cached, and cache them if they are over many rows.

    Stored figures may contain English sentences. For a page in another language, a job computes the figures to store.
    """
    made_at, began = timezone.now(), time.monotonic()
    result = figures.compute(study)
    if figures.rows(result) >= MIN_CACHED_ROWS and get_language() != settings.LANGUAGE_CODE:
        request_figures(study, [figures.name])  # figures may contain sentences, which are stored in English
    elif figures.rows(result) >= MIN_CACHED_ROWS:
        seconds = time.monotonic() - began
        store_figures([_row(study, figures, result, _version(study, figures), made_at, seconds)])
    return result


def _row(
    study: Study, figures: Figures[T], result: T, version: str, made_at: datetime, seconds: float
) -> CachedFigures:
    return CachedFigures(
        study=study,
        name=figures.name,
        version=version,
        value=figures.as_json(result),
        seconds=seconds,
        made_at=made_at,
    )


def _version(study: Study, figures: Figures[Any]) -> str:
    return content_key(figures.version(study))


def _is_old(cached: CachedFigures) -> bool:
    age = (timezone.now() - cached.made_at).total_seconds()
    return age >= max(MAX_AGE_SECONDS, INTERVAL_FACTOR * cached.seconds)
