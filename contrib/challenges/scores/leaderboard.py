"""The rows of a challenge's leaderboard: submissions with their scores and ranks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, QuerySet, Sum
from django.db.models.fields.json import KeyTransform

from contrib.challenges.models import Challenge, Standing, Submission

MAX_SHOWN_SYSTEMS = 1_000  # systems on a page of a leaderboard


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


def leaderboard_rows(*, challenge: Challenge, user_id: int | None, now: datetime) -> list[LeaderboardRow]:
    """Return the rows of the leaderboard, best first; [] while scores are hidden."""
    if not challenge.shows_scores_at(now):
        return []
    all_submissions = Submission.objects.on_leaderboard(challenge)
    # scores[metric]["corpus"] in SQL. A metric's name can have characters that a lookup such as scores__x cannot.
    corpus = KeyTransform("corpus", KeyTransform(challenge.ranked_by, "scores"))
    shown_submissions = list(all_submissions.order_by(corpus.desc(), "pk")[:MAX_SHOWN_SYSTEMS])
    ranks: dict[str, Any] = {}  # by submission's id as text, [the best, the worst] rank
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


def _compares_all(ids: list[int], page: list[Submission], submissions: QuerySet[Submission]) -> bool:
    """Return whether ``ids`` are those of all ``submissions``, of which those on ``page`` are the first."""
    if len(page) < MAX_SHOWN_SYSTEMS:
        return sorted(ids) == sorted(submission.pk for submission in page)
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
