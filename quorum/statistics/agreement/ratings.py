"""Answers of raters to units, as `Ratings` or as a (raters, units) table in which nan or None is a missing answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Ints
from quorum.statistics.inputs import (
    BadShape,
    BadValue,
    DuplicateJudgment,
    encode,
    first_repeated,
    refuse_nan_texts,
    same_length,
)

INFINITE_MESSAGE = "reliability_data contains an infinite number; expected finite numbers or nan"


@dataclass(frozen=True, slots=True)
class Ratings:
    """N judgments, at most one of a unit by a rater.

    units (U,), raters (R,), labels (V,): names, ascending. unit, rater, code: (N,) int64 positions in these arrays.
    """

    units: NDArray[Any]
    raters: NDArray[Any]
    labels: NDArray[Any]
    unit: Ints
    rater: Ints
    code: Ints

    def subset(self, rows: Flags) -> Ratings:
        """Return the judgments for which `rows` (N,) is true, with only their units and raters."""
        units, unit = encode(self.unit[rows], "units")
        raters, rater = encode(self.rater[rows], "raters")
        return Ratings(self.units[units], self.raters[raters], self.labels, unit, rater, self.code[rows])

    def by_unit(self) -> tuple[Ints, Ints, Ints]:
        """Return the judgments sorted by unit, as starts (U + 1,), raters (N,) and codes (N,)."""
        return _group_rows(self.unit, self.rater, self.code, len(self.units), len(self.raters))

    def by_rater(self) -> tuple[Ints, Ints, Ints]:
        """Return the judgments sorted by rater, as starts (R + 1,), units (N,) and codes (N,)."""
        return _group_rows(self.rater, self.unit, self.code, len(self.raters), len(self.units))


Data = ArrayLike | Ratings


def ratings_of_judgments(units: Iterable[Any], workers: Iterable[Any], values: Iterable[Any]) -> Ratings:
    """Return the ratings in three (N,) columns. Raise DuplicateJudgment if a worker judged a unit twice."""
    unit_names, unit_codes = encode(units, "units")
    worker_names, worker_codes = encode(workers, "workers")
    labels, codes = encode(values, "values")
    del units, workers, values  # free memory, if the caller has no other use for the columns
    same_length(units=unit_codes, workers=worker_codes, values=codes)
    repetition = first_repeated(unit_codes, worker_codes)
    if repetition is not None:
        unit, worker = repetition
        raise DuplicateJudgment(
            f"worker {worker_names[worker]} judged unit {unit_names[unit]} more than once, "
            "expected one judgment per worker and unit"
        )
    return Ratings(unit_names, worker_names, labels, unit_codes, worker_codes, codes)


def ratings_of(data: Data, *, numeric: bool = False) -> Ratings:
    """Return ratings, or a table as ratings. Raise BadValue if answers must be `numeric` and are not."""
    if isinstance(data, Ratings):
        return check_numeric(data) if numeric else data
    matrix = reliability_table(data, numeric=numeric)
    has_answer = is_given(matrix)
    if matrix.dtype.kind == "f" and np.isinf(matrix).any():
        raise BadValue(INFINITE_MESSAGE)
    rater, unit = np.nonzero(has_answer)
    labels, codes = encode(matrix[has_answer], "reliability_data")
    return Ratings(np.arange(matrix.shape[1]), np.arange(matrix.shape[0]), labels, unit, rater, codes)


def check_numeric(ratings: Ratings) -> Ratings:
    """Return the ratings. Raise BadValue if their labels are no numbers."""
    if len(ratings.labels) and ratings.labels.dtype.kind not in "biuf":
        raise BadValue(
            f"values hold {ratings.labels[0]!r}, expected numbers at the ordinal, interval and ratio level"
        )
    return ratings


def reliability_table(reliability: ArrayLike, *, numeric: bool) -> NDArray[Any]:
    """Return the (raters, units) table as float64. A table of texts is returned unchanged.

    Raise BadShape if the table does not have two dimensions, and BadValue if it has texts but answers must be
    `numeric`.
    """
    try:
        matrix = np.asarray(reliability)
    except ValueError as error:
        raise BadShape("reliability_data has rows of unequal length, expected raters by units") from error
    if matrix.dtype.kind == "U":
        refuse_nan_texts(reliability, "reliability_data")
        matrix = np.asarray(reliability, dtype=object)  # so that a nan among texts stays a nan
    if matrix.ndim != 2:
        raise BadShape(f"reliability_data has {matrix.ndim} dimensions, expected two: raters by units")
    if matrix.dtype.kind in "biuf":
        return matrix.astype(np.float64, copy=False)
    if matrix.dtype.kind not in "OUS":
        raise BadValue(f"reliability_data is of type {matrix.dtype}, expected numbers or text")
    if matrix.dtype.kind == "O" and _has_only_numbers(matrix):
        return matrix.astype(np.float64)
    if numeric:
        raise BadValue(
            "reliability_data holds text, expected numbers at the ordinal, interval and ratio level"
        )
    return matrix


def is_given(matrix: NDArray[Any]) -> Flags:
    """Return flags, in the shape of the table, that are false for missing answers."""
    if matrix.dtype.kind == "f":
        return ~np.isnan(matrix)
    return np.array([_is_answer(cell) for cell in matrix.ravel().tolist()], dtype=bool).reshape(matrix.shape)


def _is_answer(cell: Any) -> bool:
    return cell is not None and cell == cell  # nan does not equal itself


def _has_only_numbers(matrix: NDArray[Any]) -> bool:
    return all(
        not _is_answer(cell) or isinstance(cell, (int, float, np.number)) for cell in matrix.ravel().tolist()
    )


def _group_rows(
    rows: Ints, columns: Ints, codes: Ints, row_count: int, column_count: int
) -> tuple[Ints, Ints, Ints]:
    """Return judgments sorted by row, as the (rows + 1,) starts of the rows, and (N,) columns and codes."""
    # Building a sparse table sorts by counting, which is fast; no cell occurs twice.
    table = scipy.sparse.csr_array((codes, (rows, columns)), shape=(row_count, column_count))
    return table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data
