"""The likelihood of outcomes, and the parameters that maximise it.

With d = theta_i - theta_j + order, where item i was shown first, the chances that i wins, that j wins, and that they
tie are in proportion to exp(d / 2), exp(-d / 2) and nu (Davidson 1970).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load at first use

from quorum.numeric.arrays import Floats
from quorum.statistics.aggregation.bradley_terry.maximum import (
    Fit,
    StoppingRule,
    TrialFit,
    maximise,
    remove_fixed_level,
)


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """(K, K) counts of comparisons by outcome: first won, second won, or tied. The item of the row was shown first."""

    first: Floats
    second: Floats
    tied: Floats


@dataclass(frozen=True, slots=True)
class StrengthParameters:
    """Parameters of the model.

    theta: (K,) log-strengths with mean zero. log_nu: -inf without ties. order: 0 without an order effect.
    """

    theta: Floats
    log_nu: float
    order: float

    @classmethod
    def from_values(cls, values: Floats) -> StrengthParameters:
        return cls(values[:-2], float(values[-2]), float(values[-1]))


def log_chances(parameters: StrengthParameters) -> tuple[Floats, Floats, Floats]:
    """Return the (K, K) logs of the module's chances that the first item wins, that the second wins, that they tie."""
    difference = parameters.theta[:, np.newaxis] - parameters.theta[np.newaxis, :] + parameters.order
    if parameters.log_nu == -math.inf:
        return (
            scipy.special.log_expit(difference),
            scipy.special.log_expit(-difference),
            np.full_like(difference, -math.inf),
        )
    half = difference / 2
    first = -np.logaddexp(0, np.logaddexp(-difference, parameters.log_nu - half))
    second = -np.logaddexp(0, np.logaddexp(difference, parameters.log_nu + half))
    return first, second, parameters.log_nu - np.logaddexp(np.logaddexp(half, -half), parameters.log_nu)


def fit_model(tables: OutcomeCounts, has_ties: bool, has_order: bool, stopping_rule: StoppingRule) -> Fit:
    """Return the strengths that maximise the likelihood, which must have a maximum."""
    items = len(tables.first)
    # If all items were equal, nu / 2 would be the odds of a tie.
    log_nu = math.log(2 * tables.tied.sum() / (tables.first + tables.second).sum()) if has_ties else -math.inf

    def evaluate(parameters: Floats) -> TrialFit:
        centred_values = parameters.copy()
        centred_values[:items] -= centred_values[:items].mean()
        chance_logs = log_chances(StrengthParameters.from_values(centred_values))
        return TrialFit(centred_values, _log_likelihood(tables, chance_logs), chance_logs)

    maximum = maximise(
        evaluate,
        lambda candidate: _derivatives(tables, candidate.chances),  # the logs, as `evaluate` returns them
        start=np.r_[np.zeros(items), log_nu, 0.0],
        is_free=np.r_[np.ones(items, dtype=bool), has_ties, has_order],
        items=items,
        stopping_rule=stopping_rule,
    )
    return remove_fixed_level(maximum)  # the mean of theta is fixed, so it has no variance


def _log_likelihood(tables: OutcomeCounts, chance_logs: tuple[Floats, Floats, Floats]) -> float:
    first, second, tie = chance_logs
    total = float((tables.first * first + tables.second * second).sum())
    # Without ties, `tie` may be -inf, of which zero times is nan.
    return total + float((tables.tied * tie).sum()) if tables.tied.any() else total


def _derivatives(tables: OutcomeCounts, chance_logs: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats]:
    """Return the (K + 2,) slope of the log-likelihood in theta, log nu and order, and the (K + 2, K + 2) information.

    The information is the negative second derivative.
    """
    # Do not subtract nearly equal numbers, as 1 - first would, so that one win in 10^12 counts.
    first, second, tie = (np.exp(logs) for logs in chance_logs)
    comparisons = tables.first + tables.second + tables.tied
    no_tie = first + second
    pair_slopes = (
        tables.first * (2 * second + tie) - tables.second * (2 * first + tie) - tables.tied * (first - second)
    ) / 2
    pair_information = comparisons * (no_tie * tie + 4 * first * second) / 4
    pair_nu_information = -comparisons * (first - second) * tie / 2
    items = len(comparisons)
    log_nu, order = items, items + 1  # positions of the parameters
    slope = np.empty(items + 2)
    slope[:items] = pair_slopes.sum(axis=1) - pair_slopes.sum(axis=0)
    slope[log_nu] = (tables.tied * no_tie).sum() - ((tables.first + tables.second) * tie).sum()
    slope[order] = pair_slopes.sum()
    information = np.empty((items + 2, items + 2))
    information[:items, :items] = -(pair_information + pair_information.T)
    own_information = pair_information.sum(axis=1) + pair_information.sum(axis=0)
    information[np.arange(items), np.arange(items)] += own_information
    information[:items, log_nu] = pair_nu_information.sum(axis=1) - pair_nu_information.sum(axis=0)
    information[:items, order] = pair_information.sum(axis=1) - pair_information.sum(axis=0)
    information[log_nu, log_nu] = (comparisons * no_tie * tie).sum()
    information[log_nu, order] = pair_nu_information.sum()
    information[order, order] = pair_information.sum()
    information[items:, :items] = information[:items, items:].T
    information[order, log_nu] = information[log_nu, order]
    return slope, information
