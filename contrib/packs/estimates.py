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
    outcomes: Floats | Flags, clusters: Mapping[str, Any], is_counted: Flags, weights: Floats | None = None
) -> Estimate:
    """Return the (weighted) mean outcome of P pairs, with an interval that clusters by image.

    Args:
        outcomes: (P,) outcome of each pair.
        clusters: the image of each pair, as the column ``{"item": images}``.
        is_counted: (P,) whether the pair counts.
        weights: (P,) weights; by default equal.
    """
    if not is_counted.any():
        return Estimate(None)
    values = outcomes.astype(np.float64)
    interval = share_of_rows(values, clusters, CONFIDENCE, keep=is_counted, weights=weights)
    value = float(np.average(values[is_counted], weights=None if weights is None else weights[is_counted]))
    return Estimate(value, json_float(interval.low), json_float(interval.high), int(is_counted.sum()))


def estimate_of_draws(mean: float, deviation: float, draws: int) -> Estimate:
    """Return the mean of several draws, with the 95 % prediction interval of one further draw (Student's t).

    ``deviation`` is the standard deviation of the ``draws`` values.
    """
    if draws < 2:
        return Estimate(json_float(mean))
    quantile = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, draws - 1))
    half_width = quantile * deviation * math.sqrt(1 + 1 / draws)
    return Estimate(json_float(mean), json_float(mean - half_width), json_float(mean + half_width), draws)


def accuracy_at(curve: ReferenceCurve, reference_count: int) -> Estimate:
    """Return the accuracy with a number of references, with the prediction interval of another random subset."""
    index = curve.references.tolist().index(reference_count)
    value, deviation = float(curve.value[index]), float(curve.deviation[index])
    return estimate_of_draws(value, deviation, int(curve.draws[index]))


def plot_curve(label: str, curve: ReferenceCurve) -> Curve:
    return Curve(label, tuple(map(float, curve.references)), tuple(map(json_float, curve.value.tolist())))


def estimates_of_curve(curve: ReferenceCurve) -> list[Estimate]:
    """Return the accuracy with each number of references, with its interval over pairs."""
    columns = (curve.value.tolist(), curve.low.tolist(), curve.high.tolist())
    return [Estimate(*value_and_ends, curve.n) for value_and_ends in zip(*columns, strict=True)]


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


def heatmap_plot(
    name: str,
    title: str,
    sentence: str,
    panels: Sequence[HeatmapPanel],
    axes: tuple[str, str],
    columns: Iterable[tuple[str, str]],
) -> Plot:
    """Return a plot of heat maps. Its table has the panel, row, column and value of each cell.

    Args:
        axes: labels of the vertical and the horizontal axis.
        columns: names and types of the table's four columns.
    """
    rows = (
        (panel.title, row, column, value)
        for panel in panels
        for row, values in zip(panel.rows, panel.values, strict=True)
        for column, value in zip(panel.columns, values, strict=True)
    )
    return Plot(name, title, sentence, Heatmap(tuple(panels), *axes), plain_table(title, columns, rows, name))
