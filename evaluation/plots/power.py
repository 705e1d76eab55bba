"""Plot power over the number of pairs, one line per number of references and votes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.plots.canvas import (
    ACCENT,
    DASH,
    INK,
    LEVEL,
    SMALL,
    SOFT,
    SOFT_OPACITY,
    new_plot,
    to_svg,
    write_beside,
)

MOST_LINES = 4
APART = 0.07  # of the axis between two labels


def power_figure(result: Mapping[str, Any]) -> str:
    """Plot the cheapest design's curve with intervals, and its neighbours muted.

    ``result`` comes from ``compute_plan``.
    """
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
    words, small = f"wanted: {_percent(result['wanted'])}", SOFT | {"fontsize": SMALL - 1}
    axes.text(0.0, result["wanted"], words, transform=axes.get_yaxis_transform(), va="bottom", **small)
    axes.set_ylim(0, 1.03)
    axes.set_xlim(left=0)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel("pairs", **SOFT)
    figure.subplots_adjust(left=0.08, right=0.77, bottom=0.5 / height, top=0.97)
    return to_svg(
        figure,
        name="power",
        title="Power over the number of pairs",
        description=power_sentence(result),
        simulated=False,
    )


def power_sentence(result: Mapping[str, Any]) -> str:
    best = result["best"]
    if best is None:
        most = max(result["tried"], key=lambda row: row["power"])
        return (
            f"None of these designs surely finds the difference in {_percent(result['wanted'])} of studies; the "
            f"strongest, {in_words(most)}, does in {_percent(most['power'])} ({_interval(most)})."
        )
    words = (
        f"{in_words(best)[0].upper()}{in_words(best)[1:]} find the difference in {_percent(best['power'])} of "
        f"studies ({_interval(best)}); in {_percent(best['wrong'], 1)} the wrong one is ahead."
    )
    for name, row in (
        ("One vote less would", result["fewer_votes"]),
        ("Half the pairs would", result["half_the_pairs"]),
    ):
        if row is not None:
            words += f" {name} find it in {_percent(row['power'])}."
    return words


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _interval(row: Mapping[str, Any]) -> str:
    return f"95 % interval {_percent(row['low'])} to {_percent(row['high'])}"


def in_words(row: Mapping[str, Any]) -> str:
    """Describe a design: 300 pairs with 3 votes each."""
    votes = "1 vote" if row["votes"] == 1 else f"{row['votes']:,} votes"
    if row["references"] == 1:
        return f"{row['pairs']:,} pairs with {votes} each"
    return f"{row['pairs']:,} pairs with {row['references']:,} references each and {votes} on each of them"


def _name(key: tuple[int, int], shown: list[tuple[int, int]]) -> str:
    votes = "1 vote" if key[1] == 1 else f"{key[1]} votes"
    if all(one[0] == 1 for one in shown):
        return votes
    return f"{key[0]} ref{'' if key[0] == 1 else 's'}, {votes}"
