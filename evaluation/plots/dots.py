"""Plot rows of dots with intervals, in panels side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from evaluation.plots.canvas import (
    DASH,
    INK,
    LEVEL,
    NORMAL,
    ROW,
    SMALL,
    SOFT_OPACITY,
    Dot,
    draw_dots,
    name_axis,
    new_figure,
    quiet_axes,
    short,
    tick_of,
    write_beside,
)
from evaluation.report.content import Dots, Level, Panel

LINE = 9  # points from one line of words above a panel to the next


def dots_figure(drawing: Dots, foot: float) -> Canvas:
    """Leave ``foot`` free inches below."""
    rows = len(drawing.labels)
    above = LINE * max(0, *(_solid(panel) - 1 for panel in drawing.panels))
    height = 1.35 + above / 72 + ROW * rows + foot
    figure = new_figure(height)
    panels = figure.subplots(1, len(drawing.panels), squeeze=False)[0]
    low, high = _range(drawing)
    labels = [short(label) for label in drawing.labels]
    narrow = len(drawing.panels) > 2
    for place, (axes, panel) in enumerate(zip(panels, drawing.panels, strict=True)):
        quiet_axes(axes)
        axes.set_xlim(low, high)
        dots = [
            Dot(label, one.value, one.low, one.high, accent=whole in drawing.accent)
            for label, whole, one in zip(labels, drawing.labels, panel.estimates, strict=True)
        ]
        draw_dots(axes, dots, named=place == 0)
        _x_ticks(axes, drawing, narrow=narrow)
        _levels(axes, panel.levels, first=place == 0, last=place == len(panels) - 1, narrow=narrow)
        _head(axes, panel, above)
    left = 0.035 + 0.0108 * max(len(label) for label in labels)
    figure.subplots_adjust(
        left=max(left, 0.08),
        right=0.97,
        bottom=(0.52 + foot) / height,
        top=1 - (0.72 + above / 72) / height,
        wspace=0.22,
    )
    name_axis(figure, drawing.axis, foot)
    return figure


def _range(drawing: Dots) -> tuple[float, float]:
    values = [
        value
        for panel in drawing.panels
        for one in panel.estimates
        for value in (one.value, one.low, one.high)
        if value is not None
    ]
    values += [level.value for panel in drawing.panels for level in panel.levels]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if drawing.shows == "share":
        high = 1.0
    elif drawing.shows == "coefficient":
        low, high = min(low, 0.0), 1.0
    air = 0.04 * ((high - low) or 1.0)
    return low - air, high + air


def _x_ticks(axes: Axes, drawing: Dots, *, narrow: bool) -> None:
    low, high = axes.get_xlim()
    if drawing.shows == "number":
        axes.locator_params(axis="x", nbins=5)
        return
    step = 0.5 if narrow else 0.25
    ticks = [tick for tick in (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0) if low <= tick <= high]
    ticks = [tick for tick in ticks if abs(round(tick / step) - tick / step) < 1e-9]
    if drawing.shows == "share":
        axes.set_xticks(ticks, [f"{100 * tick:.0f}" for tick in ticks])
    else:
        axes.set_xticks(ticks, [tick_of(tick) for tick in ticks])


def _levels(axes: Axes, levels: Sequence[Level], *, first: bool, last: bool, narrow: bool) -> None:
    """Draw levels; label dashed ones in the first panel, human levels in the last, each on a line above."""
    line = 2
    for level in levels:
        if level.low is not None and level.high is not None:
            axes.axvspan(level.low, level.high, color=INK, alpha=0.07, linewidth=0)
        axes.axvline(level.value, **LEVEL, linestyle=DASH if level.dashed else "solid", zorder=1)
        if first if level.dashed else last:
            low, high = axes.get_xlim()
            share = (level.value - low) / (high - low)
            align = "left" if share < 0.2 else "right" if share > (0.5 if narrow else 0.8) else "center"
            line = 2 if level.dashed else line + LINE
            write_beside(
                axes, level.words, (level.value, 1.0), (0, line), ha=align, va="bottom",
                xycoords=axes.get_xaxis_transform(), fontsize=SMALL - 1, alpha=SOFT_OPACITY,
            )  # fmt: skip


def _solid(panel: Panel) -> int:
    return sum(not level.dashed for level in panel.levels)


def _head(axes: Axes, panel: Panel, lift: int) -> None:
    if not panel.title:
        return
    above: dict[str, Any] = {"offset": (0, 25 + lift), "xycoords": "axes fraction", "va": "bottom"}
    write_beside(axes, panel.title, (0.0, 1.0), **above, fontsize=NORMAL, fontweight="bold")
    if panel.note:
        write_beside(
            axes, panel.note, (1.0, 1.0), **above, fontsize=SMALL - 1, alpha=SOFT_OPACITY, ha="right"
        )
