"""The models of challenges and their submissions.

The tables keep the names that they had in the app ``evaluation``.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.core.validators import MinValueValidator, URLValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from common.rows.append_only import AppendOnlyRow
from common.rows.figures import FiguresField
from judgments.models import Dataset
from judgments.models.datasets import Person
from judgments.models.fields import account_key


class Challenge(models.Model):
    """A split of a dataset for whose images any account may submit captions. The settings for scores are fixed.

    ``references_sha256`` fixes the references, since scores by other references would not be comparable.
    """

    slug = models.SlugField(
        "short name", max_length=80, unique=True, help_text="Part of the challenge's address."
    )
    title = models.CharField(max_length=200)
    description = models.TextField(
        blank=True, help_text="Text in Markdown, shown on the challenge's public page."
    )
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="challenges")
    split = models.CharField(max_length=20, blank=True, help_text="Empty: all images of the dataset.")
    metrics = models.JSONField(help_text="Names of metrics. The leaderboard is sorted by the first one.")
    tokenizer = models.CharField(max_length=20, default="ptb")
    images = models.PositiveIntegerField(help_text="Number of images that need a caption.")
    references_sha256 = models.CharField("SHA-256 of the references", max_length=64)
    opens_at = models.DateTimeField(default=timezone.now)
    closes_at = models.DateTimeField(
        null=True, blank=True, help_text="Empty: the challenge is open until somebody closes it."
    )
    per_day = models.PositiveSmallIntegerField(
        "submissions per day",
        default=5,
        validators=[MinValueValidator(1)],
        help_text="Maximum number of submissions of one account per day (UTC).",
    )
    per_total = models.PositiveSmallIntegerField(
        "total number of submissions",
        default=50,
        validators=[MinValueValidator(1)],
        help_text="Maximum number of submissions of one account.",
    )
    shown_before_end = models.BooleanField(
        "show scores before the end",
        default=True,
        help_text="If this is off, all scores are hidden until the challenge is closed.",
    )
    made_by = account_key(models.PROTECT, label="created by")
    made_at = models.DateTimeField("created at", default=timezone.now)

    class Meta:
        db_table = "evaluation_challenge"
        ordering = ["-opens_at", "slug"]
        constraints = [
            models.CheckConstraint(
                condition=Q(closes_at__isnull=True) | Q(closes_at__gte=F("opens_at")),
                name="challenge_opens_before_it_closes",
            ),
            models.CheckConstraint(
                condition=Q(per_day__gte=1, per_total__gte=1), name="challenge_takes_a_submission"
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def ranked_by(self) -> str:
        return str(self.metrics[0])

    def is_open_at(self, now: datetime) -> bool:
        return self.opens_at <= now and not self.is_over_at(now)

    def is_over_at(self, now: datetime) -> bool:
        return self.closes_at is not None and self.closes_at <= now

    def shows_scores_at(self, now: datetime) -> bool:
        return self.shown_before_end or self.is_over_at(now)


class SubmissionQuerySet(models.QuerySet["Submission"]):
    def visible_to(self, user: Person) -> SubmissionQuerySet:
        """Return public submissions, the user's own, and those to the user's challenges; all for administrators."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        if user.is_superuser:
            return self
        return self.filter(Q(user=user) | Q(challenge__made_by=user) | Q(public=True))

    def on_leaderboard(self, challenge: Challenge) -> SubmissionQuerySet:
        return self.filter(
            challenge=challenge, state=Submission.State.SCORED, public=True, removed_at__isnull=True
        )


class Submission(models.Model):
    """A system's captions for a challenge, and their scores.

    ``nth`` and ``nth_of_day`` number an account's submissions, so that concurrent uploads cannot exceed its limits.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "waiting to be scored"
        SCORED = "scored", "scored"
        FAILED = "failed", "could not be scored"

    challenge = models.ForeignKey(Challenge, on_delete=models.PROTECT, related_name="submissions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="submissions")
    system = models.CharField(max_length=80)
    team = models.CharField("authors", max_length=80)
    description = models.TextField(max_length=2000, blank=True)
    link = models.URLField(max_length=300, blank=True, validators=[URLValidator(schemes=["http", "https"])])
    public = models.BooleanField(
        default=True, help_text="Whether the author shows the submission on the leaderboard."
    )
    sha256 = models.CharField("SHA-256 of the captions", max_length=64)
    captions = models.PositiveIntegerField("number of captions")
    state = models.CharField(max_length=6, choices=State, default=State.QUEUED)
    reason = models.CharField(max_length=500, blank=True)
    scores = FiguresField(
        default=dict, help_text="For each metric: the score of the corpus, and the ends of its interval."
    )
    signatures = models.JSONField(default=dict)
    day = models.DateField(help_text="The day in UTC.")
    nth_of_day = models.PositiveSmallIntegerField("number of the submission on this day")
    nth = models.PositiveSmallIntegerField("number of the submission")
    removed_at = models.DateTimeField(null=True, blank=True)
    removed_why = models.CharField("reason for the removal", max_length=500, blank=True)
    made_at = models.DateTimeField("submitted at", default=timezone.now)
    scored_at = models.DateTimeField(null=True, blank=True)

    objects = SubmissionQuerySet.as_manager()

    class Meta:
        db_table = "evaluation_submission"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["challenge", "user", "sha256"], name="same_captions_are_one_submission"
            ),
            models.UniqueConstraint(
                fields=["challenge", "user", "day", "nth_of_day"], name="submissions_of_a_day_are_numbered"
            ),
            models.UniqueConstraint(fields=["challenge", "user", "nth"], name="submissions_are_numbered"),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "scored", "failed"]), name="submission_state_is_a_known_one"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.system} ({self.team})"


class SubmissionContent(models.Model):
    """Captions and scores by image, too large for lists of submissions. Scores stay hidden: they tell of references."""

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="content")
    captions = models.BinaryField(help_text="JSON list in the order of the images, packed by zlib.")
    images = models.BinaryField(null=True, help_text="npz: metric -> scores in that order.")

    class Meta:
        db_table = "evaluation_submissioncontent"

    def __str__(self) -> str:
        return f"Content of {self.submission_id}"


class Standing(models.Model):
    """The ranks on a challenge's leaderboard, and the tests behind them.

    Ranks are shown only while ``of`` has the ids of all submissions on the leaderboard.
    """

    challenge = models.OneToOneField(Challenge, on_delete=models.CASCADE, related_name="standing")
    of = models.JSONField(help_text="Ids of the submissions that were compared.")
    ranks = models.JSONField(help_text="Id -> best and worst rank that the tests leave open.")
    p = FiguresField(default=dict, help_text="'id-id' -> p of the paired test, which never changes.")
    signature = models.CharField(max_length=500, blank=True)
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "evaluation_standing"

    def __str__(self) -> str:
        return f"Standing of {self.challenge_id}"


class ChallengeEvent(AppendOnlyRow):
    """An entry in the log of a challenge: a change of its settings, its closing, or a removed submission."""

    challenge = models.ForeignKey(Challenge, on_delete=models.PROTECT, related_name="events")
    what = models.CharField(max_length=40)
    words = models.CharField(max_length=1000)
    why = models.CharField(max_length=500, blank=True)
    by = account_key(models.PROTECT)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "evaluation_challengeevent"
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.what}: {self.challenge_id}"
