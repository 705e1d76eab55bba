"""The power of a larger study by the variance of one: against G*Power's figures and by generalizability theory."""

import math

import numpy as np
import pytest
from scipy import stats

from quorum.statistics.crossed import Contrast, Spread
from quorum.statistics.meta import PeoplesWinners, accuracy_difference, metric_winners, winners_without_raters

# One-sample t test, two-sided at .05 (Faul et al. 2007): effect size, observations, power.
G_POWER = [(0.5, 34, 0.8078), (0.2, 199, 0.8017), (0.8, 15, 0.8213)]


@pytest.mark.parametrize(("effect", "number", "power"), G_POWER)
def test_power_is_that_of_a_t_test(effect: float, number: int, power: float) -> None:
    spread = Spread(1 / number, number - 1)
    assert spread.power(effect, 0.05) == pytest.approx(power, abs=0.0002)
    assert spread.power(-effect, 0.05) == spread.power(effect, 0.05)


def test_power_at_the_ends() -> None:
    assert Spread(1e-4, 5).power(1.0, 0.05) == pytest.approx(1)
    assert Spread(0.25, 1e9).power(1.4, 0.05) == pytest.approx(
        0.8, abs=0.001
    )  # z: 1.96 + .84 standard errors
    assert (Spread(0.0, 5).power(0.1, 0.05), Spread(0.0, 5).power(0.0, 0.05)) == (1, 0)
    assert math.isnan(Spread(math.nan, 5).power(0.1, 0.05))
    assert math.isnan(Spread(0.1, 5).power(math.nan, 0.05))


def test_new_items_alone_leave_what_raters_add() -> None:
    """Brennan (2001): the error's variance is that of items over their number, and of raters over theirs."""
    spread = Spread(0.05, 7, by_raters=0.02, items=50, raters=8)
    items = spread.of_larger_study(3, 1)
    assert (items.variance, items.by_raters) == (pytest.approx(0.03 / 3 + 0.02), 0.02)
    both = spread.of_larger_study(3, 2)
    assert (both.variance, both.items, both.raters) == (pytest.approx(0.02), 150, 16)
    # Satterthwaite's degrees of freedom, of the variance by items and the upper limit of that by raters.
    for larger, raters in ((items, 8), (both, 16)):
        most = larger.by_raters * (raters - 1) / stats.chi2.ppf(0.05, raters - 1)
        sum_of_squares = 0.01**2 / 149 + most**2 / (raters - 1)
        assert larger.df == pytest.approx((0.01 + most) ** 2 / sum_of_squares)
    without_raters = Spread(0.04, 19).of_larger_study(2, 1)
    assert (without_raters.variance, without_raters.df, without_raters.items) == (0.02, 39, 40)


def test_a_contrast_of_metrics_is_their_difference_of_accuracies() -> None:
    draw = np.random.default_rng(1)
    winners = draw.choice([1, 2], 60)
    scores = [(winners == 1) + draw.normal(0, noise, 60) for noise in (0.4, 1.0)]
    items = {"item": np.arange(60)}
    first, second = (np.column_stack([score, np.full(60, 0.5)]) for score in scores)
    difference = accuracy_difference(first, second, winners, clusters=items)["all"]
    named, other = (metric_winners(score, np.full(60, 0.5)) for score in scores)
    contrast = PeoplesWinners.from_winners(winners, clusters=items).contrast(
        named, other, np.ones(60, dtype=np.bool_)
    )
    assert contrast.difference == pytest.approx(difference.difference)
    assert contrast.p == pytest.approx(difference.p)
    assert contrast.t == pytest.approx(contrast.difference / math.sqrt(contrast.spread.variance))
    assert math.isnan(Contrast(0.1, Spread(0.0, 5)).t)


def test_a_share_of_pairs_is_known_from_its_items_however_few_raters_there_are() -> None:
    """Four raters: t of one study goes by three degrees of freedom, its part by items by 60 items."""
    draw = np.random.default_rng(2)
    votes = np.where(draw.random((60, 4)) < 0.6, 1, 2)
    winners = np.where((votes == 1).sum(axis=1) >= 2, 1, 2)
    pair, rater = (codes.ravel() for codes in np.indices(votes.shape))
    clusters = {"item": np.arange(60), "rater": winners_without_raters(pair, rater, votes.ravel(), 60)}
    people = PeoplesWinners.from_winners(winners, clusters=clusters)
    _, spread = people.spread_if_even(lambda _, winner: (winner == 1) * 1.0, np.ones(60, dtype=np.bool_))
    assert (spread.df, spread.effective_items) == (3, 60)
    larger = spread.of_larger_study(2, 2)
    by_items, raters = (spread.variance - spread.by_raters) / 2, 7
    most = (spread.by_raters + spread.within) / 2 * raters / stats.chi2.ppf(0.05, raters) - spread.within / 2
    sum_of_squares = by_items**2 / 119 + most**2 / raters
    assert larger.df == pytest.approx(np.clip((by_items + most) ** 2 / sum_of_squares, raters, 119))


def test_power_of_a_share_is_that_of_the_score_test() -> None:
    """Its variance is that of a half where the hypothesis is tested, and p (1 - p) where the power is reckoned."""
    pairs, share = 119, 0.63
    least = 1.959964 * 0.5 * math.sqrt(pairs)
    exact = stats.norm.sf((least - pairs * (share - 0.5)) / math.sqrt(pairs * share * (1 - share)))
    spread = Spread(0.25 / pairs, math.inf, independent_rows=pairs)
    assert spread.power(share - 0.5, 0.05) == pytest.approx(exact, abs=1e-6)
    won = np.random.default_rng(1).binomial(pairs, share, 200_000)
    assert spread.power(share - 0.5, 0.05) == pytest.approx((won - pairs / 2 > least).mean(), abs=0.02)
    unanimous = Spread(0.25 / 6, math.inf, independent_rows=6).power(0.5, 0.05)
    assert 0.8 < unanimous < (1 - 0.07) ** 6 + 0.3  # six of six are less than certain
    larger = Spread(0.25 / 40, math.inf, independent_rows=40).of_larger_study(pairs / 40, 1)
    assert larger.power(share - 0.5, 0.05) == pytest.approx(exact)
