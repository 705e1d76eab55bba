"""The scores of a submission. The references of a challenge are prepared once in a process, then kept."""

from __future__ import annotations

import io
import json
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from django.utils import timezone

from evaluation.metrics.errors import MetricsError
from evaluation.metrics.prepared import PreparedReferences
from evaluation.metrics.registry import metric_named
from evaluation.models import Challenge, Submission, SubmissionContent
from evaluation.services.challenges import RANKABLE, hash_of, references_of
from evaluation.statistics.sample_intervals import bootstrap_interval
from judgments.errors import NotThere, WrongState
from judgments.jobs import Progress, enqueue

KEPT = 2  # challenges whose references a process keeps
RESAMPLES = 2000


@dataclass(frozen=True)
class Scored:
    """What came of a submission."""

    submission_id: int
    challenge: str
    state: str
    reason: str = ""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    images: bytes = b""


@lru_cache(maxsize=KEPT)
def prepared_references(challenge_id: int, references_sha256: str) -> PreparedReferences:
    """The references of a challenge, ready to be scored against.

    Raises:
        WrongState: they are not what they were when the challenge was made.
    """
    challenge = Challenge.objects.select_related("dataset").get(pk=challenge_id)
    references = references_of(challenge.dataset, challenge.split)
    if hash_of(references) != references_sha256:
        raise WrongState(
            "The references of this challenge were changed after it was made, so that scores would not be comparable; "
            "its organisers must make a new one."
        )
    return PreparedReferences.of(list(references.values()), challenge.metrics, challenge.tokenizer)


def score_stored(*, submission_id: int, progress: Progress) -> Scored:
    """Score the captions of a submission; nothing is written.

    Raises:
        NotThere: there is no such submission.
    """
    content = (
        SubmissionContent.objects.select_related("submission__challenge")
        .filter(submission_id=submission_id)
        .first()
    )
    if content is None:
        raise NotThere(f"There is no submission {submission_id}.")
    challenge = content.submission.challenge
    progress(0.1, "preparing the references")
    try:
        prepared = prepared_references(challenge.pk, challenge.references_sha256)
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
    """Write them down within the job's transaction, and ask for the ranks that follow."""
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
    """(images,) the scores of one metric, for comparing systems; no page shows them."""
    packed = SubmissionContent.objects.values_list("images", flat=True).get(submission_id=submission_id)
    with np.load(io.BytesIO(bytes(packed or b"")), allow_pickle=False) as arrays:
        found: np.ndarray[Any, np.dtype[np.float64]] = arrays[metric]
    return found
