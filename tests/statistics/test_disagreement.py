"""Soft labels, what predicts them, and groups of raters: closed forms, and simulations of known truth."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.distance import jensenshannon
from scipy.special import entr, expit
from scipy.stats import beta

from quorum.statistics.disagreement import (
    divergence,
    judge_probabilities,
    known_groups,
    metric_probabilities,
    rater_groups,
    soft_labels,
)
from quorum.statistics.inputs import BadOption, BadShape, BadValue
from tests.refusals import refuses


def columns_of(counts: Any) -> tuple[Any, Any]:
    """Units and values of (U,) yeses and the judgments of each."""
    yes, n = counts
    values = [value for one in yes for value in [1] * one + [0] * (n - one)]
    return np.repeat(np.arange(len(yes)), n), values


def test_answers_become_shares_and_entropies() -> None:
    found = soft_labels(["a", "a", "a", "a", "b"], [1, 1, 0, 0, 1], labels=[0, 1], correction="none")
    assert found.counts.tolist() == [[2, 2], [0, 1]]
    assert found.shares.tolist() == [[0.5, 0.5], [0, 1]]
    assert found.entropy[0] == pytest.approx(np.log(2))
    assert np.isnan(found.entropy[1])  # one answer says nothing about disagreement
    assert found.floor == pytest.approx(np.log(2))
    # Miller 1955: the labels that occurred, less one, over twice the answers; never above the largest entropy.
    three = soft_labels(["a"] * 4, [1, 1, 1, 0], labels=[0, 1], correction="miller-madow")
    assert three.entropy[0] == pytest.approx(entr([0.75, 0.25]).sum() + 1 / 8)
    assert soft_labels(["a"] * 2, [1, 0], correction="miller-madow").floor == pytest.approx(np.log(2))
    assert np.isnan(soft_labels(["a"], [1], labels=[0, 1], correction="none").floor)


def test_the_expected_entropy_is_the_integral_over_the_dirichlet() -> None:
    units, values = columns_of(([0, 1, 3, 3, 2, 3, 0], 3))
    found = soft_labels(units, values, labels=[0, 1])
    (no, yes), most = found.concentration, 1 - 1e-12
    for place, count in enumerate([0, 1, 3]):
        of = beta(count + yes, 3 - count + no)
        expected, _ = quad(lambda p, of=of: of.pdf(p) * entr([p, 1 - p]).sum(), 1e-12, most, limit=200)
        assert found.entropy[place] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("n", [3, 5])
def test_the_floor_is_that_of_the_truth_where_counting_alone_is_far_below(n: int) -> None:
    generator = np.random.default_rng(n)
    # No Dirichlet: most units are nearly clear, some are a coin.
    truth = np.where(generator.random(2000) < 0.7, 0.95, 0.5)
    floor = entr([truth, 1 - truth]).sum(axis=0).mean()
    columns = columns_of((generator.binomial(n, truth), n))
    counted, corrected = (soft_labels(*columns, correction=name).floor for name in ("none", "dirichlet"))
    assert corrected == pytest.approx(floor, abs=0.025)
    assert counted < floor - 0.06


def test_cross_entropy_and_divergence_are_those_of_the_formulas() -> None:
    shares, predicted = np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([[0.9, 0.1], [0.2, 0.8]])
    found = divergence(shares, predicted)
    assert found.cross_entropy == pytest.approx([-0.5 * np.log(0.9) - 0.5 * np.log(0.1), -np.log(0.8)])
    assert found.jensen_shannon == pytest.approx(
        [jensenshannon(one, other) ** 2 for one, other in zip(shares, predicted, strict=True)]
    )
    assert found.mean_cross_entropy == pytest.approx(found.cross_entropy.mean())
    assert divergence(shares, shares).jensen_shannon == pytest.approx([0, 0])
    assert divergence([[1.0, 0.0]], [[0.0, 1.0]]).mean_cross_entropy == np.inf


@pytest.mark.large
def test_a_score_becomes_the_probabilities_that_made_the_answers() -> None:
    generator = np.random.default_rng(3)
    score = generator.normal(0, 2, 4000)
    yes = generator.binomial(5, expit(0.5 + 0.8 * score))
    folds = np.arange(4000) % 5
    found = metric_probabilities(score, np.stack([5 - yes, yes], axis=1), folds)
    assert found[:, 1] == pytest.approx(expit(0.5 + 0.8 * score), abs=0.03)
    # Without a score that differs, the shares of the other folds.
    flat = metric_probabilities(np.zeros(4000), np.stack([5 - yes, yes], axis=1), folds)
    assert flat[0, 1] == pytest.approx(yes[folds != 0].mean() / 5, abs=1e-4)
    # A difference: equal scores are a coin, and exchanging the candidates exchanges the probabilities.
    first = generator.binomial(3, expit(1.5 * score))
    counts = np.stack([first, 3 - first], axis=1)
    fair = metric_probabilities(score, counts, folds, symmetric=True)
    turned = metric_probabilities(-score, counts[:, ::-1], folds, symmetric=True)
    assert fair[:, 0] == pytest.approx(expit(1.5 * score), abs=0.03)
    assert turned == pytest.approx(fair[:, ::-1], abs=1e-6)


def test_no_unit_is_predicted_from_its_own_fold() -> None:
    score, folds = np.array([0.0, 1.0, 2.0, 3.0]), [0, 0, 1, 1]
    counts = np.array([[3, 0], [2, 1], [1, 2], [0, 3]])
    other = counts.copy()
    other[:2] = other[:2, ::-1]
    found, changed = (metric_probabilities(score, one, folds) for one in (counts, other))
    assert found[:2].tolist() == changed[:2].tolist()
    assert found[2:].tolist() != changed[2:].tolist()


def test_a_judge_is_read_by_what_people_said_where_the_judge_said_the_same() -> None:
    # Judge's first label: people's shares there, without the unit itself, and one imagined answer of the usual ones.
    counts = np.array([[3, 0], [2, 1], [0, 3]])
    found = judge_probabilities([0, 0, 1], counts)
    usual = np.array([2 + 1, 4 + 1]) / (6 + 2)
    assert found[0] == pytest.approx((np.array([2, 1]) + usual) / 4)
    assert found.sum(axis=1) == pytest.approx([1, 1, 1])
    assert found[1, 0] > 0.5


def crowd(seed: int, *, biased: int = 0, careless: int = 0) -> tuple[Any, ...]:
    """Twenty raters, five a unit; the first `biased` see yes in most of what is no, the last `careless` guess."""
    generator = np.random.default_rng(seed)
    truth, unit = generator.integers(0, 2, 120), np.repeat(np.arange(120), 5)
    rater = np.concatenate([generator.permutation(20)[:5] for _ in range(120)])
    chance = np.where(rater >= 20 - careless, 0.5, 0.9)
    value = np.where(generator.random(600) < chance, truth[unit], 1 - truth[unit])
    swayed = (rater < biased) & (truth[unit] == 0) & (generator.random(600) < 0.8)
    return unit, rater, np.where(swayed, 1, value)


def test_raters_of_another_opinion_are_found_and_so_are_careless_ones() -> None:
    found = rater_groups(*crowd(1, biased=7), bootstraps=19, restarts=2)
    assert found.p == 0.05
    assert found.converged
    assert set(np.flatnonzero(found.membership[:, 1] > 0.5)) == set(range(7))
    assert found.confusion[1, 0, 1] > 0.6 > 0.2 > found.confusion[0, 0, 1]
    assert found.within.min() > found.between
    guessing = rater_groups(*crowd(2, careless=6), bootstraps=19, restarts=2)
    assert guessing.p == 0.05
    assert set(np.flatnonzero(guessing.membership[:, 1] > 0.5)) == set(range(14, 20))
    assert guessing.within == pytest.approx([0.82, 0.5], abs=0.06)
    assert guessing.confusion[1] == pytest.approx(np.full((2, 2), 0.5), abs=0.15)


def test_one_group_is_not_taken_for_two() -> None:
    assert rater_groups(*crowd(3), bootstraps=19, restarts=2).p > 0.1


def test_a_fit_that_is_stopped_says_so() -> None:
    assert not rater_groups(*crowd(3), bootstraps=1, restarts=1, max_iterations=1).converged


def test_known_groups_are_tested_by_shuffling_who_is_of_which() -> None:
    unit, rater, value = crowd(4, biased=7)
    found = known_groups(unit, rater, value, np.where(rater < 7, "here", "there"), permutations=199)
    assert found.groups.tolist() == ["here", "there"]
    assert found.raters.tolist() == [7, 13]
    assert found.p == 1 / 200
    assert found.overall > found.between
    # Pairs counted one by one.
    agree, of = 0, 0
    for one in range(600):
        for other in range(one):
            if unit[one] == unit[other] and (rater[one] < 7) != (rater[other] < 7):
                agree, of = agree + (value[one] == value[other]), of + 1
    assert found.between == pytest.approx(agree / of)
    chance = known_groups(unit, rater, value, rater % 2, permutations=199)
    assert chance.p > 0.05


def test_groups_that_cannot_be_compared_say_why() -> None:
    one = known_groups([1, 1], ["a", "b"], [1, 0], ["x", "x"])
    assert "same group" in one.reason
    assert np.isnan(one.p)
    apart = known_groups([1, 1, 2, 2], ["a", "b", "c", "d"], [1, 0, 1, 1], ["x", "x", "y", "y"])
    assert "different groups" in apart.reason
    single = known_groups([1, 1], ["a", "b"], [1, 0], ["x", "y"])
    assert "one group" in single.reason
    nobody = known_groups([1, 2], ["a", "b"], [1, 0], ["x", "y"])
    assert "different groups" in nobody.reason


def test_raters_without_a_unit_in_common_have_no_agreement() -> None:
    found = rater_groups(range(12), range(12), [0, 1] * 6, bootstraps=2)
    assert np.isnan([*found.within, found.between]).all()


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadOption, match="judgments"):
        soft_labels([], [])
    with refuses(BadValue, "predictions", "1"):
        divergence([[1, 0], [0, 1]], [[1.0, 0.0], [0.5, 0.6]])
    with pytest.raises(BadShape, match="units x labels"):
        divergence([1, 0], [1, 0])
    with pytest.raises(BadShape, match="predictions is"):
        divergence([[1, 0]], [[1, 0, 0]])
    with pytest.raises(BadOption, match="one fold"):
        metric_probabilities([1, 2], [[1, 0], [0, 1]], [0, 0])
    with pytest.raises(BadShape, match="two labels"):
        metric_probabilities([1, 2], [[1], [0]], [0, 1])
    with pytest.raises(BadShape, match="expected two where"):
        metric_probabilities([1, 2], [[1, 0, 0], [0, 1, 0]], [0, 1], symmetric=True)
    with pytest.raises(BadShape, match="units x labels"):
        judge_probabilities([0], [1, 2])
    with pytest.raises(BadValue, match="positions"):
        judge_probabilities([2], [[1, 0]])
    with refuses(BadValue, "a"):
        known_groups([1, 2, 3], ["a", "a", "b"], [1, 0, 1], ["x", "y", "x"])
