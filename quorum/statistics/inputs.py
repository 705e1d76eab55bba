"""Check arguments, and convert them to arrays.

`encode` and its variants return codes of names. `*_vector` return columns of numbers. `check_*` refuse invalid
arguments. `name` is what error messages call the argument.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import count
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints, parts_of

# Sums with a smaller relative difference are equal, because the order of the terms changes the last digits.
ROUNDING = 1e-12
# Whole numbers within a range of this size, or of twice their count, are coded by subtraction instead of sorting.
_SMALL_RANGE = 1 << 16
# A double represents every whole number up to this one.
_MAX_EXACT_INTEGER = 2.0**53

# Largest number accepted; the sum of a million of its squares is far from overflow.
MAX_NUMBER = 1e100
# Largest number of cells of a table (units x labels, or workers x labels x labels); 800 MB of float64.
MAX_TABLE_CELLS = 100_000_000


class StatisticsError(ValueError):
    """An argument of a statistic cannot be used."""


class BadShape(StatisticsError):
    """An argument has the wrong number of dimensions or entries."""


class BadValue(StatisticsError):
    """An entry of the data is not allowed."""


class BadOption(StatisticsError):
    """An option has a value that is not allowed."""


class DuplicateJudgment(StatisticsError):
    """A worker judged a unit twice."""


def encode(values: Iterable[Any], name: str = "values") -> tuple[NDArray[Any], Ints]:
    """Return the (K,) distinct values in ascending order, and (N,) codes 0..K-1.

    Raise BadValue if a value is nan or None. Values of types that cannot be compared are ordered by type first.
    """
    array = _read_numbers(values, name)
    if array is None:
        return _encode_hashable(values, name)
    if not array.size:
        return array, np.empty(0, dtype=np.int64)
    low, high = array.min(), array.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        refuse_values(array, ~np.isfinite(array), name, "a finite number")
    labels_and_codes = _encode_small_range(array, float(low), float(high))
    if labels_and_codes is not None:
        return labels_and_codes
    labels, codes = np.unique(array, return_inverse=True)
    return labels, codes.astype(np.int64, copy=False)


def _read_numbers(values: Iterable[Any], name: str) -> NDArray[Any] | None:
    """Return a numeric (N,) array, or None if the values are not all numbers. Raise BadShape if it is not (N,)."""
    if isinstance(values, np.ndarray):
        array = values
    elif isinstance(values, list | tuple) and values and isinstance(values[0], str):
        return None  # do not let numpy copy a million names only to find that they are not numbers
    else:
        # numpy turns a list of numbers and texts into texts, so use its array only if it is numeric.
        try:
            array = np.asarray(values)
        except ValueError:  # the elements are sequences of different lengths
            return None
    if array.dtype.kind not in "biuf":
        return None
    if array.ndim != 1:
        raise BadShape(f"{name} has {array.ndim} dimensions, expected one")
    return array


def _encode_small_range(array: NDArray[Any], low: float, high: float) -> tuple[NDArray[Any], Ints] | None:
    """Encode whole numbers from `low` to `high` by counting; return None if they are others or the range is large."""
    if high - low >= max(_SMALL_RANGE, 2 * len(array)) or max(abs(low), abs(high)) >= _MAX_EXACT_INTEGER:
        return None
    codes = array.astype(np.int64)
    if array.dtype.kind == "f" and not np.array_equal(codes, array):
        return None
    codes -= int(low)
    occurs = np.zeros(int(high - low) + 1, dtype=bool)
    occurs[codes] = True
    labels = (np.flatnonzero(occurs) + int(low)).astype(array.dtype)
    if not occurs.all():
        new_codes = np.cumsum(occurs) - 1
        for block in parts_of(len(codes)):  # in place, because a second array may be large
            codes[block] = new_codes[codes[block]]
    return labels, codes


def _encode_hashable(values: Iterable[Any], name: str) -> tuple[NDArray[Any], Ints]:
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise BadShape(f"{name} has {values.ndim} dimensions, expected one")
    refuse_nan_texts(values, name)
    items = values.tolist() if isinstance(values, np.ndarray) else list_of_values(values, name)
    # A defaultdict that numbers new keys needs no Python code for each item.
    number_by_key: defaultdict[Hashable, int] = defaultdict(count().__next__)
    try:
        # Codes in the order in which keys occur first.
        codes = np.fromiter(map(number_by_key.__getitem__, items), dtype=np.int64, count=len(items))
    except TypeError as error:
        raise BadValue(f"{name} holds an answer that is no single value, expected text or numbers") from error
    keys: list[Any] = list(number_by_key)
    for item in keys:
        if item is None or item != item:
            raise BadValue(f"{name}[{items.index(item)}] is missing, expected a value")
    try:
        sorted_keys = sorted(keys)
    except TypeError:
        sorted_keys = sorted(keys, key=lambda key: (type(key).__name__, str(key)))
    labels = np.empty(len(sorted_keys), dtype=object)
    labels[:] = sorted_keys
    sorted_numbers = np.fromiter(
        map(number_by_key.__getitem__, sorted_keys), dtype=np.int64, count=len(sorted_keys)
    )
    # By number, the place of the key in ascending order.
    positions = np.empty(len(sorted_keys), dtype=np.int64)
    positions[sorted_numbers] = np.arange(len(sorted_keys))
    return labels, positions[codes]


def refuse_nan_texts(values: object, name: str) -> None:
    """Raise BadValue if an array of texts holds "nan", which numpy makes of a missing text."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "U" and (values == "nan").any():
        raise BadValue(
            f"{name} holds the text 'nan', as numpy makes of nan among texts; expected an array of objects"
        )


