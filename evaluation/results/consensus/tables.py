"""Tables of a stored aggregation, for pages, commands and reports. `rendering.table` names their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from evaluation.presentation import rendering
from evaluation.presentation.content import Cell, Estimate, Table, estimate_of
from evaluation.results.consensus.counts import SYSTEM_COUNTS
from evaluation.results.rankings.tables import rankings_tables

COEFFICIENT_NAMES = {
    "percent": gettext_noop("percent agreement"),
    "fleiss": gettext_noop("Fleiss' kappa"),
    "gwet": gettext_noop("Gwet's AC"),
}
# Formats of means over systems' outputs: of scores, yes votes, z-scores, and texts that describe their item.
MEANS = {"mean": "fixed", "yes": "coefficient", "z": "coefficient", "describes": "coefficient"}


def consensus_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the tables of a stored aggregation. There is a table of pairs only if the result contains them."""
    leave_one_out = result.get("figures", {}).get("leave_one_out", {})
    tables = [*_pairs_tables(result.get("pairs", ())), *_systems_tables(result.get("systems", ()))]
    if result.get("rankings"):
        tables += rankings_tables(result)
    if content := result.get("figures", {}).get("system_content"):
        tables.append(content_table(content))
    tables.append(_agreement_table(result["agreement"]))
    if leave_one_out.get("metrics"):
        tables += leave_one_out_tables(leave_one_out)
    return tables


def _pairs_tables(pairs: Sequence[Mapping[str, Any]]) -> list[Table]:
    rows = []
    for kind in sorted({pair["kind"] or "" for pair in pairs}):
        kind_pairs = [pair for pair in pairs if (pair["kind"] or "") == kind]
        values = [pair["value"] for pair in kind_pairs]  # 1 or 2: the first or the second candidate won
        ties = sum(pair["tie"] for pair in kind_pairs)
        rows.append((kind, len(kind_pairs), values.count(1), values.count(2), ties))
    return [rendering.table("candidate-pairs", rows)] if rows else []


def _systems_tables(systems: Sequence[Mapping[str, Any]]) -> list[Table]:
    if not systems:
        return []
    # Systems of pairs have no means. Rows of earlier versions may have neither "describes" nor "pairs".
    if "describes" not in systems[0]:
        compared_systems = [row for row in systems if "pairs" in row]
        compared_systems.sort(key=lambda row: row["losses"] - row["wins"])
        rows = [(row["system"], *(row[name] for name in SYSTEM_COUNTS)) for row in compared_systems]
        return [rendering.table("system-wins", rows)] if rows else []
    means = [name for name in MEANS if name in systems[0]]
    columns = [("system", "text"), ("judged", "count")]
    columns += [(f"{name} [95 % interval]", MEANS[name]) for name in means]
    cells = [(row["system"], row["captions"], *(estimate_of(row[name]) for name in means)) for row in systems]
    return [rendering.table("system-means", cells, columns)]


def _agreement_table(agreement: Mapping[str, Any]) -> Table:
    alpha = agreement["alpha"]
    figures = {f"alpha ({alpha['level']})": alpha}
    if "ordinal" in agreement:
        figures["alpha (ordinal)"] = agreement["ordinal"]
    figures |= {f"alpha, {kind}": figure for kind, figure in agreement.get("by_kind", {}).items()}
    coefficients = agreement.get("coefficients", {})
    figures |= {_(COEFFICIENT_NAMES[name]): figure for name, figure in coefficients.items() if figure["n"]}
    rows = [
        (name, estimate_of(figure, with_n=False), figure["n"], figure.get("judgments"))
        for name, figure in figures.items()
    ]
    return rendering.table("agreement-figures", rows)


def workers_report_table(workers: Iterable[Mapping[str, Any]]) -> Table:
    rows = [
        (
            row["worker"],
            row["judgments"],
            f"{row['controls_right']} of {row['controls_seen']}" if row["controls_seen"] else "none seen",
            "" if row["seconds"] is None else f"{row['seconds']:.1f}",
            row["left_share"],  # share of the answers that chose the option on the left
            "yes" if row["used"] else "no",
        )
        for row in workers
    ]
    return rendering.table("workers-in-short", rows)


