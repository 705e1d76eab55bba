"""Correlation of a metric with people where observations belong to items and systems.

The four ways of the field (Deutsch, Foster and Freitag 2023; Deutsch, Dror and Roth 2021): all
observations together, averaged over items, averaged over systems, or between the systems' means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.coefficients import COEFFICIENTS, group_coefficients
from evaluation.statistics.correlation import paired_observations
from evaluation.statistics.correlation_patterns import Patterns
from evaluation.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Seed,
    bootstrap,
    check_confidence,
    generator_of,
    percentile_interval,
)
from evaluation.statistics.row_statistics import ROUNDING
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Codes, Floats, encode, one_of, same_length

GROUPINGS = ("none", "item", "system", "system-level")

NO_GROUP = "no group has two observations that differ in both variables"


@dataclass(frozen=True, slots=True)
class GroupedCorrelationResult:
    """A coefficient averaged over groups (or of one), with its percentile bootstrap interval.

    `value` is the plain mean of the defined `group_values`, (G,) in the order of `group_names`; groups
    without two different values on both sides have nan there and count in `undefined_groups`. Without
    grouping, and at the system level, there is one group. `n` observations of `items` and `systems` were
    used, `left_out` lacked a value. `resampled` names what the interval draws anew. nan where undefined,
    with the `reason`. `seed` is None where a running random stream was handed in.
    """

    coefficient: str
    grouping: str
    value: float
    low: float
    high: float
    n: int
    left_out: int
    items: int
    systems: int
    groups: int
    undefined_groups: int
    group_names: NDArray[Any]
    group_values: Floats
    resampled: str
    confidence: float
    resamples: int
    undefined_resamples: int
    seed: int | None
    reason: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A long table: (N,) codes of items and systems, their names, and how many rows were left out."""

    items: Codes
    systems: Codes
    item_names: NDArray[Any]
    system_names: NDArray[Any]
    left_out: int


@signed("grouped-correlation")
def grouped_correlation(
    first: ArrayLike,
    second: ArrayLike,
    items: Iterable[Any],
    systems: Iterable[Any],
    coefficient: str = "pearson",
    *,
    grouping: str = "item",
    missing: str = "refuse",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
) -> GroupedCorrelationResult:
    """A coefficient of COEFFICIENTS between two (N,) scores of systems' outputs for items, one a row.

    `grouping` "none" correlates all rows; "item" the systems of each item, averaged over items; "system"
    the items of each system, averaged over systems; "system-level" the systems' means. The interval draws
    anew, with replacement, the items (which belong together: a cluster bootstrap), or the systems for
    "system". `missing` refuses a nan or leaves its row out. Raises BadShape, BadValue, BadOption.
    """
    one_of(coefficient, COEFFICIENTS, "coefficient")
    one_of(grouping, GROUPINGS, "grouping")
    check_confidence(confidence)
    generator, reported = generator_of(seed)
    x, y, table = long_table(first, second, items, systems, missing)
    names, statistic, values = _arranged(x, y, table, coefficient, grouping)
    defined = ~np.isnan(values)
    value = float(values[defined].mean()) if defined.any() else math.nan
    over = "systems" if grouping == "system" else "items"
    units = len(table.system_names if over == "systems" else table.item_names)
    low = high = math.nan
    undefined = 0
    if resamples and defined.any():
        draws = bootstrap(
            statistic,
            np.ones(units, dtype=np.int64),
            resamples=resamples,
            generator=generator,
            width=max(units, len(table.system_names)),
        )
        low, high, undefined = percentile_interval(draws, confidence)
    return GroupedCorrelationResult(
        coefficient=coefficient,
        grouping=grouping,
        value=value,
        low=low,
        high=high,
        n=len(x),
        left_out=table.left_out,
        items=len(table.item_names),
        systems=len(table.system_names),
        groups=len(values),
        undefined_groups=int((~defined).sum()),
        group_names=names,
        group_values=values,
        resampled=over,
        confidence=float(confidence),
        resamples=resamples,
        undefined_resamples=undefined,
        seed=reported,
        reason="" if defined.any() else NO_GROUP,
    )


