"""Budgets, a ledger that only grows, and keys of money requests."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from annotation.models.crowds import PLACE_LENGTH, CrowdCall, CrowdSession, Publication
from common.rows import AppendOnlyRow
from judgments.models import Study

KEY_LENGTH = 200


class Budget(models.Model):
    """A study's budget at a place. Only annotation.money.ledger changes the counters, with an entry for each
    change."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="budgets")
    place = models.CharField(max_length=PLACE_LENGTH)
    budget_cents = models.PositiveBigIntegerField(default=0)
    reserved_cents = models.PositiveBigIntegerField(default=0)
    spent_cents = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "place"], name="one_budget_per_study_and_place"),
            models.CheckConstraint(
                condition=Q(reserved_cents__gte=0)
                & Q(spent_cents__gte=0)
                & Q(budget_cents__gte=F("reserved_cents") + F("spent_cents")),
                name="reserved_and_spent_within_the_budget",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} at {self.place}"

    @property
    def left_cents(self) -> int:
        return self.budget_cents - self.reserved_cents - self.spent_cents


class LedgerEntry(AppendOnlyRow):
    """A booking. The sums of a budget's entries are its counters; ``key`` prevents double booking."""

    of_study = ("budget__study",)

    budget = models.ForeignKey(Budget, on_delete=models.PROTECT, related_name="entries")
    key = models.CharField(
        max_length=160, unique=True, help_text="Of a payment: place, worker, session, what for."
    )
    what = models.CharField(max_length=12, help_text="reserve, release, move, reward, bonus")
    reserved_cents = models.BigIntegerField(default=0, help_text="Change of what is reserved.")
    spent_cents = models.BigIntegerField(default=0, help_text="Change of what is spent.")
    publication = models.ForeignKey(
        Publication, on_delete=models.PROTECT, related_name="entries", null=True, blank=True
    )
    session = models.ForeignKey(
        CrowdSession, on_delete=models.PROTECT, related_name="entries", null=True, blank=True
    )
    call = models.ForeignKey(
        CrowdCall, on_delete=models.PROTECT, related_name="entries", null=True, blank=True
    )
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "ledger entries"

    def __str__(self) -> str:
        return self.key


class MoneyRequest(models.Model):
    """A request by key with its answer, so that a repetition changes nothing."""

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=KEY_LENGTH, help_text="The Idempotency-Key it came with.")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    step = models.CharField(max_length=20, help_text="bonus, top-up, budget, retry, was-done, was-not-done.")
    digest = models.CharField(
        max_length=64, help_text="Of all that was asked: the same key must ask for the same."
    )
    answer = models.JSONField(default=dict, blank=True, help_text="What was answered, and is again.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["by", "key"], name="a_key_once_per_account"),
        ]

    def __str__(self) -> str:
        return f"{self.step} {self.key}"
