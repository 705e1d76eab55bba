"""Tables of the rankings of systems, from the figures that ``evaluation.results.rankings.measures`` computes.

S@k is the share of queries with a relevant item among the first k, and R@k that with the query's original. A row has
the figures of a system, such as ``{"system": "A", "S@1": {"value": 0.5, "low": 0.4, "high": 0.6}, ...}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evaluation.data.ranked_lists import ANNOTATION, SEARCH
from evaluation.presentation import rendering
from evaluation.presentation.content import Table, estimate_of
from evaluation.results.rankings.measures import CUTS
from quorum.statistics.ranking import ORDER_COEFFICIENTS


class TaskWords(NamedTuple):
    """What tables and sentences call a task, its queries and the ranked items."""

    table_name: str
    title_suffix: str
    description: str
    query: str
    ranked_item: str


TASKS = {
    ANNOTATION: TaskWords(
        table_name="rankings",
        title_suffix="",
        description="Annotation: an item asks, captions are ranked.",
        query="item",
        ranked_item="caption",
    ),
    SEARCH: TaskWords(
        table_name="rankings-search",
        title_suffix=": search",
        description="Search: a caption asks, items are ranked.",
        query="caption",
        ranked_item="item",
    ),
}


def rankings_tables(result: Mapping[str, Any], *, audit_decimals: int = 0) -> list[Table]:
    """Return the tables of rankings of an aggregation, for each task.

    The "original" of a query is the caption that was written for the image, or the image of the caption. The audit of
    the filter is a judged sample of what it rejected. ``audit_decimals`` is 1 in reports by older releases.
    """
    audit, orders = result.get("filter_audit", {}), result.get("system_orders", {})
    tables = []
    for task, rows in result["rankings"].items():
        tables.append(_relevance_table(task, rows, audit, audit_decimals))
        original_rows = [row for row in rows if "original" in row]
        if original_rows:
            tables.append(_original_table(task, original_rows))
        if task in orders:
            tables.append(_orders_table(task, orders[task]))
    return tables


def _relevance_table(
    task: str, rows: Sequence[Mapping[str, Any]], audit: Mapping[str, Any], audit_decimals: int
) -> Table:
    words, has_audit = TASKS[task], "audited" in rows[0]
    columns = [("system", "text"), *((f"S@{k}, %", "share") for k in CUTS)]
    columns += [(f"S@{k} with the audit, %", "share") for k in CUTS] if has_audit else []
    columns += [("R-precision, %", "share"), ("at best, %", "share"), (f"{words.query}s", "count")]
    columns += [("nothing relevant", "count"), ("p, Holm", "p")]
    cells = [
        (
            row["system"],
            *(_cell(row[f"S@{k}"]) for k in CUTS),
            *(_cell(row["audited"][f"S@{k}"]) for k in CUTS if has_audit),
            _cell(row["R-precision"]),
            row["R-precision"]["best_case"],  # the mean if all items without a judgment were relevant
            row["R-precision"]["n"],
            row["nothing_relevant"],
            row.get("p"),  # of the comparison with the best system by R-precision
        )
        for row in rows
    ]
    return rendering.table(
        "rankings", cells, columns, name=words.table_name, task_title=words.title_suffix, task=words.description,
        query=words.query, item=words.ranked_item, audit=audit if has_audit else None, audit_decimals=audit_decimals,
    )  # fmt: skip


def _original_table(task: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    words = TASKS[task]
    columns = [("system", "text"), *((f"R@{k}, %", "share") for k in CUTS)]
    columns += [("median rank", "number"), (f"{words.query}s", "count")]
    cells = [
        (
            row["system"],
            *(_cell(row["original"][f"R@{k}"]) for k in CUTS),
            row["original"]["median_rank"]["value"],
            row["original"]["queries"],
        )
        for row in rows
    ]
    # undefined if at least half of the lists lack the original
    has_undefined_rank = any(row["original"]["median_rank"]["value"] is None for row in rows)
    return rendering.table(
        "originals", cells, columns, name=f"{words.table_name}-originals", task_title=words.title_suffix,
        query=words.query, item=words.ranked_item, incomplete=has_undefined_rank,
    )  # fmt: skip


def _orders_table(task: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    words = TASKS[task]
    keys = ("people", "automatic", *ORDER_COEFFICIENTS, "systems")  # first the names of both measures
    cells = [tuple(row[key] for key in keys) for row in rows]  # wording.toml has the columns
    return rendering.table(
        "orders",
        cells,
        name=f"{words.table_name}-orders",
        task_title=words.title_suffix,
        item=words.ranked_item,
    )


def _cell(figure: Mapping[str, Any]) -> Any:
    """Return a figure as an estimate. Figures of old releases are numbers without an interval."""
    return figure["value"] if figure.get("low") is None else estimate_of(figure)
