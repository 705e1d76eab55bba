"""Dawid-Skene, GLAD, MACE and item response: other people's steps, closed forms on lopsided data, default settings."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import spearmanr

from quorum.statistics.aggregation import dawid_skene, glad, item_response, mace
from quorum.statistics.aggregation.worker_models.answers import (
    ONE_WORKER,
    SEVERAL_SOLUTIONS,
    SINGLE_JUDGMENTS,
)
from quorum.statistics.inputs import BadOption, BadShape, BadValue
from tests.marks import long_except
from tests.refusals import refuses
from tests.statistics.golden import golden
from tests.statistics.plain_models import em

CROWDS = golden("aggregation.json")["dawid_skene"]
ONE_COIN = [crowd["one_coin"] for crowd in golden("crowds.json")["crowds"]]
IDS = ["two labels", "three labels"]
ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=25)


@pytest.mark.parametrize("crowd", CROWDS, ids=IDS)
def test_the_fixed_point_is_reached_with_default_settings(crowd: dict[str, Any]) -> None:
    units, workers, values = np.array(crowd["judgments"]).T
    result = dawid_skene(units, workers, values)
    assert result.converged
    assert result.posterior == pytest.approx(np.array(crowd["posterior"]), abs=1e-9)
    assert result.prior == pytest.approx(np.array(crowd["priors"]), abs=1e-9)
    assert result.log_likelihood == pytest.approx(crowd["log_likelihood"], abs=1e-9)
    assert result.values() == crowd["most_likely"]
    assert result.confusion.sum(axis=2) == pytest.approx(np.ones(result.confusion.shape[:2]))
    assert result.judgments.sum() == len(units)
    assert result.note == ""


@pytest.mark.parametrize("labels", [2, 3])
def test_answers_that_workers_always_give_are_certain_however_many_units_there_are(labels: int) -> None:
    units, workers = np.repeat(np.arange(700), labels), np.tile(np.arange(labels), 700)
    fitted = dawid_skene(units, workers, workers, max_iterations=1)
    assert fitted.log_likelihood == pytest.approx(0.0, abs=1e-9)
    assert (fitted.posterior == 1 / labels).all()


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("crowd", CROWDS, ids=IDS)
def test_every_step_is_the_reference_programs(crowd: dict[str, Any], steps: int) -> None:
    units, workers, values = np.array(crowd["judgments"]).T
    result = dawid_skene(units, workers, values, max_iterations=steps)
    assert result.posterior == pytest.approx(np.array(crowd[f"posterior_after_{steps}"]), abs=1e-9)
    assert (result.iterations, result.converged) == (steps, False)


@pytest.mark.parametrize(("crowd", "expected"), list(zip(CROWDS, ONE_COIN, strict=True)), ids=IDS)
def test_every_step_of_the_one_coin_variant_is_the_reference_programs(
    crowd: dict[str, Any], expected: dict[str, Any]
) -> None:
    units, workers, values = np.array(crowd["judgments"]).T
    for steps in (1, 5):
        result = dawid_skene(units, workers, values, model="one-coin", max_iterations=steps)
        assert result.posterior == pytest.approx(np.array(expected[f"posterior_after_{steps}"]), abs=1e-9)
    result = dawid_skene(units, workers, values, model="one-coin")
    assert result.converged
    # The program keeps error rates above 1e-10, of which three labels show 4e-9.
    assert result.posterior == pytest.approx(np.array(expected["posterior_after_600"]), abs=1e-8)
    assert result.accuracy == pytest.approx(expected["accuracy_after_600"], abs=1e-9)
    assert result.prior == pytest.approx(expected["prior_after_600"], abs=1e-9)


def test_the_likelihood_is_at_least_that_of_the_other_program(shared: Path) -> None:
    """On Flickr8k's expert grades; crowd-kit 1.4.2 stops after 3 steps, or runs on where it is told to."""
    lines = (shared / "data/flickr8k/ExpertAnnotations.txt").read_text().splitlines()
    grades = np.array([line.split()[-3:] for line in lines], dtype=np.int64)
    units, workers = np.indices(grades.shape)
    result = dawid_skene(units.ravel(), workers.ravel(), grades.ravel(), model="one-coin")
    default, after_2000_steps = -15039.966535771597, -15006.664147377618
    assert result.log_likelihood >= after_2000_steps > default
    assert result.log_likelihood == pytest.approx(after_2000_steps, abs=1e-5)
    assert result.accuracy == pytest.approx([0.81569907, 1, 0.74510477], abs=1e-8)


