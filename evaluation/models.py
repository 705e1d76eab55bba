"""Models of results, which can be computed again from judgments, of imported data, and of releases."""

from __future__ import annotations

import re
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from common.rows.append_only import AppendOnlyRow
from common.rows.figures import FiguresField
from judgments.models import CandidatePair, Dataset, Study, Unit
from judgments.models.fields import account_key

MAX_METRIC_LENGTH = 80  # characters of a metric's name with its options
# Metrics that an evaluation computes by default.
DEFAULT_METRICS = ("bleu-1", "bleu-4", "rouge-l", "cider", "cider-d")
DEFAULT_TOKENIZER = "ptb"
# Help text of fields with the account that did something.
BY_COMMAND_HELP = "Empty where a command did it."

# In files of scores: the column with the id of a text, by the column with the text itself.
ID_COLUMN_BY_TEXT = {"caption": "caption_id", "first": "first_id", "second": "second_id"}
# The form of an imported metric's name, which occurs in signatures and in lists separated by commas.
METRIC_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,79}")


class Consensus(models.Model):
    """The consensus on a unit or on a candidate pair."""

    class Source(models.TextChoices):
        JUDGMENTS = "judgments", gettext_lazy("computed from judgments")
        PUBLISHED = "published", gettext_lazy("published without votes")
        ADJUDICATED = "adjudicated", gettext_lazy("decided by an adjudicator")

    # The index of the margins also serves look-ups by study.
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="consensus", db_index=False)
    unit = models.OneToOneField(
        Unit, verbose_name="item", on_delete=models.CASCADE, related_name="consensus", null=True, blank=True
    )
    pair = models.OneToOneField(
        CandidatePair, on_delete=models.CASCADE, related_name="consensus", null=True, blank=True
    )
    source = models.CharField(max_length=11, choices=Source, default=Source.JUDGMENTS)
    n = models.PositiveIntegerField(
        "judgments used",
        help_text="Number of used judgments. For a pair: number of its items with a winner or a tie.",
    )
    value = models.FloatField(
        null=True, blank=True, help_text="Empty if there is a tie, or if there are no judgments."
    )
    answer = models.JSONField(null=True, blank=True, help_text="Consensus of answers that are not numbers.")
    share = models.FloatField("share of the votes", null=True, blank=True)
    margin = models.FloatField("lead of the winner", null=True, blank=True)
    tie = models.BooleanField(default=False)
    votes = models.JSONField(
        default=dict, help_text="The number of judgments with each answer. For a pair: wins, losses and ties."
    )

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
            # For lists of disputed units, which begin with the smallest margin.
            models.Index(fields=["study", "margin", "id"], name="consensus_by_margin")
        ]

    def __str__(self) -> str:
        return str(self.unit or self.pair)


class AnalysisQuerySet(models.QuerySet["Analysis"]):
    def newest_first(self, study: Study, what: str) -> AnalysisQuerySet:
        return self.filter(study=study, what=what).order_by("-created_at", "-pk")

    def newest(self, study: Study, what: str) -> Analysis | None:
        return self.newest_first(study, what).first()

    def replace(self, *, study: Study, what: str, signature: str, data_hash: str, **values: Any) -> Analysis:
        """Store an analysis. It replaces one with the same signature and data. Call this within a transaction."""
        # Lock the study, because otherwise two transactions could both insert.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        values["created_at"] = timezone.now()
        analysis, _ = self.update_or_create(
            study=study, what=what, signature=signature, data_hash=data_hash, defaults=values
        )
        return analysis


