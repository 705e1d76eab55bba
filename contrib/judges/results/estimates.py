"""Estimates of a comparison of judges with people, as they are stored: value, low and high of the interval, and n."""

from __future__ import annotations

from typing import Any

from common.amounts import as_json
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import CONFIDENCE, ITEM, Clusters, renumber_codes


def undefined_estimate(n: int) -> dict[str, Any]:
    return {"value": None, "low": None, "high": None, "n": n}


def mean_estimate(values: Floats, images: Ints) -> dict[str, Any]:
    """Return the mean of N values, with its interval, clustered by ``images``, the image of each value: (N,)."""
    if not len(values):
        return undefined_estimate(0)
    mean = float(values.mean())
    return clustered_estimate(mean, (values - mean) / len(values), images, len(values))


def clustered_estimate(value: float, influences: Floats, images: Ints, n: int) -> dict[str, Any]:
    """Return a value with its interval, clustered by image.

    Args:
        influences: (N,) influence of each of N rows on the value.
        images: (N,) image of each row.
    """
    half_width = Clusters.of_codes({ITEM: renumber_codes(images)}).spread(influences).half_width(CONFIDENCE)
    return dict(as_json({"value": value, "low": value - half_width, "high": value + half_width, "n": n}))
