"""Report single captions: metrics against people, and open answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.presentation.content import (
    Dots,
    Estimate,
    Heat,
    HeatPanel,
    Level,
    Panel,
    Plot,
    Section,
    Table,
    estimate_of,
    levels_of,
)
from evaluation.presentation.rendering import plot, say, section, table
from evaluation.reports.loading import ReportInputs
from evaluation.reports.sections.ceiling import one_against_cut, one_against_mean
from evaluation.reports.sections.systems import cluster_tables, exact_cut
from evaluation.results.metric_figures import FEWEST_RESAMPLES
from evaluation.results.tables import captions_table, leave_one_out_table, questions_tables
from evaluation.results.verdict import correlation_verdict, paired_p
from evaluation.statistics.correlation import correlation
from evaluation.statistics.significance import williams_test

MOST_GRIDS = 6
TAU, RHO, R = COEFFICIENTS = ("kendall-tau-b", "spearman", "pearson")
People = Mapping[str, Estimate]  # a coefficient -> what one judge reaches
PEOPLE = "one judge"
LAST = -2.0  # sort undefined coefficients below all others
MOST_CAPTIONS = 25
FULL_AGREEMENT = Level("full agreement", 1.0, dashed=False)


def people_against_others(inputs: ReportInputs) -> People:
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


def why_no_ceiling(inputs: ReportInputs) -> str:
    return say("no-ceiling", kind=inputs.kind)


def metrics_section(inputs: ReportInputs, one_judge: People) -> Section:
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
    data = table("correlation", rows, columns, clustered=inputs.clustered)
    verdict = correlation_verdict({name: one["kendall_tau_b"] for name, one in found.items()})
    sentence = say(
        "correlation", wording=inputs.wording, verdict=verdict["sentence"], name=names[0],
        best=found[names[0]]["kendall_tau_b"], people=people.value, no_ceiling=why_no_ceiling(inputs),
    )  # fmt: skip
    levels = [Level("chance", 0.0), *levels_of(PEOPLE, people)]
    drawing = Dots(
        tuple(names),
        (Panel("", tuple(tau[name] for name in names), tuple(levels)),),
        "Kendall's tau-b with people, 95 % interval",
        accent=tuple(verdict["leaders"]),
    )
    return section(
        "metrics", [sentence], [plot(sentence, drawing, data)], [data, *_cluster_tables(inputs, names)]
    )


def _cluster_tables(inputs: ReportInputs, names: Sequence[str]) -> list[Table]:
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


def thresholds_section(inputs: ReportInputs) -> Section | None:
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
    reached = [one for one in best.values() if one != LAST]
    judge = [one.value for one in people.values() if one.value is not None]
    sentence = say(
        "thresholds", wording=inputs.wording, name=names[0],
        top=max(reached, default=None) if inputs.wording else top, least=min(reached, default=None),
        people=bool(judge), judge=max(judge, default=None),
        there=people.get(top["people_at_least"], Estimate(None)).value if top else None,
        no_ceiling=why_no_ceiling(inputs),
        most=MOST_GRIDS if len(names) > MOST_GRIDS else 0,
    )  # fmt: skip
    data = table("kappa", rows, clustered=inputs.clustered)
    panels = tuple(_grid(name, grids[name], people) for name in names[:MOST_GRIDS])
    drawing = Heat(panels, "metric at least", "people at least")
    return section(
        "thresholds", [sentence], [plot(sentence, drawing, data, title="Kappa by thresholds")], [data]
    )


def _people_at_cuts(inputs: ReportInputs) -> dict[float, Estimate]:
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
    heads = [f"{one:.3f}" for one in down]
    if people:
        values.append(tuple(people[cut].value if cut in people else None for cut in across))
        heads.append(PEOPLE)
    return HeatPanel(
        name,
        tuple(heads),
        tuple(f"{one:.3g}" for one in across),
        tuple(values),
        apart=int(bool(people)),
        levels=(Level("chance", 0.0), FULL_AGREEMENT),
    )


def protocol_sections(inputs: ReportInputs) -> list[Section]:
    figures: Mapping[str, Any] = inputs.aggregation.result.get("figures", {})
    made = {
        "leave_one_out": _leave_one_out_section,
        "captions": _captions_section,
        "pairwise_f1": _keywords_section,
        "content_selection": _content_section,
        "questions": _questions_section,
        "spans": _spans_section,
    }
    return [make(figures) for name, make in made.items() if name in figures]


def _leave_one_out_section(figures: Mapping[str, Any]) -> Section:
    """Show each caption against the others of its image (WG16 §4)."""
    found = figures["leave_one_out"]
    if not found["metrics"]:
        return section("leave-one-out", empty=found["reason"])
    data = leave_one_out_table(found)
    sentence = say("leave-one-out", captions=found["captions"])
    plots: list[Plot] = []
    # Metrics have their own scales; those from 0 to 1 share an axis.
    unit = [
        (str(name), mean, floor)
        for name, mean, floor, *_ in data.rows
        if isinstance(mean, Estimate) and isinstance(floor, Estimate) and mean.value is not None
        if mean.value <= 1
    ]
    if unit:
        people = Panel("one person", tuple(row[1] for row in unit))
        floor = Panel("a caption of another image", tuple(row[2] for row in unit))
        with_floor = any(one.value is not None for one in floor.estimates)
        drawing = Dots(
            tuple(row[0] for row in unit),
            (people, floor) if with_floor else (people,),
            "mean score over images, 95 % interval",
        )
        caption = f"{sentence} {say('leave-one-out-floor' if with_floor else 'leave-one-out-no-floor')}"
        plots.append(plot(caption, drawing, data, title="What people reach by the metrics"))
    return section("leave-one-out", [sentence, *found["warnings"]], plots, [data])


def _captions_section(figures: Mapping[str, Any]) -> Section:
    data = captions_table(figures["captions"], ends=MOST_CAPTIONS)
    half = figures.get("split_half", {})
    half = half if half.get("spearman") is not None else None
    return section("captions", [say("captions", captions=len(figures["captions"]), half=half)], tables=[data])


def _keywords_section(figures: Mapping[str, Any]) -> Section:
    named = {"keywords as words": "pairwise_f1", "one stem merged": "pairwise_f1_of_stems"}
    found = {name: figures[key] for name, key in named.items() if key in figures}
    words = figures["pairwise_f1"]
    if words["value"] is None:
        return section("keywords", empty=words["reason"])
    data = table(
        "keywords",
        [
            (name, estimate_of(one), one.get("floor"), one["n"], one["pairs_of_answers"])
            for name, one in found.items()
        ],
    )
    sentence, floor = say("keywords", value=words["value"]), words.get("floor")
    levels = [] if floor is None else [Level("another image's", floor)]
    levels.append(Level("the same keywords", 1.0, dashed=False))
    panel = Panel("", tuple(estimate_of(one) for one in found.values()), tuple(levels))
    drawing = Dots(tuple(found), (panel,), "F1, 95 % interval")
    caption = f"{sentence} {say('keywords-floor', floor=floor)}"
    return section("keywords", [sentence], [plot(caption, drawing, data)], [data])


def _content_section(figures: Mapping[str, Any]) -> Section:
    """Show people's content selection, by leave-one-out (WG15 §5)."""
    found = figures["content_selection"]
    known = found["upper_bound"]
    if all(one["value"] is None for one in known.values()):
        return section("content", empty=found["reason"] or "No image has two descriptions to compare.")
    data = table(
        "content",
        [(name, one["value"], one["deviation"], one.get("floor"), one["n"]) for name, one in known.items()],
    )
    people = Panel("one person", tuple(estimate_of(one) for one in known.values()))
    chance = Panel("random boxes", tuple(Estimate(one.get("floor")) for one in known.values()))
    with_floor = any(one.value is not None for one in chance.estimates)
    drawing = Dots(tuple(known), (people, chance) if with_floor else (people,), "mean over images")
    sentence = say("content")
    caption = f"{sentence} {say('content-floor', floor=with_floor)}"
    return section("content", [sentence], [plot(caption, drawing, data)], [data])


