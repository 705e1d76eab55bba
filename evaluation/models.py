"""Models of results, which can be recomputed from raw rows, of releases and challenges."""

from __future__ import annotations

import re
import uuid
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.validators import MinValueValidator, URLValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from common.rows import AppendOnlyRow, FiguresField
from judgments.models import CandidatePair, Dataset, Study, Unit
from judgments.models.datasets import Person, account_key

LONGEST_METRIC = 80  # characters of a metric's name with its options
# What an evaluation computes, unless asked for others.
DEFAULT_METRICS = ("bleu-1", "bleu-4", "rouge-l", "cider", "cider-d")
DEFAULT_TOKENIZER = "ptb"
BY_COMMAND = "Empty where a command did it."


class Consensus(models.Model):
    class Source(models.TextChoices):
        JUDGMENTS = "judgments", gettext_lazy("computed from judgments")
        PUBLISHED = "published", gettext_lazy("published without votes")
        ADJUDICATED = "adjudicated", gettext_lazy("decided by an adjudicator")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="consensus")
    unit = models.OneToOneField(
        Unit, on_delete=models.CASCADE, related_name="consensus", null=True, blank=True
    )
    pair = models.OneToOneField(
        CandidatePair, on_delete=models.CASCADE, related_name="consensus", null=True, blank=True
    )
    source = models.CharField(max_length=11, choices=Source, default=Source.JUDGMENTS)
    n = models.PositiveIntegerField(help_text="Used judgments; for a pair, its units with a winner or a tie.")
    value = models.FloatField(null=True, blank=True, help_text="Empty on a tie or without judgments.")
    answer = models.JSONField(null=True, blank=True, help_text="What open answers say together.")
    share = models.FloatField(null=True, blank=True)
    margin = models.FloatField(null=True, blank=True)
    tie = models.BooleanField(default=False)
    votes = models.JSONField(default=dict, help_text="Answer -> count; for a pair, wins, losses and ties.")

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "consensus"
        constraints = [
            models.CheckConstraint(
                condition=Q(unit__isnull=False, pair__isnull=True) | Q(unit__isnull=True, pair__isnull=False),
                name="consensus_of_a_unit_or_of_a_pair",
            )
        ]
        indexes = [
            # For lists of disputed units, the closest first.
            models.Index(
                fields=["study", "margin", "id"], condition=Q(unit__isnull=False), name="units_by_margin"
            )
        ]

    def __str__(self) -> str:
        return f"{self.unit or self.pair}: {self.value}"


class AnalysisQuerySet(models.QuerySet["Analysis"]):
    def newest_first(self, study: Study, what: str) -> AnalysisQuerySet:
        return self.filter(study=study, what=what).order_by("-created_at", "-pk")

    def newest(self, study: Study, what: str) -> Analysis | None:
        return self.newest_first(study, what).first()

    def replace(self, *, study: Study, what: str, signature: str, data_hash: str, **values: Any) -> Analysis:
        """Store an analysis, replacing one of equal signature and judgments, in the caller's transaction."""
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # two at once would both insert
        values["created_at"] = timezone.now()
        analysis, _ = self.update_or_create(
            study=study, what=what, signature=signature, data_hash=data_hash, defaults=values
        )
        return analysis


class Analysis(models.Model):
    """A stored result; pages compare its ``data_hash`` to mark stale results."""

    class What(models.TextChoices):
        AGGREGATION = "aggregation", gettext_lazy("consensus, agreement and workers")
        META_EVALUATION = "meta-evaluation", gettext_lazy("metrics against the consensus")
        PLAN = "plan", gettext_lazy("how many pairs and votes a difference takes")
        REPORT = "report", gettext_lazy("report")
        REHEARSAL = "rehearsal", gettext_lazy("what a rehearsal shows")
        JUDGES = "judges", gettext_lazy("judges beside people")
        MULTIVERSE = "multiverse", gettext_lazy("conclusions under other choices")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="analyses")
    what = models.CharField(max_length=20, choices=What)
    settings = models.JSONField(default=dict)
    signature = models.TextField(blank=True)  # names every metric, and the hash of each imported one
    judgments = models.CharField(
        max_length=500, blank=True, help_text="The judgment signature of what it was computed from."
    )
    data_hash = models.CharField(max_length=64)
    result = FiguresField()
    created_at = models.DateTimeField(default=timezone.now)

    objects = AnalysisQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "analyses"

    def __str__(self) -> str:
        return f"{self.get_what_display()} of {self.study}"


