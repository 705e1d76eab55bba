"""Two sources cut at thresholds: kappa, precision, recall and F1."""

import math

import numpy as np
import pytest

from evaluation.statistics.agreement import at_least, cohen_kappa, kappa_grid, threshold_kappa
from evaluation.statistics.inputs import BadValue

SHARES = [1.0, 2 / 3, 2 / 3, 1 / 3, 0.0, 0.0, 1.0, 0.0]
GRADES = [4.0, 11 / 3, 3.0, 10 / 3, 1.0, 5 / 3, 10 / 3, 2.0]


def test_thirds_reach_the_thresholds_the_papers_print() -> None:
    assert at_least([2 / 3, sum([1, 1, 0]) / 3, 0.659], 0.66).tolist() == [True, True, False]
    assert at_least([10 / 3, 3.0], 3.33).tolist() == [True, False]


def test_a_score_that_misses_its_threshold_by_rounding_reaches_it() -> None:
    assert 0.1 + 0.2 + 0.3 > 0.6
    assert 0.3 + 0.2 + 0.1 < 0.1 + 0.2 + 0.3
    assert at_least([0.3 + 0.2 + 0.1, 1.1 + 2.2], 0.1 + 0.2 + 0.3).tolist() == [True, True]
    assert at_least([(4 + 3 + 3) / 3], 3.3333333333333335).all()


def test_kappa_is_cohens_on_the_cut_scores() -> None:
    result = threshold_kappa(SHARES, GRADES, 0.66, 3.33)
    cut = [share > 0.5 for share in SHARES], [grade > 3.1 for grade in GRADES]
    assert result.kappa.value == pytest.approx(cohen_kappa(*cut))
    assert (result.both, result.first_only, result.second_only, result.neither) == (3, 1, 1, 3)
    assert (result.precision.value, result.recall.value, result.f1.value) == (0.75, 0.75, 0.75)
    assert result.n == 8
    assert result.kappa.low < result.kappa.value < result.kappa.high


@pytest.mark.large
def test_the_interval_is_that_of_redrawing_the_pairs_one_by_one() -> None:
    generator = np.random.default_rng(4)
    truth = generator.random(400)
    first, second = (truth + generator.normal(0, 0.2, 400) for _ in range(2))
    drawn = []
    for _ in range(2000):
        rows = generator.integers(0, 400, 400)
        drawn.append(cohen_kappa(first[rows] >= 0.7, second[rows] >= 0.6))
    result = threshold_kappa(first, second, 0.7, 0.6, resamples=20_000)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert result.kappa.low == pytest.approx(low, abs=0.01)
    assert result.kappa.high == pytest.approx(high, abs=0.01)


def test_what_an_unseen_pair_means_is_said_aloud() -> None:
    shares = [1.0, math.nan, 0.0, math.nan]
    grades = [4.0, 4.0, 1.0, 1.0]
    with pytest.raises(BadValue, match=r"pair 1 lacks a score, expected both \(or missing='leave-out'"):
        threshold_kappa(shares, grades, 0.5, 3)
    unseen_is_no = threshold_kappa(shares, grades, 0.5, 3, missing="no")
    assert (unseen_is_no.n, unseen_is_no.filled, unseen_is_no.second_only) == (4, 2, 1)
    seen = threshold_kappa(shares, grades, 0.5, 3, missing="leave-out")
    assert (seen.n, seen.left_out, seen.kappa.value) == (2, 2, 1.0)


def test_undefined_figures_are_nan_and_kappa_says_why() -> None:
    none = threshold_kappa([0, 0], [0, 0], 1, 1)
    assert none.reason == "both sources say the same about every pair"
    assert math.isnan(none.kappa.value)
    assert math.isnan(none.precision.value)
    assert math.isnan(none.f1.low)
    assert threshold_kappa([], [], 1, 1).reason == "there is no pair with both scores"


def test_the_grid_holds_every_pair_of_thresholds_and_names_the_best() -> None:
    grid = kappa_grid(SHARES, GRADES, (0.33, 0.66), (2.0, 3.33, 9.0))
    assert grid.values().shape == (2, 3)
    for row, first in enumerate((0.33, 0.66)):
        for column, second in enumerate((2.0, 3.33)):
            single = threshold_kappa(SHARES, GRADES, first, second)
            assert grid.values()[row, column] == single.kappa.value
    assert grid.best is not None
    assert grid.best.kappa.value == grid.values()[:, :2].max()
    # No grade reaches 9: chance explains everything.
    assert grid.values()[:, 2].tolist() == [0.0, 0.0]


def test_a_million_pairs_of_scores_are_cut_at_every_threshold() -> None:
    generator = np.random.default_rng(1)
    shares = generator.integers(0, 4, 1_000_000) / 3
    grades = np.where(
        generator.random(1_000_000) < 0.5, 1 + 3 * shares, generator.integers(3, 13, 1_000_000) / 3
    )
    grid = kappa_grid(shares, grades, missing="no")
    assert grid.best is not None
    assert grid.values().shape == (3, 7)
    assert grid.best.kappa.value == pytest.approx(
        cohen_kappa(shares >= grid.best.first_at_least, grades >= grid.best.second_at_least), abs=1e-12
    )


def test_a_grid_without_any_defined_kappa_has_no_best() -> None:
    assert kappa_grid([0, 0], [0, 0], [1], [1]).best is None
