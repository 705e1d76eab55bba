"""Analyse a study's disagreement: soft labels, predictors of them, and groups of raters.

A predictor is a metric, a judge, an imported model or a baseline. It predicts the shares of the answers to each unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from django.utils import translation

from annotation.models import Demographics, Worker
from common.amounts import as_json, json_float
from common.features import of_features
from contrib.disagreement.predictions import COST_IS_INFINITE, imported_predictions, read_predictions
from contrib.disagreement.soft_labels import soft_labels_of
from contrib.disagreement.wording import CONSTANT_BASELINE, UNIFORM_BASELINE, describe_disagreement
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import NO_PAIR, JudgmentTable, Units, WorkerRow, texts_of_column
from evaluation.models import Analysis, MetricScore
from evaluation.presentation.content import rows_as_json
from evaluation.results.agreement import ANONYMOUS_REASON
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.aggregation.pair_answers import FIRST, MUCH, SECOND
from quorum.statistics.crossed import CONFIDENCE, ITEM, spread_of_mean
from quorum.statistics.disagreement import (
    SoftLabels,
    divergence,
    judge_probabilities,
    known_groups,
    metric_probabilities,
    rater_groups,
)
from quorum.statistics.inputs import encode

FOLDS = 5  # parts of the items; metrics are fitted to all parts but the one that they predict
MIN_RATERS = 5  # raters in a group; in a smaller group, people could be recognised
MIN_JUDGMENTS = 10  # judgments of a worker who is treated as a predictor
MAX_JUDGES = 200  # workers in the result
SIDE_SCORES = {FIRST: 0.5, SECOND: -0.5}  # scores of answers that choose a side; those of other answers are 0
MAX_DISPUTED_ITEMS = 8
# The test of groups draws BOOTSTRAPS samples, or FEW_BOOTSTRAPS for MANY_JUDGMENTS or more.
BOOTSTRAPS, FEW_BOOTSTRAPS, MANY_JUDGMENTS = 99, 39, 20_000
DEMOGRAPHIC_PREFIX = "crowd: "  # stands before the names of demographics
TOO_FEW_RATERS = "too few participants ({n}); expected {fewest} or more"
NO_SHARED_UNIT = "no item has two judgments"


def compute_disagreement(
    *,
    study: Study,
    bootstraps: int | None = None,
    predictions: Mapping[str, Path] | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Return the results that docs/disagreement.md describes.

    Args:
        bootstraps: number of bootstrap samples for the test of groups; 0 omits the test.
        predictions: for each model, JSON lines with ``unit`` and ``distribution``, as exported.

    Raises:
        EvaluationError: there are no soft labels.
    """
    progress(0.0, "reading judgments")
    table = loaders.load_judgments(study)
    soft = soft_labels_of(study, table)
    units = Units.from_rows(loaders.judged_units_of(study))
    positions = places_in(units.pk, soft.units)
    images = encode(loaders.clusters_of_units(study, units)[positions], "images")[1]
    workers = loaders.worker_rows(study)
    seed = design_of(study).seed
    anonymous = any(worker.anonymous for worker in workers)
    progress(0.1, "comparing metrics with the soft labels")
    result: dict[str, Any] = {
        "labels": soft.labels.tolist(),
        "units": len(soft.units),
        "judgments": int(soft.judgments.sum()),
        "entropy": {
            "floor": json_float(soft.floor),
            "uncorrected": json_float(float(_entropies(soft.shares).mean())),
            "most": float(np.log(len(soft.labels))),
            **as_json(soft, "correction", "concentration", "signature"),
        },
        "disputed": _disputed_items(units, positions, soft),
        "predictors": _predictors(study, units, positions, images, soft, seed, predictions or {}),
        "per_worker": {"available": not anonymous, "reason": ANONYMOUS_REASON if anonymous else ""},
    }
    if not anonymous:
        progress(0.3, "comparing people with each other")
        result["judges"] = _workers_as_predictors(table, soft, workers)
        progress(0.4, "looking for groups of participants")
        result["groups"] = _compare_groups(table, workers, soft, bootstraps, seed)
        result["known"] = _compare_known_groups(study, table, workers, seed)
    with translation.override("en"):  # in English, since the result is stored for readers of any language
        result["in_words"] = describe_disagreement(result)
    progress(1.0, "done")
    return result


