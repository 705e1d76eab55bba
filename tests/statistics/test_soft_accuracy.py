"""Soft pairwise accuracy (Thompson et al. 2024)."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from evaluation.statistics.meta import soft_accuracy_of_comparisons


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
    assert nothing.reason == "no two systems were compared"
