"""The scale of answers: the labels that occur, or those that were asked for."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.errors import BadOption, BadValue
from evaluation.statistics.tables import Codes, encode, encode_with, one_per_row

# Tables of units by labels, or of workers by labels by labels; this many float64 are 800 MB.
LARGEST_TABLE = 100_000_000


def encode_on_scale(values: Iterable[Any], labels: Sequence[Any] | None) -> tuple[NDArray[Any], Codes]:
    """(L,) labels and (N,) codes 0..L-1 of `values`; without `labels` the answers that occur, ascending.

    Raises BadShape, BadValue (an answer outside the scale), BadOption (no labels, or one twice).
    """
    if labels is None:
        return encode(values, "values")
    given = one_per_row(labels, "labels")
    if not given:
        raise BadOption("labels is empty, expected the scale's values")
    rows = values if isinstance(values, np.ndarray) else one_per_row(values, "values")
    codes = encode_with(rows, given, "values")
    scale = np.empty(len(given), dtype=object)
    scale[:] = given
    return scale, codes


def check_cells(rows: int, row: str, labels: int, cells: int) -> None:
    """Refuse a table that would not fit into memory. Raises BadValue."""
    if cells > LARGEST_TABLE:
        raise BadValue(
            f"there are {rows:,} {row} and {labels:,} different answers, expected a scale of a few values"
        )