def encode_with(
    values: Sequence[Any] | NDArray[Any], scale: Sequence[Any] | NDArray[Any], name: str = "values"
) -> Ints:
    """Return the (N,) positions of `values` in `scale`. Raise BadValue if `scale` lacks a value.

    Raise BadOption if the scale has a value twice, or a value that is neither text nor a number.
    """
    labels, codes = encode(values, name)
    scale = scale.tolist() if isinstance(scale, np.ndarray) else scale  # so that messages have plain numbers
    try:
        scale_positions = {label: position for position, label in enumerate(scale)}
    except TypeError as error:
        raise BadOption("the scale holds a value that is no single one, expected text or numbers") from error
    if len(scale_positions) != len(scale):
        raise BadOption(f"the scale {list(scale)} names a value twice, expected distinct values")
    positions = np.empty(len(labels), dtype=np.int64)
    for rank, label in enumerate(labels.tolist()):
        if label not in scale_positions:
            raise BadValue(f"{name} holds {label!r}, expected one of {list(scale)}")
        positions[rank] = scale_positions[label]
    return positions[codes] if len(codes) else codes


def encode_both(
    first: Iterable[Any], second: Iterable[Any], first_name: str, second_name: str
) -> tuple[NDArray[Any], Ints, Ints]:
    """Encode two (N,) columns together. Return (K,) labels, ascending, and the (N,) codes of each column."""
    first_labels, first_codes = encode(first, first_name)
    second_labels, second_codes = encode(second, second_name)
    same_length(**{first_name: first_codes, second_name: second_codes})
    if first_labels.dtype == second_labels.dtype and first_labels.dtype.kind != "O":
        labels, positions = encode(np.concatenate([first_labels, second_labels]), first_name)
    else:
        labels, positions = encode([*first_labels.tolist(), *second_labels.tolist()], first_name)
    return (
        labels,
        _reorder_codes(first_codes, positions[: len(first_labels)]),
        _reorder_codes(second_codes, positions[len(first_labels) :]),
    )


def _reorder_codes(codes: Ints, positions: Ints) -> Ints:
    """Return positions[codes], without a copy if they are the codes."""
    return codes if np.array_equal(positions, np.arange(len(positions))) else positions[codes]


def list_of_values(values: Iterable[Any], name: str) -> list[Any]:
    """Return the values as a list. Raise BadShape if they are no sequence."""
    try:
        return list(values)
    except TypeError as error:
        raise BadShape(f"{name} is {values!r}, expected a sequence of values") from error


def same_length(**columns: NDArray[Any] | Sequence[Any]) -> int:
    """Return the number of entries of all columns. Raise BadShape if they differ."""
    (first_name, first_column), *other_columns = columns.items()
    for name, column in other_columns:
        if len(column) != len(first_column):
            raise BadShape(
                f"{name} has {len(column)} entries and {first_name} {len(first_column)}, expected equally many"
            )
    return len(first_column)


def refuse_values(values: NDArray[Any], is_wrong: Flags, name: str, expected: str) -> None:
    """Raise BadValue if `is_wrong` (N,) is true for one of the values. The message has the first such value."""
    positions = np.flatnonzero(is_wrong)
    if positions.size:
        raise BadValue(f"{name}[{positions[0]}] is {values[positions[0]]:g}, expected {expected}")


