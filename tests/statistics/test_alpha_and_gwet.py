"""Krippendorff's alpha and Gwet's AC against reference programs, closed forms and what must never matter."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quorum.statistics.agreement import (
    LEVELS,
    WEIGHTS,
    Alpha,
    Gwet,
    agreement,
    alpha_interval,
    alpha_of_judgments,
    alpha_of_parts,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    gwet_interval,
    krippendorff_alpha,
    percent_agreement,
    percent_interval,
    ratings_of_judgments,
)
from quorum.statistics.agreement.alpha import NO_VARIATION
from quorum.statistics.agreement.coefficient import NO_PAIRS, influences_of
from quorum.statistics.agreement.gwet import ONE_CATEGORY
from quorum.statistics.crossed import Clusters
from quorum.statistics.inputs import BadOption
from tests.statistics import agreeing_plainly as plainly
from tests.statistics.golden import golden, with_nan

TABLES = golden("agreement.json")["alpha"]
NAMES = [table["name"] for table in TABLES]

answers = arrays(
    np.float64,
    st.tuples(st.integers(2, 4), st.integers(2, 12)),
    elements=st.one_of(st.integers(0, 3).map(float), st.just(math.nan)),
)
CLUSTERS = st.sampled_from(["both", "naive"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_alpha_is_that_of_the_reference_program(table: dict[str, Any], level: str) -> None:
    expected = table["alpha"][level]
    alpha = krippendorff_alpha(with_nan(table["data"]), level=level)
    if isinstance(expected, dict):
        assert math.isnan(alpha)
    else:
        assert alpha == pytest.approx(expected, abs=1e-12)


def test_krippendorffs_own_example_gives_his_printed_figures() -> None:
    example = with_nan(TABLES[NAMES.index("krippendorff-2011")]["data"])
    printed = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
    assert {level: round(krippendorff_alpha(example, level), 3) for level in LEVELS} == printed


def test_text_is_compared_at_the_nominal_level() -> None:
    words = [["cat", "dog", "cat", None], ["cat", "dog", "dog", "cat"]]
    numbers = [[1.0, 2.0, 1.0, math.nan], [1.0, 2.0, 2.0, 1.0]]
    assert krippendorff_alpha(np.array(words, dtype=object)) == pytest.approx(krippendorff_alpha(numbers))


def test_nan_among_words_is_a_missing_answer() -> None:
    words: list[list[Any]] = [["a", math.nan, "b", "c", "a"], ["a", "b", math.nan, "c", "b"]]
    of_none = [[None if word != word else word for word in row] for row in words]
    for table in (words, np.array(words, dtype=object)):
        assert krippendorff_alpha(table) == krippendorff_alpha(np.array(of_none))
        assert percent_agreement(table) == 2 / 3
        assert gwet_ac(table) == gwet_ac(np.array(of_none))


def test_numbers_with_none_for_missing_are_numbers() -> None:
    table: Any = [[1, 2, None, 4], [1, 3, 2, 4]]
    given = [[1.0, 2.0, math.nan, 4.0], [1.0, 3.0, 2.0, 4.0]]
    assert krippendorff_alpha(table, "interval") == krippendorff_alpha(given, "interval")


@pytest.mark.parametrize("level", LEVELS)
def test_perfect_agreement_is_one_and_only_the_bootstrap_takes_it_for_certain(level: str) -> None:
    table = [[1, 2, 3, 4, 1, 2] * 5] * 2
    result = alpha_interval(table, level)
    # Clopper's and Pearson's lower end for 30 of 30 units, and two answers of 60 that differ: 20, 20, 10 and 10 alike.
    differ = 1 - (2 * 20 * 19 + 2 * 10 * 9) / (60 * 59)
    assert (result.value, result.low, result.high) == (
        1,
        pytest.approx(1 - (1 - 0.025 ** (1 / 30)) / differ),
        1,
    )
    result = alpha_interval(table, level, clusters="naive")
    assert (result.value, result.low, result.high) == (1, 1, 1)


def test_lopsided_answers_have_low_alpha_however_often_they_agree() -> None:
    # 98 units yes/yes, one yes/no, one no/yes: D_o = 2, D_e from n = 200 with 2 no: alpha = 1 - 199 * 4 / 792.
    first = [1] * 98 + [1, 0]
    second = [1] * 98 + [0, 1]
    assert krippendorff_alpha([first, second]) == pytest.approx(1 - 199 * 4 / (200**2 - 198**2 - 2**2))


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[1, 1, 1], [1, 1, math.nan]], "every judgment that can be compared has the same value"),
        ([[1, math.nan], [math.nan, 2]], "no item has two judgments"),
        ([[1, 2, 3]], "no item has two judgments"),
        (np.empty((2, 0)), "no item has two judgments"),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_an_undefined_alpha_is_nan_and_says_why(table: Any, reason: str, level: str) -> None:
    result = alpha_interval(table, level)
    assert math.isnan(result.value)
    assert math.isnan(result.low)
    assert result.reason == reason


def test_equal_broken_numbers_are_no_variation() -> None:
    result = alpha_interval([[0.1, 0.1, 0.1], [0.1, 0.1, 0.1], [0.1, 0.1, 0.1]], "interval")
    assert math.isnan(result.value)


def test_resamples_without_variation_are_left_out_and_counted() -> None:
    result = alpha_interval([[1, 1, 1, 2], [1, 1, 1, 2]], resamples=1000, clusters="naive")
    # (3/4)^4 of the resamples never draw the unit that differs.
    assert result.undefined_resamples == pytest.approx(316, abs=60)
    assert (result.low, result.high) == (1.0, 1.0)


def test_the_result_counts_everything_given_and_what_could_be_compared() -> None:
    table = [[1, 2, math.nan, 3, math.nan], [1, 2, 2, math.nan, math.nan], [math.nan] * 5]
    result = alpha_interval(table, "interval", seed=7, clusters="naive")
    assert (result.units, result.pairable, result.raters, result.judgments) == (4, 2, 2, 6)
    assert (result.level, result.seed, result.resamples, result.confidence) == ("interval", 7, 2000, 0.95)


def test_negative_numbers_at_the_ratio_level_carry_a_warning() -> None:
    assert "no meaning" in alpha_interval([[-1, 2, 3], [-1, 2, 2]], "ratio").note
    assert "no meaning" not in alpha_interval([[1, 2, 3], [1, 2, 2]], "ratio").note


@pytest.mark.long
@pytest.mark.large
def test_the_interval_is_that_of_redrawing_the_units_one_by_one() -> None:
    table = with_nan(TABLES[NAMES.index("random-5x30-k4-missing0.3")]["data"])
    generator = np.random.default_rng(11)
    for level in ("nominal", "ordinal"):
        drawn = [
            krippendorff_alpha(table[:, generator.integers(0, table.shape[1], table.shape[1])], level)
            for _ in range(1500)
        ]
        low, high = np.nanquantile(drawn, [0.025, 0.975])
        result = alpha_interval(table, level, resamples=20_000, clusters="naive")
        assert result.low == pytest.approx(low, abs=0.02)
        assert result.high == pytest.approx(high, abs=0.02)


def nearly_agreeing(raters: int, units: int = 60) -> Any:
    """Each unit is answered by its number, odd or even, but one unit by each rater otherwise."""
    table = np.tile(np.arange(units) % 2.0, (raters, 1))
    table[np.arange(raters), np.arange(raters)] = 1 - np.arange(raters) % 2
    return table


def test_alpha_of_few_raters_says_what_careless_ones_who_did_not_come_would_change() -> None:
    """Of 8 people none is among 15 % in .85^8 = .272 of groups; .85^2 = .7225 of pairs of answers are by others."""
    result = alpha_interval(nearly_agreeing(8))
    assert result.value == pytest.approx(1 - 479 / 480 * 2 * (8 * 7 / 7) / 240)
    assert result.low > 0.7225 * result.value
    assert result.note == (
        "if 15 % of people answer at random, 27 % of groups of 8 have none of them, as this one may, and alpha is "
        "about 0.67, below the interval; check questions keep them out"
    )
    assert agreement(nearly_agreeing(8), Alpha(), control_items=True).note == ""
    assert agreement(nearly_agreeing(8), Gwet()).note == ""


@pytest.mark.parametrize(("raters", "noted"), [(18, True), (19, False)])
def test_of_many_raters_some_are_careless_in_nearly_every_group(raters: int, noted: bool) -> None:
    """.85^18 = .054, .85^19 = .046."""
    assert bool(alpha_interval(nearly_agreeing(raters)).note) == noted


def test_a_wide_interval_has_room_for_careless_raters() -> None:
    """On 3 of 10 units half of the raters disagree with the others."""
    table = np.tile(np.arange(10) % 2.0, (8, 1))
    table[:4, :3] = 1 - table[:4, :3]
    result = alpha_interval(table)
    assert result.low < 0.7225 * result.value
    assert result.note == ""


def test_many_distinct_values_give_the_interval_of_the_same_values_grouped() -> None:
    generator = np.random.default_rng(5)
    table = generator.integers(0, 100, (3, 60)).astype(float)
    table[1:] = np.clip(table[0] + generator.integers(-9, 10, (2, 60)), 0, 99)
    sparse = alpha_interval(table + np.array([0.5]), "interval", resamples=20_000, clusters="naive")
    redrawn = alpha_interval(table, "interval", resamples=20_000, seed=1, clusters="naive")
    assert sparse.value == pytest.approx(redrawn.value)
    assert sparse.low == pytest.approx(redrawn.low, abs=0.01)
    assert sparse.high == pytest.approx(redrawn.high, abs=0.01)


@pytest.mark.large
def test_a_million_judgments_of_thousands_of_workers_need_no_table_of_workers_by_units() -> None:
    generator = np.random.default_rng(3)
    units = np.repeat(np.arange(250_000), 4)
    workers = (generator.integers(0, 20_000, 250_000)[:, np.newaxis] + np.arange(4)).ravel()
    truth = generator.integers(1, 5, 250_000)
    values = np.where(
        generator.random(1_000_000) < 0.5, np.repeat(truth, 4), generator.integers(1, 5, 1_000_000)
    )
    result = alpha_of_judgments(units, workers, values)
    # A quarter of the pairs of judges both copy an even truth; the rest agrees by chance.
    assert result.value == pytest.approx(0.25, abs=0.005)
    assert result.low < 0.25 < result.high
    assert result.judgments == 1_000_000


@settings(max_examples=30)
@given(answers, st.randoms(use_true_random=False), st.sampled_from(LEVELS), CLUSTERS)
def test_the_order_of_raters_and_units_does_not_matter(
    matrix: Any, shuffler: Any, level: str, clusters: str
) -> None:
    raters, units = list(range(matrix.shape[0])), list(range(matrix.shape[1]))
    shuffler.shuffle(raters)
    shuffler.shuffle(units)
    result = alpha_interval(matrix, level, resamples=50, clusters=clusters)
    shuffled = alpha_interval(matrix[raters][:, units], level, resamples=50, clusters=clusters)
    assert shuffled.value == pytest.approx(result.value, abs=1e-12, nan_ok=True)
    assert shuffled.low == pytest.approx(result.low, abs=1e-12, nan_ok=True)


def test_values_so_large_that_one_is_lost_beside_them_still_count() -> None:
    assert krippendorff_alpha([[2.0**60, 2.0**60, 0.0], [2.0**60, 0.0, 0.0]]) == pytest.approx(
        krippendorff_alpha([[1, 1, 0], [1, 0, 0]])
    )
    assert alpha_interval([[2.0**60] * 2, [2.0**60] * 2]).judgments == 4


@settings(max_examples=30)
@given(
    st.integers(1, 9).flatmap(
        lambda raters: arrays(
            np.float64,
            st.tuples(st.just(raters), st.integers(1, 10)),
            elements=st.one_of(
                st.integers(-2, 2).map(float),
                st.integers(0, 40).map(lambda half: half / 2),
                st.just(math.nan),
            ),
        )
    ),
    st.sampled_from(LEVELS),
)
def test_alpha_is_that_of_the_definition_pair_by_pair(matrix: Any, level: str) -> None:
    expected = plainly.alpha(matrix, level)
    assert krippendorff_alpha(matrix, level) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    if not np.isnan(matrix).all():
        rater, unit = np.nonzero(~np.isnan(matrix))
        rows = ratings_of_judgments(unit, rater, matrix[rater, unit])
        assert krippendorff_alpha(rows, level) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("level", LEVELS)
def test_how_the_table_lies_in_memory_does_not_matter(level: str) -> None:
    table = np.random.default_rng(6).integers(1, 5, (5, 5000))
    alpha = krippendorff_alpha(table, level)
    for same in (
        table.astype(np.uint8),
        table.astype(np.float32),
        np.asfortranarray(table.astype(float)),
        np.repeat(table, 2, axis=1)[:, ::2].astype(float),
        table.tolist(),
    ):
        assert krippendorff_alpha(same, level) == alpha


@pytest.mark.parametrize("raters", [40, 70])
def test_many_raters_with_many_values_need_no_merging(raters: int) -> None:
    table = np.random.default_rng(7).integers(0, 30, (raters, 12)).astype(float)
    table[:, 0] = np.nan
    assert krippendorff_alpha(table, "ordinal") == pytest.approx(plainly.alpha(table, "ordinal"), abs=1e-12)
    result = alpha_interval(table, "ordinal")
    assert (result.units, result.raters, result.judgments) == (11, raters, raters * 11)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("level", ["interval", "ratio"])
@pytest.mark.parametrize("clusters", ["both", "naive"])
def test_numbers_whose_squares_no_double_holds_have_the_alpha_of_smaller_ones(
    scale: float, level: str, clusters: str
) -> None:
    table = np.array([[1.0, 2, 3, 3, 1], [1, 2, 3, 1, 1], [2, 2, 3, 3, 1]])
    plain = alpha_interval(table, level, clusters=clusters, resamples=200)
    scaled = alpha_interval(table * scale, level, clusters=clusters, resamples=200)
    assert scaled.value == pytest.approx(plain.value, abs=1e-12)
    assert scaled.low == pytest.approx(plain.low, abs=1e-12)


def test_counting_a_table_leaves_it_as_it_was() -> None:
    table = np.array([[1.5, np.nan, 2.5], [1.5, 2.5, 2.5]])
    before = table.copy()
    krippendorff_alpha(table, "interval")
    table.setflags(write=False)
    assert np.isnan(krippendorff_alpha(table[:, :1]))
    assert np.array_equal(table, before, equal_nan=True)


def noisy(
    units: int, parts: int, workers: int, seed: int, *, together: bool
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Columns of values 1 to 4: a truth a part, and errors a part, or the same error for all parts of a unit."""
    rng = np.random.default_rng(seed)
    rows: list[list[int]] = [[], [], [], []]
    for unit in range(units):
        truth = rng.integers(1, 5, size=parts)
        for worker in range(workers):
            wrong = rng.random(1 if together else parts) < 0.4
            given = np.where(wrong, rng.integers(1, 5, size=parts), truth)
            for part in range(parts):
                for column, value in zip(rows, (unit, part, worker, int(given[part])), strict=True):
                    column.append(value)
    return rows[0], rows[1], rows[2], rows[3]


