"""The exact chances, held against counting every case and against closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from annotation.quality.detectors.chances import (
    alternation_chance,
    alternation_distribution,
    binomial_at_least,
    binomial_at_most,
    longest_run,
    run_chance,
)


def test_tails_are_those_of_the_binomial() -> None:
    for n, chance in ((1, 0.5), (20, 0.6), (500, 0.03)):
        for count in range(n + 1):
            assert binomial_at_most(count, n, chance) == pytest.approx(binom.cdf(count, n, chance), rel=1e-9)
            assert binomial_at_least(count, n, chance) == pytest.approx(
                binom.sf(count - 1, n, chance), rel=1e-9
            )


def test_a_tail_far_out_keeps_its_digits() -> None:
    assert binomial_at_least(100, 100, 0.5) == pytest.approx(0.5**100, rel=1e-9)
    assert binomial_at_most(0, 50, 0.7) == pytest.approx(0.3**50, rel=1e-9)


def test_no_two_heads_in_a_row_follow_fibonacci() -> None:
    before, after = 1, 2  # strings of 0 and of 1 toss without HH
    for n in range(2, 40):
        before, after = after, before + after
        assert run_chance(np.full(n, 0.5), 2) == pytest.approx(1 - after / 2**n, abs=1e-12)


def test_long_runs_of_unequal_chances_are_counted_exactly() -> None:
    chances = np.array([0.9, 0.2, 0.7, 1.0, 0.5, 0.6, 0.0, 0.8, 0.3])
    outcomes = list(itertools.product([False, True], repeat=len(chances)))
    weights = [float(np.where(hits, chances, 1 - chances).prod()) for hits in outcomes]
    for length in range(1, len(chances) + 2):
        expected = sum(
            weight
            for hits, weight in zip(outcomes, weights, strict=True)
            if longest_run(np.array(hits)) >= length
        )
        assert run_chance(chances, length) == pytest.approx(expected, abs=1e-12)


def test_changes_in_a_random_order_are_counted_exactly() -> None:
    for first, second in ((1, 1), (2, 3), (4, 4), (1, 6), (5, 2)):
        orders = set(itertools.permutations([0] * first + [1] * second))
        counts = [sum(a != b for a, b in itertools.pairwise(order)) for order in orders]
        found = alternation_distribution(first, second)
        assert sum(found) == pytest.approx(1)
        for changes, chance in enumerate(found):
            assert chance == pytest.approx(counts.count(changes) / len(orders))


def test_the_mean_number_of_changes_is_the_known_one() -> None:
    found = np.array(alternation_distribution(37, 63))
    assert np.arange(len(found)) @ found == pytest.approx(2 * 37 * 63 / 100)


def test_groups_are_ordered_apart() -> None:
    # two pages of one left and one right each: always one change on either, never one across
    assert alternation_chance([(1, 1), (1, 1)], 2) == 1.0
    assert alternation_chance([(1, 1), (1, 1)], 3) == 0.0
    # (2, 2): 1, 2 or 3 changes in 2, 2 and 2 of 6 orders
    assert alternation_chance([(2, 2), (2, 2)], 6) == pytest.approx(1 / 9)
