"""Plots of matrices with numbers in cells, on a colour scale with reference levels.

A single matrix has the width of a paper's column if its numbers are readable. Several matrices are drawn in rows of
two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure as Canvas

from common.amounts import coefficient, percent, percent_number
from evaluation.presentation.content import Heatmap, HeatmapPanel, Level
from evaluation.presentation.plots.canvas import (
    COLUMN_WIDTH,
    DASH,
    FAINT_OPACITY,
    INK,
    POINTS_PER_INCH,
    SMALL,
    SOFT_OPACITY,
    SOFT_STYLE,
    WIDTH,
    new_figure,
    shorten_label,
    write_beside,
)

MAX_LABEL_CHARACTERS = 16  # of a row or column; longer labels are shortened
LETTER_WIDTH = 0.0078  # inches, the width of an average letter at a type size of one point
DARK, LIGHT = "#111111", "#ffffff"  # colours of numbers in bright and dark cells
# Largest number of letters of all names below the columns that fit without rotation.
LETTERS_SIDE_BY_SIDE = 60
EQUAL_CONTRAST = 0.19  # the luminance at which black and white text have equal contrast
# Colours from low to high, distinguishable with red-green colour blindness (Brewer's Blues and Purple-Orange).
SEQUENTIAL_COLOURS = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
DIVERGING_COLOURS = ("#b35806", "#fdb863", "#f7f7f7", "#b2abd2", "#542788")
MIN_CELL, MAX_CELL = 0.29, 0.42  # inches; in the smallest cell two-digit numbers are readable
MIN_FONT_POINTS = 4.8  # points; smaller numbers are not drawn, because the data file has them
ROW_GAP = 0.35  # height, in cells, of the gap before the separate rows
BAR_HEIGHT = 0.07  # inches, the height of the colour scale
BAR_STEPS = 48  # number of colours of the scale
# Heights in inches: above a matrix, of an axis name, of a line of text.
HEAD_HEIGHT, AXIS_NAME_HEIGHT, LINE_HEIGHT = 0.32, 0.2, 0.135
NOTE_INCHES = 0.16  # inches for the note on simulated answers, at the top


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes that all panels share.

    Attributes:
        width: width of the figure in inches.
        across: number of panels in a row.
        cell, row_height: width and height of a cell in inches.
        label: width in inches of the labels of rows, with the name of their axis.
        bottom_space: inches below a matrix, for labels, the axis name and the colour scale.
        tick, number: type sizes of labels and of numbers in cells, in points.
    """

    width: float
    across: int
    cell: float
    row_height: float
    label: float
    bottom_space: float
    tick: float
    number: float


def is_narrow(drawing: Heatmap) -> bool:
    """Return whether the figure has the width of a paper's column, in which its numbers are readable."""
    if len(drawing.panels) > 1:
        return False
    (panel,) = drawing.panels
    return _cells_width(COLUMN_WIDTH, panel.rows, bool(drawing.y_axis)) >= MIN_CELL * len(panel.columns)


def _cells_width(width: float, rows: tuple[str, ...], has_axis_name: bool) -> float:
    """Return the inches that the labels of rows leave for the cells."""
    return width - 0.12 - _label_width(rows, SMALL - 1, has_axis_name)


def _label_width(rows: tuple[str, ...], size: float, has_axis_name: bool) -> float:
    """Return the width in inches of the labels of rows, in a type size of ``size`` points."""
    letters = min(MAX_LABEL_CHARACTERS, max(map(len, rows)))
    return LETTER_WIDTH * size * letters + 0.1 + (0.2 if has_axis_name else 0.0)


def _sizes(drawing: Heatmap) -> _Sizes:
    panels = drawing.panels
    columns = max(len(panel.columns) for panel in panels)
    longest_rows = max((panel.rows for panel in panels), key=lambda names: max(map(len, names)))
    width = COLUMN_WIDTH if is_narrow(drawing) else WIDTH
    across = 1 if len(panels) == 1 else 2
    cell = min(MAX_CELL, _cells_width(width / across, longest_rows, bool(drawing.y_axis)) / columns)
    tick = min(SMALL - 1, max(4.5, 62 * cell))  # a label is at most 0.86 of the width of a cell high
    longest_name = max(min(MAX_LABEL_CHARACTERS, len(name)) for panel in panels for name in panel.columns)
    # Names of more than four letters are written upwards.
    column_labels = LETTER_WIDTH * tick * longest_name + 0.08 if longest_name > 4 else 0.17
    lines = max(_lines_of_levels(panel, drawing.scale_min, cell * len(panel.columns)) for panel in panels)
    return _Sizes(
        width=width,
        across=across,
        cell=cell,
        row_height=min(cell, 0.3),
        label=_label_width(longest_rows, tick, bool(drawing.y_axis)),
        bottom_space=column_labels
        + (AXIS_NAME_HEIGHT if drawing.x_axis else 0.0)
        + (0.2 + BAR_HEIGHT + LINE_HEIGHT * lines if lines else 0.1),
        tick=tick,
        number=min(SMALL - 1, 27 * cell),
    )


