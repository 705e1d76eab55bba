"""May a judge stand in for people, and what would people say where it alone answered?"""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

from quorum.statistics.inputs import BadOption, BadShape, BadValue, DuplicateJudgment
from quorum.statistics.judges import alternative_annotator_test, prediction_powered_mean, savings_curve
from quorum.statistics.judges.alternative_annotator import TOO_FEW_CLUSTERS
from quorum.statistics.judges.prediction_powered import NO_UNLABELLED_ITEMS, SAME_ANSWER
from tests.refusals import assert_names, refuses

# From ppi_py 0.2.2 (the authors' program): ppi_mean_pointestimate and ppi_mean_ci at alpha = 0.05.
PEOPLE = [1, 0, 1, 1, 0, 1, 0, 1, 1, 1]
BESIDE = [0.9, 0.2, 0.8, 0.4, 0.3, 0.7, 0.1, 0.9, 0.6, 0.8]
ALONE = [0.5, 0.7, 0.2, 0.9, 0.4, 0.8, 0.6, 0.3, 0.9, 0.1, 0.7, 0.8, 0.2, 0.6, 0.9]
PPI = {
    1.0: (0.70333333, 0.49257939, 0.91408727),
    0.0: (0.7, 0.41597423, 0.98402577),
    None: (0.70284859, None, None),
}


def crowd(n: int, people: int, right: float, judge: float, seed: int) -> tuple[Any, ...]:
    """Return units, raters, answers of four kinds and the judge's; people and judge are right so often."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=(n, 1))
    given = np.where(rng.random((n, people)) < right, truth, (truth + rng.integers(1, 4, (n, people))) % 4)
    said = np.where(rng.random((n, 1)) < judge, truth, (truth + rng.integers(1, 4, (n, 1))) % 4)
    units, raters = np.divmod(np.arange(n * people), people)
    return units, raters, given.ravel(), np.repeat(said.ravel(), people)


def plainly(
    units: Any, raters: Any, answers: Any, judge: Any, score: Any, epsilon: float
) -> list[list[float]]:
    """Return advantage of judge and person, and p, of each rater, from the paper's formulas in their slow form."""
    given: dict[Any, dict[Any, Any]] = {}
    said = dict(zip(units, judge, strict=True))
    for unit, rater, answer in zip(units, raters, answers, strict=True):
        given.setdefault(unit, {})[rater] = answer
    found = []
    for rater in sorted(set(raters)):
        outcomes = []
        for unit, own in given.items():
            others = [answer for other, answer in own.items() if other != rater]
            if rater in own and others:
                person, machine = score(own[rater], others), score(said[unit], others)
                outcomes.append((machine >= person, person >= machine))
        wins, losses = np.array(outcomes, dtype=float).T
        p = scipy.stats.ttest_1samp(losses - wins, epsilon, alternative="less").pvalue
        found.append([wins.mean(), losses.mean(), p])
    return found


def test_the_test_is_that_of_the_paper() -> None:
    units, raters, answers, judge = crowd(60, 4, 0.7, 0.75, seed=1)
    kept = np.random.default_rng(2).random(len(units)) < 0.85  # not everybody judged everything
    given = (units[kept], raters[kept], answers[kept], judge[kept])

    found = alternative_annotator_test(*given, epsilon=0.1)
    plain = plainly(*given, lambda one, others: np.mean([one == other for other in others]), 0.1)
    assert np.column_stack([found.judge_advantage, found.rater_advantage, found.p]) == pytest.approx(
        np.array(plain)
    )
    assert found.adjusted_p == pytest.approx(scipy.stats.false_discovery_control(found.p, method="by"))
    assert found.winning_rate == np.mean(found.adjusted_p <= 0.05)
    assert found.advantage == pytest.approx(found.judge_advantage.mean())
    assert found.low < found.advantage < found.high

    by_distance = alternative_annotator_test(*given, scoring="rmse", epsilon=0.1)
    plain = plainly(
        *given, lambda one, others: -np.sqrt(np.mean([(one - other) ** 2 for other in others])), 0.1
    )
    columns = by_distance.judge_advantage, by_distance.rater_advantage, by_distance.p
    assert np.column_stack(columns) == pytest.approx(np.array(plain))

    words = np.array(["a", "b", "c", "d"])
    named = alternative_annotator_test(given[0], given[1], words[given[2]], words[given[3]], epsilon=0.1)
    assert named.p.tolist() == found.p.tolist()


