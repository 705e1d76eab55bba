"""Analyse a study's disagreement: soft labels, predictors of them, and groups of raters.

Predictors are metrics, judges, single people, and distributions of answers that a model predicted, read from a
file.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from rest_framework import serializers

from annotation.models import Demographics, Worker
from common.amounts import as_json, coefficient, json_float, percent, with_noun
from common.errors import DataConflict
from common.features import of_features
from common.incoming.json_documents import load_json
from common.parameters import FileText, Parameters
from evaluation.data.export.formats.soft_labels import has_soft_labels
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import (
    MOST_VALUES,
    NO_PAIR,
    JudgmentTable,
    Units,
    WorkerRow,
    texts_of_column,
)
from evaluation.errors import EvaluationError
from evaluation.models import Analysis, MetricScore, Prediction
from evaluation.presentation.content import rows_as_json
from evaluation.results.agreement import ANONYMOUS
from judgments.access.rights import Person, Right, has_right
from judgments.access.study_log import note_event
from judgments.cached_figures import FiguresPending, cached_figures
from judgments.figures import Figures, add_figures
from judgments.importers.textio import read_lines
from judgments.kinds import KINDS
from judgments.models import CachedFigures, Study, Unit
from judgments.operations import Outcome, operation, row_of
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
    soft_labels,
)
from quorum.statistics.inputs import StatisticsError, encode

SUM_TOLERANCE = 2e-3  # tolerated error of a sum of shares with three digits
INFINITE = "gives 0 to what somebody answered; expected more, as its cost is infinite."
COST_IS_INFINITE = gettext_noop(
    "the prediction gives probability 0 to an answer that was given, so the cross-entropy is infinite"
)
FOLDS = 5
MIN_RATERS = 5  # raters in a group; in a smaller group, people could be recognised
MIN_JUDGMENTS = 10  # judgments of a worker who is treated as a predictor
MAX_JUDGES = 200
SIDE_SCORES = {FIRST: 0.5, SECOND: -0.5}
MAX_DISPUTED_ITEMS = 8
BOOTSTRAPS = 99
FEW_BOOTSTRAPS = 39
MANY_JUDGMENTS = 20_000  # number of judgments from which on fewer samples are drawn
LEVEL = 0.05
DEMOGRAPHIC_PREFIX = "crowd: "  # stands before the names of demographics
EQUALLY, ALWAYS = "equally likely", "same for all"
TOO_FEW_RATERS = "there are {n} raters, expected {fewest} or more"
NO_SHARED_UNIT = "no unit has two judgments"


def check_soft_labels(study: Study) -> None:
    """Raise EvaluationError unless the study's answers are one of a few labels."""
    if not has_soft_labels(study):
        raise EvaluationError(
            _(
                "Study %(slug)r has no soft labels: answers of protocol %(protocol)s can have too "
                "many values; expected at most %(most)s."
            )
            % {"slug": study.slug, "protocol": study.protocol, "most": MOST_VALUES}
        )


def read_predictions(path: Path, units: Units, positions: Ints, soft: SoftLabels) -> Floats:
    """Return the predicted shares of L labels for U units: (U, L); nan for units that the file leaves out.

    Raises:
        ImportProblem: the file cannot be read.
        EvaluationError: a line is invalid.
    """
    keys = units.key.to_pylist()
    judged = {keys[position]: number for number, position in enumerate(positions.tolist())}
    predicted = np.full(soft.shares.shape, np.nan)
    lines = (line for _, line in read_lines(path, newline=""))
    for where, unit, shares in read_distributions(lines, f"{path}, line ", set(keys), soft.labels.tolist()):
        if unit not in judged:
            continue  # no answer to this unit is used
        if (shares[soft.shares[judged[unit]] > 0] == 0).any():
            raise EvaluationError(f"{where} {INFINITE}")
        predicted[judged[unit]] = shares
    if np.isnan(predicted).all():
        raise EvaluationError(f"{path} predicts no judged unit of the study.")
    return predicted


