"""Rank submissions by paired randomisation tests over images with Holm's correction.

A p-value of two submissions never changes, so it is computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import Count, Max, QuerySet, Sum
from django.db.models.fields.json import KeyTransform
from django.utils import timezone

from evaluation.models import Challenge, Standing, Submission
from evaluation.results.challenges.challenges import find_challenge
from judgments.jobs import Progress, enqueue

REASSIGNMENTS = 10_000
CORRECTION, LEVEL = "holm", 0.05
MOST_SHOWN = 1_000  # maximal number of systems on a leaderboard page


@dataclass(frozen=True)
class ComputedStanding:
    challenge: Challenge
    of: list[int]
    ranks: dict[str, list[int]]
    p: dict[str, float]
    signature: str


@dataclass(frozen=True, slots=True)
class Cell:
    metric: str
    corpus: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """A leaderboard row; ``low`` and ``high`` are None until ranks are computed."""

    submission: Submission
    cells: list[Cell]
    low: int | None
    high: int | None
    own: bool


def compute_standing(*, slug: str, progress: Progress) -> ComputedStanding:
    # Imported lazily: heavy, and not needed to show leaderboards.
    from evaluation.results.challenges.scoring import image_scores
    from evaluation.statistics.meta import clusters_of_p_values
    from evaluation.statistics.significance import randomization_test

    challenge = find_challenge(slug)
    metric = challenge.ranked_by
    shown = list(Submission.objects.on_leaderboard(challenge).order_by("pk").only("pk", "scores"))
    ids = [submission.pk for submission in shown]
    before = Standing.objects.filter(challenge=challenge).first()
    p: dict[str, float] = dict(before.p) if before is not None else {}
    arrays = {}
    table = np.full((len(ids), len(ids)), np.nan)
    for row, later in enumerate(ids):
        progress(row / max(len(ids), 1), "comparing systems")
        for column, earlier in enumerate(ids[:row]):
            key = f"{earlier}-{later}"
            if key not in p:
                for pk in (earlier, later):
                    if pk not in arrays:
                        arrays[pk] = image_scores(pk, metric)
                seed = earlier * 1_000_003 + later
                p[key] = randomization_test(
                    arrays[earlier], arrays[later], reassignments=REASSIGNMENTS, seed=seed
                ).p
            table[row, column] = table[column, row] = p[key]
    if not ids:
        return ComputedStanding(challenge, [], {}, p, "")
    values = [submission.scores[metric]["corpus"] for submission in shown]
    clusters = clusters_of_p_values(values, table, names=ids, correction=CORRECTION, level=LEVEL)
    ranks = {
        name: [int(low), int(high)]
        for name, low, high in zip(clusters.names, clusters.rank_low, clusters.rank_high, strict=True)
    }
    return ComputedStanding(challenge, ids, ranks, p, clusters.signature)


def store_standing(computed: ComputedStanding) -> None:
    """Store the result in the job's transaction; rank again if the leaderboard changed meanwhile."""
    Standing.objects.update_or_create(
        challenge=computed.challenge,
        defaults={
            "of": computed.of,
            "ranks": computed.ranks,
            "p": computed.p,
            "signature": computed.signature,
            "made_at": timezone.now(),
        },
    )
    shown = Submission.objects.on_leaderboard(computed.challenge).order_by("pk").values_list("pk", flat=True)
    if list(shown) != computed.of:
        enqueue(kind="rank_submissions", args={"challenge": computed.challenge.slug})


def leaderboard(*, challenge: Challenge, user_id: int | None, now: datetime) -> list[Row]:
    """Return leaderboard rows, best first; none while scores are hidden."""
    if not challenge.shows_scores_at(now):
        return []
    every = Submission.objects.on_leaderboard(challenge)
    corpus = KeyTransform("corpus", KeyTransform(challenge.ranked_by, "scores"))
    shown = list(every.order_by(corpus.desc(), "pk")[:MOST_SHOWN])
    ranks: dict[str, Any] = {}
    if shown:
        standing = Standing.objects.filter(challenge=challenge).first()
        # Ranks depend on the whole set of submissions.
        if standing is not None and _compares_all(standing.of, shown, every):
            ranks = standing.ranks
    rows = []
    for submission in shown:
        low, high = ranks.get(str(submission.pk), (None, None))
        is_own = submission.user_id == user_id
        rows.append(Row(submission, cells_of(challenge, submission), low, high, is_own))
    return rows


def _compares_all(compared: list[int], shown: list[Submission], every: QuerySet[Submission]) -> bool:
    if len(shown) < MOST_SHOWN:
        return sorted(compared) == sorted(submission.pk for submission in shown)
    # Compare count, sum and maximum; the ids are too many to fetch.
    totals = every.aggregate(n=Count("pk"), all=Sum("pk"), last=Max("pk"))
    return totals == {"n": len(compared), "all": sum(compared), "last": max(compared, default=None)}


def cells_of(challenge: Challenge, submission: Submission) -> list[Cell]:
    cells = []
    for metric in challenge.metrics:
        figures = submission.scores.get(metric)
        if figures is not None:
            cells.append(Cell(metric, figures["corpus"], figures.get("low"), figures.get("high")))
    return cells
