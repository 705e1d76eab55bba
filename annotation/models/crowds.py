"""The models of crowds: publications, sessions of people, outbox messages, and personal data that a crowd sent.

Publications, sessions and messages have a ``platform``: the crowd and, for Mechanical Turk, sandbox or live. Counters
never mix two platforms. The field has no choices: each crowd's backend (``annotation.crowds``) names its platforms, so
a new crowd needs no migration. Some columns and stored values have older names, such as "place" and "parked".
"""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from annotation.models.assignments import Assignment
from annotation.models.people import Worker
from judgments.models import HIT, Study
from judgments.models.fields import account_key

PLATFORM_LENGTH = 20
TOKEN_LENGTH = 64  # the length of Mechanical Turk's UniqueRequestToken
Row = TypeVar("Row", bound=models.Model)


def at_crowd(model: type[Row], study: Study) -> models.QuerySet[Row]:
    """Return a study's rows at the platform where the study was opened."""
    return model._default_manager.filter(study=study, platform=study.platform)


class Publication(models.Model):
    """Work that is offered at a crowd: a HIT at Mechanical Turk, or a whole study at a panel.

    A place is work for one participant of the crowd. ``token`` is derived from the rows of the study and stored before
    the crowd is called, so that the work can be found there if the response is lost. ``held_slots`` is the number of
    places whose money stays reserved: until the work is approved or rejected, or the place is given up.
    """

    class State(models.TextChoices):
        PLANNED = "planned", gettext_lazy("planned")
        PUBLISHED = "published", gettext_lazy("published")
        EXPIRED = "expired", gettext_lazy("closed to new participants")
        FINISHED = "finished", gettext_lazy("finished")
        WITHDRAWN = "withdrawn", gettext_lazy("never published")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="publications")
    platform = models.CharField("crowd", db_column="place", max_length=PLATFORM_LENGTH)
    hit = models.ForeignKey(
        HIT,
        verbose_name="page of work",
        on_delete=models.PROTECT,
        related_name="publications",
        null=True,
        blank=True,
        help_text="Empty if the whole study was published at once.",
    )
    number = models.PositiveSmallIntegerField(
        default=1, help_text="Number of the publication, from 1, for this page of work (or study) and crowd."
    )
    token = models.CharField(max_length=TOKEN_LENGTH, unique=True)
    external_id = models.CharField("id at the crowd", max_length=80, blank=True)
    group_id = models.CharField(
        "HIT type", max_length=80, blank=True, help_text="Used only at Mechanical Turk."
    )
    state = models.CharField(max_length=9, choices=State, default=State.PLANNED)
    places = models.PositiveIntegerField(help_text="Number of published places.")
    held_slots = models.PositiveIntegerField(
        "reserved places",
        db_column="held",
        default=0,
        help_text="Number of places for which money is still reserved.",
    )
    reward_cents = models.PositiveIntegerField("pay in cents", help_text="Pay for one participant.")
    fee_cents = models.PositiveIntegerField("fee in cents", help_text="The crowd's fee for each payment.")
    screen_outs = models.PositiveIntegerField("maximum number of paid screen-outs", default=0)
    screen_outs_held = models.PositiveIntegerField(
        "reserved screen-outs",
        default=0,
        help_text="Number of paid screen-outs for which money is still reserved.",
    )
    screen_out_cents = models.PositiveIntegerField(
        "pay per screen-out in cents", default=0, help_text="The crowd's fee is included."
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    seen = models.JSONField(
        "last status",
        default=dict,
        blank=True,
        help_text="The last status from the crowd: {status, available, pending, ...}.",
    )
    looked_at = models.DateTimeField(
        "status requested at",
        null=True,
        blank=True,
        help_text="Time at which the crowd was last asked for the status.",
    )
    hinted_at = models.DateTimeField(
        "notified at", null=True, blank=True, help_text="Time of the last notification from the crowd."
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["platform", "external_id"],
                condition=~Q(external_id=""),
                name="a_publication_once_per_place",
            ),
            models.UniqueConstraint(
                fields=["study", "platform", "hit", "number"], name="publications_of_a_hit_are_numbered"
            ),
            models.CheckConstraint(condition=Q(held_slots__lte=F("places")), name="held_places_are_places"),
            models.CheckConstraint(
                condition=Q(screen_outs_held__lte=F("screen_outs")), name="held_screen_outs_are_screen_outs"
            ),
            models.CheckConstraint(
                condition=~Q(state="published") | ~Q(external_id=""), name="what_is_published_has_an_id"
            ),
        ]
        indexes = [models.Index(fields=["study", "platform", "state"], name="publications_of_a_study")]

    def __str__(self) -> str:
        return self.external_id or self.token

    @property
    def price_cents(self) -> int:
        """The cost of one place, in cents."""
        return self.reward_cents + self.fee_cents


