"""The sections about systems that propose captions for an image: grades of what stands first, and their rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from evaluation.reports.content import Curve, CurvePanel, Curves, Figure, Plot, Section, Table, plain_table
from evaluation.reports.gathered import Gathered
from evaluation.reports.told_apart import paired_p, told_apart
from evaluation.results.rankings import ANNOTATION, CUTS, SEARCH, consensus_values, values_of
from evaluation.statistics.meta import wilson_interval
from evaluation.statistics.significance import mcnemar_test

# task -> name and title of its table, what asks, what is ranked
TASKS = {
    ANNOTATION: ("rankings", "Rankings of systems", "image", "caption"),
    SEARCH: ("rankings-search", "Rankings of systems: image search", "caption", "image"),
}
TASK_WORDS = {
    "image": "Image annotation: an image asks, captions are ranked.",
    "caption": "Image search: a caption asks, images are ranked.",
}
MOST_CURVES = 8
MEANS = "interval"  # the level of what is averaged
NEAR = 1e-9  # a mean of thirds reaches a cut that is meant to be it
THIRDS = {0.33: 1 / 3, 0.66: 2 / 3}  # H13 prints cuts of means of three grades with two digits, cut off


def grades(gathered: Gathered) -> Section | None:
    """H13 table 1: how many of a system's first captions reach each mean grade, and whom McNemar's tests tell apart.

    None where no two systems, or one, proposed a caption that was judged, or where answers are not averaged.
    """
    cuts = sorted(gathered.kind.people_cuts, reverse=True)
    if not cuts or gathered.kind.level != MEANS:
        return None
    first = _first_captions(gathered)
    if not first:
        return None
    names = sorted(first, key=lambda name: (-float(np.mean(list(first[name].values()))), name))
    rows: list[tuple[Any, ...]] = []
    for name in names:
        values = np.array(list(first[name].values()), dtype=np.float64)
        reached = [int((values >= exact_cut(cut) - NEAR).sum()) for cut in cuts]
        shares = [Figure(n / len(values), *wilson_interval(n, len(values)), len(values)) for n in reached]
        rows.append((name, *shares, float(values.mean()), len(values)))
    heads = [(f"≥ {cut:g}, %", "share") for cut in cuts]
    table = plain_table(
        "grades",
        "Systems by the grades of their first captions",
        [("system", "text"), *heads, ("mean", "number"), ("images", "count")],
        rows,
        "Share of images whose first caption by the system has at least this mean grade (H13 table 1), with Wilson's "
        "95 % intervals; two digits stand for thirds.",
    )
    strictest = rows[0][1]
    sentence = (
        f"{names[0]} has the highest mean grade, {rows[0][1 + len(cuts)]:.2f}; {100 * strictest.value:.1f} % of its "
        f"{rows[0][-1]:,} first captions reach {cuts[0]:g}."
    )
    drawn = rows[:MOST_CURVES]
    curves = tuple(
        Curve(row[0], tuple(cuts), tuple(one.value for one in row[1 : 1 + len(cuts)])) for row in drawn
    )
    if len(rows) > len(drawn):
        sentence += f" The {len(drawn)} highest are drawn."
    floor, ceiling = _pool(gathered, cuts)
    sentence += (
        f" Floor: a caption drawn at random from those judged for an image, {100 * floor[0]:.1f} %; ceiling: the best "
        f"of them, {100 * ceiling[0]:.1f} %."
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
    data = replace(
        table,
        rows=(
            *table.rows,
            *((bound.label, *bound.y, None, None) for bound in bounds),
        ),
    )
    plot = Plot("grades", table.title, sentence, drawing, data)
    return Section(
        "grades",
        "Grades of systems",
        (sentence,),
        (plot,),
        (table, *_told_apart(first, names, cuts)),
    )


def _pool(gathered: Gathered, cuts: list[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What a system reaches that puts a random one of an image's judged captions first, and one that puts the best
    first: the mean over images of the share that reaches each cut, and the share of images where any does."""
    of_image: dict[int, list[float]] = {}
    for (image, _), value in _judged(gathered).items():
        of_image.setdefault(image, []).append(value)
    reach = [[np.array(values) >= exact_cut(cut) - NEAR for values in of_image.values()] for cut in cuts]
    return (
        tuple(float(np.mean([own.mean() for own in images])) for images in reach),
        tuple(float(np.mean([own.any() for own in images])) for images in reach),
    )


def exact_cut(cut: float) -> float:
    """A cut as it is meant: 3.66 is 3 2/3, which a mean of three grades can be."""
    whole = int(cut)
    return whole + THIRDS.get(round(cut - whole, 2), cut - whole)


def _judged(gathered: Gathered) -> dict[tuple[int, int], float]:
    """Image and text -> what people say of it."""
    if gathered.proposals is None:
        return {}
    return values_of(gathered.proposals, consensus_values(gathered.consensus.of_unit))


