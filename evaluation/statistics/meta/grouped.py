"""How well a metric agrees with people within groups of outputs: correlation, and pairwise accuracy.

Groupings: Deutsch, Foster, Freitag 2023; Deutsch, Dror, Roth 2021. Two metrics are compared by permutation
(PERM-BOTH of Deutsch, Dror, Roth 2021, used by WMT's metrics task).

Pairwise accuracy, with ties of texts, and the gap up to which scores tie: Deutsch, Foster, Freitag 2023, *Ties Matter:
Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie Calibration*. Choose epsilon on one set of items and use
it on another. Soft, of systems: Thompson, Mathur, Deutsch, Khayrallah 2024, *Improving Statistical Significance in
Human Evaluation of Automatic Metrics via Soft Pairwise Accuracy*; the system-level figure of WMT's metrics task since
2024.
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
    owners,
    paired_observations,
    pearson_groups,
    taus,
)
from evaluation.statistics.inference import (
    ALTERNATIVES,
    CONFIDENCE,
    NAIVE,
    RESAMPLES,
    ClusterColumns,
    Estimator,
    Inference,
    Options,
    RaterDeletions,
    Result,
    Sampling,
    Seed,
    coefficient_interval,
    coin_tosses,
    columns_of,
    count_extreme,
    generator_of,
    moving_together,
    share_of_rows,
    signed,
)
from evaluation.statistics.inputs import (
    ROUNDING,
    BadOption,
    BadShape,
    BadValue,
    encode,
    encode_both,
    finite_vector,
    is_real,
    one_of,
    positive,
    same_length,
    score_table,
    score_vector,
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
        if deletions is not None:
            left = deletions.of_rows(complete, "observation")
            changes = partial(_changes_without_raters, x, y, codes, coefficient, values, left)
            spread, grouped = left.widen(spread, grouped, changes)
        inference = chosen.clustered(grouped, coefficient_interval(value, spread, chosen.confidence))
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
        owners = (
            (np.arange(len(first_scores)),)
            if grouped is None
            else tuple(codes[statistic.order] for codes in grouped.codes)
        )
        draws = [_swapped_differences(statistic, owner, reassignments, generator) for owner in owners]
        drawn = draws[0] if grouped is None else grouped.randomized(draws)
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


CALIBRATE = "calibrate"

# Pairs whose gaps are sorted to find epsilon: at most this many, drawn at random where there are more.
_PAIRS = 10_000_000
NO_PAIR = "no group has two observations"
CELLS = 2_000_000  # coins tossed at once
TOO_FEW_SYSTEMS = "there are fewer than two systems"
NO_ITEM = "no item has a score of every system"
NOT_COMPARED = "no two systems were compared"


@dataclass(frozen=True, slots=True)
class PairwiseAccuracyResult(Inference):
    """Share of pairs that a metric orders as people do, ties included, averaged over groups, which are resampled.

    `tied_metric` and `tied_people` pairs are tied by one alone. `epsilon`: the largest gap of a tie;
    `calibrated`: chosen on these data, from `pairs_searched` pairs.
    """

    value: float
    epsilon: float
    calibrated: bool
    concordant: int
    discordant: int
    tied_both: int
    tied_metric: int
    tied_people: int
    pairs: int
    pairs_searched: int
    n: int
    left_out: int
    groups: int
    undefined_groups: int


@signed("pairwise-accuracy", data=("groups",))
def pairwise_accuracy(
    scores: ArrayLike,
    people: ArrayLike,
    groups: Iterable[Any] | None = None,
    *,
    epsilon: float | str = 0.0,
    missing: str = "refuse",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    max_pairs: int = _PAIRS,
    seed: Seed = 0,
    clusters: ClusterColumns = NAIVE,
) -> PairwiseAccuracyResult:
    """Return acc_eq = (C + T_both) / (C + D + T_metric + T_people + T_both) of (N,) scores of a metric and of people.

    Pairs are formed within `groups` (N,), such as items. `epsilon` is the largest gap of a tie, or "calibrate": the
    smallest one of highest accuracy among the gaps of all pairs, or of `max_pairs` random ones. The interval resamples
    groups; columns of `clusters` are equal within a group.
    """
    options = Options.of(confidence=confidence, resamples=resamples, seed=seed, clusters=clusters)
    positive(max_pairs, "max_pairs")
    calibrate = isinstance(epsilon, str) and epsilon == CALIBRATE
    if not calibrate and not (is_real(epsilon) and 0 <= epsilon < math.inf):
        raise BadOption(f"epsilon is {epsilon!r}, expected a number from zero on, or {CALIBRATE}")
    metric, human, complete = paired_observations(scores, people, missing)
    codes = np.zeros(len(complete), dtype=np.int64)
    if groups is not None:
        codes = encode(groups, "groups")[1]
        same_length(scores=metric, groups=codes)
    # Only groups that have an observation left are numbered.
    _, firsts, codes = np.unique(codes[complete], return_index=True, return_inverse=True)
    codes = codes.astype(np.int64, copy=False)
    data = _Groups(metric[complete], human[complete], codes)
    searched = 0
    tie = 0.0 if calibrate else float(epsilon)
    if calibrate and data.pairs.sum():
        tie, searched = _best_epsilon(data, max_pairs, options.generator)
    counts = data.counts(tie)
    right = counts[:, 0] + counts[:, 2]
    paired = data.pairs > 0
    accuracies = right[paired] / data.pairs[paired]
    inference = options.undefined("" if len(accuracies) else NO_PAIR)
    if options.columns and len(accuracies):
        columns = {
            name: _of_groups(values, name, complete, codes, firsts)[paired]
            for name, values in options.columns.items()
        }
        mean = share_of_rows(accuracies, columns, confidence)
        inference = options.clustered(mean.clusters, (mean.low, mean.high))
    elif len(accuracies) > 1 and resamples:
        inference = options.resampled(
            lambda weights: np.asarray(weights @ accuracies / len(accuracies), dtype=np.float64),
            np.ones(len(accuracies), dtype=np.int64),
        )
    concordant, discordant, both, metric_only, people_only = (int(count) for count in counts.sum(axis=0))
    return PairwiseAccuracyResult(
        value=float(accuracies.mean()) if len(accuracies) else math.nan,
        epsilon=tie,
        calibrated=calibrate,
        concordant=concordant,
        discordant=discordant,
        tied_both=both,
        tied_metric=metric_only,
        tied_people=people_only,
        pairs=int(data.pairs.sum()),
        pairs_searched=searched,
        n=int(complete.sum()),
        left_out=int((~complete).sum()),
        groups=len(paired),
        undefined_groups=int((~paired).sum()),
        **inference.shared(),
    )


def _of_groups(values: Iterable[Any], name: str, complete: Flags, codes: Ints, firsts: Ints) -> Ints:
    """Return the (G,) cluster of each group; raise BadValue for a group in two."""
    column = f"clusters[{name!r}]"
    _, clusters = encode(values, column)
    same_length(scores=complete, **{column: clusters})
    clusters = clusters[complete]
    if (clusters != clusters[firsts][codes]).any():
        raise BadValue(f"{column} differs within a group, expected one {name} for each of groups")
    return clusters[firsts]


class _Groups:
    def __init__(self, scores: Floats, people: Floats, codes: Ints) -> None:
        order = np.lexsort((scores, codes))
        self.scores, self.people = scores[order], people[order]
        self.starts = starts_of(np.bincount(codes))
        self.sizes = np.diff(self.starts)
        self.pairs = self.sizes * (self.sizes - 1) // 2
        # Less than this apart, two gaps between scores differ by rounding.
        self.slack = ROUNDING * float(np.abs(scores).max(initial=0.0))

    def counts(self, epsilon: float) -> Floats:
        """Return (G, 5) pairs: concordant, discordant, tied by both, by the metric alone, by people alone."""
        from evaluation.statistics.kernels import gap_sums

        if not len(self.scores):
            return np.zeros((len(self.sizes), 5))
        groups = owners(self.starts)
        codes, bounds = group_levels(self.people, groups)
        sums = gap_sums(
            self.scores, codes - bounds[groups], self.starts, np.diff(bounds), epsilon + self.slack
        )
        concordant, discordant, people_only = sums.T
        sizes = np.bincount(codes)
        # The pairs that people tie, of each group.
        tied = np.add.reduceat(sizes * (sizes - 1) // 2, bounds[:-1])
        both = tied - people_only
        metric_only = self.pairs - concordant - discordant - tied
        return np.stack([concordant, discordant, both, metric_only, people_only], axis=1)


def _best_epsilon(data: _Groups, max_pairs: int, generator: np.random.Generator) -> tuple[float, int]:
    # As epsilon passes its gap, a pair becomes right if people tie it, wrong if the metric ordered it as they do.
    lower, upper, weights = _pairs(data, max_pairs, generator)
    gaps = data.scores[upper] - data.scores[lower]
    order = data.people[upper] - data.people[lower]
    changes = np.where(order == 0, weights, np.where(order > 0, -weights, 0.0))
    changes[(order != 0) & (gaps <= data.slack)] = 0.0  # tied from the start, and wrong
    order_of_gaps = np.argsort(gaps)
    gaps = gaps[order_of_gaps]
    gains = np.cumsum(changes[order_of_gaps])
    # Equal gaps are passed together.
    last = np.append(np.diff(gaps) > data.slack, True)
    gaps, gains = np.append(0.0, gaps[last]), np.append(-np.inf, gains[last])
    if gaps[1] > data.slack:  # no scores are equal: with epsilon 0 nothing is tied
        gains[0] = 0.0
    near = ROUNDING * float(weights.sum())
    best = int(np.flatnonzero(gains >= gains.max() - near)[0])
    return (float(gaps[best]) if gaps[best] > data.slack else 0.0), len(lower)


def _pairs(data: _Groups, max_pairs: int, generator: np.random.Generator) -> tuple[Ints, Ints, Floats]:
    """Return positions of the lower and the higher scores, and the pairs' weights in the average of groups."""
    total = int(data.pairs.sum())
    part = ratio(1.0, data.pairs, otherwise=0.0)
    if total > max_pairs:
        ends = np.cumsum(data.pairs)
        group = np.searchsorted(ends, generator.integers(0, total, size=max_pairs), side="right")
        member = generator.integers(0, data.sizes[group])
        other_member = generator.integers(0, data.sizes[group] - 1)
        other_member += other_member >= member
        first = data.starts[group]
        return first + np.minimum(member, other_member), first + np.maximum(member, other_member), part[group]
    lower, upper, weights = [], [], []
    for size in np.unique(data.sizes[data.pairs > 0]):
        alike = np.flatnonzero(data.sizes == size)
        member, other_member = np.triu_indices(size, 1)
        first = data.starts[alike][:, np.newaxis]
        lower.append((first + member).ravel())
        upper.append((first + other_member).ravel())
        weights.append(np.repeat(part[alike], len(member)))
    return np.concatenate(lower), np.concatenate(upper), np.concatenate(weights)


