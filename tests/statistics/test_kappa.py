"""Kappa, its thresholds, and agreement by unit and by pair, against scikit-learn, statsmodels and closed forms."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quorum.statistics.agreement import (
    LEVELS,
    agreement_by_pair,
    at_least,
    cohen_kappa,
    fleiss_interval,
    fleiss_kappa,
    kappa_grid,
    kappa_interval,
    krippendorff_alpha,
    ratings_of_judgments,
    threshold_kappa,
)
from quorum.statistics.agreement.cohen import ONE_LABEL
from quorum.statistics.agreement.fleiss import ONE_CATEGORY
from quorum.statistics.agreement.rater_pairs import NO_COMMON_UNIT
from quorum.statistics.agreement.thresholds import ALL_ANSWERS_EQUAL, NO_COMPLETE_PAIR
from quorum.statistics.inputs import BadOption, BadValue, DuplicateJudgment
from tests.refusals import refuses
from tests.statistics.golden import golden, with_nan

COHEN = golden("agreement.json")["cohen"]
FLEISS = golden("agreement.json")["fleiss"]
WEIGHTS = {"plain": None, "linear": "linear", "quadratic": "quadratic"}
pairs_of_labels = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=30)


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("case", COHEN, ids=range(len(COHEN)))
def test_cohens_kappa_is_that_of_scikit_learn(case: dict[str, Any], name: str) -> None:
    if name not in case:
        # The undefined case has a plain figure only; weights cannot define it.
        assert math.isnan(cohen_kappa(case["first"], case["second"], WEIGHTS[name]))
        return
    kappa = cohen_kappa(case["first"], case["second"], weights=WEIGHTS[name])
    if case[name] is None:
        assert math.isnan(kappa)
    else:
        assert kappa == pytest.approx(case[name], abs=1e-12)


@pytest.mark.parametrize("case", FLEISS, ids=range(len(FLEISS)))
def test_fleiss_kappa_is_that_of_statsmodels(case: dict[str, Any]) -> None:
    assert fleiss_kappa(case["counts"]) == pytest.approx(case["fleiss"], abs=1e-12)


def test_an_unused_point_of_the_scale_counts_when_the_scale_is_given() -> None:
    # One pair is 2 against 4: one step apart among the labels used, two on the scale of four.
    first, second = [1, 2, 4, 2], [1, 2, 4, 4]
    # Expected: every label of the first against every one of the second, 1 then 2 (twice) then 4.
    assert cohen_kappa(first, second, "linear") == pytest.approx(1 - 1 * 4 / (5 + 6 + 3))
    on_scale = cohen_kappa(first, second, "linear", labels=[1, 2, 3, 4])
    assert on_scale == pytest.approx(1 - 2 * 4 / (7 + 10 + 5))


def test_words_are_labels_too() -> None:
    assert cohen_kappa(["cat", "dog", "cat", "dog"], ["cat", "dog", "dog", "dog"]) == pytest.approx(0.5)
    assert cohen_kappa(np.array(["a", "b"]), np.array(["a", "b"])) == 1


def test_two_raters_who_never_share_a_label_are_worse_than_chance() -> None:
    assert cohen_kappa([0, 0, 1, 1], [1, 1, 0, 0]) == -1


def test_undefined_kappas_say_why() -> None:
    assert kappa_interval([1, 1], [1, 1]).reason == ONE_LABEL
    assert "no answers to compare" in kappa_interval([], []).reason
    assert fleiss_interval([[3, 0], [3, 0]]).reason == ONE_CATEGORY
    assert "no answers to compare" in fleiss_interval(np.empty((0, 3))).reason


@pytest.mark.large
@pytest.mark.parametrize("weights", [None, "quadratic"])
def test_the_interval_is_that_of_redrawing_the_pairs_one_by_one(weights: str | None) -> None:
    case = COHEN[2]
    first, second = np.array(case["first"]), np.array(case["second"])
    generator = np.random.default_rng(2)
    drawn = []
    for _ in range(600):
        rows = generator.integers(0, len(first), len(first))
        drawn.append(cohen_kappa(first[rows], second[rows], weights, labels=[1, 2, 3, 4]))
    result = kappa_interval(first, second, weights, resamples=20_000)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert result.low == pytest.approx(low, abs=0.015)
    assert result.high == pytest.approx(high, abs=0.015)
    assert (result.units, result.judgments, result.raters) == (100, 200, 2)


def test_a_million_pairs_of_thousands_of_labels_have_a_kappa() -> None:
    generator = np.random.default_rng(1)
    first = generator.integers(0, 5000, 1_000_000)
    second = np.where(generator.random(1_000_000) < 0.3, first, generator.integers(0, 5000, 1_000_000))
    assert cohen_kappa(first, second) == pytest.approx(0.3, abs=0.005)
    assert cohen_kappa(first, second, "quadratic") == pytest.approx(0.3, abs=0.005)


@settings(max_examples=30)
@given(pairs_of_labels)
def test_weights_make_no_difference_between_two_labels(pairs: list[tuple[int, int]]) -> None:
    first, second = ([label > 2 for label in side] for side in zip(*pairs, strict=True))
    plain = cohen_kappa(first, second)
    assert cohen_kappa(first, second, "linear") == pytest.approx(plain, abs=1e-12, nan_ok=True)
    assert cohen_kappa(first, second, "quadratic") == pytest.approx(plain, abs=1e-12, nan_ok=True)


def test_fleiss_kappa_of_eighty_categories_is_that_of_the_formula() -> None:
    # Twice the same units, so that alike ones are met.
    answers = np.tile(np.random.default_rng(3).integers(0, 80, (90, 4)), (2, 1))
    answers[:, 1] = answers[:, 0]
    counts = np.array([np.bincount(row, minlength=80) for row in answers])
    shares = counts.sum(axis=0) / counts.sum()
    observed = np.mean([(row * (row - 1)).sum() / (4 * 3) for row in counts])
    expected = (shares**2).sum()
    assert fleiss_kappa(counts) == pytest.approx((observed - expected) / (1 - expected))


def test_a_million_pairs_of_words_are_compared() -> None:
    generator = np.random.default_rng(2)
    words = np.array(["cat", "dog", "قط", "🐈"], dtype=object)
    first = generator.integers(0, 4, 1_000_000)
    second = np.where(generator.random(1_000_000) < 0.5, first, generator.integers(0, 4, 1_000_000))
    assert cohen_kappa(words[first], words[second].tolist()) == pytest.approx(cohen_kappa(first, second))


NAN: Any = math.nan
SCALE = [0.0, 1.0, 2.5, 4.0]

answers = arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 10)),
    elements=st.one_of(st.sampled_from(SCALE), st.just(NAN)),
)


@settings(max_examples=40)
@given(answers, st.sampled_from(LEVELS), st.sampled_from([None, "linear", "quadratic"]))
def test_every_pair_has_the_figures_of_its_common_units(table: Any, level: str, weights: str | None) -> None:
    result = agreement_by_pair(table, level, weights)
    occurring = sorted(set(table[~np.isnan(table)].tolist()))
    expected = []
    for first in range(len(table)):
        for second in range(first + 1, len(table)):
            both = ~np.isnan(table[first]) & ~np.isnan(table[second])
            if both.any():
                one, other = table[first, both], table[second, both]
                expected.append((first, second, both.sum(), (one == other).mean(), one, other))
    assert [*zip(result.first, result.second, result.units, strict=True)] == [row[:3] for row in expected]
    assert result.percent == pytest.approx([row[3] for row in expected])
    kappas = [cohen_kappa(one, other, weights, labels=occurring) for *_, one, other in expected]
    assert result.kappa == pytest.approx(kappas, abs=1e-9, nan_ok=True)
    alphas = [krippendorff_alpha([one, other], level) for *_, one, other in expected]
    assert result.alpha == pytest.approx(alphas, abs=1e-9, nan_ok=True)


def test_the_figures_are_those_of_other_programs() -> None:
    case = golden("agreement.json")["cohen"][2]
    for name, weights in (("plain", None), ("linear", "linear"), ("quadratic", "quadratic")):
        result = agreement_by_pair([case["first"], case["second"]], "nominal", weights)
        assert result.kappa[0] == pytest.approx(case[name], abs=1e-12)
    tables = [table for table in golden("agreement.json")["alpha"] if len(table["data"]) == 2]
    assert tables
    for table in tables:
        for level in LEVELS:
            published = table["alpha"][level]
            alpha = agreement_by_pair(with_nan(table["data"]), level).alpha
            assert isinstance(published, dict) or alpha[0] == pytest.approx(published, abs=1e-12)


def test_the_matrix_is_symmetric_and_empty_where_two_raters_never_met() -> None:
    table = [[1, 2, 1, NAN, 2], [1, 2, 2, NAN, NAN], [NAN, NAN, NAN, 1, NAN], [2, 2, NAN, 1, NAN]]
    result = agreement_by_pair(table)
    percent, units = result.matrix("percent"), result.matrix("units")
    assert np.array_equal(percent, percent.T, equal_nan=True)
    assert np.isnan(percent.diagonal()).all()
    assert (units[0, 1], units[2, 3], percent[2, 3]) == (3, 1, 1)
    assert math.isnan(percent[0, 2])
    # Raters 2 and 3 gave the one unit they share the same answer.
    assert math.isnan(result.matrix("kappa")[2, 3])
    assert "the same single answer" in result.reason
    with refuses(BadOption, "figure", "rho", "units", "percent", "kappa", "alpha"):
        result.matrix("rho")


@pytest.mark.large
def test_thousands_of_workers_who_met_here_and_there_need_no_table() -> None:
    generator = np.random.default_rng(4)
    units = np.repeat(np.arange(30_000), 3)
    workers = (generator.integers(0, 5_000, 30_000)[:, np.newaxis] + np.arange(3)).ravel()
    values = generator.integers(0, 101, len(units))
    names = [f"w{worker:05}" for worker in workers]
    result = agreement_by_pair(ratings_of_judgments(units, names, values), "interval")
    assert len(result.raters) == len(set(names))
    assert result.units.sum() == 3 * 30_000
    pair = int(result.units.argmax())
    one, other = (result.raters[side[pair]] for side in (result.first, result.second))
    answers_of = [
        dict(zip(units[who], values[who], strict=True))
        for who in (np.array(names) == one, np.array(names) == other)
    ]
    common = sorted(answers_of[0].keys() & answers_of[1].keys())
    table = [[answers[unit] for unit in common] for answers in answers_of]
    assert result.units[pair] == len(common)
    assert result.alpha[pair] == pytest.approx(krippendorff_alpha(table, "interval"))


@pytest.mark.parametrize("table", [[[1, 2, 3]], [[1, NAN], [NAN, 2]], np.empty((2, 0)), [[NAN], [NAN]]])
def test_raters_without_a_common_unit_make_no_pair(table: Any) -> None:
    result = agreement_by_pair(table)
    assert result.units.size == 0
    assert result.reason == NO_COMMON_UNIT


def test_opposite_numbers_are_equal_at_the_ratio_level() -> None:
    result = agreement_by_pair([[1, -1], [-1, 1]], "ratio")
    assert math.isnan(result.alpha[0])
    assert result.kappa[0] == -1


def test_bad_input_is_refused_in_one_sentence() -> None:
    with refuses(BadOption, "cubic"):
        agreement_by_pair([[1, 2], [1, 2]], weights="cubic")
    with refuses(BadOption, "level", "cardinal", "nominal"):
        agreement_by_pair([[1, 2], [1, 2]], "cardinal")
    with refuses(DuplicateJudgment, "w", "u"):
        ratings_of_judgments(["u", "u"], ["w", "w"], [1, 2])


SHARES = [1.0, 2 / 3, 2 / 3, 1 / 3, 0.0, 0.0, 1.0, 0.0]
GRADES = [4.0, 11 / 3, 3.0, 10 / 3, 1.0, 5 / 3, 10 / 3, 2.0]


def test_thirds_reach_the_thresholds_the_papers_print() -> None:
    assert at_least([2 / 3, sum([1, 1, 0]) / 3, 0.659], 0.66).tolist() == [True, True, False]
    assert at_least([10 / 3, 3.0], 3.33).tolist() == [True, False]


def test_a_score_that_misses_its_threshold_by_rounding_reaches_it() -> None:
    assert 0.1 + 0.2 + 0.3 > 0.6
    assert 0.3 + 0.2 + 0.1 < 0.1 + 0.2 + 0.3
    assert at_least([0.3 + 0.2 + 0.1, 1.1 + 2.2], 0.1 + 0.2 + 0.3).tolist() == [True, True]
    assert at_least([(4 + 3 + 3) / 3], 3.3333333333333335).all()


def test_kappa_is_cohens_on_the_cut_scores() -> None:
    result = threshold_kappa(SHARES, GRADES, 0.66, 3.33)
    cut = [share > 0.5 for share in SHARES], [grade > 3.1 for grade in GRADES]
    assert result.kappa.value == pytest.approx(cohen_kappa(*cut))
    assert (result.both, result.first_only, result.second_only, result.neither) == (3, 1, 1, 3)
    assert (result.precision.value, result.recall.value, result.f1.value) == (0.75, 0.75, 0.75)
    assert result.n == 8
    assert result.kappa.low < result.kappa.value < result.kappa.high


@pytest.mark.large
def test_the_intervals_of_thresholds_are_those_of_redrawing_the_pairs() -> None:
    generator = np.random.default_rng(4)
    truth = generator.random(400)
    first, second = (truth + generator.normal(0, 0.2, 400) for _ in range(2))
    drawn = []
    for _ in range(2000):
        rows = generator.integers(0, 400, 400)
        drawn.append(cohen_kappa(first[rows] >= 0.7, second[rows] >= 0.6))
    result = threshold_kappa(first, second, 0.7, 0.6, resamples=20_000)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert result.kappa.low == pytest.approx(low, abs=0.01)
    assert result.kappa.high == pytest.approx(high, abs=0.01)


def test_what_an_unseen_pair_means_is_said_aloud() -> None:
    shares = [1.0, math.nan, 0.0, math.nan]
    grades = [4.0, 4.0, 1.0, 1.0]
    with refuses(BadValue, "1", "leave-out"):
        threshold_kappa(shares, grades, 0.5, 3)
    unseen_is_no = threshold_kappa(shares, grades, 0.5, 3, missing="no")
    assert (unseen_is_no.n, unseen_is_no.filled, unseen_is_no.second_only) == (4, 2, 1)
    seen = threshold_kappa(shares, grades, 0.5, 3, missing="leave-out")
    assert (seen.n, seen.left_out, seen.kappa.value) == (2, 2, 1.0)


def test_undefined_figures_are_nan_and_kappa_says_why() -> None:
    none = threshold_kappa([0, 0], [0, 0], 1, 1)
    assert none.reason == ALL_ANSWERS_EQUAL
    assert math.isnan(none.kappa.value)
    assert math.isnan(none.precision.value)
    assert math.isnan(none.f1.low)
    assert threshold_kappa([], [], 1, 1).reason == NO_COMPLETE_PAIR


def test_the_grid_holds_every_pair_of_thresholds_and_names_the_best() -> None:
    grid = kappa_grid(SHARES, GRADES, (0.33, 0.66), (2.0, 3.33, 9.0))
    assert grid.values().shape == (2, 3)
    for row, first in enumerate((0.33, 0.66)):
        for column, second in enumerate((2.0, 3.33)):
            single = threshold_kappa(SHARES, GRADES, first, second)
            assert grid.values()[row, column] == single.kappa.value
    assert grid.best is not None
    assert grid.best.kappa.value == grid.values()[:, :2].max()
    # No grade reaches 9: chance explains everything.
    assert grid.values()[:, 2].tolist() == [0.0, 0.0]


def test_a_million_pairs_of_scores_are_cut_at_every_threshold() -> None:
    generator = np.random.default_rng(1)
    shares = generator.integers(0, 4, 1_000_000) / 3
    grades = np.where(
        generator.random(1_000_000) < 0.5, 1 + 3 * shares, generator.integers(3, 13, 1_000_000) / 3
    )
    grid = kappa_grid(shares, grades, missing="no")
    assert grid.best is not None
    assert grid.values().shape == (3, 7)
    assert grid.best.kappa.value == pytest.approx(
        cohen_kappa(shares >= grid.best.first_at_least, grades >= grid.best.second_at_least), abs=1e-12
    )


def test_a_grid_without_any_defined_kappa_has_no_best() -> None:
    assert kappa_grid([0, 0], [0, 0], [1], [1]).best is None
