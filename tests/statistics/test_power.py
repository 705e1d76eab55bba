"""Power by simulation, against exact sums over what the t tests of verdicts decide."""

import math
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from quorum.statistics.inputs import BadOption
from quorum.statistics.meta import PeoplesWinners, winners_without_raters
from quorum.statistics.power import (
    Question,
    Size,
    TwoMetrics,
    TwoSystems,
    VoterModel,
    fit_voter_model,
    fresh_seed,
    plan_design,
    power_of,
    true_share,
)
from tests.marks import long_except
from tests.refusals import refuses

NEVER_WRONG = VoterModel(right=1.0, pair_spread=0.0, pairs_each=1)
SIMULATIONS = 1000


@cache
def rejected(n: int, alpha: float) -> NDArray[np.bool_]:
    """Which numbers of wins out of n the t test takes as a difference of the right sign.

    Each pair has people of its own, so that these have n - 1 degrees of freedom. The variance of a half by items is
    .25 / n, to which people add an (n - 1)th of it; where one wins all, these are n independent answers.
    """
    wins = np.arange(n + 1)
    t = (wins / n - 0.5) / np.sqrt(0.25 / np.where(wins % n == 0, n, n - 1))
    found: NDArray[np.bool_] = stats.t.sf(t, n - 1) <= alpha / 2
    return found


def binomial_power(n: int, rate: float, alpha: float) -> float:
    """Exact: the sum over outcomes that the test rejects with the right sign."""
    return float(stats.binom(n, rate).pmf(np.arange(n + 1))[rejected(n, alpha)].sum())


