"""Summaries of the scores of captions, over captions and over images (Wang, Gaizauskas 2016, section 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quorum.numeric.arrays import Floats
from quorum.statistics.resampling import Seed
from quorum.statistics.significance.bootstrap import bootstrap_interval


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """Summary of the scores of captions of several images.

    micro: mean over captions. macro: mean over images of the mean over the image's captions. low, high: interval of
    `macro` over images (nan for one image). deviation (with n - 1), median, least, most: over captions.
    """

    micro: float
    macro: float
    low: float
    high: float
    deviation: float
    median: float
    least: float
    most: float


def summary_of_scores(scores: Floats, means: Floats, *, resamples: int, seed: Seed) -> ScoreSummary:
    """Summarise the (captions,) scores, and the (images,) means of the scores of each image's captions."""
    interval = bootstrap_interval(means, resamples=resamples, seed=seed)
    return ScoreSummary(
        micro=float(scores.mean()),
        macro=float(means.mean()),
        low=interval.low,
        high=interval.high,
        deviation=deviation_of(scores),
        median=float(np.median(scores)),
        least=float(scores.min()),
        most=float(scores.max()),
    )


def deviation_of(values: Floats) -> float:
    """Return the standard deviation of (N,) values, with the divisor N - 1, or nan for fewer than two values."""
    return float(values.std(ddof=1)) if values.size > 1 else math.nan
