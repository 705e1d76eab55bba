"""Plots of matrices with numbers in cells, on a colour scale with reference levels.

A single matrix has the width of a paper's column if its numbers are readable. Several matrices are drawn in rows of
two. Sizes and positions are in inches, unless a comment says otherwise. From the top, a panel has its title, the
matrix, the names of the columns, the name of their axis, the colour scale, and the labels of its levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

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
LETTER_WIDTH = 0.0078  # of an average letter at a type size of one point
DARK, LIGHT = "#111111", "#ffffff"  # colours of numbers in bright and dark cells
# Names of columns are not rotated if they are short, and if all of them together fit side by side.
MAX_LETTERS_UNROTATED, MAX_LETTERS_SIDE_BY_SIDE = 4, 60
EQUAL_CONTRAST = 0.19  # the luminance at which DARK and LIGHT text have equal contrast
# Colours from low to high, distinguishable with red-green colour blindness (Brewer's Blues and Purple-Orange).
SEQUENTIAL_COLOURS = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
DIVERGING_COLOURS = ("#b35806", "#fdb863", "#f7f7f7", "#b2abd2", "#542788")
MIN_CELL, MAX_CELL = 0.29, 0.42  # widths; in the smallest cell two-digit numbers are readable
MAX_ROW_HEIGHT = 0.3
MIN_FONT_POINTS = 4.8  # points; smaller numbers are not drawn, because the data file has them
ROW_GAP = 0.35  # height, in cells, of the gap before the separate rows, such as people's
BAR_HEIGHT = 0.07  # of the colour scale
GAP_ABOVE_BAR, GAP_BELOW_BAR = 0.14, 0.06
BAR_STEPS = 48  # number of colours of the scale
TITLE_HEIGHT = 0.32  # of a panel, above the matrix
AXIS_NAME_SIZE = 0.2  # height of the name of an axis, or width of a vertical one
LINE_HEIGHT = 0.135  # of a line of text
UNROTATED_LABELS_HEIGHT = 0.17
ROTATED_LABELS_GAP = 0.08  # above and below rotated labels
ROW_LABELS_GAP = 0.1  # left and right of the labels of rows
BOTTOM_GAP = 0.1  # below a matrix without a colour scale
SIMULATION_NOTE_HEIGHT = 0.16  # for the note on simulated answers, at the top
MARGIN = 0.12  # at the right of the cells, and below all panels


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes that all panels share.

    Attributes:
        row_labels_width: width of the labels of rows, with the name of their axis.
        height_below: height of the parts below a matrix: labels, the axis name and the colour scale.
        label_points, number_points: type sizes of labels and of numbers in cells, in points.
    """

    figure_width: float
    panels_per_row: int
    cell_width: float
    cell_height: float
    row_labels_width: float
    height_below: float
    label_points: float
    number_points: float


def is_narrow(drawing: Heatmap) -> bool:
    """Return whether the figure has the width of a paper's column, in which its numbers are readable."""
    if len(drawing.panels) > 1:
        return False
    (panel,) = drawing.panels
    return _cells_width(COLUMN_WIDTH, panel.rows, bool(drawing.y_axis)) >= MIN_CELL * len(panel.columns)


def _cells_width(width: float, rows: tuple[str, ...], has_axis_name: bool) -> float:
    """Return the width that the labels of rows leave for the cells."""
    return width - MARGIN - _row_labels_width(rows, SMALL - 1, has_axis_name)


def _row_labels_width(rows: tuple[str, ...], points: float, has_axis_name: bool) -> float:
    letters = min(MAX_LABEL_CHARACTERS, max(map(len, rows)))
    return LETTER_WIDTH * points * letters + ROW_LABELS_GAP + (AXIS_NAME_SIZE if has_axis_name else 0.0)


def _has_rotated_labels(panel: HeatmapPanel) -> bool:
    """Return whether the names of columns are written upwards."""
    max_letters = max(map(len, panel.columns))
    return max_letters > MAX_LETTERS_UNROTATED or max_letters * len(panel.columns) > MAX_LETTERS_SIDE_BY_SIDE


def _column_labels_height(panel: HeatmapPanel, points: float) -> float:
    if not _has_rotated_labels(panel):
        return UNROTATED_LABELS_HEIGHT
    letters = min(MAX_LABEL_CHARACTERS, max(map(len, panel.columns)))
    return LETTER_WIDTH * points * letters + ROTATED_LABELS_GAP


