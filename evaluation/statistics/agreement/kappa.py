"""Cohen's kappa for two raters, also weighted, and Fleiss' kappa for a fixed number of raters.

With n_ij of n units labelled i by the first and j by the second rater, and d(i, j) = [i != j], |i - j| ("linear")
or (i - j)^2 ("quadratic") of the labels' positions (Cohen 1960, 1968; H13 Tables 8 to 10):

    kappa = 1 - n sum_ij d(i, j) n_ij  /  sum_ij d(i, j) n_i. n_.j

With n_uk of the m judgments of each of N units in category k, and p_k = sum_u n_uk / (N m) (Fleiss 1971):

    kappa = (P - sum_k p_k^2) / (1 - sum_k p_k^2),  P = 1/N sum_u (sum_k n_uk^2 - m) / (m (m - 1))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from evaluation.arrays import Floats, Ints, ratio
from evaluation.statistics.agreement.coefficient import AgreementResult, ReadData, agreement
from evaluation.statistics.agreement.influences import Influences, alpha_influences
from evaluation.statistics.agreement.ratings import Ratings, count_rows
from evaluation.statistics.inputs import (
    BadOption,
    BadShape,
    BadValue,
    encode_both,
    encode_with,
    one_per_row,
    same_length,
)
from evaluation.statistics.results import Sampling, signed

WEIGHTS = (None, "linear", "quadratic")

NOTHING = "there is nothing to compare"
ONE_LABEL = "both raters used one and the same label only"
ONE_CATEGORY = "every judgment names the same category"


def cohen_kappa(
    first: Iterable[Any],
    second: Iterable[Any],
    weights: str | None = None,
    *,
    labels: Sequence[Any] | NDArray[Any] | None = None,
) -> float:
    """Return Cohen's kappa of two raters' (N,) labels without missing answers.

    `weights` is None, "linear" or "quadratic". The default `labels` are those that occur, ascending: an unused point of
    the scale does not count.
    """
    return CohenKappa(weights, labels).sample((first, second)).value()


@signed("cohen-kappa")
def kappa_interval(
    first: Iterable[Any],
    second: Iterable[Any],
    weights: str | None = None,
    *,
    labels: Sequence[Any] | NDArray[Any] | None = None,
    **options: Unpack[Sampling],
) -> AgreementResult:
    """Return `cohen_kappa` with its interval; columns of `clusters` have one entry a unit."""
    coefficient = CohenKappa(weights, labels)
    return agreement((first, second), coefficient, **options)


def fleiss_kappa(counts: ArrayLike | Ratings) -> float:
    """Return Fleiss' kappa of (units, categories) counts; every unit has the same number of judgments.

    Of `Ratings`, units judged once are left out.
    """
    return FleissKappa().sample(counts).value()


@signed("fleiss-kappa")
def fleiss_interval(
    counts: ArrayLike | Ratings,
    **options: Unpack[Sampling],
) -> AgreementResult:
    """Return `fleiss_kappa` with its interval."""
    return agreement(counts, FleissKappa(), **options)


@dataclass(frozen=True, slots=True)
class CohenKappa:
    weights: str | None = None
    labels: Sequence[Any] | NDArray[Any] | None = None
    name: ClassVar[str] = "cohen-kappa"

    @property
    def level(self) -> str:
        return self.weights or "nominal"

    def _codes(self, data: tuple[Iterable[Any], Iterable[Any]]) -> tuple[Ints, Ints, int]:
        if self.labels is None:
            labels, first, second = encode_both(*data, "first", "second")
            return first, second, len(labels)
        first = encode_with(one_per_row(data[0], "first"), self.labels, "first")
        second = encode_with(one_per_row(data[1], "second"), self.labels, "second")
        same_length(first=first, second=second)
        return first, second, len(self.labels)

    def sample(self, data: tuple[Iterable[Any], Iterable[Any]]) -> ReadData:
        check_weights(self.weights)
        first, second, size = self._codes(data)
        cells = _Cells(first, second, size, self.weights)
        return ReadData(
            of_units=cells,
            frequency=cells.frequency,
            width=2 * cells.labels,
            units=cells.n,
            pairable=cells.n,
            raters=2,
            judgments=2 * cells.n,
            reason=ONE_LABEL if cells.n else NOTHING,
        )

    def influences(self, data: tuple[Iterable[Any], Iterable[Any]]) -> Influences | None:
        from evaluation.statistics.agreement import kernels

        first, second, size = self._codes(data)
        if not len(first):
            return None
        kind = {"linear": kernels.ABSOLUTE, "quadratic": kernels.SQUARED}.get(self.level, kernels.DIFFERENT)
        positions = np.arange(float(size))
        apart = np.abs(first - second).astype(np.float64)
        apart = (
            np.minimum(apart, 1) if self.weights is None else apart**2 if kind == kernels.SQUARED else apart
        )
        of_first, of_second = np.empty((2, size))
        amounts = [np.bincount(codes, minlength=size).astype(np.float64) for codes in (first, second)]
        kernels.value_distances(kind, positions, amounts[1], of_first)
        kernels.value_distances(kind, positions, amounts[0], of_second)
        n, observed, expected = len(first), float(apart.sum()), float(amounts[0] @ of_first)
        if not expected > 0:
            return None
        rows = (-observed - n * apart) / expected
        rows += n * observed / expected**2 * (of_first[first] + of_second[second])
        every = np.ones(n, dtype=np.bool_)
        return Influences(rows - rows.mean(), every, np.arange(n), None, 2.0)


@dataclass(frozen=True, slots=True)
class FleissKappa:
    level: ClassVar[str] = "nominal"
    name: ClassVar[str] = "fleiss-kappa"

    def sample(self, data: ArrayLike | Ratings) -> ReadData:
        rows, frequency, raters = _fleiss_table(_counts(data) if isinstance(data, Ratings) else data)
        units = int(frequency.sum())
        return ReadData(
            of_units=lambda weights: _fleiss(rows, raters, weights),
            frequency=frequency,
            width=rows.shape[1],
            units=units,
            pairable=units,
            raters=raters,
            judgments=units * raters,
            reason=ONE_CATEGORY if units else NOTHING,
        )

    def influences(self, data: ArrayLike | Ratings) -> Influences | None:
        """Return those on nominal alpha, without its correction (n - 1) / n; a table names no raters."""
        ratings = data if isinstance(data, Ratings) else _ratings(np.asarray(data).astype(np.int64))
        found = alpha_influences(ratings, "nominal")
        if found is None:
            return None
        n = len(found.values)
        raters = found.raters if isinstance(data, Ratings) else None
        return replace(found, values=found.values * n / (n - 1), raters=raters)


def _counts(ratings: Ratings) -> Ints:
    counts = np.zeros((len(ratings.units), len(ratings.labels)), dtype=np.int64)
    np.add.at(counts, (ratings.unit, ratings.code), 1)
    return counts[counts.sum(axis=1) >= 2]


def _ratings(counts: Ints) -> Ratings:
    unit, code = np.nonzero(counts)
    times = counts[unit, code]
    unit, code = np.repeat(unit, times), np.repeat(code, times)
    rater = np.arange(len(unit))
    return Ratings(np.arange(len(counts)), rater, np.arange(counts.shape[1]), unit, rater, code)


def check_weights(weights: str | None) -> None:
    if weights not in WEIGHTS:
        raise BadOption(f"weights is {weights!r}, expected None, linear or quadratic")


class _Cells:
    def __init__(self, first: Ints, second: Ints, labels: int, weights: str | None) -> None:
        self._weights = weights
        self.labels = labels
        self.n = len(first)
        keys = first  # made by `sample`, so it may be written over
        keys *= labels
        keys += second
        if self.labels**2 <= max(1 << 16, 4 * self.n):
            table = np.bincount(keys, minlength=self.labels**2)
            occurring = np.flatnonzero(table)
            self.frequency = table[occurring]
        else:
            occurring, self.frequency = np.unique(keys, return_counts=True)
        rows, columns = np.divmod(occurring, max(self.labels, 1))
        distance = np.abs(rows - columns).astype(np.float64)
        if weights is None:
            distance = (distance > 0).astype(np.float64)
        elif weights == "quadratic":
            distance = distance**2
        self._distance = distance
        ones = np.ones(len(occurring))
        shape = (len(occurring), self.labels)
        self._first = scipy.sparse.csr_array((ones, (np.arange(len(occurring)), rows)), shape=shape)
        self._second = scipy.sparse.csr_array((ones, (np.arange(len(occurring)), columns)), shape=shape)

    def __call__(self, weights: Floats) -> Floats:
        first = np.asarray(weights @ self._first)
        second = np.asarray(weights @ self._second)
        observed = weights @ self._distance * weights.sum(axis=1)
        return 1 - ratio(observed, self._expected(first, second))

    def _expected(self, first: Floats, second: Floats) -> Floats:
        n = first.sum(axis=1)
        if self._weights is None:
            return n**2 - (first * second).sum(axis=1)
        if self._weights == "linear":
            # |i - j| counts the steps between the two positions; sum over the steps instead of the cells.
            below_first = np.cumsum(first, axis=1)[:, :-1]
            below_second = np.cumsum(second, axis=1)[:, :-1]
            total = n[:, np.newaxis]
            return (below_first * (total - below_second) + below_second * (total - below_first)).sum(axis=1)
        position = np.arange(self.labels, dtype=np.float64)
        return (
            n * (first @ position**2)
            + n * (second @ position**2)
            - 2 * (first @ position) * (second @ position)
        )


def _fleiss_table(counts: ArrayLike) -> tuple[Floats, Ints, int]:
    try:
        table = np.asarray(counts)
    except ValueError as error:
        raise BadShape("counts has rows of unequal length, expected units by categories") from error
    if table.ndim != 2:
        raise BadShape(f"counts has {table.ndim} dimensions, expected two: units by categories")
    if table.dtype.kind not in "biuf":
        raise BadValue("counts holds something that is no number, expected whole numbers from zero on")
    if table.size and not (
        np.isfinite(table).all() and np.array_equal(table, np.floor(table)) and table.min() >= 0
    ):
        raise BadValue("counts holds a negative or broken number, expected whole numbers from zero on")
    table = table.astype(np.int64)
    sums = table.sum(axis=1)
    raters = int(sums[0]) if len(sums) else 0
    odd = np.flatnonzero(sums != raters)
    if odd.size:
        raise BadValue(
            f"unit {odd[0]} has {sums[odd[0]]} judgments and unit 0 has {raters}, expected equally many "
            "(Krippendorff's alpha takes unequal numbers)"
        )
    if len(sums) and raters < 2:
        raise BadValue(f"units have {raters} judgments each, expected two or more")
    rows, frequency = count_rows(table)
    return rows.astype(np.float64), frequency, raters


def _fleiss(rows: Floats, raters: int, weights: Floats) -> Floats:
    units = weights.sum(axis=1)
    agreeing = ((rows**2).sum(axis=1) - raters) / (raters * (raters - 1))
    observed = 1 - weights @ agreeing / units
    totals = weights @ rows
    judgments = units * raters
    # Whole numbers up to here, so that a table of one category gives exactly zero.
    expected = (judgments**2 - (totals**2).sum(axis=1)) / judgments**2
    return 1 - ratio(observed, expected)
