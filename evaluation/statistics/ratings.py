"""Who answered what about which unit: the two forms in which agreement takes its data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from evaluation.statistics.errors import BadShape, BadValue, DuplicateJudgment
from evaluation.statistics.tables import Codes, Floats, encode, same_length

INFINITE = "reliability_data holds an infinite number, expected finite numbers or nan"


@dataclass(frozen=True, slots=True)
class Ratings:
    """One judgment a row, names turned into numbers.

    units: (U,), raters: (R,) and labels: (V,) are the names, ascending; unit, rater and code: (N,) int64
    are positions among them. Nobody judged a unit twice. Every unit and rater here judged or was judged,
    but those of a table keep their places in it.
    """

    units: NDArray[Any]
    raters: NDArray[Any]
    labels: NDArray[Any]
    unit: Codes
    rater: Codes
    code: Codes

    def judged_at_least(self, times: int) -> Ratings:
        """The units with so many judgments or more, and the raters who judged them."""
        kept = np.bincount(self.unit, minlength=len(self.units))[self.unit] >= times
        units, unit = np.unique(self.unit[kept], return_inverse=True)
        raters, rater = np.unique(self.rater[kept], return_inverse=True)
        return Ratings(self.units[units], self.raters[raters], self.labels, unit, rater, self.code[kept])

    def by_unit(self) -> tuple[Codes, Codes, Codes]:
        """starts (U + 1,), raters (N,), codes (N,): the judgments of each unit one after the other."""
        return _grouped(self.unit, self.rater, self.code, len(self.units), len(self.raters))

    def by_rater(self) -> tuple[Codes, Codes, Codes]:
        """starts (R + 1,), units (N,), codes (N,): the judgments of each rater one after the other."""
        return _grouped(self.rater, self.unit, self.code, len(self.raters), len(self.units))


# A table of raters by units in which nan or None is missing, or one judgment a row.
Data = ArrayLike | Ratings


def ratings_of_judgments(units: Iterable[Any], workers: Iterable[Any], values: Iterable[Any]) -> Ratings:
    """Ratings of three (N,) columns; units and workers are any hashable names, values anything countable.

    Raises DuplicateJudgment where a worker judged a unit twice, BadShape, BadValue.
    """
    unit_names, unit_codes = encode(units, "units")
    worker_names, worker_codes = encode(workers, "workers")
    labels, codes = encode(values, "values")
    same_length(units=unit_codes, workers=worker_codes, values=codes)
    made = Ratings(unit_names, worker_names, labels, unit_codes, worker_codes, codes)
    _refuse_duplicates(made)
    return made


def ratings_of(data: Data, *, numeric: bool = False) -> Ratings:
    """Ratings of a table, whose units and raters are named by their positions; Ratings stay as they are.

    Raises BadShape, BadValue (text where `numeric`).
    """
    if isinstance(data, Ratings):
        return check_numeric(data) if numeric else data
    matrix = table_of(data, numeric=numeric)
    given = is_given(matrix)
    if matrix.dtype.kind == "f" and np.isinf(matrix).any():
        raise BadValue(INFINITE)
    rater, unit = np.nonzero(given)
    labels, codes = encode(matrix[given], "reliability_data")
    return Ratings(np.arange(matrix.shape[1]), np.arange(matrix.shape[0]), labels, unit, rater, codes)


def check_numeric(ratings: Ratings) -> Ratings:
    """The ratings if their values are numbers. Raises BadValue."""
    if len(ratings.labels) and ratings.labels.dtype.kind not in "biuf":
        raise BadValue(
            f"values hold {ratings.labels[0]!r}, expected numbers at the ordinal, interval and ratio level"
        )
    return ratings


def table_of(reliability: ArrayLike, *, numeric: bool) -> NDArray[Any]:
    """The (raters, units) table as float64 or, where it holds text and may, as it is.

    Raises BadShape, BadValue.
    """
    try:
        matrix = np.asarray(reliability)
    except ValueError as error:
        raise BadShape("reliability_data has rows of unequal length, expected raters by units") from error
    if matrix.ndim != 2:
        raise BadShape(f"reliability_data has {matrix.ndim} dimensions, expected two: raters by units")
    if matrix.dtype.kind in "biuf":
        return matrix.astype(np.float64, copy=False)
    if matrix.dtype.kind not in "OUS":
        raise BadValue(f"reliability_data is of type {matrix.dtype}, expected numbers or text")
    if matrix.dtype.kind == "O" and _only_numbers(matrix):
        return matrix.astype(np.float64)
    if numeric:
        raise BadValue(
            "reliability_data holds text, expected numbers at the ordinal, interval and ratio level"
        )
    return matrix


def is_given(matrix: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells hold an answer: neither nan nor None."""
    if matrix.dtype.kind == "f":
        return ~np.isnan(matrix)
    return np.array([_answers(cell) for cell in matrix.ravel().tolist()], dtype=bool).reshape(matrix.shape)


def _answers(cell: Any) -> bool:
    return cell is not None and cell == cell


def _only_numbers(matrix: NDArray[Any]) -> bool:
    return all(
        not _answers(cell) or isinstance(cell, (int, float, np.number)) for cell in matrix.ravel().tolist()
    )


def _refuse_duplicates(made: Ratings) -> None:
    keys = np.sort(made.unit * max(len(made.raters), 1) + made.rater)
    repeated = np.flatnonzero(keys[1:] == keys[:-1])
    if repeated.size:
        unit, worker = divmod(int(keys[repeated[0]]), len(made.raters))
        raise DuplicateJudgment(
            f"worker {made.raters[worker]} judged unit {made.units[unit]} more than once, "
            "expected one judgment per worker and unit"
        )


def _grouped(
    rows: Codes, columns: Codes, codes: Codes, height: int, width: int
) -> tuple[Codes, Codes, Codes]:
    # A sparse table is built by counting, which is quicker than sorting; no cell is met twice.
    table = csr_array((codes, (rows, columns)), shape=(height, width))
    return table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data


def exact_positions(labels: NDArray[Any]) -> Floats:
    """Numbers (V,) as float64, scaled by a power of two so that no square leaves the range of doubles."""
    values = labels.astype(np.float64)
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))
    return np.ldexp(values, -exponent)


def positions_at(level: str, labels: NDArray[Any]) -> Floats:
    """(V,) places of the labels at a level of alpha: the numbers that they are, or their order alone."""
    if level in ("interval", "ratio"):
        return exact_positions(labels)
    return np.arange(float(len(labels)))
