"""Tables of a consensus and of an evaluation, rendered by page, command and report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from evaluation.data.ranked_lists import ANNOTATION, SEARCH
from evaluation.presentation.content import Estimate, Table, estimate_of, format_cell
from evaluation.presentation.rendering import say, table
from evaluation.results.consensus import SYSTEM_COUNTS
from evaluation.results.metric_figures import pair_kinds
from evaluation.results.rankings import CUTS
from evaluation.statistics.inference import RATER

COEFFICIENT_NAMES = {
    "percent": gettext_noop("percent agreement"),
    "fleiss": gettext_noop("Fleiss' kappa"),
    "gwet": gettext_noop("Gwet's AC"),
}
ONE_JUDGE = "one judge"
MEANS = {"mean": "fixed", "z": "coefficient", "describes": "coefficient"}
# Task -> table name, title suffix, description, query, ranked item.
TASKS = {
    ANNOTATION: (
        "rankings", "", "Image annotation: an image asks, captions are ranked.", "image", "caption"
    ),
    SEARCH: (
        "rankings-search", ": image search", "Image search: a caption asks, images are ranked.", "caption", "image"
    ),
}  # fmt: skip
# Reading -> what its coefficients are called.
READINGS = {
    "tau_c": {"": "tau-c"},
    "single_grades": {"kendall_tau_b": "tau-b", "kendall_tau_c": "tau-c"},
    "own_kept": {"kendall_tau_b": "tau-b", "spearman": "rho"},
}


def consensus_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the tables of a stored aggregation; of single pairs only if it holds them."""
    bounds = result.get("figures", {}).get("leave_one_out", {})
    tables = [
        *_pairs_tables(result.get("pairs", ())),
        *_systems_tables(result.get("systems", ())),
        *rankings_tables(result.get("rankings", {}), result.get("filter_audit", {})),
        _agreement_table(result["agreement"]),
    ]
    return [*tables, leave_one_out_table(bounds)] if bounds.get("metrics") else tables


def _pairs_tables(pairs: Sequence[Mapping[str, Any]]) -> list[Table]:
    rows = []
    for kind in sorted({pair["kind"] or "" for pair in pairs}):
        of_kind = [pair for pair in pairs if (pair["kind"] or "") == kind]
        values = [pair["value"] for pair in of_kind]
        ties = sum(pair["tie"] for pair in of_kind)
        rows.append((kind, len(of_kind), values.count(1), values.count(2), ties))
    return [table("candidate-pairs", rows)] if rows else []


def _systems_tables(systems: Sequence[Mapping[str, Any]]) -> list[Table]:
    if not systems:
        return []
    if "describes" not in systems[0]:
        rows = [(row["system"], *(row[name] for name in SYSTEM_COUNTS)) for row in systems if "pairs" in row]
        return [table("system-wins", rows)] if rows else []
    means = [name for name in MEANS if name in systems[0]]
    columns = [("system", "text"), ("judged", "count")]
    columns += [(f"{name} [95 % interval]", MEANS[name]) for name in means]
    cells = [(row["system"], row["captions"], *(estimate_of(row[name]) for name in means)) for row in systems]
    return [table("system-means", cells, columns)]


def _agreement_table(agreement: Mapping[str, Any]) -> Table:
    alpha = agreement["alpha"]
    figures = {f"alpha ({alpha['level']})": alpha}
    if "ordinal" in agreement:
        figures["alpha (ordinal)"] = agreement["ordinal"]
    figures |= {f"alpha, {kind}": figure for kind, figure in agreement.get("by_kind", {}).items()}
    coefficients = agreement.get("coefficients", {})
    figures |= {_(COEFFICIENT_NAMES[name]): figure for name, figure in coefficients.items() if figure["n"]}
    rows = [
        (name, _without_n(figure), figure["n"], figure.get("judgments")) for name, figure in figures.items()
    ]
    return table("agreement-figures", rows)


