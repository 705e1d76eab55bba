"""Majorities, relevance, mean grades and pair winners."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.statistics.aggregation import (
    accuracy_weights,
    confidence_vote,
    is_relevant,
    majority_vote,
    mean_grade,
    pair_winners,
    relevance_vote,
    standardised_mean,
    weighted_mean,
    weighted_vote,
)
from quorum.statistics.inputs import BadShape, BadValue
from tests.refusals import assert_names, refuses
from tests.statistics.golden import golden

CROWDS = list(zip(golden("aggregation.json")["dawid_skene"], golden("crowds.json")["crowds"], strict=True))
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


@pytest.mark.parametrize(("crowd", "expected"), CROWDS, ids=["two labels", "three labels"])
def test_shares_of_weights_are_the_reference_programs(
    crowd: dict[str, Any], expected: dict[str, Any]
) -> None:
    units, workers, values = np.array(crowd["judgments"]).T
    vote = expected["weighted_vote"]
    result = weighted_vote(units, values, np.array(vote["worker_weights"])[workers])
    shares = np.array(vote["shares"])
    assert result.weight is not None
    assert result.weight / result.weight.sum(axis=1, keepdims=True) == pytest.approx(shares, abs=1e-12)
    assert result.share == pytest.approx(shares.max(axis=1))
    decided = ~result.tie
    assert np.array(result.values())[decided].tolist() == np.array(vote["labels"])[decided].tolist()


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=40),
    st.sampled_from(["none", "lowest", "random"]),
    st.floats(1e-3, 1e3),
)
def test_equal_weights_are_no_weights(rows: list[tuple[int, int]], ties: str, weight: float) -> None:
    units, values = zip(*rows, strict=True)
    plain = majority_vote(units, values, ties=ties)
    weighted = weighted_vote(units, values, [weight] * len(units), ties=ties)
    assert weighted.values() == plain.values()
    assert weighted.tie.tolist() == plain.tie.tolist()
    assert weighted.share == pytest.approx(plain.share)
    assert weighted.margin == pytest.approx(plain.margin, abs=1e-12)


def test_one_heavy_judge_outweighs_two_light_ones_and_thirds_that_add_up_are_a_tie() -> None:
    result = weighted_vote(["u", "u", "u"], ["yes", "no", "no"], [0.9, 0.3, 0.2])
    assert (result.values(), result.n.tolist()) == (["yes"], [3])
    assert result.margin.tolist() == pytest.approx([0.4 / 1.4])
    tied = weighted_vote(["u", "u", "u"], ["yes", "no", "no"], [0.3, 0.1, 0.2])
    assert (tied.values(), tied.tie.tolist(), tied.margin.tolist()) == ([None], [True], [0.0])


def test_a_unit_without_weight_has_no_winner_under_any_rule_and_says_so() -> None:
    for ties in ("none", "lowest", "random"):
        result = weighted_vote(["u", "u", "v"], [1, 2, 1], [0, 0, 2], ties=ties)
        assert result.values() == [None, 1]
        assert math.isnan(result.share[0])
        assert math.isnan(result.margin[0])
        assert_names(result.reason, "1 of 2")
    assert weighted_vote(["v"], [1], [2]).reason == ""
    assert weighted_vote([], [], []).values() == []


def test_control_answers_make_weights() -> None:
    weights = accuracy_weights([8, 0, 4, 9], [8, 0, 8, 9])
    # (right + 1) / (seen + 2): 9/10, 1/2, 1/2, 10/11; the log of their odds.
    assert weights == pytest.approx([math.log(9), 0, 0, math.log(10)])
    assert accuracy_weights([8, 0], [8, 0], rule="accuracy") == pytest.approx([0.9, 0.5])
    # Of four labels, chance is a quarter, and less than that counts for nothing.
    assert accuracy_weights([0, 0, 2], [0, 8, 2], 4) == pytest.approx([0, 0, math.log(3)])


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


def test_a_weighted_mean_divides_by_the_weights() -> None:
    result = weighted_mean(["p", "p", "p", "q"], [4, 3, 2, 1], [2, 1, 1, 0])
    assert result.mean[0] == pytest.approx(13 / 4)
    # Sum of w (x - m)^2 over sum(w) - sum(w^2) / sum(w).
    assert result.deviation[0] == pytest.approx(math.sqrt((2 * 0.5625 + 0.0625 + 1.5625) / (4 - 6 / 4)))
    assert math.isnan(result.mean[1])
    assert result.weight is not None
    assert result.weight.tolist() == [4, 0]
    assert_names(result.reason, "1 of 2")


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(-1e300, 1e300)), min_size=1, max_size=20),
    st.sampled_from([None, 2.0, 0.125]),
)
def test_means_are_the_plain_ones_whatever_the_size_of_grades(
    rows: list[tuple[int, float]], weight: float | None
) -> None:
    units, grades = zip(*rows, strict=True)
    alike = np.full(len(units), weight or 1.0)
    result = mean_grade(units, grades) if weight is None else weighted_mean(units, grades, alike)
    for place, unit in enumerate(result.units.tolist()):
        own = [Fraction(grade) for one, grade in rows if one == unit]
        mean = sum(own) / len(own)
        largest = max(map(abs, grades))
        assert result.mean[place] == pytest.approx(float(mean), rel=1e-9, abs=largest * 1e-12)
        if len(own) == 1:
            assert math.isnan(result.deviation[place])
        else:
            scale = Fraction(largest) if largest else Fraction(1)
            square = sum(((one - mean) / scale) ** 2 for one in own) / (len(own) - 1)
            assert result.deviation[place] == pytest.approx(
                math.sqrt(square) * float(scale), rel=1e-6, abs=largest * 1e-9
            )


def test_grades_at_both_ends_of_the_doubles_have_a_mean_and_an_infinite_spread() -> None:
    result = mean_grade(["p"] * 3, [1.7e308, 1.7e308, -1.7e308])
    assert result.mean.tolist() == pytest.approx([1.7e308 / 3])
    assert result.deviation.tolist() == [math.inf]


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
    assert pair_winners(["p", "p"], [2.0, 2.0]).winner.tolist() == [2]


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


def test_confidence_weighs_as_much_as_it_was_right() -> None:
    """Of two who guess, one is wrong each time; at last both are against one who is sure."""
    units = [unit for unit in range(10) for _ in range(5)] + [10] * 3
    workers = [0, 1, 2, 3, 4] * 10 + [0, 3, 4]
    values = [1, 1, 1, 1, 2] * 10 + [1, 2, 2]
    confidences = [3, 3, 3, 1, 1] * 10 + [3, 1, 1]
    found = confidence_vote(units, workers, values, confidences, labels=[1, 2])
    # On the last unit each guesser meets one of each side, so the sure one alone is held against the others, and wrong.
    assert found.levels.tolist() == [1, 3]
    assert found.answers.tolist() == [22, 31]
    assert (found.right.tolist(), found.compared.tolist()) == ([10, 30], [20, 31])
    assert found.weights == pytest.approx([0.0, np.log(31 / 2)])
    assert found.values() == [1] * 11
    assert majority_vote(units, values, labels=[1, 2]).values() == [1] * 10 + [2]
    assert found.posterior.sum(axis=1) == pytest.approx(np.ones(11))
    assert dict(zip(found.workers.tolist(), found.confidence.tolist(), strict=True))[4] == 1
    # a scale that says nothing decides nothing else than the votes do
    level = confidence_vote(units, workers, values, np.full(len(units), np.nan), labels=[1, 2])
    assert level.levels.tolist() == [0]
    assert level.values() == majority_vote(units, values, labels=[1, 2]).values()


def test_a_generous_and_a_strict_rater_of_one_mind_have_the_same_z() -> None:
    # 80, 90, 100 and 10, 30, 50 are -1, 0, 1 standard deviations from their means
    units, raters = ["a", "b", "c"] * 2, ["kind"] * 3 + ["strict"] * 3
    result = standardised_mean(units, raters, [80, 90, 100, 10, 30, 50])
    assert result.mean.tolist() == [45, 60, 75]
    assert result.z.tolist() == pytest.approx([-1, 0, 1])
    assert result.left_out == 0


def test_a_rater_without_variation_counts_in_the_raw_mean_alone() -> None:
    result = standardised_mean(["a", "b", "a", "b", "a"], [1, 1, 2, 2, 3], [10, 30, 50, 50, 90])
    assert result.mean.tolist() == [50, 40]
    assert result.n.tolist() == [3, 2]
    assert result.z.tolist() == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)])
    assert result.z_n.tolist() == [1, 1]
    assert result.left_out == 2  # one rated everything 50, one rated once


def test_a_unit_whose_raters_have_no_z_has_none() -> None:
    result = standardised_mean(["a", "b"], ["x", "y"], [3.3, 4.4])
    assert np.isnan(result.z).all()
    assert result.mean.tolist() == [3.3, 4.4]


def test_equal_ratings_vary_by_nothing_whatever_their_rounding() -> None:
    result = standardised_mean(["a", "b", "c"], ["x"] * 3, [0.1 + 0.2, 0.3, 0.3])
    assert result.left_out == 1
    assert np.isnan(result.z).all()


def test_shifting_and_stretching_a_raters_scale_changes_no_z() -> None:
    rng = np.random.default_rng(5)
    units, raters = np.tile(np.arange(30), 6), np.repeat(np.arange(6), 30)
    plain = rng.uniform(0, 100, 180)
    bent = plain * (1 + raters) + 10 * raters
    assert standardised_mean(units, raters, bent).z == pytest.approx(
        standardised_mean(units, raters, plain).z
    )


def test_wrong_columns_are_refused() -> None:
    with refuses(BadShape, "raters", "1", "units", "2"):
        standardised_mean(["a", "b"], ["x"], [1, 2])
    with pytest.raises(BadValue, match="expected a finite number"):
        standardised_mean(["a", "b"], ["x", "x"], [1, math.inf])
