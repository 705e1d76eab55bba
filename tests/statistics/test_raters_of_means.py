"""Coefficients with people's means, whose intervals are for other raters, too: each rater is left out in turn."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from quorum.statistics.agreement import kappa_grid, threshold_kappa
from quorum.statistics.correlation import COEFFICIENTS, correlation, means_without_raters
from quorum.statistics.inputs import BadOption, BadShape, BadValue
from quorum.statistics.meta import correlation_difference, grouped_correlation
from tests.marks import long_except
from tests.refusals import assert_names, refuses
from tests.statistics.plain_intervals import Spread, effective_number, half_width, with_raters

Study = tuple[Any, Any, Any, Any, Any]


def study(
    rng: np.random.Generator, captions: int = 60, raters: int = 8, each: int = 3, taste: float = 0.0
) -> Study:
    """Draw a metric's scores, and the caption, rater and grade of each rating; raters like what the metric likes."""
    quality = rng.normal(size=captions)
    metric = quality + rng.normal(size=captions)
    rater = np.argsort(rng.random((captions, raters)), axis=1)[:, :each].ravel()
    caption = np.repeat(np.arange(captions), each)
    liking = rng.normal(0, taste, raters)[rater] * metric[caption]
    grade = np.clip(np.round(3 + quality[caption] + liking + rng.normal(size=len(caption))), 1, 5)
    return metric, np.bincount(caption, grade) / each, caption, rater, grade


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 5)), min_size=1, max_size=30))
def test_a_mean_without_a_rater_is_that_of_the_others(ratings: list[tuple[int, int, int]]) -> None:
    caption, rater, grade = zip(*ratings, strict=True)
    left = means_without_raters(caption, [f"w-{number}" for number in rater], grade, 5)
    names = sorted({f"w-{number}" for number in rater})
    assert len(left.row) == len(set(zip(caption, rater, strict=True)))
    for row, code, value in zip(left.row.tolist(), left.rater.tolist(), left.value.tolist(), strict=True):
        others = [g for c, r, g in ratings if c == row and f"w-{r}" != names[code]]
        assert value == pytest.approx(np.mean(others)) if others else math.isnan(value)


@pytest.mark.parametrize("name", long_except(COEFFICIENTS, "pearson", "spearman", "kendall-tau-b"))
def test_a_coefficient_varies_with_images_and_raters(name: str) -> None:
    """The raters' part is the sum over raters of what is lost without them, squared, less that of single answers.

    It is the mean of such sums for people's means without each rater.
    """
    metric, means, caption, rater, grade = study(np.random.default_rng(3), captions=150, each=2, taste=0.5)
    image = np.arange(150) // 3
    value = correlation(metric, means, name, resamples=0).value
    left = means_without_raters(caption, rater, grade, 150)
    raters = effective_number(left.rater.tolist())
    changes = []
    for without in range(8):
        gone = left.rater == without
        people = means.copy()
        people[left.row[gone]] = left.value[gone]
        of_people = correlation(metric, people, name, resamples=0).value
        lost = []
        for row, other in zip(left.row.tolist(), left.value.tolist(), strict=True):
            moved = np.where(np.arange(150) == row, people + other - means[row], people)
            of_moved = correlation(metric, moved, name, resamples=0).value
            if name == "kendall-tau-c":  # for as many different means as there were
                levels, before = len(np.unique(moved)), len(np.unique(people))
                of_moved *= (1 - 1 / levels) / (1 - 1 / before)
            lost.append(of_people - of_moved)
        # a mean loses a rater's distance from the others, not from all
        changes.append((np.array(lost) - np.mean(lost)) * (1 - 1 / raters))

    by_image = correlation(metric, means, name, clusters={"item": image})
    both = correlation(
        metric,
        means,
        name,
        clusters={"item": image, "rater": left},
    )
    assert both.value == value
    assert both.clusters == {"item": 50, "rater": 8}

    def variance(p: float, df: float) -> float:
        return float((value / scipy.stats.t.isf(p / 2, df)) ** 2)

    of_items = Spread(variance(by_image.p, 49), 49)
    total, df, *_ = with_raters(of_items, changes[0], left.row.tolist(), left.rater.tolist(), *changes[1:])
    assert variance(both.p, df) == pytest.approx(total, rel=0.02)
    assert total > 1.5 * variance(by_image.p, 49)


def test_two_metrics_that_people_like_alike_are_rarely_told_apart() -> None:
    rng = np.random.default_rng(2)
    rejected = np.zeros(2)
    for _ in range(100):
        quality, rater = rng.normal(size=90), np.argsort(rng.random((90, 8)), axis=1)[:, :3].ravel()
        scores, caption = quality + rng.normal(size=(2, 90)), np.repeat(np.arange(90), 3)
        liking = (rng.normal(0, 0.7, (8, 2))[rater] * scores.T[caption]).sum(axis=1)
        grade = quality[caption] + liking + rng.normal(size=270)
        left = means_without_raters(caption, rater, grade, 90)
        for column, raters in enumerate(({}, {"rater": left})):
            by = {"item": np.arange(90), **raters}
            means = np.bincount(caption, grade) / 3
            difference = correlation_difference(scores[0], scores[1], means, clusters=by)
            rejected[column] += difference.p < 0.05
    assert rejected[0] > 20
    assert rejected[1] <= 11


