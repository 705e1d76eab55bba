"""Power by simulation, against exact sums and closed forms from outside."""

import math
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from evaluation.statistics.inputs import BadOption
from evaluation.statistics.power import (
    People,
    Question,
    Size,
    TwoMetrics,
    TwoSystems,
    exact_p,
    fit_people,
    fresh_seed,
    plan_design,
    power_of,
    without_noise,
)

NEVER_WRONG = People(right=1.0, pair_spread=0.0)
SIMULATIONS = 4000


@cache
def rejected(n: int, alpha: float) -> NDArray[np.bool_]:
    """Which numbers of wins out of n the two-sided binomial test takes as a difference, and of the right sign."""
    wins = np.arange(n + 1)
    found: NDArray[np.bool_] = (2 * stats.binom(n, 0.5).sf(wins - 1) < alpha) & (wins > n / 2)
    return found


def binomial_power(n: int, rate: float, alpha: float) -> float:
    """Exact: the sum over outcomes that the test rejects with the right sign."""
    return float(stats.binom(n, rate).pmf(np.arange(n + 1))[rejected(n, alpha)].sum())


def mcnemar_power(n: int, first: float, second: float, alpha: float) -> float:
    """Exact: over the number of discordant pairs, then as a binomial test among them (Connor 1987)."""
    apart = first + second
    discordant = stats.binom(n, apart).pmf(np.arange(n + 1))
    return sum(
        float(chance) * binomial_power(m, first / apart, alpha) for m, chance in enumerate(discordant) if m
    )


def near(found: float, expected: float) -> bool:
    """Within four standard errors of a simulated share."""
    return abs(found - expected) <= 4 * math.sqrt(expected * (1 - expected) / SIMULATIONS) + 1e-12


def one(question: Question, people: People, size: Size, seed: int = 1) -> float:
    return power_of(question, people, [size], simulations=SIMULATIONS, seed=seed)[0].power


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (6, 0), (0, 6), (9, 1), (30, 17), (5, 5)])
def test_the_exact_test_is_that_of_scipy(wins: int, losses: int) -> None:
    ours = exact_p(np.array([wins]), np.array([losses]))[0]
    expected = stats.binomtest(wins, wins + losses, 0.5).pvalue if wins + losses else 1.0
    assert ours == pytest.approx(expected)


@pytest.mark.parametrize(("pairs", "rate"), [(20, 0.7), (100, 0.6), (50, 0.95), (7, 0.9)])
def test_systems_without_noise_have_the_power_of_the_binomial_test(pairs: int, rate: float) -> None:
    assert near(one(TwoSystems(rate), NEVER_WRONG, Size(pairs, 1, 1)), binomial_power(pairs, rate, 0.05))


@pytest.mark.parametrize("right", [0.6, 0.8, 0.95])
def test_one_noisy_vote_lowers_the_win_rate_as_the_closed_form_says(right: float) -> None:
    effective = 0.75 * right + 0.25 * (1 - right)
    people = People(right=right, pair_spread=0.3)  # one vote a pair: the spread cannot show
    assert near(one(TwoSystems(0.75), people, Size(80, 1, 1)), binomial_power(80, effective, 0.05))


def test_careless_votes_are_right_by_half() -> None:
    people = People(right=0.9, careless=0.4, worker_spread=1.0, pairs_each=1)
    right = 0.9 * 0.6 + 0.5 * 0.4
    effective = 0.8 * right + 0.2 * (1 - right)
    assert near(one(TwoSystems(0.8), people, Size(80, 1, 1)), binomial_power(80, effective, 0.05))


def test_five_votes_are_right_as_often_as_the_beta_binomial_says() -> None:
    people = People(right=0.7, pair_spread=0.2)
    found = power_of(TwoSystems(0.9), people, [Size(50, 1, 5)], simulations=SIMULATIONS, seed=3)[0]
    scale = (1 - 0.2) / 0.2
    right = float(stats.betabinom(5, 0.7 * scale, 0.3 * scale).sf(2))
    assert found.right_consensus == pytest.approx(right, abs=4 * math.sqrt(0.25 / (50 * SIMULATIONS)))
    assert found.undecided == 0
    assert near(found.power, binomial_power(50, 0.9 * right + 0.1 * (1 - right), 0.05))


