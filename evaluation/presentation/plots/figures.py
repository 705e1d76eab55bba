"""Plots of a report as SVG, PDF and PNG: dots in rows, curves, specification curves, and matrices (`heat`).

Equal numbers give equal bytes, because files contain no times and no program names, and ids come from a fixed salt.
Heights are in inches; margins and positions are shares of a figure's size, unless a comment says otherwise.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from html import escape
from io import BytesIO
from itertools import chain
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from evaluation.presentation.content import (
    CurvePanel,
    DotPanel,
    DotPlot,
    Heatmap,
    Level,
    LinePlot,
    Plot,
    Specifications,
)
from evaluation.presentation.plots.canvas import (
    ACCENT,
    COLUMN_WIDTH,
    DASH,
    FAINT_OPACITY,
    INK,
    LEVEL_STYLE,
    NORMAL,
    PIXELS_PER_INCH,
    POINTS_PER_INCH,
    ROW_HEIGHT,
    SIMULATION_NOTE,
    SMALL,
    SOFT_OPACITY,
    SOFT_STYLE,
    WARNING_COLOUR,
    WIDTH,
    Dot,
    draw_dots,
    name_axis,
    new_figure,
    shorten_label,
    style_axes,
    tick_of,
    to_svg,
    wrap_signature,
    write_beside,
)
from evaluation.presentation.plots.heat import heat_figure, is_narrow

# Colours that people with colour blindness can distinguish: six of Okabe and Ito 2008, and a dark yellow and a grey in
# place of the palette's yellow and black.
LINE_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8F7700", "#7F7F7F")
# The end of a line, which gets a label: its y coordinate, label, colour and marker ("": none).
LineEnd = tuple[float, str, str, str]
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Least ratio of two neighbouring labelled ticks on a logarithmic axis, so that the labels do not touch.
MIN_TICK_RATIO = 1.45
MARKER_OFFSET = 11  # points from the axes to a curve's marker in its label
LABEL_LINE_HEIGHT = 9  # points between lines of text above a panel
CURVE_HEIGHT = 2.1  # inches, the height of a specification curve
HEAD_HEIGHT = 0.5  # inches above a specification curve
MATRIX_GAP = 0.12  # inches between a specification curve and its matrix
OPTION_HEIGHT = 0.165  # inches, the height of a row of the matrix
CHOICE_GAP = 0.13  # inches between the rows of two choices
MARK_HALF_HEIGHT = 0.32  # half the height of a mark, in rows of the matrix
LETTER_WIDTH = 0.06  # inches of an average small letter
SIGNATURE_POINTS = 5.5  # type size of the signature below a plot
SIGNATURE_LINE_HEIGHT = 0.105  # inches
SIGNATURE_LINE_LENGTH = 150  # characters of a line of the signature
PNG_DPI = 200


logging.getLogger("fontTools").setLevel(logging.WARNING)  # it logs every step of subsetting a font


def draw_plot(plot: Plot, *, signature: str) -> Figure:
    """Return a plot as a figure, with the report's signature below it."""
    is_narrow_plot = isinstance(plot.drawing, Heatmap) and is_narrow(plot.drawing)
    signature_lines, signature_height = _signature_lines(signature, is_narrow_plot)
    match plot.drawing:
        case DotPlot() as drawing:
            figure = dots_figure(drawing, signature_height)
        case LinePlot() as drawing:
            figure = curves_figure(drawing, signature_height)
        case Heatmap() as drawing:
            figure = heat_figure(drawing, signature_height)
        case Specifications() as drawing:
            figure = specifications_figure(drawing, signature_height)
    height = figure.get_size_inches()[1]
    for index, line in enumerate(signature_lines):
        lines_below = len(signature_lines) - 1 - index
        figure.text(
            0.01,
            (0.04 + SIGNATURE_LINE_HEIGHT * lines_below) / height,
            line,
            fontsize=SIGNATURE_POINTS,
            color=INK,
            alpha=SOFT_OPACITY,
            va="bottom",
            parse_math=False,
            gid=f"mark-{index}",  # svg_for_page removes texts whose gid begins with "mark-"
        )
    return figure


