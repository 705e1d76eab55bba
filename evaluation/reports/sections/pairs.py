"""Sections of the report on candidate pairs: accuracy of metrics, numbers of references, tournament of systems.

V15 is Vedantam et al. 2015.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from common.amounts import describe_range, json_float, percent
from evaluation.data.imported_scores import is_imported
from evaluation.presentation.content import (
    Cell,
    Curve,
    CurvePanel,
    DotPanel,
    DotPlot,
    Estimate,
    Level,
    LinePlot,
    Plot,
    Section,
    Table,
    estimate_of,
    join_names,
    levels_of,
)
from evaluation.presentation.rendering import plot, render_sentence, section, table
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.sections.ceilings import agreement_of_halves
from evaluation.reports.sections.correlations import UNDEFINED_SORT_KEY
from evaluation.results.consensus.clusters import scope_sentence
from evaluation.results.metrics.pair_variants import scores_by_random_subsets
from evaluation.results.metrics.tables import ONE_JUDGE, accuracy_by_metric, accuracy_table, longer_tables
from evaluation.results.metrics.texts import kinds_or_none
from evaluation.results.standings import comparison_tables, comparisons_of_systems
from quorum.statistics.aggregation import TournamentResult, bradley_terry_of_comparisons, tournament
from quorum.statistics.correlation import correlation
from quorum.statistics.meta import ReferenceCurve, accuracy_by_references, metric_winners

CHANCE = 0.5  # accuracy of a metric that guesses
HALVES, CEILING = "half of the people", "most an answer can reach"
MIN_REFERENCES = 5  # references that each pair needs for curves of accuracy
REFERENCE_COUNTS = (1, 2, 3, 5, 10, 20, 30, 48)  # numbers of references for which accuracy is drawn
MAX_DRAWS = 20  # random subsets of references for each number of references
MAX_TEXTS_SCORED = 40_000  # texts that are scored for each number of references
MAX_CURVES = 8  # metrics in a plot
# The human level that a plot of accuracy shows for each pair kind ("all" for all pairs): its label and estimate.
HumanLevels = Mapping[str, tuple[str, Estimate]]
MAX_SYSTEMS = 40  # systems in a plot
HUMAN_NAMES = ("people", "human")  # names of the "system" of people's captions, here and in PASCAL-50S


def earlier_human_levels(inputs: ReportInputs) -> HumanLevels:
    """Return the human levels that reports from before 0.6 draw with accuracy; {} for later reports.

    Later reports compare metrics and people on the same halves of the votes (``_same_halves_plot``).
    """
    if inputs.method.is_clustered:
        return {}
    is_counted = inputs.table.is_counted
    halves = agreement_of_halves(
        inputs.table.unit[is_counted],
        inputs.table.value[is_counted],
        inputs.consensus.units,
        seed=inputs.seed,
    )
    levels = {kind: (HALVES, estimate) for kind, estimate in halves.items() if estimate.value is not None}
    if levels:
        return levels
    one_judge = (inputs.evaluation.result.get("people") if inputs.evaluation else None) or {}
    return {
        kind: (ONE_JUDGE, estimate_of(estimate))
        for kind, estimate in one_judge.items()
        if estimate["value"] is not None
    }


def pair_metrics_section(inputs: ReportInputs, human_levels: HumanLevels) -> Section:
    """Return the section on how often each metric names the winner that people name."""
    if inputs.evaluation is None:
        return section("metrics", empty=inputs.no_evaluation_reason)
    result = inputs.evaluation.result
    kinds, accuracy = accuracy_by_metric(result["metrics"])
    names, all_kinds = list(accuracy), kinds[-1]  # metrics, the best first; the last kind is "all"
    data = accuracy_table(result, human_levels, clustered=inputs.method.is_clustered)
    label, human_level = human_levels.get(all_kinds, ("", Estimate(None)))
    best = accuracy[names[0]][all_kinds]
    verdict = result["verdict"][all_kinds]
    sentence = render_sentence(
        "accuracy", wording=inputs.method.wording, verdict=verdict["sentence"], name=names[0], best=best,
        people=human_level.value, halves=label == HALVES,  # for reports from before 0.6; `name` is for the oldest
    )  # fmt: skip
    halves = result.get("halves", {})
    has_plot_of_halves_instead = inputs.method.is_clustered and halves
    if not human_levels and not has_plot_of_halves_instead:
        sentence = f"{sentence} {render_sentence('pairs-no-ceiling', wording=inputs.method.wording)}"
    panels = tuple(
        DotPanel(
            kind,
            tuple(estimate_of(accuracy[name][kind]) for name in names),
            _levels(human_levels.get(kind)),
            f"n = {accuracy[names[0]][kind]['n']:,}",
        )
        for kind in kinds
    )
    drawing = DotPlot(
        tuple(names), panels, "accuracy in %, 95 % interval", shows="share", accent=tuple(verdict["leaders"])
    )
    verdicts = {kind: result["verdict"][kind] for kind in kinds}
    estimates = {kind: {name: accuracy[name][kind] for name in names} for kind in kinds}
    comparisons = comparison_tables(
        verdicts, estimates, headings=("pair kind", "metric"), column=("accuracy, %", "share")
    )
    tables = [data, *comparisons, _ties_table(accuracy, kinds), *longer_tables(result)]
    plots = [plot(sentence, drawing, data)]
    if halves:
        kinds_of_halves = [kind for kind in kinds if kind in halves]
        leaders, covers_raters = verdict["leaders"], inputs.covers_new_raters
        halves_plot = _same_halves_plot(halves, kinds_of_halves, names, leaders, covers_raters=covers_raters)
        plots.append(halves_plot)
        tables.insert(1, halves_plot.data)
    return section("metrics", [sentence, scope_sentence(result)], plots, tables)


def _ties_table(accuracy: Mapping[str, Mapping[str, Mapping[str, int]]], kinds: Sequence[str]) -> Table:
    """Return the table of the counts behind each accuracy, and of the accuracy if a metric's tie is half right."""
    rows: list[tuple[Cell, ...]] = []
    for name, by_kind in accuracy.items():
        for kind in kinds:
            counts = by_kind[kind]
            rows.append(
                (
                    name,
                    kind,
                    counts["n"],
                    counts["correct"],
                    counts["metric_ties"],
                    counts["value_ties_half"],
                    counts["no_consensus"],
                )
            )
    return table("ties", rows)