def test_a_judge_as_good_as_people_passes_and_a_guessing_one_does_not() -> None:
    passed = alternative_annotator_test(*crowd(150, 3, 0.8, 0.85, seed=3), epsilon=0.1)
    assert passed.passed
    assert passed.winning_rate == 1
    failed = alternative_annotator_test(*crowd(150, 3, 0.8, 0.25, seed=3), epsilon=0.1)
    assert not failed.passed
    assert failed.advantage < 0.6


def test_decimals_that_are_equally_far_count_for_both() -> None:
    units = np.repeat(np.arange(40), 3)
    answers = np.tile([0.1, 0.2, 0.3], 40)
    found = alternative_annotator_test(
        units, np.tile([0, 1, 2], 40), answers, answers * 0 + 0.2, scoring="rmse"
    )
    assert found.rater_advantage.tolist() == [0, 1, 0]
    assert found.p.tolist() == [0, 0, 0]  # without variance: all differences are below epsilon


def test_images_with_several_units_make_the_test_stricter() -> None:
    units, raters, answers, judge = crowd(40, 3, 0.7, 0.8, seed=5)
    five = [
        np.tile(column, 5) for column in (raters, answers, judge)
    ]  # the same image, asked about five times
    again = np.concatenate([units + 40 * copy for copy in range(5)])
    naive = alternative_annotator_test(again, *five, epsilon=0.1)
    clustered = alternative_annotator_test(again, *five, epsilon=0.1, clusters={"item": again % 40})
    alone = alternative_annotator_test(units, raters, answers, judge, epsilon=0.1)
    assert (clustered.p > naive.p).all()
    assert clustered.p == pytest.approx(alone.p)  # copies add nothing
    assert clustered.clusters == {"item": 40}
    assert clustered.high - clustered.low > naive.high - naive.low
    few = alternative_annotator_test(again, *five, epsilon=0.1, clusters={"item": again * 0})
    assert np.isnan([*few.p, few.winning_rate]).all()
    assert few.reason == TOO_FEW_CLUSTERS
    assert not few.passed
    # One person more, whose units lie in one cluster, is tested by nothing and counts in nothing.
    narrow = np.flatnonzero((five[0] < 2) | (again % 40 < 1))
    mixed = alternative_annotator_test(
        again[narrow], *(column[narrow] for column in five), epsilon=0.1, clusters={"item": again[narrow] % 40},
        few="t",
    )  # fmt: skip
    assert np.isnan(mixed.p).tolist() == [False, False, True]
    assert mixed.winning_rate == mixed.won[:2].mean()
    assert mixed.reason == ""


def test_people_with_few_units_are_left_out_unless_asked_for() -> None:
    units, raters, answers, judge = crowd(20, 3, 0.7, 0.8, seed=6)
    none = alternative_annotator_test(units, raters, answers, judge)
    assert (none.raters, none.left_out, none.reason) == (
        (), 3, "no person judged 30 or more of the units that the judge and somebody else judged",
    )  # fmt: skip
    assert math.isnan(none.winning_rate)
    assert not none.passed
    by_t = alternative_annotator_test(units, raters, answers, judge, few="t")
    by_ranks = alternative_annotator_test(units, raters, answers, judge, few="wilcoxon")
    assert by_t.raters == (0, 1, 2)
    assert (by_t.p != by_ranks.p).all()
    same = alternative_annotator_test(units, raters, units, units, few="wilcoxon", epsilon=0)
    assert same.p.tolist() == [1, 1, 1]
    differ = alternative_annotator_test(units, raters, units, units + 1, few="t", epsilon=0)
    assert differ.p.tolist() == [1, 1, 1]  # the person is always nearer


