"""Score submissions, and rank them by paired randomisation tests over images with Holm's correction.

Each process caches prepared references. A p-value of two submissions never changes, so it is computed once.
"""

from __future__ import annotations

import io
import json
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import Count, Max, QuerySet, Sum
from django.db.models.fields.json import KeyTransform
from django.utils import timezone

from common.errors import NotThere, WrongState
from evaluation.challenges.challenges import RANKABLE, find_challenge, hash_of, references_of
from evaluation.metrics.errors import MetricsError
from evaluation.metrics.registry import metric_named
from evaluation.metrics.scoring import PreparedReferences
from evaluation.models import Challenge, Standing, Submission, SubmissionContent
from evaluation.statistics.significance import bootstrap_interval
from judgments.jobs import Progress, enqueue

KEPT = 2  # challenges whose references a process keeps
RESAMPLES = 2000
# (hash of references, metrics, tokenizer) -> prepared references; row ids may be reused.
_PREPARED: dict[tuple[str, tuple[str, ...], str], PreparedReferences] = {}


@dataclass(frozen=True)
class Scored:
    submission_id: int
    challenge: str
    state: str
    reason: str = ""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    images: bytes = b""


def prepared_references(challenge: Challenge) -> PreparedReferences:
    """Return a challenge's prepared references.

    They are read and hashed at each call, so every process uses the current texts.

    Raises:
        WrongState: they changed since the challenge was made.
    """
    references = references_of(challenge.dataset, challenge.split)
    if hash_of(references) != challenge.references_sha256:
        raise WrongState(
            "The references of this challenge were changed after it was made, so that scores would not be comparable; "
            "its organisers must make a new one."
        )
    key = (challenge.references_sha256, tuple(challenge.metrics), challenge.tokenizer)
    found = _PREPARED.get(key)
    if found is None:
        found = PreparedReferences.of(list(references.values()), challenge.metrics, challenge.tokenizer)
        for old in list(_PREPARED)[: len(_PREPARED) - KEPT + 1]:
            _PREPARED.pop(old, None)
        _PREPARED[key] = found
    return found


def score_stored(*, submission_id: int, progress: Progress) -> Scored:
    content = (
        SubmissionContent.objects.select_related("submission__challenge__dataset")
        .filter(submission_id=submission_id)
        .first()
    )
    if content is None:
        raise NotThere(f"There is no submission {submission_id}.")
    challenge = content.submission.challenge
    progress(0.1, "preparing the references")
    try:
        prepared = prepared_references(challenge)
        captions: list[str] = json.loads(zlib.decompress(content.captions))
        progress(0.3, "scoring")
        result = prepared.score(captions)
    except (MetricsError, WrongState) as error:
        return Scored(submission_id, challenge.slug, Submission.State.FAILED, str(error)[:500])
    progress(0.7, "computing intervals")
    scores: dict[str, dict[str, float]] = {}
    for name, one in result.scores.items():
        scores[name] = {"corpus": one.corpus}
        if metric_named(name).statistics == RANKABLE and one.images.size > 1:
            interval = bootstrap_interval(one.images, resamples=RESAMPLES)
            scores[name] |= {"low": interval.low, "high": interval.high}
    packed = io.BytesIO()
    arrays: dict[str, Any] = {name: one.images for name, one in result.scores.items()}
    np.savez_compressed(packed, **arrays)
    return Scored(
        submission_id,
        challenge.slug,
        Submission.State.SCORED,
        scores=scores,
        signatures={name: one.signature for name, one in result.scores.items()},
        images=packed.getvalue(),
    )


def store_scores(scored: Scored) -> None:
    """Store scores in the job's transaction, and start a ranking job."""
    Submission.objects.filter(pk=scored.submission_id).update(
        state=scored.state,
        reason=scored.reason,
        scores=scored.scores,
        signatures=scored.signatures,
        scored_at=timezone.now(),
    )
    if scored.images:
        SubmissionContent.objects.filter(submission_id=scored.submission_id).update(images=scored.images)
        enqueue(kind="rank_submissions", args={"challenge": scored.challenge})


def image_scores(submission_id: int, metric: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return (images,) scores by one metric, for paired tests only."""
    packed = SubmissionContent.objects.values_list("images", flat=True).get(submission_id=submission_id)
    with np.load(io.BytesIO(bytes(packed or b"")), allow_pickle=False) as arrays:
        found: np.ndarray[Any, np.dtype[np.float64]] = arrays[metric]
    return found


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
    from evaluation.challenges.leaderboards import image_scores
    from evaluation.statistics.meta import clusters_of_p_values
    from evaluation.statistics.significance import randomization_test

    challenge = find_challenge(slug)
    metric = challenge.ranked_by
    shown = list(Submission.objects.on_leaderboard(challenge).order_by("pk").only("pk", "scores"))
    ids = [one.pk for one in shown]
    before = Standing.objects.filter(challenge=challenge).first()
    p: dict[str, float] = dict(before.p) if before is not None else {}
    arrays = {}
    table = np.full((len(ids), len(ids)), np.nan)
    for row, one in enumerate(ids):
        progress(row / max(len(ids), 1), "comparing systems")
        for column, two in enumerate(ids[:row]):
            key = f"{two}-{one}"
            if key not in p:
                for wanted in (one, two):
                    if wanted not in arrays:
                        arrays[wanted] = image_scores(wanted, metric)
                p[key] = randomization_test(
                    arrays[two], arrays[one], reassignments=REASSIGNMENTS, seed=two * 1_000_003 + one
                ).p
            table[row, column] = table[column, row] = p[key]
    if not ids:
        return ComputedStanding(challenge, [], {}, p, "")
    values = [one.scores[metric]["corpus"] for one in shown]
    found = clusters_of_p_values(values, table, names=ids, correction=CORRECTION, level=LEVEL)
    ranks = {
        name: [int(low), int(high)]
        for name, low, high in zip(found.names, found.rank_low, found.rank_high, strict=True)
    }
    return ComputedStanding(challenge, ids, ranks, p, found.signature)


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
        if standing is not None and _is_of(standing.of, shown, every):
            ranks = standing.ranks
    rows = []
    for one in shown:
        low, high = ranks.get(str(one.pk), (None, None))
        rows.append(Row(one, cells_of(challenge, one), low, high, one.user_id == user_id))
    return rows


def _is_of(compared: list[int], shown: list[Submission], every: QuerySet[Submission]) -> bool:
    if len(shown) < MOST_SHOWN:
        return sorted(compared) == sorted(one.pk for one in shown)
    # Compare count, sum and maximum; the ids are too many to fetch.
    found = every.aggregate(n=Count("pk"), all=Sum("pk"), last=Max("pk"))
    return found == {"n": len(compared), "all": sum(compared), "last": max(compared, default=None)}


def cells_of(challenge: Challenge, submission: Submission) -> list[Cell]:
    found = []
    for metric in challenge.metrics:
        figures = submission.scores.get(metric)
        if figures is not None:
            found.append(Cell(metric, figures["corpus"], figures.get("low"), figures.get("high")))
    return found
