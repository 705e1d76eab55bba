"""Draw the plots of the dashboard: agreement by number of judgments, and metrics now and at fewer judgments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from math import inf
from typing import Any

from django.utils.translation import gettext as _
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from common.amounts import coefficient, interval_in_text, percent, percent_number, thousands
from evaluation.presentation.plots.canvas import (
    ACCENT,
    DASH,
    INK,
    LEVEL_STYLE,
    NORMAL,
    ROW_HEIGHT,
    SMALL,
    SOFT_OPACITY,
    SOFT_STYLE,
    WIDTH,
    metric_label_of,
    new_plot,
    tick_of,
    to_svg,
    write_beside,
)
from evaluation.presentation.plots.figures import LINE_COLOURS, MARKERS, LineEnd, label_ends
from evaluation.results.plots import CHANCE

STABLE_WIDTH = 0.05  # width of an interval below which more judgments change little
PLOT_INCHES = 5.2  # inches; two plots are side by side
# Width of a letter of a label, as a fraction of the plot's width. It is 0.0125 in a plot of the usual width.
LETTER_WIDTH = 0.0125 * WIDTH / PLOT_INCHES


def growth_figure(alphas: Sequence[Mapping[str, Any]]) -> str:
    """Plot alpha with its interval by number of judgments, as SVG.

    Args:
        alphas: rows such as ``{"judgments": 300, "n": 60, "value": 0.7, "low": 0.6, "high": 0.8}``, with defined
            values; ``n`` is the number of items with two or more judgments.
    """
    figure, axes = _new_curves(alphas[-1]["judgments"])
    x, values = [row["judgments"] for row in alphas], [row["value"] for row in alphas]
    interval_rows = [row for row in alphas if row["low"] is not None]
    _draw_band(axes, interval_rows, ACCENT, opacity=0.2)
    axes.plot(x, values, color=ACCENT, linewidth=2)
    # leave out the first quarter of the intervals, which are so wide that they would flatten the others
    later_rows = interval_rows[len(interval_rows) // 4 :]
    low = min([*values, *(row["low"] for row in later_rows)])
    high = max([*values, *(row["high"] for row in later_rows)])
    margin = max(0.05, 0.15 * (high - low))
    axes.set_ylim(max(-1.0, low - margin), min(1.02, high + margin))
    axes.yaxis.set_major_formatter(lambda value, _: tick_of(value))
    axes.text(
        1.015, values[-1], coefficient(values[-1]), transform=axes.get_yaxis_transform(), fontsize=NORMAL,
        fontweight="bold", color=INK, va="center",
    )  # fmt: skip
    figure.subplots_adjust(left=0.1, right=0.9, bottom=0.2, top=0.93)
    return to_svg(figure, "growth", _("Agreement over time"), growth_sentence(alphas))


def growth_sentence(alphas: Sequence[Mapping[str, Any]]) -> str:
    """Return sentences on the newest alpha, and on whether more judgments would change it."""
    if not alphas:
        return _("Agreement is shown when an item has two judgments.")
    newest_row = alphas[-1]
    if newest_row["low"] is None:
        return _("Alpha is %(value)s. Items with two or more judgments: %(n)s.") % {
            "value": coefficient(newest_row["value"]),
            "n": thousands(newest_row["n"]),
        }
    width = newest_row["high"] - newest_row["low"]
    sentence = _("Alpha is %(value)s, 95 %% interval %(ends)s. Items with two or more judgments: %(n)s.") % {
        "value": coefficient(newest_row["value"]),
        "ends": interval_in_text(newest_row),
        "n": thousands(newest_row["n"]),
    }
    outlook = (
        _("More judgments will hardly change alpha.")
        if width <= STABLE_WIDTH
        else _("The interval is %(width)s wide.") % {"width": coefficient(width)}
    )
    return f"{sentence} {outlook}"


def metrics_figure(kind: str, results: Mapping[str, Any], *, correlated: bool) -> str:
    """Plot the newest value of each metric, as SVG; "" without values.

    Args:
        kind: the kind of pairs, or "all".
        results: for this kind, ``metrics`` has the newest row of each metric, such as ``{"judgments": 300, "value":
            0.7, "low": None, "high": None}``, ``earlier`` its rows so far, ``verdict.leaders`` the best metrics.
        correlated: whether values are Kendall's tau with people's means, not shares of pairs with the same winner.
    """
    metrics, leaders = results["metrics"], results["verdict"]["leaders"]
    values = {name: row["value"] for name, row in metrics.items()}
    # the highest value first, undefined values last
    names = sorted(metrics, key=lambda name: inf if values[name] is None else -values[name])
    if not names or metrics[names[0]]["value"] is None:
        return ""
    format_value = coefficient if correlated else percent
    height = 1.05 + 1.25 * ROW_HEIGHT * len(names)
    figure, axes = new_plot(height, PLOT_INCHES)
    defined_rows = {name: metrics[name] for name in names if metrics[name]["value"] is not None}
    chance = 0.0 if correlated else CHANCE
    ends = [chance]
    for row in defined_rows.values():
        ends += [row[key] for key in ("low", "high", "value") if row[key] is not None]
    low, high = max(-1.0, min(ends) - 0.04), min(1.0, max(ends) + 0.04)
    axes.set_xlim(low, high + 0.09 * (high - low))
    axes.axvline(chance, **LEVEL_STYLE, linestyle=DASH, zorder=1)
    axes.text(
        chance, 1.0, _("chance"), transform=axes.get_xaxis_transform(), ha="center", va="bottom", fontsize=SMALL,
        color=INK,
    )  # fmt: skip
    for y, name in enumerate(names):
        if name in defined_rows:
            leads = name in leaders and len(leaders) < len(names)  # if all metrics lead, none is emphasised
            _draw_interval(axes, y, defined_rows[name], format_value, leads=leads)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), [metric_label_of(name) for name in names], fontsize=NORMAL)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
        label.set_fontweight("bold")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    format_tick = tick_of if correlated else percent_number
    axes.xaxis.set_major_formatter(lambda value, _: format_tick(value))
    if correlated:
        axes.set_xlabel(_("Kendall's tau-b with the mean answer of people, 95 % interval"), **SOFT_STYLE)
    else:
        axes.set_xlabel(
            _("% of pairs where metric and people name the same winner, 95 % interval"), **SOFT_STYLE
        )
    label_lines = "\n".join(metric_label_of(name) for name in names).split("\n")
    longest_length = max(map(len, label_lines))
    figure.subplots_adjust(
        left=0.05 + LETTER_WIDTH * longest_length, right=0.985, bottom=0.52 / height, top=1 - 0.32 / height
    )
    description = "; ".join(f"{name} {format_value(row['value'])}" for name, row in defined_rows.items())
    title = _("Which metric agrees with people? Pairs: %(kind)s") % {"kind": kind}
    return to_svg(figure, f"metrics-{kind.lower()}", title, f"{description}.")


def _draw_interval(
    axes: Axes, y: int, metric_result: Mapping[str, Any], format_value: Callable[[float], str], *, leads: bool
) -> None:
    value, low, high = (metric_result[key] for key in ("value", "low", "high"))
    colour, opacity = (ACCENT, 1.0) if leads else (INK, 0.62)
    if low is not None:
        axes.plot([low, high], [y, y], color=colour, alpha=opacity, linewidth=2)
    axes.plot([value], [y], "o", color=colour, alpha=opacity, markersize=7, markeredgewidth=0)
    end = value if high is None else high
    write_beside(axes, format_value(value), (end, y), (7, 0), alpha=SOFT_OPACITY, va="center")


def earlier_figure(kind: str, results: Mapping[str, Any], *, correlated: bool) -> str:
    """Plot each metric's value by number of judgments, as SVG; "" if no metric has two values.

    The arguments are those of ``metrics_figure``. Earlier taus have no interval, so only accuracies have a band.
    """
    leaders = results["verdict"]["leaders"]
    defined_rows: dict[str, list[Mapping[str, Any]]] = {}
    for name, all_rows in results["earlier"].items():
        rows = [row for row in all_rows if row["value"] is not None]
        if len(rows) > 1:
            defined_rows[name] = rows
    if not defined_rows:
        return ""
    names = sorted(defined_rows, key=lambda name: -defined_rows[name][-1]["value"])
    figure, axes = _new_curves(max(rows[-1]["judgments"] for rows in defined_rows.values()))
    chance = 0.0 if correlated else CHANCE
    line_ends: list[LineEnd] = [(chance, _("chance"), INK, "")]
    for index, name in enumerate(names):
        rows = defined_rows[name]
        colour, marker = LINE_COLOURS[index % len(LINE_COLOURS)], MARKERS[index % len(MARKERS)]
        if leaders == [name] and rows[-1]["low"] is not None and not correlated:
            _draw_band(axes, rows, colour, opacity=0.14)
        axes.plot(
            [row["judgments"] for row in rows], [row["value"] for row in rows], color=colour, marker=marker,
            markersize=4, linewidth=2 if name in leaders else 1.4, clip_on=False,
        )  # fmt: skip
        short_name = name.partition("|")[0]  # without the metric's options
        line_ends.append((rows[-1]["value"], short_name, colour, marker))
    values = [row["value"] for row in chain.from_iterable(defined_rows.values())]
    low, high = min([*values, chance]) - 0.04, max([*values, chance]) + 0.06
    axes.set_ylim(low, high)
    axes.axhline(chance, color=INK, alpha=0.45, linewidth=1, linestyle=DASH)
    label_ends(axes, line_ends)
    format_tick = tick_of if correlated else percent_number
    axes.yaxis.set_major_formatter(lambda value, _: format_tick(value))
    format_value = coefficient if correlated else percent
    longest_length = 2 + max(len(label) for _value, label, *_sign in line_ends)
    figure.subplots_adjust(left=0.1, right=0.955 - LETTER_WIDTH * longest_length, bottom=0.2, top=0.93)
    value_list = "; ".join(
        f"{name} {format_value(defined_rows[name][0]['value'])} – {format_value(defined_rows[name][-1]['value'])}"
        for name in names
    )
    title = _("Results with fewer judgments. Pairs: %(kind)s") % {"kind": kind}
    description = _("From the first results to the newest results: %(values)s.") % {"values": value_list}
    return to_svg(figure, f"earlier-{kind.lower()}", title, description)


def _new_curves(judgments: int) -> tuple[Figure, Axes]:
    figure, axes = new_plot(2.9, PLOT_INCHES, grid="y")
    axes.grid(axis="y", alpha=0.1)
    axes.set_xlim(0, judgments)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: thousands(round(value)))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel(_("judgments so far"), **SOFT_STYLE)
    return figure, axes


def _draw_band(axes: Axes, intervals: Sequence[Mapping[str, Any]], colour: str, *, opacity: float) -> None:
    x, low, high = ([row[key] for row in intervals] for key in ("judgments", "low", "high"))
    axes.fill_between(x, low, high, color=colour, alpha=opacity, linewidth=0)