def read_distributions(
    lines: Iterable[str], source: str, units: set[str], values: Sequence[float]
) -> Iterator[tuple[str, str, Floats]]:
    labels = [f"{value:g}" for value in values]
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{source}{number}"
        try:
            row = load_json(line)
            unit = row["unit"]
            by_label = {str(label): float(share) for label, share in row["distribution"].items()}
            known = unit in units
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
            raise EvaluationError(
                f'{where} cannot be read; expected such as {{"unit": "...", "distribution": {{"1": 0.3, "2": 0.7}}}}.'
            ) from None
        if not known:
            raise EvaluationError(f"{where} names unit {unit!r:.60}, which the study does not have.")
        if wrong := set(by_label) - set(labels):
            raise EvaluationError(f"{where} has answer {min(wrong)!r:.60}; expected {', '.join(labels)}.")
        shares = np.array([by_label.get(label, 0.0) for label in labels])
        total = shares.sum()
        # the comparison is also false for nan
        if not ((shares >= 0).all() and abs(total - 1) <= SUM_TOLERANCE):
            raise EvaluationError(f"{where} adds up to {total:g}; expected shares from 0 whose sum is 1.")
        if unit in seen:
            raise EvaluationError(f"{where} tells unit {unit!r} again.")
        seen.add(unit)
        yield where, unit, shares / total


def store_predictions(*, study: Study, name: str, lines: Iterable[str], by: User | None = None) -> str:
    """Store the distributions in JSON lines, all or none; return a sentence about what was stored.

    Storing the same lines again changes nothing. The lines include their line ends. Every answer must have a share
    above 0, since somebody may give it later.

    Raises:
        EvaluationError: a line is invalid.
        DataConflict: other distributions are stored under the name.
    """
    digest = hashlib.sha256()

    def counted_in() -> Iterator[str]:
        for line in lines:
            digest.update(line.replace("\r\n", "\n").encode())  # forms send \r\n
            yield line

    units = dict(Unit.objects.filter(study=study, control=False).values_list("key", "pk"))
    labels = list(kind_of(study).outcomes)
    numbers, rows = [], []
    for where, unit, shares in read_distributions(counted_in(), "Line ", set(units), labels):
        if not shares.all():
            raise EvaluationError(
                f"{where} gives 0 to an answer; expected more, as its cost would be infinite."
            )
        numbers.append(units[unit])
        rows.append(shares)
    if not rows:
        raise EvaluationError("The file predicts no unit; expected JSON lines with unit and distribution.")
    sha256 = digest.hexdigest()
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        stored = Prediction.objects.filter(study=study, name=name).first()
        if stored is not None and stored.sha256 == sha256:
            return f"{name}: the same predictions were there already; nothing changed."
        if stored is not None:
            raise DataConflict(
                f"This study has other predictions of {name!r}; expected another name, or remove them first."
            )
        Prediction.objects.create(
            study=study,
            name=name,
            units=np.array(numbers, dtype="<i8").tobytes(),
            shares=np.array(rows, dtype="<f8").tobytes(),
            known=len(rows),
            sha256=sha256,
            imported_by=by,
        )
        sentence = f"Predictions of {name!r} were imported: {with_noun(len(rows), 'unit')}."
        note_event(study=study, what="predictions-imported", sentence=sentence, by=by)
    return sentence


def imported_predictions(study: Study, units: Ints) -> dict[str, Floats]:
    """Return each model's predicted shares of L labels for U units, by name: (U, L); nan without a prediction.

    Args:
        units: (U,) row ids.
    """
    predictions = {}
    for prediction in Prediction.objects.filter(study=study).order_by("name"):
        at = places_in(np.frombuffer(prediction.units, dtype="<i8"), units)
        shares = np.frombuffer(prediction.shares, dtype="<f8").reshape(prediction.known, -1)
        if (at >= 0).any():
            predictions[prediction.name] = np.where((at >= 0)[:, np.newaxis], shares[at], np.nan)
    return predictions


class PredictionsName(Parameters):
    name = serializers.CharField(
        max_length=80,
        label="Name of the model",
        help_text="What it is called in tables, such as soft-net-1.",
    )


class ImportPredictionsRequest(PredictionsName):
    """The distributions of people's answers that a model predicts."""

    predictions = FileText(
        label="Distributions",
        help_text="JSON lines with unit and distribution, as the export soft-labels has them.",
    )


@operation("import-predictions", "Import predicted distributions", parameters=ImportPredictionsRequest)
def import_predictions(*, study: Study, by: User | None, name: str, predictions: str) -> Outcome:
    """Store the distributions that a model predicts, to compare them with people's answers.

    Repeating changes nothing.
    """
    check_soft_labels(study)
    lines = io.StringIO(predictions, newline="")
    return Outcome(store_predictions(study=study, name=name, lines=lines, by=by))


