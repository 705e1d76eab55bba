"""Compare judges with people: agreement, biases (``biases.py``), the alternative annotator test, and estimates.

The estimates are of what people would answer to all units, by the answers of people to some and of the judge to all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction

from common.amounts import as_json, json_float
from contrib.judges.models import Judge
from contrib.judges.prompts import check_kind, has_orders
from contrib.judges.results.biases import has_some_outputs, length_bias, own_family_bias, position_bias
from contrib.judges.results.estimates import mean_estimate, undefined_estimate
from contrib.judges.results.material import (
    UNDECIDED_CODE,
    AnswerSummary,
    JudgeAnswers,
    JudgeMaterial,
    is_nominal,
    load_answers,
    load_material,
)
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
from quorum.statistics.agreement import ratings_of_judgments
from quorum.statistics.crossed import CONFIDENCE, ITEM, share_of_rows
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

SAVINGS_DRAWS = 200  # random choices of judged items for each point of the savings curve
JUDGED_SHARES = (0.1, 0.25, 0.5)  # points of the savings curve: shares of the items that people judge


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
    digests, entries = {}, []  # the hashes of the judges' answers, and the entries of the result
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
    """Return the entry of a judge in the stored result.

    ``side`` is the bias towards the text shown first, ``length`` that towards longer texts, and ``own`` that towards
    systems of the judge's family. ``difference`` is the judge's mean answer minus people's.
    """
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
        "agreement": _agreement_with_people(answers, material)
        if has_labels or kind.marks is not None
        else None,
        "alpha": _alpha_with_people(answers, material),
        "difference": None if has_labels else _difference_from_people(answers, material),
        "side": position_bias(answers, material) if has_orders(kind) else None,
        "length": length_bias(answers, material),
        "own": own_family_bias(judge, answers, material),
        "test": _annotator_test(answers, material, epsilon),
        **_estimates_of_people(answers, material, seed),
    }


def _describe_people(material: JudgeMaterial) -> dict[str, Any]:
    """Return the numbers of people and their judgments, and how far people agree among themselves."""
    people = material.people
    counts = {"judgments": len(people.unit_index), "workers": len(np.unique(material.worker_ids))}
    if not (is_nominal(material.kind) or people.marked_answers):
        return counts  # people can agree without equal grades or points
    # Each person is compared with the others, so one answer is subtracted: the person's own, which equals itself.
    other_counts = people.answer_counts[people.unit_index] - 1.0
    equal_counts = _count_equal_answers(people, people, material.kind) - 1
    has_others = other_counts > 0
    shares = equal_counts / np.where(has_others, other_counts, np.nan)
    return counts | {"agreement": _mean_over_judgments(shares, material, has_others)}


def _count_equal_answers(people: AnswerSummary, counterparts: AnswerSummary, kind: Kind) -> Floats:
    """Return, for each of people's N answers, how many of ``counterparts`` to the same unit are equal to it: (N,).

    If answers mark errors, each counterpart counts by its similarity (F1) instead of 0 or 1.
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
        [sum(similarity(answer, reply) for reply in answers_of_unit[unit]) for unit, answer in rows],
        dtype=np.float64,
    )


def _mean_over_judgments(shares: Floats, material: JudgeMaterial, is_counted: Flags) -> dict[str, Any]:
    """Return the mean share over people's N judgments, with its interval, clustered by image and by person.

    Args:
        shares: (N,) the share of answers that are equal to each judgment.
        is_counted: (N,) whether the judgment counts.
    """
    columns: dict[str, Ints] = {ITEM: material.image_ids[material.people.unit_index]}
    if not material.is_anonymous:
        columns["rater"] = material.worker_ids
    # Shares of judgments that do not count can be nan, which would remain if it were multiplied by 0.
    interval = share_of_rows(np.nan_to_num(shares), columns, CONFIDENCE, keep=is_counted)
    mean = float(shares[is_counted].mean()) if is_counted.any() else math.nan
    return {"value": json_float(mean), **as_json(interval, "low", "high"), "n": int(is_counted.sum())}


def _agreement_with_people(answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any]:
    """Return the share of people's judgments that are equal to the judge's answers. For marks, it is the mean F1.

    A judge that chooses between texts answers in both orders. A judgment counts half if only one answer is equal to it.
    """
    answer_counts = answers.answer_counts[material.people.unit_index]
    divisors = np.where(answer_counts, answer_counts, np.nan)
    shares = _count_equal_answers(material.people, answers, material.kind) / divisors
    return _mean_over_judgments(shares, material, answer_counts > 0)


