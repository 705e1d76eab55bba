"""Plot curves in panels, labelled at their ends; and power by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import NullFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from common.amounts import thousands
from evaluation.presentation.content import CurvePanel, Curves
from evaluation.presentation.plots.canvas import (
    ACCENT,
    DASH,
    INK,
    LEVEL,
    NORMAL,
    SMALL,
    SOFT,
    SOFT_OPACITY,
    name_axis,
    new_figure,
    new_plot,
    quiet_axes,
    shorten,
    to_svg,
    write_beside,
)

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8F7700", "#7F7F7F")
End = tuple[float, str, str, str]  # end of a line, its name, colour and marker
SIGN = 11  # points between the plot and a curve's marker
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_LINES = 4
APART = 0.07  # of the axis between two labels


def curves_figure(drawing: Curves, foot: float) -> Canvas:
    across = 1 if len(drawing.panels) == 1 else 2
    down = -(-len(drawing.panels) // across)
    height = 0.75 + 2.6 * down + foot
    figure = new_figure(height)
    grid = figure.subplots(down, across, squeeze=False)
    for index, axes in enumerate(grid.ravel()):
        if index >= len(drawing.panels):
            axes.set_axis_off()
            continue
        _curve_panel(axes, drawing.panels[index], drawing.log, single=across == 1)
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
    axes.set_xticks(ticks, _thin_ticks(ticks) if log else [f"{tick:g}" for tick in ticks])
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
            ends.append((known[-1][1], shorten(bound.label, 20), INK, ""))
    for index, curve in enumerate(panel.curves):
        known = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]
        if not known:
            continue
        colour, marker = OKABE_ITO[index % len(OKABE_ITO)], MARKERS[index % len(MARKERS)]
        xs, ys = zip(*known, strict=True)
        axes.plot(xs, ys, color=colour, linewidth=1.6, marker=marker, markersize=4, clip_on=False)
        ends.append((ys[-1], shorten(curve.label, 20 if single else 16), colour, marker))
    if any(curve.x[0] > curve.x[-1] for curve in panel.curves if curve.x):
        axes.invert_xaxis()  # label levels from the strictest on, where curves are farthest apart
    ends += [(level.value, shorten(level.label, 18), INK, "") for level in panel.levels]
    _direct_labels(axes, ends)


def _thin_ticks(ticks: Sequence[float]) -> list[str]:
    texts: list[str] = []
    before = 0.0
    for index, tick in enumerate(ticks):
        last = index == len(ticks) - 1
        crowded = before and tick / before < 1.45
        if last and crowded:
            texts[-1] = ""
        texts.append(f"{tick:g}" if last or not crowded else "")
        before = tick if texts[-1] else before
    return texts


def _direct_labels(axes: Axes, ends: list[End]) -> None:
    """Label line ends without overlap; markers identify curves without colour."""
    low, high = axes.get_ylim()
    gap = (high - low) * 0.088
    ordered = sorted(ends)
    heights: list[float] = []
    for value, *_label in ordered:
        heights.append(max(value, heights[-1] + gap) if heights else value)
    over = heights[-1] - high if heights else 0.0
    if over > 0:  # back down from the top
        heights[-1] = high
        for index in range(len(heights) - 2, -1, -1):
            heights[index] = min(heights[index], heights[index + 1] - gap)
    beside = axes.get_yaxis_transform() + ScaledTranslation(SIGN / 72, 0, axes.figure.dpi_scale_trans)
    for (_value, label, colour, marker), height in zip(ordered, heights, strict=True):
        if marker:
            axes.plot(
                [1.0], [height], marker=marker, color=colour, markersize=4, clip_on=False, transform=beside
            )
        write_beside(
            axes, label, (1.0, height), (SIGN + (6 if marker else -4), 0), xycoords=("axes fraction", "data"),
            fontsize=SMALL - 1.5, va="center", alpha=1.0 if marker else SOFT_OPACITY,
        )  # fmt: skip


def power_figure(result: Mapping[str, Any]) -> str:
    """Plot the cheapest design's curve with intervals, and its neighbours muted."""
    lines: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for row in result["tried"]:
        lines.setdefault((row["references"], row["votes"]), []).append(row)
    best = result["best"]
    chosen = (best["references"], best["votes"]) if best else max(lines)
    others = sorted(
        (key for key in lines if key != chosen),
        key=lambda key: (abs(key[0] - chosen[0]), abs(key[1] - chosen[1]), key),
    )
    shown = [chosen, *others[: MOST_LINES - 1]]
    height = 3.2
    figure, axes = new_plot(height, grid="both")
    ends = []
    for key in reversed(shown):
        rows = sorted(lines[key], key=lambda row: row["pairs"])
        pairs, accent = [row["pairs"] for row in rows], key == chosen
        colour = ACCENT if accent else INK
        if accent:
            low, high = ([row[end] for row in rows] for end in ("low", "high"))
            axes.fill_between(pairs, low, high, color=ACCENT, alpha=0.18, linewidth=0)
        axes.plot(
            pairs, [row["power"] for row in rows], "o-", color=colour, alpha=1 if accent else 0.4,
            linewidth=2 if accent else 1.2, markersize=5 if accent else 3, markeredgewidth=0,
        )  # fmt: skip
        ends.append((rows[-1]["power"], pairs[-1], _name(key, shown), colour))
    above = 2.0
    for power, pair, name, colour in sorted(ends, reverse=True):  # from the top down: most lines end there
        above = min(power, above - APART)
        alpha = 1 if colour == ACCENT else SOFT_OPACITY
        write_beside(axes, name, (pair, above), (8, 0), color=colour, alpha=alpha, va="center")
    # End at the last number of pairs: a line's label may be at the same height.
    most = max(row["pairs"] for row in result["tried"])
    axes.plot([0, most], [result["wanted"]] * 2, **LEVEL, linestyle=DASH)
    label, small = _("wanted: %(n)s") % {"n": _percent(result["wanted"])}, SOFT | {"fontsize": SMALL - 1}
    axes.text(0.0, result["wanted"], label, transform=axes.get_yaxis_transform(), va="bottom", **small)
    axes.set_ylim(0, 1.03)
    axes.set_xlim(left=0)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel(_("pairs"), **SOFT)
    figure.subplots_adjust(left=0.08, right=0.77, bottom=0.5 / height, top=0.97)
    return to_svg(
        figure,
        name="power",
        title=_("Power over the number of pairs"),
        description=power_sentence(result),
    )


