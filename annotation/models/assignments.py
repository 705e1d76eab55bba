"""The models of assignments, judgments, written captions and problem reports, and of quality control.

Quality control has detectors, flags, exclusions, appeals, adjudications, quiz attempts and alarms.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, Q
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.models.people import Worker
from judgments.models import HIT, Caption, Study, Unit
from judgments.models.datasets import NumberField, account_key

LEASED_STATES = ("reserved", "accepted")

# states that occupy a slot of the HIT
LIVE_STATES = (*LEASED_STATES, "submitted", "approved", "rejected")

# states of finished work that is excluded
EXCLUDED_STATES = ("invalidated", "apart")
FINISHED_STATES = ("submitted", "approved", "rejected")

EXCLUDED_BY_PERSON = "person"  # the reason, in files, of an exclusion without a rule
UNKNOWN_TO_CROWD = "unknown-to-crowd"  # the reason, in files, if the crowd does not know the work
# name of a signal: the number of earlier answers that are missing from an imported file
IMPORTED_REVISION = "revision"

# Sent in the transaction that stores judgments, with ``assignment`` and the number of ``judgments``.
assignment_submitted = Signal()

# Expressions, by name, with which an assignment is annotated when it is locked for its submission. They save
# receivers a query to find out that they have nothing to do.
submission_annotations: dict[str, Exists] = {}

worker_excluded = Signal()  # sent with ``exclusion``, in the transaction that stores it


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def with_lease(self, now: datetime) -> AssignmentQuerySet:
        return self.filter(state=Assignment.State.ACCEPTED, expires_at__gt=now)

    def overdue(self, now: datetime) -> AssignmentQuerySet:
        return self.filter(state__in=LEASED_STATES, expires_at__lte=now)

    def finished(self) -> AssignmentQuerySet:
        return self.filter(state__in=FINISHED_STATES)


class Assignment(models.Model):
    """A HIT taken by one worker. A submission names the assignment's id, so repeating it is harmless."""

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
        null=True,
        blank=True,
        help_text="Time of the last new answer or the last change of a text.",
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
        """Set the end of the lease of a locked row. If the lease had expired, record the gap."""
        if self.expires_at is not None and self.expires_at < now:
            self.gaps = [*self.gaps, [self.expires_at.isoformat(), now.isoformat()]]
        self.expires_at = expires_at
        self.save(update_fields=["expires_at", "gaps"])


class AppendOnly(Exception):
    """Raised if code tries to change or delete a judgment. A correction must be a new row."""


class JudgmentQuerySet(models.QuerySet["Judgment"]):
    def of_study(self, study: Study) -> JudgmentQuerySet:
        return self.filter(assignment__study=study).order_by("pk")

    def current(self) -> JudgmentQuerySet:
        """Leave out judgments that are revised, excluded or unknown to their crowd."""
        return self.filter(replaced_by__isnull=True).exclude(assignment__state__in=EXCLUDED_STATES)

    def update(self, **kwargs: Any) -> NoReturn:
        raise AppendOnly("judgments are never edited")

    def delete(self) -> NoReturn:
        raise AppendOnly("judgments are never deleted")

    def redact(self, **values: Any) -> int:
        """Overwrite personal data. Call it only to erase a person."""
        return super().update(**values)

    def erase(self) -> int:
        return super().delete()[0]


