"""The sections about candidate pairs: metrics against people, references, and the tournament of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from evaluation.provenance import plain
from evaluation.records import Flags
from evaluation.reports.ceiling import halves_of_votes
from evaluation.reports.content import (
    Column,
    Curve,
    CurvePanel,
    Curves,
    Dots,
    Figure,
    Level,
    Panel,
    Plot,
    Section,
    Table,
    figure_of,
    plain_table,
)
from evaluation.reports.gathered import Gathered
from evaluation.reports.told_apart import paired_p, told_apart
from evaluation.results.meta_evaluation import score_texts
from evaluation.statistics.meta import ReferenceCurve, accuracy_by_references, metric_winners, random_subsets
from evaluation.statistics.significance import mcnemar_test

KIND_ORDER = ("HC", "HI", "HM", "MM")
CHANCE = 0.5
FEWEST_REFERENCES = 5
SIZES = (1, 2, 3, 5, 10, 20, 30, 48)
MOST_DRAWS, TEXTS_SCORED = 20, 40_000
MOST_CURVES = 8


def ceilings(gathered: Gathered) -> dict[str, tuple[str, Figure]]:
    """Pair kind -> what people reach, and its name: two halves of people where it can be had, else one judge."""
    counted = gathered.table.counted
    halves = halves_of_votes(
        gathered.table.unit[counted],
        gathered.table.value[counted],
        gathered.consensus.units,
        seed=gathered.seed,
    )
    found = {kind: ("half of the people", one) for kind, one in halves.items() if one.value is not None}
    if found:
        return found
    people = (gathered.evaluation.result.get("people") if gathered.evaluation else None) or {}
    return {kind: ("one judge", figure_of(one)) for kind, one in people.items() if one["value"] is not None}


def metrics(gathered: Gathered, people: Mapping[str, tuple[str, Figure]]) -> Section:
    """How often each metric names people's winner, by pair kind, and which of them can be told apart."""
    title = "Metrics against people"
    if gathered.evaluation is None:
        return Section("metrics", title, empty=gathered.why_not)
    found = gathered.evaluation.result["metrics"]
    kinds = _kinds(found)
    last = kinds[-1]
    names = sorted(found, key=lambda name: -(found[name]["accuracy"][last]["value"] or 0.0))
    rows: list[tuple[Any, ...]] = [
        (name, *(figure_of(found[name]["accuracy"][kind]) for kind in kinds)) for name in names
    ]
    for words in dict.fromkeys(words for words, _ in people.values()):
        rows.append((words, *(people[kind][1] if kind in people else None for kind in kinds)))
    counts = gathered.evaluation.result["counts"]
    columns = (Column("metric"), *(Column(f"{kind}, %", "share") for kind in kinds))
    table = Table(
        "accuracy",
        "Accuracy of metrics by pair kind",
        columns,
        tuple(rows),
        "Share of pairs on which metric and people name the same winner, with Wilson's 95 % intervals. A "
        "metric's tie is "
        f"wrong; {counts['no_consensus']:,} pairs without a consensus are left out; chance is 50 %.",
    )
    best = found[names[0]]["accuracy"][last]
    sentence = " ".join((_best_sentence(names[0], best, people.get(last)), *_unmeasured(people)))
    drawing = Dots(
        tuple(names),
        tuple(
            Panel(
                kind,
                tuple(figure_of(found[name]["accuracy"][kind]) for name in names),
                _levels(people.get(kind)),
                f"n = {found[names[0]]['accuracy'][kind]['n']:,}",
            )
            for kind in kinds
        ),
        "accuracy in %, 95 % interval",
        shows="share",
        accent=names[0],
    )
    plot = Plot("accuracy", "Accuracy of metrics by pair kind", sentence, drawing, table)
    ties = plain_table(
        "ties",
        "Pairs behind the accuracies",
        [("metric", "text"), ("pair kind", "text"), ("pairs", "count"), ("right", "count"), ("tied", "count"),
         ("ties as half, %", "share"), ("without consensus", "count")],
        [
            (name, kind, one["n"], one["correct"], one["metric_ties"], one["value_ties_half"], one["no_consensus"])
            for name in names
            for kind in kinds
            for one in [found[name]["accuracy"][kind]]
        ],
        "“Ties as half” counts a metric's tie as half right.",
    )  # fmt: skip
    clusters = _clusters(gathered, names, kinds)
    return Section("metrics", title, (sentence,), (plot,), (table, *clusters, ties))


