"""Agreement of choices between two texts does not depend on which text is called the first."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quorum.statistics.aggregation.pair_answers import other_side
from quorum.statistics.agreement import (
    Alpha,
    BothOrdersCoefficient,
    FleissKappa,
    Gwet,
    Percent,
    agreement,
    krippendorff_alpha,
    percent_agreement,
    ratings_of_judgments,
)
from quorum.statistics.agreement.both_orders import in_both_orders
from quorum.statistics.agreement.coefficient import NO_PAIRS, influences_of
from quorum.statistics.crossed import Clusters

# Four raters' sides of twelve pairs; 0 is no difference.
SIDES = np.array(
    [
        [1, 1, 2, 1, 1, 2, 1, 1, 1, 2, 1, 0],
        [1, 1, 2, 1, 2, 2, 1, 1, 0, 2, 1, 1],
        [1, 2, 2, 1, 1, 1, 1, 1, 1, 2, 2, 0],
        [1, 1, 1, 1, 1, 2, math.nan, 1, 2, 2, 1, 1],
    ]
)
COEFFICIENTS = [Alpha(), Alpha("ordinal"), Alpha("interval"), Gwet(categories=[0, 1, 2, 3])]


def exchanged(sides: np.ndarray[Any, Any], pairs: Any) -> np.ndarray[Any, Any]:
    """The same answers where the two texts of some pairs (columns) are called the other way round."""
    turned = np.where((sides == 1) | (sides == 2), 3 - sides, sides)
    return np.where(np.asarray(pairs, dtype=bool), turned, sides)


def test_the_other_order_has_the_exchanged_sides_of_units_of_its_own() -> None:
    both = in_both_orders(SIDES, other_side)
    plain = agreement(np.hstack([SIDES, exchanged(SIDES, [True] * 12)]), Alpha(), clusters="item")
    doubled = agreement(both, Alpha(), clusters="item")
    assert doubled.value == pytest.approx(plain.value)
    assert (doubled.units, doubled.judgments) == (24, 2 * 47)


@pytest.mark.parametrize(
    "coefficient", [*COEFFICIENTS, Percent(categories=[0, 1, 2, 3]), FleissKappa()], ids=lambda one: one.name
)
def test_a_unit_counts_once_though_it_is_read_in_both_orders(coefficient: Any) -> None:
    sides = SIDES[:3] if isinstance(coefficient, FleissKappa) else SIDES  # which needs equally many answers
    both = agreement(sides, BothOrdersCoefficient(coefficient, other_side), clusters="item")
    assert (both.units, both.pairable, both.raters) == (12, 12, len(sides))
    assert both.judgments == np.isfinite(sides).sum()


@pytest.mark.parametrize(
    "coefficient", [*COEFFICIENTS, Percent(categories=[0, 1, 2, 3]), FleissKappa()], ids=lambda one: one.name
)
def test_an_answer_has_the_sum_of_its_influences_in_both_orders(coefficient: Any) -> None:
    sides = SIDES[:3] if isinstance(coefficient, FleissKappa) else SIDES  # which needs equally many answers
    doubled = influences_of(coefficient, in_both_orders(sides, other_side))
    influences = influences_of(BothOrdersCoefficient(coefficient, other_side), sides)
    assert doubled is not None
    assert influences is not None
    first, second = doubled.values.reshape(2, -1)
    np.testing.assert_allclose(influences.values, first + second, rtol=1e-12)
    assert np.abs(influences.values).max() > 0.001


@given(
    sides=arrays(np.float64, (4, 12), elements=st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.0, math.nan])),
    pairs=arrays(np.bool_, 12),
    coefficient=st.sampled_from(COEFFICIENTS),
    by=st.sampled_from(["both", "item"]),
)
@settings(max_examples=150, deadline=None)
def test_exchanging_the_texts_of_any_pairs_changes_nothing(
    sides: Any, pairs: Any, coefficient: Any, by: str
) -> None:
    before, after = (
        agreement(data, BothOrdersCoefficient(coefficient, other_side), clusters=by)
        for data in (sides, exchanged(sides, pairs))
    )
    for name in ("value", "low", "high"):
        assert getattr(after, name) == pytest.approx(getattr(before, name), abs=1e-9, nan_ok=True)
    counts = ("units", "pairable", "raters", "judgments", "reason", "clusters")
    assert all(getattr(after, name) == getattr(before, name) for name in counts)


def test_strengths_change_their_signs_where_texts_are_exchanged() -> None:
    strengths = np.array([[2, 1, -1, 2, -2, 1], [1, 1, -2, 1, -1, -1], [2, -1, -1, 2, -2, 1]])
    ordinal = BothOrdersCoefficient(Alpha("ordinal"), np.negative)
    before = agreement(strengths, ordinal)
    after = agreement(strengths * [1, -1, 1, -1, -1, 1], ordinal)
    assert (after.value, after.low, after.high) == pytest.approx((before.value, before.low, before.high))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_it_is_alpha_of_the_table_beside_its_mirror_image(level: str) -> None:
    found = agreement(SIDES, BothOrdersCoefficient(Alpha(level), other_side))
    mirrored = np.hstack([SIDES, exchanged(SIDES, np.ones(12))])
    assert found.value == pytest.approx(krippendorff_alpha(mirrored, level))
    assert (found.units, found.judgments, found.raters) == (12, 47, 4)
    # where the orders of an item are one cluster, intervals of the doubled table are the same
    rater, unit = np.nonzero(~np.isnan(mirrored))
    doubled = ratings_of_judgments(unit, rater, mirrored[rater, unit])
    plain = agreement(doubled, Alpha(level), clusters=Clusters.of_codes({"item": unit % 12}))
    found = agreement(SIDES, BothOrdersCoefficient(Alpha(level), other_side), clusters="item")
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


def test_it_is_about_the_mean_of_alpha_over_random_orders() -> None:
    draw = np.random.default_rng(3)
    texts = draw.integers(1, 3, size=200)
    sides = np.where(draw.random((5, 200)) < 0.7, texts, 3 - texts).astype(float)
    plain = [krippendorff_alpha(exchanged(sides, draw.random(200) < 0.5)) for _ in range(300)]
    value = agreement(sides, BothOrdersCoefficient(Alpha(), other_side)).value
    assert value == pytest.approx(np.mean(plain), abs=0.002)
    assert max(plain) <= value + 1 / 1000  # no coding finds more disagreement expected


def test_fleiss_kappa_is_the_coefficient_of_paired_comparisons() -> None:
    """Kendall and Babington Smith (1940): u = 2 S / (C(m, 2) C(n, 2)) - 1 of m judges and n objects."""
    sides = SIDES[:3, :6]
    first = (sides == 1).sum(axis=0)
    same_pairs = sum(math.comb(int(count), 2) + math.comb(3 - int(count), 2) for count in first)
    u = 2 * same_pairs / (math.comb(3, 2) * math.comb(4, 2)) - 1
    rater, unit = np.nonzero(sides)
    ratings = ratings_of_judgments(unit, rater, sides[rater, unit])
    kappa = agreement(ratings, BothOrdersCoefficient(FleissKappa(), other_side))
    assert kappa.value == pytest.approx(u)
    naive = agreement(ratings, BothOrdersCoefficient(FleissKappa(), other_side), clusters="naive")
    assert naive.value == pytest.approx(u)
    assert naive.low <= u <= naive.high
    assert u == pytest.approx(2 * percent_agreement(sides) - 1)


def test_raters_who_all_choose_what_is_called_the_first_agree() -> None:
    found = agreement(np.ones((3, 10)), BothOrdersCoefficient(Alpha(), other_side))
    assert found.value == 1
    assert found.low < 1


def test_units_with_one_judgment_have_no_agreement() -> None:
    found = agreement([[1, 2, math.nan], [math.nan, math.nan, 1]], BothOrdersCoefficient(Alpha(), other_side))
    assert (found.units, found.pairable, found.reason) == (3, 0, NO_PAIRS)
    assert math.isnan(found.value)
    assert influences_of(BothOrdersCoefficient(Alpha(), other_side), np.array([[1, 2]])) is None