def _same_halves_plot(
    halves: Mapping[str, Any],
    kinds: Sequence[str],
    names: Sequence[str],
    leaders: Sequence[str],
    *,
    covers_raters: bool,
) -> Plot:
    """Return a plot of metrics and people on the same halves of the votes (V15 §7.4).

    It shows how often the winner of a random half of a pair's votes is named by each metric, and by the other half of
    the people. Some pairs are hard, and their halves often differ, so the ceiling is below 1: no answer that is given
    before the votes can name the winner of a half more often.

    Args:
        halves: the result of ``compare_on_same_halves``, by pair kind.
        kinds: the pair kinds of ``halves``, with "all" last.
        names, leaders: the metrics, and the best of them with those not significantly worse.
        covers_raters: whether intervals cover other people, too.
    """
    rows: list[tuple[Cell, ...]] = [
        (name, *(estimate_of(halves[kind]["metrics"][name]) for kind in kinds)) for name in names
    ]
    rows.append((HALVES, *(estimate_of(halves[kind]["people"]) for kind in kinds)))
    rows.append((CEILING, *(estimate_of(halves[kind]["ceiling"]) for kind in kinds)))
    columns = [("who", "text"), *((f"{kind}, %", "share") for kind in kinds)]
    data = table("halves", rows, columns, raters=covers_raters)
    halves_of_all = halves[kinds[-1]]
    leader_accuracies = [halves_of_all["metrics"][name]["value"] for name in leaders]
    caption = render_sentence(
        "halves", people=halves_of_all["people"]["value"], name=join_names(leaders),
        reached=describe_range(leader_accuracies, percent), ceiling=halves_of_all["ceiling"]["value"],
    )  # fmt: skip
    panels = tuple(
        DotPanel(
            kind,
            tuple(estimate_of(halves[kind]["metrics"][name]) for name in names),
            (
                Level("chance", CHANCE),
                *levels_of(HALVES, estimate_of(halves[kind]["people"])),
                *levels_of(CEILING, estimate_of(halves[kind]["ceiling"])),
            ),
            f"n = {halves[kind]['people']['n']:,}",
        )
        for kind in kinds
    )
    drawing = DotPlot(
        tuple(names),
        panels,
        "a half's winner named, in %, 95 % interval",
        shows="share",
        accent=tuple(leaders),
    )
    return plot(caption, drawing, data, "halves", "Metrics and people on the same halves")


def _levels(human_level: tuple[str, Estimate] | None) -> tuple[Level, ...]:
    return (Level("chance", CHANCE), *(levels_of(*human_level) if human_level is not None else ()))


