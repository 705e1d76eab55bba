"""Items are chosen with known chances, and what was chosen leads back to all items."""

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, stdtrit
from scipy.stats import kendalltau

from evaluation.statistics.choosing import (
    comparison_information,
    draw_items,
    inclusion_probabilities,
    order_disagreement,
    score_information,
    weighted_kendall,
    weighted_mean,
)
from evaluation.statistics.inputs import StatisticsError
from tests.statistics.golden import golden


def test_an_item_with_one_caption_tells_no_systems_apart() -> None:
    scores = np.array([[[1.0, 2.0], [np.nan, np.nan]], [[3.0, 1.0], [0.0, 2.0]]])
    assert order_disagreement(scores).tolist() == [0, 1]


def test_a_tie_of_one_metric_counts_half_against_the_order_of_another() -> None:
    scores = [[[1, 5], [2, 5]], [[1, 5], [2, 6]], [[1, 6], [2, 5]]]
    assert order_disagreement(scores).tolist() == [0.5, 0.0, 1.0]


def test_information_prefers_items_on_which_better_systems_score_higher() -> None:
    rng = np.random.default_rng(4)
    ability = np.linspace(-2, 2, 9)
    telling = ability + rng.normal(0, 0.3, (30, 9))
    noise = rng.normal(0, 1.5, (30, 9))
    found = score_information(np.concatenate([telling, noise])[:, :, np.newaxis])
    assert found[:30].mean() > 1.5 * found[30:].mean()


def test_a_comparison_tells_most_where_both_score_alike() -> None:
    scores = np.array([[[1.0, 5], [1, 5]], [[2, 5], [1, 5]], [[1, 5], [4, 5]]])
    found = comparison_information(scores)
    win = ndtr(np.array([0, 1, -3]) / np.sqrt(10 / 3))
    assert found == pytest.approx((win * (1 - win) + 0.25) / 2)  # the second metric is the same everywhere


def test_probabilities_add_up_to_the_budget_and_none_is_below_the_floor() -> None:
    useful = np.r_[np.zeros(50), np.ones(45), np.full(5, 1e4)]
    found = inclusion_probabilities(useful, 20)
    assert found.sum() == pytest.approx(20)
    assert (found[95:] == 1).all()
    assert found[:50].min() >= 0.25 * 20 / 100
    assert found[50] / found[0] == pytest.approx((0.25 + 0.75 / (545 / 100)) / 0.25)
    assert inclusion_probabilities(np.zeros(4), 2).tolist() == [0.5] * 4
    assert inclusion_probabilities([1, 2, 3], 3).tolist() == [1.0] * 3
    assert inclusion_probabilities([1, 2, 9], 1, floor=1).tolist() == pytest.approx([1 / 3] * 3)


def test_each_item_is_drawn_with_its_probability_and_the_number_is_fixed() -> None:
    chance = inclusion_probabilities(np.random.default_rng(0).gamma(1, 1, 60), 12)
    drawn = [draw_items(chance, seed=seed) for seed in range(3000)]
    assert {len(one) for one in drawn} == {12}
    share = np.bincount(np.concatenate(drawn), minlength=60) / 3000
    assert (np.abs(share - chance) < 4.5 * np.sqrt(chance * (1 - chance) / 3000)).all()
    assert draw_items(chance, seed=5).tolist() == drawn[5].tolist()
    assert draw_items([1.0, 1.0], seed=0).tolist() == [0, 1]


def test_the_weighted_mean_and_its_error_are_those_of_statsmodels() -> None:
    given = golden("choosing.json")["means"]
    values, chance, items = given["values"], given["probabilities"], given["items"]
    for of, error in ((items, given["standard_error"]), (None, given["standard_error_by_row"])):
        found = weighted_mean(values, chance, of)
        assert found.value == pytest.approx(given["mean"])
        half = stdtrit(found.effective - 1, 0.975) * error
        assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))
    weight = np.bincount(items, weights=1 / np.array(chance))
    assert weighted_mean(values, chance, items).effective == pytest.approx(
        weight.sum() ** 2 / (weight**2).sum()
    )


