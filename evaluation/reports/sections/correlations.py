"""The report section on correlations of metrics, and of one judge (the ceiling), with people on single captions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.presentation.content import (
    DotPanel,
    DotPlot,
    Estimate,
    Level,
    Section,
    estimate_of,
    levels_of,
)
from evaluation.presentation.rendering import plot, render_sentence, section, table
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.sections.ceilings import judge_vs_rest_correlation
from evaluation.results.consensus.clusters import scope_sentence
from evaluation.results.metrics.tables import ONE_JUDGE, coefficient_headings, within_items_sentence
from evaluation.results.metrics.variant_tables import variant_tables
from evaluation.results.standings import comparison_tables

TAU, RHO, R = "kendall-tau-b", "spearman", "pearson"
COEFFICIENTS = (TAU, RHO, R)
JudgeEstimates = Mapping[str, Estimate]  # the value for one judge, by coefficient
UNDEFINED_SORT_KEY = -2.0  # places undefined coefficients below all others
FULL_AGREEMENT = Level("full agreement", 1.0, dashed=False)


def judge_vs_rest_correlations(inputs: ReportInputs) -> JudgeEstimates:
    """Return the correlations of one judge with the mean of the unit's other judges, by coefficient.

    Coefficients that are not defined are left out; {} if answers have no means.
    """
    if inputs.kind.is_open or inputs.kind.compares_pairs:
        return {}
    judgments = inputs.table
    unit, value = judgments.unit[judgments.is_counted], judgments.value[judgments.is_counted]
    clusters = inputs.judgment_clusters
    estimates = {
        name: judge_vs_rest_correlation(unit, value, clusters, coefficient=name) for name in COEFFICIENTS
    }
    return {name: estimate for name, estimate in estimates.items() if estimate.value is not None}


def no_ceiling_sentence(inputs: ReportInputs) -> str:
    return render_sentence("no-ceiling", wording=inputs.method.wording, kind=inputs.kind)


def caption_metrics_section(inputs: ReportInputs, one_judge: JudgeEstimates) -> Section:
    """Return the section on correlations of metrics with people's scores, with ``one_judge`` as the human level."""
    if inputs.evaluation is None:
        return section("metrics", empty=inputs.no_evaluation_reason)
    metrics = inputs.evaluation.result["metrics"]
    tau = {name: estimate_of(figures["kendall_tau_b"]) for name, figures in metrics.items()}
    sort_keys = {
        name: UNDEFINED_SORT_KEY if estimate.value is None else estimate.value
        for name, estimate in tau.items()
    }
    names = sorted(metrics, key=lambda name: -sort_keys[name])
    has_tau_within_items = any("per_image" in figures for figures in metrics.values())
    judge_tau = one_judge.get(TAU, Estimate(None))
    headings = coefficient_headings(metrics)
    if not inputs.method.wording:  # 0 is the wording of the oldest reports, which have no r
        headings.pop("pearson", None)
    rows: list[tuple[Any, ...]] = []
    for name in names:
        cells = [estimate_of(metrics[name][key]) for key in headings]
        if has_tau_within_items:
            cells.append(estimate_of(metrics[name]["per_image"]["kendall_tau_b"]))
        rows.append((name, *cells))
    columns = [("metric", "text"), *((heading, "coefficient") for heading in headings.values())]
    if has_tau_within_items:
        columns.append(("tau-b within items", "coefficient"))
    if judge_tau.value is not None:
        # The headings are tau-b, rho and, unless the report is old, r: the order of COEFFICIENTS.
        judge_cells = [one_judge.get(name) for name in COEFFICIENTS[: len(headings)]]
        if has_tau_within_items:
            judge_cells.append(None)
        rows.append((ONE_JUDGE, *judge_cells))
    covers_raters = inputs.covers_new_raters  # for the note of the table
    data = table("correlation", rows, columns, clustered=inputs.method.is_clustered, raters=covers_raters)
    verdict = inputs.evaluation.result["verdict"]["all"]  # wording 0 has `name` and `best` instead
    sentence = render_sentence(
        "correlation", wording=inputs.method.wording, verdict=verdict["sentence"], name=names[0],
        best=metrics[names[0]]["kendall_tau_b"], people=judge_tau.value, no_ceiling=no_ceiling_sentence(inputs),
    )  # fmt: skip
    levels = [Level("chance", 0.0), *levels_of(ONE_JUDGE, judge_tau)]
    drawing = DotPlot(
        tuple(names),
        (DotPanel("", tuple(tau[name] for name in names), tuple(levels)),),
        "Kendall's tau-b with people, 95 % interval",
        accent=tuple(verdict["leaders"]),
    )
    result = inputs.evaluation.result
    within_items = within_items_sentence(result) if inputs.method.wording else ""
    sentences = [sentence, scope_sentence(result), within_items]
    estimates = {"": {name: figures["kendall_tau_b"] for name, figures in metrics.items()}}  # one group
    comparisons = comparison_tables(
        {"": verdict}, estimates, headings=("", "metric"), column=("tau-b", "coefficient")
    )
    tables = [data, *comparisons]
    return section("metrics", sentences, [plot(sentence, drawing, data)], tables)


def readings_section(inputs: ReportInputs) -> Section | None:
    """Return the section on the variants that the evaluation's options request; None if they request none."""
    if not inputs.evaluation or not inputs.evaluation.result.get("readings"):
        return None
    return section("readings", [render_sentence("readings")], tables=variant_tables(inputs.evaluation.result))