def _crowd(prior: list[float], confusions: list[Any], size: int) -> tuple[list[int], list[int], list[int]]:
    """Every pattern of answers as often as the model expects it among `size` units."""
    labels = range(len(prior))
    units: list[int] = []
    workers: list[int] = []
    values: list[int] = []
    unit = 0
    for answers in product(labels, repeat=len(confusions)):
        share = sum(
            prior[true] * math.prod(confusions[worker][true][value] for worker, value in enumerate(answers))
            for true in labels
        )
        times = share * size
        assert times == pytest.approx(round(times), abs=1e-6)
        for _ in range(round(times)):
            units += [unit] * len(answers)
            workers += range(len(answers))
            values += answers
            unit += 1
    return units, workers, values


@pytest.mark.large
def test_three_workers_of_two_labels_give_back_the_confusions_that_made_their_answers() -> None:
    # Three binary workers have as many parameters as answer patterns have frequencies: the best fit is exact.
    confusions = [[[0.8, 0.2], [0.2, 0.8]], [[0.8, 0.2], [0.4, 0.6]], [[0.2, 0.8], [0.8, 0.2]]]
    result = dawid_skene(*_crowd([0.6, 0.4], confusions, 625))
    assert result.converged
    assert result.prior == pytest.approx([0.6, 0.4], abs=1e-7)
    assert result.confusion == pytest.approx(np.array(confusions), abs=1e-7)
    assert result.accuracy == pytest.approx([0.8, 0.72, 0.2], abs=1e-7)


@pytest.mark.large
def test_a_worker_who_never_errs_on_one_label_is_approached_and_not_claimed_to_be_reached() -> None:
    # The peak lies exactly on the edge of what is possible, where each step is shorter than the one before.
    confusions = [[[0.8, 0.2], [0.2, 0.8]], [[1.0, 0.0], [0.4, 0.6]], [[0.2, 0.8], [0.8, 0.2]]]
    result = dawid_skene(*_crowd([0.6, 0.4], confusions, 625), max_iterations=300)
    assert result.change < 1e-5
    assert not result.converged
    assert result.confusion == pytest.approx(np.array(confusions), abs=1e-4)


@pytest.mark.parametrize("seed", [12, 42, 52])  # the last two have extrapolations that are taken back
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
@pytest.mark.parametrize("model", ["full", "one-coin"])
def test_leaps_end_where_plain_steps_end(model: str, smoothing: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 3, 25)
    units, workers = np.repeat(np.arange(25), 3), generator.integers(0, 6, 75)
    values = np.where(generator.random(75) < 0.5, truth[units], generator.integers(0, 3, 75))
    result = dawid_skene(units, workers, values, model=model, smoothing=smoothing)
    assert result.converged
    # One more step of the equations, from the posterior that was found, leads back to it.
    rows = list(zip(units.tolist(), workers.tolist(), values.tolist(), strict=True))
    start = dict(enumerate(result.posterior.tolist()))
    again, _ = em(rows, 3, 1, one_coin=model == "one-coin", smoothing=smoothing, start=start)
    assert np.array(list(again.values())) == pytest.approx(result.posterior, abs=1e-9)


