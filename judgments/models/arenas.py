"""The models of an arena: its system pairs, and the states from which its pages are drawn."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from judgments.models.datasets import System
from judgments.models.studies import Study


class SystemPair(models.Model):
    """Two systems of an arena, the units that compare them, and the counts of answers (contrib/arena/README.md)."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="system_pairs", db_index=False)
    position = models.PositiveIntegerField()
    first_system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    second_system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    start = models.PositiveIntegerField(
        help_text="Position of the first of its items, which follow one another."
    )
    units = models.PositiveIntegerField("items")
    wins = models.PositiveIntegerField(default=0, help_text="Answers for the first system.")
    ties = models.PositiveIntegerField(default=0)
    losses = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["study_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "position"], name="system_pairs_in_order"),
            models.UniqueConstraint(
                fields=["study", "first_system", "second_system"], name="two_systems_are_one_pair"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.first_system} {self.second_system}"


class DrawState(models.Model):
    """The counts of answers from which pages of an arena were drawn, kept so that the draws can be replayed.

    ``strengths`` are log-strengths of a Bradley-Terry model, estimated from the counts. Rows are never changed.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="draw_states", db_index=False)
    number = models.PositiveIntegerField()
    answers = models.PositiveIntegerField()
    counts = models.JSONField(help_text="[wins, ties, losses] of each pair of systems.")
    strengths = models.JSONField(help_text="Of each system, in the order of their names.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study_id", "number"]
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="draw_states_in_order")]

    def __str__(self) -> str:
        return f"{self.study_id} {self.number}"
