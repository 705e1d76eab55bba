"""Bradley-Terry, Davidson's ties and the order effect: closed forms on lopsided data, default settings."""

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from quorum.statistics.aggregation import bradley_terry, bradley_terry_of_comparisons
from quorum.statistics.aggregation.bradley_terry.existence import TOO_FEW_ITEMS
from quorum.statistics.aggregation.bradley_terry.fitting import NO_TIES
from quorum.statistics.inputs import BadValue
from quorum.statistics.meta import winners_without_raters
from tests.refusals import assert_names, refuses
from tests.statistics.golden import golden
from tests.statistics.plain_models import davidson

LEAGUES = golden("aggregation.json")["bradley_terry"]


@pytest.mark.parametrize("league", LEAGUES, ids=[league["why"] for league in LEAGUES])
def test_bradley_terry_finds_the_exact_strengths_with_default_settings(league: dict[str, Any]) -> None:
    result = bradley_terry(league["wins"])
    assert result.converged
    assert result.strength == pytest.approx(np.array(league["strengths"]), abs=1e-10)
    assert result.strength.sum() == pytest.approx(1)
    assert result.order.tolist() == np.argsort(-np.array(league["strengths"])).tolist()


def test_the_interval_of_two_items_is_that_of_their_log_odds() -> None:
    result = bradley_terry([[0, 7], [2, 0]])
    odds, error = math.log(7 / 2), math.sqrt(1 / 7 + 1 / 2)
    chance, low, high = result.probability(0, 1)
    assert chance == pytest.approx(7 / 9)
    assert low == pytest.approx(1 / (1 + math.exp(-odds + 1.959964 * error)), abs=1e-6)
    assert high == pytest.approx(1 / (1 + math.exp(-odds - 1.959964 * error)), abs=1e-6)
    assert result.standard_error == pytest.approx([error / 2, error / 2])


def test_a_chain_of_forty_very_uneven_pairs_has_the_product_of_their_odds() -> None:
    wins = np.zeros((40, 40))
    for place in range(39):
        wins[place, place + 1], wins[place + 1, place] = 999, 1
    result = bradley_terry(wins)
    assert result.converged
    assert np.diff(result.log_strength) == pytest.approx(np.full(39, -math.log(999)))


def test_one_win_in_a_million_million_is_no_trouble() -> None:
    result = bradley_terry([[0, 10**12], [1, 0]])
    assert result.converged
    assert result.log_strength[0] - result.log_strength[1] == pytest.approx(math.log(10**12))


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    generator = np.random.default_rng(9)
    strength = np.array([0.5, 0.3, 0.2])
    chance = strength[:, np.newaxis] / (strength[:, np.newaxis] + strength)
    held = 0
    for _ in range(200):
        wins = np.triu(generator.binomial(60, chance), 1)
        wins = wins + np.tril(60 - wins.T, -1)
        _, low, high = bradley_terry(wins).probability(0, 1)
        held += low < chance[0, 1] < high
    assert held / 200 == pytest.approx(0.95, abs=0.04)


def test_a_tie_is_half_a_win_each_way() -> None:
    with_ties = bradley_terry([[0, 4], [1, 0]], ties=[[0, 2], [2, 0]])
    assert with_ties.strength == pytest.approx(np.array([5, 2]) / 7)


def test_items_that_never_lose_have_no_finite_strength_unless_a_prior_is_given() -> None:
    result = bradley_terry([[0, 3, 2], [0, 0, 1], [0, 1, 0]])
    assert np.isnan(result.strength).all()
    assert not result.converged
    assert_names(result.reason, "2 groups")
    with_prior = bradley_terry([[0, 3, 2], [0, 0, 1], [0, 1, 0]], prior=0.5)
    assert with_prior.converged
    assert with_prior.order.tolist()[0] == 0
    assert bradley_terry([[0]]).reason == TOO_FEW_ITEMS


# Strengths whose square roots are whole, so that a table can hold exactly what the model expects.
STRENGTHS = np.array([1.0, 4.0, 16.0, 25.0])
NU = 0.5


def _expected(games: list[int], nu: float = NU) -> tuple[Any, Any]:
    """Wins and ties of four items, as the model expects them, in that many times the smallest round numbers."""
    count = np.zeros((4, 4))
    count[np.triu_indices(4, 1)] = games
    count += count.T
    wins = count * STRENGTHS[:, np.newaxis]
    ties = count * nu * np.sqrt(STRENGTHS[:, np.newaxis] * STRENGTHS)
    return wins, ties


