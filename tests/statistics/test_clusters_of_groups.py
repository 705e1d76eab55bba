"""Clusters of grouped correlations, pairwise accuracy, best-worst scores and medians; and small sums beside them."""

from itertools import product

import numpy as np
import pytest
from scipy.special import stdtr

from evaluation.statistics.aggregation import best_worst_scores, unit_medians
from evaluation.statistics.correlation import correlation
from evaluation.statistics.inference import share_of_rows, spread_of_mean
from evaluation.statistics.inputs import BadOption, BadShape, BadValue
from evaluation.statistics.meta import (
    grouped_correlation,
    metric_winners,
    pair_accuracy,
    pair_credits,
    pairwise_accuracy,
)
from evaluation.statistics.significance import bootstrap_interval, randomization_test, summary_of_scores

ITEMS, EACH = 40, 6


def scores(seed: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw a metric's and people's scores of six outputs for each of 40 items, and the raters, eight in all."""
    generator = np.random.default_rng(seed)
    item, rater = np.repeat(np.arange(ITEMS), EACH), generator.integers(0, 8, ITEMS * EACH)
    people = generator.normal(size=len(item)) + generator.normal(0, 0.7, 8)[rater]
    return people + generator.normal(0, 1, len(item)), people, item, rater


@pytest.mark.parametrize("coefficient", ["spearman", "kendall-tau-b"])
def test_without_grouping_clusters_give_the_interval_of_a_correlation(coefficient: str) -> None:
    metric, people, item, rater = scores()
    by = {"item": item, "rater": rater}
    found = grouped_correlation(metric, people, item, rater, coefficient, grouping="none", clusters=by)
    plain = correlation(metric, people, coefficient, clusters=by)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))
    assert (found.clusters, found.resamples, found.reason) == ({"item": ITEMS, "rater": 8}, 0, "")
    assert "clusters:given-item-rater" in found.signature


@pytest.mark.parametrize("coefficient", ["pearson", "kendall-tau-b"])
def test_items_as_clusters_are_about_what_resampling_items_gives(coefficient: str) -> None:
    metric, people, item, rater = scores()
    resampled = grouped_correlation(metric, people, item, rater, coefficient, seed=1)
    by_item = grouped_correlation(metric, people, item, rater, coefficient, clusters={"item": item})
    assert by_item.value == resampled.value
    assert by_item.high - by_item.low == pytest.approx(resampled.high - resampled.low, rel=0.15)
    both = grouped_correlation(
        metric, people, item, rater, coefficient, clusters={"item": item, "rater": rater}
    )
    assert both.high - both.low > 0
    metric, people, item = (np.tile(column, 2) for column in (metric, people, item))
    outputs = np.arange(len(item))
    again = grouped_correlation(metric, people, item, outputs, coefficient, clusters={"item": item})
    assert again.high - again.low == pytest.approx(by_item.high - by_item.low, rel=0.25)


def test_clusters_too_few_are_a_reason_and_the_system_level_refuses_them() -> None:
    metric, people, item, rater = scores()
    few = grouped_correlation(metric, people, item, rater, clusters={"item": item // 20})
    assert "there are 2 items" in few.reason
    assert np.isnan(few.low)
    undefined = grouped_correlation([1.0, 1.0], [1.0, 2.0], [0, 0], [0, 1], clusters={"item": [0, 0]})
    assert undefined.reason == "no group has two observations that differ in both variables"
    with pytest.raises(BadOption, match="at the system level"):
        grouped_correlation(metric, people, item, rater, grouping="system-level", clusters={"item": item})


def test_pairwise_accuracy_by_documents_is_the_share_of_its_items() -> None:
    metric, people, item, _ = scores()
    each = [pairwise_accuracy(metric[item == one], people[item == one]).value for one in range(ITEMS)]
    document = np.arange(ITEMS) // 2
    found = pairwise_accuracy(metric, people, item, clusters={"item": document[item]})
    expected = share_of_rows(np.array(each), {"item": document}, 0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.clusters, found.resamples, found.reason) == ({"item": ITEMS // 2}, 0, "")
    assert "there is 1 item" in pairwise_accuracy(metric, people, clusters={"item": item * 0}).reason
    assert pairwise_accuracy([1.0], [1.0], clusters={"item": [0]}).reason == "no group has two observations"
    with pytest.raises(BadValue, match=r"clusters\['rater'\] differs within a group"):
        pairwise_accuracy(metric, people, item, clusters={"rater": np.arange(len(item))})
    with pytest.raises(BadShape):
        pairwise_accuracy(metric, people, item, clusters={"item": [1, 2]})


def test_best_worst_scores_have_intervals_of_their_showings() -> None:
    generator = np.random.default_rng(3)
    shown = [("a", "b", "c")] * 60
    best = generator.choice(["a", "b"], 60).tolist()
    worst = ["c" if name == "a" else "a" for name in best]
    rater, item = np.arange(60) % 6, np.arange(60) // 6
    found = best_worst_scores(shown, best, worst, clusters={"item": item, "rater": rater})
    points = np.array([1.0 if name == "a" else -1.0 for name in best])
    expected = share_of_rows((points + 1) / 2, {"item": item, "rater": rater}, 0.95)
    assert (found.low[0], found.high[0]) == pytest.approx((2 * expected.low - 1, 2 * expected.high - 1))
    assert (found.low <= found.score).all()
    assert (found.score <= found.high).all()
    assert (found.clusters, found.reason) == ({"item": 10, "rater": 6}, "")
    few = best_worst_scores(shown, best, worst, clusters={"rater": rater % 2})
    assert "there are 2 raters" in few.reason
    assert np.isnan(best_worst_scores(shown, best, worst).low).all()
    with pytest.raises(BadShape, match="has 2 entries, expected 60"):
        best_worst_scores(shown, best, worst, clusters={"rater": [1, 2]})


def test_what_is_no_mean_has_no_more_degrees_of_freedom_than_clusters() -> None:
    """A mean that comes as a function has the t of "mean", but of six raters five degrees of freedom."""
    generator = np.random.default_rng(3)
    rater, item = np.tile(np.arange(6), 40), np.repeat(np.arange(40), 6)
    one, two = generator.normal(size=(2, 240)) + 0.2
    two = two - 0.25
    by = {"item": item, "rater": rater}
    spread, _ = spread_of_mean(one - two, by)
    t = (one - two).mean() / np.sqrt(spread.variance)
    assert spread.df > 7
    known = randomization_test(one, two, reassignments=9999, clusters=by)
    assert known.p == pytest.approx(2 * stdtr(spread.df, -abs(t)), rel=0.03)
    given = randomization_test(one, two, lambda rows: rows.mean(axis=1), reassignments=9999, clusters=by)
    assert given.p == pytest.approx(2 * stdtr(5, -abs(t)), rel=0.03)


def test_medians_of_images_that_change_sides_together_are_counted_as_by_listing_them_all() -> None:
    generator = np.random.default_rng(5)
    image = np.repeat(np.arange(7), 3)
    one, two = generator.normal(size=(2, 21)) + generator.normal(size=(2, 7))[:, image]
    difference = np.median(one) - np.median(two)
    extreme = 0
    for coins in product((False, True), repeat=7):
        swapped = np.array(coins)[image]
        drawn = np.median(np.where(swapped, two, one)) - np.median(np.where(swapped, one, two))
        extreme += abs(drawn) >= abs(difference) - 1e-12
    found = randomization_test(one, two, "median", reassignments=1999, clusters={"item": image})
    assert found.difference == pytest.approx(difference)
    assert found.p == pytest.approx(extreme / 2**7, abs=0.03)


def test_credits_of_a_metric_give_the_accuracies_under_each_rule() -> None:
    first, second, winners = [2, 1, 1, 2, 1, 3], [1, 2, 1, 2, 2, 3], np.array([1, 1, 1, 2, 0, 0])
    named, whole = metric_winners(first, second), pair_accuracy(first, second, winners)["all"]

    def accuracy(**rules: str) -> float:
        credit, counts = pair_credits(named, winners, **rules)
        return float(credit[counts].mean())

    assert accuracy() == whole.value == 1 / 4
    assert accuracy(metric_ties="half") == whole.value_ties_half == 2 / 4
    assert accuracy(metric_ties="left-out") == 1 / 2
    assert accuracy(undecided="half") == 2 / 6
    assert accuracy(metric_ties="left-out", undecided="half") == 1.5 / 3
    with pytest.raises(BadOption, match="metric_ties"):
        accuracy(metric_ties="right")


def test_medians_and_summaries_are_numpys() -> None:
    units, values = ["b", "a", "b", "a", "b", "a"], [1.0, 4.0, 3.0, 1.0, 2.0, 1.0]
    names, medians = unit_medians([*units, "b"], [*values, 4.0])
    assert dict(zip(names.tolist(), medians.tolist(), strict=True)) == {"a": 1.0, "b": 2.5}
    scores, means = np.array([1.0, 2.0, 6.0, 7.0]), np.array([1.5, 6.5])
    found = summary_of_scores(scores, means, resamples=200, seed=0)
    interval = bootstrap_interval(means, resamples=200, seed=0)
    assert (found.micro, found.macro, found.low, found.high) == (4.0, 4.0, interval.low, interval.high)
    assert (found.deviation, found.median, found.least, found.most) == (scores.std(ddof=1), 4.0, 1.0, 7.0)
    assert np.isnan(summary_of_scores(scores[:1], means[:1], resamples=10, seed=0).deviation)
