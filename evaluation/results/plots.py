"""Draw the plots of the page "Results", each with a sentence on its finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from common.amounts import coefficient, percent, thousands
from evaluation.presentation.plots.canvas import (
    ACCENT,
    DASH,
    INK,
    LEVEL_STYLE,
    NORMAL,
    ROW_HEIGHT,
    SMALL,
    SOFT_STYLE,
    WARNING_COLOUR,
    Dot,
    draw_coefficients,
    draw_dots,
    draw_level,
    metric_label_of,
    new_figure,
    new_plot,
    style_axes,
    to_svg,
    write_beside,
)
from evaluation.results.metrics.tables import accuracy_by_metric, compares_pairs
from evaluation.results.verdict import UNTESTED_NOTE, estimates_of_metrics, levels_sentence, verdict_sentence
from quorum.statistics.agreement.coefficient import NO_PAIRS
from quorum.statistics.meta import wilson_interval

MAX_NAMED_WORKERS = 30  # largest number of participants whose names are shown
HOUR_SECONDS, DAY_SECONDS = 3600.0, 86_400.0
NO_JUDGMENTS = gettext_noop("No judgments yet.")
NO_WORKERS = gettext_noop("No page of work has been submitted yet.")
CHANCE = 0.5  # accuracy of a metric that guesses
NO_METRICS = gettext_noop("No metric has been compared with people's judgments yet.")
ONE_PARTICIPANT = gettext_noop("one participant")
# Krippendorff's threshold for reliable conclusions.
RELIABLE_ALPHA = 0.8
NO_PAIRED_JUDGMENTS = gettext_noop("No item has two judgments yet.")


def progress_figure(progress: Mapping[str, Any], zone: str = "UTC") -> str:
    """Return a plot of judgments over time, with the wanted number, or "" before the first judgment.

    ``progress`` is that of ``study_progress``. ``zone`` is the time zone of the axis.
    """
    # Pairs of a time in ISO 8601 and the number of judgments until then.
    timeline: Sequence[Sequence[Any]] = progress["timeline"]
    if not timeline:
        return ""
    height = 2.4
    figure, axes = new_plot(height, grid="both")
    times = [datetime.fromisoformat(moment).timestamp() for moment, _ in timeline]
    counts = [count for _, count in timeline]
    axes.step([times[0], *times], [0, *counts], where="post", color=ACCENT, linewidth=2)
    axes.plot(times[-1:], counts[-1:], "o", color=ACCENT, markersize=6, markeredgewidth=0)
    wanted_count = progress["wanted"]
    axes.set_ylim(0, 1.12 * max(wanted_count, counts[-1], 1))
    span = times[-1] - times[0] or HOUR_SECONDS
    axes.set_xlim(times[0] - 0.02 * span, times[-1] + 0.16 * span)
    if wanted_count:
        axes.axhline(wanted_count, **LEVEL_STYLE, linestyle=DASH)
        label = _("target: %(n)s") % {"n": thousands(wanted_count)}
        axes.text(0.0, wanted_count, label, transform=axes.get_yaxis_transform(), **SOFT_STYLE, va="bottom")
    # Write below the line of the target if it would cross the number.
    offset = (8, -10) if abs(wanted_count - counts[-1]) < 0.06 * wanted_count else (8, 0)
    write_beside(axes, thousands(counts[-1]), (times[-1], counts[-1]), offset, color=ACCENT, va="center")
    _label_times(axes, times[0], span, zone)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: thousands(round(value)))
    axes.set_ylabel(_("judgments"), **SOFT_STYLE)
    figure.subplots_adjust(left=0.12, right=0.985, bottom=0.23, top=0.9)
    return to_svg(figure, "progress", _("Judgments over time"), progress_sentence(progress))


def _label_times(axes: Axes, start: float, span: float, zone: str) -> None:
    """Label the axis of times, which begins at ``start`` and is ``span`` seconds long, by days or by hours."""
    with_dates = span > 2 * DAY_SECONDS
    tick_shares = (0, 1 / 3, 2 / 3, 1) if span > HOUR_SECONDS else (0, 1)
    ticks = [start + share * span for share in tick_shares]
    times = [datetime.fromtimestamp(tick, tz=ZoneInfo(zone)) for tick in ticks]
    labels = [date_format(time, "MONTH_DAY_FORMAT") if with_dates else f"{time:%H:%M}" for time in times]
    axes.set_xticks(ticks, labels)
    first, last = times[0].date(), times[-1].date()
    label = date_format(last)
    if first != last:
        label = _("%(first)s to %(last)s") % {"first": date_format(first, "MONTH_DAY_FORMAT"), "last": label}
    axes.set_xlabel(f"{label} ({zone})", **SOFT_STYLE)


def progress_sentence(progress: Mapping[str, Any]) -> str:
    done_count, wanted_count = progress["judgments"], progress["wanted"]
    if not done_count:
        if not wanted_count:
            return _(NO_JUDGMENTS)
        return _(
            "There are no judgments yet. Judgments that the study needs: %(wanted)s; pages of work: %(pages)s."
        ) % {"wanted": thousands(wanted_count), "pages": thousands(progress["hits"])}
    if not wanted_count:
        sentence = ngettext("One judgment was imported.", "%(n)s judgments were imported.", done_count)
        return sentence % {"n": thousands(done_count)}
    return _(
        "Judgments: %(n)s of %(wanted)s (%(share)s %%). Pages of work complete: %(done)s of %(pages)s."
    ) % {
        "n": thousands(done_count),
        "wanted": thousands(wanted_count),
        "share": f"{100 * done_count // wanted_count}",
        "done": thousands(progress["hits_done"]),
        "pages": thousands(progress["hits"]),
    }


def workers_figure(workers: Sequence[Mapping[str, Any]], threshold: float) -> str:
    """Return a plot of workers' accuracy on control items, or "" without data.

    If nobody saw a control item, plot the seconds per unit instead.
    """
    tested_workers = [row for row in workers if row["controls_seen"]]
    timed_workers = [row for row in workers if row["seconds"] is not None]
    if not tested_workers and not timed_workers:
        return ""
    if tested_workers:
        rows = sorted(tested_workers, key=lambda row: (-row["controls_share"], row["worker"]))
    else:
        rows = sorted(timed_workers, key=lambda row: (row["seconds"], row["worker"]))
    has_names = len(rows) <= MAX_NAMED_WORKERS
    height = min(0.85 + (ROW_HEIGHT if has_names else 0.07) * len(rows), 12.0)
    figure, axes = new_plot(height)
    if tested_workers:
        axes.set_xlim(-0.02, 1.02)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0 %", "25", "50", "75", "100"])
        dots = [
            Dot(
                row["worker"],
                row["controls_share"],
                *wilson_interval(row["controls_right"], row["controls_seen"]),
            )
            for row in rows
        ]
        draw_dots(axes, dots, has_labels=has_names)
        unused_points = [(row["controls_share"], y) for y, row in enumerate(rows) if not row["used"]]
        for x, y in unused_points:
            axes.plot([x], [y], "X", color=WARNING_COLOUR, markersize=9, markeredgewidth=0)
        if unused_points:  # label the first
            point = unused_points[0]
            write_beside(axes, _("not used"), point, (8, 8), fontsize=SMALL - 1, color=WARNING_COLOUR)
        draw_level(axes, threshold, _("pass mark %(share)s %%") % {"share": f"{100 * threshold:g}"})
        label = _("share of check questions right, 95 % interval")
    else:
        axes.set_xlim(0, 1.08 * max(row["seconds"] for row in rows))
        draw_dots(axes, [Dot(row["worker"], row["seconds"]) for row in rows], has_labels=has_names)
        label = _("median seconds per item")
    axes.set_xlabel(label, **SOFT_STYLE)
    max_name_length = max(len(row["worker"]) for row in rows) if has_names else 0
    left_margin = min(0.03 + 0.0105 * max_name_length, 0.4)
    figure.subplots_adjust(left=left_margin, right=0.985, bottom=0.5 / height, top=1 - 0.35 / height)
    title = _("Check questions by participant") if tested_workers else _("Seconds per item by participant")
    return to_svg(figure, "workers", title, workers_sentence(workers, threshold))


def workers_sentence(workers: Sequence[Mapping[str, Any]], threshold: float) -> str:
    if not workers:
        return _(NO_WORKERS)
    tested_workers = [row for row in workers if row["controls_seen"]]
    count = ngettext("%(n)s participant", "%(n)s participants", len(workers)) % {"n": thousands(len(workers))}
    if not tested_workers:
        sentence = _("%(count)s. None of them answered a check question.")
    else:
        sentence = _(
            "%(count)s. Participants who reached the pass mark of %(share)s %%: %(reached)s of %(seen)s who answered "
            "check questions."
        )
    sentence %= {
        "count": count,
        "seen": thousands(len(tested_workers)),
        "reached": thousands(sum(row["controls_share"] >= threshold for row in tested_workers)),
        "share": f"{100 * threshold:g}",
    }
    if unused_count := sum(not row["used"] for row in workers):
        sentence += " " + ngettext(
            "The judgments of %(n)s participant are not used.",
            "The judgments of %(n)s participants are not used.",
            unused_count,
        ) % {"n": thousands(unused_count)}
    times = sorted(row["seconds"] for row in workers if row["seconds"] is not None)
    if not times:
        return sentence
    pace = _("The median participant takes %(seconds)s s per item.") % {"seconds": f"{median(times):.1f}"}
    return f"{sentence} {pace}"


def accuracy_figure(result: Mapping[str, Any]) -> str:
    """Return a plot of each metric's accuracy by pair kind, or of its tau-b, or "" without data.

    ``result`` is that of ``evaluate_study``. Only plots of results from before 0.6, which lack "halves" (of the
    votes), have a level of people: how often a participant agrees with the majority of the others.
    """
    metrics = result.get("metrics", {})
    if not metrics:
        return ""
    leaders = result["verdict"]["all"]["leaders"] if "verdict" in result else ()
    if not compares_pairs(result):
        return _correlation_figure(result, leaders)
    names = sorted(metrics, key=lambda name: -_sort_value(metrics[name]["accuracy"]["all"]))
    kinds, _best_first = accuracy_by_metric(metrics)
    lows: list[float | None] = []
    for name in names:
        lows += [metrics[name]["accuracy"][kind]["low"] for kind in kinds]
    people = {} if "halves" in result else result.get("people") or {}
    levels = [people[kind]["value"] for kind in kinds if kind in people]
    min_accuracy = min(end for end in (CHANCE, *lows, *levels) if end is not None)
    height = 1.0 + _rows_height(names)
    figure = new_figure(height)
    panels = figure.subplots(1, len(kinds), squeeze=False)[0]
    for index, (axes, kind) in enumerate(zip(panels, kinds, strict=True)):
        is_first, is_last = index == 0, index == len(kinds) - 1
        style_axes(axes)
        axes.set_xlim(min_accuracy - 0.04, 1.02)
        # If the axis begins low, there is no room for the number between 50 and 100.
        middle = "75" if min_accuracy > 0.2 else ""
        axes.set_xticks([0.5, 0.75, 1.0], ["50 %" if is_first else "50", middle, "100"])
        cells = [metrics[name]["accuracy"][kind] for name in names]
        dots = [_dot(name, cell, accent=name in leaders) for name, cell in zip(names, cells, strict=True)]
        draw_dots(axes, dots, has_labels=is_first)
        axes.set_title(f"{_(kind)}\n", fontsize=NORMAL, color=INK, loc="left", pad=10, fontweight="bold")
        small_style = SOFT_STYLE | {"fontsize": SMALL - 1}
        count = f"n = {thousands(cells[0]['n'])}\n\n"
        axes.text(1.0, 1.0, count, transform=axes.transAxes, ha="right", va="bottom", **small_style)
        # Label each line once: chance in the first panel, the level of people in the last.
        draw_level(axes, CHANCE, _("chance") if is_first else "")
        level = people.get(kind, {}).get("value")
        if level is not None:
            draw_level(axes, level, _(ONE_PARTICIPANT) if is_last else "", dashed=False)
    figure.subplots_adjust(
        left=_left_margin(names), right=0.985, bottom=0.34 / height, top=1 - 0.62 / height, wspace=0.2
    )
    description = f"{accuracy_sentence(result)} {_describe_accuracies(metrics)}"
    return to_svg(figure, "accuracy", _("Accuracy of each metric by pair kind"), description)


def accuracy_sentence(result: Mapping[str, Any]) -> str:
    """Return sentences on the verdict, and on levels to compare the metrics with."""
    if not result.get("metrics"):
        return _(NO_METRICS)
    if "verdict" not in result:
        return _(UNTESTED_NOTE)
    sentence = verdict_sentence(result["verdict"]["all"], estimates_of_metrics(result))
    return " ".join(filter(None, (sentence, levels_sentence(result))))


def _correlation_figure(result: Mapping[str, Any], leaders: Sequence[str]) -> str:
    metrics = result["metrics"]
    names = sorted(metrics, key=lambda name: -_sort_value(metrics[name]["kendall_tau_b"]))
    dots = [_dot(name, metrics[name]["kendall_tau_b"], accent=name in leaders) for name in names]
    label = _("Kendall's tau-b with people, 95 % interval")
    figure, axes = draw_coefficients(dots, label, height=0.85 + _rows_height(names), left=_left_margin(names))
    draw_level(axes, 1.0, _("same order as people"), dashed=False, align="right")
    values_text = "; ".join(
        f"{name} {_('undefined') if dot.value is None else coefficient(dot.value)}"
        for name, dot in zip(names, dots, strict=True)
    )
    description = f"{accuracy_sentence(result)} Tau-b: {values_text}."
    return to_svg(figure, "accuracy", _("Rank correlation of each metric with people"), description)


def _sort_value(cell: Mapping[str, Any]) -> float:
    """Return a figure's value, or minus infinity if it is undefined."""
    return float("-inf") if cell["value"] is None else float(cell["value"])


