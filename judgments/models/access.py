"""Roles in studies, the log of studies, and tokens of the HTTP API."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.rows.append_only import AppendOnlyRow
from judgments.models.fields import account_key
from judgments.models.studies import Study


class StudyRole(models.Model):
    """A person's role in a study. Each role includes the rights of the previous roles (judgments.access.rights)."""

    class Role(models.TextChoices):
        VIEWER = "viewer", "viewer"
        REVIEWER = "reviewer", "reviewer"
        DESIGNER = "designer", "designer"
        OWNER = "owner", "owner"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="roles")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="study_roles")
    role = models.CharField(max_length=10, choices=Role)
    given_by = account_key()
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
    """An entry of a study's log: who did what, when and why. It remains after the study's deletion, with its slug."""

    study = models.ForeignKey(
        Study, on_delete=models.SET_NULL, related_name="events", null=True, blank=True,
        help_text="Empty if the study was deleted. Only a study that was never opened can be deleted.",
    )  # fmt: skip
    slug = models.SlugField("short name at the time of the event", max_length=80, blank=True)
    what = models.CharField("type of event", max_length=40, help_text="Such as opened or budget-raised.")
    words = models.CharField("description", max_length=1000)
    why = models.CharField("reason", max_length=500, blank=True)
    details = models.JSONField(default=dict, blank=True)
    by = account_key(models.PROTECT, "Empty if the platform or a command caused the event.", label="account")
    at = models.DateTimeField("time", default=timezone.now)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.what}: {self.slug}"


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def usable_at(self, now: datetime) -> ApiTokenQuerySet:
        """Return the tokens of active accounts that are neither revoked nor expired."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None, user__is_active=True)


class ApiToken(models.Model):
    """A token of the HTTP API. Its key is shown only once; ``digest`` is the key's SHA-256."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(
        max_length=100, help_text="Purpose of the token, such as the notebook of the pilot."
    )
    prefix = models.CharField(max_length=12, help_text="The first characters of the token.")
    digest = models.CharField("hash of the token", max_length=64, unique=True)
    scopes = models.JSONField(default=list, help_text="Names of scopes from judgments.access.tokens.SCOPES.")
    limited = models.BooleanField(
        "limited to certain studies",
        default=False,
        help_text="The token gives access only to certain studies.",
    )
    studies = models.ManyToManyField(Study, related_name="+", blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def usable_at(self, now: datetime) -> bool:
        """Return whether the token is neither revoked nor expired. Its account may be inactive."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