class Judgment(models.Model):
    """One worker's answer to one unit. The value is in the unit's order, whichever side each option was shown on."""

    of_study = ("assignment__study",)

    class Presented(models.TextChoices):
        FIRST_LEFT = "first-left", pgettext_lazy("staff", "first candidate on the left")
        SECOND_LEFT = "second-left", pgettext_lazy("staff", "second candidate on the left")

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="judgments")
    unit = models.ForeignKey(Unit, verbose_name="item", on_delete=models.CASCADE, related_name="judgments")
    value = NumberField(null=True, blank=True)
    answer = models.JSONField(
        null=True, blank=True, help_text="An answer that is not a number: text, keywords or links."
    )
    presented = models.CharField("sides of the candidates", max_length=11, choices=Presented, blank=True)
    seconds = models.FloatField(
        "active seconds",
        null=True,
        blank=True,
        help_text="The time during which the page was visible and the participant was active.",
    )
    wall_seconds = models.FloatField(
        "total seconds",
        null=True,
        blank=True,
        help_text="Time from the first view of the item to the answer, including pauses.",
    )
    comment = models.TextField(
        max_length=2000, blank=True, help_text="The participant's comment on the item."
    )
    signals = models.JSONField(
        "recorded behaviour",
        default=dict,
        blank=True,
        help_text="What the page recorded while the item was answered: {pasted, ...}.",
    )
    replaces = models.OneToOneField(
        "self", on_delete=models.CASCADE, related_name="replaced_by", null=True, blank=True,
        help_text="The judgment that this judgment revises. Both are kept.", verbose_name="earlier judgment",
    )  # fmt: skip
    made_at = models.DateTimeField("answered at", default=timezone.now)
    set_aside = models.BooleanField(
        "not used",
        default=False,
        help_text="The judgment was imported, and the original study did not use it.",
    )

    objects = JudgmentQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "unit"],
                condition=Q(replaces__isnull=True),
                name="one_judgment_per_assignment_and_unit",
            ),
            models.CheckConstraint(
                condition=Q(value__isnull=False) | Q(answer__isnull=False), name="a_judgment_has_an_answer"
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None and not self._state.adding:
            raise AppendOnly("judgments are never edited")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AppendOnly("judgments are never deleted")


class ProblemReport(models.Model):
    of_study = ("assignment__study",)

    class Kind(models.TextChoices):
        PICTURE = "picture", _("The picture cannot be seen")
        TEXT = "text", _("A sentence is broken or offensive")
        OTHER = "other", _("Something else")

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="reports")
    unit = models.ForeignKey(Unit, verbose_name="item", on_delete=models.CASCADE, related_name="reports")
    what = models.CharField("problem", max_length=10, choices=Kind, default=Kind.OTHER)
    comment = models.TextField(max_length=2000, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.get_what_display()}: {self.unit_id}"


class WrittenCaptionQuerySet(models.QuerySet["WrittenCaption"]):
    def written_by(self, worker: Worker, *, dataset_id: int) -> WrittenCaptionQuerySet:
        return self.filter(worker=worker, caption__dataset_id=dataset_id)


class WrittenCaption(models.Model):
    """The author of a caption, who must never judge it.

    Candidates are stored by text, so a text that two people wrote has two authors.
    """

    caption = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="written")
    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.PROTECT, related_name="written"
    )
    judgment = models.ForeignKey(
        Judgment, on_delete=models.SET_NULL, related_name="captions", null=True, blank=True
    )

    objects = WrittenCaptionQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["caption", "judgment"], name="a_judgment_is_adopted_once_as_a_caption"
            )
        ]

    def __str__(self) -> str:
        return str(self.caption)


class QualityRule(models.Model):
    class Action(models.TextChoices):
        FLAG = "flag", pgettext_lazy("staff", "flag for review")
        PAUSE = "pause", pgettext_lazy("staff", "pause the participant until somebody has reviewed the flag")
        EXCLUDE = "exclude", pgettext_lazy("staff", "exclude the participant")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="rules")
    rule = models.CharField("detector", max_length=40, help_text="Its name in files and addresses.")
    settings = models.JSONField(default=dict, blank=True, help_text="Settings that differ from the defaults.")
    action = models.CharField(max_length=8, choices=Action, default=Action.FLAG)
    enabled = models.BooleanField(default=False)
    changed_by = account_key()
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study_id", "rule"]
        verbose_name = "detector"
        constraints = [models.UniqueConstraint(fields=["study", "rule"], name="a_rule_once_per_study")]

    def __str__(self) -> str:
        return f"{self.rule}: {self.action}"


class Exclusion(models.Model):
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="exclusions")
    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.PROTECT, related_name="exclusions"
    )
    rule = models.CharField("detector", max_length=40, blank=True, help_text="Empty: a person did it.")
    why = models.CharField(max_length=500)
    evidence = models.JSONField(default=dict, blank=True)
    made_by = account_key(help_text="Empty for a detector.")
    made_at = models.DateTimeField(default=timezone.now)
    lifted_by = account_key()
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_why = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-made_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "worker"],
                condition=Q(lifted_at__isnull=True),
                name="a_worker_is_excluded_from_a_study_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.worker} from {self.study}"


