"""Rank systems over domains, as WMT24 does (Kocmi et al. 2024, Findings of the WMT24 General MT Shared Task).

A system's score is the mean of its means in the domains. Two systems are compared by Wilcoxon's signed-rank test in
each domain, over all pairs of judgments of a segment, and the p-values are combined by Stouffer's method. A system has
a range of ranks, from 1 + the number of significantly better systems to the number of all systems minus the number of
significantly worse ones.

The script that WMT24 published with its data tests two-sided, and decides by the scores which system is better. The
script for the tables of September 2024 tests one-sided ("greater") in both directions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np

from contrib.error_spans.results.segments import Segment, Segments
from quorum.statistics.significance import stouffer_wilcoxon

Alternative = Literal["two-sided", "greater"]
SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """A system with its range of ranks.

    Attributes:
        score: mean of the means of its domains.
        best, worst: the ends of the range; 1 is the best rank.
        domains: its mean score by domain.
    """

    system: str
    score: float
    best: int
    worst: int
    domains: Mapping[str, float]


def rank_systems(segments: Segments, alternative: Alternative = "two-sided") -> list[RankedSystem]:
    """Return systems with their ranges of ranks, highest score first. The domains are the splits of the dataset.

    Args:
        alternative: "two-sided" as in the script with the data of WMT24, "greater" as in the one for the tables.
    """
    domains = {name: _domain_means(system_segments) for name, system_segments in segments.items()}
    scores = {name: float(np.mean(list(means.values()))) for name, means in domains.items()}
    # The pairs of systems of which the first is significantly better.
    significant_pairs = {
        (first, second)
        for first, second in permutations(segments, 2)
        if (alternative == "greater" or scores[first] > scores[second])
        and _p_value(segments[first], segments[second], alternative) < SIGNIFICANCE_LEVEL
    }
    rows = []
    for name in segments:
        best_rank = 1 + sum((other_name, name) in significant_pairs for other_name in segments)
        worst_rank = len(segments) - sum((name, other_name) in significant_pairs for other_name in segments)
        rows.append(RankedSystem(name, scores[name], best_rank, worst_rank, domains[name]))
    return sorted(rows, key=lambda row: (-row.score, row.system))


def _domain_means(system_segments: Sequence[Segment]) -> dict[str, float]:
    """Return the mean score of a system by domain, over all judgments."""
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for segment in system_segments:
        scores[segment.domain].extend(segment.scores)
    return {domain: float(np.mean(scores[domain])) for domain in sorted(scores)}


def _p_value(first: Sequence[Segment], second: Sequence[Segment], alternative: Alternative) -> float:
    """Return the combined p-value of the difference between two systems, whose segments these are."""
    second_scores = {segment.item: segment.scores for segment in second}
    differences: defaultdict[str, list[float]] = defaultdict(list)
    for segment in first:
        for second_score in second_scores.get(segment.item, ()):
            differences[segment.domain].extend(score - second_score for score in segment.scores)
    return stouffer_wilcoxon(list(differences.values()), alternative)
