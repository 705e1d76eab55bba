"""Outcome bounds of units, for designs that stop early (docs/stopping.md)."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from judgments.models.studies import Unit


class Outlook(models.Model):
    """The outcome bounds of a judged unit: 1 for its first answer, -1 for its second, 0 for a tie.

    A cache that can be recomputed from the judgments.
    """

    unit = models.OneToOneField(Unit, on_delete=models.CASCADE, primary_key=True, related_name="outlook")
    full_depth = models.BooleanField(
        default=False, help_text="Gets all its judgments whatever they say: agreement is measured on these."
    )
    cast = models.PositiveSmallIntegerField(default=0, help_text="Judgments it has, used or not.")
    low = models.SmallIntegerField(default=-1)
    high = models.SmallIntegerField(default=1)
    done = models.BooleanField(
        default=False, help_text="No more judgments are wanted; later copies leave it out."
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(low__gte=-1) & Q(low__lte=F("high")) & Q(high__lte=1),
                name="an_outlook_reaches_from_low_to_high",
            )
        ]

    def __str__(self) -> str:
        return f"{self.unit_id}: {self.low} to {self.high}"
