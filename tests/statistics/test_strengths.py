"""Ordinal Bradley-Terry models: ties, strength, covariates, weights; rank bands; the next comparison."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation import bradley_terry_of_comparisons, preference_strengths, rank_bands
from quorum.statistics.aggregation.bradley_terry.existence import TOO_FEW_ITEMS
from quorum.statistics.aggregation.pair_answers import confidences_of, preferences_of, sides_of
from quorum.statistics.aggregation.preferences.models import preference_model
from quorum.statistics.aggregation.preferences.rows import NO_WINNER
from quorum.statistics.aggregation.preferences.strengths import CONFOUNDED_REASON, RISING_REASON
from quorum.statistics.inputs import BadShape, BadValue
from tests.refusals import assert_names, refuses

TRUTH = np.array([1.0, 0.3, -0.2, -1.1])
MODELS = ("adjacent", "cumulative")
SCALES = [
    ("adjacent", (-2, -1, 0, 1, 2), (0.2, -0.5)),
    ("adjacent", (-2, -1, 1, 2), (-0.5,)),
    ("cumulative", (-2, -1, 0, 1, 2), (0.4, 1.5)),
    ("cumulative", (-2, -1, 1, 2), (1.1,)),
]


def drawn(
    name: str, levels: tuple[int, ...], cuts: tuple[float, ...], rows: int = 3000, seed: int = 0
) -> tuple[Ints, Ints, Floats, Ints]:
    """Comparisons of four items whose covariate has the coefficient 0.7."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, rows)
    second = (first + rng.integers(1, 4, rows)) % 4
    covariate = rng.normal(size=rows)
    model = preference_model(name, np.array(levels))
    chances = model.chances(TRUTH[first] - TRUTH[second] + 0.7 * covariate, np.array(cuts))
    level = (chances.cumsum(axis=1) < rng.random(rows)[:, None]).sum(axis=1)
    return first, second, covariate, np.array(levels)[level]


def test_an_answer_holds_a_side_its_strength_and_how_sure_one_is() -> None:
    assert sides_of([1, 2, 0, 3, 11, 212]).tolist() == [1, 2, 0, 3, 1, 2]
    assert preferences_of([1, 2, 0, 11, 312])[:5].tolist() == [1, -1, 0, 2, -2]
    assert np.isnan(preferences_of([3])[0])
    assert confidences_of([101, 300])[:2].tolist() == [1, 3]
    assert np.isnan(confidences_of([12])[0])
    for wrong in (4, -1, 10, 13, 21, 401, 1.5, np.nan):
        with pytest.raises(BadValue, match="expected a side"):
            sides_of([1, wrong])


def test_with_ties_alone_the_adjacent_model_is_davidson_s() -> None:
    first, second, _, preference = drawn("adjacent", (-1, 0, 1), (0.3,))
    clusters = {"item": np.arange(len(first)) % 71, "rater": np.arange(len(first)) // 60}
    ours = preference_strengths(first, second, preference, clusters=clusters)
    winners = np.where(preference > 0, 1, np.where(preference < 0, 2, 0))
    theirs = bradley_terry_of_comparisons(first, second, winners, tie_model="davidson", clusters=clusters)
    assert ours.converged
    assert ours.items.tolist() == theirs.items.tolist()
    assert ours.log_strength == pytest.approx(theirs.log_strength, abs=1e-8)
    assert ours.low == pytest.approx(theirs.low, abs=1e-7)
    assert np.exp(ours.cuts) == pytest.approx([theirs.nu])
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood)
    tied = theirs.nu / (2 * np.cosh((theirs.log_strength[0] - theirs.log_strength[3]) / 2) + theirs.nu)
    assert ours.chances(0, 3)[1] == pytest.approx(tied)
    assert ours.chances(0, 3).sum() == pytest.approx(1)


