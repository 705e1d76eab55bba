"""Create, change and close challenges, with a log."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from common.audit import acting_person
from common.errors import NotThere, WrongState
from evaluation.errors import ChallengeError, as_sentence
from evaluation.models import Challenge, ChallengeEvent, Submission
from judgments.jobs import enqueue
from judgments.models import Caption, Dataset

# The paired test compares means over images, so the leaderboard's score must be one.
RANKABLE = "mean over images"


def find_challenge(slug: str) -> Challenge:
    challenge = Challenge.objects.filter(slug=slug).first()
    if challenge is None:
        raise NotThere(f"There is no challenge {slug!r}.")
    return challenge


def _reference_rows(dataset: Dataset, split: str) -> QuerySet[Caption]:
    rows = Caption.objects.filter(item__dataset=dataset, role=Caption.Role.REFERENCE)
    return rows.filter(item__split=split) if split else rows


def references_of(dataset: Dataset, split: str) -> dict[str, list[str]]:
    """Return image -> references in scoring order, omitting images without any."""
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


def check_metrics(metrics: Sequence[str], tokenizer: str) -> None:
    """Raise ChallengeError for unfit metrics or tokenizer."""
    # Imported lazily: the metrics load a compiler.
    from evaluation.metrics import scoring
    from evaluation.metrics.errors import MetricsError, UnknownName
    from evaluation.metrics.registry import metric_named
    from evaluation.metrics.text.tokens import tokenizer_named

    if not isinstance(metrics, list) or not metrics or not all(isinstance(name, str) for name in metrics):
        raise ChallengeError("A challenge has a list of one metric or more.", field="metrics")
    if len(set(metrics)) != len(metrics):
        raise ChallengeError("A metric is named twice; expected each once.", field="metrics")
    try:
        scoring.check_metrics(metrics)
    except UnknownName as error:
        raise ChallengeError(f"There is an {error}.", field="metrics") from None
    except MetricsError as error:
        raise ChallengeError(as_sentence(error), field="metrics") from None
    try:
        tokenizer_named(tokenizer)
    except UnknownName as error:
        raise ChallengeError(f"There is an {error}.", field="tokenizer") from None
    if metric_named(metrics[0]).statistics != RANKABLE:
        raise ChallengeError(
            f"The leaderboard cannot be ordered by {metrics[0]}: its figure is no mean over images, which the "
            "paired test compares; put another metric first, such as cider-d.",
            field="metrics",
        )


def make_challenge(*, challenge: Challenge, by: User | None = None) -> Challenge:
    """Store a new challenge with the hash of its references. Raise ChallengeError."""
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
    """Keep it from being shared and studied meanwhile (judgments.access.roles.refuse_other_readers)."""
    Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)


def check_challenge(challenge: Challenge) -> None:
    """Raise ChallengeError if its settings are unfit, or others than the dataset's members read the references."""
    check_metrics(challenge.metrics, challenge.tokenizer)
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
            f"Study {study.slug!r} shows captions of dataset {dataset.name!r} to its members and workers; expected a "
            "dataset without studies, such as the hidden split imported alone.",
            field="dataset",
        )


def change_challenge(*, challenge: Challenge, fields: Sequence[str], by: User | None = None) -> None:
    """Store changed words, times and limits; scoring settings are fixed."""
    if not fields:
        return
    with transaction.atomic():
        _lock(challenge.dataset)
        check_challenge(challenge)
        challenge.save(update_fields=list(fields))
        note_challenge(challenge=challenge, what="changed", text=f"Changed: {', '.join(fields)}.", by=by)


def close_challenge(*, challenge: Challenge, why: str, by: User | None = None) -> None:
    """Stop accepting captions. Raise ChallengeError without a reason, WrongState unless open."""
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
    """Take a submission off the leaderboard; it still counts against its author's limits."""
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