def references_section(inputs: ReportInputs, human_levels: HumanLevels) -> Section | None:
    """Return the section on accuracy by number of references (V15 figure 3)."""
    material = inputs.pair_material() if inputs.evaluation is not None else None
    if material is None or inputs.evaluation is None:
        return None
    pairs = material.pairs
    max_references = min(len(pair.references) for pair in pairs)
    if max_references < MIN_REFERENCES:
        return None
    signatures = inputs.evaluation.result["signatures"]
    metrics = {
        name: figures
        for name, figures in inputs.evaluation.result["metrics"].items()
        if not is_imported(signatures[name])  # imported scores were computed with all references
    }
    kinds, accuracy = accuracy_by_metric(metrics)
    if not accuracy:
        return None
    names = list(accuracy)[:MAX_CURVES]
    scores = scores_by_random_subsets(
        pairs,
        material.documents,
        [count for count in REFERENCE_COUNTS if count < max_references] + [max_references],
        draws=int(np.clip(MAX_TEXTS_SCORED // (2 * len(pairs)), 1, MAX_DRAWS)),  # 2: both texts of each pair
        metrics=names,
        tokenizer=inputs.tokenizer,
        seed=np.random.default_rng(inputs.seed),
    )
    labels = kinds_or_none(inputs.kinds.tolist())  # kinds and winners are in the order of the pairs
    clusters = inputs.item_clusters_of(pair.pk for pair in pairs)
    curves = {
        name: accuracy_by_references(scores[name], inputs.winners, labels, clusters=clusters)
        for name in names
    }
    hidden_metrics = len(accuracy) - len(names)
    return _make_references_section(curves, kinds, human_levels, hidden_metrics, inputs)


def _make_references_section(
    curves: Mapping[str, Mapping[str, ReferenceCurve]],
    kinds: Sequence[str],
    human_levels: HumanLevels,
    hidden_metrics: int,
    inputs: ReportInputs,
) -> Section:
    """Return the section of curves, which are by metric and pair kind.

    ``hidden_metrics`` is the number of metrics without a curve.
    """
    wording = inputs.method.wording
    rows: list[tuple[Any, ...]] = []
    panels = []
    for kind in kinds:
        lines = []
        for name, by_kind in curves.items():
            curve = by_kind[kind]
            columns = (curve.references, curve.value, curve.low, curve.high, curve.deviation, curve.draws)
            for reference_count, value, low, high, deviation, draws in zip(
                *(column.tolist() for column in columns), strict=True
            ):
                estimate = Estimate(json_float(value), json_float(low), json_float(high), curve.n)
                rows.append((kind, name, reference_count, estimate, json_float(deviation), draws))
            lines.append(
                Curve(name, tuple(curve.references.tolist()), tuple(map(json_float, curve.value.tolist())))
            )
        panels.append(CurvePanel(kind, tuple(lines), _levels(human_levels.get(kind))))
    curves_of_all = {name: by_kind[kinds[-1]] for name, by_kind in curves.items()}
    best_name = max(curves_of_all, key=lambda name: curves_of_all[name].value[-1])
    best_curve = curves_of_all[best_name]
    # Accuracies with the fewest references, and with the most. The oldest reports (wording 0) name the best metric's.
    first: Any = best_curve.value[0]
    last: Any = best_curve.value[-1]
    if wording:
        first_values = [curve.value[0] for curve in curves_of_all.values()]
        last_values = [curve.value[-1] for curve in curves_of_all.values()]
        first, last = (min(first_values), max(first_values)), (min(last_values), max(last_values))
    sentence = render_sentence(
        "references",
        wording=wording,
        name=best_name,
        first=first,
        last=last,
        most=best_curve.references[-1],  # the largest number of references
        left=hidden_metrics,
        drawn=len(curves),
    )
    if not human_levels and not inputs.method.is_clustered:  # only reports from before 0.6 draw such levels
        sentence = f"{sentence} {render_sentence('pairs-no-ceiling', wording=inputs.method.wording)}"
    data = table("references", rows, clustered=inputs.method.is_clustered, raters=inputs.covers_new_raters)
    drawing = LinePlot(tuple(panels), "references (log axis)", "accuracy in %")
    return section("references", [sentence], [plot(sentence, drawing, data)], [data])


def systems_section(inputs: ReportInputs) -> Section | None:
    """Return the section on systems: fractions of wins, and Bradley-Terry strengths."""
    standings = inputs.standings
    if standings is None:
        return None
    comparisons = comparisons_of_systems(inputs.consensus, inputs.systems)
    pair_ids, first, second, winners = (list(column) for column in zip(*comparisons, strict=True))
    people = tournament(first, second, winners, resamples=0)
    order = people.order.tolist()
    names = [str(people.systems[index]) for index in order]
    counts = [
        (int(people.wins[index]), int(people.losses[index]), int(people.tied[index])) for index in order
    ]
    clusters = inputs.clusters_of(pair_ids)
    strengths = bradley_terry_of_comparisons(first, second, winners, tie_model="davidson", clusters=clusters)
    win_shares = {name: estimate_of(standings.figures[name]) for name in names}
    columns = (strengths.items.tolist(), strengths.log_strength, strengths.low, strengths.high)
    estimates_by_name = {
        str(name): Estimate(json_float(value), json_float(low), json_float(high))
        for name, value, low, high in zip(*columns, strict=True)
    }
    strength_by_name = {name: estimates_by_name[name] for name in names}
    data = table(
        "tournament",
        [(name, win_shares[name], *counts[row], strength_by_name[name]) for row, name in enumerate(names)],
        reason=strengths.reason,
        scope=standings.scope,
    )
    ceiling = render_sentence(
        "tournament-ceiling" if set(names) & set(HUMAN_NAMES) else "tournament-no-ceiling"
    )
    leaders = standings.compare().leaders
    sentence = render_sentence(
        "tournament", wording=inputs.method.wording, leaders=leaders, names=join_names(leaders),
        least=win_shares[leaders[-1]].value, name=names[0], top=win_shares[names[0]], systems=len(names),
        comparisons=people.comparisons, ceiling=ceiling,  # `name` is for the oldest reports, the leaders for later ones
        most=MAX_SYSTEMS if len(names) > MAX_SYSTEMS else 0,  # the number of drawn systems; 0 for all
    )  # fmt: skip
    levels = (Level("even", 0.5), *_levels_of_human_captions(win_shares))
    drawing = DotPlot(
        tuple(names[:MAX_SYSTEMS]),
        (DotPanel("won against the others", tuple(win_shares.values())[:MAX_SYSTEMS], levels),),
        "comparisons won in %, 95 % interval",
        "share",
        tuple(leaders),
    )
    plots = [plot(sentence, drawing, data)]
    if not strengths.reason:
        # The probability that a system wins against one whose log-strength is lower by 1.
        caption = render_sentence("strengths", stronger=1 / (1 + np.exp(-1)), ceiling=ceiling)
        drawing = _strengths_drawing(strength_by_name, leaders)
        plots.append(plot(caption, drawing, data, "strengths", "Strengths of systems"))
    sentences, tables = [sentence], [data]
    if inputs.draws_at_claim:  # as in an arena: the pairs depend on earlier answers
        sentences.append(render_sentence("tournament-live"))
    metrics_table = _wins_by_metrics_table(inputs, pair_ids, first, second, people)
    if metrics_table is not None:
        tables.append(metrics_table)
    return section("tournament", sentences, plots, tables)


def _strengths_drawing(strength_by_name: Mapping[str, Estimate], leaders: Sequence[str]) -> DotPlot:
    """Return a plot of the strengths of the first MAX_SYSTEMS systems, strongest first."""
    names = list(strength_by_name)[:MAX_SYSTEMS]
    names.sort(key=lambda name: -(strength_by_name[name].value or 0.0))
    levels = (Level("mean", 0.0), *_levels_of_human_captions(strength_by_name))
    return DotPlot(
        tuple(names),
        (DotPanel("", tuple(strength_by_name[name] for name in names), levels),),
        "log-strength, 95 % interval",
        "number",
        tuple(leaders),
    )


def _levels_of_human_captions(estimates: Mapping[str, Estimate]) -> list[Level]:
    """Return the levels of the "systems" of people's captions. ``estimates`` are by name of the system."""
    levels: list[Level] = []
    for name, estimate in estimates.items():
        if name in HUMAN_NAMES:
            levels += levels_of("human captions", estimate)
    return levels


def _wins_by_metrics_table(
    inputs: ReportInputs, pair_ids: list[int], first: list[str], second: list[str], people: TournamentResult
) -> Table | None:
    """Return the table of the wins that systems would have if metrics were the judges, or None without metrics.

    The table has the correlation of these wins with those of the ``people``. ``first`` and ``second`` are the systems
    of the compared pairs.
    """
    if not inputs.scores:
        return None
    row_by_pair = {pair_id: row for row, pair_id in enumerate(inputs.scored_ids)}
    score_rows = [row_by_pair[pair_id] for pair_id in pair_ids]
    order = people.order.tolist()
    rows: list[tuple[Any, ...]] = []
    for metric, scores in inputs.scores.items():
        winners = metric_winners(scores[score_rows, 0], scores[score_rows, 1])
        by_metric = tournament(first, second, winners, resamples=0)
        r = correlation(people.fraction, by_metric.fraction, "pearson", missing="leave-out", resamples=0)
        # With two systems, r is always 1 or -1.
        value = json_float(r.value) if r.n > 2 or not inputs.method.wording else None
        rows.append((metric, value, r.n, *(json_float(by_metric.fraction[index]) for index in order)))
    rows.sort(key=lambda row: -(row[1] if row[1] is not None else UNDEFINED_SORT_KEY))
    columns = [("metric", "text"), ("r", "coefficient"), ("systems", "count")]
    columns += [(f"{people.systems[index]}, %", "share") for index in order]
    has_too_few_systems = inputs.method.wording > 0 and len(people.systems) < 3
    return table("tournament-by-metrics", rows, columns, few=has_too_few_systems)
