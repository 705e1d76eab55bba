"""Create, change, score, rank and close challenges. Each change is logged."""

from __future__ import annotations

import io
import json
import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, DateTimeField, Max, QuerySet, Sum
from django.db.models.fields.json import KeyTransform
from django.utils import timezone
from django.utils.translation import gettext

from common.audit import acting_person
from common.errors import ObjectNotFound, WrongState
from common.rows.prepared import PreparedQuery, query_parameter
from contrib.challenges.errors import ChallengeError
from contrib.challenges.models import Challenge, ChallengeEvent, Standing, Submission, SubmissionContent
from evaluation.errors import as_sentence
from judgments.jobs.queues import enqueue
from judgments.jobs.runs import Progress
from judgments.models import Caption, Dataset

if TYPE_CHECKING:
    from quorum.metrics.registry import PreparedReferences

# The paired test compares means over images, so the leaderboard's score must be such a mean.
RANKED_STATISTIC = "mean over images"
REASSIGNMENTS = 10_000
CORRECTION, LEVEL = "holm", 0.05
MAX_SHOWN = 1_000  # systems on a page of a leaderboard
log = logging.getLogger(__name__)
CACHED_CHALLENGES = 2  # number of challenges whose references a process keeps in memory
RESAMPLES = 2000
# The reason is not shown, since an error message of a metric may quote a reference.
SCORING_FAILURE = "A metric could not be computed; the server's log has the reason for its organisers."
# Prepared references by (hash of the references, metrics, tokenizer), not by row id, which may be reused.
_PREPARED_REFERENCES: dict[tuple[str, tuple[str, ...], str], PreparedReferences] = {}


def find_challenge(slug: str) -> Challenge:
    challenge = Challenge.objects.filter(slug=slug).first()
    if challenge is None:
        raise ObjectNotFound(f"There is no challenge {slug!r}.")
    return challenge


def _reference_rows(dataset: Dataset, split: str) -> QuerySet[Caption]:
    rows = Caption.objects.filter(item__dataset=dataset, role=Caption.Role.REFERENCE)
    return rows.filter(item__split=split) if split else rows


def references_of(dataset: Dataset, split: str) -> dict[str, list[str]]:
    """Return the references by image in scoring order. Images without references are left out."""
    references: dict[str, list[str]] = {}
    ordered = _reference_rows(dataset, split).order_by("item__position", "item_id", "position", "id")
    for name, text in ordered.values_list("item__name", "text").iterator(chunk_size=10_000):
        references.setdefault(name, []).append(text)
    return references


def image_names(challenge: Challenge) -> list[str]:
    rows = challenge.dataset.items.filter(references__role=Caption.Role.REFERENCE)
    if challenge.split:
        rows = rows.filter(split=challenge.split)
    names = list(rows.order_by("position", "pk").distinct().values_list("name", flat=True))
    return list(dict.fromkeys(names))


def hash_of(references: dict[str, list[str]]) -> str:
    digest = sha256()
    for image, texts in references.items():
        for text in (image, *texts):
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(f"{len(encoded)}:".encode() + encoded)
        digest.update(b";")
    return digest.hexdigest()


def check_challenge_metrics(metrics: Sequence[str], tokenizer: str) -> None:
    """Raise ChallengeError if a challenge cannot use the metrics or the tokenizer."""
    # Imported lazily, since the metrics load a compiler.
    from quorum.metrics import registry
    from quorum.metrics.inputs import MetricsError, UnknownName
    from quorum.metrics.registry import metric_named
    from quorum.metrics.text.tokenizers import tokenizer_named

    if not isinstance(metrics, list) or not metrics or not all(isinstance(name, str) for name in metrics):
        raise ChallengeError("A challenge has a list of one metric or more.", field="metrics")
    if len(set(metrics)) != len(metrics):
        raise ChallengeError("A metric is named twice; expected each once.", field="metrics")
    try:
        registry.check_metrics(metrics)
    except UnknownName as error:
        raise ChallengeError(f"There is an {error}.", field="metrics") from None
    except MetricsError as error:
        raise ChallengeError(as_sentence(error), field="metrics") from None
    try:
        tokenizer_named(tokenizer)
    except UnknownName as error:
        raise ChallengeError(f"There is an {error}.", field="tokenizer") from None
    if metric_named(metrics[0]).statistics != RANKED_STATISTIC:
        raise ChallengeError(
            f"The leaderboard cannot be ordered by {metrics[0]}: its figure is no mean over images, which the "
            "paired test compares; put another metric first, such as cider-d.",
            field="metrics",
        )