@operation("remove-predictions", "Remove predicted distributions", row="prediction")
def remove_predictions(*, study: Study, by: User | None, prediction: str) -> Outcome:
    """Remove the distributions of a model."""
    row = row_of(Prediction.objects.filter(study=study), prediction)
    sentence = f"Predictions of {row.name!r} were removed."
    note_event(study=study, what="predictions-removed", sentence=sentence, by=by)
    row.delete()
    return Outcome(sentence)


def soft_labels_of(study: Study, table: JudgmentTable) -> SoftLabels:
    """Return people's used answers to each unit. Raise EvaluationError as ``check_soft_labels`` does."""
    check_soft_labels(study)
    counted = table.counted
    if not counted.any():
        raise EvaluationError(
            _("Study %(slug)r has no judgments that are used in results; expected at least one.")
            % {"slug": study.slug}
        )
    return soft_labels(table.unit[counted], table.value[counted], labels=kind_of(study).outcomes)


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
    units = Units.of(loaders.unit_rows(study))
    positions = places_in(units.pk, soft.units)
    images = encode(loaders.clusters_of_units(study, units)[positions], "images")[1]
    workers = loaders.worker_rows(study)
    seed = design_of(study).seed
    anonymous = any(worker.anonymous for worker in workers)
    progress(0.1, "holding metrics against the soft labels")
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
        "per_worker": {"available": not anonymous, "reason": ANONYMOUS if anonymous else ""},
    }
    if not anonymous:
        progress(0.3, "holding people against each other")
        result["judges"] = _judges(table, soft, workers)
        progress(0.4, "looking for groups of raters")
        result["groups"] = _compare_groups(table, workers, soft, bootstraps, seed)
        result["known"] = _compare_known_groups(study, table, workers, seed)
    with translation.override("en"):  # in English, since the result is stored for readers of any language
        result["in_words"] = describe_disagreement(result)
    progress(1.0, "done")
    return result


def _entropies(shares: Floats) -> Floats:
    return np.asarray(-(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1))