def _first_captions(gathered: Gathered) -> dict[str, dict[int, float]]:
    """System -> image -> consensus of the caption that it put first there; only judged ones."""
    found = gathered.proposals
    if found is None:
        return {}
    judged = _judged(gathered)
    first: dict[str, dict[int, float]] = {}
    rows = np.flatnonzero(~found.search & (found.place == 1))
    columns = (column[rows].tolist() for column in (found.system, found.image, found.text))
    for system, image, text in zip(*columns, strict=True):
        if (image, text) in judged:
            first.setdefault(found.systems[system], {})[image] = judged[image, text]
    return first


def _told_apart(first: Mapping[str, Mapping[int, float]], names: list[str], cuts: list[float]) -> list[Table]:
    """McNemar's tests at each threshold, on the images of which both systems' first captions were judged."""

    def p(one: str, two: str, cut: float) -> float:
        shared = [image for image in first[one] if image in first[two]]
        if not shared:
            return float("nan")
        reach = [[first[name][image] >= exact_cut(cut) - NEAR for image in shared] for name in (one, two)]
        return mcnemar_test(*reach).exact_p

    groups = {}
    for cut in cuts:
        shares = [
            float(np.mean([value >= exact_cut(cut) - NEAR for value in first[name].values()]))
            for name in names
        ]
        groups[f"≥ {cut:g}"] = shares, paired_p(names, partial(p, cut=cut))
    return told_apart(
        names,
        groups,
        heads=("mean grade", "system", "against"),
        value=("reach it, %", "share"),
        tables=(
            ("grade-clusters", "Which systems can be told apart"),
            ("grade-tests", "McNemar's tests of systems"),
        ),
        note="Systems that share a letter cannot be told apart: exact McNemar tests of every two systems on the images "
        "of which both were judged (H13 §4.2.1), Holm's correction within a threshold, at .05.",
    )


def rankings(gathered: Gathered) -> Section | None:
    """How systems rank captions for images, and images for captions: by people's relevance, and by where the original
    item stands (H13 §4.3)."""
    found: Mapping[str, Any] = gathered.aggregation.result.get("rankings") or {}
    if not found:
        return None
    audit = gathered.aggregation.result.get("filter_audit") or {}
    sentences, tables = [], []
    for task, rows in found.items():
        name, title, query, item = TASKS[task]
        tables.append(_by_relevance(name, title, query, item, rows, audit))
        best = rows[0]
        share = 100 * (best["R-precision"]["value"] or 0.0)
        sentences.append(
            f"{best['system']} ranks {'' if task == ANNOTATION else item + 's '}best by R-precision: {share:.1f} %."
        )
        tables += _by_original(name, title, query, item, rows)
    return Section("rankings", "Rankings of systems", tuple(sentences), (), tuple(tables))


def _by_relevance(
    name: str, title: str, query: str, item: str, rows: Sequence[Mapping[str, Any]], audit: Mapping[str, Any]
) -> Table:
    """S@k and R-precision of one task."""
    audited = "audited" in rows[0]
    columns = [("system", "text"), *((f"S@{k}, %", "share") for k in CUTS)]
    columns += [(f"S@{k} with the audit, %", "share") for k in CUTS] if audited else []
    columns += [
        ("R-precision, %", "share"),
        ("at best, %", "share"),
        (f"{query}s", "count"),
        ("nothing relevant", "count"),
    ]
    note = (
        f"{TASK_WORDS[query]} S@k: a relevant {item} among the first k. At best: "
        f"R-precision if every {item} that nobody judged were relevant."
    )
    if audited:
        note += (
            f" With the audit: over all {query}s, where none of the first k is known to be relevant, each of those "
            f"that nobody judged is so with the share that the audit of the filter found, {100 * audit['share']:.1f} % "
            f"(its interval gives the one here); each audited pair stands for {audit['weight']:.1f} that were left out."
        )
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
    return plain_table(name, title, columns, cells, note)


def _by_original(
    name: str, title: str, query: str, item: str, rows: Sequence[Mapping[str, Any]]
) -> list[Table]:
    """R@k and median rank of one task; [] where no original can be found."""
    able = [row for row in rows if "original" in row]
    if not able:
        return []
    columns = [("system", "text"), *((f"R@{k}, %", "share") for k in CUTS)]
    columns += [("median rank", "number"), (f"{query}s", "count")]
    cells = [
        (
            row["system"],
            *(_cell(row["original"][f"R@{k}"]) for k in CUTS),
            row["original"]["median_rank"]["value"],
            row["original"]["queries"],
        )
        for row in able
    ]
    note = (
        f"R@k: the {item} that belongs to the {query} is among the first k (H13 §4.3.1), whatever people say of it; "
        "Wilson's 95 % intervals. No median rank: half of the lists, or more, do not hold it."
    )
    return [plain_table(f"{name}-originals", f"{title}: the original {item}", columns, cells, note)]


def _cell(figure: Mapping[str, Any]) -> Any:
    """A figure; the number alone where it has no interval, as in releases from before there were any."""
    if figure.get("low") is None:
        return figure["value"]
    return Figure(figure["value"], figure["low"], figure["high"], figure["n"])
