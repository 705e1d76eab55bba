"""The one model of intervals and tests: items and raters as crossed random samples, single answers as noise within.

An estimate's error is about the sum of its answers' influences. Their sums by item give its variance over new items;
their sums by rater add what raters have in common beyond the noise of their answers (two-way clustering: Cameron,
Gelbach, Miller 2011; a generalizability study: Brennan 2001). Its t has the degrees of freedom of such a sum
(Satterthwaite 1946), and at least those of the rarer of both, as many as there are effective clusters, less one
(Cameron, Miller 2015). See `crossed`. What raters add counts as far as it is more than chance (`credible`). Where
raters have no rows of their own, as their answers make a row's consensus together, they are known by `RaterDeletions`.
See docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.inputs import (
    ROUNDING,
    BadOption,
    BadShape,
    BadValue,
    encode,
    finite_vector,
    is_real,
    refuse_values,
    same_length,
)

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    value: float
    low: float
    high: float


def check_confidence(value: float, name: str = "confidence") -> float:
    if not (is_real(value) and 0 < value < 1):
        raise BadOption(f"{name} is {value!r}, expected a number between 0 and 1")
    return float(value)


NAIVE, BOTH = "naive", "both"
ITEM, RATER = "item", "rater"

# One cluster does not show how much clusters differ.
FEWEST = 2
TOO_FEW = "{are} {count} {name}{s}, expected {fewest} or more to say what others would give"
FIXED = "with {count} {name}{s}, expected {fewest} or more, the interval is for {these} {name}{s} alone"

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
    """What each rater's answers do to people's winners or means of rows.

    row, rater: (V,) positions of rows, and codes of raters from 0 on. value: of winners, (V, 2) how much more often the
    first, and the second, wins with the rater's vote than without; of means, (V,) the mean without the rater, nan for
    none. means: whether they are of means.
    """

    row: Ints
    rater: Ints
    value: Floats
    means: bool = False

    @classmethod
    def of_leads(cls, row: Ints, rater: Ints, part: ArrayLike, lead: ArrayLike) -> RaterDeletions:
        """Return it from (N,) leads of the first over the second, and the (V,) parts of answers in them.

        One vote seldom decides a clear majority, which raters of other taste would still change together. So where a
        row's lead is that of its votes, as many of the others as `jackknife_size` says leave first, at random (the
        delete-d jackknife: Shao, Wu 1989).
        """
        parts, leads = np.asarray(part, dtype=np.float64), np.asarray(lead, dtype=np.float64)
        first, cell = answers_by_cell(row, rater)
        row, rater = row[first], rater[first]
        balance = np.bincount(cell, weights=parts, minlength=len(first)).astype(np.float64)
        value = _gains(leads[row], balance)
        votes = np.bincount(row, minlength=len(leads))
        for_first, for_second, for_none = (
            np.bincount(row[balance == vote], minlength=len(leads)) for vote in (1, -1, 0)
        )
        is_of_votes = (for_first + for_second + for_none == votes) & (for_first - for_second == leads)
        cells = np.flatnonzero((is_of_votes & (jackknife_size(votes) > 0))[row])
        cases = np.stack([of_row[row[cells]] for of_row in (for_first, for_second, for_none)])
        most = int(votes.max(initial=0)) + 1
        code = np.ravel_multi_index((*cases, balance[cells].astype(np.int64) + 1), (most, most, most, 3))
        _, example, number = np.unique(code, return_index=True, return_inverse=True)
        gains = [_gains_of_vote(cases[:, at], balance[cells[at]]) for at in example.tolist()]
        value[cells] = np.array(gains).reshape(-1, 2)[number]
        return cls(row, rater, value)

    def subset(self, rows: Flags) -> RaterDeletions:
        """Return those of some of the (N,) rows, which keep their positions; raters are numbered anew."""
        here = rows[self.row]
        return RaterDeletions(self.row[here], renumbered(self.rater[here]), self.value[here], self.means)

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
        """Add the raters to the spread and the counts of the items; one rater is a note."""
        if self.raters < FEWEST or items.reason:
            return spread, self.count(items)
        return self.spread(spread, changes()), self.count(items)

    def count(self, items: Clusters) -> Clusters:
        """Add the raters to the counts of the items; one rater is a note."""
        if not self.raters or items.reason:
            return items
        note = fixed_note(RATER, self.raters) if self.raters < FEWEST else ""
        return replace(items, counts={**items.counts, RATER: self.raters}, note=note)

    def spread(self, items: Spread, changes: Floats) -> Spread:
        """Add the raters' variance to that of the items.

        `changes` (V,): how much of the estimate is lost where a rater leaves a row. Its mean over what the others
        answer is the part of the estimate that is the rater's (Hoeffding 1948).
        """
        return crossed(items, self._squares(changes))

    def covariance(self, items: Floats, freedom: Floats, changes: Floats) -> tuple[Floats, Floats]:
        """Add the raters' (K, K) covariance to that of the items, from (V, K) `changes`; return it and (K,) df."""
        return crossed_covariance(items, freedom, self._squares(changes))

    def _squares(self, changes: Floats) -> Squares:
        sizes = np.bincount(self.rater)
        centred = changes - changes.mean(axis=0)
        if self.means:
            # A mean loses a rater's distance from the others: R / (R - 1) times that from all (the jackknife's factor).
            # A row without another rater is lost whole.
            centred[~np.isnan(self.value)] /= enlarged(effective_number(sizes))

        def squares_of(codes: Ints) -> Any:
            sums = np.zeros((int(codes.max()) + 1, *changes.shape[1:]))
            np.add.at(sums, codes, centred)
            return sums.T @ sums

        items = len(np.unique(self.row))
        return Squares(squares_of(self.row), squares_of(self.rater), centred.T @ centred, items, sizes)