def _entropies(shares: Floats) -> Floats:
    return np.asarray(-(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1))


def _disputed_items(units: Units, positions: Ints, soft: SoftLabels) -> list[dict[str, Any]]:
    """Return the units with the highest entropy of answers, highest first.

    Args:
        positions: (U,) indices of the U units of ``soft`` in ``units``.
    """
    judged_twice = np.flatnonzero(soft.judgments > 1)
    order = np.lexsort((positions[judged_twice], -soft.entropy[judged_twice]))  # by entropy, then by position
    disputed = judged_twice[order][:MAX_DISPUTED_ITEMS]
    return rows_as_json(
        unit=texts_of_column(units.key.take(positions[disputed])),
        n=soft.judgments[disputed],
        shares=soft.shares[disputed],
        entropy=soft.entropy[disputed],
    )


def _predictors(
    study: Study,
    units: Units,
    positions: Ints,
    images: Ints,
    soft: SoftLabels,
    seed: int,
    predictions: Mapping[str, Path],
) -> list[dict[str, Any]]:
    """Return how well baselines, metrics, judges and models predict people's answers, best first.

    Args:
        positions: (U,) indices of the U units of ``soft`` in ``units``.
        images: (U,) codes of these units' images.
        predictions: files of models' predictions, by name.
    """
    unit_count, label_count = soft.shares.shape
    generator = np.random.default_rng(seed)
    # All units of an image are in the same part.
    fold = generator.permutation(int(images.max()) + 1)[images] % FOLDS
    all_units, equal_shares = np.arange(unit_count), np.full((unit_count, label_count), 1 / label_count)
    rows = [_predictor_row(UNIFORM_BASELINE, "baseline", equal_shares, all_units, images, soft)]
    models_in_files = {
        name: read_predictions(path, units, positions, soft) for name, path in predictions.items()
    }
    imported_models = imported_predictions(study, units.pk[positions])
    for name, distributions in (*models_in_files.items(), *imported_models.items()):
        predicted_units = np.flatnonzero(~np.isnan(distributions[:, 0]))
        shares = distributions[predicted_units]
        rows.append(_predictor_row(name, "model", shares, predicted_units, images, soft))
    has_several_parts = not (fold == fold[0]).all()
    if has_several_parts:
        constant_shares = metric_probabilities(np.zeros(unit_count), soft.counts, fold)
        rows.append(_predictor_row(CONSTANT_BASELINE, "baseline", constant_shares, all_units, images, soft))
        # If "no difference" or "neither" are possible, exchanging the candidates changes the meaning of the labels.
        symmetric = KINDS[study.protocol].compares_pairs and label_count == 2
        scores_by_type = {
            "metric": _metric_scores(study, units, positions),
            "judge": _judge_means(study, units, positions),
        }
        for predictor_type, scores_by_name in scores_by_type.items():
            for name, scores in scores_by_name.items():
                scored_units = np.flatnonzero(~np.isnan(scores))
                if len(np.unique(fold[scored_units])) < 2:
                    continue
                shares = metric_probabilities(
                    scores[scored_units], soft.counts[scored_units], fold[scored_units], symmetric=symmetric
                )
                rows.append(_predictor_row(name, predictor_type, shares, scored_units, images, soft))
    # A cross-entropy of None is infinite.
    return sorted(rows, key=lambda row: np.inf if (cost := row["cross_entropy"]["value"]) is None else cost)


