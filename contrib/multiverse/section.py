"""Report a multiverse of analyses as specification curves and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contrib.multiverse.choices import LABELS
from contrib.multiverse.conclusions import AGREEMENT, BEST_METRIC, passes_threshold
from evaluation.presentation.content import Estimate, Level, Plot, Section, Specifications, Table
from evaluation.presentation.rendering import add_wording, plot, render_sentence, section, table

add_wording(Path(__file__).parent / "wording.toml")

MAX_CURVES = 4
MAX_POINTS = 240  # number of specifications in a curve; they are evenly spaced in the sorted order

Result = Mapping[str, Any]


def multiverse_section(result: Result) -> Section:
    """Return the section: sentences, tables, and curves of the first and of the least stable conclusions."""
    conclusions = result["conclusions"]
    least = sorted(
        (claim for claim in conclusions if claim["name"] not in (BEST_METRIC, AGREEMENT)),
        key=lambda claim: claim["holds"],
    )
    headline = [claim for claim in conclusions if claim["name"] in (BEST_METRIC, AGREEMENT)]
    drawn_curves = (headline + least)[:MAX_CURVES]
    curves = [_curve_plot(result, claim, explained=index == 0) for index, claim in enumerate(drawn_curves)]
    return section(
        "multiverse",
        [curve.sentence for curve in curves],
        curves,
        [_conclusions_table(result), _choices_table(result)],
    )


def _claim_sentence(claim: Result) -> str:
    figures = {name: claim[name] for name in ("better", "worse", "threshold", "below")}
    accuracy = claim["axis"] == "accuracy"
    return render_sentence(
        "multiverse-claim", agreement=claim["name"] == AGREEMENT, accuracy=accuracy, **figures
    )


def _conclusion_sentence(result: Result, claim: Result) -> str:
    choices = claim["choices"]
    moved_by = claim["moved_by"]
    means = {
        option: figures["mean"]
        for option, figures in choices.get(moved_by, {}).items()
        if figures["mean"] is not None
    }
    flips = {
        name: [option for option, figures in options.items() if figures["n"] and not figures["holds"]]
        for name, options in choices.items()
    }
    return render_sentence(
        "multiverse",
        claim=_claim_sentence(claim),
        holds=claim["holds"],
        clear=claim["clear"],
        n=claim["n"],
        possible=result["universes"][claim["universe"]]["possible"],
        shows=claim["shows"],
        agreement=claim["name"] == AGREEMENT,
        moved_by=LABELS[moved_by] if moved_by and claim["ranges"][moved_by] else "",
        lowest=min(means, key=lambda name: means[name], default=""),
        highest=max(means, key=lambda name: means[name], default=""),
        low=min(means.values(), default=0.0),
        high=max(means.values(), default=0.0),
        never=[f"{LABELS[name]}: {', '.join(options)}" for name, options in flips.items() if options],
    )


def _curve_plot(result: Result, claim: Result, *, explained: bool) -> Plot:
    universe = result["universes"][claim["universe"]]
    choices, specifications = universe["choices"], universe["specifications"]
    values = np.array(claim["value"], dtype=np.float64)  # this turns None into nan
    order: list[int] = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))].tolist()
    ends = list(zip(claim["value"], claim["low"], claim["high"], strict=True))
    data = table(
        "multiverse-curve",
        [
            (
                rank,
                Estimate(*ends[index], claim["n"]),
                "yes" if index == 0 else "",
                *(
                    choice["options"][option]
                    for choice, option in zip(choices, specifications[index], strict=True)
                ),
            )
            for rank, index in enumerate(order, start=1)
        ],
        [
            ("rank", "count"),
            ("estimate", claim["shows"]),
            ("as reported", "text"),
            *((choice["label"], "text") for choice in choices),
        ],
        name=f"multiverse-{claim['name']}",
        claim=_claim_sentence(claim),
    )
    shown_rows = _thin_evenly(order)
    values = np.array([claim["value"][index] for index in shown_rows])
    holds = passes_threshold(
        values, claim["threshold"], below=claim["below"], inclusive=claim["name"] == AGREEMENT
    )
    drawing = Specifications(
        estimates=tuple(Estimate(*ends[index]) for index in shown_rows),
        holds=tuple(holds.tolist()),
        reported=shown_rows.index(0) if 0 in shown_rows else None,
        choices=tuple((choice["label"], tuple(choice["options"])) for choice in choices),
        taken=tuple(tuple(specifications[index]) for index in shown_rows),
        level=Level(
            "no difference" if claim["name"] != AGREEMENT else f"{claim['threshold']:g}".lstrip("0"),
            claim["threshold"],
        ),
        axis=render_sentence(
            "multiverse-axis", axis=claim["axis"], better=claim["better"], worse=claim["worse"]
        ),
        shows=claim["shows"],
    )
    sentence = render_sentence(
        "multiverse-curve",
        sentence=_conclusion_sentence(result, claim),
        explained=explained,
        drawn=len(shown_rows),
        n=len(order),
    )
    return plot(sentence, drawing, data)


def _thin_evenly(order: Sequence[int]) -> list[int]:
    """Return at most MAX_POINTS evenly spaced members of the order. Always keep 0, the reported specification."""
    if len(order) <= MAX_POINTS:
        return list(order)
    positions = set(np.linspace(0, len(order) - 1, MAX_POINTS - 1).round().astype(int).tolist())
    if 0 in order:
        positions.add(list(order).index(0))
    return [order[position] for position in sorted(positions)]


def _conclusions_table(result: Result) -> Table:
    return table(
        "multiverse-conclusions",
        [
            (
                _claim_sentence(claim),
                claim["holds"],
                claim["clear"],
                claim["n"],
                claim["value"][0],
                claim["least"],
                claim["median"],
                claim["most"],
                LABELS[claim["moved_by"]] if claim["moved_by"] and claim["ranges"][claim["moved_by"]] else "",
            )
            for claim in result["conclusions"]
        ],
        most=result["most"],
        seed=result["seed"],
        sampled=any(len(row["specifications"]) < row["possible"] for row in result["universes"].values()),
    )


def _choices_table(result: Result) -> Table:
    columns = ("n", "mean", "holds", "clear")
    return table(
        "multiverse-choices",
        [
            (_claim_sentence(claim), LABELS[name], option, *(figures[column] for column in columns))
            for claim in result["conclusions"]
            for name, options in claim["choices"].items()
            for option, figures in options.items()
        ],
    )
