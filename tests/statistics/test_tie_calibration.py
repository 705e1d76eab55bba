"""Pairwise accuracy with ties against mt-metrics-eval's numbers and pair-by-pair counting."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics.meta import pairwise_accuracy
from tests.statistics import plain_differences
from tests.statistics.golden import golden, with_nan

CASES = golden("differences.json")["ties"]
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 3)), min_size=2, max_size=25)


def columns(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    metric, people = with_nan(case["metric"]), with_nan(case["people"])
    return metric.ravel(), people.ravel(), np.repeat(np.arange(len(metric)), metric.shape[1])


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_accuracy_at_every_threshold_is_that_of_mt_metrics_eval(case: dict[str, Any]) -> None:
    for epsilon, expected in zip(case["thresholds"], case["accuracies"], strict=True):
        result = pairwise_accuracy(*columns(case), epsilon=epsilon, missing="leave-out", resamples=0)
        assert result.value == pytest.approx(expected, abs=1e-12)
        assert (result.epsilon, result.calibrated, result.pairs_searched) == (epsilon, False, 0)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_the_best_threshold_is_that_of_mt_metrics_eval(case: dict[str, Any]) -> None:
    result = pairwise_accuracy(*columns(case), epsilon="calibrate", missing="leave-out")
    assert result.epsilon == case["best"]
    assert result.value == pytest.approx(max(case["accuracies"]), abs=1e-12)
    assert result.calibrated
    assert result.pairs_searched == result.pairs


@settings(max_examples=40)
@given(ROWS, st.integers(0, 9))
def test_it_is_counting_pair_by_pair(rows: list[tuple[int, int, int]], gap: int) -> None:
    groups, metric, people = np.array(rows).T
    scores = metric / 3  # thirds differ by rounding where they are equal
    if np.bincount(groups).max() < 2:
        return
    for epsilon in (0.0, gap / 3):
        result = pairwise_accuracy(scores, people, groups, epsilon=epsilon, resamples=0)
        expected = plain_differences.accuracy_with_ties(scores, people, groups, epsilon)
        assert result.value == pytest.approx(expected, abs=1e-12)
        parts = (
            result.concordant,
            result.discordant,
            result.tied_both,
            result.tied_metric,
            result.tied_people,
        )
        assert sum(parts) == result.pairs
    best = max(plain_differences.accuracy_with_ties(scores, people, groups, step / 3) for step in range(10))
    calibrated = pairwise_accuracy(scores, people, groups, epsilon="calibrate", resamples=0)
    assert calibrated.value == pytest.approx(best, abs=1e-12)


def test_a_threshold_found_on_some_items_is_used_on_others() -> None:
    generator = np.random.default_rng(4)
    people = generator.integers(0, 3, 4000).astype(float)
    metric = people + generator.normal(0, 0.3, 4000)
    items = np.repeat(np.arange(400), 10)
    half = items < 200
    found = pairwise_accuracy(metric[half], people[half], items[half], epsilon="calibrate")
    held_out = pairwise_accuracy(metric[~half], people[~half], items[~half], epsilon=found.epsilon)
    plain = pairwise_accuracy(metric[~half], people[~half], items[~half])
    assert held_out.value > plain.value + 0.05
    assert not held_out.calibrated
    assert held_out.low < held_out.value < held_out.high


def test_the_interval_is_that_of_redrawing_groups() -> None:
    generator = np.random.default_rng(9)
    groups = np.repeat(np.arange(60), 5)
    people, metric = generator.integers(0, 3, 300), generator.normal(size=300)
    result = pairwise_accuracy(metric, people, groups)
    each = [pairwise_accuracy(metric[groups == g], people[groups == g]).value for g in range(60)]
    error = float(np.std(each)) / math.sqrt(60)
    assert result.value == pytest.approx(np.mean(each))
    assert result.low == pytest.approx(np.mean(each) - 1.96 * error, abs=0.3 * error)
    assert result.high == pytest.approx(np.mean(each) + 1.96 * error, abs=0.3 * error)


def test_one_group_has_no_interval() -> None:
    result = pairwise_accuracy([1, 2, 3], [1, 2, 3])
    assert result.value == 1
    assert math.isnan(result.low)
    assert result.groups == 1


def test_too_many_pairs_are_searched_by_sample_and_counted_all() -> None:
    generator = np.random.default_rng(6)
    people = generator.integers(0, 3, 900).astype(float)
    metric = people + generator.normal(0, 0.3, 900)
    groups = np.repeat([0, 1, 2], [100, 300, 500])
    everything = pairwise_accuracy(metric, people, groups, epsilon="calibrate")
    sampled = pairwise_accuracy(metric, people, groups, epsilon="calibrate", max_pairs=20_000)
    assert sampled.pairs_searched == 20_000
    assert sampled.pairs == everything.pairs == everything.pairs_searched
    assert sampled.epsilon == pytest.approx(everything.epsilon, abs=0.1)
    assert everything.value - 0.005 < sampled.value <= everything.value


@pytest.mark.parametrize("epsilon", [0.0, "calibrate"])
@pytest.mark.parametrize("scores", [[], [1.0], [1.0, math.nan]])
def test_without_a_pair_there_is_nan_and_a_reason(epsilon: float | str, scores: list[float]) -> None:
    result = pairwise_accuracy(scores, [1.0] * len(scores), epsilon=epsilon, missing="leave-out")
    assert math.isnan(result.value)
    assert result.reason == "no group has two observations"
    assert result.pairs == 0


def test_groups_of_one_are_counted_and_have_no_say() -> None:
    result = pairwise_accuracy([1, 2, 5], [1, 2, 9], ["a", "a", "b"])
    assert (result.value, result.groups, result.undefined_groups) == (1, 2, 1)


def test_unanimous_people_make_every_metric_right_once_it_ties_everything() -> None:
    result = pairwise_accuracy([1, 5, 2], [3, 3, 3], epsilon="calibrate")
    assert (result.value, result.epsilon) == (1, 4)


def test_more_pairs_than_could_be_listed_are_counted() -> None:
    generator = np.random.default_rng(8)
    people = generator.integers(0, 4, 60_000).astype(float)
    metric = people + generator.normal(size=60_000)
    result = pairwise_accuracy(metric, people, epsilon=0.5)
    assert result.pairs == 59_999 * 30_000
    # Two random grades tie with 1/4.
    assert (result.tied_both + result.tied_people) / result.pairs == pytest.approx(0.25, abs=0.003)
