"""Tables of scores and ranks of systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from contrib.error_spans.kind.answers import SEVERITIES
from contrib.error_spans.results.ranks import RankedSystem
from contrib.error_spans.results.scores import SystemScore
from evaluation.presentation.content import Estimate, Table
from evaluation.presentation.rendering import add_wording, table

add_wording(Path(__file__).with_name("wording.toml"))


def scores_table(scores: Sequence[SystemScore]) -> Table:
    """Return the table of the scores (``SystemScore``) of systems. Severities that nobody marked have no column."""
    severities = [name for name in SEVERITIES if any(name in row.errors for row in scores)]
    rows = [
        (
            score.system,
            Estimate(score.score, score.low, score.high),
            score.mqm,
            score.z,
            *(score.errors.get(severity, 0.0) for severity in severities),
            score.segments,
            score.judgments,
        )
        for score in scores
    ]
    return table(
        "systems-by-errors",
        rows,
        [
            ("system", "text"),
            ("score", "fixed"),
            ("MQM score", "fixed"),
            ("z", "fixed"),
            *((f"{severity} errors", "fixed") for severity in severities),
            ("segments", "count"),
            ("judgments", "count"),
        ],
    )


def ranks_table(systems: Sequence[RankedSystem]) -> Table:
    """Return the table of systems' ranges of ranks, with their means by domain."""
    domains = sorted({domain for row in systems for domain in row.domains})
    means = [(domain or "all", "fixed") for domain in domains]  # "" if the dataset has no splits
    rows = [
        (row.system, f"{row.best}–{row.worst}", row.score, *map(row.domains.get, domains)) for row in systems
    ]
    columns = [("system", "text"), ("ranks", "text"), ("score", "fixed"), *means]
    return table("systems-by-domain", rows, columns)