def _spans_section(figures: Mapping[str, Any]) -> Section:
    """Show whether two people mark the same characters, beyond chance."""
    found = figures["spans"]
    named = {
        "character F1": "f1",
        "character F1, same severity": "f1_same_severity",
        "unitized alpha": "alpha_u",
        "unitized alpha, same severity": "alpha_u_same_severity",
    }
    known = {name: found[key] for name, key in named.items()}
    counted = [("severity", found["severities"]), ("category", found["categories"])]
    errors = table(
        "span-errors",
        [
            (sort, name, count, count / found["judgments"])
            for sort, own in counted
            for name, count in own.items()
        ],
        missing=found["missing"],
        without=found["without"],
    )
    if all(one["value"] is None for one in known.values()):
        return section("spans", empty=known["character F1"]["reason"])
    data = table(
        "spans",
        [
            (name, estimate_of(one), one["n"], one["clusters"], one["judgments"])
            for name, one in known.items()
        ],
        resamples=found["f1"]["resamples"],
        seed=found["f1"]["seed"],
    )
    panel = Panel(
        "",
        tuple(estimate_of(one) for one in known.values()),
        (Level("chance, of alpha", 0.0), FULL_AGREEMENT),
    )
    sentence = say("spans", f1=found["f1"]["value"], alpha=found["alpha_u"]["value"])
    drawing = Dots(tuple(known), (panel,), "coefficient, 95 % interval")
    tables = [data, errors] if errors.rows else [data]
    return section("spans", [sentence], [plot(sentence, drawing, data)], tables)


def _questions_section(figures: Mapping[str, Any]) -> Section:
    found = figures["questions"]
    if not any(one["answered"] for one in found):
        return section("questions", empty="Nobody answered a question of the form yet.")
    tables = questions_tables(found)
    sentence = say("questions", n=len(found))
    plots: list[Plot] = []
    drawn = [one for one in found if one.get("alpha", {}).get("value") is not None]
    if drawn:
        alphas = tuple(estimate_of(one["alpha"]) for one in drawn)
        drawing = Dots(
            tuple(one["name"] for one in drawn),
            (Panel("", alphas, (Level("chance", 0.0), FULL_AGREEMENT)),),
            "Krippendorff's alpha, 95 % interval",
        )
        plots.append(plot(sentence, drawing, tables[0]))
    return section("questions", [sentence], plots, tables)