@pytest.mark.large
@pytest.mark.parametrize(
    ("prior", "accuracies", "size"),
    [([0.8, 0.2], [0.8, 0.6, 0.8], 625), ([0.6, 0.2, 0.2], [0.8, 0.6, 0.6], 1250)],
    ids=IDS,
)
def test_one_coins_are_given_back_as_they_were(
    prior: list[float], accuracies: list[float], size: int
) -> None:
    labels = len(prior)
    coins = [
        [
            [share if value == true else (1 - share) / (labels - 1) for value in range(labels)]
            for true in range(labels)
        ]
        for share in accuracies
    ]
    result = dawid_skene(*_crowd(prior, coins, size), model="one-coin")
    assert result.converged
    assert result.accuracy == pytest.approx(accuracies, abs=1e-7)
    assert result.prior == pytest.approx(prior, abs=1e-7)
    assert result.confusion == pytest.approx(np.array(coins), abs=1e-7)


@settings(max_examples=30)
@given(ROWS, st.booleans(), st.sampled_from([0.0, 0.5]), st.integers(1, 4))
def test_a_step_is_that_of_the_equations_written_out(
    rows: list[tuple[int, int, int]], one_coin: bool, smoothing: float, steps: int
) -> None:
    units, workers, values = zip(*rows, strict=True)
    model = "one-coin" if one_coin else "full"
    result = dawid_skene(
        units,
        workers,
        values,
        labels=[0, 1, 2],
        model=model,
        smoothing=smoothing,
        max_iterations=steps,
        tolerance=0,
    )
    expected, likelihood = em(rows, 3, result.iterations, one_coin=one_coin, smoothing=smoothing)
    assert result.posterior == pytest.approx(np.array(list(expected.values())), abs=1e-9)
    assert result.log_likelihood == pytest.approx(likelihood, abs=1e-8)


def test_a_worker_who_always_answers_the_opposite_is_read_the_right_way_round() -> None:
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 2, 400)
    units, workers, values = [], [], []
    for worker, accuracy in enumerate([0.9, 0.85, 0.9, 0.05]):
        right = generator.random(400) < accuracy
        units += list(range(400))
        workers += [worker] * 400
        values += list(np.where(right, truth, 1 - truth))
    result = dawid_skene(units, workers, values)
    assert np.mean(np.array(result.values()) == truth) > 0.96
    assert result.confusion[3, 0, 1] == pytest.approx(0.95, abs=0.05)
    coin = dawid_skene(units, workers, values, model="one-coin")
    assert coin.accuracy[3] == pytest.approx(0.05, abs=0.05)


def test_two_workers_who_always_differ_leave_every_unit_undecided() -> None:
    result = dawid_skene([1, 1, 2, 2], ["a", "b", "a", "b"], [0, 1, 1, 0])
    assert result.values() == [None, None]


@pytest.mark.large
@pytest.mark.parametrize("model", ["full", "one-coin"])
@pytest.mark.parametrize("crowd", CROWDS, ids=IDS)
def test_the_likelihood_never_falls_from_step_to_step(crowd: dict[str, Any], model: str) -> None:
    units, workers, values = np.array(crowd["judgments"]).T
    path = [
        dawid_skene(units, workers, values, model=model, max_iterations=n, tolerance=0).log_likelihood
        for n in (*range(1, 20), *range(40, 100, 6))
    ]
    assert (np.diff(path) > -1e-9).all()


def test_a_likelihood_of_a_million_factors_is_still_a_number() -> None:
    units, workers, values = np.array(CROWDS[1]["judgments"]).T
    copies = [units + 1000 * copy for copy in range(40)]
    once = dawid_skene(units, workers, values, max_iterations=3)
    many = dawid_skene(np.concatenate(copies), np.tile(workers, 40), np.tile(values, 40), max_iterations=3)
    assert many.log_likelihood == pytest.approx(40 * once.log_likelihood)


