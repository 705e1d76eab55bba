"""Score submissions. Each process caches prepared references."""

from __future__ import annotations

import io
import json
import logging
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.utils import timezone

from common.errors import NotThere, WrongState
from evaluation.metrics.errors import MetricsError
from evaluation.metrics.registry import metric_named
from evaluation.metrics.scoring import PreparedReferences
from evaluation.models import Challenge, Submission, SubmissionContent
from evaluation.results.challenges.challenges import RANKABLE, hash_of, references_of
from evaluation.statistics.significance import bootstrap_interval
from judgments.jobs import Progress, enqueue

log = logging.getLogger(__name__)
CACHED_CHALLENGES = 2  # challenges whose references a process keeps
RESAMPLES = 2000
# A metric's own words may quote a reference.
UNSCORED = "A metric could not be computed; the server's log has the reason for its organisers."
# (hash of references, metrics, tokenizer) -> prepared references; row ids may be reused.
_PREPARED: dict[tuple[str, tuple[str, ...], str], PreparedReferences] = {}


@dataclass(frozen=True)
class ScoredSubmission:
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
    prepared = _PREPARED.get(key)
    if prepared is None:
        prepared = PreparedReferences.of(list(references.values()), challenge.metrics, challenge.tokenizer)
        for old in list(_PREPARED)[: len(_PREPARED) - CACHED_CHALLENGES + 1]:
            _PREPARED.pop(old, None)
        _PREPARED[key] = prepared
    return prepared


def compute_scores(*, submission_id: int, progress: Progress) -> ScoredSubmission:
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
    except MetricsError as error:
        log.warning("Submission %s could not be scored: %s", submission_id, error)
        return ScoredSubmission(submission_id, challenge.slug, Submission.State.FAILED, UNSCORED)
    except WrongState as error:
        return ScoredSubmission(submission_id, challenge.slug, Submission.State.FAILED, str(error)[:500])
    progress(0.7, "computing intervals")
    scores: dict[str, dict[str, float]] = {}
    for name, score in result.scores.items():
        scores[name] = {"corpus": score.corpus}
        if metric_named(name).statistics == RANKABLE and score.images.size > 1:
            interval = bootstrap_interval(score.images, resamples=RESAMPLES)
            scores[name] |= {"low": interval.low, "high": interval.high}
    packed = io.BytesIO()
    arrays: dict[str, Any] = {name: score.images for name, score in result.scores.items()}
    np.savez_compressed(packed, **arrays)
    return ScoredSubmission(
        submission_id,
        challenge.slug,
        Submission.State.SCORED,
        scores=scores,
        signatures={name: score.signature for name, score in result.scores.items()},
        images=packed.getvalue(),
    )


def store_scores(scored: ScoredSubmission) -> None:
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
        scores: np.ndarray[Any, np.dtype[np.float64]] = arrays[metric]
    return scores
