"""The figures of a report: dots with intervals, curves on a log axis, matrices; as SVG, PDF and PNG.

The same numbers give the same bytes: no times, no names of programs, ids from a fixed salt. Colours are Okabe and Ito's
(https://jfly.uni-koeln.de/color/), told apart by people who see no red or green; curves carry their names.
"""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Sequence
from io import BytesIO

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullFormatter, NullLocator

from evaluation.figures.canvas import (
    FAINT_OPACITY,
    INK,
    NORMAL,
    ROW,
    SMALL,
    SOFT_OPACITY,
    WIDTH,
    Dot,
    draw_dots,
    new_figure,
    quiet_axes,
    to_svg,
)
from evaluation.reports.content import CurvePanel, Curves, Dots, Heat, HeatPanel, Level, Panel, Plot

logging.getLogger("fontTools").setLevel(logging.WARNING)  # it tells each step of cutting a font

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8F7700", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASH = (0, (2, 2.5))
STAMP_SIZE, STAMP_LINE, STAMP_WIDTH = 5.5, 0.105, 150
PNG_DPI = 200
LONGEST_LABEL, LONGEST_TICK = 34, 16
DARK, LIGHT = "#111111", "#ffffff"
# from least to most, even to eyes without red or green (Brewer's Blues and Purple-Orange)
RISING = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
AROUND = ("#b35806", "#fdb863", "#f7f7f7", "#b2abd2", "#542788")


def drawn(plot: Plot, *, stamp: str) -> Canvas:
    """The figure, with the judgment signature in small type at its foot."""
    lines = textwrap.wrap(stamp, STAMP_WIDTH, break_on_hyphens=False) if stamp else []
    foot = STAMP_LINE * len(lines) + (0.1 if lines else 0.0)
    figure = {Dots: _dots, Curves: _curves, Heat: _heat}[type(plot.drawing)](plot.drawing, foot)  # type: ignore[operator]
    height = figure.get_size_inches()[1]
    for place, line in enumerate(lines):
        figure.text(
            0.01, (0.04 + STAMP_LINE * (len(lines) - 1 - place)) / height, line, fontsize=STAMP_SIZE, color=INK,
            alpha=SOFT_OPACITY, va="bottom", parse_math=False,
        )  # fmt: skip
    return figure


def svg_of(figure: Canvas, plot: Plot, *, simulated: bool) -> str:
    """For a page: words and lines take the page's own colour."""
    return to_svg(
        figure, name=f"report-{plot.name}", title=plot.title, description=plot.sentence, simulated=simulated
    )


def svg_file(svg: str) -> bytes:
    """The same on white, as a file of its own."""
    head, mark, rest = svg.partition(">\n")
    white = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}{mark}{white}\n{rest}'.encode()


