"""Shared parts of plots: colours, axes, rows of dots, and SVG.

The SVG has text as text, uses the colours of the page, and has equal bytes for equal numbers.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any, Literal

import matplotlib as mpl
from django.utils.translation import gettext as _
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

# Settings of the whole process: keep text as text, and use the same ids in every run.
mpl.rcParams["svg.fonttype"] = "none"
mpl.rcParams["svg.hashsalt"] = "quorum"

# Pages replace this black by their text colour, which may be light or dark.
INK = "#000001"
SOFT_OPACITY, LINE_OPACITY, FAINT_OPACITY = 0.68, 0.5, 0.22
# Both colours are readable on white and on the dark background, also with red-green colour blindness.
ACCENT = "#2f6fdb"
WARNING_COLOUR = "#b4690e"
FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"

POINTS_PER_INCH = 72  # points are the drawing units of the SVG
PIXELS_PER_INCH = 96  # of CSS
WIDTH = 7.2  # inches, the width of a figure
COLUMN_WIDTH = 3.4  # inches, the width of a paper's column
ROW_HEIGHT = 0.27  # inches, the height of a row of dots
SMALL, NORMAL = 9.0, 10.0  # type sizes in points
MAX_LABEL_LENGTH = 34  # characters
DASH = (0, (2, 2.5))  # offset, length of a dash and of the gap after it, in line widths
# Beginning of the description of a plot of simulated answers.
SIMULATION_NOTE = "Simulated answers, not people's. "
# Style of axis names and notes.
SOFT_STYLE: dict[str, Any] = {"fontsize": SMALL, "color": INK, "alpha": SOFT_OPACITY}
LEVEL_STYLE: dict[str, Any] = {"color": INK, "alpha": 0.55, "linewidth": 1}  # style of the line of a level


@dataclass(frozen=True, slots=True)
class Dot:
    """An estimate with its interval, in a row of a plot. The value None is drawn as a dash.

    ``accent`` says whether the dot has the accent colour, which is used only if some dots do not have it.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    accent: bool = False


def shorten_label(label: str, max_length: int = MAX_LABEL_LENGTH) -> str:
    return label if len(label) <= max_length else f"{label[: max_length - 1]}…"


