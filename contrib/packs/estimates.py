"""Make the estimates, curves and heat maps of a pack's results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from common.amounts import json_float
from evaluation.presentation.content import DASH, Curve, Estimate, Heatmap, HeatmapPanel, Plot, plain_table
from quorum.numeric.arrays import Flags, Floats
from quorum.statistics.crossed import CONFIDENCE, share_of_rows
from quorum.statistics.meta import ReferenceCurve


def share_by_image(
    outcomes: Floats | Flags, clusters: Mapping[str, Any], keep: Flags, weights: Floats | None = None
) -> Estimate:
    """Return the (weighted) mean outcome of P pairs, with an interval by image.

    Args:
        outcomes: (P,) outcome of each pair.
        keep: (P,) whether the pair counts.
    """
    if not keep.any():
        return Estimate(None)
    values = outcomes.astype(np.float64)
    interval = share_of_rows(values, clusters, CONFIDENCE, keep=keep, weights=weights)
    value = float(np.average(values[keep], weights=None if weights is None else weights[keep]))
    return Estimate(value, json_float(interval.low), json_float(interval.high), int(keep.sum()))


def estimate_of_draws(mean: float, deviation: float, draws: int) -> Estimate:
    """Return the mean of several draws, with the 95 % prediction interval of one further draw (Student's t)."""
    if draws < 2:
        return Estimate(json_float(mean))
    half = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, draws - 1)) * deviation * math.sqrt(1 + 1 / draws)
    return Estimate(json_float(mean), json_float(mean - half), json_float(mean + half), draws)


def drawn_point(curve: ReferenceCurve, size: int) -> Estimate:
    """Return the accuracy with ``size`` references, with the prediction interval of another random subset."""
    index = curve.references.tolist().index(size)
    value, deviation = float(curve.value[index]), float(curve.deviation[index])
    return estimate_of_draws(value, deviation, int(curve.draws[index]))


def drawn_curve(label: str, curve: ReferenceCurve) -> Curve:
    return Curve(label, tuple(map(float, curve.references)), tuple(map(json_float, curve.value.tolist())))


def estimates_of(curve: ReferenceCurve) -> list[Estimate]:
    """Return an estimate for each number of references."""
    columns = (curve.value.tolist(), curve.low.tolist(), curve.high.tolist())
    return [Estimate(*ends, curve.n) for ends in zip(*columns, strict=True)]


def format_per_cent(estimate: Estimate) -> str:
    """Format an estimate as ``91.6 % [89.7, 93.2]``. Without an interval, format only its value."""
    shares = map(json_float, (estimate.value, estimate.low, estimate.high))
    value, low, high = (None if share is None else f"{100 * share:.1f}" for share in shares)
    if value is None:
        return DASH
    return f"{value} %" if low is None or high is None else f"{value} % [{low}, {high}]"


def estimate_from(statistic: Any, n: int | None = None) -> Estimate:
    """Convert the value and the interval of a statistic to an estimate."""
    return Estimate(json_float(statistic.value), json_float(statistic.low), json_float(statistic.high), n)


def heat_plot(
    name: str,
    title: str,
    sentence: str,
    panels: Sequence[HeatmapPanel],
    axes: tuple[str, str],
    columns: Iterable[tuple[str, str]],
) -> Plot:
    """Return a plot of heat maps. Its table has the panel, row, column and value of each cell."""
    rows = (
        (panel.title, row, column, value)
        for panel in panels
        for row, values in zip(panel.rows, panel.values, strict=True)
        for column, value in zip(panel.columns, values, strict=True)
    )
    return Plot(name, title, sentence, Heatmap(tuple(panels), *axes), plain_table(title, columns, rows, name))