def _disputed_items(units: Units, positions: Ints, soft: SoftLabels) -> list[dict[str, Any]]:
    several = np.flatnonzero(soft.judgments > 1)
    first = several[np.lexsort((positions[several], -soft.entropy[several]))][:MAX_DISPUTED_ITEMS]
    return rows_as_json(
        unit=texts_of_column(units.key.take(positions[first])),
        n=soft.judgments[first],
        shares=soft.shares[first],
        entropy=soft.entropy[first],
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
    """Return how well chance, overall shares, metrics, judges and models predict people's answers, best first."""
    size, width = soft.shares.shape
    generator = np.random.default_rng(seed)
    fold = generator.permutation(int(images.max()) + 1)[images] % FOLDS
    rows = [
        _predictor_row(EQUALLY, "baseline", np.full((size, width), 1 / width), np.arange(size), images, soft)
    ]
    read = [(name, read_predictions(path, units, positions, soft)) for name, path in predictions.items()]
    for name, distributions in (*read, *imported_predictions(study, units.pk[positions]).items()):
        here = np.flatnonzero(~np.isnan(distributions[:, 0]))
        rows.append(_predictor_row(name, "model", distributions[here], here, images, soft))
    if not (fold == fold[0]).all():
        usual = metric_probabilities(np.zeros(size), soft.counts, fold)
        rows.append(_predictor_row(ALWAYS, "baseline", usual, np.arange(size), images, soft))
        # If "no difference" or "neither" are possible, exchanging the candidates changes the meaning of the labels.
        symmetric = KINDS[study.protocol].compares_pairs and width == 2
        scored = [("metric", *entry) for entry in _metric_scores(study, units, positions).items()]
        scored += [("judge", *entry) for entry in _judge_means(study, units, positions).items()]
        for what, name, scores in scored:
            here = np.flatnonzero(~np.isnan(scores))
            if len(np.unique(fold[here])) < 2:
                continue
            predicted = metric_probabilities(scores[here], soft.counts[here], fold[here], symmetric=symmetric)
            rows.append(_predictor_row(name, what, predicted, here, images, soft))
    # A cost of null stands for infinity.
    return sorted(rows, key=lambda row: np.inf if (cost := row["cross_entropy"]["value"]) is None else cost)


def _judge_means(study: Study, units: Units, positions: Ints) -> dict[str, Floats]:
    """Return the mean answers of each judge, by name: (U,) for U units; nan without answers.

    With two candidates, it is the share of answers for the first, counting ties as half, minus 1/2.
    """
    two_sided = kind_of(study).two_sided
    by_judge: dict[str, list[tuple[int, float]]] = {}
    for name, unit, value in chain.from_iterable(read(study) for read in of_features("other_answers")):
        number = value or 0
        answer = SIDE_SCORES.get(int(number) % MUCH, 0.0) if two_sided else float(number)
        by_judge.setdefault(name, []).append((unit, answer))
    number_of = {pk: number for number, pk in enumerate(units.pk[positions].tolist())}
    means: dict[str, Floats] = {}
    for name, pairs in sorted(by_judge.items()):
        known = [(number_of[unit], value) for unit, value in pairs if unit in number_of]
        at = np.array([number for number, _ in known], dtype=np.int64)
        n = np.bincount(at, minlength=len(positions))
        total = np.bincount(at, weights=[value for _, value in known], minlength=len(positions))
        means[name] = total / np.where(n, n, np.nan)
    return means


def _metric_scores(study: Study, units: Units, positions: Ints) -> dict[str, Floats]:
    """Return the scores of each metric in the newest evaluation, by name: (U,) for U units; nan without a score.

    The score of a pair is the difference of its candidates' scores.
    """
    newest = Analysis.objects.newest_first(study, Analysis.Kind.META_EVALUATION).values("pk")[:1]
    rows = MetricScore.objects.filter(analysis__in=newest)
    by_pair = KINDS[study.protocol].compares_pairs
    key = "pair_id" if by_pair else "unit_id"
    wanted = (units.pair if by_pair else units.pk)[positions]
    scores: dict[str, Floats] = {}
    for metric in rows.order_by("metric").values_list("metric", flat=True).distinct():
        of_metric = (
            rows.filter(metric=metric).values_list(key, "first", "second").iterator(loaders.ROWS_AT_ONCE)
        )
        table = np.array([(pk, first - (second or 0.0)) for pk, first, second in of_metric])
        at = places_in(table[:, 0].astype(np.int64), wanted)
        scores[metric] = np.where((at >= 0) & (wanted != NO_PAIR), table[at, 1], np.nan)
    return scores


def _predictor_row(
    name: str, what: str, predicted: Floats, here: Ints, images: Ints, soft: SoftLabels
) -> dict[str, Any]:
    divergences = divergence(soft.shares[here], predicted)
    floor = soft.entropy[here]
    return {
        "name": name,
        "what": what,
        "cross_entropy": _mean(divergences.cross_entropy, images[here]),
        "jensen_shannon": _mean(divergences.jensen_shannon, images[here]),
        "above_floor": json_float(float((divergences.cross_entropy - floor).mean())),
        "n": len(here),
    }


def _mean(values: Floats, images: Ints) -> dict[str, Any]:
    if np.isinf(values).any():
        return {"value": None, "low": None, "high": None, "n": len(values), "reason": COST_IS_INFINITE}
    spread, clusters = spread_of_mean(values, {ITEM: images})
    mean, half = float(values.mean()), spread.half(CONFIDENCE)
    return {
        "value": mean,
        "low": json_float(mean - half),
        "high": json_float(mean + half),
        "n": len(values),
        "clusters": dict(clusters.counts),
        **({"reason": clusters.reason} if clusters.reason else {}),
    }


def _judges(table: JudgmentTable, soft: SoftLabels, workers: list[WorkerRow]) -> list[dict[str, Any]]:
    counted = table.counted
    unit = places_in(soft.units, table.unit[counted])
    value = places_in(np.asarray(soft.labels, dtype=np.int64), table.value[counted].astype(np.int64))
    names = {worker.pk: worker.name for worker in workers}
    by_worker = table.worker[counted]
    order = np.argsort(by_worker, kind="stable")
    rows = []
    for indices in np.split(order, np.flatnonzero(np.diff(by_worker[order])) + 1):
        others = soft.counts[unit[indices]].astype(np.float64)
        others[np.arange(len(indices)), value[indices]] -= 1
        known = others.sum(axis=1) > 0
        if known.sum() < MIN_JUDGMENTS:
            continue
        others = others[known]
        divergences = divergence(
            others / others.sum(axis=1, keepdims=True), judge_probabilities(value[indices][known], others)
        )
        rows.append(
            {
                "worker": names[int(by_worker[indices[0]])],
                "cross_entropy": divergences.mean_cross_entropy,
                "jensen_shannon": divergences.mean_jensen_shannon,
                "n": int(known.sum()),
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
    counted = table.counted
    raters = len(np.unique(table.worker[counted]))
    if bootstraps == 0:
        return {"reason": "the test was left out"}
    if raters < 2 * MIN_RATERS:
        return {"reason": TOO_FEW_RATERS.format(n=raters, fewest=2 * MIN_RATERS)}
    if soft.judgments.max() < 2:
        return {"reason": NO_SHARED_UNIT}
    if bootstraps is None:
        bootstraps = BOOTSTRAPS if counted.sum() < MANY_JUDGMENTS else FEW_BOOTSTRAPS
    fit = rater_groups(
        table.unit[counted],
        table.worker[counted],
        table.value[counted],
        labels=soft.labels.tolist(),
        bootstraps=bootstraps,
        seed=seed,
    )
    names = {worker.pk: worker.name for worker in workers}
    of = fit.membership.argmax(axis=1)
    return {
        "reason": "",
        **as_json(fit, "p", "gain", "bootstraps", "between"),
        "groups": rows_as_json(
            raters=np.bincount(of, minlength=2),
            share=fit.shares,
            accuracy=fit.accuracy,
            within=fit.within,
            confusion=fit.confusion,
        ),
        "members": sorted(
            (
                {"worker": names[pk], "group": int(group) + 1, "probability": float(chances[group])}
                for pk, group, chances in zip(fit.workers.tolist(), of.tolist(), fit.membership, strict=True)
            ),
            key=lambda row: (row["group"], row["worker"]),
        ),
        **as_json(fit, "converged", "note", "signature"),
    }


def _compare_known_groups(
    study: Study, table: JudgmentTable, workers: list[WorkerRow], seed: int
) -> list[dict[str, Any]]:
    counted = table.counted
    unit, worker, value = table.unit[counted], table.worker[counted], table.value[counted]
    rows = []
    for name, group_of in _attributes(study, workers).items():
        sizes: dict[str, int] = {}
        for pk in np.unique(worker).tolist():
            if group_of.get(pk):
                sizes[group_of[pk]] = sizes.get(group_of[pk], 0) + 1
        large = {pk: group for pk, group in group_of.items() if sizes.get(group, 0) >= MIN_RATERS}
        in_large_group = np.isin(worker, list(large))
        if len(set(large.values())) < 2:
            continue
        test = known_groups(
            unit[in_large_group],
            worker[in_large_group],
            value[in_large_group],
            [large[pk] for pk in worker[in_large_group].tolist()],
            seed=seed,
        )
        rows.append(
            {
                "by": name,
                "groups": rows_as_json(name=test.groups, raters=test.raters, within=test.within),
                **as_json(test, "overall", "between", "p"),
                "left_out": len(np.unique(worker[~in_large_group])),
                **as_json(test, "permutations", "reason", "signature"),
            }
        )
    return rows


def _attributes(study: Study, workers: list[WorkerRow]) -> dict[str, dict[int, str]]:
    """Return the group of each worker, by attribute: country, origin, and the crowd's data (`DEMOGRAPHIC_PREFIX`)."""
    pks = [worker.pk for worker in workers]
    attributes: dict[str, dict[int, str]] = {"country": {}, "source": {}}
    for pk, country, source, platform in Worker.objects.filter(pk__in=pks).values_list(
        "pk", "country", "source", "platform"
    ):
        attributes["country"][pk] = country
        attributes["source"][pk] = platform or source
    for pk, answers in Demographics.objects.filter(study=study).values_list("worker_id", "answers"):
        for name, answer in answers.items():
            attributes.setdefault(DEMOGRAPHIC_PREFIX + name, {})[pk] = str(answer)
    return attributes


def describe_disagreement(result: Mapping[str, Any]) -> str:
    entropy, sentences = result["entropy"], []
    sentences.append(
        _(
            "The mean entropy of people's answers to an item is %(floor)s nats (highest possible "
            "value: %(most)s)."
        )
        % {"floor": coefficient(entropy["floor"]), "most": coefficient(entropy["most"])}
    )
    always = next((row for row in result["predictors"] if row["name"] == ALWAYS), None)
    # On other items, the gain over overall shares would not be comparable.
    metrics = [
        row
        for row in result["predictors"]
        if always and row["what"] == "metric" and row["n"] == always["n"] and row["above_floor"] is not None
    ]
    if metrics and always:
        best, whole = metrics[0], always["above_floor"]
        share = (whole - best["above_floor"]) / whole if whole > 0 else 0.0
        sentences.append(
            _(
                "A constant prediction is worse than this entropy. The best metric, %(metric)s, removes "
                "%(share)s of the difference."
            )
            % {"metric": best["name"], "share": percent(min(max(share, 0.0), 1.0))}
        )
    groups = result.get("groups", {})
    if groups and not groups["reason"]:
        sentences.append(describe_groups(groups))
    return " ".join(sentences)


def describe_groups(groups: Mapping[str, Any]) -> str:
    if groups["p"] > LEVEL:
        return _("No evidence of more than one group of raters (p = %(p)s).") % {
            "p": coefficient(groups["p"])
        }
    first, second = groups["groups"]
    sentence = _("Raters form two groups, with %(first)s and %(second)s raters (p = %(p)s).") % {
        "first": first["raters"],
        "second": second["raters"],
        "p": coefficient(groups["p"]),
    }
    if None in (first["within"], second["within"], groups["between"]):
        return sentence
    pairs = _(
        "Two raters of the same group agree on %(one)s (first group) and %(other)s (second group) "
        "of items. Two raters of different groups agree on %(between)s."
    ) % {
        "one": percent(first["within"]),
        "other": percent(second["within"]),
        "between": percent(groups["between"]),
    }
    return f"{sentence} {pairs}"


def cached_disagreement(study: Study, by: Person) -> dict[str, Any]:
    """Return the figures about the last results, which a job computes.

    Results by demographics are shown only to people who may change the study.

    Raises:
        FiguresPending: the job is running.
        EvaluationError: there are no results or soft labels.
    """
    check_soft_labels(study)
    if not Analysis.objects.filter(study=study, what=Analysis.Kind.AGGREGATION).exists():
        raise EvaluationError(
            _("Study %(slug)r has no results yet; compute them first.") % {"slug": study.slug}
        )
    shown = cached_figures(study, DISAGREEMENT)
    if shown.value is None:
        raise FiguresPending
    if shown.value["refused"]:
        raise EvaluationError(shown.value["refused"])
    result: dict[str, Any] = shown.value["result"]
    if "known" not in result or has_right(by, Right.CHANGE, study):
        return result
    return result | {
        "known": [row for row in result["known"] if not row["by"].startswith(DEMOGRAPHIC_PREFIX)]
    }


def _compute(study: Study) -> dict[str, Any]:
    try:
        return {"refused": "", "result": compute_disagreement(study=study)}
    except (EvaluationError, StatisticsError) as error:
        return {"refused": str(error), "result": None}


def _version(study: Study) -> object:
    newest = Analysis.objects.filter(
        study=study,
        what__in=[Analysis.Kind.AGGREGATION, Analysis.Kind.META_EVALUATION, Analysis.Kind.JUDGES],
    ).order_by("-created_at", "-pk")
    # A job that read demographics before their deletion may store its figures after it.
    described = Exists(Demographics.objects.filter(study=study))
    rows = newest.annotate(described=described).values_list("pk", "created_at", "described")[:3]
    analyses = [[pk, str(created_at), known] for pk, created_at, known in rows]
    predictions = Prediction.objects.filter(study=study).order_by("pk").values_list("pk", flat=True)
    version = [str(study.created_at), analyses]
    return [*version, list(predictions)] if predictions else version


DISAGREEMENT = add_figures(
    Figures(
        "disagreement",
        _compute,
        rows=lambda computed: computed["result"]["judgments"] if computed["result"] else 0,
        version=_version,
        never_expires=True,
        needs_job=lambda study: True,  # the test of groups draws a hundred samples
    )
)


def remove_personal_figures(*, study: Study, **_signal: Any) -> None:
    """Delete the cached figures of a study whose demographics were deleted, since the figures may be based on them."""
    CachedFigures.objects.filter(study=study, name=DISAGREEMENT.name).delete()