def test_davidsons_model_gives_back_the_strengths_and_the_ties_that_made_the_table() -> None:
    wins, ties = _expected([2, 4, 6, 40, 2, 8])
    result = bradley_terry(wins, ties=ties, tie_model="davidson")
    assert result.converged
    assert result.strength == pytest.approx(STRENGTHS / 46, abs=1e-12)
    assert result.nu == pytest.approx(NU, abs=1e-12)
    assert result.nu_low < NU < result.nu_high
    assert result.probability(0, 1)[0] == pytest.approx(1 / 5)
    assert result.comparisons == wins.sum() + ties.sum() / 2


def test_two_items_with_ties_have_a_closed_form_and_its_errors() -> None:
    # Three outcomes and two parameters: strengths as the wins, nu = ties / sqrt(wins * losses).
    result = bradley_terry([[0, 90], [10, 0]], ties=[[0, 6], [6, 0]], tie_model="davidson")
    assert result.strength == pytest.approx([0.9, 0.1])
    assert result.nu == pytest.approx(6 / 30)
    assert result.standard_error == pytest.approx([math.sqrt(1 / 90 + 1 / 10) / 2] * 2)
    # log nu = log t - (log w + log l) / 2, by the delta method on a multinomial.
    error = math.sqrt(1 / 6 + (1 / 90 + 1 / 10) / 4)
    assert math.log(result.nu_high / result.nu) == pytest.approx(1.959964 * error, rel=1e-6)
    assert math.log(result.nu / result.nu_low) == pytest.approx(1.959964 * error, rel=1e-6)
    expected = 90 * math.log(90 / 106) + 10 * math.log(10 / 106) + 6 * math.log(6 / 106)
    assert result.log_likelihood == pytest.approx(expected)


def test_hardly_any_ties_leave_nu_next_to_unknown() -> None:
    ties = [[0, 1e-9], [1e-9, 0]]
    result = bradley_terry([[0, 0.5], [0.25, 0]], ties=ties, tie_model="davidson")
    assert result.nu == pytest.approx(1e-9 / math.sqrt(0.5 * 0.25))
    assert (result.nu_low, result.nu_high) == (0.0, math.inf)


def _ordered(nu: float, factor: float, games: list[int]) -> list[tuple[str, str, int]]:
    """Comparisons of three items in both orders, as often as the model expects each outcome."""
    rows = []
    for times, (one, two) in zip(games, permutations(range(3), 2), strict=True):
        first, second = STRENGTHS[one] * factor, STRENGTHS[two]
        for outcome, share in ((1, first), (2, second), (0, nu * math.sqrt(first * second))):
            assert (times * share).is_integer()
            rows += [("abc"[one], "abc"[two], outcome)] * int(times * share)
    return rows


@pytest.mark.parametrize("nu", [0.5, 0.0])
def test_the_advantage_of_the_first_place_is_told_apart_from_strength(nu: float) -> None:
    rows = _ordered(nu, 9.0, [2, 4, 14, 2, 2, 6])
    result = bradley_terry_of_comparisons(*zip(*rows, strict=True), tie_model="davidson", order_effect=True)
    assert result.converged
    assert result.items.tolist() == ["a", "b", "c"]
    assert result.strength == pytest.approx(STRENGTHS[:3] / 21, abs=1e-12)
    assert result.order_effect == pytest.approx(math.log(9))
    assert result.order_effect_low < math.log(9) < result.order_effect_high
    assert result.nu == pytest.approx(nu, abs=1e-12)
    # Without the effect, whoever was shown first more often is flattered.
    blind = bradley_terry_of_comparisons(*zip(*rows, strict=True))
    assert blind.strength != pytest.approx(STRENGTHS[:3] / 21, abs=0.01)
    assert math.isnan(blind.order_effect)
    assert math.isnan(blind.nu)


@settings(max_examples=12)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 2), st.integers(0, 2)).map(
            lambda row: (row[0], (row[0] + row[1]) % 3, row[2])
        ),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_the_peak_is_that_of_a_general_optimiser_on_the_raw_rows(
    rows: list[tuple[int, int, int]], order: bool
) -> None:
    # Every outcome of every pair in both orders once, so that there is a peak; then lopsided extras.
    rows = [(one, two, outcome) for one, two in permutations(range(3), 2) for outcome in range(3)] + rows * 3
    result = bradley_terry_of_comparisons(*zip(*rows, strict=True), tie_model="davidson", order_effect=order)
    expected = davidson(rows, 3, order=order)
    assert result.converged
    assert result.strength == pytest.approx(expected["strength"], abs=1e-5)
    assert result.nu == pytest.approx(expected["nu"], rel=1e-4)
    assert result.log_likelihood == pytest.approx(expected["log_likelihood"], rel=1e-9)
    if order:
        assert result.order_effect == pytest.approx(expected["order"], abs=1e-4)


