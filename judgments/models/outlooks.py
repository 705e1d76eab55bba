"""What may still come of a unit, where the design stops asking once an outcome is settled (docs/stopping.md)."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from judgments.models.studies import Unit


class Outlook(models.Model):
    """The lowest and highest outcome that a judged unit can still get: 1 for its first answer, -1 for its second, 0 for
    a tie. It is a memory of what the judgments say and can be made again from them at any time."""

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
