"""Correlation of a metric with people within groups of outputs, averaged over the groups.

An output is what a system gives for an item, such as its caption of an image. Outputs are grouped by item or by system,
or not at all. The groupings are from Deutsch, Dror, Roth 2021, and Deutsch, Foster, Freitag 2023.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints, ratio, starts_of
from quorum.statistics.correlation import (
    COEFFICIENTS,
    ValuePairs,
    correlation_influences,
    group_coefficients,
    observation_weights,
    read_observations,
)
from quorum.statistics.crossed import (
    CONFIDENCE,
    ITEM,
    NO_DELETIONS,
    RaterDeletions,
    coefficient_interval,
    spread_of_mean,
)
from quorum.statistics.inference import Inference, Options, Sampling, signed
from quorum.statistics.inputs import ROUNDING, BadOption, encode, one_of, same_length
from quorum.statistics.resampling import Estimator

GROUPINGS = ("none", "item", "system", "system-level")
NO_GROUP = "in every group, one of the variables has the same value for all observations"
FEW_SYSTEMS = "with only a few systems, the correlation of means has no interval"


@dataclass(frozen=True, slots=True)
class GroupedCorrelationResult(Inference):
    """A correlation coefficient averaged over groups, with its interval.

    grouping: one of GROUPINGS. value: mean over the groups in which the coefficient is defined. n: number of rows with
    both scores. left_out: number of the other rows. items, systems: numbers of different items and systems in the n
    rows. groups: number of all groups, including the `undefined_groups`; 1 for the groupings "none" and
    "system-level". resampled: "items" or "systems", which a bootstrap interval resamples.
    """

    coefficient: str
    grouping: str
    value: float
    n: int
    left_out: int
    items: int
    systems: int
    groups: int
    undefined_groups: int
    resampled: str


class PooledValue(NamedTuple):
    """A mean over n groups, with the limits of its 95 % interval; these are nan if n is 0."""

    value: float
    low: float
    high: float
    n: int

    def as_json(self) -> dict[str, float | None]:
        """Return the fields by name, with None instead of nan."""
        return {name: None if math.isnan(number) else number for name, number in self._asdict().items()}


@dataclass(frozen=True, slots=True)
class OutputTable:
    """The items and systems of N complete rows.

    items, systems: (N,) codes, which are positions in `item_names` and `system_names`. left_out: number of rows without
    both scores.
    """

    items: Ints
    systems: Ints
    item_names: NDArray[Any]
    system_names: NDArray[Any]
    left_out: int


@signed("grouped-correlation", data=("weights",))
def grouped_correlation(
    first: ArrayLike,
    second: ArrayLike,
    items: Iterable[Any],
    systems: Iterable[Any],
    coefficient: str = "pearson",
    *,
    grouping: str = "item",
    missing: str = "refuse",
    weights: ArrayLike | None = None,
    **options: Unpack[Sampling],
) -> GroupedCorrelationResult:
    """Return a correlation of two (N,) columns of scores, with one output of a system for an item in each row.

    Args:
        coefficient: one of COEFFICIENTS.
        grouping: "none" correlates all rows, "item" the systems of each item, "system" the items of each system, and
            "system-level" the means of systems. The last has no interval, because a coefficient of few systems changes
            in steps.
        weights: (N,), only for the grouping "item", as in `correlation`. Items count equally nevertheless.
        clusters: columns; for the grouping "item", also `RaterDeletions`: what the means in `second` are without each
            rater. By default the interval resamples items, or systems for the grouping "system".
    """
    checked_options, deletions = Options.with_raters(**options)
    one_of(coefficient, COEFFICIENTS, "coefficient")
    one_of(grouping, GROUPINGS, "grouping")
    if deletions is not None and grouping != "item":
        raise BadOption(
            f"clusters has means without each rater, expected grouping 'item' and not {grouping!r}"
        )
    if checked_options.columns and grouping == "system-level":
        raise BadOption("clusters has columns at the system level, expected 'naive': it has no interval")
    x, y, table, is_complete = read_outputs(first, second, items, systems, missing)
    if weights is not None and grouping != "item":
        raise BadOption(f"there are weights, expected grouping 'item' and not {grouping!r}")
    weight = observation_weights(weights, is_complete)
    statistic, values = _estimator_of(x, y, table, coefficient, grouping, weight)
    is_defined = ~np.isnan(values)
    value = float(values[is_defined].mean()) if is_defined.any() else math.nan
    unit_name = "systems" if grouping == "system" else "items"
    unit_count = len(table.system_names if unit_name == "systems" else table.item_names)
    inference = checked_options.undefined_inference("" if is_defined.any() else NO_GROUP)
    if (checked_options.columns or deletions is not None) and is_defined.any():
        clusters = checked_options.clusters_of("observation", is_complete).with_weights(weight)
        codes = {"item": table.items, "system": table.systems}.get(grouping, np.zeros(len(x), np.int64))
        spread = clusters.spread(_influences(x, y, codes, coefficient, values, weight))
        kept_deletions = (deletions or NO_DELETIONS).of_rows(is_complete, "observation")
        decreases = partial(
            _decreases_without_raters, x, y, codes, coefficient, values, kept_deletions, weight
        )
        # Add the variance between raters: how far the mean falls without each of them.
        spread, clusters = kept_deletions.widen(spread, clusters, decreases)
        limits = coefficient_interval(value, spread, clusters.cluster_count, checked_options.confidence)
        inference = checked_options.interval_of_clusters(clusters, limits)
    elif grouping == "system-level":
        inference = replace(inference, reason=inference.reason or FEW_SYSTEMS)
    elif checked_options.resamples and is_defined.any():
        once_each = np.ones(unit_count, dtype=np.int64)  # every item or system is a pattern of its own
        inference = checked_options.bootstrap(statistic, frequency=once_each, width=unit_count)
    return GroupedCorrelationResult(
        coefficient=coefficient,
        grouping=grouping,
        value=value,
        n=len(x),
        left_out=table.left_out,
        items=len(table.item_names),
        systems=len(table.system_names),
        groups=len(values),
        undefined_groups=int((~is_defined).sum()),
        resampled=unit_name,
        **inference.fields_by_name(),
    )


def mean_within(x: Floats, y: Floats, starts: Ints, coefficient: str = "spearman") -> PooledValue:
    """Return the mean of a coefficient over the groups in which it is defined.

    Group g has the rows starts[g] to starts[g + 1] - 1. The interval is by t over groups, on the scale of
    `coefficient_interval`.
    """
    values = group_coefficients(x, y, starts, coefficient)
    values = values[~np.isnan(values)]
    if not values.size:
        return PooledValue(math.nan, math.nan, math.nan, 0)
    value = float(values.mean())
    spread, _ = spread_of_mean(values, {ITEM: np.arange(len(values))})
    return PooledValue(value, *coefficient_interval(value, spread, len(values), CONFIDENCE), len(values))


def _influences(
    x: Floats, y: Floats, codes: Ints, coefficient: str, values: Floats, weights: Floats
) -> Floats:
    """Return the (N,) influences of rows on the mean of the (G,) values of groups, where they are defined.

    `codes` (N,) are the groups of the rows. A row's influence has two parts: its influence on the value of its group,
    and its share of the difference between that value and the mean, which is divided among the group's rows.
    """
    is_defined = ~np.isnan(values)
    mean, count = float(values[is_defined].mean()), int(is_defined.sum())
    influences = np.zeros(len(x))
    order = np.argsort(codes, kind="stable")
    bounds = starts_of(np.bincount(codes))
    for group in np.flatnonzero(is_defined).tolist():
        rows = order[bounds[group] : bounds[group + 1]]
        row_weights, value = weights[rows], float(values[group])
        within_group = correlation_influences(x[rows], y[rows], coefficient, value, weights=row_weights)
        influences[rows] = (row_weights * within_group + (values[group] - mean) / len(rows)) / count
    return influences


def _decreases_without_raters(
    x: Floats,
    y: Floats,
    codes: Ints,
    coefficient: str,
    values: Floats,
    deletions: RaterDeletions,
    weights: Floats,
) -> Floats:
    """Return the (V,) decreases of the mean of the (G,) values of groups if a rater is left out of a row's mean in `y`.

    `codes` (N,) are the groups of the rows, and V is the number of `deletions`, one for each row and each of its
    raters. Groups may be too small for influences, so the coefficient of each changed group is computed again.
    """
    mean, count = float(np.nanmean(values)), int((~np.isnan(values)).sum())
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    group = codes[deletions.row]
    positions = np.flatnonzero(sizes[group] > 1)  # a group of one row has no coefficient
    # Repeat the rows of each deletion's group, with the mean of the deletion's row replaced. Within each repetition,
    # the offsets are 0, 1, and so on.
    lengths = sizes[group[positions]]
    repeated_positions = np.repeat(positions, lengths)
    offsets = np.arange(len(repeated_positions)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = order[starts_of(sizes)[group[repeated_positions]] + offsets]
    means = np.where(rows == deletions.row[repeated_positions], deletions.value[repeated_positions], y[rows])
    # Drop a row without another rater.
    has_mean = ~np.isnan(means)
    repetition = np.repeat(np.arange(len(positions)), lengths)
    starts = starts_of(np.bincount(repetition[has_mean], minlength=len(positions)))
    changed_values = np.zeros(len(deletions.row))
    if len(positions):
        kept_rows = rows[has_mean]
        coefficients = group_coefficients(
            x[kept_rows], means[has_mean], starts, coefficient, weights[kept_rows]
        )
        changed_values[positions] = np.nan_to_num(coefficients - mean)  # undefined ones count as the mean
    return np.asarray((np.nan_to_num(values - mean)[group] - changed_values) / count, dtype=np.float64)


def read_outputs(
    first: ArrayLike, second: ArrayLike, items: Iterable[Any], systems: Iterable[Any], missing: str
) -> tuple[Floats, Floats, OutputTable, Flags]:
    """Return both scores of the complete rows, their items and systems, and flags of the complete rows among all rows.

    `missing` says what happens to the other rows, as in `read_observations`.
    """
    (x, y), is_complete = read_observations(missing, first=first, second=second)
    columns = []
    for values, name in ((items, "items"), (systems, "systems")):
        names, codes = encode(values, name)
        same_length(first=x, **{name: codes})
        # Number only the items and systems of complete rows.
        used_codes, codes = np.unique(codes[is_complete], return_inverse=True)
        columns.append((names[used_codes], codes.astype(np.int64, copy=False)))
    (item_names, item_codes), (system_names, system_codes) = columns
    table = OutputTable(item_codes, system_codes, item_names, system_names, int((~is_complete).sum()))
    return x[is_complete], y[is_complete], table, is_complete


def round_means(means: Floats, scores: Floats) -> Floats:
    """Return the means of some `scores`, rounded so that means which differ only by rounding errors are equal."""
    step = ROUNDING * (float(np.abs(scores).max()) or 1.0)
    return np.asarray(np.round(means / step) * step, dtype=np.float64)


def _estimator_of(
    x: Floats, y: Floats, table: OutputTable, coefficient: str, grouping: str, weights: Floats
) -> tuple[Estimator, Floats]:
    """Return a function that computes the mean coefficient of groups in resamples, and the (G,) coefficients.

    The function is for the bootstrap. Without a defined coefficient, and at the system level, it is never called.
    """
    if not len(x):
        values = np.array([np.nan])
        return _mean_estimator(values), values
    if grouping == "none":
        values = group_coefficients(x, y, np.array([0, len(x)]), coefficient)
        if np.isnan(values[0]):
            return _mean_estimator(values), values
        return _item_estimator(x, y, table, coefficient), values
    if grouping == "system-level":
        counts = np.bincount(table.systems)
        x_means, y_means = (
            round_means(np.bincount(table.systems, scores) / counts, scores) for scores in (x, y)
        )
        values = group_coefficients(x_means, y_means, np.array([0, len(counts)]), coefficient)
        return _mean_estimator(values), values
    codes = table.items if grouping == "item" else table.systems
    order = np.argsort(codes, kind="stable")
    starts = starts_of(np.bincount(codes))
    values = group_coefficients(x[order], y[order], starts, coefficient, weights[order])
    return _mean_estimator(values), values


def _item_estimator(x: Floats, y: Floats, table: OutputTable, coefficient: str) -> Estimator:
    """Return the function that computes the coefficient of all rows from (B, items) weights of items."""
    patterns = ValuePairs(x, y, coefficient)  # rows with equal scores share a pattern

    def statistic(weights: Floats) -> Floats:
        values = []
        for item_weights in weights:
            counts: Floats = np.bincount(
                patterns.pattern, weights=item_weights[table.items], minlength=len(patterns.frequency)
            ).astype(np.float64, copy=False)
            values.append(patterns(counts[np.newaxis]))
        return np.concatenate(values)

    return statistic


def _mean_estimator(values: Floats) -> Estimator:
    """Return the function that computes the mean of the defined (G,) values from (B, G) weights of groups."""
    is_defined = (~np.isnan(values)).astype(np.float64)
    filled_values = np.nan_to_num(values)

    def statistic(weights: Floats) -> Floats:
        return ratio(weights @ filled_values, weights @ is_defined)

    return statistic