def test_without_ties_davidsons_model_is_bradley_terrys_and_says_why_nu_has_no_interval() -> None:
    result = bradley_terry(LEAGUES[0]["wins"], tie_model="davidson")
    assert result.strength == pytest.approx(np.array(LEAGUES[0]["strengths"]), abs=1e-10)
    assert result.nu == 0
    assert math.isnan(result.nu_low)
    assert result.note == NO_TIES


def test_a_reason_names_the_groups_that_nothing_joins() -> None:
    result = bradley_terry([[0, 3, 2], [0, 0, 1], [0, 1, 0]], items=["human", "cat", "dog"])
    assert "into 2 groups" in result.reason
    assert "(human; cat, dog)" in result.reason
    assert result.groups[1] == result.groups[2] != result.groups[0]
    many = bradley_terry(np.zeros((9, 9)))
    assert "into 9 groups" in many.reason
    assert "(0; 1; 2; 3; 4; and 4 more)" in many.reason
    assert many.log_strength.shape == many.low.shape == (9,)


@pytest.mark.parametrize(
    ("wins", "ties", "rises"),
    [
        ([[0, 3], [0, 0]], [[0, 2], [2, 0]], True),  # never beaten: both strength and ties grow
        ([[0, 0], [0, 0]], [[0, 5], [5, 0]], True),  # nothing but ties
        ([[0, 3], [1, 0]], [[0, 2], [2, 0]], False),
        # A beats B, B beats C, C beats A: no order of strengths lets the ties run off.
        ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]], False),
        # A chain with ties has one: strengths 0, 2, 4 with ties between neighbours.
        ([[0, 1, 1], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [1, 0, 1], [0, 1, 0]], True),
        # With a tie between its ends that order breaks.
        ([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]], False),
    ],
)
def test_ties_that_run_off_with_the_strengths_are_found_out(wins: Any, ties: Any, rises: bool) -> None:
    result = bradley_terry(wins, ties=ties, tie_model="davidson")
    assert result.converged is not rises
    assert ("strengths and ties grow" in result.reason) is rises
    assert np.isnan(result.strength).all() == rises
    assert bradley_terry(wins, ties=ties, tie_model="davidson", prior=0.5).converged


def test_an_order_effect_that_runs_off_is_found_out() -> None:
    first_always_wins = (["a", "b", "a"], ["b", "a", "b"], [1, 1, 1])
    result = bradley_terry_of_comparisons(*first_always_wins, order_effect=True)
    assert "strengths and the order effect" in result.reason
    with_ties = bradley_terry_of_comparisons(
        [*first_always_wins[0], "a"],
        [*first_always_wins[1], "b"],
        [1, 1, 1, 0],
        tie_model="davidson",
        order_effect=True,
    )
    assert "ties and the order effect" in with_ties.reason
    assert bradley_terry_of_comparisons(*first_always_wins).converged
    assert bradley_terry_of_comparisons(*first_always_wins, order_effect=True, prior=1).converged


def test_items_never_shown_in_both_orders_cannot_show_an_order_effect() -> None:
    columns = (list("aab" * 3), list("bcc" * 3), [1, 1, 1, 2, 2, 2, 1, 2, 1])
    assert (
        "no items were shown in both orders"
        in bradley_terry_of_comparisons(
            *(column[:2] + column[3:5] for column in columns), order_effect=True
        ).reason
    )
    # a before b, b before c and a before c: the effect would have to count once and twice.
    assert bradley_terry_of_comparisons(*columns, order_effect=True).converged
    assert bradley_terry_of_comparisons(*columns).converged


@pytest.mark.parametrize(
    "wins",
    [
        [1, 1, 1e6],
        [1e4, 1e3, 10, 100, 1, 1],
        [1e6, 1e4, 1e5, 1, 1, 1e6],
        [1e5, 10, 1e5, 1e6],
        [7, 7, 7, 7, 7],
    ],
)
def test_a_ring_of_one_sided_pairs_has_the_root_of_one_equation(wins: list[float]) -> None:
    """Everyone beats the next only: w / rate - 1 are the odds of winning, and all odds multiply to one."""
    table = np.diag(wins[:-1], 1)
    table[-1, 0] = wins[-1]
    rate = brentq(
        lambda one: np.log(np.array(wins) / one - 1).sum(),
        1e-9,
        min(wins) * (1 - 1e-15),
        xtol=1e-15,
        rtol=1e-14,
    )
    result = bradley_terry(table)
    assert result.converged
    gaps = result.log_strength - np.roll(result.log_strength, -1)
    # Where a pair says next to nothing its gap is known through the others alone.
    assert gaps[:-1].sum() == pytest.approx(-gaps[-1])
    chance = 1 / (1 + np.exp(gaps))
    assert chance == pytest.approx(rate / np.array(wins), rel=1e-6)


