"""Krippendorff's alpha against the reference program, closed forms and what must never matter."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evaluation.statistics.agreement import (
    LEVELS,
    alpha_interval,
    alpha_of_judgments,
    krippendorff_alpha,
    ratings_of_judgments,
)
from tests.statistics import agreeing_plainly as plainly
from tests.statistics.golden import golden, with_nan

TABLES = golden("agreement.json")["alpha"]
NAMES = [table["name"] for table in TABLES]

answers = arrays(
    np.float64,
    st.tuples(st.integers(2, 4), st.integers(2, 12)),
    elements=st.one_of(st.integers(0, 3).map(float), st.just(math.nan)),
)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_alpha_is_that_of_the_reference_program(table: dict[str, Any], level: str) -> None:
    expected = table["alpha"][level]
    alpha = krippendorff_alpha(with_nan(table["data"]), level=level)
    if isinstance(expected, dict):
        assert math.isnan(alpha)
    else:
        assert alpha == pytest.approx(expected, abs=1e-12)


def test_krippendorffs_own_example_gives_his_printed_figures() -> None:
    example = with_nan(TABLES[NAMES.index("krippendorff-2011")]["data"])
    printed = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
    assert {level: round(krippendorff_alpha(example, level), 3) for level in LEVELS} == printed


def test_text_is_compared_at_the_nominal_level() -> None:
    words = [["cat", "dog", "cat", None], ["cat", "dog", "dog", "cat"]]
    numbers = [[1.0, 2.0, 1.0, math.nan], [1.0, 2.0, 2.0, 1.0]]
    assert krippendorff_alpha(np.array(words, dtype=object)) == pytest.approx(krippendorff_alpha(numbers))


def test_numbers_with_none_for_missing_are_numbers() -> None:
    table: Any = [[1, 2, None, 4], [1, 3, 2, 4]]
    given = [[1.0, 2.0, math.nan, 4.0], [1.0, 3.0, 2.0, 4.0]]
    assert krippendorff_alpha(table, "interval") == krippendorff_alpha(given, "interval")


@pytest.mark.parametrize("level", LEVELS)
def test_perfect_agreement_is_one_and_its_interval_has_no_width(level: str) -> None:
    result = alpha_interval([[1, 2, 3, 4, 1, 2] * 5, [1, 2, 3, 4, 1, 2] * 5], level)
    assert (result.value, result.low, result.high) == (1.0, 1.0, 1.0)


def test_lopsided_answers_have_low_alpha_however_often_they_agree() -> None:
    # 98 units yes/yes, one yes/no, one no/yes: D_o = 2, D_e from n = 200 with 2 no: alpha = 1 - 199 * 4 / 792.
    first = [1] * 98 + [1, 0]
    second = [1] * 98 + [0, 1]
    assert krippendorff_alpha([first, second]) == pytest.approx(1 - 199 * 4 / (200**2 - 198**2 - 2**2))


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[1, 1, 1], [1, 1, math.nan]], "every judgment that can be compared has the same value"),
        ([[1, math.nan], [math.nan, 2]], "no unit has two judgments"),
        ([[1, 2, 3]], "no unit has two judgments"),
        (np.empty((2, 0)), "no unit has two judgments"),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_an_undefined_alpha_is_nan_and_says_why(table: Any, reason: str, level: str) -> None:
    result = alpha_interval(table, level)
    assert math.isnan(result.value)
    assert math.isnan(result.low)
    assert result.reason == reason


def test_equal_broken_numbers_are_no_variation() -> None:
    result = alpha_interval([[0.1, 0.1, 0.1], [0.1, 0.1, 0.1], [0.1, 0.1, 0.1]], "interval")
    assert math.isnan(result.value)


def test_resamples_without_variation_are_left_out_and_counted() -> None:
    result = alpha_interval([[1, 1, 1, 2], [1, 1, 1, 2]], resamples=1000)
    # (3/4)^4 of the resamples never draw the unit that differs.
    assert result.undefined_resamples == pytest.approx(316, abs=60)
    assert (result.low, result.high) == (1.0, 1.0)


def test_the_result_counts_everything_given_and_what_could_be_compared() -> None:
    table = [[1, 2, math.nan, 3, math.nan], [1, 2, 2, math.nan, math.nan], [math.nan] * 5]
    result = alpha_interval(table, "interval", seed=7)
    assert (result.units, result.pairable, result.raters, result.judgments) == (4, 2, 2, 6)
    assert (result.level, result.seed, result.resamples, result.confidence) == ("interval", 7, 2000, 0.95)


def test_negative_numbers_at_the_ratio_level_carry_a_warning() -> None:
    assert "no meaning" in alpha_interval([[-1, 2, 3], [-1, 2, 2]], "ratio").note
    assert "no meaning" not in alpha_interval([[1, 2, 3], [1, 2, 2]], "ratio").note


@pytest.mark.large
def test_the_interval_is_that_of_redrawing_the_units_one_by_one() -> None:
    table = with_nan(TABLES[NAMES.index("random-5x30-k4-missing0.3")]["data"])
    generator = np.random.default_rng(11)
    for level in ("nominal", "ordinal"):
        drawn = [
            krippendorff_alpha(table[:, generator.integers(0, table.shape[1], table.shape[1])], level)
            for _ in range(1500)
        ]
        low, high = np.nanquantile(drawn, [0.025, 0.975])
        result = alpha_interval(table, level, resamples=20_000)
        assert result.low == pytest.approx(low, abs=0.02)
        assert result.high == pytest.approx(high, abs=0.02)


def test_many_distinct_values_give_the_interval_of_the_same_values_grouped() -> None:
    generator = np.random.default_rng(5)
    table = generator.integers(0, 100, (3, 60)).astype(float)
    table[1:] = np.clip(table[0] + generator.integers(-9, 10, (2, 60)), 0, 99)
    sparse = alpha_interval(table + np.array([0.5]), "interval", resamples=20_000)
    redrawn = alpha_interval(table, "interval", resamples=20_000, seed=1)
    assert sparse.value == pytest.approx(redrawn.value)
    assert sparse.low == pytest.approx(redrawn.low, abs=0.01)
    assert sparse.high == pytest.approx(redrawn.high, abs=0.01)


@pytest.mark.large
def test_a_million_judgments_of_thousands_of_workers_need_no_table_of_workers_by_units() -> None:
    generator = np.random.default_rng(3)
    units = np.repeat(np.arange(250_000), 4)
    workers = (generator.integers(0, 20_000, 250_000)[:, np.newaxis] + np.arange(4)).ravel()
    truth = generator.integers(1, 5, 250_000)
    values = np.where(
        generator.random(1_000_000) < 0.5, np.repeat(truth, 4), generator.integers(1, 5, 1_000_000)
    )
    result = alpha_of_judgments(units, workers, values, resamples=200)
    # A quarter of the pairs of judges both copy an even truth; the rest agrees by chance.
    assert result.value == pytest.approx(0.25, abs=0.005)
    assert result.low < 0.25 < result.high
    assert result.judgments == 1_000_000


@settings(max_examples=30)
@given(answers, st.randoms(use_true_random=False), st.sampled_from(LEVELS))
def test_the_order_of_raters_and_units_does_not_matter(matrix: Any, shuffler: Any, level: str) -> None:
    raters, units = list(range(matrix.shape[0])), list(range(matrix.shape[1]))
    shuffler.shuffle(raters)
    shuffler.shuffle(units)
    result = alpha_interval(matrix, level, resamples=50)
    shuffled = alpha_interval(matrix[raters][:, units], level, resamples=50)
    assert shuffled.value == pytest.approx(result.value, abs=1e-12, nan_ok=True)
    assert shuffled.low == pytest.approx(result.low, abs=1e-12, nan_ok=True)


def test_values_so_large_that_one_is_lost_beside_them_still_count() -> None:
    assert krippendorff_alpha([[2.0**60, 2.0**60, 0.0], [2.0**60, 0.0, 0.0]]) == pytest.approx(
        krippendorff_alpha([[1, 1, 0], [1, 0, 0]])
    )
    assert alpha_interval([[2.0**60] * 2, [2.0**60] * 2]).judgments == 4


@settings(max_examples=30)
@given(
    st.integers(1, 9).flatmap(
        lambda raters: arrays(
            np.float64,
            st.tuples(st.just(raters), st.integers(1, 10)),
            elements=st.one_of(
                st.integers(-2, 2).map(float),
                st.integers(0, 40).map(lambda half: half / 2),
                st.just(math.nan),
            ),
        )
    ),
    st.sampled_from(LEVELS),
)
def test_alpha_is_that_of_the_definition_pair_by_pair(matrix: Any, level: str) -> None:
    expected = plainly.alpha(matrix, level)
    assert krippendorff_alpha(matrix, level) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    if not np.isnan(matrix).all():
        rater, unit = np.nonzero(~np.isnan(matrix))
        rows = ratings_of_judgments(unit, rater, matrix[rater, unit])
        assert krippendorff_alpha(rows, level) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("level", LEVELS)
def test_how_the_table_lies_in_memory_does_not_matter(level: str) -> None:
    table = np.random.default_rng(6).integers(1, 5, (5, 5000))
    alpha = krippendorff_alpha(table, level)
    for same in (
        table.astype(np.uint8),
        table.astype(np.float32),
        np.asfortranarray(table.astype(float)),
        np.repeat(table, 2, axis=1)[:, ::2].astype(float),
        table.tolist(),
    ):
        assert krippendorff_alpha(same, level) == alpha


@pytest.mark.parametrize("raters", [40, 70])
def test_many_raters_with_many_values_need_no_merging(raters: int) -> None:
    table = np.random.default_rng(7).integers(0, 30, (raters, 12)).astype(float)
    table[:, 0] = np.nan
    assert krippendorff_alpha(table, "ordinal") == pytest.approx(plainly.alpha(table, "ordinal"), abs=1e-12)
    result = alpha_interval(table, "ordinal", resamples=50)
    assert (result.units, result.raters, result.judgments) == (11, raters, raters * 11)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("level", ["interval", "ratio"])
@pytest.mark.parametrize("over", ["units", "raters"])
def test_numbers_whose_squares_no_double_holds_have_the_alpha_of_smaller_ones(
    scale: float, level: str, over: str
) -> None:
    table = np.array([[1.0, 2, 3, 3, 1], [1, 2, 3, 1, 1], [2, 2, 3, 3, 1]])
    plain = alpha_interval(table, level, over=over, resamples=200)
    scaled = alpha_interval(table * scale, level, over=over, resamples=200)
    assert scaled.value == pytest.approx(plain.value, abs=1e-12)
    assert scaled.low == pytest.approx(plain.low, abs=1e-12)


def test_counting_a_table_leaves_it_as_it_was() -> None:
    table = np.array([[1.5, np.nan, 2.5], [1.5, 2.5, 2.5]])
    before = table.copy()
    krippendorff_alpha(table, "interval")
    table.setflags(write=False)
    assert np.isnan(krippendorff_alpha(table[:, :1]))
    assert np.array_equal(table, before, equal_nan=True)