class MetricScore(models.Model):
    of_study = ("analysis__study",)

    analysis = models.ForeignKey(Analysis, on_delete=models.CASCADE, related_name="scores")
    metric = models.CharField(max_length=LONGEST_METRIC)
    pair = models.ForeignKey(CandidatePair, on_delete=models.CASCADE, related_name="+", null=True, blank=True)
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="+", null=True, blank=True)
    first = models.FloatField(help_text="Score of the pair's first candidate, or of the unit's caption.")
    second = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.metric}: {self.first}"


# What is scored: its text, or its id
ID_COLUMNS = {"caption": "caption_id", "first": "first_id", "second": "second_id"}
# It stands in signatures, and in lists with commas between.
METRIC_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,79}")


class ScoreKeys(models.Model):
    """Arrow columns of captions, systems or pairs, shared by metrics imported together."""

    class Per(models.TextChoices):
        CAPTIONS = "captions", gettext_lazy("captions")
        SYSTEMS = "systems", gettext_lazy("systems")
        PAIRS = "pairs", gettext_lazy("pairs")

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="score_keys")
    per = models.CharField(max_length=8, choices=Per)
    rows = models.PositiveIntegerField()
    columns = models.BinaryField()
    sha256 = models.CharField(max_length=64, help_text="Of the names of what was scored, in order.")

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "score keys"
        constraints = [
            models.UniqueConstraint(fields=["dataset", "per", "sha256"], name="score_keys_once_per_dataset")
        ]

    def __str__(self) -> str:
        return f"{self.rows} {self.get_per_display()} of {self.dataset}"


class ImportedMetric(models.Model):
    class Better(models.TextChoices):
        HIGHER = "higher", gettext_lazy("higher")
        LOWER = "lower", gettext_lazy("lower")

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="imported_metrics")
    name = models.CharField(max_length=LONGEST_METRIC)
    better = models.CharField(max_length=6, choices=Better, default=Better.HIGHER)
    keys = models.ForeignKey(ScoreKeys, on_delete=models.CASCADE, related_name="metrics")
    per = models.CharField(max_length=8, choices=ScoreKeys.Per, help_text="As that of its keys.")
    scores = models.BinaryField(help_text="A float64, little-endian, for each key; nan where there is none.")
    known = models.PositiveIntegerField(help_text="How many keys have a score.")
    source = models.CharField(max_length=200, help_text="The name of the file.")
    sha256 = models.CharField(max_length=64, help_text="Of that of the keys and the scores.")
    imported_at = models.DateTimeField(default=timezone.now)
    imported_by = account_key(help_text=BY_COMMAND)

    class Meta:
        ordering = ["dataset_id", "name", "per"]
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "name", "per"], name="imported_metric_once_per_dataset"
            ),
            models.CheckConstraint(condition=Q(better__in=["higher", "lower"]), name="better_is_a_known_one"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.dataset}"