def svg_for_page(svg: str, signature: str) -> str:
    """Return the SVG without the signature and the note on simulated answers, which a page shows only once."""
    size = re.search(r' height="\d+" viewBox="0 0 (?P<width>\S+) (?P<height>\S+)"', svg)
    if size is None:  # not an SVG of `svg_of`
        return svg
    _lines, signature_height = _signature_lines(signature, 'class="figure narrow"' in svg)
    width, height = size["width"], float(size["height"]) - POINTS_PER_INCH * signature_height
    head = f' height="{height * PIXELS_PER_INCH / POINTS_PER_INCH:.0f}" viewBox="0 0 {width} {height:g}"'
    body = re.sub(r'<g id="[^"]*-mark-[^"]*">.*?</g>\n?', "", svg[size.end() :], flags=re.DOTALL)
    return f"{svg[: size.start()]}{head}{body.replace(escape(SIMULATION_NOTE), '', 1)}"


def _signature_lines(signature: str, narrow: bool) -> tuple[list[str], float]:
    """Return the lines of the signature, and their height in inches with the gap above."""
    line_length = int(SIGNATURE_LINE_LENGTH * COLUMN_WIDTH / WIDTH) if narrow else SIGNATURE_LINE_LENGTH
    lines = wrap_signature(signature, line_length)
    return lines, SIGNATURE_LINE_HEIGHT * len(lines) + (0.1 if lines else 0.0)


def svg_of(figure: Figure, plot: Plot, *, simulated: bool) -> str:
    return to_svg(
        figure, name=f"report-{plot.name}", title=plot.title, description=plot.sentence, simulated=simulated
    )


def svg_for_file(svg: str) -> bytes:
    """Return the content of an SVG file, with a white background."""
    head, end, body = svg.partition(">\n")
    background = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}{end}{background}\n{body}'.encode()