def test_two_votes_leave_pairs_undecided_as_often_as_they_split() -> None:
    found = power_of(TwoSystems(0.9), People(right=0.8, pair_spread=0.0), [Size(50, 1, 2)], seed=5)[0]
    assert found.undecided == pytest.approx(2 * 0.8 * 0.2, abs=4 * math.sqrt(0.25 / 50_000))
    assert found.right_consensus == pytest.approx(0.64 / 0.68, abs=4 * math.sqrt(0.25 / 30_000))


def test_three_references_with_one_vote_are_as_good_as_three_votes_where_units_do_not_differ() -> None:
    sizes = [Size(60, 3, 1), Size(60, 1, 3)]
    right = float(stats.binom(3, 0.75).sf(1))
    for found in power_of(
        TwoSystems(0.8), People(right=0.75, pair_spread=0.0), sizes, seed=2, simulations=4000
    ):
        assert near(found.power, binomial_power(60, 0.8 * right + 0.2 * (1 - right), 0.05))


@pytest.mark.parametrize(
    ("first", "second", "agreement"), [(0.9, 0.8, 0.86), (0.6, 0.75, 0.7), (0.97, 0.95, 0.96)]
)
def test_metrics_without_noise_have_connors_power(first: float, second: float, agreement: float) -> None:
    question = TwoMetrics(first, second, agreement)
    _, b, c, _ = question.table
    assert b + c == pytest.approx(1 - agreement)
    assert b - c == pytest.approx(first - second)
    better, worse = max(b, c), min(b, c)
    assert near(one(question, NEVER_WRONG, Size(150, 1, 1)), mcnemar_power(150, better, worse, 0.05))


def test_a_wrong_consensus_turns_both_metrics_around() -> None:
    _, b, c, _ = TwoMetrics(0.9, 0.75, 0.8).table
    right = 0.85
    people = People(right=right, pair_spread=0.0)
    expected = mcnemar_power(120, b * right + c * (1 - right), c * right + b * (1 - right), 0.05)
    assert near(one(TwoMetrics(0.9, 0.75, 0.8), people, Size(120, 1, 1)), expected)


def test_true_ties_only_add_noise() -> None:
    # a tie goes either way by half, so the win rate of all decided pairs is 0.7 x 0.9 + 0.3 x 0.5
    assert near(one(TwoSystems(0.9, ties=0.3), NEVER_WRONG, Size(50, 1, 1)), binomial_power(50, 0.78, 0.05))


def test_coins_decide_by_the_size_of_the_test_and_half_of_it_wrongly() -> None:
    coin = People(right=0.5, pair_spread=0.0)
    found = power_of(TwoSystems(0.9), coin, [Size(200, 1, 1)], simulations=20_000, seed=4)[0]
    half = binomial_power(200, 0.5, 0.05)
    assert found.power == pytest.approx(half, abs=4 * math.sqrt(half / 20_000))
    decisions = 2 * half * 20_000
    assert found.type_s == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / decisions))


def test_it_does_not_matter_which_of_the_two_is_named_first() -> None:
    for question, other in (
        (TwoSystems(0.7), TwoSystems(0.3)),
        (TwoMetrics(0.9, 0.8, 0.8), TwoMetrics(0.8, 0.9, 0.8)),
    ):
        powers = [one(which, People(), Size(90, 1, 3)) for which in (question, other)]
        assert powers[0] == pytest.approx(powers[1], abs=6 * math.sqrt(0.25 / SIMULATIONS))


