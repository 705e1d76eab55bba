"""The slider as a kind: graded on a finer scale, in one module."""

from typing import Any

import numpy as np
import pytest

from contrib.slider.kind import Slider
from contrib.slider.rehearsal import SliderRehearsal
from judgments.design.reading.checking import make_design
from judgments.kinds import KINDS, IncludedJudgment
from tests.judgments.material import batch_of, made_up, units_of
from tests.refusals import refuses

KIND = KINDS["slider"]
REHEARSAL = SliderRehearsal(KIND)


class Row:
    """A unit's row."""

    def __init__(self, pk: int) -> None:
        self.pk = pk


def test_captions_are_drawn_as_for_grades() -> None:
    images = made_up(6, systems=2, dev=3)
    slider, graded = (
        batch_of(images, protocol, controls={"per_hit": 1}, units_per_hit=5)
        for protocol in ("slider", "graded")
    )
    assert slider.unit_count == graded.unit_count == 6
    assert {unit.expected for unit in units_of(slider) if unit.control} <= {"70-100", "0-30"}


@pytest.mark.parametrize(
    ("given", "expected", "right"),
    [(70, "70-100", True), (100, "70-100", True), (69, "70-100", False), (30, "0-30", True), (31, "0-30", False),
     (62, 55, True), (62, 51, False)],
)  # fmt: skip
def test_a_control_expects_a_range(given: int, expected: Any, right: bool) -> None:
    assert KIND.is_right(given, expected) == right


@pytest.mark.parametrize("given", [-1, 101, 50.5, "50", None, True])
def test_only_whole_numbers_from_0_to_100_are_answers(given: Any) -> None:
    design = make_design({"name": "x", "dataset": "d", "protocol": "slider"})
    with refuses(ValueError, "0 to 100"):
        KIND.clean_answer(given, unit=None, design=design)


def test_an_empty_field_is_no_answer_and_zero_is_one() -> None:
    assert KIND.read_form({"u2": ""}, 2, None) is None
    assert KIND.read_form({}, 2, None) is None
    assert KIND.read_form({"u2": "0"}, 2, None) == 0


def test_the_consensus_is_the_mean_and_lists_what_was_given() -> None:
    found = KIND.aggregation.consensus([1, 1, 1, 2], [10, 20, 60, 0])
    assert (found[1].value, found[1].n, found[1].votes) == (30.0, 3, {"10": 1, "20": 1, "60": 1})
    assert (found[2].value, found[2].share, found[2].tie) == (0.0, None, False)


def test_units_have_a_z_that_forgives_strict_workers() -> None:
    units = [Row(1), Row(2), Row(3)]
    judged = [
        IncludedJudgment(unit, worker, given)
        for worker, values in ((1, (80, 90, 100)), (2, (0, 20, 40)))
        for unit, given in zip(units, values, strict=True)
    ]
    figures = Slider.results.figures(judged, seed=0)
    assert [figures.units[pk]["z"] for pk in (1, 2, 3)] == pytest.approx([-1, 0, 1])
    assert figures.study["standardised"]["workers_without_z"] == 0
    assert figures.units[1]["z_n"] == 2


def test_relevance_in_qrels_is_the_nearest_whole_number() -> None:
    assert [Slider.relevance.grade(value) for value in (0.0, 0.4, 0.5, 0.6, 99.7)] == [0, 0, 0, 1, 100]


def test_a_rehearsal_leans_the_way_captions_are_good() -> None:
    rng = np.random.default_rng(2)
    good, bad = ([REHEARSAL.draw_truth(None, [quality], rng) for _ in range(300)] for quality in (3.7, 1.2))
    assert np.mean(good) > 75
    assert np.mean(bad) < 25
    for truth in ("70-100", "0-30", 55):
        for _ in range(50):
            assert KIND.is_right(REHEARSAL.draw_answer(None, truth, right=True, rng=rng), truth)
            wrong = REHEARSAL.draw_answer(None, truth, right=False, rng=rng)
            assert wrong in KIND.values
            assert not KIND.is_right(wrong, truth)


def test_the_mean_recovers_a_truth_nearby() -> None:
    found = KIND.aggregation.consensus([1, 1], [50, 60])[1]
    assert REHEARSAL.matches(found, 60)
    assert not REHEARSAL.matches(found, 80)