def test_within_images_each_small_group_is_correlated_again() -> None:
    metric, means, caption, rater, grade = study(np.random.default_rng(4), captions=80, taste=1.0)
    image, text = np.arange(80) // 4, np.arange(80)
    left = means_without_raters(caption, rater, grade, 80)
    options: dict[str, Any] = {"coefficient": "kendall-tau-b", "grouping": "item"}

    def within(people: Any) -> float:
        return grouped_correlation(metric, people, image, text, resamples=0, **options).value

    changes = np.array(
        [
            within(means) - within(np.where(text == row, value, means))
            for row, value in zip(left.row, left.value, strict=True)
        ]
    )
    changes = (changes - changes.mean()) * (1 - 1 / effective_number(left.rater.tolist()))
    by_image, both = (
        grouped_correlation(metric, means, image, text, clusters=by, **options)
        for by in ({"item": image}, {"item": image, "rater": left})
    )
    # The scale of the interval is log((1 + v) / (1 - v)), with t's degrees of freedom.
    scale = 2 / (1 - both.value**2)
    items = (math.atanh(by_image.high) - math.atanh(by_image.low)) / scipy.stats.t.ppf(0.975, 19) / scale
    spread = with_raters(Spread(items**2, 19), changes.tolist(), left.row.tolist(), left.rater.tolist())
    width = math.atanh(both.high) - math.atanh(both.low)
    assert width == pytest.approx(half_width(spread) * scale, rel=1e-6)
    assert spread[0] > items**2
    with refuses(BadOption, "item", "system"):
        grouped_correlation(
            metric, means, image, text % 4, grouping="system", clusters={"item": image, "rater": left}
        )


def test_what_raters_say_of_images_with_one_text_tells_nothing_of_others() -> None:
    rng = np.random.default_rng(5)
    image, text = np.r_[np.repeat(np.arange(6), 3), 6 + np.arange(8)], np.arange(26)
    metric, means = rng.normal(size=(2, 26))
    left = means_without_raters(np.arange(18, 26), np.arange(8), means[18:], 26)
    by_image, both = (
        grouped_correlation(metric, means, image, text, clusters=by)
        for by in ({"item": image}, {"item": image, "rater": left})
    )
    assert (both.low, both.high) == (by_image.low, by_image.high)


def test_no_rater_can_leave_a_cell_of_kappa_that_is_empty() -> None:
    metric, means, caption, rater, grade = study(np.random.default_rng(9), captions=100, taste=1.0)
    left = means_without_raters(caption, rater, grade, 100)
    by_image, both = (
        threshold_kappa(np.minimum(metric + 3, means), means, 3.2, 3.2, clusters=by)
        for by in ({"item": np.arange(100)}, {"item": np.arange(100), "rater": left})
    )
    assert (both.first_only, both.precision.value) == (0, 1.0)
    assert both.recall.high - both.recall.low > by_image.recall.high - by_image.recall.low


def test_kappa_and_its_like_lose_what_a_rater_decided() -> None:
    metric, means, caption, rater, grade = study(np.random.default_rng(6), captions=200, taste=1.5)
    left = means_without_raters(caption, rater, grade, 200)
    by_image, both = (
        threshold_kappa(metric, means, 0.3, 3.2, clusters=by)
        for by in ({"item": np.arange(200)}, {"item": np.arange(200), "rater": left})
    )
    assert both.clusters == {"item": 200, "rater": 8}
    for name in ("kappa", "precision", "recall", "f1"):
        narrow, wide = getattr(by_image, name), getattr(both, name)
        assert wide.value == narrow.value
        assert wide.high - wide.low > 1.1 * (narrow.high - narrow.low)
    cells = kappa_grid(metric, means, [0.3], [3.2], clusters={"item": np.arange(200), "rater": left}).cells
    assert cells[0].kappa == both.kappa


def test_captions_with_one_rater_leave_with_them_and_rows_without_a_score_are_left_out() -> None:
    rng = np.random.default_rng(7)
    metric, grade, rater = rng.normal(size=40), rng.integers(1, 6, 40).astype(float), np.arange(40) % 8
    left = means_without_raters(np.arange(40), rater, grade, 40)
    assert np.isnan(left.value).all()
    whole = correlation(metric, grade, clusters={"item": np.arange(40), "rater": left})
    assert whole.clusters == {"item": 40, "rater": 8}
    assert -1 < whole.low < whole.value < whole.high < 1
    gappy = np.where(np.arange(40) < 5, np.nan, metric)
    part = correlation(
        gappy, grade, missing="leave-out", clusters={"item": np.arange(40), "rater": left}, resamples=0
    )
    later = means_without_raters(np.arange(35), rater[5:], grade[5:], 35)
    same = correlation(metric[5:], grade[5:], clusters={"item": np.arange(35), "rater": later}, resamples=0)
    assert (part.low, part.high, part.clusters) == (same.low, same.high, same.clusters)


