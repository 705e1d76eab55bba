"""Plots of a report as SVG, PDF and PNG, in the colours of Okabe and Ito.

Equal numbers give equal bytes: no times, no program names, ids from a fixed salt.
"""

from __future__ import annotations

import logging
import re
from html import escape
from io import BytesIO

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas

from evaluation.presentation.content import Curves, Dots, Heat, Plot, Specifications
from evaluation.presentation.plots.canvas import (
    COLUMN,
    INK,
    SIMULATED,
    SOFT_OPACITY,
    WIDTH,
    to_svg,
    wrap_signature,
)
from evaluation.presentation.plots.curves import curves_figure
from evaluation.presentation.plots.dots import dots_figure, specifications_figure
from evaluation.presentation.plots.heat import heat_figure, is_narrow

logging.getLogger("fontTools").setLevel(logging.WARNING)  # it tells each step of cutting a font

STAMP_SIZE, STAMP_LINE, STAMP_WIDTH = 5.5, 0.105, 150
PNG_DPI = 200


def draw_plot(plot: Plot, *, stamp: str) -> Canvas:
    lines, foot = _foot_lines(stamp, isinstance(plot.drawing, Heat) and is_narrow(plot.drawing))
    match plot.drawing:
        case Dots() as drawing:
            figure = dots_figure(drawing, foot)
        case Curves() as drawing:
            figure = curves_figure(drawing, foot)
        case Heat() as drawing:
            figure = heat_figure(drawing, foot)
        case Specifications() as drawing:
            figure = specifications_figure(drawing, foot)
    height = figure.get_size_inches()[1]
    for index, line in enumerate(lines):
        figure.text(  # the gid is for page_svg
            0.01,
            (0.04 + STAMP_LINE * (len(lines) - 1 - index)) / height,
            line,
            fontsize=STAMP_SIZE,
            color=INK,
            alpha=SOFT_OPACITY,
            va="bottom",
            parse_math=False,
            gid=f"mark-{index}",
        )
    return figure


def page_svg(svg: str, stamp: str) -> str:
    """Remove the signature and the note on simulated answers, which a page shows once."""
    height = re.search(r' height="(\d+)" viewBox="0 0 (\S+) (\S+)"', svg)
    if height is None:
        return svg
    foot = 72 * _foot_lines(stamp, 'class="figure narrow"' in svg)[1]
    high = float(height[3]) - foot
    head = f' height="{high * 96 / 72:.0f}" viewBox="0 0 {height[2]} {high:g}"'
    body = re.sub(r'<g id="[^"]*-mark-[^"]*">.*?</g>\n?', "", svg[height.end() :], flags=re.DOTALL)
    return f"{svg[: height.start()]}{head}{body.replace(escape(SIMULATED), '', 1)}"


def _foot_lines(stamp: str, narrow: bool) -> tuple[list[str], float]:
    lines = wrap_signature(stamp, int(STAMP_WIDTH * COLUMN / WIDTH) if narrow else STAMP_WIDTH)
    return lines, STAMP_LINE * len(lines) + (0.1 if lines else 0.0)


def svg_of(figure: Canvas, plot: Plot, *, simulated: bool) -> str:
    return to_svg(
        figure, name=f"report-{plot.name}", title=plot.title, description=plot.sentence, simulated=simulated
    )


def svg_file(svg: str) -> bytes:
    head, mark, rest = svg.partition(">\n")
    white = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}{mark}{white}\n{rest}'.encode()


def pdf_of(figure: Canvas) -> bytes:
    """Return PDF with TrueType fonts, as publishers require."""
    out = BytesIO()
    with mpl.rc_context({"pdf.fonttype": 42}):
        figure.savefig(out, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    return out.getvalue()


def png_of(figure: Canvas) -> bytes:
    out = BytesIO()
    figure.patch.set_alpha(1.0)  # which the common canvas leaves out, for pages
    figure.savefig(out, format="png", dpi=PNG_DPI, facecolor="white", metadata={"Software": None})
    figure.patch.set_alpha(0.0)
    return out.getvalue()
