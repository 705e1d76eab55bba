"""Majorities, relevance, mean grades and pair winners."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics.aggregation import (
    cumulative_shares,
    is_relevant,
    majority_vote,
    mean_grade,
    pair_winners,
    relevance_vote,
)
from evaluation.statistics.errors import BadOption, BadShape, BadValue

UNITS = ["u1", "u1", "u1", "u2", "u2", "u3", "u3", "u3", "u3"]
VALUES = [1, 2, 2, 1, 2, 1, 1, 1, 2]


def test_the_most_frequent_answer_wins_and_a_tie_decides_nothing() -> None:
    result = majority_vote(UNITS, VALUES)
    assert result.units.tolist() == ["u1", "u2", "u3"]
    assert result.values() == [2, None, 1]
    assert result.tie.tolist() == [False, True, False]
    assert result.n.tolist() == [3, 2, 4]
    assert result.share.tolist() == [2 / 3, 1 / 2, 3 / 4]
    assert result.margin.tolist() == pytest.approx([1 / 3, 0, 1 / 2])


def test_a_tie_rule_decides_and_the_tie_stays_on_record() -> None:
    lowest = majority_vote(UNITS, VALUES, ties="lowest")
    assert lowest.values() == [2, 1, 1]
    assert lowest.tie.tolist() == [False, True, False]
    assert majority_vote(UNITS, VALUES, ties="lowest", labels=[2, 1]).values() == [2, 2, 1]


def test_random_ties_are_fair_repeatable_and_only_among_the_tied() -> None:
    units = np.repeat(np.arange(20_000), 4)
    values = np.tile([1, 1, 3, 3], 20_000)
    drawn = majority_vote(units, values, labels=[1, 2, 3], ties="random", seed=5)
    assert set(drawn.values()) == {1, 3}
    assert np.mean(drawn.winner == 0) == pytest.approx(0.5, abs=0.02)
    again = majority_vote(units, values, labels=[1, 2, 3], ties="random", seed=5)
    assert np.array_equal(drawn.winner, again.winner)
    assert drawn.seed == 5


def test_words_can_be_voted_for() -> None:
    assert majority_vote(["u"] * 3, ["dog", "cat", "dog"]).values() == ["dog"]


def test_no_judgments_give_no_units() -> None:
    assert majority_vote([], []).values() == []
    assert mean_grade([], []).mean.tolist() == []
    assert relevance_vote([], []).share.tolist() == []
    assert pair_winners([], []).winner.tolist() == []


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=40), st.randoms())
def test_the_order_of_judgments_does_not_matter(rows: list[tuple[int, int]], shuffler: Any) -> None:
    result = majority_vote(*zip(*rows, strict=True))
    shuffler.shuffle(rows)
    shuffled = majority_vote(*zip(*rows, strict=True))
    assert shuffled.values() == result.values()
    assert shuffled.margin.tolist() == result.margin.tolist()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 2)), min_size=1, max_size=40))
def test_of_two_answers_the_majority_has_more_than_half(rows: list[tuple[int, int]]) -> None:
    result = majority_vote(*zip(*rows, strict=True))
    assert (result.share[~result.tie] > 0.5).all()
    assert (result.share[result.tie] == 0.5).all()


def test_a_caption_is_relevant_when_two_of_three_say_yes() -> None:
    units = ["a"] * 3 + ["b"] * 3 + ["c"] * 4 + ["d"] * 5
    result = relevance_vote(units, [1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0])
    assert result.relevant.tolist() == [True, False, True, False]
    assert result.yes.tolist() == [2, 1, 3, 3]
    assert result.share.tolist() == [2 / 3, 1 / 3, 3 / 4, 3 / 5]


@given(st.integers(1, 10**12), st.data())
def test_two_thirds_are_compared_exactly_however_many_judgments(n: int, data: st.DataObject) -> None:
    yes = data.draw(st.integers(0, n))
    assert is_relevant([yes], [n]).tolist() == [Fraction(yes, n) >= Fraction(2, 3)]


def test_a_unit_nobody_judged_is_not_relevant() -> None:
    assert is_relevant([0], [0]).tolist() == [False]


def test_the_mean_grade_keeps_its_number_and_spread() -> None:
    result = mean_grade(["p", "p", "p", "q"], [4, 3, 3, 1])
    assert result.mean.tolist() == pytest.approx([10 / 3, 1])
    assert result.n.tolist() == [3, 1]
    assert result.deviation[0] == pytest.approx(math.sqrt(1 / 3))
    assert math.isnan(result.deviation[1])


def test_cumulative_shares_count_thirds_at_the_printed_thresholds() -> None:
    means = [4.0, 11 / 3, 10 / 3, 3.0, 8 / 3, 7 / 3, 2.0, 1.0]
    assert cumulative_shares(means).tolist() == [place / 8 for place in range(1, 8)]
    assert np.isnan(cumulative_shares([])).all()


def test_the_winner_of_a_pair_wins_most_of_its_triplets() -> None:
    pairs = ["p"] * 3 + ["q"] * 4 + ["r"] * 3
    result = pair_winners(pairs, [1, 1, 2, 1, 2, 1, 2, 2, 2, 0])
    assert result.winner.tolist() == [1, 0, 2]
    assert result.tie.tolist() == [False, True, False]
    assert (result.wins.tolist(), result.losses.tolist(), result.ties.tolist()) == (
        [2, 2, 0],
        [1, 2, 2],
        [0, 0, 1],
    )
    assert result.margin.tolist() == pytest.approx([1 / 3, 0, 2 / 3])


def test_tied_triplets_are_set_aside_or_count_as_asked() -> None:
    winners = [1, 0, 0]
    assert pair_winners(["p"] * 3, winners).winner.tolist() == [1]
    assert pair_winners(["p"] * 3, winners, triplet_ties="count").winner.tolist() == [0]


def test_abstract_50s_has_its_twelve_drawn_pairs(shared: Any) -> None:
    lines = (shared / "data/abstract-50s/pairs.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    pairs = [row["pair"] for row in rows for _ in row["triplet_votes"]]
    result = pair_winners(pairs, [vote for row in rows for vote in row["triplet_votes"]])
    kinds = {row["pair"]: row["kind"] for row in rows}
    drawn = [kinds[pair] for pair, tie in zip(result.pairs.tolist(), result.tie, strict=True) if tie]
    assert sorted(drawn) == ["HC"] * 10 + ["HI"] * 2


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: majority_vote(["u"], [1, 2]), BadShape, "values has 2 entries and units 1"),
        (lambda: majority_vote(["u"], [1], ties="first"), BadOption, "ties is 'first', expected one of none"),
        (
            lambda: majority_vote(["u"], [3], labels=[1, 2]),
            BadValue,
            r"values holds 3, expected one of \[1, 2\]",
        ),
        (lambda: majority_vote(["u"], [1], labels=[]), BadOption, "labels is empty"),
        (
            lambda: majority_vote(range(20_000), range(20_000)),
            BadValue,
            "20,000 units and 20,000 different answers",
        ),
        (lambda: relevance_vote(["u"], [2]), BadValue, r"values\[0\] is 2, expected 0 or 1"),
        (lambda: is_relevant([3], [2]), BadValue, "unit 0 has 3 yes of 2, expected at most all"),
        (lambda: is_relevant([1], [2], (3, 2)), BadOption, "the share is 3 of 2"),
        (lambda: is_relevant([1.5], [2]), BadValue, r"yes\[0\] is 1.5, expected a whole number"),
        (lambda: mean_grade(["u"], [math.nan]), BadValue, r"values\[0\] is nan, expected a finite number"),
        (lambda: pair_winners(["p"], [3]), BadValue, r"winners\[0\] is 3, expected 1, 2, or 0 for a tie"),
        (lambda: pair_winners(["p"], [1], triplet_ties="x"), BadOption, "triplet_ties is 'x'"),
    ],
)
def test_bad_judgments_are_refused_in_one_sentence(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()
