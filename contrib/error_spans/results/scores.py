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
from contrib.error_spans.results.segments import Segment, Segments, outputs_of
from evaluation.results.standings import MEAN


@dataclass(frozen=True, slots=True)
class SystemScore:
    """A system's score: people's or, if there are no scores, MQM's.

    ``errors`` are the mean numbers of marks per judge and segment, by severity.
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
    outputs = outputs_of(segments)
    figures = outputs.figures(MEAN) if outputs is not None else {}
    scores = [_score_system(name, judged, figures[name]) for name, judged in segments.items()]
    return sorted(scores, key=lambda score: (-score.score, score.system))


def _score_system(name: str, segments: Sequence[Segment], mean: Mapping[str, Any]) -> SystemScore:
    z = [segment.z for segment in segments if segment.z is not None]
    return SystemScore(
        system=name,
        score=mean["value"],
        low=mean["low"],
        high=mean["high"],
        mqm=float(np.mean([segment.mqm for segment in segments])),
        z=float(np.mean(z)) if z else None,
        errors={
            severity: sum(segment.errors.get(severity, 0.0) for segment in segments) / len(segments)
            for severity in SEVERITIES
            if any(severity in segment.errors for segment in segments)
        },
        segments=len(segments),
        judgments=sum(segment.judgments for segment in segments),
    )