def leave_one_out_tables(leave_one_out: Mapping[str, Any]) -> list[Table]:
    """Return the table of people's leave-one-out scores, with the scores of captions of other images as ``floor``.

    Results of version 0.6 or later also have the table of how metrics rank within items.
    """
    rows = [
        (name, Estimate(figures["macro"], figures["low"], figures["high"], leave_one_out["images"]),
         Estimate(figures.get("floor"), figures.get("floor_low"), figures.get("floor_high")),
         *(figures[column] for column in ("micro", "median", "deviation", "least", "most")))
        for name, figures in leave_one_out["metrics"].items()
    ]  # fmt: skip
    counts = {name: leave_one_out[name] for name in ("captions", "images")}
    tables = [rendering.table("leave-one-out", rows, **counts)]
    if "orders" in leave_one_out:
        tables.append(rank_correlations_table(leave_one_out["orders"]))
    return tables


def rank_correlations_table(orders: Mapping[str, Any]) -> Table:
    """Return the table of rank correlations between metrics.

    ``orders`` has the ``names`` of the rows, and the coefficients ``rho`` of each row with all metrics. Rows are the
    metrics and, at the end, the number of words.
    """
    rows: list[tuple[Cell, ...]] = []
    for row_index, (name, figures) in enumerate(zip(orders["names"], orders["rho"], strict=True)):
        cells: list[Cell] = [estimate_of(figure, with_n=False) for figure in figures]
        if row_index < len(cells):  # not the row of the number of words
            cells[row_index] = figures[row_index]["value"]  # of a metric with itself, which has no interval
        rows.append((_(name), *cells))
    # True: the heading is a name, which is not translated
    metric_columns = ((name, "coefficient", True) for name in orders["names"][:-1])
    return rendering.table("rank-correlations", rows, [("metric", "text"), *metric_columns])


def content_table(content: Mapping[str, Any]) -> Table:
    """Return the table of boxes or keywords by systems, people and baselines, best first, with all measures."""
    rows: list[tuple[Cell, ...]] = []
    for row in content["rows"]:
        n = row["figures"][content["decides"]]["n"]  # "decides" names the measure by which rows are ordered
        name = row["name"] if row["who"] == "system" else _(row["name"])
        figures = [row["figures"][measure] for measure in content["measures"]]
        # The mode measures have fewer images: those with a single most frequent tag.
        estimates = [estimate_of(figure, with_n=figure["n"] != n) for figure in figures]
        rows.append((name, _(row["who"]), *estimates, n))
    # "scope": the population to which intervals generalise; "left_out": number of images without any selection
    values = {name: content[name] for name in ("scope", "left_out", "signatures")}
    return rendering.table(f"system-{content['kind']}", rows, name="system-content", **values)


def captions_table(rows: Iterable[Mapping[str, Any]], *, ends: int) -> Table:
    """Return the table of captions' best-worst scores: at most the ``ends`` best, then the ``ends`` worst ones."""
    sorted_rows = sorted(rows, key=lambda row: (-row["score"], row["image"], row["text"]))
    table_rows = sorted_rows if len(sorted_rows) <= 2 * ends else sorted_rows[:ends] + sorted_rows[-ends:]
    with_worst = all("worst" in row for row in sorted_rows)
    names = ("text", "image", "score", "best", *(("worst",) if with_worst else ()), "shown")
    return rendering.table(
        "captions" if with_worst else "captions-best",
        [[row[name] for name in names] for row in table_rows],
        captions=len(sorted_rows),
        ends=ends if len(table_rows) < len(sorted_rows) else 0,
    )


def questions_tables(questions: Iterable[Mapping[str, Any]]) -> list[Table]:
    """Return the tables on a form's questions: agreement, votes, numbers and texts. Empty tables are left out."""
    agreement: list[tuple[Cell, ...]] = []
    votes: list[tuple[Cell, ...]] = []
    numbers: list[tuple[Cell, ...]] = []
    texts: list[tuple[Cell, ...]] = []
    for question in questions:
        name = question["name"]
        if "alpha" in question:
            alpha = question["alpha"]
            agreement.append((name, question["answered"], alpha["level"], estimate_of(alpha), alpha["n"]))
        votes += [(name, answer, count) for answer, count in question.get("votes", {}).items()]
        if "mean" in question:
            columns = ("answered", "mean", "median", "deviation", "low", "high")
            numbers.append((name, *(question[column] for column in columns)))
        texts += [(name, text) for text in question.get("texts", ())]
    rows_by_table = {"questions": agreement, "answers": votes, "numbers": numbers, "texts": texts}
    return [rendering.table(table_name, rows) for table_name, rows in rows_by_table.items() if rows]
