"""Plot a specification curve: sorted estimates with intervals above each specification's options."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from evaluation.plots.canvas import (
    ACCENT,
    DASH,
    FAINT_OPACITY,
    INK,
    LEVEL,
    SMALL,
    SOFT,
    SOFT_OPACITY,
    WARN,
    WIDTH,
    new_figure,
    quiet_axes,
    tick_of,
    write_beside,
)
from evaluation.report.content import Specifications

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
    option = max((len(one) for _, options in drawing.choices for one in options), default=0)
    left = max(0.6, 0.1 + LETTER * (label + option + 2))
    box = (left / WIDTH, (WIDTH - left - 0.15) / WIDTH)
    curve = figure.add_axes((box[0], (height - HEAD - CURVE) / height, box[1], CURVE / height))
    _curve(curve, drawing)
    figure.text(0.01, 1 - 0.3 / height, drawing.axis, **SOFT, va="center", ha="left", parse_math=False)
    if rows:
        below = figure.add_axes((box[0], (0.1 + foot) / height, box[1], matrix / height))
        _matrix(below, drawing, matrix, left)
    return figure


def _curve(axes: Axes, drawing: Specifications) -> None:
    quiet_axes(axes, grid="y")
    axes.spines["bottom"].set_visible(False)
    axes.set_xlim(-1, len(drawing.estimates))
    axes.axhline(drawing.level.value, **LEVEL, linestyle=DASH, zorder=1)
    places: list[float] = []
    ends: list[float] = []
    for place, one in enumerate(drawing.estimates):
        if one.low is not None and one.high is not None:
            places += [place, place, math.nan]
            ends += [one.low, one.high, math.nan]
    width = 1.6 if len(drawing.estimates) < 100 else 0.8
    axes.plot(places, ends, color=INK, alpha=FAINT_OPACITY, linewidth=width)
    values = [math.nan if one.value is None else one.value for one in drawing.estimates]
    size = 4.5 if len(values) < 60 else 2.6
    for held, colour, shape in ((True, INK, "o"), (False, WARN, "v")):
        there = [place for place, one in enumerate(drawing.holds) if one is held]
        axes.plot(
            there, [values[place] for place in there], shape, color=colour, markersize=size, markeredgewidth=0
        )
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
        axes, drawing.level.words, (1.0, drawing.level.value), (0, 1), xycoords=axes.get_yaxis_transform(),
        ha="right", va="bottom", fontsize=SMALL - 1.5, alpha=SOFT_OPACITY,
    )  # fmt: skip
    axes.set_xticks([])
    axes.locator_params(axis="y", nbins=6)
    ticks = [tick for tick in axes.get_yticks() if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
    shares = drawing.shows == "share"
    axes.set_yticks(ticks, [f"{100 * tick:g}" if shares else tick_of(round(tick, 6)) for tick in ticks])


def _matrix(axes: Axes, drawing: Specifications, inches: float, left: float) -> None:
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
            _marks(axes, [place for place, one in enumerate(taken) if one == option], middle)
        top += len(options) + APART / OPTION


def _marks(axes: Axes, places: Sequence[int], middle: float) -> None:
    """Draw a stroke at each place as one path, which keeps the file small."""
    across: list[float] = []
    up: list[float] = []
    for place in places:
        across += [place, place, math.nan]
        up += [middle - MARK, middle + MARK, math.nan]
    axes.axhline(middle, color=INK, alpha=0.08, linewidth=0.8, zorder=0)
    width = max(0.9, min(4.0, 260 / max(1, axes.get_xlim()[1])))
    axes.plot(across, up, color=INK, alpha=SOFT_OPACITY, linewidth=width, solid_capstyle="butt")
