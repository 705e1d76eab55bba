"""Compare judges with people: agreement, biases, the alternative annotator test and savings."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction

from common.amounts import as_json, json_float
from contrib.judges.material import (
    UNDECIDED_CODE,
    AnswerSummary,
    JudgeAnswers,
    JudgeMaterial,
    is_nominal,
    load_answers,
    load_material,
)
from contrib.judges.models import Judge
from contrib.judges.prompts import check_kind, has_orders
from evaluation.data.judgment_sets.data_hash import hash_with_data
from evaluation.data.judgment_sets.loaders import load_judgments
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from evaluation.presentation.content import rows_as_json
from evaluation.results.agreement import alpha_of_ratings, exchange_of
from judgments.kinds import Kind
from judgments.models import Study
from judgments.studies.designs import kind_of
from judgments.studies.generation.progress import no_progress
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.numeric.signatures import signature
from quorum.statistics.aggregation.pair_answers import FIRST, NEITHER, NO_DIFFERENCE
from quorum.statistics.agreement import ratings_of_judgments
from quorum.statistics.crossed import CONFIDENCE, ITEM, Clusters, renumber_codes, share_of_rows
from quorum.statistics.judges import (
    ACCURACY,
    EPSILON,
    MIN_CURVE_LENGTH,
    MIN_UNITS,
    RMSE,
    alternative_annotator_test,
    prediction_powered_mean,
    savings_curve,
)

LENGTH_STEP = 10.0  # words; the bias by length is the change of the answer per this many
SAVINGS_DRAWS = 200  # random choices of judged items for each point of the savings curve
JUDGED_SHARES = (0.1, 0.25, 0.5)  # points of the savings curve: shares of the items that people judge
ALL_ITEMS = "all items"


def compare_judges_with_people(
    *,
    study: Study,
    epsilon: float = EPSILON,
    seed: int = 0,
    progress: Callable[[float, str], object] = no_progress,
) -> Analysis:
    """Compare all judges of a study with its people. Return the analysis, which is not stored yet."""
    kind = kind_of(study)
    check_kind(kind)
    judges = list(Judge.objects.filter(study=study).order_by("name"))
    if not judges:
        raise EvaluationError(
            "This study has no judge yet; expected one that was imported or asked (contrib/judges/README.md)."
        )
    table = load_judgments(study)
    material = load_material(study, kind, table)
    if not len(material.people.unit_index):
        raise EvaluationError("There is no used judgment yet, so a judge cannot be compared with people.")
    digests, entries = {}, []
    for number, judge in enumerate(judges):
        progress(number / len(judges), f"comparing {judge.name}")
        answers, digest = load_answers(judge, material)
        digests[judge.name] = digest
        entries.append(_compare_judge(judge, answers, material, epsilon, seed))
    settings = {"epsilon": epsilon, "seed": seed}
    return Analysis(
        study=study,
        what=Analysis.Kind.JUDGES,
        result={"judges": entries, "people": _describe_people(material)},
        settings=settings,
        signature=signature("judges", settings),
        judgments=str(signature_of_study(study, table=table)),
        data_hash=hash_with_data(material.data_hash, digests),
    )


@transaction.atomic
def store_comparison(comparison: Analysis) -> Analysis:
    names = ("study", "what", "signature", "data_hash", "settings", "judgments", "result")
    return Analysis.objects.replace(**{name: getattr(comparison, name) for name in names})


def _compare_judge(
    judge: Judge, answers: JudgeAnswers, material: JudgeMaterial, epsilon: float, seed: int
) -> dict[str, Any]:
    """Return the entry of a judge in the stored result. ``side``, ``length`` and ``own`` are its biases."""
    kind = material.kind
    has_labels = is_nominal(kind)
    return {
        "name": judge.name,
        "source": judge.source,
        "model": judge.model,
        "own_systems": judge.own_systems,
        "answers": len(answers.unit_index),
        "units": int((answers.answer_counts > 0).sum()),
        "all_units": len(material.unit_ids),
        "agreement": _agreement(answers, material) if has_labels or kind.marks is not None else None,
        "alpha": _alpha(answers, material),
        "difference": None if has_labels else _difference_from_people(answers, material),
        "side": _position_bias(answers, material) if has_orders(kind) else None,
        "length": _length_bias(answers, material),
        "own": _own_family_bias(judge, answers, material),
        "test": _annotator_test(answers, material, epsilon),
        **_estimate_people(answers, material, seed),
    }


def _describe_people(material: JudgeMaterial) -> dict[str, Any]:
    """Return the numbers of people and their judgments, and how far people agree among themselves."""
    people = material.people
    counts = {"judgments": len(people.unit_index), "workers": len(np.unique(material.worker_ids))}
    if not (is_nominal(material.kind) or people.marked_answers):
        return counts
    # without the person's own answer, which equals itself
    other_counts = people.answer_counts[people.unit_index] - 1.0
    equal_counts = _count_equal_answers(people, people, material.kind) - 1
    has_others = other_counts > 0
    share = equal_counts / np.where(has_others, other_counts, np.nan)
    return counts | {"agreement": _share_of_judgments(share, material, has_others)}


def _count_equal_answers(people: AnswerSummary, counterparts: AnswerSummary, kind: Kind) -> Floats:
    """Return, for each of N people's answers, how many of ``counterparts`` to the same unit equal it: (N,).

    Answers that mark errors count by their similarity (F1) instead of 0 or 1.
    """
    if kind.marks is None:
        equal_counts: Floats = counterparts.label_counts[people.unit_index, people.value.astype(np.int64)]
        return equal_counts
    answers_of_unit: defaultdict[int, list[Any]] = defaultdict(list)
    for unit, answer in zip(counterparts.unit_index.tolist(), counterparts.marked_answers, strict=True):
        answers_of_unit[unit].append(answer)
    rows = zip(people.unit_index.tolist(), people.marked_answers, strict=True)
    similarity = kind.marks.similarity
    return np.array(
        [sum(similarity(answer, other) for other in answers_of_unit[unit]) for unit, answer in rows],
        dtype=np.float64,
    )


def _share_of_judgments(share: Floats, material: JudgeMaterial, keep: Flags) -> dict[str, Any]:
    """Return the mean of ``share`` over people's judgments that are kept, with its interval."""
    columns: dict[str, Ints] = {ITEM: material.image_ids[material.people.unit_index]}
    if not material.is_anonymous:
        columns["rater"] = material.worker_ids
    interval = share_of_rows(np.nan_to_num(share), columns, CONFIDENCE, keep=keep)
    value = float(share[keep].mean()) if keep.any() else math.nan
    return {"value": json_float(value), **as_json(interval, "low", "high"), "n": int(keep.sum())}


