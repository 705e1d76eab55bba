"""Fit strengths to preferences by maximum likelihood. The docstring of the package defines the models."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.bradley_terry.maximum import (
    Fit,
    StoppingRule,
    TrialFit,
    invertible_information,
    maximise,
)
from quorum.statistics.aggregation.bradley_terry.results import ItemStrengths
from quorum.statistics.aggregation.preferences.models import MODELS, PreferenceModel, preference_model
from quorum.statistics.aggregation.preferences.rows import PreferenceRows
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    Clusters,
    check_confidence,
    cluster_columns,
    quantile_of,
)
from quorum.statistics.inference import signed
from quorum.statistics.inputs import BadValue, check_positive_int, is_real, one_of

CONFOUNDED_REASON = (
    "the effect of a covariate cannot be separated from the strengths of the items or from another covariate"
)
RISING_REASON = (
    "no finite strengths fit best: the answers rule out some outcome, and the likelihood rises for ever as the "
    "parameters grow"
)
# A parameter with a larger variance has no maximum, because it grows until the chances round to 0 and 1.
_MAX_VARIANCE = 1e8
# Parameters cannot be separated if the smallest eigenvalue of their scaled information is below this.
_MIN_EIGENVALUE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthResult(ItemStrengths):
    """Strengths from preferences c, on the scale of d: the difference of log-strengths, plus effects of covariates.

    adjacent model: P(c) is proportional to exp(c d / 2 + a_|c|).
    cumulative model: P(preference <= c) = F(t_c - d) with the logistic F.

    Attributes:
        levels: (C,) observed preferences and their opposites.
        cuts: in the adjacent model, a_|c| of the levels c >= 0 except the lowest positive one, whose a is 0; in the
            cumulative model, the thresholds t above zero.
        coefficients: (P,) coefficients of the covariates, with limits `coefficient_low` and `coefficient_high`.
        information: (K, K) Fisher information about d in one more comparison of the row's item with the column's.
    """

    model: str
    levels: Ints
    cuts: Floats
    coefficients: Floats
    coefficient_low: Floats
    coefficient_high: Floats
    information: Floats
    comparisons: int

    def chances(self, first: int, second: int) -> Floats:
        """Return the (C,) chances of the levels if two items are compared and all covariates are zero.

        first, second: positions in `items`.
        """
        difference = np.array([self.log_strength[first] - self.log_strength[second]])
        return preference_model(self.model, self.levels).chances(difference, self.cuts)[0]

    def gains(self) -> Floats:
        """Return the (K, K) gains of one more comparison of the row's item with the column's.

        A gain is log(1 + I v), with the comparison's information I and the variance v of d. It equals the decrease of
        the log determinant of the strengths' covariance. The pair with the largest gain is the best one to compare next
        (D-optimal: Fedorov 1972).
        """
        variance = np.diag(self.covariance)
        pair_variance = variance[:, np.newaxis] + variance[np.newaxis, :] - 2 * self.covariance
        return np.log1p(self.information * np.maximum(pair_variance, 0.0))


@signed("preference-strengths", data=("covariates", "weights"))
def preference_strengths(
    first: Iterable[Any],
    second: Iterable[Any],
    preferences: ArrayLike,
    *,
    model: str = "adjacent",
    covariates: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
    max_iterations: int = 200,
    tolerance: float = 1e-7,
    clusters: ClusterColumns = NAIVE,
) -> StrengthResult:
    """Fit strengths to (N,) first items, second items and preferences by maximum likelihood (Newton's method).

    Args:
        model: "adjacent" or "cumulative".
        covariates: (N, P) values of the first item minus those of the second. A column of ones gives the advantage of
            being first.
        weights: (N,) positive numbers.

    With weights or clusters, the covariance is that of the sandwich estimator (Liang, Zeger 1986).
    """
    check_confidence(confidence)
    check_positive_int(max_iterations, "max_iterations")
    one_of(model, MODELS, "model")
    if not (is_real(tolerance) and tolerance >= 0):
        raise BadValue(f"tolerance is {tolerance!r}, expected a number from zero on")
    rows = PreferenceRows.from_columns(first, second, preferences, covariates, weights)
    columns = cluster_columns(clusters)
    row_clusters = Clusters.from_columns(columns, len(rows.first)) if columns else None
    reason = rows.no_maximum_reason()
    fit = None
    if not reason:
        fit, reason = _fit_rows(rows, model, StoppingRule(max_iterations, tolerance))
    return _result(rows, fit, model, confidence, row_clusters, weights is not None, reason)


def _fit_rows(rows: PreferenceRows, name: str, stopping_rule: StoppingRule) -> tuple[Fit | None, str]:
    """Return the fit and "", or None and the reason why there is no fit.

    The parameters are the log-strengths of the items, the coefficients of the covariates, and the cuts of the model.
    """
    model = preference_model(name, rows.levels)
    design, counts = rows.design_and_counts()
    # d is linear in the first parameters, the log-strengths and the coefficients.
    items, linear_count = len(rows.items), design.shape[1]

    def evaluate(parameters: Floats) -> TrialFit:
        chances = model.chances(design @ parameters[:linear_count], parameters[linear_count:])
        centred = parameters.copy()
        centred[:items] -= centred[:items].mean()  # does not change the chances
        return TrialFit(centred, float((counts * np.log(chances)).sum()), chances)

    def derivatives(candidate: TrialFit) -> tuple[Floats, Floats]:
        linear_parameters, cuts = np.split(candidate.parameters, [linear_count])
        difference = design @ linear_parameters
        slopes = model.slopes(difference, cuts, candidate.chances)
        row_slopes = np.einsum("rc,rcm->rm", counts, slopes)
        row_information = model.information(difference, cuts, candidate.chances, slopes, counts)
        # Derivatives by d (entry 0) become derivatives by strengths and coefficients through the design (the chain
        # rule). The cuts (entries from 1 on) are parameters themselves.
        slope = np.r_[design.T @ row_slopes[:, 0], row_slopes[:, 1:].sum(axis=0)]
        information = np.empty((len(slope), len(slope)))
        information[:linear_count, :linear_count] = (
            design.T @ design.multiply(row_information[:, :1, 0])
        ).toarray()
        information[:linear_count, linear_count:] = design.T @ row_information[:, 0, 1:]
        information[linear_count:, :linear_count] = information[:linear_count, linear_count:].T
        information[linear_count:, linear_count:] = row_information[:, 1:, 1:].sum(axis=0)
        return slope, information

    start = np.r_[np.zeros(linear_count), model.start_cuts(counts.sum(axis=0))]
    if not _is_identified(derivatives(evaluate(start))[1], items):
        return None, CONFOUNDED_REASON
    is_free = np.ones(len(start), dtype=np.bool_)
    fit = maximise(evaluate, derivatives, start, is_free, items, stopping_rule)
    if not np.diag(fit.covariance).max() < _MAX_VARIANCE:  # larger, or nan
        return None, RISING_REASON
    # Remove the variance of the mean log-strength, which `invertible_information` fixed by adding this number to each
    # entry. This is `remove_fixed_level` in place.
    added_information = float(fit.information[:items, :items].max()) / items
    fit.covariance[:items, :items] -= 1 / (added_information * items**2)
    return fit, ""


def _is_identified(information: Floats, items: int) -> bool:
    """Return whether the data determine all parameters, up to a number that may be added to all log-strengths."""
    matrix = invertible_information(information, items)
    scale = np.sqrt(np.diag(matrix))
    if not (scale > 0).all():
        return False
    # With ones on the diagonal, the smallest eigenvalue does not depend on the units of covariates.
    return bool(np.linalg.eigvalsh(matrix / scale / scale[:, np.newaxis])[0] > _MIN_EIGENVALUE)


def _result(
    rows: PreferenceRows,
    fit: Fit | None,
    model_name: str,
    confidence: float,
    clusters: Clusters | None,
    is_weighted: bool,
    reason: str,
) -> StrengthResult:
    items, width = len(rows.items), rows.covariates.shape[1]
    model, freedom = preference_model(model_name, rows.levels), np.full(items, math.nan)
    cuts, beta, half_width = np.empty(0), np.full(width, math.nan), np.full(width, math.nan)
    information = np.full((items, items), math.nan)
    if fit is not None:
        freedom = np.full(len(fit.covariance), math.inf)
        if clusters is not None:
            covariance, freedom = clusters.covariance(_scores(rows, model, fit), fit.covariance)
            fit = replace(fit, covariance=covariance)
        elif is_weighted:
            # The sandwich estimator, with each row as a cluster.
            influence = np.asarray(_scores(rows, model, fit) @ fit.covariance)
            fit = replace(fit, covariance=influence.T @ influence)
        beta, cuts = np.split(fit.parameters[items:], [width])
        beta_positions = slice(items, items + width)
        standard_error = np.sqrt(np.maximum(np.diag(fit.covariance)[beta_positions], 0.0))
        half_width = standard_error * [quantile_of(confidence, df) for df in freedom[beta_positions]]
        # The information about d is the mean of its squared slopes.
        difference = (fit.theta[:, np.newaxis] - fit.theta).ravel()
        chances = model.chances(difference, cuts)
        slopes = model.slopes(difference, cuts, chances)[:, :, 0]
        information = (chances * slopes**2).sum(axis=1).reshape(items, items)
    strengths = ItemStrengths.from_fit(rows.items, fit, confidence, freedom, reason, clusters)
    return StrengthResult(
        model=model_name,
        levels=rows.levels,
        cuts=cuts,
        coefficients=beta,
        coefficient_low=beta - half_width,
        coefficient_high=beta + half_width,
        information=information,
        comparisons=len(rows.first),
        **strengths.fields_by_name(),
    )


def _scores(rows: PreferenceRows, model: PreferenceModel, fit: Fit) -> scipy.sparse.csr_array:
    """Return the (N, parameters) derivatives of each row's log-likelihood by strengths, coefficients and cuts."""
    items, n, width = len(rows.items), len(rows.first), rows.covariates.shape[1]
    beta, cuts = np.split(fit.parameters[items:], [width])
    difference = fit.theta[rows.first] - fit.theta[rows.second] + rows.covariates @ beta
    chances = model.chances(difference, cuts)
    # The derivatives of each row's log-likelihood by d (column 0) and by each cut.
    row = np.arange(n)
    row_scores = model.slopes(difference, cuts, chances)[row, rows.level] * rows.weights[:, np.newaxis]
    score_of_difference = row_scores[:, 0]
    # d has the first item's strength, minus the second item's strength, plus the covariates times their coefficients.
    other_scores = np.concatenate([row_scores[:, :1] * rows.covariates, row_scores[:, 1:]], axis=1)
    other_columns = np.tile(items + np.arange(width + len(cuts)), n)
    entries = np.concatenate([score_of_difference, -score_of_difference, other_scores.ravel()])
    entry_rows = np.concatenate([row, row, np.repeat(row, other_scores.shape[1])])
    entry_columns = np.concatenate([rows.first, rows.second, other_columns])
    return scipy.sparse.csr_array(
        (entries, (entry_rows, entry_columns)), shape=(n, items + width + len(cuts))
    )
