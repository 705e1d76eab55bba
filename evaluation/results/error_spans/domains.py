"""Rank systems as WMT24 does (Kocmi et al. 2024, "Findings of the WMT24 General Machine Translation Shared Task").

A system's score is the mean of its domains' means over all judgments. Two systems are compared by Wilcoxon's
signed-rank test in each domain, over every two judgments of a segment, and the p-values are joined by Stouffer's
method. A range of ranks is 1 + the systems that are better at .05, to all less those that are worse.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evaluation.presentation.content import Table
from evaluation.presentation.rendering import table
from evaluation.results.error_spans.scores import Segment, Segments
from evaluation.statistics.meta import clusters_of_p_values
from evaluation.statistics.significance import stouffer_wilcoxon


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """A system with its range of ranks, and its mean score by domain."""

    system: str
    score: float
    best: int
    worst: int
    domains: Mapping[str, float]
    judgments: int


def rank_systems(segments: Segments) -> list[RankedSystem]:
    """Return systems with their ranks, the highest score first. Domains are the splits of the dataset."""
    domains = {name: _domain_means(judged) for name, judged in segments.items()}
    names = list(segments)
    p = np.full((len(names), len(names)), np.nan)
    for first, second in combinations(range(len(names)), 2):
        p[first, second] = p[second, first] = _p_of(segments[names[first]], segments[names[second]])
    means = [float(np.mean(list(domains[name].values()))) for name in names]
    ranked = clusters_of_p_values(means, p, names, correction="none")
    rows = zip(
        ranked.names,
        ranked.values.tolist(),
        ranked.rank_low.tolist(),
        ranked.rank_high.tolist(),
        strict=True,
    )
    return [
        RankedSystem(name, score, best, worst, domains[name], sum(row.judgments for row in segments[name]))
        for name, score, best, worst in rows
    ]


def _domain_means(judged: Sequence[Segment]) -> dict[str, float]:
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for segment in judged:
        scores[segment.domain].extend(segment.scores)
    return {domain: float(np.mean(scores[domain])) for domain in sorted(scores)}


def _p_of(first: Sequence[Segment], second: Sequence[Segment]) -> float:
    others = {segment.item: segment.scores for segment in second}
    differences: defaultdict[str, list[float]] = defaultdict(list)
    for segment in first:
        for other in others.get(segment.item, ()):
            differences[segment.domain].extend(score - other for score in segment.scores)
    return stouffer_wilcoxon(list(differences.values()))


def ranks_table(ranked: Sequence[RankedSystem]) -> Table:
    domains = sorted({domain for row in ranked for domain in row.domains})
    return table(
        "systems-by-domain",
        [
            (
                row.system,
                f"{row.best}–{row.worst}",
                row.score,
                *(row.domains.get(domain) for domain in domains),
                row.judgments,
            )
            for row in ranked
        ],
        [
            ("system", "text"),
            ("ranks", "text"),
            ("score", "fixed"),
            *((domain or "all", "fixed") for domain in domains),
            ("judgments", "count"),
        ],
    )
