"""Cohen's kappa for two raters, plain or weighted.

With n_ij of n units labelled i by the first and j by the second rater,

    kappa = 1 - n sum_ij d(i, j) n_ij  /  sum_ij d(i, j) n_i. n_.j

where d(i, j) is [i != j] or, with weights, |i - j| ("linear") or (i - j)^2 ("quadratic") of the labels' positions
(Cohen 1960, 1968; H13 Tables 8 to 10).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.numeric.packing import declare
from quorum.statistics.agreement.coefficient import AgreementResult, ReadData, agreement
from quorum.statistics.agreement.influences import Influences
from quorum.statistics.crossed import NAIVE
from quorum.statistics.inference import Sampling, signed
from quorum.statistics.inputs import BadOption, encode_both, encode_with, one_per_row, same_length

WEIGHTS = (None, "linear", "quadratic")
NO_ANSWERS = "there are no answers to compare"
ONE_LABEL = "all answers of both participants have the same label"


def cohen_kappa(
    first: Iterable[Any],
    second: Iterable[Any],
    weights: str | None = None,
    *,
    labels: Sequence[Any] | NDArray[Any] | None = None,
) -> float:
    """Return Cohen's kappa of two raters' (N,) labels without missing answers.

    `weights` is None, "linear" or "quadratic". By default `labels` are those that occur, ascending, so an unused
    point of the scale does not count. If labels are texts, weights need the `labels` in order.
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
    """Return `cohen_kappa` with its interval; columns of `clusters` have one entry for each unit."""
    coefficient = CohenKappa(weights, labels)
    options.setdefault("clusters", NAIVE)
    return agreement((first, second), coefficient, **options)


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
            check_order(self.weights, labels, "numbers, or their order in labels")
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
            reason=ONE_LABEL if cells.n else NO_ANSWERS,
        )

    def influences(self, data: tuple[Iterable[Any], Iterable[Any]]) -> Influences | None:
        from quorum.statistics.kernels import distances

        first, second, size = self._codes(data)
        if not len(first):
            return None
        kind = {"linear": distances.ABSOLUTE, "quadratic": distances.SQUARED}.get(
            self.level, distances.DIFFERENT
        )
        positions = np.arange(float(size))
        apart = np.abs(first - second).astype(np.float64)
        if self.weights is None:
            apart = np.minimum(apart, 1)
        elif kind == distances.SQUARED:
            apart = apart**2
        of_first, of_second = np.empty((2, size))
        amounts = [np.bincount(codes, minlength=size).astype(np.float64) for codes in (first, second)]
        distances.value_distances(kind, positions, amounts[1], of_first)
        distances.value_distances(kind, positions, amounts[0], of_second)
        n, observed, expected = len(first), float(apart.sum()), float(amounts[0] @ of_first)
        if not expected > 0:
            return None
        rows = (-observed - n * apart) / expected
        rows += n * observed / expected**2 * (of_first[first] + of_second[second])
        every = np.ones(n, dtype=np.bool_)
        chance = 1 - float(amounts[0] @ amounts[1]) / n**2
        return Influences(rows - rows.mean(), every, np.arange(n), None, 2.0, chance)


@declare
class _Cells:
    def __init__(self, first: Ints, second: Ints, labels: int, weights: str | None) -> None:
        self._weights = weights
        self.labels = labels
        self.n = len(first)
        keys = first  # an array of `sample`, which may be overwritten
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
            # |i - j| is the number of steps between the positions, so sum over steps instead of cells.
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


def check_weights(weights: str | None) -> None:
    if weights not in WEIGHTS:
        raise BadOption(f"weights is {weights!r}, expected None, linear or quadratic")


def check_order(weights: str | None, labels: NDArray[Any], expected: str) -> None:
    """Raise BadOption if distances count and the labels are texts, whose order is only alphabetical."""
    if weights is not None and len(labels) and labels.dtype.kind not in "biuf":
        raise BadOption(f"weights is {weights!r} and answers are text, expected {expected}")
