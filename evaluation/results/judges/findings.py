"""Compare judges with people: agreement, biases, the alternative annotator test, savings; and report it."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction

from evaluation.data.judgment_sets.loaders import (
    images_of,
    is_anonymous,
    load_judgments,
    signature_of_study,
    study_units,
)
from evaluation.data.provenance import as_json, hash_with, json_float, signature
from evaluation.errors import EvaluationError
from evaluation.models import Analysis, Judge, JudgeAnswer
from evaluation.numeric.arrays import Flags, Floats, Ints, places_in
from evaluation.presentation.content import Cell, Dots, Estimate, Panel, Plot, Section, Table, estimate_of
from evaluation.presentation.rendering import plot, say, section, table
from evaluation.results.judges.prompts import check_kind
from evaluation.statistics.agreement import alpha_of_judgments
from evaluation.statistics.clustering import ITEM, Clusters, renumbered, share_of_rows
from evaluation.statistics.judges import (
    ACCURACY,
    EPSILON,
    FEWEST_UNITS,
    RMSE,
    SHORTEST_CURVE,
    alternative_annotator_test,
    prediction_powered_mean,
    savings_curve,
)
from evaluation.statistics.resampling import CONFIDENCE
from judgments.kinds import KINDS, Kind
from judgments.models import Output, Study, Unit
from judgments.studies.generation import no_progress
from judgments.studies.studies import kind_of

ROWS_AT_ONCE = 2_000
UNDECIDED = -1  # a judge that answers otherwise in the other order
DRAWS = 200
SHARES_OF_PEOPLE = (0.1, 0.25, 0.5)
FIRST = 1
WORDS = 10.0  # by which a text is longer, where points are told per length


@dataclass(frozen=True, slots=True)
class Material:
    """A study's judged units, in order, and people's answers.

    Attributes:
        pk, image: (U,) row ids.
        people, n: (U,) share of votes for the first candidate, or mean answer, nan without; and their number.
        unit, worker, value: (N,) included judgments: positions of units, row ids, answers.
        lengths: (U, 2) words of the candidates; nan without a second.
        systems: name -> (U, 2) bool, whether it made the first or the second.
    """

    kind: Kind
    pk: Ints
    image: Ints
    people: Floats
    n: Ints
    unit: Ints
    worker: Ints
    value: Floats
    lengths: Floats
    systems: Mapping[str, Flags]
    anonymous: bool
    data_hash: str


@dataclass(frozen=True, slots=True)
class Answers:
    """A judge's answers, and per unit their mean `score` and common `label`."""

    unit: Ints
    value: Floats
    swapped: Flags
    score: Floats
    label: Floats


@dataclass(frozen=True, slots=True)
class Comparison:
    study: Study
    result: dict[str, Any]
    settings: dict[str, Any]
    signature: str
    judgments: str
    data_hash: str


def compare_judges(
    *,
    study: Study,
    epsilon: float = EPSILON,
    seed: int = 0,
    progress: Callable[[float, str], object] = no_progress,
) -> Comparison:
    """Compare all judges of a study with its people, without storing the result."""
    kind = kind_of(study)
    check_kind(kind)
    judges = list(Judge.objects.filter(study=study).order_by("name"))
    if not judges:
        raise EvaluationError(
            "This study has no judge yet; expected one that was imported or asked (docs/judges.md)."
        )
    table = load_judgments(study)
    material = _load_material(study, kind, table)
    if not len(material.unit):
        raise EvaluationError(
            "Nobody has judged anything that counts yet, so a judge cannot be compared with people."
        )
    digests, entries = {}, []
    for number, judge in enumerate(judges):
        progress(number / len(judges), f"comparing {judge.name}")
        answers, digest = _load_answers(judge, material)
        digests[judge.name] = digest
        entries.append(_compare_judge(judge, answers, material, epsilon, seed))
    settings = {"epsilon": epsilon, "seed": seed}
    return Comparison(
        study=study,
        result={"judges": entries, "people": _describe_people(material)},
        settings=settings,
        signature=signature("judges", settings),
        judgments=str(signature_of_study(study, table=table)),
        data_hash=hash_with(material.data_hash, digests),
    )