def jackknife_size(votes: Any) -> Any:
    """Return how many of the other votes leave with a rater's: at most the root, and even, so as to tie no more."""
    return np.sqrt(votes).astype(np.int64) // 2 * 2


def _gains(lead: Floats, part: Floats | float) -> Floats:
    """Return (V, 2) how much more often the first, and the second, wins with the parts in leads than without."""
    return np.stack([(side * lead > 0) * 1.0 - (side * (lead - part) > 0) for side in (1, -1)], axis=-1)


def _gains_of_vote(counts: Ints, vote: float) -> Floats:
    """Return (2,) `_gains` where others have left, each set as likely, in the share of the votes that stay.

    counts: (3,) votes for the first, the second, and neither.
    """
    votes = counts.sum()
    size = int(jackknife_size(votes))
    first, second = np.ogrid[: size + 1, : size + 1]
    others = counts - (np.array([1, -1, 0]) == vote)
    ways = sum(map(_log_ways, others, (first, second, size - first - second)))
    chance = np.exp(ways - _log_ways(votes - 1, size))
    gains = _gains(counts[0] - counts[1] - (first - second), vote)
    return np.asarray(np.einsum("ij,ijk->k", chance, gains) * (1 - size / votes))


def _log_ways(number: Any, choices: Any) -> Any:
    """Return the logarithm of the ways to choose so many of a number, as there may be too many; -inf for none."""
    gammaln = scipy.special.gammaln
    return gammaln(number + 1) - gammaln(choices + 1) - gammaln(number - choices + 1)


