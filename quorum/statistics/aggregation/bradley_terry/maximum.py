"""Newton's method for a concave likelihood of strengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from quorum.numeric.arrays import Flags, Floats

# A smaller share of the log-likelihood is a rounding error; a smaller share of a step is not tried.
_ROUNDING = 1e-12
# Largest change of a parameter in one step. After a larger one, chances may be so near 0 and 1 that no slope is left.
_MAX_STEP = 4.0


@dataclass(frozen=True, slots=True)
class Fit:
    """The maximum of a log-likelihood.

    theta: (K,) log-strengths with mean zero. parameters: (P,) all parameters, of which the first K are theta.
    covariance, information: square matrices for the free parameters alone. iterations, converged, gradient: how the fit
    ended (see `quorum.statistics`).
    """

    theta: Floats
    parameters: Floats
    covariance: Floats
    information: Floats
    log_likelihood: float
    iterations: int
    converged: bool
    gradient: float


class TrialFit(NamedTuple):
    """Parameters that are tried, and what follows from them.

    parameters: (P,), with log-strengths of mean zero. chances: the chances of the outcomes, in the form that the
    `derivatives` of `maximise` take.
    """

    parameters: Floats
    log_likelihood: float
    chances: Any


class StoppingRule(NamedTuple):
    """When a fit ends: after `max_iterations`, or when no parameter moves by more than `tolerance`.

    The tolerance holds for a step absolutely or in units of the parameter's standard error.
    """

    max_iterations: int
    tolerance: float


def maximise(
    evaluate: Callable[[Floats], TrialFit],
    derivatives: Callable[[TrialFit], tuple[Floats, Floats]],
    start: Floats,
    is_free: Flags,
    items: int,
    stopping_rule: StoppingRule,
) -> Fit:
    """Find the maximum of a log-likelihood, which must have one, by Newton's method with bounded steps.

    Args:
        evaluate: computes a trial fit from (P,) parameters.
        derivatives: computes the (P,) slope and the (P, P) information (the negative second derivative) at a trial fit.
        start: (P,) parameters to start from; the first `items` of them are log-strengths.
        is_free: (P,) flags of the parameters that may change. Log-strengths are free.

    The covariance is the inverse of the `invertible_information`.
    """
    max_iterations, tolerance = stopping_rule
    current_fit = evaluate(start)
    converged, iterations = False, 0
    slope, information = _free_derivatives(derivatives(current_fit), is_free)
    while not converged and iterations < max_iterations:
        iterations += 1
        step = np.zeros(len(start))
        step[is_free] = np.linalg.solve(invertible_information(information, items), slope)
        factor = min(1.0, _MAX_STEP / max(float(np.abs(step).max()), _ROUNDING))
        trial = evaluate(current_fit.parameters + factor * step)
        # Halve the step until the log-likelihood decreases by no more than a rounding error. `not >=` is also true of
        # nan.
        min_log_likelihood = current_fit.log_likelihood - _ROUNDING * abs(current_fit.log_likelihood)
        while not trial.log_likelihood >= min_log_likelihood and factor >= _ROUNDING:
            factor /= 2
            trial = evaluate(current_fit.parameters + factor * step)
        # sqrt(slope * step) is an upper limit of every parameter's step in units of its standard error.
        standardised_step = math.sqrt(max(float(slope @ step[is_free]), 0.0))
        converged = bool(min(float(np.abs(step).max()), standardised_step) <= tolerance)
        current_fit = trial
        slope, information = _free_derivatives(derivatives(current_fit), is_free)
    covariance: Floats = np.linalg.inv(invertible_information(information, items)).astype(
        np.float64, copy=False
    )
    return Fit(
        theta=current_fit.parameters[:items],
        parameters=current_fit.parameters,
        covariance=covariance,
        information=information,
        log_likelihood=current_fit.log_likelihood,
        iterations=iterations,
        converged=converged,
        gradient=float(np.abs(slope).max()),
    )


def remove_fixed_level(fit: Fit) -> Fit:
    """Return the fit with the covariance of log-strengths whose mean is zero.

    The covariance of `maximise` also has the variance of their mean, because `invertible_information` was inverted.
    Each entry is larger by 1 / (K m), where m is the largest entry of the information of the K log-strengths.
    """
    items = len(fit.theta)
    covariance = fit.covariance.copy()
    covariance[:items, :items] -= 1 / (float(fit.information[:items, :items].max()) * items)
    return replace(fit, covariance=covariance)


def _free_derivatives(derivatives: tuple[Floats, Floats], is_free: Flags) -> tuple[Floats, Floats]:
    slope, information = derivatives
    return slope[is_free], information[np.ix_(is_free, is_free)]


def invertible_information(information: Floats, items: int) -> Floats:
    """Return the information matrix with a term added that makes it invertible.

    It is singular because the likelihood does not change if the same number is added to all log-strengths, which are
    the first `items` parameters. The term is information about their mean, which fixes the mean.
    """
    matrix = information.copy()
    matrix[:items, :items] += matrix[:items, :items].max() / items
    return matrix
