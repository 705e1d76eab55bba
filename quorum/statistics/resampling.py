"""Bootstrap and random numbers for all statistics.

The bootstrap uses weights instead of copies of data. Equal units form a pattern, and a resample is a vector that says
how often each pattern is drawn. It is computed in blocks, which may be divided among processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.packing import declare
from quorum.numeric.parallel import Serial, map_parts
from quorum.statistics.inputs import ROUNDING, BadOption, check_positive_int

ALTERNATIVES = ("two-sided", "greater", "less")
Seed = int | np.integer[Any] | np.random.Generator
RESAMPLES = 2000

# Number of doubles in memory at once while resampling; 4 million are 32 MB.
CELLS = 4_000_000
UNITS_PER_BATCH = 32_768  # number of units drawn at once, few enough for the processor's cache
BLOCK = 2000  # number of resamples drawn from one stream of random numbers
MIN_PARALLEL_NUMBERS = 1e8  # work for which further processes are used: this many numbers, about a second
Estimator = Callable[[Floats], Floats]  # from (B, P) weights of patterns to (B,) or (B, columns) values


def generator_of(seed: Seed) -> tuple[np.random.Generator, int | None]:
    """Return the generator, and the seed that results report: None if the caller passed a generator."""
    if isinstance(seed, np.random.Generator):
        return seed, None
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise BadOption(f"seed is {seed!r}, expected a whole number from zero on or a numpy Generator")
    return np.random.default_rng(int(seed)), int(seed)


def pattern_weights(
    frequency: Ints, resamples: int, generator: np.random.Generator, width: int = 1
) -> Iterator[Floats]:
    """Yield resamples in chunks of (chunk, P) float64 that say how often each pattern is drawn.

    frequency: (P,) number of units with each pattern. width: number of doubles that the statistic needs for one
    resample, which limits the size of a chunk.
    """
    unit_count = int(frequency.sum())
    pattern_count = len(frequency)
    chunk_size = max(1, CELLS // max(pattern_count, width, 1))
    pattern_of_unit = (
        np.repeat(np.arange(pattern_count), frequency) if _is_faster_by_unit(frequency) else None
    )
    is_unit_pattern = pattern_count == unit_count  # each unit is a pattern
    shares = frequency / unit_count
    for start in range(0, resamples, chunk_size):
        size = min(chunk_size, resamples - start)
        if pattern_of_unit is None:
            yield generator.multinomial(unit_count, shares, size=size).astype(np.float64)
            continue
        weights = np.empty((size, pattern_count))
        batch_size = max(1, UNITS_PER_BATCH // max(unit_count, pattern_count))
        for row in range(0, size, batch_size):
            row_count = min(batch_size, size - row)
            units = generator.integers(0, unit_count, size=(row_count, unit_count))
            patterns = units if is_unit_pattern else pattern_of_unit[units]
            # Count the patterns of all rows at once, with other numbers in each row.
            patterns += np.arange(0, row_count * pattern_count, pattern_count)[:, np.newaxis]
            counts = np.bincount(patterns.ravel(), minlength=row_count * pattern_count)
            weights[row : row + row_count] = counts.reshape(row_count, pattern_count)
        yield weights


def _is_faster_by_unit(frequency: Ints) -> bool:
    """Return whether drawing units one by one is faster than drawing one binomial number for each pattern.

    It is faster if patterns have few units. The limit of four on average decides which random numbers are drawn, so
    results with a seed would change with it.
    """
    return len(frequency) * 4 > int(frequency.sum())


def bootstrap(
    statistic: Estimator,
    frequency: Ints,
    *,
    resamples: int,
    generator: np.random.Generator,
    width: int = 1,
) -> Floats:
    """Return the values of a statistic in all resamples, (resamples,) or (resamples, columns) as the statistic returns.

    Every BLOCK resamples have their own stream of random numbers (numpy's `BitGenerator.jumped`), so values do not
    depend on which process computes a block, or in which order.
    """
    check_positive_int(resamples, "resamples")
    setup = statistic, frequency, width
    bits = generator.bit_generator
    if resamples <= BLOCK or not hasattr(bits, "jumped"):  # numpy's SFC64 cannot jump
        return _draw_block(setup, (generator, resamples))
    sizes = [min(BLOCK, resamples - start) for start in range(0, resamples, BLOCK)]
    blocks = list(zip(streams(generator, len(sizes)), sizes, strict=True))
    bits.state = bits.jumped(len(sizes)).state  # the caller's next numbers come after those of all blocks
    drawn_numbers = resamples * max(
        int(frequency.sum()) if _is_faster_by_unit(frequency) else len(frequency), width
    )
    map_blocks = map_parts if drawn_numbers > MIN_PARALLEL_NUMBERS else Serial().map
    return np.concatenate(list(map_blocks(_draw_block, setup, blocks)))


def streams(generator: np.random.Generator, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent generators. The first starts at the state of ``generator``, which is not changed."""
    bits: Any = generator.bit_generator  # numpy's type stubs lack `jumped`
    return [np.random.Generator(bits.jumped(number)) for number in range(count)]


@declare
def _draw_block(setup: tuple[Estimator, Ints, int], block: tuple[np.random.Generator, int]) -> Floats:
    statistic, frequency, width = setup
    generator, resamples = block
    return np.concatenate(
        [statistic(weights) for weights in pattern_weights(frequency, resamples, generator, width)]
    )


def percentile_interval(draws: Floats, confidence: float) -> tuple[float, float, int]:
    """Return the low and high percentile of the defined draws, and the number of undefined (nan) draws."""
    defined_draws = draws[~np.isnan(draws)]
    undefined_count = len(draws) - len(defined_draws)
    if not len(defined_draws):
        return math.nan, math.nan, undefined_count
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined_draws, [tail, 1 - tail])
    return float(low), float(high), undefined_count


def count_extreme(differences: Floats, difference: float, scale: float, alternative: str) -> int:
    """Return how many of the drawn `differences` are at least as extreme as the observed `difference`, up to rounding.

    `scale` is the largest score.
    """
    tolerance = ROUNDING * scale
    if alternative == "two-sided":
        return int((np.abs(differences) >= abs(difference) - tolerance).sum())
    if alternative == "greater":
        return int((differences >= difference - tolerance).sum())
    return int((differences <= difference + tolerance).sum())


def coin_tosses(generator: np.random.Generator, rows: int, columns: int) -> NDArray[np.uint8]:
    """Return (rows, columns) bytes of eight coins each."""
    size = rows * columns
    integers = generator.integers(0, 2**64, size=(size + 7) // 8, dtype=np.uint64)
    return integers.view(np.uint8)[:size].reshape(rows, columns)
