"""Sections of the report on agreement between people, and on the agreement of every two workers."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
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
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.sections.people import MAX_WORKERS, rank_workers
from evaluation.results.agreement import exchange_of, flag_judgments_for_agreement
from evaluation.results.agreement_sentences import side_sentence
from quorum.numeric.arrays import Ints
from quorum.statistics.agreement import agreement_by_pair, ratings_of_judgments
from quorum.statistics.agreement.both_orders import in_both_orders
from quorum.statistics.agreement.rater_pairs import PairAgreement
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
    one_judge = agreement.get("one_against_rest", {})  # by pair kind, and "all"
    if one_judge.get("all", {}).get("n"):
        cells = [  # "left_out" counts judgments without a majority of others
            (name, estimate_of(figure), figure["n"], figure["left_out"]) for name, figure in one_judge.items()
        ]
        by_rater = RATER in one_judge["all"].get("clusters", ())  # whether intervals cluster by rater
        tables.append(table("one-against-rest", cells, clustered=inputs.method.is_clustered, raters=by_rater))
    if "full_depth" in agreement:  # agreement is limited to units that early stopping did not end
        sentences.append(agreement["full_depth"]["reason"])
    if inputs.method.wording:  # 0 is the wording of old reports, which have neither sentence
        sentences.append(f"Note: {alpha['note']}." if alpha.get("note") else "")
        sides_are_drawn = inputs.aggregation.settings["controls"] != AS_IMPORTED  # not for imported answers
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
    is_counted = flag_judgments_for_agreement(judgments, inputs.full_depth_units)
    if not is_counted.any():
        return None
    ratings = ratings_of_judgments(
        judgments.unit[is_counted],
        judgments.worker[is_counted],
        judgments.value[is_counted],
    )
    # If alpha counts choices between two texts in both orders ("coding"), count them so here, too.
    exchange = exchange_of(inputs.kind) if "coding" in agreement["alpha"] else None
    if exchange:
        ratings = in_both_orders(ratings, exchange)
    pairs = agreement_by_pair(ratings, inputs.kind.aggregation.level)
    if exchange:  # each unit counted twice
        pairs = replace(pairs, units=pairs.units // 2)
    if not len(pairs.units):
        return None
    rank_by_name = {row["worker"]: rank for rank, row in enumerate(rank_workers(inputs), start=1)}
    ranks = np.array([rank_by_name[inputs.names[worker_id]] for worker_id in pairs.raters.tolist()])
    # Positions in pairs.raters, as in pairs.first and pairs.second.
    shown_workers = np.argsort(ranks)[:MAX_WORKERS]
    hidden_worker_count = max(0, len(ranks) - MAX_WORKERS)
    rows = _rows_of_worker_pairs(pairs, ranks, set(shown_workers.tolist()))
    data = table(
        "worker-pairs",
        [(f"W{first}", f"W{second}", *figures) for first, second, *figures in rows],
        left=len(pairs.units) - len(rows),  # pairs of workers that are left out
        most=MAX_WORKERS,
    )
    labels = [f"W{rank}" for rank in ranks[shown_workers].tolist()]
    if hidden_worker_count:
        labels.append(OTHERS_LABEL)
    values = _matrix_of_workers(pairs, shown_workers, len(labels))
    shares = [share for share in chain.from_iterable(values) if share is not None]
    # Two answers drawn at random from all answers are equal with this probability.
    chance = float(((np.bincount(ratings.code) / len(ratings.code)) ** 2).sum())
    mean = float(np.average(pairs.percent, weights=pairs.units))
    sentence = render_sentence(
        "worker-pairs", wording=inputs.method.wording, pairs=len(pairs.units), least=min(shares), most=max(shares),
        others=hidden_worker_count, rest=OTHERS_LABEL, chance=chance, mean=mean,
    )  # fmt: skip
    levels = (Level("chance", chance), Level("all together", mean, dashed=False))
    panel = HeatmapPanel(
        "equal answers, %", tuple(labels), tuple(labels), values, levels=levels, shows="share"
    )
    return plot(sentence, Heatmap((panel,), "worker", "worker"), data)


def _rows_of_worker_pairs(
    pairs: PairAgreement, ranks: Ints, shown_workers: set[int]
) -> list[tuple[Any, ...]]:
    """Return (rank, rank, units, percent agreement, kappa, alpha) of every two of the shown workers, by rank."""
    rows: list[tuple[Any, ...]] = []
    columns = (pairs.first, pairs.second, pairs.units, pairs.percent, pairs.kappa, pairs.alpha)
    for first, second, n, percent, kappa, alpha in zip(*(column.tolist() for column in columns), strict=True):
        if first in shown_workers and second in shown_workers:
            low_rank, high_rank = sorted((int(ranks[first]), int(ranks[second])))
            rows.append((low_rank, high_rank, n, json_float(percent), json_float(kappa), json_float(alpha)))
    return sorted(rows, key=lambda row: row[:2])


def _matrix_of_workers(
    pairs: PairAgreement, shown_workers: Ints, size: int
) -> tuple[tuple[float | None, ...], ...]:
    """Return the (size, size) shares of equal answers of the shown workers, and of all others in the last row."""
    row_by_worker = {worker: row for row, worker in enumerate(shown_workers.tolist())}
    equal_answers, units = np.zeros((size, size)), np.zeros((size, size), dtype=np.int64)
    columns = (pairs.first, pairs.second, pairs.units, pairs.percent)
    for first, second, n, percent in zip(*(column.tolist() for column in columns), strict=True):
        row, column = row_by_worker.get(first, size - 1), row_by_worker.get(second, size - 1)
        # The matrix is symmetric. Pairs of workers who share the last row are added once.
        for row_index, column_index in {(row, column), (column, row)}:
            equal_answers[row_index, column_index] += percent * n
            units[row_index, column_index] += n
    shares = np.divide(equal_answers, units, out=np.full((size, size), np.nan), where=units > 0)
    return tuple(tuple(map(json_float, row)) for row in shares.tolist())