def metric_label_of(metric: str) -> str:
    """Return a metric's name with each of its options on a line of its own."""
    return metric.replace("|", "\n")


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty transparent figure of this size in inches.

    Text has the same size in narrow figures, which are for half a page.
    """
    figure = Figure(figsize=(width, height))
    figure.patch.set_alpha(0.0)
    FigureCanvasSVG(figure)
    return figure


def name_axis(figure: Figure, label: str, signature_height: float) -> None:
    """Label the horizontal axis at its right end, and leave ``signature_height`` inches free below."""
    height = figure.get_size_inches()[1]
    figure.text(0.97, (0.09 + signature_height) / height, label, **SOFT_STYLE, va="bottom", ha="right")


def new_plot(
    height: float, width: float = WIDTH, *, grid: Literal["x", "y", "both"] = "x"
) -> tuple[Figure, Axes]:
    """Return a figure of this size in inches with one pair of axes."""
    figure = new_figure(height, width)
    axes = figure.subplots()
    style_axes(axes, grid=grid)
    return figure, axes


def style_axes(axes: Axes, *, grid: Literal["x", "y", "both"] = "x") -> None:
    axes.patch.set_alpha(0.0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set(color=INK, alpha=FAINT_OPACITY)
    axes.tick_params(axis="both", length=0, labelsize=SMALL, labelcolor=INK, pad=5)
    axes.grid(axis=grid, color=INK, alpha=0.08, linewidth=0.8)
    axes.set_axisbelow(True)


def draw_dots(axes: Axes, dots: Sequence[Dot], *, has_labels: bool = True) -> None:
    """Draw the dots in rows from the top, with their labels on the left if ``has_labels``."""
    accent_distinguishes = not all(dot.accent for dot in dots)
    accents = [dot.accent and accent_distinguishes for dot in dots]
    for row, dot in enumerate(dots):
        colour = ACCENT if accents[row] else INK
        if dot.value is None:
            axes.text(axes.get_xlim()[0], row, "–", **SOFT_STYLE | {"fontsize": NORMAL}, va="center")
            continue
        if dot.low is not None and dot.high is not None:
            ends = [dot.low, dot.high]
            axes.plot(
                ends, [row, row], color=colour, alpha=LINE_OPACITY, linewidth=2, solid_capstyle="round", clip_on=False
            )  # fmt: skip
        # Do not clip a dot at the end of the scale.
        axes.plot([dot.value], [row], "o", color=colour, markersize=6.5, markeredgewidth=0, clip_on=False)
    axes.set_ylim(len(dots) - 0.4, -0.6)  # bottom and top: the first row is at the top
    if not has_labels:
        axes.set_yticks([])
        return
    axes.set_yticks(range(len(dots)), [dot.label for dot in dots])
    for label, accent in zip(axes.get_yticklabels(), accents, strict=True):
        label.set_parse_math(False)  # a worker's name may contain $, and invalid math raises an error
        label.set_color(ACCENT if accent else INK)


def draw_level(axes: Axes, value: float, label: str, *, dashed: bool = True, align: str = "center") -> None:
    """Draw a vertical line at the value, with its label above the axes."""
    axes.axvline(value, **LEVEL_STYLE, linestyle=DASH if dashed else "solid", zorder=1)
    style = SOFT_STYLE | {"fontsize": SMALL - 1}
    axes.text(value, 1.0, label, transform=axes.get_xaxis_transform(), ha=align, va="bottom", **style)


def write_beside(
    axes: Axes, text: str, point: tuple[float, float], offset: tuple[float, float], **style: Any
) -> None:
    """Write text at ``offset`` points from ``point``, even outside the axes; $ is not parsed as math."""
    base: dict[str, Any] = {"fontsize": SMALL, "color": INK, "annotation_clip": False, "parse_math": False}
    axes.annotate(text, point, xytext=offset, textcoords="offset points", **base | style)


def draw_coefficients(dots: Sequence[Dot], label: str, *, height: float, left: float) -> tuple[Figure, Axes]:
    """Return a figure of coefficients in rows, with a line at 0.

    ``height`` is in inches. ``left`` is the share of the width that is left of the axes, for the labels.
    """
    figure, axes = new_plot(height)
    axes.set_xlim(min(-0.03, *(dot.low or 0.0 for dot in dots)) - 0.02, 1.02)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", ".25", ".50", ".75", "1"])
    draw_dots(axes, dots)
    draw_level(axes, 0.0, _("chance"))
    axes.set_xlabel(label, **SOFT_STYLE)
    figure.subplots_adjust(left=left, right=0.985, bottom=0.5 / height, top=1 - 0.35 / height)
    return figure, axes


def tick_of(value: float) -> str:
    """Return a coefficient as text for an axis, in the same form as in reports: .2, -.05 or 1."""
    text = f"{value:.4g}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def to_svg(figure: Figure, name: str, title: str, description: str, *, simulated: bool = False) -> str:
    """Return the figure as an ``<svg>`` element for a page.

    ``name`` is the prefix of all ids, so that they are unique on a page with several plots. ``title`` and
    ``description`` are for screen readers.
    """
    if simulated:
        figure.text(
            0.995, 0.995, "SIMULATED ANSWERS", ha="right", va="top", fontsize=SMALL, color=WARNING_COLOUR,
            weight="bold", gid="mark-simulated",
        )  # fmt: skip
        description = f"{SIMULATION_NOTE}{description}"
    out = StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    document = out.getvalue()
    body = document[document.index("<svg") :]
    # Remove matplotlib's metadata, style sheet and comments, which pages do not need.
    body = re.sub(r"\s*<metadata>.*?</metadata>|\s*<style.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r' style="([^"]*)"', _as_attributes, body)
    body = re.sub(r'( id="|url\(#|xlink:href="#)', rf"\g<1>{name}-", body)
    body = body.replace(INK, "currentColor")
    body = re.sub(r"[ \t]+\n", "\n", body)
    content = body[body.index(">") + 1 :].strip()  # with the closing tag, but without the opening one
    width, height = figure.get_size_inches()
    css_class = "figure" if width > COLUMN_WIDTH else "figure narrow"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img"'
        f' class="{css_class}" aria-labelledby="{name}-title {name}-desc" width="{width * PIXELS_PER_INCH:.0f}"'
        f' height="{height * PIXELS_PER_INCH:.0f}"'
        f' viewBox="0 0 {width * POINTS_PER_INCH:g} {height * POINTS_PER_INCH:g}"'
        ' stroke-linejoin="round" stroke-linecap="butt">\n'
        f'<title id="{name}-title">{escape(title)}</title>\n<desc id="{name}-desc">{escape(description)}</desc>\n'
        f"{content}\n"
    )


def wrap_signature(signature: str, width: int) -> list[str]:
    """Return the lines of a signature, wrapped at ``width`` characters, preferably after a bar (|)."""
    lines = [""]
    for field in re.findall(r"[^|]*\|?", signature):
        if len(lines[-1]) + len(field) > width and lines[-1]:
            lines.append("")
        lines[-1] += field
    # A field may be longer than a line, so wrap each line again.
    wrapped_lines: list[str] = []
    for line in lines:
        wrapped_lines += textwrap.wrap(line, width, break_on_hyphens=False)
    return wrapped_lines


def _as_attributes(match: re.Match[str]) -> str:
    """Return a style attribute as attributes, because the page's content security policy forbids inline styles."""
    attributes: dict[str, str] = {}
    for declaration in match.group(1).split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font":  # such as "bold 9px 'DejaVu Sans'"; the weight may be a number
            font: Any = re.match(r"(?:(bold|\d00)\s+)?([\d.]+)px", value)
            attributes |= {"font-size": font.group(2), "font-family": FONTS}
            if font.group(1):
                attributes["font-weight"] = font.group(1)
        elif key:
            attributes[key] = value
    return "".join(f' {key}="{value}"' for key, value in attributes.items())
