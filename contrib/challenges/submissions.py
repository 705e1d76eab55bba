"""Accept submissions to a challenge: check the limits of the account, number the submission and store its captions."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC
from hashlib import sha256

from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from common.errors import WrongState
from common.incoming import MAX_REQUEST_BYTES
from common.rate_limits import TooManyAttempts
from contrib.challenges.caption_files import read_captions
from contrib.challenges.errors import LimitReached, SubmissionRefused
from contrib.challenges.models import Challenge, Submission, SubmissionContent
from contrib.challenges.scores.references import image_names
from judgments.datasets import uploads
from judgments.jobs.queues import enqueue
from judgments.models import Dataset, Job

SUBMIT_JOB_KIND = "submit_captions"
MAX_TRIES = 20  # number of tries to number a submission while other uploads of the account take numbers


@dataclass(frozen=True, slots=True)
class SubmissionDetails:
    """What the authors of a submission say about it.

    Attributes:
        team: names of the authors.
        link: address of a paper or a page about the system.
        public: whether the submission is shown on the leaderboard.
    """

    system: str
    team: str
    description: str = ""
    link: str = ""
    public: bool = True


@dataclass(frozen=True, slots=True)
class RemainingSubmissions:
    """The number of submissions that an account may still make."""

    today: int
    in_total: int


def remaining_submissions(*, challenge: Challenge, user: User) -> RemainingSubmissions:
    submissions = Submission.objects.filter(challenge=challenge, user=user)
    of_today = Q(day=timezone.now().astimezone(UTC).date())
    counts = submissions.aggregate(today=Count("pk", filter=of_today), in_total=Count("pk"))
    return RemainingSubmissions(
        max(challenge.per_day - counts["today"], 0), max(challenge.per_total - counts["in_total"], 0)
    )


def submit_upload(
    *, challenge: Challenge, user: User, details: SubmissionDetails, file: UploadedFile
) -> tuple[Submission | Job, bool]:
    """Submit a file as `submit_caption_file` does. For a larger file, start a job that reads it.

    Return the submission or the job, and whether it is new.
    """
    if (file.size or 0) <= MAX_REQUEST_BYTES:
        return submit_caption_file(challenge=challenge, user=user, details=details, chunks=file.chunks())
    _check_author(challenge, user, details)  # not checked again by the job: the time of the upload counts
    file.name = "captions.json"  # instead of the author's name for it, which can be any text
    upload = uploads.store_upload([file])
    try:
        args = {"upload": upload, "challenge": challenge.slug, "about": asdict(details)}
        return enqueue(kind=SUBMIT_JOB_KIND, args=args, user=user), True
    except TooManyAttempts:
        uploads.discard_upload(upload)
        raise


def submit_caption_file(
    *, challenge: Challenge, user: User, details: SubmissionDetails, chunks: Iterable[bytes]
) -> tuple[Submission, bool]:
    """Check and store captions, and queue scoring. Return the submission, and whether it is new.

    Raises:
        WrongState: the challenge is not open, or the account can read the references.
        SubmissionRefused: the file is unusable; it does not count towards limits.
        LimitReached: the account reached its limit.
    """
    _check_author(challenge, user, details)
    captions = read_captions(chunks, image_positions(challenge))
    return store_captions(challenge=challenge, user=user, details=details, captions=captions)


def _check_author(challenge: Challenge, user: User, details: SubmissionDetails) -> None:
    """Raise an error if the challenge is not open, or the account may not take part, or a name is missing."""
    if not challenge.is_open_at(timezone.now()):
        raise WrongState(_("This challenge accepts no captions at the moment."))
    if Dataset.objects.visible_to(user).filter(pk=challenge.dataset_id).exists():
        raise WrongState(_("You can read the references of this challenge, so you cannot take part in it."))
    if not details.system.strip() or not details.team.strip():
        raise SubmissionRefused(_("A submission needs the name of the system and the names of its authors."))


def image_positions(challenge: Challenge) -> dict[str, int]:
    """Return the index (0, 1, ...) of each image of the challenge, by name."""
    return {name: position for position, name in enumerate(image_names(challenge))}


def store_captions(
    *, challenge: Challenge, user: User, details: SubmissionDetails, captions: list[str]
) -> tuple[Submission, bool]:
    """Store captions, which are in the order of ``image_positions``, and queue scoring.

    Return the submission, and whether it is new.

    Raises:
        LimitReached: the account reached its limit, or uploads too many files at once.
    """
    caption_bytes = json.dumps(captions, ensure_ascii=False).encode()
    digest = sha256(caption_bytes).hexdigest()
    compressed_captions = zlib.compress(caption_bytes)
    for _attempt in range(MAX_TRIES):
        earlier_submission = Submission.objects.filter(challenge=challenge, user=user, sha256=digest).first()
        if earlier_submission is not None:
            return _resubmit_file(earlier_submission), False
        try:
            submission = _store_submission(
                challenge=challenge,
                user=user,
                details=details,
                digest=digest,
                caption_count=len(captions),
                compressed_captions=compressed_captions,
            )
            return submission, True
        except IntegrityError:  # another upload of this account took the number at the same time
            continue
    raise LimitReached(_("Too many uploads at the same moment; please try again."))


@transaction.atomic
def _store_submission(
    *,
    challenge: Challenge,
    user: User,
    details: SubmissionDetails,
    digest: str,
    caption_count: int,
    compressed_captions: bytes,
) -> Submission:
    """Store a submission, numbered among all submissions of the account and among those of the day.

    Raises:
        LimitReached: the account has made as many submissions as the challenge allows.
        IntegrityError: another upload of the account took a number at the same time.
    """
    day = timezone.now().astimezone(UTC).date()
    submissions = Submission.objects.filter(challenge=challenge, user=user)
    submission_count, today_count = submissions.count(), submissions.filter(day=day).count()
    if today_count >= challenge.per_day:
        raise LimitReached(
            _(
                "Your submissions today (UTC): %(n)s. You cannot make more submissions to this challenge today."
            )
            % {"n": today_count}
        )
    if submission_count >= challenge.per_total:
        raise LimitReached(
            _("Your submissions: %(n)s. You cannot make more submissions to this challenge.")
            % {"n": submission_count}
        )
    submission = Submission.objects.create(
        challenge=challenge,
        user=user,
        system=details.system.strip(),
        team=details.team.strip(),
        description=details.description.strip(),
        link=details.link,
        public=details.public,
        sha256=digest,
        captions=caption_count,
        day=day,
        nth_of_day=today_count + 1,
        nth=submission_count + 1,
    )
    SubmissionContent.objects.create(submission=submission, captions=compressed_captions)
    enqueue(kind="score_submission", args={"submission": submission.pk}, user=user)
    return submission


@transaction.atomic
def _resubmit_file(submission: Submission) -> Submission:
    """Return an existing submission. If its scoring failed, score it again; this does not count towards limits."""
    rows = Submission.objects.filter(pk=submission.pk, removed_at__isnull=True)
    if rows.filter(state=Submission.State.FAILED).update(state=Submission.State.QUEUED, reason=""):
        enqueue(kind="score_submission", args={"submission": submission.pk}, user=submission.user)
        submission.refresh_from_db()
    return submission


@transaction.atomic
def change_submission_visibility(*, submission: Submission, public: bool) -> None:
    """Show a submission on the leaderboard, or hide it, and rank the others again."""
    changed_count = Submission.objects.filter(pk=submission.pk).exclude(public=public).update(public=public)
    if changed_count:
        enqueue(kind="rank_submissions", args={"challenge": submission.challenge.slug})
    submission.public = public
