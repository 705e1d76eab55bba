"""Sections of the report on agreement between people, and on the agreement of every two workers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from common.amounts import json_float
from evaluation.data.judgment_sets.signatures import AS_IMPORTED
from evaluation.presentation.content import (
    DotPanel,
    DotPlot,
    Heatmap,
    HeatmapPanel,
    Level,
    Plot,
    Section,
    estimate_of,
)
from evaluation.presentation.rendering import plot, render_sentence, section, table
from evaluation.reports.loading import ReportInputs
from evaluation.reports.sections.people import MAX_WORKERS, rank_workers
from evaluation.results.agreement import agreement_rows, exchange_of
from evaluation.results.agreement_sentences import side_sentence
from quorum.statistics.agreement import agreement_by_pair, ratings_of_judgments
from quorum.statistics.agreement.both_orders import in_both_orders
from quorum.statistics.crossed import RATER

RELIABLE_ALPHA = 0.8  # Krippendorff's threshold for reliable data
OTHERS_LABEL = "all others"


def agreement_section(inputs: ReportInputs) -> Section:
    agreement = inputs.aggregation.result["agreement"]
    alpha = agreement["alpha"]
    if alpha["value"] is None:
        why = alpha["reason"] or "no two judges judged the same unit"
        return section("agreement", empty=f"Agreement is not measured: {why.rstrip('.')}.")
    rows = {f"all units ({alpha['level']})": alpha}
    if "ordinal" in agreement:
        rows["all units (ordinal)"] = agreement["ordinal"]
    rows |= {f"{name} pairs": figure for name, figure in agreement.get("by_kind", {}).items()}
    data = table(
        "agreement",
        [(name, estimate_of(figure), figure["n"], figure["judgments"]) for name, figure in rows.items()],
        resamples=alpha["resamples"],
        raters=RATER in alpha.get("clusters", ()),
    )
    sentence = render_sentence("agreement", wording=inputs.method.wording, alpha=alpha)
    levels = (
        Level("chance", 0.0),
        Level("reliable from .80", RELIABLE_ALPHA),
        Level("full agreement", 1.0, dashed=False),
    )
    drawing = DotPlot(
        tuple(rows),
        (DotPanel("", tuple(estimate_of(figure) for figure in rows.values()), levels),),
        "Krippendorff's alpha, 95 % interval",
        accent=(next(iter(rows)),),
    )
    sentences, tables = [sentence], [data]
    plots = [plot(sentence, drawing, data, title="Agreement between people")]
    one_judge = agreement.get("one_against_rest", {})
    if one_judge.get("all", {}).get("n"):
        cells = [
            (name, estimate_of(figure), figure["n"], figure["left_out"]) for name, figure in one_judge.items()
        ]
        by_rater = RATER in one_judge["all"].get("clusters", ())  # whether intervals cluster by rater
        tables.append(table("one-against-rest", cells, clustered=inputs.method.is_clustered, raters=by_rater))
    if "full_depth" in agreement:
        sentences.append(agreement["full_depth"]["reason"])
    if inputs.method.wording:
        sentences.append(f"Note: {alpha['note']}." if alpha.get("note") else "")
        sides_are_drawn = inputs.aggregation.settings["controls"] != AS_IMPORTED
        sentences.append(side_sentence(agreement.get("side_bias", {}), random_sides=sides_are_drawn))
    workers_plot = _agreement_of_workers_plot(inputs)
    if workers_plot is not None:
        plots.append(workers_plot)
        tables.append(workers_plot.data)
    elif not agreement["per_worker"]["available"]:
        sentences.append(agreement["per_worker"]["reason"])
    return section("agreement", sentences, plots, tables)


def _agreement_of_workers_plot(inputs: ReportInputs) -> Plot | None:
    """Return a plot of the agreement of every two workers. Workers after the first MAX_WORKERS share one row."""
    agreement = inputs.aggregation.result["agreement"]
    if not agreement["per_worker"]["available"] or inputs.kind.is_open:
        return None
    judgments = inputs.table
    is_counted = agreement_rows(judgments, inputs.full_depth_units)
    if not is_counted.any():
        return None
    ratings = ratings_of_judgments(
        judgments.unit[is_counted],
        judgments.worker[is_counted],
        judgments.value[is_counted],
    )
    exchange = exchange_of(inputs.kind) if "coding" in agreement["alpha"] else None
    if exchange:
        ratings = in_both_orders(ratings, exchange)
    pairs = agreement_by_pair(ratings, inputs.kind.aggregation.level)
    # In both orders, each unit counts twice.
    pairs = replace(pairs, units=pairs.units // (2 if exchange else 1))
    if not len(pairs.units):
        return None
    rank_by_name = {row["worker"]: rank for rank, row in enumerate(rank_workers(inputs), start=1)}
    rank = np.array([rank_by_name[inputs.names[worker_id]] for worker_id in pairs.raters.tolist()])
    # Rows and columns of the matrix are the first workers by rank, and one for all others.
    shown_workers = np.argsort(rank)[:MAX_WORKERS]
    row_by_worker = {code: row for row, code in enumerate(shown_workers.tolist())}
    others = max(0, len(rank) - MAX_WORKERS)
    size = len(shown_workers) + bool(others)
    equal_answers, units = np.zeros((size, size)), np.zeros((size, size), dtype=np.int64)
    rows: list[tuple[Any, ...]] = []
    columns = (pairs.first, pairs.second, pairs.units, pairs.percent, pairs.kappa, pairs.alpha)
    for first, second, n, percent, kappa, alpha in zip(*(column.tolist() for column in columns), strict=True):
        row, column = row_by_worker.get(first, size - 1), row_by_worker.get(second, size - 1)
        # The matrix is symmetric. Pairs of workers who share the last row are added once.
        for a, b in {(row, column), (column, row)}:
            equal_answers[a, b] += percent * n
            units[a, b] += n
        if first in row_by_worker and second in row_by_worker:
            low_rank, high_rank = sorted((rank[first], rank[second]))
            rows.append((low_rank, high_rank, n, json_float(percent), json_float(kappa), json_float(alpha)))
    rows.sort(key=lambda row: row[:2])
    data = table(
        "worker-pairs",
        [(f"W{first}", f"W{second}", *figures) for first, second, *figures in rows],
        left=len(pairs.units) - len(rows),
        most=MAX_WORKERS,
    )
    labels = (*(f"W{number}" for number in rank[shown_workers].tolist()), *([OTHERS_LABEL] if others else []))
    values = tuple(
        tuple(json_float(equal_answers[a, b] / units[a, b]) if units[a, b] else None for b in range(size))
        for a in range(size)
    )
    shares = [value for row in values for value in row if value is not None]
    # Two answers drawn at random from all answers are equal with this probability.
    chance = float(((np.bincount(ratings.code) / len(ratings.code)) ** 2).sum())
    mean = float(np.average(pairs.percent, weights=pairs.units))
    sentence = render_sentence(
        "worker-pairs", wording=inputs.method.wording, pairs=len(pairs.units), least=min(shares), most=max(shares),
        others=others, rest=OTHERS_LABEL, chance=chance, mean=mean,
    )  # fmt: skip
    levels = (Level("chance", chance), Level("all together", mean, dashed=False))
    panel = HeatmapPanel("equal answers, %", labels, labels, values, levels=levels, shows="share")
    return plot(sentence, Heatmap((panel,), "worker", "worker"), data)
