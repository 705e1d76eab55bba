"""Ordinal Bradley-Terry models: strengths from comparisons with ties, degrees of preference, covariates and weights.

A preference is a whole number: positive for the first item, negative for the second, 0 for no difference. 2 is much
better, 1 slightly better. With d = theta_i - theta_j + x'beta, there are two models (Agresti 1992, *Analysis of Ordinal
Paired Comparison Data*), both symmetric in first and second:

adjacent: P(c) is proportional to exp(c d / 2 + a_|c|). For preferences -1, 0, 1 it is Davidson's (1970) model, with
nu = exp(a_0).
cumulative: P(preference <= c) = F(t_c - d) with the logistic F. For -1, 0, 1 it is Rao and Kupper's (1967) model.

Covariates control for style; weights correct for adaptive sampling of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.bradley_terry.existence import (
    TOO_FEW_ITEMS,
    UNBOUNDED_REASON,
    connected_groups,
    group_names,
)
from quorum.statistics.aggregation.bradley_terry.likelihood import OutcomeCounts
from quorum.statistics.aggregation.bradley_terry.maximum import (
    Fit,
    TrialFit,
    invertible_information,
    maximise,
)
from quorum.statistics.aggregation.bradley_terry.results import ItemStrengths
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    Clusters,
    check_confidence,
    cluster_columns,
    quantile_of,
)
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    BadShape,
    BadValue,
    check_positive_int,
    encode_both,
    finite_vector,
    floats_of,
    is_real,
    one_of,
    same_length,
)
from quorum.statistics.resampling import Seed, generator_of

MODELS = ("adjacent", "cumulative")
MAX_LEVELS = 10  # largest preference
NO_WINNER = "no comparison has a winner"
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
# A smaller chance is replaced by this, which has a finite logarithm.
_MIN_PROBABILITY = 1e-300
# Numbers drawn at once for ranks, which limits memory to about 16 MB.
_DRAWN_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthResult(ItemStrengths):
    """Strengths from preferences, on the scale of d. The docstring of this module defines d, a, t and both models.

    Attributes:
        levels: (C,) observed preferences and their opposites.
        cuts: in the adjacent model, a_|c| of the levels c >= 0 except the lowest positive one, whose a is 0; in the
            cumulative model, the thresholds t above zero.
        coefficients: (P,) coefficients of the covariates, with limits `coefficient_low` and `coefficient_high`.
        information: (K, K) Fisher information about d in one more comparison.
        comparisons: number of comparisons.
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
        """Return the (C,) chances of the levels in a comparison of two positions in `items`.

        All covariates are zero.
        """
        difference = np.array([self.log_strength[first] - self.log_strength[second]])
        return _PreferenceModel(self.model, self.levels).chances(difference, self.cuts)[0]

    def gains(self) -> Floats:
        """Return the (K, K) gains of one more comparison of each pair.

        A gain is log(1 + I v), with the comparison's information I and the variance v of d. It equals the decrease of
        the log determinant of the strengths' covariance. The pair with the largest gain is the D-optimal next pair
        (Fedorov 1972).
        """
        variance = np.diag(self.covariance)
        pair_variance = variance[:, np.newaxis] + variance[np.newaxis, :] - 2 * self.covariance
        return np.log1p(self.information * np.maximum(pair_variance, 0.0))