def test_many_different_answers_are_counted_alike() -> None:
    n = 4_600  # rows times labels beyond what is counted in one array
    units, raters = np.divmod(np.arange(n), 2)
    answers = np.where(units < 100, -1, np.arange(n))
    found = alternative_annotator_test(units, raters, answers, np.where(units % 2, -1, n + units))
    assert found.judge_advantage == pytest.approx([1 - 50 / 2300] * 2)
    assert found.rater_advantage.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("error", "sentence", "options"),
    [
        (BadOption, "scoring is 'f1', expected", {"scoring": "f1"}),
        (BadOption, "few.*drop", {"few": "drop"}),
        (BadOption, r"\b1\b.*more and less", {"epsilon": 1}),
        (BadOption, r"level.*\b0\b", {"level": 0}),
        (BadOption, "clusters has 2", {"clusters": {"item": [1], "rater": [1]}}),
        (BadShape, r"clusters\['item'\].*\b1\b.*\b6\b", {"clusters": {"item": [1]}}),
    ],
)
def test_wrong_options_are_named(error: type[Exception], sentence: str, options: dict[str, Any]) -> None:
    with pytest.raises(error, match=sentence):
        alternative_annotator_test(*crowd(3, 2, 1, 1, seed=0), **options)


def test_nobody_judges_a_unit_twice() -> None:
    with refuses(DuplicateJudgment, "ann"):
        alternative_annotator_test([1, 1], ["ann", "ann"], [1, 2], [1, 1])


@pytest.mark.parametrize("power", PPI)
def test_the_estimate_is_that_of_the_authors_program(power: float | None) -> None:
    people, judge = [*PEOPLE, *[math.nan] * 15], [*BESIDE, *ALONE]
    found = prediction_powered_mean(people, judge, power=power)
    value, low, high = PPI[power]
    assert found.value == pytest.approx(value, abs=1e-8)
    if (
        power is not None and low is not None and high is not None
    ):  # the program divides by n, and takes normal quantiles
        rectifier = np.array(PEOPLE) - power * np.array(BESIDE)
        parts = rectifier.var() / 10, power**2 * np.var(ALONE) / 15
        assert (high - low) / 2 == pytest.approx(1.959964 * math.sqrt(sum(parts)))
        unbiased = parts[0] * 10 / 9, parts[1] * 15 / 14
        df = sum(unbiased) ** 2 / (unbiased[0] ** 2 / 9 + unbiased[1] ** 2 / 14)
        assert (found.high - found.low) / 2 == pytest.approx(
            scipy.stats.t.ppf(0.975, df) * math.sqrt(sum(unbiased))
        )
    assert (found.people, found.labelled, found.unlabelled) == (0.7, 10, 15)
    assert found.judge == pytest.approx(np.mean(judge))


def test_power_makes_the_variance_least() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=400)
    judge = 2 * truth + rng.normal(size=400)  # on another scale
    people = np.where(np.arange(400) < 80, truth, np.nan)
    best = prediction_powered_mean(people, judge)
    widths = [
        found.high - found.low
        for power in np.linspace(0, 1, 21)
        for found in [prediction_powered_mean(people, judge, power=power)]
    ]
    assert best.high - best.low <= min(widths) + 1e-3
    # PPI++, example of the mean: cov(y, f) / ((1 + n / N) var f), here 2 / (5 * 1.25)
    assert best.power == pytest.approx(2 / (5 * 1.25), abs=0.05)
    assert best.effective > 1.8 * best.labelled
    assert best.saved == best.effective - 80
    assert best.people_high - best.people_low == pytest.approx(widths[0])


def test_a_judge_who_knows_nothing_is_not_relied_on() -> None:
    rng = np.random.default_rng(1)
    people = np.where(np.arange(300) < 60, rng.random(300), np.nan)
    guessed = prediction_powered_mean(people, -np.nan_to_num(people))
    assert (guessed.power, guessed.value, guessed.saved) == (0, guessed.people, 0)
    constant = prediction_powered_mean(people, np.ones(300))
    assert (constant.power, constant.value) == (0, constant.people)


