"""How a metric correlates with people within groups of outputs, and two metrics compared.

Groupings: Deutsch, Foster, Freitag 2023; Deutsch, Dror, Roth 2021. Two metrics are compared by permutation
(PERM-BOTH of Deutsch, Dror, Roth 2021, used by WMT's metrics task).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from evaluation.numeric.arrays import Flags, Floats, Ints, ratio, starts_of
from evaluation.statistics.correlation import (
    COEFFICIENTS,
    Patterns,
    correlation_influences,
    group_coefficients,
    group_levels,
    kendall_groups,
    mid_ranks,
    paired_observations,
    pearson_groups,
    taus,
)
from evaluation.statistics.crossed import (
    NAIVE,
    NO_DELETIONS,
    ClusterColumns,
    RaterDeletions,
    coefficient_interval,
    columns_of,
    moving_together,
)
from evaluation.statistics.inference import Inference, Options, Result, Sampling, signed
from evaluation.statistics.inputs import (
    ROUNDING,
    BadOption,
    BadShape,
    encode,
    one_of,
    positive,
    same_length,
    score_vector,
)
from evaluation.statistics.resampling import (
    ALTERNATIVES,
    Estimator,
    Seed,
    coin_tosses,
    count_extreme,
    generator_of,
)

GROUPINGS = ("none", "item", "system", "system-level")
NO_GROUP = "no group has two observations that differ in both variables"
REASSIGNMENTS = 1000
FULL = 4  # cells of a table for each that is filled, up to which it is not sparse
UNDEFINED = "the {} metric's correlation is undefined"


@dataclass(frozen=True, slots=True)
class GroupedCorrelationResult(Inference):
    """A coefficient averaged over groups, with its interval over `resampled` items or systems.

    `value` is the mean of the defined `group_values` (G,); there is one group without grouping and at the
    system level.
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
    group_names: NDArray[Any]
    group_values: Floats
    resampled: str


@dataclass(frozen=True, slots=True)
class Table:
    """Codes (N,) of items and systems, their names, and the number of rows left out."""

    items: Ints
    systems: Ints
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
    **options: Unpack[Sampling],
) -> GroupedCorrelationResult:
    """Return one of COEFFICIENTS between two (N,) scores of systems' outputs for items.

    `grouping`: "none" correlates all rows, "item" the systems of each item, "system" the items of each system,
    "system-level" the systems' means, without clusters, as ranks of a few systems move in steps. A naive interval
    resamples items, or systems for "system".
    """
    chosen, deletions = Options.with_raters(**options)
    one_of(coefficient, COEFFICIENTS, "coefficient")
    one_of(grouping, GROUPINGS, "grouping")
    if deletions is not None and grouping != "item":
        raise BadOption(
            f"clusters has means without each rater, expected grouping 'item' and not {grouping!r}"
        )
    if chosen.columns and grouping == "system-level":
        raise BadOption(
            "clusters has columns at the system level, expected 'naive': whole items are resampled there"
        )
    x, y, table = long_table(first, second, items, systems, missing)
    names, statistic, values = _arranged(x, y, table, coefficient, grouping)
    defined = ~np.isnan(values)
    value = float(values[defined].mean()) if defined.any() else math.nan
    over = "systems" if grouping == "system" else "items"
    units = len(table.system_names if over == "systems" else table.item_names)
    inference = chosen.undefined("" if defined.any() else NO_GROUP)
    if (chosen.columns or deletions is not None) and defined.any():
        complete = paired_observations(first, second, missing)[2]
        grouped = chosen.clusters_of("observation", complete)
        codes = {"item": table.items, "system": table.systems}.get(grouping, np.zeros(len(x), np.int64))
        spread = grouped.spread(_influences(x, y, codes, coefficient, values))
        left = (deletions or NO_DELETIONS).of_rows(complete, "observation")
        changes = partial(_changes_without_raters, x, y, codes, coefficient, values, left)
        spread, grouped = left.widen(spread, grouped, changes)
        inference = chosen.clustered(
            grouped, coefficient_interval(value, spread, grouped.number, chosen.confidence)
        )
    elif chosen.resamples and defined.any():
        width = max(units, len(table.system_names))
        inference = chosen.resampled(statistic, np.ones(units, dtype=np.int64), width)
    return GroupedCorrelationResult(
        coefficient=coefficient,
        grouping=grouping,
        value=value,
        n=len(x),
        left_out=table.left_out,
        items=len(table.item_names),
        systems=len(table.system_names),
        groups=len(values),
        undefined_groups=int((~defined).sum()),
        group_names=names,
        group_values=values,
        resampled=over,
        **inference.shared(),
    )


