"""Items and comparisons are chosen with known chances that lead back to all; a unit stops without loss."""

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import ndtr, stdtrit
from scipy.stats import binom, kendalltau, norm

from quorum.statistics.aggregation import preference_strengths
from quorum.statistics.choosing import (
    comparison_information,
    draw_items,
    inclusion_probabilities,
    mean_of_all_items,
    order_disagreement,
    score_information,
    weighted_kendall,
)
from quorum.statistics.drawing import PRIOR, PairDraws, prior_strengths
from quorum.statistics.inputs import BadShape, BadValue, StatisticsError
from quorum.statistics.stopping import (
    expected_votes,
    leads_enough,
    majority_range,
    plurality_range,
    relevance_range,
    simulate_stopping,
)
from tests.refusals import assert_names, refuses
from tests.statistics.golden import golden


def test_an_item_with_one_caption_tells_no_systems_apart() -> None:
    scores = np.array([[[1.0, 2.0], [np.nan, np.nan]], [[3.0, 1.0], [0.0, 2.0]]])
    assert order_disagreement(scores).tolist() == [0, 1]


def test_a_tie_of_one_metric_counts_half_against_the_order_of_another() -> None:
    scores = [[[1, 5], [2, 5]], [[1, 5], [2, 6]], [[1, 6], [2, 5]]]
    assert order_disagreement(scores).tolist() == [0.5, 0.0, 1.0]


def test_information_prefers_items_on_which_better_systems_score_higher() -> None:
    rng = np.random.default_rng(4)
    ability = np.linspace(-2, 2, 9)
    telling = ability + rng.normal(0, 0.3, (30, 9))
    noise = rng.normal(0, 1.5, (30, 9))
    found = score_information(np.concatenate([telling, noise])[:, :, np.newaxis])
    assert found[:30].mean() > 1.5 * found[30:].mean()


def test_a_comparison_tells_most_where_both_score_alike() -> None:
    scores = np.array([[[1.0, 5], [1, 5]], [[2, 5], [1, 5]], [[1, 5], [4, 5]]])
    found = comparison_information(scores)
    win = ndtr(np.array([0, 1, -3]) / np.sqrt(10 / 3))
    assert found == pytest.approx((win * (1 - win) + 0.25) / 2)  # the second metric is the same everywhere


def test_probabilities_add_up_to_the_budget_and_none_is_below_the_floor() -> None:
    useful = np.r_[np.zeros(50), np.ones(45), np.full(5, 1e4)]
    found = inclusion_probabilities(useful, 20)
    assert found.sum() == pytest.approx(20)
    assert (found[95:] == 1).all()
    assert found[:50].min() >= 0.25 * 20 / 100
    assert found[50] / found[0] == pytest.approx((0.25 + 0.75 / (545 / 100)) / 0.25)
    assert inclusion_probabilities(np.zeros(4), 2).tolist() == [0.5] * 4
    assert inclusion_probabilities([1, 2, 3], 3).tolist() == [1.0] * 3
    assert inclusion_probabilities([1, 2, 9], 1, floor=1).tolist() == pytest.approx([1 / 3] * 3)


def test_each_item_is_drawn_with_its_probability_and_the_number_is_fixed() -> None:
    chance = inclusion_probabilities(np.random.default_rng(0).gamma(1, 1, 60), 12)
    drawn = [draw_items(chance, seed=seed) for seed in range(3000)]
    assert {len(one) for one in drawn} == {12}
    share = np.bincount(np.concatenate(drawn), minlength=60) / 3000
    assert (np.abs(share - chance) < 4.5 * np.sqrt(chance * (1 - chance) / 3000)).all()
    assert draw_items(chance, seed=5).tolist() == drawn[5].tolist()
    assert draw_items([1.0, 1.0], seed=0).tolist() == [0, 1]


