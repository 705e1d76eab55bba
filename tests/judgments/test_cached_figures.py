"""Figures of a large study are kept: nobody waits for a million rows to be counted. Of a small one they never are."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db.models import Value
from django.utils import timezone

from judgments import cached_figures as memory
from judgments import figures
from judgments.access.study_log import note_event
from judgments.cached_figures import MIN_CACHED_ROWS, ShownFigures, cached_figures
from judgments.figures import FiguresDefinition, add_figures
from judgments.jobs.claims import run_job
from judgments.models import CachedFigures, Job, Study
from tests.studies import make_study

pytestmark = pytest.mark.django_db


class Counting:
    """Figures that say how often they were computed."""

    def __init__(self) -> None:
        self.rows, self.times = MIN_CACHED_ROWS, 0

    def __call__(self, study: Study) -> int:
        self.times += 1
        return self.times


@pytest.fixture
def counting() -> Iterator[Counting]:
    yield Counting()
    figures._FIGURES.pop("test", None)


def figures_of(counting: Counting, **values: object) -> FiguresDefinition[int]:
    return add_figures(FiguresDefinition("test", counting, rows=lambda found: counting.rows, **values))  # type: ignore[arg-type]


def age(**values: object) -> None:
    """Let the cached figures be of an hour ago, and as told."""
    CachedFigures.objects.update(made_at=timezone.now() - timedelta(hours=1), **values)


def work_off() -> int:
    """Do the jobs that wait; how many there were."""
    waiting = list(Job.objects.filter(state="queued").values_list("pk", flat=True))
    for pk in waiting:
        assert run_job(pk)
    return len(waiting)


def test_figures_over_many_rows_are_counted_once(counting: Counting) -> None:
    study, figures = make_study(), figures_of(counting)
    assert [cached_figures(study, figures).value for _ in range(3)] == [1, 1, 1]
    assert not Job.objects.exists()


def test_old_figures_are_shown_while_one_job_counts_again(counting: Counting) -> None:
    study, figures = make_study(), figures_of(counting)
    cached_figures(study, figures)
    age()
    looks = [cached_figures(study, figures) for _ in range(3)]
    assert [(one.value, one.is_recomputing) for one in looks] == [(1, True)] * 3
    assert looks[0].made_at is not None
    assert work_off() == 1
    then = cached_figures(study, figures)
    assert (then.value, then.is_recomputing) == (2, False)


def test_earlier_jobs_that_counted_are_not_kept(counting: Counting) -> None:
    study, figures = make_study(), figures_of(counting)
    cached_figures(study, figures)
    for _ in range(3):
        age()
        cached_figures(study, figures)
        work_off()
    assert Job.objects.count() == 1


def test_who_does_something_sees_at_once_what_came_of_it_where_that_is_quick(counting: Counting) -> None:
    study, figures = make_study(), figures_of(counting)
    cached_figures(study, figures)
    CachedFigures.objects.update(seconds=memory.QUICK_SECONDS)
    note_event(study=study, what="controls-struck", sentence="One was struck.", why="wrong")
    assert cached_figures(study, figures) == ShownFigures(2)
    Study.objects.filter(pk=study.pk).update(state="closed")
    CachedFigures.objects.update(seconds=memory.QUICK_SECONDS)
    assert cached_figures(Study.objects.get(pk=study.pk), figures) == ShownFigures(3)


def test_where_it_is_not_quick_nobody_waits_and_the_page_says_that_it_counts_again(
    counting: Counting,
) -> None:
    study, figures = make_study(), figures_of(counting)
    cached_figures(study, figures)
    CachedFigures.objects.update(seconds=memory.QUICK_SECONDS + 1)
    note_event(study=study, what="controls-struck", sentence="One was struck.", why="wrong")
    shown = cached_figures(study, figures)
    assert (shown.value, shown.is_recomputing) == (1, True)
    work_off()
    assert cached_figures(study, figures).value == 2


def test_figures_that_follow_from_their_version_alone_never_grow_old_and_are_never_another_ones(
    counting: Counting,
) -> None:
    study, version = make_study(), ["first"]
    figures = figures_of(counting, version=lambda study: version, never_expires=True)
    cached_figures(study, figures)
    age(seconds=memory.QUICK_SECONDS + 1)
    assert cached_figures(study, figures).is_recomputing is False
    version[0] = "second"
    assert cached_figures(study, figures) == ShownFigures(None, is_recomputing=True)
    work_off()
    assert cached_figures(study, figures).value == 2


def test_what_is_beyond_a_page_is_counted_by_a_job_from_the_first_look_on(counting: Counting) -> None:
    study, figures = make_study(), figures_of(counting, always_needs_job=lambda study: True)
    assert cached_figures(study, figures) == ShownFigures(None, is_recomputing=True)
    assert counting.times == 0
    work_off()
    assert cached_figures(study, figures).value == 1


def test_figures_over_few_rows_are_counted_at_each_look(counting: Counting) -> None:
    study, figures = make_study(), figures_of(counting)
    counting.rows = MIN_CACHED_ROWS - 1
    assert [cached_figures(study, figures).value for _ in range(3)] == [1, 2, 3]


def test_of_a_large_study_nobody_waits_at_the_first_look_but_programs(counting: Counting) -> None:
    study, figures = make_study(), figures_of(counting, first_needs_job=lambda study: Value(True))
    assert cached_figures(study, figures) == ShownFigures(None, is_recomputing=True)
    assert (counting.times, Job.objects.count()) == (0, 1)
    work_off()
    assert cached_figures(study, figures).value == 1
    CachedFigures.objects.all().delete()
    assert cached_figures(study, figures, wait=True).value == 2


def test_where_counting_failed_a_waiting_page_does_not_ask_for_ever(counting: Counting) -> None:
    study, figures = make_study(), figures_of(counting, first_needs_job=lambda study: Value(True))
    cached_figures(study, figures)
    Job.objects.update(state="failed", error="No room.", finished_at=timezone.now())
    cached_figures(study, figures)
    assert not Job.objects.filter(state="queued").exists()
    Job.objects.update(finished_at=timezone.now() - timedelta(hours=1))
    cached_figures(study, figures)
    assert Job.objects.filter(state="queued").count() == 1