def difference_power(n: int, first: float, second: float, alpha: float) -> float:
    """Exact: over the numbers of pairs on which either metric alone is right, and what t makes of their difference."""
    right, wrong = np.indices((n + 1, n + 1))
    difference = (right - wrong) / n
    variance = np.maximum((right + wrong) / n - difference**2, 0) * (1 + 1 / n) / (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        decided = stats.t.sf(difference / np.sqrt(variance), n - 1) <= alpha / 2
    numbers = np.stack([right, wrong, np.maximum(n - right - wrong, 0)], axis=-1)
    chances = stats.multinomial(n, [first, second, 1 - first - second]).pmf(numbers)
    return float(chances[decided & (right + wrong <= n)].sum())


def near(found: float, expected: float) -> bool:
    """Within four standard errors of a simulated share."""
    return abs(found - expected) <= 4 * math.sqrt(expected * (1 - expected) / SIMULATIONS) + 1e-12


def one(question: Question, people: VoterModel, size: Size, seed: int = 1) -> float:
    return power_of(question, people, [size], simulations=SIMULATIONS, seed=seed)[0].power


@pytest.mark.parametrize(
    ("pairs", "rate"), long_except([(20, 0.7), (100, 0.6), (50, 0.95), (7, 0.9)], (20, 0.7), (7, 0.9))
)
def test_systems_without_noise_have_the_power_of_the_binomial_test(pairs: int, rate: float) -> None:
    assert near(one(TwoSystems(rate), NEVER_WRONG, Size(pairs, 1, 1)), binomial_power(pairs, rate, 0.05))


@pytest.mark.parametrize("right", long_except([0.6, 0.8, 0.95], 0.8))
def test_one_noisy_vote_lowers_the_win_rate_as_the_closed_form_says(right: float) -> None:
    effective = 0.75 * right + 0.25 * (1 - right)
    people = VoterModel(right=right, pair_spread=0.3, pairs_each=1)  # one vote a pair: the spread cannot show
    assert near(one(TwoSystems(0.75), people, Size(80, 1, 1)), binomial_power(80, effective, 0.05))


@pytest.mark.long
def test_careless_votes_are_right_by_half() -> None:
    people = VoterModel(right=0.9, careless=0.4, worker_spread=1.0, pairs_each=1)
    right = 0.9 * 0.6 + 0.5 * 0.4
    effective = 0.8 * right + 0.2 * (1 - right)
    assert near(one(TwoSystems(0.8), people, Size(80, 1, 1)), binomial_power(80, effective, 0.05))


@pytest.mark.long
def test_five_votes_are_right_as_often_as_the_beta_binomial_says() -> None:
    people = VoterModel(right=0.7, pair_spread=0.2, pairs_each=1)
    found = power_of(TwoSystems(0.9), people, [Size(50, 1, 5)], simulations=SIMULATIONS, seed=3)[0]
    scale = (1 - 0.2) / 0.2
    right = float(stats.betabinom(5, 0.7 * scale, 0.3 * scale).sf(2))
    assert found.right_consensus == pytest.approx(right, abs=4 * math.sqrt(0.25 / (50 * SIMULATIONS)))
    assert found.undecided == 0
    assert near(found.power, binomial_power(50, 0.9 * right + 0.1 * (1 - right), 0.05))


def test_two_votes_leave_pairs_undecided_as_often_as_they_split() -> None:
    found = power_of(TwoSystems(0.9), VoterModel(right=0.8, pair_spread=0.0), [Size(50, 1, 2)], seed=5)[0]
    assert found.undecided == pytest.approx(2 * 0.8 * 0.2, abs=4 * math.sqrt(0.25 / 50_000))
    assert found.right_consensus == pytest.approx(0.64 / 0.68, abs=4 * math.sqrt(0.25 / 30_000))


@pytest.mark.long
def test_three_references_with_one_vote_are_as_good_as_three_votes_where_units_do_not_differ() -> None:
    sizes = [Size(60, 3, 1), Size(60, 1, 3)]
    right = float(stats.binom(3, 0.75).sf(1))
    for found in power_of(
        TwoSystems(0.8),
        VoterModel(right=0.75, pair_spread=0.0, pairs_each=1),
        sizes,
        seed=2,
        simulations=SIMULATIONS,
    ):
        assert near(found.power, binomial_power(60, 0.8 * right + 0.2 * (1 - right), 0.05))


@pytest.mark.parametrize(
    ("first", "second", "agreement"),
    [
        (0.6, 0.75, 0.7),
        *(pytest.param(*each, marks=pytest.mark.long) for each in [(0.9, 0.8, 0.86), (0.97, 0.95, 0.96)]),
    ],
)
def test_metrics_without_noise_have_the_power_of_the_test_of_differences(
    first: float, second: float, agreement: float
) -> None:
    question = TwoMetrics(first, second, agreement)
    _, b, c, _ = question.table
    assert b + c == pytest.approx(1 - agreement)
    assert b - c == pytest.approx(first - second)
    better, worse = max(b, c), min(b, c)
    assert near(one(question, NEVER_WRONG, Size(150, 1, 1)), difference_power(150, better, worse, 0.05))


@pytest.mark.long
def test_a_wrong_consensus_turns_both_metrics_around() -> None:
    _, b, c, _ = TwoMetrics(0.9, 0.75, 0.8).table
    right = 0.85
    people = VoterModel(right=right, pair_spread=0.0, pairs_each=1)
    expected = difference_power(120, b * right + c * (1 - right), c * right + b * (1 - right), 0.05)
    assert near(one(TwoMetrics(0.9, 0.75, 0.8), people, Size(120, 1, 1)), expected)


@pytest.mark.long
def test_true_ties_only_add_noise() -> None:
    # a tie goes either way by half, so the win rate of all decided pairs is 0.7 x 0.9 + 0.3 x 0.5
    assert near(one(TwoSystems(0.9, ties=0.3), NEVER_WRONG, Size(50, 1, 1)), binomial_power(50, 0.78, 0.05))


@pytest.mark.long
def test_coins_decide_by_the_size_of_the_test_and_half_of_it_wrongly() -> None:
    coin = VoterModel(right=0.5, pair_spread=0.0, pairs_each=1)
    found = power_of(TwoSystems(0.9), coin, [Size(200, 1, 1)], simulations=5000, seed=4)[0]
    half = binomial_power(200, 0.5, 0.05)
    assert found.power == pytest.approx(half, abs=4 * math.sqrt(half / 5000))
    decisions = 2 * half * 5000
    assert found.type_s == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / decisions))


