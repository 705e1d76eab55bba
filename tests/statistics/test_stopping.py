"""Early stopping: what is fixed, how much it saves, and that it flips nothing."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from evaluation.statistics.choosing import (
    expected_votes,
    leads_enough,
    majority_range,
    plurality_range,
    relevance_range,
    simulate_stopping,
)

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
