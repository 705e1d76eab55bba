"""Borda counts with H13's tie rule."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics.aggregation import borda_count


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


def test_one_item_and_one_ranking_are_ranked_first() -> None:
    result = borda_count([["only"]])
    assert (result.ranking(), result.points.tolist(), result.rank.tolist()) == (["only"], [1], [0])


@settings(max_examples=30)
@given(st.lists(st.permutations(list("abcde")), min_size=1, max_size=7), st.randoms())
def test_points_are_counted_as_the_paper_says_whatever_the_order_of_rankings(
    rankings: list[list[str]], shuffler: Any
) -> None:
    result = borda_count(rankings)
    for place, item in enumerate(result.items.tolist()):
        ranks = [ranking.index(item) for ranking in rankings]
        assert result.points[place] == sum(5 - rank for rank in ranks)
        assert result.median[place] == np.median(ranks)
    keys = [(-result.points[place], result.median[place]) for place in result.order.tolist()]
    assert keys == sorted(keys)
    shuffler.shuffle(rankings)
    assert borda_count(rankings).ranking() == result.ranking()