def _sizes(drawing: Heatmap) -> _Sizes:
    panels = drawing.panels
    column_count = max(len(panel.columns) for panel in panels)
    longest_rows = max((panel.rows for panel in panels), key=lambda names: max(map(len, names)))
    width = COLUMN_WIDTH if is_narrow(drawing) else WIDTH
    panels_per_row = 1 if len(panels) == 1 else 2
    cells_width = _cells_width(width / panels_per_row, longest_rows, bool(drawing.y_axis))
    cell_width = min(MAX_CELL, cells_width / column_count)
    # A label of more than 4.5 points is at most 62 / 72 = 0.86 of a cell's width high, as an inch has 72 points.
    label_points = min(SMALL - 1, max(4.5, 62 * cell_width))
    line_count = max(
        _count_lines_of_levels(panel, drawing.scale_min, cell_width * len(panel.columns)) for panel in panels
    )
    bar_height = GAP_ABOVE_BAR + BAR_HEIGHT + GAP_BELOW_BAR + LINE_HEIGHT * line_count
    return _Sizes(
        figure_width=width,
        panels_per_row=panels_per_row,
        cell_width=cell_width,
        cell_height=min(cell_width, MAX_ROW_HEIGHT),
        row_labels_width=_row_labels_width(longest_rows, label_points, bool(drawing.y_axis)),
        height_below=max(_column_labels_height(panel, label_points) for panel in panels)
        + (AXIS_NAME_SIZE if drawing.x_axis else 0.0)
        + (bar_height if line_count else BOTTOM_GAP),
        label_points=label_points,
        number_points=min(SMALL - 1, 27 * cell_width),  # "-.62" fits a cell
    )


def heat_figure(drawing: Heatmap, signature_height: float) -> Figure:
    """Return a figure of matrices, with ``signature_height`` inches free below."""
    sizes = _sizes(drawing)
    max_matrix_height = max(_matrix_height(panel, sizes) for panel in drawing.panels)
    panel_height = TITLE_HEIGHT + max_matrix_height + sizes.height_below
    row_count = math.ceil(len(drawing.panels) / sizes.panels_per_row)
    height = SIMULATION_NOTE_HEIGHT + panel_height * row_count + signature_height + MARGIN
    figure = new_figure(height, sizes.figure_width)
    for index, panel in enumerate(drawing.panels):
        row, column = divmod(index, sizes.panels_per_row)
        left = column * sizes.figure_width / sizes.panels_per_row + sizes.row_labels_width
        top = height - SIMULATION_NOTE_HEIGHT - row * panel_height - TITLE_HEIGHT
        matrix_width = sizes.cell_width * len(panel.columns)
        matrix_height = _matrix_height(panel, sizes)
        # Matplotlib takes positions as shares of the figure.
        left_share, width_share = left / sizes.figure_width, matrix_width / sizes.figure_width
        axes = figure.add_axes(
            (left_share, (top - matrix_height) / height, width_share, matrix_height / height)
        )
        _draw_matrix(axes, panel, drawing, sizes)
        if panel.levels:
            line_count = _count_lines_of_levels(panel, drawing.scale_min, matrix_width)
            bottom = top - matrix_height - sizes.height_below
            bar_bottom = bottom + LINE_HEIGHT * line_count + GAP_BELOW_BAR
            bar_axes = figure.add_axes((left_share, bar_bottom / height, width_share, BAR_HEIGHT / height))
            _draw_scale(bar_axes, panel, drawing.scale_min, matrix_width)
    return figure


def _matrix_height(panel: HeatmapPanel, sizes: _Sizes) -> float:
    return sizes.cell_height * (len(panel.rows) + ROW_GAP * bool(panel.separate_rows))


def _draw_matrix(axes: Axes, panel: HeatmapPanel, drawing: Heatmap, sizes: _Sizes) -> None:
    axes.patch.set_alpha(0.0)
    for spine in axes.spines.values():
        # A frame would also enclose the gap before separate rows.
        spine.set(color=INK, alpha=FAINT_OPACITY, visible=not panel.separate_rows)
    first_separate_row = len(panel.rows) - panel.separate_rows
    # The positions of rows from the top, in cells.
    tops = [row + (ROW_GAP if row >= first_separate_row else 0.0) for row in range(len(panel.rows))]
    axes.set_xlim(0, len(panel.columns))
    axes.set_ylim(tops[-1] + 1, 0)
    cells: list[_Cell] = []
    for top, values in zip(tops, panel.values, strict=True):
        for column, value in enumerate(values):
            if value is None:
                continue
            colour = _colour(value, drawing.scale_min)
            cells.append(_Cell(column, top, 1, colour))
            if sizes.number_points < MIN_FONT_POINTS:
                continue
            axes.text(
                column + 0.5,
                top + 0.5,
                _format_cell(value, panel.shows),
                ha="center",
                va="center",
                fontsize=sizes.number_points,
                color=DARK if _is_bright(colour) else LIGHT,
            )
    _draw_cells(axes, cells)
    axes.set_xticks(
        [column + 0.5 for column in range(len(panel.columns))],
        [shorten_label(name, MAX_LABEL_CHARACTERS) for name in panel.columns],
        rotation=90 if _has_rotated_labels(panel) else 0,
        parse_math=False,
    )
    axes.set_yticks(
        [top + 0.5 for top in tops],
        [shorten_label(name, MAX_LABEL_CHARACTERS) for name in panel.rows],
        parse_math=False,
    )
    axes.tick_params(length=0, labelsize=sizes.label_points, labelcolor=INK, pad=3)
    panel_width = sizes.figure_width / sizes.panels_per_row
    title = shorten_label(panel.title, int(0.95 * panel_width / (LETTER_WIDTH * SMALL)))
    write_beside(axes, title, (0, 1), (0, 5), xycoords="axes fraction", fontweight="bold", va="bottom")
    small_style = SOFT_STYLE | {"fontsize": SMALL - 1}
    if drawing.x_axis:
        axes.set_xlabel(drawing.x_axis, **small_style, labelpad=2)
    if drawing.y_axis:
        axes.set_ylabel(drawing.y_axis, **small_style, labelpad=3)