@pytest.mark.parametrize("level", LEVELS)
def test_the_value_is_that_of_judgments_of_single_parts(level: str) -> None:
    units, parts, workers, values = noisy(30, 4, 3, 1, together=False)
    single = [f"{unit}/{part}" for unit, part in zip(units, parts, strict=True)]
    plain = alpha_of_judgments(single, workers, values, level)
    found = alpha_of_parts(units, parts, workers, values, level, resamples=50)
    assert found.value == pytest.approx(plain.value, abs=1e-12)
    assert (found.units, found.pairable, found.judgments, found.raters) == (30, 30, 90, 3)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("level", LEVELS)
def test_with_one_part_a_unit_it_is_alpha_of_judgments(level: str) -> None:
    units, parts, workers, values = noisy(60, 1, 3, 2, together=False)
    plain = alpha_of_judgments(units, workers, values, level)
    found = alpha_of_parts(units, parts, workers, values, level)
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))
    assert found.clusters == plain.clusters == {"item": 60, "rater": 3}
    resampled = alpha_of_judgments(units, workers, values, level, resamples=400, clusters="naive")
    of_parts = alpha_of_parts(units, parts, workers, values, level, resamples=400, clusters="naive")
    assert (of_parts.low, of_parts.high) == pytest.approx((resampled.low, resampled.high), abs=0.05)


