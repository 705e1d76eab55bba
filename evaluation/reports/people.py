"""The sections about people: what was collected, how far they agree, and how each worker did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evaluation.provenance import plain
from evaluation.records import Floats
from evaluation.reports.content import (
    Column,
    Dots,
    Figure,
    Heat,
    HeatPanel,
    Level,
    Panel,
    Plot,
    Section,
    Table,
    coefficient,
    figure_of,
    plain_table,
)
from evaluation.reports.gathered import Gathered
from evaluation.results.consensus import agreement_rows
from evaluation.statistics.meta import wilson_interval

MOST_WORKERS = 40
RELIABLE = 0.8
NOBODY = "Nobody has judged anything yet, so there is nothing to report."
NUMBERED = "Workers are numbered from the one with the most judgments to the one with the fewest."
REST = "all others"


def collection(gathered: Gathered) -> Section:
    """What there is: units, judgments, consensus."""
    counts = gathered.aggregation.result["counts"]
    said = [
        ("units judged", counts["units"]),
        ("units with a consensus", counts["units_with_consensus"]),
        ("units that are tied", counts["unit_ties"]),
        ("units decided by an adjudicator", counts["adjudicated"]),
        ("candidate pairs", counts["pairs"]),
        ("pairs with a winner", counts["pairs_with_consensus"]),
        ("pairs that are tied", counts["pair_ties"]),
        ("winners published without votes", counts["published_winners"]),
        ("workers", counts["workers"]),
        ("judgments", counts["judgments"]),
        ("of these used, on units", counts["counted_judgments"]),
        ("of these on control items", counts["control_judgments"]),
        ("of these set aside", counts["unused_judgments"]),
    ]
    always = ("units judged", "units with a consensus", "workers", "judgments")
    rows = [(name, count) for name, count in said if count or name in always]
    table = plain_table("collection", "What was collected", [("what", "text"), ("number", "count")], rows)
    sentence = (
        f"{counts['workers']:,} workers gave {counts['judgments']:,} judgments; "
        f"{counts['units_with_consensus']:,} of {counts['units']:,} units have a consensus."
    )
    if not counts["judgments"]:
        published = counts["published_winners"]
        sentence = f"Winners of {published:,} pairs were published without votes." if published else NOBODY
    return Section("collection", "What was collected", (sentence,), (), (table,))


def agreement(gathered: Gathered) -> Section:
    """Alpha over all, by pair kind and by pairs of workers."""
    found = gathered.aggregation.result["agreement"]
    alpha = found["alpha"]
    if alpha["value"] is None:
        why = alpha["reason"] or "no two judges judged the same unit"
        return Section(
            "agreement", "Agreement between people", empty=f"Agreement is not measured: {why.rstrip('.')}."
        )
    rows = [(f"all units ({alpha['level']})", alpha)]
    if "ordinal" in found:
        rows.append(("all units (ordinal)", found["ordinal"]))
    rows += [(f"{name} pairs", one) for name, one in found.get("by_kind", {}).items()]
    table = Table(
        "agreement",
        "Krippendorff's alpha",
        (
            Column("judgments of"),
            Column("alpha", "coefficient"),
            Column("units", "count"),
            Column("votes", "count"),
        ),
        tuple((name, figure_of(one), one["n"], one["judgments"]) for name, one in rows),
        f"95 % intervals from {alpha['resamples']:,} bootstrap resamples of units; 0 is chance, 1 full agreement.",
    )
    sentence = (
        f"Judges agree with alpha {coefficient(alpha['value'])} ({alpha['level']}, 95 % interval "
        f"{coefficient(alpha['low'])} to {coefficient(alpha['high'])}) on {alpha['n']:,} units."
        if alpha["low"] is not None
        else f"Judges agree with alpha {coefficient(alpha['value'])} ({alpha['level']}) on {alpha['n']:,} units."
    )
    drawing = Dots(
        tuple(name for name, _ in rows),
        (Panel("", tuple(figure_of(one) for _, one in rows), _levels_of_alpha()),),
        "Krippendorff's alpha, 95 % interval",
        accent=rows[0][0],
    )
    plots = [Plot("agreement", "Agreement between people", sentence, drawing, table)]
    tables = [table]
    if found.get("one_against_rest", {}).get("all", {}).get("n"):
        tables.append(_one_against_rest(found["one_against_rest"]))
    sentences = [sentence]
    if "full_depth" in found:
        sentences.append(found["full_depth"]["reason"])
    matrix = _by_workers(gathered)
    if matrix is not None:
        plots.append(matrix)
        tables.append(matrix.data)
    elif not found["per_worker"]["available"]:
        sentences.append(found["per_worker"]["reason"])
    return Section("agreement", "Agreement between people", tuple(sentences), tuple(plots), tuple(tables))


def _levels_of_alpha() -> tuple[Level, ...]:
    return (
        Level("chance", 0.0),
        Level("reliable from .80", RELIABLE),
        Level("full agreement", 1.0, dashed=False),
    )


def _one_against_rest(found: Mapping[str, Any]) -> Table:
    return plain_table(
        "one-against-rest",
        "How often one judge says what the majority of the others says",
        [("pairs", "text"), ("same answer, %", "share"), ("judgments", "count"), ("left out", "count")],
        [(name, figure_of(one), one["n"], one["left_out"]) for name, one in found.items()],
        "Wilson's 95 % intervals; left out: judgments whose others are tied, or that have none.",
    )


def ranked(gathered: Gathered) -> list[Mapping[str, Any]]:
    """The rows of workers from the one with the most judgments on; W1, W2, ... in this order."""
    rows = gathered.aggregation.result["workers"]
    return sorted(rows, key=lambda row: (-(row["judgments"] + row["controls_seen"]), row["worker"]))


def _by_workers(gathered: Gathered) -> Plot | None:
    """Every two workers' agreement on the units they share; the workers past forty stand as one row."""
    found = gathered.aggregation.result["agreement"]
    if not found["per_worker"]["available"] or gathered.kind.is_open:
        return None
    from evaluation.statistics.agreement import agreement_by_pair, ratings_of_judgments

    table = gathered.table
    counted = agreement_rows(table, gathered.full_depth)
    if not counted.any():
        return None
    ratings = ratings_of_judgments(table.unit[counted], table.worker[counted], table.value[counted])
    pairs = agreement_by_pair(ratings, gathered.kind.level)
    if not len(pairs.units):
        return None
    numbers = {row["worker"]: place for place, row in enumerate(ranked(gathered), start=1)}
    rank = np.array([numbers[gathered.names[pk]] for pk in pairs.raters.tolist()])
    labels = [f"W{number}" for number in rank.tolist()]
    shown = np.argsort(rank)[:MOST_WORKERS]
    place = {int(code): number for number, code in enumerate(shown.tolist())}
    size = len(shown) + (len(labels) > MOST_WORKERS)
    same, units = np.zeros((size, size)), np.zeros((size, size), dtype=np.int64)
    for first, second, n, percent in zip(
        pairs.first.tolist(), pairs.second.tolist(), pairs.units.tolist(), pairs.percent.tolist(), strict=True
    ):
        one, two = place.get(first, size - 1), place.get(second, size - 1)
        for a, b in {(one, two), (two, one)}:
            same[a, b] += percent * n
            units[a, b] += n
    heads = tuple([f"W{place}" for place in rank[shown].tolist()] + [REST] * (size - len(shown)))
    values = [
        [plain(same[a, b] / units[a, b]) if units[a, b] else None for b in range(size)] for a in range(size)
    ]
    rows: list[tuple[Any, ...]] = []
    for first, second, n, percent, kappa, alpha in zip(
        pairs.first.tolist(), pairs.second.tolist(), pairs.units.tolist(), pairs.percent.tolist(),
        pairs.kappa.tolist(), pairs.alpha.tolist(), strict=True,
    ):  # fmt: skip
        if first in place and second in place:
            ends = sorted((labels[first], labels[second]), key=lambda label: int(label[1:]))
            rows.append((*ends, n, plain(percent), plain(kappa), plain(alpha)))
    rows.sort(key=lambda row: (int(row[0][1:]), int(row[1][1:])))
    left = len(pairs.units) - len(rows)
    note = f"{NUMBERED} Of every two workers, on the units that both judged."
    note += f" {left:,} pairs with workers past the {MOST_WORKERS}th are not listed." if left else ""
    data = plain_table(
        "worker-pairs",
        "Agreement of every two workers",
        [("worker", "text"), ("with", "text"), ("units", "count"), ("same answer, %", "share"),
         ("kappa", "coefficient"), ("alpha", "coefficient")],
        rows,
        note,
    )  # fmt: skip
    known = [value for row in values for value in row if value is not None]
    sentence = (
        f"{len(pairs.units):,} pairs of workers share units; between the workers shown, the share of equal answers "
        f"goes from {100 * min(known):.0f} to {100 * max(known):.0f} %."
    )
    if size > len(shown):
        sentence += (
            f" “{REST}” are the {len(labels) - MOST_WORKERS:,} workers with fewer judgments, together."
        )
    chance = _equal_by_chance(table.value[counted])
    mean = float(np.average(pairs.percent, weights=pairs.units))
    sentence += f" By chance it would be {100 * chance:.0f} %; over all of them it is {100 * mean:.0f} %."
    levels = (Level("chance", chance), Level("all together", mean, dashed=False))
    drawing = Heat(
        (
            HeatPanel(
                "share of equal answers", heads, heads, tuple(tuple(row) for row in values), levels=levels
            ),
        ),
        "worker",
        "worker",
    )
    return Plot("worker-pairs", "Agreement of every two workers", sentence, drawing, data)


