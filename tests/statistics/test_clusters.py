"""Which systems can be told apart."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics.inputs import BadValue
from evaluation.statistics.meta import clusters_of_p_values, system_clusters
from evaluation.statistics.significance import holm, randomization_test

NAN = math.nan


def matrix(size: int, pairs: dict[tuple[int, int], float], otherwise: float) -> np.ndarray:
    p = np.full((size, size), otherwise)
    for (one, two), value in pairs.items():
        p[one, two] = p[two, one] = value
    return p


def test_a_line_between_clusters_needs_every_system_above_to_beat_every_one_below() -> None:
    # b is not told apart from a or c, but a beats c: one cluster of three, with ranges of ranks that differ.
    p = matrix(4, {(0, 2): 0.01, (0, 3): 0.01, (1, 3): 0.01, (2, 3): 0.01}, 0.5)
    result = clusters_of_p_values([4, 3, 2, 1], p, ["a", "b", "c", "d"], correction="none")
    assert result.clusters == (("a", "b", "c"), ("d",))
    assert result.rank_low.tolist() == [1, 1, 2, 4]
    assert result.rank_high.tolist() == [2, 3, 3, 4]


def test_systems_are_ranked_whatever_order_they_come_in() -> None:
    p = matrix(3, {(0, 1): 0.5}, 0.001)
    result = clusters_of_p_values([1.0, 1.5, 9.0], p, ["low", "middle", "top"])
    assert result.names == ("top", "middle", "low")
    assert result.values.tolist() == [9, 1.5, 1]
    assert result.clusters == (("top",), ("middle", "low"))
    assert result.p[1, 2] == 0.5
    assert np.isnan(np.diag(result.p)).all()


def test_p_is_adjusted_for_all_pairs_of_systems() -> None:
    p = matrix(3, {(0, 1): 0.02, (0, 2): 0.03, (1, 2): 0.04}, NAN)
    plain = clusters_of_p_values([3, 2, 1], p, correction="none")
    adjusted = clusters_of_p_values([3, 2, 1], p)
    assert plain.clusters == (("1",), ("2",), ("3",))
    assert adjusted.clusters == (("1", "2", "3"),)
    assert adjusted.adjusted_p[0, 1:].tolist() == pytest.approx(holm([0.02, 0.03, 0.04])[:2])
    assert adjusted.adjusted_p[2, 1] == adjusted.adjusted_p[1, 2]
    lenient = clusters_of_p_values([3, 2, 1], p, correction="benjamini-hochberg")
    assert lenient.clusters == plain.clusters


def test_a_test_without_p_and_equal_values_tell_nothing_apart() -> None:
    p = matrix(2, {}, 0.001)
    assert clusters_of_p_values([1, 1], p).clusters == (("1", "2"),)
    assert clusters_of_p_values([2, 1], matrix(2, {}, NAN)).clusters == (("1", "2"),)


def test_systems_are_compared_on_the_items_they_share() -> None:
    generator = np.random.default_rng(3)
    quality = generator.normal(size=200)
    scores = np.stack([quality + shift + generator.normal(0, 0.3, 200) for shift in (0.0, 0.02, 0.5)])
    result = system_clusters(scores, ["plain", "same", "better"])
    assert result.clusters[0] == ("better",)
    assert set(result.clusters[1]) == {"plain", "same"}
    assert (result.n, result.left_out, result.reassignments, result.seed) == (200, 0, 10_000, 0)
    alone = randomization_test(scores[0], scores[2], reassignments=10_000, seed=5).p
    assert result.p[0, result.names.index("plain")] == pytest.approx(alone, abs=1e-3)


def test_items_that_a_system_lacks_are_left_out_when_asked() -> None:
    scores = np.array([[1.0, 2, 3, 4], [2.0, NAN, 4, 5]])
    with pytest.raises(BadValue, match=r"scores\[1, 1\] is nan, expected a score"):
        system_clusters(scores)
    result = system_clusters(scores, missing="leave-out", reassignments=100)
    assert (result.n, result.left_out) == (3, 1)
    assert result.values.tolist() == pytest.approx([11 / 3, 8 / 3])


def test_one_system_is_a_cluster_and_no_system_is_none() -> None:
    alone = system_clusters([[1, 2]], ["it"])
    assert alone.clusters == (("it",),)
    assert (alone.rank_low.tolist(), alone.rank_high.tolist()) == ([1], [1])
    assert clusters_of_p_values([], np.empty((0, 0))).clusters == ()


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    st.lists(st.floats(0, 0.2), min_size=15, max_size=15),
)
def test_clusters_hold_every_system_once_and_agree_with_the_ranges(
    values: list[int], p_values: list[float]
) -> None:
    size = len(values)
    p = np.full((size, size), NAN)
    upper = np.triu_indices(size, 1)
    p[upper] = p_values[: len(upper[0])]
    p = np.where(np.isnan(p), p.T, p)
    result = clusters_of_p_values(values, p, correction="none")
    assert [name for cluster in result.clusters for name in cluster] == list(result.names)
    assert (result.rank_low <= result.rank_high).all()
    place = 0
    for cluster in result.clusters:
        for name in cluster:
            at = result.names.index(name)
            assert place + 1 <= result.rank_low[at]
            assert result.rank_high[at] <= place + len(cluster)
        place += len(cluster)


@settings(max_examples=20)
@given(st.lists(st.integers(0, 100), min_size=4, max_size=4, unique=True), st.data())
def test_clusters_ignore_the_order_of_systems(values: list[int], data: st.DataObject) -> None:
    drawn = st.sampled_from([0.001, 0.02, 0.4])
    p = matrix(4, {(one, two): data.draw(drawn) for one in range(4) for two in range(one)}, NAN)
    order = data.draw(st.permutations(range(4)))
    there = clusters_of_p_values(values, p, list("abcd"))
    back = clusters_of_p_values(
        np.array(values)[order], p[np.ix_(order, order)], ["abcd"[one] for one in order]
    )
    assert back.clusters == there.clusters
    assert (back.rank_low.tolist(), back.rank_high.tolist()) == (
        there.rank_low.tolist(),
        there.rank_high.tolist(),
    )
