"""Report systems by marked errors, as WMT does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from evaluation.data.judgment_sets.loaders import marks_errors
from evaluation.presentation.content import Dots, Estimate, Panel, Section, Table
from evaluation.presentation.rendering import plot, say, section, table
from evaluation.results.error_spans.scores import (
    SystemScore,
    compare_systems,
    segments_of,
    system_scores,
)
from evaluation.results.verdict import join_names, leaders_by_intervals
from evaluation.statistics.significance import adjusted_p_values
from judgments.kinds.spans.answers import SEVERITIES
from judgments.models import Study


def scores_table(scores: Sequence[SystemScore]) -> Table:
    severities = [one for one in SEVERITIES if any(one in score.errors for score in scores)]
    rows = [
        (
            one.system,
            Estimate(one.score, one.low, one.high),
            one.mqm,
            one.z,
            *(one.errors.get(severity, 0.0) for severity in severities),
            one.segments,
            one.judgments,
        )
        for one in scores
    ]
    return table(
        "systems-by-errors",
        rows,
        [
            ("system", "text"),
            ("score", "number"),
            ("MQM score", "number"),
            ("z", "number"),
            *((f"{severity} errors", "number") for severity in severities),
            ("segments", "count"),
            ("judgments", "count"),
        ],
    )


def systems_section(study: Study) -> Section | None:
    """Return systems' scores, best first, each less the next; None without marked errors."""
    if not marks_errors(study):
        return None
    segments = segments_of(study)
    scores = system_scores(segments)
    if not scores:
        return None
    data = scores_table(scores)
    leaders, _ = leaders_by_intervals(
        {one.system: {"value": one.score, "low": one.low, "high": one.high} for one in scores}
    )
    sentence = say(
        "systems-by-errors",
        best=scores[0],
        names=join_names(leaders),
        alone=len(leaders) == 1,
        systems=len(scores),
        known=scores[0].low is not None,
    )
    drawing = Dots(
        tuple(one.system for one in scores),
        (Panel("", tuple(Estimate(one.score, one.low, one.high) for one in scores)),),
        "mean score of the segments, 95 % interval",
        "number",
        tuple(leaders),
    )
    tables = [data]
    if len(scores) > 1:
        apart = [compare_systems(segments, one.system, other.system) for one, other in pairwise(scores)]
        adjusted = adjusted_p_values([float("nan") if one.p is None else one.p for one in apart])
        tables.append(
            table(
                "systems-apart",
                [
                    (
                        one.first,
                        one.second,
                        Estimate(one.difference, one.low, one.high),
                        p,
                        one.better,
                        one.worse,
                        one.segments,
                    )
                    for one, p in zip(apart, adjusted.values.tolist(), strict=True)
                ],
            )
        )
    return section("systems-by-errors", [sentence], [plot(sentence, drawing, data)], tables)