def test_parts_that_go_wrong_together_have_a_wider_interval_than_parts_drawn_alone() -> None:
    units, parts, workers, values = noisy(40, 12, 3, 3, together=True)
    single = [f"{unit}/{part}" for unit, part in zip(units, parts, strict=True)]
    alone = alpha_of_judgments(single, workers, values, resamples=400, clusters="naive")
    whole = alpha_of_parts(units, parts, workers, values, resamples=400)
    assert whole.value == pytest.approx(alone.value)
    assert whole.high - whole.low > 1.5 * (alone.high - alone.low)


def test_a_part_that_one_worker_left_out_is_missing_for_them_alone() -> None:
    found = alpha_of_parts(["u"] * 5, ["x", "y", "x", "y", "z"], [1, 1, 2, 2, 2], [1, 2, 1, 2, 3])
    assert found.value == 1
    assert (found.units, found.pairable, found.judgments) == (1, 1, 2)


def test_without_two_judgments_of_a_part_there_is_a_reason() -> None:
    found = alpha_of_parts(["u", "u"], ["x", "y"], [1, 2], [1, 2])
    assert np.isnan(found.value)
    assert (found.reason, found.pairable, found.units) == (NO_PAIRS, 0, 1)
    nothing = alpha_of_parts([], [], [], [])
    assert (nothing.reason, nothing.judgments) == (NO_PAIRS, 0)


