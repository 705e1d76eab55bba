"""Report collection, agreement, each worker's results, and the ceilings that people set for metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.amounts import json_float
from evaluation.data.judgment_sets.records import AS_IMPORTED, Floats, Ints, UnitRow
from evaluation.presentation.content import (
    Dots,
    Estimate,
    Heat,
    HeatPanel,
    Level,
    Panel,
    Plot,
    Section,
    estimate_of,
)
from evaluation.presentation.rendering import plot, say, section, table
from evaluation.reports.loading import ReportInputs
from evaluation.results.agreement import agreement_rows, exchange_of, side_sentence
from quorum.statistics.agreement import (
    AgreementResult,
    CohenKappa,
    agreement,
    agreement_by_pair,
    ratings_of_judgments,
)
from quorum.statistics.agreement.both_orders import in_both_orders
from quorum.statistics.correlation import CorrelationResult, correlation
from quorum.statistics.crossed import RATER
from quorum.statistics.meta import wilson_interval

MOST_WORKERS = 40
RELIABLE = 0.8
REST = "all others"

# Row of the table -> key of the counts; the first rows are shown even if 0.
COLLECTED = {
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
EARLIER = {"units": "units judged"}  # as releases of wording 0 have it
ALWAYS = ("units", "units_with_consensus", "workers", "judgments")
WORKER_COLUMNS = [
    ("worker", "text"), ("judgments", "count"), ("used", "count"), ("control items right, %", "share"),
    ("seen", "count"), ("seconds a unit", "number"), ("left side, %", "share"), ("note", "text"),
]  # fmt: skip
LEFT_SIDE = 6  # the index of that column, absent in studies without sides


def collection_section(inputs: ReportInputs) -> Section:
    counts = inputs.aggregation.result["counts"]
    # Published totals have no people, only places in a list of votes.
    anonymous = not inputs.aggregation.result["agreement"]["per_worker"]["available"]
    left_out = {"workers"} if anonymous and inputs.wording else set()
    rows = [
        (name if inputs.wording else EARLIER.get(name, name), counts[key])
        for name, key in COLLECTED.items()
        if (counts[key] or key in ALWAYS) and key not in left_out
    ]
    sentence = say("collection", wording=inputs.wording, counts=counts, anonymous=anonymous)
    sentences = [sentence, *([say("collection-chosen")] if inputs.chosen else [])]
    return section("collection", sentences, tables=[table("collection", rows)])


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
    sentence = say("agreement", wording=inputs.wording, alpha=alpha)
    levels = (
        Level("chance", 0.0),
        Level("reliable from .80", RELIABLE),
        Level("full agreement", 1.0, dashed=False),
    )
    drawing = Dots(
        tuple(rows),
        (Panel("", tuple(estimate_of(figure) for figure in rows.values()), levels),),
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
        by_rater = RATER in one_judge["all"].get("clusters", ())
        tables.append(table("one-against-rest", cells, clustered=inputs.clustered, raters=by_rater))
    if "full_depth" in agreement:
        sentences.append(agreement["full_depth"]["reason"])
    if inputs.wording:
        sentences.append(f"Note: {alpha['note']}." if alpha.get("note") else "")
        drawn = inputs.aggregation.settings["controls"] != AS_IMPORTED
        sentences.append(side_sentence(agreement.get("side_bias", {}), drawn=drawn))
    matrix = _agreement_of_workers_plot(inputs)
    if matrix is not None:
        plots.append(matrix)
        tables.append(matrix.data)
    elif not agreement["per_worker"]["available"]:
        sentences.append(agreement["per_worker"]["reason"])
    return section("agreement", sentences, plots, tables)


def rank_workers(inputs: ReportInputs) -> list[Mapping[str, Any]]:
    """Return workers by number of judgments; the report names them W1, W2, ... in this order."""
    rows = inputs.aggregation.result["workers"]
    return sorted(rows, key=lambda row: (-(row["judgments"] + row["controls_seen"]), row["worker"]))


def _agreement_of_workers_plot(inputs: ReportInputs) -> Plot | None:
    """Plot agreement of every two workers; those past the fortieth share one row."""
    agreement = inputs.aggregation.result["agreement"]
    if not agreement["per_worker"]["available"] or inputs.kind.is_open:
        return None
    judgments = inputs.table
    counted = agreement_rows(judgments, inputs.full_depth)
    if not counted.any():
        return None
    ratings = ratings_of_judgments(
        judgments.unit[counted], judgments.worker[counted], judgments.value[counted]
    )
    exchange = exchange_of(inputs.kind) if "coding" in agreement["alpha"] else None
    if exchange:
        ratings = in_both_orders(ratings, exchange)
    pairs = agreement_by_pair(ratings, inputs.kind.aggregation.level)
    pairs = replace(pairs, units=pairs.units // (2 if exchange else 1))
    if not len(pairs.units):
        return None
    numbers = {row["worker"]: number for number, row in enumerate(rank_workers(inputs), start=1)}
    rank = np.array([numbers[inputs.names[pk]] for pk in pairs.raters.tolist()])
    shown = np.argsort(rank)[:MOST_WORKERS]
    row_of = {int(code): number for number, code in enumerate(shown.tolist())}
    others = max(0, len(rank) - MOST_WORKERS)
    size = len(shown) + bool(others)
    same, units = np.zeros((size, size)), np.zeros((size, size), dtype=np.int64)
    rows: list[tuple[Any, ...]] = []
    columns = (pairs.first, pairs.second, pairs.units, pairs.percent, pairs.kappa, pairs.alpha)
    for first, second, n, *coefficients in zip(*(column.tolist() for column in columns), strict=True):
        row, column = row_of.get(first, size - 1), row_of.get(second, size - 1)
        for a, b in {(row, column), (column, row)}:
            same[a, b] += coefficients[0] * n
            units[a, b] += n
        if first in row_of and second in row_of:
            rows.append((*sorted((rank[first], rank[second])), n, *map(json_float, coefficients)))
    rows.sort(key=lambda row: row[:2])
    data = table(
        "worker-pairs",
        [(f"W{first}", f"W{second}", *figures) for first, second, *figures in rows],
        left=len(pairs.units) - len(rows),
        most=MOST_WORKERS,
    )
    heads = (*(f"W{number}" for number in rank[shown].tolist()), *([REST] if others else []))
    values = tuple(
        tuple(json_float(same[a, b] / units[a, b]) if units[a, b] else None for b in range(size))
        for a in range(size)
    )
    known = [value for row in values for value in row if value is not None]
    chance = float(((np.bincount(ratings.code) / len(ratings.code)) ** 2).sum())
    mean = float(np.average(pairs.percent, weights=pairs.units))
    sentence = say(
        "worker-pairs", wording=inputs.wording, pairs=len(pairs.units), least=min(known), most=max(known),
        others=others, rest=REST, chance=chance, mean=mean,
    )  # fmt: skip
    levels = (Level("chance", chance), Level("all together", mean, dashed=False))
    panel = HeatPanel("equal answers, %", heads, heads, values, levels=levels, shows="share")
    return plot(sentence, Heat((panel,), "worker", "worker"), data)


def workers_section(inputs: ReportInputs) -> Section:
    workers = rank_workers(inputs)
    if not workers:
        per_worker = inputs.aggregation.result["agreement"].get("per_worker", {})
        return section("workers", empty=per_worker.get("reason") or "No work that counts was submitted yet.")
    estimates = [_controls_right(row) for row in workers]
    rows = [
        [f"W{number}", row["judgments"], row["used_judgments"], estimate, row["controls_seen"], row["seconds"],
         row["left_share"], "" if row["used"] else "set aside"]
        for number, (row, estimate) in enumerate(zip(workers, estimates, strict=True), start=1)
    ]  # fmt: skip
    columns = list(WORKER_COLUMNS)
    if all(row["left_share"] is None for row in workers):
        for cells in (columns, *rows):
            del cells[LEFT_SIDE]
    data = table("workers", rows, columns)
    seen, right = (sum(row[name] for row in workers) for name in ("controls_seen", "controls_right"))
    aside = sum(not row["used"] for row in workers)
    sentence = say(
        "workers", wording=inputs.wording, workers=len(workers), seen=seen, right=right, aside=aside
    )
    if not seen:
        return section("workers", [sentence], tables=[data])
    levels = []
    threshold = inputs.aggregation.settings.get("controls")
    if isinstance(threshold, int | float) and threshold:
        levels.append(Level("rule", float(threshold)))
    levels.append(Level("all together", right / seen, False, *wilson_interval(right, seen)))
    guessing = _guessed_right(inputs)
    if guessing is not None:
        levels.append(Level("guessing", guessing))
    drawing = Dots(
        tuple(f"W{number}" for number in range(1, len(workers[:MOST_WORKERS]) + 1)),
        (Panel("", tuple(estimates[:MOST_WORKERS]), tuple(levels)),),
        "control items right in %, Wilson's 95 % interval",
        shows="share",
    )
    caption = say(
        "workers-plot",
        sentence=sentence,
        guessing=guessing,
        most=MOST_WORKERS if len(rows) > MOST_WORKERS else 0,
    )
    drawn = plot(caption, drawing, data, title="Control items right, by worker")
    return section("workers", [sentence], [drawn], [data])


def _guessed_right(inputs: ReportInputs) -> float | None:
    """Return the share of answers to control items that are right by chance; None for open answers."""
    kind, records = inputs.kind, inputs.table.records.values()
    if not kind.values:
        return None
    if not inputs.wording:  # as if each expected what the kind's first usual one does
        return kind.count_right(kind.expectations[0]) / len(kind.values)
    seen = sum(record.seen for record in records)
    return sum(record.right_values for record in records) / (len(kind.values) * seen)


def _controls_right(row: Mapping[str, Any]) -> Estimate:
    right, seen = row["controls_right"], row["controls_seen"]
    low, high = wilson_interval(right, seen) if seen else (None, None)
    return Estimate(row["controls_share"], low, high, seen)


SPLITS = 100
FEWEST = 2  # judgments that have others
NEAR = 1e-9  # let a mean of thirds reach its nominal threshold


def _sign(values: NDArray[Any]) -> Ints:
    return np.sign(np.round(values, 9)).astype(np.int64)


def halves_of_votes(unit: Ints, value: Floats, units: Sequence[UnitRow], *, seed: int) -> dict[str, Estimate]:
    """Return pair kind ("all" for all) -> how often two random halves of people agree on a pair's winner.

    V15 §7.4 splits the references of a pair; so do we for pairs of several units, and the votes for pairs of
    one. A half's winner wins most of its units (or votes); a tied or empty half drops the pair. The value is
    the mean over ``SPLITS`` splits, with Wilson's interval over the mean number of pairs.
    """
    pair_of = {row.pk: row.pair for row in units if row.pair is not None}
    kind_of = {row.pair: row.kind for row in units}
    keep = np.array([pk in pair_of for pk in unit.tolist()], dtype=bool)
    if not keep.any():
        return {}
    unit, value = unit[keep], value[keep]
    names, rows = np.unique(unit, return_inverse=True)
    vote = (value == 1) * 1.0 - (value == 2)
    pairs, pair_of_unit = np.unique([pair_of[pk] for pk in names.tolist()], return_inverse=True)
    several = bool((np.bincount(pair_of_unit) > 1).any())
    if several:  # a unit is won or lost as a whole; tied ones decide nothing
        parts = _sign(np.bincount(rows, weights=vote)).astype(np.float64)
        group = pair_of_unit
    else:
        parts, group = vote, pair_of_unit[rows]
    kinds = np.array([kind_of[pk] for pk in pairs.tolist()], dtype=np.str_)
    rows_of_kind = {"all": np.ones(len(pairs), dtype=bool)} | {
        str(name): kinds == name for name in np.unique(kinds) if name
    }
    generator = np.random.default_rng(seed)
    same: dict[str, list[tuple[int, int]]] = {name: [] for name in rows_of_kind}
    for _ in range(SPLITS):
        # Equal halves of each pair: the lower half of a random order.
        order = np.lexsort((generator.random(len(parts)), group))
        starts = np.searchsorted(group[order], np.arange(len(pairs)))
        sizes = np.bincount(group, minlength=len(pairs))
        position = np.arange(len(parts)) - starts[group[order]]
        first = position < (sizes // 2)[group[order]]
        weights = parts[order]
        first_winner = _sign(np.bincount(group[order][first], weights=weights[first], minlength=len(pairs)))
        second_winner = _sign(
            np.bincount(group[order][~first], weights=weights[~first], minlength=len(pairs))
        )
        decided = (first_winner != 0) & (second_winner != 0)
        for name, of_kind in rows_of_kind.items():
            same[name].append(
                (
                    int((decided & of_kind & (first_winner == second_winner)).sum()),
                    int((decided & of_kind).sum()),
                )
            )
    return {name: _mean(counts) for name, counts in same.items()}


def _mean(counts: Sequence[tuple[int, int]]) -> Estimate:
    known = [(right, n) for right, n in counts if n]
    if not known:
        return Estimate(None)
    share = sum(right / n for right, n in known) / len(known)
    n = round(sum(n for _, n in known) / len(known))
    low, high = wilson_interval(share * n, n)
    return Estimate(share, low, high, n)


def one_against_mean(
    unit: Ints, value: Floats, clusters: Mapping[str, Ints], *, coefficient: str = "kendall-tau-b"
) -> Estimate:
    """Correlate each judgment with the mean of the unit's other judgments, by (N,) columns of clusters."""
    columns, judgments, means = _means_of_others(unit, value, clusters)
    if len(judgments) < FEWEST:
        return Estimate(None)
    estimate = correlation(judgments, means, coefficient, resamples=0, clusters=columns)
    return _estimate_of(estimate, estimate.n)


