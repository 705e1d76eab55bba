"""Adaptive drawing: what is asked next, with which chance, and what weights make of it."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from evaluation.statistics.aggregation import preference_strengths
from evaluation.statistics.choosing import PRIOR, Drawing, prior_strengths
from evaluation.statistics.inputs import BadShape, BadValue

FIRST, SECOND = np.array(list(combinations(range(4), 2))).T
ALL = np.ones(6, dtype=bool)


def test_strengths_are_the_most_probable_ones_given_the_answers() -> None:
    counts = np.array([[9, 1, 0], [4, 2, 4], [0, 0, 0], [3, 0, 8], [30, 0, 0], [1, 5, 1]], dtype=float)

    def loss(theta: np.ndarray) -> float:
        difference = theta[FIRST] - theta[SECOND]
        wins, losses = counts[:, 0] + counts[:, 1] / 2, counts[:, 2] + counts[:, 1] / 2
        likelihood = wins * np.logaddexp(0, -difference) + losses * np.logaddexp(0, difference)
        return float(likelihood.sum() + (theta**2).sum() / (2 * PRIOR))

    expected = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-10}).x
    found = prior_strengths(FIRST, SECOND, counts, items=4)
    assert found == pytest.approx(expected, abs=1e-6)
    assert prior_strengths(FIRST, SECOND, np.zeros((6, 3)), items=4).tolist() == [0.0] * 4
    assert np.isfinite(prior_strengths([0], [1], [[10_000, 0, 0]], items=2)).all()


def test_the_chance_of_a_pair_is_its_gain_times_how_open_its_order_is() -> None:
    # two items: with the prior's variance of 1 each, and 12 answers of which one tells p(1-p)
    strengths, asked = np.array([0.4, -0.4]), 12
    p = 1 / (1 + math.exp(-0.8))
    each = p * (1 - p)
    # by hand: in the direction of the difference the prior has precision 1/2, and the answers 12 p(1-p)
    variance = 1 / (0.5 + asked * each)
    third = Drawing.of([0, 0, 1], [1, 2, 2], [asked, 0, 0], [*strengths, 0.0], even=0.25)
    chances = third.chances([True, True, True])
    assert chances.sum() == pytest.approx(1)
    assert chances.min() >= 0.25 / 3
    gain = math.log1p(each * variance) * norm.cdf(-0.8 / math.sqrt(variance))
    # the third item is as far from either: var = 1 + (variance / 4 + 1 / 2 ** 2 * 2)
    other_p = 1 / (1 + math.exp(-0.4))
    other_variance = 1 + variance / 4 + 0.5
    other = math.log1p(other_p * (1 - other_p) * other_variance) * norm.cdf(-0.4 / math.sqrt(other_variance))
    expected = 0.25 / 3 + 0.75 * np.array([gain, other, other]) / (gain + 2 * other)
    assert chances == pytest.approx(expected)
    # closed pairs never come, and one that is open alone always
    assert third.chances([True, False, False]).tolist() == pytest.approx([1.0, 0.0, 0.0])


def test_a_draw_counts_as_answered_for_the_next_one() -> None:
    drawing = Drawing.of(FIRST, SECOND, np.zeros(6), np.zeros(4), even=0.01)
    before = drawing.chances(ALL)
    assert before == pytest.approx(np.full(6, 1 / 6))
    place, chance = drawing.draw(ALL, np.random.default_rng(0))
    assert chance == pytest.approx(1 / 6)
    answered = Drawing.of(FIRST, SECOND, np.arange(6) == place, np.zeros(4), even=0.01)
    assert drawing.variance == pytest.approx(answered.variance)
    assert drawing.chances(ALL)[place] < 1 / 6


def test_a_pair_that_is_open_alone_has_the_chance_one_and_no_more() -> None:
    rng = np.random.default_rng(5)
    first, second = np.array(list(combinations(range(5), 2))).T
    asked, strengths = rng.integers(1, 200, size=10), rng.normal(size=5)
    for even in (0.01, 0.2, 0.3, 0.7, 0.9):
        for place in range(10):
            drawing = Drawing.of(first, second, asked, strengths, even=even)
            for _ in range(20):
                assert drawing.draw(np.arange(10) == place, rng) == (place, 1.0)


def test_pairs_come_as_often_as_their_chances_say() -> None:
    rng, strengths = np.random.default_rng(1), np.array([1.0, 0.9, 0.0, -1.0])
    fresh = Drawing.of(FIRST, SECOND, np.full(6, 20), strengths, even=0.3)
    variance = fresh.variance
    expected, seen = fresh.chances(ALL), np.zeros(6)
    for _ in range(3000):
        fresh.variance = variance
        seen[fresh.draw(ALL, rng)[0]] += 1
    assert np.abs(seen / 3000 - expected).max() < 4 * np.sqrt(0.25 / 3000)


def test_weights_give_back_what_even_drawing_says_where_no_strengths_hold() -> None:
    # 0 beats 1, 1 beats 2, and 2 beats 0: even drawing says that all three are equal
    first, second, wins = np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([0.8, 0.8, 0.2])
    rng, counts = np.random.default_rng(2), np.zeros((3, 3))
    pairs: list[int] = []
    answers: list[int] = []
    chances: list[float] = []
    theta = np.zeros(3)
    for _ in range(2500):
        if len(pairs) % 50 == 0:
            theta = prior_strengths(first, second, counts, items=3)
        # somebody is interested in the first pair alone
        drawing = Drawing.of(first, second, [0, 500, 500], theta, even=0.3)
        pair, chance = drawing.draw(np.ones(3, dtype=bool), rng)
        won = bool(rng.random() < wins[pair])
        counts[pair, 0 if won else 2] += 1
        pairs.append(pair)
        answers.append(1 if won else -1)
        chances.append(chance)
    drawn = np.array(pairs)
    naive = preference_strengths(first[drawn], second[drawn], answers)
    corrected = preference_strengths(first[drawn], second[drawn], answers, weights=1 / np.array(chances))
    assert min(chances) >= 0.1 - 1e-12
    assert np.abs(naive.log_strength).max() > 0.3
    assert np.abs(corrected.log_strength).max() < 0.15
    assert ((corrected.low <= 0) & (corrected.high >= 0)).all()


def test_wrong_input_is_refused_with_a_sentence() -> None:
    with pytest.raises(BadShape, match=r"counts is of shape \(1, 2\), expected \(1, 3\)"):
        prior_strengths([0], [1], [[1, 2]], items=2)
    with pytest.raises(BadValue, match="below zero"):
        prior_strengths([0], [1], [[1, 2, -1]], items=2)
    with pytest.raises(BadValue, match="numbers of items, from 0 to 1"):
        prior_strengths([0], [2], [[1, 2, 1]], items=2)
    with pytest.raises(BadValue, match="even is 0, expected"):
        Drawing.of([0], [1], [0], [0.0, 0.0], even=0)
    with pytest.raises(BadValue, match="no pair is open"):
        Drawing.of([0], [1], [0], [0.0, 0.0], even=1).chances([False])
