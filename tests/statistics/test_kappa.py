"""Cohen's and Fleiss' kappa against scikit-learn, statsmodels and closed forms."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics.agreement import cohen_kappa, fleiss_interval, fleiss_kappa, kappa_interval
from tests.statistics.golden import golden

COHEN = golden("agreement.json")["cohen"]
FLEISS = golden("agreement.json")["fleiss"]
WEIGHTS = {"plain": None, "linear": "linear", "quadratic": "quadratic"}

pairs_of_labels = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=30)


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("case", COHEN, ids=range(len(COHEN)))
def test_cohens_kappa_is_that_of_scikit_learn(case: dict[str, Any], name: str) -> None:
    if name not in case:
        # The undefined case has a plain figure only; weights cannot define it.
        assert math.isnan(cohen_kappa(case["first"], case["second"], WEIGHTS[name]))
        return
    kappa = cohen_kappa(case["first"], case["second"], weights=WEIGHTS[name])
    if case[name] is None:
        assert math.isnan(kappa)
    else:
        assert kappa == pytest.approx(case[name], abs=1e-12)


@pytest.mark.parametrize("case", FLEISS, ids=range(len(FLEISS)))
def test_fleiss_kappa_is_that_of_statsmodels(case: dict[str, Any]) -> None:
    assert fleiss_kappa(case["counts"]) == pytest.approx(case["fleiss"], abs=1e-12)


def test_an_unused_point_of_the_scale_counts_when_the_scale_is_given() -> None:
    # One pair is 2 against 4: one step apart among the labels used, two on the scale of four.
    first, second = [1, 2, 4, 2], [1, 2, 4, 4]
    # Expected: every label of the first against every one of the second, 1 then 2 (twice) then 4.
    assert cohen_kappa(first, second, "linear") == pytest.approx(1 - 1 * 4 / (5 + 6 + 3))
    on_scale = cohen_kappa(first, second, "linear", labels=[1, 2, 3, 4])
    assert on_scale == pytest.approx(1 - 2 * 4 / (7 + 10 + 5))


def test_words_are_labels_too() -> None:
    assert cohen_kappa(["cat", "dog", "cat", "dog"], ["cat", "dog", "dog", "dog"]) == pytest.approx(0.5)
    assert cohen_kappa(np.array(["a", "b"]), np.array(["a", "b"])) == 1


def test_two_raters_who_never_share_a_label_are_worse_than_chance() -> None:
    assert cohen_kappa([0, 0, 1, 1], [1, 1, 0, 0]) == -1


def test_undefined_kappas_say_why() -> None:
    assert kappa_interval([1, 1], [1, 1]).reason == "both raters used one and the same label only"
    assert kappa_interval([], []).reason == "there is nothing to compare"
    assert fleiss_interval([[3, 0], [3, 0]]).reason == "every judgment names the same category"
    assert fleiss_interval(np.empty((0, 3))).reason == "there is nothing to compare"


@pytest.mark.large
@pytest.mark.parametrize("weights", [None, "quadratic"])
def test_the_interval_is_that_of_redrawing_the_pairs_one_by_one(weights: str | None) -> None:
    case = COHEN[2]
    first, second = np.array(case["first"]), np.array(case["second"])
    generator = np.random.default_rng(2)
    drawn = []
    for _ in range(600):
        rows = generator.integers(0, len(first), len(first))
        drawn.append(cohen_kappa(first[rows], second[rows], weights, labels=[1, 2, 3, 4]))
    result = kappa_interval(first, second, weights, resamples=20_000)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert result.low == pytest.approx(low, abs=0.015)
    assert result.high == pytest.approx(high, abs=0.015)
    assert (result.units, result.judgments, result.raters) == (100, 200, 2)


def test_a_million_pairs_of_thousands_of_labels_have_a_kappa() -> None:
    generator = np.random.default_rng(1)
    first = generator.integers(0, 5000, 1_000_000)
    second = np.where(generator.random(1_000_000) < 0.3, first, generator.integers(0, 5000, 1_000_000))
    assert cohen_kappa(first, second) == pytest.approx(0.3, abs=0.005)
    assert cohen_kappa(first, second, "quadratic") == pytest.approx(0.3, abs=0.005)


@settings(max_examples=30)
@given(pairs_of_labels)
def test_weights_make_no_difference_between_two_labels(pairs: list[tuple[int, int]]) -> None:
    first, second = ([label > 2 for label in side] for side in zip(*pairs, strict=True))
    plain = cohen_kappa(first, second)
    assert cohen_kappa(first, second, "linear") == pytest.approx(plain, abs=1e-12, nan_ok=True)
    assert cohen_kappa(first, second, "quadratic") == pytest.approx(plain, abs=1e-12, nan_ok=True)


def test_fleiss_kappa_of_eighty_categories_is_that_of_the_formula() -> None:
    # Twice the same units, so that alike ones are met.
    answers = np.tile(np.random.default_rng(3).integers(0, 80, (90, 4)), (2, 1))
    answers[:, 1] = answers[:, 0]
    counts = np.array([np.bincount(row, minlength=80) for row in answers])
    shares = counts.sum(axis=0) / counts.sum()
    observed = np.mean([(row * (row - 1)).sum() / (4 * 3) for row in counts])
    expected = (shares**2).sum()
    assert fleiss_kappa(counts) == pytest.approx((observed - expected) / (1 - expected))


def test_a_million_pairs_of_words_are_compared() -> None:
    generator = np.random.default_rng(2)
    words = np.array(["cat", "dog", "قط", "🐈"], dtype=object)
    first = generator.integers(0, 4, 1_000_000)
    second = np.where(generator.random(1_000_000) < 0.5, first, generator.integers(0, 4, 1_000_000))
    assert cohen_kappa(words[first], words[second].tolist()) == pytest.approx(cohen_kappa(first, second))
