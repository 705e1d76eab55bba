"""The models of what workers write: judgments, reports of problems, and captions."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.models.assignments import EXCLUDED_STATES, Assignment
from annotation.models.people import Worker
from common.rows.append_only import AppendOnlyError
from judgments.models import Caption, Study, Unit
from judgments.models.fields import NumberField

# key of ``Judgment.signals`` in imports: how many earlier answers of the worker to the unit the file leaves out
IMPORTED_REVISION = "revision"


class JudgmentQuerySet(models.QuerySet["Judgment"]):
    """Judgments, which are only ever added: ``update`` and ``delete`` raise AppendOnlyError."""

    def of_study(self, study: Study) -> JudgmentQuerySet:
        return self.filter(assignment__study=study).order_by("pk")

    def current(self) -> JudgmentQuerySet:
        """Leave out judgments that were revised, or whose work is excluded or unknown to its crowd."""
        return self.filter(replaced_by__isnull=True).exclude(assignment__state__in=EXCLUDED_STATES)

    def update(self, **kwargs: Any) -> NoReturn:
        raise AppendOnlyError("judgments are never edited")

    def delete(self) -> NoReturn:
        raise AppendOnlyError("judgments are never deleted")

    def redact(self, **values: Any) -> int:
        """Overwrite personal data. Call it only to erase a person."""
        return super().update(**values)

    def erase(self) -> int:
        """Delete judgments, and return the number of deleted rows. Call it only to erase a person."""
        return super().delete()[0]


class Judgment(models.Model):
    """One worker's answer to one unit. The value is in the unit's order, whichever side each option was shown on.

    A revision is a new judgment that ``replaces`` the earlier one. Saved rows cannot be changed or deleted.
    """

    # lookups from a row to its studies (judgments.access.visible_rows)
    study_lookups = ("assignment__study",)

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
            raise AppendOnlyError("judgments are never edited")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AppendOnlyError("judgments are never deleted")


class ProblemReport(models.Model):
    """A worker's report that something is wrong with an item."""

    # lookups from a row to its studies (judgments.access.visible_rows)
    study_lookups = ("assignment__study",)

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
    """A caption of a dataset and the worker who wrote it, and who must therefore never judge it.

    Candidates are stored by text, so a caption that two people wrote has two rows.
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
