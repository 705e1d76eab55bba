"""Releases at archives."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from evaluation.models import Release
from judgments.models.fields import account_key


class Deposit(models.Model):
    """A release at an archive, or on its way to it.

    The DOI and the address are stored here and not in the bundle of the release, which is signed and never changes.
    """

    study_lookups = ("release__study",)  # from a row to its study (judgments.access.visible_rows)

    class Archive(models.TextChoices):
        ZENODO = "zenodo", gettext_lazy("Zenodo")
        HUGGINGFACE = "huggingface", gettext_lazy("Hugging Face")

    class State(models.TextChoices):
        STARTED = "started", gettext_lazy("not created yet")
        CREATING = "creating", gettext_lazy("being created")
        FILLING = "filling", gettext_lazy("files are being sent")
        DRAFT = "draft", gettext_lazy("a draft that only its owners see")
        PUBLIC = "public", gettext_lazy("public")
        GONE = "gone", gettext_lazy("the draft was deleted at the archive")

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="deposits")
    archive = models.CharField(db_column="place", max_length=11, choices=Archive)
    host = models.CharField(max_length=200, help_text="Such as zenodo.org or sandbox.zenodo.org.")
    repository = models.CharField(
        max_length=200, blank=True, help_text="At Hugging Face: whose, and its name."
    )
    mark = models.UUIDField(
        default=uuid.uuid4, editable=False, help_text="Stands in the record, by which it is found again."
    )
    state = models.CharField(max_length=8, choices=State, default=State.STARTED)
    remote = models.CharField(max_length=100, blank=True, help_text="The record's id, or the commit's.")
    doi = models.CharField(max_length=200, blank=True)
    address = models.URLField(max_length=500, blank=True)
    statements = models.JSONField(
        db_column="given",
        default=dict,
        blank=True,
        help_text="Creators, keywords, papers, and what was said of rights.",
    )
    sent = models.JSONField(default=list, blank=True, help_text="Names, sizes and SHA-256 of the files.")
    asked_at = models.DateTimeField(null=True, blank=True, help_text="When its creation was last asked for.")
    made_at = models.DateTimeField(default=timezone.now)
    made_by = account_key(models.PROTECT, "Empty where a command did it.")
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "evaluation_deposit"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["release", "host"], condition=~Q(state="gone"), name="a_release_is_at_a_host_once"
            ),
            models.UniqueConstraint(fields=["mark"], name="a_deposit_has_its_own_mark"),
            models.CheckConstraint(
                condition=Q(state__in=["started", "creating", "gone"]) | ~Q(remote="") | ~Q(repository=""),
                name="a_deposit_says_where_it_is",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.release_id}: {self.host}"
