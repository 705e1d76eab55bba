"""Plot a study's progress, and its workers' control results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from common.errors import counted
from evaluation.plots.canvas import (
    ACCENT,
    DASH,
    LEVEL,
    ROW,
    SMALL,
    SOFT,
    WARN,
    Dot,
    draw_dots,
    draw_level,
    new_plot,
    to_svg,
    write_beside,
)
from evaluation.statistics.meta import wilson_interval

MOST_NAMED = 30
HOUR, DAY = 3600.0, 86_400.0
NO_JUDGMENTS = "No judgments yet."
NO_WORKERS = "No worker has finished a page of work yet."


def progress_figure(progress: Mapping[str, Any]) -> str:
    """Plot judgments over time and the wanted number; "" before the first."""
    timeline: Sequence[Sequence[Any]] = progress["timeline"]
    if not timeline:
        return ""
    height = 2.4
    figure, axes = new_plot(height, grid="both")
    times = [datetime.fromisoformat(moment).timestamp() for moment, _ in timeline]
    counts = [count for _, count in timeline]
    axes.step([times[0], *times], [0, *counts], where="post", color=ACCENT, linewidth=2)
    axes.plot(times[-1:], counts[-1:], "o", color=ACCENT, markersize=6, markeredgewidth=0)
    wanted = progress["wanted"]
    axes.set_ylim(0, 1.12 * max(wanted, counts[-1], 1))
    span = times[-1] - times[0] or HOUR
    axes.set_xlim(times[0] - 0.02 * span, times[-1] + 0.16 * span)
    if wanted:
        axes.axhline(wanted, **LEVEL, linestyle=DASH)
        words = f"wanted: {wanted:,}"
        axes.text(0.0, wanted, words, transform=axes.get_yaxis_transform(), **SOFT, va="bottom")
    write_beside(axes, f"{counts[-1]:,}", (times[-1], counts[-1]), (8, 0), color=ACCENT, va="center")
    _name_times(axes, times[0], span)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylabel("judgments", **SOFT)
    figure.subplots_adjust(left=0.12, right=0.985, bottom=0.23, top=0.9)
    return to_svg(
        figure,
        name="progress",
        title="Judgments over time",
        description=progress_sentence(progress),
    )


def _name_times(axes: Axes, start: float, span: float) -> None:
    days = span > 2 * DAY
    moments = [start + share * span for share in ((0, 1 / 3, 2 / 3, 1) if span > HOUR else (0, 1))]
    found = [datetime.fromtimestamp(moment, tz=UTC) for moment in moments]
    labels = [f"{moment.day} {moment:%b}" if days else f"{moment:%H:%M}" for moment in found]
    axes.set_xticks(moments, labels)
    first, last = found[0].date(), found[-1].date()
    words = (
        f"{first.day} {first:%B %Y}"
        if first == last
        else f"{first.day} {first:%b} to {last.day} {last:%b %Y}"
    )
    axes.set_xlabel(f"{words} (UTC)", **SOFT)


def progress_sentence(progress: Mapping[str, Any]) -> str:
    done, wanted = progress["judgments"], progress["wanted"]
    if not done:
        return (
            f"{NO_JUDGMENTS} {wanted:,} are wanted on {counted(progress['hits'], 'HIT')}."
            if wanted
            else NO_JUDGMENTS
        )
    if not wanted:
        return f"{counted(done, 'judgment')} {'was' if done == 1 else 'were'} imported."
    return (
        f"{done:,} of {counted(wanted, 'judgment')} are in ({100 * done / wanted:.0f} %); "
        f"{progress['hits_done']:,} of {counted(progress['hits'], 'HIT')} are complete."
    )


def workers_figure(workers: Sequence[Mapping[str, Any]], threshold: float) -> str:
    """Plot control accuracy per worker, or seconds per unit without controls; "" without workers."""
    seen = [row for row in workers if row["controls_seen"]]
    timed = [row for row in workers if row["seconds"] is not None]
    if not seen and not timed:
        return ""
    rows = sorted(seen, key=lambda row: (-row["controls_share"], row["worker"])) if seen else []
    rows = rows or sorted(timed, key=lambda row: (row["seconds"], row["worker"]))
    named = len(rows) <= MOST_NAMED
    height = min(0.85 + (ROW if named else 0.07) * len(rows), 12.0)
    figure, axes = new_plot(height)
    if seen:
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
        draw_dots(axes, dots, named=named)
        below = [at for at, row in enumerate(rows) if not row["used"]]
        for at in below:
            axes.plot([rows[at]["controls_share"]], [at], "X", color=WARN, markersize=9, markeredgewidth=0)
        if below:
            place = (rows[below[0]]["controls_share"], below[0])
            write_beside(axes, "set aside", place, (8, 8), fontsize=SMALL - 1, color=WARN)
        draw_level(axes, threshold, f"used from {100 * threshold:g} %")
        words = "control items right, 95 % interval"
    else:
        axes.set_xlim(0, 1.08 * max(row["seconds"] for row in rows))
        draw_dots(axes, [Dot(row["worker"], row["seconds"]) for row in rows], named=named)
        words = "median seconds a unit"
    axes.set_xlabel(words, **SOFT)
    longest = max(len(row["worker"]) for row in rows) if named else 0
    left = min(0.03 + 0.0105 * longest, 0.4)
    figure.subplots_adjust(left=left, right=0.985, bottom=0.5 / height, top=1 - 0.35 / height)
    return to_svg(
        figure,
        name="workers",
        title="Workers on control items" if seen else "Seconds a unit of each worker",
        description=workers_sentence(workers, threshold),
    )


def workers_sentence(workers: Sequence[Mapping[str, Any]], threshold: float) -> str:
    if not workers:
        return NO_WORKERS
    seen = [row for row in workers if row["controls_seen"]]
    count = "1 worker" if len(workers) == 1 else f"{len(workers):,} workers"
    times = sorted(row["seconds"] for row in workers if row["seconds"] is not None)
    pace = f" The median worker takes {times[len(times) // 2]:.1f} s a unit." if times else ""
    if not seen:
        return f"{count}; none of them saw a control item, so all judgments are used.{pace}"
    below = sum(not row["used"] for row in seen)
    if not below:
        return f"{count}; all who saw control items got at least {100 * threshold:g} % of them right.{pace}"
    return (
        f"{count}; {below:,} got less than {100 * threshold:g} % of their control items right, and their judgments "
        f"are set aside.{pace}"
    )
