"""Ratings standardised by rater (Graham et al. 2013)."""

import math

import numpy as np
import pytest

from evaluation.statistics.aggregation import standardised_mean
from evaluation.statistics.inputs import BadShape, BadValue


def test_a_generous_and_a_strict_rater_of_one_mind_have_the_same_z() -> None:
    # 80, 90, 100 and 10, 30, 50 are -1, 0, 1 standard deviations from their means
    units, raters = ["a", "b", "c"] * 2, ["kind"] * 3 + ["strict"] * 3
    result = standardised_mean(units, raters, [80, 90, 100, 10, 30, 50])
    assert result.mean.tolist() == [45, 60, 75]
    assert result.z.tolist() == pytest.approx([-1, 0, 1])
    assert result.rater_mean.tolist() == [90, 30]
    assert result.rater_deviation.tolist() == pytest.approx([10, 20])
    assert result.left_out == 0


def test_a_rater_without_variation_counts_in_the_raw_mean_alone() -> None:
    result = standardised_mean(["a", "b", "a", "b", "a"], [1, 1, 2, 2, 3], [10, 30, 50, 50, 90])
    assert result.mean.tolist() == [50, 40]
    assert result.n.tolist() == [3, 2]
    assert result.z.tolist() == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)])
    assert result.z_n.tolist() == [1, 1]
    assert result.left_out == 2  # one rated everything 50, one rated once


def test_a_unit_whose_raters_have_no_z_has_none() -> None:
    result = standardised_mean(["a", "b"], ["x", "y"], [3.3, 4.4])
    assert np.isnan(result.z).all()
    assert result.mean.tolist() == [3.3, 4.4]


def test_equal_ratings_vary_by_nothing_whatever_their_rounding() -> None:
    result = standardised_mean(["a", "b", "c"], ["x"] * 3, [0.1 + 0.2, 0.3, 0.3])
    assert result.left_out == 1
    assert np.isnan(result.z).all()


def test_shifting_and_stretching_a_raters_scale_changes_no_z() -> None:
    rng = np.random.default_rng(5)
    units, raters = np.tile(np.arange(30), 6), np.repeat(np.arange(6), 30)
    plain = rng.uniform(0, 100, 180)
    bent = plain * (1 + raters) + 10 * raters
    assert standardised_mean(units, raters, bent).z == pytest.approx(
        standardised_mean(units, raters, plain).z
    )


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(BadShape, match="raters has 1 entries and units 2"):
        standardised_mean(["a", "b"], ["x"], [1, 2])
    with pytest.raises(BadValue, match="expected a finite number"):
        standardised_mean(["a", "b"], ["x", "x"], [1, math.inf])
