"""The sections about systems that propose captions for an image: grades of what stands first, and their rankings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from evaluation.provenance import plain
from evaluation.records import Floats
from evaluation.reports.content import Curve, CurvePanel, Curves, Figure, Plot, Section, Table, plain_table
from evaluation.reports.gathered import Gathered
from evaluation.reports.told_apart import paired_p, told_apart
from evaluation.statistics.meta import wilson_interval
from evaluation.statistics.ranking import JudgedRankings, judge_rankings, r_precision, success_at_k
from evaluation.statistics.significance import mcnemar_test

CUTS = (1, 5, 10)
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
    of_image: dict[Hashable, list[float]] = {}
    for pk, (image, _) in gathered.units.items():
        found = gathered.consensus.of_unit.get(pk)
        if found is not None and found.value is not None:
            of_image.setdefault(image, []).append(float(found.value))
    reach = [[np.array(values) >= exact_cut(cut) - NEAR for values in of_image.values()] for cut in cuts]
    return (
        tuple(float(np.mean([own.mean() for own in images])) for images in reach),
        tuple(float(np.mean([own.any() for own in images])) for images in reach),
    )


def exact_cut(cut: float) -> float:
    """A cut as it is meant: 3.66 is 3 2/3, which a mean of three grades can be."""
    whole = int(cut)
    return whole + THIRDS.get(round(cut - whole, 2), cut - whole)


def _first_captions(gathered: Gathered) -> dict[str, dict[Hashable, float]]:
    """System -> image -> consensus of the caption that it put first there; only judged ones."""
    value = {
        place: found.value
        for pk, place in gathered.units.items()
        if (found := gathered.consensus.of_unit.get(pk)) is not None and found.value is not None
    }
    first: dict[str, dict[Hashable, Hashable]] = {}
    for one in gathered.proposals:
        first.setdefault(one.system, {}).setdefault(one.image, one.caption)
    judged = {
        system: {
            image: float(value[image, caption]) for image, caption in own.items() if (image, caption) in value
        }
        for system, own in first.items()
    }
    return {system: own for system, own in judged.items() if own}


def _told_apart(
    first: Mapping[str, Mapping[Hashable, float]], names: list[str], cuts: list[float]
) -> list[Table]:
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
    """S@k and R-precision of systems that rank captions for images, by people's relevance (H13 §4.3)."""
    if not any(one.rank > 1 for one in gathered.proposals):
        return None
    grade: dict[Hashable, dict[Hashable, float]] = {}
    consensus = gathered.consensus.of_unit
    for pk, (item, caption) in gathered.units.items():
        found = consensus.get(pk)
        if found is not None and found.value is not None:
            grade.setdefault(item, {})[caption] = gathered.kind.relevance(found.value)
    ranked: dict[str, dict[Hashable, dict[Hashable, None]]] = {}
    for one in gathered.proposals:
        ranked.setdefault(one.system, {}).setdefault(one.image, {})[one.caption] = None
    audit = gathered.aggregation.result.get("filter_audit") or {}
    audited = bool(audit) and audit["share"] is not None
    rows: list[tuple[Any, ...]] = []
    for system, lists in ranked.items():
        queries = list(lists)
        judged = judge_rankings(
            [list(lists[one]) for one in queries], [grade.get(one, {}) for one in queries]
        )
        success = [success_at_k(judged, k=k) for k in CUTS]
        corrected = [corrected_success(judged, k, audit) for k in CUTS] if audited else []
        precision = r_precision(judged)
        undefined = int(np.isnan(precision.per_query).sum())
        rows.append(
            (
                system,
                *(plain(one.value) for one in success),
                *corrected,
                plain(precision.value),
                plain(precision.best_case),
                len(queries) - undefined,
                undefined,
            )
        )
    at = 1 + len(CUTS) + (len(CUTS) if audited else 0)
    rows.sort(key=lambda row: -(row[at] or 0.0))
    columns = [("system", "text"), *((f"S@{k}, %", "share") for k in CUTS)]
    columns += [(f"S@{k} with the audit, %", "share") for k in CUTS] if audited else []
    columns += [
        ("R-precision, %", "share"),
        ("at best, %", "share"),
        ("images", "count"),
        ("nothing relevant", "count"),
    ]
    note = (
        "Image annotation: an image asks, captions are ranked. S@k: a relevant caption among the first k. At best: "
        "R-precision if every caption that nobody judged were relevant."
    )
    if audited:
        note += (
            f" With the audit: over all images, where none of the first k is known to be relevant, each of those that "
            f"nobody judged is so with the share that the audit of the filter found, {100 * audit['share']:.1f} % "
            f"(its interval gives the one here); each audited pair stands for {audit['weight']:.1f} that were left out."
        )
    table = plain_table("rankings", "Rankings of systems", columns, rows, note)
    sentence = f"{rows[0][0]} ranks best by R-precision: {100 * (rows[0][at] or 0.0):.1f} %."
    return Section("rankings", "Rankings of systems", (sentence,), (), (table,))


def corrected_success(judged: JudgedRankings, k: int, audit: Mapping[str, Any]) -> Figure:
    """S@k over all queries where what the filter left out is relevant with the audited share q.

    A query with a relevant caption among its first k counts 1; one with none there and m captions that nobody judged
    counts 1 - (1 - q)^m, as if each were one of those left out, drawn at random. ``low`` and ``high`` of the audit give
    the interval: it is of q alone.
    """
    ends = np.minimum(judged.starts[:-1] + k, judged.starts[1:])
    counts = []
    for start, end in zip(judged.starts[:-1].tolist(), ends.tolist(), strict=True):
        codes = judged.codes[start:end]
        counts.append((bool((codes == 1).any()), int((codes == -1).sum())))
    sure = np.array([one for one, _ in counts], dtype=bool)
    unjudged = np.array([many for _, many in counts], dtype=np.float64)

    def at(share: float) -> float:
        chance: Floats = 1.0 - (1.0 - share) ** unjudged
        return float(np.where(sure, 1.0, chance).mean())

    return Figure(at(audit["share"]), at(audit["low"]), at(audit["high"]), len(counts))
