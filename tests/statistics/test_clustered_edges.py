"""What clustered intervals and tests say where rows share much, or too little to say anything."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from evaluation.statistics.aggregation import bradley_terry_of_comparisons, tournament
from evaluation.statistics.agreement import (
    Alpha,
    CohenKappa,
    FleissKappa,
    Gwet,
    Percent,
    agreement,
    alpha_of_parts,
    ratings_of_judgments,
)
from evaluation.statistics.inference import Clusters, Spread, share_interval
from evaluation.statistics.inputs import BadOption, BadValue
from evaluation.statistics.meta import accuracy_by_references, halves_of_votes, paired_correlation_test
from evaluation.statistics.power import variance_components
from evaluation.statistics.significance import mcnemar_test, randomization_test


def comparisons(seed: int = 3) -> tuple[list[str], list[str], list[int], list[int]]:
    """Draw (N,) first and second systems, winners with ties, and images of three comparisons each."""
    generator = np.random.default_rng(seed)
    systems = np.array(["a", "b", "c"])
    first, second = (systems[places] for places in generator.integers(0, 3, (2, 120)))
    apart = first != second
    strength = {"a": 0.6, "b": 0.4, "c": 0.3}
    winners = [
        0 if lot < 0.15 else 1 if lot < 0.15 + 0.85 * strength[one] / (strength[one] + strength[two]) else 2
        for one, two, lot in zip(first[apart], second[apart], generator.random(int(apart.sum())), strict=True)
    ]
    return first[apart].tolist(), second[apart].tolist(), winners, (np.arange(len(winners)) // 3).tolist()


def test_ties_and_the_order_have_clustered_intervals_of_their_own() -> None:
    first, second, winners, image = comparisons()
    plain = bradley_terry_of_comparisons(first, second, winners, tie_model="davidson", order_effect=True)
    by_image = bradley_terry_of_comparisons(
        first, second, winners, tie_model="davidson", order_effect=True, clusters={"item": image}
    )
    assert by_image.strength == pytest.approx(plain.strength)
    assert (by_image.low < by_image.high).all()
    assert not np.allclose(by_image.low, plain.low)
    # each comparison in a cluster of its own is about the usual interval
    alone = bradley_terry_of_comparisons(
        first, second, winners, tie_model="davidson", order_effect=True, clusters={"item": range(len(image))}
    )
    assert alone.high - alone.low == pytest.approx(plain.high - plain.low, rel=0.2)


def test_few_clusters_give_a_reason_and_no_interval() -> None:
    first, second, winners, image = comparisons()
    few = {"item": [one % 3 for one in image]}
    fitted = bradley_terry_of_comparisons(first, second, winners, clusters=few)
    assert np.isnan(fitted.low).all()
    counted = tournament(first, second, winners, clusters=few)
    assert np.isnan(counted.low).all()
    assert "3 items, expected 5 or more" in counted.reason
    naive = tournament(first, second, winners, clusters="naive", resamples=50)
    assert naive.low == pytest.approx(tournament(first, second, winners, resamples=50).low)


def test_parts_of_a_unit_are_one_cluster() -> None:
    generator = np.random.default_rng(4)
    unit, part, worker = (one.ravel() for one in np.indices((20, 2, 4)))
    said = np.where(generator.random(len(unit)) < 0.8, (unit + part) % 3, generator.integers(0, 3, len(unit)))
    found = alpha_of_parts(unit, part, worker, said, clusters="item")
    assert found.low < found.value < found.high
    assert found.clusters == {"item": 20}


@dataclass(frozen=True, slots=True)
class Constant:
    """A coefficient of somebody's own."""

    level: ClassVar[str] = "nominal"
    name: ClassVar[str] = "own"

    def sample(self, data: Any) -> Any:
        return Percent().sample(data)


@dataclass(frozen=True, slots=True)
class Silent(Constant):
    def influences(self, data: Any) -> None:
        return None


def test_a_coefficient_without_influences_has_no_clustered_interval() -> None:
    ratings = ratings_of_judgments([0, 0, 1, 1], [0, 1, 0, 1], [1, 2, 1, 1])
    with pytest.raises(BadOption, match="own has no other interval"):
        agreement(ratings, Constant(), clusters="item")
    found = agreement(ratings, Silent(), clusters="item")
    assert found.value == 0.5
    assert math.isnan(found.low)
    table = np.array([[2, 1], [3, 0], [1, 2]] * 3)
    assert agreement(table, FleissKappa(), clusters="item").clusters == {"item": 9}
    with pytest.raises(BadOption, match="over is 'raters', expected units"):
        agreement(ratings, Alpha("nominal"), over="raters", clusters="item")
    with pytest.raises(BadOption, match="the data have no such clusters"):
        agreement(table, FleissKappa(), clusters="rater")