@dataclass(frozen=True, slots=True)
class _PreferenceModel:
    """One of MODELS for (C,) levels. Differences d are (R,), and chances of the levels (R, C)."""

    name: str
    levels: Ints

    @property
    def magnitudes(self) -> Ints:
        """The levels from 0 on."""
        return self.levels[self.levels >= 0]

    @property
    def has_ties(self) -> bool:
        return bool(self.levels[len(self.levels) // 2] == 0)

    @property
    def free_positions(self) -> list[int]:
        """The positions of the magnitudes with a free parameter a: all but the lowest positive magnitude."""
        reference = 1 if self.has_ties else 0
        return [level for level in range(len(self.magnitudes)) if level != reference]

    def start_cuts(self, counts: Floats) -> Floats:
        """Return the cuts that fit the (C,) counts of the levels if all strengths are equal."""
        magnitude_counts = (counts + counts[::-1])[self.levels >= 0]
        if self.has_ties:
            magnitude_counts[0] /= 2
        if self.name == "adjacent":
            symmetric_counts = magnitude_counts * np.where(self.magnitudes == 0, 2, 1)
            reference = symmetric_counts[1 if self.has_ties else 0]
            return np.log(symmetric_counts[self.free_positions] / reference)
        share_below = np.cumsum(magnitude_counts)[:-1] / magnitude_counts.sum()
        return scipy.special.logit((1 + share_below) / 2)

    def chances(self, difference: Floats, cuts: Floats) -> Floats:
        """Return the (R, C) chances of the levels."""
        if self.name == "adjacent":
            log_weight = difference[:, np.newaxis] * self.levels / 2 + self._offsets(cuts)
            weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
            return weight / weight.sum(axis=1, keepdims=True)
        bounds = self._bounds(cuts) - difference[:, np.newaxis]
        lower, upper = bounds[:, :-1], bounds[:, 1:]
        # Near 1, differences of the distribution function lose digits, so take them from the other tail.
        is_above_middle = lower + np.where(np.isinf(upper), 0.0, upper) > 0
        from_lower_tail = scipy.special.expit(upper) - scipy.special.expit(lower)
        from_upper_tail = scipy.special.expit(-lower) - scipy.special.expit(-upper)
        # If thresholds are out of order, chances are negative. Return tiny ones instead, so that the step is halved.
        return np.maximum(np.where(is_above_middle, from_upper_tail, from_lower_tail), _MIN_PROBABILITY)

    def slopes(self, difference: Floats, cuts: Floats, chances: Floats) -> Floats:
        """Return the (R, C, M) derivatives of the log chances by d and by each cut."""
        rows, count = chances.shape
        slopes = np.zeros((rows, count, 1 + len(cuts)))
        if self.name == "adjacent":
            features = np.zeros((count, 1 + len(cuts)))
            features[:, 0] = self.levels / 2
            for column, position in enumerate(self.free_positions, start=1):
                features[:, column] = np.abs(self.levels) == self.magnitudes[position]
            slopes += features
            slopes -= (chances @ features)[:, np.newaxis, :]
            return slopes
        cumulative, bound_slopes = self._cumulative(difference, cuts), self._bound_derivatives(len(cuts))
        density = cumulative * (1 - cumulative)
        slopes += density[:, 1:, np.newaxis] * bound_slopes[1:]
        slopes -= density[:, :-1, np.newaxis] * bound_slopes[:-1]
        slopes /= chances[:, :, np.newaxis]
        slopes[:, :, 0] = cumulative[:, 1:] + cumulative[:, :-1] - 1  # avoids a quotient of small numbers
        return slopes

    def information(
        self, difference: Floats, cuts: Floats, chances: Floats, slopes: Floats, counts: Floats
    ) -> Floats:
        """Return the (R, M, M) information of rows about d and the cuts, from the (R, C) counts of the levels."""
        if self.name == "adjacent":
            weights = counts.sum(axis=1)[:, np.newaxis] * chances
            return np.einsum("rc,rcm,rcn->rmn", weights, slopes, slopes, optimize=True)
        cumulative, bound_slopes = self._cumulative(difference, cuts), self._bound_derivatives(len(cuts))
        curvature = cumulative * (1 - cumulative) * (1 - 2 * cumulative)
        counts_per_chance = np.pad(counts / chances, ((0, 0), (1, 1)))
        curvature *= counts_per_chance[:, :-1] - counts_per_chance[:, 1:]
        slope_products = bound_slopes[:, :, np.newaxis] * bound_slopes[:, np.newaxis, :]
        outer = np.einsum("rc,rcm,rcn->rmn", counts, slopes, slopes, optimize=True)
        return outer - np.einsum("rb,bmn->rmn", curvature, slope_products)

    def _cumulative(self, difference: Floats, cuts: Floats) -> Floats:
        return scipy.special.expit(self._bounds(cuts) - difference[:, np.newaxis])

    def _bound_derivatives(self, cut_count: int) -> Floats:
        """Return the (C + 1, M) derivatives of the bounds of the levels, minus d, by d and by each cut."""
        bound_count = len(self.levels) + 1
        slopes = np.zeros((bound_count, 1 + cut_count))
        slopes[1:-1, 0] = -1
        for cut in range(cut_count):
            slopes[bound_count - 1 - cut_count + cut, 1 + cut] = 1
            slopes[cut_count - cut, 1 + cut] = -1
        return slopes

    def _offsets(self, cuts: Floats) -> Floats:
        """Return a_|c| of the levels; it is 0 for the lowest positive one."""
        by_magnitude = np.zeros(len(self.magnitudes))
        by_magnitude[self.free_positions] = cuts
        return by_magnitude[np.searchsorted(self.magnitudes, np.abs(self.levels))]

    def _bounds(self, cuts: Floats) -> Floats:
        """Return the (C + 1,) thresholds between the levels, from -inf to inf."""
        middle = [] if self.has_ties else [0.0]
        return np.r_[-np.inf, -cuts[::-1], middle, cuts, np.inf]


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

    `covariates`: (N, P) values of the first item minus those of the second; a column of ones is the advantage of the
    first. `weights`: (N,) positive numbers. With weights or clusters, intervals are by the sandwich estimator.
    """
    check_confidence(confidence)
    check_positive_int(max_iterations, "max_iterations")
    one_of(model, MODELS, "model")
    if not (is_real(tolerance) and tolerance >= 0):
        raise BadValue(f"tolerance is {tolerance!r}, expected a number from zero on")
    rows = _PreferenceRows.from_columns(first, second, preferences, covariates, weights)
    columns = cluster_columns(clusters)
    row_clusters = Clusters.from_columns(columns, len(rows.first)) if columns else None
    reason = rows.no_maximum_reason()
    fit = None
    if not reason:
        fit, reason = _fit_rows(rows, model, (max_iterations, tolerance))
    return _result(rows, fit, model, confidence, row_clusters, weights is not None, reason)


@dataclass(frozen=True, slots=True)
class _PreferenceRows:
    """N comparisons of K items, with (N, P) covariates and (N,) weights.

    first, second: (N,) positions in `items`. level: (N,) position of the preference in `levels`.
    """

    items: NDArray[Any]
    first: Ints
    second: Ints
    levels: Ints
    level: Ints
    covariates: Floats
    weights: Floats

    @classmethod
    def from_columns(
        cls,
        first: Iterable[Any],
        second: Iterable[Any],
        preferences: ArrayLike,
        covariates: ArrayLike | None,
        weights: ArrayLike | None,
    ) -> _PreferenceRows:
        """Check the columns. Raise BadValue or BadShape if they cannot be used."""
        items, first_item, second_item = encode_both(first, second, "first", "second")
        preference = finite_vector(preferences, "preferences")
        same_length(first=first_item, preferences=preference)
        if (first_item == second_item).any():
            row = int(np.flatnonzero(first_item == second_item)[0])
            raise BadValue(
                f"row {row} sets {items.tolist()[first_item[row]]!r} against itself, expected two items"
            )
        whole_preference = preference.astype(np.int64)
        if (whole_preference != preference).any() or (np.abs(whole_preference) > MAX_LEVELS).any():
            row = int(np.flatnonzero((whole_preference != preference) | (np.abs(preference) > MAX_LEVELS))[0])
            raise BadValue(f"preferences[{row}] is {preference[row]:g}, expected a whole number, -2 to 2")
        if len(np.unique(np.abs(whole_preference[whole_preference != 0]))) == 1:
            # A single magnitude has no degrees, so keep the scale of log-odds.
            whole_preference = np.sign(whole_preference)
        seen_levels = np.unique(np.abs(whole_preference))
        levels = np.unique(np.r_[-seen_levels, seen_levels])
        table = np.zeros((len(first_item), 0))
        if covariates is not None:
            table = floats_of(covariates, "covariates", "something that is no number, expected numbers")
            table = table[:, np.newaxis] if table.ndim == 1 else table
            if table.ndim != 2 or len(table) != len(first_item):
                raise BadShape(f"covariates is of shape {table.shape}, expected a row for each comparison")
            if not np.isfinite(table).all():
                raise BadValue("covariates holds a number that is not finite")
        weight = np.ones(len(first_item))
        if weights is not None:
            weight = finite_vector(weights, "weights")
            same_length(first=first_item, weights=weight)
            if (weight <= 0).any():
                raise BadValue("weights holds a number that is not above zero")
        return cls(
            items, first_item, second_item, levels, np.searchsorted(levels, whole_preference), table, weight
        )

    def no_maximum_reason(self) -> str:
        """Return the reason why the likelihood has no maximum, or "" if none is found."""
        items = len(self.items)
        if items < 2:
            return TOO_FEW_ITEMS
        if not self.levels.any():
            return NO_WINNER
        table = np.zeros((3, items, items))
        np.add.at(table, (np.sign(self.levels[self.level]), self.first, self.second), 1.0)
        # Signs are positions in the table: 1 if the first won, -1 (the last) if the second won, and 0 for a tie.
        group_count, groups = connected_groups(OutcomeCounts(table[1], table[-1], table[0]))
        if group_count == 1:
            return ""
        return UNBOUNDED_REASON.format(group_count, group_names(groups, self.items))

    def patterns(self) -> tuple[scipy.sparse.csr_array, Floats]:
        """Return the (R, K + P) design and the (R, C) weights by level.

        Without covariates, equal comparisons share a row, which has the sums of their weights.
        """
        item_count, width = len(self.items), self.covariates.shape[1]
        if width:
            first, second, covariates = self.first, self.second, self.covariates
            pattern = np.arange(len(first))
        else:
            pairs, pattern = np.unique(self.first * item_count + self.second, return_inverse=True)
            first, second = pairs // item_count, pairs % item_count
            covariates = np.zeros((len(pairs), 0))
        rows = np.arange(len(first))
        data = np.concatenate([np.ones(len(first)), -np.ones(len(first)), covariates.ravel()])
        row = np.concatenate([rows, rows, np.repeat(rows, width)])
        column = np.concatenate([first, second, np.tile(item_count + np.arange(width), len(first))])
        design = scipy.sparse.csr_array((data, (row, column)), shape=(len(first), item_count + width))
        cells = pattern * len(self.levels) + self.level
        weights = np.bincount(cells, weights=self.weights, minlength=len(first) * len(self.levels))
        return design, weights.reshape(len(first), -1).astype(np.float64, copy=False)


def _fit_rows(rows: _PreferenceRows, name: str, limits: tuple[int, float]) -> tuple[Fit | None, str]:
    """Return the fit and "", or None and the reason why there is no fit."""
    model = _PreferenceModel(name, rows.levels)
    design, counts = rows.patterns()
    items, width = len(rows.items), design.shape[1]

    def evaluate(parameters: Floats) -> TrialFit:
        chances = model.chances(design @ parameters[:width], parameters[width:])
        centred = parameters.copy()
        centred[:items] -= centred[:items].mean()
        return TrialFit(centred, float((counts * np.log(chances)).sum()), chances)

    def derivatives(candidate: TrialFit) -> tuple[Floats, Floats]:
        linear, cuts = np.split(candidate.parameters, [width])
        difference = design @ linear
        slopes = model.slopes(difference, cuts, candidate.chances)
        row_slopes = np.einsum("rc,rcm->rm", counts, slopes)
        row_information = model.information(difference, cuts, candidate.chances, slopes, counts)
        slope = np.r_[design.T @ row_slopes[:, 0], row_slopes[:, 1:].sum(axis=0)]
        information = np.empty((len(slope), len(slope)))
        information[:width, :width] = (design.T @ design.multiply(row_information[:, :1, 0])).toarray()
        information[:width, width:] = design.T @ row_information[:, 0, 1:]
        information[width:, :width] = information[:width, width:].T
        information[width:, width:] = row_information[:, 1:, 1:].sum(axis=0)
        return slope, information

    start = np.r_[np.zeros(width), model.start_cuts(counts.sum(axis=0))]
    if not _is_identified(derivatives(evaluate(start))[1], items):
        return None, CONFOUNDED_REASON
    fit = maximise(evaluate, derivatives, start, np.ones(len(start), dtype=np.bool_), items, limits)
    if not np.diag(fit.covariance).max() < _MAX_VARIANCE:
        return None, RISING_REASON
    # Remove the constant that fixed the mean of the strengths from their covariance.
    constant = float(fit.information[:items, :items].max()) / items
    fit.covariance[:items, :items] -= 1 / (constant * items**2)
    return fit, ""


def _is_identified(information: Floats, items: int) -> bool:
    """Return whether the data determine all parameters, up to a constant that is added to all strengths."""
    matrix = invertible_information(information, items)
    scale = np.sqrt(np.diag(matrix))
    if not (scale > 0).all():
        return False
    return bool(np.linalg.eigvalsh(matrix / scale / scale[:, np.newaxis])[0] > _MIN_EIGENVALUE)


def _result(
    rows: _PreferenceRows,
    fit: Fit | None,
    name: str,
    confidence: float,
    clusters: Clusters | None,
    weighted: bool,
    reason: str,
) -> StrengthResult:
    """Return the result of a fit, or of None with the reason why there is none."""
    items, width = len(rows.items), rows.covariates.shape[1]
    model, freedom = _PreferenceModel(name, rows.levels), np.full(items, math.nan)
    cuts, beta, half_width = np.empty(0), np.full(width, math.nan), np.full(width, math.nan)
    information = np.full((items, items), math.nan)
    if fit is not None:
        freedom = np.full(len(fit.covariance), math.inf)
        if clusters is not None or weighted:
            scores = _scores(rows, model, fit)
            if clusters is not None:
                covariance, freedom = clusters.covariance(scores, fit.covariance)
            else:
                influence = np.asarray(scores @ fit.covariance)
                covariance = influence.T @ influence
            fit = replace(fit, covariance=covariance)
        beta, cuts = np.split(fit.parameters[items:], [width])
        beta_positions = slice(items, items + width)
        standard_error = np.sqrt(np.maximum(np.diag(fit.covariance)[beta_positions], 0.0))
        half_width = standard_error * [quantile_of(confidence, df) for df in freedom[beta_positions]]
        difference = (fit.theta[:, np.newaxis] - fit.theta).ravel()
        chances = model.chances(difference, cuts)
        slopes = model.slopes(difference, cuts, chances)[:, :, 0]
        information = (chances * slopes**2).sum(axis=1).reshape(items, items)
    strengths = ItemStrengths.from_fit(rows.items, fit, confidence, freedom, reason, clusters)
    return StrengthResult(
        model=name,
        levels=rows.levels,
        cuts=cuts,
        coefficients=beta,
        coefficient_low=beta - half_width,
        coefficient_high=beta + half_width,
        information=information,
        comparisons=len(rows.first),
        **strengths.fields_by_name(),
    )


def _scores(rows: _PreferenceRows, model: _PreferenceModel, fit: Fit) -> scipy.sparse.csr_array:
    """Return the (N, parameters) derivatives of each row's log-likelihood by strengths, coefficients and cuts."""
    items, n, width = len(rows.items), len(rows.first), rows.covariates.shape[1]
    beta, cuts = np.split(fit.parameters[items:], [width])
    difference = fit.theta[rows.first] - fit.theta[rows.second] + rows.covariates @ beta
    chances = model.chances(difference, cuts)
    residual = model.slopes(difference, cuts, chances)[np.arange(n), rows.level] * rows.weights[:, np.newaxis]
    other_scores = np.concatenate([residual[:, :1] * rows.covariates, residual[:, 1:]], axis=1)
    row = np.arange(n)
    other_columns = np.tile(items + np.arange(width + len(cuts)), n)
    return scipy.sparse.csr_array(
        (
            np.concatenate([residual[:, 0], -residual[:, 0], other_scores.ravel()]),
            (
                np.concatenate([row, row, np.repeat(row, other_scores.shape[1])]),
                np.concatenate([rows.first, rows.second, other_columns]),
            ),
        ),
        shape=(n, items + width + len(cuts)),
    )


@dataclass(frozen=True, slots=True)
class RankBands(Result):
    """The (K,) best and worst ranks of items; all true ranks together lie between them with the given confidence.

    critical: quantile, at that confidence, of the largest |t| of all pairs. draws: number of simulated draws.
    """

    best: Ints
    worst: Ints
    critical: float
    confidence: float
    draws: int


@signed("rank-bands", data=("freedom",))
def rank_bands(
    strengths: ArrayLike,
    covariance: ArrayLike,
    *,
    freedom: Sequence[float] | None = None,
    confidence: float = CONFIDENCE,
    draws: int = 10_000,
    seed: Seed = 0,
) -> RankBands:
    """Return the ranks that (K,) strengths with (K, K) covariance allow (Mogstad et al. 2024, *Inference for Ranks*).

    An item ranks below the items whose strengths exceed its own by more than the critical value, which is the same for
    all differences. The critical value is simulated from the multivariate t distribution with the lowest of `freedom`.
    """
    confidence = check_confidence(confidence)
    check_positive_int(draws, "draws")
    generator, reported_seed = generator_of(seed)
    theta = floats_of(strengths, "strengths", "something that is no number")
    table = floats_of(covariance, "covariance", "something that is no number")
    if table.shape != (len(theta), len(theta)):
        raise BadShape(f"covariance is of shape {table.shape}, expected {len(theta)} rows and columns")
    items = len(theta)
    if items < 2 or not (np.isfinite(theta).all() and np.isfinite(table).all()):
        no_ranks = np.zeros(items, dtype=np.int64)
        reason = "there are no strengths with intervals"
        return RankBands(no_ranks, no_ranks, math.nan, confidence, draws, seed=reported_seed, reason=reason)
    first, second = np.triu_indices(items, 1)
    spread = np.sqrt(np.maximum(table[first, first] + table[second, second] - 2 * table[first, second], 0.0))
    # Draw the largest |t| of all pairs from the multivariate t distribution of the strengths.
    eigenvalues, eigenvectors = np.linalg.eigh(table)
    covariance_root = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    has_spread = spread > 0
    min_freedom = math.inf if freedom is None else min(freedom)
    largest_distances = np.empty(draws)
    batch_size = max(1, _DRAWN_CELLS // max(1, len(first)))
    for start in range(0, draws, batch_size):
        size = min(batch_size, draws - start)
        normal = generator.standard_normal((size, items)) @ covariance_root.T
        if min_freedom < math.inf:
            normal /= np.sqrt(generator.chisquare(min_freedom, size) / min_freedom)[:, np.newaxis]
        distances = np.abs(normal[:, first] - normal[:, second])[:, has_spread] / spread[has_spread]
        largest_distances[start : start + size] = distances.max(axis=1, initial=0.0)
    critical = float(np.quantile(largest_distances, confidence))
    # Count the items that are above, and below, each item by more than the critical value.
    difference = theta[first] - theta[second]
    is_distinct = np.abs(difference) > critical * spread
    higher, lower = np.where(difference > 0, (first, second), (second, first))[:, is_distinct]
    above, below = np.bincount(lower, minlength=items), np.bincount(higher, minlength=items)
    return RankBands(1 + above, items - below, critical, confidence, draws, seed=reported_seed)
