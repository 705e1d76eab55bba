"""The order of whole numbers, against numpy's stable sort."""

import numpy as np
import pytest

from quorum.statistics.sorting import order_of


@pytest.mark.parametrize("highest", [0, 3, 10**6, 2**62])
@pytest.mark.parametrize("rows", [0, 1, 1000, 20_000])
def test_the_order_of_codes_is_the_stable_one(rows: int, highest: int) -> None:
    codes = np.random.default_rng(rows).integers(0, highest, rows, endpoint=True)
    assert order_of(codes).tolist() == np.argsort(codes, kind="stable").tolist()