@transaction.atomic
def store_comparison(comparison: Comparison) -> Analysis:
    return Analysis.objects.replace(
        study=comparison.study,
        what=Analysis.What.JUDGES,
        signature=comparison.signature,
        data_hash=comparison.data_hash,
        settings=comparison.settings,
        judgments=comparison.judgments,
        result=comparison.result,
    )


def _load_material(study: Study, kind: Kind, table: Any) -> Material:
    units = study_units(study).judged
    counted = table.counted
    unit = places_in(units.pk, table.unit[counted])
    value = table.value[counted]
    people, n = _means_of_units(kind, unit, value, len(units))
    lengths, systems = _caption_lengths_and_systems(study, units.pk)
    return Material(
        kind=kind,
        pk=units.pk,
        image=images_of(study, units),
        people=people,
        n=n,
        unit=unit,
        worker=table.worker[counted],
        value=value,
        lengths=lengths,
        systems=systems,
        anonymous=is_anonymous(study),
        data_hash=table.data_hash,
    )


def _means_of_units(kind: Kind, unit: Ints, value: Floats, size: int) -> tuple[Floats, Ints]:
    """Return units' mean answers, or shares of votes for the first candidate, nan without; and numbers of answers."""
    n = np.bincount(unit, minlength=size)
    scored = (value == FIRST).astype(np.float64) if kind.two_sided else value
    return np.bincount(unit, weights=scored, minlength=size) / np.where(n, n, np.nan), n


def _labels_of(score: Floats, kind: Kind) -> Floats:
    """Return what most answers to a unit say, UNDECIDED at a tie; numbers are no labels, and stay as they are."""
    if kind.aggregation.level != "nominal":
        return score
    other = 2.0 if kind.two_sided else 0.0
    return np.select([score > 0.5, score < 0.5, score == 0.5], [1.0, other, UNDECIDED], np.nan)


def _caption_lengths_and_systems(study: Study, pks: Ints) -> tuple[Floats, dict[str, Flags]]:
    lengths = np.full((len(pks), 2), np.nan)
    by_system: defaultdict[str, Flags] = defaultdict(lambda: np.zeros((len(pks), 2), dtype=np.bool_))
    names = ("pk", "item_id", "first_id", "first__text", "second__text")
    rows = Unit.objects.filter(study=study, control=False).order_by()
    of_pairs = ("pair__first_system__name", "pair__second_system__name")
    by_text: dict[tuple[int, int], list[int]] = defaultdict(list)
    index_of = {pk: index for index, pk in enumerate(pks.tolist())}
    for pk, item, first, left, right, *systems in rows.values_list(*names, *of_pairs).iterator(ROWS_AT_ONCE):
        index = index_of[pk]
        for side, text in enumerate((left, right)):
            if text is not None:
                lengths[index, side] = len(text.split())
        for side, name in enumerate(systems):
            if name:
                by_system[name][index, side] = True
        if right is None:
            by_text[item, first].append(index)
    if by_text:
        outputs = Output.objects.of_study(study).annotations().order_by()
        if len(by_text) < ROWS_AT_ONCE:
            outputs = outputs.filter(item__in={item for item, _ in by_text})
        credits = outputs.values_list("item_id", "caption_id", "system__name")
        for item, caption, name in credits.iterator(ROWS_AT_ONCE):
            for index in by_text.get((item, caption), ()):
                by_system[name][index, 0] = True
    return lengths, dict(sorted(by_system.items()))


def _load_answers(judge: Judge, material: Material) -> tuple[Answers, str]:
    rows = JudgeAnswer.objects.filter(judge=judge, state=JudgeAnswer.State.ANSWERED).order_by(
        "unit_id", "rater", "swapped"
    )
    cells = list(rows.values_list("unit_id", "value", "swapped").iterator(ROWS_AT_ONCE))
    table = np.array(cells, dtype=np.int64).reshape(-1, 3)
    unit = places_in(material.pk, table[:, 0])
    value, swapped = table[:, 1].astype(np.float64), table[:, 2] == 1
    score, _ = _means_of_units(material.kind, unit, value, len(material.pk))
    digest = hashlib.sha256(np.column_stack([unit, table[:, 1:]]).astype("<i8").tobytes()).hexdigest()
    return Answers(unit, value, swapped, score, _labels_of(score, material.kind)), digest