def heat_figure(drawing: Heatmap, foot: float) -> Canvas:
    sizes = _sizes(drawing)
    rows = max(len(panel.rows) + ROW_GAP * bool(panel.footer) for panel in drawing.panels)
    panel_height = HEAD_HEIGHT + sizes.row_height * rows + sizes.bottom_space
    row_count = math.ceil(len(drawing.panels) / sizes.across)
    height = NOTE_INCHES + panel_height * row_count + foot + 0.12
    figure = new_figure(height, sizes.width)
    for index, panel in enumerate(drawing.panels):
        row, column = divmod(index, sizes.across)
        left_edge = column * sizes.width / sizes.across + sizes.label
        top = height - NOTE_INCHES - row * panel_height - HEAD_HEIGHT
        width = sizes.cell * len(panel.columns)
        matrix_height = sizes.row_height * (len(panel.rows) + ROW_GAP * bool(panel.footer))
        left, share = left_edge / sizes.width, width / sizes.width
        axes = figure.add_axes((left, (top - matrix_height) / height, share, matrix_height / height))
        _draw_matrix(axes, panel, drawing, sizes)
        if panel.levels:
            lines = _lines_of_levels(panel, drawing.scale_min, width)
            bottom = top - matrix_height - sizes.bottom_space + LINE_HEIGHT * lines + 0.06
            bar = figure.add_axes((left, bottom / height, share, BAR_HEIGHT / height))
            _draw_scale(bar, panel, drawing.scale_min, width)
    return figure


def _draw_matrix(axes: Axes, panel: HeatmapPanel, drawing: Heatmap, sizes: _Sizes) -> None:
    axes.patch.set_alpha(0.0)
    for spine in axes.spines.values():
        spine.set(color=INK, alpha=FAINT_OPACITY, visible=not panel.footer)
    footer_start = len(panel.rows) - panel.footer
    gaps = [ROW_GAP if panel.footer and row >= footer_start else 0.0 for row in range(len(panel.rows))]
    tops = [row + gap for row, gap in enumerate(gaps)]
    axes.set_xlim(0, len(panel.columns))
    axes.set_ylim(tops[-1] + 1, 0)
    cells: list[tuple[float, float, float, str]] = []
    for top, values in zip(tops, panel.values, strict=True):
        for column, value in enumerate(values):
            if value is None:
                continue
            colour = _colour(value, drawing.scale_min)
            cells.append((column, top, 1, colour))
            if sizes.number < MIN_FONT_POINTS:
                continue
            axes.text(
                column + 0.5,
                top + 0.5,
                _format_cell(value, panel.shows),
                ha="center",
                va="center",
                fontsize=sizes.number,
                color=DARK if _is_bright(colour) else LIGHT,
            )
    _draw_cells(axes, cells)
    longest = max(map(len, panel.columns))
    axes.set_xticks(
        [column + 0.5 for column in range(len(panel.columns))],
        [shorten_label(name, MAX_LABEL_CHARACTERS) for name in panel.columns],
        rotation=90 if longest > 4 or longest * len(panel.columns) > LETTERS_SIDE_BY_SIDE else 0,
        parse_math=False,
    )
    axes.set_yticks(
        [top + 0.5 for top in tops],
        [shorten_label(name, MAX_LABEL_CHARACTERS) for name in panel.rows],
        parse_math=False,
    )
    axes.tick_params(length=0, labelsize=sizes.tick, labelcolor=INK, pad=3)
    title = shorten_label(panel.title, int(0.95 * sizes.width / sizes.across / (LETTER_WIDTH * SMALL)))
    write_beside(axes, title, (0, 1), (0, 5), xycoords="axes fraction", fontweight="bold", va="bottom")
    small = SOFT_STYLE | {"fontsize": SMALL - 1}
    if drawing.x_axis:
        axes.set_xlabel(drawing.x_axis, **small, labelpad=2)
    if drawing.y_axis:
        axes.set_ylabel(drawing.y_axis, **small, labelpad=3)