@pytest.mark.long
def test_it_does_not_matter_which_of_the_two_is_named_first() -> None:
    for question, other in (
        (TwoSystems(0.7), TwoSystems(0.3)),
        (TwoMetrics(0.9, 0.8, 0.8), TwoMetrics(0.8, 0.9, 0.8)),
    ):
        powers = [one(which, VoterModel(), Size(90, 1, 3)) for which in (question, other)]
        assert powers[0] == pytest.approx(powers[1], abs=6 * math.sqrt(0.25 / SIMULATIONS))


@pytest.mark.long
def test_people_who_differ_in_taste_or_are_few_have_less_power() -> None:
    question, size = TwoSystems(0.7), Size(200, 1, 3)
    people = {
        "many": VoterModel(taste=0.0),
        "tastes": VoterModel(taste=1.0),
        "few": VoterModel(taste=0.0, raters=3),
        "few tastes": VoterModel(taste=1.0, raters=3),
        "more tastes": VoterModel(taste=1.0, raters=12),
    }
    power = {
        name: power_of(question, who, [size], simulations=1000, seed=6)[0].power
        for name, who in people.items()
    }
    assert power["many"] > power["tastes"] > power["more tastes"] > power["few tastes"]
    assert power["few"] > power["few tastes"]
    # No number of pairs helps where the same few people differ.
    pairs = power_of(question, people["few tastes"], [Size(2000, 1, 3)], simulations=300, seed=6)[0].power
    assert pairs < 0.5


def test_fewer_people_than_votes_are_refused() -> None:
    with refuses(BadOption, "each unit", "2", "3"):
        power_of(TwoSystems(0.7), VoterModel(raters=2), [Size(10, 1, 3)], simulations=10)
    with refuses(BadOption, "-1"):
        VoterModel(raters=-1)