def _compare_judge(
    judge: Judge, answers: Answers, material: Material, epsilon: float, seed: int
) -> dict[str, Any]:
    nominal = material.kind.aggregation.level == "nominal"
    return {
        "name": judge.name,
        "source": judge.source,
        "model": judge.model,
        "own_systems": judge.own_systems,
        "answers": len(answers.unit),
        "units": int((~np.isnan(answers.score)).sum()),
        "all_units": len(material.pk),
        "agreement": _agreement(answers, material) if nominal else None,
        "alpha": _alpha(answers, material),
        "difference": None if nominal else _difference_from_people(answers, material),
        "side": _position_bias(answers, material) if material.kind.two_sided else None,
        "length": _length_bias(answers, material),
        "own": _own_family_bias(judge, answers, material),
        "test": _annotator_test(answers, material, epsilon),
        **_estimate_people(answers, material, seed),
    }


def _describe_people(material: Material) -> dict[str, Any]:
    if material.kind.aggregation.level != "nominal":
        return {"judgments": len(material.unit), "workers": len(np.unique(material.worker))}
    n = material.n[material.unit] - 1.0
    votes = material.people * material.n if material.kind.two_sided else _count_yes(material)
    same = (
        np.where(
            material.value == FIRST, votes[material.unit], material.n[material.unit] - votes[material.unit]
        )
        - 1
    )
    keep = n > 0
    share = same / np.where(keep, n, np.nan)
    return {
        "judgments": len(material.unit),
        "workers": len(np.unique(material.worker)),
        "agreement": _share_of_judgments(share, material, keep),
    }


def _count_yes(material: Material) -> Floats:
    yes = (material.value == FIRST).astype(np.float64)
    return np.bincount(material.unit, weights=yes, minlength=len(material.pk)).astype(np.float64)


def _share_of_judgments(share: Floats, material: Material, keep: Flags) -> dict[str, Any]:
    columns: dict[str, Ints] = {ITEM: material.image[material.unit]}
    if not material.anonymous:
        columns["rater"] = material.worker
    interval = share_of_rows(np.nan_to_num(share), columns, CONFIDENCE, keep=keep)
    value = float(share[keep].mean()) if keep.any() else math.nan
    return {
        "value": json_float(value),
        "low": json_float(interval.low),
        "high": json_float(interval.high),
        "n": int(keep.sum()),
    }


def _agreement(answers: Answers, material: Material) -> dict[str, Any]:
    """Return the share of people's judgments equal to the judge's; half if its orders differ."""
    score = answers.score[material.unit]
    return _share_of_judgments(
        np.where(material.value == FIRST, score, 1 - score), material, ~np.isnan(score)
    )


def _alpha(answers: Answers, material: Material) -> dict[str, Any]:
    people, judge = _labels_of(material.people, material.kind), answers.label
    both = np.flatnonzero(~np.isnan(people) & ~np.isnan(judge) & (people != UNDECIDED) & (judge != UNDECIDED))
    if not len(both):
        return _undefined_estimate(0)
    rows = np.concatenate([both, both])
    alpha = alpha_of_judgments(
        rows,
        np.repeat([0, 1], len(both)),
        np.concatenate([people[both], judge[both]]),
        material.kind.aggregation.level,
        clusters={ITEM: material.image[rows]},
    )
    return {**as_json(alpha, "value", "low", "high"), "n": len(both)}


def _undefined_estimate(n: int) -> dict[str, Any]:
    return {"value": None, "low": None, "high": None, "n": n}


def _mean_estimate(values: Floats, images: Ints) -> dict[str, Any]:
    if not len(values):
        return _undefined_estimate(0)
    clusters = Clusters.of_codes({ITEM: renumbered(images)})
    mean = float(values.mean())
    return _interval_around(mean, (values - mean) / len(values), clusters) | {"n": len(values)}


def _interval_around(value: float, influences: Floats, clusters: Clusters) -> dict[str, Any]:
    half = clusters.spread(influences).half(CONFIDENCE)
    return {
        "value": json_float(value),
        "low": json_float(value - half),
        "high": json_float(value + half),
    }


def _difference_from_people(answers: Answers, material: Material) -> dict[str, Any]:
    both = np.flatnonzero(~np.isnan(answers.score) & ~np.isnan(material.people))
    return _mean_estimate(answers.score[both] - material.people[both], material.image[both])


