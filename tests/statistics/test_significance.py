"""Tests of differences against statsmodels, full enumeration and scipy's bootstrap."""

import math
from typing import Any

import numpy as np
import pytest

from evaluation.statistics.errors import BadOption, BadShape, BadValue
from evaluation.statistics.significance import (
    bootstrap_interval,
    mcnemar_counts,
    mcnemar_test,
    randomization_test,
    stars,
)
from tests.statistics.golden import golden

DATA = golden("significance.json")
NO_FUNCTION: Any = 3


@pytest.mark.parametrize("case", DATA["mcnemar"], ids=lambda case: f"{case['b']} against {case['c']}")
def test_mcnemar_is_that_of_statsmodels(case: dict[str, Any]) -> None:
    result = mcnemar_counts(case["b"], case["c"])
    assert result.exact_p == pytest.approx(case["exact_p"], abs=1e-12)
    if "chi2_plain" in case:
        assert result.statistic == pytest.approx(case["chi2_corrected"]["statistic"], abs=1e-12)
        assert result.p == pytest.approx(case["chi2_corrected"]["p"], abs=1e-12)
        assert result.plain_statistic == pytest.approx(case["chi2_plain"]["statistic"], abs=1e-12)
        assert result.plain_p == pytest.approx(case["chi2_plain"]["p"], abs=1e-12)
    else:
        assert math.isnan(result.statistic)
        assert result.reason == "the two outcomes never differ"


def test_mcnemar_counts_only_the_items_on_which_systems_differ() -> None:
    result = mcnemar_test([1, 1, 0, 0, 1], [1, 0, 1, 0, 0])
    assert (result.first_only, result.second_only) == (2, 1)


@pytest.mark.parametrize("case", DATA["permutation"], ids=range(len(DATA["permutation"])))
@pytest.mark.parametrize("seed", [0, 1])
def test_the_randomisation_test_is_within_its_error_of_full_enumeration(
    case: dict[str, Any], seed: int
) -> None:
    result = randomization_test(case["first"], case["second"], seed=seed)
    exact = case["exact_two_sided_p"]
    assert result.difference == pytest.approx(case["mean_difference"])
    assert result.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 100_000) + 1e-5)
    assert result.p == (result.as_extreme + 1) / (result.reassignments + 1)


def test_grades_with_many_equal_differences_are_tested_the_same_way() -> None:
    # Nine differences of +1, one of -1: the sign test, 2 * (1 + 10) / 2^10.
    first, second = [2] * 9 + [1], [1] * 9 + [2]
    result = randomization_test(first, second)
    assert result.p == pytest.approx(22 / 1024, abs=0.002)


def test_a_difference_in_medians_is_tested_by_swapping_the_scores() -> None:
    first, second = [1, 2, 3], [4, 5, 9]
    # Of the 8 ways to swap, all or none give the observed 3; one swap or its mirror gives 3 more often.
    outcomes = []
    for code in range(8):
        swap = [bool(code >> place & 1) for place in range(3)]
        one = np.where(swap, second, first)
        two = np.where(swap, first, second)
        outcomes.append(abs(np.median(one) - np.median(two)) >= 3)
    exact = np.mean(outcomes)
    result = randomization_test(first, second, "median", reassignments=20_000)
    assert result.difference == -3
    assert result.p == pytest.approx(exact, abs=0.015)


def test_equal_systems_have_p_one() -> None:
    assert randomization_test([1, 2, 3], [1, 2, 3], reassignments=500).p == 1


def test_any_statistic_of_rows_can_be_tested() -> None:
    def largest(rows: np.ndarray) -> np.ndarray:
        return rows.max(axis=1)

    result = randomization_test([1, 2, 9], [1, 2, 3], largest, reassignments=999)
    assert (result.statistic, result.difference, result.p) == ("largest", 6, 1.0)


@pytest.mark.parametrize("case", DATA["bootstrap"], ids=range(len(DATA["bootstrap"])))
@pytest.mark.parametrize("method", ["percentile", "basic", "BCa"])
def test_bootstrap_intervals_are_scipys(case: dict[str, Any], method: str) -> None:
    result = bootstrap_interval(case["x"], method=method.lower(), resamples=100_000)
    tolerance = 0.03 * case["standard_error"]
    assert [result.low, result.high] == pytest.approx(case[method], abs=tolerance)
    assert result.standard_error == pytest.approx(case["standard_error"], rel=0.02)
    assert result.value == pytest.approx(np.mean(case["x"]))


def test_the_median_has_an_interval_too() -> None:
    result = bootstrap_interval(np.arange(101.0), "median")
    # Order statistics: about 50.5 -+ 1.96 * sqrt(101) / 2 places.
    assert result.low == pytest.approx(40, abs=2)
    assert result.high == pytest.approx(60, abs=2)


def test_a_constant_sample_has_an_interval_without_width() -> None:
    for method in ("percentile", "basic", "bca"):
        result = bootstrap_interval([2.0, 2.0, 2.0], method=method, resamples=100)
        assert (result.low, result.high, result.standard_error) == (2, 2, 0)


def test_one_value_has_no_interval_and_says_so() -> None:
    result = bootstrap_interval([3.0])
    assert result.value == 3
    assert math.isnan(result.low)
    assert result.reason == "there are fewer than two values"
    assert math.isnan(bootstrap_interval([]).value)


def test_stars_follow_the_tables_of_the_papers() -> None:
    assert [stars(p) for p in (0.2, 0.1, 0.05, 0.01, 0.0001)] == ["", "*", "**", "***", "***"]
    assert stars(math.nan) == ""


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: mcnemar_test([1, 2], [1, 0]), BadValue, r"first\[1\] is 2, expected 0 or 1"),
        (lambda: mcnemar_test([1], [1, 0]), BadShape, "second has 2 entries and first 1"),
        (lambda: mcnemar_counts(-1, 2), BadValue, "first_only is -1, expected a whole number from zero on"),
        (lambda: randomization_test([], []), BadShape, "first is empty"),
        (
            lambda: randomization_test([1], [1], "mode"),
            BadOption,
            "statistic is 'mode', expected one of mean",
        ),
        (
            lambda: randomization_test([1], [1], NO_FUNCTION),
            BadOption,
            "expected mean, median or a function of rows",
        ),
        (lambda: randomization_test([1], [1], reassignments=0), BadOption, "reassignments is 0"),
        (
            lambda: bootstrap_interval([1, 2], method="bc"),
            BadOption,
            "method is 'bc', expected one of percentile",
        ),
        (lambda: bootstrap_interval([[1, 2]]), BadShape, "values has 2 dimensions, expected one"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()