def test_the_power_is_that_of_the_verdict_on_such_answers() -> None:
    """One rater a vote, drawn here by plain loops, and the standings' own contrast of two systems."""
    generator = np.random.default_rng(8)
    settled = 0
    for _ in range(400):
        better = generator.random(60) < 0.7
        taste = generator.normal(0, 0.8, 6)
        votes = []
        for pair in range(60):
            for voter in ((2 * (pair // 10)) % 6, (2 * (pair // 10) + 1) % 6, (2 * (pair // 10) + 2) % 6):
                chance = 0.85 if better[pair] else 0.15
                odds = chance / (1 - chance) * math.exp(taste[voter])
                votes.append((pair, voter, 1 if generator.random() < odds / (1 + odds) else 2))
        pairs, raters, winners = (list(column) for column in zip(*votes, strict=True))
        won = np.where(np.bincount(pairs, np.array(winners) == 1) >= 2, 1, 2)
        clusters = {"item": np.arange(60), "rater": winners_without_raters(pairs, raters, winners, 60)}
        share, spread = PeoplesWinners.from_winners(won, clusters=clusters).spread_if_even(
            lambda _pairs, winner: winner == 1.0, np.ones(60, dtype=bool)
        )
        settled += share > 0.5 and spread.p(share - 0.5) <= 0.05
    people = VoterModel(0.85, pair_spread=0.0, pairs_each=10, raters=6, taste=0.8)
    promised = power_of(TwoSystems(0.7), people, [Size(60, 1, 3)], simulations=2000, seed=9)[0].power
    assert promised == pytest.approx(settled / 400, abs=3.5 * math.sqrt(0.25 / 400))


def test_the_same_seed_gives_the_same_figures_and_another_others() -> None:
    sizes = [Size(40, 2, 3), Size(80, 1, 1)]
    again = [power_of(TwoSystems(0.7), VoterModel(), sizes, simulations=100, seed=seed) for seed in (1, 1, 2)]
    assert again[0] == again[1] != again[2]
    assert [found.size for found in again[0]] == sizes


def test_a_pilots_people_are_found_again() -> None:
    rng = np.random.default_rng(11)
    chances = rng.beta(0.8 * 3, 0.2 * 3, 6000)  # mean .8, spread 1 / (1 + 3)
    side = rng.random(6000) < 0.5
    right = rng.binomial(7, chances)
    found = fit_voter_model(np.where(side, right, 7 - right), np.full(6000, 7))
    assert found.converged
    assert not found.reason
    assert found.right == pytest.approx(0.8, abs=0.03)
    assert found.spread == pytest.approx(0.25, abs=0.05)


def test_with_two_votes_a_unit_agreement_alone_decides() -> None:
    # without spread two votes agree by r^2 + (1 - r)^2: .68 for r = .8
    found = fit_voter_model([2] * 34 + [0] * 34 + [1] * 32, [2] * 100, spread=0.0)
    assert found.agreement == pytest.approx(0.68)
    assert found.right == pytest.approx(0.8, abs=1e-3)
    assert "spread over units" in found.reason


def test_people_who_always_agree_are_always_right() -> None:
    found = fit_voter_model([5, 0, 5, 5, 0], [5] * 5)
    assert (found.right, found.agreement) == (1.0, 1.0)
    assert "all votes agree" in found.reason


def test_noise_is_taken_off_a_counted_share() -> None:
    assert true_share(0.75 * 0.8 + 0.25 * 0.2, 0.8) == pytest.approx(0.75)
    assert true_share(0.1, 0.8) == 0.0
    with pytest.raises(BadOption, match="at most 1"):
        true_share(0.6, 0.5)


def price(size: Size) -> int:
    return 3 * size.judgments


@pytest.mark.long
@pytest.mark.large
def test_the_cheapest_design_that_reaches_the_power_is_found() -> None:
    needed = next(
        n for n in range(60, 180, 20) if all(binomial_power(m, 0.65, 0.05) >= 0.8 for m in (n, n + 20))
    )
    plan = plan_design(
        TwoSystems(0.65), NEVER_WRONG, pairs=range(60, 180, 20), references=[1, 2], votes=[1, 3], cost=price,
        wanted=0.8, simulations=SIMULATIONS, seed=1,
    )  # fmt: skip
    assert plan.best is not None
    # People are never wrong: more buys nothing.
    assert (plan.best.size.references, plan.best.size.votes) == (
        1,
        1,
    )
    assert needed - 20 <= plan.best.size.pairs <= needed + 40  # so much dearer it is to be sure
    assert plan.fewer_votes is None
    assert plan.half_the_pairs is not None
    half = binomial_power(plan.best.size.pairs // 2, 0.65, 0.05)
    assert near(plan.half_the_pairs.power, half)
    cheaper = [one for one, cost in zip(plan.tried, plan.costs, strict=True) if cost < price(plan.best.size)]
    assert all(one.low < 0.8 for one in cheaper)


@pytest.mark.long
def test_what_is_said_of_the_chosen_design_comes_from_draws_that_did_not_choose_it() -> None:
    pairs = range(100, 300, 5)
    plan = plan_design(
        TwoSystems(0.6), NEVER_WRONG, pairs=pairs, references=[1], votes=[1], cost=price, wanted=0.6,
        simulations=100, seed=3,
    )  # fmt: skip
    assert plan.best is not None
    lucky = next(one for one in plan.tried if one.size == plan.best.size)
    assert lucky.low >= 0.6
    assert (plan.best.seed, lucky.seed) == (fresh_seed(3), 3)
    assert fresh_seed(3) < 2**53
    exact = binomial_power(plan.best.size.pairs, 0.6, 0.05)
    assert plan.best.low <= exact <= plan.best.high


def test_no_design_reaches_a_power_that_is_out_of_reach() -> None:
    plan = plan_design(
        TwoSystems(0.51), VoterModel(), pairs=[10, 20], references=[1], votes=[1], cost=price, simulations=200
    )
    assert plan.best is None
    assert len(plan.tried) == 2