def first_repeated(rows: Ints, columns: Ints) -> tuple[int, int] | None:
    """Return the smallest (row, column) that occurs twice in two columns of (N,) codes, or None if all are distinct."""
    width = int(columns.max(initial=0)) + 1
    cell_codes = rows * width + columns
    if (cell_codes[1:] > cell_codes[:-1]).all():  # they are in order, as judgments from a study are
        return None
    cell_codes.sort()
    repeated_codes = cell_codes[:-1][cell_codes[1:] == cell_codes[:-1]]
    return divmod(int(repeated_codes[0]), width) if repeated_codes.size else None


def finite_column(values: Iterable[Any], name: str) -> Floats:
    """Return the values as (N,) float64, also of an iterable that numpy does not read, such as a generator."""
    return finite_vector(values if isinstance(values, np.ndarray) else list_of_values(values, name), name)


def finite_vector(values: ArrayLike, name: str) -> Floats:
    """Return the values as (N,) float64. Raise BadValue if one is nan or infinite."""
    vector = float_vector(values, name)
    refuse_values(vector, ~np.isfinite(vector), name, "a finite number")
    return vector


def float_vector(values: ArrayLike, name: str) -> Floats:
    """Return the values as (N,) float64, in which nan means missing."""
    vector = floats_of(values, name, "something that is no number, expected numbers")
    if vector.ndim != 1:
        raise BadShape(f"{name} has {vector.ndim} dimensions, expected one")
    return vector


def floats_of(
    values: ArrayLike, name: str, fault: str = "something that is no number, or rows of several lengths"
) -> Floats:
    """Return the values as float64 of any shape. Raise BadValue, which says that `name` holds the `fault`."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        raise BadValue(f"{name} holds complex numbers, expected real ones")
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadValue(f"{name} holds {fault}") from error


def is_real(value: object) -> TypeGuard[float]:
    return isinstance(value, Real)


def one_of(value: str, choices: Sequence[str], name: str) -> str:
    """Return the value of an option. Raise BadOption if it is none of the choices."""
    if value not in choices:
        raise BadOption(f"{name} is {value!r}, expected one of {', '.join(choices)}")
    return value


def check_non_negative(value: float, name: str) -> None:
    if not (is_real(value) and 0 <= value < np.inf):
        raise BadOption(f"{name} is {value!r}, expected a number from zero on")


def check_positive_float(value: float, name: str) -> float:
    if isinstance(value, bool) or not is_real(value) or not 0 < value < np.inf:
        raise BadOption(f"{name} is {value!r}, expected a number above zero")
    return float(value)


def check_positive_int(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise BadOption(f"{name} is {value!r}, expected a whole number above zero")
    return int(value)


def score_vector(values: ArrayLike, name: str) -> Floats:
    """Return the values as (N,) float64. Raise BadValue if one is not finite or is larger than MAX_NUMBER."""
    return _refuse_large_values(finite_vector(values, name), name)


def score_vector_with_gaps(values: ArrayLike, name: str) -> Floats:
    """Return the values as (N,) float64; nan means missing. Raise BadValue if one is larger than MAX_NUMBER."""
    return _refuse_large_values(float_vector(values, name), name)


def score_table(values: ArrayLike, name: str) -> Floats:
    """Return (systems, items) float64; nan means missing. Raise BadValue if one is larger than MAX_NUMBER."""
    table = floats_of(values, name)
    if table.ndim != 2:
        raise BadShape(f"{name} has {table.ndim} dimensions, expected two: systems and items")
    for system, row in enumerate(table):
        score_vector_with_gaps(row, f"{name}[{system}]")
    return table


def _refuse_large_values(vector: Floats, name: str) -> Floats:
    refuse_values(vector, np.abs(vector) > MAX_NUMBER, name, f"a number of size {MAX_NUMBER:g} at most")
    return vector


def encode_on_scale(values: Iterable[Any], labels: Sequence[Any] | None) -> tuple[NDArray[Any], Ints]:
    """Return (L,) labels, by default those that occur, and the (N,) codes 0..L-1 of the values."""
    if labels is None:
        return encode(values, "values")
    names = list_of_values(labels, "labels")
    if not names:
        raise BadOption("labels is empty, expected the scale's values")
    rows = values if isinstance(values, np.ndarray) else list_of_values(values, "values")
    codes = encode_with(rows, names, "values")
    scale = np.empty(len(names), dtype=object)
    scale[:] = names
    return scale, codes


def check_cells(row_count: int, rows: str, label_count: int, cell_count: int) -> None:
    """Raise BadValue if a table has more than MAX_TABLE_CELLS cells, which would not fit into memory.

    `rows` says what the rows are, such as "units".
    """
    if cell_count > MAX_TABLE_CELLS:
        raise BadValue(
            f"there are {row_count:,} {rows} and {label_count:,} different answers, expected a scale of a few values"
        )
