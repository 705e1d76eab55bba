"""Report a multiverse of analyses, as ``compute_multiverse`` returns it, by specification curves and tables."""

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

REPORTED = 0  # index of the specification that the rest of the report uses
MAX_CURVES = 4
MAX_POINTS = 240  # number of specifications in a curve; they are evenly spaced in the sorted order

# A result of compute_multiverse, or one of its conclusions. A universe is the set of an analysis's specifications:
# {"conclusions": [...], "universes": {"metrics": {"specifications": [[0, 2]] (the option's index for each choice),
# "possible": 96 (combinations), "choices": [{"label": "tokens of", "options": ["ptb", "none"]}]}}, "most": the limit
# of specifications in each, "seed": 1}. A conclusion has the fields of `Conclusion`, the claim that a value is past a
# "threshold", such as the metric "better" minus the metric "worse". It also has "value", "low" and "high": [.1, null]
# (one for each specification), "shows": "share" (the values' format), "axis": "accuracy" (their name), "n": 90 (defined
# ones), "least", "median" and "most": .2, "holds": .9 and "clear": .4 (shares with value or interval past "threshold"),
# "choices": {"tokenizer": {"ptb": {"n": 8, "mean": .1, "holds": .9, "clear": .4}}}, "ranges": {"tokenizer": .03} (of
# the options' means), and "moved_by": "tokenizer" (the choice with the largest range; "" without choices).
Result = Mapping[str, Any]


def multiverse_section(multiverse: Result) -> Section:
    """Return the section: sentences, tables, and curves of the first and of the least stable conclusions."""
    conclusions = multiverse["conclusions"]
    headline = [row for row in conclusions if row["name"] in (BEST_METRIC, AGREEMENT)]
    least_stable = sorted((row for row in conclusions if row not in headline), key=lambda row: row["holds"])
    shown_conclusions = (headline + least_stable)[:MAX_CURVES]
    curves = [
        _curve_plot(multiverse, row, explained=index == 0) for index, row in enumerate(shown_conclusions)
    ]
    return section(
        "multiverse",
        [curve.sentence for curve in curves],
        curves,
        [_conclusions_table(multiverse), _choices_table(multiverse)],
    )


def _claim_sentence(conclusion: Result) -> str:
    figures = {name: conclusion[name] for name in ("better", "worse", "threshold", "below")}
    is_accuracy = conclusion["axis"] == "accuracy"
    return render_sentence(
        "multiverse-claim", agreement=conclusion["name"] == AGREEMENT, accuracy=is_accuracy, **figures
    )


def _conclusion_sentence(multiverse: Result, conclusion: Result) -> str:
    choices = conclusion["choices"]
    means = {
        option: figures["mean"]
        for option, figures in choices.get(conclusion["moved_by"], {}).items()
        if figures["mean"] is not None
    }
    refuting_options = {
        name: [option for option, figures in options.items() if figures["n"] and not figures["holds"]]
        for name, options in choices.items()
    }
    return render_sentence(
        "multiverse",
        claim=_claim_sentence(conclusion),
        holds=conclusion["holds"],
        clear=conclusion["clear"],
        n=conclusion["n"],
        possible=multiverse["universes"][conclusion["universe"]]["possible"],
        shows=conclusion["shows"],
        agreement=conclusion["name"] == AGREEMENT,
        moved_by=_label_of_strongest_choice(conclusion),
        lowest=min(means, key=lambda name: means[name], default=""),
        highest=max(means, key=lambda name: means[name], default=""),
        low=min(means.values(), default=0.0),
        high=max(means.values(), default=0.0),
        never=[
            f"{LABELS[name]}: {', '.join(options)}" for name, options in refuting_options.items() if options
        ],
    )


def _label_of_strongest_choice(conclusion: Result) -> str:
    name = conclusion["moved_by"]
    return LABELS[name] if name and conclusion["ranges"][name] else ""


def _curve_plot(multiverse: Result, conclusion: Result, *, explained: bool) -> Plot:
    """Return the specification curve of a conclusion. If ``explained``, its sentence says how to read it."""
    values = np.array(conclusion["value"], dtype=np.float64)  # this turns None into nan
    # Sorting puts nan last, where it is cut off.
    order: list[int] = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))].tolist()
    shown_indices = _thin_evenly(order)
    sentence = render_sentence(
        "multiverse-curve",
        sentence=_conclusion_sentence(multiverse, conclusion),
        explained=explained,
        drawn=len(shown_indices),
        n=len(order),
    )
    drawing = _curve_drawing(multiverse, conclusion, shown_indices)
    return plot(sentence, drawing, _curve_table(multiverse, conclusion, order))


