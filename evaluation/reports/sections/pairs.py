"""Sections of the report on candidate pairs: accuracy of metrics, numbers of references, tournament of systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from evaluation.reports.loading import ReportInputs
from evaluation.reports.sections.ceilings import agreement_of_halves
from evaluation.results.consensus.clusters import scope_sentence
from evaluation.results.metrics.pair_variants import scores_by_random_subsets
from evaluation.results.metrics.tables import ONE_JUDGE, accuracy_by_metric, accuracy_table, longer_tables
from evaluation.results.metrics.texts import known_kinds
from evaluation.results.standings import comparison_tables
from quorum.numeric.arrays import Floats
from quorum.statistics.aggregation import TournamentResult, bradley_terry_of_comparisons, tournament
from quorum.statistics.correlation import correlation
from quorum.statistics.meta import ReferenceCurve, accuracy_by_references, metric_winners

CHANCE = 0.5  # accuracy of a metric that guesses
HALVES, CEILING = "half of the people", "most an answer can reach"
MIN_REFERENCES = 5  # references that each pair needs for curves of accuracy
SIZES = (1, 2, 3, 5, 10, 20, 30, 48)  # numbers of references for which accuracy is drawn
MAX_DRAWS = 20  # random subsets of references for each size
TEXTS_SCORED = 40_000  # largest number of texts that are scored for each size
MAX_CURVES = 8
# Name of the human level, and the level, by pair kind ("all" for all pairs).
Ceilings = Mapping[str, tuple[str, Estimate]]
MAX_SHOWN = 40  # systems in a plot
HUMAN_NAMES = ("people", "human")  # names of the "system" of people's captions, here and in PASCAL-50S


def human_levels(inputs: ReportInputs) -> Ceilings:
    """Return the human levels that reports from before 0.6 draw with accuracy; {} for later reports."""
    if inputs.is_clustered:
        return {}
    is_counted = inputs.table.is_counted
    halves = agreement_of_halves(
        inputs.table.unit[is_counted],
        inputs.table.value[is_counted],
        inputs.consensus.units,
        seed=inputs.seed,
    )
    ceilings = {kind: (HALVES, estimate) for kind, estimate in halves.items() if estimate.value is not None}
    if ceilings:
        return ceilings
    people = (inputs.evaluation.result.get("people") if inputs.evaluation else None) or {}
    return {
        kind: (ONE_JUDGE, estimate_of(estimate))
        for kind, estimate in people.items()
        if estimate["value"] is not None
    }


def pair_metrics_section(inputs: ReportInputs, people: Ceilings) -> Section:
    if inputs.evaluation is None:
        return section("metrics", empty=inputs.no_evaluation_reason)
    kinds, accuracy = accuracy_by_metric(inputs.evaluation.result["metrics"])
    names = list(accuracy)
    data = accuracy_table(inputs.evaluation.result, people, clustered=inputs.is_clustered)
    label, ceiling = people.get(kinds[-1], ("", Estimate(None)))
    best = accuracy[names[0]][kinds[-1]]
    verdict = inputs.evaluation.result["verdict"][kinds[-1]]
    sentence = render_sentence(
        "accuracy", wording=inputs.wording, verdict=verdict["sentence"], name=names[0], best=best, people=ceiling.value,
        halves=label == HALVES,
    )  # fmt: skip
    halves = inputs.evaluation.result.get("halves", {})
    if not people and not (inputs.is_clustered and halves):
        sentence = f"{sentence} {render_sentence('pairs-no-ceiling', wording=inputs.wording)}"
    panels = tuple(
        DotPanel(
            kind,
            tuple(estimate_of(accuracy[name][kind]) for name in names),
            _levels(people.get(kind)),
            f"n = {accuracy[names[0]][kind]['n']:,}",
        )
        for kind in kinds
    )
    drawing = DotPlot(
        tuple(names), panels, "accuracy in %, 95 % interval", shows="share", accent=tuple(verdict["leaders"])
    )
    counts = ("n", "correct", "metric_ties", "value_ties_half", "no_consensus")
    ties = table(
        "ties",
        [
            (name, kind, *(accuracy[name][kind][count] for count in counts))
            for name in names
            for kind in kinds
        ],
    )
    verdicts = {kind: inputs.evaluation.result["verdict"][kind] for kind in kinds}
    cells = {kind: {name: accuracy[name][kind] for name in names} for kind in kinds}
    compared = comparison_tables(
        verdicts, cells, headings=("pair kind", "metric"), column=("accuracy, %", "share")
    )
    tables = [data, *compared, ties, *longer_tables(inputs.evaluation.result)]
    plots = [plot(sentence, drawing, data)]
    if halves:
        kinds_with_halves = [kind for kind in kinds if kind in halves]
        leaders, raters = verdict["leaders"], inputs.new_raters
        halves_plot = _same_halves_plot(halves, kinds_with_halves, names, leaders, raters=raters)
        plots.append(halves_plot)
        tables.insert(1, halves_plot.data)
    return section("metrics", [sentence, scope_sentence(inputs.evaluation.result)], plots, tables)


def _same_halves_plot(
    halves: Mapping[str, Any],
    kinds: Sequence[str],
    names: Sequence[str],
    leaders: Sequence[str],
    *,
    raters: bool,
) -> Plot:
    """Return a plot of metrics and people on the same halves of the votes (V15 §7.4)."""
    rows: list[tuple[Cell, ...]] = [
        (name, *(estimate_of(halves[kind]["metrics"][name]) for kind in kinds)) for name in names
    ]
    rows += [
        (label, *(estimate_of(halves[kind][key]) for kind in kinds))
        for label, key in ((HALVES, "people"), (CEILING, "ceiling"))
    ]
    columns = [("who", "text"), *((f"{kind}, %", "share") for kind in kinds)]
    data = table("halves", rows, columns, raters=raters)
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


def _levels(people: tuple[str, Estimate] | None) -> tuple[Level, ...]:
    return (Level("chance", CHANCE), *(levels_of(*people) if people is not None else ()))


def references_section(inputs: ReportInputs, people: Ceilings) -> Section | None:
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
        [size for size in SIZES if size < max_references] + [max_references],
        draws=int(np.clip(TEXTS_SCORED // (2 * len(pairs)), 1, MAX_DRAWS)),
        metrics=names,
        tokenizer=inputs.tokenizer,
        seed=np.random.default_rng(inputs.seed),
    )
    labels = known_kinds(inputs.kinds.tolist())
    clusters = inputs.clusters_of(pair.pk for pair in pairs)
    curves = {
        name: accuracy_by_references(scores[name], inputs.winners, labels, clusters=clusters)
        for name in names
    }
    return _make_references_section(curves, kinds, people, len(accuracy) - len(names), inputs)


def _make_references_section(
    curves: Mapping[str, Mapping[str, ReferenceCurve]],
    kinds: Sequence[str],
    people: Ceilings,
    hidden_count: int,
    inputs: ReportInputs,
) -> Section:
    wording = inputs.wording
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
        panels.append(CurvePanel(kind, tuple(lines), _levels(people.get(kind))))
    best = max(curves, key=lambda name: curves[name][kinds[-1]].value[-1])
    first, last = ([by_kind[kinds[-1]].value[end] for by_kind in curves.values()] for end in (0, -1))
    value = curves[best][kinds[-1]].value
    sentence = render_sentence(
        "references", wording=wording, name=best, first=(min(first), max(first)) if wording else value[0],
        last=(min(last), max(last)) if wording else value[-1], most=curves[best][kinds[-1]].references[-1],
        left=hidden_count, drawn=len(curves),
    )  # fmt: skip
    if not people and not inputs.is_clustered:
        sentence = f"{sentence} {render_sentence('pairs-no-ceiling', wording=inputs.wording)}"
    data = table("references", rows, clustered=inputs.is_clustered, raters=inputs.new_raters)
    drawing = LinePlot(tuple(panels), "references (log axis)", "accuracy in %")
    return section("references", [sentence], [plot(sentence, drawing, data)], [data])


def systems_section(inputs: ReportInputs) -> Section | None:
    """Return the section on systems: fractions of wins, and Bradley-Terry strengths."""
    standings = inputs.standings
    if standings is None:
        return None
    decided = _decided_comparisons(inputs)
    pks, first, second, winners = (list(column) for column in zip(*decided, strict=True))
    people = tournament(first, second, winners, resamples=0)
    order = people.order.tolist()
    names = [str(people.systems[index]) for index in order]
    counts = [
        (int(people.wins[index]), int(people.losses[index]), int(people.tied[index])) for index in order
    ]
    clusters = inputs.people_clusters_of(pks)
    strengths = bradley_terry_of_comparisons(first, second, winners, tie_model="davidson", clusters=clusters)
    position_by_name = {str(name): position for position, name in enumerate(strengths.items.tolist())}
    won = [estimate_of(standings.figures[name]) for name in names]
    bounds = (strengths.log_strength, strengths.low, strengths.high)
    strength = [_estimate_at(position_by_name[name], *bounds) for name in names]
    data = table(
        "tournament",
        [(name, won[row], *counts[row], strength[row]) for row, name in enumerate(names)],
        reason=strengths.reason,
        scope=standings.scope,
    )
    ceiling = render_sentence(
        "tournament-ceiling" if set(names) & set(HUMAN_NAMES) else "tournament-no-ceiling"
    )
    shares = dict(zip(names, won, strict=True))
    leaders = standings.compare().leaders
    sentence = render_sentence(
        "tournament", wording=inputs.wording, leaders=leaders, names=join_names(leaders),
        least=shares[leaders[-1]].value, name=names[0], top=won[0], systems=len(names),
        comparisons=people.comparisons, ceiling=ceiling,
        most=MAX_SHOWN if len(names) > MAX_SHOWN else 0,
    )  # fmt: skip
    levels = (Level("even", 0.5), *_human_levels(names, won))
    drawing = DotPlot(
        tuple(names[:MAX_SHOWN]),
        (DotPanel("won against the others", tuple(won[:MAX_SHOWN]), levels),),
        "comparisons won in %, 95 % interval",
        "share",
        tuple(leaders),
    )
    plots = [plot(sentence, drawing, data)]
    if not strengths.reason:
        caption = render_sentence("strengths", stronger=1 / (1 + np.exp(-1)), ceiling=ceiling)
        drawing = _dots_of_strengths(names, strength, leaders)
        plots.append(plot(caption, drawing, data, "strengths", "Strengths of systems"))
    by_metrics = _wins_by_metrics(inputs, pks, first, second, people)
    sentences = [sentence, *([render_sentence("tournament-live")] if inputs.is_live else [])]
    return section("tournament", sentences, plots, [data, *([by_metrics] if by_metrics else [])])


def _decided_comparisons(inputs: ReportInputs) -> list[tuple[int, str, str, int]]:
    """Return (row id, first system, second system, winner) of pairs of two systems. A tie has the winner 0."""
    rows = []
    for pair in inputs.consensus.pairs:
        system, other = inputs.systems[pair.key]
        outcome = inputs.consensus.of_pair[pair.pk]
        if system != other and (outcome.value is not None or outcome.tie):
            rows.append((pair.pk, system, other, outcome.value or 0))
    return rows


def _dots_of_strengths(names: Sequence[str], strength: Sequence[Estimate], leaders: Sequence[str]) -> DotPlot:
    plotted_systems = zip(names[:MAX_SHOWN], strength, strict=False)
    sorted_systems = sorted(plotted_systems, key=lambda row: -(row[1].value or 0.0))
    levels = (Level("mean", 0.0), *_human_levels(names, strength))
    return DotPlot(
        tuple(name for name, _ in sorted_systems),
        (DotPanel("", tuple(estimate for _, estimate in sorted_systems), levels),),
        "log-strength, 95 % interval",
        "number",
        tuple(leaders),
    )


def _human_levels(names: Sequence[str], estimates: Iterable[Estimate]) -> list[Level]:
    rows = zip(names, estimates, strict=True)
    return [
        level
        for name, estimate in rows
        if name in HUMAN_NAMES
        for level in levels_of("human captions", estimate)
    ]


def _estimate_at(index: int, value: Floats, low: Floats, high: Floats, n: int | None = None) -> Estimate:
    return Estimate(json_float(value[index]), json_float(low[index]), json_float(high[index]), n)


def _wins_by_metrics(
    inputs: ReportInputs, pks: list[int], first: list[str], second: list[str], people: TournamentResult
) -> Table | None:
    if inputs.pks is None or not inputs.scores:
        return None
    position_by_pair = {pk: position for position, pk in enumerate(inputs.pks)}
    positions = [position_by_pair[pk] for pk in pks]
    order = people.order.tolist()
    rows: list[tuple[Any, ...]] = []
    for metric, scores in inputs.scores.items():
        winners = metric_winners(scores[positions, 0], scores[positions, 1])
        by_metric = tournament(first, second, winners, resamples=0)
        r = correlation(people.fraction, by_metric.fraction, "pearson", missing="leave-out", resamples=0)
        # With two systems, r is always 1 or -1.
        value = json_float(r.value) if r.n > 2 or not inputs.wording else None
        rows.append((metric, value, r.n, *(json_float(by_metric.fraction[index]) for index in order)))
    rows.sort(key=lambda row: -(row[1] if row[1] is not None else -2.0))
    columns = [("metric", "text"), ("r", "coefficient"), ("systems", "count")]
    columns += [(f"{people.systems[index]}, %", "share") for index in order]
    few = inputs.wording > 0 and len(people.systems) < 3
    return table("tournament-by-metrics", rows, columns, few=few)
