"""Plot metrics against people, and agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from common.amounts import coefficient, thousands
from evaluation.presentation.content import percent
from evaluation.presentation.plots.canvas import (
    INK,
    NORMAL,
    ROW,
    SMALL,
    SOFT,
    Dot,
    draw_coefficients,
    draw_dots,
    draw_level,
    label_of,
    new_figure,
    quiet_axes,
    to_svg,
)
from evaluation.results.verdict import (
    UNTESTED,
    cells_of,
    leaders_by_intervals,
    levels_sentence,
    verdict_sentence,
)
from evaluation.statistics.agreement.alpha_and_gwet import NO_PAIRS

CHANCE = 0.5
NOTHING = gettext_noop("No metric was held against people's judgments yet.")
PEOPLE = gettext_noop("one judge")
# Krippendorff's customary threshold for reliable conclusions.
RELIABLE = 0.8
NO_AGREEMENT = gettext_noop("No item has two judgments that count yet.")


def accuracy_figure(result: Mapping[str, Any]) -> str:
    """Plot each metric's accuracy by pair kind, or its tau-b; "" without data.

    ``result`` comes from ``evaluate_study``. People have no level, as their own consensus is the standard;
    results from before 0.6 have how often one judge agrees with the majority of others.
    """
    metrics = result.get("metrics", {})
    if not metrics:
        return ""
    if not _has_accuracy(metrics):
        return _correlation_figure(result)
    leaders = _leaders(result)
    names = sorted(metrics, key=lambda name: -_value(metrics[name]["accuracy"]["all"]))
    kinds = list(metrics[names[0]]["accuracy"])
    lows = [metrics[name]["accuracy"][kind]["low"] for name in names for kind in kinds]
    people = {} if "halves" in result else result.get("people") or {}
    levels = [people[kind]["value"] for kind in kinds if kind in people]
    least = min(end for end in (CHANCE, *lows, *levels) if end is not None)
    height = 1.0 + _rows_height(names)
    figure = new_figure(height)
    panels = figure.subplots(1, len(kinds), squeeze=False)[0]
    for index, (axes, kind) in enumerate(zip(panels, kinds, strict=True)):
        quiet_axes(axes)
        axes.set_xlim(least - 0.04, 1.02)
        # A long axis leaves no room for the number in the middle.
        middle = "75" if least > 0.2 else ""
        axes.set_xticks([0.5, 0.75, 1.0], ["50 %" if index == 0 else "50", middle, "100"])
        cells = [metrics[name]["accuracy"][kind] for name in names]
        dots = [_dot(name, cell, accent=name in leaders) for name, cell in zip(names, cells, strict=True)]
        draw_dots(axes, dots, named=index == 0)
        axes.set_title(f"{_(kind)}\n", fontsize=NORMAL, color=INK, loc="left", pad=10, fontweight="bold")
        small = SOFT | {"fontsize": SMALL - 1}
        count = f"n = {cells[0]['n']:,}\n\n"
        axes.text(1.0, 1.0, count, transform=axes.transAxes, ha="right", va="bottom", **small)
        # Label each line once: chance in the first panel, human level in the last.
        draw_level(axes, CHANCE, _("chance") if index == 0 else "")
        level = people.get(kind, {}).get("value")
        if level is not None:
            draw_level(axes, level, _(PEOPLE) if index == len(kinds) - 1 else "", dashed=False)
    figure.subplots_adjust(
        left=_left_margin(names), right=0.985, bottom=0.34 / height, top=1 - 0.62 / height, wspace=0.2
    )
    return to_svg(
        figure,
        name="accuracy",
        title=_("Accuracy of each metric by pair kind"),
        description=f"{accuracy_sentence(result)} {_describe_accuracies(metrics)}",
    )


def accuracy_sentence(result: Mapping[str, Any]) -> str:
    """Return the verdict, and levels to compare with."""
    if not result.get("metrics"):
        return _(NOTHING)
    if "verdict" not in result:
        return _(UNTESTED)
    sentence = verdict_sentence(result["verdict"]["all"], cells_of(result))
    return " ".join(filter(None, (sentence, levels_sentence(result))))


def _leaders(result: Mapping[str, Any]) -> Sequence[str]:
    leaders: Sequence[str] = result["verdict"]["all"]["leaders"] if "verdict" in result else ()
    return leaders


def _correlation_figure(result: Mapping[str, Any]) -> str:
    metrics = result["metrics"]
    leaders = _leaders(result)
    names = sorted(metrics, key=lambda name: -_value(metrics[name]["kendall_tau_b"]))
    dots = [_dot(name, metrics[name]["kendall_tau_b"], accent=name in leaders) for name in names]
    label = _("Kendall's tau-b with people, 95 % interval")
    figure, axes = draw_coefficients(dots, label, height=0.85 + _rows_height(names), left=_left_margin(names))
    draw_level(axes, 1.0, _("people's order"), dashed=False, align="right")
    spoken = "; ".join(
        f"{name} {_('undefined') if dot.value is None else coefficient(dot.value)}"
        for name, dot in zip(names, dots, strict=True)
    )
    return to_svg(
        figure,
        name="accuracy",
        title=_("Rank correlation of each metric with people"),
        description=f"{accuracy_sentence(result)} Tau-b: {spoken}.",
    )


def _has_accuracy(metrics: Mapping[str, Any]) -> bool:
    return all("accuracy" in figures for figures in metrics.values())


def _value(cell: Mapping[str, Any]) -> float:
    return float("-inf") if cell["value"] is None else float(cell["value"])


def _dot(name: str, cell: Mapping[str, Any], *, accent: bool) -> Dot:
    return Dot(label_of(name), cell["value"], cell["low"], cell["high"], accent=accent)


def _rows_height(names: Sequence[str]) -> float:
    lines = max(name.count("|") + 1 for name in names)
    return ROW * len(names) * max(1.0, 0.62 * lines)


def _left_margin(names: Sequence[str]) -> float:
    return 0.04 + 0.0115 * max(len(line) for name in names for line in label_of(name).split("\n"))


def _describe_accuracies(metrics: Mapping[str, Any]) -> str:
    parts = []
    for name, figures in metrics.items():
        cells = figures["accuracy"].items()
        accuracies = ", ".join(
            f"{kind} {percent(cell['value'])}" for kind, cell in cells if cell["value"] is not None
        )
        parts.append(f"{name}: {accuracies}.")
    return " ".join(parts)


def agreement_figure(agreement: Mapping[str, Any]) -> str:
    """Plot alpha by level and pair kind; "" without data."""
    if not agreement or not agreement["alpha"]["n"]:
        return ""
    dots = [_agreement_dot(_all_items(agreement["alpha"]["level"]), agreement["alpha"], accent=True)]
    if "ordinal" in agreement:
        dots.append(_agreement_dot(_all_items("ordinal"), agreement["ordinal"]))
    dots += [_agreement_dot(kind, figure) for kind, figure in agreement.get("by_kind", {}).items()]
    figure, axes = draw_coefficients(
        dots,
        _("Krippendorff's alpha, 95 % interval"),
        height=0.85 + ROW * len(dots),
        left=0.04 + 0.0105 * max(len(dot.label) for dot in dots),
    )
    draw_level(axes, RELIABLE, _("reliable from .80"))
    spoken = "; ".join(f"{dot.label} {coefficient(dot.value)}" for dot in dots if dot.value is not None)
    return to_svg(
        figure,
        name="agreement",
        title=_("Agreement between judges"),
        description=f"{agreement_sentence(agreement)} {spoken}.",
    )


def agreement_sentence(agreement: Mapping[str, Any]) -> str:
    if not agreement or not agreement["alpha"]["n"]:
        why = agreement["alpha"]["reason"] if agreement else ""
        if why in ("", NO_PAIRS):
            return _(NO_AGREEMENT)
        return _("Agreement is not measured: %(why)s.") % {"why": _(why).rstrip(".")}
    alpha = agreement["alpha"]
    if alpha["value"] is None:
        why = alpha["reason"]
        return _("Agreement is undefined: %(why)s.") % {"why": _(why)}
    interval = _("no interval")
    if alpha["low"] is not None:
        interval = _("95 %% interval %(low)s to %(high)s") % {
            "low": coefficient(alpha["low"]),
            "high": coefficient(alpha["high"]),
        }
    sentence = _(
        "Judges agree with alpha %(value)s (%(interval)s, %(level)s) on %(n)s items with %(judgments)s judgments; 0 is "
        "chance, 1 full agreement."
    ) % {
        "value": coefficient(alpha["value"]),
        "interval": interval,
        "level": alpha["level"],
        "n": thousands(alpha["n"]),
        "judgments": thousands(alpha["judgments"]),
    }
    if alpha["reason"]:
        sentence += " " + _("There is no interval: %(why)s.") % {"why": _(alpha["reason"])}
    by_kind = agreement.get("by_kind", {})
    kinds = {name: figure for name, figure in by_kind.items() if figure["low"] is not None}
    best, *others = leaders_by_intervals(kinds)[0] or [""]
    if best and not others and len(kinds) > 1:
        sentence += " " + _("%(kind)s pairs are clearest to them (%(value)s).") % {
            "kind": best,
            "value": coefficient(kinds[best]["value"]),
        }
    return sentence


def _all_items(level: str) -> str:
    return _("all items (%(level)s)") % {"level": level}


def _agreement_dot(label: str, figure: Mapping[str, Any], *, accent: bool = False) -> Dot:
    return Dot(label, figure["value"], figure["low"], figure["high"], accent=accent)
