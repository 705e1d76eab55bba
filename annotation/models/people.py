"""Workers, participation in studies, invitations, consent texts, and erasures with their signals to other apps."""

from __future__ import annotations

import re

from django.db import models
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_lazy

from common.rows import AppendOnlyRow
from judgments.models import Study
from judgments.models.datasets import account_key

NAME_LENGTH = 100  # of a name that somebody types
MARK = re.compile(r" #[0-9a-f]{8}$")  # behind a name that somebody has in another study
MARK_LENGTH = len(" #01234567")


class Worker(models.Model):
    """A person who judges, under one name at one crowd.

    A crowd worker's name is a pseudonym. An anonymous worker is a slot in a published total, not a person.
    """

    of_study = ("participations__study", "study")

    class Source(models.TextChoices):
        LOCAL = "local", gettext_lazy("joined here")
        CROWD = "crowd", gettext_lazy("sent by a crowd")
        REHEARSAL = "rehearsal", gettext_lazy("rehearsal crowd (simulated)")
        IMPORTED = "imported", gettext_lazy("imported judgments")

    name = models.CharField(max_length=NAME_LENGTH + MARK_LENGTH)
    source = models.CharField(max_length=20, choices=Source, default=Source.LOCAL)
    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="+", null=True, blank=True,
        help_text="The study whose rehearsal or import made this worker; names repeat between them.",
    )  # fmt: skip
    platform = models.CharField(
        "place", db_column="place", max_length=20, blank=True,
        help_text="Which crowd sent the person; the sandbox's people are others.",
    )  # fmt: skip
    anonymous = models.BooleanField(default=False)
    token_hash = models.CharField(max_length=64, blank=True)
    resume_hash = models.CharField(max_length=64, blank=True)
    country = models.CharField(
        max_length=2, blank=True, help_text="ISO 3166-1 code, as the worker declared it; empty: not asked."
    )
    created_at = models.DateTimeField(default=timezone.now)
    erased = models.BooleanField(
        default=False, help_text="Stands for a person who was erased; the name is random."
    )

    token = ""  # the token of the current request; never stored
    is_staff = False
    is_active = True
    is_anonymous = False

    class Meta:
        ordering = ["name"]
        indexes = [
            models.Index(fields=["resume_hash"], condition=Q(source="local"), name="workers_by_resume_code")
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(source="local"), name="local_worker_name_once"
            ),
            models.UniqueConstraint(
                fields=["platform", "name"],
                condition=Q(source="crowd"),
                name="crowd_worker_name_once_per_place",
            ),
            models.UniqueConstraint(
                fields=["study", "name"],
                condition=Q(source__in=["rehearsal", "imported"]),
                name="worker_name_once_per_rehearsal_or_import",
            ),
            models.UniqueConstraint(
                fields=["token_hash"], condition=~Q(token_hash=""), name="worker_token_once"
            ),
            models.CheckConstraint(
                condition=Q(source__in=["local", "crowd"], study__isnull=True)
                | (Q(source__in=["rehearsal", "imported"]) & Q(study__isnull=False)),
                name="only_people_belong_to_no_study",
            ),
            models.CheckConstraint(
                condition=(Q(source="crowd") & ~Q(platform="")) | (~Q(source="crowd") & Q(platform="")),
                name="a_place_sends_the_workers_of_a_crowd",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def shown_name(self) -> str:
        """The name as its owner typed it: they do not learn that somebody has it in another study."""
        return MARK.sub("", self.name)

    def is_called(self, name: str) -> bool:
        return name in (self.name, self.shown_name)

    @property
    def is_person(self) -> bool:
        return self.source in (Worker.Source.LOCAL, Worker.Source.CROWD)

    @property
    def is_authenticated(self) -> bool:
        return True


class Participation(models.Model):
    class Standing(models.TextChoices):
        ACTIVE = "active", gettext_lazy("active")
        PAUSED = "paused", gettext_lazy("paused until somebody looked")
        EXCLUDED = "excluded", gettext_lazy("excluded")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="participations")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="participations")
    joined_at = models.DateTimeField(default=timezone.now)
    consent_version = models.CharField(
        max_length=16, blank=True, help_text="Hash of the consent text that the worker agreed to."
    )
    consented_at = models.DateTimeField(null=True, blank=True)
    cursor = models.PositiveIntegerField(
        default=0, help_text="HITs before this position were done or passed; the search for work starts here."
    )
    completion_code = models.CharField(max_length=12)
    standing = models.CharField(max_length=8, choices=Standing, default=Standing.ACTIVE)

    class Meta:
        ordering = ["study_id", "joined_at"]
        constraints = [
            models.UniqueConstraint(fields=["study", "worker"], name="a_worker_joins_a_study_once")
        ]

    def __str__(self) -> str:
        return f"{self.worker} in {self.study}"


class Qualification(models.Model):
    """A property of a person that studies require or forbid by its name (``workers.requires``, ``forbids``).

    Crowds with such lists get a copy: a qualification at Mechanical Turk, a group at Prolific.
    """

    of_study = ("worker__participations__study",)

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="qualifications")
    name = models.CharField(max_length=80)
    given_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "worker_id"]
        constraints = [
            models.UniqueConstraint(fields=["worker", "name"], name="a_qualification_once_per_worker")
        ]

    def __str__(self) -> str:
        return f"{self.worker}: {self.name}"


class Invitation(models.Model):
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    code = models.CharField(max_length=40, unique=True)
    note = models.CharField(max_length=200, blank=True, help_text="Who it is for; workers never see it.")
    worker = models.ForeignKey(Worker, on_delete=models.SET_NULL, related_name="+", null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.note or self.code


ids_forgotten = Signal()  # sends ``study``, in the transaction that deletes its raw ids

# sends ``study`` and ``worker``, to be erased; receivers return another name by which the person is known
identifying_word_wanted = Signal()

# sends ``study`` and ``replacements`` (words that name people -> others), in the transaction that erases them
person_erased = Signal()

# sends ``study`` and ``withdraw``, after that transaction; may be sent again
erasure_committed = Signal()


class ConsentVersion(AppendOnlyRow):
    """A consent text of a study, as participants read it; the last one is in force."""

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
    """A participant's request to leave a study and be erased; deleted with the person when granted."""

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("waiting")
        DECLINED = "declined", gettext_lazy("declined")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="erasure_requests")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="erasure_requests")
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    asked_at = models.DateTimeField(default=timezone.now)
    answer = models.CharField(
        max_length=500, blank=True, help_text="Why it was declined; the person reads it."
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
    """The record of a person's erasure from a study: no name, no pseudonym, no answer.

    ``mark`` is a keyed hash of the person, so that a restored backup can be cleaned again. ``content`` has the counts
    of removed rows, commitments to the judgments (``annotation.privacy.erasing``), and the releases made before.
    The rows form a chain: ``previous`` is the digest of the row before.
    """

    class Way(models.TextChoices):
        IDENTITY = "identity", gettext_lazy("who they are; answers stay, without texts")
        ALL = "all", gettext_lazy("who they are, and their answers")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="erasures")
    mark = models.CharField(max_length=64)
    way = models.CharField(max_length=8, choices=Way)
    content = models.JSONField(default=dict)
    previous = models.CharField(max_length=64, unique=True, blank=True)
    digest = models.CharField(max_length=64)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.study}: {self.way}"
