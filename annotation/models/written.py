"""Captions that workers wrote, once they became captions of a dataset."""

from __future__ import annotations

from django.db import models

from annotation.models.assignments import Judgment
from annotation.models.workers import Worker
from judgments.models import Caption


class WrittenCaptionQuerySet(models.QuerySet["WrittenCaption"]):
    """Questions about written captions."""

    def by(self, worker: Worker, *, dataset_id: int) -> WrittenCaptionQuerySet:
        """What a worker wrote that is part of a dataset."""
        return self.filter(worker=worker, caption__dataset_id=dataset_id)


class WrittenCaption(models.Model):
    """Who wrote a caption, and in which judgment; its writer is never asked to judge it.

    A candidate is a text: where two people wrote the same, it has two writers.
    """

    caption = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="written")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="written")
    judgment = models.ForeignKey(
        Judgment, on_delete=models.SET_NULL, related_name="captions", null=True, blank=True
    )

    objects = WrittenCaptionQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["caption", "judgment"], name="a_judgment_is_adopted_once_as_a_caption"
            )
        ]

    def __str__(self) -> str:
        return str(self.caption)
