"""The sections about single captions: metrics' correlation with people, threshold grids, rankings of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.meta_evaluation import FEWEST_RESAMPLES
from evaluation.provenance import plain
from evaluation.reports.ceiling import one_against_mean
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
from evaluation.reports.told_apart import paired_p, told_apart
from evaluation.statistics.correlation import correlation
from evaluation.statistics.williams import williams_test

MOST_GRIDS = 6
PEOPLE = "one judge"


def metrics(gathered: Gathered) -> Section:
    """Kendall's tau-b and Spearman's rho of each metric with people."""
    title = "Metrics against people"
    if gathered.evaluation is None:
        return Section("metrics", title, empty=gathered.why_not)
    found = gathered.evaluation.result["metrics"]
    names = sorted(found, key=lambda name: -_or_last(found[name]["kendall_tau_b"]["value"]))
    within = any("per_image" in one for one in found.values())
    people = _people(gathered)
    rows: list[tuple[Any, ...]] = []
    for name in names:
        row: list[Any] = [name, figure_of(found[name]["kendall_tau_b"]), figure_of(found[name]["spearman"])]
        if within:
            row.append(figure_of(found[name]["per_image"]["kendall_tau_b"]))
        rows.append(tuple(row))
    if people.value is not None:
        rows.append((PEOPLE, people, *(None for _ in range(1 + within))))
    columns = [Column("metric"), Column("tau-b", "coefficient"), Column("rho", "coefficient")]
    columns += [Column("tau-b within images", "coefficient")] if within else []
    table = Table(
        "correlation",
        "Correlation of metrics with people",
        tuple(columns),
        tuple(rows),
        "Kendall's tau-b and Spearman's rho over image-caption pairs, with 95 % bootstrap intervals. One judge: each "
        "judgment against the mean of the unit's others.",
    )
    best = found[names[0]]["kendall_tau_b"]
    if best["value"] is None:
        sentence = f"No metric can be ranked against people: {best['reason']}."
    else:
        sentence = (
            f"{names[0]} orders {best['n']:,} captions most like people do: tau-b {coefficient(best['value'])} (95 % "
            f"interval {_two(best['low'])} to {_two(best['high'])}); 0 is chance."
        )
    if people.value is not None:
        sentence += f" One judge against the mean of the others: {coefficient(people.value)}."
    levels = [Level("chance", 0.0)]
    if people.value is not None:
        levels.append(Level(PEOPLE, people.value, dashed=False, low=people.low, high=people.high))
    drawing = Dots(
        tuple(names),
        (Panel("", tuple(figure_of(found[name]["kendall_tau_b"]) for name in names), tuple(levels)),),
        "Kendall's tau-b with people, 95 % interval",
        accent=names[0],
    )
    plot = Plot("correlation", "Correlation of metrics with people", sentence, drawing, table)
    return Section("metrics", title, (sentence,), (plot,), (table, *_clusters(gathered, names)))


def _clusters(gathered: Gathered, names: Sequence[str]) -> list[Table]:
    """Rank bands and letters from Williams' tests of every two metrics' r with people, after Holm."""
    people = gathered.people
    if people is None:
        return []
    known = ~np.isnan(people)
    scores = {name: gathered.scores[name][known, 0] for name in names if name in gathered.scores}
    r = {name: correlation(own, people[known], "pearson", resamples=0).value for name, own in scores.items()}
    able = [name for name in scores if not np.isnan(r[name])]  # the others order nothing
    tests = paired_p(able, lambda one, two: williams_test(scores[one], scores[two], people[known]).p)
    return told_apart(
        able,
        {"": ([r[name] for name in able], tests)},
        heads=("", "metric", "against"),
        value=("r", "coefficient"),
        tables=(("clusters", "Which metrics can be told apart"), ("williams", "Williams' tests")),
        note=f"Pearson's r with people over {int(known.sum()):,} captions. Metrics that share a letter cannot be told "
        "apart: Williams' test of every two metrics' r, Holm's correction, at .05; it takes captions as independent. "
        "Rank: from 1 plus the number that are better to the last that is not worse.",
    )


def _people(gathered: Gathered) -> Figure:
    if gathered.kind.is_open:
        return Figure(None)
    counted = gathered.table.counted
    return one_against_mean(
        gathered.table.unit[counted],
        gathered.table.value[counted],
        seed=gathered.seed,
        resamples=FEWEST_RESAMPLES,
    )


def _or_last(value: float | None) -> float:
    return -2.0 if value is None else value


def _two(value: float | None) -> str:
    return "undefined" if value is None else coefficient(value)


def thresholds(gathered: Gathered) -> Section | None:
    """H13 Tables 8 to 10: kappa between metric and people, each cut at a grid of thresholds."""
    found = gathered.evaluation.result["metrics"] if gathered.evaluation else {}
    grids = {name: one["kappa"] for name, one in found.items() if one.get("kappa")}
    if not grids:
        return None
    best = {
        name: max((cell["value"] for cell in cells if cell["value"] is not None), default=-2.0)
        for name, cells in grids.items()
    }
    names = sorted(grids, key=lambda name: -best[name])
    panels: list[HeatPanel] = []
    rows: list[tuple[Any, ...]] = []
    for name in names:
        cells = grids[name]
        rows += [(name, cell["metric_at_least"], cell["people_at_least"], figure_of(cell)) for cell in cells]
        if len(panels) < MOST_GRIDS:
            panels.append(_grid(name, cells))
    top = max(
        (cell for cell in grids[names[0]] if cell["value"] is not None),
        key=lambda cell: cell["value"],
        default=None,
    )
    sentence = "Kappa is undefined at every pair of thresholds."
    if top is not None:
        sentence = (
            f"Cut at {top['metric_at_least']:.3g}, {names[0]} agrees best with people cut at "
            f"{top['people_at_least']:.3g}: "
            f"kappa {coefficient(top['value'])}; 0 is chance, 1 full agreement."
        )
    if len(names) > MOST_GRIDS:
        sentence += f" The {MOST_GRIDS} best metrics are drawn."
    data = plain_table(
        "kappa",
        "Cohen's kappa by thresholds",
        [
            ("metric", "text"),
            ("metric at least", "number"),
            ("people at least", "number"),
            ("kappa", "coefficient"),
        ],
        rows,
        "Metric and people each cut into yes and no (H13 Tables 8 to 10); 95 % bootstrap intervals.",
    )
    plot = Plot(
        "kappa",
        "Kappa by thresholds",
        sentence,
        Heat(tuple(panels), "metric at least", "people at least"),
        data,
    )
    return Section("thresholds", "Agreement at thresholds", (sentence,), (plot,), (data,))


def _grid(name: str, cells: list[Mapping[str, Any]]) -> HeatPanel:
    down = sorted({cell["metric_at_least"] for cell in cells})
    across = sorted({cell["people_at_least"] for cell in cells})
    value = {(cell["metric_at_least"], cell["people_at_least"]): cell["value"] for cell in cells}
    return HeatPanel(
        name,
        tuple(f"{one:.3g}" for one in down),
        tuple(f"{one:.3g}" for one in across),
        tuple(tuple(value.get((one, other)) for other in across) for one in down),
    )


def between_metrics(gathered: Gathered) -> Section | None:
    """Kendall's tau-b between every two metrics, over all scored candidates (WG16 §4)."""
    names = list(gathered.scores)
    if len(names) < 2:
        return None
    flat = {name: gathered.scores[name].ravel() for name in names}
    size = len(names)
    values: list[list[float | None]] = [[1.0] * size for _ in names]
    rows: list[tuple[Any, ...]] = []
    for one in range(size):
        for two in range(one + 1, size):
            taus = correlation(flat[names[one]], flat[names[two]], "kendall-tau-b", resamples=0)
            rho = correlation(flat[names[one]], flat[names[two]], "spearman", resamples=0)
            r = correlation(flat[names[one]], flat[names[two]], "pearson", resamples=0)
            values[one][two] = values[two][one] = plain(taus.value)
            rows.append((names[one], names[two], plain(taus.value), plain(rho.value), plain(r.value), taus.n))
    known = [row for row in rows if row[2] is not None]
    sentence = "No two metrics can be correlated: each gives all candidates the same score."
    if known:
        most, least = max(known, key=lambda row: row[2]), min(known, key=lambda row: row[2])
        sentence = (
            f"{most[0]} and {most[1]} order the {most[5]:,} candidates most alike (tau-b {coefficient(most[2])})"
            + (f", {least[0]} and {least[1]} least ({coefficient(least[2])})." if len(known) > 1 else ".")
        )
    data = plain_table(
        "metric-correlation",
        "Correlation between metrics",
        [("metric", "text"), ("with", "text"), ("tau-b", "coefficient"), ("rho", "coefficient"), ("r", "coefficient"),
         ("candidates", "count")],
        rows,
        "Over the scores of all judged candidates.",
    )  # fmt: skip
    panel = HeatPanel("Kendall's tau-b", tuple(names), tuple(names), tuple(tuple(row) for row in values))
    plot = Plot(
        "metric-correlation", "Correlation between metrics", sentence, Heat((panel,), "", "", -1.0), data
    )
    return Section("between-metrics", "Metrics against each other", (sentence,), (plot,), (data,))
