"""What must not change a figure, and what must turn it around: order, duplicates, names, units of measurement."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics.aggregation import dawid_skene, pair_winners, tournament
from evaluation.statistics.agreement import fleiss_kappa, percent_agreement, threshold_kappa
from evaluation.statistics.correlation import correlation
from evaluation.statistics.meta import (
    accuracy_by_references,
    clusters_of_p_values,
    grouped_correlation,
    metric_winners,
    pair_accuracy,
    paired_correlation_test,
    pairwise_accuracy,
)
from evaluation.statistics.ranking import median_rank, r_precision, recall_at_k, success_at_k
from evaluation.statistics.significance import (
    bootstrap_interval,
    mcnemar_test,
    randomization_test,
    williams_test,
)

COEFFICIENTS = ("pearson", "spearman", "kendall-tau-b", "kendall-tau-c")
PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=20)
SCORES = st.lists(st.integers(-20, 20).map(float), min_size=3, max_size=20)
FEW = settings(deadline=None, max_examples=40)


def _value(first: Any, second: Any, coefficient: str) -> float:
    return correlation(first, second, coefficient, resamples=0).value


@FEW
@given(PAIRS, st.randoms(use_true_random=False), st.sampled_from(COEFFICIENTS))
def test_a_correlation_ignores_order_duplicates_sides_shift_and_scale(
    pairs: list[tuple[int, int]], shuffler: Any, coefficient: str
) -> None:
    x, y = np.array(pairs, dtype=np.float64).T
    value = _value(x, y, coefficient)
    order = list(range(len(pairs)))
    shuffler.shuffle(order)
    assert _value(x[order], y[order], coefficient) == pytest.approx(value, abs=1e-10, nan_ok=True)
    assert _value(np.tile(x, 3), np.tile(y, 3), coefficient) == pytest.approx(value, abs=1e-10, nan_ok=True)
    assert _value(y, x, coefficient) == pytest.approx(value, abs=1e-10, nan_ok=True)
    assert _value(4 * x - 7, y / 8, coefficient) == pytest.approx(value, abs=1e-10, nan_ok=True)
    assert math.isnan(value) or -1 <= value <= 1


@FEW
@given(PAIRS, st.sampled_from(COEFFICIENTS[1:]))
def test_a_rank_correlation_only_sees_the_order_of_values(
    pairs: list[tuple[int, int]], coefficient: str
) -> None:
    x, y = np.array(pairs, dtype=np.float64).T
    assert _value(np.exp(3 * x), y**3, coefficient) == pytest.approx(
        _value(x, y, coefficient), abs=1e-10, nan_ok=True
    )


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=12, max_size=12),
    st.sampled_from(COEFFICIENTS),
    st.sampled_from(["none", "item", "system", "system-level"]),
)
def test_exchanging_two_metrics_turns_their_difference_and_keeps_p(
    rows: list[tuple[int, int, int]], coefficient: str, grouping: str
) -> None:
    one, two, people = np.array(rows, dtype=np.float64).T
    items, systems = np.divmod(np.arange(12), 4)
    data: dict[str, Any] = {"grouping": grouping, "reassignments": 19, "seed": 3}
    there = paired_correlation_test(one, two, people, items, systems, coefficient, **data)
    back = paired_correlation_test(two, one, people, items, systems, coefficient, **data)
    # Systems' means are rounded to twelve digits, so that equal ones tie.
    assert back.difference == pytest.approx(-there.difference, abs=1e-9, nan_ok=True)
    assert back.p == pytest.approx(there.p, nan_ok=True)
    alone = grouped_correlation(one, people, items, systems, coefficient, grouping=grouping, resamples=0)
    if not there.reason:
        assert there.first == pytest.approx(alone.value, abs=1e-9)


@FEW
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=12), st.data())
def test_fleiss_kappa_ignores_the_order_of_units_and_categories_and_duplicates(
    answers: list[list[int]], data: st.DataObject
) -> None:
    counts = np.array([[unit.count(label) for label in range(4)] for unit in answers])
    value = fleiss_kappa(counts)
    rows, columns = (
        data.draw(st.permutations(range(len(answers)))),
        data.draw(st.permutations(range(4))),
    )
    assert fleiss_kappa(counts[rows][:, columns]) == pytest.approx(value, abs=1e-10, nan_ok=True)
    assert fleiss_kappa(np.tile(counts, (3, 1))) == pytest.approx(value, abs=1e-10, nan_ok=True)
    assert math.isnan(value) or -1 <= value <= 1
    shared = percent_agreement(np.array(answers, dtype=np.float64).T)
    assert 0 <= shared <= 1
    assert math.isnan(value) or value <= shared + 1e-12  # chance never adds to agreement


@FEW
@given(PAIRS, st.floats(0.5, 3.5), st.floats(0.5, 3.5))
def test_the_two_sources_may_change_places_and_so_do_precision_and_recall(
    pairs: list[tuple[int, int]], first: float, second: float
) -> None:
    x, y = np.array(pairs, dtype=np.float64).T
    there = threshold_kappa(x, y, first, second, resamples=1)
    back = threshold_kappa(y, x, second, first, resamples=1)
    assert there.kappa.value == pytest.approx(back.kappa.value, nan_ok=True)
    assert there.precision.value == pytest.approx(back.recall.value, nan_ok=True)
    assert there.f1.value == pytest.approx(back.f1.value, nan_ok=True)
    assert (there.both, there.first_only, there.neither) == (back.both, back.second_only, back.neither)


@FEW
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20))
def test_turning_pairs_round_changes_no_accuracy(rows: list[tuple[int, int, int]]) -> None:
    first, second, winners = np.array(rows, dtype=np.float64).T
    turned = np.array([0, 2, 1])[winners.astype(int)]
    there, back = (
        pair_accuracy(first, second, winners)["all"],
        pair_accuracy(second, first, turned)["all"],
    )
    np.testing.assert_equal(asdict(back), asdict(there))
    np.testing.assert_array_equal(
        np.array([0, 2, 1])[metric_winners(first, second)], metric_winners(second, first)
    )
    curve = accuracy_by_references({1: (first, second), 2: ([first] * 2, [second] * 2)}, winners)["all"]
    np.testing.assert_allclose(curve.value, [there.value] * 2)
    np.testing.assert_allclose(curve.value_ties_half, [there.value_ties_half] * 2)


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=20),
    st.randoms(use_true_random=False),
)
def test_pairwise_accuracy_ignores_the_order_of_rows_and_the_names_of_groups(
    rows: list[tuple[int, int, int]], shuffler: Any
) -> None:
    moved = [(score, people, f"item {9 - group}") for score, people, group in rows]
    shuffler.shuffle(moved)
    for epsilon in (0.0, 1.0, "calibrate"):
        there, back = (
            pairwise_accuracy(*zip(*table, strict=True), epsilon=epsilon, resamples=0)
            for table in (rows, moved)
        )
        assert back.value == pytest.approx(there.value, nan_ok=True)
        assert back.epsilon == there.epsilon
        assert math.isnan(there.value) or 0 <= there.value <= 1


@FEW
@given(SCORES, st.data())
def test_exchanging_two_systems_turns_every_paired_difference(
    scores: list[float], data: st.DataObject
) -> None:
    other = data.draw(st.lists(st.integers(-20, 20).map(float), min_size=len(scores), max_size=len(scores)))
    for statistic in ("mean", "median"):
        there = randomization_test(scores, other, statistic, reassignments=99)
        back = randomization_test(other, scores, statistic, reassignments=99)
        assert (back.difference, back.p) == (-there.difference, there.p)
        greater = randomization_test(scores, other, statistic, reassignments=99, alternative="greater")
        less = randomization_test(other, scores, statistic, reassignments=99, alternative="less")
        assert greater.p == less.p
        assert 1 / 100 <= there.p <= 1
    yes, no = np.array(scores) > 0, np.array(other) > 0
    one, two = mcnemar_test(yes, no), mcnemar_test(no, yes)
    assert (one.first_only, one.exact_p) == (two.second_only, two.exact_p)
    there_t, back_t = (
        williams_test(first, second, np.arange(len(scores), dtype=np.float64))
        for first, second in ((scores, other), (other, scores))
    )
    assert back_t.t == pytest.approx(-there_t.t, nan_ok=True)
    assert back_t.p == pytest.approx(there_t.p, nan_ok=True)


@FEW
@given(SCORES, st.sampled_from(["percentile", "basic", "bca"]), st.sampled_from(["mean", "median"]))
def test_an_interval_moves_with_the_unit_of_measurement(
    scores: list[float], method: str, statistic: str
) -> None:
    plain = bootstrap_interval(scores, statistic, method=method, resamples=60)
    moved = bootstrap_interval(np.array(scores) * 4 - 8, statistic, method=method, resamples=60)
    assert moved.reason == plain.reason
    for one, other in ((moved.value, plain.value), (moved.low, plain.low), (moved.high, plain.high)):
        assert one == pytest.approx(other * 4 - 8, abs=1e-9, nan_ok=True)


@FEW
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20), st.booleans())
def test_turning_triplets_round_turns_the_winners(rows: list[tuple[int, int]], counting: bool) -> None:
    pairs, winners = zip(*rows, strict=True)
    rule = "count" if counting else "set-aside"
    there = pair_winners(pairs, winners, triplet_ties=rule)
    back = pair_winners(pairs, np.array([0, 2, 1])[list(winners)], triplet_ties=rule)
    assert back.winner.tolist() == np.array([0, 2, 1])[there.winner].tolist()
    assert back.wins.tolist() == there.losses.tolist()


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 2), st.integers(0, 2)), min_size=1, max_size=20),
    st.sampled_from(["half", "no-win", "set-aside"]),
)
def test_a_tournament_ignores_the_names_of_systems_and_duplicated_rows(
    rows: list[tuple[int, int, int]], ties: str
) -> None:
    first = np.array([row[0] for row in rows])
    second = (first + np.array([row[1] for row in rows])) % 3
    winners = [row[2] for row in rows]
    there = tournament(first, second, winners, ties=ties, resamples=0)
    back = tournament(*(np.tile(one, 2) for one in (2 - first, 2 - second, winners)), ties=ties, resamples=0)
    np.testing.assert_array_equal(back.fraction[::-1], there.fraction)
    assert np.all((there.fraction >= 0) & (there.fraction <= 1) | np.isnan(there.fraction))


@FEW
@given(st.lists(st.integers(0, 100), min_size=4, max_size=4, unique=True), st.data())
def test_clusters_ignore_the_order_in_which_systems_stand(values: list[int], data: st.DataObject) -> None:
    p = np.full((4, 4), np.nan)
    for one in range(4):
        for two in range(one):
            p[one, two] = p[two, one] = data.draw(st.sampled_from([0.001, 0.02, 0.4]))
    names = ["a", "b", "c", "d"]
    order = data.draw(st.permutations(range(4)))
    there = clusters_of_p_values(values, p, names)
    back = clusters_of_p_values(
        np.array(values)[order], p[np.ix_(order, order)], [names[place] for place in order]
    )
    assert back.clusters == there.clusters
    np.testing.assert_array_equal(back.rank_low, there.rank_low)
    np.testing.assert_array_equal(back.rank_high, there.rank_high)


@FEW
@given(st.lists(st.permutations(range(6)), min_size=1, max_size=6), st.data())
def test_rankings_ignore_the_names_of_items_and_queries_asked_twice(
    rankings: list[list[int]], data: st.DataObject
) -> None:
    relevant = [data.draw(st.sets(st.integers(0, 5), min_size=1)) for _ in rankings]
    named = [[f"item {item}" for item in ranking] for ranking in rankings] * 2
    wanted = [{f"item {item}" for item in items} for items in relevant] * 2
    for measure, extra in (
        (recall_at_k, {"k": 2}),
        (success_at_k, {"k": 2}),
        (r_precision, {}),
        (median_rank, {}),
    ):
        call: Any = measure
        there, back = call(rankings, relevant, **extra), call(named, wanted, **extra)
        assert back.value == pytest.approx(there.value)
        np.testing.assert_array_equal(back.per_query, np.tile(there.per_query, 2))


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1)), min_size=4, max_size=20),
    st.sampled_from(["full", "one-coin"]),
)
def test_dawid_skene_turns_with_the_labels_and_ignores_duplicated_units(
    rows: list[tuple[int, int, int]], model: str
) -> None:
    units, workers, values = (np.array(column) for column in zip(*rows, strict=True))
    options: dict[str, Any] = {"model": model, "labels": [0, 1], "max_iterations": 20}
    there = dawid_skene(units, workers, values, **options)
    turned = dawid_skene(units, workers, 1 - values, **options)
    np.testing.assert_allclose(turned.posterior[:, ::-1], there.posterior, atol=1e-9)
    double = dawid_skene(
        np.concatenate([units, units + 10]), np.tile(workers, 2), np.tile(values, 2), **options
    )
    np.testing.assert_allclose(double.posterior, np.tile(there.posterior, (2, 1)), atol=1e-9)
    assert double.log_likelihood == pytest.approx(2 * there.log_likelihood)
