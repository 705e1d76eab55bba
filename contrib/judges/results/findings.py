"""Describe how judges compare with people: sentences for the command, and the section of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from common.amounts import coefficient, json_float
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
ALL_ITEMS = "all items"
UNBIASED_VALUES = {"consistent": "1", "difference": "0", "length": "0", "own": "0"}  # see ``comparison.py``

# The name of the judge, and an entry of "estimates" in a stored comparison. Its "of" is a system, or "" for all items.
_NamedEstimates = Sequence[tuple[str, Mapping[str, Any]]]


def describe_test(judge: Mapping[str, Any]) -> Sequence[str]:
    """Return sentences that say whether a judge may replace a person, and whether it was removed afterwards.

    Args:
        judge: the entry of the judge in a stored comparison (``comparison.py``).
    """
    test, name = judge["test"], judge["name"]
    if test["reason"]:
        sentences = [f"{name}: not tested, as {test['reason']}."]
    else:
        verdict = "may" if test.get("passed") else "may not"
        sentences = [
            f"{name}: {verdict} replace a person here: it won against {test['won']} of {test['people']} people "
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
    sentences = [sentence for judge in judges for sentence in describe_test(judge)]
    if analysis.judgments != str(signature_of_study(study)):
        sentences.append(render_sentence("judges-old"))
    tables = [_agreement_table(judges, people)]
    # If people judged every item, a judge adds nothing.
    estimates = [
        (judge["name"], estimate)
        for judge in judges
        for estimate in judge["estimates"]
        if estimate["unlabelled"]
    ]
    plots = []
    if estimates:
        # Units with several texts have shares of votes, from 0 to 1; single texts have mean answers.
        number_format = "coefficient" if has_orders(KINDS[study.protocol]) else "number"
        estimates_table = _estimates_table(estimates, number_format)
        tables.append(estimates_table)
        plots.append(_plot_estimates(estimates, number_format, estimates_table))
    return section("judges", sentences, plots, tables)


def describe_unbiased_share(side: Mapping[str, Any]) -> str:
    """Return, as text, how often an unbiased judge chooses the text that is shown first.

    Args:
        side: the bias by side of a stored comparison: a result of ``position_bias``.
    """
    return coefficient(side.get("by_chance", 0.5))  # results of earlier versions are only about pairs


def _agreement_table(judges: Sequence[Mapping[str, Any]], people: Mapping[str, Any]) -> Table:
    """Return the table of the agreement and the biases of each judge, and of people's agreement among themselves."""
    rows: list[tuple[Cell, ...]] = []
    if people.get("agreement"):
        agreement = estimate_of(people["agreement"])
        rows.append((PEOPLE_LABEL, render_sentence("judges-figure", figure="agreement"), agreement, ""))
    for judge in judges:
        test, side = judge["test"], judge["side"] or {}
        figures: dict[str, Mapping[str, Any] | None] = {
            # The interval of the advantage is "low" and "high" of the test.
            "advantage": None if test["reason"] else {"value": test["advantage"], **test},
            "agreement": judge["agreement"],  # share of people's judgments that equal the judge's answers
            "alpha": judge["alpha"],  # Krippendorff's, between people's labels and the judge's
            "first": side.get("first_shown"),
            "consistent": side.get("consistent"),
            "difference": judge["difference"],  # the judge's mean answer minus people's
            "length": judge["length"],  # its bias towards longer texts
            "own": judge["own"],  # its bias towards texts by systems of its family
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


def _estimates_table(estimates: _NamedEstimates, number_format: str) -> Table:
    return table(
        "judges-estimates",
        [
            (
                judge,
                estimate["of"] or ALL_ITEMS,
                estimate_of(estimate),
                _people_estimate(estimate),
                estimate["labelled"],
                estimate["labelled"] + estimate["unlabelled"],
                json_float(estimate["effective"]),  # items that people alone would need for such an interval
            )
            for judge, estimate in estimates
        ],
        [
            ("judge", "text"), ("of", "text"), ("estimate", number_format), ("people alone", number_format),
            ("people’s items", "count"), ("all items", "count"), ("worth", "number"),
        ],
    )  # fmt: skip


def _people_estimate(estimate: Mapping[str, Any]) -> Estimate:
    return Estimate(estimate["people"], estimate["people_low"], estimate["people_high"], estimate["labelled"])


def _plot_estimates(estimates: _NamedEstimates, number_format: str, estimates_table: Table) -> Plot:
    """Return a plot with a panel for people alone, and one for each judge."""
    targets = list(dict.fromkeys(estimate["of"] for _, estimate in estimates))
    # Estimates by people alone are of the units that a judge answered. If there are several judges, those of the last
    # judge are drawn.
    panels = {"people alone": {estimate["of"]: _people_estimate(estimate) for _, estimate in estimates}}
    for judge, estimate in estimates:
        panels.setdefault(f"with {judge}", {})[estimate["of"]] = estimate_of(estimate)
    drawing = DotPlot(
        tuple(target or ALL_ITEMS for target in targets),
        tuple(
            DotPanel(title, tuple(by_target.get(target, Estimate(None)) for target in targets))
            for title, by_target in panels.items()
        ),
        "what people would say, 95 % interval",
        number_format,
    )
    return plot(render_sentence("judges-estimates"), drawing, estimates_table)