def _unmeasured(people: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        ()
        if people
        else ("No ceiling is drawn: no votes stand behind the winners, so what people reach is not known.",)
    )


def _kinds(found: Mapping[str, Any]) -> list[str]:
    names = {kind for figures in found.values() for kind in figures["accuracy"]}
    kinds = [kind for kind in KIND_ORDER if kind in names]
    kinds += sorted(names - set(kinds) - {"all"})
    return [*kinds, "all"] if len(kinds) != 1 else kinds


def _levels(people: tuple[str, Figure] | None) -> tuple[Level, ...]:
    levels = [Level("chance", CHANCE)]
    if people is not None and people[1].value is not None:
        words, one = people
        levels.append(Level(words, people[1].value, dashed=False, low=one.low, high=one.high))
    return tuple(levels)


def _best_sentence(name: str, best: Mapping[str, Any], people: tuple[str, Figure] | None) -> str:
    if best["value"] is None:
        return "No candidate pair has a consensus yet, so no metric can be held against one."
    sentence = (
        f"{name} names the winner people name most often: on {100 * best['value']:.1f} % of {best['n']:,} pairs "
        f"(95 % interval {100 * best['low']:.1f} to {100 * best['high']:.1f} %); chance is 50 %."
    )
    if people is not None and people[1].value is not None:
        what = (
            "Two halves of the people name the same winner"
            if people[0].startswith("half")
            else "One judge agrees with the majority of the others"
        )
        sentence += f" {what} on {100 * people[1].value:.1f} %."
    return sentence


def _clusters(gathered: Gathered, names: Sequence[str], kinds: Sequence[str]) -> list[Table]:
    """Rank bands and letters from McNemar's tests, Holm's correction over all pairs of metrics of a kind."""
    decided = gathered.winners != 0
    right = {
        name: metric_winners(gathered.scores[name][:, 0], gathered.scores[name][:, 1]) == gathered.winners
        for name in names
    }

    def p(one: str, two: str, *, here: Flags) -> float:
        return mcnemar_test(right[one][here], right[two][here]).exact_p

    groups = {}
    for kind in kinds:
        here = decided & _of_kind(gathered, kind)
        if here.any():
            values = [float(right[name][here].mean()) for name in names]
            groups[kind] = values, paired_p(names, partial(p, here=here))
    return told_apart(
        names,
        groups,
        heads=("pair kind", "metric", "against"),
        value=("accuracy, %", "share"),
        tables=(("clusters", "Which metrics can be told apart"), ("mcnemar", "McNemar's tests")),
        note="Metrics that share a letter cannot be told apart: exact McNemar tests of every two metrics, Holm's "
        "correction within a pair kind, at .05. Rank: from 1 plus the number that are better to the last that is not "
        "worse.",
    )


def _of_kind(gathered: Gathered, kind: str) -> Flags:
    if kind == "all":
        return np.ones(len(gathered.kinds), dtype=bool)
    return np.asarray(gathered.kinds == (kind if kind in KIND_ORDER else ""), dtype=bool)


