"""Correlations of items and systems against a plain loop over the groups, and their intervals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics.correlation import COEFFICIENTS, correlation
from evaluation.statistics.inputs import BadValue
from evaluation.statistics.meta import grouped_correlation
from evaluation.statistics.meta.grouped import long_table, system_means
from tests.statistics import plain_differences

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
        assert math.isnan(value) == bool(result.reason)
        assert result.groups == len(result.group_names) == len(result.group_values)
        assert result.undefined_groups == np.isnan(result.group_values).sum()


@pytest.mark.large
@pytest.mark.parametrize(
    ("coefficient", "grouping"),
    [*(("pearson", grouping) for grouping in GROUPINGS), ("kendall-tau-b", "none")],
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
    assert result.group_names.tolist() == ["alone", "flat", "rising"]
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
    assert result.reason == "no group has two observations that differ in both variables"


@pytest.mark.parametrize("filled", [0.9, 0.1])  # a full table and a sparse one are multiplied differently
def test_means_of_systems_weigh_items(filled: float) -> None:
    generator = np.random.default_rng(8)
    cells = np.flatnonzero(generator.random(40 * 30) < filled)
    scores, items, systems = generator.normal(size=len(cells)), cells // 30, cells % 30
    table = long_table(scores, scores, items, systems, "refuse")[2]
    weights = generator.integers(1, 4, size=len(table.item_names)).astype(float)
    rows = weights[np.searchsorted(table.item_names, items)]
    expected = [
        np.average(scores[systems == one], weights=rows[systems == one]) for one in table.system_names
    ]
    assert system_means(scores, table)(weights) == pytest.approx(expected, abs=1e-9)