def test_the_weighted_mean_and_its_error_are_those_of_statsmodels() -> None:
    given = golden("choosing.json")["means"]
    values, chance, items = given["values"], given["probabilities"], given["items"]
    for of, error in ((items, given["standard_error"]), (None, given["standard_error_by_row"])):
        found = mean_of_all_items(values, chance, of)
        assert found.value == pytest.approx(given["mean"])
        half = stdtrit(found.effective - 1, 0.975) * error
        assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))
    weight = np.bincount(items, weights=1 / np.array(chance))
    assert mean_of_all_items(values, chance, items).effective == pytest.approx(
        weight.sum() ** 2 / (weight**2).sum()
    )


def test_tau_of_values_that_weigh_two_or_three_is_that_of_values_written_so_often() -> None:
    rng = np.random.default_rng(7)
    first = rng.integers(0, 6, 50)
    second = first + rng.integers(0, 6, 50)
    weight = rng.integers(1, 4, 50)
    found = weighted_kendall(first, second, 1 / weight)
    assert found.value == pytest.approx(
        kendalltau(np.repeat(first, weight), np.repeat(second, weight)).statistic
    )
    assert found.low < found.value < found.high
    nothing = weighted_kendall([1, 1, 1], [1, 2, 3], [0.5] * 3, items=["a", "a", "b"])
    assert (np.isnan(nothing.value), nothing.items) == (True, 2)
    assert "the same everywhere" in nothing.reason
    assert weighted_kendall([1, 1], [1, 2], [0.5] * 2).items == 2


def test_estimates_of_chosen_items_are_unbiased_and_their_intervals_hold_the_truth() -> None:
    """What people say goes with usefulness: the most useful items would be off by half a point."""
    off, covered, correlated = [], [], []
    for run in range(400):
        rng = np.random.default_rng([run, 1])
        useful = rng.gamma(1.0, 1.0, 200)
        said = np.sqrt(useful) + rng.normal(0, 0.6, 200)
        metric = said + rng.normal(0, 1, 200)
        chance = inclusion_probabilities(useful, 60)
        drawn = draw_items(chance, seed=rng)
        thompson = mean_of_all_items(said[drawn], chance[drawn], estimator="horvitz-thompson", population=200)
        hajek = mean_of_all_items(said[drawn], chance[drawn])
        tau = weighted_kendall(said[drawn], metric[drawn], chance[drawn])
        truth = np.sqrt(np.pi) / 2  # of the root of an exponential
        off.append(
            (thompson.value - truth, hajek.value - truth, said[np.argsort(-useful)[:60]].mean() - truth)
        )
        covered.append((thompson.low <= truth <= thompson.high, hajek.low <= truth <= hajek.high))
        correlated.append(tau.value - kendalltau(said, metric).statistic)
    error = np.std(off, axis=0) / np.sqrt(400)
    assert (np.abs(np.mean(off, axis=0)[:2]) < 4 * error[:2]).all()
    assert np.mean(off, axis=0)[2] > 0.4
    assert (np.abs(np.mean(covered, axis=0) - 0.95) < 0.035).all()
    assert abs(np.mean(correlated)) < 0.02


def test_a_single_item_has_no_interval() -> None:
    alone, pair = mean_of_all_items([1, 2], [0.5, 0.5], ["a", "a"]), mean_of_all_items([1, 2], [0.5, 0.5])
    assert_names(alone.reason, "1 item", "2")
    assert pair.low < pair.value < pair.high


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: score_information([[1, 2]]), "metrics"),
        (lambda: score_information([[[np.inf]]]), "infinite"),
        (lambda: score_information([[[1.0, np.nan]]]), "none of metric 1"),
        (lambda: order_disagreement([[[1.0], [2.0]]]), "of one metric"),
        (lambda: inclusion_probabilities([-1.0, 2], 1), "from zero on"),
        (lambda: inclusion_probabilities([1.0, 2], 3), "there are 2 items"),
        (lambda: inclusion_probabilities([1.0, 2], 1, floor=0), "above 0"),
        (lambda: draw_items([0.5, 0.7], seed=0), "number of items"),
        (lambda: draw_items([0.0, 1.0], seed=0), "above 0, up to 1"),
        (lambda: draw_items([], seed=0), "are no items"),
        (lambda: mean_of_all_items([1.0], [0.5], estimator="horvitz-thompson"), "population is None"),
        (lambda: mean_of_all_items([1.0], [0.5], estimator="top"), "expected"),
    ],
)
def test_wrong_input_is_named(call: Any, said: str) -> None:
    with pytest.raises(StatisticsError, match=said):
        call()


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
    third = PairDraws.from_comparisons([0, 0, 1], [1, 2, 2], [asked, 0, 0], [*strengths, 0.0], even=0.25)
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
    drawing = PairDraws.from_comparisons(FIRST, SECOND, np.zeros(6), np.zeros(4), even=0.01)
    before = drawing.chances(ALL)
    assert before == pytest.approx(np.full(6, 1 / 6))
    place, chance = drawing.draw(ALL, np.random.default_rng(0))
    assert chance == pytest.approx(1 / 6)
    answered = PairDraws.from_comparisons(FIRST, SECOND, np.arange(6) == place, np.zeros(4), even=0.01)
    assert drawing.variance == pytest.approx(answered.variance)
    assert drawing.chances(ALL)[place] < 1 / 6