def references(gathered: Gathered, people: Mapping[str, tuple[str, Figure]]) -> Section | None:
    """V15 figure 3: accuracy against the number of references a metric may read; None without texts, or without
    enough references."""
    if gathered.evaluation is None:
        return None
    texts = gathered.texts()
    if texts is None:
        return None
    pairs, documents = texts
    most = min(len(pair.references) for pair in pairs)
    if most < FEWEST_REFERENCES:
        return None
    found = gathered.evaluation.result["metrics"]
    kinds = _kinds(found)
    names = sorted(found, key=lambda name: -(found[name]["accuracy"][kinds[-1]]["value"] or 0.0))[
        :MOST_CURVES
    ]
    sizes = sorted({size for size in SIZES if size < most} | {most})
    generator = np.random.default_rng(gathered.seed)
    scores: dict[str, dict[int, tuple[Any, Any]]] = {name: {} for name in names}
    for size in sizes:
        draws = int(np.clip(TEXTS_SCORED // (2 * len(pairs)), 1, MOST_DRAWS)) if size < most else 1
        drawn = [random_subsets(len(pair.references), size, draws, seed=generator) for pair in pairs]
        sides: dict[str, list[Any]] = {name: [] for name in names}
        for draw in range(draws):
            own = [
                tuple(pair.references[place] for place in places[min(draw, len(places) - 1)])
                for pair, places in zip(pairs, drawn, strict=True)
            ]
            made = score_texts(
                [pair.first for pair in pairs] + [pair.second for pair in pairs],
                own * 2,
                documents,
                metrics=names,
                tokenizer=gathered.tokenizer,
            )
            for name in names:
                sides[name].append(made.scores[name].images.reshape(2, -1))
        for name in names:
            both = np.stack(sides[name], axis=1)
            scores[name][size] = (both[0], both[1])
    has_kinds = bool((gathered.kinds != "").any())
    labels = [str(kind) or "unknown" for kind in gathered.kinds.tolist()] if has_kinds else None
    curves = {name: accuracy_by_references(scores[name], gathered.winners, labels) for name in names}
    return _references_section(curves, kinds, people, len(found) - len(names))


def _references_section(
    curves: Mapping[str, Mapping[str, ReferenceCurve]],
    kinds: Sequence[str],
    people: Mapping[str, tuple[str, Figure]],
    left: int,
) -> Section:
    rows: list[tuple[Any, ...]] = []
    panels = []
    for kind in kinds:
        lines = []
        for name, found in curves.items():
            one = found[kind]
            rows += [
                (kind, name, k, Figure(plain(value), plain(low), plain(high), one.n), plain(spread), draws)
                for k, value, low, high, spread, draws in zip(
                    one.references.tolist(), one.value.tolist(), one.low.tolist(), one.high.tolist(),
                    one.deviation.tolist(), one.draws.tolist(), strict=True,
                )
            ]  # fmt: skip
            lines.append(
                Curve(name, tuple(one.references.tolist()), tuple(plain(v) for v in one.value.tolist()))
            )
        panels.append(CurvePanel(kind, tuple(lines), _levels(people.get(kind))))
    some = next(iter(curves.values()))[kinds[-1]]
    best = max(curves, key=lambda name: curves[name][kinds[-1]].value[-1])
    ends = curves[best][kinds[-1]]
    sentence = (
        f"With one reference {best} is right on {100 * ends.value[0]:.1f} % of the pairs, with "
        f"{some.references[-1]} on {100 * ends.value[-1]:.1f} %."
    )
    if left:
        sentence += f" The {len(curves)} best metrics are drawn; {left} more are in the table of accuracies."
    sentence = " ".join((sentence, *_unmeasured(people)))
    data = plain_table(
        "references",
        "Accuracy by number of references",
        [("pair kind", "text"), ("metric", "text"), ("references", "count"), ("accuracy, %", "share"),
         ("deviation over draws, %", "share"), ("draws", "count")],
        rows,
        "Mean accuracy over random subsets of a pair's references, with Wilson's 95 % intervals over pairs.",
    )  # fmt: skip
    drawing = Curves(tuple(panels), "references (log axis)", "accuracy in %")
    plot = Plot("references", "Accuracy by number of references", sentence, drawing, data)
    return Section("references", "How many references", (sentence,), (plot,), (data,))