def test_workers_who_never_look_make_outcomes_less_certain() -> None:
    size = Size(100, 1, 1)
    alike, uneven = (
        power_of(TwoSystems(0.9), People(right=0.95, careless=0.5, worker_spread=spread, pairs_each=50), [size],
                 simulations=SIMULATIONS, seed=6)[0]
        for spread in (0.0, 1.0)
    )  # fmt: skip
    assert alike.right_consensus == pytest.approx(uneven.right_consensus, abs=0.03)
    assert alike.power > 0.9 > 0.75 > uneven.power  # half the time, half the pairs or all of them are coins


def test_the_same_seed_gives_the_same_figures_and_another_others() -> None:
    sizes = [Size(40, 2, 3), Size(80, 1, 1)]
    again = [power_of(TwoSystems(0.7), People(), sizes, simulations=300, seed=seed) for seed in (1, 1, 2)]
    assert again[0] == again[1] != again[2]
    assert [found.size for found in again[0]] == sizes


def test_a_pilots_people_are_found_again() -> None:
    rng = np.random.default_rng(11)
    chances = rng.beta(0.8 * 3, 0.2 * 3, 6000)  # mean .8, spread 1 / (1 + 3)
    side = rng.random(6000) < 0.5
    right = rng.binomial(7, chances)
    found = fit_people(np.where(side, right, 7 - right), np.full(6000, 7))
    assert found.converged
    assert not found.reason
    assert found.right == pytest.approx(0.8, abs=0.03)
    assert found.spread == pytest.approx(0.25, abs=0.05)


def test_with_two_votes_a_unit_agreement_alone_decides() -> None:
    # without spread two votes agree by r^2 + (1 - r)^2: .68 for r = .8
    found = fit_people([2] * 34 + [0] * 34 + [1] * 32, [2] * 100, spread=0.0)
    assert found.agreement == pytest.approx(0.68)
    assert found.right == pytest.approx(0.8, abs=1e-3)
    assert "spread over units is assumed" in found.reason


def test_people_who_always_agree_are_always_right() -> None:
    found = fit_people([5, 0, 5, 5, 0], [5] * 5)
    assert (found.right, found.agreement) == (1.0, 1.0)
    assert "all votes agree" in found.reason


def test_noise_is_taken_off_a_counted_share() -> None:
    assert without_noise(0.75 * 0.8 + 0.25 * 0.2, 0.8) == pytest.approx(0.75)
    assert without_noise(0.1, 0.8) == 0.0
    with pytest.raises(BadOption, match="at most 1"):
        without_noise(0.6, 0.5)


def price(size: Size) -> int:
    return 3 * size.judgments


@pytest.mark.large
def test_the_cheapest_design_that_reaches_the_power_is_found() -> None:
    needed = next(
        n for n in range(10, 400, 10) if all(binomial_power(m, 0.65, 0.05) >= 0.8 for m in (n, n + 10))
    )
    plan = plan_design(
        TwoSystems(0.65), NEVER_WRONG, pairs=range(10, 400, 10), references=[1, 2], votes=[1, 3], cost=price,
        wanted=0.8, simulations=SIMULATIONS, seed=1,
    )  # fmt: skip
    assert plan.best is not None
    # People are never wrong: more buys nothing.
    assert (plan.best.size.references, plan.best.size.votes) == (
        1,
        1,
    )
    assert needed - 10 <= plan.best.size.pairs <= needed + 30  # so much dearer it is to be sure
    assert plan.best_cost == price(plan.best.size)
    assert plan.fewer_votes is None
    assert plan.half_the_pairs is not None
    half = binomial_power(plan.best.size.pairs // 2, 0.65, 0.05)
    assert near(plan.half_the_pairs.power, half)
    cheaper = [one for one, cost in zip(plan.tried, plan.costs, strict=True) if cost < plan.best_cost]
    assert all(one.low < 0.8 for one in cheaper)


def test_what_is_said_of_the_chosen_design_comes_from_draws_that_did_not_choose_it() -> None:
    pairs = range(100, 300)
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
        TwoSystems(0.51), People(), pairs=[10, 20], references=[1], votes=[1], cost=price, simulations=200
    )
    assert plan.best is None
    assert len(plan.tried) == 2