def _alpha_with_people(answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any]:
    """Return Krippendorff's alpha between people's label and the judge's label of each unit."""
    people, judge = material.people.label, answers.label
    units = np.flatnonzero(
        ~np.isnan(people) & ~np.isnan(judge) & (people != UNDECIDED_CODE) & (judge != UNDECIDED_CODE)
    )
    if not len(units):
        return undefined_estimate(0)
    # Two ratings of each unit: people's label by rater 0, and the judge's by rater 1.
    rated_units = np.concatenate([units, units])
    alpha = alpha_of_ratings(
        ratings_of_judgments(
            rated_units, np.repeat([0, 1], len(units)), np.concatenate([people[units], judge[units]])
        ),
        {ITEM: material.image_ids[rated_units]},
        "nominal" if is_nominal(material.kind) else material.kind.aggregation.level,
        seed=0,
        exchange=exchange_of(material.kind),
    )
    return {name: alpha[name] for name in ("value", "low", "high")} | {"n": len(units)}


def _difference_from_people(answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any]:
    units = np.flatnonzero(~np.isnan(answers.mean) & ~np.isnan(material.people.mean))
    return mean_estimate(answers.mean[units] - material.people.mean[units], material.image_ids[units])


def _annotator_test(answers: JudgeAnswers, material: JudgeMaterial, epsilon: float) -> dict[str, Any]:
    """Return the result of the alternative annotator test: fields of ``AlternativeAnnotatorResult``, and counts.

    The entry ``each`` has a row for each person, in the order of their ids, without a name.
    """
    if material.is_anonymous:
        return {"reason": "the people of this study are places in published totals, not persons"}
    judge_labels = answers.label[material.people.unit_index]
    has_label = ~np.isnan(judge_labels)
    unit_index = material.people.unit_index[has_label]
    test = alternative_annotator_test(
        unit_index,
        material.worker_ids[has_label],
        material.people.value[has_label],
        judge_labels[has_label],
        scoring=ACCURACY if is_nominal(material.kind) else RMSE,
        epsilon=epsilon,
        clusters={ITEM: material.image_ids[unit_index]},
    )
    figures = ("winning_rate", "advantage", "low", "high", "left_out", "all_units", "epsilon", "level")
    return {
        **as_json(test, *figures, "reason", "signature"),
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


def _estimates_of_people(answers: JudgeAnswers, material: JudgeMaterial, seed: int) -> dict[str, Any]:
    """Estimate people's answers to all units from the judge's answers, and how many judgments this saves.

    Estimates have fields of ``PredictionPoweredResult``. Savings are of the target with most units that people judged.
    """
    estimates = []
    curve_people = curve_judge = np.empty(0)  # mean answers to the units of that target
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
        figures = (
            *("value", "low", "high", "people", "people_low", "people_high", "judge", "power", "effective"),
            *("labelled", "unlabelled"),
        )
        stored_fields = as_json(estimate, *figures, "reason", "signature")
        estimates.append({"of": target.name, **stored_fields, "saved": json_float(estimate.saved)})
        if estimate.labelled > len(curve_people):
            is_judged = ~np.isnan(people_means)
            curve_people, curve_judge = people_means[is_judged], judge_means[is_judged]
    savings = _savings(curve_people, curve_judge, seed)
    return {"estimates": estimates, "savings": savings, "draws": SAVINGS_DRAWS}


def _savings(people_means: Floats, judge_means: Floats, seed: int) -> list[dict[str, Any]]:
    """Return the points of the savings curve, for different numbers of units that people judge.

    ``alone`` is the width without the judge, ``worth`` the number of units that people need for ``width`` without it.

    Args:
        people_means, judge_means: (N,) mean answers of people and of the judge to N units.
    """
    sizes = sizes_of_curve(len(people_means))
    if not sizes or not np.ptp(people_means) > 0:  # intervals have no width if all answers are equal
        return []
    curve = savings_curve(people_means, judge_means, sizes=sizes, draws=SAVINGS_DRAWS, seed=seed)
    return rows_as_json(
        people=curve.sizes,
        coverage=curve.coverage,
        width=curve.width,
        alone=curve.people_width,
        worth=curve.effective,
    )


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
    if not has_orders(material.kind):  # a unit shows a single text
        targets = [_Target(name, None, outputs[:, 0]) for name, outputs in systems]
        return [_Target("", None, all_units), *targets]
    targets = [_Target(name, outputs, has_some_outputs(outputs, material)) for name, outputs in systems]
    return targets or [_Target("", None, all_units)]
