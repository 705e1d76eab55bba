"""Results as tables and sentences: what a figure means, said so that nobody reads more into it than is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judgments.templatetags.quorum_figures import coefficient

ENOUGH = 20  # judgments from which a habit is worth a note
ONE_SIDE = 0.9
KIND_ORDER = ("HC", "HI", "HM", "MM")


def agreement_in_words(agreement: Mapping[str, Any]) -> str:
    """What alpha says."""
    alpha = agreement["alpha"]
    value = alpha["value"]
    if value is None:
        return f"There is no figure yet: {alpha['reason'] or 'too few units were judged twice'}."
    if value < 0.05:
        verdict = "Workers agree no more than by chance"
    elif value < 0.4:
        verdict = (
            "Workers agree a little beyond chance: single answers say little, the consensus of several more"
        )
    elif value < 0.667:
        verdict = "Workers agree well beyond chance, and still differ often"
    elif value < 0.8:
        verdict = "Workers agree well: tentative conclusions are commonly drawn from here on"
    else:
        verdict = "Workers agree very well"
    wide = alpha["low"] is not None and alpha["high"] - alpha["low"] > 0.2
    return f"{verdict}." + (" The interval is wide: more judgments would settle the figure." if wide else "")


def worker_note(row: Mapping[str, Any], threshold: Any) -> str:
    """What to know about a worker: set aside and why, or an eye-catching habit."""
    notes = []
    if not row["used"]:
        below = row["controls_share"] is not None and isinstance(threshold, float | int)
        notes.append(f"set aside: below {coefficient(threshold)} on control items" if below else "set aside")
    left = row["left_share"]
    if left is not None and row["judgments"] >= ENOUGH and not 1 - ONE_SIDE < left < ONE_SIDE:
        notes.append("nearly always left" if left >= ONE_SIDE else "nearly always right")
    return "; ".join(notes)


def workers_in_words(workers: Sequence[Mapping[str, Any]], threshold: Any) -> str:
    """How many are set aside, and by which rule."""
    aside = [row for row in workers if not row["used"]]
    if not aside:
        return "Every worker's judgments are used."
    answers = sum(row["judgments"] for row in aside)
    who = "1 worker is" if len(aside) == 1 else f"{len(aside)} workers are"
    rule = (
        f"below {coefficient(threshold)} on control items"
        if isinstance(threshold, float | int)
        else "as imported"
    )
    return f"{who} set aside ({rule}); their {answers:,} judgments are kept, but not used."


def accuracy_table(result: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics by pair kinds: columns, and rows of figures, the best metric over all pairs first."""
    found = result["metrics"]
    names = {kind for figures in found.values() for kind in figures["accuracy"]}
    kinds = [kind for kind in KIND_ORDER if kind in names]
    kinds += sorted(names - set(kinds) - {"all"})
    columns = [*kinds, "all"] if "all" in names else kinds
    rows = [
        {
            "name": name,
            "order": (figures["accuracy"].get(columns[-1]) or {}).get("value") or 0.0,
            "cells": [_share_cell(figures["accuracy"].get(kind)) for kind in columns],
        }
        for name, figures in found.items()
    ]
    rows.sort(key=lambda row: -row["order"])
    people = result.get("people") or {}
    return {
        "columns": columns,
        "rows": rows,
        "people": [_share_cell(people.get(kind)) for kind in columns] if people else [],
    }


def _share_cell(figure: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A share with no more digits than its interval supports."""
    if figure is None or figure["value"] is None:
        return None
    low, high = figure["low"], figure["high"]
    digits = 1 if low is not None and high - low < 0.1 else 0
    return {
        "value": f"{100 * figure['value']:.{digits}f} %",
        "range": f"{100 * low:.{digits}f} to {100 * high:.{digits}f} %" if low is not None else "",
        "n": figure["n"],
    }


def _coefficient_cell(figure: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A coefficient with its interval."""
    if figure is None or figure["value"] is None:
        return None
    low, high = figure["low"], figure["high"]
    between = f"{coefficient(low)} to {coefficient(high)}" if low is not None and high is not None else ""
    return {"value": coefficient(figure["value"]), "range": between, "n": figure["n"]}


def correlation_table(result: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics by coefficient, and the best kappa of each."""
    rows = []
    for name, figures in result["metrics"].items():
        cells = [cell for cell in figures["kappa"] if cell["value"] is not None]
        best = max(cells, key=lambda cell: cell["value"], default=None)
        tau, rho = figures["kendall_tau_b"], figures["spearman"]
        rows.append(
            {
                "name": name,
                "order": tau["value"] or 0.0,
                "cells": [_coefficient_cell(one) for one in (tau, rho, best)],
            }
        )
    rows.sort(key=lambda row: -row["order"])
    return {
        "columns": ["Kendall's tau-b", "Spearman's rho", "best kappa"],
        "rows": rows,
        "people": [],
        "share": False,
    }


def metrics_in_words(result: Mapping[str, Any]) -> str:
    """Which metric is ahead, and whether that is settled."""
    key = (
        "accuracy"
        if all("accuracy" in figures for figures in result["metrics"].values())
        else "kendall_tau_b"
    )
    figures = {}
    for name, all_of_it in result["metrics"].items():
        one = all_of_it[key].get("all") if key == "accuracy" else all_of_it[key]
        if one and one["value"] is not None:
            figures[name] = one
    if not figures:
        return "No metric can be compared with people yet."
    ranked = sorted(figures, key=lambda name: -figures[name]["value"])
    best = figures[ranked[0]]
    cell = _share_cell(best) if key == "accuracy" else _coefficient_cell(best)
    said = cell["value"] if cell else ""
    what = (
        f"names the people's winner in {said} of {best['n']:,} pairs"
        if key == "accuracy"
        else f"agrees with people best (tau-b {said}, n = {best['n']:,})"
    )
    close = [
        name
        for name in ranked[1:]
        if figures[name]["high"] is not None and figures[name]["high"] >= best["low"]
    ]
    if len(ranked) == 1:
        return f"{ranked[0]} {what}."
    if close:
        return f"Not settled: {ranked[0]} {what}, but its interval overlaps that of {_listed(close)}."
    return f"{ranked[0]} {what}, ahead of all others by more than the intervals are wide."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