def _without_n(figure: Mapping[str, Any]) -> Estimate:
    """Return an estimate whose n has a column of its own."""
    return replace(estimate_of(figure), n=None)


def workers_table(workers: Iterable[Mapping[str, Any]]) -> Table:
    rows = [
        (
            row["worker"],
            row["judgments"],
            f"{row['controls_right']} of {row['controls_seen']}" if row["controls_seen"] else "none seen",
            "" if row["seconds"] is None else f"{row['seconds']:.1f}",
            row["left_share"],
            "yes" if row["used"] else "no",
        )
        for row in workers
    ]
    return table("workers-in-short", rows)


def leave_one_out_table(bounds: Mapping[str, Any]) -> Table:
    rows = [
        (name, Estimate(figures["macro"], figures["low"], figures["high"], bounds["images"]),
         Estimate(figures.get("floor"), figures.get("floor_low"), figures.get("floor_high")),
         *(figures[column] for column in ("micro", "median", "deviation", "least", "most")))
        for name, figures in bounds["metrics"].items()
    ]  # fmt: skip
    return table("leave-one-out", rows, captions=bounds["captions"], images=bounds["images"])


def rankings_tables(
    rankings: Mapping[str, Sequence[Mapping[str, Any]]], audit: Mapping[str, Any], *, digits: int = 0
) -> list[Table]:
    tables = []
    for task, rows in rankings.items():
        tables.append(_relevance_table(task, rows, audit, digits))
        with_original = [row for row in rows if "original" in row]
        if with_original:
            tables.append(_original_table(task, with_original))
    return tables


def _relevance_table(
    task: str, rows: Sequence[Mapping[str, Any]], audit: Mapping[str, Any], digits: int
) -> Table:
    name, title, description, query, item = TASKS[task]
    audited = "audited" in rows[0]
    columns = [("system", "text"), *((f"S@{k}, %", "share") for k in CUTS)]
    columns += [(f"S@{k} with the audit, %", "share") for k in CUTS] if audited else []
    columns += [("R-precision, %", "share"), ("at best, %", "share"), (f"{query}s", "count")]
    columns += [("nothing relevant", "count")]
    cells = [
        (
            row["system"],
            *(_cell(row[f"S@{k}"]) for k in CUTS),
            *(_cell(row["audited"][f"S@{k}"]) for k in CUTS if audited),
            _cell(row["R-precision"]),
            row["R-precision"]["best_case"],
            row["R-precision"]["n"],
            row["nothing_relevant"],
        )
        for row in rows
    ]
    return table(
        "rankings", cells, columns, name=name, task_title=title, task=description, query=query, item=item,
        audit=audit if audited else None, digits=digits,
    )  # fmt: skip


