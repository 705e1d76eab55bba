"""Create, change and close challenges, and remove submissions. Each change is logged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import DateTimeField
from django.utils import timezone
from django.utils.translation import gettext

from common.audit import acting_person
from common.errors import ObjectNotFound, WrongState
from common.rows.prepared import PreparedQuery, query_parameter
from contrib.challenges.errors import ChallengeError
from contrib.challenges.models import Challenge, ChallengeEvent, Submission
from contrib.challenges.scores.references import hash_references, reference_rows, references_of
from contrib.challenges.scores.scoring import RANKED_STATISTIC
from evaluation.errors import as_sentence
from judgments.jobs.queues import enqueue
from judgments.models import Dataset


def find_challenge(slug: str) -> Challenge:
    challenge = Challenge.objects.filter(slug=slug).first()
    if challenge is None:
        raise ObjectNotFound(f"There is no challenge {slug!r}.")
    return challenge


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
        _lock_dataset(challenge.dataset)
        check_challenge(challenge)
        references = references_of(challenge.dataset, challenge.split)
        challenge.images = len(references)
        challenge.references_sha256 = hash_references(references)
        challenge.made_by = by
        challenge.save(force_insert=True)
        log_challenge_event(
            challenge=challenge, what="made", text=f"Made with {challenge.images} images.", by=by
        )
    return challenge


def _lock_dataset(dataset: Dataset) -> None:
    """Lock the dataset, so that it cannot be shared or get new studies (``judgments.models.datasets.pre_share``)."""
    Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)


# the challenges of a dataset that are not over
_CURRENT_CHALLENGES: PreparedQuery[Any] = PreparedQuery(
    lambda: Challenge.objects.filter(dataset=query_parameter("dataset")).exclude(
        closes_at__lte=query_parameter("now", DateTimeField())
    )
)


def keep_references_hidden(dataset: Dataset, **_signal: Any) -> None:
    """Raise WrongState if the dataset has the hidden references of a challenge that is not over.

    This is a receiver of ``pre_share``. The sender has locked the dataset.
    """
    challenge = _CURRENT_CHALLENGES.first(dataset=dataset.pk, now=timezone.now())
    if challenge is not None:
        raise WrongState(
            gettext("Only members of dataset %(name)r can read the dataset until challenge %(slug)r ends.")
            % {"name": dataset.name, "slug": challenge.slug}
        )


def check_challenge(challenge: Challenge) -> None:
    """Raise ChallengeError if the settings are invalid, or if others than the dataset's members may see references."""
    check_challenge_metrics(challenge.metrics, challenge.tokenizer)
    if not challenge.is_over_at(timezone.now()):
        _check_readers(Dataset.objects.get(pk=challenge.dataset_id))
    if challenge.closes_at is not None and challenge.closes_at < challenge.opens_at:
        raise ChallengeError("The challenge closes before it opens.", field="closes_at")
    if not reference_rows(challenge.dataset, challenge.split).exists():
        raise ChallengeError(
            f"Dataset {challenge.dataset.name!r} has no references in the split {challenge.split!r}.",
            field="split",
        )


def _check_readers(dataset: Dataset) -> None:
    """Raise ChallengeError if others than the dataset's members can read its references."""
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
    """Store the changed ``fields``. The caller's form offers only texts, times and limits, which affect no score."""
    if not fields:
        return
    with transaction.atomic():
        _lock_dataset(challenge.dataset)
        check_challenge(challenge)
        challenge.save(update_fields=list(fields))
        log_challenge_event(challenge=challenge, what="changed", text=f"Changed: {', '.join(fields)}.", by=by)


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
        rows = Challenge.objects.filter(pk=challenge.pk, opens_at__lte=now).exclude(closes_at__lte=now)
        if not rows.update(closes_at=now):
            raise WrongState(f"The challenge {challenge.slug!r} is not open.")
        log_challenge_event(challenge=challenge, what="closed", text="Closed.", why=why, by=by)
    challenge.refresh_from_db()


def remove_submission(*, submission: Submission, why: str, by: User | None = None) -> None:
    """Remove a submission from the leaderboard. It still counts towards its author's limits."""
    if not why.strip():
        raise ChallengeError("Say why the submission is removed.", field="why")
    with transaction.atomic():
        removed_count = Submission.objects.filter(pk=submission.pk, removed_at__isnull=True).update(
            removed_at=timezone.now(), removed_why=why.strip()[:500]
        )
        if not removed_count:
            raise WrongState("The submission was removed already.")
        log_challenge_event(
            challenge=submission.challenge,
            what="submission-removed",
            text=f"Submission {submission.pk} ({submission.system}) was removed.",
            why=why,
            by=by,
        )
        enqueue(kind="rank_submissions", args={"challenge": submission.challenge.slug})


def log_challenge_event(
    *, challenge: Challenge, what: str, text: str, why: str = "", by: User | None = None
) -> None:
    """Add an entry to the challenge's log.

    Args:
        what: name of the change, for programs.
        text: the change in a sentence, for people.
        why: the reason that a person gave.
    """
    # The columns can hold 1000 and 500 characters.
    ChallengeEvent.objects.create(
        challenge=challenge, what=what, words=text[:1000], why=why.strip()[:500], by=by or acting_person()
    )
