"""Intervals and tests by item and by rater: their parts by hand, what copies of rows do, and their level."""

import json
import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import csr_array
from scipy.stats import t as student

from common.amounts import as_json
from quorum.statistics.aggregation import (
    best_worst_scores,
    bradley_terry_of_comparisons,
    majority_vote,
    tournament,
    unit_medians,
)
from quorum.statistics.agreement import (
    LEVELS,
    Alpha,
    CohenKappa,
    FleissKappa,
    Gwet,
    Percent,
    agreement,
    alpha_of_parts,
    ratings_of_judgments,
    threshold_kappa,
)
from quorum.statistics.agreement.coefficient import Coefficient, influences_of
from quorum.statistics.agreement.thresholds import ALL_ANSWERS_EQUAL
from quorum.statistics.correlation import COEFFICIENTS, ValuePairs, correlation, correlation_influences
from quorum.statistics.crossed import (
    Clusters,
    Spread,
    renumber_codes,
    share_interval,
    share_of_rows,
    spread_of_mean,
)
from quorum.statistics.inputs import BadOption, BadShape, BadValue
from quorum.statistics.meta import (
    accuracy_by_references,
    grouped_correlation,
    halves_of_votes,
    metric_winners,
    pair_accuracy,
    pair_credits,
    pairwise_accuracy,
)
from quorum.statistics.meta.grouped import NO_GROUP
from quorum.statistics.meta.pairwise import NO_PAIR
from quorum.statistics.significance import (
    bootstrap_interval,
    mcnemar_test,
    randomization_test,
    summary_of_scores,
    wilson_interval,
)
from quorum.statistics.variance_components import SAME_ANSWER, variance_components
from tests.refusals import assert_names, refuses
from tests.statistics import agreeing_plainly as plainly
from tests.statistics import plain_intervals as plain

ITEMS, RATERS = 30, 10


def drawn(seed: int = 1, items: int = ITEMS, raters: int = RATERS) -> tuple[Any, Any, Any]:
    """Draw (N,) items, raters and values with strong effects of both."""
    generator = np.random.default_rng(seed)
    item, rater = (one.ravel() for one in np.indices((items, raters)))
    effects = generator.normal(size=items)[item] + generator.normal(0, 0.7, raters)[rater]
    return item, rater, effects + generator.normal(size=len(item))


def test_the_variance_of_a_balanced_mean_is_that_of_the_analysis_of_variance() -> None:
    item, rater, value = drawn()
    table = value.reshape(ITEMS, RATERS)
    rows, columns = (table.mean(axis=axis) - table.mean() for axis in (1, 0))
    residual = table - table.mean() - rows[:, np.newaxis] - columns
    noise = float((residual**2).sum()) / ((ITEMS - 1) * (RATERS - 1))
    of_items = float((rows**2).sum()) / (ITEMS - 1) - noise / RATERS
    of_raters = float((columns**2).sum()) / (RATERS - 1) - noise / ITEMS
    found = Clusters.from_columns({"item": item, "rater": rater}, len(item))
    assert found.components(value) == pytest.approx([of_items, of_raters, noise])
    by_items = of_items / ITEMS + noise / len(value)
    spread = found.spread((value - value.mean()) / len(value))
    # What raters add counts in the share of its square, of that and the variance it has where they are alike.
    answers = float(np.square(value - value.mean()).mean()) / (RATERS - 1)
    by_raters = of_raters / RATERS
    error = answers * math.sqrt(2 / (ITEMS * (ITEMS - 1) * RATERS))
    credible = by_raters**3 / (by_raters**2 + error**2)
    assert spread.variance == pytest.approx(by_items + credible)
    assert 0.9 * by_raters < credible < by_raters
    # Raters' mean square is nowhere near zero: all that they may add, of 95 % certainty, to the items' (Satterthwaite).
    square = float((columns**2).sum()) / (RATERS - 1)
    beyond = (RATERS - 1) / stats.chi2.ppf(0.05, RATERS - 1) - 1
    most = (of_raters + beyond * square * ITEMS / (ITEMS - 1)) / RATERS
    by_row = float((rows**2).sum()) / (ITEMS - 1) / ITEMS
    assert spread.df == pytest.approx(
        (by_row + most) ** 2 / (by_row**2 / (ITEMS - 1) + most**2 / (RATERS - 1))
    )
    # Raters who are no different add nothing, and take nothing away by chance.
    alike = value - columns[rater]
    spread = found.spread((alike - alike.mean()) / len(value))
    assert spread.variance == pytest.approx(float((rows**2).sum()) / (ITEMS - 1) / ITEMS)


