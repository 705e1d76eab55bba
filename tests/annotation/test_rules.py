"""Detectors on made-up histories (chances, when they look)."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from annotation.quality.detectors import RULES, make_rule
from annotation.quality.detectors.base import Rule
from annotation.quality.detectors.chances import binomial_at_least, binomial_at_most, describe_chance
from annotation.quality.detectors.history import (
    AnswerFormat,
    History,
    OthersJudgment,
    OwnJudgment,
    make_history,
)
from annotation.quality.detectors.runs import (
    alternation_chance,
    alternation_distribution,
    longest_run,
    run_chance,
)
from annotation.quality.detectors.schedule import alpha_share, look_schedule, pages_since_look
from contrib.replays.page_replays import JudgmentLog, control_history, examine_latest_page
from contrib.replays.submitted_pages import SubmittedPage
from tests.refusals import assert_names, refuses

TRIPLET = AnswerFormat.from_values((1, 2), level="nominal", has_sides=True)
RELEVANCE = AnswerFormat.from_values((0, 1), level="nominal", has_sides=False)
NAN = float("nan")


def of(
    seen: Sequence[float],
    *,
    answers: AnswerFormat = TRIPLET,
    flipped: Sequence[bool] = (),
    seconds: Sequence[float] = (),
    right: Sequence[float] = (),
    same: Sequence[float] = (),
    pasted: Sequence[float] = (),
    others: Mapping[int, Sequence[tuple[float, float]]] | None = None,
    page: int = 20,
) -> History:
    """One worker's judgments on units 0, 1, 2, ..., all of them handed in just now on pages of ``page``."""

    def at(values: Sequence[float], place: int) -> float:
        return values[place] if place < len(values) else NAN

    given = [
        OwnJudgment(
            place // page,
            place,
            value,
            3 - value if answers.has_sides and flipped and flipped[place] else value,
            float(value == 1) if answers.has_sides and not math.isnan(value) else NAN,
            at(seconds, place),
            at(right, place),
            at(same, place),
            at(pasted, place),
        )
        for place, value in enumerate(seen)
    ]
    said = {unit: [OthersJudgment(*one) for one in votes] for unit, votes in (others or {}).items()}
    return make_history(given, said, answer_format=answers, total=len(given), new_count=len(given))


def ever_accused(rule: Rule, *, pages: int, size: int, chance_left: float, rng: np.random.Generator) -> bool:
    """Whether the rule ever finds something in the work of somebody who takes the left with this chance."""
    log = JudgmentLog(TRIPLET)
    for page in range(pages):
        seen = 2 - (rng.random(size) < chance_left).astype(int)
        given = [
            OwnJudgment(page, page * size + place, value, value, float(value == 1))
            for place, value in enumerate(seen.tolist())
        ]
        log.add(SubmittedPage(1, given))
        if examine_latest_page(log, 1, rules=[rule]):
            return True
    return False


SLIDER = AnswerFormat.from_values(tuple(range(101)), level="interval", has_sides=False)
GRADED = AnswerFormat.from_values((1, 2, 3, 4), level="interval", has_sides=False)


def drawn(seed: int, n: int, chance: float = 0.5) -> np.ndarray:
    return np.random.default_rng(seed).random(n) < chance


def test_always_the_left_is_found_on_the_first_page() -> None:
    found = make_rule("side-bias", {}).examine(of([1.0] * 20))
    assert found is not None
    assert (found.evidence["left"], found.evidence["n"], found.judgments) == (20, 20, 20)
    assert_names(found.sentence, "left", "20 of 20")
    # half of alpha is spent on the first look
    assert found.evidence["level"] == 0.0005


def test_the_p_value_is_the_binomial_tests() -> None:
    seen = [1.0] * 4 + [2.0] * 26
    found = make_rule("side-bias", {"tolerance": 0.0, "least": 30}).examine(of(seen))
    assert found is not None
    assert found.evidence["p"] == pytest.approx(binomtest(4, 30, 0.5).pvalue, rel=1e-3)
    assert "chose the right option: " in found.sentence


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
    assert (found.evidence["run"], found.evidence["n"]) == (60, 60)
    assert_names(found.sentence, "60 of 60")


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
    assert (found.evidence["fast"], found.evidence["n"]) == (20, 20)
    assert_names(found.sentence, "1 s", "20 of 20")
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
    assert (found.evidence["right"], found.evidence["n"]) == (15, 30)
    assert_names(found.sentence, "15 of 30", 50, 70)
    unlucky = [1.0] * 6 + [0.0] * 4
    assert make_rule("control-accuracy", {}).examine(of([1.0] * 10, right=unlucky)) is None


