"""Accuracy against the number of references."""

import math
from typing import Any

import numpy as np
import pytest

from evaluation.statistics.meta import accuracy_by_references, pair_accuracy, random_subsets, wilson_interval

WINNERS = [1, 2, 1, 0]
KINDS = ["HC", "HC", "HI", "HI"]
# Two draws of one reference, and all references in one.
SCORES: dict[int, tuple[Any, Any]] = {
    5: ([9.0, 2, 8, 1], [1.0, 3, 2, 2]),
    1: ([[1.0, 5, 2, 3], [0.0, 1, 2, 3]], [[0.0, 3, 2, 9], [1.0, 4, 1, 9]]),
}


def test_accuracy_is_averaged_over_the_draws() -> None:
    curve = accuracy_by_references(SCORES, WINNERS, KINDS)
    total = curve["all"]
    assert list(curve) == ["HC", "HI", "all"]
    assert total.references.tolist() == [1, 5]
    assert total.draws.tolist() == [2, 1]
    # First draw: right, wrong, tie. Second: wrong, right, right.
    assert total.value.tolist() == pytest.approx([(1 / 3 + 2 / 3) / 2, 1])
    assert total.value_ties_half.tolist() == pytest.approx([(1.5 / 3 + 2 / 3) / 2, 1])
    assert curve["HC"].value.tolist() == [0.5, 1]
    assert (total.n, total.no_consensus, total.pairs) == (3, 1, 4)


def test_the_draws_spread_and_the_pairs_interval_stand_apart() -> None:
    total = accuracy_by_references(SCORES, WINNERS)["all"]
    assert total.deviation[0] == pytest.approx(np.std([1 / 3, 2 / 3], ddof=1))
    assert total.draws_low[0] == pytest.approx(1 / 3, abs=0.01)
    assert total.draws_high[0] == pytest.approx(2 / 3, abs=0.01)
    assert np.isnan([total.draws_low[1], total.draws_high[1], total.deviation[1]]).all()
    assert (total.low[0], total.high[0]) == wilson_interval(1.5, 3)


def test_one_draw_of_all_references_is_the_accuracy_of_the_pairs() -> None:
    first, second = SCORES[5]
    single = pair_accuracy(first, second, WINNERS, KINDS)
    curve = accuracy_by_references({5: (first, second)}, WINNERS, KINDS)
    for kind, result in single.items():
        point = curve[kind]
        assert (point.value[0], point.low[0], point.high[0]) == (result.value, result.low, result.high)
        assert point.value_ties_half[0] == result.value_ties_half


def test_a_kind_without_a_consensus_has_no_accuracy_and_says_so() -> None:
    point = accuracy_by_references({1: ([1.0, 2], [2.0, 1])}, [0, 1], ["MM", "HM"])["MM"]
    assert math.isnan(point.value[0])
    assert point.reason == "no pair has a consensus"


def test_subsets_hold_different_references_and_every_one_equally_often() -> None:
    subsets = random_subsets(6, 2, 6000, seed=1)
    assert subsets.shape == (6000, 2)
    assert (subsets[:, 0] < subsets[:, 1]).all()
    counts = np.bincount(subsets.ravel(), minlength=6)
    assert counts == pytest.approx(np.full(6, 2000), abs=200)
    assert random_subsets(6, 2, 10, seed=1).tolist() != random_subsets(6, 2, 10, seed=2).tolist()


def test_all_references_are_drawn_once() -> None:
    assert random_subsets(4, 4, 100).tolist() == [[0, 1, 2, 3]]
