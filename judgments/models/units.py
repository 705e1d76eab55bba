"""The models of a study's candidate pairs, units, HITs and outcome bounds.

Codes of papers: V15 is Vedantam et al. 2015, H13 is Hodosh et al. 2013.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import F, Q

from judgments.models.arenas import DrawState
from judgments.models.datasets import Caption, Item, System
from judgments.models.studies import Study


class CandidatePair(models.Model):
    """Two candidates for one image in a triplet or pairwise study (V15 §3)."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="pairs", db_index=False)
    key = models.CharField(max_length=80)
    position = models.PositiveIntegerField()
    kind = models.CharField(
        max_length=2, blank=True, help_text="HC, HI, HM, MM (V15 §3); blank where unknown."
    )
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    first = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="+")
    first_system = models.ForeignKey(
        System, on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    second_system = models.ForeignKey(
        System, on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    references = models.JSONField(
        default=list, help_text="Keys of the reference captions the pair is judged and scored against."
    )
    published_winner = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="1 or 2 where a winner was published without votes."
    )

    class Meta:
        ordering = ["study_id", "position"]
        constraints = [models.UniqueConstraint(fields=["study", "key"], name="pair_key_once_per_study")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class Unit(models.Model):
    """An item that is judged. ``key`` is derived from the item's content and the seed, never from a row id."""

    class ControlKind(models.TextChoices):
        DEGRADED = "degraded", "a caption of the item and a damaged copy of it"
        REPEATED = "repeated", "an item of the same page of work, shown again"
        KNOWN_GOOD = "known-good", "an item whose answer the designer knows"
        REFERENCE = "reference", "a person's caption of the image"
        QUIZ = "quiz", "an item of the quiz that is not on a page of work"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="units", db_index=False)
    key = models.CharField(max_length=80)
    position = models.PositiveIntegerField()
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    reference = models.ForeignKey(
        Caption, on_delete=models.CASCADE, related_name="+", null=True, blank=True, db_index=False
    )
    first = models.ForeignKey(
        Caption, on_delete=models.CASCADE, related_name="+", null=True, blank=True, db_index=False
    )
    second = models.ForeignKey(
        Caption, on_delete=models.CASCADE, related_name="+", null=True, blank=True, db_index=False
    )
    pair = models.ForeignKey(
        CandidatePair, on_delete=models.CASCADE, related_name="units", null=True, blank=True, db_index=False
    )
    kind = models.CharField(max_length=2, blank=True)  # that of the candidate pair
    control = models.BooleanField("check question", default=False)
    expected = models.JSONField("right answer", null=True, blank=True, help_text="Only for check questions.")
    control_kind = models.CharField(
        "kind of check question",
        max_length=10,
        choices=ControlKind,
        blank=True,
        help_text="Empty if the item is not a check question.",
    )
    content = models.JSONField(
        default=dict, blank=True, help_text="Other content of the item, stored when the item was generated."
    )
    systems = models.JSONField(
        default=list,
        blank=True,
        help_text="Row ids of the systems that wrote the text, from an imported file. If there are "
        "options, one list of ids for each option. 0: no system. Empty: all systems with "
        "this text.",
    )
    filtered = models.BooleanField(
        "added to fill a group",
        default=False,
        help_text="The filter left the text out, or the text belongs to another item (H13 §4.3.2).",
    )
    audited = models.BooleanField(
        default=False,
        help_text="An item below the Bleu-pre threshold, sampled to measure the errors of the filter.",
    )
    withdrawn = models.BooleanField(
        default=False, help_text="A check question that was withdrawn because it misled careful participants."
    )

    class Meta:
        ordering = ["study_id", "position"]
        verbose_name = "item"
        constraints = [
            # Since the fields are given as expressions, the constraint is a separate index on SQLite, too, so that it
            # can be dropped. Keys are in no order: building the index after a million rows were inserted takes a fifth
            # of the time that extending it with each row takes.
            models.UniqueConstraint("study", "key", name="unit_key_once_per_study"),
            models.CheckConstraint(
                condition=Q(withdrawn=False) | Q(control=True), name="only_control_items_are_withdrawn"
            ),
        ]
        indexes = [
            # partial indexes, since most units have only one caption, or no pair
            *(
                models.Index(fields=[name], condition=Q((f"{name}__isnull", False)), name=f"units_by_{name}")
                for name in ("reference", "first", "second", "pair")
            ),
            # Without this index, every page of a long list would sort all rows.
            models.Index(fields=["study", "position"], name="units_in_order"),
            models.Index(
                fields=["study", "position"], condition=Q(control=True), name="control_items_in_order"
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def source_text(self) -> str:
        return self.item.text


class HIT(models.Model):
    """A page of work, which a worker accepts as a whole (*human intelligence task*).

    Each of its slots is for one worker. ``required`` is the number of planned slots, ``open_slots`` that of the slots
    that are still offered, and ``spared`` that of the slots that will not be offered any more.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="hits", db_index=False)
    key = models.CharField(max_length=80)
    position = models.PositiveIntegerField()
    required = models.PositiveSmallIntegerField("participants needed")
    open_slots = models.PositiveSmallIntegerField(
        "open places", help_text="Number of places that are still offered."
    )
    spared = models.PositiveSmallIntegerField(
        "places saved",
        default=0,
        help_text="Places that are no longer offered, because the outcome of the items is decided or "
        "the offer expired.",
    )
    extra = models.PositiveSmallIntegerField(
        "added places", default=0, help_text="Number of places that were added after the design was frozen."
    )
    external_id = models.CharField("id at the crowd", max_length=80, blank=True)
    version = models.PositiveIntegerField(
        default=0,
        help_text="Number of changes to the items: withdrawn check questions, or new samples of an arena.",
    )
    drawn_from = models.ForeignKey(
        DrawState, verbose_name="sampled by", on_delete=models.RESTRICT, related_name="hits", null=True, blank=True,
        db_index=False,
        help_text="In an arena: the answers from which the items were sampled. Empty until a "
                  "participant takes the page.",
    )  # fmt: skip
    units: Any = models.ManyToManyField(Unit, through="HITUnit", related_name="hits", verbose_name="items")

    class Meta:
        ordering = ["study_id", "position"]
        verbose_name, verbose_name_plural = "page of work", "pages of work"
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="hit_key_once_per_study"),
            models.CheckConstraint(
                condition=Q(open_slots__gte=0) & Q(open_slots__lte=F("required") - F("spared")),
                name="open_slots_between_none_and_all",
            ),
        ]
        indexes = [
            # Claiming a HIT reads only the beginning of this index, so the cost does not depend on the study's size.
            models.Index(
                fields=["study", "position"], condition=Q(open_slots__gt=0), name="open_hits_in_order"
            ),
            models.Index(fields=["study", "position"], name="hits_in_order"),
            models.Index(fields=["study"], condition=Q(version__gt=0), name="changed_hits"),
        ]

    def __str__(self) -> str:
        return self.key


class HITUnit(models.Model):
    """The position of a unit on a HIT. A HIT contains a unit only once, but a unit may be on several HITs."""

    hit = models.ForeignKey(
        HIT, verbose_name="page of work", on_delete=models.CASCADE, related_name="places", db_index=False
    )
    unit = models.ForeignKey(Unit, verbose_name="item", on_delete=models.CASCADE, related_name="places")
    position = models.PositiveSmallIntegerField()
    chance = models.FloatField(
        null=True, blank=True, help_text="In an arena, the chance of its pair of systems when it was sampled."
    )

    class Meta:
        ordering = ["hit_id", "position"]
        verbose_name, verbose_name_plural = "item of a page of work", "items of pages of work"
        constraints = [
            models.UniqueConstraint(fields=["hit", "position"], name="one_unit_per_place"),
            models.UniqueConstraint(fields=["hit", "unit"], name="a_unit_once_per_hit"),
        ]

    def __str__(self) -> str:
        return f"{self.hit_id} {self.position}"


class OutcomeBounds(models.Model):
    """The lowest and highest outcome that a judged unit can still get, for early stopping.

    Outcome 1 is the first answer, -1 the second, 0 a tie. The rows follow from the judgments.
    """

    unit = models.OneToOneField(
        Unit, verbose_name="item", on_delete=models.CASCADE, primary_key=True, related_name="bounds"
    )
    full_depth = models.BooleanField(
        default=False, help_text="Gets all its judgments whatever they say: agreement is measured on these."
    )
    cast = models.PositiveSmallIntegerField(default=0, help_text="Judgments it has, used or not.")
    low = models.SmallIntegerField(default=-1)
    high = models.SmallIntegerField(default=1)
    # copies are assignments: each shows the page of work to one worker
    done = models.BooleanField(
        default=False, help_text="No more judgments are wanted; later copies leave it out."
    )

    class Meta:
        verbose_name_plural = "outcome bounds"
        constraints = [
            models.CheckConstraint(
                condition=Q(low__gte=-1) & Q(low__lte=F("high")) & Q(high__lte=1),
                name="outcome_bounds_are_in_order",
            )
        ]

    def __str__(self) -> str:
        return f"{self.unit_id}: {self.low} to {self.high}"