def test_it_does_not_stop_while_the_steps_to_come_still_matter() -> None:
    # Near the end each step moves little, all of them together several times as much.
    units, workers, values = np.array(CROWDS[1]["judgments"]).T
    coarse = dawid_skene(units, workers, values, tolerance=1e-4)
    limit = np.array(CROWDS[1]["posterior"])
    assert coarse.converged
    assert 2 * coarse.change < np.abs(coarse.posterior - limit).max() < 1.1e-4


@pytest.mark.parametrize("seed", [31, 89, 98, 138])
def test_a_leap_does_not_hide_how_slow_the_rest_is(seed: int) -> None:
    stream = np.random.default_rng(seed)
    truth = stream.integers(0, 2, 30)
    units, workers = np.repeat(np.arange(30), 3), stream.integers(0, 5, 90)
    right = stream.random(90) < np.array([0.5, 0.6, 0.7, 0.8, 0.9])[workers]
    values = np.where(right, truth[units], 1 - truth[units])
    found = dawid_skene(units, workers, values, model="one-coin")
    end = dawid_skene(units, workers, values, model="one-coin", tolerance=0)
    assert found.converged
    assert end.converged
    np.testing.assert_allclose(found.posterior, end.posterior, rtol=0, atol=2 * found.tolerance)


def test_smoothing_keeps_a_worker_of_one_judgment_from_being_perfect() -> None:
    units, workers, values = np.array(CROWDS[0]["judgments"]).T
    columns = ([*units, 0], [*workers, 99], [*values, int(CROWDS[0]["most_likely"][0])])
    newcomer = int(np.flatnonzero(dawid_skene(*columns).workers == 99)[0])
    assert dawid_skene(*columns, model="one-coin").accuracy[newcomer] == pytest.approx(1)
    # One right answer beside one imagined right and one imagined wrong one.
    smoothed = dawid_skene(*columns, model="one-coin", smoothing=1)
    assert smoothed.accuracy[newcomer] == pytest.approx(2 / 3, abs=1e-3)
    assert dawid_skene(*columns, smoothing=1).confusion[newcomer].max() == pytest.approx(2 / 3, abs=1e-3)


def test_a_scale_can_be_given() -> None:
    result = dawid_skene(["u", "u"], ["a", "b"], ["yes", "yes"], labels=["no", "yes", "unsure"])
    assert result.values() == ["yes"]
    assert result.posterior.shape == (1, 3)


@pytest.mark.parametrize("model", ["full", "one-coin"])
def test_unanimous_answers_of_one_category_are_certain(model: str) -> None:
    result = dawid_skene(["u", "u", "v"], ["a", "b", "a"], ["yes", "yes", "yes"], model=model)
    assert result.converged
    assert result.posterior.tolist() == [[1.0], [1.0]]
    assert result.accuracy.tolist() == [1.0, 1.0]
    assert result.log_likelihood == 0


def test_data_that_cannot_tell_errors_from_truth_come_with_a_warning() -> None:
    alone = dawid_skene(["u", "v"], ["a", "a"], [0, 1])
    assert alone.note == ONE_WORKER
    assert alone.values() == [0, 1]
    once = dawid_skene(["u", "v"], ["a", "b"], [0, 1])
    assert once.note == SINGLE_JUDGMENTS
    assert once.converged


CROWDS_OF_RATERS = list(
    zip(golden("aggregation.json")["dawid_skene"], golden("raters.json")["crowds"], strict=True)
)

TWO_LABELS = CROWDS_OF_RATERS[0][0]["judgments"]


