"""Report judges beside people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.data.judgment_sets.signature import signature_of_study
from evaluation.data.provenance import json_float
from evaluation.presentation.content import Cell, Dots, Estimate, Panel, Plot, Section, Table, estimate_of
from evaluation.presentation.rendering import plot, say, section, table
from evaluation.results.judges.findings import newest_comparison, sentences_of
from judgments.kinds import KINDS
from judgments.models import Study

ALL = "all items"
PEOPLE = "people among themselves"
WITHOUT_BIAS = {"first": ".50", "consistent": "1", "difference": "0", "length": "0", "own": "0"}


def judges_section(study: Study) -> Section | None:
    """Return the newest comparison of judges with people; None without one."""
    analysis = newest_comparison(study)
    if analysis is None:
        return None
    judges, people = analysis.result["judges"], analysis.result["people"]
    sentences = [sentence for judge in judges for sentence in sentences_of(judge)]
    if analysis.judgments != str(signature_of_study(study)):
        sentences.append(say("judges-old"))
    tables = [_agreement_table(judges, people)]
    # Where people judged every item, a judge adds nothing.
    rows = [(one["name"], row) for one in judges for row in one["estimates"] if row["unlabelled"]]
    plots = []
    if rows:
        shows = "coefficient" if KINDS[study.protocol].two_sided else "number"
        data = _estimates_table(rows, shows)
        tables.append(data)
        plots.append(_plot(rows, shows, data))
    return section("judges", sentences, plots, tables)


def _agreement_table(judges: Sequence[Mapping[str, Any]], people: Mapping[str, Any]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    if people.get("agreement"):
        rows.append(
            (
                PEOPLE,
                say("judges-figure", figure="agreement"),
                estimate_of(people["agreement"]),
                "",
            )
        )
    for judge in judges:
        test, side = judge["test"], judge["side"] or {}
        figures: dict[str, Mapping[str, Any] | None] = {
            "advantage": None if test["reason"] else {"value": test["advantage"], **test},
            "agreement": judge["agreement"],
            "alpha": judge["alpha"],
            "first": side.get("first_shown"),
            "consistent": side.get("consistent"),
            "difference": judge["difference"],
            "length": judge["length"],
            "own": judge["own"],
        }
        rows += [
            (
                judge["name"],
                say("judges-figure", figure=name),
                estimate_of(found),
                WITHOUT_BIAS.get(name, ""),
            )
            for name, found in figures.items()
            if found and found["value"] is not None
        ]
    return table("judges", rows)


def _estimates_table(rows: Sequence[tuple[str, Mapping[str, Any]]], shows: str) -> Table:
    return table(
        "judges-estimates",
        [
            (
                judge,
                row["of"] or ALL,
                estimate_of(row),
                _people_estimate(row),
                row["labelled"],
                row["labelled"] + row["unlabelled"],
                json_float(row["effective"]),
            )
            for judge, row in rows
        ],
        [
            ("judge", "text"), ("of", "text"), ("estimate", shows), ("people alone", shows),
            ("people’s items", "count"), ("all items", "count"), ("worth", "number"),
        ],
    )  # fmt: skip


def _people_estimate(row: Mapping[str, Any]) -> Estimate:
    return Estimate(row["people"], row["people_low"], row["people_high"], row["labelled"])


def _plot(rows: Sequence[tuple[str, Mapping[str, Any]]], shows: str, data: Table) -> Plot:
    names = list(dict.fromkeys(row["of"] for _, row in rows))
    panels = {"people alone": {row["of"]: _people_estimate(row) for _, row in rows}}
    for judge, row in rows:
        panels.setdefault(f"with {judge}", {})[row["of"]] = estimate_of(row)
    drawing = Dots(
        tuple(name or ALL for name in names),
        tuple(
            Panel(title, tuple(found.get(name, Estimate(None)) for name in names))
            for title, found in panels.items()
        ),
        "what people would say, 95 % interval",
        shows,
    )
    return plot(say("judges-estimates"), drawing, data)