def make_challenge(*, challenge: Challenge, by: User | None = None) -> Challenge:
    """Store a new challenge with the hash of its references. Raise ChallengeError if the challenge is invalid."""
    with transaction.atomic():
        _lock(challenge.dataset)
        check_challenge(challenge)
        references = references_of(challenge.dataset, challenge.split)
        challenge.images = len(references)
        challenge.references_sha256 = hash_of(references)
        challenge.made_by = by
        challenge.save(force_insert=True)
        note_challenge(challenge=challenge, what="made", text=f"Made with {challenge.images} images.", by=by)
    return challenge


def _lock(dataset: Dataset) -> None:
    """Lock the dataset, so that it cannot be shared or get new studies (``judgments.models.datasets.pre_share``)."""
    Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)


_NOT_OVER: PreparedQuery[Any] = PreparedQuery(
    lambda: Challenge.objects.filter(dataset=query_parameter("dataset")).exclude(
        closes_at__lte=query_parameter("now", DateTimeField())
    )
)


def keep_references_hidden(dataset: Dataset, **_signal: Any) -> None:
    """Raise WrongState if the dataset has the hidden references of a challenge that is not over.

    This is a receiver of ``pre_share``. The sender has locked the dataset.
    """
    challenge = _NOT_OVER.first(dataset=dataset.pk, now=timezone.now())
    if challenge is not None:
        raise WrongState(
            gettext("Only members of dataset %(name)r can read the dataset until challenge %(slug)r ends.")
            % {"name": dataset.name, "slug": challenge.slug}
        )


def check_challenge(challenge: Challenge) -> None:
    """Raise ChallengeError if the settings are invalid, or if people who are not members can read the references."""
    check_challenge_metrics(challenge.metrics, challenge.tokenizer)
    if not challenge.is_over_at(timezone.now()):
        _check_readers(Dataset.objects.get(pk=challenge.dataset_id))
    if challenge.closes_at is not None and challenge.closes_at < challenge.opens_at:
        raise ChallengeError("The challenge closes before it opens.", field="closes_at")
    if not _reference_rows(challenge.dataset, challenge.split).exists():
        raise ChallengeError(
            f"Dataset {challenge.dataset.name!r} has no references in the split {challenge.split!r}.",
            field="split",
        )


def _check_readers(dataset: Dataset) -> None:
    if dataset.sharing != Dataset.Sharing.MEMBERS:
        raise ChallengeError(
            f"Dataset {dataset.name!r} is open to {dataset.get_sharing_display()}; expected one that its members alone "
            "read.",
            field="dataset",
        )
    study = dataset.studies.first()
    if study is not None:
        raise ChallengeError(
            f"Study {study.slug!r} shows captions of dataset {dataset.name!r} to its members and participants; "
            "expected a dataset without studies, such as the hidden split imported alone.",
            field="dataset",
        )


def change_challenge(*, challenge: Challenge, fields: Sequence[str], by: User | None = None) -> None:
    """Store changed texts, times and limits. Settings that affect scores cannot be changed."""
    if not fields:
        return
    with transaction.atomic():
        _lock(challenge.dataset)
        check_challenge(challenge)
        challenge.save(update_fields=list(fields))
        note_challenge(challenge=challenge, what="changed", text=f"Changed: {', '.join(fields)}.", by=by)


def close_challenge(*, challenge: Challenge, why: str, by: User | None = None) -> None:
    """Close a challenge to further submissions.

    Raises:
        ChallengeError: no reason is given.
        WrongState: the challenge is not open.
    """
    if not why.strip():
        raise ChallengeError("Say why the challenge is closed.", field="why")
    now = timezone.now()
    with transaction.atomic():
        still_open = Challenge.objects.filter(pk=challenge.pk, opens_at__lte=now).exclude(closes_at__lte=now)
        if not still_open.update(closes_at=now):
            raise WrongState(f"The challenge {challenge.slug!r} is not open.")
        note_challenge(challenge=challenge, what="closed", text="Closed.", why=why, by=by)
    challenge.refresh_from_db()


def remove_submission(*, submission: Submission, why: str, by: User | None = None) -> None:
    """Remove a submission from the leaderboard. It still counts towards its author's limits."""
    if not why.strip():
        raise ChallengeError("Say why the submission is removed.", field="why")
    with transaction.atomic():
        changed = Submission.objects.filter(pk=submission.pk, removed_at__isnull=True).update(
            removed_at=timezone.now(), removed_why=why.strip()[:500]
        )
        if not changed:
            raise WrongState("The submission was removed already.")
        note_challenge(
            challenge=submission.challenge,
            what="submission-removed",
            text=f"Submission {submission.pk} ({submission.system}) was removed.",
            why=why,
            by=by,
        )
        enqueue(kind="rank_submissions", args={"challenge": submission.challenge.slug})