def simulated(units: int, seed: int) -> tuple[Any, ...]:
    """Six workers of known competence who guess by their own habits, and the true labels."""
    generator = np.random.default_rng(seed)
    competence = np.array([0.9, 0.8, 0.6, 0.4, 0.2, 0.0])
    habits = np.array([[1, 1, 1], [8, 1, 1], [1, 8, 1], [1, 1, 8], [1, 1, 1], [6, 3, 1]]) / [
        [3],
        [10],
        [10],
        [10],
        [3],
        [10],
    ]
    truth = generator.integers(0, 3, units)
    unit, worker = np.repeat(np.arange(units), 6), np.tile(np.arange(6), units)
    guess = (generator.random(len(unit))[:, None] > habits.cumsum(axis=1)[worker][:, :2]).sum(axis=1)
    value = np.where(generator.random(len(unit)) < competence[worker], truth[unit], guess)
    return unit, worker, value, truth, competence, habits


@pytest.mark.large
@pytest.mark.parametrize(("crowd", "expected"), CROWDS_OF_RATERS, ids=["two labels", "three labels"])
def test_the_optima_are_those_that_crowd_kit_approaches(
    crowd: dict[str, Any], expected: dict[str, Any]
) -> None:
    columns = np.array(crowd["judgments"]).T
    for training, name in (("em", "em"), ("variational", "vb")):
        found = mace(*columns, training=training, restarts=3)
        assert found.converged
        assert found.posterior == pytest.approx(np.array(expected[name]), abs=2e-3)
    if "glad" not in expected:
        return
    of_glad = glad(*columns, restarts=1)
    assert of_glad.converged
    assert of_glad.ability == pytest.approx(expected["alpha"], abs=5e-3)
    assert np.log(1 / of_glad.difficulty) == pytest.approx(np.array(expected["beta"]), abs=5e-3)
    assert of_glad.posterior == pytest.approx(np.array(expected["glad"]), abs=5e-3)


def test_mace_finds_who_knows_and_who_guesses_how() -> None:
    unit, worker, value, truth, competence, habits = simulated(400, seed=1)
    for training in ("em", "variational"):
        found = mace(unit, worker, value, training=training, restarts=2)
        assert found.gradient <= 1e-5
        assert found.competence == pytest.approx(competence, abs=0.1)
        assert found.guesses[2:4] == pytest.approx(habits[2:4], abs=0.12)
        assert np.mean(np.array(found.values()) == truth) > 0.93
        # The surest answers are right more often than the least sure ones.
        surest = np.argsort(found.entropy)
        right = np.array(found.values()) == truth
        assert right[surest[:100]].mean() > right[surest[-100:]].mean()


def test_glad_finds_ability_and_difficulty_and_who_answers_the_opposite() -> None:
    generator = np.random.default_rng(5)
    ability, easy = np.array([2.5, 1.5, 1.0, 1.0, 0.3, -1.5]), np.exp(generator.normal(0.3, 1.0, 500))
    truth = generator.integers(0, 2, 500)
    unit, worker = np.repeat(np.arange(500), 6), np.tile(np.arange(6), 500)
    right = generator.random(3000) < expit(ability[worker] * easy[unit])
    values = np.where(right, truth[unit], 1 - truth[unit])
    found = glad(unit, worker, values, restarts=1)
    assert found.converged
    # Heights of -1437 stop to differ at a gradient of about 1e-5.
    assert glad(unit, worker, values, restarts=1, tolerance=1e-9).gradient <= 1e-9
    assert spearmanr(found.ability, ability).statistic > 0.9
    assert found.ability[5] < 0
    assert spearmanr(1 / found.difficulty, easy).statistic > 0.4
    assert np.mean(np.array(found.values()) == truth) > 0.85
    assert found.accuracy[0] > found.accuracy[4] > 0.5 > found.accuracy[5]