class Case(models.Model):
    """A flag: what a detector found about a worker, open or decided."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("staff", "open")
        CONFIRMED = "confirmed", pgettext_lazy("staff", "confirmed")
        DISMISSED = "dismissed", pgettext_lazy("staff", "dismissed")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="cases")
    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.PROTECT, related_name="cases"
    )
    rule = models.CharField("detector", max_length=40)
    action = models.CharField(
        max_length=8, choices=QualityRule.Action, help_text="What was done when it was found."
    )
    evidence = models.JSONField(default=dict, help_text="Numbers and settings behind the finding.")
    answers = models.PositiveIntegerField(default=0, help_text="After how many answers of the participant.")
    state = models.CharField(max_length=9, choices=State, default=State.OPEN)
    exclusion = models.ForeignKey(
        Exclusion, on_delete=models.SET_NULL, related_name="cases", null=True, blank=True
    )
    opened_at = models.DateTimeField(default=timezone.now)
    decided_by = account_key()
    decided_at = models.DateTimeField(null=True, blank=True)
    decision = models.CharField(max_length=500, blank=True, help_text="Why it was decided so.")

    class Meta:
        ordering = ["-opened_at"]
        verbose_name = "flag"
        constraints = [
            models.UniqueConstraint(
                fields=["study", "worker", "rule"],
                condition=Q(state="open"),
                name="one_open_case_per_worker_and_rule",
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.worker}"


class Adjudication(models.Model):
    """A disputed unit that a chosen person decides without seeing the votes."""

    class State(models.TextChoices):
        WAITING = "waiting", pgettext_lazy("staff", "waiting")
        DECIDED = "decided", pgettext_lazy("staff", "decided")
        WITHDRAWN = "withdrawn", pgettext_lazy("staff", "withdrawn")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="adjudications")
    unit = models.ForeignKey(
        Unit, verbose_name="item", on_delete=models.CASCADE, related_name="adjudications"
    )
    adjudicator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="adjudications"
    )
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    side = models.JSONField(
        null=True, blank=True, help_text="The side that the item's kind drew for the adjudicator."
    )
    value = NumberField(null=True, blank=True, help_text="The final answer, in the item's order.")
    answer = models.JSONField(null=True, blank=True, help_text="The final answer of an open kind.")
    reason = models.CharField(max_length=500, blank=True, help_text="In the adjudicator's words.")
    votes = models.JSONField(default=dict, blank=True, help_text="The votes as they stood when it was sent.")
    sent_by = account_key()
    sent_at = models.DateTimeField(default=timezone.now)
    decided_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = account_key()
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["sent_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["unit"], condition=~Q(state="withdrawn"), name="a_unit_is_adjudicated_once"
            ),
            models.CheckConstraint(
                condition=~Q(state="decided")
                | (Q(decided_at__isnull=False) & (Q(value__isnull=False) | Q(answer__isnull=False))),
                name="a_decision_has_an_answer_and_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.unit_id}: {self.state}"


class QuizAttempt(models.Model):
    """A worker's attempt at a quiz; never deleted."""

    worker = models.ForeignKey(
        Worker, verbose_name="participant", on_delete=models.CASCADE, related_name="quiz_attempts"
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="quiz_attempts")
    qualification = models.CharField(
        max_length=80, help_text="What passing it is good for: a name that studies share, or the study's own."
    )
    number = models.PositiveSmallIntegerField(help_text="Which try it is, from 1.")
    items = models.JSONField(help_text="The sampled items, in the order shown.")
    answers = models.JSONField(default=dict, help_text="Position -> answer, as the participant saw it.")
    right = models.PositiveSmallIntegerField(null=True, blank=True)
    passed = models.BooleanField(null=True, blank=True)
    simulated = models.BooleanField(default=False)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["started_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["worker", "qualification", "number"], name="quiz_attempts_are_numbered"
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(right__isnull=False, passed__isnull=False),
                name="a_finished_attempt_has_a_result",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.worker}: {self.qualification} {self.number}"


class StudyAlarm(models.Model):
    """An alarm about one worker, such as that no new control items are left, and the number of affected pages."""

    class Kind(models.TextChoices):
        CONTROLS_USED_UP = (
            "controls-used-up",
            pgettext_lazy("staff", "all check questions answered (further pages have no check questions)"),
        )

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="alarms")
    what = models.CharField(max_length=20, choices=Kind)
    worker = models.ForeignKey(Worker, verbose_name="participant", on_delete=models.CASCADE, related_name="+")
    pages = models.PositiveIntegerField(default=0, help_text="On how many pages of work.")
    missing = models.PositiveIntegerField(default=0, help_text="Check questions that those pages lacked.")
    first_at = models.DateTimeField(default=timezone.now)
    last_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study_id", "first_at"]
        constraints = [
            models.UniqueConstraint(fields=["study", "what", "worker"], name="an_alarm_once_per_worker")
        ]

    def __str__(self) -> str:
        return f"{self.study}: {self.worker} {self.get_what_display()}"


class AppealNote(models.Model):
    assignment = models.ForeignKey(
        "annotation.Assignment", on_delete=models.PROTECT, related_name="appeal_notes"
    )
    text = models.TextField(max_length=2000)
    by = account_key()
    from_worker = models.BooleanField("from the participant", default=False)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.assignment_id}: {self.text[:40]}"