def test_a_covariate_of_sides_is_the_order_effect_of_davidson_and_beaver() -> None:
    first, second, _, preference = drawn("adjacent", (-1, 0, 1), (0.3,))
    rng = np.random.default_rng(7)
    order = np.where(rng.random(len(first)) < 0.5, 1, -1)
    preference = np.where(rng.random(len(first)) < 0.2, order, preference)
    clusters = {"item": np.arange(len(first)) % 71, "rater": np.arange(len(first)) // 60}
    ours = preference_strengths(first, second, preference, covariates=order, clusters=clusters)
    left, right = (np.where(order == side, first, second) for side in (1, -1))
    winners = np.where(preference == 0, 0, np.where(preference == order, 1, 2))
    theirs = bradley_terry_of_comparisons(
        left, right, winners, tie_model="davidson", order_effect=True, clusters=clusters
    )
    assert theirs.order_effect_low > 0.2
    for name in ("log_strength", "low", "high"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-7)
    assert [ours.coefficients[0], ours.coefficient_low[0], ours.coefficient_high[0]] == pytest.approx(
        [theirs.order_effect, theirs.order_effect_low, theirs.order_effect_high], abs=1e-7
    )


def test_with_ties_alone_the_cumulative_model_is_rao_and_kupper_s() -> None:
    first, second, _, preference = drawn("cumulative", (-1, 0, 1), (0.4,), rows=1500)
    ours = preference_strengths(first, second, preference, model="cumulative")

    def loss(at: Floats) -> float:
        """Rao and Kupper 1967, with strengths pi and the threshold theta."""
        pi, theta = np.exp(np.r_[0.0, at[:3]]), 1 + np.exp(at[3])
        one, two = pi[first], pi[second]
        won, lost = one / (one + theta * two), two / (theta * one + two)
        tied = (theta**2 - 1) * one * two / ((one + theta * two) * (theta * one + two))
        return -float(np.log(np.where(preference > 0, won, np.where(preference < 0, lost, tied))).sum())

    found = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-7})
    assert ours.log_likelihood == pytest.approx(-found.fun, abs=1e-7)
    assert ours.log_strength - ours.log_strength[0] == pytest.approx(np.r_[0, found.x[:3]], abs=1e-4)
    assert ours.cuts == pytest.approx(np.log1p(np.exp(found.x[3:])), abs=1e-4)


def test_two_items_have_a_closed_form() -> None:
    # 30 wins, 10 losses, 20 ties: d = log 3, and Davidson's chances are those that were seen
    found = preference_strengths(["a"] * 60, ["b"] * 60, [1] * 30 + [-1] * 10 + [0] * 20)
    assert found.log_strength == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    assert found.chances(0, 1) == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    # where everybody says "by far", it says nothing
    by_far = preference_strengths(["a"] * 60, ["b"] * 60, [2] * 30 + [-2] * 10 + [0] * 20)
    assert by_far.log_strength == pytest.approx(found.log_strength)
    cumulative = preference_strengths(
        ["a"] * 60, ["b"] * 60, [1] * 30 + [-1] * 10 + [0] * 20, model="cumulative"
    )
    assert cumulative.chances(0, 1) == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    assert cumulative.log_strength[0] * 2 == pytest.approx((0 + np.log(5)) / 2)


@pytest.mark.parametrize(("name", "levels", "cuts"), SCALES)
def test_strength_and_a_covariate_are_found_again(
    name: str, levels: tuple[int, ...], cuts: tuple[float, ...]
) -> None:
    first, second, covariate, preference = drawn(name, levels, cuts)
    found = preference_strengths(first, second, preference, model=name, covariates=covariate)
    assert found.converged
    assert np.abs(found.log_strength - TRUTH).max() < 0.15
    assert np.abs(found.cuts - cuts).max() < 0.15
    assert found.coefficient_low[0] < 0.7 < found.coefficient_high[0]
    model = preference_model(name, np.array(levels))
    difference, step = np.array([-1.2, 0.0, 0.7]), 1e-6
    chances = model.chances(difference, np.array(cuts))
    slopes = model.slopes(difference, np.array(cuts), chances)
    up, down = (np.log(model.chances(difference + sign * step, np.array(cuts))) for sign in (1, -1))
    assert slopes[:, :, 0] == pytest.approx((up - down) / (2 * step), abs=1e-7)


