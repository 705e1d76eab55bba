"""MACE, GLAD and the two-parameter model: other programs' optima, gradients by differences, and simulated truth."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import spearmanr

from evaluation.statistics.aggregation import glad, item_response, mace
from evaluation.statistics.inputs import BadOption, BadShape, BadValue
from tests.statistics.golden import golden

CROWDS = list(zip(golden("aggregation.json")["dawid_skene"], golden("raters.json")["crowds"], strict=True))
TWO_LABELS = CROWDS[0][0]["judgments"]


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
@pytest.mark.parametrize(("crowd", "expected"), CROWDS, ids=["two labels", "three labels"])
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


@pytest.mark.parametrize("crowd", [crowd for crowd, _ in CROWDS], ids=["two labels", "three labels"])
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
    assert "one worker" in glad([1, 2], ["a", "a"], [0, 1], restarts=1).note
    assert "two judgments" in mace([1, 2], ["a", "b"], [0, 1], restarts=1).note


def test_restarts_are_drawn_with_the_seed_and_counted() -> None:
    columns = np.array(TWO_LABELS[:120]).T
    first, again = (glad(*columns, restarts=3, seed=4) for _ in range(2))
    assert first.ability.tolist() == again.ability.tolist()
    assert 1 <= first.starts_at_optimum <= 3


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(BadOption, match="there are no judgments"):
        mace([], [], [])
    with pytest.raises(BadOption, match="one label"):
        glad([1], ["a"], ["yes"])
    with pytest.raises(BadOption, match="training is 'gibbs'"):
        mace([1], ["a"], [1], training="gibbs")
    with pytest.raises(BadOption, match="tolerance is 0, expected a number above zero"):
        glad([1, 2], ["a", "a"], [0, 1], tolerance=0)
    with pytest.raises(BadShape, match="workers has 1"):
        mace([1, 2], ["a"], [0, 1])
    with pytest.raises(BadValue, match=r"right\[1\] is 2"):
        item_response([1, 2], ["a", "a"], [0, 2])
    with pytest.raises(BadOption, match="there are no answers"):
        item_response([], [], [])
    with pytest.raises(BadOption, match="prior is 'strong'"):
        item_response([1], ["a"], [1], prior="strong")
