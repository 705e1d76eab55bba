"""Fit Bradley-Terry strengths to a table of wins or to comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.bradley_terry.comparisons import (
    ComparisonRows,
    encode_comparisons,
    square_counts,
)
from quorum.statistics.aggregation.bradley_terry.existence import (
    CONFOUNDED_REASON,
    RISING_REASON,
    TOO_FEW_ITEMS,
    UNBOUNDED_REASON,
    connected_groups,
    group_names,
    has_no_maximum,
    strengths_explain_order,
)
from quorum.statistics.aggregation.bradley_terry.likelihood import (
    OutcomeCounts,
    StrengthParameters,
    fit_model,
)
from quorum.statistics.aggregation.bradley_terry.maximum import Fit, StoppingRule
from quorum.statistics.aggregation.bradley_terry.results import BradleyTerryResult, ItemStrengths, shares_of
from quorum.statistics.aggregation.bradley_terry.settings import FitSettings
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    Clusters,
    CrossedEstimate,
    cluster_columns,
    columns_and_deletions,
    quantile_of,
)
from quorum.statistics.inference import signed
from quorum.statistics.inputs import BadShape, BadValue, encode, list_of_values, same_length

NO_TIES = "no comparison was tied, so nu is zero and has no interval"
_UNDEFINED = CrossedEstimate(math.nan, math.nan, math.nan)
_MAX_EXPONENT = 700  # math.exp raises OverflowError for exponents not much larger


@signed("bradley-terry", data=("ties", "items"), input="table")
def bradley_terry(
    wins: ArrayLike,
    *,
    ties: ArrayLike | None = None,
    items: Sequence[Any] | None = None,
    tie_model: str = "half",
    prior: float = 0.0,
    confidence: float = CONFIDENCE,
    max_iterations: int = 200,
    tolerance: float = 1e-7,
) -> BradleyTerryResult:
    """Fit strengths to a (K, K) table of wins, where wins[i, j] is how often i beat j.

    `ties` is a table in which ties[i, j] = ties[j, i] is how often i and j tied. `tie_model` is "half" or "davidson".
    `prior` adds that many wins of each item to every pair. The fit has converged if its last step moved no parameter by
    more than `tolerance`, absolutely or in units of its standard error.
    """
    table = square_counts(wins, "wins")
    tie_counts = np.zeros_like(table)
    if ties is not None:
        tie_counts = square_counts(ties, "ties")
        if tie_counts.shape != table.shape:
            raise BadShape(f"ties is {tie_counts.shape} and wins {table.shape}, expected the same shape")
        if not np.array_equal(tie_counts, tie_counts.T):
            raise BadValue("ties is not symmetric, expected ties[i, j] = ties[j, i]")
    names = np.arange(len(table))
    if items is not None:
        item_names = list_of_values(items, "items")
        encode(item_names, "items")  # raises for a missing name
        names = np.empty(len(item_names), dtype=object)
        names[:] = item_names
        same_length(wins=table, items=names)
    # A table does not say which item was shown first; without an order effect that does not matter. Each tie is in the
    # symmetric table twice, and is kept once.
    tables = OutcomeCounts(table, np.zeros_like(table), np.triu(tie_counts))
    settings = FitSettings(tie_model, False, prior, confidence, max_iterations, tolerance)
    return _fit_result(tables, names, settings)


@signed("bradley-terry", input="rows")
def bradley_terry_of_comparisons(
    first: Iterable[Any],
    second: Iterable[Any],
    winners: ArrayLike,
    *,
    tie_model: str = "half",
    order_effect: bool = False,
    prior: float = 0.0,
    confidence: float = CONFIDENCE,
    max_iterations: int = 200,
    tolerance: float = 1e-7,
    clusters: ClusterColumns = NAIVE,
) -> BradleyTerryResult:
    """Fit strengths to (N,) first items, second items and winners: 1, 2, or 0 for a tie.

    Other options are as in `bradley_terry`.

    With `order_effect`, the items in the column `first` were shown first, and the advantage of being shown first is
    fitted. With `clusters`, covariance and intervals use the sandwich estimator (Liang, Zeger 1986) and quantiles
    of t. If each winner is a majority of votes, `RaterDeletions` in `clusters`, which say how it changes without a
    rater, add the variance due to raters (first-order).
    """
    names, first_item, second_item, outcome, counts = encode_comparisons(first, second, winners)
    ties, first_wins, second_wins = counts.astype(np.float64)
    settings = FitSettings(tie_model, order_effect, prior, confidence, max_iterations, tolerance)
    plain_clusters, deletions = columns_and_deletions(clusters)
    columns, n, rows = cluster_columns(plain_clusters), len(first_item), None
    if deletions is not None:
        deletions.check(n, "comparison")
        columns = columns or {"comparison": range(n)}  # each comparison is a cluster
    if columns:
        rows = ComparisonRows(first_item, second_item, outcome, Clusters.from_columns(columns, n), deletions)
    return _fit_result(OutcomeCounts(first_wins, second_wins, ties), names, settings, rows)


def _fit_result(
    tables: OutcomeCounts, items: NDArray[Any], settings: FitSettings, rows: ComparisonRows | None = None
) -> BradleyTerryResult:
    """Fit the model to (K, K) counts, with the covariance of clustered `rows` if they are given."""
    comparisons = float((tables.first + tables.second + tables.tied).sum())
    # Half of the prior's wins goes to each of the two orders in which items are shown.
    prior_wins = settings.prior / 2 * (1 - np.eye(len(items)))
    tables = OutcomeCounts(tables.first + prior_wins, tables.second + prior_wins, tables.tied)
    if settings.tie_model == "half":
        half_ties = tables.tied / 2
        tables = OutcomeCounts(tables.first + half_ties, tables.second + half_ties, np.zeros_like(half_ties))
    has_ties = bool(tables.tied.any())
    group_count, groups = connected_groups(tables)
    reason = ""
    if len(items) < 2:
        reason = TOO_FEW_ITEMS
    elif group_count > 1:
        reason = UNBOUNDED_REASON.format(group_count, group_names(groups, items))
    elif settings.order_effect and strengths_explain_order(tables):
        reason = CONFOUNDED_REASON
    elif has_no_maximum(tables, has_ties, settings.order_effect):
        optional_parameters = {"ties": has_ties, "the order effect": settings.order_effect}
        free_names = [name for name, is_free in optional_parameters.items() if is_free]
        reason = RISING_REASON.format(" and ".join(free_names))
    fit = None
    if not reason:
        stopping_rule = StoppingRule(settings.max_iterations, settings.tolerance)
        fit = fit_model(tables, has_ties, settings.order_effect, stopping_rule)
    # Degrees of freedom of log-strengths, log nu and the order effect: infinite, as in the normal distribution.
    freedom = np.full(len(items) + 2, math.inf)
    clusters = rows.clusters if rows is not None else None
    if fit is not None and rows is not None:
        covariance, freedom, clusters = rows.covariance(fit, settings)
        fit = replace(fit, covariance=covariance)
    strengths = ItemStrengths.from_fit(items, fit, settings.confidence, freedom, reason, clusters)
    return _result(fit, strengths, groups, comparisons, settings, freedom)


def _result(
    fit: Fit | None,
    strengths: ItemStrengths,
    groups: Ints,
    comparisons: float,
    settings: FitSettings,
    freedom: Floats,
) -> BradleyTerryResult:
    """Return the result of a fit, or of None if there is no maximum."""
    nu = order_effect = _UNDEFINED
    if fit is not None:
        nu, order_effect = _estimate_nu_and_order(fit, len(strengths.items), settings, freedom)
    note = "; ".join(filter(None, (NO_TIES if nu.value == 0 else "", strengths.note)))
    clustered_freedom = strengths.freedom if strengths.clusters else np.empty(0)
    return BradleyTerryResult(
        strength=shares_of(strengths.log_strength),
        prior=float(settings.prior),
        groups=groups,
        comparisons=comparisons,
        tie_model=settings.tie_model,
        nu=nu.value,
        nu_low=nu.low,
        nu_high=nu.high,
        order_effect=order_effect.value,
        order_effect_low=order_effect.low,
        order_effect_high=order_effect.high,
        **{**strengths.fields_by_name(), "note": note, "freedom": clustered_freedom},
    )


def _estimate_nu_and_order(
    fit: Fit, item_count: int, settings: FitSettings, freedom: Floats
) -> tuple[CrossedEstimate, CrossedEstimate]:
    """Return nu (Davidson 1970) and the order effect with their intervals; one that was not fitted is undefined."""
    nu = order = _UNDEFINED
    peak = StrengthParameters.from_values(fit.parameters)
    # The covariance has the free parameters alone: log-strengths, then log nu, then the order effect.
    log_nu_index, order_index = item_count, len(fit.covariance) - 1
    errors = np.sqrt(np.maximum(np.diag(fit.covariance), 0.0)).tolist()
    if peak.log_nu > -math.inf:
        half_width = quantile_of(settings.confidence, freedom[log_nu_index]) * errors[log_nu_index]
        low, high = peak.log_nu - half_width, peak.log_nu + half_width
        # One tie in 10^12 comparisons has an upper limit beyond the largest float.
        max_nu = math.exp(high) if high < _MAX_EXPONENT else math.inf
        nu = CrossedEstimate(math.exp(peak.log_nu), math.exp(low), max_nu)
    elif settings.tie_model == "davidson":  # and no comparison was tied
        nu = CrossedEstimate(0.0, math.nan, math.nan)
    if settings.order_effect:
        half_width = quantile_of(settings.confidence, freedom[order_index]) * errors[order_index]
        order = CrossedEstimate(peak.order, peak.order - half_width, peak.order + half_width)
    return nu, order
