"""Compare predictors of the answers to a study's units: baselines, metrics, judges that are no people, and models.

A predictor gives a share to each possible answer (label) to a unit. Its cost is the cross-entropy of people's answers
under these shares. Metrics and judges give numbers instead; a multinomial logit that is fitted to other units turns
these into shares. The lowest expected cost, called the floor, is the entropy of people's answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from common.amounts import json_float
from common.features import of_features
from contrib.disagreement.predictions import COST_IS_INFINITE, imported_predictions, read_predictions
from contrib.disagreement.wording import CONSTANT_BASELINE, UNIFORM_BASELINE
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import NO_PAIR, JudgmentTable, Units, WorkerRow
from evaluation.models import Analysis, MetricScore
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import kind_of
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.aggregation.pair_answers import FIRST, SECOND, side_of
from quorum.statistics.crossed import CONFIDENCE, ITEM, spread_of_mean
from quorum.statistics.disagreement import (
    SoftLabels,
    divergence,
    judge_probabilities,
    metric_probabilities,
)

FOLDS = 5  # parts of the items; metrics are fitted to all parts but the one that they predict
MIN_JUDGMENTS = 10  # judgments of a worker who is treated as a predictor
MAX_WORKERS = 200  # workers in the result
SIDE_SCORES = {FIRST: 0.5, SECOND: -0.5}  # scores of answers that choose a side; those of other answers are 0


@dataclass(frozen=True, slots=True, eq=False)
class LabelledUnits:
    """The U units with soft labels: those that somebody judged.

    Attributes:
        units: all units of the study.
        positions: (U,) indices in ``units`` of those with soft labels.
        images: (U,) codes of their images, from 0.
        soft: their soft labels.
    """

    units: Units
    positions: Ints
    images: Ints
    soft: SoftLabels

    @property
    def row_ids(self) -> Ints:
        """The (U,) row ids of the units."""
        return self.units.pk[self.positions]


def compare_predictors(
    study: Study, targets: LabelledUnits, predictions: Mapping[str, Path], seed: int
) -> list[dict[str, Any]]:
    """Return how well each predictor predicts people's answers, best first. ``predictions`` are files by model."""
    unit_count, label_count = targets.soft.shares.shape
    # Images are divided at random, so all units of an image are in the same part.
    image_count = int(targets.images.max()) + 1
    fold = np.random.default_rng(seed).permutation(image_count)[targets.images] % FOLDS
    equal_shares = np.full((unit_count, label_count), 1 / label_count)
    rows = [
        _predictor_row(UNIFORM_BASELINE, "baseline", equal_shares, np.arange(unit_count), targets),
        *_model_rows(study, targets, predictions),
    ]
    has_several_parts = not (fold == fold[0]).all()
    if has_several_parts:
        rows += _fitted_rows(study, targets, fold)
    return sorted(rows, key=_finite_or_infinite_cost)


def _finite_or_infinite_cost(predictor: Mapping[str, Any]) -> float:
    cost = predictor["cross_entropy"]["value"]
    return np.inf if cost is None else float(cost)


def _model_rows(
    study: Study, targets: LabelledUnits, predictions: Mapping[str, Path]
) -> list[dict[str, Any]]:
    """Return a row for each model whose predictions are in a file or were imported."""
    models_in_files = {
        name: read_predictions(path, targets.units, targets.positions, targets.soft)
        for name, path in predictions.items()
    }
    imported_models = imported_predictions(study, targets.row_ids)
    rows = []
    for name, distributions in (*models_in_files.items(), *imported_models.items()):
        predicted_units = np.flatnonzero(~np.isnan(distributions[:, 0]))
        shares = distributions[predicted_units]
        rows.append(_predictor_row(name, "model", shares, predicted_units, targets))
    return rows


def _fitted_rows(study: Study, targets: LabelledUnits, fold: Ints) -> list[dict[str, Any]]:
    """Return a row for each predictor that is fitted to other units than it predicts: a constant, metrics, and judges.

    Args:
        fold: (U,) numbers of the parts in which the units are. A predictor of a part is fitted to the other parts.
    """
    counts = targets.soft.counts
    unit_count, label_count = counts.shape
    # If all scores are equal, the fitted shares are those of the labels in the other parts.
    constant_shares = metric_probabilities(np.zeros(unit_count), counts, fold)
    rows = [_predictor_row(CONSTANT_BASELINE, "baseline", constant_shares, np.arange(unit_count), targets)]
    # With two labels, one for each candidate, equal scores give one half. Others are "no difference" and "neither".
    is_symmetric = KINDS[study.protocol].compares_pairs and label_count == 2
    scores_by_type = {
        "metric": _metric_scores(study, targets),
        "judge": _judge_means(study, targets),
    }
    for predictor_type, scores_by_name in scores_by_type.items():
        for name, scores in scores_by_name.items():
            scored_units = np.flatnonzero(~np.isnan(scores))
            if len(np.unique(fold[scored_units])) < 2:
                continue  # there is no other part to which it could be fitted
            shares = metric_probabilities(
                scores[scored_units], counts[scored_units], fold[scored_units], symmetric=is_symmetric
            )
            rows.append(_predictor_row(name, predictor_type, shares, scored_units, targets))
    return rows