class Prediction(models.Model):
    """A model's own distributions of people's answers to units, as imported."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="predictions")
    name = models.CharField(max_length=80)
    units = models.BinaryField(help_text="An int64, little-endian, for each unit: its row id.")
    shares = models.BinaryField(
        help_text="A float64, little-endian, for each unit and label, in their order."
    )
    known = models.PositiveIntegerField(help_text="How many units it is about.")
    sha256 = models.CharField(max_length=64, help_text="Of the imported text.")
    imported_at = models.DateTimeField(default=timezone.now)
    imported_by = account_key(help_text=BY_COMMAND)

    class Meta:
        ordering = ["study_id", "name"]
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="prediction_once_per_study")]

    def __str__(self) -> str:
        return self.name


class Release(AppendOnlyRow):
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="releases")
    version = models.CharField(max_length=20)
    title = models.CharField(max_length=300)
    licence = models.CharField(max_length=60, help_text="SPDX identifier.")
    citation = models.TextField(blank=True)
    texts = models.BooleanField(default=True, help_text="Whether captions stand in it, or their ids alone.")
    signature = models.CharField(max_length=500, help_text="The judgment signature of its rows.")
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    file = models.CharField(
        max_length=200,
        blank=True,
        help_text="Its name in the folder of releases; empty where written elsewhere.",
    )
    made_at = models.DateTimeField(default=timezone.now)
    made_by = account_key(models.PROTECT, BY_COMMAND)

    class Meta:
        ordering = ["study_id", "id"]
        constraints = [models.UniqueConstraint(fields=["study", "version"], name="one_release_per_version")]

    def __str__(self) -> str:
        return f"{self.study} {self.version}"


class Deposit(models.Model):
    """A release at an archive. DOI and address are here, since the signed bundle never changes."""

    of_study = ("release__study",)

    class Archive(models.TextChoices):
        ZENODO = "zenodo", gettext_lazy("Zenodo")
        HUGGINGFACE = "huggingface", gettext_lazy("Hugging Face")

    class State(models.TextChoices):
        STARTED = "started", gettext_lazy("not there yet")
        CREATING = "creating", gettext_lazy("being created")
        FILLING = "filling", gettext_lazy("files are being sent")
        DRAFT = "draft", gettext_lazy("a draft that only its owners see")
        PUBLIC = "public", gettext_lazy("public")
        GONE = "gone", gettext_lazy("the draft was removed there")

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="deposits")
    archive = models.CharField(db_column="place", max_length=11, choices=Archive)
    host = models.CharField(max_length=200, help_text="Such as zenodo.org or sandbox.zenodo.org.")
    repository = models.CharField(
        max_length=200, blank=True, help_text="At Hugging Face: whose, and its name."
    )
    mark = models.UUIDField(
        default=uuid.uuid4, editable=False, help_text="Stands in the record, by which it is found again."
    )
    state = models.CharField(max_length=8, choices=State, default=State.STARTED)
    remote = models.CharField(max_length=100, blank=True, help_text="The record's id, or the commit's.")
    doi = models.CharField(max_length=200, blank=True)
    address = models.URLField(max_length=500, blank=True)
    statements = models.JSONField(
        db_column="given",
        default=dict,
        blank=True,
        help_text="Creators, keywords, papers, and what was said of rights.",
    )
    sent = models.JSONField(default=list, blank=True, help_text="Names, sizes and SHA-256 of the files.")
    asked_at = models.DateTimeField(null=True, blank=True, help_text="When its creation was last asked for.")
    made_at = models.DateTimeField(default=timezone.now)
    made_by = account_key(models.PROTECT, BY_COMMAND)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["release", "host"], condition=~Q(state="gone"), name="a_release_is_at_a_host_once"
            ),
            models.UniqueConstraint(fields=["mark"], name="a_deposit_has_its_own_mark"),
            models.CheckConstraint(
                condition=Q(state__in=["started", "creating", "gone"]) | ~Q(remote="") | ~Q(repository=""),
                name="a_deposit_says_where_it_is",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.release_id}: {self.host}"


class ColumnBlock(models.Model):
    """Arrow columns of a study's judgments or units, which analyses read instead of rows."""

    class What(models.TextChoices):
        JUDGMENTS = "judgments"
        UNITS = "units"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="column_blocks")
    what = models.CharField(max_length=9, choices=What)
    first = models.PositiveBigIntegerField(help_text="The row id after which it begins.")
    last = models.PositiveBigIntegerField(help_text="The row id with which it ends.")
    rows = models.PositiveIntegerField()
    format = models.PositiveSmallIntegerField(
        help_text="What the columns mean; a block of another format is not read."
    )
    columns = models.BinaryField()

    class Meta:
        ordering = ["study_id", "what", "first"]
        constraints = [
            models.UniqueConstraint(fields=["study", "what", "first"], name="a_block_begins_once"),
        ]

    def __str__(self) -> str:
        return f"{self.get_what_display()} of {self.study} up to {self.last}"


