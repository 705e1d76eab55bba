"""Adjusted p-values against statsmodels, and the stars of tables."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics.significance import adjusted_p_values, benjamini_hochberg, holm, stars
from tests.statistics.golden import golden

CASES = golden("differences.json")["adjusted"]
P_VALUES = st.lists(st.floats(0, 1), max_size=20)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_adjusted_p_values_are_those_of_statsmodels(case: dict[str, Any]) -> None:
    assert holm(case["p"]) == pytest.approx(case["holm"], abs=1e-12)
    assert benjamini_hochberg(case["p"]) == pytest.approx(case["benjamini_hochberg"], abs=1e-12)


def test_two_tests_have_the_closed_form() -> None:
    # Holm: twice the smaller, and the larger unless it is below that. BH: the larger, and twice the smaller.
    assert holm([0.03, 0.01]).tolist() == [0.03, 0.02]
    assert holm([0.015, 0.01]).tolist() == [0.02, 0.02]
    assert benjamini_hochberg([0.03, 0.01]).tolist() == [0.03, 0.02]
    assert benjamini_hochberg([0.03, 0.02]).tolist() == [0.03, 0.03]


@settings(max_examples=30)
@given(P_VALUES, st.sampled_from(["holm", "benjamini-hochberg", "none"]))
def test_adjusting_raises_p_keeps_the_order_and_ignores_where_a_test_stands(
    p_values: list[float], method: str
) -> None:
    given_p = np.array(p_values)
    values = adjusted_p_values(given_p, method).values
    assert (values >= given_p).all()
    assert (values <= 1).all()
    assert (np.diff(values[np.argsort(given_p, kind="stable")]) >= 0).all()
    assert adjusted_p_values(given_p[::-1], method).values.tolist() == values[::-1].tolist()


@settings(max_examples=30)
@given(P_VALUES)
def test_holm_is_never_below_benjamini_and_hochberg(p_values: list[float]) -> None:
    assert (holm(p_values) >= benjamini_hochberg(p_values) - 1e-15).all()


def test_a_test_without_p_stays_without_and_does_not_count() -> None:
    result = adjusted_p_values([0.02, math.nan, 0.04, math.nan])
    assert result.values.tolist()[::2] == [0.04, 0.04]
    assert np.isnan(result.values[1::2]).all()
    assert (result.tests, result.undefined, result.method) == (2, 2, "holm")
    assert adjusted_p_values([]).values.tolist() == []


def test_none_leaves_the_p_values_alone() -> None:
    assert adjusted_p_values([0.5, 0.01], "none").values.tolist() == [0.5, 0.01]


def test_stars_follow_the_tables_of_the_papers() -> None:
    assert [stars(p) for p in (0.2, 0.1, 0.05, 0.01, 0.0001)] == ["", "*", "**", "***", "***"]
    assert stars(math.nan) == ""
