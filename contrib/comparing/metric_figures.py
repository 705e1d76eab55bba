"""Compare the scores of two metrics with people's: differences with tests, and agreement over systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from common.amounts import as_json
from evaluation.errors import EvaluationError
from evaluation.results.metrics.figures import COEFFICIENTS
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import ClusterColumns
from quorum.statistics.meta import (
    accuracy_difference,
    correlation_difference,
    grouped_correlation,
    pair_accuracy,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)

ONLY_SYSTEM_SCORES = "the metric has scores of systems alone"
DIFFERENCE_FIELDS = ("first", "second", "difference", "low", "high", "p", "n", "clusters", "reason")


def check_two_metrics(first: str, second: str) -> list[str]:
    """Return both names. Raise EvaluationError if they are equal."""
    if first == second:
        raise EvaluationError(f"{first!r} is named twice; expected two metrics.")
    return [first, second]


def compare_on_pairs(
    scores: Sequence[Floats], winners: Floats, kinds: Sequence[str], clusters: ClusterColumns
) -> list[dict[str, Any]]:
    """Return the difference of two metrics' accuracies by kind of pair, and each metric's accuracy (``own``).

    Args:
        scores: for each metric, (P, 2) scores of the first and the second text of P pairs.
        winners: (P,) the side that people prefer: 1 or 2.
        kinds: (P,) kind of the pair.
    """
    differences = accuracy_difference(scores[0], scores[1], winners, kinds, clusters=clusters)
    accuracies = [
        pair_accuracy(pair_scores[:, 0], pair_scores[:, 1], winners, kinds, clusters=clusters)
        for pair_scores in scores
    ]
    return [
        {
            "kind": kind,
            "measure": "accuracy",
            **as_json(difference, *DIFFERENCE_FIELDS),
            "own": [as_json(accuracy[kind], "value", "low", "high") for accuracy in accuracies],
        }
        for kind, difference in differences.items()
    ]


def compare_on_captions(
    scores: Sequence[Floats], people: Floats, clusters: Mapping[str, Any], weights: Floats | None = None
) -> list[dict[str, Any]]:
    """Return the difference of two metrics' correlations with people, by coefficient.

    Args:
        scores: for each metric, (N,) scores of N captions.
        people: (N,) people's scores.
        weights: (N,) weights of the captions; by default all are equal.
    """
    rows = []
    for name, statistic in COEFFICIENTS.items():
        difference = correlation_difference(
            scores[0], scores[1], people, statistic, weights=weights, clusters=clusters
        )
        rows.append({"measure": name, **as_json(difference, *DIFFERENCE_FIELDS)})
    return rows


def calibrate_ties(
    scores: Sequence[Floats], people: Floats, items: Ints, clusters: ClusterColumns, seed: int
) -> list[dict[str, Any]]:
    """Return each metric's tie-calibrated pairwise accuracy over the captions of each item."""
    return [
        as_json(
            pairwise_accuracy(column, people, items, epsilon="calibrate", seed=seed, clusters=clusters),
            "value", "low", "high", "epsilon", "groups",
        )
        for column in scores
    ]  # fmt: skip


def correlate_over_systems(
    scores: Sequence[Floats],
    people: Floats,
    systems: Sequence[Any] | Ints,
    items: Sequence[Any] | Ints,
    scores_only_systems: Sequence[bool] = (False, False),
) -> dict[str, Any]:
    """Return Pearson's r and soft pairwise accuracy over systems. Some images of a system may lack scores.

    Soft pairwise accuracy is left out for a metric that only scores whole systems, since the certainty of its order
    is unknown.

    Args:
        scores: (N,) scores of N captions by each of the two metrics.
        people: (N,) scores by people.
        systems, items: (N,) the system and the image of each caption.
        scores_only_systems: whether each of the two metrics only scores whole systems.
    """
    system_codes, item_codes = (_number_values(np.asarray(column)) for column in (systems, items))
    item_count = int(item_codes.max()) + 1
    # If two captions of a system for an image were judged, the first one counts.
    cells, first_rows = np.unique(system_codes * item_count + item_codes, return_index=True)
    # a table of systems and images for each metric, and one for people
    tables = np.full((3, int(system_codes.max()) + 1, item_count), np.nan)
    for table, column in zip(tables, (*scores, people), strict=True):
        table.ravel()[cells] = column[first_rows]
    figures = []
    for index, column in enumerate(scores):
        pearson = grouped_correlation(column, people, items, systems, "pearson", grouping="system-level")
        soft = as_json(
            soft_pairwise_accuracy(tables[index], tables[2], missing="leave-out"),
            *("value", "pairwise", "n", "left_out", "reason"),
        )
        if scores_only_systems[index]:
            soft |= {"value": None, "reason": ONLY_SYSTEM_SCORES}
        figures.append({"pearson": as_json(pearson, "value", "reason"), "soft_pairwise_accuracy": soft})
    return {"number": len(tables[0]), "own": figures}


def _number_values(values: Ints) -> Ints:
    """Return the codes of the (N,) values: numbers from 0, in the order in which the values first occur."""
    _labels, first, codes = np.unique(values, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(len(first))
    return np.take(ranks, codes)