def test_answers_without_variation_have_no_influences() -> None:
    same = ratings_of_judgments([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1])
    assert Alpha("nominal").influences(same) is None
    assert Gwet().influences(same) is None
    assert FleissKappa().influences(np.array([[3, 0], [3, 0]])) is None
    opposite = ratings_of_judgments([0, 0, 1, 1], [0, 1, 0, 1], [1, -1, -1, 1])
    assert Alpha("ratio").influences(opposite) is None
    alone = ratings_of_judgments([0, 1], [0, 1], [1, 2])
    assert Percent().influences(alone) is None
    assert CohenKappa().influences(([], [])) is None
    assert CohenKappa().influences(([1, 1], [1, 1])) is None


def test_units_that_nobody_judged_change_no_interval() -> None:
    table = np.random.default_rng(6).integers(1, 4, (6, 12)).astype(float)
    gaps = np.insert(table, [0, 5, 12], math.nan, axis=1)
    for coefficient in (Alpha("nominal"), Alpha("ordinal"), Gwet(), Percent()):
        whole, other = (agreement(one, coefficient, clusters="both") for one in (table, gaps))
        assert (other.low, other.high) == pytest.approx((whole.low, whole.high), rel=1e-12)


def test_what_shows_no_variance_has_no_p_and_no_ends() -> None:
    assert math.isnan(Spread(0.0, 5.0).p(1.0))
    assert Spread(1.0, 5.0).p(1.0, "greater") == pytest.approx(Spread(1.0, 5.0).p(1.0) / 2)
    assert np.isnan(share_interval(0.5, Spread(math.nan, math.nan), 3, 0.95)).all()
    with pytest.raises(BadOption, match="clusters has 3 columns, expected one or two"):
        Clusters.of({"item": [1], "rater": [1], "day": [1]}, 1)
    items, raters = (one.ravel() for one in np.indices((6, 6)))
    assert variance_components(np.ones(36), items, raters).reason == "all answers are the same"


def test_a_curve_takes_the_images_of_its_pairs() -> None:
    generator = np.random.default_rng(6)
    winners = generator.integers(1, 3, 60)
    right = generator.random((4, 60)) < 0.7
    first = np.where(right == (winners == 1), 1.0, 0.0)
    image = np.arange(60) // 3
    (curve,) = accuracy_by_references({5: (first, 1 - first)}, winners, clusters={"item": image}).values()
    plain = accuracy_by_references({5: (first, 1 - first)}, winners)["all"]
    assert curve.value == pytest.approx(plain.value)
    assert curve.clusters == {"item": 20}
    assert curve.low[0] < curve.value[0] < curve.high[0]
    assert curve.low[0] != plain.low[0]


def test_votes_are_counted_up_to_a_limit() -> None:
    with pytest.raises(BadValue, match="votes, expected"):
        halves_of_votes([10**9], [0], [0])


def test_clusters_that_all_point_one_way_are_counted_by_their_signs() -> None:
    found = mcnemar_test(np.ones(20), np.zeros(20), clusters={"item": np.arange(20) // 2})
    assert found.clustered_p == pytest.approx(2 / 2**10)


def test_a_statistic_of_one_s_own_swaps_whole_clusters() -> None:
    one = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2)
    found = randomization_test(
        one, one - 1, lambda rows: rows.max(axis=1), reassignments=200, clusters={"item": np.arange(12) // 2}
    )
    # the largest is one higher unless its cluster alone is swapped
    assert found.difference == 1
    assert 0.3 < found.p <= 1


def test_correlations_are_compared_by_item_and_by_system() -> None:
    generator = np.random.default_rng(5)
    items, systems = (one.ravel() for one in np.indices((12, 8)))
    people = generator.normal(size=96)
    close, far = people + generator.normal(0, 0.3, 96), people + generator.normal(0, 3, 96)
    both = paired_correlation_test(
        close, far, people, items, systems, grouping="none", reassignments=300,
        clusters={"item": items, "system": systems},
    )  # fmt: skip
    assert both.difference > 0
    assert both.p < 0.1
    by_item = paired_correlation_test(
        close, far, people, items, systems, grouping="none", reassignments=300, clusters={"item": items}
    )
    assert by_item.p < 0.05
    with pytest.raises(BadValue, match="clusters cannot change sides"):
        paired_correlation_test(
            close, far, people, items, systems, grouping="none", clusters={"item": items % 3}
        )
