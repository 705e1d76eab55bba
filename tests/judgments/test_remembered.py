"""Figures of a large study are kept for a minute, until a person does something to it; of a small one never."""

import pytest
from django.core.cache import cache

from judgments.models import Study
from judgments.remembered import MANY_ROWS, remembered
from judgments.services.events import note_event
from tests.studies import make_study

pytestmark = pytest.mark.django_db


class Counting:
    """Figures that say how often they were computed."""

    def __init__(self, rows: int) -> None:
        self.rows, self.times = rows, 0

    def __call__(self) -> int:
        self.times += 1
        return self.times


def look(study: Study, figures: Counting) -> int:
    return remembered(study, "test", figures, rows=lambda found: figures.rows)


def test_figures_over_many_rows_are_computed_once_until_somebody_does_something() -> None:
    cache.clear()
    study, figures = make_study(), Counting(MANY_ROWS)
    assert [look(study, figures) for _ in range(3)] == [1, 1, 1]
    note_event(study=study, what="controls-struck", words="One was struck.", why="wrong")
    assert [look(study, figures) for _ in range(2)] == [2, 2]
    Study.objects.filter(pk=study.pk).update(state="closed")
    assert look(Study.objects.get(pk=study.pk), figures) == 3


def test_figures_over_few_rows_are_computed_at_each_look() -> None:
    cache.clear()
    study, figures = make_study(), Counting(MANY_ROWS - 1)
    assert [look(study, figures) for _ in range(3)] == [1, 2, 3]
