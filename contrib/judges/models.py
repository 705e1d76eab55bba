"""Models of judges, which answer in addition to people, and of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from judgments.models import Study, Unit
from judgments.models.fields import NumberField, account_key


class Judge(models.Model):
    """A source of answers that is not a person. Money is in millionths of the endpoint's currency."""

    class Source(models.TextChoices):
        MODEL = "model", gettext_lazy("a model")
        CROWD = "crowd", gettext_lazy("another crowd")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="judges")
    name = models.CharField(max_length=80)
    source = models.CharField(max_length=5, choices=Source, default=Source.MODEL)
    model = models.CharField(max_length=200, blank=True, help_text="What the endpoint calls it.")
    own_systems = models.JSONField(
        default=list, blank=True, help_text="Names of systems of its family, which it may favour."
    )
    prompt = models.TextField(blank=True, help_text="What stood before each item; empty where imported.")
    options = models.JSONField(
        default=dict, blank=True, help_text="How it was asked: endpoint, temperature, longest reply, prices."
    )
    fingerprint = models.CharField(max_length=64, blank=True, help_text="SHA-256 of imported answers.")
    budget = models.PositiveBigIntegerField(default=0, help_text="Millionths that may be spent.")
    spent = models.PositiveBigIntegerField(default=0)
    reserved = models.PositiveBigIntegerField(default=0, help_text="Of calls in progress, at their most.")
    made_by = account_key(help_text="Empty where a command did it.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "evaluation_judge"
        ordering = ["study_id", "name"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="judge_name_once_per_study"),
            models.CheckConstraint(
                condition=Q(spent__lte=F("budget") - F("reserved")), name="a_judge_stays_within_its_budget"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class JudgeAnswer(models.Model):
    """A judge's answer to a unit whose texts are shown in one order.

    If a model is asked, the row is stored before the call. ``request`` identifies what was sent, so that an earlier
    reply to the same request can be used again.
    """

    study_lookups = ("judge__study",)  # the path to the study, by which common queries limit rows to a study

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("not asked yet")
        ASKED = "asked", gettext_lazy("asked, no reply yet")
        ANSWERED = "answered", gettext_lazy("answered")
        FAILED = "failed", gettext_lazy("without a usable answer")

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="answers", db_index=False)
    unit = models.ForeignKey(Unit, verbose_name="item", on_delete=models.CASCADE, related_name="+")
    rater = models.CharField(
        "participant", max_length=80, blank=True, help_text="Who of another crowd; empty for a model."
    )
    swapped = models.BooleanField(default=False, help_text="Whether the second candidate was shown first.")
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    value = NumberField(null=True, blank=True, help_text="In the item's order.")
    answer = models.JSONField(null=True, blank=True, help_text="One that is no number, in the item's order.")
    reply = models.TextField(blank=True, help_text="What the model wrote.")
    answered_by = models.CharField(max_length=200, blank=True, help_text="The model, as its reply names it.")
    request = models.CharField(max_length=64, blank=True, help_text="SHA-256 of what was sent.")
    cached = models.BooleanField(default=False, help_text="An earlier reply to the same request was used.")
    attempts = models.PositiveSmallIntegerField(default=0)
    reserved = models.PositiveBigIntegerField(default=0)
    cost = models.PositiveBigIntegerField(default=0, help_text="Millionths, of all attempts.")
    asked_at = models.DateTimeField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "evaluation_judgeanswer"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["judge", "unit", "rater", "swapped"], name="a_judge_answers_a_unit_once_an_order"
            ),
            models.CheckConstraint(
                condition=~Q(state="answered") | Q(value__isnull=False) | Q(answer__isnull=False),
                name="an_answer_of_a_judge_has_a_value",
            ),
        ]
        indexes = [
            models.Index(fields=["judge", "state", "id"], name="answers_of_a_judge_by_state"),
            models.Index(fields=["request"], condition=Q(state="answered"), name="answers_by_request"),
        ]

    def __str__(self) -> str:
        return f"{self.judge_id}: {self.value if self.answer is None else self.answer}"


def answer_fields(answer: Any) -> dict[str, Any]:
    """Return the field of ``JudgeAnswer`` that stores an answer: ``answer`` for JSON objects, and else ``value``."""
    return {"answer": answer} if isinstance(answer, Mapping) else {"value": answer}
