"""Captions that participants submit: checked before they count, numbered so that no limit is passed, queued."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from evaluation.errors import LimitReached, SubmissionRefused
from evaluation.models import Challenge, Submission, SubmissionContent
from evaluation.services.challenges import image_names
from evaluation.submitted_captions import read_captions
from judgments.errors import WrongState
from judgments.jobs import enqueue

TRIES = 20  # uploads of one account that may be stored at the same moment


@dataclass(frozen=True, slots=True)
class About:
    """What a participant says of their system."""

    system: str
    team: str
    description: str = ""
    link: str = ""
    public: bool = True


@dataclass(frozen=True, slots=True)
class Places:
    """How many submissions of an account a challenge still takes."""

    today: int
    at_all: int

    @property
    def left(self) -> int:
        """Now."""
        return min(self.today, self.at_all)


def places_left(*, challenge: Challenge, user: User) -> Places:
    """For one person, at this moment."""
    own = Submission.objects.filter(challenge=challenge, user=user)
    today = own.filter(day=timezone.now().astimezone(UTC).date()).count()
    return Places(max(challenge.per_day - today, 0), max(challenge.per_total - own.count(), 0))


def submit_captions(
    *, challenge: Challenge, user: User, about: About, chunks: Iterable[bytes]
) -> tuple[Submission, bool]:
    """Check a file, store its captions, and queue them for scoring; the same captions again are the same submission.

    Returns:
        The submission, and whether it is new.

    Raises:
        WrongState: the challenge is not open.
        SubmissionRefused: the file cannot be used; nothing is counted.
        LimitReached: the account has made as many submissions as the challenge allows.
    """
    if not challenge.is_open_at(timezone.now()):
        raise WrongState(_("This challenge takes no captions at the moment."))
    if not about.system.strip() or not about.team.strip():
        raise SubmissionRefused(_("A submission has the name of a system and of its authors."))
    positions = {name: place for place, name in enumerate(image_names(challenge))}
    captions = read_captions(chunks, positions)
    encoded = json.dumps(captions, ensure_ascii=False).encode()
    digest = sha256(encoded).hexdigest()
    packed = zlib.compress(encoded)
    for _attempt in range(TRIES):
        known = Submission.objects.filter(challenge=challenge, user=user, sha256=digest).first()
        if known is not None:
            return _again(known), False
        try:
            return _store(challenge, user, about, digest, len(captions), packed), True
        except IntegrityError:  # another upload of this account took the place first
            continue
    raise LimitReached(_("Too many uploads at the same moment; please try again."))


@transaction.atomic
def _store(
    challenge: Challenge, user: User, about: About, digest: str, count: int, packed: bytes
) -> Submission:
    day = timezone.now().astimezone(UTC).date()
    own = Submission.objects.filter(challenge=challenge, user=user)
    used, today = own.count(), own.filter(day=day).count()
    if today >= challenge.per_day:
        raise LimitReached(
            _("You made %(n)s submissions today, as many as this challenge takes in a day of UTC.")
            % {"n": today}
        )
    if used >= challenge.per_total:
        raise LimitReached(_("You made %(n)s submissions, as many as this challenge takes.") % {"n": used})
    submission = Submission.objects.create(
        challenge=challenge,
        user=user,
        system=about.system.strip(),
        team=about.team.strip(),
        description=about.description.strip(),
        link=about.link,
        public=about.public,
        sha256=digest,
        captions=count,
        day=day,
        nth_of_day=today + 1,
        nth=used + 1,
    )
    SubmissionContent.objects.create(submission=submission, captions=packed)
    enqueue(kind="score_submission", args={"submission": submission.pk}, user=user)
    return submission


@transaction.atomic
def _again(known: Submission) -> Submission:
    """Captions that are there already; where scoring them failed, another try that costs nothing."""
    failed = Submission.objects.filter(pk=known.pk, state=Submission.State.FAILED, removed_at__isnull=True)
    if failed.update(state=Submission.State.QUEUED, reason=""):
        enqueue(kind="score_submission", args={"submission": known.pk}, user=known.user)
        known.refresh_from_db()
    return known


@transaction.atomic
def show_submission(*, submission: Submission, public: bool) -> None:
    """Put one's submission on the leaderboard, or take it off."""
    changed = Submission.objects.filter(pk=submission.pk).exclude(public=public).update(public=public)
    if changed:
        enqueue(kind="rank_submissions", args={"challenge": submission.challenge.slug})
    submission.public = public