def test_a_pair_that_is_open_alone_has_the_chance_one_and_no_more() -> None:
    rng = np.random.default_rng(5)
    first, second = np.array(list(combinations(range(5), 2))).T
    asked, strengths = rng.integers(1, 200, size=10), rng.normal(size=5)
    for even in (0.01, 0.2, 0.3, 0.7, 0.9):
        for place in range(10):
            drawing = PairDraws.from_comparisons(first, second, asked, strengths, even=even)
            for _ in range(20):
                assert drawing.draw(np.arange(10) == place, rng) == (place, 1.0)


def test_pairs_come_as_often_as_their_chances_say() -> None:
    rng, strengths = np.random.default_rng(1), np.array([1.0, 0.9, 0.0, -1.0])
    fresh = PairDraws.from_comparisons(FIRST, SECOND, np.full(6, 20), strengths, even=0.3)
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
        drawing = PairDraws.from_comparisons(first, second, [0, 500, 500], theta, even=0.3)
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
    with refuses(BadShape, "is of shape", "1", "2"):
        prior_strengths([0], [1], [[1, 2]], items=2)
    with pytest.raises(BadValue, match="below zero"):
        prior_strengths([0], [1], [[1, 2, -1]], items=2)
    with refuses(BadValue, "numbers of items", "1"):
        prior_strengths([0], [2], [[1, 2, 1]], items=2)
    with refuses(BadValue, "even", 0):
        PairDraws.from_comparisons([0], [1], [0], [0.0, 0.0], even=0)
    with pytest.raises(BadValue, match="open"):
        PairDraws.from_comparisons([0], [1], [0], [0.0, 0.0], even=1).chances([False])


few = st.integers(0, 6)


def winner(counts: list[int]) -> int | None:
    best = [place for place, count in enumerate(counts) if count == max(counts)]
    return best[0] if len(best) == 1 else None


def futures(counts: list[int], remaining: int) -> set[int | None]:
    """Every winner that some choice of the remaining votes, and of those that never come, leads to."""
    found = set()
    for count in range(remaining + 1):
        for votes in product(range(len(counts)), repeat=count):
            ended = list(counts)
            for vote in votes:
                ended[vote] += 1
            found.add(winner(ended))
    return found


@given(few, few, st.integers(0, 5))
def test_the_range_of_a_majority_is_what_its_futures_span(first: int, second: int, remaining: int) -> None:
    signs = {0: 1, 1: -1, None: 0}
    possible = {signs[one] for one in futures([first, second], remaining)}
    assert majority_range(first, second, remaining) == (min(possible), max(possible))


@given(few, few, few, st.integers(0, 4))
def test_an_answer_that_is_no_side_can_win_too(first: int, second: int, other: int, remaining: int) -> None:
    signs = {0: 1, 1: -1, 2: 0, None: 0}
    possible = {signs[one] for one in futures([first, second, other], remaining)}
    assert plurality_range(first, second, other, remaining) == (min(possible), max(possible))