def pdf_of(figure: Canvas) -> bytes:
    """For a paper; letters as TrueType, as publishers ask."""
    out = BytesIO()
    with mpl.rc_context({"pdf.fonttype": 42}):
        figure.savefig(out, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    return out.getvalue()


def png_of(figure: Canvas) -> bytes:
    """For slides, on white."""
    out = BytesIO()
    figure.patch.set_alpha(1.0)  # which the common canvas leaves away, for pages
    figure.savefig(out, format="png", dpi=PNG_DPI, facecolor="white", metadata={"Software": None})
    figure.patch.set_alpha(0.0)
    return out.getvalue()


def short(label: str, longest: int = LONGEST_LABEL) -> str:
    """A label that fits; a cut one ends in dots."""
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def _dots(drawing: Dots, foot: float) -> Canvas:
    rows = len(drawing.labels)
    height = 1.35 + ROW * rows + foot
    figure = new_figure(height)
    panels = figure.subplots(1, len(drawing.panels), squeeze=False)[0]
    low, high = _range(drawing)
    labels = [short(label) for label in drawing.labels]
    for place, (axes, panel) in enumerate(zip(panels, drawing.panels, strict=True)):
        quiet_axes(axes)
        axes.set_xlim(low, high)
        dots = [
            Dot(label, one.value, one.low, one.high, accent=whole == drawing.accent)
            for label, whole, one in zip(labels, drawing.labels, panel.figures, strict=True)
        ]
        draw_dots(axes, dots, named=place == 0)
        _x_ticks(axes, drawing, narrow=len(drawing.panels) > 2)
        _levels(axes, panel.levels, first=place == 0, last=place == len(panels) - 1)
        _head(axes, panel)
    left = 0.035 + 0.0108 * max(len(label) for label in labels)
    figure.subplots_adjust(
        left=max(left, 0.08), right=0.97, bottom=(0.52 + foot) / height, top=1 - 0.72 / height, wspace=0.22
    )
    figure.text(
        0.97,
        (0.1 + foot) / height,
        drawing.axis,
        fontsize=SMALL,
        color=INK,
        alpha=SOFT_OPACITY,
        va="bottom",
        ha="right",
    )
    return figure


def _range(drawing: Dots) -> tuple[float, float]:
    """The ends of the axis: everything drawn, and a little air."""
    values = [
        value
        for panel in drawing.panels
        for one in panel.figures
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
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def _levels(axes: Axes, levels: Sequence[Level], *, first: bool, last: bool) -> None:
    """Vertical lines; a dashed one is named in the first panel, people's own in the last, one line higher."""
    for level in levels:
        if level.low is not None and level.high is not None:
            axes.axvspan(level.low, level.high, color=INK, alpha=0.07, linewidth=0)
        axes.axvline(
            level.value,
            color=INK,
            alpha=0.55,
            linewidth=1,
            linestyle=DASH if level.dashed else "solid",
            zorder=1,
        )
        if first if level.dashed else last:
            low, high = axes.get_xlim()
            share = (level.value - low) / (high - low)
            align = "left" if share < 0.2 else "right" if share > 0.8 else "center"
            axes.annotate(
                level.words, (level.value, 1.0), xycoords=axes.get_xaxis_transform(),
                xytext=(0, 2 if level.dashed else 11),
                textcoords="offset points", ha=align, va="bottom", fontsize=SMALL - 1, color=INK, alpha=SOFT_OPACITY,
                annotation_clip=False,
            )  # fmt: skip


def _head(axes: Axes, panel: Panel) -> None:
    if not panel.title:
        return
    axes.annotate(
        panel.title, (0.0, 1.0), xycoords="axes fraction", xytext=(0, 25), textcoords="offset points", fontsize=NORMAL,
        color=INK, fontweight="bold", va="bottom", parse_math=False,
    )  # fmt: skip
    if panel.note:
        axes.annotate(
            panel.note, (1.0, 1.0), xycoords="axes fraction", xytext=(0, 25), textcoords="offset points",
            fontsize=SMALL - 1,
            color=INK, alpha=SOFT_OPACITY, ha="right", va="bottom",
        )  # fmt: skip


def _curves(drawing: Curves, foot: float) -> Canvas:
    across = 1 if len(drawing.panels) == 1 else 2
    down = -(-len(drawing.panels) // across)
    height = 0.75 + 2.6 * down + foot
    figure = new_figure(height)
    grid = figure.subplots(down, across, squeeze=False)
    for place, axes in enumerate(grid.ravel()):
        if place >= len(drawing.panels):
            axes.set_axis_off()
            continue
        _curve_panel(axes, drawing.panels[place], drawing.log, single=across == 1)
    figure.text(0.01, 1 - 0.1 / height, drawing.up, fontsize=SMALL, color=INK, alpha=SOFT_OPACITY, va="top")
    figure.text(
        0.97,
        (0.08 + foot) / height,
        drawing.across,
        fontsize=SMALL,
        color=INK,
        alpha=SOFT_OPACITY,
        ha="right",
        va="bottom",
    )
    figure.subplots_adjust(
        left=0.075, right=0.84, bottom=(0.5 + foot) / height, top=1 - 0.5 / height, wspace=0.62, hspace=0.36
    )
    return figure


def _curve_panel(axes: Axes, panel: CurvePanel, log: bool, *, single: bool) -> None:
    quiet_axes(axes)
    axes.grid(axis="x", visible=False)
    axes.grid(axis="y", color=INK, alpha=0.08, linewidth=0.8)
    axes.set_title(panel.title, fontsize=NORMAL, color=INK, loc="left", fontweight="bold", parse_math=False)
    if log:
        axes.set_xscale("log")
    ticks = sorted({x for curve in panel.curves for x in curve.x})
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(ticks, _sparse(ticks) if log else [f"{tick:g}" for tick in ticks])
    values = [y for curve in panel.curves for y in curve.y if y is not None]
    values += [level.value for level in panel.levels]
    low, high = min(values, default=0.0), max(values, default=1.0)
    air = 0.06 * ((high - low) or 1.0)
    axes.set_ylim(low - air, min(1.0, high + air) if high <= 1.0 else high + air)
    axes.locator_params(axis="y", nbins=5)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
    for level in panel.levels:
        axes.axhline(
            level.value,
            color=INK,
            alpha=0.5,
            linewidth=1,
            linestyle=DASH if level.dashed else "solid",
            zorder=1,
        )
    ends: list[tuple[float, str, str]] = []
    for place, curve in enumerate(panel.curves):
        known = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]
        if not known:
            continue
        colour = OKABE_ITO[place % len(OKABE_ITO)]
        xs, ys = zip(*known, strict=True)
        axes.plot(
            xs,
            ys,
            color=colour,
            linewidth=1.6,
            marker=MARKERS[place % len(MARKERS)],
            markersize=4,
            clip_on=False,
        )
        ends.append((ys[-1], short(curve.label, 18 if not single else 22), colour))
    if any(curve.x[0] > curve.x[-1] for curve in panel.curves if curve.x):
        axes.invert_xaxis()  # told from the strictest on; curves are named where they lie farthest apart
    ends += [(level.value, short(level.words, 18), INK) for level in panel.levels]
    _direct_labels(axes, ends)


def _sparse(ticks: Sequence[float]) -> list[str]:
    """The ticks of a log axis, without those that would touch the one before."""
    texts: list[str] = []
    before = 0.0
    for place, tick in enumerate(ticks):
        last = place == len(ticks) - 1
        crowded = before and tick / before < 1.45
        if last and crowded:
            texts[-1] = ""
        texts.append(f"{tick:g}" if last or not crowded else "")
        before = tick if texts[-1] else before
    return texts


def _direct_labels(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Names at the right ends of lines, pushed apart so that none touches another."""
    low, high = axes.get_ylim()
    gap = (high - low) * 0.088
    ordered = sorted(ends)
    places: list[float] = []
    for value, _, _ in ordered:
        places.append(max(value, places[-1] + gap) if places else value)
    over = places[-1] - high if places else 0.0
    if over > 0:  # back down from the top
        places[-1] = high
        for place in range(len(places) - 2, -1, -1):
            places[place] = min(places[place], places[place + 1] - gap)
    for (_, words, colour), height in zip(ordered, places, strict=True):
        axes.annotate(
            words, (1.0, height), xycoords=("axes fraction", "data"), xytext=(7, 0), textcoords="offset points",
            fontsize=SMALL - 1.5, color=colour, va="center", annotation_clip=False, parse_math=False,
            alpha=SOFT_OPACITY if colour == INK else 1.0,
        )  # fmt: skip


def _heat(drawing: Heat, foot: float) -> Canvas:
    single = len(drawing.panels) == 1
    across = 1 if single else 2
    down = -(-len(drawing.panels) // across)
    columns = max(len(panel.columns) for panel in drawing.panels)
    rows = max(len(panel.rows) for panel in drawing.panels)
    side: float = 0.3 if not single else min(0.55, max(0.135, 5.2 / columns))
    tick = (
        0.065 * min(LONGEST_TICK, max(len(name) for panel in drawing.panels for name in panel.columns)) + 0.15
    )
    panel_height = side * rows + tick + 0.75
    height = panel_height * down + foot + 0.1
    figure = new_figure(height)
    label = (
        0.072 * min(LONGEST_TICK, max(len(name) for panel in drawing.panels for name in panel.rows)) + 0.12
    )
    for place, panel in enumerate(drawing.panels):
        row, column = divmod(place, across)
        width = WIDTH / across
        left = column * width + label + (0.25 if drawing.down else 0.05)
        wide = (
            min(side * 2.2 * len(panel.columns), width - label - 0.45)
            if not single
            else side * len(panel.columns)
        )
        wide = min(wide, width * 0.98 - label - (0.3 if drawing.down else 0.1))
        top = height - row * panel_height - 0.5
        tall = side * len(panel.rows)
        axes = figure.add_axes((left / WIDTH, (top - tall) / height, wide / WIDTH, tall / height))
        _heat_panel(axes, panel, drawing, cell=wide / len(panel.columns))
    return figure


def _heat_panel(axes: Axes, panel: HeatPanel, drawing: Heat, *, cell: float) -> None:
    axes.patch.set_alpha(0.0)
    for spine in axes.spines.values():
        spine.set(color=INK, alpha=FAINT_OPACITY)
    axes.set_xlim(0, len(panel.columns))
    axes.set_ylim(len(panel.rows), 0)
    size = min(SMALL - 1, max(3.2, 17 * cell))
    for row, values in enumerate(panel.values):
        for column, value in enumerate(values):
            if value is None:
                continue
            colour = _colour(value, drawing.least)
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, linewidth=0))
            text = f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:.0f}"
            axes.text(
                column + 0.5, row + 0.5, "0" if text in (".00", "-.00") else text, ha="center", va="center",
                fontsize=size,
                color=DARK if _is_bright(colour) else LIGHT,
            )  # fmt: skip
    ticks = min(SMALL - 1, max(4.5, 24 * cell))
    axes.set_xticks(
        [place + 0.5 for place in range(len(panel.columns))], [short(name, LONGEST_TICK) for name in panel.columns],
        rotation=90 if max(map(len, panel.columns)) > 4 else 0, parse_math=False,
    )  # fmt: skip
    axes.set_yticks(
        [place + 0.5 for place in range(len(panel.rows))],
        [short(name, LONGEST_TICK) for name in panel.rows],
        parse_math=False,
    )
    axes.tick_params(length=0, labelsize=ticks, labelcolor=INK, pad=3)
    axes.set_title(
        short(panel.title, 40), fontsize=SMALL, color=INK, loc="left", fontweight="bold", parse_math=False
    )
    if drawing.across:
        axes.set_xlabel(drawing.across, fontsize=SMALL - 1, color=INK, alpha=SOFT_OPACITY)
    if drawing.down:
        axes.set_ylabel(drawing.down, fontsize=SMALL - 1, color=INK, alpha=SOFT_OPACITY)


def _colour(value: float, least: float) -> str:
    """Between the five steps of a scale, mixed."""
    scale = AROUND if least < 0 else RISING
    share = min(1.0, max(0.0, (value - least) / (1.0 - least))) * (len(scale) - 1)
    place = min(int(share), len(scale) - 2)
    mix = share - place
    parts = [
        round(int(scale[place][at : at + 2], 16) * (1 - mix) + int(scale[place + 1][at : at + 2], 16) * mix)
        for at in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


def _is_bright(colour: str) -> bool:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue > 140
