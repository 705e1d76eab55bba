"""The leaderboard of a challenge: ranges of ranks by paired tests, and the rows that are shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import Count, Max, QuerySet, Sum
from django.db.models.fields.json import KeyTransform
from django.utils import timezone

from contrib.challenges.challenges import find_challenge
from contrib.challenges.models import Challenge, Standing, Submission
from contrib.challenges.scores.scoring import image_scores
from judgments.jobs.queues import enqueue
from judgments.jobs.runs import Progress

REASSIGNMENTS = 10_000  # random reassignments of a paired test
CORRECTION = "holm"  # of the p-values of all pairs
SIGNIFICANCE_LEVEL = 0.05
SEED_FACTOR = 1_000_003  # larger than ids are expected to be, so that each pair has a seed of its own
MAX_SHOWN_SYSTEMS = 1_000  # systems on a page of a leaderboard


@dataclass(frozen=True)
class ComputedStanding:
    """The ranks of a challenge.

    Attributes:
        submission_ids: the ids of the compared submissions.
        ranks: the lowest and the highest rank of each submission, by its id as text.
        p: p of the paired test of two submissions, by "earlier-later"; also of submissions that were removed.
    """

    challenge: Challenge
    submission_ids: list[int]
    ranks: dict[str, list[int]]
    p: dict[str, float]
    signature: str


def compute_standing(*, slug: str, progress: Progress) -> ComputedStanding:
    """Test each pair of submissions that was not tested before, and rank them."""
    # Imported lazily, since it is slow to load and not needed to show leaderboards.
    from quorum.statistics.meta import clusters_of_p_values

    challenge = find_challenge(slug)
    metric = challenge.ranked_by
    ranked_submissions = list(
        Submission.objects.on_leaderboard(challenge).order_by("pk").only("pk", "scores")
    )
    ids = [submission.pk for submission in ranked_submissions]
    old_standing = Standing.objects.filter(challenge=challenge).first()
    p = _add_tests(dict(old_standing.p) if old_standing is not None else {}, ids, metric, progress)
    if not ids:
        return ComputedStanding(challenge, [], {}, p, "")
    p_values = np.full((len(ids), len(ids)), np.nan)
    for row, later in enumerate(ids):
        for column, earlier in enumerate(ids[:row]):
            p_values[row, column] = p_values[column, row] = p[_pair_key(earlier, later)]
    corpus_scores = [submission.scores[metric]["corpus"] for submission in ranked_submissions]
    clusters = clusters_of_p_values(
        corpus_scores, p_values, names=ids, correction=CORRECTION, level=SIGNIFICANCE_LEVEL
    )
    ranks = {
        name: [int(low), int(high)]
        for name, low, high in zip(clusters.names, clusters.rank_low, clusters.rank_high, strict=True)
    }
    return ComputedStanding(challenge, ids, ranks, p, clusters.signature)


def _add_tests(p: dict[str, float], ids: list[int], metric: str, progress: Progress) -> dict[str, float]:
    """Test each pair of submissions that ``p`` lacks, add its p-value, and return ``p``.

    The seed of a test depends only on its pair.
    """
    from quorum.statistics.significance import randomization_test

    loaded_scores: dict[int, np.ndarray[Any, np.dtype[np.float64]]] = {}  # by submission
    for row, later in enumerate(ids):
        progress(row / max(len(ids), 1), "comparing systems")
        for earlier in ids[:row]:
            key = _pair_key(earlier, later)
            if key in p:
                continue
            for pk in (earlier, later):
                if pk not in loaded_scores:
                    loaded_scores[pk] = image_scores(pk, metric)
            seed = earlier * SEED_FACTOR + later
            p[key] = randomization_test(
                loaded_scores[earlier], loaded_scores[later], reassignments=REASSIGNMENTS, seed=seed
            ).p
    return p


def _pair_key(earlier: int, later: int) -> str:
    return f"{earlier}-{later}"


def store_standing(computed: ComputedStanding) -> None:
    """Store the ranks in the job's transaction. Start another job if the leaderboard changed meanwhile."""
    Standing.objects.update_or_create(
        challenge=computed.challenge,
        defaults={
            "of": computed.submission_ids,
            "ranks": computed.ranks,
            "p": computed.p,
            "signature": computed.signature,
            "made_at": timezone.now(),
        },
    )
    submissions = Submission.objects.on_leaderboard(computed.challenge).order_by("pk")
    if list(submissions.values_list("pk", flat=True)) != computed.submission_ids:
        enqueue(kind="rank_submissions", args={"challenge": computed.challenge.slug})


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """The corpus score by a metric, with its interval if there is one."""

    metric: str
    corpus: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """A row of the leaderboard.

    Attributes:
        rank_low, rank_high: the best and the worst rank that the tests leave open; None until ranks are computed.
        is_own: whether the submission is by the account that reads the leaderboard.
    """

    submission: Submission
    cells: list[ScoreCell]
    rank_low: int | None
    rank_high: int | None
    is_own: bool


def leaderboard(*, challenge: Challenge, user_id: int | None, now: datetime) -> list[LeaderboardRow]:
    """Return the rows of the leaderboard, best first; [] while scores are hidden."""
    if not challenge.shows_scores_at(now):
        return []
    all_submissions = Submission.objects.on_leaderboard(challenge)
    corpus = KeyTransform("corpus", KeyTransform(challenge.ranked_by, "scores"))
    shown_submissions = list(all_submissions.order_by(corpus.desc(), "pk")[:MAX_SHOWN_SYSTEMS])
    ranks: dict[str, Any] = {}
    if shown_submissions:
        standing = Standing.objects.filter(challenge=challenge).first()
        # Ranks depend on all submissions, so they are shown only if they were computed from the current ones.
        if standing is not None and _compares_all(standing.of, shown_submissions, all_submissions):
            ranks = standing.ranks
    rows = []
    for submission in shown_submissions:
        rank_low, rank_high = ranks.get(str(submission.pk), (None, None))
        cells, is_own = score_cells_of(challenge, submission), submission.user_id == user_id
        rows.append(LeaderboardRow(submission, cells, rank_low, rank_high, is_own=is_own))
    return rows


def _compares_all(ids: list[int], shown: list[Submission], submissions: QuerySet[Submission]) -> bool:
    """Return whether these are the ids of all submissions, of which ``shown`` are the first."""
    if len(shown) < MAX_SHOWN_SYSTEMS:
        return sorted(ids) == sorted(submission.pk for submission in shown)
    # Compare number, sum and maximum of the ids, which are too many to fetch.
    totals = submissions.aggregate(n=Count("pk"), all=Sum("pk"), last=Max("pk"))
    return totals == {"n": len(ids), "all": sum(ids), "last": max(ids, default=None)}


def score_cells_of(challenge: Challenge, submission: Submission) -> list[ScoreCell]:
    """Return a submission's scores in the order of the challenge's metrics. Metrics without a score are left out."""
    cells = []
    for metric in challenge.metrics:
        score = submission.scores.get(metric)
        if score is not None:
            cells.append(ScoreCell(metric, score["corpus"], score.get("low"), score.get("high")))
    return cells
