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
    headline = [row for row in conclusions if row["name"] in (BEST_METRIC, AGREEMENT)]
    least_stable = sorted((row for row in conclusions if row not in headline), key=lambda row: row["holds"])
    shown_conclusions = (headline + least_stable)[:MAX_CURVES]
    curves = [_curve_plot(result, row, explained=index == 0) for index, row in enumerate(shown_conclusions)]
    return section(
        "multiverse",
        [curve.sentence for curve in curves],
        curves,
        [_conclusions_table(result), _choices_table(result)],
    )


def _claim_sentence(conclusion: Result) -> str:
    figures = {name: conclusion[name] for name in ("better", "worse", "threshold", "below")}
    is_accuracy = conclusion["axis"] == "accuracy"
    return render_sentence(
        "multiverse-claim", agreement=conclusion["name"] == AGREEMENT, accuracy=is_accuracy, **figures
    )


def _conclusion_sentence(result: Result, conclusion: Result) -> str:
    """Say in how many specifications a conclusion holds, and which choice moves it most."""
    choices = conclusion["choices"]
    means = {
        option: figures["mean"]
        for option, figures in choices.get(conclusion["moved_by"], {}).items()
        if figures["mean"] is not None
    }
    flips = {
        name: [option for option, figures in options.items() if figures["n"] and not figures["holds"]]
        for name, options in choices.items()
    }
    return render_sentence(
        "multiverse",
        claim=_claim_sentence(conclusion),
        holds=conclusion["holds"],
        clear=conclusion["clear"],
        n=conclusion["n"],
        possible=result["universes"][conclusion["universe"]]["possible"],
        shows=conclusion["shows"],
        agreement=conclusion["name"] == AGREEMENT,
        moved_by=_label_of_strongest_choice(conclusion),
        lowest=min(means, key=lambda name: means[name], default=""),
        highest=max(means, key=lambda name: means[name], default=""),
        low=min(means.values(), default=0.0),
        high=max(means.values(), default=0.0),
        never=[f"{LABELS[name]}: {', '.join(options)}" for name, options in flips.items() if options],
    )


def _label_of_strongest_choice(conclusion: Result) -> str:
    """Return the label of the choice that moves the estimate most, or "" if no choice moves it."""
    name = conclusion["moved_by"]
    return LABELS[name] if name and conclusion["ranges"][name] else ""


def _curve_plot(result: Result, conclusion: Result, *, explained: bool) -> Plot:
    """Return the specification curve of a conclusion. If ``explained``, its sentence says how to read it."""
    universe = result["universes"][conclusion["universe"]]
    choices, specifications = universe["choices"], universe["specifications"]
    values = np.array(conclusion["value"], dtype=np.float64)  # this turns None into nan
    order: list[int] = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))].tolist()
    # value, low and high of each specification
    estimates = list(zip(conclusion["value"], conclusion["low"], conclusion["high"], strict=True))
    data = table(
        "multiverse-curve",
        [
            (
                rank,
                Estimate(*estimates[index], conclusion["n"]),
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
            ("estimate", conclusion["shows"]),
            ("as reported", "text"),
            *((choice["label"], "text") for choice in choices),
        ],
        name=f"multiverse-{conclusion['name']}",
        claim=_claim_sentence(conclusion),
    )
    shown_indices = _thin_evenly(order)
    values = np.array([conclusion["value"][index] for index in shown_indices])
    is_agreement = conclusion["name"] == AGREEMENT
    holds = passes_threshold(
        values, conclusion["threshold"], below=conclusion["below"], inclusive=is_agreement
    )
    drawing = Specifications(
        estimates=tuple(Estimate(*estimates[index]) for index in shown_indices),
        holds=tuple(holds.tolist()),
        reported=shown_indices.index(0) if 0 in shown_indices else None,
        choices=tuple((choice["label"], tuple(choice["options"])) for choice in choices),
        option_positions=tuple(tuple(specifications[index]) for index in shown_indices),
        level=Level(
            f"{conclusion['threshold']:g}".lstrip("0") if is_agreement else "no difference",
            conclusion["threshold"],
        ),
        axis=render_sentence(
            "multiverse-axis", axis=conclusion["axis"], better=conclusion["better"], worse=conclusion["worse"]
        ),
        shows=conclusion["shows"],
    )
    sentence = render_sentence(
        "multiverse-curve",
        sentence=_conclusion_sentence(result, conclusion),
        explained=explained,
        drawn=len(shown_indices),
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
                _claim_sentence(conclusion),
                conclusion["holds"],
                conclusion["clear"],
                conclusion["n"],
                conclusion["value"][0],
                conclusion["least"],
                conclusion["median"],
                conclusion["most"],
                _label_of_strongest_choice(conclusion),
            )
            for conclusion in result["conclusions"]
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
            (_claim_sentence(conclusion), LABELS[name], option, *(figures[column] for column in columns))
            for conclusion in result["conclusions"]
            for name, options in conclusion["choices"].items()
            for option, figures in options.items()
        ],
    )
