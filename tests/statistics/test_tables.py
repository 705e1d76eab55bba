"""Turning answers into small whole numbers, whatever they are and however many."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.statistics.inputs import (
    BadOption,
    BadShape,
    BadValue,
    check_positive_int,
    encode,
    encode_with,
    finite_vector,
    one_of,
    same_length,
)
from tests.refusals import refuses

numbers = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
)
names = st.text(max_size=3)


@pytest.mark.large
@settings(max_examples=40)
@given(st.one_of(st.lists(numbers, max_size=20), st.lists(names, max_size=20)))
def test_labels_ascend_and_codes_lead_back_to_the_values(values: list[Any]) -> None:
    labels, codes = encode(values)
    assert [labels[code] for code in codes] == values
    assert labels.tolist() == sorted(set(values))
    assert codes.dtype == np.int64


@settings(max_examples=30)
@given(st.lists(st.integers(0, 200), max_size=20), st.sampled_from(["u1", "i2", "u8", "f4", "f8"]))
def test_the_type_of_an_array_does_not_matter(values: list[int], kind: str) -> None:
    labels, codes = encode(np.array(values, dtype=kind))
    assert labels.dtype == np.dtype(kind)
    assert labels[codes].tolist() == values


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["dog", "cat", "🐈", "قط", "cat"], ["cat", "dog", "قط", "🐈"]),
        (np.array(["b", "a", "b"]), ["a", "b"]),
        (np.array(["b", "a", 3], dtype=object), [3, "a", "b"]),
        ([True, False, True], [False, True]),
        ([2, "two", 2], [2, "two"]),
        ([("b", 2), ("a", 5), ("b", 2)], [("a", 5), ("b", 2)]),
        ((name for name in ("x", "w")), ["w", "x"]),
        ([1e-17, -3.0, 0.0], [-3.0, 0.0, 1e-17]),
        ([2.0**60, 2.0**60 + 512], [2.0**60, 2.0**60 + 512]),
        (np.array([2**64 - 1, 0], dtype=np.uint64), [0, 2**64 - 1]),
        ([0, 70_000], [0, 70_000]),
        ([], []),
    ],
)
def test_anything_that_can_be_told_apart_can_be_counted(values: Any, labels: list[Any]) -> None:
    found, codes = encode(values)
    assert found.tolist() == labels
    assert len(codes) == 0 or codes.max() == len(labels) - 1


def test_a_million_names_are_numbered() -> None:
    codes = np.random.default_rng(0).integers(0, 1000, 1_000_000)
    labels, found = encode([f"{code:04}" for code in codes.tolist()])
    assert len(labels) == 1000
    assert np.array_equal(found, codes)


def test_positions_on_a_given_scale() -> None:
    assert encode_with(["no", "yes", "no"], ["yes", "no", "maybe"]).tolist() == [1, 0, 1]
    assert encode_with([], ["yes", "no"]).tolist() == []
    with refuses(BadValue, "grades", "5"):
        encode_with([1, 5], [1, 2, 3], "grades")
    with pytest.raises(BadOption, match="distinct"):
        encode_with([1, 2], [1, 2, 2])


def test_columns_and_options_are_checked_in_one_sentence() -> None:
    assert same_length(first=[1, 2], second=(3, 4)) == 2
    with refuses(BadShape, "second", "1", "first", "2"):
        same_length(first=[1, 2], second=[1])
    with refuses(BadValue, "scores", "1", "inf"):
        finite_vector([1, math.inf], "scores")
    with pytest.raises(BadValue, match="holds something"):
        finite_vector(["x"], "scores")
    with refuses(BadValue, "scores"):
        finite_vector(np.ones(2, dtype=complex), "scores")
    with refuses(BadShape, "scores", "2"):
        finite_vector([[1.0]], "scores")
    assert finite_vector([1, 2], "scores").tolist() == [1.0, 2.0]
    assert one_of("mean", ("mean", "median"), "statistic") == "mean"
    with refuses(BadOption, "statistic", "mode", "mean", "median"):
        one_of("mode", ("mean", "median"), "statistic")
    assert check_positive_int(3, "k") == 3
    wrong: Any  # 1.5 is what the types forbid
    for wrong in (0, True, 1.5):
        with refuses(BadOption, "k"):
            check_positive_int(wrong, "k")