class CrowdSession(models.Model):
    """One person's paid work at a crowd: an assignment at Mechanical Turk, or a submission at a panel.

    Mechanical Turk gives the id of a returned or abandoned assignment to the next worker (psiTurk#184), so only the
    id and the worker together identify a session.
    """

    class Status(models.TextChoices):
        WORKING = "working", gettext_lazy("at work")
        SUBMITTED = "submitted", gettext_lazy("submitted")
        APPROVED = "approved", gettext_lazy("approved")
        REJECTED = "rejected", gettext_lazy("rejected")
        RETURNED = "returned", gettext_lazy("returned")
        TIMED_OUT = "timed-out", gettext_lazy("timed out")
        SCREENED_OUT = "screened-out", gettext_lazy("screened out")
        FULL = "full", gettext_lazy("no place was left")
        UNKNOWN = "unknown", gettext_lazy("unknown to the crowd")

    class Booked(models.TextChoices):
        NOTHING = "", gettext_lazy("no payment recorded")
        SPENT = "spent", gettext_lazy("spent")
        RELEASED = "released", gettext_lazy("returned to the budget")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="crowd_sessions")
    platform = models.CharField("crowd", db_column="place", max_length=PLATFORM_LENGTH)
    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="sessions")
    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.PROTECT, related_name="crowd_sessions"
    )
    external_id = models.CharField(
        "id at the crowd", max_length=80, help_text="For a panel, a pseudonym is stored instead."
    )
    status = models.CharField(max_length=12, choices=Status, default=Status.WORKING)
    confirmed = models.BooleanField(
        "reported by the crowd",
        default=False,
        help_text="Whether the crowd reported the session. If not, only the participant's browser reported it.",
    )
    booked = models.CharField(
        "recorded payment", max_length=8, choices=Booked, default=Booked.NOTHING, blank=True
    )
    code = models.CharField(max_length=80, blank=True, help_text="The completion code that was shown.")
    receipt = models.TextField(
        "answer stored at the crowd",
        blank=True,
        help_text="The answer as the crowd stores it. Quorum does not trust it.",
    )
    feedback = models.CharField("message from the crowd to the participant", max_length=1024, blank=True)
    arrived_at = models.DateTimeField(default=timezone.now)
    submitted_at = models.DateTimeField(
        null=True, blank=True, help_text="The time of the crowd's clock, if it is known."
    )
    auto_approval_at = models.DateTimeField("automatic approval at", null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(
        "last reported at",
        null=True,
        blank=True,
        help_text="Time at which the crowd last reported the session.",
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["platform", "external_id", "worker"], name="a_session_once_per_place_id_and_worker"
            ),
            models.CheckConstraint(
                condition=~Q(booked="spent") | Q(status="approved"), name="what_is_paid_is_approved"
            ),
        ]
        indexes = [models.Index(fields=["study", "platform", "status"], name="crowd_sessions_of_a_study")]

    def __str__(self) -> str:
        return f"{self.external_id}: {self.status}"


