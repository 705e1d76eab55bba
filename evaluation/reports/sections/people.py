"""Sections of the report on the collected data, and on each worker's results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.presentation.content import DotPanel, DotPlot, Estimate, Level, Section
from evaluation.presentation.rendering import plot, render_sentence, section, table
from evaluation.reports.inputs import ReportInputs
from quorum.statistics.meta import wilson_interval

MAX_WORKERS = 40  # workers in a plot

# The key of the counts, by row of the table.
COUNT_ROWS = {
    "units": "units",
    "units with a consensus": "units_with_consensus",
    "units that are tied": "unit_ties",
    "units decided by an adjudicator": "adjudicated",
    "candidate pairs": "pairs",
    "pairs with a winner": "pairs_with_consensus",
    "pairs that are tied": "pair_ties",
    "winners published without votes": "published_winners",
    "workers": "workers",
    "judgments": "judgments",
    "of these used, on units": "counted_judgments",
    "of these on control items": "control_judgments",
    "of these set aside": "unused_judgments",
}
EARLIER_ROW_NAMES = {"units": "units judged"}  # names in releases whose wording has the oldest version, 0
ROWS_SHOWN_IF_ZERO = ("units", "units_with_consensus", "workers", "judgments")
WORKER_COLUMNS = [
    ("worker", "text"), ("judgments", "count"), ("used", "count"), ("control items right, %", "share"),
    ("seen", "count"), ("seconds a unit", "number"), ("left side, %", "share"), ("note", "text"),
]  # fmt: skip
LEFT_SIDE_INDEX = 6  # index of the column that studies without sides lack


def collection_section(inputs: ReportInputs) -> Section:
    counts = inputs.aggregation.result["counts"]
    # Published totals do not name people, only positions in a list of votes, which only wording 0 counts as workers.
    anonymous = not inputs.aggregation.result["agreement"]["per_worker"]["available"]
    omitted_keys = {"workers"} if anonymous and inputs.method.wording else set()
    earlier_names = {} if inputs.method.wording else EARLIER_ROW_NAMES
    rows = [
        (earlier_names.get(name, name), counts[key])
        for name, key in COUNT_ROWS.items()
        if (counts[key] or key in ROWS_SHOWN_IF_ZERO) and key not in omitted_keys
    ]
    sentence = render_sentence(
        "collection", wording=inputs.method.wording, counts=counts, anonymous=anonymous
    )
    sentences = [sentence]
    if inputs.samples_useful_items:  # items were sampled by what they tell about metrics or systems
        sentences.append(render_sentence("collection-chosen"))
    return section("collection", sentences, tables=[table("collection", rows)])


def rank_workers(inputs: ReportInputs) -> list[Mapping[str, Any]]:
    """Return the workers sorted by number of judgments. The report names them W1, W2, ... in this order."""
    rows = inputs.aggregation.result["workers"]
    return sorted(rows, key=lambda row: (-(row["judgments"] + row["controls_seen"]), row["worker"]))


def workers_section(inputs: ReportInputs) -> Section:
    workers = rank_workers(inputs)
    if not workers:
        per_worker = inputs.aggregation.result["agreement"].get("per_worker", {})
        return section("workers", empty=per_worker.get("reason") or "No work that counts was submitted yet.")
    estimates = [_control_accuracy(row) for row in workers]
    rows = [
        [f"W{number}", row["judgments"], row["used_judgments"], estimate, row["controls_seen"], row["seconds"],
         row["left_share"], "" if row["used"] else "not used"]
        for number, (row, estimate) in enumerate(zip(workers, estimates, strict=True), start=1)
    ]  # fmt: skip
    columns = list(WORKER_COLUMNS)
    if all(row["left_share"] is None for row in workers):
        for cells in (columns, *rows):
            del cells[LEFT_SIDE_INDEX]
    data = table("workers", rows, columns)
    controls_seen = sum(row["controls_seen"] for row in workers)
    controls_right = sum(row["controls_right"] for row in workers)
    unused_count = sum(not row["used"] for row in workers)
    sentence = render_sentence(
        "workers",
        wording=inputs.method.wording,
        workers=len(workers),
        seen=controls_seen,
        right=controls_right,
        aside=unused_count,
    )
    if not controls_seen:
        return section("workers", [sentence], tables=[data])
    levels = []
    threshold = inputs.aggregation.settings.get("controls")  # may also be a word, such as "as-imported"
    if isinstance(threshold, int | float) and threshold:
        levels.append(Level("rule", float(threshold)))
    low, high = wilson_interval(controls_right, controls_seen)
    levels.append(Level("all together", controls_right / controls_seen, dashed=False, low=low, high=high))
    chance_accuracy = _chance_accuracy(inputs)
    if chance_accuracy is not None:
        levels.append(Level("guessing", chance_accuracy))
    drawing = DotPlot(
        tuple(f"W{number}" for number in range(1, len(workers[:MAX_WORKERS]) + 1)),
        (DotPanel("", tuple(estimates[:MAX_WORKERS]), tuple(levels)),),
        "control items right in %, Wilson's 95 % interval",
        shows="share",
    )
    caption = render_sentence(
        "workers-plot",
        sentence=sentence,
        guessing=chance_accuracy,
        most=MAX_WORKERS if len(rows) > MAX_WORKERS else 0,
    )
    control_plot = plot(caption, drawing, data, title="Control items right, by worker")
    return section("workers", [sentence], [control_plot], [data])


def _chance_accuracy(inputs: ReportInputs) -> float | None:
    """Return the expected share of right answers to control items by guessing, or None for open answers."""
    kind, records = inputs.kind, inputs.table.records.values()
    if not kind.values:
        return None
    if not inputs.method.wording:  # in old reports, all control items expect the kind's first usual answer
        return kind.count_right(kind.expected_choices[0]) / len(kind.values)
    # An answer was right by guessing with the probability right values / possible values. Average it over all answers.
    # Each record is that of one worker, with the sum of right values over the worker's answers.
    answer_count = sum(record.answers for record in records)
    return sum(record.right_values for record in records) / (len(kind.values) * answer_count)


def _control_accuracy(row: Mapping[str, Any]) -> Estimate:
    right_count, seen_count = row["controls_right"], row["controls_seen"]
    low, high = wilson_interval(right_count, seen_count) if seen_count else (None, None)
    return Estimate(row["controls_share"], low, high, seen_count)
