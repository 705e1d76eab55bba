"""Tests of differences and clusters of systems against statsmodels, full enumeration and scipy's bootstrap."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quorum.statistics.inputs import BadShape
from quorum.statistics.meta import clusters_of_p_values
from quorum.statistics.significance import (
    adjusted_p_values,
    bootstrap_interval,
    compare_with_best,
    holm,
    mcnemar_counts,
    mcnemar_test,
    randomization_test,
    significance_stars,
)
from quorum.statistics.significance.bootstrap import ONE_SIDED_RESAMPLES, TOO_FEW_VALUES
from quorum.statistics.significance.mcnemar import NO_DISCORDANT
from tests.refusals import refuses
from tests.statistics import plain_differences
from tests.statistics.golden import golden

DATA = golden("significance.json")


@pytest.mark.parametrize("case", DATA["mcnemar"], ids=lambda case: f"{case['b']} against {case['c']}")
def test_mcnemar_is_that_of_statsmodels(case: dict[str, Any]) -> None:
    result = mcnemar_counts(case["b"], case["c"])
    assert result.exact_p == pytest.approx(case["exact_p"], abs=1e-12)
    if "chi2_plain" in case:
        assert result.statistic == pytest.approx(case["chi2_corrected"]["statistic"], abs=1e-12)
        assert result.p == pytest.approx(case["chi2_corrected"]["p"], abs=1e-12)
    else:
        assert math.isnan(result.statistic)
        assert result.reason == NO_DISCORDANT


def test_mcnemar_counts_only_the_items_on_which_systems_differ() -> None:
    result = mcnemar_test([1, 1, 0, 0, 1], [1, 0, 1, 0, 0])
    assert (result.first_only, result.second_only) == (2, 1)


@pytest.mark.parametrize("case", DATA["permutation"], ids=range(len(DATA["permutation"])))
@pytest.mark.parametrize("seed", [0, 1])
def test_the_randomisation_test_is_within_its_error_of_full_enumeration(
    case: dict[str, Any], seed: int
) -> None:
    result = randomization_test(case["first"], case["second"], seed=seed)
    exact = case["exact_two_sided_p"]
    assert result.difference == pytest.approx(case["mean_difference"])
    assert result.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 100_000) + 1e-5)
    assert result.p == (result.as_extreme + 1) / (result.reassignments + 1)


def test_grades_with_many_equal_differences_are_tested_the_same_way() -> None:
    # Nine differences of +1, one of -1: the sign test, 2 * (1 + 10) / 2^10.
    first, second = [2] * 9 + [1], [1] * 9 + [2]
    result = randomization_test(first, second)
    assert result.p == pytest.approx(22 / 1024, abs=0.002)


@pytest.mark.large
@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(-3, 6), st.integers(-3, 6)), min_size=1, max_size=9),
    st.sampled_from(["mean", "median"]),
)
def test_any_p_is_within_its_error_of_all_swaps(pairs: list[tuple[int, int]], statistic: str) -> None:
    one, two = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    exact = plain_differences.exact_p(one, two, statistic)
    result = randomization_test(one, two, statistic, reassignments=4000)
    assert result.p == pytest.approx(exact, abs=4.5 * math.sqrt(exact * (1 - exact) / 4000) + 1e-3)


def test_a_mean_over_many_items_is_that_of_tossing_every_coin() -> None:
    generator = np.random.default_rng(3)
    one = generator.normal(size=2001)
    two = one + generator.normal(0.03, 1, 2001)
    # About normal with the spread of the differences: the closed form of a large sample.
    z = abs((one - two).sum()) / math.sqrt(((one - two) ** 2).sum())
    expected = math.erfc(z / math.sqrt(2))
    assert randomization_test(one, two, reassignments=6000).p == pytest.approx(expected, abs=0.025)


def test_means_of_three_grades_tie_although_rounding_tells_them_apart() -> None:
    # Differences of +-1/3 that come out as three different doubles: a sign test, 2 * (1 + 6) / 2^6.
    first = np.array([2 + 1 / 3, 4 / 3, 8 / 3, 10 / 3, 7 / 3, 2 / 3])
    second = np.array([2, 1, 7 / 3, 3, 2, 1])
    assert len(set(np.abs(first - second))) > 1
    result = randomization_test(first, second)
    assert result.p == pytest.approx(14 / 64, abs=0.006)


def test_one_sided_tests_look_at_one_side() -> None:
    first, second = [3, 5, 4, 6, 5, 7], [2, 4, 3, 5, 4, 6]
    sided = {
        side: randomization_test(first, second, alternative=side, reassignments=20_000)
        for side in ("two-sided", "greater", "less")
    }
    assert sided["greater"].p == pytest.approx(1 / 64, abs=0.004)
    assert sided["two-sided"].p == pytest.approx(2 / 64, abs=0.005)
    assert sided["less"].p == 1
    assert sided["greater"].alternative == "greater"


def test_the_same_seed_gives_the_same_p_and_a_stream_moves_on() -> None:
    first, second = [1.0, 4, 2, 8, 5, 7, 1], [2.0, 3, 1, 8, 2, 9, 4]
    assert randomization_test(first, second, seed=4) == randomization_test(first, second, seed=4)
    stream = np.random.default_rng(4)
    assert randomization_test(first, second, seed=stream).seed is None
    assert randomization_test(first, second, seed=stream) != randomization_test(first, second, seed=4)


def test_equal_systems_have_p_one() -> None:
    assert randomization_test([1, 2, 3], [1, 2, 3], reassignments=500).p == 1


def test_any_statistic_of_rows_can_be_tested() -> None:
    def largest(rows: np.ndarray) -> np.ndarray:
        return rows.max(axis=1)

    result = randomization_test([1, 2, 9], [1, 2, 3], largest, reassignments=999)
    assert (result.statistic, result.difference, result.p) == ("largest", 6, 1.0)


@pytest.mark.parametrize("method", ["percentile", "basic", "BCa"])
@pytest.mark.parametrize("case", DATA["bootstrap"], ids=range(len(DATA["bootstrap"])))
def test_from_the_same_draws_scipy_gives_the_same_interval(case: dict[str, Any], method: Any) -> None:
    theirs = stats.bootstrap(
        (case["x"],), np.mean, n_resamples=999, method=method, rng=np.random.default_rng(6)
    )
    result = bootstrap_interval(case["x"], method=method.lower(), resamples=999, seed=6)
    interval = theirs.confidence_interval
    assert [result.low, result.high] == pytest.approx([interval.low, interval.high], rel=1e-12)
    assert result.standard_error == pytest.approx(theirs.standard_error, rel=1e-12)


def test_the_median_has_an_interval_too() -> None:
    result = bootstrap_interval(np.arange(101.0), "median")
    # Order statistics: about 50.5 -+ 1.96 * sqrt(101) / 2 places.
    assert result.low == pytest.approx(40, abs=2)
    assert result.high == pytest.approx(60, abs=2)


@pytest.mark.parametrize("n", [40, 41])
@pytest.mark.parametrize("statistic", ["mean", "median"])
@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_the_short_cuts_of_mean_and_median_agree_with_redrawing_rows(
    n: int, statistic: str, method: str
) -> None:
    functions = {"mean": lambda rows: rows.mean(axis=1), "median": lambda rows: np.median(rows, axis=1)}
    sample = np.random.default_rng(n).exponential(size=n)
    fast = bootstrap_interval(sample, statistic, method=method, resamples=40_000)
    slow = bootstrap_interval(sample, functions[statistic], method=method, resamples=40_000, seed=1)
    assert fast.value == slow.value
    assert [fast.low, fast.high] == pytest.approx([slow.low, slow.high], abs=0.25 * slow.standard_error)
    assert fast.standard_error == pytest.approx(slow.standard_error, rel=0.03)


def test_a_value_that_no_resample_reaches_from_one_side_has_no_bca_interval() -> None:
    def first_less_one(rows: np.ndarray) -> np.ndarray:
        return rows.min(axis=1) + (len(rows) == 1)

    result = bootstrap_interval([1.0, 2.0, 3.0], first_less_one, method="bca", resamples=1)
    assert math.isnan(result.low)
    assert math.isnan(result.standard_error)
    assert result.reason == ONE_SIDED_RESAMPLES


def test_bca_stops_at_the_last_resample_where_its_correction_has_no_end() -> None:
    # One value far out: the acceleration comes near its bound of 1/6, and this confidence beyond it.
    sample = np.append(np.zeros(400), 1e6)
    result = bootstrap_interval(sample, method="bca", confidence=1 - 1e-13, resamples=2000)
    draws = bootstrap_interval(sample, method="percentile", confidence=1 - 1e-13, resamples=2000)
    assert result.high == pytest.approx(draws.high)


def test_a_constant_sample_has_an_interval_without_width() -> None:
    for method in ("percentile", "basic", "bca"):
        result = bootstrap_interval([2.0, 2.0, 2.0], method=method, resamples=100)
        assert (result.low, result.high, result.standard_error) == (2, 2, 0)


def test_one_value_has_no_interval_and_says_so() -> None:
    result = bootstrap_interval([3.0])
    assert result.value == 3
    assert math.isnan(result.low)
    assert result.reason == TOO_FEW_VALUES
    assert math.isnan(bootstrap_interval([]).value)


def test_a_function_of_one_sample_is_refused_in_words() -> None:
    one_number: Any = np.mean
    with refuses(BadShape, "statistic", "1", "3"):
        bootstrap_interval([1.0, 2.0, 4.0], one_number)
    with refuses(BadShape, "gives", "1", "3"):
        randomization_test([1.0, 2.0, 4.0], [1.0, 1.0, 1.0], lambda rows: rows.sum())


def test_a_function_that_is_called_mean_is_not_taken_for_the_mean() -> None:
    def mean(rows: Any) -> Any:
        return rows.max(axis=1)

    scores = [1.0, 2.0, 3.0, 10.0]
    found = bootstrap_interval(scores, mean, resamples=200)
    assert (found.statistic, found.value, found.high) == ("mean as given", 10.0, 10.0)
    assert randomization_test(scores, [0.0] * 4, mean, reassignments=99).difference == 10.0


CASES = golden("differences.json")["adjusted"]
P_VALUES = st.lists(st.floats(0, 1), max_size=20)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_adjusted_p_values_are_those_of_statsmodels(case: dict[str, Any]) -> None:
    assert holm(case["p"]) == pytest.approx(case["holm"], abs=1e-12)
    hochberg = adjusted_p_values(case["p"], "benjamini-hochberg").values
    assert hochberg == pytest.approx(case["benjamini_hochberg"], abs=1e-12)


def test_two_tests_have_the_closed_form() -> None:
    # Twice the smaller, and the larger unless it is below that.
    assert holm([0.03, 0.01]).tolist() == [0.03, 0.02]
    assert holm([0.015, 0.01]).tolist() == [0.02, 0.02]


@settings(max_examples=30)
@given(P_VALUES, st.sampled_from(["holm", "benjamini-hochberg", "none"]))
def test_adjusting_raises_p_keeps_the_order_and_ignores_where_a_test_stands(
    p_values: list[float], method: str
) -> None:
    given_p = np.array(p_values)
    values = adjusted_p_values(given_p, method).values
    assert (values >= given_p).all()
    assert (values <= 1).all()
    assert (np.diff(values[np.argsort(given_p, kind="stable")]) >= 0).all()
    assert adjusted_p_values(given_p[::-1], method).values.tolist() == values[::-1].tolist()


@settings(max_examples=30)
@given(P_VALUES)
def test_holm_is_never_below_benjamini_and_hochberg(p_values: list[float]) -> None:
    assert (holm(p_values) >= adjusted_p_values(p_values, "benjamini-hochberg").values - 1e-15).all()


def test_a_test_without_p_stays_without_and_does_not_count() -> None:
    result = adjusted_p_values([0.02, math.nan, 0.04, math.nan])
    assert result.values.tolist()[::2] == [0.04, 0.04]
    assert np.isnan(result.values[1::2]).all()
    assert (result.tests, result.undefined, result.method) == (2, 2, "holm")
    assert adjusted_p_values([]).values.tolist() == []


def test_none_leaves_the_p_values_alone() -> None:
    assert adjusted_p_values([0.5, 0.01], "none").values.tolist() == [0.5, 0.01]


def test_stars_follow_the_tables_of_the_papers() -> None:
    assert [significance_stars(p) for p in (0.2, 0.1, 0.05, 0.01, 0.0001)] == ["", "*", "**", "***", "***"]
    assert significance_stars(math.nan) == ""


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


def test_one_system_is_a_cluster_and_no_system_is_none() -> None:
    alone = clusters_of_p_values([1], [[NAN]], ["it"])
    assert alone.clusters == (("it",),)
    assert (alone.rank_low.tolist(), alone.rank_high.tolist()) == ([1], [1])
    assert clusters_of_p_values([], np.empty((0, 0))).clusters == ()


def test_the_best_is_compared_with_each_other_one_by_holm_for_so_many_tests() -> None:
    p = {("b", "a"): 0.02, ("b", "c"): 0.001, ("b", "d"): 0.03}
    names = ["a", "b", "c", "d"]
    asked: list[tuple[str, str]] = []

    def test(first: int, second: int) -> float:
        asked.append((names[first], names[second]))
        return p[asked[-1]]

    result = compare_with_best([3, 4, 1, 2], names, test)
    assert asked == [("b", "a"), ("b", "d"), ("b", "c")]
    assert (result.names, result.values.tolist()) == (("b", "a", "d", "c"), [4, 3, 2, 1])
    # Three tests, not the six of all pairs: .001 * 3, .02 * 2, and .03 no lower than that.
    assert result.compared == pytest.approx({"a": 0.04, "d": 0.04, "c": 0.003})
    assert (result.leaders, result.significantly_worse) == (["b"], ["a", "d", "c"])
    assert (result.p_of_rest, result.p_of_leaders) == (pytest.approx(0.04), None)
    p |= {("b", "a"): 0.03, ("b", "d"): 0.04}
    some = compare_with_best([3, 4, 1, 2], names, test)
    assert (some.leaders, some.significantly_worse) == (["b", "a", "d"], ["c"])
    assert (some.p_of_rest, some.p_of_leaders) == pytest.approx((0.003, 0.06))


def test_the_best_of_ties_is_the_first_and_leads_with_them_whatever_their_p() -> None:
    result = compare_with_best([2, 1, 2], ["a", "b", "c"], lambda first, second: 0.001)
    assert (result.names, result.leaders, result.significantly_worse) == (("a", "c", "b"), ["a", "c"], ["b"])
    assert result.p_of_leaders == pytest.approx(0.002)


def test_a_comparison_without_a_p_counts_as_no_test_and_parts_nobody() -> None:
    result = compare_with_best([3, 2, 1], ["a", "b", "c"], lambda first, second: (NAN, 0.04)[second - 1])
    assert (result.compared, result.leaders, result.significantly_worse) == (
        {"b": None, "c": 0.04},
        ["a", "b"],
        ["c"],
    )
    alone = compare_with_best([3], ["a"], lambda first, second: 0.0)
    assert (alone.compared, alone.leaders, alone.significantly_worse) == ({}, ["a"], [])
    assert (alone.p_of_rest, alone.p_of_leaders) == (None, None)
    none = compare_with_best([], [], lambda first, second: 0.0)
    assert (none.names, none.leaders, none.p.tolist()) == ((), [], [])


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
