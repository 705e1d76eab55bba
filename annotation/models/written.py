"""Captions that workers wrote, once they became captions of a dataset."""

from __future__ import annotations

from django.db import models

from annotation.models.assignments import Judgment
from annotation.models.workers import Worker
from judgments.models import Caption


class WrittenCaption(models.Model):
    """Who wrote a caption, and in which judgment; its writer is never asked to judge it."""

    caption = models.OneToOneField(Caption, on_delete=models.CASCADE, related_name="written")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="written")
    judgment = models.OneToOneField(
        Judgment, on_delete=models.SET_NULL, related_name="caption", null=True, blank=True
    )

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return str(self.caption)
