"""Sections of the report on systems' ranked captions: the grades of first captions, and rankings.

A proposal is an entry of a system's ranked list (``Proposals``). Outputs are entries that have a score.
H13 is Hodosh et al. 2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.data.ranked_lists import SEARCH
from evaluation.presentation.content import Curve, CurvePanel, LinePlot, Section, estimate_of, join_names
from evaluation.presentation.rendering import plot, render_sentence, section, table
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.sections.ceilings import MEAN_TOLERANCE
from evaluation.reports.sections.thresholds import exact_cut
from evaluation.results.outputs import Outputs
from evaluation.results.rankings.measures import JudgedOutputs, judged_outputs, leading_systems
from evaluation.results.rankings.tables import TASKS, rankings_tables
from evaluation.results.standings import MEAN as MEAN_GRADE

MAX_CURVES = 8  # systems in the plot
REACHED = "reached"  # name of the share of first captions that reach a mean grade
LEVEL_WITH_MEANS = "interval"  # level of answers that have means


def grades_section(inputs: ReportInputs) -> Section | None:
    """Return the section on first captions.

    It has the shares of captions that reach mean grades, and the systems that differ (H13 table 1).
    """
    cuts = sorted(inputs.kind.comparison.cuts, reverse=True)
    proposals = inputs.proposals
    if not cuts or inputs.kind.aggregation.level != LEVEL_WITH_MEANS or proposals is None:
        return None
    judged_texts = judged_outputs(
        inputs.kind, proposals, inputs.table, inputs.consensus, credited=inputs.method.is_credited
    )
    outputs = inputs.outputs
    if outputs is None:
        return None
    is_first = proposals.position[outputs.proposal] == 1  # `outputs.proposal` are indices of `proposals`
    if not is_first.any():
        return None
    if not inputs.method.is_credited:
        # Reports of older releases: the grade of a caption counts for each system that wrote it, whichever systems the
        # file credits, and the variance of raters is left out.
        outputs = replace(outputs, score=judged_texts.value[outputs.proposal], deletions=None)
    outputs = outputs.subset(is_first)
    # For each threshold, each system's share of captions that reach it.
    cut_shares = [_shares_that_reach(outputs, cut) for cut in cuts]
    standings = outputs.standings(MEAN_GRADE)
    means = {name: figure["value"] for name, figure in standings.figures.items()}
    names = sorted(outputs.names, key=lambda name: (-means[name], name))
    strictest_shares = cut_shares[0]
    shares_by_name = {name: [estimate_of(shares[name]) for shares in cut_shares] for name in names}
    rows: list[tuple[Any, ...]] = [
        (name, *shares_by_name[name], means[name], strictest_shares[name]["n"]) for name in names
    ]
    columns = [("system", "text"), *((f"≥ {cut:g}, %", "share") for cut in cuts)]
    columns += [("mean", "number"), ("items", "count")]
    floor, ceiling = _floor_and_ceiling(judged_texts, cuts)
    leaders = standings.compare().leaders
    leaders_in_order = [name for name in names if name in leaders]
    leader_shares = [strictest_shares[name]["value"] for name in leaders_in_order]
    # Reports of wording 0, the oldest, name the first system with its share. Later reports name all leaders, with the
    # range of their shares from ``least`` to ``reached``.
    first_name = leaders_in_order[0] if inputs.method.wording else names[0]
    largest_share = max(leader_shares) if inputs.method.wording else strictest_shares[first_name]["value"]
    sentence = render_sentence(
        "grades", wording=inputs.method.wording, leaders=leaders, names=join_names(leaders), least=min(leader_shares),
        reached=largest_share, name=names[0], mean=means[names[0]], images=strictest_shares[first_name]["n"],
        cut=cuts[0], most=MAX_CURVES if len(rows) > MAX_CURVES else 0, floor=floor[0], ceiling=ceiling[0],
    )  # fmt: skip
    curves = tuple(
        Curve(name, tuple(cuts), tuple(share.value for share in shares_by_name[name]))
        for name in names[:MAX_CURVES]
    )
    bounds = (
        Curve("random judged one", tuple(cuts), floor, dashed=True),
        Curve("best judged one", tuple(cuts), ceiling),
    )
    drawing = LinePlot(
        (CurvePanel("", curves, bounds=bounds),),
        "mean grade at least",
        "share of first texts in %",
        log=False,
    )
    data = table("grades", rows, columns, raters=inputs.are_raters_known)
    bound_rows = [(bound.label, *bound.y, None, None) for bound in bounds]
    data_with_bounds = table("grades", [*rows, *bound_rows], columns, raters=inputs.are_raters_known)
    return section("grades", [sentence], [plot(sentence, drawing, data_with_bounds)], [data])


def _floor_and_ceiling(
    outputs: JudgedOutputs, cuts: list[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return two shares of images for each threshold.

    The first is the share of images on which a random judged caption reaches the threshold, and the second the share on
    which the best judged caption does.
    """
    # A key is image * width + text, and keys ascend, so the captions of an image follow one another.
    _, starts = np.unique(outputs.pair_keys // outputs.width, return_index=True)
    values_by_image = np.split(outputs.pair_value, starts[1:])
    floor: list[float] = []
    ceiling: list[float] = []
    for cut in cuts:
        flags_by_image = [_reaches_cut(values, cut) for values in values_by_image]
        floor.append(float(np.mean([flags.mean() for flags in flags_by_image])))
        ceiling.append(float(np.mean([flags.any() for flags in flags_by_image])))
    return tuple(floor), tuple(ceiling)


def _shares_that_reach(outputs: Outputs, cut: float) -> Mapping[str, Mapping[str, Any]]:
    """Return the figures of each system's share of captions with a mean grade that reaches the threshold."""

    def reaches_cut(mean_grade: float) -> float:
        return float(_reaches_cut(mean_grade, cut))

    return outputs.map_scores(reaches_cut).figures(REACHED)


def _reaches_cut(value: Any, cut: float) -> Any:
    """Return 1 for each mean grade that reaches the threshold, else 0."""
    return (value >= exact_cut(cut) - MEAN_TOLERANCE) * 1.0


def rankings_section(inputs: ReportInputs) -> Section | None:
    """Return the section on rankings, by people's relevance judgments and by the rank of the original (H13 §4.3)."""
    rankings: Mapping[str, Any] = inputs.aggregation.result.get("rankings") or {}
    if not rankings:
        return None
    sentences = []
    for task, rows in rankings.items():
        cells = {row["system"]: row["R-precision"] for row in rows}
        leaders = leading_systems(rows)
        sentence = render_sentence(
            "rankings", wording=inputs.method.wording, leaders=leaders, names=join_names(leaders) if leaders else "",
            system=rows[0]["system"], query=TASKS[task].query,
            what="items " if task == SEARCH else "", share=rows[0]["R-precision"]["value"] or 0.0,
            least=cells[leaders[-1]]["value"] if leaders else None,
            alone=sum(cell["value"] is not None for cell in cells.values()) == 1,
        )  # fmt: skip
        sentences.append(sentence)
    tables = rankings_tables(inputs.aggregation.result, audit_decimals=0 if inputs.method.wording else 1)
    return section("rankings", sentences, tables=tables)