@pytest.mark.parametrize("seed", range(5))
def test_the_spread_of_uneven_rows_is_what_their_clusters_say_one_by_one(seed: int) -> None:
    """From two items and two raters on, with gaps, answers given twice, and raters of few rows."""
    generator = np.random.default_rng(seed)
    item = np.r_[0, 1, generator.integers(0, 2 + 3 * seed, 30)]
    rater = np.r_[0, 1, generator.geometric(0.6, 30) - 1]
    value = generator.normal(size=32) + generator.normal(size=40)[rater]
    spread, clusters = spread_of_mean(value, {"item": item, "rater": rater})
    influences = ((value - value.mean()) / 32).tolist()
    expected = plain.crossed(influences, item.tolist(), rater.tolist())
    assert (spread.variance, spread.df) == pytest.approx(expected[:2])
    alone, _ = spread_of_mean(value, {"item": item})
    assert (alone.variance, alone.df) == pytest.approx(plain.by_items(influences, item.tolist())[:2])
    assert spread.variance >= alone.variance
    yes = (value > 0).astype(np.float64)
    share = share_of_rows(yes, {"item": item, "rater": rater}, 0.9)
    influences = ((yes - yes.mean()) / 32).tolist()
    expected = plain.crossed(influences, item.tolist(), rater.tolist())
    assert (share.low, share.high) == pytest.approx(plain.of_share(yes.mean(), expected, 1, 0.9))
    assert clusters.note == clusters.reason == ""


def test_the_covariance_of_estimates_has_the_variance_of_each_of_their_sums() -> None:
    item, rater, value = drawn(items=6, raters=4)
    both = np.stack([value - value.mean(), np.roll(value, 1) - value.mean()], axis=1) / len(value)
    clusters = Clusters.from_columns({"item": item, "rater": rater}, len(item))
    covariance, freedom = clusters.covariance(csr_array(both), np.eye(2))
    for column, weights in enumerate(np.array([[1, 0], [0, 1], [1, 1]])):
        spread = plain.crossed((both @ weights).tolist(), item.tolist(), rater.tolist())
        assert weights @ covariance @ weights == pytest.approx(spread.variance)
        assert column == len(freedom) or freedom[column] == pytest.approx(spread.df)


