"""Alarms: problems of a study that its designer should know early."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from annotation.models.workers import Worker
from judgments.models import Study


class StudyAlarm(models.Model):
    """A problem with a worker's pages, counted once per study, kind and worker."""

    class What(models.TextChoices):
        CONTROLS_USED_UP = "controls-used-up", "has met the control items; pages go without"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="alarms")
    what = models.CharField(max_length=20, choices=What)
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="+")
    pages = models.PositiveIntegerField(default=0, help_text="On how many pages of work.")
    missing = models.PositiveIntegerField(default=0, help_text="Control items that those pages lacked.")
    first_at = models.DateTimeField(default=timezone.now)
    last_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study_id", "first_at"]
        constraints = [
            models.UniqueConstraint(fields=["study", "what", "worker"], name="an_alarm_once_per_worker")
        ]

    def __str__(self) -> str:
        return f"{self.study}: {self.worker} {self.get_what_display()}"