def _judge_means(study: Study, units: Units, positions: Ints) -> dict[str, Floats]:
    """Return the (U,) mean answers of each judge that is no person, by name; nan without answers.

    With two candidates, it is the share of answers for the first, counting ties as half, minus 1/2.
    """
    two_sided = kind_of(study).two_sided
    answers_by_judge: dict[str, list[tuple[int, float]]] = {}
    for name, unit, value in chain.from_iterable(read(study) for read in of_features("other_answers")):
        answer = value or 0
        # The last digit of an answer to a pair is the side.
        score = SIDE_SCORES.get(int(answer) % MUCH, 0.0) if two_sided else float(answer)
        answers_by_judge.setdefault(name, []).append((unit, score))
    index_by_unit = {pk: index for index, pk in enumerate(units.pk[positions].tolist())}
    means: dict[str, Floats] = {}
    for name, answers in sorted(answers_by_judge.items()):
        used_answers = [(index_by_unit[unit], score) for unit, score in answers if unit in index_by_unit]
        indices = np.array([index for index, _ in used_answers], dtype=np.int64)
        counts = np.bincount(indices, minlength=len(positions))
        totals = np.bincount(indices, weights=[score for _, score in used_answers], minlength=len(positions))
        means[name] = totals / np.where(counts, counts, np.nan)
    return means


def _metric_scores(study: Study, units: Units, positions: Ints) -> dict[str, Floats]:
    """Return the (U,) scores of units by each metric in the newest evaluation, by name; nan without a score.

    The score of a pair is the difference of its candidates' scores.
    """
    newest = Analysis.objects.newest_first(study, Analysis.Kind.META_EVALUATION).values("pk")[:1]
    rows = MetricScore.objects.filter(analysis__in=newest)
    compares_pairs = KINDS[study.protocol].compares_pairs
    id_field = "pair_id" if compares_pairs else "unit_id"
    scored_ids = (units.pair if compares_pairs else units.pk)[positions]
    scores: dict[str, Floats] = {}
    for metric in rows.order_by("metric").values_list("metric", flat=True).distinct():
        metric_rows = (
            rows.filter(metric=metric)
            .values_list(id_field, "first", "second")
            .iterator(loaders.ROWS_PER_BATCH)
        )
        table = np.array([(pk, first - (second or 0.0)) for pk, first, second in metric_rows])
        indices = places_in(table[:, 0].astype(np.int64), scored_ids)
        scores[metric] = np.where((indices >= 0) & (scored_ids != NO_PAIR), table[indices, 1], np.nan)
    return scores


def _predictor_row(
    name: str, predictor_type: str, predicted: Floats, indices: Ints, images: Ints, soft: SoftLabels
) -> dict[str, Any]:
    """Return how well (k, L) ``predicted`` shares of L labels fit the answers to the k units at ``indices``."""
    divergences = divergence(soft.shares[indices], predicted)
    floor = soft.entropy[indices]
    return {
        "name": name,
        "what": predictor_type,
        "cross_entropy": _mean_with_interval(divergences.cross_entropy, images[indices]),
        "jensen_shannon": _mean_with_interval(divergences.jensen_shannon, images[indices]),
        "above_floor": json_float(float((divergences.cross_entropy - floor).mean())),
        "n": len(indices),
    }


def _mean_with_interval(values: Floats, images: Ints) -> dict[str, Any]:
    """Return the mean of (k,) values, with an interval that regards the values of an image as a cluster."""
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


def _workers_as_predictors(
    table: JudgmentTable, soft: SoftLabels, workers: list[WorkerRow]
) -> list[dict[str, Any]]:
    """Return how well each worker's answers predict the answers of the others to the same units, best first."""
    is_counted = table.is_counted
    unit = places_in(soft.units, table.unit[is_counted])
    label = places_in(np.asarray(soft.labels, dtype=np.int64), table.value[is_counted].astype(np.int64))
    names = {worker.pk: worker.name for worker in workers}
    worker = table.worker[is_counted]
    order = np.argsort(worker, kind="stable")
    rows = []
    # The judgments of one worker after the other.
    for indices in np.split(order, np.flatnonzero(np.diff(worker[order])) + 1):
        other_counts = soft.counts[unit[indices]].astype(np.float64)
        other_counts[np.arange(len(indices)), label[indices]] -= 1  # without the worker's own answers
        has_others = other_counts.sum(axis=1) > 0
        if has_others.sum() < MIN_JUDGMENTS:
            continue
        other_counts = other_counts[has_others]
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
    return rows[:MAX_JUDGES]