def _agreement(answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any]:
    """Return the share of people's judgments that equal the judge's. For marks, it is their F1 by characters.

    A judgment counts half if the judge answers differently in the two orders.
    """
    answer_counts = answers.answer_counts[material.people.unit_index]
    divisors = np.where(answer_counts, answer_counts, np.nan)
    share = _count_equal_answers(material.people, answers, material.kind) / divisors
    return _share_of_judgments(share, material, answer_counts > 0)


def _alpha(answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any]:
    """Return Krippendorff's alpha between people's label and the judge's label of each unit."""
    people, judge = material.people.label, answers.label
    units = np.flatnonzero(
        ~np.isnan(people) & ~np.isnan(judge) & (people != UNDECIDED_CODE) & (judge != UNDECIDED_CODE)
    )
    if not len(units):
        return _undefined_estimate(0)
    rows = np.concatenate([units, units])
    alpha = alpha_of_ratings(
        ratings_of_judgments(
            rows, np.repeat([0, 1], len(units)), np.concatenate([people[units], judge[units]])
        ),
        {ITEM: material.image_ids[rows]},
        "nominal" if is_nominal(material.kind) else material.kind.aggregation.level,
        seed=0,
        exchange=exchange_of(material.kind),
    )
    return {name: alpha[name] for name in ("value", "low", "high")} | {"n": len(units)}


def _undefined_estimate(n: int) -> dict[str, Any]:
    return {"value": None, "low": None, "high": None, "n": n}


def _mean_estimate(values: Floats, images: Ints) -> dict[str, Any]:
    if not len(values):
        return _undefined_estimate(0)
    mean = float(values.mean())
    return _estimate(mean, (values - mean) / len(values), images, len(values))


def _estimate(value: float, influences: Floats, images: Ints, n: int) -> dict[str, Any]:
    """Return a value with its interval, clustered by image.

    Args:
        influences: (N,) influence of each of N rows on the value.
        images: (N,) image of each row.
    """
    half = Clusters.of_codes({ITEM: renumber_codes(images)}).spread(influences).half_width(CONFIDENCE)
    return dict(as_json({"value": value, "low": value - half, "high": value + half, "n": n}))


def _difference_from_people(answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any]:
    units = np.flatnonzero(~np.isnan(answers.mean) & ~np.isnan(material.people.mean))
    return _mean_estimate(answers.mean[units] - material.people.mean[units], material.image_ids[units])


