"""Attempts at quizzes."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.workers import Worker
from judgments.models import Study


class QuizAttempt(models.Model):
    """A worker's attempt at a quiz: what was drawn, the answers, the result. Attempts are never deleted."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="quiz_attempts")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="quiz_attempts")
    qualification = models.CharField(
        max_length=80, help_text="What passing it is good for: a name that studies share, or the study's own."
    )
    number = models.PositiveSmallIntegerField(help_text="Which try it is, from 1.")
    items = models.JSONField(help_text="The items drawn, in the order shown.")
    answers = models.JSONField(default=dict, help_text="Position -> answer, as the worker saw it.")
    right = models.PositiveSmallIntegerField(null=True, blank=True)
    passed = models.BooleanField(null=True, blank=True)
    simulated = models.BooleanField(default=False)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["started_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["worker", "qualification", "number"], name="quiz_attempts_are_numbered"
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(right__isnull=False, passed__isnull=False),
                name="a_finished_attempt_has_a_result",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.worker}: {self.qualification} {self.number}"
