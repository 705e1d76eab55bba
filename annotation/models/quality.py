"""The models of quality control: detectors, flags, exclusions, appeals, adjudications, quiz attempts and alarms."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from annotation.models.people import Worker
from judgments.models import Study, Unit
from judgments.models.fields import NumberField, account_key

worker_excluded = Signal()  # sent with ``exclusion``, in the transaction that stores it


class QualityRule(models.Model):
    """A detector of a study: its settings, its action, and whether it is enabled."""

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
    """The exclusion of a worker from a study: their answers are not used. A lifted exclusion stays as a row."""

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
    """A flag: a detector's finding about a worker, and a person's decision about it."""

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
    """The decision of a chosen person, the adjudicator, on a disputed unit. The adjudicator does not see the votes.

    ``side`` is the order in which the adjudicator sees the unit. ``value`` is the answer in the unit's own order.
    """

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
    """A worker's attempt at a quiz, kept while the worker and the study exist."""

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
    """An alarm about a study, with the worker who caused it by answering all control items.

    ``pages`` is the number of the worker's pages without enough control items, and ``missing`` is the number of
    control items that these pages lack.
    """

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
    """A message about the decision on an assignment, from its worker or from the study's team."""

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
