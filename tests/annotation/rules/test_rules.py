"""Each rule finds what it is for, leaves others alone, and says why."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from annotation.quality.detectors import RULES, AnswerFormat, OwnJudgment, make_rule
from annotation.quality.detectors.replay import control_history
from tests.annotation.rules.people import NAN, RELEVANCE, TRIPLET, of

SLIDER = AnswerFormat.from_values(tuple(range(101)), level="interval", sided=False)
GRADED = AnswerFormat.from_values((1, 2, 3, 4), level="interval", sided=False)


def drawn(seed: int, n: int, chance: float = 0.5) -> np.ndarray:
    return np.random.default_rng(seed).random(n) < chance


def test_always_the_left_is_found_on_the_first_page() -> None:
    found = make_rule("side-bias", {}).examine(of([1.0] * 20))
    assert found is not None
    assert "20 of 20 answers took the option on the left" in found.words
    assert found.judgments == 20
    # half of alpha is spent on the first look
    assert found.evidence["level"] == 0.0005


def test_the_p_value_is_the_binomial_tests() -> None:
    seen = [1.0] * 4 + [2.0] * 26
    found = make_rule("side-bias", {"tolerance": 0.0, "least": 30}).examine(of(seen))
    assert found is not None
    assert found.evidence["p"] == pytest.approx(binomtest(4, 30, 0.5).pvalue, rel=1e-3)
    assert "on the right" in found.words


def test_a_slight_habit_is_no_fault() -> None:
    seen = [1.0, 1.0, 1.0, 2.0, 2.0] * 60
    assert binomtest(180, 300, 0.5).pvalue < 1e-3
    assert make_rule("side-bias", {}).examine(of(seen)) is None


def test_kinds_without_sides_have_no_side_bias() -> None:
    assert make_rule("side-bias", {}).examine(of([1.0] * 60, answers=RELEVANCE)) is None


def test_the_same_box_over_and_over_is_found_where_others_differ() -> None:
    truth = drawn(3, 60, 0.4)
    others = {unit: [(float(yes), 5.0)] * 2 for unit, yes in enumerate(truth)}
    found = make_rule("straight-lining", {}).examine(of([0.0] * 60, answers=RELEVANCE, others=others))
    assert found is not None
    assert "The same answer 60 times in a row" in found.words


def test_the_same_box_is_no_fault_where_everybody_ticks_it() -> None:
    others = {unit: [(0.0, 5.0)] * 2 for unit in range(60)}
    assert make_rule("straight-lining", {}).examine(of([0.0] * 60, answers=RELEVANCE, others=others)) is None


def test_without_others_nobody_knows_what_is_usual() -> None:
    assert make_rule("straight-lining", {}).examine(of([0.0] * 60, answers=RELEVANCE)) is None


def test_the_same_number_on_a_slider_is_found() -> None:
    rng = np.random.default_rng(1)
    others = {unit: [(float(rng.integers(101)), 4.0)] * 2 for unit in range(30)}
    found = make_rule("straight-lining", {}).examine(of([50.0] * 30, answers=SLIDER, others=others))
    assert found is not None
    assert found.evidence["run"] == 30


def test_left_right_left_right_is_found() -> None:
    found = make_rule("alternation", {}).examine(of([1.0, 2.0] * 20))
    assert found is not None
    assert found.evidence["changes"] == found.evidence["of"] == 38  # within two pages of twenty


def test_sides_that_are_balanced_on_short_pages_are_no_fault() -> None:
    rng = np.random.default_rng(8)
    accused = 0
    for _ in range(200):
        pages = [rng.permutation([1.0, 1.0, 2.0, 2.0]) for _ in range(25)]
        accused += (
            make_rule("alternation", {}).examine(of(np.concatenate(pages).tolist(), page=4)) is not None
        )
    assert accused <= 1


def test_two_grades_in_turn_are_found_and_a_page_of_all_grades_is_left_out() -> None:
    assert make_rule("alternation", {}).examine(of([1.0, 4.0] * 15, answers=GRADED)) is not None
    assert make_rule("alternation", {}).examine(of([1.0, 2.0, 3.0, 4.0] * 15, answers=GRADED)) is None


def test_answers_under_the_floor_are_too_fast() -> None:
    found = make_rule("too-fast", {"seconds": 1.0}).examine(of([1.0, 2.0] * 10, seconds=[0.5] * 20))
    assert found is not None
    assert "20 of 20 answers took less than 1 s" in found.words
    assert make_rule("too-fast", {"seconds": 0.4}).examine(of([1.0, 2.0] * 10, seconds=[0.5] * 20)) is None


def test_a_quarter_of_the_crowds_time_is_too_fast() -> None:
    others = {unit: [(1.0, 6.0), (2.0, 8.0)] for unit in range(20)}
    assert make_rule("too-fast", {}).examine(of([1.0] * 20, seconds=[1.2] * 20, others=others)) is not None
    assert make_rule("too-fast", {}).examine(of([1.0] * 20, seconds=[2.5] * 20, others=others)) is None


def test_a_colleague_who_went_for_tea_makes_nobody_too_fast() -> None:
    others = {unit: [(1.0, 5.0), (1.0, 5.0 if unit else 3000.0)] for unit in range(20)}
    assert make_rule("too-fast", {}).examine(of([1.0] * 20, seconds=[4.0] * 20, others=others)) is None


def test_answers_of_one_step_share_its_time() -> None:
    # ten boxes under one image: the time stands at the last of them
    seconds = ([0.0] * 9 + [30.0]) * 2
    assert make_rule("too-fast", {}).examine(of([0.0] * 20, answers=RELEVANCE, seconds=seconds)) is None


def test_somebody_who_answers_against_the_others_is_found() -> None:
    truth = drawn(4, 40).astype(float) + 1
    others = {unit: [(value, 5.0)] * 2 for unit, value in enumerate(truth)}
    found = make_rule("disagreement", {}).examine(of((3 - truth).tolist(), others=others))
    assert found is not None
    assert found.evidence["agreeing"] == 0
    assert found.evidence["kappa"] < -0.8
    assert make_rule("disagreement", {}).examine(of(truth.tolist(), others=others)) is None


def test_somebody_who_does_not_look_is_found_beside_a_crowd_that_agrees() -> None:
    truth = drawn(4, 120).astype(float) + 1
    others = {unit: [(value, 5.0)] * 3 for unit, value in enumerate(truth)}
    guesses = (drawn(5, 120).astype(float) + 1).tolist()
    assert make_rule("disagreement", {}).examine(of(guesses, others=others)) is None
    found = make_rule("disagreement", {"of_crowd": 0.5}).examine(of(guesses, others=others))
    assert found is not None
    assert found.evidence["others_kappa"] == 1.0
    assert found.evidence["expected"] == pytest.approx(0.75, abs=0.02)


def test_quantities_agree_when_they_are_near() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(10, 90, 60)
    others = {unit: [(float(value + shift), 5.0) for shift in (-3, 0, 4)] for unit, value in enumerate(truth)}
    rule = make_rule("disagreement", {"of_crowd": 0.5})
    assert rule.examine(of((truth + 8.0).tolist(), answers=SLIDER, others=others)) is None
    assert rule.examine(of((truth + 12.0).tolist(), answers=SLIDER, others=others)) is not None


def test_units_on_which_the_others_are_split_decide_nothing() -> None:
    others = {unit: [(1.0, 5.0), (2.0, 5.0)] for unit in range(40)}
    assert make_rule("disagreement", {"of_crowd": 1.0}).examine(of([1.0, 2.0] * 20, others=others)) is None


def test_a_share_of_control_items_below_the_threshold_is_found_when_it_is_sure() -> None:
    half = [1.0, 0.0] * 15
    found = make_rule("control-accuracy", {}).examine(of([1.0] * 30, right=half))
    assert found is not None
    assert "15 of 30 check questions right (50 %); 70 % are asked for." in found.words
    unlucky = [1.0] * 6 + [0.0] * 4
    assert make_rule("control-accuracy", {}).examine(of([1.0] * 10, right=unlucky)) is None


def test_the_plain_threshold_is_h13s() -> None:
    plain = make_rule("control-accuracy", {"alpha": 0.0, "least": 10})
    assert plain.examine(of([1.0] * 10, right=[1.0] * 6 + [0.0] * 4)) is not None
    assert plain.examine(of([1.0] * 10, right=[1.0] * 7 + [0.0] * 3)) is None
    assert plain.examine(of([1.0] * 9, right=[0.0] * 9)) is None


def test_control_items_of_before_do_not_make_a_new_look() -> None:
    rule = make_rule("control-accuracy", {})
    missed = [OwnJudgment(0, unit, 1.0, 1.0, right=0.0) for unit in range(20)]
    others = [OwnJudgment(1, unit, 1.0, 1.0) for unit in range(20, 40)]
    assert rule.examine(control_history(missed, answers=TRIPLET, fresh=20)) is not None
    assert rule.examine(control_history(missed + others, answers=TRIPLET, fresh=20)) is None


def test_contradicting_oneself_is_found() -> None:
    rule = make_rule("repeat-consistency", {})
    assert rule.examine(of([1.0] * 5, same=[1.0, 0.0, 0.0, 0.0, 1.0])) is not None
    assert rule.examine(of([1.0] * 5, same=[1.0, 0.0, 0.0, 1.0, 1.0])) is None


def test_pasted_text_is_found_and_a_single_one_is_not() -> None:
    rule = make_rule("pasted-text", {})
    assert rule.examine(of([NAN] * 4, pasted=[1.0, 1.0, 0.0, 1.0])) is not None
    assert rule.examine(of([NAN] * 4, pasted=[1.0, 0.0, 0.0, 0.0])) is None


@pytest.mark.parametrize("name", RULES)
def test_nothing_is_found_in_nothing(name: str) -> None:
    assert make_rule(name, {}).examine(of([])) is None
    assert make_rule(name, {}).examine(of([1.0] * 2)) is None


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("answers", [TRIPLET, RELEVANCE, GRADED, SLIDER])
def test_open_answers_without_values_or_times_accuse_nobody(name: str, answers: AnswerFormat) -> None:
    others = {unit: [(NAN, NAN)] * 2 for unit in range(60)}
    assert make_rule(name, {}).examine(of([NAN] * 60, answers=answers, others=others)) is None


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("too-slow", {}, "rule is 'too-slow'; expected one of too-fast, straight-lining"),
        ("side-bias", {"alfa": 0.1}, "side-bias has no setting 'alfa'; it has least, alpha, tolerance"),
        ("side-bias", {"alpha": 0.9}, "alpha of side-bias is 0.9; expected less than or equal to 0.2"),
        ("too-fast", {"least": 0}, "least of too-fast is 0; expected greater than or equal to 1"),
    ],
)
def test_settings_that_are_none_are_refused_by_name(
    name: str, settings: dict[str, object], said: str
) -> None:
    with pytest.raises(ValueError, match=name) as refused:
        make_rule(name, settings)
    assert said in str(refused.value)
