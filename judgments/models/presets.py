"""Saved designs as starting points."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class SavedPreset(models.Model):
    """A design without name, dataset and seed, offered with the shipped presets.

    Studies made from it hold their whole design: changing or deleting it changes none of them.
    """

    slug = models.SlugField(max_length=80, unique=True, help_text='Study files name it as preset = "…".')
    title = models.CharField(max_length=200)
    description = models.CharField(max_length=1000, blank=True)
    values = models.JSONField(help_text="What a study file would say.")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["title", "slug"]
        verbose_name = "preset"

    def __str__(self) -> str:
        return self.title
