"""The sections about single captions: metrics' correlation with people, threshold grids, rankings of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.reports.ceiling import one_against_cut, one_against_mean
from evaluation.reports.content import (
    DASH,
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
from evaluation.reports.proposals import exact_cut
from evaluation.reports.told_apart import paired_p, told_apart
from evaluation.results.meta_evaluation import FEWEST_RESAMPLES
from evaluation.statistics.correlation import correlation
from evaluation.statistics.significance import williams_test

MOST_GRIDS = 6
TAU, RHO, R = COEFFICIENTS = ("kendall-tau-b", "spearman", "pearson")
People = Mapping[str, Figure]  # a coefficient -> what one judge reaches
PEOPLE = "one judge"


def ceilings(gathered: Gathered) -> People:
    """Coefficient -> what one judge reaches when held against the mean of the unit's others; {} where answers are no
    values to be averaged."""
    if gathered.kind.is_open or gathered.kind.compares_pairs:
        return {}
    counted = gathered.table.counted
    unit, value = gathered.table.unit[counted], gathered.table.value[counted]
    found = {
        name: one_against_mean(unit, value, coefficient=name, seed=gathered.seed, resamples=FEWEST_RESAMPLES)
        for name in COEFFICIENTS
    }
    return {name: one for name, one in found.items() if one.value is not None}


def no_ceiling(gathered: Gathered) -> str:
    """Why no ceiling is drawn, as a sentence."""
    if gathered.kind.compares_pairs:
        return "No ceiling is drawn: people choose between captions here, and score none."
    if gathered.kind.is_open:
        return "No ceiling is drawn: an answer is no score that could be held against the mean of the others."
    return "No ceiling is drawn: too few units have two judgments that differ, so nobody can be held against others."


def metrics(gathered: Gathered, one_judge: People) -> Section:
    """Kendall's tau-b and Spearman's rho of each metric with people."""
    title = "Metrics against people"
    if gathered.evaluation is None:
        return Section("metrics", title, empty=gathered.why_not)
    found = gathered.evaluation.result["metrics"]
    names = sorted(found, key=lambda name: -_or_last(found[name]["kendall_tau_b"]["value"]))
    within = any("per_image" in one for one in found.values())
    people = one_judge.get(TAU, Figure(None))
    rows: list[tuple[Any, ...]] = []
    for name in names:
        row: list[Any] = [name, figure_of(found[name]["kendall_tau_b"]), figure_of(found[name]["spearman"])]
        if within:
            row.append(figure_of(found[name]["per_image"]["kendall_tau_b"]))
        rows.append(tuple(row))
    if people.value is not None:
        rows.append((PEOPLE, people, one_judge.get(RHO), *(None for _ in range(within))))
    columns = [Column("metric"), Column("tau-b", "coefficient"), Column("rho", "coefficient")]
    columns += [Column("tau-b within images", "coefficient")] if within else []
    table = Table(
        "correlation",
        "Correlation of metrics with people",
        tuple(columns),
        tuple(rows),
        "Kendall's tau-b and Spearman's rho over image-caption pairs, with 95 % bootstrap intervals. One judge: each "
        "judgment against the mean of the unit's others; intervals over units.",
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
    else:
        sentence += f" {no_ceiling(gathered)}"
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
    people = _people_at_cuts(gathered)
    panels: list[HeatPanel] = []
    rows: list[tuple[Any, ...]] = []
    for name in names:
        cells = grids[name]
        rows += [(name, cell["metric_at_least"], cell["people_at_least"], figure_of(cell)) for cell in cells]
        if len(panels) < MOST_GRIDS:
            panels.append(_grid(name, cells, people))
    rows += [(PEOPLE, cut, cut, one) for cut, one in people.items()]
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
    known = [one.value for one in people.values() if one.value is not None]
    if top is not None and known:
        there = people.get(top["people_at_least"], Figure(None))
        beside = DASH if there.value is None else coefficient(there.value)
        sentence += f" One judge against the mean of the others, both cut there, reaches {beside}."
    elif not known:
        sentence += f" {no_ceiling(gathered)}"
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
        "Metric and people each cut into yes and no (H13 Tables 8 to 10); 95 % bootstrap intervals. One judge: each "
        "judgment against the mean of the unit's others, both cut at the same value; intervals over units.",
    )
    plot = Plot(
        "kappa",
        "Kappa by thresholds",
        sentence,
        Heat(tuple(panels), "metric at least", "people at least"),
        data,
    )
    return Section("thresholds", "Agreement at thresholds", (sentence,), (plot,), (data,))


def _people_at_cuts(gathered: Gathered) -> dict[float, Figure]:
    """Cut -> kappa of one judge with the others, both cut there; {} where nobody can be held against others."""
    if gathered.kind.is_open:
        return {}
    counted = gathered.table.counted
    exact = {exact_cut(cut): cut for cut in gathered.kind.people_cuts}
    found = one_against_cut(
        gathered.table.unit[counted], gathered.table.value[counted], list(exact), seed=gathered.seed,
        resamples=FEWEST_RESAMPLES,
    )  # fmt: skip
    return {exact[cut]: one for cut, one in sorted(found.items())}


def _grid(name: str, cells: list[Mapping[str, Any]], people: Mapping[float, Figure]) -> HeatPanel:
    down = sorted({cell["metric_at_least"] for cell in cells})
    across = sorted({cell["people_at_least"] for cell in cells})
    value = {(cell["metric_at_least"], cell["people_at_least"]): cell["value"] for cell in cells}
    values = [tuple(value.get((one, other)) for other in across) for one in down]
    heads = [f"{one:.3g}" for one in down]
    if people:
        values.append(tuple(people[cut].value if cut in people else None for cut in across))
        heads.append(PEOPLE)
    return HeatPanel(
        name,
        tuple(heads),
        tuple(f"{one:.3g}" for one in across),
        tuple(values),
        apart=int(bool(people)),
        levels=(Level("chance", 0.0), Level("full agreement", 1.0, dashed=False)),
    )