def _original_table(task: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    name, title, _description, query, item = TASKS[task]
    columns = [("system", "text"), *((f"R@{k}, %", "share") for k in CUTS)]
    columns += [("median rank", "number"), (f"{query}s", "count")]
    cells = [
        (
            row["system"],
            *(_cell(row["original"][f"R@{k}"]) for k in CUTS),
            row["original"]["median_rank"]["value"],
            row["original"]["queries"],
        )
        for row in rows
    ]
    return table(
        "originals", cells, columns, name=f"{name}-originals", task_title=title, query=query, item=item
    )


def _cell(figure: Mapping[str, Any]) -> Any:
    """Return an estimate, without interval for old releases."""
    return figure["value"] if figure.get("low") is None else estimate_of(figure)


def compares_pairs(result: Mapping[str, Any]) -> bool:
    return all("accuracy" in figures for figures in result["metrics"].values())


def accuracy_by_metric(
    metrics: Mapping[str, Mapping[str, Any]],
) -> tuple[list[str], dict[str, Mapping[str, Any]]]:
    """Return pair kinds, "all" last, and accuracy by metric and kind, best first."""
    accuracy = {name: figures["accuracy"] for name, figures in metrics.items()}
    kinds = pair_kinds(kind for by_kind in accuracy.values() for kind in by_kind)
    kinds = kinds if len(kinds) == 1 else [*kinds, "all"]
    best_first = sorted(accuracy, key=lambda name: -(accuracy[name][kinds[-1]]["value"] or 0.0))
    return kinds, {name: accuracy[name] for name in best_first}


def accuracy_table(
    result: Mapping[str, Any],
    levels: Mapping[str, tuple[str, Estimate]] | None = None,
    *,
    clustered: bool = True,
) -> Table:
    """Return accuracy by pair kind, best metric first; ``levels`` of people by pair kind are the last rows."""
    kinds, accuracy = accuracy_by_metric(result["metrics"])
    if levels is None:
        people = {} if "halves" in result else result.get("people") or {}
        levels = {kind: (_(ONE_JUDGE), estimate_of(people[kind])) for kind in kinds if kind in people}
    rows: list[tuple[Any, ...]] = [
        (name, *(estimate_of(by_kind[kind]) for kind in kinds)) for name, by_kind in accuracy.items()
    ]
    for label in dict.fromkeys(label for label, _level in levels.values()):
        rows.append((label, *(levels[kind][1] if kind in levels else None for kind in kinds)))
    return table(
        "accuracy",
        rows,
        _shares("metric", kinds),
        no_consensus=result["counts"]["no_consensus"],
        clustered=clustered,
        raters=any(
            "rater" in cell.get("clusters", ()) for cells in accuracy.values() for cell in cells.values()
        ),
    )


def _shares(head: str, kinds: Iterable[str]) -> list[tuple[str, str]]:
    return [(head, "text"), *((f"{kind}, %", "share") for kind in kinds)]


def accuracy_and_ties_table(result: Mapping[str, Any]) -> Table:
    accuracy = {name: figures["accuracy"] for name, figures in result["metrics"].items()}
    kinds = list(next(iter(accuracy.values())))
    rows = [
        (name, *(estimate_of(by_kind[kind]) for kind in kinds), by_kind["all"]["metric_ties"])
        for name, by_kind in accuracy.items()
    ]
    columns = [("metric", "text"), *((kind, "share") for kind in kinds), ("ties", "count")]
    return table("accuracy-and-ties", rows, columns)


def correlation_table(result: Mapping[str, Any]) -> Table:
    """Return correlations with people, best metric first, with the best kappa of the thresholds."""
    metrics = result["metrics"]
    within = any("per_image" in figures for figures in metrics.values())
    kappas = any(figures["kappa"] for figures in metrics.values())
    rows: list[tuple[Any, ...]] = []
    for name in sorted(metrics, key=lambda name: -(metrics[name]["kendall_tau_b"]["value"] or 0.0)):
        figures = metrics[name]
        cells = [_without_n(figures["kendall_tau_b"]), _without_n(figures["spearman"])]
        cells += [estimate_of(figures["per_image"]["kendall_tau_b"])] if within else []
        rows.append(
            (name, *cells, *(_best_kappa(figures["kappa"]) if kappas else ()), figures["kendall_tau_b"]["n"])
        )
    columns = [("metric", "text"), ("tau-b", "coefficient"), ("rho", "coefficient")]
    columns += [("tau-b within images", "coefficient")] if within else []
    columns += [("best kappa", "coefficient"), ("metric / people at least", "text")] if kappas else []
    return table("correlation-in-short", rows, [*columns, ("n", "count")])


def _best_kappa(cells: Sequence[Mapping[str, Any]]) -> tuple[Any, str]:
    known = [cell for cell in cells if cell["value"] is not None]
    if not known:
        return None, ""
    best = max(known, key=lambda cell: cell["value"])
    cuts = format_cell(best["metric_at_least"], "score"), f"{best['people_at_least']:.3g}"
    return estimate_of(best), " / ".join(cuts)


def known_raters(result: Mapping[str, Any]) -> bool:
    """Return whether an evaluation's intervals are for other people, too."""
    cells = (
        figures["accuracy"].get("all", {}) if "accuracy" in figures else figures["kendall_tau_b"]
        for figures in result["metrics"].values()
    )
    return any(RATER in cell.get("clusters", ()) for cell in cells)


def readings_tables(result: Mapping[str, Any]) -> list[Table]:
    readings: Mapping[str, Any] = result.get("readings", {})
    raters = known_raters(result)
    tables = []
    if "all_pairs" in readings:
        kinds = list(next(iter(readings["all_pairs"].values())))
        accuracies = [
            (name, *(estimate_of(cells[kind]) for kind in kinds))
            for name, cells in readings["all_pairs"].items()
        ]
        tables.append(table("readings-all-pairs", accuracies, _shares("metric", kinds), raters=raters))
    if "references" in readings:
        curves: list[tuple[Any, ...]] = []
        for name, by_kind in readings["references"].items():
            for kind, curve in by_kind.items():
                curves += [(kind, name, row["references"], estimate_of(row), row["draws"]) for row in curve]
        tables.append(table("readings-references", curves, raters=raters))
    coefficients = []
    for reading, heads in READINGS.items():
        for metric, cells in readings.get(reading, {}).items():
            for key, head in heads.items():
                estimate = estimate_of(cells[key] if key else cells)
                coefficients.append((metric, say("reading", name=reading), head, estimate))
    if coefficients:
        tables.append(table("readings-coefficients", coefficients, raters=raters))
    thresholds = [
        (metric, cell["metric_at_least"], cell["people_at_least"], estimate_of(cell))
        for metric, cells in readings.get("thresholds", {}).items()
        for cell in cells
    ]
    return [*tables, table("readings-thresholds", thresholds, raters=raters)] if thresholds else tables


def ties_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the reading of ties, which is no part of a report."""
    ties = result.get("readings", {}).get("ties", {})
    rows = [
        (name, *(estimate_of(accuracies[key]) for key in ("plain", "calibrated", "soft")))
        for name, accuracies in ties.items()
    ]
    return [table("readings-ties", rows)] if rows else []


def captions_table(rows: Iterable[Mapping[str, Any]], *, ends: int) -> Table:
    """Return scores of captions, best first; of more than twice ``ends`` only so many at each end."""
    ordered = sorted(rows, key=lambda row: (-row["score"], row["image"], row["text"]))
    shown = ordered if len(ordered) <= 2 * ends else ordered[:ends] + ordered[-ends:]
    with_worst = all("worst" in row for row in ordered)
    names = ("text", "image", "score", "best", *(("worst",) if with_worst else ()), "shown")
    return table(
        "captions" if with_worst else "captions-best",
        [[row[name] for name in names] for row in shown],
        captions=len(ordered),
        ends=ends if len(shown) < len(ordered) else 0,
    )


def questions_tables(questions: Iterable[Mapping[str, Any]]) -> list[Table]:
    """Return agreement on each question of a form, votes, numbers and texts, as far as there are any."""
    listed = list(questions)
    agreement = [
        (
            question["name"],
            question["answered"],
            question["alpha"]["level"],
            estimate_of(question["alpha"]),
            question["alpha"]["n"],
        )
        for question in listed
        if "alpha" in question
    ]
    columns = ("name", "answered", "mean", "median", "deviation", "low", "high")
    tables = [
        table("questions", agreement),
        table(
            "answers",
            [(question["name"], *vote) for question in listed for vote in question.get("votes", {}).items()],
        ),
        table("numbers", [[question[name] for name in columns] for question in listed if "mean" in question]),
        table(
            "texts", [(question["name"], text) for question in listed for text in question.get("texts", ())]
        ),
    ]
    return [nonempty for nonempty in tables if nonempty.rows]
