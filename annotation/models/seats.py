"""Seats of a study by the address that took them."""

from __future__ import annotations

from django.db import models

from annotation.models.assignments import Assignment
from annotation.models.crowds import CrowdSession
from judgments.models import Study


class Seat(models.Model):
    """The address that took a seat, as a keyed hash; deleted when the seat is free."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    address = models.CharField(max_length=32)
    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="seat", null=True)
    session = models.OneToOneField(CrowdSession, on_delete=models.CASCADE, related_name="seat", null=True)
    taken_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["study", "address"], name="seats_of_an_address")]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.taken_at}"
