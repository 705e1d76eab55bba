"""Plot a study's progress, and its workers' control results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from common.amounts import thousands
from evaluation.presentation.plots.canvas import (
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
NO_JUDGMENTS = gettext_noop("No judgments yet.")
NO_WORKERS = gettext_noop("No participant has finished a page of work yet.")


def progress_figure(progress: Mapping[str, Any], zone: str = "UTC") -> str:
    """Plot judgments over time, in a time zone, and the wanted number; "" before the first."""
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
        label = _("wanted: %(n)s") % {"n": thousands(wanted)}
        axes.text(0.0, wanted, label, transform=axes.get_yaxis_transform(), **SOFT, va="bottom")
    # below the level where it would run through the number
    offset = (8, -10) if abs(wanted - counts[-1]) < 0.06 * wanted else (8, 0)
    write_beside(axes, thousands(counts[-1]), (times[-1], counts[-1]), offset, color=ACCENT, va="center")
    _name_times(axes, times[0], span, zone)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: thousands(round(value)))
    axes.set_ylabel(_("judgments"), **SOFT)
    figure.subplots_adjust(left=0.12, right=0.985, bottom=0.23, top=0.9)
    return to_svg(
        figure,
        name="progress",
        title=_("Judgments over time"),
        description=progress_sentence(progress),
    )


def _name_times(axes: Axes, start: float, span: float, zone: str) -> None:
    days = span > 2 * DAY
    moments = [start + share * span for share in ((0, 1 / 3, 2 / 3, 1) if span > HOUR else (0, 1))]
    times = [datetime.fromtimestamp(moment, tz=ZoneInfo(zone)) for moment in moments]
    labels = [date_format(moment, "j M") if days else f"{moment:%H:%M}" for moment in times]
    axes.set_xticks(moments, labels)
    first, last = times[0].date(), times[-1].date()
    until = date_format(last, "j M Y")
    label = (
        date_format(first, "j F Y")
        if first == last
        else _("%(first)s to %(last)s") % {"first": date_format(first, "j M"), "last": until}
    )
    axes.set_xlabel(f"{label} ({zone})", **SOFT)


def progress_sentence(progress: Mapping[str, Any]) -> str:
    done, wanted = progress["judgments"], progress["wanted"]
    if not done:
        if not wanted:
            return _(NO_JUDGMENTS)
        return _("No judgments yet. %(wanted)s are wanted on %(pages)s pages of work.") % {
            "wanted": thousands(wanted),
            "pages": thousands(progress["hits"]),
        }
    if not wanted:
        sentence = ngettext("One judgment was imported.", "%(n)s judgments were imported.", done)
        return sentence % {"n": thousands(done)}
    return _(
        "%(n)s of %(wanted)s judgments are in (%(share)s %%); %(done)s of %(pages)s pages of work are complete."
    ) % {
        "n": thousands(done),
        "wanted": thousands(wanted),
        "share": f"{100 * done / wanted:.0f}",
        "done": thousands(progress["hits_done"]),
        "pages": thousands(progress["hits"]),
    }


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
        below = [y for y, row in enumerate(rows) if not row["used"]]
        for y in below:
            axes.plot([rows[y]["controls_share"]], [y], "X", color=WARN, markersize=9, markeredgewidth=0)
        if below:
            point = (rows[below[0]]["controls_share"], below[0])
            write_beside(axes, _("set aside"), point, (8, 8), fontsize=SMALL - 1, color=WARN)
        draw_level(axes, threshold, _("used from %(share)s %%") % {"share": f"{100 * threshold:g}"})
        label = _("check questions right, 95 % interval")
    else:
        axes.set_xlim(0, 1.08 * max(row["seconds"] for row in rows))
        draw_dots(axes, [Dot(row["worker"], row["seconds"]) for row in rows], named=named)
        label = _("median seconds an item")
    axes.set_xlabel(label, **SOFT)
    longest = max(len(row["worker"]) for row in rows) if named else 0
    left = min(0.03 + 0.0105 * longest, 0.4)
    figure.subplots_adjust(left=left, right=0.985, bottom=0.5 / height, top=1 - 0.35 / height)
    return to_svg(
        figure,
        name="workers",
        title=_("Participants on check questions") if seen else _("Seconds an item of each participant"),
        description=workers_sentence(workers, threshold),
    )


def workers_sentence(workers: Sequence[Mapping[str, Any]], threshold: float) -> str:
    if not workers:
        return _(NO_WORKERS)
    seen = [row for row in workers if row["controls_seen"]]
    count = ngettext("%(n)s participant", "%(n)s participants", len(workers)) % {"n": thousands(len(workers))}
    share = f"{100 * threshold:g}"
    below = sum(not row["used"] for row in seen)
    if not seen:
        sentence = _("%(count)s; none of them saw a check question, so all judgments are used.")
    elif not below:
        sentence = _("%(count)s; all who saw check questions got at least %(share)s %% of them right.")
    else:
        sentence = _(
            "%(count)s; %(below)s got less than %(share)s %% of their check questions right, and their judgments are "
            "set aside."
        )
    sentence %= {"count": count, "share": share, "below": thousands(below)}
    times = sorted(row["seconds"] for row in workers if row["seconds"] is not None)
    if not times:
        return sentence
    pace = _("The median participant takes %(seconds)s s an item.") % {
        "seconds": f"{times[len(times) // 2]:.1f}"
    }
    return f"{sentence} {pace}"