def _equal_by_chance(values: Floats) -> float:
    """How often two answers would be equal if everybody drew them from all answers given: the sum of squared shares."""
    _, counts = np.unique(values, return_counts=True)
    return float(((counts / counts.sum()) ** 2).sum())


def workers(gathered: Gathered) -> Section:
    """Control items, times and sides of each worker."""
    found = gathered.aggregation.result["workers"]
    if not found:
        per_worker = gathered.aggregation.result["agreement"].get("per_worker", {})
        why = per_worker.get("reason") or "Nobody has handed in anything yet."
        return Section("workers", "Worker quality", empty=why)
    rows: list[tuple[Any, ...]] = []
    for place, row in enumerate(ranked(gathered), start=1):
        right, seen = row["controls_right"], row["controls_seen"]
        low, high = wilson_interval(right, seen) if seen else (None, None)
        rows.append(
            (
                f"W{place}",
                row["judgments"],
                row["used_judgments"],
                Figure(row["controls_share"], low, high, seen),
                seen,
                row["seconds"],
                row["left_share"],
                "" if row["used"] else "set aside",
            )
        )
    sides = any(row["left_share"] is not None for row in found)
    columns = [
        Column("worker"), Column("judgments", "count"), Column("used", "count"),
        Column("control items right, %", "share"), Column("seen", "count"), Column("seconds a unit", "number"),
        Column("left side, %", "share"), Column("note"),
    ]  # fmt: skip
    if not sides:
        columns.pop(6)
        rows = [(*row[:6], row[7]) for row in rows]
    table = Table("workers", "Workers", tuple(columns), tuple(rows), f"{NUMBERED} Wilson's 95 % intervals.")
    aside = sum(not row["used"] for row in found)
    seen = sum(row["controls_seen"] for row in found)
    right = sum(row["controls_right"] for row in found)
    sentence = f"{len(found):,} workers judged; " + (
        f"they got {100 * right / seen:.1f} % of {seen:,} control items right, and the judgments of {aside:,} are "
        "set aside."
        if seen
        else "none of them saw a control item."
    )
    plots: tuple[Plot, ...] = ()
    if seen:
        top = rows[:MOST_WORKERS]
        threshold = gathered.aggregation.settings.get("controls")
        levels = []
        if isinstance(threshold, int | float) and threshold:
            levels.append(Level("rule", float(threshold)))
        levels.append(Level("all together", right / seen, False, *wilson_interval(right, seen)))
        guessing = gathered.kind.guessed_right
        if guessing is not None:
            levels.append(Level("guessing", guessing))
        drawing = Dots(
            tuple(str(row[0]) for row in top),
            (Panel("", tuple(row[3] for row in top if isinstance(row[3], Figure)), tuple(levels)),),
            "control items right in %, Wilson's 95 % interval",
            shows="share",
        )
        said = sentence + (
            " What guessing would reach is not known for this kind."
            if guessing is None
            else f" Guessing would get {100 * guessing:.0f} %."
        )
        if len(rows) > len(top):
            said += f" The {MOST_WORKERS} with the most judgments are drawn."
        plots = (Plot("workers", "Control items right, by worker", said, drawing, table),)
    return Section("workers", "Worker quality", (sentence,), plots, (table,))
