"""Compute and store the ranks on a challenge's leaderboard, from paired tests of each two submissions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from django.utils import timezone

from contrib.challenges.challenges import find_challenge
from contrib.challenges.models import Challenge, Standing, Submission
from contrib.challenges.scores.scoring import image_scores
from judgments.jobs.queues import enqueue
from judgments.jobs.runs import Progress

REASSIGNMENTS = 10_000  # random reassignments of a paired test
CORRECTION = "holm"  # of the p-values of all pairs
SIGNIFICANCE_LEVEL = 0.05
# The seed of a test depends only on its pair: one id times this factor, which is larger than ids are expected to be,
# plus the other id.
SEED_FACTOR = 1_000_003


@dataclass(frozen=True)
class ComputedStanding:
    """The ranks on the leaderboard of a challenge, as ``Standing`` stores them.

    Attributes:
        submission_ids: the ids of the compared submissions.
        ranks: the best and the worst rank of each submission, by its id as text: ``{"17": [1, 2]}``.
        p: p of the paired test of two submissions, by the ids of both: ``{"17-23": 0.04}``. Tests of submissions that
            were removed are kept.
    """

    challenge: Challenge
    submission_ids: list[int]
    ranks: dict[str, list[int]]
    p: dict[str, float]
    signature: str


def compute_standing(*, slug: str, progress: Progress) -> ComputedStanding:
    """Rank the submissions on the leaderboard, after a test of each pair that was not tested before."""
    # Imported lazily, since it is slow to load and not needed to show leaderboards.
    from quorum.statistics.meta import clusters_of_p_values

    challenge = find_challenge(slug)
    metric = challenge.ranked_by
    ranked_submissions = list(
        Submission.objects.on_leaderboard(challenge).order_by("pk").only("pk", "scores")
    )
    ids = [submission.pk for submission in ranked_submissions]
    old_standing = Standing.objects.filter(challenge=challenge).first()
    p = dict(old_standing.p) if old_standing is not None else {}
    _add_missing_tests(p, ids, metric, progress)
    if not ids:
        return ComputedStanding(challenge, [], {}, p, "")
    p_values = np.full((len(ids), len(ids)), np.nan)
    for row, later_id in enumerate(ids):
        for column, earlier_id in enumerate(ids[:row]):
            p_values[row, column] = p_values[column, row] = p[_pair_key(earlier_id, later_id)]
    corpus_scores = [submission.scores[metric]["corpus"] for submission in ranked_submissions]
    clusters = clusters_of_p_values(
        corpus_scores, p_values, names=ids, correction=CORRECTION, level=SIGNIFICANCE_LEVEL
    )
    ranks = {
        name: [int(low), int(high)]
        for name, low, high in zip(clusters.names, clusters.rank_low, clusters.rank_high, strict=True)
    }
    return ComputedStanding(challenge, ids, ranks, p, clusters.signature)


def _add_missing_tests(p: dict[str, float], ids: list[int], metric: str, progress: Progress) -> None:
    """Test each pair of submissions that ``p`` lacks, and add its p-value."""
    from quorum.statistics.significance import randomization_test

    @cache  # each submission's scores are read once
    def scores_of(submission: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        return image_scores(submission, metric)

    for row, later_id in enumerate(ids):
        progress(row / max(len(ids), 1), "comparing systems")
        for earlier_id in ids[:row]:
            key = _pair_key(earlier_id, later_id)
            if key not in p:
                seed = earlier_id * SEED_FACTOR + later_id
                test = randomization_test(
                    scores_of(earlier_id), scores_of(later_id), reassignments=REASSIGNMENTS, seed=seed
                )
                p[key] = test.p


def _pair_key(earlier_id: int, later_id: int) -> str:
    return f"{earlier_id}-{later_id}"


def store_standing(standing: ComputedStanding) -> None:
    """Store the ranks, and start another job if the leaderboard has changed since they were computed."""
    Standing.objects.update_or_create(
        challenge=standing.challenge,
        defaults={
            "of": standing.submission_ids,
            "ranks": standing.ranks,
            "p": standing.p,
            "signature": standing.signature,
            "made_at": timezone.now(),
        },
    )
    submissions = Submission.objects.on_leaderboard(standing.challenge).order_by("pk")
    if list(submissions.values_list("pk", flat=True)) != standing.submission_ids:
        enqueue(kind="rank_submissions", args={"challenge": standing.challenge.slug})