def test_without_variation_there_is_a_reason() -> None:
    found = alpha_of_parts(["u", "u"], ["x", "x"], [1, 2], [5, 5], "interval")
    assert found.reason == NO_VARIATION


GWET = golden("agreement.json")["gwet"]
NAN: Any = math.nan
SCALE = [0, 1, 2, 4]

categories_of_raters = arrays(
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
    # irrCAC's interval is for these raters, by a t distribution; drawing the units anew gives about the same.
    result = gwet_interval(table, weights, clusters="naive")
    low, high = expected["gwet_ci95"]
    assert result.low == pytest.approx(low, abs=0.05)
    assert result.high == pytest.approx(high, abs=0.05)


@pytest.mark.parametrize("weights", ["identity", "linear", "quadratic", "ordinal"])
def test_gwets_standard_error_by_unit_is_that_of_irrcac_where_nothing_is_missing(weights: str) -> None:
    influences = influences_of(Gwet(weights), with_nan(GWET[0]["data"]))
    assert influences is not None
    spread = Clusters.from_columns({"item": np.tile(np.arange(40), 3)}, 120).spread(influences.values)
    assert math.sqrt(spread.variance) == pytest.approx(GWET[0][weights]["gwet_se"], abs=1e-11)
    assert spread.df == 39


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
    with pytest.raises(BadOption, match="order"):
        gwet_ac(table, "linear")


@pytest.mark.parametrize("interval", [gwet_interval, percent_interval])
@pytest.mark.parametrize(
    "table",
    [[[1, NAN], [NAN, 2]], np.empty((3, 0)), np.empty((0, 3)), np.array([["a", None]], dtype=object)],
)
@pytest.mark.parametrize("clusters", ["both", "naive"])
def test_without_two_judgments_there_is_no_agreement_and_the_result_says_so(
    interval: Any, table: Any, clusters: str
) -> None:
    result = interval(table, clusters=clusters)
    assert math.isnan(result.value)
    assert math.isnan(result.low)
    assert "two judgments" in result.reason
    assert result.pairable == 0


def test_unanimous_answers_need_the_other_categories_named() -> None:
    unanimous = [[1, 1, 1], [1, 1, 1]]
    result = gwet_interval(unanimous)
    assert math.isnan(result.value)
    assert result.reason == ONE_CATEGORY
    assert gwet_ac(unanimous, categories=[1, 2]) == 1
    assert gwet_ac(unanimous, "quadratic", categories=[1, 2, 3]) == 1
    assert percent_agreement(unanimous) == 1
    assert percent_interval(unanimous).low == pytest.approx(0.025 ** (1 / 3))
    assert percent_interval(unanimous, clusters="naive").low == 1


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


@pytest.mark.parametrize("weights", WEIGHTS)
@settings(max_examples=20)
@given(table=categories_of_raters)
@example(table=np.array([[0.0, 1, 2, 4], [1, 1, NAN, 0]]))
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


def test_a_subset_of_judgments_has_the_alpha_of_a_table_in_which_the_others_are_missing() -> None:
    table = with_nan(GWET[1]["data"])
    rater, unit = np.nonzero(~np.isnan(table))
    keep = table[rater, unit] != table[rater, unit].max()
    ratings = ratings_of_judgments(unit, rater, table[rater, unit]).subset(keep)
    reduced = np.full_like(table, np.nan)
    reduced[rater[keep], unit[keep]] = table[rater[keep], unit[keep]]
    assert set(ratings.units) == set(unit[keep])
    assert set(ratings.raters) == set(rater[keep])
    assert krippendorff_alpha(ratings) == pytest.approx(krippendorff_alpha(reduced), abs=1e-12)
