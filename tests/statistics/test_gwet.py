"""Gwet's AC1 and AC2 and percent agreement against irrCAC, closed forms and the formulas pair by pair."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evaluation.statistics.agreement import (
    WEIGHTS,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    gwet_interval,
    krippendorff_alpha,
    percent_agreement,
    percent_interval,
    ratings_of_judgments,
)
from evaluation.statistics.inputs import BadOption
from tests.statistics import agreeing_plainly as plainly
from tests.statistics.golden import golden, with_nan

GWET = golden("agreement.json")["gwet"]
NAN: Any = math.nan
SCALE = [0, 1, 2, 4]

answers = arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 10)),
    elements=st.one_of(st.sampled_from([0.0, 1.0, 2.0, 4.0]), st.just(NAN)),
)


@pytest.mark.parametrize("weights", ["identity", "linear", "quadratic", "ordinal"])
@pytest.mark.parametrize("case", GWET, ids=["complete", "missing"])
def test_gwets_coefficient_is_that_of_irrcac(case: dict[str, Any], weights: str) -> None:
    table = with_nan(case["data"])
    expected = case[weights]
    assert gwet_ac(table, weights) == pytest.approx(expected["gwet"], abs=1e-11)
    # irrCAC's interval rests on a t distribution; drawing the units anew gives about the same.
    result = gwet_interval(table, weights)
    low, high = expected["gwet_ci95"]
    assert result.low == pytest.approx(low, abs=0.05)
    assert result.high == pytest.approx(high, abs=0.05)


def test_the_other_figures_that_irrcac_prints_beside_gwets_are_met_too() -> None:
    complete, missing = (with_nan(case["data"]) for case in GWET)
    counts = [[int((unit == value).sum()) for value in (1, 2, 3, 4)] for unit in complete.T]
    assert fleiss_kappa(counts) == pytest.approx(GWET[0]["identity"]["fleiss"], abs=1e-11)
    for case, table in zip(GWET, (complete, missing), strict=True):
        for weights, level in (("identity", "nominal"), ("quadratic", "interval")):
            expected = case[weights]["krippendorff"]
            assert krippendorff_alpha(table, level) == pytest.approx(expected, abs=1e-11)


def test_lopsided_answers_keep_gwets_coefficient_high_where_kappa_falls_below_zero() -> None:
    # 118 yes/yes, 5 yes/no, 2 no/yes, 0 no/no: p_a = 118 / 125; the shares of yes are 123 and 120 of 125.
    first = [1] * 123 + [0] * 2
    second = [1] * 118 + [0] * 5 + [1] * 2
    share = (123 + 120) / 250
    chance = 2 * share * (1 - share)
    assert percent_agreement([first, second]) == pytest.approx(118 / 125)
    assert gwet_ac([first, second]) == pytest.approx((118 / 125 - chance) / (1 - chance))
    assert gwet_ac([first, second]) > 0.93
    assert cohen_kappa(first, second) < 0


def test_a_near_miss_counts_by_the_length_of_the_scale() -> None:
    table = [[1, 2, 3], [1, 2, 2]]
    assert percent_agreement(table) == pytest.approx(2 / 3)
    assert percent_agreement(table, "linear") == pytest.approx((2 + 1 / 2) / 3)
    assert percent_agreement(table, "linear", categories=[1, 2, 3, 4, 5]) == pytest.approx((2 + 3 / 4) / 3)
    assert percent_agreement(table, "quadratic", categories=[5, 4, 3, 2, 1]) == pytest.approx(
        (2 + 15 / 16) / 3
    )


def test_words_have_the_order_they_are_given_in() -> None:
    table = np.array([["good", "fair", "bad", None], ["good", "bad", "bad", "fair"]], dtype=object)
    numbers = [[3, 2, 1, NAN], [3, 1, 1, 2]]
    for weights in ("linear", "ordinal", "quadratic"):
        assert gwet_ac(table, weights, categories=["bad", "fair", "good"]) == pytest.approx(
            gwet_ac(numbers, weights)
        )
    assert gwet_ac(table) == pytest.approx(gwet_ac(numbers))
    with pytest.raises(BadOption, match="answers are text, expected their order in categories"):
        gwet_ac(table, "linear")


@pytest.mark.parametrize("interval", [gwet_interval, percent_interval])
@pytest.mark.parametrize(
    "table",
    [[[1, NAN], [NAN, 2]], np.empty((3, 0)), np.empty((0, 3)), np.array([["a", None]], dtype=object)],
)
@pytest.mark.parametrize("over", ["units", "raters", "both"])
def test_without_two_judgments_there_is_no_agreement_and_the_result_says_so(
    interval: Any, table: Any, over: str
) -> None:
    result = interval(table, over=over)
    assert math.isnan(result.value)
    assert math.isnan(result.low)
    assert result.reason == "no unit has two judgments"
    assert result.pairable == 0


def test_unanimous_answers_need_the_other_categories_named() -> None:
    unanimous = [[1, 1, 1], [1, 1, 1]]
    result = gwet_interval(unanimous)
    assert math.isnan(result.value)
    assert result.reason == "every judgment names the same category; name the others in categories"
    assert gwet_ac(unanimous, categories=[1, 2]) == 1
    assert gwet_ac(unanimous, "quadratic", categories=[1, 2, 3]) == 1
    assert percent_agreement(unanimous) == 1
    assert percent_interval(unanimous).low == 1


def test_units_judged_once_shape_chance_but_not_what_was_observed() -> None:
    table = [[1, 2, 1, NAN], [1, 2, 2, 2]]
    result = gwet_interval(table)
    shares = np.array([1 + 0 + 0.5 + 0, 0 + 1 + 0.5 + 1]) / 4
    chance = (shares * (1 - shares)).sum()
    assert result.value == pytest.approx((2 / 3 - chance) / (1 - chance))
    assert (result.units, result.pairable, result.raters, result.judgments) == (4, 3, 2, 7)
    assert (result.statistic, result.level) == ("gwet-ac1", "identity")
    assert gwet_interval(table, "linear").statistic == "gwet-ac2"
    assert percent_interval(table).units == 4


@settings(max_examples=40)
@given(answers, st.sampled_from(WEIGHTS))
def test_the_figures_are_those_of_the_formulas_pair_by_pair(table: Any, weights: str) -> None:
    for plain, fast in ((plainly.percent, percent_agreement), (plainly.gwet, gwet_ac)):
        given_any = not np.isnan(table).all()
        expected = plain(table, weights, SCALE) if given_any else NAN
        assert fast(table, weights, categories=SCALE) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_rows_give_the_figures_of_the_table() -> None:
    table = with_nan(GWET[1]["data"])
    rater, unit = np.nonzero(~np.isnan(table))
    rows = ratings_of_judgments(unit, [f"w{one}" for one in rater], table[rater, unit])
    assert gwet_ac(rows, "ordinal") == gwet_ac(table, "ordinal")
    assert percent_agreement(rows) == percent_agreement(table)
    assert krippendorff_alpha(rows) == krippendorff_alpha(table)