def pdf_of(figure: Figure) -> bytes:
    """Return the figure as PDF with TrueType fonts (type 42), as publishers require."""
    out = BytesIO()
    with mpl.rc_context({"pdf.fonttype": 42}):
        figure.savefig(out, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    return out.getvalue()


def png_of(figure: Figure) -> bytes:
    out = BytesIO()
    figure.patch.set_alpha(1.0)  # the background is transparent for pages only
    figure.savefig(out, format="png", dpi=PNG_DPI, facecolor="white", metadata={"Software": None})
    figure.patch.set_alpha(0.0)
    return out.getvalue()


def curves_figure(drawing: LinePlot, signature_height: float) -> Figure:
    """Return a figure of curves, with ``signature_height`` inches free below."""
    column_count = 1 if len(drawing.panels) == 1 else 2
    row_count = math.ceil(len(drawing.panels) / column_count)
    height = 0.75 + 2.6 * row_count + signature_height
    figure = new_figure(height)
    grid = figure.subplots(row_count, column_count, squeeze=False)
    for index, axes in enumerate(grid.ravel()):
        if index >= len(drawing.panels):
            axes.set_axis_off()
            continue
        _draw_curve_panel(axes, drawing.panels[index], drawing.log, is_only_panel=column_count == 1)
    figure.text(0.01, 1 - 0.1 / height, drawing.y_axis, **SOFT_STYLE, va="top")
    name_axis(figure, drawing.x_axis, signature_height)
    figure.subplots_adjust(
        left=0.075,
        right=0.84 if column_count == 2 else 0.8,
        bottom=(0.5 + signature_height) / height,
        top=1 - 0.5 / height,
        wspace=0.62,
        hspace=0.36,
    )
    return figure


def _draw_curve_panel(axes: Axes, panel: CurvePanel, log: bool, *, is_only_panel: bool) -> None:
    """Draw a panel. The labels of curves are longer in a figure's only panel."""
    style_axes(axes, grid="y")
    axes.set_title(panel.title, fontsize=NORMAL, color=INK, loc="left", fontweight="bold", parse_math=False)
    _set_panel_scale(axes, panel, log)
    for level in panel.levels:
        style = LEVEL_STYLE | {"alpha": 0.5, "linestyle": DASH if level.dashed else "solid"}
        axes.axhline(level.value, **style, zorder=1)
    ends = _draw_panel_lines(axes, panel, label_length=20 if is_only_panel else 16)
    if any(curve.x[0] > curve.x[-1] for curve in panel.curves if curve.x):
        axes.invert_xaxis()  # thresholds of grades fall from left to right, so the last point, with the label, is right
    ends += [(level.value, shorten_label(level.label, 18), INK, "") for level in panel.levels]
    label_ends(axes, ends)


def _set_panel_scale(axes: Axes, panel: CurvePanel, log: bool) -> None:
    if log:
        axes.set_xscale("log")
    ticks = sorted(set(chain.from_iterable(curve.x for curve in panel.curves)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(ticks, _thin_ticks(ticks) if log else [f"{tick:g}" for tick in ticks])
    values = [level.value for level in panel.levels]
    for curve in (*panel.curves, *panel.bounds):
        values += [y for y in curve.y if y is not None]
    lowest, highest = min(values, default=0.0), max(values, default=1.0)
    margin = 0.06 * ((highest - lowest) or 1.0)
    # Shares end at 1, but metrics' scores may exceed it.
    axes.set_ylim(lowest - margin, min(1.0, highest + margin) if highest <= 1.0 else highest + margin)
    axes.locator_params(axis="y", nbins=5)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")


def _draw_panel_lines(axes: Axes, panel: CurvePanel, *, label_length: int) -> list[LineEnd]:
    """Draw the bounds and curves of a panel, and return their ends."""
    line_ends: list[LineEnd] = []
    for bound in panel.bounds:
        if points := _defined_points(bound.x, bound.y):
            style = LEVEL_STYLE | {"linewidth": 1.2, "linestyle": DASH if bound.dashed else "solid"}
            axes.plot(*zip(*points, strict=True), **style, zorder=1, clip_on=False)
            line_ends.append((points[-1][1], shorten_label(bound.label, 20), INK, ""))
    for index, curve in enumerate(panel.curves):
        if points := _defined_points(curve.x, curve.y):
            colour, marker = LINE_COLOURS[index % len(LINE_COLOURS)], MARKERS[index % len(MARKERS)]
            xs, ys = zip(*points, strict=True)
            axes.plot(xs, ys, color=colour, linewidth=1.6, marker=marker, markersize=4, clip_on=False)
            line_ends.append((ys[-1], shorten_label(curve.label, label_length), colour, marker))
    return line_ends


def _defined_points(xs: Sequence[float], ys: Sequence[float | None]) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]


def _thin_ticks(ticks: Sequence[float]) -> list[str]:
    """Return the labels of ticks on a logarithmic axis, "" for ticks that are too close to the last labelled one.

    The last tick is always labelled, if necessary in place of the label before it.
    """
    texts: list[str] = []
    labelled_index: int | None = None  # index of the last labelled tick
    for index, tick in enumerate(ticks):
        is_last = index == len(ticks) - 1
        is_crowded = labelled_index is not None and tick < MIN_TICK_RATIO * ticks[labelled_index]
        if is_last and is_crowded and labelled_index is not None:
            texts[labelled_index] = ""
        texts.append(f"{tick:g}" if is_last or not is_crowded else "")
        labelled_index = index if texts[-1] else labelled_index
    return texts


def label_ends(axes: Axes, ends: list[LineEnd]) -> None:
    """Label the ends of lines without overlap, with the lines' markers, which distinguish them without colour."""
    low, high = axes.get_ylim()
    min_distance = (high - low) * 0.088  # a line of text, as a share of the height of the axes
    sorted_ends = sorted(ends)
    label_heights: list[float] = []
    # Put each label at the end of its line, or above the label below it.
    for value, *_label in sorted_ends:
        label_heights.append(max(value, label_heights[-1] + min_distance) if label_heights else value)
    overflow = label_heights[-1] - high if label_heights else 0.0
    if overflow > 0:  # move labels down from the top
        label_heights[-1] = high
        for index in range(len(label_heights) - 2, -1, -1):
            label_heights[index] = min(label_heights[index], label_heights[index + 1] - min_distance)
    shift = ScaledTranslation(MARKER_OFFSET / POINTS_PER_INCH, 0, axes.figure.dpi_scale_trans)
    right_of_axes = axes.get_yaxis_transform() + shift
    for (_value, label, colour, marker), height in zip(sorted_ends, label_heights, strict=True):
        if marker:
            axes.plot(
                [1.0],
                [height],
                marker=marker,
                color=colour,
                markersize=4,
                clip_on=False,
                transform=right_of_axes,
            )
        write_beside(
            axes, label, (1.0, height), (MARKER_OFFSET + (6 if marker else -4), 0), xycoords=("axes fraction", "data"),
            fontsize=SMALL - 1.5, va="center", alpha=1.0 if marker else SOFT_OPACITY,
        )  # fmt: skip


def dots_figure(drawing: DotPlot, signature_height: float) -> Figure:
    """Return a figure of dots in rows, with ``signature_height`` inches free below."""
    row_count = len(drawing.labels)
    # Only the last panel has labels of people's levels.
    extra_points = _points_of_extra_labels(drawing.panels[-1])
    headroom = 0.42 + 0.3 * any(panel.title or panel.note for panel in drawing.panels)
    height = 0.63 + headroom + extra_points / POINTS_PER_INCH + ROW_HEIGHT * row_count + signature_height
    figure = new_figure(height)
    panels = figure.subplots(1, len(drawing.panels), squeeze=False)[0]
    low, high = _x_range(drawing)
    labels = [shorten_label(label) for label in drawing.labels]
    many_panels = len(drawing.panels) > 2
    for index, (axes, panel) in enumerate(zip(panels, drawing.panels, strict=True)):
        style_axes(axes)
        axes.set_xlim(low, high)
        dots = [
            Dot(label, estimate.value, estimate.low, estimate.high, accent=full_label in drawing.accent)
            for label, full_label, estimate in zip(labels, drawing.labels, panel.estimates, strict=True)
        ]
        draw_dots(axes, dots, has_labels=index == 0)
        _draw_x_ticks(axes, drawing, many_panels=many_panels)
        is_first, is_last = index == 0, index == len(panels) - 1
        _draw_levels(axes, panel.levels, first=is_first, last=is_last, many_panels=many_panels)
        _write_heading(axes, panel, extra_points)
    left_margin = 0.035 + 0.0108 * max(len(label) for label in labels)
    figure.subplots_adjust(
        left=max(left_margin, 0.08),
        right=0.97,
        bottom=(0.52 + signature_height) / height,
        top=1 - (headroom + extra_points / POINTS_PER_INCH) / height,
        wspace=0.22,
    )
    name_axis(figure, drawing.axis, signature_height)
    return figure


def _points_of_extra_labels(panel: DotPanel) -> int:
    """Return the height, in points, of labels of people's levels (solid lines). The first label has room already."""
    return LABEL_LINE_HEIGHT * max(0, sum(not level.dashed for level in panel.levels) - 1)


def _x_range(drawing: DotPlot) -> tuple[float, float]:
    """Return the limits of the horizontal axis, which all panels share."""
    values: list[float] = []
    for panel in drawing.panels:
        for estimate in panel.estimates:
            bounds = (estimate.value, estimate.low, estimate.high)
            values += [bound for bound in bounds if bound is not None]
        values += [level.value for level in panel.levels]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if drawing.shows == "share":
        high = 1.0
    elif drawing.shows == "coefficient":
        low, high = min(low, 0.0), 1.0
    margin = 0.04 * ((high - low) or 1.0)
    return low - margin, high + margin


def _draw_x_ticks(axes: Axes, drawing: DotPlot, *, many_panels: bool) -> None:
    low, high = axes.get_xlim()
    if drawing.shows == "number":
        axes.locator_params(axis="x", nbins=5)
        return
    step = 0.5 if many_panels else 0.25
    multiples = [step * factor for factor in range(round(-1 / step), round(1 / step) + 1)]
    ticks = [tick for tick in multiples if low <= tick <= high]
    if drawing.shows == "share":
        axes.set_xticks(ticks, [f"{100 * tick:.0f}" for tick in ticks])
    else:
        axes.set_xticks(ticks, [tick_of(tick) for tick in ticks])


def _draw_levels(axes: Axes, levels: Sequence[Level], *, first: bool, last: bool, many_panels: bool) -> None:
    """Draw and label levels. A level is a vertical line: solid for people, dashed for chance or another bound.

    Dashed levels are labelled in the first panel. People's levels are labelled in the last, with their labels stacked
    above the panel (``_points_of_extra_labels``).
    """
    solid_offset = dashed_offset = 2  # points from the axes to a label
    for level in levels:
        if level.low is not None and level.high is not None:
            axes.axvspan(level.low, level.high, color=INK, alpha=0.07, linewidth=0)
        axes.axvline(level.value, **LEVEL_STYLE, linestyle=DASH if level.dashed else "solid", zorder=1)
        is_labelled = first if level.dashed else last
        if is_labelled:
            low, high = axes.get_xlim()
            share = (level.value - low) / (high - low)
            align = _label_alignment(share, left_below=0.2, right_above=0.5 if many_panels else 0.8)
            if not level.dashed:
                solid_offset += LABEL_LINE_HEIGHT
            offset = dashed_offset if level.dashed else solid_offset
            write_beside(
                axes, level.label, (level.value, 1.0), (0, offset), ha=align, va="bottom",
                xycoords=axes.get_xaxis_transform(), fontsize=SMALL - 1, alpha=SOFT_OPACITY,
            )  # fmt: skip


def _label_alignment(share: float, *, left_below: float, right_above: float) -> str:
    """Return the alignment of a label, so that it stays within the axes.

    ``share`` is the position of the labelled point, from 0 at the left end of the axes to 1 at the right end.
    """
    if share < left_below:
        return "left"
    return "right" if share > right_above else "center"


def _write_heading(axes: Axes, panel: DotPanel, extra_points: int) -> None:
    """Write the title and note of a panel above the labels of levels, which take ``extra_points`` more than usual."""
    position: dict[str, Any] = {"offset": (0, 25 + extra_points), "xycoords": "axes fraction", "va": "bottom"}
    if panel.title:
        write_beside(axes, panel.title, (0.0, 1.0), **position, fontsize=NORMAL, fontweight="bold")
    if panel.note:
        write_beside(
            axes, panel.note, (1.0, 1.0), **position, fontsize=SMALL - 1, alpha=SOFT_OPACITY, ha="right"
        )


def specifications_figure(drawing: Specifications, signature_height: float) -> Figure:
    """Return a specification curve above its matrix of options, with ``signature_height`` inches free below.

    Each combination of options has an estimate, and its mark says whether the claim that is tested holds with them.
    """
    option_count = sum(len(options) for _, options in drawing.choices)
    matrix_height = option_count * OPTION_HEIGHT + max(0, len(drawing.choices) - 1) * CHOICE_GAP
    height = HEAD_HEIGHT + CURVE_HEIGHT + MATRIX_GAP + matrix_height + 0.1 + signature_height
    figure = new_figure(height)
    label_length = max((len(label) for label, _ in drawing.choices), default=0)
    option_names = chain.from_iterable(options for _, options in drawing.choices)
    name_length = max(map(len, option_names), default=0)
    left_margin = max(0.6, 0.1 + LETTER_WIDTH * (label_length + name_length + 2))
    left, width = left_margin / WIDTH, (WIDTH - left_margin - 0.15) / WIDTH
    curve_axes = figure.add_axes(
        (left, (height - HEAD_HEIGHT - CURVE_HEIGHT) / height, width, CURVE_HEIGHT / height)
    )
    _draw_curve(curve_axes, drawing)
    figure.text(0.01, 1 - 0.3 / height, drawing.axis, **SOFT_STYLE, va="center", ha="left", parse_math=False)
    if option_count:
        matrix_axes = figure.add_axes(
            (left, (0.1 + signature_height) / height, width, matrix_height / height)
        )
        _draw_matrix(matrix_axes, drawing, matrix_height, left_margin)
    return figure


def _draw_curve(axes: Axes, drawing: Specifications) -> None:
    style_axes(axes, grid="y")
    axes.spines["bottom"].set_visible(False)
    axes.set_xlim(-1, len(drawing.estimates))
    axes.axhline(drawing.level.value, **LEVEL_STYLE, linestyle=DASH, zorder=1)
    # All intervals are one path, in which nan separates them.
    positions: list[float] = []
    bounds: list[float] = []
    for position, estimate in enumerate(drawing.estimates):
        if estimate.low is not None and estimate.high is not None:
            positions += [position, position, math.nan]
            bounds += [estimate.low, estimate.high, math.nan]
    width = 1.6 if len(drawing.estimates) < 100 else 0.8
    axes.plot(positions, bounds, color=INK, alpha=FAINT_OPACITY, linewidth=width)
    values = [math.nan if estimate.value is None else estimate.value for estimate in drawing.estimates]
    size = 4.5 if len(values) < 60 else 2.6
    for claim_holds, colour, marker in ((True, INK, "o"), (False, WARNING_COLOUR, "v")):
        marked_positions = [position for position, holds in enumerate(drawing.holds) if holds is claim_holds]
        heights = [values[position] for position in marked_positions]
        axes.plot(marked_positions, heights, marker, color=colour, markersize=size, markeredgewidth=0)
    if drawing.reported is not None:
        index = drawing.reported
        axes.axvline(index, color=ACCENT, alpha=0.6, linewidth=1, zorder=1)
        axes.plot([index], [values[index]], "o", color=ACCENT, markersize=size + 1.5, markeredgewidth=0)
        share = index / max(1, len(values) - 1)
        align = _label_alignment(share, left_below=0.1, right_above=0.9)
        write_beside(
            axes, "as reported", (index, 1.0), (0, -1), xycoords=axes.get_xaxis_transform(), ha=align, va="bottom",
            fontsize=SMALL - 1.5, color=ACCENT,
        )  # fmt: skip
    write_beside(
        axes, drawing.level.label, (1.0, drawing.level.value), (0, 1), xycoords=axes.get_yaxis_transform(),
        ha="right", va="bottom", fontsize=SMALL - 1.5, alpha=SOFT_OPACITY,
    )  # fmt: skip
    axes.set_xticks([])
    axes.locator_params(axis="y", nbins=6)
    # Matplotlib also returns a tick beyond each limit.
    ticks = [tick for tick in axes.get_yticks() if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
    is_share = drawing.shows == "share"
    axes.set_yticks(ticks, [f"{100 * tick:g}" if is_share else tick_of(round(tick, 6)) for tick in ticks])


def _draw_matrix(axes: Axes, drawing: Specifications, height: float, left_margin: float) -> None:
    """Draw the matrix of options, a row each. Its height and the margin on its left are in inches."""
    axes.patch.set_alpha(0.0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlim(-1, len(drawing.option_positions))
    axes.set_ylim(height / OPTION_HEIGHT, 0)  # in rows, from the top
    axes.set_xticks([])
    axes.set_yticks([])
    if drawing.reported is not None:
        axes.axvline(drawing.reported, color=ACCENT, alpha=0.6, linewidth=1, zorder=1)
    first_row = 0.0
    for column, (label, options) in enumerate(drawing.choices):
        chosen_options = [positions[column] for positions in drawing.option_positions]
        write_beside(
            axes, label, (0, first_row + 0.5), (-POINTS_PER_INCH * left_margin + 6, 0), va="center",
            xycoords=("axes fraction", "data"), fontsize=SMALL - 1.5, fontweight="bold",
        )  # fmt: skip
        for option, name in enumerate(options):
            middle = first_row + option + 0.5
            write_beside(
                axes, name, (0, middle), (-5, 0), xycoords=("axes fraction", "data"), ha="right", va="center",
                fontsize=SMALL - 1.5,
            )  # fmt: skip
            _draw_marks(
                axes, [index for index, position in enumerate(chosen_options) if position == option], middle
            )
        first_row += len(options) + CHOICE_GAP / OPTION_HEIGHT


def _draw_marks(axes: Axes, positions: Sequence[int], middle: float) -> None:
    """Draw a short vertical line at each position. All lines are one path, to keep the file small."""
    xs: list[float] = []
    ys: list[float] = []
    for position in positions:
        xs += [position, position, math.nan]
        ys += [middle - MARK_HALF_HEIGHT, middle + MARK_HALF_HEIGHT, math.nan]
    axes.axhline(middle, color=INK, alpha=0.08, linewidth=0.8, zorder=0)
    specification_count = axes.get_xlim()[1]
    # In points: the more specifications there are, the narrower their marks, so that they do not overlap.
    width = max(0.9, min(4.0, 260 / max(1, specification_count)))
    axes.plot(xs, ys, color=INK, alpha=SOFT_OPACITY, linewidth=width, solid_capstyle="butt")
