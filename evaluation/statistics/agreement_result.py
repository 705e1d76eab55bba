"""The form in which every agreement figure is handed back."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evaluation.statistics.patterns import Patterns
from evaluation.statistics.rater_resampling import OfRaters, bootstrap_raters
from evaluation.statistics.ratings import Data, Ratings, ratings_of
from evaluation.statistics.resampling import (
    OVER,
    Seed,
    bootstrap,
    check_confidence,
    generator_of,
    percentile_interval,
)
from evaluation.statistics.tables import Floats, one_of

NO_PAIRS = "no unit has two judgments"

# A figure of many weightings of the same patterns: (B, P) weights to (B,) values.
OfUnits = Callable[[Floats], Floats]


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


def interval_of(value: float, draws: Callable[[], Floats], confidence: float) -> tuple[float, float, int]:
    """Low, high and undefined resamples of a figure; nothing is drawn for one that is undefined."""
    if math.isnan(value):
        return math.nan, math.nan, 0
    return percentile_interval(draws(), confidence)


def point_of(statistic: OfUnits, patterns: Patterns) -> float:
    """The statistic of the patterns as they are."""
    return float(statistic(patterns.frequency[np.newaxis].astype(np.float64))[0])


def result_of(
    name: str,
    data: Data,
    patterns: Patterns,
    of_units: OfUnits,
    of_raters: Callable[[Ratings], OfRaters],
    *,
    judged_at_least: int,
    level: str,
    reason: str,
    confidence: float,
    resamples: int,
    seed: Seed,
    over: str,
    note: str = "",
) -> AgreementResult:
    """The figure of the patterns with its interval; `reason` is why it is nan if it is.

    The interval over raters is of the units of `data` that are `judged_at_least` so often.
    """
    check_confidence(confidence)
    one_of(over, OVER, "over")
    generator, reported = generator_of(seed)
    value = point_of(of_units, patterns)

    def draws() -> Floats:
        if over == "units":
            width = patterns.counts.shape[1]
            return bootstrap(
                of_units, patterns.frequency, resamples=resamples, generator=generator, width=width
            )
        drawn = ratings_of(data).judged_at_least(judged_at_least)
        return bootstrap_raters(of_raters, drawn, over=over, resamples=resamples, generator=generator)

    low, high, undefined = interval_of(value, draws, confidence)
    return AgreementResult(
        statistic=name,
        value=value,
        low=low,
        high=high,
        confidence=confidence,
        units=patterns.units,
        pairable=int(patterns.frequency[patterns.sizes() >= 2].sum()),
        raters=patterns.raters,
        judgments=patterns.judgments,
        level=level,
        resamples=resamples,
        undefined_resamples=undefined,
        seed=reported,
        reason=reason if math.isnan(value) else "",
        note=note,
        over=over,
    )
