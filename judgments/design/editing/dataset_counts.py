"""Count the contents of a dataset, and say whether they suffice for a preset."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q
from django.utils.translation import gettext, ngettext

from common.amounts import thousands
from judgments.access.rights import Person
from judgments.design.editing.text_types import can_ask_about_texts
from judgments.design.reading.presets import Preset
from judgments.kinds import KINDS, Kind
from judgments.models import Caption, Dataset, Item, Output, System


@dataclass(frozen=True, slots=True)
class DatasetCounts:
    """The counts of a dataset's contents.

    Attributes:
        with_picture, with_text, with_boxes: number of items that have a picture, a source text, or boxes.
        with_reference: number of items that have a reference.
        systems: number of systems with outputs that the person may use.
        pairs: number of published candidate pairs.
    """

    items: int
    with_picture: int
    with_text: int
    with_boxes: int
    with_reference: int
    references: int
    systems: int
    pairs: int

    @property
    def has_only_texts(self) -> bool:
        return bool(self.items) and self.with_text == self.items and not self.with_picture

    def missing_for(self, preset: Preset) -> str:
        """Return a sentence about what a preset needs and the dataset lacks; "" if the dataset lacks nothing."""
        kind = KINDS[preset.values["protocol"]]
        shows_text = bool(preset.values.get("source", {}).get("show"))
        return self._reason_not_to_show(kind, shows_text) or self._reason_not_to_judge(kind)

    def _reason_not_to_show(self, kind: Kind, shows_text: bool) -> str:
        """Return why the page of a kind cannot show the items of the dataset; "" if it can."""
        if shows_text and self.with_text < self.items:
            return self._shortage_sentence(gettext("Needs a source text for each item"), self.with_text)
        if "texts" in kind.required_item_content and not self.with_text:
            return self._shortage_sentence(gettext("Needs a text for each picture"), self.with_text)
        if "boxes" in kind.required_item_content and not (self.with_boxes and self.references):
            return self._shortage_sentence(
                gettext("Needs pictures with labelled boxes and a caption"), self.with_boxes
            )
        can_show_text = can_ask_about_texts(kind) and self.with_text == self.items
        if kind.page.shows_picture and not (self.with_picture or can_show_text or shows_text):
            return self._shortage_sentence(gettext("Needs a picture for each item"), self.with_picture)
        return ""

    def _reason_not_to_judge(self, kind: Kind) -> str:
        """Return why the dataset has too few texts for a kind; "" if it has enough."""
        # some item has at least two references
        has_two_captions = self.references > self.with_reference
        if self.systems < kind.min_options:  # 0 unless a unit shows texts of several systems
            return gettext("Needs more systems (at least %(least)d); the dataset has %(systems)d.") % {
                "least": kind.min_options,
                "systems": self.systems,
            }
        has_pairs = self.pairs or self.systems > 1 or has_two_captions or (self.systems and self.references)
        if kind.compares_pairs and not has_pairs:
            return self._shortage_sentence(gettext("Needs two texts for each item, by people or systems"), 0)
        if kind.compares_pairs and not kind.page.shows_picture and not self.references:
            return self._shortage_sentence(gettext("Needs references to compare with"), self.with_reference)
        if kind.judges_one_caption and not (self.systems or self.references):
            return self._shortage_sentence(gettext("Needs texts by people or systems"), 0)
        return ""

    def _shortage_sentence(self, needs: str, count: int) -> str:
        return ngettext(
            "%(needs)s. %(there)s of %(n)s item in this dataset meets this requirement.",
            "%(needs)s. Items in this dataset that meet this requirement: %(there)s of %(n)s.",
            self.items,
        ) % {"needs": needs, "there": thousands(count), "n": thousands(self.items)}


def count_contents(dataset: Dataset, person: Person) -> DatasetCounts:
    """Count the contents of a dataset, in four queries."""
    items = Item.objects.filter(dataset=dataset).aggregate(
        items=Count("pk"),
        with_picture=Count("pk", filter=~Q(picture="") | ~Q(url="")),
        with_text=Count("pk", filter=~Q(text="")),
        with_boxes=Count("pk", filter=~Q(boxes=[])),
    )
    rows = Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE)
    captions = rows.aggregate(references=Count("pk"), with_reference=Count("item", distinct=True))
    systems = System.objects.filter(dataset=dataset, human=False).open_to(person.pk)
    systems_with_outputs = Output.objects.filter(system__in=systems).order_by().values("system").distinct()
    return DatasetCounts(
        **items, **captions, systems=systems_with_outputs.count(), pairs=dataset.published_pairs.count()
    )
