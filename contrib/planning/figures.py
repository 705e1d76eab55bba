"""Plot the power of a plan's designs, and describe the plan in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from matplotlib.axes import Axes

from common.amounts import interval_in_text, percent, thousands
from evaluation.presentation.plots.canvas import (
    ACCENT,
    DASH,
    INK,
    LEVEL_STYLE,
    SMALL,
    SOFT_OPACITY,
    SOFT_STYLE,
    new_plot,
    to_svg,
    write_beside,
)

MAX_LINES = 4
LABEL_GAP = 0.07  # least distance between two labels, as a fraction of the axis


class _LineKey(NamedTuple):
    """The numbers that all designs on a line of the plot have in common."""

    references: int
    votes: int


def power_figure(result: Mapping[str, Any]) -> str:
    """Return an SVG plot of power by the number of pairs.

    It has a line for the numbers of references and votes of the cheapest sufficient design (the largest numbers if none
    suffices), with intervals, and lines for similar numbers in a muted colour.

    Args:
        result: the plan: ``wanted``, the target power, and ``tried``, designs such as {"pairs": 300, "references": 1,
            "votes": 3, "power": .82, "low": .8, "high": .84, "wrong": .001}; ``best``, the cheapest sufficient one, and
            the smaller ``fewer_votes`` and ``half_the_pairs``, which are also designs, or None.
    """
    lines: dict[_LineKey, list[Mapping[str, Any]]] = {}
    for row in result["tried"]:
        lines.setdefault(_LineKey(row["references"], row["votes"]), []).append(row)
    best = result["best"]
    best_key = _LineKey(best["references"], best["votes"]) if best else max(lines)
    other_keys = sorted(
        (key for key in lines if key != best_key),
        key=lambda key: (abs(key.references - best_key.references), abs(key.votes - best_key.votes), key),
    )
    shown_keys = [best_key, *other_keys[: MAX_LINES - 1]]
    height = 3.2  # inches
    figure, axes = new_plot(height, grid="both")
    labels = []
    for key in reversed(shown_keys):
        rows = sorted(lines[key], key=lambda row: row["pairs"])
        is_best = key == best_key
        _draw_line(axes, rows, is_best=is_best)
        colour = ACCENT if is_best else INK
        labels.append((rows[-1]["power"], rows[-1]["pairs"], _format_line_name(key, shown_keys), colour))
    label_height = 2.0  # above the axis
    # Labels are placed from the top down, each at the end of its line, or LABEL_GAP below the previous label.
    for power, last_pairs, name, colour in sorted(labels, reverse=True):
        label_height = min(power, label_height - LABEL_GAP)
        alpha = 1 if colour == ACCENT else SOFT_OPACITY
        write_beside(axes, name, (last_pairs, label_height), (8, 0), color=colour, alpha=alpha, va="center")
    # The target's line ends at the largest number of pairs, since a label may stand to the right of it.
    max_pairs = max(row["pairs"] for row in result["tried"])
    axes.plot([0, max_pairs], [result["wanted"]] * 2, **LEVEL_STYLE, linestyle=DASH)
    target_label = _("target: %(n)s") % {"n": percent(result["wanted"])}
    target_style = SOFT_STYLE | {"fontsize": SMALL - 1}
    axes.text(
        0.0, result["wanted"], target_label, transform=axes.get_yaxis_transform(), va="bottom", **target_style
    )
    axes.set_ylim(0, 1.03)
    axes.set_xlim(left=0)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel(_("pairs"), **SOFT_STYLE)
    figure.subplots_adjust(left=0.08, right=0.77, bottom=0.5 / height, top=0.97)
    return to_svg(
        figure, name="power", title=_("Power by number of pairs"), description=power_sentence(result)
    )


def _draw_line(axes: Axes, rows: Sequence[Mapping[str, Any]], *, is_best: bool) -> None:
    """Draw the power of designs by their numbers of pairs. The best line is accentuated, and has intervals."""
    pair_counts = [row["pairs"] for row in rows]
    if is_best:
        low, high = ([row[end] for row in rows] for end in ("low", "high"))
        axes.fill_between(pair_counts, low, high, color=ACCENT, alpha=0.18, linewidth=0)
    axes.plot(
        pair_counts,
        [row["power"] for row in rows],
        "o-",
        color=ACCENT if is_best else INK,
        alpha=1 if is_best else 0.4,
        linewidth=2 if is_best else 1.2,
        markersize=5 if is_best else 3,
        markeredgewidth=0,
    )


def power_sentence(result: Mapping[str, Any]) -> str:
    """Describe the power of the cheapest sufficient design of a plan or, if there is none, of the strongest design.

    ``fewer_votes`` and ``half_the_pairs`` are designs smaller than the cheapest one, or None; see ``power_figure``.
    """
    best = result["best"]
    if best is None:
        strongest = max(result["tried"], key=lambda row: row["power"])
        return _(
            "No design in the list reliably reaches the target power of %(wanted)s. With the best design "
            "(%(design)s), %(power)s of studies find the difference (%(interval)s)."
        ) % {
            "wanted": percent(result["wanted"]),
            "design": describe_design(strongest),
            "power": percent(strongest["power"]),
            "interval": _format_interval(strongest),
        }
    sentence = _(
        "With %(design)s, %(power)s of studies find the difference (%(interval)s). In %(wrong)s of "
        "studies, the wrong system or metric is ahead."
    ) % {
        "design": describe_design(best),
        "power": percent(best["power"]),
        "interval": _format_interval(best),
        "wrong": percent(best["wrong"], 1),
    }
    if result["fewer_votes"] is not None:
        sentence += " " + _("With one vote fewer, the power is %(power)s.") % {
            "power": percent(result["fewer_votes"]["power"])
        }
    if result["half_the_pairs"] is not None:
        sentence += " " + _("With half as many pairs, the power is %(power)s.") % {
            "power": percent(result["half_the_pairs"]["power"])
        }
    return sentence


def _format_interval(row: Mapping[str, Any]) -> str:
    return _("95 %% interval %(ends)s") % {"ends": interval_in_text(row, percent)}


def describe_design(row: Mapping[str, Any]) -> str:
    """Describe the size of a simulated design in words, such as "300 pairs with 3 votes each"."""
    if row["references"] == 1:
        return ngettext(
            "%(pairs)s pairs with %(votes)s vote each",
            "%(pairs)s pairs with %(votes)s votes each",
            row["votes"],
        ) % {"pairs": thousands(row["pairs"]), "votes": thousands(row["votes"])}
    return ngettext(
        "%(pairs)s pairs with %(references)s references each and %(votes)s vote on each reference",
        "%(pairs)s pairs with %(references)s references each and %(votes)s votes on each reference",
        row["votes"],
    ) % {
        "pairs": thousands(row["pairs"]),
        "references": thousands(row["references"]),
        "votes": thousands(row["votes"]),
    }


def _format_line_name(key: _LineKey, shown_keys: list[_LineKey]) -> str:
    votes = ngettext("%(n)s vote", "%(n)s votes", key.votes) % {"n": key.votes}
    if all(shown_key.references == 1 for shown_key in shown_keys):
        return votes
    references = ngettext("%(n)s ref", "%(n)s refs", key.references) % {"n": key.references}
    return f"{references}, {votes}"
