"""Cached figures of large studies (judgments/remembered.py)."""

from __future__ import annotations

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone

from judgments.models.studies import Study


class KeptFigures(models.Model):
    """A cached figure; it can be recomputed from the study's rows."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="kept_figures")
    name = models.CharField(max_length=60)
    version = models.CharField(
        max_length=20, help_text="Of what a person did to the study before it was counted."
    )
    value = models.JSONField(encoder=DjangoJSONEncoder)
    seconds = models.FloatField(help_text="How long the counting took.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="figures_are_kept_once_per_study")
        ]
        verbose_name_plural = "kept figures"

    def __str__(self) -> str:
        return f"{self.name}: {self.made_at}"