def _dot(label: str, cell: Mapping[str, Any], *, accent: bool = False) -> Dot:
    return Dot(metric_label_of(label), cell["value"], cell["low"], cell["high"], accent=accent)


def _rows_height(names: Sequence[str]) -> float:
    """Return the height of the metrics' rows in inches. Names have a line for each option."""
    max_lines = max(name.count("|") + 1 for name in names)
    return ROW_HEIGHT * len(names) * max(1.0, 0.62 * max_lines)


def _left_margin(names: Sequence[str]) -> float:
    """Return the width of the metrics' names as a share of the figure's width."""
    labels = "\n".join(metric_label_of(name) for name in names)
    return 0.04 + 0.0115 * max(map(len, labels.split("\n")))


def _describe_accuracies(metrics: Mapping[str, Any]) -> str:
    descriptions = []
    for name, figures in metrics.items():
        cells = figures["accuracy"].items()
        accuracies = ", ".join(
            f"{kind} {percent(cell['value'])}" for kind, cell in cells if cell["value"] is not None
        )
        descriptions.append(f"{name}: {accuracies}.")
    return " ".join(descriptions)


def agreement_figure(agreement: Mapping[str, Any]) -> str:
    """Return a plot of alpha by level and pair kind, or "" without data."""
    if not agreement or not agreement["alpha"]["n"]:
        return ""
    figures = {_all_items_label(agreement["alpha"]["level"]): agreement["alpha"]}
    if "ordinal" in agreement:  # for interval data, and for pairs with degrees of preference
        figures[_all_items_label("ordinal")] = agreement["ordinal"]
    if len(agreement.get("by_kind", {})) > 1:  # a single kind would repeat the row of all items
        figures |= agreement["by_kind"]
    dots = [_dot(label, cell, accent=cell is agreement["alpha"]) for label, cell in figures.items()]
    figure, axes = draw_coefficients(
        dots,
        _("Krippendorff's alpha, 95 % interval"),
        height=0.85 + ROW_HEIGHT * len(dots),
        left=0.04 + 0.0105 * max(len(dot.label) for dot in dots),
    )
    draw_level(axes, RELIABLE_ALPHA, _("reliable if .80 or more"))
    values_text = "; ".join(f"{dot.label} {coefficient(dot.value)}" for dot in dots if dot.value is not None)
    description = f"{agreement_sentence(agreement)} {values_text}."
    return to_svg(figure, "agreement", _("Agreement between participants"), description)