def _draw_cells(axes: Axes, cells: Sequence[tuple[float, float, float, str]]) -> None:
    """Draw cells of height 1, given as (left, top, width, colour)."""
    # Use a single artist, because one for each cell takes many times as long.
    corners = [[(x, y), (x + wide, y), (x + wide, y + 1), (x, y + 1)] for x, y, wide, _ in cells]
    colours = [colour for *_, colour in cells]
    axes.add_collection(PolyCollection(corners, facecolors=colours, linewidths=0), autolim=False)


def _format_cell(value: float, shows: str) -> str:
    """Return the text of a cell, which has no decimals if they are zero, to save space."""
    if shows == "share":
        return percent_number(value)
    text = coefficient(value)
    return "0" if text == ".00" else text.removesuffix(".00")


def _format_level(level: Level, shows: str) -> str:
    return f"{level.label} {percent(level.value) if shows == 'share' else _format_cell(level.value, shows)}"


class _ScaleMark(NamedTuple):
    """A level on the colour scale: its position from 0 to 1, its label, the label's line from 0, and its alignment."""

    share: float
    label: str
    line: int
    align: str
    dashed: bool


def _scale_marks(panel: HeatmapPanel, scale_min: float, scale_width: float) -> list[_ScaleMark]:
    """Return the levels from low to high. Each label is in the first line where it does not overlap another."""
    marks: list[_ScaleMark] = []
    text_ends: list[float] = []  # right end of the text in each line
    for level in sorted(panel.levels, key=lambda level: level.value):
        label = _format_level(level, panel.shows)
        share = min(1.0, max(0.0, (level.value - scale_min) / (1.0 - scale_min)))
        length = LETTER_WIDTH * (SMALL - 1.5) * len(label) / scale_width
        align = "left" if share < length / 2 else "right" if share > 1 - length / 2 else "center"
        start = share - {"left": 0.0, "center": length / 2, "right": length}[align]
        line = next((index for index, end in enumerate(text_ends) if start >= end + 0.03), len(text_ends))
        text_ends[line : line + 1] = [start + length]
        marks.append(_ScaleMark(share, label, line, align, level.dashed))
    return marks


def _lines_of_levels(panel: HeatmapPanel, scale_min: float, scale_width: float) -> int:
    """Return the number of lines of labels below the colour scale."""
    return 1 + max((mark.line for mark in _scale_marks(panel, scale_min, scale_width)), default=-1)


def _draw_scale(axes: Axes, panel: HeatmapPanel, scale_min: float, scale_width: float) -> None:
    axes.patch.set_alpha(0.0)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(color=INK, alpha=FAINT_OPACITY)
    steps: list[tuple[float, float, float, str]] = []
    for step in range(BAR_STEPS):
        value = scale_min + (step + 0.5) / BAR_STEPS * (1.0 - scale_min)
        step_width = 1.2 if step < BAR_STEPS - 1 else 1.0  # overlap, so that no gap shows
        steps.append((step / BAR_STEPS, 0, step_width / BAR_STEPS, _colour(value, scale_min)))
    _draw_cells(axes, steps)
    for mark in _scale_marks(panel, scale_min, scale_width):
        style = DASH if mark.dashed else "solid"
        axes.plot(
            [mark.share, mark.share], [-0.35, 1.5], color=INK, linewidth=1.2, clip_on=False, alpha=0.8, linestyle=style
        )  # fmt: skip
        write_beside(
            axes, mark.label, (mark.share, 0), (0, -4 - POINTS_PER_INCH * LINE_HEIGHT * mark.line), ha=mark.align,
            va="top", fontsize=SMALL - 1.5, alpha=SOFT_OPACITY,
        )  # fmt: skip


def _colour(value: float, scale_min: float) -> str:
    """Return the colour of a value, mixed from the two nearest colours of the scale."""
    scale = DIVERGING_COLOURS if scale_min < 0 else SEQUENTIAL_COLOURS
    position = min(1.0, max(0.0, (value - scale_min) / (1.0 - scale_min))) * (len(scale) - 1)
    index = min(int(position), len(scale) - 2)
    mix = position - index
    channels = [
        round(int(scale[index][at : at + 2], 16) * (1 - mix) + int(scale[index + 1][at : at + 2], 16) * mix)
        for at in (1, 3, 5)  # where the two digits of red, green and blue are
    ]
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def _is_bright(colour: str) -> bool:
    """Return whether dark text has more contrast than light text on the colour (WCAG 2.2, relative luminance)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > EQUAL_CONTRAST
