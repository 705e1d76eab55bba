"""Roles in studies, and the log of actions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from common.rows import AppendOnlyRow
from judgments.models.studies import Study


class StudyRole(models.Model):
    """A person's role in a study; each includes the rights of the ones before (judgments.access.roles)."""

    class Role(models.TextChoices):
        VIEWER = "viewer", "viewer"
        REVIEWER = "reviewer", "reviewer"
        DESIGNER = "designer", "designer"
        OWNER = "owner", "owner"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="roles")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="study_roles")
    role = models.CharField(max_length=10, choices=Role)
    given_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    given_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study_id", "user_id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "user"], name="one_role_per_study_and_person"),
            models.CheckConstraint(
                condition=models.Q(role__in=["viewer", "reviewer", "designer", "owner"]),
                name="role_is_a_known_one",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} of {self.study}"


class StudyEvent(AppendOnlyRow):
    """An action on a study: who, what, when and why. It outlives the study and keeps its slug."""

    study = models.ForeignKey(
        Study, on_delete=models.SET_NULL, related_name="events", null=True, blank=True,
        help_text="Empty once the study, never opened, was deleted.",
    )  # fmt: skip
    slug = models.SlugField(max_length=80, blank=True, help_text="The study's short name at that time.")
    what = models.CharField(max_length=40, help_text="In a word, such as opened or budget-raised.")
    words = models.CharField(max_length=1000, help_text="In a sentence.")
    why = models.CharField(max_length=500, blank=True, help_text="The reason that was given.")
    details = models.JSONField(default=dict, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True, blank=True,
        help_text="Empty where the platform did it by itself, or a command did.",
    )  # fmt: skip
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.what}: {self.slug}"
