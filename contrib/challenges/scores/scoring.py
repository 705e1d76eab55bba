"""Score a submission by the metrics of its challenge."""

from __future__ import annotations

import io
import json
import logging
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.utils import timezone

from common.errors import ObjectNotFound, WrongState
from contrib.challenges.models import Submission, SubmissionContent
from contrib.challenges.scores.references import prepared_references
from judgments.jobs.queues import enqueue
from judgments.jobs.runs import Progress

# The paired test compares means over images, so the leaderboard's score must be such a mean.
RANKED_STATISTIC = "mean over images"
RESAMPLES = 2000
# The reason is not shown, since an error message of a metric may quote a reference.
SCORING_FAILURE = "A metric could not be computed; the server's log has the reason for its organisers."
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScoredSubmission:
    """The outcome of scoring a submission, which is not stored yet.

    Attributes:
        challenge: slug of the challenge.
        state: "scored" or "failed".
        reason: why it could not be scored, or "".
        scores: for each metric, the score of the corpus, and the ends of its interval if it has one.
        signatures: the signature of each metric's score.
        images: npz with the scores of the images by metric; b"" if it could not be scored.
    """

    submission_id: int
    challenge: str
    state: str
    reason: str = ""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    images: bytes = b""


def compute_scores(*, submission_id: int, progress: Progress) -> ScoredSubmission:
    """Compute a submission's scores by all metrics of its challenge, without storing them."""
    from quorum.metrics.inputs import MetricsError
    from quorum.metrics.registry import metric_named
    from quorum.statistics.significance import bootstrap_interval

    content = (
        SubmissionContent.objects.select_related("submission__challenge__dataset")
        .filter(submission_id=submission_id)
        .first()
    )
    if content is None:
        raise ObjectNotFound(f"There is no submission {submission_id}.")
    challenge = content.submission.challenge
    progress(0.1, "preparing the references")
    try:
        references = prepared_references(challenge)
        captions: list[str] = json.loads(zlib.decompress(content.captions))
        progress(0.3, "scoring")
        result = references.score(captions)
    except MetricsError as error:
        log.warning("Submission %s could not be scored: %s", submission_id, error)
        return ScoredSubmission(submission_id, challenge.slug, Submission.State.FAILED, SCORING_FAILURE)
    except WrongState as error:  # the references have changed since the challenge was made
        return ScoredSubmission(submission_id, challenge.slug, Submission.State.FAILED, str(error)[:500])
    progress(0.7, "computing intervals")
    scores: dict[str, dict[str, float]] = {}
    for name, score in result.scores.items():
        scores[name] = {"corpus": score.corpus}
        if metric_named(name).statistics == RANKED_STATISTIC and score.images.size > 1:
            interval = bootstrap_interval(score.images, resamples=RESAMPLES)
            scores[name] |= {"low": interval.low, "high": interval.high}
    image_file = io.BytesIO()
    scores_by_image: dict[str, Any] = {name: score.images for name, score in result.scores.items()}
    np.savez_compressed(image_file, **scores_by_image)
    return ScoredSubmission(
        submission_id,
        challenge.slug,
        Submission.State.SCORED,
        scores=scores,
        signatures={name: score.signature for name, score in result.scores.items()},
        images=image_file.getvalue(),
    )


def store_scores(outcome: ScoredSubmission) -> None:
    """Store the outcome and, if there are scores, start a job that ranks the submissions to the challenge."""
    Submission.objects.filter(pk=outcome.submission_id).update(
        state=outcome.state,
        reason=outcome.reason,
        scores=outcome.scores,
        signatures=outcome.signatures,
        scored_at=timezone.now(),
    )
    if outcome.images:
        SubmissionContent.objects.filter(submission_id=outcome.submission_id).update(images=outcome.images)
        enqueue(kind="rank_submissions", args={"challenge": outcome.challenge})


def image_scores(submission_id: int, metric: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return each image's score by one metric, for paired tests only. Do not show them: they reveal references."""
    npz_bytes = SubmissionContent.objects.values_list("images", flat=True).get(submission_id=submission_id)
    with np.load(io.BytesIO(bytes(npz_bytes or b"")), allow_pickle=False) as arrays:
        scores: np.ndarray[Any, np.dtype[np.float64]] = arrays[metric]
    return scores