def _position_bias(answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any]:
    """Return how often the judge chose the text shown first, and how often the same text in both orders.

    Only units that were asked in both orders count.
    """
    size = len(material.unit_ids)
    straight_counts = np.bincount(answers.unit_index[~answers.is_swapped], minlength=size)
    swapped_counts = np.bincount(answers.unit_index[answers.is_swapped], minlength=size)
    keep = (straight_counts > 0) & (swapped_counts > 0)
    rows = keep[answers.unit_index]
    text_counts = (~np.isnan(material.lengths)).sum(axis=1)
    # the value of an answer that names the text shown first: the last text, if the order is reversed
    first_text = np.where(answers.is_swapped, text_counts[answers.unit_index], FIRST)
    is_tie = np.isin(answers.value, (NO_DIFFERENCE, NEITHER)) & material.kind.two_sided
    names_first = np.where(is_tie, 0.5, answers.value == first_text)[rows]
    # The mean over both orders of each unit; with T texts, it is 1 / T for a judge without a preference for a place.
    first_sums = np.bincount(answers.unit_index[rows], weights=names_first, minlength=size)
    share = first_sums[keep] / answers.answer_counts[keep]
    has_one_label = answers.label_counts.max(axis=1) == answers.answer_counts
    is_consistent = has_one_label[keep].astype(np.float64)
    return {
        "first_shown": _mean_estimate(share, material.image_ids[keep]),
        "by_chance": json_float((1 / text_counts[keep]).mean()) if keep.any() else None,
        "consistent": _mean_estimate(is_consistent, material.image_ids[keep]),
    }


def _length_bias(answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any]:
    """Return how much more than people the judge favours longer texts.

    If units show several texts, it is the judge's share of votes for the longest text minus people's share. For
    single texts, it is the increase per ten words of the difference between the judge's answer and people's.
    """
    if has_orders(material.kind):
        is_longest = material.lengths == np.nanmax(material.lengths, axis=1, keepdims=True)
        return _bias_towards(is_longest, is_longest.sum(axis=1) == 1, answers, material)
    gap = answers.mean - material.people.mean
    units = np.flatnonzero(~np.isnan(gap))
    lengths = material.lengths[units, 0]
    centred = lengths - lengths.mean() if len(units) else lengths
    squares = float(centred @ centred)
    if not squares > 0:
        return _undefined_estimate(len(units))
    slope = float(centred @ gap[units]) / squares
    # the influence of a unit on the slope of least squares is centred * residual / squares
    residuals = gap[units] - gap[units].mean() - slope * centred
    influences = LENGTH_STEP * centred * residuals / squares
    return _estimate(LENGTH_STEP * slope, influences, material.image_ids[units], len(units))


def _bias_towards(
    texts: Flags, keep: Flags, answers: JudgeAnswers, material: JudgeMaterial
) -> dict[str, Any]:
    """Return by how much the judge's share of votes for some texts exceeds people's share.

    Args:
        texts: (U, S) whether votes for each of S texts of each of U units count.
        keep: (U,) whether the unit counts.
    """
    gap = ((answers.shares - material.people.shares) * texts).sum(axis=1)
    units = np.flatnonzero(~np.isnan(gap) & keep)
    return _mean_estimate(gap[units], material.image_ids[units])


def _has_some_outputs(outputs: Flags, material: JudgeMaterial) -> Flags:
    """Return, for each of U units, whether some but not all of its texts are among ``outputs``: (U,).

    Args:
        outputs: (U, S) whether each text is a system's.
    """
    has_output: Flags = np.logical_or.reduce(outputs, axis=1)
    return has_output & ~np.logical_and.reduce(outputs | np.isnan(material.lengths), axis=1)


def _own_family_bias(judge: Judge, answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any] | None:
    """Return how much more than people the judge favours systems of its family; None if no system is of it."""
    is_own = np.zeros(material.lengths.shape, dtype=np.bool_)
    for name in judge.own_systems:
        is_own |= material.systems.get(name, False)
    if not is_own.any():
        return None
    if has_orders(material.kind):
        return _bias_towards(is_own, _has_some_outputs(is_own, material), answers, material)
    gap = answers.mean - material.people.mean
    has_answers = ~np.isnan(gap)
    own_units = np.flatnonzero(has_answers & is_own[:, 0])
    other_units = np.flatnonzero(has_answers & ~is_own[:, 0])
    if not len(own_units) or not len(other_units):
        return _undefined_estimate(len(own_units))
    rows = np.concatenate([own_units, other_units])
    # influences on the two means, whose difference is the bias
    influences = [(gap[units] - gap[units].mean()) / len(units) for units in (own_units, other_units)]
    value = float(gap[own_units].mean() - gap[other_units].mean())
    return _estimate(
        value, np.concatenate([influences[0], -influences[1]]), material.image_ids[rows], len(own_units)
    )


