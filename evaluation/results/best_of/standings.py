"""Compare systems by people's choices of the best of several captions."""

from __future__ import annotations

import numpy as np

from evaluation.results.best_of.choices import Choices
from evaluation.results.standings import (
    BEST,
    Standings,
    contrasts_of_fit,
    contrasts_where_compared,
    divide_variances,
    figures_of,
)
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import NO_CONTRAST, RATER, Contrast
from quorum.statistics.meta import PeoplesWinners


def standings_of_choices(choices: Choices) -> Standings:
    """Compare systems by the strengths fitted to choices.

    If strengths are unknown, compare how often each is the best.
    """
    fit, shares = choices.strengths, choices.shares()
    names = [str(name) for name in fit.items.tolist()]
    figures = {
        name: figures_of(row["best"], row["best_low"], row["best_high"], row["shown"])
        for name, row in shares.items()
    }

    def compare(first: int, second: int) -> Contrast:
        return _compare_two(choices, names[first], names[second])

    strength = fit.log_strength
    contrasts = divide_variances(contrasts_of_fit(strength, fit.covariance, fit.freedom), compare)
    if fit.reason:  # strengths are infinite, because a system is always the best, or have no standard errors
        strength = np.array([figures[name]["value"] for name in names])
        contrasts = contrasts_where_compared(strength, compare)
    return Standings(
        measure=BEST,
        names=names,
        figures=figures,
        strength=strength,
        contrast=contrasts,
        items=choices.items,
        raters=fit.clusters.get(RATER),
    )


def _compare_two(choices: Choices, first: str, second: str) -> Contrast:
    """Compare two systems on the lists of which the best caption is of one of them, but not of both.

    The difference is the share of these lists that the first system wins, minus a half.
    """
    is_won_by_one = np.array([(first in systems) != (second in systems) for systems in choices.winners])
    if not is_won_by_one.any() or not choices.clusters:
        return NO_CONTRAST
    winners = np.array([1 if first in systems else 2 for systems in choices.winners])[is_won_by_one]
    clusters = {name: column[is_won_by_one] for name, column in choices.clusters.items()}
    people = PeoplesWinners.from_winners(winners, clusters=clusters)

    def credit(pairs: Ints, pair_winners: Floats) -> Floats:
        return (pair_winners == 1) * 1.0

    share, spread = people.spread_if_even(credit, winners > 0)
    return Contrast(share - 0.5, spread)
