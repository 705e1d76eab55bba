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


def distinct_metrics(first: str, second: str) -> list[str]:
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
    """Return the difference of two metrics' correlations with people for each coefficient.

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
    """Return each metric's pairwise accuracy over the captions of each item, with calibrated ties.

    Two scores of a metric count as tied if they differ by at most epsilon, which is chosen so that the accuracy is
    greatest (Deutsch, Foster, Freitag 2023).
    """
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
    """Return each metric's agreement with people over systems: Pearson's r and soft pairwise accuracy.

    Some images of a system may lack scores. A metric that only scores whole systems has no soft pairwise accuracy,
    since the certainty of its order of systems is unknown (Thompson et al. 2024).

    Args:
        scores: (N,) scores of N captions by each of the two metrics.
        people: (N,) scores by people.
        systems, items: (N,) the system and the image of each caption.
        scores_only_systems: whether each of the two metrics only scores whole systems.
    """
    system_codes, item_codes = (_codes_by_occurrence(np.asarray(column)) for column in (systems, items))
    shape = int(system_codes.max()) + 1, int(item_codes.max()) + 1
    # A table of systems (rows) and images (columns) for each metric, and one for people. Their cells are numbered row
    # by row. If two captions of a system for an image were judged, the first one counts.
    _, first_captions = np.unique(np.ravel_multi_index((system_codes, item_codes), shape), return_index=True)
    cells = system_codes[first_captions], item_codes[first_captions]
    *metric_tables, people_table = (np.full(shape, np.nan) for _ in range(3))
    for table, caption_scores in zip((*metric_tables, people_table), (*scores, people), strict=True):
        table[cells] = caption_scores[first_captions]
    figures = []
    for index, (metric_scores, metric_table) in enumerate(zip(scores, metric_tables, strict=True)):
        pearson = grouped_correlation(
            metric_scores, people, items, systems, "pearson", grouping="system-level"
        )
        accuracy = as_json(
            soft_pairwise_accuracy(metric_table, people_table, missing="leave-out"),
            *("value", "pairwise", "n", "left_out", "reason"),  # left_out: images without all scores
        )
        if scores_only_systems[index]:
            accuracy |= {"value": None, "reason": ONLY_SYSTEM_SCORES}
        figures.append({"pearson": as_json(pearson, "value", "reason"), "soft_pairwise_accuracy": accuracy})
    return {"number": len(people_table), "own": figures}  # the number of systems; by metric


def _codes_by_occurrence(ids: Ints) -> Ints:
    """Return the codes of N ids: (N,) numbers from 0, in the order in which the ids first occur.

    The order matters, since soft pairwise accuracy draws a random sign for each image, in this order.
    """
    _, first_positions, sorted_codes = np.unique(ids, return_index=True, return_inverse=True)
    # `np.unique` numbers the ids by their size. `codes` are the new numbers of these.
    codes = np.empty(len(first_positions), dtype=np.int64)
    codes[np.argsort(first_positions)] = np.arange(len(first_positions))
    return codes[sorted_codes]