def _influences(x: Floats, y: Floats, codes: Ints, coefficient: str, values: Floats) -> Floats:
    """Return (N,) influences of the rows on the mean of the defined (G,) values of groups.

    A row moves its group's value; all rows of a group move the mean by that value's distance from it.
    """
    defined = ~np.isnan(values)
    mean, count = float(values[defined].mean()), int(defined.sum())
    influences = np.zeros(len(x))
    order = np.argsort(codes, kind="stable")
    bounds = starts_of(np.bincount(codes))
    for group in np.flatnonzero(defined).tolist():
        rows = order[bounds[group] : bounds[group + 1]]
        within = correlation_influences(x[rows], y[rows], coefficient, float(values[group]))
        influences[rows] = (within + (values[group] - mean) / len(rows)) / count
    return influences


def _changes_without_raters(
    x: Floats, y: Floats, codes: Ints, coefficient: str, values: Floats, left: RaterDeletions
) -> Floats:
    """Return (V,) how much of the mean of groups' values is lost where a rater leaves one of people's means `y`.

    Groups may be too small for influences, so that each one is correlated again.
    """
    mean, count = float(np.nanmean(values)), int((~np.isnan(values)).sum())
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    group = codes[left.row]
    cells = np.flatnonzero(sizes[group] > 1)  # what a group of one loses is no coefficient
    lengths = sizes[group[cells]]
    cell = np.repeat(cells, lengths)
    within = np.arange(len(cell)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = order[starts_of(sizes)[group[cell]] + within]
    means = np.where(rows == left.row[cell], left.value[cell], y[rows])
    here = ~np.isnan(means)
    starts = starts_of(np.bincount(np.repeat(np.arange(len(cells)), lengths)[here], minlength=len(cells)))
    without = np.zeros(len(left.row))
    if len(cells):
        without[cells] = np.nan_to_num(
            group_coefficients(x[rows[here]], means[here], starts, coefficient) - mean
        )
    return np.asarray((np.nan_to_num(values - mean)[group] - without) / count, dtype=np.float64)


def long_table(
    first: ArrayLike, second: ArrayLike, items: Iterable[Any], systems: Iterable[Any], missing: str
) -> tuple[Floats, Floats, Table]:
    x, y, complete = paired_observations(first, second, missing)
    columns = []
    for values, name in ((items, "items"), (systems, "systems")):
        names, codes = encode(values, name)
        same_length(first=x, **{name: codes})
        # Only those that have a row left are numbered.
        present, codes = np.unique(codes[complete], return_inverse=True)
        columns.append((names[present], codes.astype(np.int64, copy=False)))
    (item_names, item_codes), (system_names, system_codes) = columns
    table = Table(item_codes, system_codes, item_names, system_names, int((~complete).sum()))
    return x[complete], y[complete], table


def rounded(means: Floats, scores: Floats) -> Floats:
    """Round means, so that equal ones tie."""
    step = ROUNDING * (float(np.abs(scores).max()) or 1.0)
    return np.asarray(np.round(means / step) * step, dtype=np.float64)


def system_means(scores: Floats, table: Table) -> Callable[[Floats], Floats]:
    shape = (len(table.item_names), len(table.system_names))
    sums: Any = scipy.sparse.csr_array((scores, (table.items, table.systems)), shape=shape)
    rows: Any = scipy.sparse.csr_array((np.ones(len(scores)), (table.items, table.systems)), shape=shape)
    if shape[0] * shape[1] <= FULL * len(scores):  # most systems have most items: a plain product is faster
        sums, rows = sums.toarray(), rows.toarray()

    def means(weights: Floats) -> Floats:
        counts, totals = np.asarray(weights @ rows), np.asarray(weights @ sums)
        return rounded(ratio(totals, counts), scores)

    return means


def _arranged(
    x: Floats, y: Floats, table: Table, coefficient: str, grouping: str
) -> tuple[NDArray[Any], Estimator, Floats]:
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
    values = group_coefficients(x[order], y[order], starts_of(np.bincount(codes)), coefficient)
    return names, _mean_of(values), values


def _by_items(x: Floats, y: Floats, table: Table, coefficient: str) -> Estimator:
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


def _mean_of(values: Floats) -> Estimator:
    defined = (~np.isnan(values)).astype(np.float64)
    filled = np.nan_to_num(values)

    def statistic(weights: Floats) -> Floats:
        return ratio(weights @ filled, weights @ defined)

    return statistic


def _rows(x: Floats, y: Floats, coefficient: str) -> Floats:
    defined = ~np.isnan(x)
    return group_coefficients(x[defined], y[defined], starts_of(defined.sum(axis=1)), coefficient)


@dataclass(frozen=True, slots=True)
class PairedCorrelationResult(Result):
    """Two metrics' correlations with people, and p = (c + 1) / (n + 1), for c of n reassignments as extreme.

    `undefined_reassignments` gave no coefficient and count as extreme, which can only raise p.
    """

    coefficient: str
    grouping: str
    first: float
    second: float
    difference: float
    p: float
    as_extreme: int
    undefined_reassignments: int
    reassignments: int
    alternative: str
    n: int


@signed("paired-correlation")
def paired_correlation_test(
    first: ArrayLike,
    second: ArrayLike,
    people: ArrayLike,
    items: Iterable[Any],
    systems: Iterable[Any],
    coefficient: str = "pearson",
    *,
    grouping: str = "item",
    alternative: str = "two-sided",
    reassignments: int = REASSIGNMENTS,
    seed: Seed = 0,
    clusters: ClusterColumns = NAIVE,
) -> PairedCorrelationResult:
    """Test whether (N,) scores of two metrics correlate differently with people's (N,) scores.

    Each reassignment swaps the two standardised scores of every output, or of all outputs of a cluster, by the toss of
    a coin. `alternative` "greater": the first correlates better.
    """
    one_of(coefficient, COEFFICIENTS, "coefficient")
    one_of(grouping, GROUPINGS, "grouping")
    one_of(alternative, ALTERNATIVES, "alternative")
    positive(reassignments, "reassignments")
    generator, reported = generator_of(seed)
    first_scores, human, table = long_table(first, people, items, systems, "refuse")
    second_scores = score_vector(second, "second")
    same_length(first=first_scores, second=second_scores)
    if not len(first_scores):
        raise BadShape("first is empty, expected one score or more")
    statistic = _Swapped(
        _standardised(first_scores), _standardised(second_scores), human, table, coefficient, grouping
    )
    observed = statistic(np.zeros(len(first_scores), dtype=np.bool_))
    reason = "; ".join(
        UNDEFINED.format(name) for name, r in zip(("first", "second"), observed, strict=True) if math.isnan(r)
    )
    difference = p = math.nan
    as_extreme = undefined = 0
    grouped = moving_together(columns_of(clusters), len(first_scores))
    if not reason:
        difference = observed[0] - observed[1]
        owner = np.arange(len(first_scores)) if grouped is None else grouped.codes[0][statistic.order]
        drawn = _swapped_differences(statistic, owner, reassignments, generator)
        undefined = int(np.isnan(drawn).sum())
        as_extreme = undefined + count_extreme(drawn, difference, 1.0, alternative)
        p = (as_extreme + 1) / (reassignments + 1)
    return PairedCorrelationResult(
        coefficient=coefficient,
        grouping=grouping,
        first=observed[0],
        second=observed[1],
        difference=difference,
        p=p,
        as_extreme=as_extreme,
        undefined_reassignments=undefined,
        reassignments=reassignments,
        alternative=alternative,
        n=len(first_scores),
        seed=reported,
        reason=reason,
        clusters={} if grouped is None else grouped.counts,
    )


def _swapped_differences(
    statistic: _Swapped, owner: Ints, reassignments: int, generator: np.random.Generator
) -> Floats:
    """Return (reassignments,) differences; outputs of one `owner` (N,), in the order of `statistic`, swap together."""
    coins = int(owner.max()) + 1
    drawn = np.empty(reassignments)
    difference = statistic.differences(owner)
    for reassignment in range(reassignments):
        tossed = np.unpackbits(coin_tosses(generator, 1, (coins + 7) // 8), count=coins).astype(bool)
        drawn[reassignment] = difference(tossed)
    return drawn


def _standardised(scores: Floats) -> Floats:
    if np.all(scores == scores[0]):
        return np.zeros(len(scores))
    centred = scores - scores.mean()
    centred = centred / np.abs(centred).max()  # so that no square vanishes
    return np.asarray(centred / centred.std(), dtype=np.float64)


class _Swapped:
    """Both metrics' correlations with people after swaps, which sort and code nothing again."""

    def __init__(
        self, first: Floats, second: Floats, human: Floats, table: Table, coefficient: str, grouping: str
    ) -> None:
        self._coefficient = coefficient
        self._by_system = grouping == "system-level"
        codes = {"item": table.items, "system": table.systems}.get(grouping, np.zeros(len(first), np.int64))
        self.order = order = np.lexsort((human, codes))
        groups = codes[order]
        self._starts = starts_of(np.bincount(groups))
        self._first, self._second, self._human = first[order], second[order], human[order]
        if self._by_system:
            self._systems = table.systems[order]
            self._counts = np.bincount(self._systems)
            self._means = self._of_systems(self._human)
        elif coefficient != "pearson":
            self._arrange_codes(groups)

    def _arrange_codes(self, groups: Ints) -> None:
        both = np.stack([self._first, self._second], axis=1).ravel()
        codes, bounds = group_levels(both, np.repeat(groups, 2))
        rows, _ = group_levels(self._human, groups)
        if self._coefficient == "spearman":
            self._human = mid_ranks(rows)
        else:
            codes = codes - bounds[np.repeat(groups, 2)]
            self._rows, self._ones = rows, np.ones(len(rows))
            self._levels = np.diff(bounds)
        self._first_codes, self._second_codes = codes.reshape(-1, 2).T

    def __call__(self, swapped: Flags) -> tuple[float, float]:
        return self._value(swapped), self._value(~swapped)

    def differences(self, owner: Ints) -> Callable[[Flags], float]:
        """Return the difference of both as a function of (owners,) tosses, for (N,) owners of the rows."""
        if self._coefficient.startswith("kendall") and not self._by_system and len(self._starts) == 2:
            return self._kendall_differences(owner)

        def plain(tossed: Flags) -> float:
            first_value, second_value = self(tossed[owner])
            return first_value - second_value

        return plain

    def _kendall_differences(self, owner: Ints) -> Callable[[Flags], float]:
        """Return `differences` of a single group, by what each owner adds to the difference of the balances.

        Concordant less discordant pairs is a sum over pairs of rows, and what a pair adds depends on two tosses. In the
        difference of the metrics, which swap their parts, the terms of both tosses cancel: each row adds its own
        term, with the sign of its toss.
        """
        from evaluation.statistics.kernels import balances

        codes = np.stack([self._first_codes, self._second_codes], axis=1)
        rows = np.repeat(self._rows, 2)
        both = balances(rows, codes.ravel(), np.ones(len(rows)), int(self._levels[0]))
        terms = np.bincount(owner, weights=(both[0::2] - both[1::2]) / 2)
        whole = float(terms.sum())
        if self._levels[0] == 2 * len(owner):  # no scores are equal: both have one scale, whatever is swapped
            sums = kendall_groups(self._rows, self._first_codes, self._ones, self._starts, self._levels)
            scale = float(taus(np.array([[1.0, *sums[0, 1:]]]), self._coefficient)[0])
            return lambda tossed: scale * (whole - 2 * float(terms[tossed].sum()))

        def tied(tossed: Flags) -> float:
            swapped = tossed[owner]
            codes = np.where(swapped, self._second_codes, self._first_codes)
            first = kendall_groups(self._rows, codes, self._ones, self._starts, self._levels)
            other = np.bincount(np.where(swapped, self._first_codes, self._second_codes)).astype(np.float64)
            second = first.copy()
            second[0, 0] -= whole - 2 * float(terms[tossed].sum())
            second[0, 3], second[0, 5] = np.square(other).sum(), np.count_nonzero(other)
            first_tau, second_tau = taus(np.concatenate([first, second]), self._coefficient).tolist()
            return float(first_tau - second_tau)

        return tied

    def _value(self, other: Flags) -> float:
        if self._by_system:
            means = self._of_systems(np.where(other, self._second, self._first))
            ends = np.array([0, len(means)])
            return float(group_coefficients(means, self._means, ends, self._coefficient)[0])
        if self._coefficient == "pearson":
            scores = np.where(other, self._second, self._first)
            values = pearson_groups(scores, self._human, self._starts)
        else:
            codes = np.where(other, self._second_codes, self._first_codes)
            if self._coefficient == "spearman":
                values = pearson_groups(mid_ranks(codes), self._human, self._starts)
            else:
                sums = kendall_groups(self._rows, codes, self._ones, self._starts, self._levels)
                values = taus(sums, self._coefficient)
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if len(defined) else math.nan

    def _of_systems(self, scores: Floats) -> Floats:
        return rounded(np.bincount(self._systems, weights=scores) / self._counts, scores)
