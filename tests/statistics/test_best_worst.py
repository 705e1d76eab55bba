"""Best-worst scaling: counts, implied comparisons, and how reliable the scores are."""

import math
from typing import Any

import numpy as np
import pytest

from evaluation.statistics.aggregation import (
    best_worst_scores,
    bradley_terry_of_comparisons,
    implied_comparisons,
    split_half_reliability,
)

FOUR = ["a", "b", "c", "d"]


def ordered_answers(
    count: int, repeats: int, noise: float, seed: int
) -> tuple[list[str], list[list[int]], Any, Any]:
    """Answers on random lists of four of `count` items whose true order is their number, with normal noise."""
    rng = np.random.default_rng(seed)
    names, shown, best, worst = [], [], [], []
    for number in range(2 * count):
        items = rng.permutation(count)[:4].tolist()
        for _ in range(repeats):
            felt = np.array(items) + noise * rng.standard_normal(4)
            names.append(f"t{number}")
            shown.append(items)
            best.append(items[int(felt.argmax())])
            worst.append(items[int(felt.argmin())])
    return names, shown, best, worst


def test_a_score_is_the_share_of_best_minus_the_share_of_worst() -> None:
    # a: 3 times shown, best twice, worst never; d: 3 times shown, worst twice
    result = best_worst_scores([FOUR, FOUR, ["d", "c", "a"]], ["a", "b", "a"], ["d", "d", "c"])
    assert result.items.tolist() == FOUR
    assert result.shown.tolist() == [3, 2, 3, 3]
    assert result.score.tolist() == pytest.approx([2 / 3, 1 / 2, -1 / 3, -2 / 3])
    assert result.answers == 3


def test_an_answer_on_four_orders_five_of_the_six_pairs() -> None:
    winners, losers = implied_comparisons([FOUR], ["b"], ["c"])
    assert sorted(zip(winners, losers, strict=True)) == [
        ("a", "c"),
        ("b", "a"),
        ("b", "c"),
        ("b", "d"),
        ("d", "c"),
    ]


def test_an_answer_on_two_is_one_comparison() -> None:
    assert implied_comparisons([["x", "y"]], ["y"], ["x"]) == (["y"], ["x"])


def test_bradley_terry_over_the_implied_pairs_finds_the_order() -> None:
    _, shown, best, worst = ordered_answers(9, 3, 1.5, seed=4)
    winners, losers = implied_comparisons(shown, best, worst)
    fit = bradley_terry_of_comparisons(winners, losers, np.ones(len(winners)), prior=0.1)
    assert fit.order.tolist() == list(range(8, -1, -1))
    scores = best_worst_scores(shown, best, worst)
    assert np.argsort(-scores.score).tolist() == fit.order.tolist()


def test_halves_of_sure_answers_agree_entirely() -> None:
    result = split_half_reliability(*ordered_answers(6, 2, 0.0, seed=1), splits=20)
    # both halves hold every list once, so their scores are equal
    assert result.pearson == pytest.approx(1)
    assert result.spearman == pytest.approx(1)
    assert result.pearson_deviation == pytest.approx(0, abs=1e-12)
    assert (result.items, result.splits, result.undefined, result.reason) == (6, 20, 0, "")


def test_halves_of_random_answers_do_not_agree() -> None:
    rng = np.random.default_rng(8)
    lists = [rng.permutation(60)[:4].tolist() for _ in range(120)]
    shown = [items for items in lists for _ in range(4)]
    picks = [rng.permutation(items)[:2].tolist() for items in shown]
    names = [f"t{number}" for number in range(120) for _ in range(4)]
    result = split_half_reliability(
        names, shown, [pick[0] for pick in picks], [pick[1] for pick in picks], splits=60
    )
    assert abs(result.spearman) < 0.2


def test_noisier_judges_are_less_reliable() -> None:
    sure, unsure = (split_half_reliability(*ordered_answers(20, 4, noise, seed=2)) for noise in (3.0, 30.0))
    assert sure.spearman > 0.9 > unsure.spearman


def test_scores_of_one_answer_have_no_halves() -> None:
    result = split_half_reliability(["t"], [FOUR], ["a"], ["b"], splits=5)
    assert math.isnan(result.spearman)
    assert result.reason == "no two items have answers in both halves, with scores that differ"
