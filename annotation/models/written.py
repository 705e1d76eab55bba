"""Writers of captions that became part of a dataset."""

from __future__ import annotations

from django.db import models

from annotation.models.assignments import Judgment
from annotation.models.workers import Worker
from judgments.models import Caption


class WrittenCaptionQuerySet(models.QuerySet["WrittenCaption"]):
    def by(self, worker: Worker, *, dataset_id: int) -> WrittenCaptionQuerySet:
        return self.filter(worker=worker, caption__dataset_id=dataset_id)


class WrittenCaption(models.Model):
    """The writer and the judgment of a caption; its writer never judges it.

    A candidate is a text: the same text by two people has two writers.
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