@given(few, few, st.integers(0, 5))
def test_relevance_is_settled_when_two_thirds_can_no_longer_be_reached_or_lost(
    yes: int, no: int, remaining: int
) -> None:
    outcomes = {
        1 if 3 * (yes + more) >= 2 * (yes + more + no + less) else -1
        for more in range(remaining + 1)
        for less in range(remaining - more + 1)
    }
    assert relevance_range(yes, no, remaining) == (min(outcomes), max(outcomes))


@pytest.mark.parametrize(
    ("first", "second", "enough"), [(2, 0, True), (1, 0, False), (2, 1, False), (1, 3, True), (0, 0, False)]
)
def test_a_margin_counts_from_the_minimum_on(first: int, second: int, enough: bool) -> None:
    assert leads_enough(first, second, minimum=2, margin=2) is enough


def expected_triplets(accuracy: float, references: int) -> float:
    """Triplets of three votes until one candidate has more than half of them, from binomial tails."""
    right = accuracy**2 * (3 - 2 * accuracy)
    half = references // 2
    played = np.arange(references)
    # after t triplets it goes on while neither candidate has won more than half
    goes_on = binom.cdf(half, played, right) - binom.cdf(played - half - 1, played, right)
    return float(np.sum(goes_on))


@pytest.mark.parametrize(("accuracy", "published"), [(0.6, 0.66), (0.7, 0.54), (0.8, 0.45), (0.9, 0.39)])
def test_with_48_references_and_3_votes_it_uses_the_share_that_closed_forms_give_and_flips_no_winner(
    accuracy: float, published: float
) -> None:
    found = simulate_stopping(references=48, votes=3, accuracy=accuracy, seed=1)
    # Wald: triplets until the pair is settled, times votes until a triplet is
    closed = expected_triplets(accuracy, 48) * (2 + 2 * accuracy * (1 - accuracy)) / (48 * 3)
    assert closed == pytest.approx(published, abs=0.005)
    assert found.share == pytest.approx(closed, abs=4 * found.error)
    assert found.flipped == 0


@given(st.floats(0, 1), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_stopping_at_settled_outcomes_flips_no_winner_whatever_the_votes(
    accuracy: float, references: int, votes: int, seed: int
) -> None:
    found = simulate_stopping(accuracy=accuracy, references=references, votes=votes, pairs=50, seed=seed)
    assert found.flipped == 0
    assert 0 < found.share <= 1


def test_a_margin_saves_more_and_may_flip_a_winner() -> None:
    settled, margin = (
        simulate_stopping(accuracy=0.55, references=9, votes=7, rule=rule, seed=3)
        for rule in ("settled", "margin")
    )
    assert margin.share < settled.share
    assert margin.flipped > 0 == settled.flipped


def test_people_who_are_always_right_need_two_votes_on_25_of_48_triplets() -> None:
    found = simulate_stopping(accuracy=1.0)
    assert found.share == pytest.approx(50 / 144)
    assert (found.error, found.right, found.tied) == (pytest.approx(0, abs=1e-12), 1.0, 0)


def test_one_simulated_pair_has_no_standard_error() -> None:
    assert np.isnan(simulate_stopping(accuracy=0.8, pairs=1).error)


@pytest.mark.parametrize("accuracy", [0.0, 0.3, 0.8, 1.0])
def test_a_unit_of_its_own_takes_two_votes_and_a_third_where_they_differ(accuracy: float) -> None:
    expected = 2 + 2 * accuracy * (1 - accuracy)
    for rule in (majority_range, relevance_range):
        assert expected_votes(rule, votes=3, accuracy=accuracy) == pytest.approx(expected)


def test_eleven_judges_of_a_pair_are_asked_until_six_agree() -> None:
    """The mean of the shorter of two negative binomials, at even odds (V15 App. I has 11 judges)."""
    even = sum(2 * binom.pmf(5, asked - 1, 0.5) * 0.5 * asked for asked in range(6, 12))
    assert expected_votes(majority_range, votes=11, accuracy=0.5) == pytest.approx(even)