@dataclass(frozen=True, slots=True)
class SoftAccuracyResult(Result):
    """Soft pairwise accuracy `value`, and `pairwise`, the share of pairs of systems in the same order by their means.

    p_scores, p_people: (S, S), one-sided p that the row's system is better than the column's; nan on the diagonal. `n`
    items have all scores.
    """

    value: float
    pairwise: float
    p_scores: Floats
    p_people: Floats
    systems: int
    pairs: int
    n: int
    left_out: int
    reassignments: int


@signed("soft-pairwise-accuracy")
def soft_pairwise_accuracy(
    scores: ArrayLike,
    people: ArrayLike,
    *,
    missing: str = "refuse",
    reassignments: int = REASSIGNMENTS,
    seed: Seed = 0,
) -> SoftAccuracyResult:
    """Return SPA = mean over i < j of 1 - |p_ij(people) - p_ij(scores)| of (S, N) scores of systems on items.

    p_ij = (c + 1) / (n + 1), for c of n reassignments that put system i ahead of j by as much as it is. Each swaps
    the scores of two systems on every item by the toss of a coin, the same for the metric, people, and all pairs.
    "leave-out" drops an item where a score is nan.
    """
    one_of(missing, ("refuse", "leave-out"), "missing")
    positive(reassignments, "reassignments")
    generator, reported = generator_of(seed)
    metric, human = _table(scores, "scores", missing), _table(people, "people", missing)
    if metric.shape != human.shape:
        raise BadShape(f"scores has shape {metric.shape} and people {human.shape}, expected the same")
    complete: Flags = ~np.isnan(np.concatenate([metric, human])).any(axis=0)
    metric, human = metric[:, complete], human[:, complete]
    systems, n = metric.shape
    upper = np.triu_indices(systems, 1)
    value = pairwise = math.nan
    p_scores, p_people = np.full((2, systems, systems), np.nan)
    reason = TOO_FEW_SYSTEMS if systems < 2 else "" if n else NO_ITEM
    if not reason:
        both = np.concatenate([metric, human])
        p_scores, p_people = _one_sided(both, systems, reassignments, generator)
        value = float(1 - np.abs(p_people - p_scores)[upper].mean())
        orders = [np.sign(_gaps(table))[upper] for table in (metric, human)]
        pairwise = float((orders[0] == orders[1]).mean())
    return SoftAccuracyResult(
        value=value,
        pairwise=pairwise,
        p_scores=p_scores,
        p_people=p_people,
        systems=systems,
        pairs=len(upper[0]),
        n=n,
        left_out=int((~complete).sum()),
        reassignments=reassignments,
        seed=reported,
        reason=reason,
    )