@pytest.mark.large
@pytest.mark.parametrize("clustered", [False, True])
def test_intervals_hold_the_truth_as_often_as_they_say(clustered: bool) -> None:
    rng, draws, held = np.random.default_rng(2), 400, 0
    for _ in range(draws):
        shared = np.repeat(rng.normal(size=100), 5) if clustered else rng.normal(size=500)
        image = np.arange(500) // 5 if clustered else np.arange(500)
        truth = shared + rng.normal(size=500)
        judge = truth + 0.5 * np.repeat(rng.normal(size=100), 5) + rng.normal(size=500) + 0.3
        # People judged units of some images, and in every other study one unit of each of many images.
        people = np.where(np.arange(500) < 150, truth, np.nan)
        if rng.random() < 0.5:
            people = np.where(np.arange(500) % 5 == 0, truth, np.nan)
        found = prediction_powered_mean(people, judge, clusters={"item": image})
        held += found.low <= 0 <= found.high
    # 95 % within three standard errors of 400 draws
    assert abs(held / draws - 0.95) < 3 * math.sqrt(0.95 * 0.05 / draws)


def test_what_cannot_be_estimated_says_why() -> None:
    everything = prediction_powered_mean([1, 0, 1, 1, 0, 1], [1, 0, 1, 1, 1, 1])
    assert everything.reason == NO_UNLABELLED_ITEMS
    assert (everything.value, everything.low) == (everything.people, everything.people_low)
    nothing = prediction_powered_mean([math.nan], [1.0])
    assert (nothing.reason, nothing.labelled) == ("people judged 0 of the units, expected two or more", 0)
    assert math.isnan(nothing.value)
    assert math.isnan(prediction_powered_mean([], []).judge)
    same = prediction_powered_mean([1.0] * 6 + [math.nan] * 6, range(12))
    assert same.reason == SAME_ANSWER
    image = {"item": [0] * 3 + [1] * 9}
    for people in ([1, 2, 3, *[math.nan] * 9], [1, 2, *[math.nan], *range(9)]):
        alone = prediction_powered_mean(people, range(12), clusters=image)
        assert_names(alone.reason, "1 item", "2")


@pytest.mark.parametrize(
    ("error", "sentence", "options"),
    [
        (BadOption, r"\b2\b.*number from 0", {"power": 2}),
        (BadOption, "clusters has 2", {"clusters": {"item": [1], "rater": [1]}}),
        (BadShape, r"clusters\['item'\].*\b1\b.*\b3\b", {"clusters": {"item": [1]}}),
    ],
)
def test_wrong_options_of_estimates_are_named(
    error: type[Exception], sentence: str, options: dict[str, Any]
) -> None:
    with pytest.raises(error, match=sentence):
        prediction_powered_mean([1, 0, math.nan], [1, 0, 1], **options)
    with pytest.raises(BadValue, match=r"people\[0\] is inf"):
        prediction_powered_mean([math.inf], [1])


def test_the_curve_of_savings_shows_coverage_and_what_is_saved() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(size=300)
    good = savings_curve(truth, truth + 0.5 * rng.normal(size=300), sizes=(30, 100), draws=60, seed=1)
    assert (good.coverage > 0.85).all()
    assert (good.people_coverage > 0.85).all()
    assert (good.width < 0.75 * good.people_width).all()
    assert (good.effective > [60, 150]).all()
    again = savings_curve(truth, truth, sizes=(30,), draws=5, seed=1)
    assert math.isfinite(again.width[0])
    assert again.signature == "prediction-powered-savings|sizes:[30]|draws:5|confidence:0.95|seed:1|v:1.0"
    same = savings_curve([1.0] * 20, [1.0] * 20, sizes=[5], draws=3)
    assert math.isnan(same.coverage[0])
    with refuses(BadValue, "sizes", "299", "5", "295", "300"):
        savings_curve(truth, truth, sizes=[299])