def _position_bias(answers: Answers, material: Material) -> dict[str, Any]:
    """Return how often the text shown first, and the same text in both orders, was chosen; units with both."""
    size = len(material.pk)
    straight = np.bincount(answers.unit[~answers.swapped], minlength=size)
    turned = np.bincount(answers.unit[answers.swapped], minlength=size)
    both = (straight > 0) & (turned > 0)
    rows = both[answers.unit]
    shown_first = ((answers.value == FIRST) != answers.swapped)[rows].astype(np.float64)
    # The mean over both orders of each unit: a judge without a preference for a side has one half.
    score = np.bincount(answers.unit[rows], weights=shown_first, minlength=size)[both]
    n = (straight + turned)[both]
    consistent = np.isin(answers.score[both], (0.0, 1.0)).astype(np.float64)
    return {
        "first_shown": _mean_estimate(score / n, material.image[both]),
        "consistent": _mean_estimate(consistent, material.image[both]),
    }


def _length_bias(answers: Answers, material: Material) -> dict[str, Any]:
    """Return how much more than people the judge favours longer texts.

    For two candidates: its share of the longer one minus people's. For one: the rise of its answer above
    people's per ten words.
    """
    gap = answers.score - material.people
    if material.kind.two_sided:
        longer = np.sign(material.lengths[:, 0] - material.lengths[:, 1])
        both = np.flatnonzero(~np.isnan(gap) & (longer != 0))
        return _mean_estimate(gap[both] * longer[both], material.image[both])
    both = np.flatnonzero(~np.isnan(gap))
    lengths = material.lengths[both, 0]
    centred = lengths - lengths.mean() if len(both) else lengths
    squares = float(centred @ centred)
    if not squares > 0:
        return _undefined_estimate(len(both))
    slope = float(centred @ gap[both]) / squares
    rest = gap[both] - gap[both].mean() - slope * centred
    clusters = Clusters.of_codes({ITEM: renumbered(material.image[both])})
    return _interval_around(WORDS * slope, WORDS * centred * rest / squares, clusters) | {"n": len(both)}


def _own_family_bias(judge: Judge, answers: Answers, material: Material) -> dict[str, Any] | None:
    """Return how much more than people the judge favours its family's systems; None without any."""
    family = np.zeros((len(material.pk), 2), dtype=np.bool_)
    for name in judge.own_systems:
        family |= material.systems.get(name, False)
    if not family.any():
        return None
    gap = answers.score - material.people
    if material.kind.two_sided:
        side = family[:, 0].astype(np.int64) - family[:, 1]
        both = np.flatnonzero(~np.isnan(gap) & (side != 0))
        return _mean_estimate(gap[both] * side[both], material.image[both])
    answered = ~np.isnan(gap)
    of_family, of_others = np.flatnonzero(answered & family[:, 0]), np.flatnonzero(answered & ~family[:, 0])
    if not len(of_family) or not len(of_others):
        return _undefined_estimate(len(of_family))
    rows = np.concatenate([of_family, of_others])
    parts = [(gap[part] - gap[part].mean()) / len(part) for part in (of_family, of_others)]
    clusters = Clusters.of_codes({ITEM: renumbered(material.image[rows])})
    value = float(gap[of_family].mean() - gap[of_others].mean())
    return _interval_around(value, np.concatenate([parts[0], -parts[1]]), clusters) | {"n": len(of_family)}


def _annotator_test(answers: Answers, material: Material, epsilon: float) -> dict[str, Any]:
    """Return the alternative annotator test; people are identified by position."""
    if material.anonymous:
        return {"reason": "the people of this study are places in published totals, not persons"}
    label = answers.label[material.unit]
    keep = ~np.isnan(label)
    test = alternative_annotator_test(
        material.unit[keep],
        material.worker[keep],
        material.value[keep],
        label[keep],
        scoring=ACCURACY if material.kind.aggregation.level == "nominal" else RMSE,
        epsilon=epsilon,
        clusters={ITEM: material.image[material.unit[keep]]},
    )
    names = (
        "winning_rate",
        "advantage",
        "low",
        "high",
        "left_out",
        "all_units",
        "epsilon",
        "level",
        "reason",
    )
    return {
        **as_json(test, *names, "signature"),
        "people": int((~np.isnan(test.p)).sum()),
        "won": int(test.won.sum()),
        "passed": test.passed,
        "least_units": FEWEST_UNITS,
        "each": [
            {"units": units, "judge": json_float(judge), "person": json_float(person), "p": json_float(p), "won": won}
            for units, judge, person, p, won in zip(
                test.units.tolist(), test.judge_advantage.tolist(), test.rater_advantage.tolist(),
                test.adjusted_p.tolist(), test.won.tolist(), strict=True,
            )
        ],
    }  # fmt: skip


