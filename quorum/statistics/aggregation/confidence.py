"""Votes weighted by how sure people were, or by how often they were right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.joint_answers import WorkerModel
from quorum.statistics.aggregation.votes import agrees_with_others, weigh_votes
from quorum.statistics.aggregation.weights import count_vector
from quorum.statistics.inference import signed
from quorum.statistics.inputs import BadOption, BadValue, encode, encode_on_scale, one_of, same_length


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceResult(WorkerModel):
    """Votes weighted by how sure people were, and what their confidence is worth.

    posterior: (U, L) shares of the weights, even where all are zero. levels: (C,) confidences, 0 for none. answers:
    (C,) judgments of each; right of compared: (C,) how many are the answer of most others, where these have one.
    weights: (C,). confidence: (W,) the mean of each worker.
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
    """Return the answers with the most weight, where (N,) confidences such as 1 to 3, or nan, weigh judgments.

    A level weighs the log-odds of being right (Nitzan, Paroush 1982; for confidence Meyen et al. 2021), at least zero.
    Right is the answer of most others on the unit: so the data say what "certain" is worth, and a scale that means
    nothing has equal weights.
    """
    names, unit = encode(units, "units")
    people, worker = encode(workers, "workers")
    scale, value = encode_on_scale(values, labels)
    stated = np.nan_to_num(np.asarray(confidences, dtype=np.float64), nan=0.0)
    same_length(units=unit, workers=worker, values=value, confidences=stated)
    levels, level = encode(stated, "confidences")
    right = agrees_with_others(unit, value)
    known = ~np.isnan(right)
    hits = np.bincount(level[known], weights=right[known], minlength=len(levels)).astype(np.int64)
    compared = np.bincount(level[known], minlength=len(levels))
    weights = accuracy_weights(hits, compared, max(len(scale), 2))
    vote = weigh_votes(unit, value, weights[level], list(range(len(scale))), "none", 0)
    assert vote.weight is not None
    total = vote.weight.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, vote.weight, 1.0) / np.where(total > 0, total, len(scale))
    judgments = np.bincount(worker, minlength=len(people))
    return ConfidenceResult(
        units=names,
        labels=scale,
        winner=vote.winner,
        posterior=shares,
        levels=levels.astype(np.int64),
        answers=np.bincount(level, minlength=len(levels)),
        right=hits,
        compared=compared,
        weights=weights,
        workers=people,
        confidence=np.bincount(worker, weights=stated, minlength=len(people)) / judgments,
        judgments=judgments,
    )


def accuracy_weights(right: ArrayLike, seen: ArrayLike, labels: int = 2, *, rule: str = "log-odds") -> Floats:
    """Return (W,) weights of workers who got (W,) `right` of `seen` control items right.

    With p = (right + 1) / (seen + labels), the rule "accuracy" takes p; "log-odds" takes
    log(p (labels - 1) / (1 - p)), best for independent workers (Nitzan, Paroush 1982), and at least zero.
    """
    one_of(rule, ("log-odds", "accuracy"), "rule")
    if isinstance(labels, bool) or not isinstance(labels, (int, np.integer)) or labels < 2:
        raise BadOption(f"labels is {labels!r}, expected a whole number from two on")
    hits, tries = count_vector(right, "right"), count_vector(seen, "seen")
    same_length(right=hits, seen=tries)
    if np.any(hits > tries):
        where = int(np.flatnonzero(hits > tries)[0])
        raise BadValue(f"worker {where} has {hits[where]} right of {tries[where]}, expected at most all")
    choices = float(labels)
    if rule == "accuracy":
        return np.asarray((hits + 1) / (tries + choices), dtype=np.float64)
    # p / (1 - p) in counts, which stays a number where p is one but for rounding.
    return np.maximum(np.log((hits + 1) * (choices - 1) / (tries - hits + (choices - 1))), 0.0)
