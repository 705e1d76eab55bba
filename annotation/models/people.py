"""The models of workers, their participation in studies, qualifications and invitations."""

from __future__ import annotations

import re

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from judgments.models import Study

NAME_LENGTH = 100  # largest length of a name that a person types
NAME_MARK = re.compile(r" #[0-9a-f]{8}$")  # the mark after a name that somebody has in another study, too
NAME_MARK_LENGTH = len(" #01234567")


class Worker(models.Model):
    """Somebody who judges, under one name at one crowd: a person, or a simulated or imported worker.

    A crowd worker's name is a pseudonym. An anonymous worker is no person: it stands for one answer of a published
    total. ``is_staff``, ``is_active``, ``is_anonymous`` and ``is_authenticated`` let REST framework treat a worker as
    the user of a request.
    """

    # lookups from a row to its studies (judgments.access.visible_rows)
    study_lookups = ("participations__study", "study")

    class Source(models.TextChoices):
        LOCAL = "local", gettext_lazy("joined here")
        CROWD = "crowd", gettext_lazy("sent by a crowd")
        REHEARSAL = "rehearsal", gettext_lazy("rehearsal crowd (simulated)")
        IMPORTED = "imported", gettext_lazy("imported judgments")

    name = models.CharField(max_length=NAME_LENGTH + NAME_MARK_LENGTH)
    source = models.CharField(max_length=20, choices=Source, default=Source.LOCAL)
    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="+", null=True, blank=True,
        help_text="The study that created this participant in a rehearsal or an import. Participants "
                  "of different studies can have the same name.",
    )  # fmt: skip
    platform = models.CharField(
        "crowd", db_column="place", max_length=20, blank=True,
        help_text="The crowd that sent the participant. The sandbox is a different crowd.",
    )  # fmt: skip
    anonymous = models.BooleanField(default=False)
    token_hash = models.CharField(max_length=64, blank=True)
    resume_hash = models.CharField("hash of the resume code", max_length=64, blank=True)
    country = models.CharField(
        max_length=2,
        blank=True,
        help_text="ISO 3166-1 code that the participant stated. Empty: the participant was not asked.",
    )
    created_at = models.DateTimeField(default=timezone.now)
    erased = models.BooleanField(
        default=False, help_text="Replaces a participant who was erased. The name is random."
    )

    token = ""  # the token of the current request; never stored
    is_staff = False
    is_active = True
    is_anonymous = False

    class Meta:
        ordering = ["name"]
        verbose_name = "participant"
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
        """The name that the worker typed, without the mark that tells apart people of the same name."""
        return NAME_MARK.sub("", self.name)

    def is_called(self, name: str) -> bool:
        """Return whether this is the worker's name, with or without the mark."""
        return name in (self.name, self.shown_name)

    @property
    def is_person(self) -> bool:
        return self.source in (Worker.Source.LOCAL, Worker.Source.CROWD)

    @property
    def is_authenticated(self) -> bool:
        return True


class Participation(models.Model):
    """A worker's participation in a study: their consent, status and completion code."""

    class Standing(models.TextChoices):
        ACTIVE = "active", gettext_lazy("active")
        PAUSED = "paused", gettext_lazy("paused until reviewed")
        EXCLUDED = "excluded", gettext_lazy("excluded")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="participations")
    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.CASCADE, related_name="participations"
    )
    joined_at = models.DateTimeField(default=timezone.now)
    consent_version = models.CharField(
        max_length=16, blank=True, help_text="Hash of the consent text that the participant agreed to."
    )
    consented_at = models.DateTimeField(null=True, blank=True)
    cursor = models.PositiveIntegerField(
        "start of the search for work",
        default=0,
        help_text="The search for the next page of work starts at this position.",
    )
    completion_code = models.CharField(max_length=12)
    standing = models.CharField("status", max_length=8, choices=Standing, default=Standing.ACTIVE)

    class Meta:
        ordering = ["study_id", "joined_at"]
        constraints = [
            models.UniqueConstraint(fields=["study", "worker"], name="a_worker_joins_a_study_once")
        ]

    def __str__(self) -> str:
        return f"{self.worker} in {self.study}"


class Qualification(models.Model):
    """A property of a person that studies require or forbid by its name (``workers.requires``, ``workers.forbids``).

    Crowds that keep lists of people get a copy: a qualification at Mechanical Turk, a group at Prolific.
    """

    # lookups from a row to its studies (judgments.access.visible_rows)
    study_lookups = ("worker__participations__study",)

    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.CASCADE, related_name="qualifications"
    )
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
    """A code with which one person may join a study for invited people. ``used_at`` is set when somebody joined."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    code = models.CharField(max_length=40, unique=True)
    note = models.CharField(
        max_length=200, blank=True, help_text="Note on who gets the invitation. Participants do not see it."
    )
    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.note or self.code
