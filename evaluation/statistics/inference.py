"""Intervals and tests of all statistics: bootstrap, rows that share items and raters, options, signed results.

Bootstrap by weights copies no data: equal units form a pattern, and a resample is a vector of how often each pattern
was drawn.

Clusters: an estimate's error is about the sum of its rows' influences. Its variance is that of random items, raters and
cells (an item with a rater): sum_p s_p^2 T_p, with T_p the sum of squared sizes of the clusters of kind p. The s_p^2,
none below zero, are those that expect the observed sums of squares of the clusters' influences (Henderson 1953, method
1). Degrees of freedom follow Satterthwaite (1946), with the effective number of clusters less one (Carter, Schnepel,
Steigerwald 2017). Where raters have no rows of their own, as their answers make a row's consensus together, they are
known by `RaterDeletions`. See docs/statistics.md.

A signature names the statistic, its input where there are several, and every option:
`krippendorff-alpha|input:table|level:ordinal|confidence:0.95|resamples:2000|seed:0|v:1.0`
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, ParamSpec, TypedDict, TypeVar, Unpack

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from evaluation.numeric.arrays import Flags, Floats, Ints
from evaluation.numeric.packing import declare
from evaluation.numeric.parallel import Serial, map_parts
from evaluation.numeric.signatures import GIVEN, Signature, Value
from evaluation.statistics.inputs import (
    ROUNDING,
    BadOption,
    BadShape,
    BadValue,
    encode,
    finite_vector,
    is_real,
    positive,
    refuse_values,
    same_length,
)

ALTERNATIVES = ("two-sided", "greater", "less")
Seed = int | np.integer[Any] | np.random.Generator
CONFIDENCE = 0.95
RESAMPLES = 2000

# What a bootstrap draws anew.
OVER = ("units", "raters", "both")

# Numbers held at once while resampling: 4 million doubles are 32 MB.
CELLS = 4_000_000
DRAWN_AT_ONCE = 32_768  # units, which the processor's cache holds
BLOCK = 2000  # resamples of one stream of random numbers
WORTH_PROCESSES = 1e8  # numbers, about a second of work
Estimator = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Estimate:
    value: float
    low: float
    high: float


def generator_of(seed: Seed) -> tuple[np.random.Generator, int | None]:
    if isinstance(seed, np.random.Generator):
        return seed, None
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise BadOption(f"seed is {seed!r}, expected a whole number from zero on or a numpy Generator")
    return np.random.default_rng(int(seed)), int(seed)


def check_confidence(value: float, name: str = "confidence") -> float:
    if not (is_real(value) and 0 < value < 1):
        raise BadOption(f"{name} is {value!r}, expected a number between 0 and 1")
    return float(value)


def pattern_weights(
    frequency: Ints, resamples: int, generator: np.random.Generator, width: int = 1
) -> Iterator[Floats]:
    """Yield resamples in chunks of (chunk, P) float64: how often each pattern of `frequency` (P,) units was drawn.

    `width` numbers are made per resample; chunks fit into memory.
    """
    total = int(frequency.sum())
    patterns = len(frequency)
    chunk = max(1, CELLS // max(patterns, width, 1))
    owner = np.repeat(np.arange(patterns), frequency) if _by_unit(frequency) else None
    alone = patterns == total  # each unit is a pattern
    shares = frequency / total
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        if owner is None:
            yield generator.multinomial(total, shares, size=size).astype(np.float64)
            continue
        weights = np.empty((size, patterns))
        rows = max(1, DRAWN_AT_ONCE // max(total, patterns))
        for row in range(0, size, rows):
            count = min(rows, size - row)
            drawn = generator.integers(0, total, size=(count, total))
            if not alone:
                drawn = owner[drawn]
            drawn += np.arange(0, count * patterns, patterns)[:, np.newaxis]
            counts = np.bincount(drawn.ravel(), minlength=count * patterns)
            weights[row : row + count] = counts.reshape(count, patterns)
        yield weights


def _by_unit(frequency: Ints) -> bool:
    """Tell whether drawing unit by unit beats one binomial per pattern: nearly every unit is its own pattern."""
    return len(frequency) * 4 > int(frequency.sum())


def bootstrap(
    statistic: Estimator,
    frequency: Ints,
    *,
    resamples: int,
    generator: np.random.Generator,
    width: int = 1,
) -> Floats:
    """Return (resamples,) values of a statistic of resampled units, or rows of columns if it returns them.

    Every BLOCK resamples have a stream of random numbers of their own (numpy's `BitGenerator.jumped`), so that the
    values are the same whoever computes a block, and in whatever order.
    """
    positive(resamples, "resamples")
    shared = statistic, frequency, width
    bits = generator.bit_generator
    if resamples <= BLOCK or not hasattr(bits, "jumped"):
        return _draw_block(shared, (generator, resamples))
    sizes = [min(BLOCK, resamples - start) for start in range(0, resamples, BLOCK)]
    blocks = list(zip(streams(generator, len(sizes)), sizes, strict=True))
    bits.state = bits.jumped(len(sizes)).state
    numbers = resamples * max(int(frequency.sum()) if _by_unit(frequency) else len(frequency), width)
    map_blocks = map_parts if numbers > WORTH_PROCESSES else Serial().map
    return np.concatenate(list(map_blocks(_draw_block, shared, blocks)))


def streams(generator: np.random.Generator, count: int) -> list[np.random.Generator]:
    """Return generators of so many streams; the first goes on where ``generator`` is, which does not move."""
    bits: Any = generator.bit_generator  # numpy's types know no `jumped`
    return [np.random.Generator(bits.jumped(number)) for number in range(count)]


@declare
def _draw_block(shared: tuple[Estimator, Ints, int], block: tuple[np.random.Generator, int]) -> Floats:
    statistic, frequency, width = shared
    generator, resamples = block
    return np.concatenate(
        [statistic(weights) for weights in pattern_weights(frequency, resamples, generator, width)]
    )


def percentile_interval(draws: Floats, confidence: float) -> tuple[float, float, int]:
    """Return low, high and the number of undefined (nan) draws, which are left out."""
    defined = draws[~np.isnan(draws)]
    left_out = len(draws) - len(defined)
    if not len(defined):
        return math.nan, math.nan, left_out
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high), left_out


def count_extreme(drawn: Floats, difference: float, scale: float, alternative: str) -> int:
    """Count the drawn differences at least as extreme as the observed one, of scores up to `scale`."""
    slack = ROUNDING * scale
    if alternative == "two-sided":
        return int((np.abs(drawn) >= abs(difference) - slack).sum())
    if alternative == "greater":
        return int((drawn >= difference - slack).sum())
    return int((drawn <= difference + slack).sum())


def coin_tosses(generator: np.random.Generator, rows: int, columns: int) -> NDArray[np.uint8]:
    size = rows * columns
    integers = generator.integers(0, 2**64, size=(size + 7) // 8, dtype=np.uint64)
    return integers.view(np.uint8)[:size].reshape(rows, columns)


NAIVE = "naive"
ITEM, RATER = "item", "rater"

# Fewer clusters do not show how much clusters differ.
FEWEST = 5
TOO_FEW = "{are} {count} {name}{s}, expected {fewest} or more to say what others would give"
FIXED = "with {count} {name}{s}, expected {fewest} or more, the interval is for {these} {name}{s} alone"
# Fewer raters of a consensus give a t too rough: at worst .91 of intervals of .95 hold the truth (benchmarks.coverage).
FEW_RATERS = 10
FEW = "with {count} raters, expected {few} or more, the interval may be somewhat too narrow"

# How rows are clustered: "naive" (each row for itself), or (N,) columns by name, such as item and rater. Statistics of
# people's winners or means also take `RaterDeletions` in the place of the raters' column.
ClusterColumns = str | Mapping[str, Any]


def columns_of(clusters: ClusterColumns) -> Mapping[str, Iterable[Any]]:
    """Return the columns, none of them for "naive"."""
    if not isinstance(clusters, Mapping):
        if clusters != NAIVE:
            raise BadOption(f"clusters is {clusters!r}, expected {NAIVE!r} or columns by name")
        return {}
    for name, column in clusters.items():
        if isinstance(column, RaterDeletions):
            raise BadOption(
                f"clusters[{name!r}] has a consensus without each rater, expected one {name} a row"
            )
    return clusters


@dataclass(frozen=True, slots=True)
class RaterDeletions:
    """People's winners or means of rows without one rater, for each rater with a part in them.

    row, rater: (V,) positions of rows, and codes of raters from 0 on. value: (V,) of the row if the rater had not
    answered: the winner 1, 2, or 0 for none; or the mean, nan for none.
    """

    row: Ints
    rater: Ints
    value: Floats

    @classmethod
    def of_leads(cls, row: Ints, rater: Ints, part: ArrayLike, lead: ArrayLike) -> RaterDeletions:
        """Return the winners by (N,) leads of the first over the second, less the (V,) parts of a rater's answers."""
        parts, leads = np.asarray(part), np.asarray(lead)
        first, number = answers_by_cell(row, rater)
        left = leads[row[first]] - np.bincount(number, weights=parts, minlength=len(first))
        return cls(row[first], rater[first], np.where(left > 0, 1.0, np.where(left < 0, 2.0, 0.0)))

    def subset(self, rows: Flags) -> RaterDeletions:
        """Return those of some of the (N,) rows, which keep their positions; raters are numbered anew."""
        here = rows[self.row]
        return RaterDeletions(self.row[here], renumbered(self.rater[here]), self.value[here])

    def of_rows(self, keep: Flags, name: str) -> RaterDeletions:
        """Return those of the rows to `keep` of all (N,), by the positions that these have then."""
        self.check(len(keep), name)
        left = self.subset(keep)
        return replace(left, row=(np.cumsum(keep) - 1)[left.row])

    def check(self, rows: int, name: str) -> None:
        """Raise BadShape if there are positions beyond so many rows."""
        last = int(self.row.max(initial=-1))
        if last >= rows:
            raise BadShape(f"clusters[{RATER!r}] names {name} {last}, expected one of {rows} from 0 on")

    @property
    def raters(self) -> int:
        return int(self.rater.max(initial=-1)) + 1

    def widen(
        self, spread: Spread, items: Clusters, changes: Callable[[], Floats]
    ) -> tuple[Spread, Clusters]:
        """Add the raters to the spread and the counts of the items; few raters are a note, as if they were all."""
        if not self.raters or items.reason:
            return spread, items
        counts = {**items.counts, RATER: self.raters}
        if self.raters < FEWEST:
            return spread, replace(items, counts=counts, note=fixed_note(RATER, self.raters))
        note = FEW.format(count=self.raters, few=FEW_RATERS) if self.raters < FEW_RATERS else ""
        return self.spread(spread, changes()), replace(items, counts=counts, note=note)

    def spread(self, items: Spread, changes: Floats) -> Spread:
        """Add the raters' variance to that of the items.

        `changes` (V,): how much of the estimate is lost where a rater leaves a row. Its mean over what the others
        answer is the part of the estimate that is the rater's (Hoeffding 1948), so the sums of squares by rater and by
        answer are those of clustering by two ways: items + raters - answers (Cameron, Gelbach, Miller 2011, equation
        2.8), here never below the items'.
        """
        centred = changes - changes.mean()
        sizes = np.bincount(self.rater)
        raters = float(np.square(np.bincount(self.rater, weights=centred)).sum())
        raters *= len(sizes) / (len(sizes) - 1)
        answers = float(np.square(centred).sum())
        variance = items.variance + max(raters - answers, 0.0)
        freedom = max(sizes.sum() ** 2 / np.square(sizes).sum() - 1, 1)
        below = items.variance**2 / items.df + raters**2 / freedom
        # The difference of two sums of squares may be near zero, which is no reason for fewer degrees of freedom than
        # the rarer clusters have.
        df = max(variance**2 / below, min(items.df, freedom)) if below > 0 else math.inf
        return Spread(variance, df)


NO_DELETIONS = RaterDeletions(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def answers_by_cell(row: Ints, rater: Ints) -> tuple[Ints, Ints]:
    """Return the first answer of each rater to each row, and the (V,) number of each answer's rater and row."""
    cell = row * (int(rater.max(initial=0)) + 1) + rater
    _, first, number = np.unique(cell, return_index=True, return_inverse=True)
    return first, number


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of an estimate, and the degrees of freedom of its t."""

    variance: float
    df: float

    def p(self, value: float, alternative: str = "two-sided") -> float:
        """Return the p of a value that is zero in truth; nan without variance."""
        if not self.variance > 0:
            return math.nan
        t = value / math.sqrt(self.variance)
        if alternative == "two-sided":
            return float(2 * scipy.special.stdtr(self.df, -abs(t)))
        return float(scipy.special.stdtr(self.df, -t if alternative == "greater" else t))

    def half(self, confidence: float) -> float:
        return float(scipy.special.stdtrit(self.df, 0.5 + confidence / 2)) * math.sqrt(self.variance)


NO_SPREAD = Spread(math.nan, math.nan)


def quantile_of(confidence: float, df: float = math.inf) -> float:
    """Return the two-sided quantile of t, or of the normal distribution for infinite `df`."""
    return float(
        scipy.special.stdtrit(df, 0.5 + confidence / 2)
        if df < math.inf
        else scipy.special.ndtri(0.5 + confidence / 2)
    )


def columns_and_deletions(clusters: ClusterColumns) -> tuple[ClusterColumns, RaterDeletions | None]:
    """Return the columns, and apart from them the consensus without each rater, if there is one."""
    if not isinstance(clusters, Mapping):
        return clusters, None
    deletions = [column for column in clusters.values() if isinstance(column, RaterDeletions)]
    if len(deletions) > 1:
        raise BadOption(f"clusters has {len(deletions)} kinds of raters, expected one")
    columns = {name: column for name, column in clusters.items() if not isinstance(column, RaterDeletions)}
    return columns, deletions[0] if deletions else None


def positions_and_raters(
    name: str, positions: ArrayLike, raters: Iterable[Any], number: int
) -> tuple[Ints, Ints]:
    """Return (V,) positions of answers in `number` rows, and codes of who gave them."""
    numbers = finite_vector(positions, name)
    _, rater = encode(raters, "raters")
    same_length(**{name: numbers, "raters": rater})
    position = numbers.astype(np.int64)
    refuse_values(numbers, (position < 0) | (position >= number), name, f"0 to {number - 1}")
    return position, rater


def column_codes(values: Iterable[Any], name: str, rows: int, row: str = "a row") -> Ints:
    """Return the (N,) codes of a column of clusters."""
    column = f"clusters[{name!r}]"
    _, codes = encode(values, column)
    if len(codes) != rows:
        raise BadShape(f"{column} has {len(codes)} entries, expected {rows}, one {row}")
    return codes


@dataclass(frozen=True, slots=True)
class Clusters:
    """(N,) rows by item, by rater, or by both.

    columns: (N,) codes by name. used: the names with clusters enough. codes: (N,) of each of them; with two names, then
    those of the cells. sizes: (G,) rows of each cluster. note: what the intervals leave out.
    """

    columns: Mapping[str, Ints]
    counts: Mapping[str, int]
    used: tuple[str, ...]
    codes: tuple[Ints, ...]
    sizes: tuple[Floats, ...]
    expected: Floats
    reason: str
    note: str
    latest: dict[bytes, Clusters] = field(default_factory=dict, compare=False, repr=False)  # see `subset`

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[Any]], rows: int, keep: Flags | None = None) -> Clusters:
        """Read one or two columns; leave out one with few clusters if there is another."""
        if not 1 <= len(columns) <= 2:
            raise BadOption(f"clusters has {len(columns)} columns, expected one or two (item, rater)")
        coded: dict[str, Ints] = {}
        for name, values in columns.items():
            codes = column_codes(values, name, rows)
            coded[name] = codes if keep is None else renumbered(codes[keep])
        return cls.of_codes(coded)

    def subset(self, rows: Flags) -> Clusters:
        """Return the clusters of some of the (N,) rows; those asked for last are kept."""
        same_length(rows=rows, **self.columns)
        if rows.all():
            return self
        key = np.packbits(rows).tobytes()
        subset = self.latest.get(key)  # once: another thread may ask for other rows meanwhile
        if subset is None:
            self.latest.clear()
            subset = self.of_codes({name: renumbered(codes[rows]) for name, codes in self.columns.items()})
            self.latest[key] = subset
        return subset

    @classmethod
    def of_codes(cls, columns: Mapping[str, Ints]) -> Clusters:
        """Read (N,) codes from 0 on, without gaps."""
        counts = {name: int(codes.max(initial=-1)) + 1 for name, codes in columns.items()}
        used = {name: codes for name, codes in columns.items() if counts[name] >= FEWEST}
        short = [name for name in columns if name not in used]
        reason = note = ""
        if not used:
            most = max(counts, key=lambda name: counts[name])
            reason = too_few(most, counts[most])
        elif short:
            note = fixed_note(short[0], counts[short[0]])
        codes = tuple(used.values())
        if len(codes) == 2:
            cells = renumbered(codes[0] * np.int64(codes[1].max() + 1) + codes[1])
            number = int(cells.max()) + 1
            # Where each item has one rater only, cells are items, and raters are all there is to cluster by.
            if int(codes[0].max()) + 1 == number:
                codes = (codes[1],)
            elif int(codes[1].max()) + 1 == number:
                codes = (codes[0],)
            else:
                codes = (*codes, cells)
        sizes = tuple(np.bincount(of_kind).astype(np.float64) for of_kind in codes)
        return cls(columns, counts, tuple(used), codes, sizes, _expected(codes, sizes), reason, note)

    def alone(self, rows: int) -> bool:
        return all(count == rows for count in self.counts.values())

    def spread(self, influences: Floats) -> Spread:
        """Return the variance of the estimate with (N,) influences of sum zero."""
        if self.reason:
            return NO_SPREAD
        return self.spread_of(
            [float(np.square(np.bincount(codes, weights=influences)).sum()) for codes in self.codes]
        )

    def spread_of(self, squares: Sequence[float]) -> Spread:
        """Return the variance of an estimate from its summed squared influences, kind by kind."""
        parts = np.maximum(np.linalg.solve(self.expected, squares), 0) * self._totals()
        return Spread(float(parts.sum()), self._freedom(parts))

    def covariance(self, influences: scipy.sparse.csr_array, mixing: Floats) -> tuple[Floats, Floats]:
        """Return (K, K) covariance of estimates with (N, K) influences times (K, K) `mixing`, and (K,) df."""
        size = len(mixing)
        if self.reason:
            return np.full((size, size), math.nan), np.full(size, math.nan)
        # The observed sums of squares of the estimates, kind of cluster by kind.
        forms = np.empty((len(self.codes), size * size))
        for kind, codes in enumerate(self.codes):
            rows = np.arange(len(codes))
            sums = scipy.sparse.csr_array((np.ones(len(codes)), (codes, rows))) @ influences
            forms[kind] = (mixing.T @ (sums.T @ sums).toarray() @ mixing).ravel()
        # The variances that expect them, none below zero.
        solved: Floats = np.linalg.solve(self.expected, forms).astype(np.float64, copy=False)
        parts: Floats = np.array([_without_negative(part) for part in solved.reshape(-1, size, size)])
        parts *= self._totals()[:, np.newaxis, np.newaxis]
        freedom = [self._freedom(parts[:, kind, kind]) for kind in range(size)]
        return parts.sum(axis=0), np.array(freedom)

    def components(self, values: Floats) -> Floats:
        """Return the variance of (N,) values between the clusters of each kind, none below zero."""
        centred = values - values.mean()
        squares = [np.square(np.bincount(codes, weights=centred)).sum() for codes in self.codes]
        variances: Floats = np.maximum(np.linalg.solve(self.expected, squares), 0)
        return variances

    def _totals(self) -> Floats:
        return np.array([np.square(size).sum() for size in self.sizes])

    def _freedom(self, parts: Floats) -> float:
        squares = [np.square(size) for size in self.sizes]
        effective = np.array([squared.sum() ** 2 / np.square(squared).sum() for squared in squares])
        below = np.square(parts) / np.maximum(effective - 1, 1)
        return float(parts.sum() ** 2 / below.sum()) if below.sum() > 0 else math.inf

    def randomized(self, draws: Sequence[Floats]) -> Floats:
        """Return draws under all kinds of clusters, from draws that change the clusters of each kind together.

        The sum of draws by item and by rater counts twice what both share, and is brought to its right variance.
        """
        if len(draws) == 1:
            return draws[0]
        totals = self._totals()
        shared = np.where(np.eye(len(draws), dtype=np.bool_), totals, totals[-1])
        squares = np.array([np.nanmean(np.square(drawn)) for drawn in draws])
        parts = np.maximum(np.linalg.solve(shared, squares), 0) * totals
        both = squares[0] + squares[1]
        scale = math.sqrt(parts.sum() / both) if both > 0 else 1.0
        return np.asarray((draws[0] + draws[1]) * scale, dtype=np.float64)


def too_few(name: str, count: int) -> str:
    """Return the reason for no interval where no kind has clusters enough."""
    are, s = ("there is", "") if count == 1 else ("there are", "s")
    return TOO_FEW.format(are=are, count=count, name=name, s=s, fewest=FEWEST)


def fixed_note(name: str, count: int) -> str:
    """Return the note on an interval that takes the few clusters of a kind as they are."""
    s, these = ("", "this") if count == 1 else ("s", "these")
    return FIXED.format(count=count, name=name, fewest=FEWEST, s=s, these=these)


def moving_together(columns: Mapping[str, Iterable[Any]], rows: int) -> Clusters | None:
    if not columns:
        return None
    grouped = Clusters.of(columns, rows)
    if grouped.reason:
        raise BadValue(f"clusters cannot change sides: {grouped.reason}")
    return grouped


@dataclass(frozen=True, slots=True)
class ClusteredInterval:
    low: float
    high: float
    clusters: Clusters


def share_of_rows(
    outcomes: Floats,
    columns: Mapping[str, Iterable[Any]] | Clusters,
    confidence: float,
    *,
    keep: Flags | None = None,
    weights: Floats | None = None,
    widen: Callable[[Spread, Clusters], tuple[Spread, Clusters]] | None = None,
) -> ClusteredInterval:
    """Return the interval of the (weighted) mean of outcomes from 0 to 1 of the (N,) rows to `keep`.

    `widen` adds what else makes the mean vary.
    """
    if isinstance(columns, Clusters):
        clusters = columns if keep is None else columns.subset(keep)
    else:
        clusters = Clusters.of(columns, len(outcomes), keep)
    if keep is not None:
        outcomes, weights = outcomes[keep], None if weights is None else weights[keep]
    if not len(outcomes):
        return ClusteredInterval(math.nan, math.nan, clusters)
    amounts = np.ones(len(outcomes)) if weights is None else weights
    share = float(amounts @ outcomes) / float(amounts.sum())
    if weights is None and clusters.alone(len(outcomes)) and not (outcomes % 1).any():
        # The variance of independent noughts and ones follows from their share.
        spread = Spread(share * (1 - share) / len(outcomes), math.inf)
        cells, clusters = len(outcomes), replace(clusters, reason="", note="")
    elif clusters.reason:
        return ClusteredInterval(math.nan, math.nan, clusters)
    else:
        spread = clusters.spread(amounts * (outcomes - share) / amounts.sum())
        cells = len(clusters.sizes[-1])
    if widen is not None:
        spread, clusters = widen(spread, clusters)
    low, high = share_interval(share, spread, cells, confidence)
    return ClusteredInterval(low, high, clusters)


def spread_of_mean(values: Floats, columns: Mapping[str, Iterable[Any]]) -> tuple[Spread, Clusters]:
    clusters = Clusters.of(columns, len(values))
    return clusters.spread((values - values.mean()) / len(values)), clusters


def _expected(codes: tuple[Ints, ...], sizes: tuple[Floats, ...]) -> Floats:
    """Return the sums of squares by p of centred influences to expect from variance 1 by q.

    With n_pq rows in common: sum_pq (n_pq - n_p n_q / N)^2.
    """
    if not codes:
        return np.empty((0, 0))
    # n_pq is the rows of a cell where p and q differ; a row of clusters of n_p and n_q rows adds n_p n_q to their sum.
    rows = len(codes[0])
    row_sizes = [size[of_kind] for of_kind, size in zip(codes, sizes, strict=True)]
    pairs = np.array([[by_p @ by_q for by_q in row_sizes] for by_p in row_sizes])
    squares = np.array([np.square(size).sum() for size in sizes])
    shared = np.where(np.eye(len(codes), dtype=np.bool_), squares, squares[-1])
    expected: Floats = shared - 2 * pairs / rows + np.outer(squares, squares) / rows**2
    return expected


def _without_negative(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T, dtype=np.float64)


def renumbered(codes: Ints) -> Ints:
    """Return codes from 0 on without gaps."""
    highest, bits = int(codes.max(initial=0)), len(codes).bit_length()
    if highest < len(codes):  # counted, not sorted
        return np.asarray(np.cumsum(np.bincount(codes) > 0) - 1, dtype=np.int64)[codes]
    if highest.bit_length() + bits > 63:
        return np.unique(codes, return_inverse=True)[1].astype(np.int64, copy=False)
    # Numbers sort five times as fast as their places: each takes its place along, in its lowest bits.
    both = np.sort(codes << bits | np.arange(len(codes)))
    places = both & ((1 << bits) - 1)
    both >>= bits
    numbers = np.zeros(len(codes), dtype=np.int64)
    numbers[places[1:]] = np.cumsum(both[1:] != both[:-1])
    return numbers


def independent_rows(share: float, spread: Spread, cells: float) -> float:
    """Return how many independent rows give the share that variance.

    Where all or no rows count, their variance shows nothing, and `cells` is that number.
    """
    spread_of_row = share * (1 - share)
    return spread_of_row / spread.variance if spread.variance > 0 and spread_of_row > 0 else cells


def share_interval(share: float, spread: Spread, cells: float, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval, with t for z, for as many `independent_rows` as give the share that variance."""
    if not (0 <= share <= 1) or math.isnan(spread.df):
        return math.nan, math.nan
    rows = independent_rows(share, spread, cells)
    z = float(scipy.special.stdtrit(spread.df if math.isfinite(spread.df) else 1e9, 0.5 + confidence / 2))
    scale = 1 + z**2 / rows
    centre = (share + z**2 / (2 * rows)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return (0.0 if share == 0 else max(centre - half, 0.0)), (1.0 if share == 1 else min(centre + half, 1.0))


def coefficient_interval(
    value: float, spread: Spread, confidence: float, *, judges: float = 2.0, shift: float = 0.0
) -> tuple[float, float]:
    """Return the interval of a coefficient up to 1, symmetric on the scale log((1 + (m - 1) v) / (1 - v)).

    There the variance of an intraclass correlation of m judges hardly depends on its value (Fisher 1925). The truth is
    expected to lie `shift` above the value.
    """
    if math.isnan(value) or math.isnan(spread.df):
        return math.nan, math.nan
    lowest = -1 / (judges - 1)
    centre = value + shift
    if not (lowest < value < 1 and lowest < centre < 1):
        half = spread.half(confidence)
        return max(value - half, min(value, -1.0)), min(value + half, max(value, 1.0))
    half = spread.half(confidence) * judges / ((1 + (judges - 1) * value) * (1 - value))
    middle = math.log((1 + (judges - 1) * centre) / (1 - centre))
    ends = [math.exp(min(middle + side * half, 700.0)) for side in (-1, 1)]
    low, high = ((end - 1) / (end + judges - 1) for end in ends)
    return low, high


VERSION = "1.0"
INDEPENDENT = "no clusters were named, so units are taken as independent"
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

DEFAULTS: Mapping[str, Any] = {
    "confidence": CONFIDENCE,
    "resamples": RESAMPLES,
    "seed": 0,
    "over": "units",
    "clusters": NAIVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What every result says besides its figures; see `evaluation.statistics` for the fields."""

    seed: int | None = None
    reason: str = ""
    note: str = ""
    clusters: Mapping[str, int] = field(default_factory=dict)
    signature: str = ""

    def shared(self) -> dict[str, Any]:
        """Return all fields, for a result that adds further ones."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference(Result):
    """An interval, and how it was made; nan where there is none."""

    low: float = math.nan
    high: float = math.nan
    confidence: float = CONFIDENCE
    resamples: int = 0
    undefined_resamples: int = 0


class Sampling(TypedDict, total=False):
    """The options of functions that return an interval, in the order of their signatures."""

    confidence: float
    resamples: int
    seed: Seed
    clusters: ClusterColumns


class Clustering(TypedDict, total=False):
    """Those of functions that resample nothing."""

    confidence: float
    clusters: ClusterColumns


class RaterSampling(TypedDict, total=False):
    """Those of coefficients that can resample raters as well."""

    confidence: float
    resamples: int
    seed: Seed
    over: str
    clusters: ClusterColumns


# By the annotation of a function's options.
OPTIONS = {f"Unpack[{kind.__name__}]": kind for kind in (Sampling, Clustering, RaterSampling)}


@dataclass(frozen=True, slots=True)
class Options:
    """Checked options of an interval."""

    confidence: float
    resamples: int
    generator: np.random.Generator
    seed: int | None
    columns: Mapping[str, Iterable[Any]]

    @classmethod
    def of(cls, **options: Unpack[Sampling]) -> Options:
        columns = columns_of(options.get("clusters", NAIVE))
        confidence = check_confidence(options.get("confidence", CONFIDENCE))
        generator, seed = generator_of(options.get("seed", 0))
        return cls(confidence, options.get("resamples", RESAMPLES), generator, seed, columns)

    @classmethod
    def with_raters(cls, **options: Unpack[Sampling]) -> tuple[Options, RaterDeletions | None]:
        """Return the options, and apart from the columns of clusters what people say without each rater."""
        options["clusters"], deletions = columns_and_deletions(options.get("clusters", NAIVE))
        return cls.of(**options), deletions

    def clusters_of(self, row: str, keep: Flags) -> Clusters:
        """Return the clusters of the rows to `keep`; without columns each row is one, and is not counted."""
        if self.columns:
            return Clusters.of(self.columns, len(keep), keep)
        return replace(Clusters.of({row: range(len(keep))}, len(keep), keep), counts={})

    def undefined(self, reason: str = "") -> Inference:
        return Inference(confidence=self.confidence, resamples=self.resamples, seed=self.seed, reason=reason)

    def resampled(self, statistic: Callable[[Floats], Floats], frequency: Ints, width: int = 1) -> Inference:
        """Return the interval of a statistic of resampled units, by `bootstrap`."""
        draws = bootstrap(
            statistic, frequency, resamples=self.resamples, generator=self.generator, width=width
        )
        return self.drawn(draws)

    def drawn(self, draws: Floats) -> Inference:
        """Return the percentile interval of (B,) draws."""
        low, high, undefined = percentile_interval(draws, self.confidence)
        return replace(self.undefined(), low=low, high=high, undefined_resamples=undefined)

    def clustered(self, clusters: Clusters, ends: tuple[float, float]) -> Inference:
        """Return the interval with these ends, which the clusters gave."""
        return Inference(
            low=ends[0],
            high=ends[1],
            confidence=self.confidence,
            seed=self.seed,
            reason=clusters.reason,
            note=clusters.note,
            clusters=clusters.counts,
        )


class Statistic(NamedTuple):
    """A signed function's name, and the fields that distinguish functions of one name."""

    name: str
    fixed: Mapping[str, str]


def statistic_of(thing: object) -> Statistic | None:
    statistic = getattr(thing, "statistic", None)
    return statistic if isinstance(statistic, Statistic) else None


def signed(
    name: str, *, data: tuple[str, ...] = (), **fixed: str
) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Add a signature to a function's result: a dataclass with a field `signature`, or a mapping of such.

    Parameters with a default are part of the signature, except those named in `data`. `fixed` fields distinguish
    functions of one name (`input="rows"`). Where the function takes clusters and the call names none, the result notes
    what it assumes.
    """

    def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        parameters = _signature_of(function)
        options = [
            key
            for key, parameter in parameters.parameters.items()
            if parameter.default is not parameter.empty and key not in data
        ]

        @functools.wraps(function)
        def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
            bound = parameters.bind(*args, **kwargs)
            assumes = "clusters" in parameters.parameters and "clusters" not in bound.arguments
            result = function(*args, **kwargs)
            bound.apply_defaults()
            values = {key: _value(bound.arguments[key]) for key in options}
            if values.get("clusters") == NAIVE:  # as before there were others
                del values["clusters"]
            note = INDEPENDENT if assumes and values.get("over", "units") == "units" else ""
            return _with_signature(result, str(Signature(name, {**fixed, **values}, VERSION)), note)

        vars(wrapper).update(statistic=Statistic(name, fixed), __signature__=parameters)
        return wrapper

    return decorate


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature with the keys of `Sampling` and its like as parameters of their own."""
    signature = inspect.signature(function)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            parameters.append(parameter)
            continue
        options = OPTIONS[str(parameter.annotation)]
        parameters += [
            inspect.Parameter(key, parameter.KEYWORD_ONLY, default=DEFAULTS[key], annotation=annotation)
            for key, annotation in options.__annotations__.items()
        ]
    return signature.replace(parameters=parameters)


def _with_signature(result: Any, signature: str, note: str) -> Any:
    if isinstance(result, Mapping):
        return {key: _with_signature(entry, signature, note) for key, entry in result.items()}
    if isinstance(result, Result) and note:
        result = replace(result, note="; ".join(filter(None, (result.note, note))))
    return replace(result, signature=signature)


def _value(value: Any) -> Value:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_value(item) for item in value)
    if isinstance(value, Mapping):
        return "-".join([GIVEN, *map(str, value)])
    return GIVEN
