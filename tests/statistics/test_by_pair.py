"""Who agrees with whom: every two raters on the units both judged."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evaluation.statistics.agreement import (
    LEVELS,
    agreement_by_pair,
    cohen_kappa,
    krippendorff_alpha,
    ratings_of_judgments,
)
from evaluation.statistics.inputs import BadOption, DuplicateJudgment
from tests.statistics.golden import golden, with_nan

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
    assert result.reason.startswith("kappa and alpha are undefined for raters who gave one and the same")
    with pytest.raises(BadOption, match="figure is 'rho', expected one of units, percent, kappa, alpha"):
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
    assert result.reason == "no two raters judged a common unit"


def test_opposite_numbers_are_equal_at_the_ratio_level() -> None:
    result = agreement_by_pair([[1, -1], [-1, 1]], "ratio")
    assert math.isnan(result.alpha[0])
    assert result.kappa[0] == -1


def test_bad_input_is_refused_in_one_sentence() -> None:
    with pytest.raises(BadOption, match="weights is 'cubic', expected None, linear or quadratic"):
        agreement_by_pair([[1, 2], [1, 2]], weights="cubic")
    with pytest.raises(BadOption, match="level is 'cardinal', expected one of nominal"):
        agreement_by_pair([[1, 2], [1, 2]], "cardinal")
    with pytest.raises(DuplicateJudgment, match="worker w judged unit u more than once"):
        ratings_of_judgments(["u", "u"], ["w", "w"], [1, 2])