@pytest.mark.parametrize(
    "crowd", [crowd for crowd, _ in CROWDS_OF_RATERS], ids=["two labels", "three labels"]
)
def test_no_small_step_leads_higher_than_the_optimum(crowd: dict[str, Any]) -> None:
    """The slow obvious form: the objective written out for every judgment, at the optimum and beside it."""
    rows = crowd["judgments"][:60]
    found = glad(*np.array(rows).T, restarts=1)
    names, people, width = found.units.tolist(), found.workers.tolist(), len(found.labels)

    def height(ability: Any, easy: Any) -> float:
        total = -0.5 * sum((one - 1) ** 2 for one in (*ability, *np.log(easy)))
        for place, unit in enumerate(names):
            joint = [1 / width] * width
            for one, who, value in rows:
                if one == unit:
                    right = expit(ability[people.index(who)] * easy[place])
                    wrong = (1 - right) / (width - 1)
                    said = found.labels.tolist().index(value)
                    joint = [part * (right if said == true else wrong) for true, part in enumerate(joint)]
            total += np.log(sum(joint))
        return float(total)

    best = height(found.ability, 1 / found.difficulty)
    assert best == pytest.approx(found.objective, abs=1e-9)
    generator = np.random.default_rng(0)
    for _ in range(20):
        moved = height(
            found.ability + generator.normal(0, 0.05, len(people)),
            np.exp(np.log(1 / found.difficulty) + generator.normal(0, 0.05, len(names))),
        )
        assert moved < best


def test_lsat_6_has_the_published_estimates() -> None:
    # Bock, Lieberman 1970; maximum likelihood as the R package ltm prints it, and integrated numerically, which comes
    # nearer to the maximum than ltm's 21 points do.
    told = golden("raters.json")["lsat6"]
    rows = []
    for person, pattern in enumerate(p for p, times in told["patterns"].items() for _ in range(times)):
        rows += [(item, person, int(right)) for item, right in enumerate(pattern)]
    found = item_response(*zip(*rows, strict=True), prior="none")
    assert found.converged
    assert found.log_likelihood == pytest.approx(told["log_likelihood"], abs=1e-3)
    assert found.difficulty == pytest.approx(told["difficulty"], abs=4e-3)
    assert found.discrimination == pytest.approx(told["discrimination"], abs=1e-3)
    numeric = told["numeric"]
    assert found.log_likelihood == pytest.approx(numeric["log_likelihood"], abs=1e-6)
    assert found.difficulty == pytest.approx(numeric["difficulty"], abs=1e-5)
    assert found.discrimination == pytest.approx(numeric["discrimination"], abs=1e-5)
    # Information is highest at the difficulty: a squared over four.
    at = found.information(found.difficulty)
    assert np.diagonal(at) == pytest.approx(found.discrimination**2 / 4)
    assert (at.max(axis=1) <= np.diagonal(at) + 1e-12).all()


def test_the_response_model_finds_back_items_and_persons() -> None:
    generator = np.random.default_rng(2)
    slope, difficulty = np.exp(generator.normal(0, 0.5, 30)), generator.normal(0, 1, 30)
    ability = generator.normal(0, 1, 300)
    item, person = np.tile(np.arange(30), 300), np.repeat(np.arange(300), 30)
    right = generator.random(9000) < expit(slope[item] * (ability[person] - difficulty[item]))
    found = item_response(item, person, right)
    assert found.converged
    assert np.corrcoef(found.discrimination, slope)[0, 1] > 0.85
    assert np.corrcoef(found.difficulty, difficulty)[0, 1] > 0.95
    assert np.abs((found.ability - ability) / found.deviation).mean() == pytest.approx(0.8, abs=0.08)
    assert not found.note


def test_an_item_that_all_got_right_is_named() -> None:
    found = item_response([0, 0, 1, 1], ["a", "b"] * 2, [1, 1, 0, 1])
    assert found.note == "1 of 2 items were answered alike by all; only the prior bounds their difficulty"
    assert "no bound" in item_response([0, 0, 1, 1], ["a", "b"] * 2, [1, 1, 0, 1], prior="none").note