def power_sentence(result: Mapping[str, Any]) -> str:
    best = result["best"]
    if best is None:
        most = max(result["tried"], key=lambda row: row["power"])
        return _(
            "None of these designs surely finds the difference in %(wanted)s of studies; the strongest, %(design)s, "
            "does in %(power)s (%(interval)s)."
        ) % {
            "wanted": _percent(result["wanted"]),
            "design": describe_design(most),
            "power": _percent(most["power"]),
            "interval": _interval(most),
        }
    sentence = _(
        "%(design)s find the difference in %(power)s of studies (%(interval)s); in %(wrong)s the wrong one is ahead."
    ) % {
        "design": describe_design(best),
        "power": _percent(best["power"]),
        "interval": _interval(best),
        "wrong": _percent(best["wrong"], 1),
    }
    if result["fewer_votes"] is not None:
        sentence += " " + _("One vote less would find it in %(power)s.") % {
            "power": _percent(result["fewer_votes"]["power"])
        }
    if result["half_the_pairs"] is not None:
        sentence += " " + _("Half the pairs would find it in %(power)s.") % {
            "power": _percent(result["half_the_pairs"]["power"])
        }
    return sentence


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _interval(row: Mapping[str, Any]) -> str:
    return _("95 %% interval %(low)s to %(high)s") % {
        "low": _percent(row["low"]),
        "high": _percent(row["high"]),
    }


def describe_design(row: Mapping[str, Any]) -> str:
    """Describe a design: 300 pairs with 3 votes each."""
    if row["references"] == 1:
        return ngettext(
            "%(pairs)s pairs with %(votes)s vote each",
            "%(pairs)s pairs with %(votes)s votes each",
            row["votes"],
        ) % {"pairs": thousands(row["pairs"]), "votes": thousands(row["votes"])}
    return ngettext(
        "%(pairs)s pairs with %(references)s references each and %(votes)s vote on each of them",
        "%(pairs)s pairs with %(references)s references each and %(votes)s votes on each of them",
        row["votes"],
    ) % {
        "pairs": thousands(row["pairs"]),
        "references": thousands(row["references"]),
        "votes": thousands(row["votes"]),
    }


def _name(key: tuple[int, int], shown: list[tuple[int, int]]) -> str:
    votes = ngettext("%(n)s vote", "%(n)s votes", key[1]) % {"n": key[1]}
    if all(other[0] == 1 for other in shown):
        return votes
    references = ngettext("%(n)s ref", "%(n)s refs", key[0]) % {"n": key[0]}
    return f"{references}, {votes}"
