"""Plot curves in panels, labelled at their ends; the horizontal axis may be logarithmic."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import NullFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from evaluation.plots.canvas import (
    DASH,
    INK,
    LEVEL,
    NORMAL,
    SMALL,
    SOFT,
    SOFT_OPACITY,
    name_axis,
    new_figure,
    quiet_axes,
    short,
    write_beside,
)
from evaluation.report.content import CurvePanel, Curves

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8F7700", "#7F7F7F")
End = tuple[float, str, str, str]  # end of a line, its name, colour and marker
SIGN = 11  # points between the plot and a curve's marker
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def curves_figure(drawing: Curves, foot: float) -> Canvas:
    """Return the figure, with ``foot`` free inches below."""
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
    figure.text(0.01, 1 - 0.1 / height, drawing.up, **SOFT, va="top")
    name_axis(figure, drawing.across, foot)
    figure.subplots_adjust(
        left=0.075,
        right=0.84 if across == 2 else 0.8,
        bottom=(0.5 + foot) / height,
        top=1 - 0.5 / height,
        wspace=0.62,
        hspace=0.36,
    )
    return figure


def _curve_panel(axes: Axes, panel: CurvePanel, log: bool, *, single: bool) -> None:
    quiet_axes(axes, grid="y")
    axes.set_title(panel.title, fontsize=NORMAL, color=INK, loc="left", fontweight="bold", parse_math=False)
    if log:
        axes.set_xscale("log")
    ticks = sorted({x for curve in panel.curves for x in curve.x})
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(ticks, _sparse(ticks) if log else [f"{tick:g}" for tick in ticks])
    values = [y for curve in panel.curves for y in curve.y if y is not None]
    values += [y for curve in panel.bounds for y in curve.y if y is not None]
    values += [level.value for level in panel.levels]
    low, high = min(values, default=0.0), max(values, default=1.0)
    air = 0.06 * ((high - low) or 1.0)
    axes.set_ylim(low - air, min(1.0, high + air) if high <= 1.0 else high + air)
    axes.locator_params(axis="y", nbins=5)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
    for level in panel.levels:
        style = LEVEL | {"alpha": 0.5, "linestyle": DASH if level.dashed else "solid"}
        axes.axhline(level.value, **style, zorder=1)
    ends: list[End] = []
    for bound in panel.bounds:
        known = [(x, y) for x, y in zip(bound.x, bound.y, strict=True) if y is not None]
        if known:
            style = LEVEL | {"linewidth": 1.2, "linestyle": DASH if bound.dashed else "solid"}
            axes.plot(*zip(*known, strict=True), **style, zorder=1, clip_on=False)
            ends.append((known[-1][1], short(bound.label, 20), INK, ""))
    for place, curve in enumerate(panel.curves):
        known = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]
        if not known:
            continue
        colour, marker = OKABE_ITO[place % len(OKABE_ITO)], MARKERS[place % len(MARKERS)]
        xs, ys = zip(*known, strict=True)
        axes.plot(xs, ys, color=colour, linewidth=1.6, marker=marker, markersize=4, clip_on=False)
        ends.append((ys[-1], short(curve.label, 20 if single else 16), colour, marker))
    if any(curve.x[0] > curve.x[-1] for curve in panel.curves if curve.x):
        axes.invert_xaxis()  # label levels from the strictest on, where curves are farthest apart
    ends += [(level.value, short(level.words, 18), INK, "") for level in panel.levels]
    _direct_labels(axes, ends)


def _sparse(ticks: Sequence[float]) -> list[str]:
    """Return the ticks of a log axis that do not overlap."""
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


def _direct_labels(axes: Axes, ends: list[End]) -> None:
    """Label line ends without overlap; markers identify the curves without colour."""
    low, high = axes.get_ylim()
    gap = (high - low) * 0.088
    ordered = sorted(ends)
    places: list[float] = []
    for value, *_ in ordered:
        places.append(max(value, places[-1] + gap) if places else value)
    over = places[-1] - high if places else 0.0
    if over > 0:  # back down from the top
        places[-1] = high
        for place in range(len(places) - 2, -1, -1):
            places[place] = min(places[place], places[place + 1] - gap)
    beside = axes.get_yaxis_transform() + ScaledTranslation(SIGN / 72, 0, axes.figure.dpi_scale_trans)
    for (_, words, colour, marker), height in zip(ordered, places, strict=True):
        if marker:
            axes.plot(
                [1.0], [height], marker=marker, color=colour, markersize=4, clip_on=False, transform=beside
            )
        write_beside(
            axes, words, (1.0, height), (SIGN + (6 if marker else -4), 0), xycoords=("axes fraction", "data"),
            fontsize=SMALL - 1.5, va="center", alpha=1.0 if marker else SOFT_OPACITY,
        )  # fmt: skip
