"""Dawid-Skene, Bradley-Terry and Borda: lopsided data, closed forms, default settings."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics.aggregation import (
    borda_count,
    borda_of_ranks,
    bradley_terry,
    dawid_skene,
    wins_table,
)
from evaluation.statistics.errors import BadOption, BadShape, BadValue
from tests.statistics.golden import golden

CROWDS = golden("aggregation.json")["dawid_skene"]
LEAGUES = golden("aggregation.json")["bradley_terry"]


@pytest.mark.parametrize("crowd", CROWDS, ids=["two labels", "three labels"])
def test_dawid_skene_reaches_the_fixed_point_with_default_settings(crowd: dict[str, Any]) -> None:
    units, workers, values = np.array(crowd["judgments"]).T
    result = dawid_skene(units, workers, values)
    assert result.converged
    assert result.posterior == pytest.approx(np.array(crowd["posterior"]), abs=1e-8)
    assert result.prior == pytest.approx(np.array(crowd["priors"]), abs=1e-8)
    assert result.log_likelihood == pytest.approx(crowd["log_likelihood"], abs=1e-9)
    assert result.values() == crowd["most_likely"]
    assert result.confusion.sum(axis=2) == pytest.approx(np.ones(result.confusion.shape[:2]))


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("crowd", CROWDS, ids=["two labels", "three labels"])
def test_every_step_of_dawid_skene_is_the_reference_programs(crowd: dict[str, Any], steps: int) -> None:
    units, workers, values = np.array(crowd["judgments"]).T
    result = dawid_skene(units, workers, values, max_iterations=steps)
    assert result.posterior == pytest.approx(np.array(crowd[f"posterior_after_{steps}"]), abs=1e-9)
    assert (result.iterations, result.converged) == (steps, False)


def test_a_worker_who_always_answers_the_opposite_is_read_the_right_way_round() -> None:
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 2, 400)
    units, workers, values = [], [], []
    for worker, accuracy in enumerate([0.9, 0.85, 0.9, 0.05]):
        right = generator.random(400) < accuracy
        units += list(range(400))
        workers += [worker] * 400
        values += list(np.where(right, truth, 1 - truth))
    result = dawid_skene(units, workers, values)
    assert np.mean(np.array(result.values()) == truth) > 0.96
    assert result.confusion[3, 0, 1] == pytest.approx(0.95, abs=0.05)


def test_two_workers_who_always_differ_leave_every_unit_undecided() -> None:
    result = dawid_skene([1, 1, 2, 2], ["a", "b", "a", "b"], [0, 1, 1, 0])
    assert result.values() == [None, None]


def test_the_likelihood_never_falls_from_step_to_step() -> None:
    units, workers, values = np.array(CROWDS[1]["judgments"]).T
    path = [dawid_skene(units, workers, values, max_iterations=n).log_likelihood for n in range(1, 40)]
    assert (np.diff(path) > -1e-9).all()


def test_a_scale_can_be_given_to_dawid_skene() -> None:
    result = dawid_skene(["u", "u"], ["a", "b"], ["yes", "yes"], labels=["no", "yes", "unsure"])
    assert result.values() == ["yes"]
    assert result.posterior.shape == (1, 3)


@pytest.mark.parametrize("league", LEAGUES, ids=[league["why"] for league in LEAGUES])
def test_bradley_terry_finds_the_exact_strengths_with_default_settings(league: dict[str, Any]) -> None:
    result = bradley_terry(league["wins"])
    assert result.converged
    assert result.strength == pytest.approx(np.array(league["strengths"]), abs=1e-10)
    assert result.strength.sum() == pytest.approx(1)
    assert result.order.tolist() == np.argsort(-np.array(league["strengths"])).tolist()


def test_the_interval_of_two_items_is_that_of_their_log_odds() -> None:
    result = bradley_terry([[0, 7], [2, 0]])
    odds, error = math.log(7 / 2), math.sqrt(1 / 7 + 1 / 2)
    chance, low, high = result.probability(0, 1)
    assert chance == pytest.approx(7 / 9)
    assert low == pytest.approx(1 / (1 + math.exp(-odds + 1.959964 * error)), abs=1e-6)
    assert high == pytest.approx(1 / (1 + math.exp(-odds - 1.959964 * error)), abs=1e-6)
    assert result.standard_error == pytest.approx([error / 2, error / 2])


def test_a_chain_of_forty_very_uneven_pairs_has_the_product_of_their_odds() -> None:
    wins = np.zeros((40, 40))
    for place in range(39):
        wins[place, place + 1], wins[place + 1, place] = 999, 1
    result = bradley_terry(wins)
    assert result.converged
    assert np.diff(result.log_strength) == pytest.approx(np.full(39, -math.log(999)))


def test_one_win_in_a_million_million_is_no_trouble() -> None:
    result = bradley_terry([[0, 10**12], [1, 0]])
    assert result.converged
    assert result.log_strength[0] - result.log_strength[1] == pytest.approx(math.log(10**12))


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    generator = np.random.default_rng(9)
    strength = np.array([0.5, 0.3, 0.2])
    chance = strength[:, np.newaxis] / (strength[:, np.newaxis] + strength)
    held = 0
    for _ in range(400):
        wins = np.triu(generator.binomial(60, chance), 1)
        wins = wins + np.tril(60 - wins.T, -1)
        _, low, high = bradley_terry(wins).probability(0, 1)
        held += low < chance[0, 1] < high
    assert held / 400 == pytest.approx(0.95, abs=0.04)


def test_a_tie_is_half_a_win_each_way() -> None:
    with_ties = bradley_terry([[0, 4], [1, 0]], ties=[[0, 2], [2, 0]])
    assert with_ties.strength == pytest.approx(np.array([5, 2]) / 7)


def test_items_that_never_lose_have_no_finite_strength_unless_a_prior_is_given() -> None:
    result = bradley_terry([[0, 3, 2], [0, 0, 1], [0, 1, 0]])
    assert np.isnan(result.strength).all()
    assert not result.converged
    assert "2 groups between which all comparisons went one way" in result.reason
    with_prior = bradley_terry([[0, 3, 2], [0, 0, 1], [0, 1, 0]], prior=0.5)
    assert with_prior.converged
    assert with_prior.order.tolist()[0] == 0
    assert bradley_terry([[0]]).reason == "there are fewer than two items"


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 60), min_size=12, max_size=12), st.permutations(range(4)))
def test_renaming_items_renames_their_strengths(counts: list[int], order: list[int]) -> None:
    wins = np.zeros((4, 4))
    wins[~np.eye(4, dtype=bool)] = counts
    result = bradley_terry(wins)
    renamed = bradley_terry(wins[order][:, order])
    assert renamed.strength == pytest.approx(result.strength[order], rel=1e-9)


def test_comparisons_one_a_row_make_the_table() -> None:
    items, table = wins_table(["a", "a", "b"], ["b", "c", "a"])
    assert items.tolist() == ["a", "b", "c"]
    assert table.tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]


def test_borda_adds_the_points_of_every_ranking() -> None:
    result = borda_count(["abcd", "bacd", "abdc"])
    assert dict(zip(result.items.tolist(), result.points.tolist(), strict=True)) == {
        "a": 11,
        "b": 10,
        "c": 5,
        "d": 4,
    }
    assert result.ranking() == ["a", "b", "c", "d"]
    assert not result.tied.any()


def test_equal_points_are_broken_by_the_median_rank() -> None:
    # a: ranks 0, 0, 3 (median 0); b: 1, 1, 1 (median 1); both sum to 3.
    result = borda_count([["a", "b", "c", "d"], ["a", "b", "d", "c"], ["c", "b", "d", "a"]])
    points = dict(zip(result.items.tolist(), result.points.tolist(), strict=True))
    assert points["a"] == points["b"]
    assert result.ranking()[:2] == ["a", "b"]
    assert not result.tied[:2].any()


def test_items_that_stay_tied_share_their_rank() -> None:
    result = borda_count([["a", "b", "c"], ["b", "a", "c"]])
    assert result.rank.tolist() == [0, 0, 2]
    assert result.tied.tolist() == [True, True, False]


def test_ranks_and_ordered_lists_give_the_same_joint_ranking() -> None:
    ranks = [[0, 2, 1], [1, 0, 2]]
    lists = [[0, 2, 1], [1, 0, 2]]
    assert borda_of_ranks(ranks).points.tolist() == borda_count(lists).points.tolist()


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: dawid_skene([], [], []), BadOption, "there are no judgments"),
        (lambda: dawid_skene([1], [1], [1, 2]), BadShape, "values has 2 entries and units 1"),
        (lambda: dawid_skene([1], [1], [1], max_iterations=0), BadOption, "max_iterations is 0"),
        (lambda: dawid_skene([1], [1], [1], tolerance=-1), BadOption, "tolerance is -1"),
        (lambda: bradley_terry([[0, 1]]), BadShape, r"wins is of shape \(1, 2\), expected a square table"),
        (lambda: bradley_terry([[0, -1], [1, 0]]), BadValue, "negative or infinite"),
        (lambda: bradley_terry([[1, 1], [1, 0]]), BadValue, r"wins\[0, 0\] is above zero"),
        (lambda: bradley_terry([["a"]]), BadValue, "wins holds something that is no number"),
        (lambda: bradley_terry([[0, 1], [1, 0]], ties=[[0, 1], [2, 0]]), BadValue, "ties is not symmetric"),
        (lambda: bradley_terry([[0, 1], [1, 0]], ties=[[0]]), BadShape, "expected the same shape"),
        (lambda: bradley_terry([[0, 1], [1, 0]], prior=-1), BadOption, "prior is -1"),
        (lambda: wins_table(["a"], []), BadShape, "losers has 0 entries and winners 1"),
        (lambda: borda_count([]), BadShape, "there are no rankings"),
        (lambda: borda_count(["ab", "a"]), BadShape, "ranking 1 has 1 items of 2, expected all of them"),
        (lambda: borda_count(["ab", "aa"]), BadValue, "ranking 1 has 'a' twice"),
        (lambda: borda_of_ranks([[0, 0]]), BadValue, "row 0 of ranks is no permutation"),
        (lambda: borda_of_ranks([]), BadShape, "expected rankings by items"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()
