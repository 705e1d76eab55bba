"""Idempotent requests that move money."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from judgments.models import Study

KEY_LENGTH = 200


class MoneyRequest(models.Model):
    """A request by key with its answer, so that a repetition changes nothing."""

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=KEY_LENGTH, help_text="The Idempotency-Key it came with.")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    step = models.CharField(max_length=20, help_text="bonus, top-up, budget, retry, was-done, was-not-done.")
    digest = models.CharField(
        max_length=64, help_text="Of all that was asked: the same key must ask for the same."
    )
    answer = models.JSONField(default=dict, blank=True, help_text="What was answered, and is again.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["by", "key"], name="a_key_once_per_account"),
        ]

    def __str__(self) -> str:
        return f"{self.step} {self.key}"
