"""Analyse a study's disagreement: soft labels, how well predictors predict them, and groups of raters.

A soft label of a unit is the distribution of people's answers to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from django.utils import translation

from common.amounts import as_json, json_float
from contrib.disagreement.predictors import LabelledUnits, compare_predictors, workers_as_predictors
from contrib.disagreement.rater_groups import compare_attributes, compare_groups
from contrib.disagreement.soft_labels import soft_labels_of
from contrib.disagreement.wording import describe_disagreement
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import Units, texts_of_column
from evaluation.presentation.content import rows_as_json
from evaluation.results.agreement import ANONYMOUS_REASON
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Floats, places_in
from quorum.statistics.inputs import encode

MAX_DISPUTED_ITEMS = 8


def compute_disagreement(
    *,
    study: Study,
    bootstraps: int | None = None,
    predictions: Mapping[str, Path] | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Return soft labels, the comparison of their predictors, and groups of raters, as JSON (docs/disagreement.md).

    Args:
        bootstraps: number of bootstrap samples for the test of groups; 0 omits the test.
        predictions: for each model, JSON lines with ``unit`` and ``distribution``, as exported.

    Raises:
        EvaluationError: there are no soft labels.
    """
    progress(0.0, "reading judgments")
    table = loaders.load_judgments(study)
    soft_labels = soft_labels_of(study, table)
    units = Units.from_rows(loaders.judged_units_of(study))
    positions = places_in(units.pk, soft_labels.units)
    _, images = encode(loaders.clusters_of_units(study, units)[positions], "images")
    labelled_units = LabelledUnits(units, positions, images, soft_labels)
    workers = loaders.worker_rows(study)
    seed = design_of(study).seed
    is_anonymous = any(worker.anonymous for worker in workers)
    progress(0.1, "comparing metrics with the soft labels")
    result: dict[str, Any] = {
        "labels": soft_labels.labels.tolist(),
        "units": len(soft_labels.units),
        "judgments": int(soft_labels.judgments.sum()),
        # `floor` is the mean entropy, below which no cross-entropy can be. Since the entropy of a few answers is too
        # low, it is estimated by the method `correction`, for which `concentration` was fitted; see `SoftLabels`.
        "entropy": {
            "floor": json_float(soft_labels.floor),
            "uncorrected": json_float(float(_entropies(soft_labels.shares).mean())),
            "most": float(np.log(len(soft_labels.labels))),  # the entropy if all answers are equally frequent
            **as_json(soft_labels, "correction", "concentration", "signature"),
        },
        "disputed": _disputed_items(labelled_units),
        "predictors": compare_predictors(study, labelled_units, predictions or {}, seed),
        "per_worker": {"available": not is_anonymous, "reason": ANONYMOUS_REASON if is_anonymous else ""},
    }
    if not is_anonymous:
        progress(0.3, "comparing people with each other")
        result["judges"] = workers_as_predictors(table, soft_labels, workers)  # these judges are people
        progress(0.4, "looking for groups of participants")
        result["groups"] = compare_groups(table, workers, soft_labels, bootstraps, seed)
        result["known"] = compare_attributes(study, table, workers, seed)  # groups by known attributes
    with translation.override("en"):  # in English, since the result is stored for readers of any language
        result["in_words"] = describe_disagreement(result)
    progress(1.0, "done")
    return result


def _entropies(shares: Floats) -> Floats:
    """Return the (U,) entropies, in nats, of (U, L) shares. A share of 0 adds nothing."""
    return np.asarray(-(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1))


def _disputed_items(labelled_units: LabelledUnits) -> list[dict[str, Any]]:
    """Return the units with the highest entropy of answers, highest first."""
    soft_labels, positions = labelled_units.soft, labelled_units.positions
    indices = np.flatnonzero(soft_labels.judgments > 1)  # in the soft labels
    order = np.lexsort((positions[indices], -soft_labels.entropy[indices]))  # by entropy, then by position
    disputed_indices = indices[order][:MAX_DISPUTED_ITEMS]
    return rows_as_json(
        unit=texts_of_column(labelled_units.units.key.take(positions[disputed_indices])),
        n=soft_labels.judgments[disputed_indices],
        shares=soft_labels.shares[disputed_indices],
        entropy=soft_labels.entropy[disputed_indices],
    )
