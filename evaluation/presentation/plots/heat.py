"""Plots of matrices with numbers in cells, on a colour scale with reference levels.

A single matrix has the width of a paper's column if its numbers are readable. Several matrices are drawn in rows of
two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure as Canvas

from common.amounts import coefficient, percent, percent_number
from evaluation.presentation.content import Heatmap, HeatmapPanel, Level
from evaluation.presentation.plots.canvas import (
    COLUMN,
    DASH,
    FAINT_OPACITY,
    INK,
    SMALL,
    SOFT_OPACITY,
    SOFT_STYLE,
    WIDTH,
    new_figure,
    shorten_label,
    write_beside,
)

MAX_TICK_LENGTH = 16
LETTER = 0.0078  # inches, the width of an average letter at a type size of one point
DARK, LIGHT = "#111111", "#ffffff"
# Largest number of letters of all names below the columns that fit without rotation.
LETTERS_SIDE_BY_SIDE = 60
EQUAL_CONTRAST = 0.19  # the luminance at which black and white text have equal contrast
# Colours from low to high, distinguishable with red-green colour blindness (Brewer's Blues and Purple-Orange).
SEQUENTIAL_COLOURS = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
DIVERGING_COLOURS = ("#b35806", "#fdb863", "#f7f7f7", "#b2abd2", "#542788")
MIN_CELL, MAX_CELL = 0.29, 0.42  # inches; in the smallest cell two-digit numbers are readable
MIN_FONT_POINTS = 4.8  # points; smaller numbers are not drawn, because the data file has them
ROW_GAP = 0.35  # height, in cells, of the gap before the separate rows
BAR, BAR_STEPS = 0.07, 48  # height in inches of the colour scale, and its number of steps
# Heights in inches: above a matrix, of an axis name, of a line of text.
HEAD, AXIS_NAME, LINE = 0.32, 0.2, 0.135
NOTE_INCHES = 0.16  # inches for the note on simulated answers, at the top


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes that all panels share, in inches. ``tick`` and ``number`` are type sizes in points."""

    width: float
    across: int
    cell: float
    panel_height: float
    label: float
    bottom_space: float
    tick: float
    number: float


def is_narrow(drawing: Heatmap) -> bool:
    if len(drawing.panels) > 1:
        return False
    (panel,) = drawing.panels
    return _cells_width(COLUMN, panel.rows, bool(drawing.y_axis)) >= MIN_CELL * len(panel.columns)


def _cells_width(width: float, rows: tuple[str, ...], named: bool) -> float:
    return width - 0.12 - _label_width(rows, SMALL - 1, named)


def _label_width(rows: tuple[str, ...], size: float, named: bool) -> float:
    return LETTER * size * min(MAX_TICK_LENGTH, max(map(len, rows))) + 0.1 + (0.2 if named else 0.0)


def _sizes(drawing: Heatmap) -> _Sizes:
    panels = drawing.panels
    columns = max(len(panel.columns) for panel in panels)
    rows = max((panel.rows for panel in panels), key=lambda names: max(map(len, names)))
    width = COLUMN if is_narrow(drawing) else WIDTH
    across = 1 if len(panels) == 1 else 2
    cell = min(MAX_CELL, _cells_width(width / across, rows, bool(drawing.y_axis)) / columns)
    tick = min(SMALL - 1, max(4.5, 62 * cell))
    names = max(min(MAX_TICK_LENGTH, len(name)) for panel in panels for name in panel.columns)
    upright = LETTER * tick * names + 0.08 if names > 4 else 0.17
    lines = max(_lines_of_levels(panel, drawing.scale_min, cell * len(panel.columns)) for panel in panels)
    return _Sizes(
        width=width,
        across=across,
        cell=cell,
        panel_height=min(cell, 0.3),
        label=_label_width(rows, tick, bool(drawing.y_axis)),
        bottom_space=upright
        + (AXIS_NAME if drawing.x_axis else 0.0)
        + (0.2 + BAR + LINE * lines if lines else 0.1),
        tick=tick,
        number=min(SMALL - 1, 27 * cell),
    )


