"""Ranking measures against trec_eval."""

import math
from typing import Any

import pytest

from evaluation.statistics.errors import BadOption, BadShape, BadValue
from evaluation.statistics.ranking import median_rank, r_precision, recall_at_k, success_at_k
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


def test_unjudged_items_count_as_not_relevant_and_are_counted() -> None:
    judged = [{"a": 1, "b": 0}]
    assert recall_at_k([["x", "a", "b", "y"]], judged, 3).unjudged == 1
    assert r_precision([["x", "a"]], judged).unjudged == 1
    assert median_rank([["x", "y", "a", "z"]], judged).unjudged == 2
    assert success_at_k([["x", "a"]], [{"a"}], 2).unjudged is None


def test_a_query_with_nothing_relevant_is_left_out_and_counted() -> None:
    result = r_precision([["a"], ["a"]], [{"a": 1}, {"a": 0}])
    assert (result.value, result.undefined, result.queries) == (1.0, 1, 2)
    assert math.isnan(result.per_query[1])
    assert math.isnan(success_at_k([["a"]], [set()], 1).value)
    assert math.isnan(median_rank([["a"]], [set()]).value)


def test_a_list_shorter_than_r_is_not_forgiven() -> None:
    assert r_precision([["a"]], [{"a", "b"}]).value == 0.5


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: recall_at_k([["a"]], [], 1), BadShape, "there are 1 rankings and 0 sets of relevant items"),
        (lambda: recall_at_k([["a", "a"]], [{"a"}], 1), BadValue, "ranking 0 has an item twice"),
        (lambda: success_at_k([["a"]], [{"a"}], 0), BadOption, "k is 0, expected a whole number above zero"),
    ],
)
def test_bad_rankings_are_refused_in_one_sentence(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()