def test_tau_of_values_that_weigh_two_or_three_is_that_of_values_written_so_often() -> None:
    rng = np.random.default_rng(7)
    first = rng.integers(0, 6, 50)
    second = first + rng.integers(0, 6, 50)
    weight = rng.integers(1, 4, 50)
    found = weighted_kendall(first, second, 1 / weight)
    assert found.value == pytest.approx(
        kendalltau(np.repeat(first, weight), np.repeat(second, weight)).statistic
    )
    assert found.low < found.value < found.high
    nothing = weighted_kendall([1, 1, 1], [1, 2, 3], [0.5] * 3, items=["a", "a", "b"])
    assert (np.isnan(nothing.value), nothing.items) == (True, 2)
    assert "the same everywhere" in nothing.reason
    assert weighted_kendall([1, 1], [1, 2], [0.5] * 2).items == 2


def test_estimates_of_chosen_items_are_unbiased_and_their_intervals_hold_the_truth() -> None:
    """What people say goes with usefulness: the most useful items would be off by half a point."""
    off, covered, correlated = [], [], []
    for run in range(400):
        rng = np.random.default_rng([run, 1])
        useful = rng.gamma(1.0, 1.0, 200)
        said = np.sqrt(useful) + rng.normal(0, 0.6, 200)
        metric = said + rng.normal(0, 1, 200)
        chance = inclusion_probabilities(useful, 60)
        drawn = draw_items(chance, seed=rng)
        thompson = weighted_mean(said[drawn], chance[drawn], estimator="horvitz-thompson", population=200)
        hajek = weighted_mean(said[drawn], chance[drawn])
        tau = weighted_kendall(said[drawn], metric[drawn], chance[drawn])
        truth = np.sqrt(np.pi) / 2  # of the root of an exponential
        off.append(
            (thompson.value - truth, hajek.value - truth, said[np.argsort(-useful)[:60]].mean() - truth)
        )
        covered.append((thompson.low <= truth <= thompson.high, hajek.low <= truth <= hajek.high))
        correlated.append(tau.value - kendalltau(said, metric).statistic)
    error = np.std(off, axis=0) / np.sqrt(400)
    assert (np.abs(np.mean(off, axis=0)[:2]) < 4 * error[:2]).all()
    assert np.mean(off, axis=0)[2] > 0.4
    assert (np.abs(np.mean(covered, axis=0) - 0.95) < 0.035).all()
    assert abs(np.mean(correlated)) < 0.02


def test_few_items_have_no_interval() -> None:
    assert "there is 1 item, expected 5" in weighted_mean([1, 2], [0.5, 0.5], ["a", "a"]).reason
    assert "there are 2 items" in weighted_mean([1, 2], [0.5, 0.5]).reason


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: score_information([[1, 2]]), "expected items x systems x metrics"),
        (lambda: score_information([[[np.inf]]]), "infinite"),
        (lambda: score_information([[[1.0, np.nan]]]), "none of metric 1"),
        (lambda: order_disagreement([[[1.0], [2.0]]]), "of one metric"),
        (lambda: inclusion_probabilities([-1.0, 2], 1), "from zero on"),
        (lambda: inclusion_probabilities([1.0, 2], 3), "there are 2 items"),
        (lambda: inclusion_probabilities([1.0, 2], 1, floor=0), "above 0"),
        (lambda: draw_items([0.5, 0.7], seed=0), "a whole number of items"),
        (lambda: draw_items([0.0, 1.0], seed=0), "above 0, up to 1"),
        (lambda: draw_items([], seed=0), "there are no items"),
        (lambda: weighted_mean([1.0], [0.5], estimator="horvitz-thompson"), "population is None"),
        (lambda: weighted_mean([1.0], [0.5], estimator="top"), "expected"),
    ],
)
def test_wrong_input_is_named(call: Any, said: str) -> None:
    with pytest.raises(StatisticsError, match=said):
        call()