def test_one_rater_is_this_rater_and_raters_alone_are_clusters() -> None:
    metric, means, caption, rater, grade = study(np.random.default_rng(8), raters=1, each=1)
    left = means_without_raters(caption, rater, grade, 60)
    single = correlation(metric, means, clusters={"item": np.arange(60), "rater": left})
    plain = correlation(metric, means, clusters={"item": np.arange(60)})
    assert (single.low, single.high) == (plain.low, plain.high)
    assert_names(single.note, "1", "2")
    metric, means, caption, rater, grade = study(np.random.default_rng(8), taste=1.0)
    left = means_without_raters(caption, rater, grade, 60)
    alone = correlation(metric, means, clusters={"rater": left})
    both = correlation(metric, means, clusters={"item": np.arange(60), "rater": left})
    assert (alone.low, alone.high, alone.clusters) == (both.low, both.high, {"rater": 8})


def test_wrong_ratings_are_named() -> None:
    with refuses(BadValue, "rows", "1", "2", "0"):
        means_without_raters([0, 2], ["a", "b"], [1, 2], 2)
    left = means_without_raters([0, 2], ["a", "b"], [1, 2], 3)
    with refuses(BadShape, "observation", "2"):
        correlation([1, 0], [0, 1], clusters={"rater": left})


def test_intervals_hold_the_truth_where_few_raters_have_strong_tastes() -> None:
    """Where their tastes cancel out by chance, a metric agrees best with them, and none of them seems to matter."""
    rng = np.random.default_rng(5)
    raters, items = 5, 150
    row, rater = np.divmod(np.arange(items * raters), raters)

    def draw() -> tuple[Any, Any]:
        quality = rng.normal(size=items)
        metrics = quality + np.array([[0.5], [2.0]]) * rng.normal(size=(2, items))
        severity, favour = rng.normal(0, 0.6, raters), rng.normal(0, 0.6, (2, raters))
        liking = quality[row] + severity[rater] + rng.normal(size=len(row))
        liking += (np.sign(metrics)[:, row] * favour[:, rater]).sum(axis=0)
        return metrics[0], np.clip(np.round(3 + 1.2 * liking), 1, 5)

    def people(grades: Any) -> Any:
        return grades.reshape(items, raters).mean(axis=1)

    draws = [draw() for _ in range(1000)]
    truth = np.mean([scipy.stats.kendalltau(metric, people(grades)).statistic for metric, grades in draws])
    hits = 0
    for metric, grades in draws[:300]:
        left = means_without_raters(row, rater, grades, items)
        by = {"item": np.arange(items), "rater": left}
        result = correlation(metric, people(grades), "kendall-tau-b", clusters=by)
        hits += bool(result.low <= truth <= result.high)
    assert hits >= 0.92 * 300


def test_of_more_than_twenty_raters_none_is_left_out_first() -> None:
    metric, means, caption, rater, grade = study(np.random.default_rng(6), raters=21, taste=0.5)
    left = means_without_raters(caption, rater, grade, 60)
    raters = effective_number(left.rater.tolist())
    value = correlation(metric, means, "pearson", resamples=0).value
    lost = [
        value - correlation(metric, np.where(np.arange(60) == row, other, means), resamples=0).value
        for row, other in zip(left.row.tolist(), left.value.tolist(), strict=True)
    ]
    changes = (np.array(lost) - np.mean(lost)) * (1 - 1 / raters)
    by_item = correlation(metric, means, "pearson", clusters={"item": np.arange(60)})
    both = correlation(metric, means, "pearson", clusters={"item": np.arange(60), "rater": left})

    def variance(p: float, df: float) -> float:
        return float((value / scipy.stats.t.isf(p / 2, df)) ** 2)

    of_items = Spread(variance(by_item.p, 59), 59)
    total, df, *_ = with_raters(of_items, changes.tolist(), left.row.tolist(), left.rater.tolist())
    assert variance(both.p, df) == pytest.approx(total, rel=0.03)


@pytest.mark.parametrize("grades", [(1, 2, 2, 3, 4, 5), (3, 3, 3, 3, 3, 3)])
def test_means_that_are_equal_without_a_rater_are_passed_over(grades: tuple[int, ...]) -> None:
    """One of two raters gives all items the same grade; in the second case both do, but for a single item."""
    metric = [0.1, 0.3, 0.2, 0.5, 0.4, 0.9]
    first = np.array(grades, dtype=float)
    second = np.full(6, 3.0)
    if len(set(grades)) == 1:
        first, second = np.append(first[:5], math.nan), np.append(second[:5], 5.0)
    rows = np.tile(np.arange(6), 2)
    names, ratings = np.repeat(["ada", "ben"], 6), np.concatenate([first, second])
    given = ~np.isnan(ratings)
    left = means_without_raters(rows[given], names[given], ratings[given], 6)
    means = np.bincount(rows[given], ratings[given]) / np.bincount(rows[given])
    result = correlation(metric, means, "kendall-tau-b", clusters={"item": np.arange(6), "rater": left})
    assert result.clusters == {"item": 6, "rater": 2}
    assert result.low < result.value < result.high