def test_ties_and_warnings_are_those_of_the_other_models() -> None:
    found = mace([1, 1, 2, 2], ["a", "b", "a", "b"], [0, 1, 1, 0], restarts=1)
    assert found.values() == [None, None]
    assert "one participant" in glad([1, 2], ["a", "a"], [0, 1], restarts=1).note
    assert "two judgments" in mace([1, 2], ["a", "b"], [0, 1], restarts=1).note


def test_restarts_are_drawn_with_the_seed_and_counted() -> None:
    columns = np.array(TWO_LABELS[:120]).T
    first, again = (glad(*columns, restarts=3, seed=4) for _ in range(2))
    assert first.ability.tolist() == again.ability.tolist()
    assert 1 <= first.starts_at_optimum <= 3


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(BadOption, match="judgments"):
        mace([], [], [])
    with pytest.raises(BadOption, match="one label"):
        glad([1], ["a"], ["yes"])
    with pytest.raises(BadOption, match="training is 'gibbs'"):
        mace([1], ["a"], [1], training="gibbs")
    with refuses(BadOption, "tolerance", "0"):
        glad([1, 2], ["a", "a"], [0, 1], tolerance=0)
    with pytest.raises(BadShape, match="workers has 1"):
        mace([1, 2], ["a"], [0, 1])
    with pytest.raises(BadValue, match=r"right\[1\] is 2"):
        item_response([1, 2], ["a", "a"], [0, 2])
    with pytest.raises(BadOption, match="are no answers"):
        item_response([], [], [])
    with pytest.raises(BadOption, match="prior is 'strong'"):
        item_response([1], ["a"], [1], prior="strong")


@pytest.mark.parametrize(
    "workers", [pytest.param(["p", "q"], id="p first"), pytest.param(["q", "p"], id="q first")]
)
@pytest.mark.parametrize("model", [pytest.param(glad, id="glad"), pytest.param(mace, id="mace")])
def test_of_two_who_never_agree_neither_is_right(model: Any, workers: list[str]) -> None:
    units = [f"u{at}" for at in range(6) for _ in workers]
    result = model(units, workers * 6, [0, 1, 1, 0] * 3)
    assert result.posterior == pytest.approx(0.5)
    assert set(result.winner) == {-1}
    if model is glad:
        assert result.accuracy[0] == pytest.approx(result.accuracy[1], abs=1e-6)
        assert result.note == SEVERAL_SOLUTIONS


# Never agreeing, and among answers whose mirror image, where the two exchange answers and labels, is there too.
MIRRORED = [
    [[0, 1, None], [1, 0, None]] * 4,
    [[0, 1, None], [1, 0, None], [0, 1, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, None, 0], [None, 1, 1]] * 2,
]


@pytest.mark.parametrize("seed", long_except([1, 2, 4], 4))
@pytest.mark.parametrize("table", MIRRORED, ids=["alone", "among others"])
@pytest.mark.parametrize("model", ["full", "one-coin", "glad", "em", "variational"])
def test_no_order_of_rows_decides_between_two_who_are_alike(
    model: str, table: list[list[int | None]], seed: int
) -> None:
    rows = [
        (unit, worker, value)
        for unit, answers in enumerate(table)
        for worker, value in enumerate(answers)
        if value is not None
    ]
    columns = np.random.default_rng(seed).permutation(rows).T
    result: Any
    if model == "glad":
        result = glad(*columns, seed=seed)
    elif model in ("full", "one-coin"):
        result = dawid_skene(*columns, model=model)
    else:
        result = mace(*columns, training=model, seed=seed)
    skill = result.competence if model in ("em", "variational") else result.accuracy
    places = dict(zip(result.workers.tolist(), skill.tolist(), strict=True))
    assert places[0] == pytest.approx(places[1], abs=1e-5)
    undecided = [place for place, unit in enumerate(result.units) if table[unit][2] is None]
    undecided = [place for place in undecided if None not in table[result.units[place]][:2]]
    assert result.posterior[undecided] == pytest.approx(0.5, abs=1e-5)