def heat_figure(drawing: Heatmap, foot: float) -> Canvas:
    sizes = _sizes(drawing)
    rows = max(len(panel.rows) + ROW_GAP * bool(panel.footer) for panel in drawing.panels)
    panel_height = HEAD + sizes.panel_height * rows + sizes.bottom_space
    down = -(-len(drawing.panels) // sizes.across)
    height = NOTE_INCHES + panel_height * down + foot + 0.12
    figure = new_figure(height, sizes.width)
    for index, panel in enumerate(drawing.panels):
        row, column = divmod(index, sizes.across)
        left_edge = column * sizes.width / sizes.across + sizes.label
        top = height - NOTE_INCHES - row * panel_height - HEAD
        wide, tall = (
            sizes.cell * len(panel.columns),
            sizes.panel_height * (len(panel.rows) + ROW_GAP * bool(panel.footer)),
        )
        axes = figure.add_axes(
            (left_edge / sizes.width, (top - tall) / height, wide / sizes.width, tall / height)
        )
        _draw_matrix(axes, panel, drawing, sizes)
        if panel.levels:
            lines = _lines_of_levels(panel, drawing.scale_min, wide)
            bottom = top - tall - sizes.bottom_space + LINE * lines + 0.06
            bar = figure.add_axes(
                (left_edge / sizes.width, bottom / height, wide / sizes.width, BAR / height)
            )
            _draw_scale(bar, panel, drawing.scale_min, wide)
    return figure


def _draw_matrix(axes: Axes, panel: HeatmapPanel, drawing: Heatmap, sizes: _Sizes) -> None:
    axes.patch.set_alpha(0.0)
    for spine in axes.spines.values():
        spine.set(color=INK, alpha=FAINT_OPACITY, visible=not panel.footer)
    first_apart = len(panel.rows) - panel.footer
    tops = [row + (ROW_GAP if panel.footer and row >= first_apart else 0.0) for row in range(len(panel.rows))]
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
                _cell_text(value, panel.shows),
                ha="center",
                va="center",
                fontsize=sizes.number,
                color=DARK if _is_bright(colour) else LIGHT,
            )
    _draw_cells(axes, cells)
    longest = max(map(len, panel.columns))
    axes.set_xticks(
        [column + 0.5 for column in range(len(panel.columns))],
        [shorten_label(name, MAX_TICK_LENGTH) for name in panel.columns],
        rotation=90 if longest > 4 or longest * len(panel.columns) > LETTERS_SIDE_BY_SIDE else 0,
        parse_math=False,
    )
    axes.set_yticks(
        [top + 0.5 for top in tops],
        [shorten_label(name, MAX_TICK_LENGTH) for name in panel.rows],
        parse_math=False,
    )
    axes.tick_params(length=0, labelsize=sizes.tick, labelcolor=INK, pad=3)
    title = shorten_label(panel.title, int(0.95 * sizes.width / sizes.across / (LETTER * SMALL)))
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


def _cell_text(value: float, shows: str) -> str:
    if shows == "share":
        return percent_number(value)
    text = coefficient(value)
    return "0" if text == ".00" else text.removesuffix(".00")


def _level_label(level: Level, shows: str) -> str:
    return f"{level.label} {percent(level.value) if shows == 'share' else _cell_text(level.value, shows)}"


def _scale_marks(panel: HeatmapPanel, scale_min: float, wide: float) -> list[tuple[float, str, int, str]]:
    marks: list[tuple[float, str, int, str]] = []
    text_ends: list[float] = []  # right end of the text in each line
    for level in sorted(panel.levels, key=lambda level: level.value):
        share = min(1.0, max(0.0, (level.value - scale_min) / (1.0 - scale_min)))
        length = LETTER * (SMALL - 1.5) * len(_level_label(level, panel.shows)) / wide
        align = "left" if share < length / 2 else "right" if share > 1 - length / 2 else "center"
        start = share - {"left": 0.0, "center": length / 2, "right": length}[align]
        line = next((index for index, end in enumerate(text_ends) if start >= end + 0.03), len(text_ends))
        text_ends[line : line + 1] = [start + length]
        marks.append((share, _level_label(level, panel.shows), line, align))
    return marks


def _lines_of_levels(panel: HeatmapPanel, scale_min: float, wide: float) -> int:
    return 1 + max((line for _, _, line, _ in _scale_marks(panel, scale_min, wide)), default=-1)


def _draw_scale(axes: Axes, panel: HeatmapPanel, scale_min: float, wide: float) -> None:
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
        wider = 1.2 if step < BAR_STEPS - 1 else 1.0  # overlap, so that no thin gap shows between two steps
        steps.append((step / BAR_STEPS, 0, wider / BAR_STEPS, _colour(value, scale_min)))
    _draw_cells(axes, steps)
    dashed = [level.dashed for level in sorted(panel.levels, key=lambda level: level.value)]
    for (share, label, line, align), is_floor in zip(
        _scale_marks(panel, scale_min, wide), dashed, strict=True
    ):
        axes.plot(
            [share, share],
            [-0.35, 1.5],
            color=INK,
            linewidth=1.2,
            clip_on=False,
            alpha=0.8,
            linestyle=DASH if is_floor else "solid",
        )
        write_beside(
            axes,
            label,
            (share, 0),
            (0, -4 - 72 * LINE * line),
            ha=align,
            va="top",
            fontsize=SMALL - 1.5,
            alpha=SOFT_OPACITY,
        )


def _colour(value: float, scale_min: float) -> str:
    scale = DIVERGING_COLOURS if scale_min < 0 else SEQUENTIAL_COLOURS
    share = min(1.0, max(0.0, (value - scale_min) / (1.0 - scale_min))) * (len(scale) - 1)
    stop = min(int(share), len(scale) - 2)
    mix = share - stop
    parts = [
        round(int(scale[stop][at : at + 2], 16) * (1 - mix) + int(scale[stop + 1][at : at + 2], 16) * mix)
        for at in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


def _is_bright(colour: str) -> bool:
    """Return whether dark text has more contrast than light text on the colour (WCAG 2.2, relative luminance)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > EQUAL_CONTRAST
