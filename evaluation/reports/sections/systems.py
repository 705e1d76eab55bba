"""Report systems that propose captions: grades, rankings, and paired tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from string import ascii_letters
from typing import Any

import numpy as np

from evaluation.data.judgment_sets.records import Flags, Floats
from evaluation.data.provenance import json_float
from evaluation.data.ranked_lists import SEARCH, Proposals
from evaluation.presentation.content import Curve, CurvePanel, Curves, Estimate, Section, Table
from evaluation.presentation.rendering import plot, say, section, table
from evaluation.reports.loading import ReportInputs
from evaluation.reports.sections.ceiling import NEAR
from evaluation.results.rankings import JudgedTexts
from evaluation.results.tables import rankings_tables
from evaluation.results.verdict import join_names, leaders_by_intervals, leaders_by_tests, paired_p
from evaluation.statistics.meta import clusters_of_p_values, wilson_interval
from evaluation.statistics.significance import mcnemar_test

MOST_CURVES = 8
MEANS = "interval"  # the level of what is averaged
THIRDS = {0.33: 1 / 3, 0.66: 2 / 3}  # H13 prints thresholds of thirds truncated to two digits


def cluster_tables(
    names: Sequence[str],
    groups: Mapping[str, tuple[Sequence[float], Floats]],
    *,
    heads: tuple[str, str],
    value: tuple[str, str],
    table_keys: tuple[str, str],
    name: str = "clusters",
    **for_note: Any,
) -> list[Table]:
    """Return a table of ranks and letters, and one of its tests; [] for fewer than two items.

    Args:
        groups: group -> (K,) values and (K, K) p, Holm-adjusted together.
        heads: headings of group and item; "" omits the group column.
        value: heading and format of the values.
        table_keys: of the wording of the two tables.
        name: of the first table.
    """
    if len(names) < 2 or not groups:
        return []
    rows: list[tuple[Any, ...]] = []
    tests: list[tuple[Any, ...]] = []
    for group, (values, p) in groups.items():
        clusters = clusters_of_p_values(values, p, names, correction="holm")
        start = (group,) if heads[0] else ()
        letters = letters_of(clusters.adjusted_p <= clusters.level)
        for position, (label, letter) in enumerate(zip(clusters.names, letters, strict=True)):
            low, high = int(clusters.rank_low[position]), int(clusters.rank_high[position])
            rank = str(low) if low == high else f"{low} to {high}"
            rows.append((*start, label, float(clusters.values[position]), letter, rank))
        for first, second in zip(*np.triu_indices(len(names), 1), strict=True):
            p_of_two = json_float(clusters.p[first, second]), json_float(clusters.adjusted_p[first, second])
            tests.append((*start, clusters.names[first], clusters.names[second], *p_of_two))
    columns = [(head, "text") for head in heads if head]
    return [
        table(
            table_keys[0],
            rows,
            [*columns, value, ("letters", "text"), ("rank", "text")],
            name=name,
            **for_note,
        ),
        table(
            table_keys[1], tests, [*columns, ("against", "text"), ("p", "p"), ("p, Holm", "p")], **for_note
        ),
    ]


def letters_of(differs: Flags) -> list[str]:
    """Return the letters of K ordered items from a symmetric (K, K) table of differences.

    Insert-and-absorb: start with one column of everything; for each differing pair, split every column with
    both into two without one of them, and drop contained columns.
    """
    count = len(differs)
    columns: list[frozenset[int]] = [frozenset(range(count))]
    for first in range(count):
        for second in range(first + 1, count):
            if not differs[first, second]:
                continue
            split = [
                part
                for column in columns
                for part in (
                    (column - {first}, column - {second}) if {first, second} <= column else (column,)
                )
            ]
            unique = list(dict.fromkeys(split))
            columns = [part for part in unique if not any(part < other for other in unique)]
    ordered = sorted((column for column in columns if column), key=sorted)
    names = [
        ascii_letters[position] if position < len(ascii_letters) else f"({position + 1})"
        for position in range(len(ordered))
    ]
    return [
        "".join(name for name, column in zip(names, ordered, strict=True) if item in column)
        for item in range(count)
    ]


def grades_section(inputs: ReportInputs) -> Section | None:
    """Show shares of first captions that reach each mean grade, and which systems differ (H13 table 1)."""
    cuts = sorted(inputs.kind.comparison.cuts, reverse=True)
    proposals = inputs.proposals
    if not cuts or inputs.kind.aggregation.level != MEANS or proposals is None:
        return None
    judged = JudgedTexts.from_proposals(proposals, inputs.consensus.of_unit)
    first = _first_captions(proposals, judged)
    if not first:
        return None
    grade = {name: np.array(list(by_image.values()), dtype=np.float64) for name, by_image in first.items()}
    names = sorted(grade, key=lambda name: (-float(grade[name].mean()), name))
    rows: list[tuple[Any, ...]] = []
    for name in names:
        n = len(grade[name])
        reached = [int(_reaches_cut(grade[name], cut).sum()) for cut in cuts]
        shares = [Estimate(count / n, *wilson_interval(count, n), n) for count in reached]
        rows.append((name, *shares, float(grade[name].mean()), n))
    columns = [("system", "text"), *((f"≥ {cut:g}, %", "share") for cut in cuts)]
    columns += [("mean", "number"), ("images", "count")]
    floor, ceiling = _shares_in_pool(judged, cuts)
    _, strictest, *_, mean, images = rows[0]
    groups = _compare_systems(first, names, cuts)
    leaders, _, _ = leaders_by_tests(names, *next(iter(groups.values())))
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
    data = table("grades", rows, columns)
    with_bounds = table(
        "grades", [*rows, *((bound.label, *bound.y, None, None) for bound in bounds)], columns
    )
    clusters = cluster_tables(
        names, groups, heads=("mean grade", "system"), value=("reach it, %", "share"),
        table_keys=("grade-clusters", "grade-tests"), name="grade-clusters",
    )  # fmt: skip
    tables = [data, *clusters]
    return section("grades", [sentence], [plot(sentence, drawing, with_bounds)], tables)


def _shares_in_pool(judged: JudgedTexts, cuts: list[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return shares of images that reach each threshold with a random and with the best judged caption."""
    _, starts = np.unique(judged.keys // judged.width, return_index=True)  # images; the keys ascend
    of_image = np.split(judged.values, starts[1:])
    reach = [[_reaches_cut(values, cut) for values in of_image] for cut in cuts]
    return (
        tuple(float(np.mean([reached.mean() for reached in images])) for images in reach),
        tuple(float(np.mean([reached.any() for reached in images])) for images in reach),
    )


def _reaches_cut(values: Sequence[float] | Floats, cut: float) -> Flags:
    return np.asarray(np.asarray(values) >= exact_cut(cut) - NEAR, dtype=bool)


def exact_cut(cut: float) -> float:
    """Return the nominal threshold: 3.66 means 3 2/3, a mean of three grades."""
    whole = int(cut)
    return whole + THIRDS.get(round(cut - whole, 2), cut - whole)


def _first_captions(proposals: Proposals, judged: JudgedTexts) -> dict[str, dict[int, float]]:
    """Return system -> image -> consensus of its first caption, if judged."""
    rows = np.flatnonzero(~proposals.search & (proposals.position == 1))
    values = judged.look_up(proposals.image[rows], proposals.text[rows])
    known = ~np.isnan(values)
    first: dict[str, dict[int, float]] = {}
    columns = proposals.system[rows[known]], proposals.image[rows[known]], values[known]
    for system, image, value in zip(*(column.tolist() for column in columns), strict=True):
        first.setdefault(proposals.systems[system], {})[image] = value
    return first


def _compare_systems(
    first: Mapping[str, Mapping[int, float]], names: list[str], cuts: list[float]
) -> dict[str, tuple[list[float], Floats]]:
    """Compare systems by McNemar's tests on images with both first captions judged, strictest threshold first."""

    def p(system: str, other: str, cut: float) -> float:
        shared = [image for image in first[system] if image in first[other]]
        if not shared:
            return float("nan")
        reach = [_reaches_cut([first[name][image] for image in shared], cut) for name in (system, other)]
        return mcnemar_test(*reach).exact_p

    return {
        f"≥ {cut:g}": (
            [float(_reaches_cut(list(first[name].values()), cut).mean()) for name in names],
            paired_p(names, partial(p, cut=cut)),
        )
        for cut in cuts
    }


def rankings_section(inputs: ReportInputs) -> Section | None:
    """Show rankings by people's relevance, and by the original item's rank (H13 §4.3)."""
    rankings: Mapping[str, Any] = inputs.aggregation.result.get("rankings") or {}
    if not rankings:
        return None
    audit = inputs.aggregation.result.get("filter_audit") or {}
    sentences = []
    for task, rows in rankings.items():
        cells = {row["system"]: row["R-precision"] for row in rows}
        leaders, _ = leaders_by_intervals(cells)
        sentence = say(
            "rankings", wording=inputs.wording, leaders=leaders, names=join_names(leaders) if leaders else "",
            system=rows[0]["system"],
            what="images " if task == SEARCH else "", share=rows[0]["R-precision"]["value"] or 0.0,
            least=cells[leaders[-1]]["value"] if leaders else None,
        )  # fmt: skip
        sentences.append(sentence)
    tables = rankings_tables(rankings, audit, digits=0 if inputs.wording else 1)
    return section("rankings", sentences, tables=tables)