def _table(scores: ArrayLike, name: str, missing: str) -> Floats:
    table = score_table(scores, name)
    if missing == "refuse" and np.isnan(table).any():
        system, item = np.argwhere(np.isnan(table))[0].tolist()
        raise BadShape(f"{name}[{system}] has no score at position {item}, expected one of every system")
    return table


def _gaps(table: Floats) -> Floats:
    sums = table.sum(axis=1)
    gaps = sums[:, np.newaxis] - sums
    gaps[np.abs(gaps) <= _slack(table)] = 0.0
    return np.asarray(gaps, dtype=np.float64)


def _slack(table: Floats) -> float:
    return ROUNDING * float(np.abs(table).max(initial=0.0)) * table.shape[1]


def _one_sided(
    both: Floats, systems: int, reassignments: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    # Count the reassignments in which a system is ahead of another by as much as it is.
    n = both.shape[1]
    extreme = np.zeros((2, systems, systems), dtype=np.int64)
    observed = np.stack([_gaps(both[:systems]), _gaps(both[systems:])])
    slack = np.array([_slack(both[:systems]), _slack(both[systems:])])[:, np.newaxis, np.newaxis]
    step = max(1, CELLS // n)
    for start in range(0, reassignments, step):
        size = min(step, reassignments - start)
        coins = np.unpackbits(coin_tosses(generator, size, (n + 7) // 8), axis=1, count=n)
        # A swap on an item turns the sign of a difference there: signed sums of the scores give those of all pairs.
        sums = (1.0 - 2.0 * coins) @ both.T
        for row in sums.reshape(size, 2, systems):
            extreme += row[:, :, np.newaxis] - row[:, np.newaxis, :] >= observed - slack
    p = (extreme + 1) / (reassignments + 1)
    p[:, np.arange(systems), np.arange(systems)] = np.nan
    return p[0], p[1]


@dataclass(frozen=True, slots=True)
class SoftComparisonsResult(Result):
    """value: soft pairwise accuracy. pairwise: share of pairs of systems whose better one is the same for both.

    p_scores, p_people: (pairs,) one-sided p that the first of two systems, by name, is better.
    """

    value: float
    pairwise: float
    pairs: int
    comparisons: int
    p_scores: Floats
    p_people: Floats
    reassignments: int


@signed("soft-accuracy-of-comparisons")
def soft_accuracy_of_comparisons(
    first: Iterable[Any],
    second: Iterable[Any],
    metric: ArrayLike,
    people: ArrayLike,
    *,
    reassignments: int = REASSIGNMENTS,
    seed: Seed = 0,
) -> SoftComparisonsResult:
    """Return soft pairwise accuracy from (N,) comparisons of systems on an item.

    `metric` and `people` are differences of scores, the first system less the second. p is the share of random signs
    with a mean as large, the same for both; an equal one counts half, so that both directions add up to one.
    """
    positive(reassignments, "reassignments")
    generator, reported = generator_of(seed)
    names, first_system, second_system = encode_both(first, second, "first", "second")
    by_metric, by_people = finite_vector(metric, "metric"), finite_vector(people, "people")
    same_length(first=first_system, metric=by_metric, people=by_people)
    # Turn each comparison so that the first of two systems, by name, comes first.
    apart = first_system != second_system
    sign = np.where(first_system < second_system, 1.0, -1.0)[apart]
    differences = np.stack([by_metric[apart], by_people[apart]], axis=1) * sign[:, np.newaxis]
    low, high = np.minimum(first_system, second_system)[apart], np.maximum(first_system, second_system)[apart]
    pairs, pair = np.unique(low * len(names) + high, return_inverse=True)
    p = np.empty((len(pairs), 2))
    agree = np.empty(len(pairs))
    for number in range(len(pairs)):
        of_pair = differences[pair == number]
        total = of_pair.sum(axis=0)
        p[number] = _p_values(of_pair, total, reassignments, generator)
        agree[number] = np.sign(total[0]) == np.sign(total[1])
    return SoftComparisonsResult(
        value=float(1 - np.abs(p[:, 0] - p[:, 1]).mean()) if len(pairs) else math.nan,
        pairwise=float(agree.mean()) if len(pairs) else math.nan,
        pairs=len(pairs),
        comparisons=int(apart.sum()),
        p_scores=p[:, 0],
        p_people=p[:, 1],
        reassignments=reassignments,
        seed=reported,
        reason="" if len(pairs) else NOT_COMPARED,
    )


def _p_values(
    differences: Floats, total: Floats, reassignments: int, generator: np.random.Generator
) -> Floats:
    slack = ROUNDING * np.abs(differences).sum(axis=0)
    reached = np.zeros(2)
    at_once = max(1, CELLS // len(differences))
    for start in range(0, reassignments, at_once):
        size = min(at_once, reassignments - start)
        signs = 2.0 * generator.integers(0, 2, size=(size, len(differences))) - 1
        drawn = signs @ differences
        reached += (drawn > total + slack).sum(axis=0) + 0.5 * (np.abs(drawn - total) <= slack).sum(axis=0)
    return reached / reassignments
