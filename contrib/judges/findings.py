"""Describe how judges compare with people: sentences for the command, and the section of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from common.amounts import coefficient, json_float
from contrib.judges.comparison import ALL_ITEMS
from contrib.judges.prompts import has_orders
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.models import Analysis
from evaluation.presentation.content import (
    Cell,
    DotPanel,
    DotPlot,
    Estimate,
    Plot,
    Section,
    Table,
    estimate_of,
)
from evaluation.presentation.rendering import plot, render_sentence, section, table
from judgments.kinds import KINDS
from judgments.models import Study

PEOPLE_LABEL = "people among themselves"
UNBIASED_VALUES = {"consistent": "1", "difference": "0", "length": "0", "own": "0"}


def sentences_of(judge: Mapping[str, Any]) -> Sequence[str]:
    """Return whether the judge may replace a person, and whether it was removed since the comparison.

    Args:
        judge: the entry of the judge in a stored comparison (``comparison.py``).
    """
    test, name = judge["test"], judge["name"]
    verdict = "may" if test.get("passed") else "may not"
    sentences = [
        f"{name}: not tested, as {test['reason']}."
        if test["reason"]
        else f"{name}: {verdict} replace a person here: it won against {test['won']} of {test['people']} people "
        f"(half are needed), with epsilon {test['epsilon']:g}."
    ]
    if judge.get("removed_at"):
        sentences.append(f"{name} was removed since; its figures are of the answers that it had.")
    return sentences


def judges_section(study: Study) -> Section | None:
    """Return the section about the newest comparison of judges with people; None if there is no comparison."""
    analysis = Analysis.objects.newest(study, Analysis.Kind.JUDGES)
    if analysis is None:
        return None
    judges, people = analysis.result["judges"], analysis.result["people"]
    sentences = [sentence for judge in judges for sentence in sentences_of(judge)]
    if analysis.judgments != str(signature_of_study(study)):
        sentences.append(render_sentence("judges-old"))
    tables = [_agreement_table(judges, people)]
    # If people judged every item, a judge adds nothing.
    rows = [(judge["name"], row) for judge in judges for row in judge["estimates"] if row["unlabelled"]]
    plots = []
    if rows:
        # Units with several texts have shares of votes, from 0 to 1; single texts have mean answers.
        number_format = "coefficient" if has_orders(KINDS[study.protocol]) else "number"
        data = _estimates_table(rows, number_format)
        tables.append(data)
        plots.append(_plot_estimates(rows, number_format, data))
    return section("judges", sentences, plots, tables)


def describe_unbiased_share(side: Mapping[str, Any]) -> str:
    """Return how often an unbiased judge chooses the text that is shown first.

    Args:
        side: the bias by side of a stored comparison.
    """
    return coefficient(side.get("by_chance", 0.5))  # results of earlier versions are only about pairs


def _agreement_table(judges: Sequence[Mapping[str, Any]], people: Mapping[str, Any]) -> Table:
    """Return the table of agreement and biases of each judge, next to people among themselves."""
    rows: list[tuple[Cell, ...]] = []
    if people.get("agreement"):
        agreement = estimate_of(people["agreement"])
        rows.append((PEOPLE_LABEL, render_sentence("judges-figure", figure="agreement"), agreement, ""))
    for judge in judges:
        test, side = judge["test"], judge["side"] or {}
        figures: dict[str, Mapping[str, Any] | None] = {
            # the interval of the advantage is "low" and "high" of the test
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
                render_sentence("judges-figure", figure=name),
                estimate_of(figure),
                describe_unbiased_share(side) if name == "first" else UNBIASED_VALUES.get(name, ""),
            )
            for name, figure in figures.items()
            if figure and figure["value"] is not None
        ]
    return table("judges", rows)


def _estimates_table(rows: Sequence[tuple[str, Mapping[str, Any]]], number_format: str) -> Table:
    """Return the table of estimates of what people would say."""
    return table(
        "judges-estimates",
        [
            (
                judge,
                row["of"] or ALL_ITEMS,
                estimate_of(row),
                _people_estimate(row),
                row["labelled"],
                row["labelled"] + row["unlabelled"],
                json_float(row["effective"]),
            )
            for judge, row in rows
        ],
        [
            ("judge", "text"), ("of", "text"), ("estimate", number_format), ("people alone", number_format),
            ("people’s items", "count"), ("all items", "count"), ("worth", "number"),
        ],
    )  # fmt: skip


def _people_estimate(row: Mapping[str, Any]) -> Estimate:
    return Estimate(row["people"], row["people_low"], row["people_high"], row["labelled"])


def _plot_estimates(rows: Sequence[tuple[str, Mapping[str, Any]]], number_format: str, data: Table) -> Plot:
    targets = list(dict.fromkeys(row["of"] for _, row in rows))
    # Estimates of people are of the units that a judge answered. With several judges, the last judge's are drawn.
    panels = {"people alone": {row["of"]: _people_estimate(row) for _, row in rows}}
    for judge, row in rows:
        panels.setdefault(f"with {judge}", {})[row["of"]] = estimate_of(row)
    drawing = DotPlot(
        tuple(target or ALL_ITEMS for target in targets),
        tuple(
            DotPanel(title, tuple(estimates.get(target, Estimate(None)) for target in targets))
            for title, estimates in panels.items()
        ),
        "what people would say, 95 % interval",
        number_format,
    )
    return plot(render_sentence("judges-estimates"), drawing, data)
