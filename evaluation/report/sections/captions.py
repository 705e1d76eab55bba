"""Single captions: metrics' correlation with people, and kappa at thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.report.content import (
    Dots,
    Estimate,
    Heat,
    HeatPanel,
    Level,
    Panel,
    Section,
    Table,
    estimate_of,
    level_of,
)
from evaluation.report.inputs import ReportInputs
from evaluation.report.sections.ceiling import one_against_cut, one_against_mean
from evaluation.report.sections.comparisons import cluster_tables, paired_p
from evaluation.report.sections.systems import exact_cut
from evaluation.report.wording import plot, say, section, table
from evaluation.results.meta_evaluation import FEWEST_RESAMPLES
from evaluation.statistics.correlation import correlation
from evaluation.statistics.significance import williams_test

MOST_GRIDS = 6
TAU, RHO, R = COEFFICIENTS = ("kendall-tau-b", "spearman", "pearson")
People = Mapping[str, Estimate]  # a coefficient -> what one judge reaches
PEOPLE = "one judge"
LAST = -2.0  # sort undefined coefficients below all others


def ceilings(inputs: ReportInputs) -> People:
    """Correlate one judge with the mean of the unit's others; {} without means."""
    if inputs.kind.is_open or inputs.kind.compares_pairs:
        return {}
    counted = inputs.table.counted
    unit, value = inputs.table.unit[counted], inputs.table.value[counted]
    found = {
        name: one_against_mean(unit, value, coefficient=name, seed=inputs.seed, resamples=FEWEST_RESAMPLES)
        for name in COEFFICIENTS
    }
    return {name: one for name, one in found.items() if one.value is not None}


def no_ceiling(inputs: ReportInputs) -> str:
    return say("no-ceiling", kind=inputs.kind)


def metrics(inputs: ReportInputs, one_judge: People) -> Section:
    """Show Kendall's tau-b and Spearman's rho of each metric with people."""
    if inputs.evaluation is None:
        return section("metrics", empty=inputs.why_not)
    found = inputs.evaluation.result["metrics"]
    tau = {name: estimate_of(one["kendall_tau_b"]) for name, one in found.items()}
    names = sorted(found, key=lambda name: -(LAST if (value := tau[name].value) is None else value))
    within = any("per_image" in one for one in found.values())
    people = one_judge.get(TAU, Estimate(None))
    rows: list[tuple[Any, ...]] = []
    for name in names:
        cells = [tau[name], estimate_of(found[name]["spearman"])]
        cells += [estimate_of(found[name]["per_image"]["kendall_tau_b"])] if within else []
        rows.append((name, *cells))
    if people.value is not None:
        rows.append((PEOPLE, people, one_judge.get(RHO), *([None] if within else [])))
    columns = [("metric", "text"), ("tau-b", "coefficient"), ("rho", "coefficient")]
    columns += [("tau-b within images", "coefficient")] if within else []
    data = table("correlation", rows, columns)
    sentence = say(
        "correlation", name=names[0], best=found[names[0]]["kendall_tau_b"], people=people.value,
        no_ceiling=no_ceiling(inputs),
    )  # fmt: skip
    levels = [Level("chance", 0.0), *level_of(PEOPLE, people)]
    drawing = Dots(
        tuple(names),
        (Panel("", tuple(tau[name] for name in names), tuple(levels)),),
        "Kendall's tau-b with people, 95 % interval",
        accent=names[0],
    )
    return section("metrics", [sentence], [plot(sentence, drawing, data)], [data, *_clusters(inputs, names)])


def _clusters(inputs: ReportInputs, names: Sequence[str]) -> list[Table]:
    """Compare metrics by Williams' tests of every two metrics' r with people, Holm-adjusted."""
    people = inputs.people
    if people is None:
        return []
    known = ~np.isnan(people)
    scores = {name: inputs.scores[name][known, 0] for name in names if name in inputs.scores}
    r = {name: correlation(own, people[known], "pearson", resamples=0).value for name, own in scores.items()}
    able = [name for name in scores if not np.isnan(r[name])]  # the others order nothing
    tests = paired_p(able, lambda one, two: williams_test(scores[one], scores[two], people[known]).p)
    return cluster_tables(
        able, {"": ([r[name] for name in able], tests)}, heads=("", "metric"), value=("r", "coefficient"),
        words=("caption-clusters", "williams"), captions=int(known.sum()),
    )  # fmt: skip


def thresholds(inputs: ReportInputs) -> Section | None:
    """Show kappa of metrics and people on a grid of thresholds (H13 Tables 8 to 10)."""
    found = inputs.evaluation.result["metrics"] if inputs.evaluation else {}
    grids = {name: one["kappa"] for name, one in found.items() if one.get("kappa")}
    if not grids:
        return None
    best = {
        name: max((cell["value"] for cell in cells if cell["value"] is not None), default=LAST)
        for name, cells in grids.items()
    }
    names = sorted(grids, key=lambda name: -best[name])
    people = _people_at_cuts(inputs)
    rows: list[tuple[Any, ...]] = [
        (name, cell["metric_at_least"], cell["people_at_least"], estimate_of(cell))
        for name in names
        for cell in grids[name]
    ]
    rows += [(PEOPLE, cut, cut, one) for cut, one in people.items()]
    known = [cell for cell in grids[names[0]] if cell["value"] is not None]
    top = max(known, key=lambda cell: cell["value"], default=None)
    sentence = say(
        "thresholds", name=names[0], top=top, people=any(one.value is not None for one in people.values()),
        there=people.get(top["people_at_least"], Estimate(None)).value if top else None, no_ceiling=no_ceiling(inputs),
        most=MOST_GRIDS if len(names) > MOST_GRIDS else 0,
    )  # fmt: skip
    data = table("kappa", rows)
    panels = tuple(_grid(name, grids[name], people) for name in names[:MOST_GRIDS])
    drawing = Heat(panels, "metric at least", "people at least")
    return section(
        "thresholds", [sentence], [plot(sentence, drawing, data, title="Kappa by thresholds")], [data]
    )


def _people_at_cuts(inputs: ReportInputs) -> dict[float, Estimate]:
    """Return threshold -> kappa of one judge with the others; {} if units have no others."""
    if inputs.kind.is_open:
        return {}
    counted = inputs.table.counted
    exact = {exact_cut(cut): cut for cut in inputs.kind.comparison.cuts}
    found = one_against_cut(
        inputs.table.unit[counted], inputs.table.value[counted], list(exact), seed=inputs.seed,
        resamples=FEWEST_RESAMPLES,
    )  # fmt: skip
    return {exact[cut]: one for cut, one in sorted(found.items())}


def _grid(name: str, cells: Sequence[Mapping[str, Any]], people: Mapping[float, Estimate]) -> HeatPanel:
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
