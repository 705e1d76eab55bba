"""The models of consent texts, erasure requests and erasures, and the signals by which other apps erase their data.

The arguments of each signal are in the comment above it.
"""

from __future__ import annotations

from django.db import models
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_lazy

from annotation.models.people import Worker
from common.rows.append_only import AppendOnlyRow
from judgments.models import Study
from judgments.models.fields import account_key

# Sent with ``study``, in the transaction that deletes its raw ids.
ids_forgotten = Signal()

# Sent with ``study`` and the ``worker`` to erase. Receivers return another name of the person, or None.
identifying_word_wanted = Signal()

# Sent with ``study`` and ``replacements``, in the transaction that erases people. ``replacements`` has the text that
# replaces each word that names them, by the word.
person_erased = Signal()

# Sent with ``study`` and ``withdraw`` (delete files of releases, too) after an erasure's transaction. May be repeated.
erasure_committed = Signal()


class ConsentVersion(AppendOnlyRow):
    """A consent text of a study, as participants read it. The latest version is in force."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="consent_versions")
    number = models.PositiveIntegerField(help_text="From 1.")
    version = models.CharField(
        max_length=16, help_text="Hash of the text; participations and assignments name it."
    )
    text = models.TextField(blank=True)
    translations = models.JSONField(default=dict, blank=True, help_text="Language -> text.")
    why = models.CharField(max_length=500, blank=True)
    made_by = account_key()
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="consent_versions_are_numbered")
        ]

    def __str__(self) -> str:
        return f"{self.study}: consent {self.number}"


class ErasureRequest(models.Model):
    """A participant's request to leave a study and be erased. Granting it deletes the request, too."""

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("waiting")
        DECLINED = "declined", gettext_lazy("declined")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="erasure_requests")
    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.CASCADE, related_name="erasure_requests"
    )
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    asked_at = models.DateTimeField(default=timezone.now)
    answer = models.CharField(
        max_length=500, blank=True, help_text="Why it was declined; the participant reads it."
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["asked_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "worker"], name="a_person_asks_once_in_a_study")
        ]

    def __str__(self) -> str:
        return f"{self.study}: {self.state}"


class Erasure(AppendOnlyRow):
    """The record of a person's erasure from a study. It has no name, pseudonym or answer.

    ``mark`` is a keyed hash of the person, so that the erasure can be repeated in a restored backup. ``content``
    has the counts of removed rows, commitments to the judgments (``annotation.privacy.receipts``), and earlier
    releases. The rows form a chain: ``previous`` is the digest of the row before.
    """

    class Extent(models.TextChoices):
        IDENTITY = "identity", gettext_lazy("identity and texts; other answers are kept")
        ALL = "all", gettext_lazy("identity and all answers")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="erasures")
    mark = models.CharField(max_length=64)
    way = models.CharField(max_length=8, choices=Extent)
    content = models.JSONField(default=dict)
    previous = models.CharField(max_length=64, unique=True, blank=True)
    digest = models.CharField(max_length=64)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.study}: {self.way}"
