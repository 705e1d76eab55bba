"""Whether two metrics' correlations with people differ: the permutation test against all swaps."""

import itertools
import math
from typing import Any, Literal

import numpy as np
import pytest
from scipy.stats import kendalltau

from evaluation.statistics.correlation import COEFFICIENTS
from evaluation.statistics.inference import coin_tosses
from evaluation.statistics.meta import grouped_correlation, paired_correlation_test

GROUPINGS = ("none", "item", "system", "system-level")


def tables(seed: int, items: int, systems: int) -> tuple[np.ndarray, ...]:
    """A good metric, a worse one on another scale, people, items and systems."""
    generator = np.random.default_rng(seed)
    size = items * systems
    people = np.round(np.tile(np.linspace(0, 2, systems), items) + generator.normal(size=size))
    good = people + generator.normal(size=size)
    bad = 100 + 30 * (people + 3 * generator.normal(size=size))
    return good, bad, people, np.repeat(np.arange(items), systems), np.tile(np.arange(systems), items)


@pytest.mark.large
@pytest.mark.parametrize(
    ("coefficient", "grouping"),
    [*(("pearson", grouping) for grouping in GROUPINGS), ("kendall-tau-c", "item")],
)
def test_p_is_within_its_error_of_all_swaps(coefficient: str, grouping: str) -> None:
    one, two, people, items, systems = tables(5, 2, 4)
    standard = [(scores - scores.mean()) / scores.std() for scores in (one, two)]

    def difference(swap: Any) -> float:
        swapped = np.array(swap)
        values = [
            grouped_correlation(
                np.where(swapped, other, own),
                people,
                items,
                systems,
                coefficient,
                grouping=grouping,
                resamples=0,
            ).value
            for own, other in (standard, standard[::-1])
        ]
        return values[0] - values[1]

    observed = difference([False] * 8)
    drawn = np.array([difference(swap) for swap in itertools.product([False, True], repeat=8)])
    exact = (np.isnan(drawn) | (np.abs(drawn) >= abs(observed) - 1e-12)).mean()
    result = paired_correlation_test(
        one, two, people, items, systems, coefficient, grouping=grouping, reassignments=800
    )
    assert result.difference == pytest.approx(observed, abs=1e-12)
    assert result.p == pytest.approx(exact, abs=4.5 * math.sqrt(exact * (1 - exact) / 800) + 2e-3)
    assert result.p == (result.as_extreme + 1) / 801


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_both_correlations_are_the_grouped_ones(coefficient: str, grouping: str) -> None:
    one, two, people, items, systems = tables(6, 20, 5)
    result = paired_correlation_test(
        one, two, people, items, systems, coefficient, grouping=grouping, reassignments=200
    )
    for scores, value in ((one, result.first), (two, result.second)):
        expected = grouped_correlation(
            scores, people, items, systems, coefficient, grouping=grouping, resamples=0
        )
        assert value == pytest.approx(expected.value, abs=1e-9)
    if grouping != "system-level":  # whose five systems can hardly tell metrics apart
        assert result.p < 0.02


@pytest.mark.parametrize("variant", ["b", "c"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("together", [False, True])
def test_the_swaps_of_one_group_are_those_counted_one_by_one(
    variant: Literal["b", "c"], tied: bool, together: bool
) -> None:
    one, two, people, items, systems = tables(11, 8, 3)
    two = people + 1.2 * np.random.default_rng(12).normal(size=len(one))
    if tied:
        one, two = np.round(one), np.round((two - two.mean()) / two.std())
    standard = [(scores - scores.mean()) / scores.std() for scores in (one, two)]
    result = paired_correlation_test(
        one, two, people, items, systems, f"kendall-tau-{variant}", grouping="none", reassignments=300, seed=3,
        clusters={"item": items} if together else "naive",
    )  # fmt: skip
    generator = np.random.default_rng(3)
    order = np.lexsort((people, np.zeros(len(one))))  # in which the coins are tossed
    extreme = 0
    for _ in range(300):
        coins = 8 if together else len(one)
        tossed = np.unpackbits(coin_tosses(generator, 1, (coins + 7) // 8), count=coins).astype(bool)
        swapped = np.empty(len(one), dtype=bool)
        swapped[order] = tossed[items[order]] if together else tossed
        taus = [
            kendalltau(np.where(swapped, other, own), people, variant=variant).statistic
            for own, other in (standard, standard[::-1])
        ]
        extreme += int(abs(taus[0] - taus[1]) >= abs(result.difference) - 1e-12)
    assert result.as_extreme == extreme
    assert 30 < extreme < 270


def test_a_metric_does_not_differ_from_itself_on_another_scale() -> None:
    one, _, people, items, systems = tables(7, 10, 4)
    result = paired_correlation_test(one, 2.0 * one, people, items, systems, reassignments=100)
    assert result.p == 1


def test_scores_too_small_to_be_squared_are_compared_all_the_same() -> None:
    one, two, people, items, systems = tables(9, 6, 4)
    plain = paired_correlation_test(one, two, people, items, systems, reassignments=50)
    tiny = paired_correlation_test(one * 1e-250, two * 1e-250, people, items, systems, reassignments=50)
    assert tiny.p == plain.p


def test_one_sided_tests_look_at_one_side() -> None:
    one, two, people, items, systems = tables(8, 30, 5)
    better, worse = (
        paired_correlation_test(one, two, people, items, systems, alternative=side, reassignments=300)
        for side in ("greater", "less")
    )
    assert better.p < 0.05
    assert worse.p > 0.95


def test_reassignments_without_a_coefficient_count_as_extreme() -> None:
    # Swapping either item's scores makes one metric say the same of both.
    result = paired_correlation_test(
        [0, 1], [1, 0], [1, 2], ["a", "b"], ["s", "s"], grouping="none", reassignments=400
    )
    assert result.undefined_reassignments == pytest.approx(200, abs=50)
    assert result.p == 1


def test_a_metric_that_says_the_same_throughout_has_no_correlation_to_compare() -> None:
    result = paired_correlation_test([1, 1, 1], [1, 2, 3], [3, 1, 2], [0, 0, 0], [0, 1, 2])
    assert math.isnan(result.p)
    assert math.isnan(result.difference)
    assert result.reason == "the first metric's correlation is undefined"
    assert result.second == pytest.approx(-0.5)
