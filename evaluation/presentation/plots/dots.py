"""Plot rows of dots with intervals, in panels side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from evaluation.presentation.content import Dots, Level, Panel, Specifications
from evaluation.presentation.plots.canvas import (
    ACCENT,
    DASH,
    FAINT_OPACITY,
    INK,
    LEVEL,
    NORMAL,
    ROW,
    SMALL,
    SOFT,
    SOFT_OPACITY,
    WARN,
    WIDTH,
    Dot,
    draw_dots,
    name_axis,
    new_figure,
    quiet_axes,
    shorten,
    tick_of,
    write_beside,
)

LINE = 9  # points from one line of words above a panel to the next


def dots_figure(drawing: Dots, foot: float) -> Canvas:
    """Leave ``foot`` free inches below."""
    rows = len(drawing.labels)
    above = LINE * max(0, *(sum(not level.dashed for level in panel.levels) - 1 for panel in drawing.panels))
    height = 1.35 + above / 72 + ROW * rows + foot
    figure = new_figure(height)
    panels = figure.subplots(1, len(drawing.panels), squeeze=False)[0]
    low, high = _range(drawing)
    labels = [shorten(label) for label in drawing.labels]
    narrow = len(drawing.panels) > 2
    for index, (axes, panel) in enumerate(zip(panels, drawing.panels, strict=True)):
        quiet_axes(axes)
        axes.set_xlim(low, high)
        dots = [
            Dot(label, estimate.value, estimate.low, estimate.high, accent=whole in drawing.accent)
            for label, whole, estimate in zip(labels, drawing.labels, panel.estimates, strict=True)
        ]
        draw_dots(axes, dots, named=index == 0)
        _draw_x_ticks(axes, drawing, narrow=narrow)
        _draw_levels(axes, panel.levels, first=index == 0, last=index == len(panels) - 1, narrow=narrow)
        _write_heading(axes, panel, above)
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
        for estimate in panel.estimates
        for value in (estimate.value, estimate.low, estimate.high)
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


def _draw_x_ticks(axes: Axes, drawing: Dots, *, narrow: bool) -> None:
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


def _draw_levels(axes: Axes, levels: Sequence[Level], *, first: bool, last: bool, narrow: bool) -> None:
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
                axes, level.label, (level.value, 1.0), (0, line), ha=align, va="bottom",
                xycoords=axes.get_xaxis_transform(), fontsize=SMALL - 1, alpha=SOFT_OPACITY,
            )  # fmt: skip


def _write_heading(axes: Axes, panel: Panel, lift: int) -> None:
    if not panel.title:
        return
    above: dict[str, Any] = {"offset": (0, 25 + lift), "xycoords": "axes fraction", "va": "bottom"}
    write_beside(axes, panel.title, (0.0, 1.0), **above, fontsize=NORMAL, fontweight="bold")
    if panel.note:
        write_beside(
            axes, panel.note, (1.0, 1.0), **above, fontsize=SMALL - 1, alpha=SOFT_OPACITY, ha="right"
        )


CURVE = 2.1  # inches
OPTION, APART = 0.165, 0.13  # inches: a row of the matrix, and the gap between two choices
HEAD, GAP = 0.5, 0.12
MARK = 0.32  # half the height of a mark, in rows
LETTER = 0.06  # inches of an average small letter


def specifications_figure(drawing: Specifications, foot: float) -> Canvas:
    rows = sum(len(options) for _, options in drawing.choices)
    matrix = rows * OPTION + max(0, len(drawing.choices) - 1) * APART
    height = HEAD + CURVE + GAP + matrix + 0.1 + foot
    figure = new_figure(height)
    label = max((len(label) for label, _ in drawing.choices), default=0)
    option = max((len(option_name) for _, options in drawing.choices for option_name in options), default=0)
    left = max(0.6, 0.1 + LETTER * (label + option + 2))
    box = (left / WIDTH, (WIDTH - left - 0.15) / WIDTH)
    curve = figure.add_axes((box[0], (height - HEAD - CURVE) / height, box[1], CURVE / height))
    _draw_curve(curve, drawing)
    figure.text(0.01, 1 - 0.3 / height, drawing.axis, **SOFT, va="center", ha="left", parse_math=False)
    if rows:
        below = figure.add_axes((box[0], (0.1 + foot) / height, box[1], matrix / height))
        _draw_matrix(below, drawing, matrix, left)
    return figure


def _draw_curve(axes: Axes, drawing: Specifications) -> None:
    quiet_axes(axes, grid="y")
    axes.spines["bottom"].set_visible(False)
    axes.set_xlim(-1, len(drawing.estimates))
    axes.axhline(drawing.level.value, **LEVEL, linestyle=DASH, zorder=1)
    positions: list[float] = []
    ends: list[float] = []
    for position, estimate in enumerate(drawing.estimates):
        if estimate.low is not None and estimate.high is not None:
            positions += [position, position, math.nan]
            ends += [estimate.low, estimate.high, math.nan]
    width = 1.6 if len(drawing.estimates) < 100 else 0.8
    axes.plot(positions, ends, color=INK, alpha=FAINT_OPACITY, linewidth=width)
    values = [math.nan if estimate.value is None else estimate.value for estimate in drawing.estimates]
    size = 4.5 if len(values) < 60 else 2.6
    for state, colour, shape in ((True, INK, "o"), (False, WARN, "v")):
        drawn = [position for position, holds in enumerate(drawing.holds) if holds is state]
        heights = [values[position] for position in drawn]
        axes.plot(drawn, heights, shape, color=colour, markersize=size, markeredgewidth=0)
    if drawing.reported is not None:
        at = drawing.reported
        axes.axvline(at, color=ACCENT, alpha=0.6, linewidth=1, zorder=1)
        axes.plot([at], [values[at]], "o", color=ACCENT, markersize=size + 1.5, markeredgewidth=0)
        share = at / max(1, len(values) - 1)
        align = "left" if share < 0.1 else "right" if share > 0.9 else "center"
        write_beside(
            axes, "as reported", (at, 1.0), (0, -1), xycoords=axes.get_xaxis_transform(), ha=align, va="bottom",
            fontsize=SMALL - 1.5, color=ACCENT,
        )  # fmt: skip
    write_beside(
        axes, drawing.level.label, (1.0, drawing.level.value), (0, 1), xycoords=axes.get_yaxis_transform(),
        ha="right", va="bottom", fontsize=SMALL - 1.5, alpha=SOFT_OPACITY,
    )  # fmt: skip
    axes.set_xticks([])
    axes.locator_params(axis="y", nbins=6)
    ticks = [tick for tick in axes.get_yticks() if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
    shares = drawing.shows == "share"
    axes.set_yticks(ticks, [f"{100 * tick:g}" if shares else tick_of(round(tick, 6)) for tick in ticks])


def _draw_matrix(axes: Axes, drawing: Specifications, inches: float, left: float) -> None:
    axes.patch.set_alpha(0.0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlim(-1, len(drawing.taken))
    axes.set_ylim(inches / OPTION, 0)
    axes.set_xticks([])
    axes.set_yticks([])
    if drawing.reported is not None:
        axes.axvline(drawing.reported, color=ACCENT, alpha=0.6, linewidth=1, zorder=1)
    top = 0.0
    for column, (label, options) in enumerate(drawing.choices):
        taken = [row[column] for row in drawing.taken]
        write_beside(
            axes, label, (0, top + 0.5), (-72 * left + 6, 0), xycoords=("axes fraction", "data"), va="center",
            fontsize=SMALL - 1.5, fontweight="bold",
        )  # fmt: skip
        for option, name in enumerate(options):
            middle = top + option + 0.5
            write_beside(
                axes, name, (0, middle), (-5, 0), xycoords=("axes fraction", "data"), ha="right", va="center",
                fontsize=SMALL - 1.5,
            )  # fmt: skip
            _draw_marks(axes, [index for index, position in enumerate(taken) if position == option], middle)
        top += len(options) + APART / OPTION


def _draw_marks(axes: Axes, positions: Sequence[int], middle: float) -> None:
    """Draw a stroke at each place as one path, which keeps the file small."""
    across: list[float] = []
    up: list[float] = []
    for position in positions:
        across += [position, position, math.nan]
        up += [middle - MARK, middle + MARK, math.nan]
    axes.axhline(middle, color=INK, alpha=0.08, linewidth=0.8, zorder=0)
    width = max(0.9, min(4.0, 260 / max(1, axes.get_xlim()[1])))
    axes.plot(across, up, color=INK, alpha=SOFT_OPACITY, linewidth=width, solid_capstyle="butt")
