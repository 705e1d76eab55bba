"""Drawing raters anew: what a copy of a rater means, against every draw there is."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from evaluation.statistics.agreement import (
    LEVELS,
    WEIGHTS,
    AlphaOfParts,
    CohenKappa,
    FleissKappa,
    agreement,
    alpha_interval,
    alpha_of_judgments,
    gwet_interval,
    percent_interval,
    ratings_of_judgments,
)
from evaluation.statistics.inputs import BadOption
from tests.statistics import agreeing_plainly as plainly

NAN: Any = math.nan
SCALE = [1, 2, 3, 5]
TABLE = np.array(
    [
        [1, 2, 3, 5, 2, NAN, 1, 3, 3, 2, 5, 1],
        [1, 2, 3, 3, 2, 5, NAN, 3, 2, 2, 5, 1],
        [1, 3, 3, 5, 1, 5, 1, NAN, 3, 1, NAN, 2],
    ]
)

FIGURES = [
    *((alpha_interval, plainly.alpha, level, ()) for level in LEVELS),
    *((percent_interval, plainly.percent, weights, (SCALE,)) for weights in WEIGHTS),
    *((gwet_interval, plainly.gwet, weights, (SCALE,)) for weights in WEIGHTS),
]
cases = pytest.mark.parametrize(
    ("interval", "plain", "kind", "scale"),
    FIGURES,
    ids=[f"{interval.__name__}-{kind}" for interval, _, kind, _ in FIGURES],
)


def every_draw(plain: Callable[..., float], kind: str, scale: tuple[Any, ...]) -> list[float]:
    """The figure for each of the 27 draws of three raters, those of a single rater thrice left out."""
    drawn = [np.bincount(draw, minlength=3) for draw in product(range(3), repeat=3)]
    return [plain(TABLE, kind, *scale, raters=times.tolist()) for times in drawn if times.max() < 3]


@cases
def test_three_raters_can_be_drawn_in_few_ways_and_the_interval_spans_them(
    interval: Any, plain: Any, kind: str, scale: tuple[Any, ...]
) -> None:
    # The rarest figure stands in 3 of the 24 draws that define one, so the interval reaches the ends.
    figures = every_draw(plain, kind, scale)
    result = interval(TABLE, kind, over="raters", resamples=3000)
    assert result.value == pytest.approx(plain(TABLE, kind, *scale), abs=1e-12)
    assert (result.low, result.high) == (pytest.approx(min(figures)), pytest.approx(max(figures)))
    assert result.undefined_resamples == pytest.approx(3000 / 9, abs=60)
    assert result.over == "raters"


@pytest.mark.large
@pytest.mark.parametrize(
    ("interval", "plain", "kind", "scale"), [FIGURES[1], FIGURES[3], FIGURES[6], FIGURES[-3]]
)
def test_raters_and_units_may_both_be_drawn(
    interval: Any, plain: Any, kind: str, scale: tuple[Any, ...]
) -> None:
    generator = np.random.default_rng(3)
    drawn = []
    for _ in range(400):
        raters = np.bincount(generator.integers(0, 3, 3), minlength=3).tolist()
        units = np.bincount(generator.integers(0, 12, 12), minlength=12).tolist()
        if max(raters) < 3:
            drawn.append(plain(TABLE, kind, *scale, raters=raters, units=units))
    result = interval(TABLE, kind, over="both", resamples=3000)
    low, high = np.nanquantile(drawn, [0.1, 0.9])
    inner = interval(TABLE, kind, over="both", resamples=3000, confidence=0.8)
    assert inner.low == pytest.approx(low, abs=0.12)
    assert inner.high == pytest.approx(high, abs=0.12)
    assert result.low <= inner.low < inner.high <= result.high


def test_a_copy_of_a_rater_is_no_witness_of_agreement() -> None:
    # Two who never agree: each draw is both of them, or one twice, which says nothing.
    table = [[0, 0, 1, 1], [1, 1, 0, 0]]
    result = alpha_interval(table, over="raters", resamples=1000)
    assert result.low == result.high == result.value < 0
    assert result.undefined_resamples == pytest.approx(500, abs=60)
    assert percent_interval(table, over="raters").high == 0


def test_raters_who_agree_on_everything_leave_no_width() -> None:
    table = [[1, 2, 3, 1]] * 4
    for over in ("raters", "both"):
        result = alpha_interval(table, over=over, resamples=300)
        assert (result.low, result.high) == (1.0, 1.0)


def test_alike_units_are_merged_without_changing_the_interval() -> None:
    # With three thousand values a rater no two units are alike; with the same values in rank order they are.
    few = np.tile(TABLE, 50)
    spread = few.copy()
    spread[0, :] += np.arange(few.shape[1]) * 1e-9
    merged = alpha_interval(few, "interval", over="raters", resamples=500)
    apart = alpha_interval(spread, "interval", over="raters", resamples=500)
    assert apart.low == pytest.approx(merged.low, abs=1e-6)
    assert apart.high == pytest.approx(merged.high, abs=1e-6)


def test_forty_raters_are_drawn_from_rows_as_from_a_table() -> None:
    generator = np.random.default_rng(8)
    truth = generator.integers(0, 4, 60)
    answers = np.where(generator.random((40, 60)) < 0.6, truth, generator.integers(0, 4, (40, 60)))
    rater, unit = np.nonzero(generator.random(answers.shape) < 0.3)
    rows = alpha_of_judgments(unit, rater, answers[rater, unit], "nominal", over="raters", resamples=300)
    table = np.full(answers.shape, NAN)
    table[rater, unit] = answers[rater, unit]
    result = alpha_interval(table, over="raters", resamples=300)
    assert (rows.low, rows.high) == (result.low, result.high)
    assert rows.low < rows.value < rows.high
    # Raters are alike and many, so drawing them moves alpha no more than drawing units and both.
    both = alpha_interval(table, over="both", resamples=300)
    assert both.high - both.low > rows.high - rows.low
    ratings = ratings_of_judgments(unit, rater, answers[rater, unit])
    assert alpha_interval(ratings, over="raters", resamples=300).low == rows.low


@pytest.mark.parametrize("over", ["raters", "both"])
def test_coefficients_of_data_without_raters_draw_units_alone(over: str) -> None:
    for coefficient in (AlphaOfParts(), CohenKappa(), FleissKappa()):
        with pytest.raises(BadOption, match=f"over is '{over}', expected units: {coefficient.name}"):
            agreement(TABLE, coefficient, over=over)
