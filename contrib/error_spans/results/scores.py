"""Scores of systems by marked errors, as at WMT.

A system's score is the mean over its segments (Freitag et al. 2021; Kocmi et al. 2024), with an interval clustered
by document or, without documents, by item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contrib.error_spans.kind.answers import SEVERITIES
from contrib.error_spans.results.segments import Segment, Segments, outputs_of_segments
from evaluation.results.standings import MEAN


@dataclass(frozen=True, slots=True)
class SystemScore:
    """A system's score over its segments.

    Attributes:
        score: mean of people's scores or, if there are none, of the MQM scores, with its interval ``low``, ``high``.
        mqm: mean MQM score.
        z: mean standardised score; None if every judge gave only equal scores.
        errors: mean number of marks per judge and segment, by severity.
        segments, judgments: numbers of segments, and of their judgments.
    """

    system: str
    score: float
    low: float | None
    high: float | None
    mqm: float
    z: float | None
    errors: Mapping[str, float]
    segments: int
    judgments: int


def system_scores(segments: Segments) -> list[SystemScore]:
    """Return the scores of systems, best first."""
    outputs = outputs_of_segments(segments)
    means = outputs.figures(MEAN) if outputs is not None else {}  # None without segments
    scores = [_score_system(name, system_segments, means[name]) for name, system_segments in segments.items()]
    return sorted(scores, key=lambda score: (-score.score, score.system))


def _score_system(name: str, segments: Sequence[Segment], mean: Mapping[str, Any]) -> SystemScore:
    """Return the score of a system. ``mean`` is the mean score of its segments, with its interval."""
    z_scores = [segment.z for segment in segments if segment.z is not None]
    return SystemScore(
        system=name,
        score=mean["value"],
        low=mean["low"],
        high=mean["high"],
        mqm=float(np.mean([segment.mqm for segment in segments])),
        z=float(np.mean(z_scores)) if z_scores else None,
        errors={
            severity: sum(segment.errors.get(severity, 0.0) for segment in segments) / len(segments)
            for severity in SEVERITIES
            if any(severity in segment.errors for segment in segments)
        },
        segments=len(segments),
        judgments=sum(segment.judgments for segment in segments),
    )
