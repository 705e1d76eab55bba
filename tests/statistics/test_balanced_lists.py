"""Lists for best-worst scaling: as balanced as can be, the same for the same seed."""

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest

from quorum.statistics.balanced_lists import balanced_lists, count_lists
from quorum.statistics.inputs import BadOption
from tests.marks import long_except


def drawn(items: int, size: int, appearances: int, seed: int = 2) -> list[tuple[int, ...]]:
    return balanced_lists(items, size=size, appearances=appearances, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("size", long_except([2, 3, 4, 5], 2, 5))
@pytest.mark.parametrize("appearances", [1, 2, 3, 5, 8])
def test_items_come_equally_often_and_no_list_comes_twice(size: int, appearances: int) -> None:
    for items in (size, size + 1, 9, 13):
        lists = drawn(items, size, appearances)
        assert len(lists) == len(set(lists)) == count_lists(items, size=size, appearances=appearances)
        assert all(len(set(one)) == size and list(one) == sorted(one) for one in lists)
        came = Counter(item for one in lists for item in one)
        assert set(came) == set(range(items))
        assert max(came.values()) - min(came.values()) <= (len(lists) * size % items > 0)


@pytest.mark.parametrize("seed", [4, 9])
def test_lists_that_were_dealt_twice_are_told_apart(seed: int) -> None:
    lists = drawn(5, 3, 5, seed=seed)
    assert len(lists) == len(set(lists)) == 9


@pytest.mark.parametrize(("size", "appearances"), [(0, 1), (4, 0)])
def test_sizes_and_appearances_are_whole_numbers_above_zero(size: int, appearances: int) -> None:
    with pytest.raises(BadOption):
        drawn(9, size, appearances)


@pytest.mark.parametrize("items", [5, 7, 13])
def test_sizes_with_a_block_design_meet_it(items: int) -> None:
    # 5 choose 4, two copies' worth of the Fano plane's complement, and the projective plane of order 3
    lists = drawn(items, 4, {5: 4, 7: 4, 13: 4}[items])
    met = Counter(pair for one in lists for pair in combinations(one, 2))
    assert len(met) == comb(items, 2)
    assert set(met.values()) == {{5: 3, 7: 2, 13: 1}[items]}


def test_fifty_items_shown_eight_times_in_fours_meet_at_most_once() -> None:
    # what Kiritchenko and Mohammad ask for: 2 N lists of four for N items
    lists = drawn(50, 4, 8)
    assert len(lists) == 100
    met = Counter(pair for one in lists for pair in combinations(one, 2))
    assert max(met.values()) == 1


def test_items_shown_twice_or_more_are_all_comparable() -> None:
    for items in range(5, 20):
        groups = {item: {item} for item in range(items)}
        for one in drawn(items, 4, 2):
            joined = set().union(*(groups[item] for item in one))
            groups.update(dict.fromkeys(joined, joined))
        assert len(groups[0]) == items


def test_too_few_items_give_no_list() -> None:
    assert drawn(3, 4, 8) == []


def test_where_there_are_not_so_many_lists_all_are_taken() -> None:
    assert drawn(5, 4, 100) == list(combinations(range(5), 4))
    assert drawn(4, 4, 8) == [(0, 1, 2, 3)]


def test_the_seed_decides() -> None:
    assert drawn(12, 4, 4) == drawn(12, 4, 4)
    assert drawn(12, 4, 4) != drawn(12, 4, 4, seed=3)
