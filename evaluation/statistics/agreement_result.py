"""The form in which every agreement figure is handed back."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from evaluation.statistics.resampling import percentile_interval
from evaluation.statistics.tables import Floats


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