class CrowdCall(models.Model):
    """A request to a crowd, such as to publish a HIT or to pay a bonus, as a message in the outbox.

    It is stored in the transaction of the decision that causes it, and sent after the commit. Its ``key`` prevents the
    crowd from carrying it out twice. The row also records who requested it, why, and how the crowd answered.
    """

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("waiting")
        STARTED = "started", gettext_lazy("being sent")
        DONE = "done", gettext_lazy("done")
        FAILED = "parked", gettext_lazy("failed")
        DROPPED = "dropped", gettext_lazy("no longer needed")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="crowd_calls")
    platform = models.CharField("crowd", db_column="place", max_length=PLATFORM_LENGTH)
    kind = models.CharField(max_length=12, help_text="A value of annotation.crowds.base.Ability.")
    key = models.CharField(
        max_length=TOKEN_LENGTH,
        unique=True,
        help_text="Unique key that prevents a second execution. The crowd gets it as a token.",
    )
    publication = models.ForeignKey(
        Publication, on_delete=models.PROTECT, related_name="calls", null=True, blank=True
    )
    session = models.ForeignKey(
        CrowdSession, on_delete=models.PROTECT, related_name="calls", null=True, blank=True
    )
    worker = models.ForeignKey(
        Worker,
        verbose_name="participant",
        on_delete=models.PROTECT,
        related_name="crowd_calls",
        null=True,
        blank=True,
    )
    payload = models.JSONField("content of the message", default=dict, blank=True)
    reserved_cents = models.PositiveIntegerField(
        "reserved amount in cents", default=0, help_text="Reserved until the request is done."
    )
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    why = models.CharField("reason", max_length=1024, blank=True)
    made_by = account_key(label="created by")
    made_at = models.DateTimeField("created at", default=timezone.now)
    next_at = models.DateTimeField(
        "next attempt at", default=timezone.now, help_text="The message is not sent before this time."
    )
    first_started_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    answer = models.JSONField("reply of the crowd", default=dict, blank=True)
    problem = models.CharField("last error", max_length=1000, blank=True)

    class Meta:
        ordering = ["id"]
        verbose_name = "outbox message"
        constraints = [
            models.CheckConstraint(
                condition=~Q(state="done") | (Q(done_at__isnull=False) & Q(reserved_cents=0)),
                name="a_call_that_is_done_keeps_no_money",
            ),
            models.CheckConstraint(
                condition=~Q(state="parked") | ~Q(problem=""), name="a_parked_call_says_why"
            ),
            models.CheckConstraint(
                condition=~Q(state="started") | Q(started_at__isnull=False), name="a_started_call_has_a_time"
            ),
        ]
        indexes = [
            models.Index(
                fields=["study", "next_at"],
                condition=Q(state__in=["waiting", "started"]),
                name="calls_to_carry_out",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}: {self.state}"

    @property
    def has_unknown_outcome(self) -> bool:
        """Whether the request failed in such a way that the crowd may have carried it out."""
        return self.state == self.State.FAILED and bool(self.answer.get("unsure"))

    def current_publication(self) -> Publication:
        """Read the publication again, since its slots may have grown after the call was written."""
        return Publication.objects.select_related("hit", "study").get(calls=self)

    def current_session(self) -> CrowdSession:
        """Read the session again, since it may have changed after the call was written."""
        return CrowdSession.objects.select_related("study", "worker", "publication").get(calls=self)

    def store_facts(self, **facts: Any) -> bool:
        """Add facts to ``answer``, such as the id of a draft at the crowd, so that a later attempt knows them.

        A value of None deletes a fact. Return False if another process has taken over the message. The caller must then
        not call the crowd.
        """
        answer = {name: value for name, value in {**self.answer, **facts}.items() if value is not None}
        own_attempt = CrowdCall.objects.filter(pk=self.pk, state=self.State.STARTED, attempts=self.attempts)
        if not own_attempt.update(answer=answer):
            return False
        self.answer = answer
        return True


class RawId(models.Model):
    """The crowd's own id of a person or session. It is stored apart from all answers, so that it can be deleted."""

    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.CASCADE, related_name="raw_ids"
    )
    session = models.ForeignKey(
        CrowdSession, on_delete=models.CASCADE, related_name="raw_ids", null=True, blank=True
    )
    name = models.CharField(max_length=80, help_text="The crowd's word for it, such as PROLIFIC_PID.")
    value = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["worker", "name"], condition=Q(session__isnull=True), name="a_raw_id_once_per_worker"
            ),
            models.UniqueConstraint(
                fields=["session", "name"],
                condition=Q(session__isnull=False),
                name="a_raw_id_once_per_session",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Demographics(models.Model):
    """What a crowd reports about a participant, such as their age. It is deleted together with the raw ids."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="demographics")
    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.CASCADE, related_name="demographics"
    )
    answers = models.JSONField(help_text="By the names of the design's crowd.demographics.")
    fetched_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "demographics"
        constraints = [
            models.UniqueConstraint(fields=["study", "worker"], name="demographics_once_per_study_and_worker")
        ]

    def __str__(self) -> str:
        return f"{self.worker} in {self.study}"


class Seat(models.Model):
    """A keyed hash of the network address that took an assignment or a session (``annotation.work.seats``).

    It is deleted minutes after the assignment or the session ended.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    address = models.CharField(max_length=32)
    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="seat", null=True)
    session = models.OneToOneField(CrowdSession, on_delete=models.CASCADE, related_name="seat", null=True)
    taken_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        verbose_name = "taken place"
        indexes = [models.Index(fields=["study", "address"], name="seats_of_an_address")]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.taken_at}"
