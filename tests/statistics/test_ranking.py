"""Ranking measures against trec_eval."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from quorum.statistics.inputs import BadOption, BadShape, BadValue
from quorum.statistics.ranking import (
    NO_ORDER,
    NOTHING_RELEVANT,
    RankingResult,
    judge_rankings,
    median_rank,
    order_correlation,
    r_precision,
    recall_at_k,
    success_at_k,
)
from tests.refusals import refuses
from tests.statistics.golden import golden

DATA = golden("ranking.json")
QUERIES = sorted(DATA["qrels"])
RELEVANT = [DATA["qrels"][query] for query in QUERIES]


def _rankings() -> list[list[str]]:
    lists: dict[str, list[tuple[int, str]]] = {query: [] for query in QUERIES}
    for line in DATA["run"]:
        query, _, document, rank, _, _ = line.split()
        lists[query].append((int(rank), document))
    return [[document for _, document in sorted(lists[query])] for query in QUERIES]


RANKINGS = _rankings()


def _expected(name: str) -> list[float]:
    return [DATA["per_query"][query][name] for query in QUERIES]


@pytest.mark.parametrize("k", [1, 5, 10])
def test_recall_and_success_are_trec_evals_query_by_query(k: int) -> None:
    recall, success = recall_at_k(RANKINGS, RELEVANT, k), success_at_k(RANKINGS, RELEVANT, k)
    assert recall.per_query.tolist() == pytest.approx(_expected(f"recall_{k}"), abs=1e-12)
    assert success.per_query.tolist() == pytest.approx(_expected(f"success_{k}"), abs=1e-12)
    assert recall.value == pytest.approx(DATA["mean"][f"recall_{k}"])
    assert (recall.measure, success.measure) == (f"R@{k}", f"S@{k}")


def test_r_precision_is_trec_evals_query_by_query() -> None:
    result = r_precision(RANKINGS, RELEVANT)
    assert result.per_query.tolist() == pytest.approx(_expected("Rprec"), abs=1e-12)
    assert result.value == pytest.approx(DATA["mean"]["Rprec"])


def test_the_median_rank_counts_a_missing_item_as_infinitely_far() -> None:
    result = median_rank(RANKINGS, RELEVANT)
    expected = [DATA["first_relevant_rank"][query] for query in QUERIES]
    assert result.per_query.tolist() == [math.inf if rank is None else rank for rank in expected]
    assert result.value == DATA["median_rank"]
    assert median_rank([["a"], ["b"]], [{"x"}, {"y"}]).value == math.inf


def test_recall_of_one_original_item_is_success() -> None:
    rankings, originals = [["a", "b"], ["c", "a"]], [{"b"}, {"c"}]
    assert recall_at_k(rankings, originals, 1).per_query.tolist() == [0, 1]
    assert recall_at_k(rankings, originals, 2).value == success_at_k(rankings, originals, 2).value == 1


def test_unjudged_items_are_counted_and_the_best_case_says_what_they_could_change() -> None:
    judged = [{"a": 1, "b": 0}]
    recall = recall_at_k([["x", "a", "b", "y"]], judged, 3)
    assert (recall.value, recall.unjudged, recall.best_case) == (1.0, 1, 1.0)
    success = success_at_k([["b", "x", "a"]], judged, 2)
    assert (success.value, success.unjudged, success.best_case) == (0.0, 1, 1.0)
    precision = r_precision([["x", "a"]], judged)
    assert (precision.value, precision.unjudged, precision.best_case) == (0.0, 1, 1.0)
    rank = median_rank([["b", "x", "y", "a", "z"]], judged)
    assert (rank.value, rank.unjudged, rank.best_case) == (4.0, 2, 2.0)
    # Had the two unjudged items been relevant as well, two of three relevant items were found.
    missed = recall_at_k([["x", "y", "b"]], judged, 3)
    assert (missed.value, missed.best_case) == (0.0, pytest.approx(2 / 3))


def test_where_everything_is_known_nothing_is_unjudged() -> None:
    result = success_at_k([["x", "a"]], [{"a"}], 1)
    assert result.unjudged is None
    assert (result.value, result.best_case) == (0.0, 0.0)
    fully = success_at_k([["x", "a"]], [{"a": 1, "x": 0}], 1)
    assert (fully.value, fully.best_case, fully.unjudged) == (0.0, 0.0, 0)


def test_unjudged_items_can_be_left_out_so_that_later_ones_move_up() -> None:
    judged = [{"a": 1, "b": 0}]
    result = success_at_k([["x", "y", "a", "b"]], judged, 1, unjudged="leave-out")
    assert (result.value, result.best_case, result.unjudged) == (1.0, 1.0, 2)
    assert median_rank([["x", "b", "y", "a"]], judged, unjudged="leave-out").value == 2
    assert median_rank([["x"]], judged, unjudged="leave-out").value == math.inf


def test_unjudged_items_can_be_refused_where_a_measure_looks() -> None:
    judged = [{"a": 1}, {"a": 1, "b": 0}]
    with refuses(BadValue, "1", "S@2"):
        success_at_k([["a"], ["b", "x", "a"]], judged, 2, unjudged="refuse")
    assert success_at_k([["a"], ["b", "x", "a"]], judged, 1, unjudged="refuse").value == 0.5


def test_a_query_with_nothing_relevant_is_left_out_and_counted() -> None:
    result = r_precision([["a"], ["a"]], [{"a": 1}, {"a": 0}])
    assert (result.value, result.undefined, result.queries) == (1.0, 1, 2)
    assert math.isnan(result.per_query[1])
    for nothing in (success_at_k([["a"]], [set()], 1), median_rank([["a"]], [{"a": 0}]), r_precision([], [])):
        assert math.isnan(nothing.value)
        assert math.isnan(nothing.best_case)
        assert nothing.reason == NOTHING_RELEVANT


def test_a_list_shorter_than_r_is_not_forgiven() -> None:
    assert r_precision([["a"]], [{"a", "b"}]).value == 0.5


def test_items_may_be_pairs_numbers_or_words_in_any_script() -> None:
    items = [("dog.jpg", 1), 7, "🐕‍🦺", "كلب", ""]
    result = recall_at_k([items], [{("dog.jpg", 1), "كلب", ""}], 4)
    assert result.value == pytest.approx(2 / 3)


LISTS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 8), unique=True, max_size=8),
        st.dictionaries(st.integers(0, 9), st.integers(0, 2), max_size=6),
    ),
    max_size=6,
)


@settings(max_examples=40)
@given(LISTS, st.integers(1, 6))
def test_every_measure_is_what_looking_down_the_list_gives(
    queries: list[tuple[list[int], dict[int, int]]], k: int
) -> None:
    lists = judge_rankings([ranking for ranking, _ in queries], [judged for _, judged in queries])
    results = [recall_at_k(lists, k=k), success_at_k(lists, k=k), r_precision(lists), median_rank(lists)]
    for place, (ranking, judged) in enumerate(queries):
        relevant = {item for item, grade in judged.items() if grade}
        found = [result.per_query[place] for result in results]
        best = [result.best_per_query[place] for result in results]
        if not relevant:
            assert np.isnan(found + best).all()
            continue
        top, unknown = set(ranking[:k]), set(ranking[:k]) - set(judged)
        first = [rank for rank, item in enumerate(ranking, 1) if item in relevant]
        early = [rank for rank, item in enumerate(ranking, 1) if item in relevant or item not in judged]
        within = ranking[: len(relevant)]
        assert found == [
            len(top & relevant) / len(relevant),
            float(bool(top & relevant)),
            len(set(within) & relevant) / len(relevant),
            first[0] if first else math.inf,
        ]
        assert best == [
            len(top & relevant | unknown) / len(relevant | unknown),
            float(bool(top & relevant | unknown)),
            sum(item in relevant or item not in judged for item in within) / len(relevant),
            early[0] if early else math.inf,
        ]


def of_system(relevance: str, originals: str) -> tuple[RankingResult, RankingResult]:
    """R-precision of a list of two, and the rank of the original: of each query 0 or 1, and 1 to 9."""
    wanted = [{"a": int(letter), "b": 1 - int(letter)} for letter in relevance]
    places = [{int(letter)} for letter in originals]
    return r_precision([["a", "b"]] * 4, wanted), median_rank([list(range(1, 10))] * 4, places)


SYSTEMS = [
    of_system("1110", "1298"),
    of_system("1000", "2316"),
    of_system("0110", "3427"),
    of_system("0001", "9991"),
]


@pytest.mark.parametrize(("coefficient", "oracle"), [("spearman", spearmanr), ("kendall-tau-b", kendalltau)])
def test_two_measures_order_systems_alike_as_scipy_has_it(coefficient: str, oracle: Any) -> None:
    people, original = zip(*SYSTEMS, strict=True)
    found = order_correlation(people, original, coefficient)
    values = ([one.value for one in people], [-one.value for one in original])
    assert found.value == pytest.approx(oracle(*values).statistic)
    assert (found.systems, found.reason) == (4, "")


def test_equal_shares_tie_and_a_system_without_a_value_is_left_out() -> None:
    people, original = zip(*SYSTEMS[:3], strict=True)
    nothing = r_precision([["a"]], [[]])
    lost = median_rank([["a"]], [["c"]])  # not returned: the last of all
    found = order_correlation([*people, nothing], [*original, lost])
    assert (found.value, found.systems) == (order_correlation(people, original).value, 3)
    worst = success_at_k([["a"]], [["c"]], k=1)
    assert order_correlation([people[0], worst], [original[0], lost]).value == 1.0
    shares = [replace(people[0], value=value) for value in (0.1 + 0.2, 0.3, 0.9)]
    tied = order_correlation(shares, original, "kendall-tau-b").value
    assert tied == pytest.approx(kendalltau([0, 0, 1], [-one.value for one in original]).statistic)


def test_one_system_has_no_order_and_lengths_must_agree() -> None:
    (one, rank), (other, _), *_ = SYSTEMS
    for systems in ([], [SYSTEMS[0]], [SYSTEMS[0]] * 2):
        found = order_correlation([pair[0] for pair in systems], [pair[1] for pair in systems])
        assert math.isnan(found.value)
        assert found.reason == NO_ORDER
    with refuses(BadShape, "first", 2, 1):
        order_correlation([one], [rank, rank])
    with pytest.raises(BadOption, match="pearson"):
        order_correlation([one, other], [rank, rank], "pearson")
