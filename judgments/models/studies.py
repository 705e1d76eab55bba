"""The models of studies and saved presets."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.db import models
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone

from judgments.models.datasets import Dataset
from judgments.models.fields import account_key

# Sent before a study opens. Receivers get ``study`` and return a sentence about why it cannot be opened yet, or "".
# They also add a check to the page "Launch" (``annotation.launch.views.points.add_check``).
reasons_against_opening = Signal()

# Sent before the pages of work of a study are discarded. Receivers get ``study`` and return a sentence about why the
# pages cannot be discarded, such as that they have rows about them, or "".
reasons_against_discarding = Signal()

# Sent in the transaction that discards the pages of work of a study. Receivers get ``study`` and delete rows that are
# derived from the pages.
pages_discarded = Signal()


class StudyQuerySet(models.QuerySet["Study"]):
    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> StudyQuerySet:
        """Return the studies in which the user has a role. The permission to view studies adds all others."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        if user.has_perm("judgments.view_study") or user.has_perm("judgments.change_study"):
            return self
        return self.filter(roles__user=user)


class Study(models.Model):
    """A study: its design, its state, and the dataset from which it is drawn."""

    class State(models.TextChoices):
        DRAFT = "draft", "draft"
        GENERATED = "generated", "generated"
        OPEN = "open", "open"
        CLOSED = "closed", "closed"

    class Source(models.TextChoices):
        DESIGNED = "designed", "designed here"
        IMPORTED = "imported", "imported judgments"

    slug = models.SlugField("short name", max_length=80, unique=True)
    name = models.CharField(max_length=200)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="studies")
    protocol = models.CharField(max_length=20)
    design = models.JSONField(help_text="The frozen StudyDesign. Use design_of(study) to read it.")
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    source = models.CharField(max_length=10, choices=Source, default=Source.DESIGNED)
    simulated = models.BooleanField(
        default=False, help_text="Contains simulated answers of a rehearsal, not answers of people."
    )
    fingerprint = models.CharField(max_length=64, blank=True, help_text="SHA-256 of imported judgments.")
    platform = models.CharField(
        "crowd",
        db_column="place",  # the name of the field before migration 0026
        max_length=20,
        blank=True,
        help_text="The crowd at which the study was first opened, live or sandbox. It cannot be changed.",
    )
    notes = models.JSONField(default=dict, blank=True)  # by name, such as "sentences" or "control_pool"
    created_by = account_key()
    created_at = models.DateTimeField(auto_now_add=True)
    generated_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Time at which the study was paused. A paused study offers no work, but pages of "
        "work in progress can be finished.",
    )
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = StudyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "slug"]
        constraints = [
            models.CheckConstraint(
                condition=Q(paused_at=None) | Q(state="open"), name="only_an_open_study_is_paused"
            )
        ]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.name


class SavedPreset(models.Model):
    """A design without name, dataset and seed. Pages offer it together with the built-in presets.

    A study that is made from the preset stores its whole design, so it does not change with the preset.
    """

    slug = models.SlugField(
        "short name", max_length=80, unique=True, help_text='Study files refer to the preset as preset = "…".'
    )
    title = models.CharField(max_length=200)
    description = models.CharField(max_length=1000, blank=True)
    values = models.JSONField("settings", help_text="The settings of the design, as in a study file.")
    made_by = account_key(label="created by")
    made_at = models.DateTimeField("created at", default=timezone.now)

    class Meta:
        ordering = ["title", "slug"]
        verbose_name = "preset"

    def __str__(self) -> str:
        return self.title
