"""The table of dashboards' snapshots. Its name is from the time when it belonged to the app ``evaluation``."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from common.rows.figures import FiguresField
from judgments.models import Study


class BoardSnapshot(models.Model):
    """The part of a study's dashboard that is slow to compute, as a job computed it last."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="board")
    judgments = models.PositiveBigIntegerField(help_text="How many had come in.")
    newest = models.PositiveBigIntegerField(help_text="Row id of the last of them.")
    event = models.PositiveBigIntegerField(default=0, help_text="Row id of the study's last log entry then.")
    result = FiguresField(help_text="Numbers, sentences and drawings, as the page shows them.")
    scores = FiguresField(default=dict, help_text="Metric -> scores of the candidates, which do not change.")
    seconds = models.FloatField(help_text="How long it took to make.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "evaluation_boardsnapshot"
        ordering = ["study_id"]

    def __str__(self) -> str:
        return f"Dashboard of {self.study}"
