"""Votes weighted by people's confidence, or by how often they were right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.aggregated_labels import WorkerModel
from quorum.statistics.aggregation.votes import agrees_with_others, weigh_votes
from quorum.statistics.aggregation.weights import count_vector
from quorum.statistics.inference import signed
from quorum.statistics.inputs import BadOption, BadValue, encode, encode_on_scale, one_of, same_length


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceResult(WorkerModel):
    """Votes weighted by the workers' confidence, and the weight of each level of confidence.

    posterior: (U, L) shares of the weights; equal shares if all weights of a unit are zero. levels: (C,) levels of
    confidence, ascending; 0 stands for judgments without one. answers: (C,) number of judgments at each level.
    compared: (C,) number of these judgments whose unit has a majority among its other judgments. right: (C,) number of
    these that agree with the majority. weights: (C,) weight of a judgment at each level. confidence: (W,) mean
    confidence of each worker.
    """

    levels: Ints
    answers: Ints
    right: Ints
    compared: Ints
    weights: Floats
    confidence: Floats


@signed("confidence-vote")
def confidence_vote(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    confidences: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
) -> ConfidenceResult:
    """Return the answers with the most weight, where (N,) confidences, such as 1 to 3 or nan, weight the judgments.

    The weight of a level is the log-odds that its judgments are right, at least zero (Nitzan, Paroush 1982; for
    confidence Meyen et al. 2021). A judgment counts as right if it equals the most frequent answer among the unit's
    other judgments. So the data decide how much "certain" counts: levels that do not predict which judgments are
    right have about equal weights.
    """
    unit_names, unit = encode(units, "units")
    worker_names, worker = encode(workers, "workers")
    scale, value = encode_on_scale(values, labels)
    stated_confidences = np.nan_to_num(np.asarray(confidences, dtype=np.float64), nan=0.0)
    same_length(units=unit, workers=worker, values=value, confidences=stated_confidences)
    levels, level = encode(stated_confidences, "confidences")
    is_right = agrees_with_others(unit, value)  # 1, 0, or nan without a majority
    has_majority = ~np.isnan(is_right)
    hits = np.bincount(level[is_right == 1], minlength=len(levels))
    compared_counts = np.bincount(level[has_majority], minlength=len(levels))
    weights = accuracy_weights(hits, compared_counts, max(len(scale), 2))  # of levels; it needs two labels
    vote = weigh_votes(unit, value, weights[level], list(range(len(scale))), ties="none", seed=0)
    assert vote.weight is not None
    total = vote.weight.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, vote.weight, 1.0) / np.where(total > 0, total, len(scale))
    judgments = np.bincount(worker, minlength=len(worker_names))
    mean_confidences = np.bincount(worker, stated_confidences, len(worker_names)) / judgments
    return ConfidenceResult(
        units=unit_names,
        labels=scale,
        winner=vote.winner,
        posterior=shares,
        levels=levels.astype(np.int64),
        answers=np.bincount(level, minlength=len(levels)),
        right=hits,
        compared=compared_counts,
        weights=weights,
        workers=worker_names,
        confidence=mean_confidences,
        judgments=judgments,
    )


def accuracy_weights(right: ArrayLike, seen: ArrayLike, labels: int = 2, *, rule: str = "log-odds") -> Floats:
    """Return the (W,) weights of workers who answered `right` (W,) of `seen` (W,) control items correctly.

    With p = (right + 1) / (seen + labels), by Laplace's rule of succession, the weight by the rule "accuracy" is p. By
    the rule "log-odds" it is log(p (labels - 1) / (1 - p)), at least zero, which is optimal for independent workers
    (Nitzan, Paroush 1982).
    """
    one_of(rule, ("log-odds", "accuracy"), "rule")
    if isinstance(labels, bool) or not isinstance(labels, (int, np.integer)) or labels < 2:
        raise BadOption(f"labels is {labels!r}, expected a whole number from two on")
    hits, tries = count_vector(right, "right"), count_vector(seen, "seen")
    same_length(right=hits, seen=tries)
    if np.any(hits > tries):
        worker = int(np.flatnonzero(hits > tries)[0])
        raise BadValue(f"worker {worker} has {hits[worker]} right of {tries[worker]}, expected at most all")
    label_count = float(labels)
    if rule == "accuracy":
        return np.asarray((hits + 1) / (tries + label_count), dtype=np.float64)
    # Compute p / (1 - p) from counts, so that it is finite even if p rounds to one.
    return np.maximum(np.log((hits + 1) * (label_count - 1) / (tries - hits + (label_count - 1))), 0.0)
