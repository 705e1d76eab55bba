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
    estimates = {
        name: one_against_mean(unit, value, coefficient=name, seed=inputs.seed, resamples=FEWEST_RESAMPLES)
        for name in COEFFICIENTS
    }
    return {name: estimate for name, estimate in estimates.items() if estimate.value is not None}


def why_no_ceiling(inputs: ReportInputs) -> str:
    return say("no-ceiling", kind=inputs.kind)


def metrics_section(inputs: ReportInputs, one_judge: People) -> Section:
    if inputs.evaluation is None:
        return section("metrics", empty=inputs.why_not)
    metrics = inputs.evaluation.result["metrics"]
    tau = {name: estimate_of(figures["kendall_tau_b"]) for name, figures in metrics.items()}
    values = {name: LAST if estimate.value is None else estimate.value for name, estimate in tau.items()}
    names = sorted(metrics, key=lambda name: -values[name])
    within = any("per_image" in figures for figures in metrics.values())
    people = one_judge.get(TAU, Estimate(None))
    rows: list[tuple[Any, ...]] = []
    for name in names:
        cells = [tau[name], estimate_of(metrics[name]["spearman"])]
        cells += [estimate_of(metrics[name]["per_image"]["kendall_tau_b"])] if within else []
        rows.append((name, *cells))
    if people.value is not None:
        rows.append((PEOPLE, people, one_judge.get(RHO), *([None] if within else [])))
    columns = [("metric", "text"), ("tau-b", "coefficient"), ("rho", "coefficient")]
    columns += [("tau-b within images", "coefficient")] if within else []
    data = table("correlation", rows, columns, clustered=inputs.clustered)
    verdict = correlation_verdict({name: figures["kendall_tau_b"] for name, figures in metrics.items()})
    sentence = say(
        "correlation", wording=inputs.wording, verdict=verdict["sentence"], name=names[0],
        best=metrics[names[0]]["kendall_tau_b"], people=people.value, no_ceiling=why_no_ceiling(inputs),
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
    r = {
        name: correlation(metric_scores, people[known], "pearson", resamples=0).value
        for name, metric_scores in scores.items()
    }
    defined = [name for name in scores if not np.isnan(r[name])]  # the others order nothing
    tests = paired_p(
        defined, lambda first, second: williams_test(scores[first], scores[second], people[known]).p
    )
    return cluster_tables(
        defined, {"": ([r[name] for name in defined], tests)}, heads=("", "metric"), value=("r", "coefficient"),
        table_keys=("caption-clusters", "williams"), captions=int(known.sum()),
    )  # fmt: skip


def thresholds_section(inputs: ReportInputs) -> Section | None:
    """Show kappa of metrics and people on a grid of thresholds (H13 Tables 8 to 10)."""
    metrics = inputs.evaluation.result["metrics"] if inputs.evaluation else {}
    grids = {name: figures["kappa"] for name, figures in metrics.items() if figures.get("kappa")}
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
    rows += [(PEOPLE, cut, cut, estimate) for cut, estimate in people.items()]
    known = [cell for cell in grids[names[0]] if cell["value"] is not None]
    top = max(known, key=lambda cell: cell["value"], default=None)
    reached = [kappa for kappa in best.values() if kappa != LAST]
    judge = [estimate.value for estimate in people.values() if estimate.value is not None]
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
    estimates = one_against_cut(
        inputs.table.unit[counted], inputs.table.value[counted], list(exact), seed=inputs.seed,
        resamples=FEWEST_RESAMPLES,
    )  # fmt: skip
    return {exact[cut]: estimate for cut, estimate in sorted(estimates.items())}


def _grid(name: str, cells: Sequence[Mapping[str, Any]], people: Mapping[float, Estimate]) -> HeatPanel:
    metric_cuts = sorted({cell["metric_at_least"] for cell in cells})
    people_cuts = sorted({cell["people_at_least"] for cell in cells})
    kappas = {(cell["metric_at_least"], cell["people_at_least"]): cell["value"] for cell in cells}
    values = [
        tuple(kappas.get((metric_cut, people_cut)) for people_cut in people_cuts)
        for metric_cut in metric_cuts
    ]
    heads = [f"{metric_cut:.3f}" for metric_cut in metric_cuts]
    if people:
        values.append(tuple(people[cut].value if cut in people else None for cut in people_cuts))
        heads.append(PEOPLE)
    return HeatPanel(
        name,
        tuple(heads),
        tuple(f"{people_cut:.3g}" for people_cut in people_cuts),
        tuple(values),
        apart=int(bool(people)),
        levels=(Level("chance", 0.0), FULL_AGREEMENT),
    )


def protocol_sections(inputs: ReportInputs) -> list[Section]:
    figures: Mapping[str, Any] = inputs.aggregation.result.get("figures", {})
    sections = {
        "leave_one_out": _leave_one_out_section,
        "captions": _captions_section,
        "pairwise_f1": _keywords_section,
        "content_selection": _content_section,
        "questions": _questions_section,
        "spans": _spans_section,
    }
    return [make(figures) for name, make in sections.items() if name in figures]


def _leave_one_out_section(figures: Mapping[str, Any]) -> Section:
    """Show each caption against the others of its image (WG16 §4)."""
    bounds = figures["leave_one_out"]
    if not bounds["metrics"]:
        return section("leave-one-out", empty=bounds["reason"])
    data = leave_one_out_table(bounds)
    sentence = say("leave-one-out", captions=bounds["captions"])
    plots: list[Plot] = []
    # Metrics have their own scales; those from 0 to 1 share an axis.
    rows = [
        (str(name), mean, floor)
        for name, mean, floor, *_ in data.rows
        if isinstance(mean, Estimate) and isinstance(floor, Estimate) and mean.value is not None
        if mean.value <= 1
    ]
    if rows:
        people = Panel("one person", tuple(row[1] for row in rows))
        floor = Panel("a caption of another image", tuple(row[2] for row in rows))
        panels = _panels_with_floor(people, floor)
        drawing = Dots(tuple(row[0] for row in rows), panels, "mean score over images, 95 % interval")
        caption = f"{sentence} {say('leave-one-out-floor' if len(panels) > 1 else 'leave-one-out-no-floor')}"
        plots.append(plot(caption, drawing, data, title="What people reach by the metrics"))
    return section("leave-one-out", [sentence, *bounds["warnings"]], plots, [data])


def _panels_with_floor(people: Panel, floor: Panel) -> tuple[Panel, ...]:
    """Return both panels, or people alone if no floor was measured."""
    return (people, floor) if any(cell.value is not None for cell in floor.estimates) else (people,)


def _captions_section(figures: Mapping[str, Any]) -> Section:
    data = captions_table(figures["captions"], ends=MOST_CAPTIONS)
    half = figures.get("split_half", {})
    half = half if half.get("spearman") is not None else None
    return section("captions", [say("captions", captions=len(figures["captions"]), half=half)], tables=[data])


def _keywords_section(figures: Mapping[str, Any]) -> Section:
    labels = {"keywords as words": "pairwise_f1", "one stem merged": "pairwise_f1_of_stems"}
    scores = {name: figures[key] for name, key in labels.items() if key in figures}
    of_words = figures["pairwise_f1"]
    if of_words["value"] is None:
        return section("keywords", empty=of_words["reason"])
    data = table(
        "keywords",
        [
            (name, estimate_of(score), score.get("floor"), score["n"], score["pairs_of_answers"])
            for name, score in scores.items()
        ],
    )
    sentence, floor = say("keywords", value=of_words["value"]), of_words.get("floor")
    levels = [] if floor is None else [Level("another image's", floor)]
    levels.append(Level("the same keywords", 1.0, dashed=False))
    panel = Panel("", tuple(estimate_of(score) for score in scores.values()), tuple(levels))
    drawing = Dots(tuple(scores), (panel,), "F1, 95 % interval")
    caption = f"{sentence} {say('keywords-floor', floor=floor)}"
    return section("keywords", [sentence], [plot(caption, drawing, data)], [data])


def _content_section(figures: Mapping[str, Any]) -> Section:
    """Show people's content selection, by leave-one-out (WG15 §5)."""
    selection = figures["content_selection"]
    bounds = selection["upper_bound"]
    if all(bound["value"] is None for bound in bounds.values()):
        return section("content", empty=selection["reason"] or "No image has two descriptions to compare.")
    data = table(
        "content",
        [
            (name, bound["value"], bound["deviation"], bound.get("floor"), bound["n"])
            for name, bound in bounds.items()
        ],
    )
    people = Panel("one person", tuple(estimate_of(bound) for bound in bounds.values()))
    chance = Panel("random boxes", tuple(Estimate(bound.get("floor")) for bound in bounds.values()))
    panels = _panels_with_floor(people, chance)
    drawing = Dots(tuple(bounds), panels, "mean over images")
    sentence = say("content")
    caption = f"{sentence} {say('content-floor', floor=len(panels) > 1)}"
    return section("content", [sentence], [plot(caption, drawing, data)], [data])


def _spans_section(figures: Mapping[str, Any]) -> Section:
    """Show whether two people mark the same characters, beyond chance."""
    spans = figures["spans"]
    keys = {
        "character F1": "f1",
        "character F1, same severity": "f1_same_severity",
        "unitized alpha": "alpha_u",
        "unitized alpha, same severity": "alpha_u_same_severity",
    }
    coefficients = {name: spans[key] for name, key in keys.items()}
    counted = [("severity", spans["severities"]), ("category", spans["categories"])]
    errors = table(
        "span-errors",
        [
            (sort, name, count, count / spans["judgments"])
            for sort, counts in counted
            for name, count in counts.items()
        ],
        missing=spans["missing"],
        without=spans["without"],
    )
    if all(coefficient["value"] is None for coefficient in coefficients.values()):
        return section("spans", empty=coefficients["character F1"]["reason"])
    data = table(
        "spans",
        [
            (
                name,
                estimate_of(coefficient),
                coefficient["n"],
                coefficient["clusters"],
                coefficient["judgments"],
            )
            for name, coefficient in coefficients.items()
        ],
        resamples=spans["f1"]["resamples"],
        seed=spans["f1"]["seed"],
    )
    panel = Panel(
        "",
        tuple(estimate_of(coefficient) for coefficient in coefficients.values()),
        (Level("chance, of alpha", 0.0), FULL_AGREEMENT),
    )
    sentence = say("spans", f1=spans["f1"]["value"], alpha=spans["alpha_u"]["value"])
    drawing = Dots(tuple(coefficients), (panel,), "coefficient, 95 % interval")
    tables = [data, errors] if errors.rows else [data]
    return section("spans", [sentence], [plot(sentence, drawing, data)], tables)


def _questions_section(figures: Mapping[str, Any]) -> Section:
    questions = figures["questions"]
    if not any(question["answered"] for question in questions):
        return section("questions", empty="Nobody answered a question of the form yet.")
    tables = questions_tables(questions)
    sentence = say("questions", n=len(questions))
    plots: list[Plot] = []
    drawn = [question for question in questions if question.get("alpha", {}).get("value") is not None]
    if drawn:
        alphas = tuple(estimate_of(question["alpha"]) for question in drawn)
        drawing = Dots(
            tuple(question["name"] for question in drawn),
            (Panel("", alphas, (Level("chance", 0.0), FULL_AGREEMENT)),),
            "Krippendorff's alpha, 95 % interval",
        )
        plots.append(plot(sentence, drawing, tables[0]))
    return section("questions", [sentence], plots, tables)