def test_the_plain_threshold_is_h13s() -> None:
    plain = make_rule("control-accuracy", {"alpha": 0.0, "least": 10})
    assert plain.examine(of([1.0] * 10, right=[1.0] * 6 + [0.0] * 4)) is not None
    assert plain.examine(of([1.0] * 10, right=[1.0] * 7 + [0.0] * 3)) is None
    assert plain.examine(of([1.0] * 9, right=[0.0] * 9)) is None


def test_control_items_of_before_do_not_make_a_new_look() -> None:
    rule = make_rule("control-accuracy", {})
    missed = [OwnJudgment(0, unit, 1.0, 1.0, is_right=0.0) for unit in range(20)]
    others = [OwnJudgment(1, unit, 1.0, 1.0) for unit in range(20, 40)]
    assert rule.examine(control_history(missed, answer_format=TRIPLET, fresh=20)) is not None
    assert rule.examine(control_history(missed + others, answer_format=TRIPLET, fresh=20)) is None


def test_contradicting_oneself_is_found() -> None:
    rule = make_rule("repeat-consistency", {})
    assert rule.examine(of([1.0] * 5, same=[1.0, 0.0, 0.0, 0.0, 1.0])) is not None
    assert rule.examine(of([1.0] * 5, same=[1.0, 0.0, 0.0, 1.0, 1.0])) is None


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
    ("name", "settings", "values"),
    [
        ("too-slow", {}, ["'too-slow'", "too-fast, straight-lining"]),
        ("side-bias", {"alfa": 0.1}, ["'alfa'", "least, alpha, tolerance"]),
        ("side-bias", {"alpha": 0.9}, ["alpha", 0.9, "equal to 0.2"]),
        ("too-fast", {"least": 0}, ["least", "is 0", "equal to 1"]),
    ],
)
def test_settings_that_are_none_are_refused_by_name(
    name: str, settings: dict[str, object], values: list[object]
) -> None:
    with refuses(ValueError, name, *values):
        make_rule(name, settings)


def test_tails_are_those_of_the_binomial() -> None:
    for n, chance in ((1, 0.5), (20, 0.6), (500, 0.03)):
        for count in range(n + 1):
            assert binomial_at_most(count, n, chance) == pytest.approx(binom.cdf(count, n, chance), rel=1e-9)
            assert binomial_at_least(count, n, chance) == pytest.approx(
                binom.sf(count - 1, n, chance), rel=1e-9
            )


def test_a_tail_far_out_keeps_its_digits() -> None:
    assert binomial_at_least(100, 100, 0.5) == pytest.approx(0.5**100, rel=1e-9)
    assert binomial_at_most(0, 50, 0.7) == pytest.approx(0.3**50, rel=1e-9)


def test_no_two_heads_in_a_row_follow_fibonacci() -> None:
    before, after = 1, 2  # strings of 0 and of 1 toss without HH
    for n in range(2, 40):
        before, after = after, before + after
        assert run_chance(np.full(n, 0.5), 2) == pytest.approx(1 - after / 2**n, abs=1e-12)


def test_long_runs_of_unequal_chances_are_counted_exactly() -> None:
    chances = np.array([0.9, 0.2, 0.7, 1.0, 0.5, 0.6, 0.0, 0.8, 0.3])
    outcomes = list(itertools.product([False, True], repeat=len(chances)))
    weights = [float(np.where(hits, chances, 1 - chances).prod()) for hits in outcomes]
    for length in range(1, len(chances) + 2):
        expected = sum(
            weight
            for hits, weight in zip(outcomes, weights, strict=True)
            if longest_run(np.array(hits)) >= length
        )
        assert run_chance(chances, length) == pytest.approx(expected, abs=1e-12)


