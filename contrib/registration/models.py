"""The plans of registered studies."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from common.rows.append_only import AppendOnlyRow
from judgments.design.tables.plan import RegistrationPlan
from judgments.models import Study
from judgments.models.fields import account_key


class Registration(AppendOnlyRow):
    """A study's plan, registered before the study opened."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="registration")
    content = models.JSONField(help_text="Hypotheses, rules, planned analyses and the design, as registered.")
    sha256 = models.CharField(max_length=64, help_text="Of the content as canonical JSON.")
    registered_at = models.DateTimeField(default=timezone.now)
    registered_by = account_key(models.PROTECT, "Empty where a command did it.")

    class Meta:
        db_table = "evaluation_registration"
        ordering = ["id"]

    def __str__(self) -> str:
        return f"Registration of {self.study}"

    @property
    def plan(self) -> RegistrationPlan:
        return RegistrationPlan.model_validate(self.content["plan"])
