"""The models of a study's webhooks, and of the messages to them.

Messages and their signatures follow Standard Webhooks
(https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy, gettext_noop

from judgments.models import Study
from judgments.models.fields import account_key

SUBMITTED, COMPLETED, EXCLUDED = "assignment.submitted", "study.completed", "worker.excluded"
PING = "ping"
EVENTS = {
    SUBMITTED: gettext_noop("a participant submitted a page of work"),
    COMPLETED: gettext_noop("all judgments were collected, or the study was closed"),
    EXCLUDED: gettext_noop("a participant was excluded"),
}
# The annotation of an assignment that says whether its study has a webhook for submissions. It is read when the
# assignment is locked for its submission, so that a study without webhooks needs no further query.
HEARS_OF_SUBMISSIONS = "hears_of_submissions"


class Webhook(models.Model):
    """An address to which a study's events are sent.

    The signing key is derived from the installation's key and ``salt``, so a copy of the database does not contain
    it.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    salt = models.CharField(max_length=64)
    submissions = models.BooleanField(default=False, help_text="Hears of submitted pages of work.")
    completions = models.BooleanField(default=False, help_text="Hears of the study's completion.")
    exclusions = models.BooleanField(default=False, help_text="Hears of excluded participants.")
    active = models.BooleanField(default=True)
    failures = models.PositiveIntegerField(default=0, help_text="Attempts in a row that failed.")
    rests_until = models.DateTimeField(
        null=True, blank=True, help_text="After a failure nothing is sent until then."
    )
    told_complete_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When its completion was noted; empty while the study is not complete.",
    )
    made_by = account_key()
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "annotation_webhook"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "url"], name="a_webhook_once_per_address"),
            models.CheckConstraint(
                condition=Q(submissions=True) | Q(completions=True) | Q(exclusions=True),
                name="a_webhook_hears_of_something",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study}: {self.url}"

    @staticmethod
    def hears_of_submissions() -> Exists:
        """Return an expression of a query: whether the row's study has an active webhook for submissions."""
        return Exists(Webhook.objects.filter(study=OuterRef("study"), active=True, submissions=True))

    @property
    def events(self) -> list[str]:
        is_sent = {SUBMITTED: self.submissions, COMPLETED: self.completions, EXCLUDED: self.exclusions}
        return [event for event in is_sent if is_sent[event]]


class WebhookDelivery(models.Model):
    """A message to a webhook. It is stored in the transaction of the event, and later sent at least once."""

    study_lookups = ("webhook__study",)  # from a row to its study (judgments.access.visible_rows)

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("waiting")
        SENDING = "sending", gettext_lazy("being sent")
        DELIVERED = "delivered", gettext_lazy("delivered")
        GIVEN_UP = "given-up", gettext_lazy("not delivered")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=30)
    key = models.CharField(max_length=100, help_text="What happened; nothing is told twice to one webhook.")
    payload = models.JSONField(help_text="The message's data.")
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    made_at = models.DateTimeField(default=timezone.now)
    next_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="HTTP status of the last answer."
    )
    problem = models.CharField(max_length=300, blank=True, help_text="Why the last attempt failed.")

    class Meta:
        db_table = "annotation_webhookdelivery"
        ordering = ["-made_at", "id"]
        verbose_name_plural = "webhook deliveries"
        constraints = [
            models.UniqueConstraint(fields=["webhook", "key"], name="an_event_once_per_webhook"),
            models.CheckConstraint(
                condition=Q(state="delivered", delivered_at__isnull=False)
                | (~Q(state="delivered") & Q(delivered_at__isnull=True)),
                name="delivered_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(state="sending") | Q(started_at__isnull=False), name="sending_has_begun"
            ),
        ]
        indexes = [
            models.Index(
                F("next_at"), condition=Q(state__in=["waiting", "sending"]), name="deliveries_to_send"
            ),
            models.Index(fields=["webhook", "-made_at"], name="deliveries_of_a_webhook"),
            models.Index(fields=["made_at"], name="deliveries_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.event} ({self.state})"
