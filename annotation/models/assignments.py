"""The model of assignments: pages of work, each taken by one worker."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import models
from django.db.models import Exists, F, Q
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from annotation.models.people import Worker
from judgments.models import HIT, Study

# states of work that a worker holds until its lease ends
LEASED_STATES = ("reserved", "accepted")
# states that occupy a slot of the HIT
LIVE_STATES = (*LEASED_STATES, "submitted", "approved", "rejected")
# states of finished work whose answers are not used
EXCLUDED_STATES = ("invalidated", "apart")
# states of finished work whose answers are used
FINISHED_STATES = ("submitted", "approved", "rejected")
EXCLUDED_BY_PERSON = "person"  # the reason, in files, of an exclusion by a person instead of a detector
UNKNOWN_TO_CROWD = "unknown-to-crowd"  # the reason, in files, if the crowd does not know the work

# Sent in the transaction that stores judgments, with ``assignment`` and the number of ``judgments``.
assignment_submitted = Signal()

# Expressions, by name, with which an assignment is annotated when it is locked for its submission. With them, receivers
# of the signal know without a query whether they have anything to do.
submission_annotations: dict[str, Exists] = {}


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def with_lease(self, now: datetime) -> AssignmentQuerySet:
        """Return the assignments in progress whose lease has not ended. Reserved assignments are left out."""
        return self.filter(state=Assignment.State.ACCEPTED, expires_at__gt=now)

    def overdue(self, now: datetime) -> AssignmentQuerySet:
        """Return the leased assignments whose lease has ended, although their state does not say so yet."""
        return self.filter(state__in=LEASED_STATES, expires_at__lte=now)

    def finished(self) -> AssignmentQuerySet:
        return self.filter(state__in=FINISHED_STATES)


class Assignment(models.Model):
    """The work of one worker on one HIT, from its reservation or acceptance to the decision about it.

    A submission names the assignment's id, so repeating it is harmless.
    """

    class State(models.TextChoices):
        RESERVED = "reserved", pgettext_lazy("staff", "reserved (loaded in advance)")
        ACCEPTED = "accepted", pgettext_lazy("staff", "in progress")
        SUBMITTED = "submitted", pgettext_lazy("staff", "submitted")
        RETURNED = "returned", pgettext_lazy("staff", "returned")
        EXPIRED = "expired", pgettext_lazy("staff", "expired")
        APPROVED = "approved", pgettext_lazy("staff", "approved")
        REJECTED = "rejected", pgettext_lazy("staff", "rejected")
        INVALIDATED = "invalidated", pgettext_lazy("staff", "invalidated (the participant was excluded)")
        APART = "apart", pgettext_lazy("staff", "not used (the crowd does not know this work)")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="assignments", db_index=False)
    hit = models.ForeignKey(
        HIT, verbose_name="page of work", on_delete=models.CASCADE, related_name="assignments", null=True, blank=True,
        help_text="Empty only for imported judgments without a known page of work.",
    )  # fmt: skip
    worker = models.ForeignKey(
        Worker,
        verbose_name="participant",
        on_delete=models.PROTECT,
        related_name="assignments",
        db_index=False,
    )
    state = models.CharField(max_length=11, choices=State, default=State.ACCEPTED)
    slot = models.PositiveSmallIntegerField(
        "place",
        default=0,
        help_text="Number of the place on the page of work. Two assignments never have the same place.",
    )
    external_id = models.CharField(
        max_length=80, blank=True, help_text="Id of the assignment in the system that collected it."
    )
    session = models.ForeignKey(
        "annotation.CrowdSession", on_delete=models.PROTECT, related_name="assignments", null=True, blank=True,
        db_index=False, help_text="The crowd session to which the assignment belongs.",
    )  # fmt: skip
    accepted_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(
        null=True, blank=True, help_text="Time of the last new answer or the last change of a text."
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    extended = models.PositiveSmallIntegerField(
        "extensions of the time limit", default=0, help_text="How many times the time limit was extended."
    )
    gaps = models.JSONField(
        "interruptions",
        default=list,
        blank=True,
        help_text="[from, to] of each interruption: from the end of the time limit until the "
        "participant continued.",
    )
    order = models.JSONField(
        default=list,
        help_text="For each position: the number of the item that is shown there, from 0. Empty: the "
        "order of the page.",
    )
    flips = models.JSONField(
        "display order",
        default=list,
        help_text="For each position: whether the second candidate is shown first, or the order of "
        "the options. Empty if the protocol has neither.",
    )
    answers = models.JSONField(
        default=dict,
        help_text="{value or answer, seconds, ...} for each position as shown. First the draft, "
        "later the submitted answers.",
    )
    consent_version = models.CharField(
        max_length=16, blank=True, help_text="Hash of the consent text that was in force for this assignment."
    )
    instructions_version = models.CharField(
        max_length=16,
        blank=True,
        help_text="Hash of the question, instructions and examples that were shown.",
    )
    reason = models.CharField(max_length=500, blank=True, help_text="Reason for the rejection.")
    exclusion = models.ForeignKey(
        "annotation.Exclusion", on_delete=models.PROTECT, related_name="assignments", null=True, blank=True,
        db_index=False, help_text="The exclusion that invalidated the assignment. It remains here if "
                                  "the exclusion is lifted.",
    )  # fmt: skip
    before_exclusion = models.CharField(
        "state before exclusion",
        max_length=11,
        choices=State,
        blank=True,
        help_text="State of the assignment before it was invalidated.",
    )
    simulated = models.BooleanField(default=False)

    has_detectors = False  # whether a detector is enabled; set when the row is locked for its submission

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ["accepted_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["hit", "worker"], condition=Q(state__in=LIVE_STATES), name="a_worker_holds_a_hit_once"
            ),
            models.UniqueConstraint(
                fields=["hit", "slot"], condition=Q(state__in=LIVE_STATES), name="a_slot_is_taken_once"
            ),
            models.UniqueConstraint(
                fields=["study", "worker"],
                condition=Q(state="accepted", session__isnull=True),
                name="a_worker_holds_one_hit_at_a_time",
            ),
            # a crowd lets people accept several HITs and work on them in turn
            models.UniqueConstraint(
                fields=["session"], condition=Q(state="accepted"), name="a_session_holds_one_hit_at_a_time"
            ),
            models.UniqueConstraint(
                fields=["study", "worker"],
                condition=Q(state="reserved"),
                name="a_worker_reserves_one_hit_at_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(state="invalidated") | Q(exclusion__isnull=False),
                name="an_invalidated_assignment_names_its_exclusion",
            ),
            models.CheckConstraint(
                condition=Q(state="invalidated") | Q(before_exclusion=""),
                name="only_invalidated_work_was_something_else",
            ),
            models.CheckConstraint(
                condition=Q(submitted_at__isnull=True) | Q(submitted_at__gte=F("accepted_at")),
                name="submitted_after_accepted",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["submitted", "approved", "rejected"]) | Q(submitted_at__isnull=False),
                name="finished_work_has_a_time",
            ),
        ]
        indexes = [
            models.Index(
                fields=["study", "expires_at"],
                condition=Q(state__in=["reserved", "accepted"]),
                name="leases_by_expiry",
            ),
            models.Index(fields=["worker", "hit"], name="work_of_a_worker"),
            # the dashboard often queries how fast work is submitted
            models.Index(fields=["study", "submitted_at"], name="work_by_submission"),
            # work is counted and listed by state, the oldest first
            models.Index(fields=["study", "state", "submitted_at"], name="work_by_state"),
            models.Index(fields=["accepted_at"], name="work_in_order"),
            # partial indexes, as most assignments have neither session nor exclusion
            models.Index(fields=["session"], condition=Q(session__isnull=False), name="work_by_session"),
            models.Index(
                fields=["exclusion"], condition=Q(exclusion__isnull=False), name="work_by_exclusion"
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    def renew_lease(self, *, now: datetime, expires_at: datetime) -> None:
        """Set the end of the lease of a locked row. If the lease had expired, add the time since then to ``gaps``."""
        if self.expires_at is not None and self.expires_at < now:
            self.gaps = [*self.gaps, [self.expires_at.isoformat(), now.isoformat()]]
        self.expires_at = expires_at
        self.save(update_fields=["expires_at", "gaps"])