def test_changes_in_a_random_order_are_counted_exactly() -> None:
    for first, second in ((1, 1), (2, 3), (4, 4), (1, 6), (5, 2)):
        orders = set(itertools.permutations([0] * first + [1] * second))
        counts = [sum(a != b for a, b in itertools.pairwise(order)) for order in orders]
        found = alternation_distribution(first, second)
        assert sum(found) == pytest.approx(1)
        for changes, chance in enumerate(found):
            assert chance == pytest.approx(counts.count(changes) / len(orders))


def test_the_mean_number_of_changes_is_the_known_one() -> None:
    found = np.array(alternation_distribution(37, 63))
    assert np.arange(len(found)) @ found == pytest.approx(2 * 37 * 63 / 100)


def test_groups_are_ordered_apart() -> None:
    # two pages of one left and one right each: always one change on either, never one across
    assert alternation_chance([(1, 1), (1, 1)], 2) == 1.0
    assert alternation_chance([(1, 1), (1, 1)], 3) == 0.0
    # (2, 2): 1, 2 or 3 changes in 2, 2 and 2 of 6 orders
    assert alternation_chance([(2, 2), (2, 2)], 6) == pytest.approx(1 / 9)


LATE = 10_000


def test_looks_come_at_growing_steps() -> None:
    first = list(itertools.islice(look_schedule(20), 8))
    assert first == [20, 25, 31, 38, 47, 58, 72, 90]
    late = list(itertools.takewhile(lambda due: due < 3000, look_schedule(20)))
    assert {after - before for before, after in itertools.pairwise(late[-10:])} == {125}


@pytest.mark.parametrize("page", [1, 7, 20, 60, LATE])
def test_however_the_work_is_cut_all_looks_together_spend_no_more_than_alpha(page: int) -> None:
    spent = sum(alpha_share(20, total=total, new_count=page) for total in range(page, LATE + 1, page))
    assert 0.98 < spent < 1


def test_nothing_is_spent_before_there_is_enough() -> None:
    assert alpha_share(20, total=19, new_count=19) == 0
    assert alpha_share(20, total=20, new_count=1) == 0.5
    assert alpha_share(20, total=24, new_count=4) == 0


def test_the_worst_honest_worker_is_accused_in_no_more_than_alpha_of_all_studies() -> None:
    rule = make_rule("side-bias", {"alpha": 0.1, "tolerance": 0.1})
    rng = np.random.default_rng(5)
    workers = 250
    accused = sum(ever_accused(rule, pages=30, size=20, chance_left=0.6, rng=rng) for _ in range(workers))
    assert accused <= binom.ppf(0.999, workers, 0.1)


def test_the_same_test_at_every_page_would_accuse_many_more() -> None:
    """What is spared: the rule's two-sided test at its full level after every page, over the same honest work."""
    rng = np.random.default_rng(5)
    left = np.cumsum(rng.binomial(20, 0.6, size=(250, 30)), axis=1)
    n = 20 * np.arange(1, 31)
    p = 2 * binom.sf(np.maximum(left, n - left) - 1, n, 0.6)
    assert 1 / 10 <= np.mean(np.any(p <= 0.05, axis=1)) <= 1 / 7


def test_a_rule_is_silent_between_its_looks() -> None:
    rule = make_rule("side-bias", {})
    assert rule.is_due(total=20, new_count=20)
    assert not rule.is_due(total=24, new_count=4)
    one_sided = of([1.0] * 24)
    assert rule.examine(one_sided) is not None


@pytest.mark.parametrize(
    ("p", "said"),
    [(0.25, "25 in 100"), (0.0123, "1 in 81"), (0.00001234, "1 in 81,000"), (1e-9, "a million")],
)
def test_chances_are_said_as_people_say_them(p: float, said: str) -> None:
    assert said in describe_chance(p)


def test_the_rules_look_after_the_first_pages_and_then_at_growing_distances() -> None:
    looked = [page for page in range(1, 60) if pages_since_look(page)]
    assert looked[:8] == [1, 2, 3, 4, 6, 9, 13, 19]
    assert {after - before for before, after in itertools.pairwise(looked[-4:])} == {8}
    assert sum(pages_since_look(page) for page in looked) == looked[-1]
