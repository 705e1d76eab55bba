"""The models of jobs and of cached figures."""

from __future__ import annotations

from datetime import timedelta

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from common.rows.figures import FiguresField
from judgments.jobs.registry import automatic_kinds, study_creating_kinds
from judgments.models.fields import account_key
from judgments.models.studies import Study

DELETED_STUDY_KEY = "deleted_study"  # the key of ``Job.args`` that replaces "study" when the study is deleted


def of_studies(*slugs: str) -> Q:
    """Return a filter for the jobs of studies.

    An unfinished import of judgments is left out: its slug is that of the study that it will create, and a study that
    already has this slug is another study.
    """
    has_study = ~Q(kind__in=study_creating_kinds()) | Q(state=Job.State.DONE)
    return has_study & Q(args__study__in=slugs)


class JobQuerySet(models.QuerySet["Job"]):
    def due(self) -> JobQuerySet:
        """Return the queued jobs that may start now, from the oldest."""
        is_due = Q(sent_at=None) | Q(sent_at__lte=Now())
        return self.filter(is_due, state=Job.State.QUEUED).order_by("pk")

    def listed(self) -> JobQuerySet:
        """Return the jobs that pages list: those that did not start automatically while a page was open."""
        return self.exclude(kind__in=automatic_kinds())

    def under_way(self) -> JobQuerySet:
        return self.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])

    def requeue(self, *, sent_in: timedelta | None = None, counted: bool = True) -> int:
        """Queue running jobs again. Return their number.

        Args:
            sent_in: the time after which the broker delivers the messages that were sent for the jobs; None if no
                messages were sent.
            counted: whether the interrupted attempt counts in ``attempts``; not if the worker was asked to stop.
        """
        return self.update(
            state=Job.State.QUEUED,
            attempts=F("attempts") - (0 if counted else 1),
            sent_at=Now() + sent_in if sent_in else None,
            owner="",
            progress=0.0,
            words="",
            heartbeat=None,
        )


class Job(models.Model):
    """A background job. Only judgments.jobs changes its state."""

    class State(models.TextChoices):
        QUEUED = "queued", "waiting"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    kind = models.CharField(max_length=64)
    queue = models.CharField(max_length=16, default="heavy", db_default="heavy")
    args = models.JSONField("arguments", default=dict, blank=True)
    state = models.CharField(max_length=16, choices=State, default=State.QUEUED)
    progress = models.FloatField(default=0.0)
    words = models.CharField("current step", max_length=200, blank=True, default="")
    error = models.TextField(blank=True, default="")
    result = FiguresField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    owner = models.CharField("worker process", max_length=160, blank=True, default="")
    created_by = account_key()
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Time at which the broker delivers the job's message. Empty: no message was sent.",
    )
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat = models.DateTimeField("last sign of life", null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["state"], name="jobs_by_state"),
            # SQLite uses no partial index for a query with parameters. This index alone suffices to find
            # the account whose job is next.
            models.Index(fields=["queue", "state", "sent_at", "created_by", "kind"], name="jobs_by_turn"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(progress__gte=0, progress__lte=1), name="job_progress_is_a_share"
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | (Q(heartbeat__isnull=False) & ~Q(owner="")),
                name="job_running_has_an_owner",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["done", "failed", "cancelled"], finished_at__isnull=False)
                | Q(state__in=["queued", "running"], finished_at__isnull=True),
                name="job_finished_when_ended",
            ),
            models.CheckConstraint(
                condition=Q(state="failed", error__gt="") | (~Q(state="failed") & Q(error="")),
                name="job_failed_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.state}"

    @property
    def is_under_way(self) -> bool:
        return self.state in (self.State.QUEUED, self.State.RUNNING)

    @property
    def has_failed(self) -> bool:
        """Whether the job failed or was cancelled, and thus had no effect."""
        return self.state in (self.State.FAILED, self.State.CANCELLED)


class CachedFigures(models.Model):
    """Cached figures of a study. They are computed anew once they expire, or a person's action changed the study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="cached_figures")
    name = models.CharField(max_length=60)
    # a hash of the facts about the study that an action changes, as they were when the figures were computed
    version = models.CharField(
        max_length=20, help_text="Of what a person did to the study before it was counted."
    )
    value = FiguresField(encoder=DjangoJSONEncoder)
    seconds = models.FloatField(help_text="How long the counting took.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="figures_are_kept_once_per_study")
        ]
        verbose_name_plural = "cached figures"

    def __str__(self) -> str:
        return f"{self.name}: {self.made_at}"