def test_components_say_what_more_items_or_raters_would_buy() -> None:
    item, rater, value = drawn()
    found = variance_components(value, item, rater)
    now = found.error_in_study(items=ITEMS, raters=RATERS, judgments=len(value))
    assert found.standard_error == pytest.approx(now, rel=1 / ITEMS)
    assert sum(found.shares()) == pytest.approx(1)
    more = found.error_in_study(items=ITEMS, raters=4 * RATERS, judgments=4 * len(value))
    expected = found.item / ITEMS + found.rater / (4 * RATERS) + found.residual / (4 * len(value))
    assert more == pytest.approx(expected**0.5)
    assert more < found.standard_error
    for items, raters in ((item, np.arange(len(item))), (np.arange(len(item)), rater), (item // 2, item)):
        alone = variance_components(value, items, raters)
        assert "no item has" in alone.reason
        assert np.isnan([alone.item, alone.standard_error]).all()


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_the_influence_of_a_row_is_the_slope_of_the_coefficient_in_its_weight(coefficient: str) -> None:
    generator = np.random.default_rng(3)
    x = generator.integers(0, 9, 60).astype(float)
    y = x + generator.integers(-4, 4, 60).astype(float)
    patterns = ValuePairs(x, y, coefficient)
    once = patterns.frequency.astype(float)
    steps = 1e-4 * np.eye(len(once))
    slopes = (patterns(once + steps) - patterns(once - steps)) / 2e-4
    value = float(patterns(once[np.newaxis])[0])
    found = correlation_influences(x, y, coefficient, value)
    assert found == pytest.approx(slopes[patterns.pattern], abs=1e-4)


GRADES = [2.0, 3.0, 4.0, 5.0, 6.0]
COEFFICIENTS_PLAINLY: list[tuple[Any, Any]] = [
    *((Alpha(level), partial(plainly.alpha, level=level)) for level in LEVELS),
    (Gwet("linear", GRADES), partial(plainly.gwet, weights="linear", scale=GRADES)),
    (Percent("linear", GRADES), partial(plainly.percent, weights="linear", scale=GRADES)),
]


@pytest.mark.parametrize(("coefficient", "plain_figure"), COEFFICIENTS_PLAINLY)
def test_the_influences_of_judgments_add_up_to_those_of_units_and_raters(
    coefficient: Any, plain_figure: Any
) -> None:
    item, rater, value = drawn(items=12, raters=5)
    keep = np.random.default_rng(2).random(len(item)) < 0.5  # some units are judged once
    table = np.full((5, 12), math.nan)
    table[rater[keep], item[keep]] = np.clip(np.round(value[keep]), -2, 2) + 4
    found = influences_of(coefficient, table)
    assert found is not None
    given = ~np.isnan(table)
    rater, item = (codes[found.is_counted] for codes in np.nonzero(given))

    def by_weights(units: Any, raters: Any) -> float:
        if not isinstance(coefficient, Alpha):  # a unit counts once, each of its raters as a part of it
            units = units * (raters @ given) / np.maximum(given.sum(axis=0), 1)
        return float(plain_figure(table, units=units, raters=raters))

    once, alike = np.ones(12), np.ones(5)
    of_units = [[by_weights(once + step, alike) for step in side * 1e-4 * np.eye(12)] for side in (1, -1)]
    of_raters = [[by_weights(once, alike + step) for step in side * 1e-4 * np.eye(5)] for side in (1, -1)]
    for codes, ends in ((item, of_units), (rater, of_raters)):
        slopes = np.subtract(ends[0], ends[1]) / 2e-4
        rows, summed = (np.bincount(codes, weights, len(slopes)) for weights in (None, found.values))
        # Alpha also grows with the number of judgments, which influences leave out.
        assert summed == pytest.approx(slopes - slopes.sum() * rows / rows.sum(), abs=1e-6)


def rows_twice(copies: int) -> dict[str, float]:
    """Return the width of each interval, and 1 - p of each test, where every row occurs so many times.

    A copy is of the same item and rater. Agreement takes one answer a worker and unit: its copies are units of
    the same image.
    """
    item, rater, value = (np.tile(one, copies) for one in drawn())
    other = value + np.tile(np.random.default_rng(5).normal(0.05, 1, ITEMS * RATERS), copies)
    by = {"item": item, "rater": rater}
    unit = item + ITEMS * np.repeat(np.arange(copies), ITEMS * RATERS)
    grades = np.clip(np.round(value), -2, 2)
    ratings = ratings_of_judgments(unit, rater, grades)
    first, second = np.where(value > 0.2, "a", "b"), np.where(value > 0.2, "b", "c")
    winner = np.where(other > 0, 1, 2)
    first, second = np.where(rater % 3 == 0, "a", first), np.where(rater % 3 == 0, "c", second)
    found: dict[str, Any] = {
        coefficient.name: agreement(ratings, coefficient, clusters=by)
        for coefficient in (Alpha("nominal"), FleissKappa(), Gwet(), Percent())
    }
    found["ordinal"] = agreement(ratings, Alpha("ordinal"), clusters=by)
    found["kappa"] = agreement((value > 0, other > 0), CohenKappa(), clusters=by)
    found |= {name: correlation(value, other, name, clusters=by) for name in COEFFICIENTS}
    found["thresholds"] = threshold_kappa(value, other, 0, 0, clusters=by).f1
    found["accuracy"] = pair_accuracy(value, other, winner, clusters=by)["all"]
    widths = {name: one.high - one.low for name, one in found.items()}
    strengths = bradley_terry_of_comparisons(first, second, winner, clusters=by)
    widths["bradley-terry"] = float(strengths.high[0] - strengths.low[0])
    fractions = tournament(first, second, winner, clusters=by)
    widths["tournament"] = float(fractions.high[0] - fractions.low[0])
    widths["mcnemar"] = mcnemar_test(value > 0, other > 0, clusters=by).best_p
    for statistic in ("mean", "median"):
        test = randomization_test(value, other, statistic, reassignments=1000, clusters={"item": item})
        widths[statistic] = test.p
    return widths


@pytest.mark.large
def test_copies_of_every_item_and_rater_narrow_no_interval_and_lower_no_p() -> None:
    once, thrice = rows_twice(1), rows_twice(3)
    for name, width in once.items():
        assert width > 0, name
        assert thrice[name] >= 0.97 * width - 0.02 * (name == "median"), name


def test_the_accuracy_of_pairs_by_item_and_rater_is_a_share_of_rows() -> None:
    item, rater, value = drawn()
    other = np.random.default_rng(5).normal(size=len(value))
    winner = np.where(value > other + 0.3, 1, 2)
    by = {"item": item, "rater": rater}
    found = pair_accuracy(value, other, winner, clusters=by)["all"]
    right = (np.where(value > other, 1, 2) == winner) * 1.0
    expected = share_of_rows(right, by, 0.95)
    assert (found.value, found.low, found.high) == (right.mean(), expected.low, expected.high)
    assert found.clusters == {"item": ITEMS, "rater": RATERS}


def test_a_rater_who_counts_twice_does_not_narrow_the_interval_on_average() -> None:
    widths = []
    for seed in range(40):
        item, rater, value = drawn(seed)
        both = []
        for copied in (np.zeros(len(item), dtype=bool), rater == 0):
            rows = np.concatenate([np.arange(len(item)), np.flatnonzero(copied)])
            found = share_of_rows((value > 0)[rows] * 1.0, {"item": item[rows], "rater": rater[rows]}, 0.95)
            both.append(found.high - found.low)
        widths.append(both)
    once, twice = np.mean(widths, axis=0)
    assert twice >= once


def test_rows_that_all_count_have_the_exact_limit_of_as_many_clusters() -> None:
    for rows, clusters in ((6, 6), (18, 6), (30, 15)):
        found = share_of_rows(np.ones(rows), {"item": np.arange(rows) % clusters}, 0.95)
        assert (found.low, found.high) == (pytest.approx(0.025 ** (1 / clusters)), 1)
        found = share_of_rows(np.zeros(rows), {"item": np.arange(rows) % clusters}, 0.95)
        assert (found.low, found.high) == (0, pytest.approx(1 - 0.025 ** (1 / clusters)))


def test_clusters_with_one_row_each_leave_wilson_and_the_exact_test() -> None:
    right = np.array([1.0, 0, 1, 1, 0, 1, 1])
    found = share_of_rows(right, {"item": np.arange(7)}, 0.95)
    assert (found.low, found.high) == pytest.approx(wilson_interval(5, 7))
    other = np.array([0, 0, 1, 0, 1, 0, 0])
    test = mcnemar_test(right, other, clusters={"item": np.arange(7)})
    assert test.best_p == test.exact_p


def test_rows_change_sides_by_one_kind_of_clusters() -> None:
    item, rater, value = drawn(items=4)
    by = {"item": item, "rater": rater}
    with refuses(BadOption, "change", "2"):
        randomization_test(value, value[::-1], clusters=by)
    alone = {"item": np.zeros(len(value))}
    with pytest.raises(BadValue, match="clusters"):
        randomization_test(value, value[::-1], clusters=alone)


def test_items_with_a_rater_each_vary_about_as_their_raters() -> None:
    generator = np.random.default_rng(4)
    raters = np.repeat(np.arange(12), 20)
    items = np.repeat(np.arange(60), 4)  # five items of each rater
    correct = (generator.random(240) < generator.uniform(0.2, 0.8, 12)[raters]).astype(np.float64)
    both, _ = spread_of_mean(correct, {"item": items, "rater": raters})
    by_rater, _ = spread_of_mean(correct, {"rater": raters})
    assert both.variance == pytest.approx(by_rater.variance, rel=0.02)
    assert by_rater.df == 11
    influences = ((correct - correct.mean()) / 240).tolist()
    assert both.df == pytest.approx(plain.crossed(influences, items.tolist(), raters.tolist()).df)


def test_two_of_a_kind_have_an_interval_and_one_of_them_is_said() -> None:
    item, rater, value = drawn(items=30, raters=2)
    by = {"item": item, "rater": rater}
    pair = correlation(value, value + item, clusters=by)
    assert (pair.note, pair.reason, pair.clusters) == ("", "", {"item": 30, "rater": 2})
    assert pair.low < pair.value < pair.high
    single, of_items = (
        correlation(value, value + item, clusters=columns)
        for columns in ({"item": item, "rater": rater * 0}, {"item": item})
    )
    assert_names(single.note, "1", "2")
    assert (single.low, single.high, single.p) == (of_items.low, of_items.high, of_items.p)
    alone = correlation(value, value + item, clusters={"rater": rater * 0})
    assert np.isnan([alone.low, alone.p]).all()
    assert_names(alone.reason, "1 rater", "2")


def test_two_raters_agree_as_one_pair_whose_interval_is_by_item() -> None:
    item, rater, value = drawn(items=12, raters=2)
    ratings = ratings_of_judgments(item, rater, value > 0)
    both, of_items, of_raters = (
        agreement(ratings, Alpha("nominal"), clusters=by) for by in ("both", "item", "rater")
    )
    assert (both.low, both.high) == (of_items.low, of_items.high)
    assert_names(both.note, "2", "3")
    assert both.clusters == {"item": 12, "rater": 2}
    assert math.isnan(of_raters.low)
    assert of_raters.reason == both.note


def test_three_raters_widen_alphas_interval_by_what_they_share() -> None:
    item, rater, value = drawn(items=12, raters=3)
    ratings = ratings_of_judgments(item, rater, value > 0)
    influences = influences_of(Alpha("nominal"), ratings)
    assert influences is not None
    both = agreement(ratings, Alpha("nominal"), clusters="both")
    spread = plain.crossed(influences.values.tolist(), ratings.unit.tolist(), ratings.rater.tolist())
    assert (both.low, both.high) == pytest.approx(plain.of_coefficient(both.value, spread, judges=3))


UNANIMOUS = ratings_of_judgments(np.arange(18) // 3, np.arange(18) % 3, np.repeat([1, 2, 3] * 2, 3))


def test_raters_who_agree_on_every_unit_leave_an_interval_of_an_exact_share() -> None:
    """Six units, two degrees of freedom of three raters: as many units as the squared quantiles of t say."""
    least, _ = plain.of_share(1.0, plain.Spread(0.0, 2), 6)
    by_item = 0.025 ** (1 / 6)  # Clopper, Pearson

    def low(share: float, differ: float) -> float:
        """The coefficient where that share of units agrees, and so many answers differ by chance."""
        return 1 - (1 - share) / differ

    differ = 12 / 17  # two of 18 answers, six of each kind
    coefficients: list[tuple[Coefficient, float]] = [
        *((Alpha(level), differ) for level in ("nominal", "ordinal", "interval")),
        (Gwet(), 2 / 3),
        (Percent(), 1.0),
    ]
    for coefficient, chance in coefficients:
        found = agreement(UNANIMOUS, coefficient, clusters="both")
        assert (found.value, found.low, found.high) == pytest.approx((1, low(least, chance), 1)), coefficient
        found = agreement(UNANIMOUS, coefficient, clusters="item")
        assert (found.low, found.high) == pytest.approx((low(by_item, chance), 1)), coefficient
    answers = [1, 2, 3] * 2
    kappa = agreement((answers, answers), CohenKappa(), clusters="item")
    assert (kappa.value, kappa.low, kappa.high) == pytest.approx((1, low(by_item, 2 / 3), 1))
    fleiss = agreement([[3, 0, 0], [0, 3, 0], [0, 0, 3]] * 2, FleissKappa(), clusters="item")
    assert (fleiss.value, fleiss.low, fleiss.high) == pytest.approx((1, low(by_item, differ), 1))
    never = agreement(([1, 2] * 3, [2, 1] * 3), CohenKappa(), clusters="item")
    assert (never.value, never.low, never.high) == pytest.approx((-1, -1, -1 + (1 - by_item) / 0.5))


TABLES = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 3.0, math.nan]), min_size=raters, max_size=raters),
        min_size=2,
        max_size=8,
    )
)


