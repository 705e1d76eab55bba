"""Tokens for programs that use the HTTP API on a person's behalf."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from judgments.models.studies import Study


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def usable(self, now: datetime) -> ApiTokenQuerySet:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None, user__is_active=True)


class ApiToken(models.Model):
    """A key to the HTTP API, shown once; ``digest`` is its SHA-256."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="What it is for, such as the notebook of the pilot.")
    prefix = models.CharField(max_length=12, help_text="Its first characters, to tell it from others.")
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list, help_text="Of judgments.access.tokens.SCOPES.")
    limited = models.BooleanField(default=False, help_text="Opens the studies named, and no others.")
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
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
