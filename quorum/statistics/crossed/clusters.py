"""Rows of data clustered by item, by rater, or by both, over which variances are computed.

Rows of the same item, or by the same rater, depend on each other, so they form a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy  # its submodules load at first use

from quorum.numeric.arrays import Flags, Floats, Ints, parts_of
from quorum.statistics.crossed.spread import NO_SPREAD, Spread, crossed_covariance, crossed_spread
from quorum.statistics.crossed.variance import MIN_CLUSTERS, Squares, cluster_correction, effective_number
from quorum.statistics.inputs import BadOption, BadShape, BadValue, encode, same_length
from quorum.statistics.sorting import order_of

NAIVE, BOTH = "naive", "both"
ITEM, RATER = "item", "rater"
TOO_FEW_CLUSTERS = "{are} {count} {name}{s}, expected {fewest} or more to say what others would give"
FIXED_NOTE = "with {count} {name}{s}, expected {fewest} or more, the interval is for {these} {name}{s} alone"

# The clusters of rows: "naive" (each row is a cluster), or (N,) columns by name, such as item and rater. In statistics
# of people's winners or means, the raters' column may be `RaterDeletions`: how these change without each rater.
ClusterColumns = str | Mapping[str, Any]


def column_codes(values: Iterable[Any], name: str, row_count: int, row: str = "a row") -> Ints:
    """Return the (N,) codes of a column of clusters.

    Raise BadShape if it does not have `row_count` entries. The message expects one entry for `row`, such as "a pair".
    """
    column = f"clusters[{name!r}]"
    _, codes = encode(values, column)
    if len(codes) != row_count:
        raise BadShape(f"{column} has {len(codes)} entries, expected {row_count}, one {row}")
    return codes


@dataclass(frozen=True, slots=True)
class Clusters:
    """N rows clustered by item, by rater, or by both.

    columns: (N,) codes of the clusters in each column, by its name. counts: number of clusters by name. columns_used:
    names of the columns with two clusters or more. codes: the (N,) codes of each used column; if there are two, also
    those of their cells. A cell is an item with a rater, so usually a single answer. sizes: for each of `codes`, the
    (G,) numbers of rows in the clusters. reason: why there is no interval. note: a warning about the interval. cache:
    the last result of `subset`.
    """

    columns: Mapping[str, Ints]
    counts: Mapping[str, int]
    columns_used: tuple[str, ...]
    codes: tuple[Ints, ...]
    sizes: tuple[Floats, ...]
    reason: str
    note: str
    cache: dict[bytes, Clusters] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Iterable[Any]], row_count: int, keep: Flags | None = None
    ) -> Clusters:
        """Return the clusters of one or two columns. Raise BadOption if there are more.

        A column with a single cluster is not used if there is another column. `keep` (N,) is true for the rows to keep.
        """
        if not 1 <= len(columns) <= 2:
            raise BadOption(f"clusters has {len(columns)} columns, expected one or two (item, rater)")
        codes_by_name: dict[str, Ints] = {}
        for name, values in columns.items():
            codes = column_codes(values, name, row_count)
            codes_by_name[name] = codes if keep is None else renumber_codes(codes[keep])
        return cls.of_codes(codes_by_name)

    def subset(self, rows: Flags) -> Clusters:
        """Return the clusters of the rows for which `rows` (N,) is true. The last result is cached."""
        same_length(rows=rows, **self.columns)
        if rows.all():
            return self
        key = np.packbits(rows).tobytes()
        subset = self.cache.get(key)  # read it once, as another thread may replace it
        if subset is None:
            self.cache.clear()
            # With two columns, the third codes are those of the cells.
            cells = self.codes[2][rows] if len(self.codes) > 2 else None
            subset = self.of_codes(
                {name: renumber_codes(codes[rows]) for name, codes in self.columns.items()}, cells
            )
            self.cache[key] = subset
        return subset

    @classmethod
    def of_codes(cls, columns: Mapping[str, Ints], cell_codes: Ints | None = None) -> Clusters:
        """Return the clusters of columns of (N,) codes, which are from 0 without gaps.

        `cell_codes` (N,) are different for different cells of two columns; if omitted, they are computed.
        """
        counts = {name: int(codes.max(initial=-1)) + 1 for name, codes in columns.items()}
        used_columns = {name: codes for name, codes in columns.items() if counts[name] >= MIN_CLUSTERS}
        unused_names = [name for name in columns if name not in used_columns]
        reason = note = ""
        if not used_columns:
            largest_name = max(counts, key=lambda name: counts[name])
            reason = too_few_clusters(largest_name, counts[largest_name])
        elif unused_names:
            note = fixed_note(unused_names[0], counts[unused_names[0]])
        codes = tuple(used_columns.values())
        if len(codes) == 2:
            if cell_codes is None:
                cell_codes = codes[0] * np.int64(codes[1].max() + 1) + codes[1]
            codes = (*codes, renumber_codes(cell_codes))
        sizes = tuple(np.bincount(column).astype(np.float64) for column in codes)
        return cls(columns, counts, tuple(used_columns), codes, sizes, reason, note)

    @property
    def cluster_count(self) -> int:
        """The number of clusters of the first used column."""
        return len(self.sizes[0]) if self.sizes else 0

    @property
    def cell_count(self) -> int:
        """The number of cells of two used columns; of one column, the number of its clusters."""
        return len(self.sizes[-1]) if self.sizes else 0

    def for_agreement(self) -> Clusters:
        """Return the clusters for a coefficient of agreement, without raters if there are only two.

        Two raters are a single pair, which does not show how much other raters would differ.
        """
        if self.counts.get(RATER) != MIN_CLUSTERS:
            return self
        items = {name: codes for name, codes in self.columns.items() if name != RATER}
        note = fixed_note(RATER, MIN_CLUSTERS, MIN_CLUSTERS + 1)
        if not items:
            return replace(self, reason=note)
        return replace(self.of_codes(items), counts=self.counts, note=note)

    def has_single_rows(self, row_count: int) -> bool:
        """Return whether each of the rows is a cluster of its own, by every column."""
        return all(count == row_count for count in self.counts.values())

    def with_weights(self, weights: Floats) -> Clusters:
        """Return the clusters with sizes that are sums of (N,) `weights` instead of numbers of rows."""
        sizes = tuple(np.bincount(codes, weights=weights).astype(np.float64) for codes in self.codes)
        return replace(self, sizes=sizes, cache={})

    def spread(self, influences: Floats) -> Spread:
        """Return the spread of an estimate from the (N,) influences of rows, whose sum must be zero."""
        if self.reason:
            return NO_SPREAD
        return self.spread_of_squares(
            [float(np.square(np.bincount(codes, weights=influences)).sum()) for codes in self.codes]
        )

    def spread_of_squares(self, squares: Sequence[float]) -> Spread:
        """Return the spread of an estimate from sums of squares of its influences, one sum for each of `codes`."""
        items = Spread.of_squares(squares[0], effective_number(self.sizes[0]))
        if len(squares) == 1:
            return items
        by_item, by_rater, by_answer = squares
        return crossed_spread(items, Squares(by_item, by_rater, by_answer, self.cluster_count, self.sizes[1]))

    def covariance(self, influences: scipy.sparse.csr_array, mixing: Floats) -> tuple[Floats, Floats]:
        """Return the (K, K) covariance of K estimates, and their (K,) degrees of freedom.

        The influences of rows on them are the (N, K) `influences` times the (K, K) `mixing`, such as the slopes of the
        rows' log-likelihoods times the inverse information.
        """
        size = len(mixing)
        if self.reason:
            return np.full((size, size), math.nan), np.full(size, math.nan)
        # Sum the influences by item and, if there are raters, by rater and by answer.
        rows = np.arange(len(self.codes[0]))
        squares_by_codes: list[Floats] = []
        for codes in self.codes:
            sums = scipy.sparse.csr_array((np.ones(len(codes)), (codes, rows))) @ influences
            squares_by_codes.append(mixing.T @ (sums.T @ sums).toarray() @ mixing)
        effective_items = effective_number(self.sizes[0])
        covariance: Floats = squares_by_codes[0] * cluster_correction(effective_items)
        freedom = np.full(size, max(effective_items, MIN_CLUSTERS) - 1)
        if len(squares_by_codes) > 1:
            by_item, by_rater, by_answer = squares_by_codes
            squares = Squares(by_item, by_rater, by_answer, self.cluster_count, self.sizes[1])
            return crossed_covariance(covariance, freedom, squares)
        return covariance, freedom

    def components(self, values: Floats) -> Floats:
        """Return the variance components of (N,) values: by item, by rater and within, negative estimates as zero.

        With these components, the expected sums of squares equal the observed ones (Henderson 1953, method 1).
        """
        deviations = values - values.mean()
        squares = [np.square(np.bincount(codes, weights=deviations)).sum() for codes in self.codes]
        return np.maximum(np.linalg.solve(_expected_squares(self.codes, self.sizes), squares), 0)


def too_few_clusters(name: str, count: int) -> str:
    are, s = ("there is", "") if count == 1 else ("there are", "s")
    return TOO_FEW_CLUSTERS.format(are=are, count=count, name=name, s=s, fewest=MIN_CLUSTERS)


def fixed_note(name: str, count: int, fewest: int = MIN_CLUSTERS) -> str:
    """Return the note that an interval regards the few clusters of a column as fixed."""
    s, these = ("", "this") if count == 1 else ("s", "these")
    return FIXED_NOTE.format(count=count, name=name, fewest=fewest, s=s, these=these)


def joint_clusters(columns: Mapping[str, Iterable[Any]], row_count: int) -> Clusters | None:
    """Return the clusters whose rows a randomisation test swaps together, or None if there are no columns.

    Raise BadOption if there are several columns, and BadValue if there are too few clusters.
    """
    if not columns:
        return None
    if len(columns) > 1:
        raise BadOption(
            f"clusters has {len(columns)} columns, expected one kind of rows that change sides together"
        )
    clusters = Clusters.from_columns(columns, row_count)
    if clusters.reason:
        raise BadValue(f"clusters cannot change sides: {clusters.reason}")
    return clusters


def spread_of_mean(values: Floats, columns: Mapping[str, Iterable[Any]]) -> tuple[Spread, Clusters]:
    """Return the spread of the mean of (N,) values, and the clusters of the columns."""
    clusters = Clusters.from_columns(columns, len(values))
    return clusters.spread((values - values.mean()) / len(values)), clusters


def _expected_squares(codes: tuple[Ints, ...], sizes: tuple[Floats, ...]) -> Floats:
    """Return a matrix of expected sums of squares.

    Its entry in row p and column q is the expected sum by clustering p if the variance by clustering q is 1. If two
    clusters have n_pq rows in common, the entry is the sum over all clusters p and q of (n_pq - n_p n_q / N)^2.
    """
    # If p and q differ, n_pq is the size of a cell. The sum over rows of n_p n_q of their clusters is the sum over p
    # and q of n_pq n_p n_q.
    n, products = len(codes[0]), np.zeros((len(codes), len(codes)))
    for block in parts_of(n):
        row_sizes = np.stack([size[column[block]] for column, size in zip(codes, sizes, strict=True)])
        products += row_sizes @ row_sizes.T
    squares = np.array([np.square(size).sum() for size in sizes])
    # The last sizes are those of the cells.
    common_squares = np.where(np.eye(len(codes), dtype=np.bool_), squares, squares[-1])
    expected_squares: Floats = common_squares - 2 * products / n + np.outer(squares, squares) / n**2
    return expected_squares


def renumber_codes(codes: Ints) -> Ints:
    """Return the codes renumbered from 0, without gaps, in the same order."""
    if codes.max(initial=0) < len(codes):  # count instead of sorting
        occurs = np.bincount(codes) > 0
        return codes if occurs.all() else np.asarray(np.cumsum(occurs) - 1, dtype=np.int64)[codes]
    order = order_of(codes)
    sorted_codes = codes[order]
    numbers = np.zeros(len(codes), dtype=np.int64)
    numbers[order[1:]] = np.cumsum(sorted_codes[1:] != sorted_codes[:-1])
    return numbers