@given(TABLES, st.sampled_from(["both", "item"]))
def test_every_interval_of_agreement_holds_its_value_and_is_possible(table: Any, clusters: str) -> None:
    for coefficient in (Alpha("nominal"), Alpha("ordinal"), Alpha("interval"), Gwet(), Percent()):
        found = agreement(np.array(table).T, coefficient, clusters=clusters)
        if not math.isnan(found.low):
            assert found.low <= found.value <= found.high, coefficient
            assert found.low < found.high, coefficient
            assert found.high <= 1, coefficient
            assert found.low >= 0 or not isinstance(coefficient, Percent)
        elif not math.isnan(found.value):
            assert found.reason or influences_of(coefficient, np.array(table).T) is None


def test_clusters_made_once_serve_several_coefficients_and_parts_of_the_rows() -> None:
    item, rater, value = drawn()
    by = {"item": item // 3, "rater": rater}
    once = np.arange(len(item)) % 7 == 0  # many units are judged once, and count for Gwet alone
    ratings = ratings_of_judgments(item[once], rater[once], np.clip(np.round(value[once]), -2, 2))
    made = Clusters.from_columns(by, len(item)).subset(once)
    own = {name: codes[once] for name, codes in by.items()}
    for coefficient in (Alpha("ordinal"), Gwet(), Percent()):
        assert agreement(ratings, coefficient, clusters=made) == agreement(ratings, coefficient, clusters=own)
    with refuses(BadShape, "item", "300", "rows", "3"):
        Clusters.from_columns(by, len(item)).subset(once[:3])
    right = (value > 0).astype(np.float64)
    every = Clusters.from_columns(by, len(item))
    for keep in (once, None):
        found, expected = (share_of_rows(right, one, 0.95, keep=keep) for one in (every, by))
        assert (found.low, found.high) == (expected.low, expected.high)


def test_the_interval_of_a_mean_of_any_range_moves_and_grows_with_its_values() -> None:
    values = np.array([0.2, 0.9, 1.4, 2.0, 3.5, 1.1])
    spread, clusters = spread_of_mean(values, {"item": range(6)})
    # Of rows that each are a cluster, the interval by Student's t.
    assert spread.variance == pytest.approx(values.var(ddof=1) / 6)
    low, high = student.interval(0.95, 5, loc=0, scale=np.sqrt(spread.variance))
    assert [-spread.half_width(0.95), spread.half_width(0.95)] == pytest.approx([low, high])
    moved, _ = spread_of_mean(10 * values + 5, {"item": range(6)})
    assert moved.half_width(0.95) == pytest.approx(10 * spread.half_width(0.95))
    assert not clusters.reason
    pair, _ = spread_of_mean(values[:2], {"item": range(2)})
    assert (pair.variance, pair.df) == pytest.approx((values[:2].var(ddof=1) / 2, 1))
    alone, clusters = spread_of_mean(values, {"item": [0] * 6})
    assert np.isnan(alone.half_width(0.95))
    assert_names(clusters.reason, "1 item", "2")


class EmptiedMeanwhile(dict[bytes, Clusters]):
    """What another thread empties after every look into it."""

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None

    def get(self, key: Any, default: Any = None) -> Any:
        found = super().get(key, default)
        self.clear()
        return found


def test_clusters_made_once_may_be_forgotten_by_another_thread_at_any_time() -> None:
    item, rater, _ = drawn()
    made = replace(Clusters.from_columns({"item": item, "rater": rater}, len(item)), cache=EmptiedMeanwhile())
    rows = np.arange(len(item)) < 100
    first = made.subset(rows)
    assert made.subset(rows) is first
    assert made.subset(rows).counts == first.counts


@pytest.mark.parametrize(
    "high", [4, 10**12, 2**62]
)  # counted, sorted with their places, or sorted by their places
def test_codes_are_numbered_without_gaps(high: int) -> None:
    assert renumber_codes(np.array([high, 0, 2, high, 0])).tolist() == [2, 0, 1, 2, 0]
    assert renumber_codes(np.array([high])).tolist() == [0]


def test_wrong_clusters_are_named() -> None:
    with refuses(BadShape, "clusters['item']", "2", "3"):
        correlation([1, 2, 3], [1, 3, 2], clusters={"item": [1, 2]})
    with refuses(BadOption, "items", "naive"):
        correlation([1, 2, 3], [1, 3, 2], clusters="items")


def test_halves_of_votes_by_hand() -> None:
    # two votes for the first, one against: the single vote is the odd one in a third of the splits, and is 1 to 1
    # with the pair's other half tied in the others
    found = halves_of_votes([2, 1, 1], [1, 1, 0], [0, 0, 0])
    assert found.agree[:2] == pytest.approx([0, 0])
    assert found.first[0] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found.second[0] == pytest.approx((1 / 3 + 0) / 2)
    assert np.isnan([found.agree[2], found.decided_chances[2]]).all()


@pytest.mark.parametrize(
    ("votes", "least", "reached", "ceiling"),
    # people right by chances from `least` to .95: with p right, p + p^2 over 2 - 2pq is reached at three votes
    [
        (3, 0.5, 0.776, 0.817),
        pytest.param(3, 0.95, 1.8525 / 1.905, 1.8525 / 1.905, marks=pytest.mark.long),
        pytest.param(48, 0.5, 0.929, 0.952, marks=pytest.mark.long),
        (2, 0.95, 0.95, 0.95),
    ],
)
def test_the_ceiling_lies_above_who_knows_the_truth_and_below_who_has_seen_the_votes(
    votes: int, least: float, reached: float, ceiling: float
) -> None:
    generator = np.random.default_rng(8)
    truth = generator.integers(1, 3, 200_000)
    right = generator.binomial(votes, generator.uniform(least, 0.95, truth.size))
    won = np.where(truth == 1, right, votes - right)
    found = halves_of_votes(won, votes - won, np.zeros(truth.size))
    every = np.ones(truth.size, dtype=np.bool_)
    weight = found.decided_chances.sum()
    assert found.chances_of(truth).sum() / weight == pytest.approx(reached, abs=0.003)
    assert found.ceiling_contributions(every).sum() / weight == pytest.approx(ceiling, abs=0.003)
    assert found.ceiling_contributions(every).sum() < np.maximum(found.first, found.second).sum()
    assert found.agree.sum() <= found.agree_ties_half.sum() < found.ceiling_contributions(every).sum()


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


def test_a_single_cluster_gives_a_reason_and_no_interval() -> None:
    first, second, winners, _ = comparisons()
    alone = {"item": [0] * len(winners)}
    fitted = bradley_terry_of_comparisons(first, second, winners, clusters=alone)
    assert np.isnan(fitted.low).all()
    counted = tournament(first, second, winners, clusters=alone)
    assert np.isnan(counted.low).all()
    assert "1 item, expected 2 or more" in counted.reason
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

    def read(self, data: Any) -> Any:
        return Percent().read(data)


@dataclass(frozen=True, slots=True)
class Silent(Constant):
    def influences(self, data: Any) -> None:
        return None


def test_a_coefficient_without_influences_has_no_clustered_interval() -> None:
    ratings = ratings_of_judgments([0, 0, 1, 1], [0, 1, 0, 1], [1, 2, 1, 1])
    with refuses(BadOption, "own"):
        agreement(ratings, Constant(), clusters="item")
    found = agreement(ratings, Silent(), clusters="item")
    assert found.value == 0.5
    assert math.isnan(found.low)
    table = np.array([[2, 1], [3, 0], [1, 2]] * 3)
    assert agreement(table, FleissKappa(), clusters="item").clusters == {"item": 9}
    with pytest.raises(BadOption, match="data"):
        agreement(table, FleissKappa(), clusters="rater")


def test_answers_without_variation_have_no_influences() -> None:
    same = ratings_of_judgments([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1])
    assert influences_of(Alpha("nominal"), same) is None
    assert influences_of(Gwet(), same) is None
    assert influences_of(FleissKappa(), np.array([[3, 0], [3, 0]])) is None
    opposite = ratings_of_judgments([0, 0, 1, 1], [0, 1, 0, 1], [1, -1, -1, 1])
    assert influences_of(Alpha("ratio"), opposite) is None
    alone = ratings_of_judgments([0, 1], [0, 1], [1, 2])
    assert influences_of(Percent(), alone) is None
    assert influences_of(CohenKappa(), ([], [])) is None
    assert influences_of(CohenKappa(), ([1, 1], [1, 1])) is None


def test_units_that_nobody_judged_change_no_interval() -> None:
    table = np.random.default_rng(6).integers(1, 4, (6, 12)).astype(float)
    gaps = np.insert(table, [0, 5, 12], math.nan, axis=1)
    for coefficient in (Alpha("nominal"), Alpha("ordinal"), Gwet(), Percent()):
        whole, other = (agreement(one, coefficient, clusters="both") for one in (table, gaps))
        assert (other.low, other.high) == pytest.approx((whole.low, whole.high), rel=1e-12)


def test_what_shows_no_variance_has_no_p_and_no_ends() -> None:
    assert math.isnan(Spread(0.0, 5.0).p(1.0))
    assert Spread(1.0, 5.0).p(-1.0, only_below=True) == pytest.approx(Spread(1.0, 5.0).p(1.0) / 2)
    assert np.isnan(share_interval(0.5, Spread(math.nan, math.nan), 3, 0.95)).all()
    with refuses(BadOption, "one or two", "3"):
        Clusters.from_columns({"item": [1], "rater": [1], "day": [1]}, 1)
    items, raters = (one.ravel() for one in np.indices((6, 6)))
    assert variance_components(np.ones(36), items, raters).reason == SAME_ANSWER


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


def test_undefined_numbers_become_null_and_results_within_results_objects() -> None:
    result = threshold_kappa([0.1, 0.2], [1.0, 2.0], resamples=20)
    found = as_json(result, "kappa", "n", "reason")
    assert found == {
        "kappa": {"value": None, "low": None, "high": None},
        "n": 2,
        "reason": ALL_ANSWERS_EQUAL,
    }


def test_arrays_become_lists_and_all_fields_are_written_without_names() -> None:
    found = as_json(majority_vote(["u", "u", "v"], [1, 2, 2], ties="lowest"))
    assert found["counts"] == [[1, 1], [0, 1]]
    assert found["tie"] == [True, False]
    assert found["share"] == [0.5, 1.0]
    assert json.loads(json.dumps(found)) == found


GROUPS, EACH = 40, 6


def scores(seed: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw a metric's and people's scores of six outputs for each of 40 items, and the raters, eight in all."""
    generator = np.random.default_rng(seed)
    item, rater = np.repeat(np.arange(GROUPS), EACH), generator.integers(0, 8, GROUPS * EACH)
    people = generator.normal(size=len(item)) + generator.normal(0, 0.7, 8)[rater]
    return people + generator.normal(0, 1, len(item)), people, item, rater


@pytest.mark.parametrize("coefficient", ["spearman", "kendall-tau-b"])
def test_without_grouping_clusters_give_the_interval_of_a_correlation(coefficient: str) -> None:
    metric, people, item, rater = scores()
    by = {"item": item, "rater": rater}
    found = grouped_correlation(metric, people, item, rater, coefficient, grouping="none", clusters=by)
    plain = correlation(metric, people, coefficient, clusters=by)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))
    assert (found.clusters, found.resamples, found.reason) == ({"item": GROUPS, "rater": 8}, 0, "")
    assert "clusters:given-item-rater" in found.signature


@pytest.mark.parametrize("coefficient", ["pearson", "kendall-tau-b"])
def test_items_as_clusters_are_about_what_resampling_items_gives(coefficient: str) -> None:
    metric, people, item, rater = scores()
    resampled = grouped_correlation(metric, people, item, rater, coefficient, seed=1)
    by_item = grouped_correlation(metric, people, item, rater, coefficient, clusters={"item": item})
    assert by_item.value == resampled.value
    assert by_item.high - by_item.low == pytest.approx(resampled.high - resampled.low, rel=0.15)
    both = grouped_correlation(
        metric, people, item, rater, coefficient, clusters={"item": item, "rater": rater}
    )
    assert both.high - both.low > 0
    metric, people, item = (np.tile(column, 2) for column in (metric, people, item))
    outputs = np.arange(len(item))
    again = grouped_correlation(metric, people, item, outputs, coefficient, clusters={"item": item})
    assert again.high - again.low == pytest.approx(by_item.high - by_item.low, rel=0.25)


def test_a_single_cluster_is_a_reason_and_the_system_level_refuses_them() -> None:
    metric, people, item, rater = scores()
    alone = grouped_correlation(metric, people, item, rater, clusters={"item": item * 0})
    assert "there is 1 item" in alone.reason
    assert np.isnan(alone.low)
    undefined = grouped_correlation([1.0, 1.0], [1.0, 2.0], [0, 0], [0, 1], clusters={"item": [0, 0]})
    assert undefined.reason == NO_GROUP
    with pytest.raises(BadOption, match="system"):
        grouped_correlation(metric, people, item, rater, grouping="system-level", clusters={"item": item})


def test_pairwise_accuracy_by_documents_is_the_share_of_its_items() -> None:
    metric, people, item, _ = scores()
    each = [pairwise_accuracy(metric[item == one], people[item == one]).value for one in range(GROUPS)]
    document = np.arange(GROUPS) // 2
    found = pairwise_accuracy(metric, people, item, clusters={"item": document[item]})
    expected = share_of_rows(np.array(each), {"item": document}, 0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.clusters, found.resamples, found.reason) == ({"item": GROUPS // 2}, 0, "")
    assert "there is 1 item" in pairwise_accuracy(metric, people, clusters={"item": item * 0}).reason
    assert pairwise_accuracy([1.0], [1.0], clusters={"item": [0]}).reason == NO_PAIR
    with refuses(BadValue, "clusters['rater']"):
        pairwise_accuracy(metric, people, item, clusters={"rater": np.arange(len(item))})
    with pytest.raises(BadShape):
        pairwise_accuracy(metric, people, item, clusters={"item": [1, 2]})


def test_best_worst_scores_have_intervals_of_their_showings() -> None:
    generator = np.random.default_rng(3)
    shown = [("a", "b", "c")] * 60
    best = generator.choice(["a", "b"], 60).tolist()
    worst = ["c" if name == "a" else "a" for name in best]
    rater, item = np.arange(60) % 6, np.arange(60) // 6
    found = best_worst_scores(shown, best, worst, clusters={"item": item, "rater": rater})
    points = np.array([1.0 if name == "a" else -1.0 for name in best])
    expected = share_of_rows((points + 1) / 2, {"item": item, "rater": rater}, 0.95)
    assert (found.low[0], found.high[0]) == pytest.approx((2 * expected.low - 1, 2 * expected.high - 1))
    assert (found.low <= found.score).all()
    assert (found.score <= found.high).all()
    assert (found.clusters, found.reason) == ({"item": 10, "rater": 6}, "")
    alone = best_worst_scores(shown, best, worst, clusters={"rater": rater * 0})
    assert "there is 1 rater" in alone.reason
    assert np.isnan(best_worst_scores(shown, best, worst).low).all()
    with refuses(BadShape, "rater", 2, 60):
        best_worst_scores(shown, best, worst, clusters={"rater": [1, 2]})


@pytest.mark.parametrize("function", [np.mean, np.median])
def test_images_that_change_sides_together_are_counted_as_by_listing_them_all(function: Any) -> None:
    generator = np.random.default_rng(5)
    image = np.repeat(np.arange(7), 3)
    one, two = generator.normal(size=(2, 21)) + generator.normal(size=(2, 7))[:, image]
    difference = function(one) - function(two)
    extreme = 0
    for coins in product((False, True), repeat=7):
        swapped = np.array(coins)[image]
        other = function(np.where(swapped, two, one)) - function(np.where(swapped, one, two))
        extreme += abs(other) >= abs(difference) - 1e-12
    by = {"item": image}
    found = randomization_test(one, two, function.__name__, reassignments=1999, clusters=by)
    assert found.difference == pytest.approx(difference)
    assert found.p == pytest.approx(extreme / 2**7, abs=0.03)


def test_credits_of_a_metric_give_the_accuracies_under_each_rule() -> None:
    first, second, winners = [2, 1, 1, 2, 1, 3], [1, 2, 1, 2, 2, 3], np.array([1, 1, 1, 2, 0, 0])
    named, whole = metric_winners(first, second), pair_accuracy(first, second, winners)["all"]

    def accuracy(**rules: str) -> float:
        credit, counts = pair_credits(named, winners, **rules)
        return float(credit[counts].mean())

    assert accuracy() == whole.value == 1 / 4
    assert accuracy(metric_ties="half") == whole.value_ties_half == 2 / 4
    assert accuracy(metric_ties="left-out") == 1 / 2
    assert accuracy(undecided="half") == 2 / 6
    assert accuracy(metric_ties="left-out", undecided="half") == 1.5 / 3
    with pytest.raises(BadOption, match="metric_ties"):
        accuracy(metric_ties="right")


def test_medians_and_summaries_are_numpys() -> None:
    units, values = ["b", "a", "b", "a", "b", "a"], [1.0, 4.0, 3.0, 1.0, 2.0, 1.0]
    names, medians = unit_medians([*units, "b"], [*values, 4.0])
    assert dict(zip(names.tolist(), medians.tolist(), strict=True)) == {"a": 1.0, "b": 2.5}
    scores, means = np.array([1.0, 2.0, 6.0, 7.0]), np.array([1.5, 6.5])
    found = summary_of_scores(scores, means, resamples=200, seed=0)
    interval = bootstrap_interval(means, resamples=200, seed=0)
    assert (found.micro, found.macro, found.low, found.high) == (4.0, 4.0, interval.low, interval.high)
    assert (found.deviation, found.median, found.least, found.most) == (scores.std(ddof=1), 4.0, 1.0, 7.0)
    assert np.isnan(summary_of_scores(scores[:1], means[:1], resamples=10, seed=0).deviation)
