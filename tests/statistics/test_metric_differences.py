"""How two metrics differ in their agreement with people, and soft pairwise accuracy of systems."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from evaluation.statistics.correlation import kendall_tau_b
from evaluation.statistics.inputs import BadShape
from evaluation.statistics.meta import accuracy_difference, correlation_difference, soft_pairwise_accuracy

RANDOM = np.random.default_rng(3)
PEOPLE = RANDOM.normal(size=240)
GOOD = PEOPLE + RANDOM.normal(size=240)
POOR = GOOD + 2 * RANDOM.normal(size=240)
IMAGES = np.repeat(np.arange(60), 4)


def test_the_difference_of_two_accuracies_is_that_of_a_paired_t() -> None:
    winners = np.array([1, 1, 2, 2, 1, 2, 1, 1, 0, 2])
    first, second = np.zeros((10, 2)), np.zeros((10, 2))
    first[:, 0], second[:, 0] = [1, 1, -1, -1, 1, 1, 1, -1, 1, 0], [1, -1, -1, 1, -1, 1, 1, 1, 1, -1]
    found = accuracy_difference(first, second, winners)["all"]
    decided = winners != 0
    right = [
        ((side[:, 0] > 0) & (winners == 1)) | ((side[:, 0] < 0) & (winners == 2)) for side in (first, second)
    ]
    difference = right[0][decided].astype(float) - right[1][decided]
    expected = stats.ttest_1samp(difference, 0).confidence_interval(0.95)
    assert (found.first, found.second, found.n) == (6 / 9, 5 / 9, 9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    # Three pairs are right by the first alone and two by the second: the exact test of 2 in 5.
    assert found.p == 1.0


def test_by_images_the_interval_is_that_of_the_sums_of_images() -> None:
    winners = np.ones(240)
    table = np.stack([GOOD, np.zeros(240)], axis=1)
    other = np.stack([POOR, np.zeros(240)], axis=1)
    found = accuracy_difference(table, other, winners, ["HC"] * 240, clusters={"item": IMAGES})
    sums = (((GOOD > 0) * 1.0) - (POOR > 0)).reshape(60, 4).mean(axis=1)
    expected = stats.ttest_1samp(sums, 0).confidence_interval(0.95)
    assert (found["HC"].low, found["HC"].high) == pytest.approx((expected.low, expected.high))
    assert found["all"].clusters == {"item": 60}


@pytest.mark.large
def test_the_difference_of_correlations_varies_as_in_resampled_images() -> None:
    found = correlation_difference(GOOD, POOR, PEOPLE, clusters={"item": IMAGES})
    assert found.first == pytest.approx(stats.kendalltau(GOOD, PEOPLE).statistic)
    assert found.second == pytest.approx(stats.kendalltau(POOR, PEOPLE).statistic)
    generator, drawn = np.random.default_rng(1), []
    for _ in range(500):
        rows = (generator.integers(0, 60, 60)[:, np.newaxis] * 4 + np.arange(4)).ravel()
        human = PEOPLE[rows]
        drawn.append(kendall_tau_b(GOOD[rows], human) - kendall_tau_b(POOR[rows], human))
    error = (found.high - found.low) / 2 / stats.t.ppf(0.975, 59)
    assert error == pytest.approx(np.std(drawn), rel=0.1)
    assert found.p == pytest.approx(2 * stats.t.sf(found.difference / error, 59))


def test_of_a_metric_and_itself_nothing_differs_and_a_constant_one_has_no_correlation() -> None:
    same = correlation_difference(GOOD, GOOD, PEOPLE)
    assert (same.difference, same.low, same.high, math.isnan(same.p)) == (0, 0, 0, True)
    assert same.reason.startswith("both metrics order the observations alike")
    constant = correlation_difference(GOOD, np.ones(240), PEOPLE)
    assert constant.reason == "the second metric's variable has the same value throughout"
    assert (constant.first, math.isnan(constant.second)) == (same.first, True)
    few = correlation_difference(GOOD[:8], POOR[:8], PEOPLE[:8], clusters={"item": [1, 1, 1, 1, 2, 2, 2, 2]})
    assert few.reason == "there are 2 items, expected 5 or more to say what others would give"
    assert math.isnan(few.low)


def test_pairs_without_a_consensus_have_no_difference() -> None:
    found = accuracy_difference(np.zeros((2, 2)), np.zeros((2, 2)), [0, 0])["all"]
    assert (found.reason, found.n, math.isnan(found.difference)) == ("no pair has a consensus", 0, True)
    with pytest.raises(BadShape, match=r"second has shape \(3, 2\), expected both scores of 2 pairs"):
        accuracy_difference(np.zeros((2, 2)), np.zeros((3, 2)), [1, 2])


def spelled_out(scores: np.ndarray, people: np.ndarray) -> float:
    """SPA by every one of the 2^N reassignments."""
    gaps = []
    for one, two in itertools.combinations(range(len(scores)), 2):
        p = []
        for table in (scores, people):
            difference = table[one] - table[two]
            sums = [np.dot(signs, difference) for signs in itertools.product((1, -1), repeat=len(difference))]
            p.append(np.mean(np.array(sums) >= difference.sum() - 1e-9))
        gaps.append(1 - abs(p[0] - p[1]))
    return float(np.mean(gaps))


def test_soft_pairwise_accuracy_is_that_of_every_reassignment() -> None:
    generator = np.random.default_rng(5)
    people = generator.integers(0, 6, size=(4, 9)) + np.arange(4)[:, np.newaxis]
    scores = people + generator.integers(-4, 5, size=(4, 9))
    found = soft_pairwise_accuracy(scores, people, reassignments=20_000)
    assert found.value == pytest.approx(spelled_out(scores, people), abs=0.01)
    means, human = scores.mean(axis=1), people.mean(axis=1)
    alike = [
        np.sign(means[i] - means[j]) == np.sign(human[i] - human[j])
        for i, j in itertools.combinations(range(4), 2)
    ]
    assert found.pairwise == np.mean(alike)
    assert (found.systems, found.pairs, found.n) == (4, 6, 9)


def test_a_metric_that_says_what_people_say_has_one_and_its_opposite_nothing() -> None:
    people = np.arange(3)[:, np.newaxis] * 10.0 + np.random.default_rng(0).normal(size=(3, 30))
    assert soft_pairwise_accuracy(2 * people + 1, people).value == 1
    opposite = soft_pairwise_accuracy(-people, people)
    assert (opposite.value, opposite.pairwise) == (pytest.approx(0, abs=0.002), 0)


def test_items_without_a_score_are_left_out_or_refused() -> None:
    people = np.array([[1.0, 2, 3, math.nan], [2, 2, 5, 1]])
    whole = soft_pairwise_accuracy(people[:, :3], people[:, :3])
    found = soft_pairwise_accuracy(people, people, missing="leave-out")
    assert (found.value, found.n, found.left_out) == (whole.value, 3, 1)
    with pytest.raises(BadShape, match=r"people\[0\] has no score at position 3, expected one of every"):
        soft_pairwise_accuracy(np.ones((2, 4)), people)
    with pytest.raises(BadShape, match="scores has 1 dimensions"):
        soft_pairwise_accuracy(people[1], people[1])
    with pytest.raises(BadShape, match=r"scores has shape \(2, 3\) and people \(2, 4\), expected the same"):
        soft_pairwise_accuracy(np.ones((2, 3)), np.ones((2, 4)))
    assert soft_pairwise_accuracy(people[1:], people[1:]).reason == "there are fewer than two systems"
    none = soft_pairwise_accuracy([[math.nan], [1.0]], [[1.0], [2.0]], missing="leave-out")
    assert (none.reason, math.isnan(none.value)) == ("no item has a score of every system", True)
