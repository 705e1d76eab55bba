"""The section about metrics against each other: correlation matrices over all judged candidates (WG16 §4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.provenance import plain
from evaluation.records import Floats
from evaluation.reports.captions import PEOPLE, RHO, TAU, People, R, no_ceiling
from evaluation.reports.content import (
    Figure,
    Heat,
    HeatPanel,
    Level,
    Plot,
    Section,
    coefficient,
    plain_table,
    shown,
)
from evaluation.reports.gathered import Gathered
from evaluation.statistics.correlation import correlation

MEAN = "people"  # the mean of all judges
# coefficient -> the end of its figure's name, and its own name
NAMES = {R: ("r", "Pearson's r"), RHO: ("rho", "Spearman's rho"), TAU: ("tau-b", "Kendall's tau-b")}


def between_metrics(gathered: Gathered, one_judge: People) -> Section | None:
    """Pearson's r, Spearman's rho and Kendall's tau-b between every two metrics, and with people where they score
    captions; a matrix each.

    Floor: 0, no relation. Ceiling, where people score captions: one judge against the mean of the others.
    """
    names = list(gathered.scores)
    if len(names) < 2:
        return None
    flat = {name: gathered.scores[name].ravel() for name in names}
    people = gathered.people
    with_people = people is not None and bool((~np.isnan(people)).sum() > 1)
    rows = _rows(flat, people if with_people else None)
    known = [row for row in rows if row[2] is not None and row[1] != MEAN]
    alike = "No two metrics can be correlated: each gives all candidates the same score."
    if known:
        most, least = max(known, key=lambda row: row[2]), min(known, key=lambda row: row[2])
        alike = (
            f"{most[0]} and {most[1]} order the {most[5]:,} candidates most alike (tau-b {coefficient(most[2])})"
            + (f", {least[0]} and {least[1]} least ({coefficient(least[2])})." if len(known) > 1 else ".")
        )
    data = plain_table(
        "metric-correlation",
        "Correlation between metrics",
        [("metric", "text"), ("with", "text"), ("tau-b", "coefficient"), ("rho", "coefficient"), ("r", "coefficient"),
         ("candidates", "count")],
        rows,
        "Over the scores of all judged candidates." + (" People: the mean of all judges." if with_people else ""),
    )  # fmt: skip
    plots = tuple(
        _matrix(gathered, which, place, names, rows, one_judge, alike)
        for which, place in ((R, 4), (RHO, 3), (TAU, 2))
    )
    said = alike if one_judge else f"{alike} {no_ceiling(gathered)}"
    return Section("between-metrics", "Metrics against each other", (said,), plots, (data,))


def _rows(flat: dict[str, Floats], people: Floats | None) -> list[tuple[Any, ...]]:
    """Every two metrics, then every metric with people: names, tau-b, rho, r, and over how many candidates."""
    names = list(flat)
    pairs = [
        (one, two, flat[one], flat[two]) for place, one in enumerate(names) for two in names[place + 1 :]
    ]
    if people is not None:
        there = ~np.isnan(people)
        pairs += [(name, MEAN, flat[name][there], people[there]) for name in names]
    rows: list[tuple[Any, ...]] = []
    for one, two, first, second in pairs:
        found = {which: correlation(first, second, which, resamples=0) for which in (TAU, RHO, R)}
        rows.append((one, two, *(plain(result.value) for result in found.values()), found[TAU].n))
    return rows


def _matrix(
    gathered: Gathered,
    which: str,
    place: int,
    names: list[str],
    rows: list[tuple[Any, ...]],
    one_judge: People,
    alike: str,
) -> Plot:
    """One coefficient: its matrix, with people in a row that stands apart, and the matrix as data."""
    end, title = NAMES[which]
    value = {(row[0], row[1]): row[place] for row in rows}
    cells = [
        [1.0 if one == two else value.get((one, two), value.get((two, one))) for two in names]
        for one in names
    ]
    heads = list(names)
    if with_people := any(row[1] == MEAN for row in rows):
        cells.append([value[name, MEAN] for name in names])
        heads.append(MEAN)
    ceiling = one_judge.get(which, Figure(None))
    levels = [Level("unrelated", 0.0)]
    sentence = f"{title} between metrics, over all judged candidates; 0: unrelated."
    if with_people:
        sentence += " People: the mean of all judges."
    if ceiling.value is not None:
        levels.append(Level(PEOPLE, ceiling.value, dashed=False, low=ceiling.low, high=ceiling.high))
        sentence += f" One judge against the mean of the others reaches {_said(ceiling)}."
    else:
        sentence += f" {no_ceiling(gathered)}"
    if which == TAU:
        sentence += f" {alike}"
    name = f"metric-correlation-{end}"
    data = plain_table(
        name,
        f"{title} between metrics",
        [("metric", "text"), *((one, "coefficient") for one in names)],
        [(head, *own) for head, own in zip(heads, cells, strict=True)],
    )
    panel = HeatPanel(
        title,
        tuple(heads),
        tuple(names),
        tuple(tuple(row) for row in cells),
        apart=int(with_people),
        levels=tuple(levels),
    )
    return Plot(name, f"{title} between metrics", sentence, Heat((panel,), "", "", -1.0), data)


def _said(one: Figure) -> str:
    if one.value is None or one.low is None or one.high is None:
        return shown(one, "coefficient")
    return f"{coefficient(one.value)} (95 % interval {coefficient(one.low)} to {coefficient(one.high)})"
