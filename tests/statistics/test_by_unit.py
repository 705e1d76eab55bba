"""Where judges disagree: each unit's share, agreement, and part in what alpha lacks."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evaluation.statistics.agreement import (
    LEVELS,
    agreement_by_unit,
    krippendorff_alpha,
    percent_agreement,
    ratings_of_judgments,
)

NAN: Any = math.nan

answers = arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 12)),
    elements=st.one_of(st.integers(0, 3).map(float), st.just(NAN)),
)


def test_each_unit_has_its_share_and_its_agreement() -> None:
    table = [[1, 1, 1, NAN], [1, 2, NAN, NAN], [1, 2, NAN, NAN], [1, 3, NAN, NAN]]
    result = agreement_by_unit(table)
    assert result.units.tolist() == [0, 1, 2, 3]
    assert result.judgments.tolist() == [4, 4, 1, 0]
    assert result.share == pytest.approx([1, 1 / 2, 1, NAN], nan_ok=True)
    assert result.agreement == pytest.approx([1, 1 / 6, NAN, NAN], nan_ok=True)
    assert result.most_disputed(5).tolist() == [1, 0]
    assert result.most_disputed(1).tolist() == [1]


def test_the_farther_answers_lie_apart_the_more_their_unit_takes_from_alpha() -> None:
    table = [[1, 2, 4, 1], [1, 3, 1, 1]]
    nominal, interval = (agreement_by_unit(table, level) for level in ("nominal", "interval"))
    assert nominal.contribution[1] == nominal.contribution[2] > 0
    assert interval.contribution[2] == pytest.approx(9 * interval.contribution[1])
    assert (nominal.contribution[0], nominal.reason) == (0, "")


@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=30)
@given(table=answers)
def test_the_contributions_sum_to_what_alpha_lacks_to_one(table: Any, level: str) -> None:
    result = agreement_by_unit(table, level)
    alpha = krippendorff_alpha(table, level)
    if math.isnan(alpha):
        assert np.isnan(result.contribution).all()
        assert result.reason in (
            "no unit has two judgments",
            "every judgment that can be compared has the same value",
        )
    else:
        assert np.nansum(result.contribution) == pytest.approx(1 - alpha, abs=1e-12)
        assert np.nanmean(result.agreement) == pytest.approx(percent_agreement(table))
        assert np.array_equal(np.isnan(result.contribution), result.judgments < 2)


def test_rows_name_their_units_and_an_emoji_is_an_answer() -> None:
    rows = ratings_of_judgments(["b", "a", "b", "a"], ["w1", "w1", "w2", "w2"], ["🐈", "قط", "🐈", "🐈"])
    result = agreement_by_unit(rows)
    assert result.units.tolist() == ["a", "b"]
    assert result.agreement.tolist() == [0, 1]


@pytest.mark.large
def test_a_million_judgments_are_taken_apart() -> None:
    generator = np.random.default_rng(1)
    table = generator.integers(0, 2, (2, 500_000)).astype(float)
    result = agreement_by_unit(table)
    assert np.array_equal(result.agreement == 1, table[0] == table[1])
    assert result.contribution.sum() == pytest.approx(1 - krippendorff_alpha(table))


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[1, 1], [1, 1]], "every judgment that can be compared has the same value"),
        ([[1, -1], [-1, 1]], "every judgment that can be compared has the same value"),
        ([[1, 2]], "no unit has two judgments"),
        (np.empty((2, 0)), "no unit has two judgments"),
    ],
)
def test_without_variation_nothing_is_contributed_and_the_result_says_why(table: Any, reason: str) -> None:
    result = agreement_by_unit(table, "ratio")
    assert np.isnan(result.contribution).all()
    assert result.reason == reason
    assert result.most_disputed(3).size == 0
