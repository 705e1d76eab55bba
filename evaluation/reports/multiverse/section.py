"""Report a multiverse as specification curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.presentation.content import Estimate, Level, Plot, Section, Specifications, Table
from evaluation.presentation.rendering import plot, say, section, table
from evaluation.reports.multiverse.choices import LABELS
from evaluation.reports.multiverse.curve import AGREEMENT, BEST

MOST_CURVES = 4
MOST_POINTS = 240  # specifications in a curve, evenly over the sorted ones

Result = Mapping[str, Any]


def multiverse_section(result: Result) -> Section:
    """Return sentences, curves and tables; after the first, the least stable conclusions are drawn."""
    conclusions = result["conclusions"]
    least = sorted(
        (one for one in conclusions if one["name"] not in (BEST, AGREEMENT)), key=lambda one: one["holds"]
    )
    named = [one for one in conclusions if one["name"] in (BEST, AGREEMENT)]
    drawn = (named + least)[:MOST_CURVES]
    curves = [_curve_plot(result, one, explained=place == 0) for place, one in enumerate(drawn)]
    return section(
        "multiverse",
        [curve.sentence for curve in curves],
        curves,
        [_conclusions_table(result), _choices_table(result)],
    )


def _claim_sentence(one: Result) -> str:
    return say(
        "multiverse-claim",
        agreement=one["name"] == AGREEMENT,
        better=one["better"],
        worse=one["worse"],
        threshold=one["threshold"],
        below=one["below"],
        accuracy=one["axis"] == "accuracy",
    )


def _conclusion_sentence(result: Result, one: Result) -> str:
    choices = one["choices"]
    moved_by = one["moved_by"]
    means = {name: of["mean"] for name, of in choices.get(moved_by, {}).items() if of["mean"] is not None}
    flips = {
        name: [option for option, of in of_option.items() if of["n"] and not of["holds"]]
        for name, of_option in choices.items()
    }
    return say(
        "multiverse",
        claim=_claim_sentence(one),
        holds=one["holds"],
        clear=one["clear"],
        n=one["n"],
        possible=result["universes"][one["universe"]]["possible"],
        shows=one["shows"],
        agreement=one["name"] == AGREEMENT,
        moved_by=LABELS[moved_by] if moved_by and one["ranges"][moved_by] else "",
        lowest=min(means, key=lambda name: means[name], default=""),
        highest=max(means, key=lambda name: means[name], default=""),
        low=min(means.values(), default=0.0),
        high=max(means.values(), default=0.0),
        never=[f"{LABELS[name]}: {', '.join(options)}" for name, options in flips.items() if options],
    )


def _order_by_value(one: Result) -> list[int]:
    values = np.array([np.nan if value is None else value for value in one["value"]], dtype=np.float64)
    return [place for place in np.argsort(values, kind="stable").tolist() if not np.isnan(values[place])]


def _curve_plot(result: Result, one: Result, *, explained: bool) -> Plot:
    universe = result["universes"][one["universe"]]
    choices, taken = universe["choices"], universe["specifications"]
    order = _order_by_value(one)
    data = table(
        "multiverse-curve",
        [
            (
                rank,
                Estimate(one["value"][place], one["low"][place], one["high"][place], one["n"]),
                "yes" if place == 0 else "",
                *(choice["options"][at] for choice, at in zip(choices, taken[place], strict=True)),
            )
            for rank, place in enumerate(order, start=1)
        ],
        [
            ("rank", "count"),
            ("estimate", one["shows"]),
            ("as reported", "text"),
            *((choice["label"], "text") for choice in choices),
        ],
        name=f"multiverse-{one['name']}",
        claim=_claim_sentence(one),
    )
    shown = _thin_evenly(order)
    drawing = Specifications(
        estimates=tuple(
            Estimate(one["value"][place], one["low"][place], one["high"][place]) for place in shown
        ),
        holds=tuple(_holds(one, one["value"][place]) for place in shown),
        reported=shown.index(0) if 0 in shown else None,
        choices=tuple((choice["label"], tuple(choice["options"])) for choice in choices),
        taken=tuple(tuple(taken[place]) for place in shown),
        level=Level(
            "no difference" if one["name"] != AGREEMENT else f"{one['threshold']:g}".lstrip("0"),
            one["threshold"],
        ),
        axis=say("multiverse-axis", axis=one["axis"], better=one["better"], worse=one["worse"]),
        shows=one["shows"],
    )
    sentence = say(
        "multiverse-curve",
        sentence=_conclusion_sentence(result, one),
        explained=explained,
        drawn=len(shown),
        n=len(order),
    )
    return plot(sentence, drawing, data)


def _thin_evenly(order: Sequence[int]) -> list[int]:
    """Return at most MOST_POINTS of the order, with 0, the reported choices."""
    if len(order) <= MOST_POINTS:
        return list(order)
    at = set(np.linspace(0, len(order) - 1, MOST_POINTS - 1).round().astype(int).tolist())
    if 0 in order:
        at.add(list(order).index(0))
    return [order[place] for place in sorted(at)]


def _holds(one: Result, value: float) -> bool:
    if one["below"]:
        return value < one["threshold"]
    return value >= one["threshold"] if one["name"] == AGREEMENT else value > one["threshold"]


def _conclusions_table(result: Result) -> Table:
    return table(
        "multiverse-conclusions",
        [
            (
                _claim_sentence(one),
                one["holds"],
                one["clear"],
                one["n"],
                one["value"][0],
                one["least"],
                one["median"],
                one["most"],
                LABELS[one["moved_by"]] if one["moved_by"] and one["ranges"][one["moved_by"]] else "",
            )
            for one in result["conclusions"]
        ],
        most=result["most"],
        seed=result["seed"],
        sampled=any(len(one["specifications"]) < one["possible"] for one in result["universes"].values()),
    )


def _choices_table(result: Result) -> Table:
    return table(
        "multiverse-choices",
        [
            (_claim_sentence(one), LABELS[name], option, of["n"], of["mean"], of["holds"], of["clear"])
            for one in result["conclusions"]
            for name, of_option in one["choices"].items()
            for option, of in of_option.items()
        ],
    )