def _compare_groups(
    table: JudgmentTable, workers: list[WorkerRow], soft: SoftLabels, bootstraps: int | None, seed: int
) -> dict[str, Any]:
    """Compare a model of two groups of raters with a model of a single group.

    If there are too few raters, the result says so.
    """
    is_counted = table.is_counted
    rater_count = len(np.unique(table.worker[is_counted]))
    if bootstraps == 0:
        return {"reason": "the test was left out"}
    if rater_count < 2 * MIN_RATERS:
        return {"reason": TOO_FEW_RATERS.format(n=rater_count, fewest=2 * MIN_RATERS)}
    if soft.judgments.max() < 2:
        return {"reason": NO_SHARED_UNIT}
    if bootstraps is None:
        bootstraps = BOOTSTRAPS if is_counted.sum() < MANY_JUDGMENTS else FEW_BOOTSTRAPS
    fit = rater_groups(
        table.unit[is_counted],
        table.worker[is_counted],
        table.value[is_counted],
        labels=soft.labels.tolist(),
        bootstraps=bootstraps,
        seed=seed,
    )
    names = {worker.pk: worker.name for worker in workers}
    groups = fit.membership.argmax(axis=1)
    return {
        "reason": "",
        **as_json(fit, "p", "gain", "bootstraps", "between"),
        "groups": rows_as_json(
            raters=np.bincount(groups, minlength=2),
            share=fit.shares,
            accuracy=fit.accuracy,
            within=fit.within,
            confusion=fit.confusion,
        ),
        "members": sorted(
            (
                {"worker": names[pk], "group": int(group) + 1, "probability": float(probabilities[group])}
                for pk, group, probabilities in zip(
                    fit.workers.tolist(), groups.tolist(), fit.membership, strict=True
                )
            ),
            key=lambda row: (row["group"], row["worker"]),
        ),
        **as_json(fit, "converged", "note", "signature"),
    }


def _compare_known_groups(
    study: Study, table: JudgmentTable, workers: list[WorkerRow], seed: int
) -> list[dict[str, Any]]:
    """Return, for each attribute of raters, whether raters agree more within its groups than between them."""
    is_counted = table.is_counted
    unit, worker, value = table.unit[is_counted], table.worker[is_counted], table.value[is_counted]
    rows = []
    for attribute, group_by_worker in _groups_by_attribute(study, workers).items():
        group_sizes = Counter(
            group_by_worker[pk] for pk in np.unique(worker).tolist() if group_by_worker.get(pk)
        )
        group_if_large = {pk: name for pk, name in group_by_worker.items() if group_sizes[name] >= MIN_RATERS}
        in_large_group = np.isin(worker, list(group_if_large))
        if len(set(group_if_large.values())) < 2:
            continue
        test = known_groups(
            unit[in_large_group],
            worker[in_large_group],
            value[in_large_group],
            [group_if_large[pk] for pk in worker[in_large_group].tolist()],
            seed=seed,
        )
        rows.append(
            {
                "by": attribute,
                "groups": rows_as_json(name=test.groups, raters=test.raters, within=test.within),
                **as_json(test, "overall", "between", "p"),
                "left_out": len(np.unique(worker[~in_large_group])),
                **as_json(test, "permutations", "reason", "signature"),
            }
        )
    return rows


def _groups_by_attribute(study: Study, workers: list[WorkerRow]) -> dict[str, dict[int, str]]:
    """Return the group of each worker, by attribute: country, source, and the crowd's data (`DEMOGRAPHIC_PREFIX`)."""
    worker_rows = Worker.objects.filter(pk__in=[worker.pk for worker in workers])
    groups: dict[str, dict[int, str]] = {"country": {}, "source": {}}
    for pk, country, source, platform in worker_rows.values_list("pk", "country", "source", "platform"):
        groups["country"][pk] = country
        groups["source"][pk] = platform or source
    for pk, answers in Demographics.objects.filter(study=study).values_list("worker_id", "answers"):
        for name, answer in answers.items():
            groups.setdefault(DEMOGRAPHIC_PREFIX + name, {})[pk] = str(answer)
    return groups