def note_challenge(
    *, challenge: Challenge, what: str, text: str, why: str = "", by: User | None = None
) -> None:
    ChallengeEvent.objects.create(
        challenge=challenge, what=what, words=text[:1000], why=why.strip()[:500], by=by or acting_person()
    )


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
    """A row of the leaderboard. ``low`` and ``high`` are None until ranks are computed."""

    submission: Submission
    cells: list[Cell]
    low: int | None
    high: int | None
    own: bool


def compute_standing(*, slug: str, progress: Progress) -> ComputedStanding:
    # Imported lazily, since it is slow to load and not needed to show leaderboards.
    from quorum.statistics.meta import clusters_of_p_values
    from quorum.statistics.significance import randomization_test

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
    """Store the ranks in the job's transaction. Start another job if the leaderboard changed meanwhile."""
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
    """Return the rows of the leaderboard, best first; [] while scores are hidden."""
    if not challenge.shows_scores_at(now):
        return []
    every = Submission.objects.on_leaderboard(challenge)
    corpus = KeyTransform("corpus", KeyTransform(challenge.ranked_by, "scores"))
    shown = list(every.order_by(corpus.desc(), "pk")[:MAX_SHOWN])
    ranks: dict[str, Any] = {}
    if shown:
        standing = Standing.objects.filter(challenge=challenge).first()
        # Ranks depend on all submissions, so they are shown only if they were computed from the current ones.
        if standing is not None and _compares_all(standing.of, shown, every):
            ranks = standing.ranks
    rows = []
    for submission in shown:
        low, high = ranks.get(str(submission.pk), (None, None))
        is_own = submission.user_id == user_id
        rows.append(Row(submission, score_cells_of(challenge, submission), low, high, is_own))
    return rows


def _compares_all(compared: list[int], shown: list[Submission], every: QuerySet[Submission]) -> bool:
    if len(shown) < MAX_SHOWN:
        return sorted(compared) == sorted(submission.pk for submission in shown)
    # Compare number, sum and maximum of the ids, which are too many to fetch.
    totals = every.aggregate(n=Count("pk"), all=Sum("pk"), last=Max("pk"))
    return totals == {"n": len(compared), "all": sum(compared), "last": max(compared, default=None)}


def score_cells_of(challenge: Challenge, submission: Submission) -> list[Cell]:
    cells = []
    for metric in challenge.metrics:
        figures = submission.scores.get(metric)
        if figures is not None:
            cells.append(Cell(metric, figures["corpus"], figures.get("low"), figures.get("high")))
    return cells


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

    They are read and hashed at each call, so that every process uses the current texts.

    Raises:
        WrongState: the references have changed since the challenge was created.
    """
    from quorum.metrics.registry import PreparedReferences

    references = references_of(challenge.dataset, challenge.split)
    if hash_of(references) != challenge.references_sha256:
        raise WrongState(
            "The references of this challenge were changed after it was made, so that scores would not be comparable; "
            "its organisers must make a new one."
        )
    key = (challenge.references_sha256, tuple(challenge.metrics), challenge.tokenizer)
    prepared = _PREPARED_REFERENCES.get(key)
    if prepared is None:
        prepared = PreparedReferences.from_references(
            list(references.values()), challenge.metrics, challenge.tokenizer
        )
        for old in list(_PREPARED_REFERENCES)[: len(_PREPARED_REFERENCES) - CACHED_CHALLENGES + 1]:
            _PREPARED_REFERENCES.pop(old, None)
        _PREPARED_REFERENCES[key] = prepared
    return prepared


def compute_scores(*, submission_id: int, progress: Progress) -> ScoredSubmission:
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
        prepared = prepared_references(challenge)
        captions: list[str] = json.loads(zlib.decompress(content.captions))
        progress(0.3, "scoring")
        result = prepared.score(captions)
    except MetricsError as error:
        log.warning("Submission %s could not be scored: %s", submission_id, error)
        return ScoredSubmission(submission_id, challenge.slug, Submission.State.FAILED, SCORING_FAILURE)
    except WrongState as error:
        return ScoredSubmission(submission_id, challenge.slug, Submission.State.FAILED, str(error)[:500])
    progress(0.7, "computing intervals")
    scores: dict[str, dict[str, float]] = {}
    for name, score in result.scores.items():
        scores[name] = {"corpus": score.corpus}
        if metric_named(name).statistics == RANKED_STATISTIC and score.images.size > 1:
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
    """Store scores in the job's transaction, and start a job that ranks."""
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
    """Return the scores of each image by one metric. Use them only for paired tests."""
    packed = SubmissionContent.objects.values_list("images", flat=True).get(submission_id=submission_id)
    with np.load(io.BytesIO(bytes(packed or b"")), allow_pickle=False) as arrays:
        scores: np.ndarray[Any, np.dtype[np.float64]] = arrays[metric]
    return scores