def test_without_ties_a_covariate_is_a_logistic_regression_s() -> None:
    first, second, covariate, preference = drawn("adjacent", (-1, 1), (), rows=800)
    found = preference_strengths(first, second, preference, covariates=covariate[:, None])
    design = np.eye(4)[first] - np.eye(4)[second]

    def loss(at: Floats) -> float:
        chance = expit(design @ np.r_[0.0, at[:3]] + at[3] * covariate)
        return -float(np.log(np.where(preference > 0, chance, 1 - chance)).sum())

    least = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-7})
    assert found.coefficients == pytest.approx(least.x[3:], abs=1e-4)
    assert found.log_likelihood == pytest.approx(-least.fun, abs=1e-7)
    assert len(found.cuts) == 0


def test_whole_weights_repeat_rows_and_intervals_take_the_sandwich() -> None:
    first, second, _, preference = drawn("adjacent", (-1, 0, 1), (0.3,), rows=300)
    weights = np.arange(300) % 3 + 1.0
    weighed = preference_strengths(first, second, preference, weights=weights)
    repeated = [np.repeat(column, weights.astype(int)) for column in (first, second, preference)]
    again = preference_strengths(*repeated, clusters={"item": np.repeat(np.arange(300), weights.astype(int))})
    assert weighed.log_strength == pytest.approx(again.log_strength, abs=1e-8)
    assert weighed.standard_error == pytest.approx(again.standard_error, rel=0.01)


def test_weights_undo_an_adaptive_drawing() -> None:
    """Where no strengths describe three systems, those under even drawing are the estimand; the drawing biases them."""
    rng = np.random.default_rng(5)
    pairs = np.array([(0, 1), (1, 2), (0, 2)])
    wins = np.array([0.8, 0.6, 0.55])  # the first of each pair; not those of any strengths
    even, uneven = np.full(3, 1 / 3), np.array([0.1, 0.1, 0.8])

    def fitted(shares: Floats, weigh: bool) -> Floats:
        pair = rng.choice(3, 60_000, p=shares)
        won = np.where(rng.random(60_000) < wins[pair], 1, -1)
        weights = 1 / shares[pair] if weigh else None
        return preference_strengths(pairs[pair, 0], pairs[pair, 1], won, weights=weights).log_strength

    target = fitted(even, weigh=False)
    assert np.abs(fitted(uneven, weigh=False) - target).max() > 0.15
    assert fitted(uneven, weigh=True) == pytest.approx(target, abs=0.05)


def test_the_next_comparison_is_the_one_that_narrows_most() -> None:
    first, second = ["a"] * 40 + ["b"] * 6, ["b"] * 40 + ["c"] * 6
    preference = [1] * 22 + [-1] * 18 + [1, -1, 1, -1, 1, -1]
    found = preference_strengths(first, second, preference)
    gains = found.gains()
    assert gains == pytest.approx(gains.T)
    assert np.argmax(np.triu(gains, 1)) == 2  # a and c, which never met; then b and c
    assert gains[1, 2] > gains[0, 1]
    more = preference_strengths([*first, "a", "a"], [*second, "c", "c"], [*preference, 1, -1])
    fewer = np.linalg.eigvalsh(more.covariance)[1:].prod() / np.linalg.eigvalsh(found.covariance)[1:].prod()
    assert np.log(fewer) == pytest.approx(-2 * gains[0, 2], rel=0.3)


@pytest.mark.parametrize("model", MODELS)
def test_what_has_no_finite_strengths_says_why(model: str) -> None:
    def reason(*columns: list[Any], **options: Any) -> str:
        found = preference_strengths(*columns, model=model, **options)
        assert np.isnan(found.log_strength).all()
        assert not found.converged
        return found.reason

    assert reason([], [], []) == TOO_FEW_ITEMS
    assert reason(["a"], ["b"], [0]) == NO_WINNER
    assert "2 groups" in reason(["a", "a"], ["b", "b"], [1, 1])
    same = {"covariates": [1.0, 1.0, 1.0]}
    assert reason(["a", "a", "a"], ["b", "b", "b"], [1, -1, 0], **same) == CONFOUNDED_REASON
    nothing = {"covariates": [0.0, 0.0, 0.0]}
    assert reason(["a", "a", "a"], ["b", "b", "b"], [1, -1, 0], **nothing) == CONFOUNDED_REASON
    parting = {"covariates": [2.0, -2.0, 1.0, -1.0]}
    assert reason(["a", "a", "b", "b"], ["b", "b", "a", "a"], [1, -1, 1, -1], **parting) == RISING_REASON
    alone = preference_strengths(["a"] * 4, ["b"] * 4, [1, -1, 0, 1], model=model, clusters={"item": [1] * 4})
    assert_names(alone.reason, "1 item", "2")
    assert np.isnan(alone.low).all()
    short = preference_strengths(["a"] * 3, ["b"] * 3, [1, -1, 1], model=model, max_iterations=1)
    assert not short.converged


