"""One way to every agreement figure: a coefficient reads the data, `agreement` gives its value and interval.

Drawing raters with replacement draws some of them twice, and a rater agrees with their own copy perfectly: counted as
agreement, copies would lift every resample above the figure it is to surround (Snijders and Borgatti 1999 meet the
same with the vertices of a network; McCullagh 2000 shows that no resampling of rows and columns is exact). Here **a
rater is never compared with their own copy**. With w_r the times rater r was drawn, a unit's answers count w_r each,
and its pairs w_r w_s for two different raters r and s alone:

    sum_{r != s} w_r w_s d(v_r, v_s) / (m^2 - q),  m = sum w_r,  q = sum w_r^2,

which is the usual mean over pairs, m^2 - q = m (m - 1), where nobody was drawn twice. A unit left with one rater
(m^2 = q) drops out like one judged once. Drawing units as well, each on its own, is the pigeonhole bootstrap (Owen
2007, *Annals of Applied Statistics* 1), whose interval is rather too wide than too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.sparse import csr_array

from evaluation.arrays import Floats, Ints
from evaluation.statistics.agreement.ratings import Patterns, Ratings, ratings_of
from evaluation.statistics.errors import BadOption
from evaluation.statistics.inputs import one_of, positive
from evaluation.statistics.resampling import (
    CELLS,
    CONFIDENCE,
    OVER,
    RESAMPLES,
    Seed,
    bootstrap,
    check_confidence,
    generator_of,
    pattern_weights,
    percentile_interval,
)

NO_PAIRS = "no unit has two judgments"

# A unit's answers, rater by rater, are digits of one number as long as they fit in so many bits.
_BITS = 62

# A figure of many weightings of the same patterns of units: (B, P) weights to (B,) values.
OfUnits = Callable[[Floats], Floats]
# A figure where each rater (R,) and each unit (U,) counts a number of times.
OfRaters = Callable[[Floats, Floats], float]


@dataclass(frozen=True, slots=True)
class Sample:
    """What a coefficient read from data: units by pattern, and its value for any weights of the patterns.

    frequency: (P,) units that show each pattern. width: numbers that `of_units` makes a resample, so that chunks of
    resamples fit into memory. units, raters and judgments count what was given; pairable the units with two judgments
    or more. reason: why the value is nan where it is. note: a warning about a value that is defined.
    """

    of_units: OfUnits
    frequency: Ints
    width: int
    units: int
    pairable: int
    raters: int
    judgments: int
    reason: str
    note: str = ""

    @classmethod
    def of_patterns(cls, patterns: Patterns, of_units: OfUnits, reason: str, note: str = "") -> Sample:
        """Return the sample of a table or of ratings."""
        return cls(
            of_units=of_units,
            frequency=patterns.frequency,
            width=patterns.counts.shape[1],
            units=patterns.units,
            pairable=int(patterns.frequency[patterns.sizes() >= 2].sum()),
            raters=patterns.raters,
            judgments=patterns.judgments,
            reason=reason,
            note=note,
        )

    def value(self) -> float:
        """Return the coefficient of the data as they are; nan where it is undefined."""
        if not len(self.frequency):
            return math.nan
        return float(self.of_units(self.frequency[np.newaxis].astype(np.float64))[0])


class Coefficient(Protocol):
    """An agreement coefficient with its settings; `level` is how far apart it takes two answers to be."""

    @property
    def name(self) -> str: ...

    @property
    def level(self) -> str: ...

    def sample(self, data: Any) -> Sample:
        """Read the data. Raises BadShape, BadValue, BadOption, DuplicateJudgment."""


@runtime_checkable
class RaterCoefficient(Coefficient, Protocol):
    """A coefficient of tables and ratings, of which raters may be drawn anew as well.

    The draws are of the units that are `judged_at_least` so often.
    """

    judged_at_least: int

    def of_raters(self, ratings: Ratings) -> OfRaters:
        """Return the coefficient as a function of how often each rater and each unit counts."""


@dataclass(frozen=True, slots=True)
class AgreementResult:
    """An agreement figure, its percentile bootstrap interval, and how it was made.

    `units`, `raters` and `judgments` count what was given; `pairable` the units with two judgments or
    more. `over` says what was resampled: units, raters, or both. `undefined_resamples` were left out of
    the interval (for instance resamples without any variation). `reason` says why `value` is nan, and is
    empty otherwise; `note` warns of a value that is defined but should not be trusted. `seed` is None
    where a running random stream was handed in. `signature` parses back to the call.
    """

    statistic: str
    value: float
    low: float
    high: float
    confidence: float
    units: int
    pairable: int
    raters: int
    judgments: int
    level: str
    resamples: int
    undefined_resamples: int
    seed: int | None
    reason: str
    note: str = ""
    over: str = "units"
    signature: str = ""


def agreement(
    data: Any,
    coefficient: Coefficient,
    *,
    over: str = "units",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
) -> AgreementResult:
    """Return a coefficient of the data with its percentile bootstrap interval.

    `over` says what the resamples draw anew: "units" (the raters are these), "raters" (the units are these), or
    "both". Raises BadOption where the coefficient cannot draw raters, and what `coefficient.sample` raises.
    """
    check_confidence(confidence)
    one_of(over, OVER, "over")
    if over != "units" and not isinstance(coefficient, RaterCoefficient):
        raise BadOption(f"over is {over!r}, expected units: {coefficient.name} does not tell raters apart")
    generator, reported = generator_of(seed)
    sample = coefficient.sample(data)
    value = sample.value()
    low = high = math.nan
    undefined = 0
    if not math.isnan(value):  # nothing is drawn for a figure that is undefined
        if isinstance(coefficient, RaterCoefficient) and over != "units":
            drawn = ratings_of(data).judged_at_least(coefficient.judged_at_least)
            draws = _draw_raters(coefficient, drawn, over, resamples, generator)
        else:
            draws = bootstrap(
                sample.of_units,
                sample.frequency,
                resamples=resamples,
                generator=generator,
                width=sample.width,
            )
        low, high, undefined = percentile_interval(draws, confidence)
    return AgreementResult(
        statistic=coefficient.name,
        value=value,
        low=low,
        high=high,
        confidence=confidence,
        units=sample.units,
        pairable=sample.pairable,
        raters=sample.raters,
        judgments=sample.judgments,
        level=coefficient.level,
        resamples=resamples,
        undefined_resamples=undefined,
        seed=reported,
        reason=sample.reason if math.isnan(value) else "",
        note=sample.note,
        over=over,
    )


def _draw_raters(
    coefficient: RaterCoefficient, ratings: Ratings, over: str, resamples: int, generator: np.random.Generator
) -> Floats:
    """Return (resamples,) values over "raters" or "both".

    Units that all raters answered alike are computed once, and so is each way to draw the raters.
    """
    positive(resamples, "resamples")
    merged, frequency = _merged(ratings)
    value_of = coefficient.of_raters(merged)
    raters = len(ratings.raters)
    draws = np.empty(resamples)
    chunk = max(1, CELLS // raters)
    units = pattern_weights(frequency, resamples, generator) if over == "both" else None
    times = (row for rows in units for row in rows) if units is not None else None
    for start in range(0, resamples, chunk):
        stop = min(start + chunk, resamples)
        drawn = generator.multinomial(raters, np.full(raters, 1 / raters), size=stop - start)
        if times is None:
            ways, which = np.unique(drawn, axis=0, return_inverse=True)
            once = frequency.astype(np.float64)
            draws[start:stop] = np.array([value_of(way.astype(np.float64), once) for way in ways])[which]
        else:
            for place, way in enumerate(drawn, start):
                draws[place] = value_of(way.astype(np.float64), next(times))
    return draws


def _merged(ratings: Ratings) -> tuple[Ratings, Ints]:
    """Return one unit of each group that every rater answered alike, and how many there are of each.

    Where raters or answers are too many for that to happen, the ratings as they are.
    """
    base, raters, units = len(ratings.labels) + 1, len(ratings.raters), len(ratings.units)
    if raters * math.log2(base) > _BITS:
        return ratings, np.ones(units, dtype=np.int64)
    keys = np.zeros(units, dtype=np.int64)
    np.add.at(keys, ratings.unit, (ratings.code + 1) * np.int64(base) ** ratings.rater)
    _, chosen, frequency = np.unique(keys, return_index=True, return_counts=True)
    place = np.full(units, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    kept = place[ratings.unit] >= 0
    return (
        Ratings(
            ratings.units[chosen],
            ratings.raters,
            ratings.labels,
            place[ratings.unit[kept]],
            ratings.rater[kept],
            ratings.code[kept],
        ),
        frequency,
    )


class WeightedUnits:
    """Sums over the answers to units where each rater counts a number of times, without pairs of copies."""

    def __init__(self, ratings: Ratings) -> None:
        self._starts, self._raters, self._codes = ratings.by_unit()
        shape = (len(ratings.units), len(ratings.raters))
        self._judged = csr_array((np.ones(len(self._raters)), self._raters, self._starts), shape=shape)
        self._values = len(ratings.labels)

    def pairs(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return (U,) sizes m and (U,) weighted pairs of different raters, m^2 - q."""
        sizes = np.asarray(self._judged @ weights)
        return sizes, sizes**2 - np.asarray(self._judged @ weights**2)

    def totals(self, weights: Floats, unit_weights: Floats) -> Floats:
        """Return (V,) how often each value stands in the units, each unit counting `unit_weights` times."""
        from evaluation.statistics.agreement.kernels import value_sums  # numba loads when it is needed

        sums = np.zeros(self._values)
        value_sums(self._starts, self._codes, weights[self._raters], unit_weights, sums)
        return sums

    def disagreement(self, weights: Floats, kind: int, positions: Floats) -> Floats:
        """Return (U,) sums of w_r w_s d over the ordered pairs of each unit's answers."""
        from evaluation.statistics.agreement.kernels import unit_disagreement

        apart, sizes, most = np.empty((3, self._judged.shape[0]))
        amounts = weights[self._raters]
        unit_disagreement(self._starts, self._codes, amounts, kind, positions, apart, sizes, most)
        return apart
