"""The statistics of a sample that can be resampled: mean, median, or any function of rows."""

from collections.abc import Callable

import numpy as np

from evaluation.statistics.errors import BadOption, BadShape
from evaluation.statistics.tables import Floats, one_of

# A statistic takes (B, N) values and returns (B,).
RowStatistic = Callable[[Floats], Floats]

# Sums of the same numbers in another order differ by rounding: less than this part of their size is none.
ROUNDING = 1e-12


def row_statistic(statistic: str | RowStatistic) -> tuple[str, RowStatistic]:
    """The name and the function of "mean", "median", or a function given. Raises BadOption.

    A function that does not return one number a row raises BadShape when it is called.
    """
    if isinstance(statistic, str):
        one_of(statistic, ("mean", "median"), "statistic")
        return statistic, _row_mean if statistic == "mean" else _row_median
    if not callable(statistic):
        raise BadOption(f"statistic is {statistic!r}, expected mean, median or a function of rows")
    name = getattr(statistic, "__name__", "a function")
    if name in ("mean", "median"):
        name = f"{name} as given"  # a function of that name is not ours, whose resamples take shorter ways

    def of_rows(rows: Floats) -> Floats:
        values = np.asarray(statistic(rows), dtype=np.float64)
        if values.shape != rows.shape[:1]:
            raise BadShape(
                f"statistic {name} gives the shape {values.shape} for {rows.shape[0]} rows of {rows.shape[1]}, "
                f"expected one number a row (numpy's functions take axis=1)"
            )
        return values

    return name, of_rows


def _row_mean(rows: Floats) -> Floats:
    return rows.mean(axis=1)


def _row_median(rows: Floats) -> Floats:
    return np.asarray(np.median(rows, axis=1), dtype=np.float64)
