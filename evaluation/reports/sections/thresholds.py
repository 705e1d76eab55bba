"""The report section on kappa of metrics and people on a grid of thresholds.

A caption counts as good if its score reaches a threshold. For each pair of a metric's and a people's threshold, kappa
says how far both agree on which captions are good (Hodosh et al. 2013 (H13), tables 8 to 10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.presentation.content import Estimate, Heatmap, HeatmapPanel, Level, Section, estimate_of
from evaluation.presentation.rendering import plot, render_sentence, section, table
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.sections.ceilings import judge_vs_rest_kappa
from evaluation.reports.sections.correlations import FULL_AGREEMENT, UNDEFINED_SORT_KEY, no_ceiling_sentence
from evaluation.results.metrics.tables import ONE_JUDGE

MAX_GRIDS = 6  # metrics whose grids are drawn

EXACT_THIRDS = {0.33: 1 / 3, 0.66: 2 / 3}  # H13 prints thirds truncated to two digits


def thresholds_section(inputs: ReportInputs) -> Section | None:
    metrics = inputs.evaluation.result["metrics"] if inputs.evaluation else {}
    grids = {name: figures["kappa"] for name, figures in metrics.items() if figures.get("kappa")}
    if not grids:
        return None
    best_kappa = {
        name: max((cell["value"] for cell in cells if cell["value"] is not None), default=UNDEFINED_SORT_KEY)
        for name, cells in grids.items()
    }
    names = sorted(grids, key=lambda name: -best_kappa[name])
    one_judge = _kappas_of_one_judge(inputs)
    rows: list[tuple[Any, ...]] = []
    for name in names:
        for cell in grids[name]:
            rows.append((name, cell["metric_at_least"], cell["people_at_least"], estimate_of(cell)))
    rows += [(ONE_JUDGE, cut, cut, estimate) for cut, estimate in one_judge.items()]
    defined_cells = [cell for cell in grids[names[0]] if cell["value"] is not None]
    top_cell = max(defined_cells, key=lambda cell: cell["value"], default=None)
    best_kappas = [kappa for kappa in best_kappa.values() if kappa != UNDEFINED_SORT_KEY]
    judge_kappas = [estimate.value for estimate in one_judge.values() if estimate.value is not None]
    # Reports of wording 0, the oldest, name the best metric's best cell, and one judge's kappa ``there``: at its
    # people's threshold. Later ones name the range of all metrics' best kappas.
    sentence = render_sentence(
        "thresholds", wording=inputs.method.wording, name=names[0],
        top=max(best_kappas, default=None) if inputs.method.wording else top_cell, least=min(best_kappas, default=None),
        people=bool(judge_kappas), judge=max(judge_kappas, default=None),
        there=one_judge.get(top_cell["people_at_least"], Estimate(None)).value if top_cell else None,
        no_ceiling=no_ceiling_sentence(inputs),
        most=MAX_GRIDS if len(names) > MAX_GRIDS else 0,
    )  # fmt: skip
    data = table("kappa", rows, clustered=inputs.method.is_clustered, raters=inputs.covers_new_raters)
    panels = tuple(_panel(name, grids[name], one_judge) for name in names[:MAX_GRIDS])
    drawing = Heatmap(panels, "metric at least", "people at least")
    return section(
        "thresholds", [sentence], [plot(sentence, drawing, data, title="Kappa by thresholds")], [data]
    )


def _kappas_of_one_judge(inputs: ReportInputs) -> dict[float, Estimate]:
    """Return the kappa of one judge with the others, by people's threshold as it is printed."""
    if inputs.kind.is_open:
        return {}
    table = inputs.table
    unit, value = table.unit[table.is_counted], table.value[table.is_counted]
    printed_cuts = {exact_cut(cut): cut for cut in inputs.kind.comparison.cuts}
    estimates = judge_vs_rest_kappa(unit, value, inputs.judgment_clusters, list(printed_cuts))
    return {printed_cuts[cut]: estimate for cut, estimate in sorted(estimates.items())}


def _panel(
    name: str, cells: Sequence[Mapping[str, Any]], one_judge: Mapping[float, Estimate]
) -> HeatmapPanel:
    metric_cuts = sorted({cell["metric_at_least"] for cell in cells})
    people_cuts = sorted({cell["people_at_least"] for cell in cells})
    kappas = {(cell["metric_at_least"], cell["people_at_least"]): cell["value"] for cell in cells}
    values = [
        tuple(kappas.get((metric_cut, people_cut)) for people_cut in people_cuts)
        for metric_cut in metric_cuts
    ]
    row_labels = [f"{metric_cut:.3f}" for metric_cut in metric_cuts]
    if one_judge:
        values.append(tuple(one_judge[cut].value if cut in one_judge else None for cut in people_cuts))
        row_labels.append(ONE_JUDGE)
    return HeatmapPanel(
        name,
        tuple(row_labels),
        tuple(f"{people_cut:.3g}" for people_cut in people_cuts),
        tuple(values),
        separate_rows=int(bool(one_judge)),
        levels=(Level("chance", 0.0), FULL_AGREEMENT),
    )


def exact_cut(cut: float) -> float:
    """Return the exact threshold for a printed one. For example, 3.66 is 3 2/3, a mean of three grades."""
    whole_part = int(cut)
    return whole_part + EXACT_THIRDS.get(round(cut - whole_part, 2), cut - whole_part)