class BoardSnapshot(models.Model):
    """A cache of the slow part of a study's dashboard."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="board")
    judgments = models.PositiveBigIntegerField(help_text="How many had come in.")
    newest = models.PositiveBigIntegerField(help_text="Row id of the last of them.")
    event = models.PositiveBigIntegerField(default=0, help_text="Row id of the study's last log entry then.")
    result = FiguresField(help_text="Numbers, sentences and drawings, as the page shows them.")
    scores = FiguresField(default=dict, help_text="Metric -> scores of the candidates, which do not change.")
    seconds = models.FloatField(help_text="How long it took to make.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study_id"]

    def __str__(self) -> str:
        return f"Dashboard of {self.study}"


class Challenge(models.Model):
    """A dataset's split that any account may caption, scored with fixed settings.

    ``references_sha256`` fixes the references: scores by other references would not be comparable.
    """

    slug = models.SlugField("short name", max_length=80, unique=True, help_text="Part of its address.")
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True, help_text="Markdown, shown on its public page.")
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="challenges")
    split = models.CharField(max_length=20, blank=True, help_text="Empty: all images of the dataset.")
    metrics = models.JSONField(help_text="Names; the leaderboard is ordered by the first.")
    tokenizer = models.CharField(max_length=20, default="ptb")
    images = models.PositiveIntegerField(help_text="How many there are to be captioned.")
    references_sha256 = models.CharField(max_length=64)
    opens_at = models.DateTimeField(default=timezone.now)
    closes_at = models.DateTimeField(null=True, blank=True, help_text="Empty: open until it is closed.")
    per_day = models.PositiveSmallIntegerField(
        default=5, validators=[MinValueValidator(1)], help_text="Submissions of an account in a day of UTC."
    )
    per_total = models.PositiveSmallIntegerField(
        default=50, validators=[MinValueValidator(1)], help_text="Submissions of an account at all."
    )
    shown_before_end = models.BooleanField(
        "scores are shown before the end",
        default=True,
        help_text="Otherwise nobody sees a score before the challenge is closed.",
    )
    made_by = account_key(models.PROTECT)
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
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
        """Return own and public submissions, and those to own challenges; all for an administrator."""
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

    ``nth`` and ``nth_of_day`` number an account's submissions, so concurrent uploads cannot exceed limits.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "waiting to be scored"
        SCORED = "scored", "scored"
        FAILED = "failed", "could not be scored"

    challenge = models.ForeignKey(Challenge, on_delete=models.PROTECT, related_name="submissions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="submissions")
    system = models.CharField(max_length=80)
    team = models.CharField(max_length=80)
    description = models.TextField(max_length=2000, blank=True)
    link = models.URLField(max_length=300, blank=True, validators=[URLValidator(schemes=["http", "https"])])
    public = models.BooleanField(default=True, help_text="Whether its author shows it on the leaderboard.")
    sha256 = models.CharField(max_length=64, help_text="Of the captions in the order of the images.")
    captions = models.PositiveIntegerField()
    state = models.CharField(max_length=6, choices=State, default=State.QUEUED)
    reason = models.CharField(max_length=500, blank=True)
    scores = FiguresField(default=dict, help_text="Metric -> corpus, and low and high of its interval.")
    signatures = models.JSONField(default=dict)
    day = models.DateField(help_text="Of UTC.")
    nth_of_day = models.PositiveSmallIntegerField()
    nth = models.PositiveSmallIntegerField()
    removed_at = models.DateTimeField(null=True, blank=True)
    removed_why = models.CharField(max_length=500, blank=True)
    made_at = models.DateTimeField(default=timezone.now)
    scored_at = models.DateTimeField(null=True, blank=True)

    objects = SubmissionQuerySet.as_manager()

    class Meta:
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
    """A submission's captions and hidden scores by image, too large for lists."""

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="content")
    captions = models.BinaryField(help_text="JSON list in the order of the images, packed by zlib.")
    images = models.BinaryField(null=True, help_text="npz: metric -> scores in that order.")

    def __str__(self) -> str:
        return f"Content of {self.submission_id}"


class Standing(models.Model):
    challenge = models.OneToOneField(Challenge, on_delete=models.CASCADE, related_name="standing")
    of = models.JSONField(help_text="Ids of the submissions that were compared.")
    ranks = models.JSONField(help_text="Id -> best and worst rank that the tests leave open.")
    p = FiguresField(default=dict, help_text="'id-id' -> p of the paired test, which never changes.")
    signature = models.CharField(max_length=500, blank=True)
    made_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"Standing of {self.challenge_id}"


class ChallengeEvent(AppendOnlyRow):
    challenge = models.ForeignKey(Challenge, on_delete=models.PROTECT, related_name="events")
    what = models.CharField(max_length=40)
    words = models.CharField(max_length=1000)
    why = models.CharField(max_length=500, blank=True)
    by = account_key(models.PROTECT)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.what}: {self.challenge_id}"