def _annotator_test(answers: JudgeAnswers, material: JudgeMaterial, epsilon: float) -> dict[str, Any]:
    """Return the result of the alternative annotator test.

    ``each`` has a row for each person, in the order of their ids, without a name.
    """
    if material.is_anonymous:
        return {"reason": "the people of this study are places in published totals, not persons"}
    judge_labels = answers.label[material.people.unit_index]
    keep = ~np.isnan(judge_labels)
    test = alternative_annotator_test(
        material.people.unit_index[keep],
        material.worker_ids[keep],
        material.people.value[keep],
        judge_labels[keep],
        scoring=ACCURACY if is_nominal(material.kind) else RMSE,
        epsilon=epsilon,
        clusters={ITEM: material.image_ids[material.people.unit_index[keep]]},
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
        "least_units": MIN_UNITS,
        "each": rows_as_json(
            units=test.units,
            judge=test.judge_advantage,
            person=test.rater_advantage,
            p=test.adjusted_p,
            won=test.won,
        ),
    }


def _estimate_people(answers: JudgeAnswers, material: JudgeMaterial, seed: int) -> dict[str, Any]:
    """Estimate people's answers to all units from the judge's answers, and how many judgments this saves.

    The savings are computed for the target that has most units with answers of people.
    """
    rows = []
    curve_people = curve_judge = np.empty(0)
    for target in _targets(material):
        units = np.flatnonzero(target.is_included & ~np.isnan(answers.mean))
        if not len(units):
            continue
        if target.outputs is None:
            people_means, judge_means = material.people.mean[units], answers.mean[units]
        else:
            people_means = (material.people.shares * target.outputs).sum(axis=1)[units]
            judge_means = (answers.shares * target.outputs).sum(axis=1)[units]
        clusters = {ITEM: material.image_ids[units]}
        estimate = prediction_powered_mean(people_means, judge_means, clusters=clusters)
        names = ("value", "low", "high", "people", "people_low", "people_high", "judge", "power", "effective")
        counts = ("labelled", "unlabelled", "reason", "signature")
        rows.append(
            {"of": target.name, **as_json(estimate, *names, *counts), "saved": json_float(estimate.saved)}
        )
        if estimate.labelled > len(curve_people):
            is_judged = ~np.isnan(people_means)
            curve_people, curve_judge = people_means[is_judged], judge_means[is_judged]
    sizes = sizes_of_curve(len(curve_people))
    savings: list[dict[str, Any]] = []
    if sizes and np.ptp(curve_people) > 0:
        curve = savings_curve(curve_people, curve_judge, sizes=sizes, draws=SAVINGS_DRAWS, seed=seed)
        savings = rows_as_json(
            people=curve.sizes,
            coverage=curve.coverage,
            width=curve.width,
            alone=curve.people_width,
            worth=curve.effective,
        )
    return {"estimates": rows, "savings": savings, "draws": SAVINGS_DRAWS}


def sizes_of_curve(n: int) -> list[int]:
    """Return the numbers of judged items at which the savings curve has points, if people judged n items."""
    sizes = [round(n * share) for share in JUDGED_SHARES]
    return [size for size in sizes if MIN_CURVE_LENGTH <= size <= n - MIN_CURVE_LENGTH]


class _Target(NamedTuple):
    """A mean to estimate: people's answers to some of U units, or the share of votes for a system's texts in them.

    Attributes:
        name: name of the system; "" for all units.
        outputs: (U, S) whether each text is the system's; None for the mean of the answers.
        is_included: (U,) whether the unit counts.
    """

    name: str
    outputs: Flags | None
    is_included: Flags


def _targets(material: JudgeMaterial) -> list[_Target]:
    """Return the means to estimate: of all units, and of each system."""
    all_units = np.ones(len(material.unit_ids), dtype=np.bool_)
    systems = material.systems.items()
    if not has_orders(material.kind):
        targets = [_Target(name, None, outputs[:, 0]) for name, outputs in systems]
        return [_Target("", None, all_units), *targets]
    targets = [_Target(name, outputs, _has_some_outputs(outputs, material)) for name, outputs in systems]
    return targets or [_Target("", None, all_units)]
