"""Alpha of judgments made of parts: the same value as over single judgments, an interval over whole units."""

import numpy as np
import pytest

from evaluation.statistics.agreement import alpha_of_judgments, alpha_of_parts

LEVELS = ("nominal", "ordinal", "interval", "ratio")


def noisy(
    units: int, parts: int, workers: int, seed: int, *, together: bool
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Columns of values 1 to 4: a truth a part, and errors a part, or the same error for all parts of a unit."""
    rng = np.random.default_rng(seed)
    rows: list[list[int]] = [[], [], [], []]
    for unit in range(units):
        truth = rng.integers(1, 5, size=parts)
        for worker in range(workers):
            wrong = rng.random(1 if together else parts) < 0.4
            given = np.where(wrong, rng.integers(1, 5, size=parts), truth)
            for part in range(parts):
                for column, value in zip(rows, (unit, part, worker, int(given[part])), strict=True):
                    column.append(value)
    return rows[0], rows[1], rows[2], rows[3]


@pytest.mark.parametrize("level", LEVELS)
def test_the_value_is_that_of_judgments_of_single_parts(level: str) -> None:
    units, parts, workers, values = noisy(30, 4, 3, 1, together=False)
    single = [f"{unit}/{part}" for unit, part in zip(units, parts, strict=True)]
    plain = alpha_of_judgments(single, workers, values, level, resamples=50)
    found = alpha_of_parts(units, parts, workers, values, level, resamples=50)
    assert found.value == pytest.approx(plain.value, abs=1e-12)
    assert (found.units, found.pairable, found.judgments, found.raters) == (30, 30, 90, 3)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("level", LEVELS)
def test_with_one_part_a_unit_it_is_alpha_of_judgments(level: str) -> None:
    units, parts, workers, values = noisy(60, 1, 3, 2, together=False)
    plain = alpha_of_judgments(units, workers, values, level, resamples=400)
    found = alpha_of_parts(units, parts, workers, values, level, resamples=400)
    assert found.value == pytest.approx(plain.value, abs=1e-12)
    assert (found.low, found.high) == (
        pytest.approx(plain.low, abs=0.05),
        pytest.approx(plain.high, abs=0.05),
    )


def test_parts_that_go_wrong_together_have_a_wider_interval_than_parts_drawn_alone() -> None:
    units, parts, workers, values = noisy(40, 12, 3, 3, together=True)
    single = [f"{unit}/{part}" for unit, part in zip(units, parts, strict=True)]
    alone = alpha_of_judgments(single, workers, values, resamples=400)
    whole = alpha_of_parts(units, parts, workers, values, resamples=400)
    assert whole.value == pytest.approx(alone.value)
    assert whole.high - whole.low > 1.5 * (alone.high - alone.low)


def test_a_part_that_one_worker_left_out_is_missing_for_them_alone() -> None:
    found = alpha_of_parts(["u"] * 5, ["x", "y", "x", "y", "z"], [1, 1, 2, 2, 2], [1, 2, 1, 2, 3])
    assert found.value == 1
    assert (found.units, found.pairable, found.judgments) == (1, 1, 2)


def test_without_two_judgments_of_a_part_there_is_a_reason() -> None:
    found = alpha_of_parts(["u", "u"], ["x", "y"], [1, 2], [1, 2])
    assert np.isnan(found.value)
    assert (found.reason, found.pairable, found.units) == ("no unit has two judgments", 0, 1)
    nothing = alpha_of_parts([], [], [], [])
    assert (nothing.reason, nothing.judgments) == ("no unit has two judgments", 0)


def test_without_variation_there_is_a_reason() -> None:
    found = alpha_of_parts(["u", "u"], ["x", "x"], [1, 2], [5, 5], "interval")
    assert found.reason == "every judgment that can be compared has the same value"
