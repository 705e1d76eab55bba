"""Report single captions: metrics against people and each other, open answers, and systems that propose captions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from django.utils.module_loading import import_string

from common.amounts import json_float
from common.features import declared_by_features
from evaluation.data.judgment_sets.records import Floats
from evaluation.data.ranked_lists import SEARCH
from evaluation.presentation.content import (
    Curve,
    CurvePanel,
    Curves,
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
    join_names,
    levels_of,
)
from evaluation.presentation.rendering import plot, say, section, table
from evaluation.reports.loading import ReportInputs
from evaluation.reports.sections.people import NEAR, one_against_cut, one_against_mean
from evaluation.results.aggregation import (
    captions_table,
    content_table,
    leave_one_out_tables,
    questions_tables,
)
from evaluation.results.consensus import scope_sentence
from evaluation.results.metric_figures import heads_of, readings_tables, within_items_sentence
from evaluation.results.rankings import TASKS, JudgedOutputs, judged_outputs, leading, rankings_tables
from evaluation.results.standings import F1, compared_table
from evaluation.results.standings import MEAN as MEAN_GRADE
from quorum.statistics.correlation import correlation

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
    judged = inputs.table
    unit, value = judged.unit[judged.counted], judged.value[judged.counted]
    clusters = inputs.judgment_clusters
    estimates = {name: one_against_mean(unit, value, clusters, coefficient=name) for name in COEFFICIENTS}
    return {name: estimate for name, estimate in estimates.items() if estimate.value is not None}


def why_no_ceiling(inputs: ReportInputs) -> str:
    return say("no-ceiling", wording=inputs.wording, kind=inputs.kind)


def metrics_section(inputs: ReportInputs, one_judge: People) -> Section:
    if inputs.evaluation is None:
        return section("metrics", empty=inputs.why_not)
    metrics = inputs.evaluation.result["metrics"]
    tau = {name: estimate_of(figures["kendall_tau_b"]) for name, figures in metrics.items()}
    values = {name: LAST if estimate.value is None else estimate.value for name, estimate in tau.items()}
    names = sorted(metrics, key=lambda name: -values[name])
    within = any("per_image" in figures for figures in metrics.values())
    people = one_judge.get(TAU, Estimate(None))
    heads = heads_of(metrics)
    if not inputs.wording:
        heads.pop("pearson", None)
    rows: list[tuple[Any, ...]] = []
    for name in names:
        cells = [estimate_of(metrics[name][key]) for key in heads]
        cells += [estimate_of(metrics[name]["per_image"]["kendall_tau_b"])] if within else []
        rows.append((name, *cells))
    if people.value is not None:
        judge = [one_judge.get(name) for name in COEFFICIENTS[: len(heads)]]
        rows.append((PEOPLE, *judge, *([None] if within else [])))
    columns = [("metric", "text"), *((head, "coefficient") for head in heads.values())]
    columns += [("tau-b within items", "coefficient")] if within else []
    data = table("correlation", rows, columns, clustered=inputs.clustered, raters=inputs.by_rater)
    verdict = inputs.evaluation.result["verdict"]["all"]
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
    result = inputs.evaluation.result
    sentences = [sentence, scope_sentence(result), within_items_sentence(result) if inputs.wording else ""]
    estimates = {"": {name: figures["kendall_tau_b"] for name, figures in metrics.items()}}
    compared = compared_table({"": verdict}, estimates, heads=("", "metric"), value=("tau-b", "coefficient"))
    tables = [data, *compared]
    return section("metrics", sentences, [plot(sentence, drawing, data)], tables)


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
    data = table("kappa", rows, clustered=inputs.clustered, raters=inputs.by_rater)
    panels = tuple(_grid(name, grids[name], people) for name in names[:MOST_GRIDS])
    drawing = Heat(panels, "metric at least", "people at least")
    return section(
        "thresholds", [sentence], [plot(sentence, drawing, data, title="Kappa by thresholds")], [data]
    )


def _people_at_cuts(inputs: ReportInputs) -> dict[float, Estimate]:
    if inputs.kind.is_open:
        return {}
    judged = inputs.table
    unit, value = judged.unit[judged.counted], judged.value[judged.counted]
    exact = {exact_cut(cut): cut for cut in inputs.kind.comparison.cuts}
    estimates = one_against_cut(unit, value, inputs.judgment_clusters, list(exact))
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
    sections: dict[str, Callable[[Mapping[str, Any]], Section]] = {
        "leave_one_out": _leave_one_out_section,
        "captions": _captions_section,
        "pairwise_f1": _keywords_section,
        "content_selection": _content_section,
        "system_content": partial(_system_content_section, inputs.aggregation.result.get("systems_verdict")),
        "questions": _questions_section,
        **{name: import_string(path) for name, path in declared_by_features("figure_sections").items()},
    }
    return [make(figures) for name, make in sections.items() if name in figures]


def _leave_one_out_section(figures: Mapping[str, Any]) -> Section:
    """Show each caption against the others of its image (WG16 §4)."""
    bounds = figures["leave_one_out"]
    if not bounds["metrics"]:
        return section("leave-one-out", empty=bounds["reason"])
    data, *orders = leave_one_out_tables(bounds)
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
        floor = Panel("a caption of another item", tuple(row[2] for row in rows))
        panels = _panels_with_floor(people, floor)
        drawing = Dots(tuple(row[0] for row in rows), panels, "mean score over items, 95 % interval")
        caption = f"{sentence} {say('leave-one-out-floor' if len(panels) > 1 else 'leave-one-out-no-floor')}"
        plots.append(plot(caption, drawing, data, title="What people reach by the metrics"))
    return section("leave-one-out", [sentence, *bounds["warnings"]], plots, [data, *orders])


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
    levels = [] if floor is None else [Level("another item's", floor)]
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
        return section("content", empty=selection["reason"] or "No item has two descriptions to compare.")
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
    drawing = Dots(tuple(bounds), panels, "mean over items")
    sentence = say("content")
    caption = f"{sentence} {say('content-floor', floor=len(panels) > 1)}"
    return section("content", [sentence], [plot(caption, drawing, data)], [data])


def _system_content_section(verdict: Mapping[str, Any] | None, figures: Mapping[str, Any]) -> Section:
    """Show what systems name against what people name, by the measure that decides (WG15 §5, MC12 §6.2)."""
    content = figures["system_content"]
    data, decides = content_table(content), content["decides"]
    (people,) = (row["figures"][decides] for row in content["rows"] if row["who"] == "people")
    drawn = [row for row in content["rows"] if row["who"] != "people"]
    systems = sum(row["who"] == "system" for row in drawn)
    leaders, cells = [drawn[0]["name"]], {row["name"]: row["figures"][decides] for row in drawn[:systems]}
    compared: list[Table] = []
    measure = "F" if decides == F1 else decides
    if verdict is not None:
        leaders = verdict["leaders"]
        value = (measure, "coefficient")
        compared = compared_table({"": verdict}, {"": cells}, heads=("", "system"), value=value)
    best = {"best": drawn[0], "people": people, "baseline": drawn[systems]}
    sentence = say("system-content", content=content, systems=systems, **best)
    estimates = tuple(estimate_of(row["figures"][decides]) for row in drawn)
    panel = Panel("", estimates, tuple(levels_of("one person", estimate_of(people))))
    names, axis = tuple(row["name"] for row in drawn), f"mean {measure} over items, 95 % interval"
    drawing = Dots(names, (panel,), axis, accent=tuple(leaders))
    return section("system-content", [sentence], [plot(sentence, drawing, data)], [data, *compared])


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


def readings_section(inputs: ReportInputs) -> Section | None:
    if not inputs.evaluation or not inputs.evaluation.result.get("readings"):
        return None
    return section("readings", [say("readings")], tables=readings_tables(inputs.evaluation.result))


MEAN = "people"  # the mean of all judges

# Coefficient -> suffix of its plot's name, its own name, its place in a row.
NAMES = {R: ("r", "Pearson's r", 4), RHO: ("rho", "Spearman's rho", 3), TAU: ("tau-b", "Kendall's tau-b", 2)}
Rows = list[tuple[Any, ...]]


def between_metrics_section(inputs: ReportInputs, one_judge: People) -> Section | None:
    """Show r, rho and tau-b between every two metrics, and with people for captions."""
    if len(inputs.scores) < 2:
        return None
    flat = {name: scores.ravel() for name, scores in inputs.scores.items()}
    people = inputs.people
    with_people = people is not None and bool((~np.isnan(people)).sum() > 1)
    rows = _rows(flat, people if with_people else None, inputs.weights)
    known = [row for row in rows if row[2] is not None and row[1] != MEAN]
    of_tau = [row[2] for row in known]
    alike = say(
        "metrics-alike",
        wording=inputs.wording,
        most=[row for row in known if row[2] == max(of_tau)],
        least=[row for row in known if row[2] == min(of_tau)] if len(known) > 1 else [],
    )
    data = table("metric-correlation", rows, with_people=with_people)
    plots = [
        _matrix_plot(inputs, coefficient, list(flat), rows, one_judge, alike if coefficient == TAU else "")
        for coefficient in NAMES
    ]
    sentence = alike if one_judge else f"{alike} {why_no_ceiling(inputs)}"
    return section("between-metrics", [sentence], plots, [data])


def _rows(flat: dict[str, Floats], people: Floats | None, weights: Floats) -> Rows:
    pairs: list[tuple[str, str, Floats, Floats, Floats | None]] = [
        (name, other, flat[name], flat[other], None) for name, other in combinations(flat, 2)
    ]
    if people is not None:
        judged = ~np.isnan(people)
        of = None if (weights == 1).all() else weights[judged]
        pairs += [(name, MEAN, scores[judged], people[judged], of) for name, scores in flat.items()]
    rows: Rows = []
    for name, other, first, second, of in pairs:
        estimates = [
            correlation(first, second, coefficient, weights=of, resamples=0) for coefficient in (TAU, RHO, R)
        ]
        rows.append((name, other, *(json_float(estimate.value) for estimate in estimates), estimates[0].n))
    return rows


def _matrix_plot(
    inputs: ReportInputs, coefficient: str, names: list[str], rows: Rows, one_judge: People, alike: str
) -> Plot:
    suffix, label, column = NAMES[coefficient]
    value = {(row[0], row[1]): row[column] for row in rows}
    cells = [
        [1.0 if name == other else value.get((name, other), value.get((other, name))) for other in names]
        for name in names
    ]
    heads = list(names)
    with_people = any(row[1] == MEAN for row in rows)
    if with_people:
        cells.append([value[name, MEAN] for name in names])
        heads.append(MEAN)
    ceiling = one_judge.get(coefficient, Estimate(None))
    levels = [Level("unrelated", 0.0), *levels_of(PEOPLE, ceiling)]
    sentence = say(
        "metric-correlation", coefficient=label, with_people=with_people, ceiling=ceiling, alike=alike,
        no_ceiling=why_no_ceiling(inputs),
    )  # fmt: skip
    data = table(
        "metric-correlation-matrix",
        [(head, *row) for head, row in zip(heads, cells, strict=True)],
        [("metric", "text"), *((name, "coefficient") for name in names)],
        name=f"metric-correlation-{suffix}",
        coefficient=label,
    )
    panel = HeatPanel(
        label,
        tuple(heads),
        tuple(names),
        tuple(tuple(row) for row in cells),
        apart=int(with_people),
        levels=tuple(levels),
    )
    return plot(sentence, Heat((panel,), "", "", -1.0), data)


MOST_CURVES = 8
REACHED = "reached"  # the share of first captions that have a mean grade
MEANS = "interval"  # the level of what is averaged
THIRDS = {0.33: 1 / 3, 0.66: 2 / 3}  # H13 prints thresholds of thirds truncated to two digits


def grades_section(inputs: ReportInputs) -> Section | None:
    """Show shares of first captions that reach each mean grade, and which systems differ (H13 table 1)."""
    cuts = sorted(inputs.kind.comparison.cuts, reverse=True)
    proposals = inputs.proposals
    if not cuts or inputs.kind.aggregation.level != MEANS or proposals is None:
        return None
    judged = judged_outputs(inputs.kind, proposals, inputs.table, inputs.consensus, credited=inputs.credited)
    outputs = inputs.outputs
    first = proposals.position[outputs.proposal] == 1 if outputs is not None else np.zeros(0, dtype=np.bool_)
    if outputs is None or not first.any():
        return None
    if not inputs.credited:
        outputs = replace(outputs, score=judged.value[outputs.proposal], deletions=None)
    outputs = outputs.subset(first)
    reached = [outputs.map_scores(partial(_reaches_cut, cut=cut)).figures(REACHED) for cut in cuts]
    standings = outputs.standings(MEAN_GRADE)
    means = {name: figure["value"] for name, figure in standings.figures.items()}
    names = sorted(outputs.names, key=lambda name: (-means[name], name))
    rows: list[tuple[Any, ...]] = [
        (name, *(estimate_of(shares[name]) for shares in reached), means[name], reached[0][name]["n"])
        for name in names
    ]
    columns = [("system", "text"), *((f"≥ {cut:g}, %", "share") for cut in cuts)]
    columns += [("mean", "number"), ("items", "count")]
    floor, ceiling = _shares_in_pool(judged, cuts)
    _, strictest, *_, mean, images = rows[0]
    leaders = standings.compare().leaders
    of_leaders = [row for row in rows if row[0] in leaders]
    shares_of_leaders = [row[1].value for row in of_leaders]
    sentence = say(
        "grades", wording=inputs.wording, leaders=leaders, names=join_names(leaders), least=min(shares_of_leaders),
        reached=max(shares_of_leaders) if inputs.wording else strictest.value, name=names[0], mean=mean,
        images=of_leaders[0][-1] if inputs.wording else images, cut=cuts[0],
        most=MOST_CURVES if len(rows) > MOST_CURVES else 0, floor=floor[0], ceiling=ceiling[0],
    )  # fmt: skip
    curves = tuple(
        Curve(row[0], tuple(cuts), tuple(share.value for share in row[1 : 1 + len(cuts)]))
        for row in rows[:MOST_CURVES]
    )
    bounds = (
        Curve("random judged one", tuple(cuts), floor, dashed=True),
        Curve("best judged one", tuple(cuts), ceiling),
    )
    drawing = Curves(
        (CurvePanel("", curves, bounds=bounds),),
        "mean grade at least",
        "share of first captions in %",
        log=False,
    )
    raters = inputs.raters_known
    data = table("grades", rows, columns, raters=raters)
    with_bounds = table(
        "grades", [*rows, *((bound.label, *bound.y, None, None) for bound in bounds)], columns, raters=raters
    )
    return section("grades", [sentence], [plot(sentence, drawing, with_bounds)], [data])


def _shares_in_pool(judged: JudgedOutputs, cuts: list[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return shares of images that reach each threshold with a random and with the best judged caption."""
    _, starts = np.unique(judged.keys // judged.width, return_index=True)  # images; the keys ascend
    of_image = np.split(judged.of_text, starts[1:])
    reach = [[_reaches_cut(values, cut) for values in of_image] for cut in cuts]
    return (
        tuple(float(np.mean([reached.mean() for reached in images])) for images in reach),
        tuple(float(np.mean([reached.any() for reached in images])) for images in reach),
    )


def _reaches_cut(value: Any, cut: float) -> Any:
    """Return 1 for each mean grade that reaches the threshold, else 0."""
    return (value >= exact_cut(cut) - NEAR) * 1.0


def exact_cut(cut: float) -> float:
    """Return the nominal threshold: 3.66 means 3 2/3, a mean of three grades."""
    whole = int(cut)
    return whole + THIRDS.get(round(cut - whole, 2), cut - whole)


def rankings_section(inputs: ReportInputs) -> Section | None:
    """Show rankings by people's relevance, and by the original item's rank (H13 §4.3)."""
    rankings: Mapping[str, Any] = inputs.aggregation.result.get("rankings") or {}
    if not rankings:
        return None
    sentences = []
    for task, rows in rankings.items():
        cells = {row["system"]: row["R-precision"] for row in rows}
        leaders = leading(rows)
        sentence = say(
            "rankings", wording=inputs.wording, leaders=leaders, names=join_names(leaders) if leaders else "",
            system=rows[0]["system"], query=TASKS[task][3],
            what="items " if task == SEARCH else "", share=rows[0]["R-precision"]["value"] or 0.0,
            least=cells[leaders[-1]]["value"] if leaders else None,
            alone=sum(cell["value"] is not None for cell in cells.values()) == 1,
        )  # fmt: skip
        sentences.append(sentence)
    tables = rankings_tables(inputs.aggregation.result, digits=0 if inputs.wording else 1)
    return section("rankings", sentences, tables=tables)