class _Cell(NamedTuple):
    """A coloured rectangle of height 1, in the coordinates of its axes."""

    left: float
    top: float
    width: float
    colour: str

    def corners(self) -> list[tuple[float, float]]:
        right, bottom = self.left + self.width, self.top + 1
        return [(self.left, self.top), (right, self.top), (right, bottom), (self.left, bottom)]


def _draw_cells(axes: Axes, cells: Sequence[_Cell]) -> None:
    # Use a single artist, because one for each cell takes many times as long.
    corners = [cell.corners() for cell in cells]
    colours = [cell.colour for cell in cells]
    axes.add_collection(PolyCollection(corners, facecolors=colours, linewidths=0), autolim=False)


def _format_cell(value: float, shows: str) -> str:
    """Return the text of a cell, which has no decimals if they are zero, to save space."""
    if shows == "share":
        return percent_number(value)
    text = coefficient(value)
    return "0" if text == ".00" else text.removesuffix(".00")


def _format_level(level: Level, shows: str) -> str:
    value = percent(level.value) if shows == "share" else _format_cell(level.value, shows)
    return f"{level.label} {value}"


def _label_alignment(share: float, length: float) -> str:
    """Return the alignment of a label at a position of the scale, so that it does not project beyond the scale.

    ``share`` is the position, and ``length`` is the length of the label, both as shares of the scale.
    """
    if share < length / 2:
        return "left"
    return "right" if share > 1 - length / 2 else "center"


class _ScaleMark(NamedTuple):
    """A level on the colour scale.

    Attributes:
        share: position from 0 to 1.
        line: number, from 0, of the line of text that has the label.
        align: alignment of the label at the position.
    """

    share: float
    label: str
    line: int
    align: str
    dashed: bool


def _scale_marks(panel: HeatmapPanel, scale_min: float, scale_width: float) -> list[_ScaleMark]:
    """Return the levels from low to high. Each label is in the first line where it does not overlap another."""
    marks: list[_ScaleMark] = []
    text_ends: list[float] = []  # right end of the text in each line, from 0 to 1
    for level in sorted(panel.levels, key=lambda level: level.value):
        label = _format_level(level, panel.shows)
        share = min(1.0, max(0.0, (level.value - scale_min) / (1.0 - scale_min)))
        length = LETTER_WIDTH * (SMALL - 1.5) * len(label) / scale_width
        align = _label_alignment(share, length)
        start = share - {"left": 0.0, "center": length / 2, "right": length}[align]
        line = next((index for index, end in enumerate(text_ends) if start >= end + 0.03), len(text_ends))
        if line == len(text_ends):
            text_ends.append(0.0)
        text_ends[line] = start + length
        marks.append(_ScaleMark(share, label, line, align, level.dashed))
    return marks


def _count_lines_of_levels(panel: HeatmapPanel, scale_min: float, scale_width: float) -> int:
    return 1 + max((mark.line for mark in _scale_marks(panel, scale_min, scale_width)), default=-1)


def _draw_scale(axes: Axes, panel: HeatmapPanel, scale_min: float, scale_width: float) -> None:
    axes.patch.set_alpha(0.0)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(color=INK, alpha=FAINT_OPACITY)
    steps: list[_Cell] = []
    for step in range(BAR_STEPS):
        value = scale_min + (step + 0.5) / BAR_STEPS * (1.0 - scale_min)
        step_width = 1.2 if step < BAR_STEPS - 1 else 1.0  # overlap, so that no gap shows
        steps.append(_Cell(step / BAR_STEPS, 0, step_width / BAR_STEPS, _colour(value, scale_min)))
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
        round(low * (1 - mix) + high * mix)
        for low, high in zip(_channels(scale[index]), _channels(scale[index + 1]), strict=True)
    ]
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def _channels(colour: str) -> list[int]:
    """Return red, green and blue of a colour such as "#6baed6", from 0 to 255."""
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]


def _is_bright(colour: str) -> bool:
    """Return whether dark text has more contrast than light text on the colour (WCAG 2.2, relative luminance)."""
    red, green, blue = (_linear_intensity(channel / 255) for channel in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > EQUAL_CONTRAST


def _linear_intensity(share: float) -> float:
    """Return the linear light intensity of an sRGB channel, both from 0 to 1."""
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
