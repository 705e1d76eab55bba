"""Williams' test against printed results of R's psych and cocor, and closed forms."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation.statistics.significance import williams_correlations, williams_test
from tests.statistics.golden import golden

DATA = golden("differences.json")
CASES = DATA["williams"]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_t_is_as_printed_by_other_programs(case: dict[str, Any]) -> None:
    result = williams_correlations(case["first"], case["second"], case["between"], case["n"])
    assert result.t == pytest.approx(case["t"], abs=case["within"])
    assert result.degrees_of_freedom == case["n"] - 3
    if "p" in case:
        assert result.p == pytest.approx(case["p"], abs=1e-4)


def test_scores_give_the_t_and_p_of_another_program() -> None:
    case = DATA["williams_scores"]
    result = williams_test(case["first"], case["second"], case["people"])
    assert result.t == pytest.approx(case["t"], abs=1e-6)
    assert result.p == pytest.approx(case["p"], rel=1e-6)
    assert result.first == pytest.approx(stats.pearsonr(case["first"], case["people"]).statistic)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(4, 30))
def test_t_is_that_of_the_matrix_form_and_turns_with_the_metrics(seed: int, n: int) -> None:
    first, second, people = np.random.default_rng(seed).normal(size=(3, n))
    result = williams_test(first, second, people)
    matrix = np.corrcoef([people, first, second])
    mean = (matrix[0, 1] + matrix[0, 2]) / 2
    expected = (matrix[0, 1] - matrix[0, 2]) * math.sqrt(
        (n - 1)
        * (1 + matrix[1, 2])
        / (2 * (n - 1) / (n - 3) * np.linalg.det(matrix) + mean**2 * (1 - matrix[1, 2]) ** 3)
    )
    assert result.t == pytest.approx(expected, rel=1e-6, abs=1e-9)
    turned = williams_test(second, first, people)
    assert (turned.t, turned.p) == (pytest.approx(-result.t), pytest.approx(result.p))
    assert turned.p_first_higher == pytest.approx(result.p_second_higher)
    assert result.p_first_higher + result.p_second_higher == pytest.approx(1)
    assert result.p == pytest.approx(2 * stats.t.sf(abs(result.t), n - 3))


def test_equal_correlations_differ_by_nothing() -> None:
    result = williams_correlations(0.5, 0.5, 0.2, 50)
    assert (result.t, result.p, result.p_first_higher) == (0, 1, 0.5)


def test_two_metrics_that_determine_the_people_have_no_bound_of_t() -> None:
    side = math.sqrt(0.5)
    # People's scores are the difference of two independent metrics: K and the mean correlation are 0.
    result = williams_correlations(side, -side, 0.0, 20)
    assert result.t > 1e6
    assert result.p == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "people", "reason"),
    [
        ([1, 2, 3], [1, 3, 2], [3, 1, 2], "there are fewer than four observations"),
        ([], [], [], "there are fewer than four observations"),
        ([1, 1, 1, 1], [1, 3, 2, 4], [3, 1, 2, 4], "the first scores have the same value throughout"),
        ([1, 3, 2, 4], [1, 3, 2, 4], [2, 2, 2, 2], "people's scores have the same value throughout"),
        ([1, 3, 2, 5], [2, 6, 4, 10], [3, 1, 2, 4], "one metric is the other"),
        ([1, 3, 2, 5], [-1, -3, -2, -5], [3, 1, 2, 4], "one metric is the other"),
    ],
)
def test_an_undefined_t_is_nan_and_says_why(
    first: list[float], second: list[float], people: list[float], reason: str
) -> None:
    result = williams_test(first, second, people)
    assert math.isnan(result.t)
    assert math.isnan(result.p)
    assert result.reason.startswith(reason)


def test_too_few_observations_for_given_correlations_say_so() -> None:
    assert williams_correlations(0.5, 0.4, 0.1, 3).reason == "there are fewer than four observations"