def _judge_means(study: Study, targets: LabelledUnits) -> dict[str, Floats]:
    """Return the (U,) mean answers of each judge that is no person (contrib/judges), by name; nan without answers.

    With two candidates, a mean is the share of answers for the first, counting ties as half, minus 1/2.
    """
    two_sided = kind_of(study).two_sided
    answers_by_judge: dict[str, list[tuple[int, float]]] = {}
    for name, unit, value in chain.from_iterable(reader(study) for reader in of_features("other_answers")):
        answer = value or 0  # never None, since studies with soft labels ask for numbers
        score = SIDE_SCORES.get(side_of(int(answer)), 0.0) if two_sided else float(answer)
        answers_by_judge.setdefault(name, []).append((unit, score))
    index_by_unit = {pk: index for index, pk in enumerate(targets.row_ids.tolist())}
    unit_count = len(index_by_unit)
    means: dict[str, Floats] = {}
    for name, answers in sorted(answers_by_judge.items()):
        used_answers = [(index_by_unit[unit], score) for unit, score in answers if unit in index_by_unit]
        indices = np.array([index for index, _ in used_answers], dtype=np.int64)
        counts = np.bincount(indices, minlength=unit_count)
        totals = np.bincount(indices, weights=[score for _, score in used_answers], minlength=unit_count)
        means[name] = totals / np.where(counts, counts, np.nan)
    return means


def _metric_scores(study: Study, targets: LabelledUnits) -> dict[str, Floats]:
    """Return the (U,) scores of units by each metric in the newest evaluation, by name; nan without a score.

    The score of a pair is the difference of its candidates' scores.
    """
    evaluation = Analysis.objects.newest_first(study, Analysis.Kind.META_EVALUATION).values("pk")[:1]
    rows = MetricScore.objects.filter(analysis__in=evaluation)
    compares_pairs = KINDS[study.protocol].compares_pairs
    id_field = "pair_id" if compares_pairs else "unit_id"
    scored_ids = targets.units.pair[targets.positions] if compares_pairs else targets.row_ids
    scores: dict[str, Floats] = {}
    for metric in rows.order_by("metric").values_list("metric", flat=True).distinct():
        metric_rows = (
            rows.filter(metric=metric)
            .values_list(id_field, "first", "second")
            .iterator(loaders.ROWS_PER_BATCH)
        )
        # A caption has no second score.
        table = np.array([(pk, first - (second or 0.0)) for pk, first, second in metric_rows])
        indices = places_in(table[:, 0].astype(np.int64), scored_ids)
        scores[metric] = np.where((indices >= 0) & (scored_ids != NO_PAIR), table[indices, 1], np.nan)
    return scores


def _predictor_row(
    name: str, predictor_type: str, shares: Floats, indices: Ints, targets: LabelledUnits
) -> dict[str, Any]:
    """Return how well a predictor's (k, L) ``shares`` of labels fit the answers to the k units at ``indices``."""
    soft, images = targets.soft, targets.images[indices]
    divergences = divergence(soft.shares[indices], shares)
    return {
        "name": name,
        "what": predictor_type,
        "cross_entropy": _mean_with_interval(divergences.cross_entropy, images),
        "jensen_shannon": _mean_with_interval(divergences.jensen_shannon, images),
        "above_floor": json_float(float((divergences.cross_entropy - soft.entropy[indices]).mean())),
        "n": len(indices),
    }


def _mean_with_interval(values: Floats, images: Ints) -> dict[str, Any]:
    """Return the mean of (k,) values, with an interval for which the values of an image are a cluster."""
    if np.isinf(values).any():
        return {"value": None, "low": None, "high": None, "n": len(values), "reason": COST_IS_INFINITE}
    spread, clusters = spread_of_mean(values, {ITEM: images})
    mean, half_width = float(values.mean()), spread.half_width(CONFIDENCE)
    return {
        "value": mean,
        "low": json_float(mean - half_width),
        "high": json_float(mean + half_width),
        "n": len(values),
        "clusters": dict(clusters.counts),
        **({"reason": clusters.reason} if clusters.reason else {}),
    }


def workers_as_predictors(
    judgments: JudgmentTable, soft: SoftLabels, workers: list[WorkerRow]
) -> list[dict[str, Any]]:
    """Return how well each worker's answers predict the answers of the others to the same units, best first."""
    is_counted = judgments.is_counted
    unit = places_in(soft.units, judgments.unit[is_counted])
    label = places_in(np.asarray(soft.labels, dtype=np.int64), judgments.value[is_counted].astype(np.int64))
    names = {worker.pk: worker.name for worker in workers}
    worker = judgments.worker[is_counted]
    order = np.argsort(worker, kind="stable")
    rows = []
    # A new worker begins where the sorted column of workers changes.
    starts = np.flatnonzero(np.diff(worker[order])) + 1
    for indices in np.split(order, starts):  # the judgments of one worker
        other_counts = soft.counts[unit[indices]].astype(np.float64)
        other_counts[np.arange(len(indices)), label[indices]] -= 1  # without the worker's own answers
        has_others = other_counts.sum(axis=1) > 0
        if has_others.sum() < MIN_JUDGMENTS:
            continue
        other_counts = other_counts[has_others]
        # A label predicts the shares of the others' answers to the units to which the worker gave this label.
        divergences = divergence(
            other_counts / other_counts.sum(axis=1, keepdims=True),
            judge_probabilities(label[indices][has_others], other_counts),
        )
        rows.append(
            {
                "worker": names[int(worker[indices[0]])],
                "cross_entropy": divergences.mean_cross_entropy,
                "jensen_shannon": divergences.mean_jensen_shannon,
                "n": int(has_others.sum()),
            }
        )
    rows.sort(key=lambda row: (row["cross_entropy"], row["worker"]))
    return rows[:MAX_WORKERS]