def _curve_table(multiverse: Result, conclusion: Result, order: Sequence[int]) -> Table:
    """Return a table of the estimate and the options of each specification. ``order`` has their indices, by rank."""
    universe = multiverse["universes"][conclusion["universe"]]
    choices = universe["choices"]
    rows = []
    for rank, index in enumerate(order, start=1):
        option_indices = universe["specifications"][index]
        options = [choice["options"][option] for choice, option in zip(choices, option_indices, strict=True)]
        is_reported = "yes" if index == REPORTED else ""
        estimate = Estimate(*_estimate_at(conclusion, index), conclusion["n"])  # n: all specifications
        rows.append((rank, estimate, is_reported, *options))
    columns = [("rank", "count"), ("estimate", conclusion["shows"]), ("as reported", "text")]
    return table(
        "multiverse-curve",
        rows,
        [*columns, *((choice["label"], "text") for choice in choices)],
        name=f"multiverse-{conclusion['name']}",
        claim=_claim_sentence(conclusion),
    )


def _curve_drawing(multiverse: Result, conclusion: Result, shown_indices: Sequence[int]) -> Specifications:
    universe = multiverse["universes"][conclusion["universe"]]
    is_agreement = conclusion["name"] == AGREEMENT
    threshold = conclusion["threshold"]
    holds = passes_threshold(
        np.array([conclusion["value"][index] for index in shown_indices]),
        threshold,
        below=conclusion["below"],
        inclusive=is_agreement,
    )
    return Specifications(
        estimates=tuple(Estimate(*_estimate_at(conclusion, index)) for index in shown_indices),
        holds=tuple(holds.tolist()),
        reported=shown_indices.index(REPORTED) if REPORTED in shown_indices else None,
        choices=tuple((choice["label"], tuple(choice["options"])) for choice in universe["choices"]),
        option_positions=tuple(tuple(universe["specifications"][index]) for index in shown_indices),
        level=Level(f"{threshold:g}".lstrip("0") if is_agreement else "no difference", threshold),
        axis=render_sentence(
            "multiverse-axis", axis=conclusion["axis"], better=conclusion["better"], worse=conclusion["worse"]
        ),
        shows=conclusion["shows"],
    )


def _estimate_at(conclusion: Result, index: int) -> tuple[float, float, float]:
    return conclusion["value"][index], conclusion["low"][index], conclusion["high"][index]


def _thin_evenly(order: Sequence[int]) -> list[int]:
    """Return at most MAX_POINTS members of the order: evenly spaced ones, and always the reported specification."""
    if len(order) <= MAX_POINTS:
        return list(order)
    positions = set(np.linspace(0, len(order) - 1, MAX_POINTS - 1).round().astype(int).tolist())
    if REPORTED in order:
        positions.add(list(order).index(REPORTED))
    return [order[position] for position in sorted(positions)]


def _conclusions_table(multiverse: Result) -> Table:
    return table(
        "multiverse-conclusions",
        [
            (
                _claim_sentence(conclusion),
                conclusion["holds"],
                conclusion["clear"],
                conclusion["n"],
                conclusion["value"][REPORTED],
                conclusion["least"],
                conclusion["median"],
                conclusion["most"],
                _label_of_strongest_choice(conclusion),
            )
            for conclusion in multiverse["conclusions"]
        ],
        most=multiverse["most"],
        seed=multiverse["seed"],
        sampled=any(len(row["specifications"]) < row["possible"] for row in multiverse["universes"].values()),
    )


def _choices_table(multiverse: Result) -> Table:
    rows = []
    for conclusion in multiverse["conclusions"]:
        claim = _claim_sentence(conclusion)
        for name, figures_by_option in conclusion["choices"].items():
            for option, figures in figures_by_option.items():
                cells = [figures[column] for column in ("n", "mean", "holds", "clear")]
                rows.append((claim, LABELS[name], option, *cells))
    return table("multiverse-choices", rows)