def test_steps_that_would_overshoot_are_halved() -> None:
    wins = np.array([[0, 1e6 + 10, 0, 0], [0, 0, 100, 0], [1000, 1, 0, 100], [100, 1e6, 1e6, 0]])
    result = bradley_terry(wins)
    assert result.converged
    assert result.gradient < 1e-6


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 6), min_size=4, max_size=4),
    st.lists(st.sampled_from([0, 0, 1, 10, 10**3, 10**6]), min_size=32, max_size=32),
    st.sampled_from(["half", "davidson"]),
)
def test_the_most_lopsided_tables_converge_to_a_flat_likelihood(
    ring: list[int], counts: list[int], tie_model: str
) -> None:
    wins, ties = (
        np.array(counts[:16], dtype=float).reshape(4, 4),
        np.array(counts[16:], dtype=float).reshape(4, 4),
    )
    for place, power in enumerate(ring):
        wins[place, (place + 1) % 4] += 10.0**power
    np.fill_diagonal(wins, 0)
    ties = np.triu(ties, 1) + np.triu(ties, 1).T
    result = bradley_terry(wins, ties=ties, tie_model=tie_model)
    assert result.converged
    assert result.gradient <= 1e-9 * (wins.sum() + ties.sum())
    assert np.isfinite(result.standard_error).all()


def test_comparisons_and_their_table_give_the_same_strengths() -> None:
    rows = _ordered(0.5, 4.0, [1, 2, 3, 1, 1, 2])
    items = sorted({name for first, second, _ in rows for name in (first, second)})
    wins, ties = np.zeros((2, len(items), len(items)))
    for first, second, winner in rows:
        one, two = items.index(first), items.index(second)
        if winner == 0:
            ties[one, two] += 1
            ties[two, one] += 1
        else:
            wins[(one, two) if winner == 1 else (two, one)] += 1
    by_table = bradley_terry(wins, ties=ties, items=items, tie_model="davidson")
    by_rows = bradley_terry_of_comparisons(*zip(*rows, strict=True), tie_model="davidson")
    assert by_rows.strength == pytest.approx(by_table.strength)
    assert by_rows.nu == pytest.approx(by_table.nu)
    assert by_rows.items.tolist() == by_table.items.tolist()


@pytest.mark.parametrize("place", ["a", 2, -1, 0.5])
def test_a_place_that_no_item_has_is_refused_in_words(place: Any) -> None:
    fit = bradley_terry([[0, 3], [1, 0]])
    with refuses(BadValue, "expected its position", "1"):
        fit.probability(0, place)


@pytest.mark.long
def test_strengths_from_majorities_vary_as_they_do_over_other_raters() -> None:
    rng = np.random.default_rng(8)
    pairs, raters, studies = 400, 12, 200
    first = rng.integers(0, 4, pairs)
    second = (first + rng.integers(1, 4, pairs)) % 4
    pair = np.repeat(np.arange(pairs), 5)
    strengths, variances, of_items = [], [], []
    for _ in range(studies):
        rater = np.argsort(rng.random((pairs, raters)))[:, :5].ravel()
        taste = rng.normal(0, 0.8, (raters, 4)) + 0.4 * np.arange(4)
        lead = taste[rater, first[pair]] - taste[rater, second[pair]] + rng.logistic(size=len(pair))
        vote = np.where(lead > 0, 1, 2)
        winners = np.where(np.bincount(pair, weights=vote) < 7.5, 1, 2)
        clusters = {"item": np.arange(pairs), "rater": winners_without_raters(pair, rater, vote, pairs)}
        both, by_item = (
            bradley_terry_of_comparisons(first, second, winners, clusters=by)
            for by in (clusters, {"item": np.arange(pairs)})
        )
        assert both.clusters == {"item": pairs, "rater": raters}
        strengths.append(both.log_strength)
        variances.append(np.square(both.standard_error))
        of_items.append(np.square(by_item.standard_error))
    observed = np.var(strengths, axis=0)
    assert np.mean(variances, axis=0) == pytest.approx(observed, rel=0.25)
    assert np.all(np.mean(of_items, axis=0) < 0.5 * observed)