class Analysis(models.Model):
    """A stored result.

    Pages compare its ``data_hash`` with the present one, and mark the result as outdated if they differ.
    """

    class Kind(models.TextChoices):
        AGGREGATION = "aggregation", gettext_lazy("consensus, agreement and participants")
        META_EVALUATION = "meta-evaluation", gettext_lazy("metrics compared with the consensus")
        PLAN = "plan", gettext_lazy("number of pairs and votes needed to find a difference")
        REPORT = "report", gettext_lazy("report")
        REHEARSAL = "rehearsal", gettext_lazy("results of a rehearsal")
        JUDGES = "judges", gettext_lazy("judges compared with people")
        MULTIVERSE = "multiverse", gettext_lazy("robustness analysis")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="analyses")
    what = models.CharField("type", max_length=20, choices=Kind)
    settings = models.JSONField(default=dict)
    signature = models.TextField(blank=True)  # contains every metric, and the hash of imported ones
    judgments = models.CharField(
        max_length=500,
        blank=True,
        help_text="Signature of the judgments from which the analysis was computed.",
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
    """The score that a metric gave a text, or the scores of both texts of a pair, in an evaluation."""

    # The lookups of the study, for the rights on rows (judgments.access.visible_rows).
    study_lookups = ("analysis__study",)

    analysis = models.ForeignKey(Analysis, on_delete=models.CASCADE, related_name="scores")
    metric = models.CharField(max_length=MAX_METRIC_LENGTH)
    pair = models.ForeignKey(CandidatePair, on_delete=models.CASCADE, related_name="+", null=True, blank=True)
    unit = models.ForeignKey(
        Unit, verbose_name="item", on_delete=models.CASCADE, related_name="+", null=True, blank=True
    )
    first = models.FloatField("score of the first candidate", help_text="For a single text, its score.")
    second = models.FloatField("score of the second candidate", null=True, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.metric}: {self.first}"


class ScoreKeys(models.Model):
    """Captions, systems or pairs that were scored, as Arrow columns. Metrics that were imported together share them."""

    class Subject(models.TextChoices):
        CAPTIONS = "captions", gettext_lazy("captions")
        SYSTEMS = "systems", gettext_lazy("systems")
        PAIRS = "pairs", gettext_lazy("pairs")

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="score_keys")
    per = models.CharField(max_length=8, choices=Subject)
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
    """Imported scores of a metric for captions, systems or pairs of a dataset, which are its keys."""

    class Better(models.TextChoices):
        HIGHER = "higher", gettext_lazy("higher")
        LOWER = "lower", gettext_lazy("lower")

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="imported_metrics")
    name = models.CharField(max_length=MAX_METRIC_LENGTH)
    better = models.CharField(max_length=6, choices=Better, default=Better.HIGHER)
    keys = models.ForeignKey(ScoreKeys, on_delete=models.CASCADE, related_name="metrics")
    per = models.CharField(max_length=8, choices=ScoreKeys.Subject, help_text="As that of its keys.")
    scores = models.BinaryField(help_text="A float64, little-endian, for each key; nan where there is none.")
    known = models.PositiveIntegerField(help_text="How many keys have a score.")
    source = models.CharField(max_length=200, help_text="The name of the file.")
    sha256 = models.CharField(max_length=64, help_text="Of that of the keys and the scores.")
    imported_at = models.DateTimeField(default=timezone.now)
    imported_by = account_key(help_text=BY_COMMAND_HELP)

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
    """Imported predictions of a model, which are distributions of people's answers to units."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="predictions")
    name = models.CharField(max_length=80)
    units = models.BinaryField("items", help_text="An int64, little-endian, for each item: its row id.")
    shares = models.BinaryField(
        help_text="A float64, little-endian, for each item and label, in their order."
    )
    known = models.PositiveIntegerField(help_text="How many items it is about.")
    sha256 = models.CharField(max_length=64, help_text="Of the imported text.")
    imported_at = models.DateTimeField(default=timezone.now)
    imported_by = account_key(help_text=BY_COMMAND_HELP)

    class Meta:
        ordering = ["study_id", "name"]
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="prediction_once_per_study")]

    def __str__(self) -> str:
        return self.name


class Release(AppendOnlyRow):
    """A published version of a study's judgments, as a bundle in a file. It cannot be computed again or changed."""

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
    made_by = account_key(models.PROTECT, BY_COMMAND_HELP)

    class Meta:
        ordering = ["study_id", "id"]
        constraints = [models.UniqueConstraint(fields=["study", "version"], name="one_release_per_version")]

    def __str__(self) -> str:
        return f"{self.study} {self.version}"


class ColumnBlock(models.Model):
    """Arrow columns, which are read instead of rows: a study's judgments or units, or digests of its consensus."""

    class Kind(models.TextChoices):
        JUDGMENTS = "judgments"
        UNITS = "units", "Items"
        CONSENSUS = "consensus"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="column_blocks")
    what = models.CharField(max_length=9, choices=Kind)
    first = models.PositiveBigIntegerField(help_text="The row id after which it begins.")
    last = models.PositiveBigIntegerField(help_text="The row id with which it ends.")
    rows = models.PositiveIntegerField()
    format = models.PositiveSmallIntegerField(
        help_text="What the columns mean; a block of another format is not read."
    )
    columns = models.BinaryField()

    class Meta:
        ordering = ["study_id", "what", "first"]
        constraints = [models.UniqueConstraint(fields=["study", "what", "first"], name="a_block_begins_once")]

    def __str__(self) -> str:
        return f"{self.get_what_display()} of {self.study} up to {self.last}"
