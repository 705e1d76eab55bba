"""Correlations against scipy's golden numbers, and their intervals against plain redrawing."""

import math
from typing import Any

import numpy as np
import pytest
import scipy

from quorum.statistics.correlation import (
    COEFFICIENTS,
    correlation,
    correlation_influences,
    group_coefficients,
    kendall_tau_b,
    pearson,
    spearman,
)
from quorum.statistics.inputs import BadValue
from tests.refusals import refuses
from tests.statistics.golden import golden

CASES = [case for case in golden("significance.json")["correlation"] if "why" not in case]


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_coefficient_and_p_are_scipys(case: dict[str, Any], coefficient: str) -> None:
    expected = case[coefficient.replace("-", "_")]
    result = correlation(case["x"], case["y"], coefficient, resamples=0)
    assert result.value == pytest.approx(expected["statistic"], abs=1e-12)
    assert result.p == pytest.approx(expected["p"], rel=1e-9)
    assert math.isnan(result.low)


def test_the_short_names_give_the_bare_coefficients() -> None:
    x, y = CASES[0]["x"], CASES[0]["y"]
    short = {
        "pearson": pearson,
        "spearman": spearman,
        "kendall-tau-b": kendall_tau_b,
    }
    for name, function in short.items():
        assert function(x, y) == pytest.approx(CASES[0][name.replace("-", "_")]["statistic"])


@pytest.mark.large
# Few levels on one side, and many on both.
@pytest.mark.parametrize(
    ("coefficient", "levels"),
    [
        ("kendall-tau-b", (1000, 4)),
        *(
            pytest.param(name, (1000, 4), marks=pytest.mark.long)
            for name in COEFFICIENTS
            if name != "kendall-tau-b"
        ),
        pytest.param("kendall-tau-b", (1000, 1000), marks=pytest.mark.long),
    ],
)
def test_the_interval_is_that_of_redrawing_the_observations(
    coefficient: str, levels: tuple[int, int]
) -> None:
    generator = np.random.default_rng(8)
    common = generator.normal(size=150)
    x, y = (np.round((common + generator.normal(size=150)) * count / 6) / count for count in levels)
    redrawn = []
    for _ in range(1000):
        rows = generator.integers(0, 150, 150)
        redrawn.append(correlation(x[rows], y[rows], coefficient, resamples=0).value)
    result = correlation(x, y, coefficient, resamples=1500)
    low, high = np.quantile(redrawn, [0.025, 0.975])
    assert result.low == pytest.approx(low, abs=0.025)
    assert result.high == pytest.approx(high, abs=0.025)
    assert (result.n, result.resamples, result.seed) == (150, 1500, 0)


def test_a_straight_line_correlates_fully_wherever_it_lies() -> None:
    x = np.arange(20.0)
    assert pearson(x, 1e9 + 1e-3 * x) == pytest.approx(1)
    result = correlation(x, 3 * x - 7, "pearson")
    assert (result.low, result.high) == (pytest.approx(1), pytest.approx(1))


def test_the_interval_does_not_change_with_the_order_of_columns_far_from_each_other() -> None:
    generator = np.random.default_rng(0)
    few_values = generator.integers(0, 2, 50).astype(float)
    many_values = 1e6 + few_values + generator.normal(size=50)
    result = correlation(few_values, many_values, "pearson", resamples=200)
    assert result.undefined_resamples == 0
    swapped = correlation(many_values, few_values, "pearson", resamples=200)
    assert (result.low, result.high) == (pytest.approx(swapped.low), pytest.approx(swapped.high))


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_two_observations_lie_on_a_line(coefficient: str) -> None:
    result = correlation([1, 2], [5, 3], coefficient)
    assert result.value == pytest.approx(-1)
    # Half of the resamples draw one observation twice and say nothing.
    assert result.undefined_resamples == pytest.approx(1000, abs=120)


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1, 1, 1, 1], [1, 2, 3, 4], "the first variable has the same value throughout"),
        ([1, 2, 3], [5, 5, 5], "the second variable has the same value throughout"),
        ([1], [1], "there are fewer than two observations"),
        ([], [], "there are fewer than two observations"),
    ],
)
@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_an_undefined_correlation_is_nan_and_says_why(
    x: list[float], y: list[float], reason: str, coefficient: str
) -> None:
    result = correlation(x, y, coefficient)
    assert math.isnan(result.value)
    assert math.isnan(result.p)
    assert result.reason == reason


def test_observations_with_a_missing_value_are_left_out_when_asked() -> None:
    x, y = [1.0, math.nan, 2.0, 3.0], [1.0, 2.0, math.nan, 2.0]
    with refuses(BadValue, "first", "1", "nan"):
        correlation(x, y, "pearson")
    result = correlation(x, y, "pearson", missing="leave-out")
    assert (result.n, result.left_out, result.value) == (2, 2, pytest.approx(1))


# Two-sided p of Spearman's rho in tables of its exact distribution (Olds 1938; Kendall 1948).
SPEARMAN = [
    ([1, 2, 3, 4], 1, 0.0833),
    ([1, 2, 3, 5, 4], 0.9, 0.0833),
    ([5, 4, 3, 2, 1], -1, 0.0167),
    ([2, 1, 3, 4, 6, 5], 0.886, 0.0333),
    ([1, 2, 3, 6, 4, 5], 0.829, 0.0583),
    ([2, 1, 4, 3, 6, 7, 5], 0.821, 0.0341),
    ([2, 1, 3, 4, 7, 6, 5], 0.821, 0.0341),
]


@pytest.mark.parametrize(("ranks", "rho", "p"), SPEARMAN)
def test_few_ranks_have_the_p_of_the_published_tables(ranks: list[int], rho: float, p: float) -> None:
    found = correlation(range(len(ranks)), ranks, "spearman", resamples=0)
    assert found.value == pytest.approx(rho, abs=0.0005)
    assert found.p == pytest.approx(p, abs=0.00005)


def test_ties_and_ten_ranks_keep_the_density() -> None:
    tied, ten = [1, 2, 2, 3, 5], [2, 1, 3, 5, 4, 6, 8, 7, 10, 9]
    for ranks in (tied, ten):
        found = correlation(range(len(ranks)), ranks, "spearman", resamples=0)
        assert found.p == pytest.approx(scipy.stats.spearmanr(range(len(ranks)), ranks).pvalue)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_influences_are_the_derivatives_by_the_weights_of_observations(coefficient: str) -> None:
    x, y = np.array([1.0, 2.0, 2.0, 4.0, 5.0, 9.0]), np.array([2.0, 1.0, 3.0, 3.0, 7.0, 4.0])
    ends, step = np.array([0, 6]), 1e-5

    def weighted(weights: np.ndarray) -> float:
        return float(group_coefficients(x, y, ends, coefficient, weights)[0])

    slopes = [(weighted(1 + move) - weighted(1 - move)) / (2 * step) for move in step * np.eye(6)]
    found = correlation_influences(x, y, coefficient, weighted(np.ones(6)))
    assert found == pytest.approx(np.array(slopes) - np.mean(slopes), abs=1e-8)
