"""How often a metric names the people's winner."""

import math

import pytest
from scipy import stats

from evaluation.statistics.meta import metric_winners, pair_accuracy, wilson_interval

# Six pairs: right, wrong, tie, right, no consensus (the metric decides), no consensus (it does not).
FIRST = [0.9, 0.2, 0.5, 0.1, 0.7, 0.3]
SECOND = [0.1, 0.8, 0.5, 0.4, 0.6, 0.3]
WINNERS = [1, 1, 2, 2, 0, 0]
KINDS = ["HC", "HC", "HC", "HI", "HC", "HI"]


def test_a_metrics_tie_is_wrong_and_undecided_pairs_are_left_out() -> None:
    result = pair_accuracy(FIRST, SECOND, WINNERS, KINDS)
    assert list(result) == ["HC", "HI", "all"]
    assert result["all"].value == 2 / 4
    assert (result["all"].n, result["all"].no_consensus, result["all"].pairs) == (4, 2, 6)
    assert (result["all"].correct, result["all"].metric_ties) == (2, 1)
    assert result["HC"].value == 1 / 3
    assert result["HI"].value == 1.0


def test_the_other_readings_stand_beside() -> None:
    total = pair_accuracy(FIRST, SECOND, WINNERS)["all"]
    assert total.value_ties_half == 2.5 / 4
    # Of the undecided pairs the metric decides one, which a drawn winner confirms half of the time.
    assert total.value_all_pairs == 2.5 / 6


def test_scores_that_differ_by_rounding_alone_are_tied() -> None:
    assert metric_winners([0.1 + 0.2, 0.3, 1e-9], [0.3, 0.3 - 1e-6, 2e-9]).tolist() == [0, 1, 2]
    assert metric_winners([0.0, -1.0], [0.0, -2.0]).tolist() == [0, 1]


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (5, 10), (10, 10), (718, 1000), (997, 1000), (1, 1)])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_interval_is_scipys_wilson_interval(successes: int, n: int, confidence: float) -> None:
    expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    low, high = wilson_interval(successes, n, confidence)
    assert low == pytest.approx(expected.low, abs=1e-12)
    assert high == pytest.approx(expected.high, abs=1e-12)


def test_the_interval_of_a_kind_is_that_of_its_counts() -> None:
    result = pair_accuracy(FIRST, SECOND, WINNERS, KINDS)["HC"]
    assert (result.low, result.high) == wilson_interval(1, 3)
    assert result.interval == "wilson"


def test_a_kind_without_a_decided_pair_has_no_accuracy_and_says_so() -> None:
    result = pair_accuracy([1.0], [0.0], [0], ["MM"])["MM"]
    assert math.isnan(result.value)
    assert math.isnan(result.low)
    assert result.reason == "no pair has a consensus"
    assert math.isnan(pair_accuracy([], [], [])["all"].value_all_pairs)
