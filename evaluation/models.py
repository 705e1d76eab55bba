"""What the judgments mean. Every row here can be computed again from raw rows."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from judgments.models import CandidatePair, Study, Unit


class Consensus(models.Model):
    """What the used judgments of a unit, or of a candidate pair's units, say together."""

    class Source(models.TextChoices):
        JUDGMENTS = "judgments", "computed from judgments"
        PUBLISHED = "published", "published without votes"
        ADJUDICATED = "adjudicated", "decided by an adjudicator"

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

    def __str__(self) -> str:
        return f"{self.unit or self.pair}: {self.value}"


class Analysis(models.Model):
    """A stored result: what was computed, with which settings, from which data.

    ``data_hash`` is the SHA-256 over the judgments it was computed from, so that a page can say when a result is
    older than the data.
    """

    class What(models.TextChoices):
        AGGREGATION = "aggregation", "consensus, agreement and workers"
        META_EVALUATION = "meta-evaluation", "metrics against the consensus"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="analyses")
    what = models.CharField(max_length=20, choices=What)
    settings = models.JSONField(default=dict)
    signature = models.CharField(max_length=500, blank=True)
    data_hash = models.CharField(max_length=64)
    result = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "analyses"

    def __str__(self) -> str:
        return f"{self.get_what_display()} of {self.study}"


class MetricScore(models.Model):
    """A metric's score of one candidate of a pair, or of an image-caption unit."""

    analysis = models.ForeignKey(Analysis, on_delete=models.CASCADE, related_name="scores")
    metric = models.CharField(max_length=30)
    pair = models.ForeignKey(CandidatePair, on_delete=models.CASCADE, related_name="+", null=True, blank=True)
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="+", null=True, blank=True)
    first = models.FloatField(help_text="Score of the pair's first candidate, or of the unit's caption.")
    second = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.metric}: {self.first}"