def agreement_sentence(agreement: Mapping[str, Any]) -> str:
    if not agreement or not agreement["alpha"]["n"]:
        reason = agreement["alpha"]["reason"] if agreement else ""
        if reason in ("", NO_PAIRS):
            return _(NO_PAIRED_JUDGMENTS)
        return _("Agreement is not available: %(why)s.") % {"why": _(reason).rstrip(".")}
    alpha = agreement["alpha"]
    if alpha["value"] is None:
        return _("Agreement is undefined: %(why)s.") % {"why": _(alpha["reason"])}
    interval = _("no interval")
    if alpha["low"] is not None:
        interval = _("95 %% interval %(low)s to %(high)s") % {
            "low": coefficient(alpha["low"]),
            "high": coefficient(alpha["high"]),
        }
    sentence = _(
        "Krippendorff's alpha is %(value)s (%(interval)s, %(level)s). Items with at least two judgments: %(n)s. 0 is "
        "chance, and 1 is full agreement."
    ) % {
        "value": coefficient(alpha["value"]),
        "interval": interval,
        "level": alpha["level"],
        "n": thousands(alpha["n"]),
    }
    if alpha["reason"]:
        sentence += " " + _("There is no interval: %(why)s.") % {"why": _(alpha["reason"])}
    kinds = agreement.get("by_kind", {})
    # Without intervals, it is unknown whether agreement differs by kind.
    if any(figure["low"] is None for figure in kinds.values()):
        return sentence
    # Without kinds, there are no others.
    best_kind, *other_kinds = sorted(kinds, key=lambda name: -kinds[name]["value"]) or [""]
    if other_kinds and all(kinds[best_kind]["low"] > kinds[name]["high"] for name in other_kinds):
        sentence += " " + _("Agreement is highest on %(kind)s pairs (%(value)s).") % {
            "kind": best_kind,
            "value": coefficient(kinds[best_kind]["value"]),
        }
    return sentence


def _all_items_label(level: str) -> str:
    return _("all items (%(level)s)") % {"level": level}