def long_table(
    first: ArrayLike, second: ArrayLike, items: Iterable[Any], systems: Iterable[Any], missing: str
) -> tuple[Floats, Floats, Table]:
    """The rows that have both scores, with the items and systems that occur in them."""
    x, y, given = paired_observations(first, second, missing)
    columns = []
    for values, name in ((items, "items"), (systems, "systems")):
        names, codes = encode(values, name)
        same_length(first=x, **{name: codes})
        # Only those that have a row left are numbered.
        kept, codes = np.unique(codes[given], return_inverse=True)
        columns.append((names[kept], codes.astype(np.int64, copy=False)))
    (item_names, item_codes), (system_names, system_codes) = columns
    table = Table(item_codes, system_codes, item_names, system_names, int((~given).sum()))
    return x[given], y[given], table


def group_starts(groups: Codes) -> Codes:
    """(G + 1,) bounds of groups 0 to G - 1 that lie together in ascending order."""
    return np.concatenate([[0], np.cumsum(np.bincount(groups))]).astype(np.int64)


def rounded(means: Floats, scores: Floats) -> Floats:
    """Means to 12 digits of the largest score: systems with equal means tie, whatever the rounding."""
    step = ROUNDING * (float(np.abs(scores).max()) or 1.0)
    return np.asarray(np.round(means / step) * step, dtype=np.float64)


def system_means(scores: Floats, table: Table) -> Callable[[Floats], Floats]:
    """(B, I) weights of items to (B, S) means of the systems' scores; nan for a system without weight."""
    shape = (len(table.item_names), len(table.system_names))
    sums = scipy.sparse.csr_array((scores, (table.items, table.systems)), shape=shape)
    rows = scipy.sparse.csr_array((np.ones(len(scores)), (table.items, table.systems)), shape=shape)

    def means(weights: Floats) -> Floats:
        counts, totals = np.asarray(weights @ rows), np.asarray(weights @ sums)
        result = np.full(counts.shape, np.nan)
        np.divide(totals, counts, out=result, where=counts > 0)
        return rounded(result, scores)

    return means


_Statistic = Callable[[Floats], Floats]


def _arranged(
    x: Floats, y: Floats, table: Table, coefficient: str, grouping: str
) -> tuple[NDArray[Any], _Statistic, Floats]:
    """Names and values of the groups, and the averaged coefficient under weights of what is resampled."""
    everything = np.array(["all"], dtype=object)
    if not len(x):
        values = np.array([np.nan])
        return everything, _mean_of(values), values
    if grouping == "none":
        values = group_coefficients(x, y, np.array([0, len(x)]), coefficient)
        if np.isnan(values[0]):
            return everything, _mean_of(values), values
        return everything, _by_items(x, y, table, coefficient), values
    if grouping == "system-level":
        of_x, of_y = system_means(x, table), system_means(y, table)

        def between(weights: Floats) -> Floats:
            return _rows(of_x(weights), of_y(weights), coefficient)

        return everything, between, between(np.ones((1, len(table.item_names))))
    codes, names = (
        (table.items, table.item_names) if grouping == "item" else (table.systems, table.system_names)
    )
    order = np.argsort(codes, kind="stable")
    values = group_coefficients(x[order], y[order], group_starts(codes), coefficient)
    return names, _mean_of(values), values


def _by_items(x: Floats, y: Floats, table: Table, coefficient: str) -> _Statistic:
    patterns = Patterns(x, y, coefficient)

    def statistic(weights: Floats) -> Floats:
        drawn = []
        for row in weights:
            counts: Floats = np.bincount(
                patterns.pattern, weights=row[table.items], minlength=len(patterns.frequency)
            ).astype(np.float64, copy=False)
            drawn.append(patterns(counts[np.newaxis]))
        return np.concatenate(drawn)

    return statistic


def _mean_of(values: Floats) -> _Statistic:
    defined = (~np.isnan(values)).astype(np.float64)
    filled = np.nan_to_num(values)

    def statistic(weights: Floats) -> Floats:
        counts = weights @ defined
        result = np.full(len(weights), np.nan)
        np.divide(weights @ filled, counts, out=result, where=counts > 0)
        return result

    return statistic


def _rows(x: Floats, y: Floats, coefficient: str) -> Floats:
    """(B,) coefficients between the rows of two (B, S) tables, without the cells that are nan."""
    given = ~np.isnan(x)
    sizes = given.sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return group_coefficients(x[given], y[given], starts, coefficient)