def _estimate_people(answers: Answers, material: Material, seed: int) -> dict[str, Any]:
    """Estimate people's answers to all units from the judge's, and what that saves."""
    rows, longest = [], (0, np.empty(0), np.empty(0))
    for name, sign, units in _estimated_targets(material):
        units = units[~np.isnan(answers.score[units])]
        if not len(units):
            continue
        people, judge = material.people[units], answers.score[units]
        if sign is not None:
            side = sign[units]
            people, judge = np.where(side > 0, people, 1 - people), np.where(side > 0, judge, 1 - judge)
        estimate = prediction_powered_mean(people, judge, clusters={ITEM: material.image[units]})
        names = ("value", "low", "high", "people", "people_low", "people_high", "judge", "power", "effective")
        counts = ("labelled", "unlabelled", "reason", "signature")
        rows.append({"of": name, **as_json(estimate, *names, *counts), "saved": json_float(estimate.saved)})
        if estimate.labelled > longest[0]:
            known = ~np.isnan(people)
            longest = (estimate.labelled, people[known], judge[known])
    n, people, judge = longest
    sizes = sizes_of_curve(n)
    savings = []
    if sizes and np.ptp(people) > 0:
        curve = savings_curve(people, judge, sizes=sizes, draws=DRAWS, seed=seed)
        columns = (curve.coverage, curve.width, curve.people_width, curve.effective)
        savings = [
            {
                "people": size,
                "coverage": json_float(cover),
                "width": json_float(width),
                "alone": json_float(alone),
                "worth": json_float(worth),
            }
            for size, cover, width, alone, worth in zip(
                curve.sizes, *(column.tolist() for column in columns), strict=True
            )
        ]  # fmt: skip
    return {"estimates": rows, "savings": savings, "draws": DRAWS}


def sizes_of_curve(n: int) -> list[int]:
    """Return the numbers of judged items, of n, on the savings curve."""
    sizes = [round(n * share) for share in SHARES_OF_PEOPLE]
    return [size for size in sizes if SHORTEST_CURVE <= size <= n - SHORTEST_CURVE]


def _estimated_targets(material: Material) -> list[tuple[str, Ints | None, Ints]]:
    """Return (name, side, units) to estimate; for two candidates, `side` is 1 or -1 for a system's."""
    every = np.arange(len(material.pk))
    if not material.kind.two_sided:
        targets: list[tuple[str, Ints | None, Ints]] = [("", None, every)]
        targets += [(name, None, np.flatnonzero(outputs[:, 0])) for name, outputs in material.systems.items()]
        return targets
    targets = []
    for name, outputs in material.systems.items():
        side = outputs[:, 0].astype(np.int64) - outputs[:, 1]
        targets.append((name, side, np.flatnonzero(side)))
    return targets or [("", None, every)]


def newest_comparison(study: Study) -> Analysis | None:
    return Analysis.objects.newest_first(study, Analysis.What.JUDGES).first()


def sentences_of(judge: Mapping[str, Any]) -> Sequence[str]:
    test, name = judge["test"], judge["name"]
    gone = (
        [f"{name} was removed since; its figures are of the answers that it had."]
        if judge.get("removed_at")
        else []
    )
    if test["reason"]:
        return [f"{name}: not tested, as {test['reason']}.", *gone]
    may = "may" if test["passed"] else "may not"
    return [
        f"{name}: {may} replace a person here: it won against {test['won']} of {test['people']} people "
        f"(half are needed), with epsilon {test['epsilon']:g}.",
        *gone,
    ]


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
    rows = [(judge["name"], row) for judge in judges for row in judge["estimates"] if row["unlabelled"]]
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
                estimate_of(figure),
                WITHOUT_BIAS.get(name, ""),
            )
            for name, figure in figures.items()
            if figure and figure["value"] is not None
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
            Panel(title, tuple(estimates.get(name, Estimate(None)) for name in names))
            for title, estimates in panels.items()
        ),
        "what people would say, 95 % interval",
        shows,
    )
    return plot(say("judges-estimates"), drawing, data)
