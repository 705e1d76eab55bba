"""Correlations and pairwise accuracy against a plain loop over the groups, intervals, and tests of two metrics."""

import itertools
import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quorum.statistics.agreement import threshold_kappa, weighted_kappa
from quorum.statistics.correlation import COEFFICIENTS, correlation, kendall_tau_b, means_without_raters
from quorum.statistics.inputs import BadOption, BadShape, BadValue
from quorum.statistics.meta import (
    accuracy_difference,
    correlation_difference,
    grouped_correlation,
    pairwise_accuracy,
    soft_accuracy_of_comparisons,
    soft_pairwise_accuracy,
)
from quorum.statistics.meta.accuracy import NO_CONSENSUS
from quorum.statistics.meta.grouped import NO_GROUP, mean_within
from quorum.statistics.meta.pairwise import NO_PAIR
from quorum.statistics.meta.soft_pairwise import NO_ITEM, NOT_COMPARED, TOO_FEW_SYSTEMS
from tests.refusals import assert_names, refuses
from tests.statistics import plain_differences
from tests.statistics.golden import golden, with_nan

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5), st.integers(0, 5)),
    min_size=1,
    max_size=30,
)

GROUPINGS = ("none", "item", "system", "system-level")


def study(items: int, systems: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores of a metric and of people, items and systems of a table that has every output once."""
    generator = np.random.default_rng(seed)
    quality = np.tile(np.linspace(0, 1, systems), items)
    people = np.round(quality * 2 + generator.normal(size=items * systems))
    metric = people + generator.normal(size=items * systems)
    return metric, people, np.repeat(np.arange(items), systems), np.tile(np.arange(systems), items)


@settings(max_examples=30)
@given(ROWS, st.sampled_from(COEFFICIENTS))
def test_every_grouping_is_the_plain_loop_over_its_groups(
    rows: list[tuple[int, int, int, int]], coefficient: str
) -> None:
    items, systems, x, y = np.array(rows).T
    x, y = x / 3, y / 7
    expected = {
        "none": plain_differences.coefficient(x, y, coefficient),
        "item": plain_differences.mean_over(items, x, y, coefficient),
        "system": plain_differences.mean_over(systems, x, y, coefficient),
        "system-level": plain_differences.of_means(systems, x, y, coefficient),
    }
    for grouping, value in expected.items():
        result = grouped_correlation(x, y, items, systems, coefficient, grouping=grouping, resamples=20)
        assert result.value == pytest.approx(value, abs=1e-9, nan_ok=True)
        has_interval = grouping != "system-level" and not math.isnan(value)
        assert (result.reason == "", math.isnan(result.low)) == (has_interval, not has_interval)


@pytest.mark.large
@pytest.mark.parametrize(
    ("coefficient", "grouping"),
    [*(("pearson", grouping) for grouping in GROUPINGS[:3]), ("kendall-tau-b", "none")],
)
def test_the_interval_is_that_of_redrawing_whole_items_or_systems(coefficient: str, grouping: str) -> None:
    metric, people, items, systems = study(40, 6)
    over = systems if grouping == "system" else items
    places = [np.flatnonzero(over == unit) for unit in np.unique(over)]
    generator = np.random.default_rng(2)
    redrawn = []
    for _ in range(300):
        drawn = generator.integers(0, len(places), len(places))
        rows = np.concatenate([places[unit] for unit in drawn])
        # A unit that is drawn twice is two units.
        units = np.repeat(np.arange(len(drawn)), [len(places[unit]) for unit in drawn])
        of_items, of_systems = (items[rows], units) if grouping == "system" else (units, systems[rows])
        once = grouped_correlation(
            metric[rows], people[rows], of_items, of_systems, coefficient, grouping=grouping, resamples=0
        )
        redrawn.append(once.value)
    result = grouped_correlation(
        metric, people, items, systems, coefficient, grouping=grouping, confidence=0.5
    )
    # A quarter of the redraws lies on the far side of either end (few values occur, so ends may be hit).
    drawn_values, slack = np.array(redrawn), 4 * math.sqrt(0.25 * 0.75 / 300)
    assert (drawn_values < result.low - 1e-9).mean() < 0.25 + slack
    assert (drawn_values <= result.low + 1e-9).mean() > 0.25 - slack
    assert (drawn_values > result.high + 1e-9).mean() < 0.25 + slack
    assert (drawn_values >= result.high - 1e-9).mean() > 0.25 - slack
    assert result.resampled == ("systems" if grouping == "system" else "items")


def test_items_without_two_different_grades_are_left_out_and_counted() -> None:
    people = [1, 1, 1, 2, 3, 4, 5]
    metric = [1, 2, 3, 1, 2, 3, 9]
    items = ["flat"] * 3 + ["rising"] * 3 + ["alone"]
    result = grouped_correlation(metric, people, items, ["a", "b", "c"] * 2 + ["a"], "kendall-tau-b")
    assert result.value == 1
    assert (result.groups, result.undefined_groups, result.items, result.systems) == (3, 2, 3, 3)
    assert result.undefined_resamples > 0


def test_systems_with_equal_mean_grades_tie_whatever_the_rounding() -> None:
    # Means of 0.1, 0.2, 0.3 and of 0.3, 0.2, 0.1 are 0.2 but for rounding.
    people = [0.1, 0.3, 0.5, 0.2, 0.2, 0.5, 0.3, 0.1, 0.5]
    metric = [1, 2, 3] * 3
    items, systems = np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3)
    result = grouped_correlation(metric, people, items, systems, "kendall-tau-b", grouping="system-level")
    assert result.value == pytest.approx(2 / math.sqrt(6))


def test_rows_without_a_score_are_left_out_when_asked() -> None:
    metric, people = [1.0, math.nan, 3, 4, 5, 1], [1.0, 2, math.nan, 3, 4, 9]
    items, systems = ["a", "a", "b", "a", "a", "c"], ["s", "t", "t", "u", "v", "s"]
    with pytest.raises(BadValue, match=r"first\[1\] is nan"):
        grouped_correlation(metric, people, items, systems)
    result = grouped_correlation(metric, people, items, systems, missing="leave-out", resamples=0)
    assert (result.n, result.left_out, result.items, result.systems) == (4, 2, 2, 3)
    assert result.value == pytest.approx(correlation([1, 4, 5], [1, 3, 4], resamples=0).value)


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize(
    ("metric", "people"), [([], []), ([1.0], [2.0]), ([3.0, 3.0], [1.0, 2.0]), ([math.nan], [1.0])]
)
def test_without_two_different_observations_there_is_nan_and_a_reason(
    grouping: str, metric: list[float], people: list[float]
) -> None:
    names = ["x"] * len(metric)
    result = grouped_correlation(
        metric, people, names, list(range(len(metric))), "spearman", grouping=grouping, missing="leave-out"
    )
    assert math.isnan(result.value)
    assert math.isnan(result.low)
    assert result.reason == NO_GROUP


def exact_p(differences: Sequence[float]) -> float:
    """All exchanges of two systems; equal means count half."""
    seen = sum(differences)
    drawn = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return float(np.mean([(one > seen + 1e-9) + 0.5 * (abs(one - seen) <= 1e-9) for one in drawn]))


def test_it_is_one_less_the_mean_distance_of_p() -> None:
    people = {
        ("a", "b"): [1, 1, 0, 1, -1, 1],
        ("a", "c"): [1, 1, 1, 1, 1, 0],
        ("b", "c"): [0, 0, 1, -1, 1, 0],
    }
    metric = {pair: [0.3, -0.1, 0.2, 0.5, 0.1, 0.4 - place] for place, pair in enumerate(people)}
    rows = [(*pair, metric[pair][at], people[pair][at]) for pair in people for at in range(6)]
    # the order of the two systems does not matter
    rows[3:9] = [(two, one, -m, -p) for one, two, m, p in rows[3:9]]
    rows.append(("a", "a", 0.7, 1))
    found = soft_accuracy_of_comparisons(*zip(*rows, strict=True), reassignments=40_000)
    p_people, p_metric = ([exact_p(one[pair]) for pair in people] for one in (people, metric))
    assert found.p_people == pytest.approx(p_people, abs=0.01)
    assert found.p_scores == pytest.approx(p_metric, abs=0.01)
    assert found.value == pytest.approx(1 - np.abs(np.subtract(p_people, p_metric)).mean(), abs=0.01)
    assert (found.pairs, found.comparisons) == (3, 18)
    assert found.pairwise == pytest.approx(2 / 3)
    turned = soft_accuracy_of_comparisons(
        ["b"] * 6, ["a"] * 6, [-one for one in metric["a", "b"]], [-1, -1, 0, -1, 1, -1]
    )
    assert turned.value == pytest.approx(1 - abs(p_people[0] - p_metric[0]), abs=0.05)


def test_people_against_themselves_agree_wholly_and_nothing_says_why() -> None:
    scores = np.random.default_rng(0).normal(size=40)
    itself = soft_accuracy_of_comparisons(["a"] * 40, ["b"] * 40, scores, scores, reassignments=200)
    assert (itself.value, itself.pairwise) == (1.0, 1.0)
    nothing = soft_accuracy_of_comparisons(["a"], ["a"], [1.0], [1.0])
    assert np.isnan(nothing.value)
    assert nothing.reason == NOT_COMPARED


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
    assert "both metrics" in same.reason
    constant = correlation_difference(GOOD, np.ones(240), PEOPLE)
    assert "second metric's variable" in constant.reason
    assert (constant.first, math.isnan(constant.second)) == (same.first, True)
    alone = correlation_difference(GOOD[:8], POOR[:8], PEOPLE[:8], clusters={"item": [1] * 8})
    assert_names(alone.reason, "1 item", "2")
    assert math.isnan(alone.low)


def test_pairs_without_a_consensus_have_no_difference() -> None:
    found = accuracy_difference(np.zeros((2, 2)), np.zeros((2, 2)), [0, 0])["all"]
    assert (found.reason, found.n, math.isnan(found.difference)) == (NO_CONSENSUS, 0, True)
    with refuses(BadShape, "second", "3", "2"):
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
    with refuses(BadShape, "people", "0", "3"):
        soft_pairwise_accuracy(np.ones((2, 4)), people)
    with refuses(BadShape, "scores", "1 dimensions"):
        soft_pairwise_accuracy(people[1], people[1])
    with refuses(BadShape, "scores has shape", "2", "3", "4"):
        soft_pairwise_accuracy(np.ones((2, 3)), np.ones((2, 4)))
    assert soft_pairwise_accuracy(people[1:], people[1:]).reason == TOO_FEW_SYSTEMS
    none = soft_pairwise_accuracy([[math.nan], [1.0]], [[1.0], [2.0]], missing="leave-out")
    assert (none.reason, math.isnan(none.value)) == (NO_ITEM, True)


CASES = golden("differences.json")["ties"]

GRADED_ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 3)), min_size=2, max_size=25
)


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
@given(GRADED_ROWS, st.integers(0, 9))
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
    assert result.reason == NO_PAIR
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


X, Y = np.array([1.0, 3, 2, 2, 5, 4, 6, 3]), np.array([1.0, 2, 2, 4, 3, 5, 5, 1])
OTHER = np.array([2.0, 1, 3, 5, 4, 4, 7, 2])
TIMES = np.array([1, 8, 1, 1, 2, 1, 3, 8])
GROUPS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
PLACES = np.arange(8)


def test_weighted_rows_give_the_figures_of_as_many_equal_rows() -> None:
    repeated = np.repeat(PLACES, TIMES)
    for coefficient in COEFFICIENTS:
        ours = correlation(X, Y, coefficient, weights=TIMES, clusters={"item": PLACES})
        theirs = correlation(X[repeated], Y[repeated], coefficient, clusters={"item": repeated})
        assert [ours.value, ours.low, ours.high, ours.p] == pytest.approx(
            [theirs.value, theirs.low, theirs.high, theirs.p]
        )
        assert (ours.n, theirs.n) == (8, 25)
        difference = correlation_difference(
            X, OTHER, Y, coefficient, weights=TIMES, clusters={"item": PLACES}
        )
        of_rows = correlation_difference(
            X[repeated], OTHER[repeated], Y[repeated], coefficient, clusters={"item": repeated}
        )
        assert [difference.difference, difference.low, difference.p] == pytest.approx(
            [of_rows.difference, of_rows.low, of_rows.p]
        )
        alone = correlation(X, Y, coefficient, weights=TIMES)  # each row is a cluster
        assert [alone.low, alone.p] == pytest.approx([ours.low, ours.p])


def test_a_pair_of_weighted_rows_counts_by_the_product_in_tau_b() -> None:
    weights = TIMES * 0.9
    signs = np.sign(X[:, None] - X) * np.sign(Y[:, None] - Y)
    both = np.outer(weights, weights)
    untied = [both[values[:, None] != values].sum() for values in (X, Y)]
    expected = (both * signs).sum() / math.sqrt(untied[0] * untied[1])
    assert correlation(X, Y, "kendall-tau-b", weights=weights, resamples=0).value == pytest.approx(expected)


def test_weights_count_within_items_which_count_equally() -> None:
    for coefficient in COEFFICIENTS:
        options: dict[str, Any] = {"clusters": {"item": GROUPS}}
        ours = grouped_correlation(X, Y, GROUPS, PLACES, coefficient, weights=TIMES, **options)
        each = [
            correlation(X[rows], Y[rows], coefficient, weights=TIMES[rows], resamples=0).value
            for rows in (GROUPS == 0, GROUPS == 1)
        ]
        assert ours.value == pytest.approx(np.mean(each))
    with pytest.raises(BadOption, match="expected grouping 'item'"):
        grouped_correlation(X, Y, GROUPS, PLACES, weights=TIMES, grouping="none")


def test_weights_are_positive_and_one_for_each_row() -> None:
    with refuses(BadValue, "smallest", "0"):
        correlation(X, Y, weights=PLACES)
    with pytest.raises(BadShape, match="weights 3"):
        correlation(X, Y, weights=TIMES[:3])


def test_a_rater_less_loses_what_their_weighted_row_loses() -> None:
    raters = [rater for _ in PLACES for rater in "abc"]
    ratings = np.repeat(Y, 3) + np.tile([-0.5, 0, 0.5], 8) * np.repeat(TIMES % 3, 3)
    once = means_without_raters(np.repeat(PLACES, 3), raters, ratings, 8)
    for coefficient in ("pearson", "kendall-tau-b"):
        plain = correlation(X, Y, coefficient, clusters={"item": PLACES, "rater": once})
        ones = correlation(X, Y, coefficient, weights=np.ones(8), clusters={"item": PLACES, "rater": once})
        assert [plain.low, plain.high] == pytest.approx([ones.low, ones.high])
        weighted = correlation(X, Y, coefficient, weights=TIMES, clusters={"item": PLACES, "rater": once})
        assert weighted.low < weighted.value < weighted.high
        assert weighted.value != pytest.approx(plain.value)


def test_weighted_kappa_is_that_of_as_many_equal_rows() -> None:
    repeated = np.repeat(PLACES, TIMES)
    for at in (2, 3, 4):
        ours = weighted_kappa(X, Y, at, 3, TIMES, {"item": PLACES})
        theirs = threshold_kappa(X[repeated], Y[repeated], at, 3, clusters={"item": repeated})
        assert [ours.value, ours.low, ours.high] == pytest.approx(
            [theirs.kappa.value, theirs.kappa.low, theirs.kappa.high]
        )
    assert math.isnan(weighted_kappa(X, Y, 0, 0, TIMES).value)
    raters, ratings = list("abc" * 8), np.repeat(Y, 3) + np.tile([-2, 0, 2], 8)
    people = means_without_raters(np.repeat(PLACES, 3), raters, ratings, 8)
    alone = weighted_kappa(X, Y, 2, 3, TIMES, {"item": PLACES})
    both = weighted_kappa(X, Y, 2, 3, TIMES, {"item": PLACES, "rater": people})
    assert both.value == alone.value
    assert both.high - both.low > alone.high - alone.low  # whoever is left out turns some answers


def test_the_mean_of_rho_over_groups_has_the_interval_of_t_over_them() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=120)
    y = x + rng.normal(size=120)
    rho = [
        stats.spearmanr(x[start : start + 6], y[start : start + 6]).statistic for start in range(0, 120, 6)
    ]
    # A group of equal values has no rho.
    figure = mean_within(np.r_[x, np.ones(6)], np.r_[y, y[:6]], np.arange(0, 127, 6))
    assert (figure.value, figure.n) == (pytest.approx(np.mean(rho)), 20)
    # Symmetric on the scale log((1 + v) / (1 - v)), whose slope is 2 / (1 - v^2).
    half = stats.t.ppf(0.975, 19) * np.std(rho, ddof=1) / math.sqrt(20) * 2 / (1 - figure.value**2)
    ends = [math.tanh(math.atanh(figure.value) + side * half / 2) for side in (-1, 1)]
    assert (figure.low, figure.high) == pytest.approx(ends)
    assert figure.as_json() == figure._asdict()
    nothing = mean_within(np.ones(4), np.arange(4.0), np.array([0, 4]))
    assert nothing.as_json() == {"value": None, "low": None, "high": None, "n": 0}