def test_a_step_that_leads_too_far_is_halved() -> None:
    rows = {(1, 2, 0): 488, (0, 1, 0): 16, (0, 2, 0): 5, (1, 2, -1): 4, (0, 1, 2): 2}
    rows |= dict.fromkeys([(0, 1, -1), (0, 1, 1), (0, 2, -1), (0, 2, 1), (1, 2, 1)], 1)
    first, second, preference = np.repeat(list(rows), list(rows.values()), axis=0).T
    found = preference_strengths(first, second, preference, model="cumulative")
    assert found.converged
    nudged = [
        preference_model("cumulative", found.levels).chances(
            (found.log_strength + step)[first] - (found.log_strength + step)[second], found.cuts
        )[np.arange(len(first)), np.searchsorted(found.levels, preference)]
        for step in 0.01 * np.vstack([np.zeros(3), np.eye(3), -np.eye(3)])
    ]
    values = np.log(nudged).sum(axis=1)
    assert values[0] == pytest.approx(found.log_likelihood)
    assert (values[1:] < values[0]).all()
    # two items, hardly a tie, hardly a win of the second
    lopsided = preference_strengths([0] * 100_000, [1] * 100_000, [1] * 99_998 + [-1, 0], model="cumulative")
    assert lopsided.chances(0, 1) == pytest.approx([1e-5, 1e-5, 0.99998])


def test_wrong_input_is_named() -> None:
    for wrong, words in (
        ({"preferences": [0.5, 1]}, r"preferences\[0\] is 0.5"),
        ({"preferences": [1, 99]}, r"preferences\[1\] is 99"),
        ({"first": ["a", "b"]}, r"\b1\b.*\bb\b"),
        ({"covariates": [np.inf, 1]}, "covariates"),
        ({"weights": [1, 0]}, "weights holds"),
        ({"tolerance": -1}, "tolerance is -1"),
    ):
        given: dict[str, Any] = {"first": ["a", "a"], "second": ["b", "b"], "preferences": [1, -1]} | wrong
        with pytest.raises(BadValue, match=words):
            preference_strengths(**given)
    with pytest.raises(BadShape, match="comparison"):
        preference_strengths(["a"], ["b"], [1], covariates=[1, 2])


def test_rank_bands_hold_all_ranks_together() -> None:
    covariance = np.diag([0.01] * 4)
    bands = rank_bands([3.0, 1.0, 0.95, -2.0], covariance)
    assert bands.best.tolist() == [1, 2, 2, 4]
    assert bands.worst.tolist() == [1, 3, 3, 4]
    # of four independent normal estimates, Tukey's studentized range at 5 % is 3.633 (infinite df)
    assert bands.critical == pytest.approx(3.633 / np.sqrt(2), abs=0.04)
    assert rank_bands([3.0, 1.0, 0.95, -2.0], covariance, freedom=[4.0]).critical > bands.critical
    # with 5 % of the sets of bands at least one true rank lies outside, at most
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(200):
        seen = TRUTH / 4 + rng.normal(scale=0.1, size=4)
        found = rank_bands(seen, covariance, draws=400, seed=2)
        missed += bool((found.best > [1, 2, 3, 4]).any() or (found.worst < [1, 2, 3, 4]).any())
    assert missed <= 18
    nothing = rank_bands([np.nan, 1.0], np.eye(2))
    assert "no strengths with intervals" in nothing.reason
    with refuses(BadShape, "rows and columns", "3"):
        rank_bands([1.0, 2.0, 3.0], np.eye(2))