def one_against_cut(
    unit: Ints, value: Floats, clusters: Mapping[str, Ints], cuts: Sequence[float]
) -> dict[float, Estimate]:
    """Return cut -> Cohen's kappa of each judgment with the mean of the unit's others, both cut there.

    This is H13 tables 8 to 10 with a person as the metric. Intervals are by (N,) columns of clusters.
    """
    columns, judgments, means = _means_of_others(unit, value, clusters)
    if len(judgments) < FEWEST:
        return {}
    kappas = {}
    for cut in cuts:
        both = judgments >= cut - NEAR, means >= cut - NEAR
        kappa = agreement(both, CohenKappa(), clusters=columns)
        kappas[cut] = _estimate_of(kappa, len(judgments))
    return kappas


def _estimate_of(result: AgreementResult | CorrelationResult, n: int) -> Estimate:
    if np.isnan(result.value):
        return Estimate(None)
    return Estimate(result.value, json_float(result.low), json_float(result.high), n)


def _means_of_others(
    unit: Ints, value: Floats, clusters: Mapping[str, Ints]
) -> tuple[dict[str, Ints], Floats, Floats]:
    """Return, for judgments with others on their unit: clusters, judgment, mean of the others."""
    _, rows = np.unique(unit, return_inverse=True)
    counts, sums = np.bincount(rows), np.bincount(rows, weights=value)
    with_others = counts[rows] > 1
    judgments = value[with_others]
    means = (sums[rows][with_others] - judgments) / (counts[rows][with_others] - 1)
    return {name: column[with_others] for name, column in clusters.items()}, judgments, means