NO_DELETIONS = RaterDeletions(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def answers_by_cell(row: Ints, rater: Ints) -> tuple[Ints, Ints]:
    """Return the first answer of each rater to each row, and the (V,) number of each answer's rater and row."""
    cell = row * (int(rater.max(initial=0)) + 1) + rater
    _, first, number = np.unique(cell, return_index=True, return_inverse=True)
    return first, number


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of an estimate, and the degrees of freedom of its t.

    by_raters: the part of the variance that raters add. within: how much raters would differ by the noise of their
    answers alone. items, raters: their effective numbers, inf where it is not over them; items is nan where the degrees
    of freedom alone are known. people: the number of raters. independent: the number of noughts and ones whose variance
    follows from their share.
    """

    variance: float
    df: float
    by_raters: float = 0.0
    within: float = 0.0
    items: float = math.nan
    raters: float = math.inf
    people: float = math.inf
    independent: float = math.nan

    @classmethod
    def of_squares(cls, squares: float, number: float) -> Spread:
        """Return it from the sum of squares of influences by cluster, and the clusters' effective number."""
        return cls(squares * enlarged(number), max(number, FEWEST) - 1, items=number)

    def scaled(self, variance: float) -> Spread:
        """Return it with another variance, of which raters add the same part."""
        ratio = variance / self.variance if self.variance > 0 else 0.0
        return replace(self, variance=variance, by_raters=self.by_raters * ratio, within=self.within * ratio)

    def of_larger_study(self, items: float, raters: float) -> Spread:
        """Return it for so many times the items and the raters, with as many answers an item (Brennan 2001)."""
        number, effective = self.number * items, self.raters * raters
        by_items, by_raters = (self.variance - self.by_raters) / items, self.by_raters / raters
        within, people = self.within / items, self.people * raters
        most = most_by_raters(by_raters + within, within, effective, people)
        df = float(satterthwaite(by_items, max(number, FEWEST) - 1, most, max(effective, FEWEST) - 1))
        return Spread(by_items + by_raters, df, by_raters, within, number, effective, people)

    @property
    def number(self) -> float:
        """The effective number of items that the part by items is known from."""
        if not math.isnan(self.independent):
            return self.independent
        return self.df + 1 if math.isnan(self.items) else self.items

    def power(self, difference: float, level: float) -> float:
        """Return the chance that a two-sided t test at `level` finds such a difference, with its sign."""
        if math.isnan(difference) or math.isnan(self.variance):
            return math.nan
        if not self.variance > 0:
            return float(difference != 0)
        least, shift = quantile_of(1 - level, self.df), abs(difference) / math.sqrt(self.variance)
        if self.df <= MOST_FREEDOM:
            missed = float(scipy.special.nctdtr(self.df, shift, least))
            return 1.0 if math.isnan(missed) else 1 - missed  # it underflows from a shift of 36 on
        return float(scipy.special.ndtr(shift - least))

    @property
    def varies(self) -> bool:
        """Whether a share or a coefficient varies by more than rounding."""
        return self.variance > ROUNDING**2

    def p(self, value: float, *, only_below: bool = False) -> float:
        """Return the p of a value that is zero in truth, two-sided or against values below; nan without variance."""
        if not self.variance > 0:
            return math.nan
        t = value / math.sqrt(self.variance)
        return float(
            scipy.special.stdtr(self.df, t) if only_below else 2 * scipy.special.stdtr(self.df, -abs(t))
        )

    def half(self, confidence: float) -> float:
        return quantile_of(confidence, self.df) * math.sqrt(self.variance)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference of two systems or metrics, and its spread; nan where nothing is known."""

    difference: float
    spread: Spread

    @property
    def t(self) -> float:
        variance = self.spread.variance
        return self.difference / math.sqrt(variance) if variance > 0 else math.nan

    @property
    def p(self) -> float:
        """Two-sided."""
        return self.spread.p(self.difference)


def effective_number(sizes: Floats | Ints) -> float:
    """Return how many equal clusters weigh as much as (G,) ones of these sizes (Kish 1965)."""
    return float(sizes.sum()) ** 2 / float(np.square(sizes, dtype=np.float64).sum())


@dataclass(frozen=True, slots=True)
class Squares:
    """The sums of squares of an estimate's influences: by item, by rater, and by answer, an item with a rater.

    Each is a number, or (K, K) of K estimates. items: their number. sizes: (R,) answers of each rater.
    """

    by_item: Any
    by_rater: Any
    by_answer: Any
    items: int
    sizes: Floats | Ints

    @property
    def raters(self) -> float:
        return effective_number(self.sizes)

    @property
    def added(self) -> Any:
        """Return the variance that the raters add to that of the items; it may be negative by chance.

        An item that moves all raters' answers alike tells nothing of them, so its mean over all raters is left out.
        Taking away the answers takes a rater's own part in each of them, too. It is added again as far as the variance
        by items does not hold it: wholly where all raters answer every item, as the analysis of variance has it.
        """
        return self.by_rater * self._scale - self.within

    @property
    def within(self) -> Any:
        """The variance by raters that their single answers explain."""
        return (self.by_answer - self.by_item / self.raters) * self._scale

    @property
    def error(self) -> Any:
        """The standard deviation of what raters add where their answers are independent (see `credible`).

        Of R raters with n answers, that of the sum over pairs of a rater's answers.
        """
        sizes = np.asarray(self.sizes, dtype=np.float64)
        return self.by_answer / sizes.sum() * math.sqrt(2 * (sizes * (sizes - 1)).sum()) * self._scale

    @property
    def most_added(self) -> Any:
        """The upper limit of what raters add, of each estimate."""
        by_rater, within = (np.diagonal(np.atleast_2d(part)) for part in (self.by_rater, self.within))
        return most_by_raters(by_rater * self._scale, within, self.raters, len(self.sizes))

    @property
    def _scale(self) -> float:
        answers, squares = self.sizes.sum(), np.square(self.sizes, dtype=np.float64).sum()
        raters = len(self.sizes)
        missing = max(raters - answers / self.items, 0.0) / (raters - 1)
        scale = (squares - answers * missing) / (squares - answers) if squares > answers else 1.0
        return enlarged(self.raters) * float(scale)


def enlarged(number: float) -> float:
    """Return n / (n - 1) for an effective number of clusters: what an estimate from so few leaves out of a variance."""
    return max(number, FEWEST) / (max(number, FEWEST) - 1)


def crossed(items: Spread, squares: Squares) -> Spread:
    """Return the spread of an estimate over new items and new raters, with Satterthwaite's degrees of freedom.

    Few raters do not show well what they add, so the most that their answers allow counts for it. Where that is much, t
    has about the degrees of freedom of the raters.
    """
    added = float(credible(squares.added, squares.error))
    if added <= ROUNDING * float(squares.by_answer):  # none, or what is left of a difference that is none
        added = 0.0
    independent = math.nan if items.df < math.inf else float(squares.items)
    items_df = items.df if items.df < math.inf else max(squares.items, FEWEST) - 1
    raters_df = max(squares.raters, FEWEST) - 1
    df = float(satterthwaite(items.variance, items_df, squares.most_added, raters_df)[0])
    variance, within = items.variance + added, float(squares.within)
    raters, people = squares.raters, len(squares.sizes)
    return Spread(variance, df, added, within, items.items, raters, people, independent)


def crossed_covariance(items: Floats, items_df: Floats, squares: Squares) -> tuple[Floats, Floats]:
    """Return `crossed` of (K, K) covariance over items and (K,) degrees of freedom."""
    raters_df = max(squares.raters, FEWEST) - 1
    df = satterthwaite(np.diagonal(items), items_df, squares.most_added, raters_df)
    values, vectors = np.linalg.eigh((squares.added + squares.added.T) / 2)
    errors = (vectors * (squares.error @ vectors)).sum(axis=0)
    return items + (vectors * credible(values, errors)) @ vectors.T, df


def credible(added: Any, error: Any) -> Any:
    """Return what raters add, none below 0, in the share that is more than the error of its estimate.

    The share of the variance of what they add in that of its estimate (Buehlmann 1967), with its square for the former
    (empirical Bayes). Where hardly anybody answers twice it is nearly nothing.
    """
    added = np.maximum(added, 0.0)
    total = np.square(added) + np.square(error)
    return np.divide(added**3, total, out=np.zeros_like(total), where=total > 0)


RATERS_LIMIT = 0.95  # one-sided
FEW_RATERS = 5  # fewer may be alike by chance, whatever their answers allow


def most_by_raters(by_rater: Any, within: Any, raters: float, people: float) -> Any:
    """Return the upper limit of what raters add to a variance, by the chi-squared distribution of that by raters.

    It is infinite for few people, by whose number t goes then.
    """
    if people < FEW_RATERS:
        return np.full_like(by_rater, math.inf, dtype=np.float64)
    df = max(raters, FEWEST) - 1
    return np.maximum(by_rater * (df / scipy.special.chdtri(df, RATERS_LIMIT)) - within, 0.0)


def satterthwaite(by_items: Any, items_df: Any, by_raters: Any, raters_df: float) -> Floats:
    """Return the degrees of freedom of the sum of two variances (Satterthwaite 1946), between those of both.

    Each is a number, or (K,) of K estimates.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (by_items + by_raters) ** 2 / (np.square(by_items) / items_df + np.square(by_raters) / raters_df)
    least = np.minimum(items_df, raters_df)
    return np.asarray(np.clip(np.where(np.isnan(df), least, df), least, items_df), dtype=np.float64)


# The noncentral t of more degrees of freedom is the normal distribution, to a thousandth.
MOST_FREEDOM = 1000
NO_SPREAD = Spread(math.nan, math.nan)
NO_CONTRAST = Contrast(math.nan, NO_SPREAD)


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

    columns: (N,) codes by name. used: the names with two clusters or more. codes: (N,) of each of them; with two names,
    then those of the cells. sizes: (G,) rows of each cluster. note: what the intervals leave out.
    """

    columns: Mapping[str, Ints]
    counts: Mapping[str, int]
    used: tuple[str, ...]
    codes: tuple[Ints, ...]
    sizes: tuple[Floats, ...]
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
            cells = self.codes[2][rows] if len(self.codes) > 2 else None
            subset = self.of_codes(
                {name: renumbered(codes[rows]) for name, codes in self.columns.items()}, cells
            )
            self.latest[key] = subset
        return subset

    @classmethod
    def of_codes(cls, columns: Mapping[str, Ints], cells: Ints | None = None) -> Clusters:
        """Read (N,) codes from 0 on, without gaps; `cells` are codes of two columns together, if known, in order."""
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
            both = codes[0] * np.int64(codes[1].max() + 1) + codes[1] if cells is None else cells
            codes = (*codes, renumbered(both))
        sizes = tuple(np.bincount(of_kind).astype(np.float64) for of_kind in codes)
        return cls(columns, counts, tuple(used), codes, sizes, reason, note)

    @property
    def number(self) -> int:
        """The clusters of the first kind."""
        return len(self.sizes[0]) if self.sizes else 0

    def for_agreement(self) -> Clusters:
        """Return the clusters of a coefficient of agreement: two raters are one pair, which shows no other's part."""
        if self.counts.get(RATER) != FEWEST:
            return self
        items = {name: codes for name, codes in self.columns.items() if name != RATER}
        note = fixed_note(RATER, FEWEST, FEWEST + 1)
        if not items:
            return replace(self, reason=note)
        return replace(self.of_codes(items), counts=self.counts, note=note)

    def alone(self, rows: int) -> bool:
        return all(count == rows for count in self.counts.values())

    def weighted(self, weights: Floats) -> Clusters:
        """Return the clusters in whose sizes each of the (N,) rows counts `weights` times."""
        sizes = tuple(np.bincount(codes, weights=weights).astype(np.float64) for codes in self.codes)
        return replace(self, sizes=sizes, latest={})

    def spread(self, influences: Floats) -> Spread:
        """Return the variance of the estimate with (N,) influences of sum zero."""
        if self.reason:
            return NO_SPREAD
        return self.spread_of(
            [float(np.square(np.bincount(codes, weights=influences)).sum()) for codes in self.codes]
        )

    def spread_of(self, squares: Sequence[float]) -> Spread:
        """Return the variance of an estimate from its summed squared influences, kind by kind."""
        items = Spread.of_squares(squares[0], effective_number(self.sizes[0]))
        if len(squares) == 1:
            return items
        by_item, by_rater, by_answer = squares
        return crossed(items, Squares(by_item, by_rater, by_answer, self.number, self.sizes[1]))

    def covariance(self, influences: scipy.sparse.csr_array, mixing: Floats) -> tuple[Floats, Floats]:
        """Return (K, K) covariance of estimates with (N, K) influences times (K, K) `mixing`, and (K,) df."""
        size = len(mixing)
        if self.reason:
            return np.full((size, size), math.nan), np.full(size, math.nan)
        rows = np.arange(len(self.codes[0]))
        forms: list[Floats] = []
        for codes in self.codes:
            sums = scipy.sparse.csr_array((np.ones(len(codes)), (codes, rows))) @ influences
            forms.append(mixing.T @ (sums.T @ sums).toarray() @ mixing)
        number = effective_number(self.sizes[0])
        covariance: Floats = forms[0] * enlarged(number)
        freedom = np.full(size, max(number, FEWEST) - 1)
        if len(forms) > 1:
            by_item, by_rater, by_answer = forms
            squares = Squares(by_item, by_rater, by_answer, self.number, self.sizes[1])
            return crossed_covariance(covariance, freedom, squares)
        return covariance, freedom

    def components(self, values: Floats) -> Floats:
        """Return the variance of (N,) values by item, by rater and within, none below zero.

        These are the ones that expect the observed sums of squares (Henderson 1953, method 1).
        """
        centred = values - values.mean()
        squares = [np.square(np.bincount(codes, weights=centred)).sum() for codes in self.codes]
        return np.maximum(np.linalg.solve(_expected(self.codes, self.sizes), squares), 0)


def too_few(name: str, count: int) -> str:
    """Return the reason for no interval where no kind has clusters enough."""
    are, s = ("there is", "") if count == 1 else ("there are", "s")
    return TOO_FEW.format(are=are, count=count, name=name, s=s, fewest=FEWEST)


def fixed_note(name: str, count: int, fewest: int = FEWEST) -> str:
    """Return the note on an interval that takes the few clusters of a kind as they are."""
    s, these = ("", "this") if count == 1 else ("s", "these")
    return FIXED.format(count=count, name=name, fewest=fewest, s=s, these=these)


def moving_together(columns: Mapping[str, Iterable[Any]], rows: int) -> Clusters | None:
    """Return the clusters whose rows change sides together; None without columns."""
    if not columns:
        return None
    if len(columns) > 1:
        raise BadOption(
            f"clusters has {len(columns)} columns, expected one kind of rows that change sides together"
        )
    grouped = Clusters.of(columns, rows)
    if grouped.reason:
        raise BadValue(f"clusters cannot change sides: {grouped.reason}")
    return grouped


@dataclass(frozen=True, slots=True)
class ClusteredInterval:
    """The interval of a share, and the p of one half."""

    low: float
    high: float
    p: float
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
        return ClusteredInterval(math.nan, math.nan, math.nan, clusters)
    amounts = np.ones(len(outcomes)) if weights is None else weights
    share = float(amounts @ outcomes) / float(amounts.sum())
    if weights is None and clusters.alone(len(outcomes)) and not (outcomes % 1).any():
        # The variance of independent noughts and ones follows from their share.
        spread = Spread(share * (1 - share) / len(outcomes), math.inf)
        cells, clusters = len(outcomes), replace(clusters, reason="", note="")
    elif clusters.reason:
        return ClusteredInterval(math.nan, math.nan, math.nan, clusters)
    else:
        spread = clusters.spread(amounts * (outcomes - share) / amounts.sum())
        cells = clusters.number
    if widen is not None:
        spread, clusters = widen(spread, clusters)
    low, high = share_interval(share, spread, cells, confidence)
    return ClusteredInterval(low, high, spread_if_even(share, spread, cells).p(share - 0.5), clusters)


def spread_of_mean(values: Floats, columns: Mapping[str, Iterable[Any]]) -> tuple[Spread, Clusters]:
    clusters = Clusters.of(columns, len(values))
    return clusters.spread((values - values.mean()) / len(values)), clusters


def _expected(codes: tuple[Ints, ...], sizes: tuple[Floats, ...]) -> Floats:
    """Return the sums of squares by p of centred influences to expect from variance 1 by q.

    With n_pq rows in common: sum_pq (n_pq - n_p n_q / N)^2.
    """
    # n_pq is the rows of a cell where p and q differ; a row of clusters of n_p and n_q rows adds n_p n_q to their sum.
    rows = len(codes[0])
    row_sizes = [size[of_kind] for of_kind, size in zip(codes, sizes, strict=True)]
    pairs = np.array([[by_p @ by_q for by_q in row_sizes] for by_p in row_sizes])
    squares = np.array([np.square(size).sum() for size in sizes])
    shared = np.where(np.eye(len(codes), dtype=np.bool_), squares, squares[-1])
    expected: Floats = shared - 2 * pairs / rows + np.outer(squares, squares) / rows**2
    return expected


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

    Where all or no rows count, their variance shows nothing, and `cells` is that number. That of independent rows would
    be estimated from the same few items: what these leave out of both (see `enlarged`) is left out of their ratio.
    """
    spread_of_row = share * (1 - share)
    if not (spread.varies and spread_of_row > 0):
        return cells
    by_items = spread.variance - spread.by_raters
    if not math.isnan(spread.items):
        by_items /= enlarged(spread.items)
    return spread_of_row / (by_items + spread.by_raters)


def spread_if_even(share: float, spread: Spread, cells: float) -> Spread:
    """Return the spread of the share if in truth it were a half (a score test).

    The variance is that of as many independent rows as give `share_interval`.
    """
    return spread.scaled(0.25 / independent_rows(share, spread, cells))


def share_interval(share: float, spread: Spread, cells: float, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval, with t for z, for as many `independent_rows` as give the share that variance.

    Where all or no rows count it is the exact one of Clopper and Pearson, for `cells` independent rows, fewer in the
    ratio of the squared quantiles of t (Korn, Graubard 1998).
    """
    if not (0 <= share <= 1) or math.isnan(spread.df):
        return math.nan, math.nan
    z = quantile_of(confidence, spread.df)
    if share in (0, 1):
        rows = cells * min(quantile_of(confidence, max(cells - 1, 1)) / z, 1) ** 2
        length = 1 - ((1 - confidence) / 2) ** (1 / rows)
        return (0.0, length) if share == 0 else (1 - length, 1.0)
    rows = independent_rows(share, spread, cells)
    scale = 1 + z**2 / rows
    centre = (share + z**2 / (2 * rows)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return max(centre - half, 0.0), min(centre + half, 1.0)


@dataclass(frozen=True, slots=True)
class DifferenceOfShares:
    """How much more often the first of two metrics is right than the second, on the same rows.

    apart: (share, number) of the rows on which one alone is right; all rows where there are none.
    """

    value: float
    spread: Spread
    apart: tuple[float, int]

    @classmethod
    def of(cls, value: float, spread: Spread, is_apart: Flags) -> DifferenceOfShares:
        """Read whether one alone is right on each of (N,) rows."""
        rows = int(is_apart.sum()) or len(is_apart)
        return cls(value, spread, (rows / len(is_apart), rows))

    @property
    def if_equal(self) -> Spread:
        """The spread if both were right as often (a score test)."""
        by_raters = self._by_raters_of_row * self.apart[0] ** 2
        variance = self.spread.variance - self.spread.by_raters + by_raters
        return replace(self.spread, variance=variance, by_raters=by_raters)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the differences from which this one is not further than t allows.

        The difference is apart (2 q - 1) for the share q of those rows that the first wins (McNemar 1947). What raters
        add goes with q (1 - q), as in `share_interval`.
        """
        square = quantile_of(confidence, self.spread.df) ** 2
        items, raters = (
            square * (self.spread.variance - self.spread.by_raters),
            square * self._by_raters_of_row,
        )
        room = self.value**2 - items - raters * self.apart[0] ** 2
        half = math.sqrt(max(self.value**2 - (1 + raters) * room, 0.0))
        low, high = ((self.value + side * half) / (1 + raters) for side in (-1, 1))
        return max(low, -1.0), min(high, 1.0)

    @property
    def _by_raters_of_row(self) -> float:
        """The raters' part over 4 q (1 - q); q leaves the loser half a row."""
        share, rows = self.apart
        most = 1 - 1 / rows
        return self.spread.by_raters / (share**2 * (1 - min(abs(self.value) / share, most) ** 2))


def coefficient_interval(
    value: float,
    spread: Spread,
    cells: float,
    confidence: float,
    *,
    judges: float = 2.0,
    chance_of_difference: float = 1.0,
) -> tuple[float, float]:
    """Return the interval of a coefficient up to 1, symmetric on the scale log((1 + (m - 1) v) / (1 - v)).

    There the variance of an intraclass correlation of m judges hardly depends on its value (Fisher 1925). Where nothing
    varies, as at its ends, it may be off by the share of `cells` independent units that are different without any
    having been seen (see `share_interval`), over the chance that two judgments at random are different.
    """
    if math.isnan(value) or math.isnan(spread.df):
        return math.nan, math.nan
    half = spread.half(confidence)
    unvaried = not spread.varies or abs(abs(value) - 1) < ROUNDING
    if unvaried:
        half = share_interval(0.0, spread, cells, confidence)[1] / chance_of_difference
    if unvaried or not -1 / (judges - 1) < value < 1:
        return max(value - half, min(value, -1.0)), min(value + half, max(value, 1.0))
    half *= judges / ((1 + (judges - 1) * value) * (1 - value))
    middle = math.log((1 + (judges - 1) * value) / (1 - value))
    ends = [math.exp(min(middle + side * half, 700.0)) for side in (-1, 1)]
    low, high = ((end - 1) / (end + judges - 1) for end in ends)
    return low, high
