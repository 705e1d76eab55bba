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
    return Standings(BEST, names, figures, strength, contrasts, choices.items, fit.clusters.get(RATER))


def _compare_two(choices: Choices, first: str, second: str) -> Contrast:
    """Compare with 1/2 the share of the first system, among lists in which one of the two systems is the best."""
    rows = np.array([(first in best) != (second in best) for best in choices.winners])
    if not rows.any() or not choices.clusters:
        return NO_CONTRAST
    winners = np.array([1 if first in best else 2 for best in choices.winners])[rows]
    clusters = {name: column[rows] for name, column in choices.clusters.items()}
    people = PeoplesWinners.from_winners(winners, clusters=clusters)
    share, spread = people.spread_if_even(lambda _rows, winner: (winner == 1) * 1.0, winners > 0)
    return Contrast(share - 0.5, spread)
